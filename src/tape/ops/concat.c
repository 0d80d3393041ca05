/* concat.c: the columns of several variables side by side.
 *
 * Backward, each part gets its columns of the result's gradient: a view of them
 * is passed on, which copies or adds, without memory of its own.
 */
#include "tape/ops/rowwise.h"

#include <inttypes.h>
#include <string.h>

typedef struct concat_state {
    attn_variable **parts;
    int count;
} concat_state;

static void copy_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    (void)row;
    (void)argument;
    memcpy(p[1], p[0], (size_t)count * sizeof(float));
}

static void concat_backward(attn_tape *tape, at_node *node) {
    const concat_state *s = node->state;
    const attn_variable *y = node->output;
    for (int64_t n = 0, first = 0; n < s->count; first += s->parts[n++]->columns) {
        attn_variable view = {.rows = y->rows,
                              .columns = s->parts[n]->columns,
                              .gradient = y->gradient + first,
                              .gradient_stride = y->gradient_stride};
        at_gradient_pass(tape, s->parts[n], &view, 0);
    }
}

attn_variable *attn_tape_concat(attn_tape *tape, attn_variable *const *parts, int count) {
    if (!at_tape_ready(tape)) return NULL;
    if (!parts || count < 1) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "concat: %s",
                            parts ? "at least one part is needed" : "parts is NULL");
    }
    int64_t columns = 0;
    int wanted = 0;
    for (int n = 0; n < count; n++) {
        if (!at_tape_has(tape, "concat", "a part", parts[n])) return NULL;
        if (parts[n]->rows != parts[0]->rows) {
            return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                                "concat: part %d is %" PRId64 " x %" PRId64 ", part 0 is %" PRId64
                                " x %" PRId64 "; equal rows are needed",
                                n, parts[n]->rows, parts[n]->columns, parts[0]->rows, parts[0]->columns);
        }
        columns += parts[n]->columns;
        wanted |= at_wanted(parts[n]);
    }
    attn_variable *y = at_result(tape, parts[0]->rows, columns);
    concat_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->parts = at_tape_copy(tape, parts, count, sizeof *parts);
    s->count = count;
    if (!s->parts) return NULL;
    for (int64_t n = 0, first = 0; n < count; first += parts[n++]->columns) {
        at_operand operands[2] = {at_data_of(parts[n]), {y->data + first, y->stride}};
        at_each_row(tape, 8.0, y->rows, parts[n]->columns, 2, operands, copy_numbers, NULL);
    }
    at_record(tape, y, concat_backward, s, wanted, NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
