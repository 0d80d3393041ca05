/* predict.c: what a model answers for the examples of a dataset.
 *
 * Sequences go through the network in batches of like length, longest first; the answers are put back where
 * their units stand.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/bmes.h"
#include "model/model.h"

enum { UNITS_A_BATCH = 2048 };

typedef struct answers {
    int32_t *classes;     /* CLASS: [rows or examples] */
    double *numbers;      /* NUMBER */
    float *probabilities; /* LABELS, and CLASS if asked for: [rows or examples] x labels */
    int64_t labels;
    float *mean; /* of several networks: the mean of their answers for a batch */
    int64_t mean_room;
} answers;

struct attn_prediction {
    attn_model *model;
    at_units units;
    answers *outputs;
    at_strings words; /* bmes */
    int64_t *word_offsets;
};

void attn_prediction_destroy(attn_prediction *prediction) {
    if (!prediction) return;
    attn_context *context = prediction->model->context;
    at_units_free(context, &prediction->units);
    for (int i = 0; prediction->outputs && i < prediction->model->output_count; i++) {
        at_release(context, prediction->outputs[i].classes);
        at_release(context, prediction->outputs[i].numbers);
        at_release(context, prediction->outputs[i].probabilities);
        at_release(context, prediction->outputs[i].mean);
    }
    at_release(context, prediction->outputs);
    at_strings_free(context, &prediction->words);
    at_release(context, prediction->word_offsets);
    at_release(context, prediction);
}

static attn_status make_room(attn_prediction *prediction, int flags) {
    const attn_model *model = prediction->model;
    attn_context *context = model->context;
    int64_t count = model->per_token ? prediction->units.units.count : prediction->units.examples;
    prediction->outputs = at_allocate(context, model->output_count, sizeof *prediction->outputs, "answers");
    if (!prediction->outputs) return ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < model->output_count; i++) {
        answers *into = &prediction->outputs[i];
        const at_output *output = &model->outputs[i];
        into->labels = output->labels.strings.count;
        if (output->kind == ATTN_OUTPUT_NUMBER) {
            into->numbers = at_allocate(context, count, sizeof *into->numbers, "answers");
            if (!into->numbers) return ATTN_OUT_OF_MEMORY;
            continue;
        }
        into->classes = at_allocate(context, count, sizeof *into->classes, "answers");
        if (!into->classes) return ATTN_OUT_OF_MEMORY;
        if (output->kind != ATTN_OUTPUT_LABELS && !(flags & ATTN_PREDICT_PROBABILITIES)) continue;
        into->probabilities =
            at_allocate(context, count * into->labels, sizeof *into->probabilities, "probabilities");
        if (!into->probabilities) return ATTN_OUT_OF_MEMORY;
    }
    return ATTN_OK;
}

static int32_t largest(const float *numbers, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        if (numbers[i] > numbers[best]) best = i;
    }
    return (int32_t)best;
}

static void softmax(const float *logits, int64_t count, float *probabilities) {
    double sum = 0, most = logits[largest(logits, count)];
    for (int64_t i = 0; i < count; i++) sum += exp((double)logits[i] - most);
    for (int64_t i = 0; i < count; i++) probabilities[i] = (float)(exp((double)logits[i] - most) / sum);
}

/* One row of a network's answer as it is to be averaged: probabilities, or a number. */
static void as_answer(const at_output *output, const float *row, int64_t labels, float *answer) {
    if (output->kind == ATTN_OUTPUT_NUMBER) {
        answer[0] = row[0];
    } else if (output->kind == ATTN_OUTPUT_LABELS) {
        for (int64_t l = 0; l < labels; l++) answer[l] = (float)(1.0 / (1.0 + exp(-(double)row[l])));
    } else {
        softmax(row, labels, answer);
    }
}

/* The answer of one network (scores, of which the largest is the class), or the mean of several (answers),
 * put to place `at`. */
static void put_row(const at_output *output, answers *into, const float *row, int averaged, int64_t at) {
    if (output->kind == ATTN_OUTPUT_NUMBER) {
        into->numbers[at] = (double)row[0] * output->deviation + output->mean;
        return;
    }
    into->classes[at] = largest(row, into->labels);
    if (!into->probabilities) return;
    float *probabilities = into->probabilities + at * into->labels;
    if (averaged) {
        memcpy(probabilities, row, (size_t)into->labels * sizeof *row);
    } else {
        as_answer(output, row, into->labels, probabilities);
    }
}

