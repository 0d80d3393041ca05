/* scatter.c: `count` rows, to which the rows of x are added: row i of x to row
 * rows[i], in the order of i; -1 adds to none. Backward is a gather.
 */
#include "tape/ops/checks.h"

static void scatter_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_gather_call call = {node->state, at_gradient_of(y), at_place_of(&dx, x)};
    at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_scatter(attn_tape *tape, attn_variable *x, const int64_t *rows, int64_t count) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "scatter", "x", x)) return NULL;
    if (count < 0) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "scatter: count is negative");
    if (!at_tape_has_rows(tape, "scatter", "rows", rows, x->rows, "the result has", count)) return NULL;
    attn_variable *y = at_result(tape, count, x->columns);
    int64_t *copy = at_tape_copy(tape, rows, x->rows, sizeof *rows);
    if (!y || !copy) return NULL;
    at_add_rows_call call = {
        .count = x->rows, .to = copy, .x = at_data_of(x), .y = at_data_of(y), .clears = 1};
    at_tape_did(tape, at_tape_run(tape)->add_rows(at_tape_context(tape), &call));
    at_record(tape, y, scatter_backward, copy, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
