/* update.c: what an optimiser does to the numbers of all parameters at once: the sums
 * of squares that their norm is made of, the step, and the exchange with the averages.
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

static void square_task(void *argument, int64_t task, int worker) {
    const update_run *run = argument;
    const at_update_call *call = run->call;
    (void)worker;
    for (int64_t i = call->task[task]; i < call->task[task + 1]; i++) {
        const at_update_piece *piece = &call->pieces[i];
        const at_update *u = &call->updates[piece->update];
        const float *gradient = u->frozen ? NULL : u->gradient;
        call->squares[i] =
            gradient ? run->row_kernels->sum_of_squares(piece->count, gradient + piece->first) : 0.0;
    }
}

attn_status at_cpu_gradient_squares(attn_context *context, const at_update_call *call) {
    return run_all(context, call, 2.0, square_task);
}

static float *from(float *numbers, int64_t first) { return numbers ? numbers + first : NULL; }

static void step_task(void *argument, int64_t task, int worker) {
    const update_run *run = argument;
    const at_update_call *call = run->call;
    (void)worker;
    for (int64_t i = call->task[task]; i < call->task[task + 1]; i++) {
        const at_update_piece *piece = &call->pieces[i];
        const at_update *u = &call->updates[piece->update];
        if (u->frozen) continue;
        const float *gradient = u->gradient ? u->gradient + piece->first : NULL;
        float *value = u->value + piece->first, *average = from(u->average, piece->first);
        if (average && call->starts_average) memcpy(average, value, (size_t)piece->count * sizeof(float));
        if (call->adamw) {
            run->row_kernels->adamw(piece->count, &u->step.adamw, gradient, value, u->moment1 + piece->first,
                                    u->moment2 + piece->first);
        } else {
            run->row_kernels->sgd(piece->count, &u->step.sgd, gradient, value,
                                  from(u->momentum, piece->first));
        }
        if (average) run->row_kernels->move_average(piece->count, call->average_rest, value, average);
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
