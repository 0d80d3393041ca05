/* recurrent.c: recurrent networks over the sequences of a batch, in one direction
 * or both; the formulas are in attn/operations.h.
 *
 *     forward     u = W x + b for all rows at once, then step by step, for all sequences that have
 *                 that step:  r = R h_(t-1), and the cell
 *     backward    step by step from the end: the cell, dh_(t-1) = R^T dr; then, for all rows at once,
 *                 dx = W^T du, dW = du x^T, dR = dr h_(t-1)^T, and column sums for the biases
 *
 * Sequences are taken in the order of their lengths, the longest first: those
 * that still run at a step are then the first few, and their h stand side by
 * side, one product for all. Nothing is padded. Everything that is kept stays in
 * the order of the batch, so sums over rows have the order of the rows.
 *
 * A direction is a task of its own, single-threaded: there is nothing to agree
 * on between steps. With more threads than directions the sequences are dealt
 * out to several tasks, by turns. No element's arithmetic depends on which
 * sequences share a product, so the number of tasks changes no bit.
 *
 * What the cells keep is overwritten by the gradients on the way back. Here are the
 * steps; the products for all rows at once are linear calls (tape/ops/recurrent.c).
 */
#include <string.h>

#include "ops/check.h"
#include "ops/cpu.h"
#include "ops/rowwise.h"
#include "ops/window.h"

enum { SEQUENCES_OF_TASK = 8 }; /* at the least: fewer do not fill the tile of a product */

static int64_t length_of(const at_recurrent_call *s, int64_t sequence) {
    return s->batch.offsets[sequence + 1] - s->batch.offsets[sequence];
}

/* ---- step by step ---- */

typedef struct steps_run {
    const at_recurrent_call *call;
    const at_kernels *kernels;
    const at_row_kernels *row_kernels;
    int64_t groups, most;   /* tasks of a direction, and sequences of one at the most */
    const float *packed[2]; /* R, in panels */
    const float *zeros;     /* [hidden] */
    float *memory;          /* [tasks][task_numbers] */
    int64_t task_numbers;
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} steps_run;

/* A task: some of the sequences, one way. */
typedef struct steps {
    const steps_run *run;
    int direction;
    int64_t group, sequences; /* the group's sequences: order[group], order[group + groups], ... */
    float *state;             /* most x hidden */
    float *carry;             /* most x hidden */
    float *recurrent;         /* most x gates */
    void *scratch;
} steps;

static steps steps_of(const steps_run *run, int64_t task, int worker) {
    const at_recurrent_call *s = run->call;
    float *memory = run->memory + task * run->task_numbers;
    int64_t group = task % run->groups;
    steps p = {run,
               (int)(task / run->groups),
               group,
               (s->count - group + run->groups - 1) / run->groups,
               memory,
               memory + run->most * s->hidden,
               memory + 2 * run->most * s->hidden,
               run->scratch + (size_t)worker * run->scratch_bytes};
    return p;
}

static int64_t sequence_at(const steps *p, int64_t k) {
    return p->run->call->order[p->group + k * p->run->groups];
}

/* C = A B for the first `rows` rows: R on the lanes, as it was packed. */
static void step_product(const steps *p, int64_t rows, const float *a, int64_t depth, float *c,
                         int64_t columns) {
    const at_kernels *kernels = p->run->kernels;
    at_gemm call = {.rows = rows,
                    .columns = columns,
                    .depth = depth,
                    .a = a,
                    .a_row = depth,
                    .a_step = 1,
                    .packed = p->run->packed[p->direction],
                    .c = c,
                    .c_row = columns};
    for (int64_t panel = 0; panel * kernels->lanes < columns; panel++) {
        kernels->gemm(&call, 0, rows, panel, p->scratch);
    }
}

