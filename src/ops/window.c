/* window.c: unfolding, and folding back.
 *
 *     y_i = [x_(i + first) | x_(i + first + step) | ...]
 *
 * with 0 for rows outside the sequence. On a grid whose lines are w long, i + w (first + v step) + first + u
 * step for all u of every v, with 0 for what is outside the grid. Walking back, a row gathers what came to
 * all its copies, in the order of the windows' columns: no two tasks write to one row.
 */
#include "ops/window.h"

#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

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

/* The same on grids: the rows `down` lines below and `along` to the right. */
static void unfold_grid_piece(const at_window *window, int64_t down, int64_t along, const float *x,
                              int64_t stride, int64_t row, int64_t row_end, int64_t count, float *y,
                              int64_t y_stride) {
    const attn_ragged *batch = &window->batch;
    size_t bytes = (size_t)count * sizeof(float);
    for (int64_t b = at_sequence_of(batch, row), i = row; i < row_end; b++) {
        int64_t begin = batch->offsets[b], end = batch->offsets[b + 1], width = window->widths[b];
        int64_t line = begin == end ? end : i - (i - begin) % width; /* where it begins */
        for (; line < end && i < row_end; line += width) {
            int64_t last = least(line + width, row_end), there = last, gone = last;
            /* compared in lines: a window may be far larger than the grid */
            int64_t above = (line - begin) / width, below = (end - line) / width - 1;
            if (down >= -above && down <= below) {
                there = between(i, line - along, last);
                gone = between(there, line + width - along, last);
            }
            for (; i < there; i++) memset(y + (i - row) * y_stride, 0, bytes);
            for (; i < gone; i++)
                memcpy(y + (i - row) * y_stride, x + (i + down * width + along) * stride, bytes);
            for (; i < last; i++) memset(y + (i - row) * y_stride, 0, bytes);
        }
    }
}

at_window at_window_mirror(const at_window *window) {
    at_window mirrored = *window;
    int64_t count = window->widths ? window->side : window->width;
    mirrored.first = -(window->first + (count - 1) * window->step);
    return mirrored;
}

void at_unfold(const at_window *window, const float *x, int64_t stride, int64_t columns, int64_t row,
               int64_t row_end, int64_t column, int64_t count, float *y, int64_t y_stride) {
    if (row >= row_end) return;
    while (count > 0) {
        int64_t t = column / columns, c = column % columns, piece = least(columns - c, count);
        if (window->widths) {
            int64_t down = window->first + t / window->side * window->step;
            int64_t along = window->first + t % window->side * window->step;
            unfold_grid_piece(window, down, along, x + c, stride, row, row_end, piece, y, y_stride);
        } else {
            unfold_piece(&window->batch, window->first + t * window->step, x + c, stride, row, row_end, piece,
                         y, y_stride);
        }
        column += piece;
        count -= piece;
        y += piece;
    }
}

void at_fold(const at_row_kernels *row_kernels, const at_window *window, const float *dy, int64_t dy_stride,
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
                row_kernels->add_to(columns, dy + i * dy_stride + t * columns, target);
            }
        }
    }
}

/* ---- all rows ---- */

enum { ROWS_OF_TASK = 32 };

typedef struct window_run {
    const at_row_kernels *row_kernels;
    const at_window_call *call;
} window_run;

static void unfold_task(void *argument, int64_t task, int worker) {
    const at_window_call *call = ((const window_run *)argument)->call;
    int64_t row = task * ROWS_OF_TASK, end = least(row + ROWS_OF_TASK, call->x.rows);
    (void)worker;
    at_unfold(&call->window, call->x.data, call->x.stride, call->x.columns, row, end, 0,
              call->window.width * call->x.columns, call->y.data + row * call->y.stride, call->y.stride);
}

static void fold_task(void *argument, int64_t task, int worker) {
    const window_run *run = argument;
    const at_window_call *call = run->call;
    int64_t row = task * ROWS_OF_TASK, end = least(row + ROWS_OF_TASK, call->x.rows);
    (void)worker;
    at_fold(run->row_kernels, &call->window, call->y.data, call->y.stride, call->x.columns, row, end,
            call->x.data, call->x.stride);
}

static attn_status run_all(attn_context *context, const at_window_call *call, at_task_function function) {
    window_run run = {at_row_kernels_for(context->isa), call};
    at_run_tasks(context, (double)call->x.rows * (double)call->window.width * (double)call->x.columns,
                 (call->x.rows + ROWS_OF_TASK - 1) / ROWS_OF_TASK, function, &run);
    return ATTN_OK;
}

attn_status at_cpu_window(attn_context *context, const at_window_call *call) {
    return run_all(context, call, unfold_task);
}
attn_status at_cpu_window_backward(attn_context *context, const at_window_call *call) {
    return run_all(context, call, fold_task);
}
