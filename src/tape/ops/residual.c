/* residual.c: y = x + mask * branch / (1 - p), the end of a branch of a block.
 *
 * One operation instead of two, and most often in the memory of the branch. The
 * gradient goes to x as it is; the branch gets it through the mask, or, without
 * dropout, reads the very same memory if it is walked next, before anything is
 * added to the gradient of x.
 */
#include "tape/residual.h"

#include <inttypes.h>

#include "tape/ops/rowwise.h"

typedef struct residual_state {
    const at_network *network;
    uint64_t seed, stream;
    uint32_t threshold; /* 0: no dropout */
    float factor;
} residual_state;

static void drop(const residual_state *s, int64_t row, int64_t count, const float *x, float *y) {
    at_row_key key = at_random_row(s->seed, (int64_t)s->stream, 0, row);
    s->network->dropout(count, key, s->threshold, s->factor, x, y);
}

/* x, branch, y; y may be the branch. */
static void sum_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const residual_state *s = state;
    if (!s->threshold) {
        s->network->add(count, p[0], p[1], p[2]);
        return;
    }
    drop(s, row, count, p[1], p[2]);
    s->network->add(count, p[0], p[2], p[2]);
}

static void drop_row(int64_t row, int64_t count, float *const *p, const void *state) {
    drop(state, row, count, p[0], p[1]);
}

static void residual_backward(attn_tape *tape, at_node *node) {
    const residual_state *s = node->state;
    attn_variable *x = node->input[0], *branch = node->input[1], *y = node->output;
    if (s->threshold) {
        at_gradient g = at_gradient_begin(tape, branch);
        if (g.data) {
            at_operand operands[2] = {at_gradient_of(y), at_place_of(&g)};
            at_each_row(tape, 16.0, y->rows, y->columns, 2, operands, drop_row, s);
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
    residual_state *s = at_tape_memory(tape, 1, sizeof *s);
    int in_place =
        branch->spare && branch->stride == branch->columns && branch != x && branch->data != x->data;
    attn_variable *y = in_place ? at_result_in(tape, branch) : at_result(tape, x->rows, x->columns);
    if (!y || !s) return NULL;
    residual_state state = {at_tape_network(tape), at_tape_seed(tape), 0, 0, 1.0f};
    if (attn_tape_mode_of(tape) == ATTN_TAPE_TRAIN) {
        state.stream = at_tape_stream(tape); /* also with p = 0, as attn_tape_dropout */
        state.threshold = at_random_threshold(dropout);
        state.factor = 1.0f / (1.0f - dropout);
    }
    *s = state;
    at_operand operands[3] = {at_data_of(x), at_data_of(branch), at_data_of(y)};
    at_each_row(tape, s->threshold ? 18.0 : 2.0, y->rows, y->columns, 3, operands, sum_row, s);
    at_record(tape, y, residual_backward, s, 0, x, branch, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
