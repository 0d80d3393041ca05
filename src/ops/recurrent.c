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
 * A direction is a task of its own. With more threads than directions the sequences are
 * dealt out to several tasks, by turns. Where there are still more threads, as with one long
 * sequence, several share a task (base/team.h): each has some of the units, with all their gates,
 * and they meet once a step. Forward a thread makes its units of h, which all need for the next
 * product; backward its units of dr, which all need for the product of this step. What all read
 * stands twice, by turns: nobody writes a step's numbers while others still read those of the
 * step before. A panel of R with units of two threads is multiplied by both, each for itself.
 * No element's arithmetic depends on which sequences share a product, nor on who computes its
 * panel, so neither the number of tasks nor that of threads changes a bit.
 *
 * What the cells keep is overwritten by the gradients on the way back. Here are the
 * steps; the products for all rows at once are linear calls (tape/ops/recurrent.c).
 */
#include <string.h>

#include "base/team.h"
#include "ops/check.h"
#include "ops/cpu.h"
#include "ops/rowwise.h"
#include "ops/window.h"

enum { SEQUENCES_OF_TASK = 8 }; /* at the least: fewer do not fill the tile of a product */

/* What makes it worth to share a task, measured on two Zen 3 cores. A meeting takes 0.1 to 0.3 us there, in
 * which a core does about 10,000 operations: of one sequence, tanh with 96 units (2 x 9,216 operations a
 * step) gains 1.3 times, with 64 (2 x 4,096) it loses. And a thread that sleeps has to be woken, which takes
 * some 50 us. */
static const double OPERATIONS_OF_PART = 9e3; /* of one step */
static const double OPERATIONS_OF_TEAM = 4e6; /* of all steps */

static int64_t length_of(const at_recurrent_call *s, int64_t sequence) {
    return s->batch.offsets[sequence + 1] - s->batch.offsets[sequence];
}

/* ---- step by step ---- */

typedef struct steps steps;
typedef void (*steps_function)(steps *p);

typedef struct steps_run {
    const at_recurrent_call *call;
    const at_kernels *kernels;
    const at_row_kernels *row_kernels;
    steps_function function;
    int64_t groups, most;   /* tasks of a direction, and sequences of one at the most */
    int tasks, parts;       /* of all directions; threads that share one, at the most */
    const float *packed[2]; /* R, in panels */
    const float *zeros;     /* [hidden] */
    float *memory;          /* [tasks][task_numbers] */
    int64_t task_numbers;
    at_meeting *meetings;   /* [tasks][parts] */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} steps_run;

/* A task: some of the sequences, one way; and a thread's part of it: some of the units. */
struct steps {
    const steps_run *run;
    int direction;
    int64_t group, sequences; /* the group's sequences: order[group], order[group + groups], ... */
    int part, parts;
    int meets;          /* whether the others still work */
    int64_t first, end; /* the part's units; they begin with a panel */
    float *state;       /* most x hidden; if several threads share the task, twice */
    float *carry;       /* most x hidden */
    float *recurrent;   /* most x gates; if several threads share the task, for each of them */
    at_meeting *meetings;
    void *scratch;
};

static steps steps_of(const steps_run *run, int64_t task, int worker, int part, int parts) {
    const at_recurrent_call *s = run->call;
    int64_t group = task % run->groups, lanes = run->kernels->lanes;
    int64_t panels = (s->hidden + lanes - 1) / lanes;
    steps p = {.run = run,
               .direction = (int)(task / run->groups),
               .group = group,
               .sequences = (s->count - group + run->groups - 1) / run->groups,
               .part = part,
               .parts = parts,
               .meets = parts > 1,
               .first = panels * part / parts * lanes,
               .end = part + 1 < parts ? panels * (part + 1) / parts * lanes : s->hidden,
               .meetings = run->meetings + task * run->parts,
               .scratch = run->scratch + (size_t)worker * run->scratch_bytes};
    p.carry = run->memory + task * run->task_numbers;
    p.state = p.carry + run->most * s->hidden;
    p.recurrent = p.state + (run->parts > 1 ? 2 : 1) * run->most * s->hidden;
    return p;
}

static int64_t sequence_at(const steps *p, int64_t k) {
    return p->run->call->order[p->group + k * p->run->groups];
}

/* Where h stands that step t of the forward pass reads: alone, in one place. */
static float *state_at(const steps *p, int64_t t) {
    return p->state + (p->parts > 1 ? t % 2 : 0) * p->run->most * p->run->call->hidden;
}

/* r, which is the part's own. */
static float *own_recurrent(const steps *p) {
    return p->recurrent + p->part * p->run->most * p->run->call->gates;
}

/* dr of step t, which all parts write and read. */
static float *shared_recurrent(const steps *p, int64_t t) {
    return p->recurrent + (p->parts > 1 ? t % 2 : 0) * p->run->most * p->run->call->gates;
}

