/* gather_columns.c: y[i][c] = x[i][columns[c]]; back, dx[i][columns[c]] += dy[i][c]
 * in the order of c. For small tables, such as one bias a bucket spread over
 * all distances.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

typedef struct gather_state {
    const int64_t *columns;
} gather_state;

static void gather_columns_backward(attn_tape *tape, at_node *node) {
    const gather_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    for (int64_t i = 0; dx.data && i < x->rows; i++) {
        float *target = dx.data + i * dx.stride;
        const float *source = y->gradient + i * y->gradient_stride;
        memset(target, 0, (size_t)x->columns * sizeof(float));
        for (int64_t c = 0; c < y->columns; c++) target[s->columns[c]] += source[c];
    }
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
    gather_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->columns = at_tape_copy(tape, columns, count, sizeof *columns);
    if (!s->columns) return NULL;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t c = 0; c < count; c++) y->data[i * count + c] = x->data[i * x->stride + columns[c]];
    }
    at_record(tape, y, gather_columns_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
