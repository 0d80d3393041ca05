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
 * What the cells keep is overwritten by the gradients on the way back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/check.h"
#include "tape/product.h"
#include "tape/window.h"

enum { SEQUENCES_OF_TASK = 8 }; /* at the least: fewer do not fill the tile of a product */

typedef struct recurrent_state {
    attn_recurrence kind;
    int directions;
    attn_recurrent_weights weights[2];
    int64_t hidden, gates; /* gates: rows of W and R */
    attn_ragged batch;
    int64_t *order;      /* sequences that are not empty, the longest first */
    int64_t count;       /* of them */
    float *gate_rows[2]; /* rows x gates */
    float *kept_rows[2]; /* rows x hidden: see at_cell; NULL for TANH */
} recurrent_state;

static int64_t gates_of(attn_recurrence kind) {
    return kind == ATTN_RNN_LSTM ? 4 : kind == ATTN_RNN_GRU ? 3 : 1;
}

static int64_t length_of(const recurrent_state *s, int64_t sequence) {
    return s->batch.offsets[sequence + 1] - s->batch.offsets[sequence];
}

/* ---- step by step ---- */

typedef struct steps_run {
    const recurrent_state *state;
    const at_kernels *kernels;
    const at_network *network;
    attn_variable *y;
    int64_t groups, most;   /* tasks of a direction, and sequences of one at the most */
    const float *packed[2]; /* R */
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
    const recurrent_state *s = run->state;
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
    return p->run->state->order[p->group + k * p->run->groups];
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
    const recurrent_state *s = run->state;
    int64_t sequence = sequence_at(p, k), back = p->direction ? 1 : -1; /* to the step before */
    int64_t row = p->direction ? s->batch.offsets[sequence + 1] - 1 - t : s->batch.offsets[sequence] + t;
    attn_variable *y = run->y;
    float *kept = s->kept_rows[p->direction];
    const attn_parameter *bias = s->weights[p->direction].hidden_bias;
    at_cell cell = {.hidden = s->hidden,
                    .gates = s->gate_rows[p->direction] + row * s->gates,
                    .recurrent = p->recurrent + k * s->gates,
                    .state = p->state + k * s->hidden,
                    .h = y->data + row * y->stride + p->direction * s->hidden,
                    .kept = kept ? kept + row * s->hidden : NULL,
                    .h_before = run->zeros,
                    .kept_before = run->zeros,
                    .bias = bias && s->kind == ATTN_RNN_GRU ? bias->value + 2 * s->hidden : NULL,
                    .carry = p->carry + k * s->hidden};
    if (y->gradient) cell.dh = y->gradient + row * y->gradient_stride + p->direction * s->hidden;
    if (t > 0) {
        cell.h_before = cell.h + back * y->stride;
        cell.kept_before = kept ? cell.kept + back * s->hidden : NULL;
    }
    return cell;
}

static void forward_task(void *argument, int64_t task, int worker) {
    const steps_run *run = argument;
    const recurrent_state *s = run->state;
    steps p = steps_of(run, task, worker);
    int64_t active = p.sequences;
    for (int64_t t = 0;; t++) {
        while (active > 0 && length_of(s, sequence_at(&p, active - 1)) <= t) active--;
        if (active == 0) return;
        if (t == 0) {
            memset(p.recurrent, 0, (size_t)(active * s->gates) * sizeof(float));
        } else {
            step_product(&p, active, p.state, s->hidden, p.recurrent, s->gates);
        }
        for (int64_t k = 0; k < active; k++) {
            at_cell cell = cell_at(&p, k, t);
            run->network->cell_forward[s->kind](&cell);
        }
    }
}

static void backward_task(void *argument, int64_t task, int worker) {
    const steps_run *run = argument;
    const recurrent_state *s = run->state;
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
            run->network->cell_backward[s->kind](&cell);
        }
        if (t > 0) step_product(&p, active, p.recurrent, s->gates, p.state, s->hidden);
    }
}

/* Runs all steps of all directions, forward or back. */
static void run_steps(attn_tape *tape, recurrent_state *s, attn_variable *y, int back) {
    attn_context *context = at_tape_context(tape);
    steps_run run = {.state = s, .kernels = at_tape_kernels(tape), .network = at_tape_network(tape), .y = y};
    double operations = 2.0 * (double)y->rows * (double)s->gates * (double)s->hidden * s->directions;
    if (s->count == 0) return;
    int64_t threads = at_threads_for(context, operations);
    int64_t fullest = (s->count + SEQUENCES_OF_TASK - 1) / SEQUENCES_OF_TASK;
    run.groups = (threads + s->directions - 1) / s->directions;
    if (run.groups > fullest) run.groups = fullest;
    run.most = (s->count + run.groups - 1) / run.groups;
    run.task_numbers = run.most * (2 * s->hidden + s->gates);
    attn_packed_weight own[2];
    for (int d = 0; d < s->directions; d++) {
        const attn_packed_weight *packed = at_packed_weight(tape, s->weights[d].hidden, back, &own[d]);
        run.packed[d] = packed ? packed->memory : NULL;
    }
    at_gemm packed_call = {.packed = run.packed[0]};
    run.scratch_bytes = run.packed[0] ? run.kernels->gemm_scratch(&packed_call) : 0;
    run.scratch = at_scratch_memory(tape, context->threads, run.scratch_bytes);
    run.memory = at_scratch_memory(tape, s->directions * run.groups * run.task_numbers, sizeof(float));
    float *zeros = at_scratch_memory(tape, s->hidden, sizeof(float));
    if (!at_tape_ready(tape)) return;
    memset(zeros, 0, (size_t)s->hidden * sizeof(float));
    run.zeros = zeros;
    at_tape_parallel(tape, operations, s->directions * run.groups, back ? backward_task : forward_task, &run);
}

