/* beam.c: beam search for a batch of sources: the encoder, then search with the decoders of all networks,
 * each with its cache; the probability of a symbol is the mean over the networks.
 */
#include "heads/beam.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "heads/search.h"
#include "layers/decoder.h"

enum { ROWS_PER_TASK = 8 };

static int64_t longest_answer(const at_beam_job *job) {
    const attn_decoder_options *decoder = &job->head->config.decoder;
    int64_t longest = job->options.longest ? job->options.longest : at_sequence_of(job->head)->longest;
    if (longest < 1) longest = 1000;
    int table = decoder->position == ATTN_POSITION_LEARNED; /* the beginning is a row, too */
    return table && longest > decoder->longest - 1 ? decoder->longest - 1 : longest;
}

static const at_symbol_layer *layer_of(const at_beam_job *job, int network) {
    return job->head->layers[network];
}

attn_status at_beam_prepare(at_beam_worker *worker, attn_context *context, const at_beam_job *job) {
    int64_t sequences = job->largest * job->options.beam, room = longest_answer(job) + 1;
    attn_status status = ATTN_OK;
    worker->context = context;
    worker->forward = job->forward;
    worker->said.symbol_count = 0;
    if (!worker->batch) status = job->forward->create_batch(job->forward, context, &worker->batch);
    int fits = sequences <= worker->cache_sequences && room <= worker->cache_room;
    if (!fits) worker->cache_sequences = worker->cache_room = 0; /* until all of them are made anew */
    for (int n = 0; n < job->forward->networks && status == ATTN_OK; n++) {
        if (!worker->tapes[n]) status = attn_tape_create(context, &worker->tapes[n]);
        if (status != ATTN_OK || (fits && worker->caches[n])) continue;
        attn_cache_destroy(worker->caches[n]);
        worker->caches[n] = NULL;
        status = at_cache_create(context, layer_of(job, n)->decoder, sequences, room, &worker->caches[n]);
    }
    if (!fits && status == ATTN_OK) {
        worker->cache_sequences = sequences;
        worker->cache_room = room;
    }
    return status;
}

void at_beam_free(at_beam_worker *worker) {
    attn_context *context = worker->context;
    if (!context) return;
    if (worker->batch) worker->forward->free_batch(worker->forward, worker->batch);
    at_release(context, worker->limits);
    at_release(context, worker->mean);
    at_said_free(context, &worker->said);
    for (int n = 0; n < AT_MOST_NETWORKS; n++) {
        attn_cache_destroy(worker->caches[n]);
        attn_tape_destroy(worker->tapes[n]);
        at_host_rows_free(context, &worker->host[n]);
        at_monotone_free(context, &worker->monotone[n]);
    }
    memset(worker, 0, sizeof *worker);
}

static attn_status tape_failed(const at_beam_worker *worker, const attn_tape *tape) {
    return at_fail(worker->context, attn_tape_status(tape), "%s", attn_tape_error(tape));
}

/* ---- one step of search ---- */

typedef struct averaging {
    const float *parts[AT_MOST_NETWORKS];
    int64_t strides[AT_MOST_NETWORKS], rows, columns;
    int networks;
    float *mean;
} averaging;

/* log of the mean of exp, row by row. */
static void average_rows(void *argument, int64_t task, int thread) {
    (void)thread;
    const averaging *work = argument;
    int64_t end = (task + 1) * ROWS_PER_TASK < work->rows ? (task + 1) * ROWS_PER_TASK : work->rows;
    for (int64_t r = task * ROWS_PER_TASK; r < end; r++) {
        float *mean = work->mean + r * work->columns;
        for (int64_t c = 0; c < work->columns; c++) {
            double sum = 0;
            for (int n = 0; n < work->networks; n++)
                sum += exp((double)work->parts[n][r * work->strides[n] + c]);
            mean[c] = (float)log(sum / work->networks);
        }
    }
}

