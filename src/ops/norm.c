/* norm.c: layer norm and RMS norm of every row, and their way back.
 *
 *     y = gain * (x - mean) / sqrt(variance + epsilon) + bias
 *     y = gain * x / sqrt(mean of x^2 + epsilon)
 *
 * The variance is the mean of the squares of what is left when the mean has been
 * taken away: the difference of two large sums would lose it. Back, with z the
 * normalised row, t = d * gain and v the inverse of its deviation,
 *
 *     dx = v * (t - mean(t) - z * mean(t * z))      without mean(t) in an RMS norm
 *     d_gain = sum over rows of d * z      d_bias = sum over rows of d
 *
 * z is computed again from x: two numbers a row are kept. One pass makes dx and
 * the sums, which a task keeps for its chunk of rows; they are added up after.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

typedef struct forward_run {
    const at_row_kernels *row_kernels;
    const at_norm_call *call;
} forward_run;

static void layer_norm_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const forward_run *run = argument;
    const at_norm_call *norm = run->call;
    run->row_kernels->layer_norm(count, p[0], norm->gain, norm->bias, norm->epsilon, p[1], norm->mean + row,
                                 norm->inverse + row);
}

static void rms_norm_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const forward_run *run = argument;
    const at_norm_call *norm = run->call;
    run->row_kernels->rms_norm(count, p[0], norm->gain, norm->epsilon, p[1], norm->inverse + row);
}

attn_status at_cpu_norm(attn_context *context, const at_norm_call *call) {
    forward_run run = {at_row_kernels_for(context->isa), call};
    at_operand operands[2] = {at_operand_of(call->x), at_operand_of(call->y)};
    at_each_row(context, call->centred ? 12.0 : 8.0, call->y.rows, call->y.columns, 2, operands,
                call->centred ? layer_norm_row : rms_norm_row, &run);
    return ATTN_OK;
}

typedef struct backward_run {
    const at_row_kernels *row_kernels;
    const at_norm_backward_call *call;
    float *d_gain, *d_bias; /* partial sums, a row for each chunk; NULL: not wanted */
} backward_run;

static float *cleared_partial(float *partials, int64_t task, int64_t columns) {
    if (!partials) return NULL;
    return memset(partials + task * columns, 0, (size_t)columns * sizeof(float));
}

static void backward_task(void *argument, int64_t task, int worker) {
    const backward_run *run = argument;
    const at_norm_backward_call *call = run->call;
    const at_view *d = &call->d, *x = &call->x, *dx = &call->dx;
    float *d_gain = cleared_partial(run->d_gain, task, d->columns);
    float *d_bias = cleared_partial(run->d_bias, task, d->columns);
    (void)worker;
    for (int64_t i = task * AT_CHUNK_ROWS; i < d->rows && i < (task + 1) * AT_CHUNK_ROWS; i++) {
        run->row_kernels->norm_backward(d->columns, d->data + i * d->stride, x->data + i * x->stride,
                                        call->gain, call->centred, call->centred ? call->mean[i] : 0.0f,
                                        call->inverse[i], call->adds,
                                        dx->data ? dx->data + i * dx->stride : NULL, d_gain, d_bias);
    }
}

attn_status at_cpu_norm_backward(attn_context *context, const at_norm_backward_call *call) {
    int64_t chunks = at_chunks_of(call->d.rows), columns = call->d.columns;
    float *memory;
    attn_status status = at_work_memory(context, 2 * chunks * columns, &memory);
    if (status != ATTN_OK) return status;
    backward_run run = {at_row_kernels_for(context->isa), call, call->d_gain ? memory : NULL,
                        call->d_bias ? memory + chunks * columns : NULL};
    at_run_tasks(context, 16.0 * (double)call->d.rows * (double)columns, chunks, backward_task, &run);
    if (call->d_gain) at_sum_chunks(context, chunks, columns, run.d_gain, call->d_gain);
    if (call->d_bias) at_sum_chunks(context, chunks, columns, run.d_bias, call->d_bias);
    return ATTN_OK;
}
