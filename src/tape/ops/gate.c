/* gate.c: y = act(gate) * value, number by number: the middle of a gated FFN, in
 * one pass over memory instead of the three of an activation and a product.
 *
 *     d_value = dy * act(gate)      d_gate = dy * value * act'(gate)
 *
 * act(gate) is computed again on the way back, which costs less than to keep it.
 */
#include "tape/ops/rowwise.h"

#include <inttypes.h>

typedef struct gate_state {
    const at_network *network;
    attn_activation activation;
} gate_state;

static void gate_numbers(int64_t row, int64_t count, float *const *p, const void *state) {
    const gate_state *s = state;
    (void)row;
    s->network->gate(s->activation, count, p[0], p[1], p[2]);
}

static void gate_gradients(int64_t row, int64_t count, float *const *p, const void *state) {
    const gate_state *s = state;
    (void)row;
    s->network->gate_backward(s->activation, count, p[0], p[1], p[2], p[3], p[4]);
}

static void gate_backward(attn_tape *tape, at_node *node) {
    attn_variable *gate = node->input[0], *value = node->input[1], *y = node->output;
    at_gradient d_gate = at_gradient_begin(tape, gate);
    at_gradient d_value = at_gradient_begin(tape, value);
    if (attn_tape_status(tape) != ATTN_OK) return;
    at_operand operands[5] = {at_data_of(gate), at_data_of(value), at_gradient_of(y), at_place_of(&d_gate),
                              at_place_of(&d_value)};
    at_each_element(tape, 40.0, y->rows, y->columns, 5, operands, gate_gradients, node->state);
    at_gradient_end(tape, gate, &d_gate);
    at_gradient_end(tape, value, &d_value);
}

attn_variable *attn_tape_gate(attn_tape *tape, attn_variable *gate, attn_variable *value,
                              attn_activation activation) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "gate", "gate", gate) ||
        !at_tape_has(tape, "gate", "value", value) || !at_tape_has_activation(tape, "gate", activation)) {
        return NULL;
    }
    if (gate->rows != value->rows || gate->columns != value->columns) {
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "gate: gate is %" PRId64 " x %" PRId64 ", value is %" PRId64 " x %" PRId64
                            "; the same is needed",
                            gate->rows, gate->columns, value->rows, value->columns);
    }
    attn_variable *y = at_result(tape, gate->rows, gate->columns);
    gate_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->network = at_tape_network(tape);
    s->activation = activation;
    at_operand operands[3] = {at_data_of(gate), at_data_of(value), at_data_of(y)};
    at_each_element(tape, 24.0, y->rows, y->columns, 3, operands, gate_numbers, s);
    at_record(tape, y, gate_backward, s, 0, gate, value, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
