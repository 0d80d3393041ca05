/* gather.c: row i of the result is row rows[i] of x; -1 gives a row of 0.
 *
 *     dx_r = the sum, in the order of i, of dy_i over all i with rows[i] = r
 */
#include "tape/ops/checks.h"

static void gather_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_add_rows_call call = {
        .count = y->rows, .to = node->state, .x = at_gradient_of(y), .y = at_place_of(&dx, x), .clears = 1};
    at_tape_did(tape, at_tape_run(tape)->add_rows(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_gather(attn_tape *tape, attn_variable *x, const int64_t *rows, int64_t count) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "gather", "x", x) ||
        !at_tape_has_rows(tape, "gather", "rows", rows, count, "x has", x->rows)) {
        return NULL;
    }
    attn_variable *y = at_result(tape, count, x->columns);
    int64_t *copy = at_tape_copy(tape, rows, count, sizeof *rows);
    if (!y || !copy) return NULL;
    at_gather_call call = {copy, at_data_of(x), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &call));
    at_record(tape, y, gather_backward, copy, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
