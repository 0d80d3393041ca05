/* concat.c: the columns of several variables side by side.
 *
 * Backward, each part gets its columns of the result's gradient: a view of them
 * is passed on, which copies or adds, without memory of its own.
 */
#include "tape/tape.h"

#include <inttypes.h>

typedef struct concat_state {
    attn_variable **parts;
    int count;
} concat_state;

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
        at_view place = at_view_of(y->data + first, y->rows, parts[n]->columns, y->stride);
        at_copy_call call = {.x = at_data_of(parts[n]), .y = place};
        at_tape_did(tape, at_tape_run(tape)->copy(at_tape_context(tape), &call));
    }
    at_record(tape, y, concat_backward, s, wanted, NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