/* Where row `row` of segment `segment` goes. */
static int64_t place_of(const attn_model *model, const at_segment *segment, int64_t row) {
    return model->per_token ? segment->first + row : segment->example;
}

typedef struct job {
    attn_prediction *prediction;
    at_segments segments;
    at_plan plan;
    at_batch batch;
    int32_t *path;    /* of a CRF */
    float *marginals; /* of a CRF */
    int64_t path_room, marginal_room;
} job;

static attn_status answer_crf(job *work, int number, attn_variable *emissions, const int64_t *order) {
    attn_prediction *prediction = work->prediction;
    const attn_model *model = prediction->model;
    const at_output *output = &model->outputs[number];
    answers *into = &prediction->outputs[number];
    attn_ragged rows = {work->batch.sequences, work->batch.offsets};
    int64_t count = work->batch.features.rows;
    attn_status status =
        at_grow(model->context, &work->path, &work->path_room, count, sizeof *work->path, "a path");
    if (status == ATTN_OK)
        status = attn_tape_crf_decode(model->tape, emissions, &rows, &output->crf, work->path);
    if (status == ATTN_OK && into->probabilities) {
        status = at_grow(model->context, &work->marginals, &work->marginal_room, count * into->labels,
                         sizeof *work->marginals, "marginals");
        if (status == ATTN_OK)
            status = attn_tape_crf_marginals(model->tape, emissions, &rows, &output->crf, work->marginals);
    }
    for (int64_t s = 0; s < rows.sequences && status == ATTN_OK; s++) {
        const at_segment *segment = &work->segments.list[order[s]];
        for (int64_t r = 0; r < segment->count; r++) {
            int64_t from = rows.offsets[s] + r, to = place_of(model, segment, r);
            into->classes[to] = work->path[from];
            if (into->probabilities)
                memcpy(into->probabilities + to * into->labels, work->marginals + from * into->labels,
                       (size_t)into->labels * sizeof(float));
        }
    }
    return status;
}

/* The rows of a batch, put where their units or texts are. */
static void put_rows(job *work, int number, const float *rows, int64_t stride, const int64_t *order) {
    attn_prediction *prediction = work->prediction;
    const attn_model *model = prediction->model;
    for (int64_t s = 0; s < work->batch.sequences; s++) {
        const at_segment *segment = &work->segments.list[order[s]];
        int64_t count = model->per_token ? segment->count : 1;
        int64_t first = model->per_token ? work->batch.offsets[s] : s;
        for (int64_t r = 0; r < count; r++) {
            put_row(&model->outputs[number], &prediction->outputs[number], rows + (first + r) * stride,
                    model->members > 1, place_of(model, segment, r));
        }
    }
}

/* Adds the answer of a network to the mean. */
static attn_status add_member(job *work, int member, int number, const attn_variable *scores) {
    const attn_model *model = work->prediction->model;
    const at_output *output = &model->outputs[number];
    int64_t rows = attn_variable_rows(scores), width = attn_variable_columns(scores);
    float answer_row[256], *answer = answer_row, *large = NULL;
    if (width > 256) {
        answer = large = at_allocate(model->context, width, sizeof *large, "an answer");
        if (!large) return ATTN_OUT_OF_MEMORY;
    }
    answers *into = &work->prediction->outputs[number];
    attn_status status = at_grow(model->context, &into->mean, &into->mean_room, rows * width, sizeof(float),
                                 "the mean of answers");
    for (int64_t r = 0; r < rows && status == ATTN_OK; r++) {
        as_answer(output, attn_variable_data(scores) + r * attn_variable_stride(scores), width, answer);
        float *mean = into->mean + r * width;
        for (int64_t c = 0; c < width; c++)
            mean[c] = (member ? mean[c] : 0) + answer[c] / (float)model->members;
    }
    at_release(model->context, large);
    return status;
}

