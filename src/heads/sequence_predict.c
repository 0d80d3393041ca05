/* sequence_predict.c: answers of their own length: sources in batches, which threads search for by themselves
 * (beam.c), then the text of the answers.
 *
 * The alignment of an answer is computed by running it through the decoder once more (teacher forcing).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/parts.h"
#include "heads/beam.h"
#include "heads/search.h"

enum { ROWS_OF_BEAMS = 512, MOST_SYMBOLS = 1000000 /* as target.longest */ };

void attn_search_options_init(attn_search_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->beam = 4;
    options->n_best = 1;
    options->length_penalty = 1;
}

static const at_field fields[] = {
    AT_INTEGER("beam", attn_search_options, beam, 0, 1024, "0",
               "hypotheses kept; 1 is greedy; 0: 4 or n-best"),
    AT_INTEGER("n-best", attn_search_options, n_best, 0, 1024, "0",
               "answers a text, ranked, with scores; 0: the best"),
    AT_NUMBER("length-penalty", attn_search_options, length_penalty, 0, 10, "1",
              "log-probabilities / length^A"),
    AT_INTEGER("longest", attn_search_options, longest, 0, MOST_SYMBOLS, "0",
               "symbols of an answer; 0: the model's"),
    AT_SWITCH("alignment", attn_search_options, alignment, "false", "what each symbol looks at"),
    AT_SWITCH("lowercase", attn_search_options, lowercase, "false", "a report's bleu and chrf in lower case"),
};
const at_fields at_sequence_setting_fields = {fields, 6, sizeof(attn_search_options), NULL, 0};

/* What is kept from call to call. */
typedef struct sequence_state {
    at_beam_worker *workers; /* [worker_count]: one for all threads together, then one for each */
    int worker_count;
    at_parts *parts;
    at_joined text;
    at_decoding decoding; /* of alignments */
    float *weights;
    int64_t weight_room;
} sequence_state;

void at_sequence_free_state(attn_context *context, void *state) {
    sequence_state *own = state;
    for (int i = 0; i < own->worker_count; i++) at_beam_free(&own->workers[i]);
    at_parts_destroy(own->parts);
    at_release(context, own->workers);
    at_release(context, own->text.bytes);
    at_decoding_free(context, &own->decoding);
    at_release(context, own->weights);
    at_release(context, own);
}

/* What one call works with. */
typedef struct job {
    at_beam_job shared;
    at_work *work;
    sequence_state *state;
    at_sequence_answers *answers;
} job;

/* ---- search ---- */

/* Sources of a batch that are not empty; these stand before the others. */
static int64_t filled_sources(const job *now, int64_t batch) {
    const at_plan *plan = &now->work->plan;
    int64_t first = plan->first[batch], end = plan->first[batch + 1];
    while (end > first && now->work->segments.list[plan->order[end - 1]].count == 0) end--;
    return end - first;
}

static attn_status answer_batch(job *now, at_beam_worker *worker, int64_t batch) {
    int64_t count = filled_sources(now, batch);
    if (!count) return ATTN_OK;
    return at_beam_answer(worker, &now->shared, now->work->plan.order + now->work->plan.first[batch], count);
}

static void answer_task(void *argument, int64_t task, int thread) {
    job *now = argument;
    at_beam_worker *worker = &now->state->workers[thread + 1];
    if (worker->status != ATTN_OK) return;
    worker->status = answer_batch(now, worker, task + 1);
    worker->failed = task + 1;
}

static attn_status make_workers(job *now, attn_context *context, int count) {
    sequence_state *state = now->state;
    if (state->worker_count < context->threads + 1) {
        state->workers = at_allocate(context, context->threads + 1, sizeof *state->workers, "answers");
        if (!state->workers) return ATTN_OUT_OF_MEMORY;
        state->worker_count = context->threads + 1;
    }
    attn_status status = at_beam_prepare(&state->workers[0], context, &now->shared);
    if (count > 1 && status == ATTN_OK && !state->parts) status = at_parts_create(context, &state->parts);
    for (int i = 1; i < count && status == ATTN_OK; i++) {
        attn_context *part = at_part(state->parts, i - 1);
        status = at_beam_prepare(&state->workers[i], part, &now->shared);
        if (status != ATTN_OK) at_fail(context, status, "%s", part->error);
    }
    return status;
}

/* The first batch is answered by all threads together, which also brings the weights into kernel order. Each
 * of the others is one thread's, so that threads do not wait for each other at every step. */
