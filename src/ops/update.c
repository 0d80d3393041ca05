/* update.c: what an optimiser does to the numbers of all parameters at once: the sums
 * of squares that their norm is made of, the step, and the exchange with the averages.
 *
 * Of a table whose rows are lazy only the rows with a gradient are read and written: most batches come to a
 * few percent of an embedding table, and a pass over all of it would be a large part of a step.
 *
 * The caller has cut the numbers into pieces and tasks, by the parameters' sizes
 * alone, so each is one loop over tasks, however many parameters there are.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

typedef struct update_run {
    const at_update_call *call;
    const at_row_kernels *row_kernels;
} update_run;

static attn_status run_all(attn_context *context, const at_update_call *call, double operations,
                           at_task_function function) {
    update_run run = {call, at_row_kernels_for(context->isa)};
    at_run_tasks(context, operations * (double)call->numbers, call->tasks, function, &run);
    return ATTN_OK;
}

/* The first row from `row` on that has a gradient, below `end`; `end` if none has. */
static int64_t next_written(const at_update *u, int64_t row, int64_t end) {
    while (u->written && row < end) {
        uint64_t rest = u->written[row / 64] >> (row % 64);
        if (rest) {
            row += __builtin_ctzll(rest);
            break;
        }
        row = (row / 64 + 1) * 64;
    }
    return row < end ? row : end;
}

/* Rows that are written are anywhere in a table: the next one is fetched while one is computed. */
static void fetch(const float *numbers, const at_update *u, int64_t row) {
    enum { LINE = 16 };
    for (int64_t c = 0; numbers && c < u->columns; c += LINE)
        __builtin_prefetch(numbers + row * u->columns + c, 1);
}

static double squares_of(const at_row_kernels *kernels, const at_update *u, const at_update_piece *piece) {
    if (!u->row_steps) return kernels->sum_of_squares(piece->count, u->gradient + piece->first);
    double sum = 0;
    int64_t row = piece->first / u->columns, end = row + piece->count / u->columns;
    for (int64_t r = next_written(u, row, end), next; r < end; r = next) {
        next = next_written(u, r + 1, end);
        if (next < end) fetch(u->gradient, u, next);
        sum += kernels->sum_of_squares(u->columns, u->gradient + r * u->columns);
    }
    return sum;
}

static void square_task(void *argument, int64_t task, int worker) {
    const update_run *run = argument;
    const at_update_call *call = run->call;
    (void)worker;
    for (int64_t i = call->task[task]; i < call->task[task + 1]; i++) {
        const at_update_piece *piece = &call->pieces[i];
        const at_update *u = &call->updates[piece->update];
        call->squares[i] = u->frozen || !u->gradient ? 0.0 : squares_of(run->row_kernels, u, piece);
    }
}

attn_status at_cpu_gradient_squares(attn_context *context, const at_update_call *call) {
    return run_all(context, call, 2.0, square_task);
}

static float *from(float *numbers, int64_t first) { return numbers ? numbers + first : NULL; }

/* `count` numbers from `first` on. */
static void step_numbers(const update_run *run, const at_update *u, int64_t first, int64_t count) {
    const at_update_call *call = run->call;
    const at_row_kernels *kernels = run->row_kernels;
    const float *gradient = u->gradient ? u->gradient + first : NULL;
    float *value = u->value + first;
    if (call->adamw) {
        kernels->adamw(count, &u->step.adamw, gradient, value, u->moment1 + first, u->moment2 + first);
    } else {
        kernels->sgd(count, &u->step.sgd, gradient, value, from(u->momentum, first));
    }
    if (u->average) kernels->move_average(count, call->average_rest, value, u->average + first);
}

/* base^exponent by squaring: the same bits everywhere. */
static double power(double base, int64_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return result;
}

/* The steps without a gradient that a row has missed. */
static void make_up(const update_run *run, const at_update *u, int64_t row) {
    const at_update_call *call = run->call;
    const at_adamw *step = &u->step.adamw;
    int64_t last = (int64_t)u->row_steps[row], missed = (int64_t)u->steps - last, first = row * u->columns;
    if (missed < 1) return;
    const at_missed *since = &call->missed[last];
    double keep = 1 - (double)call->average_rest;
    at_adamw_late late = {
        .slide = (float)since->slide,
        .epsilon = step->epsilon / step->root,
        .decay1 = (float)power(step->beta1, missed),
        .decay2 = (float)power(step->beta2, missed),
        .keep_average = (float)power(keep, missed),
        .lag = (float)(since->lag * power(keep, missed > call->reach ? missed - call->reach : 0))};
    run->row_kernels->adamw_late(u->columns, &late, u->value + first, u->moment1 + first, u->moment2 + first,
                                 from(u->average, first));
    u->row_steps[row] = (float)u->steps;
}

static void step_rows(const update_run *run, const at_update *u, const at_update_piece *piece) {
    int64_t row = piece->first / u->columns, end = row + piece->count / u->columns;
    if (run->call->late_only) {
        for (int64_t r = row; r < end; r++) make_up(run, u, r);
        return;
    }
    for (int64_t r = u->gradient ? next_written(u, row, end) : end, next; r < end; r = next) {
        const float *const read[] = {u->gradient, u->value, u->moment1, u->moment2, u->average};
        next = next_written(u, r + 1, end);
        for (size_t i = 0; i < sizeof read / sizeof *read && next < end; i++) fetch(read[i], u, next);
        make_up(run, u, r);
        step_numbers(run, u, r * u->columns, u->columns);
        u->row_steps[r] = (float)(u->steps + 1);
    }
}

static void step_task(void *argument, int64_t task, int worker) {
    const update_run *run = argument;
    const at_update_call *call = run->call;
    (void)worker;
    for (int64_t i = call->task[task]; i < call->task[task + 1]; i++) {
        const at_update_piece *piece = &call->pieces[i];
        const at_update *u = &call->updates[piece->update];
        if (u->frozen || (call->late_only && !u->row_steps)) continue;
        if (u->average && call->starts_average && !call->late_only)
            memcpy(u->average + piece->first, u->value + piece->first, (size_t)piece->count * sizeof(float));
        if (u->row_steps) {
            step_rows(run, u, piece);
        } else {
            step_numbers(run, u, piece->first, piece->count);
        }
    }
}

attn_status at_cpu_update(attn_context *context, const at_update_call *call) {
    return run_all(context, call, 12.0, step_task);
}

static void swap_task(void *argument, int64_t task, int worker) {
    const at_update_call *call = ((const update_run *)argument)->call;
    (void)worker;
    for (int64_t i = call->task[task]; i < call->task[task + 1]; i++) {
        const at_update_piece *piece = &call->pieces[i];
        float *value = call->updates[piece->update].value + piece->first;
        float *average = call->updates[piece->update].average + piece->first;
        if (call->starts_average) { /* it has not begun: whatever the parameters are now */
            memcpy(average, value, (size_t)piece->count * sizeof(float));
            continue;
        }
        for (int64_t c = 0; c < piece->count; c++) {
            float kept = value[c];
            value[c] = average[c];
            average[c] = kept;
        }
    }
}

attn_status at_cpu_swap_average(attn_context *context, const at_update_call *call) {
    return run_all(context, call, 2.0, swap_task);
}
