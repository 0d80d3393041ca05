/* gather.c: row i of the result is row rows[i] of x; -1 gives a row of 0.
 *
 *     dx_r = the sum, in the order of i, of dy_i over all i with rows[i] = r
 *
 * Additions to rows in any order are cut by columns: a task owns a few columns
 * of all rows and makes all additions to them, in order. So no two threads meet,
 * nothing is sorted, and only rows that are named are touched.
 */
#include "tape/ops/gather.h"

#include <inttypes.h>
#include <string.h>

typedef struct gather_run {
    const int64_t *rows;
    at_operand source;
} gather_run;

static void gather_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const gather_run *run = argument;
    int64_t from = run->rows[row];
    if (from < 0) {
        memset(p[0], 0, (size_t)count * sizeof(float));
    } else {
        memcpy(p[0], run->source.data + from * run->source.stride, (size_t)count * sizeof(float));
    }
}

void at_gather_rows(attn_tape *tape, int64_t count, int64_t columns, const int64_t *rows, at_operand source,
                    at_operand target) {
    gather_run run = {rows, source};
    at_each_row(tape, 8.0, count, columns, 1, &target, gather_row, &run);
}

typedef struct additions_run {
    const at_network *network;
    const at_additions *all;
    int64_t width; /* columns of a task */
} additions_run;

static void additions_task(void *argument, int64_t task, int worker) {
    const additions_run *run = argument;
    const at_additions *a = run->all;
    int64_t first = task * run->width, columns = a->columns - first;
    if (columns > run->width) columns = run->width;
    (void)worker;
    for (int64_t i = 0; i < a->cleared; i++) {
        memset(a->target.data + i * a->target.stride + first, 0, (size_t)columns * sizeof(float));
    }
    run->network->add_rows(a->count, columns, a->from, a->to, a->factor, a->source.data + first,
                           a->source.stride, a->target.data + first, a->target.stride);
}

void at_add_rows(attn_tape *tape, const at_additions *additions) {
    int64_t columns = additions->columns;
    additions_run run = {at_tape_network(tape), additions, columns > 512 ? 64 : columns > 128 ? 32 : 16};
    double numbers = (double)(additions->count + additions->cleared) * (double)columns;
    at_tape_parallel(tape, 16.0 * numbers, (columns + run.width - 1) / run.width, additions_task, &run);
}

int at_tape_has_rows(attn_tape *tape, const char *operation, const char *name, const int64_t *rows,
                     int64_t count, const char *what, int64_t limit) {
    if (count < 0 || (!rows && count > 0)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s %s", operation, count < 0 ? "count" : name,
                     count < 0 ? "is negative" : "is NULL");
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] >= -1 && rows[i] < limit) continue;
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s[%" PRId64 "] is %" PRId64 ", %s %" PRId64 " rows",
                     operation, name, i, rows[i], what, limit);
        return 0;
    }
    return 1;
}

static void gather_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_additions additions = {.count = y->rows,
                              .columns = y->columns,
                              .to = node->state,
                              .source = at_gradient_of(y),
                              .target = at_place_of(&dx),
                              .cleared = x->rows};
    at_add_rows(tape, &additions);
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
    at_gather_rows(tape, count, x->columns, copy, at_data_of(x), at_data_of(y));
    at_record(tape, y, gather_backward, copy, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