/* The cell of the group's k-th sequence at step t. */
static at_cell cell_at(const steps *p, int64_t k, int64_t t) {
    const steps_run *run = p->run;
    const at_recurrent_call *s = run->call;
    int64_t sequence = sequence_at(p, k), back = p->direction ? 1 : -1; /* to the step before */
    int64_t row = p->direction ? s->batch.offsets[sequence + 1] - 1 - t : s->batch.offsets[sequence] + t;
    const at_view *y = &s->y;
    float *kept = s->kept_rows[p->direction];
    at_cell cell = {.hidden = s->hidden,
                    .gates = s->gate_rows[p->direction] + row * s->gates,
                    .recurrent = p->recurrent + k * s->gates,
                    .state = p->state + k * s->hidden,
                    .h = y->data + row * y->stride + p->direction * s->hidden,
                    .kept = kept ? kept + row * s->hidden : NULL,
                    .h_before = run->zeros,
                    .kept_before = run->zeros,
                    .bias = s->bias[p->direction],
                    .carry = p->carry + k * s->hidden};
    if (s->d.data) cell.dh = s->d.data + row * s->d.stride + p->direction * s->hidden;
    if (t > 0) {
        cell.h_before = cell.h + back * y->stride;
        cell.kept_before = kept ? cell.kept + back * s->hidden : NULL;
    } else {
        if (s->h[p->direction]) cell.h_before = s->h[p->direction] + sequence * s->hidden;
        if (s->c[p->direction]) cell.kept_before = s->c[p->direction] + sequence * s->hidden;
    }
    return cell;
}

/* r of the first step: R h, and without any h 0. */
static void first_product(const steps *p) {
    const at_recurrent_call *s = p->run->call;
    const float *h = s->h[p->direction];
    if (!h) {
        memset(p->recurrent, 0, (size_t)(p->sequences * s->gates) * sizeof(float));
        return;
    }
    for (int64_t k = 0; k < p->sequences; k++) {
        memcpy(p->state + k * s->hidden, h + sequence_at(p, k) * s->hidden,
               (size_t)s->hidden * sizeof(float));
    }
    step_product(p, p->sequences, p->state, s->hidden, p->recurrent, s->gates);
}

/* What the last step of the group's k-th sequence leaves, for steps that go on from there. */
static void keep_last(const steps *p, int64_t k, const at_cell *cell) {
    const at_recurrent_call *s = p->run->call;
    float *h = s->h[p->direction], *c = s->c[p->direction];
    size_t bytes = (size_t)s->hidden * sizeof(float);
    if (h) memcpy(h + sequence_at(p, k) * s->hidden, cell->h, bytes);
    if (c) memcpy(c + sequence_at(p, k) * s->hidden, cell->kept, bytes);
}

static void forward_task(void *argument, int64_t task, int worker) {
    const steps_run *run = argument;
    const at_recurrent_call *s = run->call;
    steps p = steps_of(run, task, worker);
    int64_t active = p.sequences;
    for (int64_t t = 0;; t++) {
        while (active > 0 && length_of(s, sequence_at(&p, active - 1)) <= t) active--;
        if (active == 0) return;
        if (t == 0) {
            first_product(&p);
        } else {
            step_product(&p, active, p.state, s->hidden, p.recurrent, s->gates);
        }
        for (int64_t k = 0; k < active; k++) {
            at_cell cell = cell_at(&p, k, t);
            run->row_kernels->cell_forward[s->kind](&cell);
            if (t + 1 == length_of(s, sequence_at(&p, k))) keep_last(&p, k, &cell);
        }
    }
}

static void backward_task(void *argument, int64_t task, int worker) {
    const steps_run *run = argument;
    const at_recurrent_call *s = run->call;
    steps p = steps_of(run, task, worker);
    size_t bytes = (size_t)s->hidden * sizeof(float);
    int64_t active = 0;
    for (int64_t t = length_of(s, sequence_at(&p, 0)) - 1; t >= 0; t--) {
        for (; active < p.sequences && length_of(s, sequence_at(&p, active)) > t; active++) {
            memset(p.state + active * s->hidden, 0, bytes); /* its last step: nothing comes from after it */
            memset(p.carry + active * s->hidden, 0, bytes);
        }
        for (int64_t k = 0; k < active; k++) {
            at_cell cell = cell_at(&p, k, t);
            run->row_kernels->cell_backward[s->kind](&cell);
        }
        if (t > 0) step_product(&p, active, p.recurrent, s->gates, p.state, s->hidden);
    }
}

