/* generate.c: answers of their own length: sources in batches, which threads search for by themselves
 * (lane.c), then the text of their answers.
 *
 * The alignment of an answer is had by letting the decoder say it once more, all rows at once.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/parts.h"
#include "model/lane.h"
#include "model/model.h"
#include "model/search.h"

enum { UNITS_OF_BEAMS = 512, MOST_SYMBOLS = 1000000 /* as target.longest */ };

typedef struct answer {
    double score;
    int64_t first, symbols; /* in attn_answers.symbols */
    int64_t text;           /* in attn_answers.texts */
    int64_t alignment;      /* in attn_answers.alignments */
    int ended;
} answer;

struct attn_answers {
    attn_model *model;
    int64_t n_best;
    at_units units;
    answer *list;    /* [examples][n_best] */
    int64_t *counts; /* [examples] */
    int32_t *symbols;
    int64_t symbol_count, symbol_room;
    at_strings texts;
    float *alignments;
    int64_t alignment_count, alignment_room;
    int aligned;
};

int attn_model_generates(const attn_model *model) { return model && model->values.task == AT_TASK_SEQ2SEQ; }

int64_t attn_model_symbols(const attn_model *model) {
    return model && model->target ? model->target->vocabulary.strings.count : 0;
}

const char *attn_model_symbol(const attn_model *model, int64_t index) {
    if (index < 0 || index >= attn_model_symbols(model)) return NULL;
    return at_string(&model->target->vocabulary.strings, index);
}

void attn_search_options_init(attn_search_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->beam = 4;
    options->n_best = 1;
    options->length_penalty = 1;
}

/* What one call works with. */
typedef struct job {
    attn_answers *answers;
    at_lane_job shared;
    at_segments segments;
    at_plan plan;
    at_lane *lanes; /* [lane_count] */
    int lane_count;
    at_parts *parts;
    at_joined text;
    attn_tape *tape; /* the rest is for alignments */
    at_batch batch;
    at_decoding decoding;
    float *weights;
    int64_t weight_room;
} job;

/* ---- search ---- */

/* Sources of a batch that are not empty; these stand before the others. */
static int64_t filled_sources(const job *work, int64_t batch) {
    int64_t first = work->plan.first[batch], end = work->plan.first[batch + 1];
    while (end > first && work->segments.list[work->plan.order[end - 1]].count == 0) end--;
    return end - first;
}

static attn_status answer_batch(job *work, at_lane *lane, int64_t batch) {
    int64_t count = filled_sources(work, batch);
    return count ? at_lane_answer(lane, work->plan.order + work->plan.first[batch], count) : ATTN_OK;
}

static void answer_task(void *argument, int64_t task, int worker) {
    job *work = argument;
    at_lane *lane = &work->lanes[worker + 1];
    if (lane->status != ATTN_OK) return;
    lane->status = answer_batch(work, lane, task + 1);
    lane->failed = task + 1;
}

static attn_status make_lanes(job *work, attn_context *context, int count) {
    work->lanes = at_allocate(context, count, sizeof *work->lanes, "answers");
    if (!work->lanes) return ATTN_OUT_OF_MEMORY;
    work->lane_count = count;
    attn_status status = at_lane_create(&work->shared, context, &work->lanes[0]);
    if (count > 1 && status == ATTN_OK) status = at_parts_create(context, &work->parts);
    for (int i = 1; i < count && status == ATTN_OK; i++) {
        attn_context *part = at_part(work->parts, i - 1);
        status = at_lane_create(&work->shared, part, &work->lanes[i]);
        if (status != ATTN_OK) at_fail(context, status, "%s", part->error);
    }
    return status;
}

/* The first batch is answered by all threads together, which also brings the weights into kernel order. Each
 * of the others is one thread's, so that threads do not wait for each other at every step. */