static attn_status answer_member(job *work, int member, const int64_t *order) {
    attn_model *model = work->prediction->model;
    const at_network *network = &model->networks[member];
    attn_tape_begin(model->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = at_network_apply(model, network, model->tape, &work->batch);
    attn_status status = ATTN_OK;
    for (int i = 0; i < model->output_count && status == ATTN_OK; i++) {
        attn_variable *scores = attn_linear_apply(model->tape, network->outputs[i], x);
        status = attn_tape_status(model->tape);
        if (status != ATTN_OK) return at_fail(model->context, status, "%s", attn_tape_error(model->tape));
        if (model->outputs[i].crf.transitions) {
            status = answer_crf(work, i, scores, order);
        } else if (model->members > 1) {
            status = add_member(work, member, i, scores);
        } else {
            put_rows(work, i, attn_variable_data(scores), attn_variable_stride(scores), order);
        }
    }
    return status;
}

static attn_status answer_batch(job *work, int64_t number) {
    attn_prediction *prediction = work->prediction;
    attn_model *model = prediction->model;
    const int64_t *order = work->plan.order + work->plan.first[number];
    int64_t count = work->plan.first[number + 1] - work->plan.first[number];
    attn_status status =
        at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL,
                      &prediction->units, &work->segments, order, count, NULL, &work->batch);
    for (int member = 0; member < model->members && status == ATTN_OK; member++)
        status = answer_member(work, member, order);
    for (int i = 0; i < model->output_count && status == ATTN_OK && model->members > 1; i++) {
        int64_t width =
            model->outputs[i].kind == ATTN_OUTPUT_NUMBER ? 1 : model->outputs[i].labels.strings.count;
        put_rows(work, i, prediction->outputs[i].mean, width, order);
    }
    return status;
}

/* ---- words of a segmentation ---- */

typedef struct joined {
    char *bytes;
    int64_t length, room;
} joined;

static attn_status end_word(attn_prediction *prediction, joined *word) {
    if (word->length == 0) return ATTN_OK;
    attn_status status =
        at_strings_add(prediction->model->context, &prediction->words, word->bytes, (size_t)word->length);
    word->length = 0;
    return status;
}

static attn_status add_unit(attn_context *context, joined *word, const char *unit, size_t length) {
    attn_status status =
        at_grow(context, &word->bytes, &word->room, word->length + (int64_t)length, 1, "a word");
    if (status != ATTN_OK) return status;
    memcpy(word->bytes + word->length, unit, length);
    word->length += (int64_t)length;
    return ATTN_OK;
}

/* The words that the labels of an example's characters make; a space ends a word in any case. */
static attn_status join_words(attn_prediction *prediction, int64_t example, joined *word) {
    const at_units *units = &prediction->units;
    const at_strings *labels = &prediction->model->outputs->labels.strings;
    attn_status status = ATTN_OK;
    char before = 0;
    for (int64_t i = units->offsets[example]; i < units->offsets[example + 1] && status == ATTN_OK; i++) {
        const char *unit = at_string(&units->units, i);
        char label = at_string(labels, prediction->outputs->classes[i])[0];
        int space = strcmp(unit, " ") == 0;
        if (space || at_bmes_begins(before, label)) status = end_word(prediction, word);
        if (status == ATTN_OK && !space)
            status = add_unit(prediction->model->context, word, unit, at_string_length(&units->units, i));
        before = label;
    }
    return status == ATTN_OK ? end_word(prediction, word) : status;
}

static attn_status segment_words(attn_prediction *prediction) {
    attn_context *context = prediction->model->context;
    int64_t examples = prediction->units.examples;
    prediction->word_offsets =
        at_allocate(context, examples + 1, sizeof *prediction->word_offsets, "the words of examples");
    if (!prediction->word_offsets) return ATTN_OUT_OF_MEMORY;
    joined word = {0};
    attn_status status = ATTN_OK;
    for (int64_t example = 0; example < examples && status == ATTN_OK; example++) {
        status = join_words(prediction, example, &word);
        prediction->word_offsets[example + 1] = prediction->words.count;
    }
    at_release(context, word.bytes);
    return status;
}

/* ---- all of it ---- */

static attn_status predict(job *work, const attn_dataset *dataset, int flags) {
    attn_prediction *prediction = work->prediction;
    attn_model *model = prediction->model;
    at_text text = model->text;
    if (flags & ATTN_PREDICT_PRETOKENIZED) text.options.pretokenized = 1;
    attn_status status = at_text_units(&text, dataset, &prediction->units);
    if (status == ATTN_OK) status = make_room(prediction, flags);
    if (status == ATTN_OK) {
        status = at_segments_make(model->context, &prediction->units, at_config_longest(&model->values),
                                  model->per_token, &work->segments);
    }
    if (status == ATTN_OK)
        status = at_plan_make(model->context, &work->segments, UNITS_A_BATCH, 0, 0, &work->plan);
    for (int64_t b = 0; b < work->plan.batches && status == ATTN_OK; b++) status = answer_batch(work, b);
    if (status == ATTN_OK && model->values.scheme == AT_SCHEME_BMES) status = segment_words(prediction);
    return status;
}

