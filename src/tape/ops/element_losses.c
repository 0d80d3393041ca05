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
#include "tape/tape.h"

#include <inttypes.h>

enum { TASK_NUMBERS = 2048 }; /* whose losses stand on the stack */

typedef void (*loss_kernel)(int64_t count, const float *x, const float *targets, float *y);
typedef void (*slope_kernel)(int64_t count, float factor, const float *x, const float *targets, float *y);

typedef struct element_loss {
    const at_network *network;
    loss_kernel loss;
    slope_kernel slope;
    const attn_variable *x;
    const float *targets;
    int64_t counted; /* targets that are not missing */
    double *sum;     /* of each task */
    int *present;    /* targets of each task that are not missing */
    float factor;    /* going back: what arrives / counted */
    at_gradient *gradient;
} element_loss;

/* A task is a run of numbers in row order; it may begin and end inside a row. */
static int64_t tasks_of(const attn_variable *x) {
    return (x->rows * x->columns + TASK_NUMBERS - 1) / TASK_NUMBERS;
}

/* The run of one row that begins at number `at`, and ends with the row or at `end`. */
static int64_t run_length(const attn_variable *x, int64_t at, int64_t end, int64_t *row, int64_t *column) {
    *row = at / x->columns;
    *column = at % x->columns;
    return x->columns - *column < end - at ? x->columns - *column : end - at;
}

static int64_t end_of_task(const attn_variable *x, int64_t task) {
    int64_t numbers = x->rows * x->columns;
    return (task + 1) * TASK_NUMBERS < numbers ? (task + 1) * TASK_NUMBERS : numbers;
}

static void forward_task(void *argument, int64_t task, int worker) {
    const element_loss *s = argument;
    const attn_variable *x = s->x;
    float losses[TASK_NUMBERS];
    int64_t begin = task * TASK_NUMBERS, end = end_of_task(x, task), row, column, length;
    (void)worker;
    if (x->stride == x->columns) {
        s->loss(end - begin, x->data + begin, s->targets + begin, losses);
    } else {
        int64_t at = begin;
        do { /* no task is empty */
            length = run_length(x, at, end, &row, &column);
            s->loss(length, x->data + row * x->stride + column, s->targets + at, losses + (at - begin));
            at += length;
        } while (at < end);
    }
    s->sum[task] = s->network->sum(end - begin, losses);
    int present = 0;
    for (int64_t at = begin; at < end; at++) present += s->targets[at] == s->targets[at];
    s->present[task] = present;
}

static void backward_task(void *argument, int64_t task, int worker) {
    const element_loss *s = argument;
    const attn_variable *x = s->x;
    const at_gradient *dx = s->gradient;
    int64_t begin = task * TASK_NUMBERS, end = end_of_task(x, task), row, column, length;
    (void)worker;
    if (x->stride == x->columns && dx->stride == x->columns) {
        s->slope(end - begin, s->factor, x->data + begin, s->targets + begin, dx->data + begin);
        return;
    }
    for (int64_t at = begin; at < end; at += length) {
        length = run_length(x, at, end, &row, &column);
        s->slope(length, s->factor, x->data + row * x->stride + column, s->targets + at,
                 dx->data + row * dx->stride + column);
    }
}

static void run_all(attn_tape *tape, element_loss *s, at_task_function function) {
    at_tape_parallel(tape, 12.0 * (double)s->x->rows * (double)s->x->columns, tasks_of(s->x), function, s);
}

static void element_loss_backward(attn_tape *tape, at_node *node) {
    element_loss *s = node->state;
    at_gradient dx = at_gradient_begin(tape, node->input[0]);
    if (!dx.data) return;
    s->factor = s->counted ? (float)((double)node->output->gradient[0] / (double)s->counted) : 0.0f;
    s->gradient = &dx;
    run_all(tape, s, backward_task);
    at_gradient_end(tape, node->input[0], &dx);
}

static attn_variable *mean_loss(attn_tape *tape, const char *operation, const char *name, attn_variable *x,
                                const float *targets, loss_kernel loss, slope_kernel slope) {
    if (!at_tape_has(tape, operation, name, x)) return NULL;
    if (!targets && x->rows > 0)
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: targets is NULL", operation);
    attn_variable *y = at_result(tape, 1, 1);
    element_loss *s = at_tape_memory(tape, 1, sizeof *s);
    if (at_wanted(x)) targets = at_tape_copy(tape, targets, x->rows * x->columns, sizeof *targets);
    if (!y || !s || attn_tape_status(tape) != ATTN_OK) return NULL;
    element_loss made = {at_tape_network(tape), loss, slope, x, targets, 0, NULL, NULL, 0.0f, NULL};
    *s = made;
    at_mark mark = at_scratch_mark(tape);
    s->sum = at_scratch_memory(tape, tasks_of(x), sizeof *s->sum);
    s->present = at_scratch_memory(tape, tasks_of(x), sizeof *s->present);
    if (!s->sum || !s->present) return NULL;
    run_all(tape, s, forward_task);
    double total = 0.0;
    for (int64_t task = 0; task < tasks_of(x); task++) {
        total += s->sum[task];
        s->counted += s->present[task];
    }
    at_scratch_release(tape, mark);
    y->data[0] = s->counted ? (float)(total / (double)s->counted) : 0.0f;
    at_record(tape, y, element_loss_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_binary_cross_entropy(attn_tape *tape, attn_variable *logits, const float *targets) {
    if (!at_tape_ready(tape)) return NULL;
    const at_network *network = at_tape_network(tape);
    return mean_loss(tape, "binary_cross_entropy", "logits", logits, targets, network->binary_cross_entropy,
                     network->binary_cross_entropy_slope);
}

attn_variable *attn_tape_squared_error(attn_tape *tape, attn_variable *x, const float *targets) {
    if (!at_tape_ready(tape)) return NULL;
    const at_network *network = at_tape_network(tape);
    return mean_loss(tape, "squared_error", "x", x, targets, network->squared_error,
                     network->squared_error_slope);
}

attn_variable *attn_tape_absolute_error(attn_tape *tape, attn_variable *x, const float *targets) {
    if (!at_tape_ready(tape)) return NULL;
    const at_network *network = at_tape_network(tape);
    return mean_loss(tape, "absolute_error", "x", x, targets, network->absolute_error,
                     network->absolute_error_slope);
}