static attn_status answer_batches(job *work) {
    attn_context *context = work->answers->model->context;
    int64_t batches = work->plan.batches;
    int apart = context->threads > 1 && batches > 2;
    attn_status status = make_lanes(work, context, apart ? context->threads + 1 : 1);
    for (int64_t b = 0; b < (apart ? 1 : batches) && status == ATTN_OK; b++)
        status = answer_batch(work, &work->lanes[0], b);
    if (!apart || status != ATTN_OK) return status;
    at_parallel(context->pool, context->threads, batches - 1, answer_task, work);
    const at_lane *first = NULL;
    for (int i = 1; i < work->lane_count; i++) {
        const at_lane *lane = &work->lanes[i];
        if (lane->status != ATTN_OK && (!first || lane->failed < first->failed)) first = lane;
    }
    return first ? at_fail(context, first->status, "%s", first->context->error) : ATTN_OK;
}

static attn_status keep_answer(job *work, int64_t example, int64_t place, const at_said *said) {
    attn_answers *answers = work->answers;
    const attn_model *model = answers->model;
    attn_status status = at_grow(model->context, &answers->symbols, &answers->symbol_room,
                                 answers->symbol_count + said->count, sizeof *answers->symbols, "answers");
    work->text.count = work->text.started = 0;
    const at_strings *strings = &model->target->vocabulary.strings;
    for (int64_t i = 0; i < said->count && status == ATTN_OK; i++) {
        int32_t symbol = said->lane->symbols[said->first + i];
        answers->symbols[answers->symbol_count + i] = symbol;
        status = at_text_append(model->target, at_string(strings, symbol), at_string_length(strings, symbol),
                                &work->text);
    }
    at_joined_mend(&work->text, 0, 1); /* bytes that are no text */
    if (status == ATTN_OK)
        status = at_strings_add(model->context, &answers->texts, work->text.count ? work->text.bytes : "",
                                (size_t)work->text.count);
    if (status != ATTN_OK) return status;
    answers->list[example * answers->n_best + place] =
        (answer){said->score, answers->symbol_count, said->count, answers->texts.count - 1, -1, said->ended};
    answers->symbol_count += said->count;
    answers->counts[example] = place + 1;
    return ATTN_OK;
}

/* Nothing is answered to nothing. */
static attn_status keep_answers(job *work) {
    const at_said nothing = {.ended = 1};
    attn_status status = ATTN_OK;
    for (int64_t s = 0; s < work->segments.count && status == ATTN_OK; s++) {
        int64_t example = work->segments.list[s].example, count = work->shared.said_counts[s];
        if (count == 0) status = keep_answer(work, example, 0, &nothing);
        for (int64_t a = 0; a < count && status == ATTN_OK; a++)
            status = keep_answer(work, example, a, &work->shared.said[s * work->answers->n_best + a]);
    }
    return status;
}

/* ---- alignment ---- */

/* One answer of one example: the cross-attention of its last block, the mean over heads and networks. Units
 * beyond text.longest were not seen: they have 0. */
static attn_status align_answer(job *work, int64_t units, answer *one) {
    attn_answers *answers = work->answers;
    attn_model *model = answers->model;
    int64_t keys = work->batch.features.rows, rows = one->symbols + 1, heads = model->values.heads;
    at_symbols symbols = {.ids = answers->symbols,
                          .offsets = (int64_t[]){one->first, one->first + one->symbols}};
    int64_t zero = 0;
    if (one->symbols == 0) return ATTN_OK; /* it has none */
    attn_status status = at_decoding_make(model->context, &symbols, &zero, 1, &work->decoding);
    if (status == ATTN_OK)
        status = at_grow(model->context, &answers->alignments, &answers->alignment_room,
                         answers->alignment_count + one->symbols * units, sizeof(float), "an alignment");
    if (status == ATTN_OK)
        status = at_grow(model->context, &work->weights, &work->weight_room, heads * rows * keys,
                         sizeof(float), "an alignment");
    if (status != ATTN_OK) return status;
    float *into = answers->alignments + answers->alignment_count;
    memset(into, 0, (size_t)(one->symbols * units) * sizeof *into);
    for (int m = 0; m < model->members; m++) {
        attn_tape *tape = work->tape;
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        at_generator_scores(model, &model->networks[m], tape, &work->batch, &work->decoding, work->weights);
        if (attn_tape_status(tape) != ATTN_OK)
            return at_fail(model->context, attn_tape_status(tape), "%s", attn_tape_error(tape));
        for (int64_t h = 0; h < heads; h++) {
            const float *weights = work->weights + h * rows * keys;
            for (int64_t i = 0; i < one->symbols * keys; i++)
                into[i / keys * units + i % keys] += weights[i] / (float)(heads * model->members);
        }
    }
    one->alignment = answers->alignment_count;
    answers->alignment_count += one->symbols * units;
    return ATTN_OK;
}

