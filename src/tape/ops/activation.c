/* activation.c: y = act(x), number by number. The slope is taken at x, which the
 * tape holds anyway: dx = dy * act'(x).
 */
#include "tape/ops/rowwise.h"

typedef struct activation_state {
    const at_network *network;
    const at_kernels *kernels;
    attn_activation activation;
} activation_state;

static void activate_numbers(int64_t row, int64_t count, float *const *p, const void *state) {
    const activation_state *s = state;
    (void)row;
    s->network->activation(s->activation, count, p[0], p[1]);
}

static void slope_numbers(int64_t row, int64_t count, float *const *p, const void *state) {
    const activation_state *s = state;
    (void)row;
    s->kernels->activation_backward(s->activation, count, p[0], p[1], p[2]);
}

static void activation_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_operand operands[3] = {at_gradient_of(y), at_data_of(x), at_place_of(&dx)};
    at_each_element(tape, 24.0, y->rows, y->columns, 3, operands, slope_numbers, node->state);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_activation(attn_tape *tape, attn_variable *x, attn_activation activation) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "activation", "x", x) ||
        !at_tape_has_activation(tape, "activation", activation)) {
        return NULL;
    }
    attn_variable *y = at_result(tape, x->rows, x->columns);
    activation_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->network = at_tape_network(tape);
    s->kernels = at_tape_kernels(tape);
    s->activation = activation;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_element(tape, 24.0, y->rows, y->columns, 2, operands, activate_numbers, s);
    at_record(tape, y, activation_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
