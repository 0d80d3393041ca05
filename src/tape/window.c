/* window.c: unfolding, and folding back. */
#include "tape/window.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t between(int64_t low, int64_t x, int64_t high) { return x < low ? low : x > high ? high : x; }

int64_t at_sequence_of(const attn_ragged *batch, int64_t row) {
    int64_t low = 0, high = batch->sequences; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (batch->offsets[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* `count` columns of x, from x on, of the rows at `offset` from row .. row_end - 1. */
static void unfold_piece(const attn_ragged *batch, int64_t offset, const float *x, int64_t stride,
                         int64_t row, int64_t row_end, int64_t count, float *y, int64_t y_stride) {
    size_t bytes = (size_t)count * sizeof(float);
    for (int64_t b = at_sequence_of(batch, row), i = row; i < row_end; b++) {
        int64_t begin = batch->offsets[b], end = batch->offsets[b + 1], last = least(end, row_end);
        int64_t there = between(i, begin - offset, last), gone = between(there, end - offset, last);
        for (; i < there; i++) memset(y + (i - row) * y_stride, 0, bytes);
        for (; i < gone; i++) memcpy(y + (i - row) * y_stride, x + (i + offset) * stride, bytes);
        for (; i < last; i++) memset(y + (i - row) * y_stride, 0, bytes);
    }
}

void at_unfold(const at_window *window, const float *x, int64_t stride, int64_t columns, int64_t row,
               int64_t row_end, int64_t column, int64_t count, float *y, int64_t y_stride) {
    if (row >= row_end) return;
    while (count > 0) {
        int64_t t = column / columns, c = column % columns, piece = least(columns - c, count);
        unfold_piece(&window->batch, window->first + t * window->step, x + c, stride, row, row_end, piece, y,
                     y_stride);
        column += piece;
        count -= piece;
        y += piece;
    }
}

void at_fold(const at_network *network, const at_window *window, const float *dy, int64_t dy_stride,
             int64_t columns, int64_t row, int64_t row_end, float *dx, int64_t dx_stride) {
    if (row >= row_end) return;
    const int64_t *offsets = window->batch.offsets;
    int64_t b = at_sequence_of(&window->batch, row);
    for (int64_t j = row; j < row_end; j++) {
        float *target = dx + j * dx_stride;
        while (j >= offsets[b + 1]) b++;
        memset(target, 0, (size_t)columns * sizeof(float));
        for (int64_t t = 0; t < window->width; t++) {
            int64_t i = j - window->first - t * window->step;
            if (i >= offsets[b] && i < offsets[b + 1]) {
                network->add_to(columns, dy + i * dy_stride + t * columns, target);
            }
        }
    }
}
