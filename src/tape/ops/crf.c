/* crf.c: a conditional random field over the labels of each sequence.
 *
 *     loss = 1 / rows  sum over sequences of (log sum over all paths exp(score) - score(labels))
 *
 * with score(y) = start[y_1] + sum_t e_t[y_t] + sum_t T[y_(t-1)][y_t] + end[y_n].
 * Its gradient is what the model expects less what is there: p(y_t = c) - [c = label_t]
 * for the emissions, and the same of pairs, first and last classes for T, start
 * and end (forward-backward). Kept for the walk back: the forward recursion.
 *
 * A task is a run of sequences, cut by their number alone. Each sums its own
 * share of the parameters' gradients; the shares are added in order.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_TASKS = 64 };

typedef struct crf_run {
    const at_network *network;
    const attn_variable *emissions;
    attn_ragged batch;
    attn_crf crf;
    int64_t classes, task_sequences, tasks;
    const float *transposed;
    float *alpha; /* rows x classes */
    const int32_t *labels;
    double *loss; /* of each sequence */
    int32_t *best;
    unsigned char *work; /* one piece a worker */
    size_t work_bytes;
    float *marginals; /* rows x marginals_stride */
    int64_t marginals_stride;
    float *partial; /* one piece a task: transitions (to, from), start, end */
    int64_t partial_count;
    int transitions_wanted;
    float factor; /* going back: what arrives / rows */
} crf_run;

static at_crf_sequence sequence_of(const crf_run *run, int64_t b) {
    const attn_variable *e = run->emissions;
    int64_t first = run->batch.offsets[b];
    at_crf_sequence s = {run->batch.offsets[b + 1] - first,
                         run->classes,
                         e->data + first * e->stride,
                         e->stride,
                         run->crf.transitions->value,
                         run->transposed,
                         run->crf.start ? run->crf.start->value : NULL,
                         run->crf.end ? run->crf.end->value : NULL};
    return s;
}

static int64_t end_of_task(const crf_run *run, int64_t task) {
    int64_t end = (task + 1) * run->task_sequences;
    return end < run->batch.sequences ? end : run->batch.sequences;
}

static void run_tasks(attn_tape *tape, crf_run *run, double exponentials, at_task_function function) {
    double pairs = (double)run->emissions->rows * (double)run->classes * (double)run->classes;
    at_tape_parallel(tape, (2.0 + 20.0 * exponentials) * pairs, run->tasks, function, run);
}

/* ---- checks, and what all three need ---- */

static int has_vector(attn_tape *tape, const char *operation, const char *name,
                      const attn_parameter *parameter, int64_t classes) {
    if (!parameter) return 1;
    if (!at_tape_has_parameter(tape, operation, name, parameter, -1, -1)) return 0;
    if (parameter->count == classes) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "%s: %s (%s) has %" PRId64 " numbers, emissions has %" PRId64 " columns", operation, name,
                 parameter->name, parameter->count, classes);
    return 0;
}

/* Fills `run`; 0 with the error set. With `keep` the offsets are copied. */
static int begin_run(attn_tape *tape, const char *operation, const attn_variable *emissions,
                     const attn_ragged *batch, const attn_crf *crf, int keep, crf_run *run) {
    if (!at_tape_has(tape, operation, "emissions", emissions)) return 0;
    if (!crf) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: crf is NULL", operation);
        return 0;
    }
    const int64_t classes = emissions->columns;
    if (!at_tape_has_parameter(tape, operation, "transitions", crf->transitions, classes, classes) ||
        !has_vector(tape, operation, "start", crf->start, classes) ||
        !has_vector(tape, operation, "end", crf->end, classes)) {
        return 0;
    }
    memset(run, 0, sizeof *run);
    if (!at_tape_has_batch(tape, operation, batch, emissions->rows, keep ? &run->batch : NULL)) return 0;
    if (!keep) run->batch = *batch;
    run->network = at_tape_network(tape);
    run->emissions = emissions;
    run->crf = *crf;
    run->classes = classes;
    run->task_sequences = (batch->sequences + MOST_TASKS - 1) / MOST_TASKS;
    if (run->task_sequences < 1) run->task_sequences = 1;
    run->tasks = (batch->sequences + run->task_sequences - 1) / run->task_sequences;
    return 1;
}

static int transpose_transitions(attn_tape *tape, crf_run *run) {
    const int64_t classes = run->classes;
    float *transposed = at_scratch_memory(tape, classes * classes, sizeof(float));
    run->transposed = transposed;
    for (int64_t from = 0; transposed && from < classes; from++) {
        for (int64_t to = 0; to < classes; to++) {
            transposed[to * classes + from] = run->crf.transitions->value[from * classes + to];
        }
    }
    return transposed != NULL;
}