/* One step: what every symbol is worth after every row. */
static attn_status take_step(at_beam_worker *worker, const at_beam_job *job, at_search *search) {
    const at_head *head = job->head;
    averaging mean = {.rows = at_search_rows(search),
                      .columns = at_sequence_of(head)->symbols->vocabulary.strings.count,
                      .networks = job->forward->networks};
    for (int n = 0; n < mean.networks; n++) {
        const at_symbol_layer *layer = layer_of(job, n);
        attn_tape *tape = worker->tapes[n];
        at_monotone_search *monotone = layer->source_map ? &worker->monotone[n] : NULL;
        if (monotone && attn_cache_length(worker->caches[n]) > 0)
            at_monotone_take(monotone, mean.rows, at_search_from(search), at_search_symbols(search));
        attn_status status = attn_cache_reorder(worker->caches[n], mean.rows, at_search_from(search));
        if (status != ATTN_OK) return status;
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_sequence_embed(head, layer, tape, at_search_symbols(search), mean.rows);
        x = attn_decoder_step(tape, layer->decoder, worker->caches[n], x, NULL);
        if (monotone) {
            status = at_monotone_step(monotone, head, layer, tape, x, worker->batch);
            if (attn_tape_status(tape) != ATTN_OK) return tape_failed(worker, tape);
            if (status != ATTN_OK) return status;
            mean.parts[n] = monotone->logarithms;
            mean.strides[n] = mean.columns;
            continue;
        }
        x = at_sequence_logits(head, layer, tape, x);
        if (mean.networks > 1) x = attn_tape_log_softmax(tape, x);
        if (attn_tape_status(tape) != ATTN_OK) return tape_failed(worker, tape);
        status = at_host_rows_of(x, &worker->host[n]);
        if (status != ATTN_OK) return status;
        mean.parts[n] = worker->host[n].data;
        mean.strides[n] = worker->host[n].stride;
    }
    if (mean.networks == 1 && head->config.sequence.monotone)
        return at_search_step(search, mean.parts[0], mean.strides[0], mean.columns);
    if (mean.networks == 1)
        return at_search_step_logits(search, mean.parts[0], mean.strides[0], mean.columns);
    attn_status status = at_grow(worker->context, &worker->mean, &worker->mean_room, mean.rows * mean.columns,
                                 sizeof *worker->mean, "the mean of answers");
    if (status != ATTN_OK) return status;
    mean.mean = worker->mean;
    double work_of_exp = 50.0 * (double)(mean.rows * mean.columns * mean.networks);
    at_parallel(worker->context->pool, at_threads_for(worker->context, work_of_exp),
                (mean.rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, average_rows, &mean);
    return at_search_step(search, worker->mean, mean.columns, mean.columns);
}

/* ---- one batch ---- */

static attn_status encode(at_beam_worker *worker, const at_beam_job *job) {
    attn_ragged source = {worker->batch->sequences, worker->batch->offsets};
    for (int n = 0; n < job->forward->networks; n++) {
        attn_tape *tape = worker->tapes[n];
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = job->forward->rows(job->forward, n, tape, worker->batch);
        const int crosses = job->head->config.sequence.cross;
        if (attn_tape_status(tape) != ATTN_OK ||
            attn_cache_begin(tape, worker->caches[n], source.sequences, crosses ? x : NULL,
                             crosses ? &source : NULL) != ATTN_OK)
            return tape_failed(worker, tape);
        if (!layer_of(job, n)->source_map) continue;
        attn_status status = at_monotone_begin(
            worker->context, &worker->monotone[n], source.sequences * job->options.beam, layer_of(job, n),
            tape, x, worker->batch, at_sequence_of(job->head)->symbols->vocabulary.strings.count);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

static attn_status keep_found(at_beam_worker *worker, const at_beam_job *job, const at_search *search,
                              const int64_t *order) {
    at_said *said = &worker->said;
    for (int64_t s = 0; s < worker->batch->sequences; s++) {
        const at_found *found;
        int64_t count = at_search_found(search, s, &found);
        if (count > 0 && !(found[0].value > -INFINITY))
            return at_fail(worker->context, ATTN_NOT_FINITE,
                           "the model's output is not a number: its weights are damaged");
        for (int64_t a = 0; a < count; a++) {
            attn_status status =
                at_grow(worker->context, &said->symbols, &said->symbol_room,
                        said->symbol_count + found[a].length, sizeof *said->symbols, "answers");
            if (status != ATTN_OK) return status;
            if (found[a].length) at_search_spell(search, &found[a], said->symbols + said->symbol_count);
            job->found.list[order[s] * job->options.n_best + a] = (at_found_answer){
                found[a].value, said, said->symbol_count, found[a].length, -1, found[a].ended};
            said->symbol_count += found[a].length;
        }
        job->found.counts[order[s]] = count;
    }
    return ATTN_OK;
}

attn_status at_beam_answer(at_beam_worker *worker, const at_beam_job *job, const int64_t *order,
                           int64_t count) {
    attn_status status =
        job->forward->fill(job->forward, job->encoded, job->segments, order, count, worker->batch);
    if (status == ATTN_OK)
        status = at_grow(worker->context, &worker->limits, &worker->limit_room, count, sizeof *worker->limits,
                         "a search");
    if (status == ATTN_OK) status = encode(worker, job);
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < count; s++) worker->limits[s] = longest_answer(job);
    at_search *search;
    status = at_search_create(worker->context, count, &job->options, worker->limits, &search);
    if (status != ATTN_OK) return status;
    while (status == ATTN_OK && at_search_rows(search) > 0) status = take_step(worker, job, search);
    if (status == ATTN_OK) status = keep_found(worker, job, search, order);
    at_search_destroy(search);
    return status;
}
