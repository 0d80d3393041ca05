/* residual.c: y = x + mask * branch / (1 - p), the end of a branch of a block.
 *
 * One operation instead of two, and most often in the memory of the branch. The
 * gradient goes to x as it is; the branch gets it through the mask, or, without
 * dropout, reads the very same memory if it is walked next, before anything is
 * added to the gradient of x.
 */
#include "tape/residual.h"

#include <inttypes.h>

#include "base/random.h"

static void residual_backward(attn_tape *tape, at_node *node) {
    const at_dropout *s = node->state;
    attn_variable *x = node->input[0], *branch = node->input[1], *y = node->output;
    if (s->threshold) {
        at_gradient g = at_gradient_begin(tape, branch);
        if (g.data) {
            at_dropout_call call = {.dropout = *s, .x = at_gradient_of(y), .y = at_place_of(&g, branch)};
            at_tape_did(tape, at_tape_run(tape)->dropout(at_tape_context(tape), &call));
        }
        at_gradient_end(tape, branch, &g);
    } else if (at_wanted(branch) && !branch->gradient && !branch->whole && !branch->parameter &&
               !branch->kept && node->previous && node->previous->output == branch && branch != x) {
        branch->gradient = y->gradient; /* its owner stays y, or becomes x */
        branch->gradient_stride = y->gradient_stride;
        branch->gradient_bytes = 0;
    } else {
        at_gradient_pass(tape, branch, y, 0);
    }
    at_gradient_pass(tape, x, y, 1);
    if (branch->gradient == y->gradient && !y->kept) { /* x has not taken it over: the branch does */
        branch->gradient_bytes = y->gradient_bytes;
        y->gradient_bytes = 0;
    }
}

attn_variable *at_tape_residual(attn_tape *tape, attn_variable *x, attn_variable *branch, float dropout) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "residual", "x", x) ||
        !at_tape_has(tape, "residual", "branch", branch)) {
        return NULL;
    }
    if (x->rows != branch->rows || x->columns != branch->columns || !(dropout >= 0.0f && dropout < 1.0f)) {
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "residual: x is %" PRId64 " x %" PRId64 ", the branch %" PRId64 " x %" PRId64
                            ", the dropout %g",
                            x->rows, x->columns, branch->rows, branch->columns, (double)dropout);
    }
    at_dropout *s = at_tape_memory(tape, 1, sizeof *s);
    int in_place =
        branch->spare && branch->stride == branch->columns && branch != x && branch->data != x->data;
    attn_variable *y = in_place ? at_result_in(tape, branch) : at_result(tape, x->rows, x->columns);
    if (!y || !s) return NULL;
    at_dropout state = {at_tape_seed(tape), 0, 0, 1.0f};
    if (attn_tape_mode_of(tape) == ATTN_TAPE_TRAIN) {
        state.stream = at_tape_stream(tape); /* also with p = 0, as attn_tape_dropout */
        state.threshold = at_random_threshold(dropout);
        state.factor = 1.0f / (1.0f - dropout);
    }
    *s = state;
    at_dropout_call call = {*s, at_data_of(x), at_data_of(branch), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->residual(at_tape_context(tape), &call));
    at_record(tape, y, residual_backward, s, 0, x, branch, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
