/* rowwise.c: work on single rows cut into tasks, and sums over rows. */
#include "ops/rowwise.h"

#include <string.h>

#include "ops/check.h"

void at_run_tasks(const attn_context *context, double operations, int64_t tasks, at_task_function function,
                  void *argument) {
    at_compute(context->pool, at_threads_for(context, operations), tasks, function, argument);
}

typedef struct rows_run {
    int64_t rows, columns, rows_of_task;
    int operands, joined; /* joined: the rows of a task are one */
    at_operand operand[AT_OPERANDS];
    at_row_function function;
    const void *argument;
} rows_run;

static void rows_task(void *argument, int64_t task, int worker) {
    const rows_run *run = argument;
    int64_t first = task * run->rows_of_task, end = first + run->rows_of_task;
    if (end > run->rows) end = run->rows;
    int64_t step = run->joined ? end - first : 1;
    (void)worker;
    for (int64_t i = first; i < end; i += step) {
        float *p[AT_OPERANDS];
        for (int o = 0; o < run->operands; o++) {
            const at_operand *operand = &run->operand[o];
            p[o] = operand->data ? operand->data + i * operand->stride : NULL;
        }
        run->function(i, step * run->columns, p, run->argument);
    }
}

/* Tasks of about 16,000 numbers: worth a thread, and small enough for its cache. */
static int64_t rows_of_task(int64_t columns) {
    int64_t rows = 16384 / columns;
    return rows < 1 ? 1 : rows;
}

static void run_rows(const attn_context *context, double cost, rows_run *run, const at_operand *operand) {
    if (run->columns == 0) return; /* nothing, as of the rest of a parameter that has none */
    memcpy(run->operand, operand, (size_t)run->operands * sizeof *operand);
    run->rows_of_task = rows_of_task(run->columns);
    at_run_tasks(context, cost * (double)run->rows * (double)run->columns,
                 (run->rows + run->rows_of_task - 1) / run->rows_of_task, rows_task, run);
}

void at_each_row(const attn_context *context, double cost, int64_t rows, int64_t columns, int operands,
                 const at_operand *operand, at_row_function function, const void *argument) {
    rows_run run = {
        .rows = rows, .columns = columns, .operands = operands, .function = function, .argument = argument};
    run_rows(context, cost, &run, operand);
}

void at_each_element(const attn_context *context, double cost, int64_t rows, int64_t columns, int operands,
                     const at_operand *operand, at_row_function function, const void *argument) {
    rows_run run = {
        .rows = rows, .columns = columns, .operands = operands, .function = function, .argument = argument};
    run.joined = 1;
    for (int o = 0; o < operands; o++) {
        if (operand[o].data && operand[o].stride != columns) run.joined = 0;
    }
    run_rows(context, cost, &run, operand);
}

/* ---- sums over rows ---- */

int64_t at_chunks_of(int64_t rows) { return (rows + AT_CHUNK_ROWS - 1) / AT_CHUNK_ROWS; }

typedef struct chunks_run {
    const at_kernels *kernels;
    int64_t chunks, columns;
    const float *partials;
    float *sums;
} chunks_run;

enum { COLUMNS_OF_TASK = 64 };

static void chunks_task(void *argument, int64_t task, int worker) {
    const chunks_run *run = argument;
    int64_t first = task * COLUMNS_OF_TASK, columns = run->columns - first;
    if (columns > COLUMNS_OF_TASK) columns = COLUMNS_OF_TASK;
    (void)worker;
    run->kernels->column_sums(run->chunks, columns, run->partials + first, run->columns, run->sums + first);
}

void at_sum_chunks(const attn_context *context, int64_t chunks, int64_t columns, const float *partials,
                   float *sums) {
    chunks_run run = {at_kernels_for(context->isa), chunks, columns, partials, sums};
    at_run_tasks(context, 2.0 * (double)chunks * (double)columns,
                 (columns + COLUMNS_OF_TASK - 1) / COLUMNS_OF_TASK, chunks_task, &run);
}

attn_status at_work_memory(attn_context *context, int64_t count, float **memory) {
    at_layout layout = {0, 0};
    unsigned char *bytes = NULL;
    at_layout_add(&layout, count > 0 ? count : 1, sizeof(float)); /* never NULL */
    attn_status status = at_context_memory(context, &layout, &bytes);
    *memory = (float *)(void *)bytes;
    return status;
}