/* ---- backward ---- */

enum { ROWS_OF_TASK = 64 };

typedef struct rows_run {
    const recurrent_state *state;
    const attn_variable *y;
    int direction;
    float *before; /* rows x hidden: h of the step before; NULL: not wanted */
} rows_run;

/* What the gradient of R needs: h of the step before, row by row; and for a GRU
 * the gradient of r_2, which is not that of u_2, in the place of the latter. */
static void rows_task(void *argument, int64_t task, int worker) {
    const rows_run *run = argument;
    const recurrent_state *s = run->state;
    const attn_variable *y = run->y;
    int64_t row = task * ROWS_OF_TASK, end = row + ROWS_OF_TASK < y->rows ? row + ROWS_OF_TASK : y->rows;
    at_window before = {s->batch, 1, run->direction ? 1 : -1, 1};
    (void)worker;
    if (run->before) {
        at_unfold(&before, y->data + run->direction * s->hidden, y->stride, s->hidden, row, end, 0, s->hidden,
                  run->before + row * s->hidden, s->hidden);
    }
    for (int64_t i = row; s->kind == ATTN_RNN_GRU && i < end; i++) {
        memcpy(s->gate_rows[run->direction] + i * s->gates + 2 * s->hidden,
               s->kept_rows[run->direction] + i * s->hidden, (size_t)s->hidden * sizeof(float));
    }
}

static void direction_gradients(attn_tape *tape, const recurrent_state *s, int d, attn_variable *x,
                                const attn_variable *y) {
    const attn_recurrent_weights *w = &s->weights[d];
    attn_tensor gates = at_matrix(s->gate_rows[d], y->rows, s->gates, s->gates);
    at_gradient dx = at_gradient_begin(tape, x); /* the second direction's is added to the first's */
    at_product_backward(tape, gates, NULL, ATTN_IDENTITY, at_matrix(x->data, x->rows, x->columns, x->stride),
                        w->input, w->input_bias, NULL, at_matrix(dx.data, x->rows, x->columns, dx.stride));
    at_gradient_end(tape, x, &dx);
    rows_run run = {s, y, d, NULL};
    if (at_parameter_wanted(tape, w->hidden)) {
        run.before = at_scratch_memory(tape, y->rows * s->hidden, sizeof(float));
        if (!run.before) return;
    }
    at_tape_parallel(tape, (double)y->rows * (double)s->hidden, (y->rows + ROWS_OF_TASK - 1) / ROWS_OF_TASK,
                     rows_task, &run);
    at_product_backward(tape, gates, NULL, ATTN_IDENTITY,
                        at_matrix(run.before, y->rows, s->hidden, s->hidden), w->hidden, w->hidden_bias, NULL,
                        at_matrix(NULL, 0, 0, 0));
}

static void recurrent_backward(attn_tape *tape, at_node *node) {
    recurrent_state *s = node->state;
    at_mark mark = at_scratch_mark(tape);
    run_steps(tape, s, node->output, 1);
    for (int d = 0; d < s->directions && at_tape_ready(tape); d++) {
        at_mark inner = at_scratch_mark(tape);
        direction_gradients(tape, s, d, node->input[0], node->output);
        at_scratch_release(tape, inner);
    }
    at_scratch_release(tape, mark);
}

/* ---- forward ---- */

/* One weight and its bias: gates x columns. */
static int check_pair(attn_tape *tape, int direction, const char *kind, const attn_parameter *weight,
                      const attn_parameter *bias, int64_t gates, int64_t columns) {
    char name[2][40];
    snprintf(name[0], sizeof name[0], "weights[%d].%s", direction, kind);
    snprintf(name[1], sizeof name[1], "weights[%d].%s_bias", direction, kind);
    if (!at_tape_has_parameter(tape, "recurrent", name[0], weight, gates, columns)) return 0;
    if (bias && !at_tape_has_parameter(tape, "recurrent", name[1], bias, -1, -1)) return 0;
    if (bias && bias->count != gates) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "recurrent: %s (%s) has %" PRId64 " numbers, %" PRId64 " are needed", name[1],
                     bias->name, bias->count, gates);
        return 0;
    }
    return 1;
}

