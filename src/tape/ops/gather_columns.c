/* gather_columns.c: y[i][c] = x[i][columns[c]]; back, dx[i][columns[c]] += dy[i][c]
 * in the order of c. For small tables, such as one bias a bucket spread over
 * all distances.
 */
#include "tape/tape.h"

#include <inttypes.h>

static void gather_columns_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_gather_columns_call call = {node->state, at_place_of(&dx, x), at_gradient_of(node->output)};
    at_tape_did(tape, at_tape_run(tape)->gather_columns_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_gather_columns(attn_tape *tape, attn_variable *x, const int64_t *columns,
                                        int64_t count) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "gather_columns", "x", x)) return NULL;
    if (!columns || count < 1) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "gather_columns: at least one column is needed");
    }
    for (int64_t c = 0; c < count; c++) {
        if (columns[c] >= 0 && columns[c] < x->columns) continue;
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "gather_columns: columns[%" PRId64 "] is %" PRId64 ", x has %" PRId64 " columns",
                            c, columns[c], x->columns);
    }
    attn_variable *y = at_result(tape, x->rows, count);
    int64_t *copy = at_tape_copy(tape, columns, count, sizeof *columns);
    if (!y || !copy) return NULL;
    at_gather_columns_call call = {copy, at_data_of(x), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->gather_columns(at_tape_context(tape), &call));
    at_record(tape, y, gather_columns_backward, copy, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