static attn_status align_all(job *work) {
    attn_answers *answers = work->answers;
    attn_model *model = answers->model;
    attn_status status = attn_tape_create(model->context, &work->tape);
    for (int64_t s = 0; s < work->segments.count && status == ATTN_OK; s++) {
        int64_t example = work->segments.list[s].example;
        if (work->segments.list[s].count == 0) continue;
        status = at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL,
                               &answers->units, &work->segments, &s, 1, NULL, &work->batch);
        for (int64_t a = 0; a < answers->counts[example] && status == ATTN_OK; a++)
            status = align_answer(work, attn_answers_source_units(answers, example),
                                  &answers->list[example * answers->n_best + a]);
    }
    return status;
}

/* ---- all of it ---- */

static attn_status generate(job *work, const attn_dataset *dataset) {
    attn_answers *answers = work->answers;
    attn_model *model = answers->model;
    attn_context *context = model->context;
    at_lane_job *shared = &work->shared;
    attn_status status = at_text_units(&model->text, dataset, &answers->units);
    int64_t examples = answers->units.examples;
    if (status == ATTN_OK)
        status =
            at_segments_make(context, &answers->units, at_config_longest(&model->values), 0, &work->segments);
    if (status != ATTN_OK) return status;
    int64_t segments = work->segments.count;
    answers->list = at_allocate(context, examples * answers->n_best, sizeof *answers->list, "answers");
    answers->counts = at_allocate(context, examples, sizeof *answers->counts, "answers");
    shared->said = at_allocate(context, segments * answers->n_best, sizeof *shared->said, "answers");
    shared->said_counts = at_allocate(context, segments, sizeof *shared->said_counts, "answers");
    if (!answers->list || !answers->counts || !shared->said || !shared->said_counts)
        return ATTN_OUT_OF_MEMORY;
    int64_t units = UNITS_OF_BEAMS / shared->options.beam;
    status = at_plan_make(context, &work->segments, units < 1 ? 1 : units, 0, 0, &work->plan);
    if (status != ATTN_OK) return status;
    shared->model = model;
    shared->units = &answers->units;
    shared->segments = &work->segments;
    for (int64_t b = 0; b < work->plan.batches; b++) {
        int64_t count = filled_sources(work, b);
        if (count > shared->largest) shared->largest = count;
    }
    if (shared->largest > 0) status = answer_batches(work);
    if (status == ATTN_OK) status = keep_answers(work);
    if (status == ATTN_OK && shared->options.alignment) status = align_all(work);
    return status;
}

static void free_job(attn_context *context, job *work) {
    for (int i = 0; i < work->lane_count; i++) at_lane_free(&work->lanes[i]);
    at_parts_destroy(work->parts);
    at_release(context, work->lanes);
    at_release(context, work->shared.said);
    at_release(context, work->shared.said_counts);
    at_segments_free(context, &work->segments);
    at_plan_free(context, &work->plan);
    at_release(context, work->text.bytes);
    attn_tape_destroy(work->tape);
    at_batch_free(context, &work->batch);
    at_decoding_free(context, &work->decoding);
    at_release(context, work->weights);
}

