/* pool_attention.c: the weighted sum of a sequence's rows, by learned scores.
 *
 *     p_ih = softmax over the rows i of sequence b of scores_ih
 *     y_b  = [ sum_i p_i0 x_i0 | ... ]        x_ih: the columns of head h in row i
 *
 * x rows x columns, scores rows x heads, y sequences x columns. Walking back,
 * with dp_ih = dy_bh . x_ih:
 *
 *     dx_ih = p_ih dy_bh        dscores_ih = p_ih (dp_ih - sum_j p_jh dp_jh)
 *
 * A task is one sequence and one head. The weights are kept head by head, so
 * that those of a task stand side by side.
 */
#include <inttypes.h>
#include <string.h>

#include "tape/tape.h"

typedef struct attention_state {
    attn_ragged batch;
    int64_t heads;
    float *weights; /* heads x rows */
} attention_state;

typedef struct attention_run {
    const attention_state *state;
    const at_kernels *kernels;
    const at_network *network;
    const attn_variable *x, *scores;
    attn_variable *y;
    int64_t width; /* columns of a head */
    at_gradient dx, d_scores;
    float *products; /* heads x rows: dp */
} attention_run;

static void forward_task(void *argument, int64_t task, int worker) {
    const attention_run *run = argument;
    const attention_state *s = run->state;
    const attn_variable *x = run->x, *scores = run->scores;
    int64_t b = task / s->heads, head = task % s->heads, first = s->batch.offsets[b];
    int64_t rows = s->batch.offsets[b + 1] - first;
    float *weights = s->weights + head * x->rows + first;
    float *y = run->y->data + b * run->y->stride + head * run->width;
    (void)worker;
    if (rows == 0) {
        memset(y, 0, (size_t)run->width * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < rows; i++) weights[i] = scores->data[(first + i) * scores->stride + head];
    run->kernels->softmax_row(rows, weights, weights);
    run->network->pool_weighted_sum(rows, run->width, weights,
                                    x->data + first * x->stride + head * run->width, x->stride, y);
}

static void backward_task(void *argument, int64_t task, int worker) {
    const attention_run *run = argument;
    const attention_state *s = run->state;
    const attn_variable *x = run->x, *y = run->y;
    int64_t b = task / s->heads, head = task % s->heads, first = s->batch.offsets[b];
    int64_t rows = s->batch.offsets[b + 1] - first;
    const float *weights = s->weights + head * x->rows + first;
    const float *dy = y->gradient + b * y->gradient_stride + head * run->width;
    (void)worker;
    if (rows == 0) return;
    if (run->dx.data) {
        float *dx = run->dx.data + first * run->dx.stride + head * run->width;
        for (int64_t i = 0; i < rows; i++) {
            run->network->scale(run->width, weights[i], dy, dx + i * run->dx.stride);
        }
    }
    if (run->d_scores.data) {
        float *products = run->products + head * x->rows + first, mean;
        run->network->pool_dots(rows, run->width, dy, x->data + first * x->stride + head * run->width,
                                x->stride, products);
        run->network->pool_dots(1, rows, weights, products, 0, &mean);
        for (int64_t i = 0; i < rows; i++) {
            run->d_scores.data[(first + i) * run->d_scores.stride + head] = weights[i] * (products[i] - mean);
        }
    }
}

static void pool_attention_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *scores = node->input[1];
    attention_state *s = node->state;
    at_mark mark = at_scratch_mark(tape);
    attention_run run = {.state = s,
                         .kernels = at_tape_kernels(tape),
                         .network = at_tape_network(tape),
                         .x = x,
                         .scores = scores,
                         .y = node->output,
                         .width = x->columns / s->heads};
    run.products = at_scratch_memory(tape, s->heads * x->rows, sizeof(float));
    run.dx = at_gradient_begin(tape, x);
    run.d_scores = at_gradient_begin(tape, scores);
    if (at_tape_ready(tape)) {
        at_tape_parallel(tape, 4.0 * (double)x->rows * (double)x->columns, s->batch.sequences * s->heads,
                         backward_task, &run);
    }
    at_gradient_end(tape, x, &run.dx);
    at_gradient_end(tape, scores, &run.d_scores);
    at_scratch_release(tape, mark);
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
    s->weights = at_tape_memory(tape, scores->rows * scores->columns, sizeof(float));
    if (!y || !s->weights) return NULL;
    attention_run run = {.state = s,
                         .kernels = at_tape_kernels(tape),
                         .network = at_tape_network(tape),
                         .x = x,
                         .scores = scores,
                         .y = y,
                         .width = x->columns / s->heads};
    at_tape_parallel(tape, 2.0 * (double)x->rows * (double)x->columns, batch->sequences * s->heads,
                     forward_task, &run);
    at_record(tape, y, pool_attention_backward, s, 0, x, scores, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
