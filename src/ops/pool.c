/* pool.c: one row for every sequence: the mean, the maximum, the first or the sum of
 * its rows; 0 for an empty sequence.
 *
 * A task is one sequence and a block of columns, so that a long sequence alone
 * is shared, too. Rows are summed in order. The maximum of a column is NaN if
 * one of its numbers is; which row it came from is kept, to send the gradient
 * there.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { COLUMNS_OF_TASK = 256 };

typedef struct pool_run {
    const at_pool_call *call;
    const at_kernels *kernels;
    const at_row_kernels *row_kernels;
    int64_t blocks;
} pool_run;

/* What one task works on. */
typedef struct pool_part {
    float *x, *y;
    int32_t *at;
    int64_t rows, columns;
} pool_part;

static pool_part part_of(const pool_run *run, int64_t task) {
    const at_pool_call *call = run->call;
    int64_t b = task / run->blocks, first = task % run->blocks * COLUMNS_OF_TASK;
    int64_t all = call->x.columns, columns = all - first < COLUMNS_OF_TASK ? all - first : COLUMNS_OF_TASK;
    pool_part part = {call->x.data + call->batch.offsets[b] * call->x.stride + first,
                      call->y.data + b * call->y.stride + first,
                      call->maximum_at ? call->maximum_at + b * all + first : NULL,
                      call->batch.offsets[b + 1] - call->batch.offsets[b], columns};
    return part;
}

static void pool_task(void *argument, int64_t task, int worker) {
    const pool_run *run = argument;
    const at_pool_call *call = run->call;
    pool_part part = part_of(run, task);
    (void)worker;
    if (part.rows == 0) {
        memset(part.y, 0, (size_t)part.columns * sizeof(float));
    } else if (call->kind == ATTN_POOL_MEAN || call->kind == ATTN_POOL_SUM) {
        run->kernels->column_sums(part.rows, part.columns, part.x, call->x.stride, part.y);
        if (call->kind == ATTN_POOL_MEAN)
            run->row_kernels->scale(part.columns, 1.0f / (float)part.rows, part.y, part.y);
    } else if (call->kind == ATTN_POOL_MAX) {
        run->row_kernels->pool_maximum(part.rows, part.columns, part.x, call->x.stride, part.y, part.at);
    } else {
        memcpy(part.y, part.x, (size_t)part.columns * sizeof(float));
    }
}

static void pool_backward_task(void *argument, int64_t task, int worker) {
    const pool_run *run = argument;
    const at_pool_call *call = run->call;
    pool_part part = part_of(run, task);
    (void)worker;
    for (int64_t i = 0; i < part.rows; i++) {
        float *dx = part.x + i * call->x.stride;
        if (call->kind == ATTN_POOL_MEAN) {
            run->row_kernels->scale(part.columns, 1.0f / (float)part.rows, part.y, dx);
        } else if (call->kind == ATTN_POOL_SUM || (call->kind == ATTN_POOL_FIRST && i == 0)) {
            memcpy(dx, part.y, (size_t)part.columns * sizeof(float));
        } else {
            memset(dx, 0, (size_t)part.columns * sizeof(float));
        }
    }
    if (call->kind == ATTN_POOL_MAX && part.rows > 0) {
        for (int64_t c = 0; c < part.columns; c++) part.x[part.at[c] * call->x.stride + c] = part.y[c];
    }
}

static attn_status run_pool(attn_context *context, const at_pool_call *call, at_task_function function) {
    pool_run run = {call, at_kernels_for(context->isa), at_row_kernels_for(context->isa),
                    (call->x.columns + COLUMNS_OF_TASK - 1) / COLUMNS_OF_TASK};
    at_run_tasks(context, (double)call->x.rows * (double)call->x.columns, call->batch.sequences * run.blocks,
                 function, &run);
    return ATTN_OK;
}

attn_status at_cpu_pool(attn_context *context, const at_pool_call *call) {
    return run_pool(context, call, pool_task);
}
attn_status at_cpu_pool_backward(attn_context *context, const at_pool_call *call) {
    return run_pool(context, call, pool_backward_task);
}