attn_status attn_model_predict(attn_model *model, const attn_dataset *dataset, int flags,
                               attn_prediction **prediction) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    attn_context *context = model->context;
    if (!dataset || !prediction)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset or prediction is NULL");
    if (at_model_says_symbols(model)) {
        return at_fail(
            context, ATTN_UNSUPPORTED,
            "the model answers with sequences (task %s): attn_model_generate and attn_model_continue give "
            "them",
            attn_config_get(model->config, "task"));
    }
    attn_prediction *made = at_allocate(context, 1, sizeof *made, "a prediction");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->model = model;
    job work = {.prediction = made};
    attn_status status = predict(&work, dataset, flags);
    at_segments_free(context, &work.segments);
    at_plan_free(context, &work.plan);
    at_batch_free(context, &work.batch);
    at_release(context, work.path);
    at_release(context, work.marginals);
    if (status != ATTN_OK) {
        attn_prediction_destroy(made);
        return status;
    }
    *prediction = made;
    return ATTN_OK;
}

attn_status attn_model_predict_text(attn_model *model, const char *text, int flags,
                                    attn_prediction **prediction) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    if (!text) return at_fail(model->context, ATTN_INVALID_ARGUMENT, "text is NULL");
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_LINES;
    options.labelled = 0;
    attn_dataset *dataset;
    size_t length = strcspn(text, "\n");
    if (text[length]) {
        return at_fail(model->context, ATTN_INVALID_ARGUMENT,
                       "the text has a line end at byte %zu: give one line, or read a dataset", length);
    }
    if (length == 0) { /* a line that is empty, not a file that is */
        text = "\n";
        length = 1;
    }
    attn_status status = attn_dataset_parse(model->context, "text", 1, text, length, &options, &dataset);
    if (status != ATTN_OK) return status;
    status = attn_model_predict(model, dataset, flags, prediction);
    attn_dataset_destroy(dataset);
    return status;
}

/* ---- reading the answers ---- */

int64_t attn_prediction_examples(const attn_prediction *prediction) {
    return prediction ? prediction->units.examples : 0;
}

int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example) {
    if (!prediction || example < 0 || example >= prediction->units.examples) return 0;
    return prediction->units.offsets[example + 1] - prediction->units.offsets[example];
}

const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit) {
    if (unit < 0 || unit >= attn_prediction_units(prediction, example)) return NULL;
    return at_string(&prediction->units.units, prediction->units.offsets[example] + unit);
}

/* Where an answer stands, -1 if there is none. */
static int64_t find_answer(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    if (!prediction || output < 0 || output >= prediction->model->output_count) return -1;
    if (prediction->model->per_token) {
        if (unit < 0 || unit >= attn_prediction_units(prediction, example)) return -1;
        return prediction->units.offsets[example] + unit;
    }
    return example < 0 || example >= prediction->units.examples ? -1 : example;
}

int64_t attn_prediction_class(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    int64_t at = find_answer(prediction, output, example, unit);
    return at < 0 || !prediction->outputs[output].classes ? -1 : prediction->outputs[output].classes[at];
}

const char *attn_prediction_label(const attn_prediction *prediction, int output, int64_t example,
                                  int64_t unit) {
    int64_t label = attn_prediction_class(prediction, output, example, unit);
    return label < 0 ? NULL : at_string(&prediction->model->outputs[output].labels.strings, label);
}

double attn_prediction_number(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    int64_t at = find_answer(prediction, output, example, unit);
    return at < 0 || !prediction->outputs[output].numbers ? NAN : prediction->outputs[output].numbers[at];
}

double attn_prediction_probability(const attn_prediction *prediction, int output, int64_t example,
                                   int64_t unit, int64_t label) {
    int64_t at = find_answer(prediction, output, example, unit);
    if (at < 0 || !prediction->outputs[output].probabilities || label < 0 ||
        label >= prediction->outputs[output].labels)
        return NAN;
    return prediction->outputs[output].probabilities[at * prediction->outputs[output].labels + label];
}

int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example) {
    if (!prediction || !prediction->word_offsets || example < 0 || example >= prediction->units.examples)
        return 0;
    return prediction->word_offsets[example + 1] - prediction->word_offsets[example];
}

const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word) {
    if (word < 0 || word >= attn_prediction_words(prediction, example)) return NULL;
    return at_string(&prediction->words, prediction->word_offsets[example] + word);
}