/* All steps of all directions, forward or back. */
static attn_status run_steps(attn_context *context, const at_recurrent_call *s, at_task_function function) {
    steps_run run = {
        .call = s, .kernels = at_kernels_for(context->isa), .row_kernels = at_row_kernels_for(context->isa)};
    double operations = 2.0 * (double)s->y.rows * (double)s->gates * (double)s->hidden * s->directions;
    if (s->count == 0) return ATTN_OK;
    int64_t threads = at_threads_for(context, operations);
    int64_t fullest = (s->count + SEQUENCES_OF_TASK - 1) / SEQUENCES_OF_TASK;
    run.groups = (threads + s->directions - 1) / s->directions;
    if (run.groups > fullest) run.groups = fullest;
    run.most = (s->count + run.groups - 1) / run.groups;
    run.task_numbers = run.most * (2 * s->hidden + s->gates);
    for (int d = 0; d < s->directions; d++) run.packed[d] = s->packed[d]->memory;
    at_gemm packed_call = {.packed = run.packed[0]};
    run.scratch_bytes = run.kernels->gemm_scratch(&packed_call);
    at_layout layout = {0, 0};
    size_t scratch_at = at_layout_add(&layout, context->threads, run.scratch_bytes);
    size_t memory_at = at_layout_add(&layout, s->directions * run.groups * run.task_numbers, sizeof(float));
    size_t zeros_at = at_layout_add(&layout, s->hidden, sizeof(float));
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.scratch = memory + scratch_at;
    run.memory = (float *)(void *)(memory + memory_at);
    run.zeros = memset(memory + zeros_at, 0, (size_t)s->hidden * sizeof(float));
    at_run_tasks(context, operations, s->directions * run.groups, function, &run);
    return ATTN_OK;
}

attn_status at_cpu_recurrent(attn_context *context, const at_recurrent_call *call) {
    return run_steps(context, call, forward_task);
}
attn_status at_cpu_recurrent_backward(attn_context *context, const at_recurrent_call *call) {
    return run_steps(context, call, backward_task);
}

/* ---- before and after the steps ---- */

attn_status at_cpu_recurrent_bias(attn_context *context, const at_recurrent_bias_call *call) {
    (void)context;
    for (int64_t g = 0; g < call->gates; g++) {
        int apart = call->kind == ATTN_RNN_GRU && g >= 2 * call->hidden;
        call->sum[g] = (call->b ? call->b[g] : 0.0f) + (call->c && !apart ? call->c[g] : 0.0f);
    }
    return ATTN_OK;
}

enum { ROWS_OF_TASK = 64 };

static void before_task(void *argument, int64_t task, int worker) {
    const at_recurrent_before_call *s = *(const at_recurrent_before_call *const *)argument;
    const at_view *y = &s->y;
    int64_t row = task * ROWS_OF_TASK, end = row + ROWS_OF_TASK < y->rows ? row + ROWS_OF_TASK : y->rows;
    at_window before = {.batch = s->batch, .width = 1, .first = s->direction ? 1 : -1, .step = 1};
    (void)worker;
    if (s->before) {
        at_unfold(&before, y->data + s->direction * s->hidden, y->stride, s->hidden, row, end, 0, s->hidden,
                  s->before + row * s->hidden, s->hidden);
    }
    for (int64_t i = row; s->kind == ATTN_RNN_GRU && i < end; i++) {
        memcpy(s->gate_rows + i * s->gates + 2 * s->hidden, s->kept_rows + i * s->hidden,
               (size_t)s->hidden * sizeof(float));
    }
}

attn_status at_cpu_recurrent_before(attn_context *context, const at_recurrent_before_call *call) {
    at_run_tasks(context, (double)call->y.rows * (double)call->hidden,
                 (call->y.rows + ROWS_OF_TASK - 1) / ROWS_OF_TASK, before_task, &call);
    return ATTN_OK;
}
