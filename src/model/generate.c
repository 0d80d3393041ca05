/* generate.c: answers of their own length: sources through the encoder, then search with the decoders of all
 * networks, each with its cache; the probability of a symbol is the mean of theirs.
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
#include "model/model.h"
#include "model/search.h"
#include "ops/check.h"

enum { UNITS_A_BATCH = 2048, ROWS_A_TASK = 8, MOST_SYMBOLS = 1000000 /* as target.longest */ };

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
    attn_search_options options;
    at_segments segments;
    at_plan plan;
    at_batch batch;
    int64_t *limits, limit_room;
    attn_cache *caches[AT_MOST_MEMBERS];
    attn_tape *tapes[AT_MOST_MEMBERS]; /* a step of every network is alive at once */
    float *mean;
    int64_t mean_room;
    int32_t *spelled;
    int64_t spelled_room;
    at_joined text;
    at_decoding decoding;
    float *weights;
    int64_t weight_room;
} job;

static attn_status tape_failed(const attn_model *model, const attn_tape *tape) {
    return at_fail(model->context, attn_tape_status(tape), "%s", attn_tape_error(tape));
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

/* The logarithms of the probabilities of every symbol for every row. */
static attn_status say_step(job *work, const at_search *search, const float **logarithms, int64_t *stride) {
    attn_model *model = work->answers->model;
    averaging mean = {.rows = at_search_rows(search),
                      .columns = model->target->vocabulary.strings.count,
                      .members = model->members};
    for (int m = 0; m < model->members; m++) {
        const at_network *network = &model->networks[m];
        attn_tape *tape = work->tapes[m];
        attn_status status = attn_cache_reorder(work->caches[m], mean.rows, at_search_from(search));
        if (status != ATTN_OK) return status;
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_generator_embed(model, network, tape, at_search_symbols(search), mean.rows);
        x = attn_decoder_step(tape, network->decoder, work->caches[m], x, NULL);
        x = attn_tape_log_softmax(tape, at_generator_say(model, network, tape, x));
        if (attn_tape_status(tape) != ATTN_OK) return tape_failed(model, tape);
        mean.parts[m] = attn_variable_data(x);
        mean.strides[m] = attn_variable_stride(x);
    }
    *logarithms = mean.parts[0];
    *stride = mean.strides[0];
    if (model->members == 1) return ATTN_OK;
    attn_status status = at_grow(model->context, &work->mean, &work->mean_room, mean.rows * mean.columns,
                                 sizeof *work->mean, "the mean of answers");
    if (status != ATTN_OK) return status;
    mean.mean = work->mean;
    double work_of_exp = 50.0 * (double)(mean.rows * mean.columns * mean.members);
    at_parallel(model->context->pool, at_threads_for(model->context, work_of_exp),
                (mean.rows + ROWS_A_TASK - 1) / ROWS_A_TASK, average_rows, &mean);
    *logarithms = work->mean;
    *stride = mean.columns;
    return ATTN_OK;
}

/* ---- one batch ---- */

static int64_t longest_answer(const job *work) {
    const at_config *values = &work->answers->model->values;
    int64_t longest = work->options.longest ? work->options.longest : values->target_longest;
    if (longest < 1) longest = 1000;
    int table = values->position == ATTN_POSITION_LEARNED; /* the beginning is a row, too */
    return table && longest > values->longest - 1 ? values->longest - 1 : longest;
}

static attn_status encode(job *work) {
    attn_model *model = work->answers->model;
    for (int m = 0; m < model->members; m++) {
        attn_tape *tape = work->tapes[m];
        attn_ragged source = {work->batch.sequences, work->batch.offsets};
        attn_cache_destroy(work->caches[m]);
        work->caches[m] = NULL;
        attn_status status =
            attn_cache_create(model->networks[m].decoder, source.sequences * work->options.beam,
                              longest_answer(work) + 1, &work->caches[m]);
        if (status != ATTN_OK) return status;
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = at_network_apply(model, &model->networks[m], tape, &work->batch);
        if (attn_tape_status(tape) != ATTN_OK) return tape_failed(model, tape);
        if (attn_cache_begin(tape, work->caches[m], source.sequences, x, &source) != ATTN_OK)
            return tape_failed(model, tape);
    }
    return ATTN_OK;
}

static attn_status keep_answer(job *work, int64_t example, int64_t place, double score, int ended,
                               const int32_t *symbols, int64_t count) {
    attn_answers *answers = work->answers;
    const attn_model *model = answers->model;
    attn_status status = at_grow(model->context, &answers->symbols, &answers->symbol_room,
                                 answers->symbol_count + count, sizeof *answers->symbols, "answers");
    work->text.count = work->text.started = 0;
    const at_strings *strings = &model->target->vocabulary.strings;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        answers->symbols[answers->symbol_count + i] = symbols[i];
        status = at_text_append(model->target, at_string(strings, symbols[i]),
                                at_string_length(strings, symbols[i]), &work->text);
    }
    at_joined_mend(&work->text, 0, 1); /* bytes that are no text */
    if (status == ATTN_OK)
        status = at_strings_add(model->context, &answers->texts, work->text.count ? work->text.bytes : "",
                                (size_t)work->text.count);
    if (status != ATTN_OK) return status;
    answers->list[example * answers->n_best + place] =
        (answer){score, answers->symbol_count, count, answers->texts.count - 1, -1, ended};
    answers->symbol_count += count;
    answers->counts[example] = place + 1;
    return ATTN_OK;
}

