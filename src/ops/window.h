/* window.h (private): the rows around every row of a sequence, side by side
 * (at_window). The unfolded matrix is seldom needed as a whole: a task unfolds the
 * rows and columns that it works on.
 */
#ifndef AT_OPS_WINDOW_H
#define AT_OPS_WINDOW_H

#include "kernels/rows.h"
#include "ops/calls.h"

/* The window of the rows that see a row: mirrored. */
at_window at_window_mirror(const at_window *window);

/* The sequence of a row of the batch. */
int64_t at_sequence_of(const attn_ragged *batch, int64_t row);

/* Columns column .. column + count - 1 of the unfolded rows row .. row_end - 1;
 * x has `columns` of them. */
void at_unfold(const at_window *window, const float *x, int64_t stride, int64_t columns, int64_t row,
               int64_t row_end, int64_t column, int64_t count, float *y, int64_t y_stride);

/* The transpose, along sequences: row j of dx, for row <= j < row_end, is the sum of all that it
 * was copied to in the unfolded matrix dy, the leftmost place first. */
void at_fold(const at_row_kernels *row_kernels, const at_window *window, const float *dy, int64_t dy_stride,
             int64_t columns, int64_t row, int64_t row_end, float *dx, int64_t dx_stride);

#endif
