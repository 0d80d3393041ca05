/* crf.c: a conditional random field over the labels of each sequence.
 *
 *     loss = 1 / rows  sum over sequences of (log sum over all paths exp(score) - score(labels))
 *
 * with score(y) = start[y_1] + sum_t e_t[y_t] + sum_t T[y_(t-1)][y_t] + end[y_n].
 * Its gradient is what the model expects less what is there: p(y_t = c) - [c = label_t]
 * for the emissions, and the same of pairs, first and last classes for T, start
 * and end (forward-backward). Kept for the backward pass: the forward recursion.
 *
 * A task is a run of sequences, cut by their number alone. Each sums its own
 * share of the parameters' gradients; the shares are added in order.
 */
#include <string.h>

#include "base/arithmetic.h"
#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { MOST_TASKS = 64 };

typedef struct crf_run {
    const at_crf_call *call;
    const at_row_kernels *row_kernels;
    int64_t classes, task_sequences, tasks;
    float *transposed;   /* transitions: to, from */
    double *loss;        /* of each sequence */
    unsigned char *work; /* one piece a worker */
    size_t work_bytes;
    float *marginals; /* rows x marginals_stride */
    int64_t marginals_stride;
    float *partial; /* one piece a task, and their sum: transitions (to, from), start, end */
    int64_t partial_count;
    float factor; /* going back: what arrives / rows */
} crf_run;

static at_crf_sequence sequence_of(const crf_run *run, int64_t b) {
    const at_crf_call *call = run->call;
    const at_view *e = &call->emissions;
    int64_t first = call->batch.offsets[b];
    at_crf_sequence s = {call->batch.offsets[b + 1] - first,
                         run->classes,
                         e->data + first * e->stride,
                         e->stride,
                         call->transitions,
                         run->transposed,
                         call->start,
                         call->end};
    return s;
}

static int64_t end_of_task(const crf_run *run, int64_t task) {
    int64_t end = (task + 1) * run->task_sequences;
    return end < run->call->batch.sequences ? end : run->call->batch.sequences;
}

static void run_tasks(const attn_context *context, crf_run *run, double exponentials,
                      at_task_function function) {
    double pairs = (double)run->call->emissions.rows * (double)run->classes * (double)run->classes;
    at_run_tasks(context, (2.0 + 20.0 * exponentials) * pairs, run->tasks, function, run);
}

static crf_run run_of(const attn_context *context, const at_crf_call *call) {
    crf_run run = {
        .call = call, .row_kernels = at_row_kernels_for(context->isa), .classes = call->emissions.columns};
    run.task_sequences = (call->batch.sequences + MOST_TASKS - 1) / MOST_TASKS;
    if (run.task_sequences < 1) run.task_sequences = 1;
    run.tasks = (call->batch.sequences + run.task_sequences - 1) / run.task_sequences;
    return run;
}

/* Memory of a run: what every worker needs (`count` numbers), the transitions
 * turned round, and `more` numbers, which are returned. NULL: no memory. */
static float *take_memory(attn_context *context, crf_run *run, int64_t count, size_t element_bytes,
                          int64_t more, attn_status *status) {
    at_layout layout = {0, 0};
    run->work_bytes = ((size_t)count * element_bytes + 63) / 64 * 64; /* no cache line for two workers */
    size_t work_at = at_layout_add(&layout, context->threads, run->work_bytes);
    size_t transposed_at = at_layout_add(&layout, run->classes * run->classes, sizeof(float));
    size_t more_at = at_layout_add(&layout, more, sizeof(float));
    unsigned char *memory;
    *status = at_context_memory(context, &layout, &memory);
    if (*status != ATTN_OK) return NULL;
    run->work = memory + work_at;
    run->transposed = (float *)(void *)(memory + transposed_at);
    for (int64_t from = 0; from < run->classes; from++) {
        for (int64_t to = 0; to < run->classes; to++) {
            run->transposed[to * run->classes + from] = run->call->transitions[from * run->classes + to];
        }
    }
    return (float *)(void *)(memory + more_at);
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
        int64_t first = run->call->batch.offsets[b];
        run->loss[b] = 0.0;
        if (s.rows == 0) continue;
        double all = run->row_kernels->crf_forward(&s, work, run->call->alpha + first * run->classes);
        run->loss[b] = all - score_of(&s, run->call->labels + first);
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
        int64_t first = run->call->batch.offsets[b];
        const int32_t *labels = run->call->labels + first;
        float *marginals = run->marginals + first * run->marginals_stride;
        run->row_kernels->crf_backward(&s, run->call->alpha + first * classes, work, marginals,
                                       run->marginals_stride, run->call->d_transitions ? pairs : NULL);
        for (int64_t t = 0; t < s.rows; t++) {
            marginals[t * run->marginals_stride + labels[t]] -= 1.0f;
            if (t) pairs[labels[t] * classes + labels[t - 1]] -= 1.0f;
        }
        run->row_kernels->add_to(classes, marginals, start);
        run->row_kernels->add_to(classes, marginals + (s.rows - 1) * run->marginals_stride, end);
        for (int64_t t = 0; t < s.rows; t++) {
            float *row = marginals + t * run->marginals_stride;
            run->row_kernels->scale(classes, run->factor, row, row);
        }
    }
}

