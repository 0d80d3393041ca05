/* pool_attention.c: the weighted sum of a sequence's rows, by learned scores.
 *
 *     p_ih = softmax over the rows i of sequence b of scores_ih
 *     y_b  = [ sum_i p_i0 x_i0 | ... ]        x_ih: the columns of head h in row i
 *
 * x rows x columns, scores rows x heads, y sequences x columns. The weights p are
 * kept for the way back.
 */
#include "tape/tape.h"

#include <inttypes.h>

typedef struct attention_state {
    attn_ragged batch;
    int64_t heads;
    float *weights; /* heads x rows */
} attention_state;

static void pool_attention_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *scores = node->input[1];
    const attention_state *s = node->state;
    at_gradient dx = at_gradient_begin(tape, x);
    at_gradient d_scores = at_gradient_begin(tape, scores);
    if (at_tape_ready(tape)) {
        at_pool_attention_backward_call call = {.batch = s->batch,
                                                .heads = s->heads,
                                                .weights = s->weights,
                                                .x = at_data_of(x),
                                                .d = at_gradient_of(node->output),
                                                .dx = at_place_of(&dx, x),
                                                .d_scores = at_place_of(&d_scores, scores)};
        at_tape_did(tape, at_tape_run(tape)->pool_attention_backward(at_tape_context(tape), &call));
    }
    at_gradient_end(tape, x, &dx);
    at_gradient_end(tape, scores, &d_scores);
}

attn_variable *attn_tape_pool_attention(attn_tape *tape, attn_variable *x, attn_variable *scores,
                                        const attn_ragged *batch) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "pool_attention", "x", x) ||
        !at_tape_has(tape, "pool_attention", "scores", scores)) {
        return NULL;
    }
    if (scores->rows != x->rows || x->columns % scores->columns != 0) {
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "pool_attention: scores is %" PRId64 " x %" PRId64 ", x %" PRId64 " x %" PRId64
                            "; equal rows and a whole number of columns for each head are needed",
                            scores->rows, scores->columns, x->rows, x->columns);
    }
    attention_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s || !at_tape_has_batch(tape, "pool_attention", batch, x->rows, &s->batch)) return NULL;
    attn_variable *y = at_result(tape, batch->sequences, x->columns);
    s->heads = scores->columns;
    s->weights = at_tape_numbers(tape, scores->rows * scores->columns);
    if (!y || !s->weights) return NULL;
    at_pool_attention_call call = {s->batch, at_data_of(x), at_data_of(scores), at_data_of(y), s->weights};
    at_tape_did(tape, at_tape_run(tape)->pool_attention(at_tape_context(tape), &call));
    at_record(tape, y, pool_attention_backward, s, 0, x, scores, NULL);
    const at_observer *observer = at_tape_observer(tape);
    if (observer && attn_tape_status(tape) == ATTN_OK) {
        at_pooling_seen seen = {x, y, s->heads, s->weights};
        observer->pooling(observer->user, tape, &seen);
    }
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
