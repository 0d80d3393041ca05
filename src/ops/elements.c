/* elements.c: what works number by number on matrices: fill, copy, sums, products,
 * and the sums of columns.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

/* ---- fill and copy ---- */

static void fill_numbers(int64_t row, int64_t count, float *const *p, const void *value) {
    float x = *(const float *)value;
    (void)row;
    for (int64_t c = 0; c < count; c++) p[0][c] = x;
}

attn_status at_cpu_fill(attn_context *context, const at_fill_call *call) {
    at_operand operand = at_operand_of(call->y);
    at_each_element(context, 1.0, call->y.rows, call->y.columns, 1, &operand, fill_numbers, &call->value);
    return ATTN_OK;
}

enum { ROWS_OF_TASK = 64 };

typedef struct copy_run {
    const at_row_kernels *row_kernels;
    at_view x, y;
    int adds;
} copy_run;

static void copy_task(void *argument, int64_t task, int worker) {
    const copy_run *run = argument;
    (void)worker;
    for (int64_t i = task * ROWS_OF_TASK; i < run->y.rows && i < (task + 1) * ROWS_OF_TASK; i++) {
        const float *x = run->x.data + i * run->x.stride;
        float *y = run->y.data + i * run->y.stride;
        if (run->adds) {
            run->row_kernels->add_to(run->y.columns, x, y);
        } else {
            memcpy(y, x, (size_t)run->y.columns * sizeof(float));
        }
    }
}

static void copy_rows(const attn_context *context, at_view x, at_view y, int adds) {
    copy_run run = {at_row_kernels_for(context->isa), x, y, adds};
    at_run_tasks(context, 2.0 * (double)y.rows * (double)y.columns,
                 (y.rows + ROWS_OF_TASK - 1) / ROWS_OF_TASK, copy_task, &run);
}

/* A long vector, as of a parameter, is cut like rows: the odd end, and rows of 1024. */
attn_status at_cpu_copy(attn_context *context, const at_copy_call *call) {
    enum { PIECE = 1024 };
    const at_view *x = &call->x, *y = &call->y;
    if (y->rows != 1 || y->columns <= 4 * PIECE) {
        copy_rows(context, *x, *y, call->adds);
        return ATTN_OK;
    }
    int64_t odd = y->columns % PIECE, pieces = y->columns / PIECE;
    if (odd)
        copy_rows(context, at_view_of(x->data, 1, odd, odd), at_view_of(y->data, 1, odd, odd), call->adds);
    copy_rows(context, at_view_of(x->data + odd, pieces, PIECE, PIECE),
              at_view_of(y->data + odd, pieces, PIECE, PIECE), call->adds);
    return ATTN_OK;
}

/* ---- sums and products ---- */

static void add_numbers(int64_t row, int64_t count, float *const *p, const void *row_kernels) {
    (void)row;
    ((const at_row_kernels *)row_kernels)->add(count, p[0], p[1], p[2]);
}

static void multiply_numbers(int64_t row, int64_t count, float *const *p, const void *row_kernels) {
    (void)row;
    ((const at_row_kernels *)row_kernels)->multiply(count, p[0], p[1], p[2]);
}

static attn_status binary(attn_context *context, const at_binary_call *call, at_row_function function) {
    at_operand operands[3] = {at_operand_of(call->a), at_operand_of(call->b), at_operand_of(call->y)};
    if (call->b.rows != call->a.rows) operands[1].stride = 0;
    at_each_element(context, 8.0, call->y.rows, call->y.columns, 3, operands, function,
                    at_row_kernels_for(context->isa));
    return ATTN_OK;
}

attn_status at_cpu_add(attn_context *context, const at_binary_call *call) {
    return binary(context, call, add_numbers);
}
attn_status at_cpu_multiply(attn_context *context, const at_binary_call *call) {
    return binary(context, call, multiply_numbers);
}

typedef struct scale_run {
    const at_row_kernels *row_kernels;
    float factor;
} scale_run;

static void scale_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    const scale_run *run = argument;
    (void)row;
    run->row_kernels->scale(count, run->factor, p[0], p[1]);
}

attn_status at_cpu_scale(attn_context *context, const at_scale_call *call) {
    scale_run run = {at_row_kernels_for(context->isa), call->factor};
    at_operand operands[2] = {at_operand_of(call->x), at_operand_of(call->y)};
    at_each_element(context, 8.0, call->y.rows, call->y.columns, 2, operands, scale_numbers, &run);
    return ATTN_OK;
}

/* ---- sums of columns ---- */

typedef struct sums_run {
    const at_row_kernels *row_kernels;
    at_view x, factor;
    float *partials;
} sums_run;

static void sums_task(void *argument, int64_t task, int worker) {
    const sums_run *run = argument;
    int64_t columns = run->x.columns;
    float *sums = run->partials + task * columns;
    (void)worker;
    memset(sums, 0, (size_t)columns * sizeof(float));
    for (int64_t i = task * AT_CHUNK_ROWS; i < run->x.rows && i < (task + 1) * AT_CHUNK_ROWS; i++) {
        const float *x = run->x.data + i * run->x.stride;
        if (run->factor.data) {
            run->row_kernels->add_product(columns, run->factor.data + i * run->factor.stride, x, sums);
        } else {
            run->row_kernels->add_to(columns, x, sums);
        }
    }
}

attn_status at_cpu_column_sums(attn_context *context, const at_column_sums_call *call) {
    int64_t chunks = at_chunks_of(call->x.rows), columns = call->x.columns;
    sums_run run = {at_row_kernels_for(context->isa), call->x, call->factor, NULL};
    attn_status status = at_work_memory(context, chunks * columns, &run.partials);
    if (status != ATTN_OK) return status;
    at_run_tasks(context, 2.0 * (double)call->x.rows * (double)columns, chunks, sums_task, &run);
    at_sum_chunks(context, chunks, columns, run.partials, call->sums);
    return ATTN_OK;
}
