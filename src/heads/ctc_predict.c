/* ctc_predict.c: prediction without a decoder: batches of sources of similar length go through the networks
 * on several threads (work.h), the probabilities of rows are averaged over the networks, and each sequence is
 * searched.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "heads/ctc.h"
#include "heads/ctc_search.h"
#include "heads/work.h"

enum { ROWS_PER_BATCH = 2048 };

/* What a worker keeps from call to call. */
typedef struct ctc_state {
    at_ctc_memory *memories; /* [memory_count]: one per thread */
    int memory_count;
    at_ctc_found *found; /* [sequences][n_best] of a batch */
    int64_t *counts;     /* [sequences] */
    int32_t *symbols;    /* of each sequence [n_best][rows] */
    int64_t found_room, count_room, symbol_room;
    float *mean; /* of several networks */
    int64_t mean_room;
    double *sums;  /* of alignments */
    float *begins; /* the same, by rows that are upsampled */
    int64_t sum_room, begin_room;
    at_said said;
} ctc_state;

void at_ctc_free_state(attn_context *context, void *state) {
    ctc_state *own = state;
    for (int i = 0; i < own->memory_count; i++) at_ctc_release(context, &own->memories[i]);
    at_release(context, own->memories);
    at_release(context, own->found);
    at_release(context, own->counts);
    at_release(context, own->symbols);
    at_release(context, own->mean);
    at_release(context, own->sums);
    at_release(context, own->begins);
    at_said_free(context, &own->said);
    at_release(context, own);
}

typedef struct job {
    const at_head *head;
    const at_forward *forward;
    const at_encoded *encoded;
    const at_work *whole; /* has the segments and the plan */
    attn_search_options options;
    at_found_answers found;
    at_work *work; /* of who runs the batch, and its state */
    ctc_state *state;
    at_ctc_rows rows; /* of the batch */
} job;

/* ---- probabilities ---- */

static attn_status check_finite(attn_context *context, const at_host_rows *host, int64_t rows,
                                int64_t columns) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            if (!isfinite(host->data[r * host->stride + c]))
                return at_fail(context, ATTN_NOT_FINITE,
                               "the model's output is not a number: its weights are damaged");
    }
    return ATTN_OK;
}

/* The logarithms of the probabilities of the batch's rows, by one network. */
static attn_status run_network(job *now, int network) {
    at_work *work = now->work;
    attn_ragged rows;
    attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = now->forward->rows(now->forward, network, work->tape, work->batch);
    x = attn_tape_log_softmax(work->tape,
                              at_ctc_logits(now->head, network, work->tape, x, work->batch, &rows));
    if (attn_tape_status(work->tape) != ATTN_OK)
        return at_fail(work->context, attn_tape_status(work->tape), "%s", attn_tape_error(work->tape));
    now->rows.rows = attn_variable_rows(x);
    now->rows.symbols = attn_variable_columns(x);
    attn_status status = at_host_rows_of(x, &work->host);
    if (status != ATTN_OK) return status;
    now->rows.data = work->host.data;
    now->rows.stride = work->host.stride;
    return check_finite(work->context, &work->host, now->rows.rows, now->rows.symbols);
}

static attn_status run_networks(job *now) {
    ctc_state *state = now->state;
    const int networks = now->forward->networks;
    attn_status status = ATTN_OK;
    int64_t count = 0;
    for (int n = 0; n < networks; n++) {
        status = run_network(now, n);
        if (status != ATTN_OK || networks == 1) return status;
        const at_ctc_rows *rows = &now->rows;
        count = rows->rows * rows->symbols;
        status = at_grow(now->work->context, &state->mean, &state->mean_room, count, sizeof *state->mean,
                         "the mean of answers");
        if (status != ATTN_OK) return status;
        for (int64_t i = 0; i < count; i++) {
            float p = expf(rows->data[i / rows->symbols * rows->stride + i % rows->symbols]);
            state->mean[i] = (n ? state->mean[i] : 0.0f) + p / (float)networks;
        }
    }
    for (int64_t i = 0; i < count; i++) state->mean[i] = logf(state->mean[i]);
    now->rows.data = state->mean;
    now->rows.stride = now->rows.symbols;
    return ATTN_OK;
}

