/* gather.c: rows taken from, and added to, places that a list names; bags of them;
 * and the same for columns.
 *
 * Additions to rows in any order are cut by columns: a task owns a few columns
 * of all rows and makes all additions to them, in order. So no two threads meet,
 * nothing is sorted, and only rows that are named are touched. A single thread takes whole rows.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

static void gather_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const at_gather_call *call = argument;
    int64_t from = call->rows[row];
    if (from < 0) {
        memset(p[0], 0, (size_t)count * sizeof(float));
    } else {
        memcpy(p[0], call->x.data + from * call->x.stride, (size_t)count * sizeof(float));
    }
}

attn_status at_cpu_gather(attn_context *context, const at_gather_call *call) {
    at_operand target = at_operand_of(call->y);
    at_each_row(context, 8.0, call->y.rows, call->y.columns, 1, &target, gather_row, call);
    return ATTN_OK;
}

/* ---- additions ---- */

typedef struct additions_run {
    const at_row_kernels *row_kernels;
    const at_add_rows_call *call;
    int64_t width; /* columns of a task */
} additions_run;

static void additions_task(void *argument, int64_t task, int worker) {
    const additions_run *run = argument;
    const at_add_rows_call *a = run->call;
    int64_t first = task * run->width, columns = a->y.columns - first;
    if (columns > run->width) columns = run->width;
    (void)worker;
    for (int64_t i = 0; a->clears && i < a->y.rows; i++) {
        memset(a->y.data + i * a->y.stride + first, 0, (size_t)columns * sizeof(float));
    }
    run->row_kernels->add_rows(a->count, columns, a->from, a->to, a->factor, a->x.data + first, a->x.stride,
                               a->y.data + first, a->y.stride);
}

attn_status at_cpu_add_rows(attn_context *context, const at_add_rows_call *call) {
    int64_t columns = call->y.columns;
    additions_run run = {at_row_kernels_for(context->isa), call,
                         context->threads == 1 ? columns
                         : columns > 512       ? 64
                         : columns > 128       ? 32
                                               : 16};
    double numbers = (double)(call->count + (call->clears ? call->y.rows : 0)) * (double)columns;
    at_run_tasks(context, 16.0 * numbers, (columns + run.width - 1) / run.width, additions_task, &run);
    return ATTN_OK;
}

attn_status at_cpu_clear_rows(attn_context *context, const at_clear_rows_call *call) {
    const at_view *y = &call->y;
    (void)context;
    for (int64_t word = 0; word < (y->rows + 63) / 64; word++) {
        for (int64_t row = 64 * word; call->bits[word] >> (row % 64); row++) {
            if (call->bits[word] >> (row % 64) & 1) {
                memset(y->data + row * y->stride, 0, (size_t)y->columns * sizeof(float));
            }
            if (row % 64 == 63) break;
        }
    }
    return ATTN_OK;
}

typedef struct take_run {
    const at_row_kernels *row_kernels;
    const at_take_rows_call *call;
} take_run;

enum { TAKEN_WORDS = 16 }; /* of bits, a task */

static void take_task(void *argument, int64_t task, int worker) {
    const take_run *run = argument;
    const at_take_rows_call *call = run->call;
    int64_t rows[64 * TAKEN_WORDS], count = 0, words = (call->y.rows + 63) / 64,
                                    end = (task + 1) * TAKEN_WORDS;
    (void)worker;
    for (int64_t word = task * TAKEN_WORDS; word < end && word < words; word++) {
        for (uint64_t bits = call->bits[word]; bits; bits &= bits - 1)
            rows[count++] = 64 * word + __builtin_ctzll(bits);
    }
    run->row_kernels->take_rows(count, call->y.columns, rows, call->x.data, call->y.data);
}

attn_status at_cpu_take_rows(attn_context *context, const at_take_rows_call *call) {
    take_run run = {at_row_kernels_for(context->isa), call};
    int64_t words = (call->y.rows + 63) / 64, rows = 0;
    for (int64_t word = 0; word < words; word++) rows += __builtin_popcountll(call->bits[word]);
    at_run_tasks(context, 16.0 * (double)(rows * call->y.columns), (words + TAKEN_WORDS - 1) / TAKEN_WORDS,
                 take_task, &run);
    return ATTN_OK;
}

/* ---- bags ---- */

typedef struct bag_run {
    const at_row_kernels *row_kernels;
    const at_bag_call *call;
} bag_run;

static void sum_bag(int64_t bag, int64_t count, float *const *p, const void *argument) {
    const bag_run *run = argument;
    const at_bag_call *call = run->call;
    int64_t first = call->offsets[bag], end = call->offsets[bag + 1];
    run->row_kernels->bag(end - first, call->offsets[call->y.rows] - first, count, call->rows + first,
                          call->weights ? call->weights + first : NULL, call->table.data, call->table.stride,
                          p[0]);
    if (call->kind == ATTN_BAG_MEAN && end - first > 1)
        run->row_kernels->scale(count, 1.0f / (float)(end - first), p[0], p[0]);
}

attn_status at_cpu_bag(attn_context *context, const at_bag_call *call) {
    bag_run run = {at_row_kernels_for(context->isa), call};
    at_operand target = at_operand_of(call->y);
    int64_t bags = call->y.rows;
    double rows_of_bag = bags ? (double)call->offsets[bags] / (double)bags : 0.0;
    at_each_row(context, 8.0 * (1.0 + rows_of_bag), bags, call->y.columns, 1, &target, sum_bag, &run);
    return ATTN_OK;
}

/* ---- columns: for small tables, such as one bias a bucket spread over all distances ---- */

attn_status at_cpu_gather_columns(attn_context *context, const at_gather_columns_call *call) {
    const at_view *x = &call->x, *y = &call->y;
    (void)context;
    for (int64_t i = 0; i < y->rows; i++) {
        for (int64_t c = 0; c < y->columns; c++)
            y->data[i * y->stride + c] = x->data[i * x->stride + call->columns[c]];
    }
    return ATTN_OK;
}

attn_status at_cpu_gather_columns_backward(attn_context *context, const at_gather_columns_call *call) {
    const at_view *dx = &call->x, *dy = &call->y;
    (void)context;
    for (int64_t i = 0; i < dx->rows; i++) {
        float *target = dx->data + i * dx->stride;
        const float *source = dy->data + i * dy->stride;
        memset(target, 0, (size_t)dx->columns * sizeof(float));
        for (int64_t c = 0; c < dy->columns; c++) target[call->columns[c]] += source[c];
    }
    return ATTN_OK;
}