/* Working memory for every worker: `count` numbers each. */
static int take_work(attn_tape *tape, crf_run *run, int64_t count, size_t element_bytes) {
    run->work_bytes = ((size_t)count * element_bytes + 63) / 64 * 64; /* no cache line for two workers */
    run->work = at_scratch_memory(tape, attn_context_threads(at_tape_context(tape)), run->work_bytes);
    return run->work != NULL;
}

static int64_t longest_sequence(const attn_ragged *batch) {
    int64_t longest = 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t rows = batch->offsets[b + 1] - batch->offsets[b];
        if (rows > longest) longest = rows;
    }
    return longest;
}

/* ---- the loss ---- */

static double score_of(const at_crf_sequence *s, const int32_t *labels) {
    double score = s->start ? (double)s->start[labels[0]] : 0.0;
    for (int64_t t = 0; t < s->rows; t++) {
        score += (double)s->emissions[t * s->stride + labels[t]];
        if (t) score += (double)s->transitions[labels[t - 1] * s->classes + labels[t]];
    }
    return score + (s->end ? (double)s->end[labels[s->rows - 1]] : 0.0);
}

static void loss_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    float *work = (float *)(void *)(run->work + (size_t)worker * run->work_bytes);
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        int64_t first = run->batch.offsets[b];
        run->loss[b] = 0.0;
        if (s.rows == 0) continue;
        double all = run->network->crf_forward(&s, work, run->alpha + first * run->classes);
        run->loss[b] = all - score_of(&s, run->labels + first);
    }
}

/* What is there, taken from what is expected right after it was added: so the
 * sums stay small. */
static void gradient_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    const int64_t classes = run->classes;
    float *work = (float *)(void *)(run->work + (size_t)worker * run->work_bytes);
    float *pairs = run->partial + task * run->partial_count;
    float *start = pairs + classes * classes, *end = start + classes;
    memset(pairs, 0, (size_t)run->partial_count * sizeof(float));
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        if (s.rows == 0) continue;
        int64_t first = run->batch.offsets[b];
        const int32_t *labels = run->labels + first;
        float *marginals = run->marginals + first * run->marginals_stride;
        run->network->crf_backward(&s, run->alpha + first * classes, work, marginals, run->marginals_stride,
                                   run->transitions_wanted ? pairs : NULL);
        for (int64_t t = 0; t < s.rows; t++) {
            marginals[t * run->marginals_stride + labels[t]] -= 1.0f;
            if (t) pairs[labels[t] * classes + labels[t - 1]] -= 1.0f;
        }
        run->network->add_to(classes, marginals, start);
        run->network->add_to(classes, marginals + (s.rows - 1) * run->marginals_stride, end);
        for (int64_t t = 0; t < s.rows; t++) {
            float *row = marginals + t * run->marginals_stride;
            run->network->scale(classes, run->factor, row, row);
        }
    }
}

static void give_parameter(attn_tape *tape, const crf_run *run, attn_parameter *parameter, int64_t rows,
                           const float *sum) { /* sum: classes x rows; the gradient: rows x classes */
    at_gradient d = at_parameter_gradient_begin(tape, parameter);
    for (int64_t i = 0; d.data && i < rows; i++) {
        for (int64_t c = 0; c < run->classes; c++) {
            d.data[i * run->classes + c] = run->factor * sum[c * rows + i];
        }
    }
    at_parameter_gradient_end(tape, parameter, &d);
}

static void crf_walk_back(attn_tape *tape, at_node *node) {
    crf_run *run = node->state;
    const int64_t classes = run->classes, rows = run->emissions->rows;
    at_mark mark = at_scratch_mark(tape);
    at_gradient dx = at_gradient_begin(tape, node->input[0]);
    run->marginals = dx.data ? dx.data : at_scratch_memory(tape, rows * classes, sizeof(float));
    run->marginals_stride = dx.data ? dx.stride : classes;
    run->partial_count = classes * classes + 2 * classes;
    run->partial = at_scratch_memory(tape, (run->tasks + 1) * run->partial_count, sizeof(float));
    run->transitions_wanted = at_parameter_wanted(tape, run->crf.transitions);
    run->factor = rows ? node->output->gradient[0] / (float)rows : 0.0f;
    if (run->marginals && run->partial && transpose_transitions(tape, run) &&
        take_work(tape, run, 4 * classes + classes * classes, sizeof(float))) {
        run_tasks(tape, run, 1.0, gradient_task);
        float *sum = run->partial + run->tasks * run->partial_count;
        memset(sum, 0, (size_t)run->partial_count * sizeof(float));
        for (int64_t task = 0; task < run->tasks; task++) {
            run->network->add_to(run->partial_count, run->partial + task * run->partial_count, sum);
        }
        give_parameter(tape, run, run->crf.transitions, classes, sum);
        if (run->crf.start) give_parameter(tape, run, run->crf.start, 1, sum + classes * classes);
        if (run->crf.end) give_parameter(tape, run, run->crf.end, 1, sum + classes * classes + classes);
    }
    at_gradient_end(tape, node->input[0], &dx);
    at_scratch_release(tape, mark);
}