/* ---- search ---- */

static at_ctc_rows rows_of(const job *now, int64_t sequence) {
    const int64_t *offsets = now->work->batch->offsets, times = at_ctc_upsample(now->head);
    at_ctc_rows rows = now->rows;
    rows.data += times * offsets[sequence] * rows.stride;
    rows.rows = times * (offsets[sequence + 1] - offsets[sequence]);
    return rows;
}

static int32_t *symbols_of(const job *now, int64_t sequence) {
    return now->state->symbols +
           at_ctc_upsample(now->head) * now->work->batch->offsets[sequence] * now->options.n_best;
}

static void search_task(void *argument, int64_t task, int thread) {
    const job *now = argument;
    at_ctc_rows rows = rows_of(now, task);
    now->state->counts[task] =
        at_ctc_search_rows(&now->state->memories[thread], &rows, &now->options,
                           now->state->found + task * now->options.n_best, symbols_of(now, task));
}

static attn_status make_room(job *now) {
    attn_context *context = now->work->context;
    const at_batch *batch = now->work->batch;
    ctc_state *state = now->state;
    int64_t longest = 0, n_best = now->options.n_best;
    for (int64_t s = 0; s < batch->sequences; s++) {
        int64_t rows = rows_of(now, s).rows;
        if (rows > longest) longest = rows;
    }
    if (!state->memories) {
        state->memories = at_allocate(context, context->threads, sizeof *state->memories, "a search");
        if (!state->memories) return ATTN_OUT_OF_MEMORY;
        state->memory_count = context->threads;
    }
    attn_status status = at_grow(context, &state->found, &state->found_room, batch->sequences * n_best,
                                 sizeof *state->found, "answers");
    if (status == ATTN_OK)
        status = at_grow(context, &state->counts, &state->count_room, batch->sequences, sizeof *state->counts,
                         "answers");
    if (status == ATTN_OK)
        status = at_grow(context, &state->symbols, &state->symbol_room, now->rows.rows * n_best,
                         sizeof *state->symbols, "answers");
    for (int i = 0; i < state->memory_count && status == ATTN_OK; i++)
        status = at_ctc_prepare(context, &state->memories[i], longest, now->rows.symbols, &now->options);
    return status;
}

/* ---- answers ---- */

/* Where each symbol begins, the rows that a row of the source became taken together. Rows beyond the longest
 * source were not seen: they have 0. */
static attn_status align(const job *now, int64_t sequence, int64_t all_rows, at_found_answer *one) {
    at_said *said = &now->state->said;
    attn_context *context = now->work->context;
    at_ctc_rows rows = rows_of(now, sequence);
    if (one->count == 0) return ATTN_OK; /* it has none */
    int64_t numbers = one->count * all_rows;
    attn_status status = at_grow(context, &said->alignments, &said->alignment_room,
                                 said->alignment_count + numbers, sizeof(float), "an alignment");
    if (status == ATTN_OK)
        status = at_grow(context, &now->state->sums, &now->state->sum_room,
                         (rows.rows + 2) * (2 * one->count + 1), sizeof *now->state->sums, "an alignment");
    if (status == ATTN_OK)
        status = at_grow(context, &now->state->begins, &now->state->begin_room, rows.rows * one->count,
                         sizeof *now->state->begins, "an alignment");
    if (status != ATTN_OK) return status;
    float *begins = now->state->begins;
    const int64_t times = at_ctc_upsample(now->head);
    float *into = said->alignments + said->alignment_count;
    memset(into, 0, (size_t)numbers * sizeof *into);
    at_ctc_align(&rows, said->symbols + one->first, one->count, now->state->sums, begins, rows.rows);
    for (int64_t i = 0; i < one->count; i++)
        for (int64_t t = 0; t < rows.rows; t++) into[i * all_rows + t / times] += begins[i * rows.rows + t];
    one->alignment = said->alignment_count;
    said->alignment_count += numbers;
    return ATTN_OK;
}