static attn_status keep_found(job *work, const at_search *search, const int64_t *order) {
    attn_status status = ATTN_OK;
    for (int64_t s = 0; s < work->batch.sequences && status == ATTN_OK; s++) {
        const at_found *found;
        int64_t count = at_search_found(search, s, &found);
        for (int64_t a = 0; a < count && status == ATTN_OK; a++) {
            status = at_grow(work->answers->model->context, &work->spelled, &work->spelled_room,
                             found[a].length + 1, sizeof *work->spelled, "an answer");
            if (status != ATTN_OK) break;
            at_search_spell(search, &found[a], work->spelled);
            status = keep_answer(work, work->segments.list[order[s]].example, a, found[a].score,
                                 found[a].ended, work->spelled, found[a].length);
        }
    }
    return status;
}

static attn_status answer_batch(job *work, const int64_t *order, int64_t count) {
    attn_answers *answers = work->answers;
    attn_model *model = answers->model;
    attn_status status =
        at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL,
                      &answers->units, &work->segments, order, count, NULL, &work->batch);
    if (status == ATTN_OK)
        status = at_grow(model->context, &work->limits, &work->limit_room, count, sizeof *work->limits,
                         "a search");
    if (status == ATTN_OK) status = encode(work);
    if (status != ATTN_OK) return status;
    for (int64_t s = 0; s < count; s++) work->limits[s] = longest_answer(work);
    at_search *search;
    status = at_search_create(model->context, count, &work->options, work->limits, &search);
    if (status != ATTN_OK) return status;
    while (status == ATTN_OK && at_search_rows(search) > 0) {
        const float *logarithms = NULL;
        int64_t stride = 0;
        status = say_step(work, search, &logarithms, &stride);
        if (status == ATTN_OK)
            status = at_search_step(search, logarithms, stride, model->target->vocabulary.strings.count);
    }
    if (status == ATTN_OK) status = keep_found(work, search, order);
    at_search_destroy(search);
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
        attn_tape *tape = work->tapes[m];
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        at_generator_scores(model, &model->networks[m], tape, &work->batch, &work->decoding, work->weights);
        if (attn_tape_status(tape) != ATTN_OK) return tape_failed(model, tape);
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
    attn_status status = ATTN_OK;
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

/* Nothing is answered to nothing; the other sources are searched for, longest first. */
static attn_status generate(job *work, const attn_dataset *dataset) {
    attn_answers *answers = work->answers;
    attn_model *model = answers->model;
    attn_context *context = model->context;
    attn_status status = at_text_units(&model->text, dataset, &answers->units);
    int64_t examples = answers->units.examples;
    if (status != ATTN_OK) return status;
    answers->list = at_allocate(context, examples * answers->n_best, sizeof *answers->list, "answers");
    answers->counts = at_allocate(context, examples, sizeof *answers->counts, "answers");
    if (!answers->list || !answers->counts) return ATTN_OUT_OF_MEMORY;
    status =
        at_segments_make(context, &answers->units, at_config_longest(&model->values), 0, &work->segments);
    for (int m = 0; m < model->members && status == ATTN_OK; m++)
        status = attn_tape_create(context, &work->tapes[m]);
    if (status == ATTN_OK) status = at_plan_make(context, &work->segments, UNITS_A_BATCH, 0, 0, &work->plan);
    for (int64_t b = 0; b < work->plan.batches && status == ATTN_OK; b++) {
        const int64_t *order = work->plan.order + work->plan.first[b];
        int64_t count = work->plan.first[b + 1] - work->plan.first[b], filled = 0;
        while (filled < count && work->segments.list[order[filled]].count > 0)
            filled++; /* empty ones are last */
        for (int64_t i = filled; i < count && status == ATTN_OK; i++)
            status = keep_answer(work, work->segments.list[order[i]].example, 0, 0, 1, NULL, 0);
        if (status == ATTN_OK && filled > 0) status = answer_batch(work, order, filled);
    }
    if (status == ATTN_OK && work->options.alignment) status = align_all(work);
    return status;
}

attn_status attn_model_generate(attn_model *model, const attn_dataset *dataset,
                                const attn_search_options *options, attn_answers **answers) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    attn_context *context = model->context;
    job work = {.answers = NULL};
    attn_search_options_init(&work.options);
    if (!dataset || !answers || (options && options->size != sizeof *options))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "dataset or answers is NULL, or attn_search_options_init was not called");
    if (options) work.options = *options;
    if (!attn_model_generates(model))
        return at_fail(context, ATTN_UNSUPPORTED,
                       "a model of task %s does not answer with sequences: seq2seq does",
                       attn_config_get(model->config, "task"));
    if (dataset->tokenized)
        return at_fail(context, ATTN_UNSUPPORTED,
                       "%.200s: has sentences of tokens; sources are texts, one a line",
                       at_string(&dataset->name, 0));
    attn_status status = at_search_check(context, &work.options);
    if (status != ATTN_OK) return status;
    if (work.options.longest < 0 || work.options.longest > MOST_SYMBOLS)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "longest is %" PRId64 "; it can be from 0 to %d",
                       work.options.longest, MOST_SYMBOLS);
    attn_answers *made = at_allocate(context, 1, sizeof *made, "answers");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->model = model;
    made->n_best = work.options.n_best;
    made->aligned = work.options.alignment;
    work.answers = made;
    status = generate(&work, dataset);
    at_segments_free(context, &work.segments);
    at_plan_free(context, &work.plan);
    at_batch_free(context, &work.batch);
    at_decoding_free(context, &work.decoding);
    at_release(context, work.limits);
    at_release(context, work.mean);
    at_release(context, work.spelled);
    at_release(context, work.weights);
    at_release(context, work.text.bytes);
    for (int m = 0; m < AT_MOST_MEMBERS; m++) {
        attn_cache_destroy(work.caches[m]);
        attn_tape_destroy(work.tapes[m]);
    }
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
