/* rotary.c: rotary positions. In every head of `width` channels, channels c and
 * c + width / 2 of a row at position p are turned by the angle p * base^(-2 c / width):
 *
 *     (a, b) -> (a cos - b sin, b cos + a sin)
 *
 * and on the way back by the opposite angle.
 *
 * Sines and cosines depend on position and channel alone: they are made once a
 * call, in double, for all heads and, where positions are close together, for
 * all sequences. Every BLOCK-th position is computed alone, and those after
 * it by turning on, one position at a time: a multiplication instead of a sine,
 * with an error of some 1e-15. Blocks begin at multiples of BLOCK whatever the
 * batch holds, so the numbers of a position are always the same.
 */
#include <math.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { BLOCK = 64 };

typedef struct angle_run {
    const at_position_run *runs;
    const int64_t *first_task; /* [runs + 1]: the tasks of run r, a block each, begin there */
    int64_t count, half;
    const double *frequency; /* [3][half]: the angle from one position to the next, its cosine and sine */
    double *scratch;         /* [threads][2 * half] */
    float *table;
} angle_run;

static int64_t block_of(int64_t position) {
    return position >= 0 ? position / BLOCK : -((BLOCK - 1 - position) / BLOCK);
}

static const at_position_run *run_of_task(const angle_run *all, int64_t task, int64_t *number) {
    int64_t low = 0, high = all->count;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(all->first_task[middle] <= task ? &low : &high) = middle;
    }
    *number = task - all->first_task[low];
    return &all->runs[low];
}

/* One block of one run: from the block's first position on, also where the run
 * begins in its middle. */
static void angle_task(void *argument, int64_t task, int worker) {
    const angle_run *all = argument;
    int64_t half = all->half, number;
    const at_position_run *run = run_of_task(all, task, &number);
    int64_t start = (block_of(run->first) + number) * BLOCK, end = run->first + run->count;
    if (end > start + BLOCK) end = start + BLOCK;
    const double *turn_cosine = all->frequency + half, *turn_sine = turn_cosine + half;
    double *cosine = all->scratch + worker * 2 * half, *sine = cosine + half;
    for (int64_t c = 0; c < half; c++) {
        cosine[c] = cos((double)start * all->frequency[c]);
        sine[c] = sin((double)start * all->frequency[c]);
    }
    for (int64_t position = start; position < end; position++) {
        if (position >= run->first) {
            float *row = all->table + (run->entry + position - run->first) * 2 * half;
            for (int64_t c = 0; c < half; c++) {
                row[c] = (float)cosine[c];
                row[half + c] = (float)sine[c];
            }
        }
        for (int64_t c = 0; c < half; c++) {
            double next = cosine[c] * turn_cosine[c] - sine[c] * turn_sine[c];
            sine[c] = sine[c] * turn_cosine[c] + cosine[c] * turn_sine[c];
            cosine[c] = next;
        }
    }
}

attn_status at_cpu_rotary_angles(attn_context *context, const at_rotary_angles_call *call) {
    const int64_t half = call->half, count = call->count;
    at_layout layout = {0, 0};
    size_t tasks_at = at_layout_add(&layout, count + 1, sizeof(int64_t));
    size_t frequency_at = at_layout_add(&layout, half, 3 * sizeof(double));
    size_t scratch_at = at_layout_add(&layout, half, (size_t)context->threads * 2 * sizeof(double));
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    int64_t *first_task = (int64_t *)(void *)(memory + tasks_at);
    double *frequency = (double *)(void *)(memory + frequency_at);
    for (int64_t c = 0; c < half; c++) {
        frequency[c] = pow(call->base, -(double)c / (double)half);
        frequency[half + c] = cos(frequency[c]);
        frequency[2 * half + c] = sin(frequency[c]);
    }
    int64_t positions = 0;
    first_task[0] = 0;
    for (int64_t r = 0; r < count; r++) {
        int64_t last = call->runs[r].first + call->runs[r].count - 1;
        first_task[r + 1] = first_task[r] + block_of(last) - block_of(call->runs[r].first) + 1;
        positions += call->runs[r].count;
    }
    angle_run all = {call->runs, first_task, count, half, frequency, (double *)(void *)(memory + scratch_at),
                     call->table};
    double sines = 2.0 * (double)first_task[count] * (double)half, turns = (double)positions * (double)half;
    at_run_tasks(context, 1000.0 * sines + 16.0 * turns, first_task[count], angle_task, &all);
    return ATTN_OK;
}

typedef struct rotary_run {
    const at_row_kernels *row_kernels;
    const at_rotary_call *call;
} rotary_run;

static void rotate_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const rotary_run *run = argument;
    const at_rotary_call *call = run->call;
    const float *cosine = call->table + call->entries[row] * 2 * call->half;
    (void)count;
    run->row_kernels->rotary(call->heads, call->half, cosine, cosine + call->half, call->sign, p[0], p[1]);
}

attn_status at_cpu_rotary(attn_context *context, const at_rotary_call *call) {
    rotary_run run = {at_row_kernels_for(context->isa), call};
    at_operand operands[2] = {at_operand_of(call->x), at_operand_of(call->y)};
    at_each_row(context, 8.0, call->y.rows, call->y.columns, 2, operands, rotate_row, &run);
    return ATTN_OK;
}
