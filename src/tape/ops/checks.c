/* checks.c: checks that several operations share. */
#include "tape/ops/checks.h"

#include <inttypes.h>

int at_tape_has_pair(attn_tape *tape, const char *operation, const attn_variable *a, const attn_variable *b) {
    if (!at_tape_has(tape, operation, "a", a) || !at_tape_has(tape, operation, "b", b)) return 0;
    if (a->columns == b->columns && (b->rows == a->rows || b->rows == 1)) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "%s: a is %" PRId64 " x %" PRId64 ", b is %" PRId64 " x %" PRId64
                 "; the same, or one row in b, is needed",
                 operation, a->rows, a->columns, b->rows, b->columns);
    return 0;
}

int at_tape_has_activation(attn_tape *tape, const char *operation, attn_activation activation) {
    if ((int)activation >= ATTN_IDENTITY && (int)activation <= ATTN_ELU) return 1;
    at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: there is no activation %d", operation, (int)activation);
    return 0;
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

int64_t *at_tape_table_rows(attn_tape *tape, const char *operation, const attn_parameter *table,
                            const int32_t *ids, int64_t count) {
    if (count < 0 || (!ids && count > 0)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s", operation,
                            count < 0 ? "count is negative" : "ids is NULL");
    }
    int64_t *rows = at_tape_memory(tape, count, sizeof *rows);
    for (int64_t i = 0; rows && i < count; i++) {
        if (ids[i] < -1 || ids[i] >= table->rows) {
            return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                                "%s: ids[%" PRId64 "] is %" PRId32 ", the table (%s) has %" PRId64 " rows",
                                operation, i, ids[i], table->name, table->rows);
        }
        rows[i] = ids[i];
    }
    return rows;
}

/* height * width rows, without computing it. */
static int has_rows_of_grid(int64_t rows, int64_t height, int64_t width) {
    if (height < 0 || width < 0) return 0;
    if (height == 0 || width == 0) return rows == 0;
    return rows % width == 0 && rows / width == height;
}

int at_tape_has_grids(attn_tape *tape, const char *operation, const attn_grids *grids, int64_t rows,
                      attn_grids *copy) {
    if (!grids || !grids->heights || !grids->widths) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s NULL", operation,
                     !grids            ? "grids is"
                     : !grids->heights ? "the heights of the grids are"
                                       : "the widths of the grids are");
        return 0;
    }
    const attn_ragged *batch = &grids->batch;
    if (!at_tape_has_batch(tape, operation, batch, rows, copy ? &copy->batch : NULL)) return 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t length = batch->offsets[b + 1] - batch->offsets[b];
        if (has_rows_of_grid(length, grids->heights[b], grids->widths[b])) continue;
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "%s: sequence %" PRId64 " has %" PRId64 " rows, and its grid is %" PRId64 " x %" PRId64,
                     operation, b, length, grids->heights[b], grids->widths[b]);
        return 0;
    }
    if (!copy) return 1;
    copy->heights = at_tape_copy(tape, grids->heights, batch->sequences, sizeof *grids->heights);
    copy->widths = at_tape_copy(tape, grids->widths, batch->sequences, sizeof *grids->widths);
    return copy->heights && copy->widths;
}
