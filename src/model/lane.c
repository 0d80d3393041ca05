/* lane.c: answers for a batch of sources: the encoder, then search with the decoders of all networks, each
 * with its cache; the probability of a symbol is the mean of theirs.
 */
#include "model/lane.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "layers/decoder.h"
#include "model/search.h"
#include "ops/check.h"

enum { ROWS_A_TASK = 8 };

static int64_t longest_answer(const at_lane_job *job) {
    const at_config *values = &job->model->values;
    int64_t longest = job->options.longest ? job->options.longest : values->target_longest;
    if (longest < 1) longest = 1000;
    int table = values->position == ATTN_POSITION_LEARNED; /* the beginning is a row, too */
    return table && longest > values->longest - 1 ? values->longest - 1 : longest;
}

attn_status at_lane_create(const at_lane_job *job, attn_context *context, at_lane *lane) {
    *lane = (at_lane){.job = job, .context = context, .text = job->model->text};
    lane->text.context = context;
    attn_status status = ATTN_OK;
    for (int m = 0; m < job->model->members && status == ATTN_OK; m++) {
        status = attn_tape_create(context, &lane->tapes[m]);
        if (status == ATTN_OK)
            status =
                at_cache_create(context, job->model->networks[m].decoder, job->largest * job->options.beam,
                                longest_answer(job) + 1, &lane->caches[m]);
    }
    if (status != ATTN_OK) at_lane_free(lane);
    return status;
}

void at_lane_free(at_lane *lane) {
    attn_context *context = lane->context;
    if (!context) return;
    at_batch_free(context, &lane->batch);
    at_release(context, lane->limits);
    at_release(context, lane->mean);
    at_release(context, lane->symbols);
    for (int m = 0; m < AT_MOST_MEMBERS; m++) {
        attn_cache_destroy(lane->caches[m]);
        attn_tape_destroy(lane->tapes[m]);
    }
    memset(lane, 0, sizeof *lane);
}

static attn_status tape_failed(const at_lane *lane, const attn_tape *tape) {
    return at_fail(lane->context, attn_tape_status(tape), "%s", attn_tape_error(tape));
}

/* ---- one step of search ---- */

typedef struct averaging {
    const float *parts[AT_MOST_MEMBERS];
    int64_t strides[AT_MOST_MEMBERS], rows, columns;
    int members;
    float *mean;
} averaging;

/* log of the mean of exp, row by row. */
static void average_rows(void *argument, int64_t task, int worker) {
    (void)worker;
    const averaging *work = argument;
    int64_t end = (task + 1) * ROWS_A_TASK < work->rows ? (task + 1) * ROWS_A_TASK : work->rows;
    for (int64_t r = task * ROWS_A_TASK; r < end; r++) {
        float *mean = work->mean + r * work->columns;
        for (int64_t c = 0; c < work->columns; c++) {
            double sum = 0;
            for (int m = 0; m < work->members; m++)
                sum += exp((double)work->parts[m][r * work->strides[m] + c]);
            mean[c] = (float)log(sum / work->members);
        }
    }
}

/* One step: what every symbol is worth after every row. */
static attn_status say_step(at_lane *lane, at_search *search) {
    const attn_model *model = lane->job->model;
    averaging mean = {
        .rows = at_search_rows(search), .columns = attn_model_symbols(model), .members = model->members};
    for (int m = 0; m < model->members; m++) {
        const at_network *network = &model->networks[m];
        attn_tape *tape = lane->tapes[m];
        attn_status status = attn_cache_reorder(lane->caches[m], mean.rows, at_search_from(search));
        if (status != ATTN_OK) return status;
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_generator_embed(model, network, tape, at_search_symbols(search), mean.rows);
        x = attn_decoder_step(tape, network->decoder, lane->caches[m], x, NULL);
        x = at_generator_say(model, network, tape, x);
        if (model->members > 1) x = attn_tape_log_softmax(tape, x);
        if (attn_tape_status(tape) != ATTN_OK) return tape_failed(lane, tape);
        mean.parts[m] = attn_variable_data(x);
        mean.strides[m] = attn_variable_stride(x);
    }
    if (model->members == 1)
        return at_search_step_scores(search, mean.parts[0], mean.strides[0], mean.columns);
    attn_status status = at_grow(lane->context, &lane->mean, &lane->mean_room, mean.rows * mean.columns,
                                 sizeof *lane->mean, "the mean of answers");
    if (status != ATTN_OK) return status;
    mean.mean = lane->mean;
    double work_of_exp = 50.0 * (double)(mean.rows * mean.columns * mean.members);
    at_parallel(lane->context->pool, at_threads_for(lane->context, work_of_exp),
                (mean.rows + ROWS_A_TASK - 1) / ROWS_A_TASK, average_rows, &mean);
    return at_search_step(search, lane->mean, mean.columns, mean.columns);
}

/* ---- one batch ---- */

static attn_status encode(at_lane *lane) {
    const attn_model *model = lane->job->model;
    attn_ragged source = {lane->batch.sequences, lane->batch.offsets};
    for (int m = 0; m < model->members; m++) {
        attn_tape *tape = lane->tapes[m];
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_network_apply(model, &model->networks[m], tape, &lane->batch);
        if (attn_tape_status(tape) != ATTN_OK ||
            attn_cache_begin(tape, lane->caches[m], source.sequences, x, &source) != ATTN_OK)
            return tape_failed(lane, tape);
    }
    return ATTN_OK;
}

static attn_status keep_found(at_lane *lane, const at_search *search, const int64_t *order) {
    const at_lane_job *job = lane->job;
    for (int64_t s = 0; s < lane->batch.sequences; s++) {
        const at_found *found;
        int64_t count = at_search_found(search, s, &found);
        if (count > 0 && !(found[0].score > -INFINITY))
            return at_fail(lane->context, ATTN_NOT_FINITE,
                           "the model says what is not a number: its weights are broken");
        for (int64_t a = 0; a < count; a++) {
            attn_status status =
                at_grow(lane->context, &lane->symbols, &lane->symbol_room,
                        lane->symbol_count + found[a].length, sizeof *lane->symbols, "answers");
            if (status != ATTN_OK) return status;
            if (found[a].length) at_search_spell(search, &found[a], lane->symbols + lane->symbol_count);
            job->said[order[s] * job->options.n_best + a] =
                (at_said){found[a].score, lane, lane->symbol_count, found[a].length, found[a].ended};
            lane->symbol_count += found[a].length;
        }
        job->said_counts[order[s]] = count;
    }
    return ATTN_OK;
}

attn_status at_lane_answer(at_lane *lane, const int64_t *order, int64_t count) {
    const at_lane_job *job = lane->job;
    const attn_model *model = job->model;
    attn_status status =
        at_batch_make(&lane->text, model->pretrained.columns ? &model->pretrained.words : NULL, job->units,
                      job->segments, order, count, NULL, &lane->batch);
    if (status == ATTN_OK)
        status =
            at_grow(lane->context, &lane->limits, &lane->limit_room, count, sizeof *lane->limits, "a search");
    if (status == ATTN_OK) status = encode(lane);
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < count; s++) lane->limits[s] = longest_answer(job);
    at_search *search;
    status = at_search_create(lane->context, count, &job->options, lane->limits, &search);
    if (status != ATTN_OK) return status;
    while (status == ATTN_OK && at_search_rows(search) > 0) status = say_step(lane, search);
    if (status == ATTN_OK) status = keep_found(lane, search, order);
    at_search_destroy(search);
    return status;
}