/* Waits for the other parts. Whether this one continues: if they part for good, the first one has all units.
 */
static int meet(steps *p) {
    if (!p->meets || at_meet(p->meetings, p->part, p->parts)) return 1;
    p->meets = 0;
    p->first = 0;
    p->end = p->run->call->hidden;
    return p->part == 0;
}

/* C = A B for the first `rows` rows: R on the lanes, as it was packed. Of every `hidden` columns, which are a
 * gate, those of the part's units, and what shares a panel with them. */
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
    int64_t panel = 0;
    for (int64_t gate = 0; gate < columns; gate += p->run->call->hidden) {
        int64_t begin = (gate + p->first) / kernels->lanes;
        if (panel < begin) panel = begin;
        for (; panel * kernels->lanes < gate + p->end; panel++) {
            kernels->gemm(&call, 0, rows, panel, p->scratch);
        }
    }
}

/* The part's units of the group's k-th sequence at step t; `state` and `recurrent` are those of all
 * sequences. */
static at_cell cell_at(const steps *p, int64_t k, int64_t t, float *state, float *recurrent) {
    const steps_run *run = p->run;
    const at_recurrent_call *s = run->call;
    int64_t sequence = sequence_at(p, k), back = p->direction ? 1 : -1; /* to the step before */
    int64_t row = p->direction ? s->batch.offsets[sequence + 1] - 1 - t : s->batch.offsets[sequence] + t;
    int64_t first = p->first, column = p->direction * s->hidden + first;
    const at_view *y = &s->y;
    const float *bias = s->bias[p->direction];
    float *kept = s->kept_rows[p->direction];
    at_cell cell = {.hidden = s->hidden,
                    .units = p->end - first,
                    .gates = s->gate_rows[p->direction] + row * s->gates + first,
                    .recurrent = recurrent + k * s->gates + first,
                    .state = state + k * s->hidden + first,
                    .h = y->data + row * y->stride + column,
                    .kept = kept ? kept + row * s->hidden + first : NULL,
                    .h_before = run->zeros,
                    .kept_before = run->zeros,
                    .bias = bias ? bias + first : NULL,
                    .carry = p->carry + k * s->hidden + first};
    if (s->d.data) cell.dh = s->d.data + row * s->d.stride + column;
    if (t > 0) {
        cell.h_before = cell.h + back * y->stride;
        cell.kept_before = kept ? cell.kept + back * s->hidden : NULL;
    } else {
        if (s->h[p->direction]) cell.h_before = s->h[p->direction] + sequence * s->hidden + first;
        if (s->c[p->direction]) cell.kept_before = s->c[p->direction] + sequence * s->hidden + first;
    }
    return cell;
}

/* h before the first step, if there is any. */
static void take_first(const steps *p) {
    const at_recurrent_call *s = p->run->call;
    const float *h = s->h[p->direction];
    for (int64_t k = 0; h && k < p->sequences; k++) {
        memcpy(state_at(p, 0) + k * s->hidden + p->first, h + sequence_at(p, k) * s->hidden + p->first,
               (size_t)(p->end - p->first) * sizeof(float));
    }
}

/* What the last step of the group's k-th sequence leaves, for steps that continue from there. */
static void keep_last(const steps *p, int64_t k, const at_cell *cell) {
    const at_recurrent_call *s = p->run->call;
    float *h = s->h[p->direction], *c = s->c[p->direction];
    int64_t place = sequence_at(p, k) * s->hidden + p->first;
    size_t bytes = (size_t)cell->units * sizeof(float);
    if (h) memcpy(h + place, cell->h, bytes);
    if (c) memcpy(c + place, cell->kept, bytes);
}

static void steps_forward(steps *p) {
    const steps_run *run = p->run;
    const at_recurrent_call *s = run->call;
    float *recurrent = own_recurrent(p);
    int64_t active = p->sequences;
    take_first(p);
    for (int64_t t = 0;; t++) {
        while (active > 0 && length_of(s, sequence_at(p, active - 1)) <= t) active--;
        if (active == 0) return;
        if (t == 0 && !s->h[p->direction]) {
            memset(recurrent, 0, (size_t)(active * s->gates) * sizeof(float));
        } else {
            if (!meet(p)) return; /* h of the step before is whole */
            step_product(p, active, state_at(p, t), s->hidden, recurrent, s->gates);
        }
        for (int64_t k = 0; k < active; k++) {
            at_cell cell = cell_at(p, k, t, state_at(p, t + 1), recurrent);
            run->row_kernels->cell_forward[s->kind](&cell);
            if (t + 1 == length_of(s, sequence_at(p, k))) keep_last(p, k, &cell);
        }
    }
}

