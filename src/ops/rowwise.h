/* rowwise.h: what operators that work on single rows or numbers share: the cut
 * into tasks, and sums over all rows in an order that no thread changes.
 */
#ifndef AT_OPS_ROWWISE_H
#define AT_OPS_ROWWISE_H

#include "base/context.h"
#include "kernels/rows.h"
#include "kernels/table.h"
#include "ops/calls.h"

/* Runs function over tasks on the context's threads, as many as the operations
 * are worth. */
void at_run_tasks(const attn_context *context, double operations, int64_t tasks, at_task_function function,
                  void *argument);

/* An operand: row i begins at data + i * stride. Stride 0: one row for all.
 * data NULL: absent, and stays NULL for every row. */
typedef struct at_operand {
    float *data;
    int64_t stride;
} at_operand;

static inline at_operand at_operand_of(at_view view) {
    at_operand operand = {view.data, view.stride};
    return operand;
}

enum { AT_OPERANDS = 6 };

/* Does `count` numbers of every operand, p[o] being where they begin. */
typedef void (*at_row_function)(int64_t row, int64_t count, float *const *p, const void *argument);

/* Calls function for every row, with count = columns. cost: of one number, in
 * multiply-adds. */
void at_each_row(const attn_context *context, double cost, int64_t rows, int64_t columns, int operands,
                 const at_operand *operand, at_row_function function, const void *argument);

/* The same for functions that work number by number and look at no row's index:
 * rows that are contiguous in all operands are done as one. */
void at_each_element(const attn_context *context, double cost, int64_t rows, int64_t columns, int operands,
                     const at_operand *operand, at_row_function function, const void *argument);

/* Sums over rows. Rows are cut into chunks of AT_CHUNK_ROWS; the partial sums of
 * chunk n are at partials + n * columns, and at_sum_chunks adds them up in
 * order. So the order of a sum follows from the number of rows alone. */
enum { AT_CHUNK_ROWS = 32 };
int64_t at_chunks_of(int64_t rows);
void at_sum_chunks(const attn_context *context, int64_t chunks, int64_t columns, const float *partials,
                   float *sums);

/* `count` numbers of working memory of the context, until its next call. */
attn_status at_work_memory(attn_context *context, int64_t count, float **memory);

#endif
