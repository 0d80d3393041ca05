/* sequence_predict.c: prediction of sequences: threads search batches of sources independently (beam.c,
 * work.h), then the symbols become text.
 *
 * The alignment of a prediction is computed by running it through the decoder (teacher forcing).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "heads/beam.h"
#include "heads/search.h"
#include "heads/work.h"

enum { ROWS_OF_BEAMS = 512, MOST_SYMBOLS = 1000000 /* as target.longest */ };

void attn_search_options_init_sized(attn_search_options *options, size_t size) {
    attn_search_options own = {.size = sizeof own};
    own.beam = 4;
    own.n_best = 1;
    own.length_penalty = 1;
    at_options_give(options, size, &own, sizeof own);
}

static const at_field fields[] = {
    AT_INTEGER("beam", attn_search_options, beam, 0, 1024, "0",
               "size of the beam; 1 is greedy search; 0: 4 or n-best"),
    AT_INTEGER("n-best", attn_search_options, n_best, 0, 1024, "0",
               "hypotheses per text, ranked, with log-probabilities; 0: only the best"),
    AT_NUMBER("length-penalty", attn_search_options, length_penalty, 0, 10, "1",
              "log-probability / length^X"),
    AT_INTEGER("longest", attn_search_options, longest, 0, MOST_SYMBOLS, "0",
               "most symbols of a hypothesis; 0: as in the model"),
    AT_SWITCH("alignment", attn_search_options, alignment, "false",
              "the source unit that each symbol attends to most"),
    AT_SWITCH("lowercase", attn_search_options, lowercase, "false", "eval: BLEU and chrF in lower case"),
};
const at_fields at_sequence_setting_fields = {fields, 6, sizeof(attn_search_options), NULL, 0};

/* What a worker keeps from call to call. */
typedef struct sequence_state {
    at_beam_worker beam;
    at_decoding decoding; /* of alignments */
    float *weights;
    int64_t weight_room;
} sequence_state;

void at_sequence_free_state(attn_context *context, void *state) {
    sequence_state *own = state;
    at_beam_free(&own->beam);
    at_decoding_free(context, &own->decoding);
    at_release(context, own->weights);
    at_release(context, own);
}

/* What one call works with. */
typedef struct job {
    at_beam_job shared;
    at_work *whole; /* has the segments and the plan */
    at_sequence_answers *answers;
} job;