static void steps_backward(steps *p) {
    const steps_run *run = p->run;
    const at_recurrent_call *s = run->call;
    int64_t active = 0;
    for (int64_t t = length_of(s, sequence_at(p, 0)) - 1; t >= 0; t--) {
        float *recurrent = shared_recurrent(p, t);
        for (; active < p->sequences && length_of(s, sequence_at(p, active)) > t; active++) {
            int64_t place = active * s->hidden + p->first;
            size_t bytes = (size_t)(p->end - p->first) * sizeof(float);
            memset(p->state + place, 0, bytes); /* its last step: nothing comes from after it */
            memset(p->carry + place, 0, bytes);
        }
        for (int64_t k = 0; k < active; k++) {
            at_cell cell = cell_at(p, k, t, p->state, recurrent);
            run->row_kernels->cell_backward[s->kind](&cell);
        }
        if (t == 0 || !meet(p)) return; /* dr is whole */
        step_product(p, active, recurrent, s->gates, p->state, s->hidden);
    }
}

/* ---- who does which steps ---- */

static void steps_task(void *argument, int64_t task, int worker) {
    const steps_run *run = argument;
    steps p = steps_of(run, task, worker, 0, 1);
    run->function(&p);
}

/* Where fewer have come than there are tasks, a member takes several whole ones. */
static void steps_member(void *argument, int member, int members) {
    const steps_run *run = argument;
    int parts = members < run->tasks ? 1 : members / run->tasks;
    for (int task = member / parts; task < run->tasks; task += members / parts) {
        steps p = steps_of(run, task, member, member % parts, parts);
        run->function(&p);
    }
}

/* How many threads share a task. */
static int parts_of(const steps_run *run, int64_t threads, double operations) {
    const at_recurrent_call *s = run->call;
    int64_t lanes = run->kernels->lanes, panels = (s->hidden + lanes - 1) / lanes;
    int64_t steps_of_task = length_of(s, s->order[0]);
    double worth = operations / ((double)run->tasks * (double)steps_of_task * OPERATIONS_OF_PART);
    int64_t parts = threads / run->tasks;
    if (operations < OPERATIONS_OF_TEAM) return 1;
    if (parts > panels) parts = panels;
    if ((double)parts > worth) parts = (int64_t)worth;
    return parts > 1 ? (int)parts : 1;
}

/* All steps of all directions, forward or back. */
static attn_status run_steps(attn_context *context, const at_recurrent_call *s, steps_function function) {
    steps_run run = {.call = s,
                     .kernels = at_kernels_for(context->isa),
                     .row_kernels = at_row_kernels_for(context->isa),
                     .function = function};
    double operations = 2.0 * (double)s->y.rows * (double)s->gates * (double)s->hidden * s->directions;
    if (s->count == 0) return ATTN_OK;
    int64_t threads = at_threads_for(context, operations);
    int64_t fullest = (s->count + SEQUENCES_OF_TASK - 1) / SEQUENCES_OF_TASK;
    run.groups = (threads + s->directions - 1) / s->directions;
    if (run.groups > fullest) run.groups = fullest;
    run.tasks = s->directions * (int)run.groups;
    run.parts = parts_of(&run, threads, operations);
    run.most = (s->count + run.groups - 1) / run.groups;
    run.task_numbers = run.most * ((run.parts > 1 ? 3 : 2) * s->hidden + run.parts * s->gates);
    for (int d = 0; d < s->directions; d++) run.packed[d] = s->packed[d]->memory;
    at_gemm packed_call = {.packed = run.packed[0]};
    run.scratch_bytes = run.kernels->gemm_scratch(&packed_call);
    at_layout layout = {0, 0};
    size_t scratch_at = at_layout_add(&layout, context->threads, run.scratch_bytes);
    size_t memory_at = at_layout_add(&layout, run.tasks * run.task_numbers, sizeof(float));
    size_t zeros_at = at_layout_add(&layout, s->hidden, sizeof(float));
    size_t meetings_at = at_layout_add(&layout, (int64_t)run.tasks * run.parts, sizeof(at_meeting));
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.scratch = memory + scratch_at;
    run.memory = (float *)(void *)(memory + memory_at);
    run.zeros = memset(memory + zeros_at, 0, (size_t)s->hidden * sizeof(float));
    run.meetings = (at_meeting *)(void *)(memory + meetings_at);
    for (int i = 0; i < run.tasks * run.parts; i++) atomic_init(&run.meetings[i].came, 0);
    if (run.parts > 1) {
        at_run_team(context->pool, run.tasks * run.parts, steps_member, &run);
    } else {
        at_run_tasks(context, operations, run.tasks, steps_task, &run);
    }
    return ATTN_OK;
}

attn_status at_cpu_recurrent(attn_context *context, const at_recurrent_call *call) {
    return run_steps(context, call, steps_forward);
}
attn_status at_cpu_recurrent_backward(attn_context *context, const at_recurrent_call *call) {
    return run_steps(context, call, steps_backward);
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
