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
 * that those of a task are contiguous.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

typedef struct forward_run {
    const at_pool_attention_call *call;
    const at_kernels *kernels;
    const at_row_kernels *row_kernels;
    int64_t heads, width; /* columns of a head */
} forward_run;

static void forward_task(void *argument, int64_t task, int worker) {
    const forward_run *run = argument;
    const at_pool_attention_call *call = run->call;
    const at_view *x = &call->x, *scores = &call->scores;
    int64_t b = task / run->heads, head = task % run->heads, first = call->batch.offsets[b];
    int64_t rows = call->batch.offsets[b + 1] - first;
    float *weights = call->weights + head * x->rows + first;
    float *y = call->y.data + b * call->y.stride + head * run->width;
    (void)worker;
    if (rows == 0) {
        memset(y, 0, (size_t)run->width * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < rows; i++) weights[i] = scores->data[(first + i) * scores->stride + head];
    run->kernels->softmax_row(rows, weights, weights);
    run->row_kernels->pool_weighted_sum(rows, run->width, weights,
                                        x->data + first * x->stride + head * run->width, x->stride, y);
}

attn_status at_cpu_pool_attention(attn_context *context, const at_pool_attention_call *call) {
    const at_view *x = &call->x;
    int64_t heads = call->scores.columns;
    forward_run run = {call, at_kernels_for(context->isa), at_row_kernels_for(context->isa), heads,
                       x->columns / heads};
    at_run_tasks(context, 2.0 * (double)x->rows * (double)x->columns, call->batch.sequences * heads,
                 forward_task, &run);
    return ATTN_OK;
}

typedef struct backward_run {
    const at_pool_attention_backward_call *call;
    const at_row_kernels *row_kernels;
    int64_t width;
    float *products; /* heads x rows: dp */
} backward_run;

static void backward_task(void *argument, int64_t task, int worker) {
    const backward_run *run = argument;
    const at_pool_attention_backward_call *call = run->call;
    const at_view *x = &call->x, *d_scores = &call->d_scores;
    int64_t b = task / call->heads, head = task % call->heads, first = call->batch.offsets[b];
    int64_t rows = call->batch.offsets[b + 1] - first;
    const float *weights = call->weights + head * x->rows + first;
    const float *dy = call->d.data + b * call->d.stride + head * run->width;
    (void)worker;
    if (rows == 0) return;
    if (call->dx.data) {
        float *dx = call->dx.data + first * call->dx.stride + head * run->width;
        for (int64_t i = 0; i < rows; i++) {
            run->row_kernels->scale(run->width, weights[i], dy, dx + i * call->dx.stride);
        }
    }
    if (d_scores->data) {
        float *products = run->products + head * x->rows + first, mean;
        run->row_kernels->pool_dots(rows, run->width, dy, x->data + first * x->stride + head * run->width,
                                    x->stride, products);
        run->row_kernels->pool_dots(1, rows, weights, products, 0, &mean);
        for (int64_t i = 0; i < rows; i++) {
            d_scores->data[(first + i) * d_scores->stride + head] = weights[i] * (products[i] - mean);
        }
    }
}

attn_status at_cpu_pool_attention_backward(attn_context *context,
                                           const at_pool_attention_backward_call *call) {
    const at_view *x = &call->x;
    backward_run run = {call, at_row_kernels_for(context->isa), x->columns / call->heads, NULL};
    attn_status status = at_work_memory(context, call->heads * x->rows, &run.products);
    if (status != ATTN_OK) return status;
    at_run_tasks(context, 4.0 * (double)x->rows * (double)x->columns, call->batch.sequences * call->heads,
                 backward_task, &run);
    return ATTN_OK;
}