static attn_status make_state(void *user, at_work *worker) {
    (void)user;
    if (!worker->state) worker->state = at_allocate(worker->context, 1, sizeof(sequence_state), "answers");
    return worker->state ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* ---- search ---- */

/* Sources of a batch that are not empty; these precede the others. */
static int64_t filled_sources(const at_work *work, int64_t batch) {
    int64_t first = work->plan.first[batch], end = work->plan.first[batch + 1];
    while (end > first && work->segments.list[work->plan.order[end - 1]].count == 0) end--;
    return end - first;
}

static attn_status prepare(void *user, at_work *worker) {
    const job *now = user;
    attn_status status = make_state(user, worker);
    if (status != ATTN_OK) return status;
    return at_beam_prepare(&((sequence_state *)worker->state)->beam, worker->context, &now->shared);
}

static attn_status answer_batch(void *user, at_work *worker, int64_t batch) {
    const job *now = user;
    int64_t count = filled_sources(now->whole, batch);
    if (!count) return ATTN_OK;
    return at_beam_answer(&((sequence_state *)worker->state)->beam, &now->shared,
                          now->whole->plan.order + now->whole->plan.first[batch], count);
}

/* ---- alignment ---- */

/* One prediction of one example: the cross-attention of its last block, the mean over heads and networks; for
 * a monotone decoder, the row at which each symbol is written. Rows beyond the longest source were not seen:
 * they have 0. */
static attn_status align_answer(const job *now, at_work *work, const at_hypothesis *one) {
    const at_sequence_answers *answers = now->answers;
    const at_head *head = answers->answers.head;
    const at_forward *forward = now->shared.forward;
    sequence_state *state = work->state;
    const int monotone = head->config.sequence.monotone;
    int64_t keys = work->batch->rows, rows = one->count + 1, zero = 0;
    int64_t heads = monotone ? 1 : head->config.decoder.heads;
    int64_t offsets[] = {one->first, one->first + one->count};
    if (one->count == 0) return ATTN_OK; /* it has none */
    attn_status status =
        at_decoding_make(work->context, answers->symbols, offsets, &zero, 1, &state->decoding);
    if (status == ATTN_OK)
        status = at_grow(work->context, &state->weights, &state->weight_room, heads * rows * keys,
                         sizeof(float), "an alignment");
    if (status != ATTN_OK) return status;
    float *into = answers->alignments + one->alignment;
    for (int n = 0; n < forward->networks; n++) {
        attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *source = forward->rows(forward, n, work->tape, work->batch);
        if (monotone)
            status = at_monotone_align(work->context, head, head->layers[n], work->tape, source, work->batch,
                                       &state->decoding, state->weights);
        else
            at_sequence_force(head, head->layers[n], work->tape, source, work->batch, &state->decoding,
                              state->weights);
        if (status != ATTN_OK) return status;
        if (attn_tape_status(work->tape) != ATTN_OK)
            return at_fail(work->context, attn_tape_status(work->tape), "%s", attn_tape_error(work->tape));
        for (int64_t h = 0; h < heads; h++) {
            const float *weights = state->weights + h * rows * keys;
            for (int64_t i = 0; i < one->count * keys; i++)
                into[i / keys * one->rows + i % keys] += weights[i] / (float)(heads * forward->networks);
        }
    }
    return ATTN_OK;
}

/* Tasks are segments, the longest first. */
static attn_status align_example(void *user, at_work *worker, int64_t task) {
    const job *now = user;
    const at_forward *forward = now->shared.forward;
    const at_segments *segments = now->shared.segments;
    const int64_t *order = now->whole->plan.order + task;
    int64_t example = segments->list[*order].example;
    if (segments->list[*order].count == 0) return ATTN_OK;
    attn_status status = forward->fill(forward, now->shared.encoded, segments, order, 1, worker->batch);
    for (int64_t a = 0; a < now->answers->counts[example] && status == ATTN_OK; a++)
        status = align_answer(now, worker, &now->answers->list[example * now->answers->n_best + a]);
    return status;
}

static attn_status align_all(job *now) {
    at_work *work = now->whole;
    at_sequence_answers *answers = now->answers;
    at_tasks tasks = {.count = work->segments.count,
                      .divisible = 1,
                      .prepare = make_state,
                      .run = align_example,
                      .user = now};
    attn_status status = at_work_run(now->shared.forward, work, ATTN_OK, &tasks);
    if (status != ATTN_OK) return status;
    return at_work_join(work, status, answers->alignments, answers->alignment_count,
                        sizeof *answers->alignments);
}

/* ---- all of it ---- */

static attn_status plan_search(job *now, at_tasks *tasks) {
    at_beam_job *shared = &now->shared;
    at_work *work = now->whole;
    attn_context *context = work->context;
    const at_encoded *encoded = shared->encoded;
    attn_status status = at_segments_make(context, encoded->examples, encoded->offsets,
                                          shared->forward->longest, 0, &work->segments);
    if (status == ATTN_OK)
        status = at_found_create(context, work->segments.count, shared->options.n_best, &shared->found);
    int64_t rows = ROWS_OF_BEAMS / shared->options.beam;
    if (status == ATTN_OK)
        status = at_plan_sorted(context, &work->segments, rows < 1 ? 1 : rows, &work->plan);
    if (status != ATTN_OK) return status;
    shared->segments = &work->segments;
    tasks->large = at_work_large(work);
    for (int64_t b = 0; b < work->plan.batches; b++) { /* the empty sources are in the last batches */
        int64_t count = filled_sources(work, b);
        if (count > shared->largest) shared->largest = count;
        if (count > 0) tasks->count = b + 1;
    }
    return ATTN_OK;
}

attn_status at_sequence_make_answers(const at_head *head, attn_context *context, int64_t examples,
                                     const attn_search_options *options, const void *settings,
                                     at_answers **answers) {
    at_sequence_answers *made = at_allocate(context, 1, sizeof *made, "answers");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->answers = (at_answers){head, context};
    *answers = &made->answers;
    made->examples = examples;
    made->n_best = options->n_best;
    made->ranked = settings && ((const attn_search_options *)settings)->n_best > 0;
    made->aligned = options->alignment;
    made->list = at_allocate(context, examples * made->n_best, sizeof *made->list, "answers");
    made->counts = at_allocate(context, examples, sizeof *made->counts, "answers");
    return made->list && made->counts ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

void at_sequence_free_answers(at_answers *answers) {
    at_sequence_answers *own = (at_sequence_answers *)(void *)answers;
    attn_context *context = answers->context;
    at_release(context, own->list);
    at_release(context, own->counts);
    at_release(context, own->symbols);
    at_strings_free(context, &own->texts);
    at_release(context, own->alignments);
    at_release(context, own);
}

attn_status at_sequence_options(attn_context *context, const at_encoded *encoded, const void *settings,
                                attn_search_options *options) {
    attn_search_options_init(options);
    if (settings) *options = *(const attn_search_options *)settings;
    if (options->n_best == 0) options->n_best = 1;
    if (options->beam == 0) options->beam = options->n_best > 4 ? options->n_best : 4;
    if (encoded->labels.per_row)
        return at_fail(
            context, ATTN_UNSUPPORTED,
            "%.200s: has targets of single rows; a source must be a whole example, such as a text in a line",
            encoded->labels.name);
    attn_status status = at_search_check(context, options);
    if (status == ATTN_OK && (options->longest < 0 || options->longest > MOST_SYMBOLS))
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "longest is %" PRId64 "; it can be from 0 to %d",
                         options->longest, MOST_SYMBOLS);
    return status;
}

attn_status at_sequence_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                                const at_encoded *encoded, const void *settings, at_answers **answers) {
    job now = {.shared = {.head = heads[0], .forward = forward, .encoded = encoded}, .whole = work};
    at_tasks tasks = {.divisible = 1, .prepare = prepare, .run = answer_batch, .user = &now};
    (void)count;
    attn_status status = at_sequence_options(work->context, encoded, settings, &now.shared.options);
    if (status == ATTN_OK)
        status = at_sequence_make_answers(heads[0], work->context, encoded->examples, &now.shared.options,
                                          settings, answers);
    if (status == ATTN_OK) status = plan_search(&now, &tasks);
    now.answers = (at_sequence_answers *)(void *)*answers;
    status = at_work_run(forward, work, status, &tasks);
    if (status == ATTN_OK) status = at_sequence_keep(work, encoded, &now.shared.found, now.answers);
    if (status == ATTN_OK && now.shared.options.alignment) status = align_all(&now);
    at_found_free(work->context, &now.shared.found);
    return status;
}
