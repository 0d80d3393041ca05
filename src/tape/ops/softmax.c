/* softmax.c: y = exp(x) / (sum of exp(x)) of every row; 0 for a row of -inf alone.
 *
 *     dx = y * (dy - sum of dy * y)
 */
#include "tape/tape.h"

static void softmax_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_rows_backward_call call = {at_data_of(y), at_gradient_of(y), at_place_of(&dx, x)};
    at_tape_did(tape, at_tape_run(tape)->softmax_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_softmax(attn_tape *tape, attn_variable *x) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "softmax", "x", x)) return NULL;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    if (!y) return NULL;
    at_rows_call call = {at_data_of(x), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->softmax(at_tape_context(tape), &call));
    at_record(tape, y, softmax_backward, NULL, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
