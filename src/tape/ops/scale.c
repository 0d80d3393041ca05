/* scale.c: y = factor * x, and so dx = factor * dy. */
#include "tape/ops/rowwise.h"

typedef struct scale_state {
    const at_network *network;
    float factor;
} scale_state;

static void scale_numbers(int64_t row, int64_t count, float *const *p, const void *state) {
    const scale_state *s = state;
    (void)row;
    s->network->scale(count, s->factor, p[0], p[1]);
}

static void scale_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_operand operands[2] = {at_gradient_of(y), at_place_of(&dx)};
    at_each_element(tape, 8.0, y->rows, y->columns, 2, operands, scale_numbers, node->state);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_scale(attn_tape *tape, attn_variable *x, float factor) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "scale", "x", x)) return NULL;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    scale_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->network = at_tape_network(tape);
    s->factor = factor;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_element(tape, 8.0, y->rows, y->columns, 2, operands, scale_numbers, s);
    at_record(tape, y, scale_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