attn_status at_cpu_crf(attn_context *context, const at_crf_call *call) {
    crf_run run = run_of(context, call);
    attn_status status;
    int64_t rows = call->emissions.rows, sequences = call->batch.sequences;
    float *more = take_memory(context, &run, run.classes, sizeof(float), 2 * sequences, &status);
    if (!more) return status;
    run.loss = (double *)(void *)more;
    run_tasks(context, &run, 1.0, loss_task);
    double total = 0.0;
    for (int64_t b = 0; b < sequences; b++) total += run.loss[b];
    call->loss[0] = rows ? (float)(total / (double)rows) : 0.0f;
    return ATTN_OK;
}

static void give_gradient(const crf_run *run, int64_t rows, const float *sum, float *d) {
    if (!d) return; /* sum: classes x rows; the gradient: rows x classes */
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < run->classes; c++) d[i * run->classes + c] = run->factor * sum[c * rows + i];
    }
}

attn_status at_cpu_crf_backward(attn_context *context, const at_crf_call *call) {
    crf_run run = run_of(context, call);
    const int64_t classes = run.classes, rows = call->emissions.rows;
    attn_status status;
    run.partial_count = classes * classes + 2 * classes;
    int64_t partials = (run.tasks + 1) * run.partial_count;
    float *more = take_memory(context, &run, 4 * classes + classes * classes, sizeof(float),
                              partials + (call->dx.data ? 0 : rows * classes), &status);
    if (!more) return status;
    run.partial = more;
    run.marginals = call->dx.data ? call->dx.data : more + partials;
    run.marginals_stride = call->dx.data ? call->dx.stride : classes;
    run.factor = rows ? call->d_loss[0] / (float)rows : 0.0f;
    run_tasks(context, &run, 1.0, gradient_task);
    float *sum = run.partial + run.tasks * run.partial_count;
    memset(sum, 0, (size_t)run.partial_count * sizeof(float));
    const uint64_t mode = at_arithmetic_begin();
    for (int64_t task = 0; task < run.tasks; task++) {
        run.row_kernels->add_to(run.partial_count, run.partial + task * run.partial_count, sum);
    }
    at_arithmetic_end(mode);
    give_gradient(&run, classes, sum, call->d_transitions);
    give_gradient(&run, 1, sum + classes * classes, call->d_start);
    give_gradient(&run, 1, sum + classes * classes + classes, call->d_end);
    return ATTN_OK;
}

/* ---- the best path, and p(y_t = c) ---- */

static void best_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    double *work = (double *)(void *)(run->work + (size_t)worker * run->work_bytes);
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        if (s.rows) run->row_kernels->crf_best(&s, work, run->call->best + run->call->batch.offsets[b]);
    }
}

attn_status at_cpu_crf_decode(attn_context *context, const at_crf_call *call) {
    crf_run run = run_of(context, call);
    attn_status status;
    if (take_memory(context, &run, longest_sequence(&call->batch) * run.classes, sizeof(double), 0, &status))
        run_tasks(context, &run, 0.0, best_task);
    return status;
}

static void marginals_task(void *argument, int64_t task, int worker) {
    const crf_run *run = argument;
    float *work = (float *)(void *)(run->work + (size_t)worker * run->work_bytes);
    float *alpha = work + 4 * run->classes;
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_crf_sequence s = sequence_of(run, b);
        if (s.rows == 0) continue;
        run->row_kernels->crf_forward(&s, work, alpha);
        run->row_kernels->crf_backward(&s, alpha, work,
                                       run->marginals + run->call->batch.offsets[b] * run->marginals_stride,
                                       run->marginals_stride, NULL);
    }
}

attn_status at_cpu_crf_marginals(attn_context *context, const at_crf_call *call) {
    crf_run run = run_of(context, call);
    attn_status status;
    int64_t count = (4 + longest_sequence(&call->batch)) * run.classes;
    run.marginals = call->marginals;
    run.marginals_stride = run.classes;
    if (take_memory(context, &run, count, sizeof(float), 0, &status))
        run_tasks(context, &run, 2.0, marginals_task);
    return status;
}
