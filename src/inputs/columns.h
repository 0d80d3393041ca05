/* columns.h: mean and deviation of columns, for kinds of input with rows of numbers. */
#ifndef AT_INPUTS_COLUMNS_H
#define AT_INPUTS_COLUMNS_H

#include <stdint.h>

/* Of `rows` numbers, each `stride` after the one before. A column that is constant keeps its number as the
 * mean exactly, so that it becomes 0, and has deviation 1. */
void at_measure_column(const float *numbers, int64_t rows, int64_t stride, float *mean, float *deviation);

#endif
