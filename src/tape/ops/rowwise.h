/* rowwise.h: what operations that work on single rows or numbers share: the cut
 * into tasks, and sums over all rows in an order that no thread changes.
 */
#ifndef AT_TAPE_OPS_ROWWISE_H
#define AT_TAPE_OPS_ROWWISE_H

#include "tape/tape.h"

/* An operand: row i begins at data + i * stride. Stride 0: one row for all.
 * data NULL: absent, and stays NULL for every row. */
typedef struct at_operand {
    float *data;
    int64_t stride;
} at_operand;

at_operand at_data_of(const attn_variable *x);
at_operand at_gradient_of(const attn_variable *y); /* what arrived at a node's output */
at_operand at_place_of(const at_gradient *gradient);

enum { AT_OPERANDS = 6 };

/* Does `count` numbers of every operand, p[o] being where they begin. */
typedef void (*at_row_function)(int64_t row, int64_t count, float *const *p, const void *argument);

/* Calls function for every row, with count = columns. cost: of one number, in
 * multiply-adds. */
void at_each_row(attn_tape *tape, double cost, int64_t rows, int64_t columns, int operands,
                 const at_operand *operand, at_row_function function, const void *argument);

/* The same for functions that work number by number and look at no row's index:
 * rows that stand side by side in all operands are done as one. */
void at_each_element(attn_tape *tape, double cost, int64_t rows, int64_t columns, int operands,
                     const at_operand *operand, at_row_function function, const void *argument);

/* Sums over rows. Rows are cut into chunks of AT_CHUNK_ROWS; the partial sums of
 * chunk n stand at partials + n * columns, and at_sum_chunks adds them up in
 * order. So the order of a sum follows from the number of rows alone. */
enum { AT_CHUNK_ROWS = 32 };
int64_t at_chunks_of(int64_t rows);
void at_sum_chunks(attn_tape *tape, int64_t chunks, int64_t columns, const float *partials, float *sums);

/* 0, with an error, unless both are there and of one shape, or b is one row as wide as a. */
int at_tape_has_pair(attn_tape *tape, const char *operation, const attn_variable *a, const attn_variable *b);

/* 0, with an error, if activation is none that there is. */
int at_tape_has_activation(attn_tape *tape, const char *operation, attn_activation activation);

#endif
