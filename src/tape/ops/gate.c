/* gate.c: y = act(gate) * value, number by number: the middle of a gated FFN, in
 * one pass over memory instead of the three of an activation and a product.
 *
 *     d_value = dy * act(gate)      d_gate = dy * value * act'(gate)
 */
#include "tape/ops/checks.h"

#include <inttypes.h>

static void gate_backward(attn_tape *tape, at_node *node) {
    attn_variable *gate = node->input[0], *value = node->input[1];
    const attn_activation *activation = node->state;
    at_gradient d_gate = at_gradient_begin(tape, gate);
    at_gradient d_value = at_gradient_begin(tape, value);
    if (attn_tape_status(tape) != ATTN_OK) return;
    at_gate_backward_call call = {*activation,
                                  at_data_of(gate),
                                  at_data_of(value),
                                  at_gradient_of(node->output),
                                  at_place_of(&d_gate, gate),
                                  at_place_of(&d_value, value)};
    at_tape_did(tape, at_tape_run(tape)->gate_backward(at_tape_context(tape), &call));
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
    attn_activation *kept = at_tape_copy(tape, &activation, 1, sizeof activation);
    if (!y || !kept) return NULL;
    at_gate_call call = {activation, at_data_of(gate), at_data_of(value), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->gate(at_tape_context(tape), &call));
    at_record(tape, y, gate_backward, kept, 0, gate, value, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