attn_status attn_model_generate(attn_model *model, const attn_dataset *dataset,
                                const attn_search_options *options, attn_answers **answers) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    attn_context *context = model->context;
    job work = {.answers = NULL};
    attn_search_options_init(&work.shared.options);
    if (!dataset || !answers || (options && options->size != sizeof *options))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "dataset or answers is NULL, or attn_search_options_init was not called");
    if (options) work.shared.options = *options;
    if (!attn_model_generates(model))
        return at_fail(context, ATTN_UNSUPPORTED,
                       "a model of task %s does not answer with sequences: seq2seq does",
                       attn_config_get(model->config, "task"));
    if (dataset->tokenized)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "%.200s: has sentences of tokens; sources are texts, one a line",
                       at_string(&dataset->name, 0));
    attn_status status = at_search_check(context, &work.shared.options);
    if (status != ATTN_OK) return status;
    if (work.shared.options.longest < 0 || work.shared.options.longest > MOST_SYMBOLS)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "longest is %" PRId64 "; it can be from 0 to %d",
                       work.shared.options.longest, MOST_SYMBOLS);
    attn_answers *made = at_allocate(context, 1, sizeof *made, "answers");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->model = model;
    made->n_best = work.shared.options.n_best;
    made->aligned = work.shared.options.alignment;
    work.answers = made;
    status = generate(&work, dataset);
    free_job(context, &work);
    if (status != ATTN_OK) {
        attn_answers_destroy(made);
        return status;
    }
    *answers = made;
    return ATTN_OK;
}

void attn_answers_destroy(attn_answers *answers) {
    if (!answers) return;
    attn_context *context = answers->model->context;
    at_units_free(context, &answers->units);
    at_release(context, answers->list);
    at_release(context, answers->counts);
    at_release(context, answers->symbols);
    at_strings_free(context, &answers->texts);
    at_release(context, answers->alignments);
    at_release(context, answers);
}

/* ---- reading them ---- */

static const answer *find(const attn_answers *answers, int64_t example, int64_t number) {
    if (number < 0 || number >= attn_answers_count(answers, example)) return NULL;
    return &answers->list[example * answers->n_best + number];
}

int64_t attn_answers_examples(const attn_answers *answers) { return answers ? answers->units.examples : 0; }

int64_t attn_answers_count(const attn_answers *answers, int64_t example) {
    return example < 0 || example >= attn_answers_examples(answers) ? 0 : answers->counts[example];
}

const char *attn_answers_text(const attn_answers *answers, int64_t example, int64_t number) {
    const answer *found = find(answers, example, number);
    return found ? at_string(&answers->texts, found->text) : NULL;
}

double attn_answers_score(const attn_answers *answers, int64_t example, int64_t number) {
    const answer *found = find(answers, example, number);
    return found ? found->score : NAN;
}

int attn_answers_ended(const attn_answers *answers, int64_t example, int64_t number) {
    const answer *found = find(answers, example, number);
    return found ? found->ended : 0;
}

int64_t attn_answers_symbols(const attn_answers *answers, int64_t example, int64_t number) {
    const answer *found = find(answers, example, number);
    return found ? found->symbols : 0;
}

const char *attn_answers_symbol(const attn_answers *answers, int64_t example, int64_t number,
                                int64_t symbol) {
    const answer *found = find(answers, example, number);
    if (!found || symbol < 0 || symbol >= found->symbols) return NULL;
    return at_string(&answers->model->target->vocabulary.strings, answers->symbols[found->first + symbol]);
}

int64_t attn_answers_source_units(const attn_answers *answers, int64_t example) {
    if (example < 0 || example >= attn_answers_examples(answers)) return 0;
    return answers->units.offsets[example + 1] - answers->units.offsets[example];
}

const char *attn_answers_source_unit(const attn_answers *answers, int64_t example, int64_t unit) {
    if (unit < 0 || unit >= attn_answers_source_units(answers, example)) return NULL;
    return at_string(&answers->units.units, answers->units.offsets[example] + unit);
}

const float *attn_answers_alignment(const attn_answers *answers, int64_t example, int64_t number) {
    const answer *found = find(answers, example, number);
    return found && answers->aligned && found->alignment >= 0 ? answers->alignments + found->alignment : NULL;
}