attn_variable *attn_tape_crf(attn_tape *tape, attn_variable *emissions, const attn_ragged *batch,
                             const attn_crf *crf, const int32_t *labels) {
    crf_run checked;
    if (!at_tape_ready(tape) || !begin_run(tape, "crf", emissions, batch, crf, 1, &checked)) return NULL;
    const int64_t rows = emissions->rows;
    if (!labels && rows > 0) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf: labels is NULL");
    for (int64_t i = 0; i < rows; i++) {
        if (labels[i] >= 0 && labels[i] < emissions->columns) continue;
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "crf: label %" PRId64 " is %d, but there are %" PRId64 " classes", i,
                            (int)labels[i], emissions->columns);
    }
    attn_variable *loss = at_result(tape, 1, 1);
    crf_run *run = at_tape_copy(tape, &checked, 1, sizeof checked);
    if (!loss || !run) return NULL;
    run->labels = at_tape_copy(tape, labels, rows, sizeof *labels);
    at_mark mark = at_scratch_mark(tape);
    run->alpha = at_recording(tape) ? at_tape_memory(tape, rows * run->classes, sizeof(float))
                                    : at_scratch_memory(tape, rows * run->classes, sizeof(float));
    run->loss = at_scratch_memory(tape, batch->sequences, sizeof *run->loss);
    if (!run->labels || !run->alpha || !run->loss || !take_work(tape, run, run->classes, sizeof(float)))
        return NULL;
    run_tasks(tape, run, 1.0, loss_task);
    double total = 0.0;
    for (int64_t b = 0; b < batch->sequences; b++) total += run->loss[b];
    at_scratch_release(tape, mark);
    loss->data[0] = rows ? (float)(total / (double)rows) : 0.0f;
    at_record(tape, loss, crf_walk_back, run,
              at_parameter_wanted(tape, crf->transitions) || at_parameter_wanted(tape, crf->start) ||
                  at_parameter_wanted(tape, crf->end),
              emissions, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}

/* ---- the best path, and p(y_t = c) ---- */

static void best_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    double *work = (double *)(void *)(run->work + (size_t)worker * run->work_bytes);
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        if (s.rows) run->network->crf_best(&s, work, run->best + run->batch.offsets[b]);
    }
}

attn_status attn_tape_crf_decode(attn_tape *tape, const attn_variable *emissions, const attn_ragged *batch,
                                 const attn_crf *crf, int32_t *labels) {
    crf_run run;
    if (!at_tape_ready(tape) || !begin_run(tape, "crf_decode", emissions, batch, crf, 0, &run))
        return attn_tape_status(tape);
    if (!labels && emissions->rows > 0)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf_decode: labels is NULL");
    at_mark mark = at_scratch_mark(tape);
    run.best = labels;
    if (attn_tape_status(tape) == ATTN_OK && transpose_transitions(tape, &run) &&
        take_work(tape, &run, longest_sequence(batch) * run.classes, sizeof(double))) {
        run_tasks(tape, &run, 0.0, best_task);
    }
    at_scratch_release(tape, mark);
    return attn_tape_status(tape);
}

static void marginals_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    float *work = (float *)(void *)(run->work + (size_t)worker * run->work_bytes);
    float *alpha = work + 4 * run->classes;
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        if (s.rows == 0) continue;
        run->network->crf_forward(&s, work, alpha);
        run->network->crf_backward(&s, alpha, work,
                                   run->marginals + run->batch.offsets[b] * run->marginals_stride,
                                   run->marginals_stride, NULL);
    }
}

attn_status attn_tape_crf_marginals(attn_tape *tape, const attn_variable *emissions, const attn_ragged *batch,
                                    const attn_crf *crf, float *marginals) {
    crf_run run;
    if (!at_tape_ready(tape) || !begin_run(tape, "crf_marginals", emissions, batch, crf, 0, &run))
        return attn_tape_status(tape);
    if (!marginals && emissions->rows > 0)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf_marginals: marginals is NULL");
    at_mark mark = at_scratch_mark(tape);
    run.marginals = marginals;
    run.marginals_stride = run.classes;
    if (attn_tape_status(tape) == ATTN_OK && transpose_transitions(tape, &run) &&
        take_work(tape, &run, (4 + longest_sequence(batch)) * run.classes, sizeof(float))) {
        run_tasks(tape, &run, 2.0, marginals_task);
    }
    at_scratch_release(tape, mark);
    return attn_tape_status(tape);
}