static attn_status answer_batches(job *now) {
    attn_context *context = now->work->context;
    int64_t batches = now->work->plan.batches;
    int apart = context->threads > 1 && batches > 2;
    int count = apart ? context->threads + 1 : 1;
    attn_status status = make_workers(now, context, count);
    for (int64_t b = 0; b < (apart ? 1 : batches) && status == ATTN_OK; b++)
        status = answer_batch(now, &now->state->workers[0], b);
    if (!apart || status != ATTN_OK) return status;
    at_parallel(context->pool, context->threads, batches - 1, answer_task, now);
    const at_beam_worker *first = NULL;
    for (int i = 1; i < count; i++) {
        const at_beam_worker *worker = &now->state->workers[i];
        if (worker->status != ATTN_OK && (!first || worker->failed < first->failed)) first = worker;
    }
    return first ? at_fail(context, first->status, "%s", first->context->error) : ATTN_OK;
}

attn_status at_sequence_keep_answer(at_sequence_answers *answers, at_joined *text, int64_t example,
                                    const int32_t *said, int64_t count, double score, int ended) {
    attn_context *context = answers->answers.context;
    const at_symbols *symbols = at_sequence_of(answers->answers.head)->symbols;
    const at_strings *strings = &symbols->vocabulary.strings;
    attn_status status = at_grow(context, &answers->symbols, &answers->symbol_room,
                                 answers->symbol_count + count, sizeof *answers->symbols, "answers");
    text->count = text->started = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        answers->symbols[answers->symbol_count + i] = said[i];
        status = at_symbols_append(symbols, context, at_string(strings, said[i]),
                                   at_string_length(strings, said[i]), text);
    }
    at_joined_mend(text, 0, 1); /* bytes that are no text */
    if (status == ATTN_OK)
        status =
            at_strings_add(context, &answers->texts, text->count ? text->bytes : "", (size_t)text->count);
    if (status != ATTN_OK) return status;
    int64_t place = answers->counts[example]++;
    answers->list[example * answers->n_best + place] =
        (at_hypothesis){score, answers->symbol_count, count, answers->texts.count - 1, -1, 0, ended};
    answers->symbol_count += count;
    return ATTN_OK;
}

/* Nothing is answered to nothing. */
static attn_status keep_answers(job *now) {
    const at_segments *segments = &now->work->segments;
    at_joined *text = &now->state->text;
    attn_status status = ATTN_OK;
    for (int64_t s = 0; s < segments->count && status == ATTN_OK; s++) {
        int64_t example = segments->list[s].example, count = now->shared.found_counts[s];
        if (count == 0) status = at_sequence_keep_answer(now->answers, text, example, NULL, 0, 0, 1);
        for (int64_t a = 0; a < count && status == ATTN_OK; a++) {
            const at_found_answer *found = &now->shared.found[s * now->answers->n_best + a];
            const int32_t *said = found->count ? found->worker->symbols + found->first : NULL;
            status = at_sequence_keep_answer(now->answers, text, example, said, found->count, found->score,
                                             found->ended);
        }
    }
    return status;
}

/* ---- alignment ---- */

/* One answer of one example: the cross-attention of its last block, the mean over heads and networks. Rows
 * beyond the longest source were not seen: they have 0. */
static attn_status align_answer(job *now, int64_t rows_of_source, at_hypothesis *one) {
    at_sequence_answers *answers = now->answers;
    const at_head *head = answers->answers.head;
    const at_forward *forward = now->shared.forward;
    sequence_state *state = now->state;
    at_work *work = now->work;
    int64_t keys = work->batch->rows, rows = one->count + 1, heads = head->config.decoder.heads, zero = 0;
    int64_t offsets[] = {one->first, one->first + one->count};
    if (one->count == 0) return ATTN_OK; /* it has none */
    attn_status status =
        at_decoding_make(work->context, answers->symbols, offsets, &zero, 1, &state->decoding);
    if (status == ATTN_OK)
        status =
            at_grow(work->context, &answers->alignments, &answers->alignment_room,
                    answers->alignment_count + one->count * rows_of_source, sizeof(float), "an alignment");
    if (status == ATTN_OK)
        status = at_grow(work->context, &state->weights, &state->weight_room, heads * rows * keys,
                         sizeof(float), "an alignment");
    if (status != ATTN_OK) return status;
    float *into = answers->alignments + answers->alignment_count;
    memset(into, 0, (size_t)(one->count * rows_of_source) * sizeof *into);
    for (int n = 0; n < forward->networks; n++) {
        attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *source = forward->rows(forward, n, work->tape, work->batch);
        at_sequence_force(head, head->layers[n], work->tape, source, work->batch, &state->decoding,
                          state->weights);
        if (attn_tape_status(work->tape) != ATTN_OK)
            return at_fail(work->context, attn_tape_status(work->tape), "%s", attn_tape_error(work->tape));
        for (int64_t h = 0; h < heads; h++) {
            const float *weights = state->weights + h * rows * keys;
            for (int64_t i = 0; i < one->count * keys; i++)
                into[i / keys * rows_of_source + i % keys] += weights[i] / (float)(heads * forward->networks);
        }
    }
    one->alignment = answers->alignment_count;
    one->rows = rows_of_source;
    answers->alignment_count += one->count * rows_of_source;
    return ATTN_OK;
}

