/* element_losses.c: the mean over all numbers of a loss of each.
 *
 *     binary cross-entropy   log(1 + e^x) - x t
 *     squared error          (x - t)^2
 *     absolute error         |x - t|          (slope 0 at 0)
 *
 * A target t that is NaN is missing. The three differ in the kernel alone, so
 * they share a file. The losses of a task's rows are written side by side and
 * then summed in one go: the sum is the same whatever the stride of x.
 */
#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { TASK_NUMBERS = 2048 }; /* whose losses are on the stack */

typedef void (*loss_kernel)(int64_t count, const float *x, const float *targets, float *y);
typedef void (*slope_kernel)(int64_t count, float factor, const float *x, const float *targets, float *y);

typedef struct loss_run {
    const at_element_loss_call *call;
    const at_row_kernels *row_kernels;
    loss_kernel loss;
    slope_kernel slope;
    double *sum;  /* forward: of each task */
    float factor; /* backward: what arrives / counted */
} loss_run;

/* A task is a run of numbers in row order; it may begin and end inside a row. */
static int64_t tasks_of(const at_view *x) { return (x->rows * x->columns + TASK_NUMBERS - 1) / TASK_NUMBERS; }

/* The run of one row that begins at number `at`, and ends with the row or at `end`. */
static int64_t run_length(const at_view *x, int64_t at, int64_t end, int64_t *row, int64_t *column) {
    *row = at / x->columns;
    *column = at % x->columns;
    return x->columns - *column < end - at ? x->columns - *column : end - at;
}

static int64_t end_of_task(const at_view *x, int64_t task) {
    int64_t numbers = x->rows * x->columns;
    return (task + 1) * TASK_NUMBERS < numbers ? (task + 1) * TASK_NUMBERS : numbers;
}

static void forward_task(void *argument, int64_t task, int worker) {
    const loss_run *run = argument;
    const at_element_loss_call *s = run->call;
    const at_view *x = &s->x;
    float losses[TASK_NUMBERS];
    int64_t begin = task * TASK_NUMBERS, end = end_of_task(x, task), row, column, length;
    (void)worker;
    if (x->stride == x->columns) {
        run->loss(end - begin, x->data + begin, s->targets + begin, losses);
    } else {
        int64_t at = begin;
        do { /* no task is empty */
            length = run_length(x, at, end, &row, &column);
            run->loss(length, x->data + row * x->stride + column, s->targets + at, losses + (at - begin));
            at += length;
        } while (at < end);
    }
    run->sum[task] = run->row_kernels->sum(end - begin, losses);
}

static void backward_task(void *argument, int64_t task, int worker) {
    const loss_run *run = argument;
    const at_element_loss_call *s = run->call;
    const at_view *x = &s->x;
    const at_view *dx = &s->dx;
    int64_t begin = task * TASK_NUMBERS, end = end_of_task(x, task), row, column, length;
    (void)worker;
    if (x->stride == x->columns && dx->stride == x->columns) {
        run->slope(end - begin, run->factor, x->data + begin, s->targets + begin, dx->data + begin);
        return;
    }
    for (int64_t at = begin; at < end; at += length) {
        length = run_length(x, at, end, &row, &column);
        run->slope(length, run->factor, x->data + row * x->stride + column, s->targets + at,
                   dx->data + row * dx->stride + column);
    }
}

static void run_all(const attn_context *context, loss_run *run, at_task_function function) {
    const at_row_kernels *row_kernels = run->row_kernels = at_row_kernels_for(context->isa);
    const loss_kernel losses[] = {row_kernels->binary_cross_entropy, row_kernels->squared_error,
                                  row_kernels->absolute_error};
    const slope_kernel slopes[] = {row_kernels->binary_cross_entropy_slope, row_kernels->squared_error_slope,
                                   row_kernels->absolute_error_slope};
    const at_view *x = &run->call->x;
    run->loss = losses[run->call->kind];
    run->slope = slopes[run->call->kind];
    at_run_tasks(context, 12.0 * (double)x->rows * (double)x->columns, tasks_of(x), function, run);
}

attn_status at_cpu_element_loss(attn_context *context, const at_element_loss_call *call) {
    loss_run run = {.call = call};
    int64_t tasks = tasks_of(&call->x);
    at_layout layout = {0, 0};
    at_layout_add(&layout, tasks, sizeof(double));
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.sum = (double *)(void *)memory;
    run_all(context, &run, forward_task);
    double total = 0.0;
    for (int64_t task = 0; task < tasks; task++) total += run.sum[task];
    call->loss[0] = call->counted ? (float)(total / (double)call->counted) : 0.0f;
    return ATTN_OK;
}

attn_status at_cpu_element_loss_backward(attn_context *context, const at_element_loss_call *call) {
    loss_run run = {.call = call};
    run.factor = call->counted ? (float)((double)call->d_loss[0] / (double)call->counted) : 0.0f;
    run_all(context, &run, backward_task);
    return ATTN_OK;
}
