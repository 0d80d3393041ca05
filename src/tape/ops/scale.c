/* scale.c: y = factor * x, and so dx = factor * dy. */
#include "tape/tape.h"

static void scale_view(attn_tape *tape, float factor, at_view x, at_view y) {
    at_scale_call call = {factor, x, y};
    at_tape_did(tape, at_tape_run(tape)->scale(at_tape_context(tape), &call));
}

static void scale_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    scale_view(tape, *(const float *)node->state, at_gradient_of(node->output), at_place_of(&dx, x));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_scale(attn_tape *tape, attn_variable *x, float factor) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "scale", "x", x)) return NULL;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    float *kept = at_tape_copy(tape, &factor, 1, sizeof factor);
    if (!y || !kept) return NULL;
    scale_view(tape, factor, at_data_of(x), at_data_of(y));
    at_record(tape, y, scale_backward, kept, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
