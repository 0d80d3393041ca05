/* window.c: window concatenation.
 *
 *     y_i = [x_(i - left) | ... | x_i | ... | x_(i + right)]
 *
 * with 0 for rows outside the sequence. Walking back, a row gathers what came
 * to all its copies, in the order of the windows' columns: no two tasks write
 * to one row.
 */
#include "tape/window.h"

#include <inttypes.h>

#include "tape/tape.h"

enum { ROWS_OF_TASK = 32 };

typedef struct window_run {
    const at_network *network;
    const at_window *window;
    const float *from;
    float *to;
    int64_t from_stride, to_stride, rows, columns;
} window_run;

static void unfold_task(void *argument, int64_t task, int worker) {
    const window_run *run = argument;
    int64_t row = task * ROWS_OF_TASK, end = row + ROWS_OF_TASK < run->rows ? row + ROWS_OF_TASK : run->rows;
    (void)worker;
    at_unfold(run->window, run->from, run->from_stride, run->columns, row, end, 0,
              run->window->width * run->columns, run->to + row * run->to_stride, run->to_stride);
}

static void fold_task(void *argument, int64_t task, int worker) {
    const window_run *run = argument;
    int64_t row = task * ROWS_OF_TASK, end = row + ROWS_OF_TASK < run->rows ? row + ROWS_OF_TASK : run->rows;
    (void)worker;
    at_fold(run->network, run->window, run->from, run->from_stride, run->columns, row, end, run->to,
            run->to_stride);
}

static void run_tasks(attn_tape *tape, at_task_function function, window_run *run) {
    at_tape_parallel(tape, (double)run->rows * (double)run->window->width * (double)run->columns,
                     (run->rows + ROWS_OF_TASK - 1) / ROWS_OF_TASK, function, run);
}

static void window_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    window_run run = {at_tape_network(tape), node->state, y->gradient, dx.data,
                      y->gradient_stride,    dx.stride,   x->rows,     x->columns};
    run_tasks(tape, fold_task, &run);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_window(attn_tape *tape, attn_variable *x, const attn_ragged *batch, int64_t left,
                                int64_t right) {
    const int64_t most = INT32_MAX; /* of rows and of columns: their products stay far from overflow */
    if (!at_tape_ready(tape) || !at_tape_has(tape, "window", "x", x)) return NULL;
    if (left < 0 || right < 0) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "window: left is %" PRId64 " and right %" PRId64 "; neither may be negative",
                            left, right);
    }
    if (left > most || right > most || (left + right + 1) > INT64_MAX / 8 / x->columns) {
        return at_tape_fail(tape, ATTN_OVERFLOW,
                            "window: %" PRId64 " rows to the left and %" PRId64 " to the right of %" PRId64
                            " columns are too many",
                            left, right, x->columns);
    }
    at_window *window = at_tape_memory(tape, 1, sizeof *window);
    if (!window || !at_tape_has_batch(tape, "window", batch, x->rows, &window->batch)) return NULL;
    window->width = left + right + 1;
    window->first = -left;
    window->step = 1;
    attn_variable *y = at_result(tape, x->rows, window->width * x->columns);
    if (!y) return NULL;
    window_run run = {
        at_tape_network(tape), window, x->data, y->data, x->stride, y->stride, x->rows, x->columns};
    run_tasks(tape, unfold_task, &run);
    at_record(tape, y, window_backward, window, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