static attn_status keep_answers(const job *now, int64_t sequence, int64_t segment) {
    ctc_state *state = now->state;
    at_said *said = &state->said;
    int64_t example = now->whole->segments.list[segment].example;
    const int64_t *offsets = now->encoded->offsets + example;
    int64_t rows = rows_of(now, sequence).rows;
    attn_status status = ATTN_OK;
    for (int64_t a = 0; a < state->counts[sequence] && status == ATTN_OK; a++) {
        const at_ctc_found *found = &state->found[sequence * now->options.n_best + a];
        at_found_answer *one = &now->found.list[segment * now->options.n_best + a];
        status = at_grow(now->work->context, &said->symbols, &said->symbol_room,
                         said->symbol_count + found->count, sizeof *said->symbols, "answers");
        if (status != ATTN_OK) return status;
        if (found->count)
            memcpy(said->symbols + said->symbol_count, symbols_of(now, sequence) + a * rows,
                   (size_t)found->count * sizeof *said->symbols);
        *one = (at_found_answer){found->log_probability, said, said->symbol_count,
                                 found->count,           -1,   found->ended};
        said->symbol_count += found->count;
        if (now->options.alignment) status = align(now, sequence, offsets[1] - offsets[0], one);
    }
    now->found.counts[segment] = state->counts[sequence];
    return status;
}

static attn_status prepare(void *user, at_work *worker) {
    (void)user;
    if (!worker->state) worker->state = at_allocate(worker->context, 1, sizeof(ctc_state), "answers");
    ctc_state *state = worker->state;
    if (!state) return ATTN_OUT_OF_MEMORY;
    state->said.symbol_count = state->said.alignment_count = 0;
    return ATTN_OK;
}

/* Nothing is answered to nothing: the empty sources, which are at the end. */
static attn_status answer_batch(void *user, at_work *worker, int64_t batch) {
    job now = *(const job *)user;
    const at_plan *plan = &now.whole->plan;
    const at_segments *segments = &now.whole->segments;
    const int64_t *order = plan->order + plan->first[batch];
    int64_t count = plan->first[batch + 1] - plan->first[batch];
    while (count > 0 && segments->list[order[count - 1]].count == 0) count--;
    if (count == 0) return ATTN_OK;
    now.work = worker;
    now.state = worker->state;
    attn_status status = now.forward->fill(now.forward, now.encoded, segments, order, count, worker->batch);
    if (status == ATTN_OK) status = run_networks(&now);
    if (status == ATTN_OK) status = make_room(&now);
    if (status != ATTN_OK) return status;
    double operations = 200.0 * (double)(now.rows.rows * (now.options.beam * now.options.beam + 10));
    at_parallel(worker->context->pool, at_threads_for(worker->context, operations), count, search_task, &now);
    for (int64_t s = 0; s < count && status == ATTN_OK; s++) status = keep_answers(&now, s, order[s]);
    return status;
}

attn_status at_ctc_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const void *settings, at_answers **answers) {
    job now = {.head = heads[0], .forward = forward, .encoded = encoded, .whole = work};
    at_tasks tasks = {.divisible = 1, .prepare = prepare, .run = answer_batch, .user = &now};
    attn_context *context = work->context;
    (void)count;
    attn_status status = at_sequence_options(context, encoded, settings, &now.options);
    if (status == ATTN_OK)
        status =
            at_sequence_make_answers(heads[0], context, encoded->examples, &now.options, settings, answers);
    if (status == ATTN_OK)
        status = at_segments_make(context, encoded->examples, encoded->offsets, forward->longest, 0,
                                  &work->segments);
    if (status == ATTN_OK)
        status = at_found_create(context, work->segments.count, now.options.n_best, &now.found);
    if (status == ATTN_OK) status = at_plan_sorted(context, &work->segments, ROWS_PER_BATCH, &work->plan);
    if (status == ATTN_OK) {
        tasks.count = work->plan.batches;
        tasks.large = at_work_large(work);
    }
    status = at_work_run(forward, work, status, &tasks);
    at_sequence_answers *made = (at_sequence_answers *)(void *)*answers;
    if (status == ATTN_OK) status = at_sequence_keep(work, encoded, &now.found, made);
    if (status == ATTN_OK && now.options.alignment)
        status = at_work_join(work, status, made->alignments, made->alignment_count, sizeof(float));
    at_found_free(context, &now.found);
    return status;
}