static attn_status align_all(job *now) {
    at_sequence_answers *answers = now->answers;
    const at_encoded *encoded = now->shared.encoded;
    at_work *work = now->work;
    attn_status status = ATTN_OK;
    for (int64_t s = 0; s < work->segments.count && status == ATTN_OK; s++) {
        int64_t example = work->segments.list[s].example;
        if (work->segments.list[s].count == 0) continue;
        status = now->shared.forward->fill(now->shared.forward, encoded, &work->segments, &s, 1, work->batch);
        for (int64_t a = 0; a < answers->counts[example] && status == ATTN_OK; a++)
            status = align_answer(now, encoded->offsets[example + 1] - encoded->offsets[example],
                                  &answers->list[example * answers->n_best + a]);
    }
    return status;
}

/* ---- all of it ---- */

static attn_status search_all(job *now) {
    at_beam_job *shared = &now->shared;
    at_work *work = now->work;
    attn_context *context = work->context;
    const at_encoded *encoded = shared->encoded;
    attn_status status = at_segments_make(context, encoded->examples, encoded->offsets,
                                          shared->forward->longest, 0, &work->segments);
    if (status != ATTN_OK) return status;
    int64_t segments = work->segments.count, n_best = shared->options.n_best;
    shared->found = at_allocate(context, segments * n_best, sizeof *shared->found, "answers");
    shared->found_counts = at_allocate(context, segments, sizeof *shared->found_counts, "answers");
    if (!shared->found || !shared->found_counts) return ATTN_OUT_OF_MEMORY;
    int64_t rows = ROWS_OF_BEAMS / shared->options.beam;
    status = at_plan_make(context, &work->segments, rows < 1 ? 1 : rows, 0, 0, &work->plan);
    if (status != ATTN_OK) return status;
    shared->segments = &work->segments;
    for (int64_t b = 0; b < work->plan.batches; b++) {
        int64_t count = filled_sources(now, b);
        if (count > shared->largest) shared->largest = count;
    }
    if (shared->largest > 0) status = answer_batches(now);
    if (status == ATTN_OK) status = keep_answers(now);
    if (status == ATTN_OK && shared->options.alignment) status = align_all(now);
    return status;
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
            "%.200s: has targets of single rows; a source is a whole example, as a text in a line is",
            encoded->labels.name);
    attn_status status = at_search_check(context, options);
    if (status == ATTN_OK && (options->longest < 0 || options->longest > MOST_SYMBOLS))
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "longest is %" PRId64 "; it can be from 0 to %d",
                         options->longest, MOST_SYMBOLS);
    return status;
}

attn_status at_sequence_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                                const at_encoded *encoded, const void *settings, at_answers **answers) {
    job now = {.shared = {.head = heads[0], .forward = forward, .encoded = encoded}, .work = work};
    attn_context *context = work->context;
    (void)count;
    attn_status status = at_sequence_options(context, encoded, settings, &now.shared.options);
    if (status == ATTN_OK && !work->state) {
        work->state = at_allocate(context, 1, sizeof(sequence_state), "answers");
        if (!work->state) status = ATTN_OUT_OF_MEMORY;
    }
    if (status == ATTN_OK)
        status = at_sequence_make_answers(heads[0], context, encoded->examples, &now.shared.options, settings,
                                          answers);
    if (status != ATTN_OK) return status;
    now.state = work->state;
    now.answers = (at_sequence_answers *)(void *)*answers;
    status = search_all(&now);
    at_release(context, now.shared.found);
    at_release(context, now.shared.found_counts);
    return status;
}