static int check_arguments(attn_tape *tape, const attn_variable *x, attn_recurrence kind,
                           const attn_recurrent_weights *weights, int directions) {
    if (kind != ATTN_RNN_TANH && kind != ATTN_RNN_GRU && kind != ATTN_RNN_LSTM) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "recurrent: kind is %d, which is none of attn_recurrence",
                     (int)kind);
    } else if (directions != 1 && directions != 2) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "recurrent: directions is %d, not 1 or 2", directions);
    } else if (!weights) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "recurrent: weights is NULL");
    }
    if (!at_tape_ready(tape) ||
        !at_tape_has_parameter(tape, "recurrent", "weights[0].hidden", weights[0].hidden, -1, -1)) {
        return 0;
    }
    int64_t hidden = weights[0].hidden->columns, gates = gates_of(kind) * hidden;
    for (int d = 0; d < directions; d++) {
        const attn_recurrent_weights *w = &weights[d];
        if (!check_pair(tape, d, "hidden", w->hidden, w->hidden_bias, gates, hidden) ||
            !check_pair(tape, d, "input", w->input, w->input_bias, gates, x->columns)) {
            return 0;
        }
    }
    return 1;
}

/* Sorts the sequences by length, the longest first, equal ones in the order of
 * the batch, and leaves out empty ones. */
static int sort_sequences(attn_tape *tape, recurrent_state *s) {
    int64_t longest = 0;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        if (length_of(s, b) > longest) longest = length_of(s, b);
    }
    int64_t *place = at_scratch_memory(tape, longest + 1, sizeof *place);
    s->order = at_tape_memory(tape, s->batch.sequences, sizeof *s->order);
    if (!place || !s->order) return 0;
    memset(place, 0, (size_t)(longest + 1) * sizeof *place);
    for (int64_t b = 0; b < s->batch.sequences; b++) place[length_of(s, b)]++;
    s->count = 0;
    for (int64_t length = longest; length > 0; length--) { /* from how many there are to where they go */
        int64_t here = place[length];
        place[length] = s->count;
        s->count += here;
    }
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        if (length_of(s, b) > 0) s->order[place[length_of(s, b)]++] = b;
    }
    return 1;
}

/* b + c, but for r_2 of a GRU, which is multiplied by a gate; NULL if there is
 * neither, or with the error set. */
static const float *whole_bias(attn_tape *tape, const recurrent_state *s, int d) {
    const attn_parameter *b = s->weights[d].input_bias, *c = s->weights[d].hidden_bias;
    if (!b && !c) return NULL;
    float *sum = at_scratch_memory(tape, s->gates, sizeof(float));
    for (int64_t g = 0; sum && g < s->gates; g++) {
        int apart = s->kind == ATTN_RNN_GRU && g >= 2 * s->hidden;
        sum[g] = (b ? b->value[g] : 0.0f) + (c && !apart ? c->value[g] : 0.0f);
    }
    return sum;
}

static void *take(attn_tape *tape, int lasting, int64_t count) {
    return lasting ? at_tape_memory(tape, count, sizeof(float))
                   : at_scratch_memory(tape, count, sizeof(float));
}

static int wants_gradient(attn_tape *tape, const attn_variable *x, const recurrent_state *s) {
    int wanted = 0;
    for (int d = 0; d < s->directions; d++) {
        const attn_recurrent_weights *w = &s->weights[d];
        wanted |= at_parameter_wanted(tape, w->input) || at_parameter_wanted(tape, w->hidden) ||
                  at_parameter_wanted(tape, w->input_bias) || at_parameter_wanted(tape, w->hidden_bias);
    }
    return wanted || at_wanted(x);
}

attn_variable *attn_tape_recurrent(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                   attn_recurrence kind, const attn_recurrent_weights *weights,
                                   int directions) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "recurrent", "x", x) ||
        !check_arguments(tape, x, kind, weights, directions)) {
        return NULL;
    }
    recurrent_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->directions = directions;
    memcpy(s->weights, weights, (size_t)directions * sizeof *weights);
    s->hidden = weights[0].hidden->columns;
    s->gates = gates_of(kind) * s->hidden;
    if (!at_tape_has_batch(tape, "recurrent", batch, x->rows, &s->batch)) return NULL;
    attn_variable *y = at_result(tape, x->rows, directions * s->hidden);
    at_mark mark = at_scratch_mark(tape);
    if (!y || !sort_sequences(tape, s)) return NULL;
    int lasting = wants_gradient(tape, x, s);
    for (int d = 0; d < directions; d++) {
        s->gate_rows[d] = take(tape, lasting, x->rows * s->gates);
        if (kind != ATTN_RNN_TANH) s->kept_rows[d] = take(tape, lasting, x->rows * s->hidden);
        const float *bias = whole_bias(tape, s, d);
        if (!at_tape_ready(tape)) return NULL;
        at_product_forward(tape, at_matrix(x->data, x->rows, x->columns, x->stride), s->weights[d].input,
                           bias, ATTN_IDENTITY, at_matrix(s->gate_rows[d], x->rows, s->gates, s->gates),
                           NULL);
    }
    run_steps(tape, s, y, 0);
    at_scratch_release(tape, mark);
    at_record(tape, y, recurrent_backward, s, lasting, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
