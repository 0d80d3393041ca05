/* columns.c: mean and deviation of a column of numbers. */
#include "inputs/columns.h"

#include <math.h>

void at_measure_column(const float *numbers, int64_t rows, int64_t stride, float *mean, float *deviation) {
    double sum = 0, squares = 0;
    float lowest = numbers[0], highest = numbers[0];
    for (int64_t row = 0; row < rows; row++) {
        float number = numbers[row * stride];
        sum += (double)number;
        if (number < lowest) lowest = number;
        if (number > highest) highest = number;
    }
    *mean = lowest;
    *deviation = 1;
    if (lowest == highest) return;
    double center = sum / (double)rows;
    for (int64_t row = 0; row < rows; row++) {
        double distance = (double)numbers[row * stride] - center;
        squares += distance * distance;
    }
    *mean = (float)center;
    float found = (float)sqrt(squares / (double)rows);
    if (found > 0 && isfinite(found)) *deviation = found;
}
