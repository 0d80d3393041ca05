/* prediction.c: access to the members of a prediction. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "heads/rows.h"
#include "heads/sequence.h"

void attn_prediction_destroy(attn_prediction *prediction) {
    if (!prediction) return;
    attn_context *context = prediction->context;
    for (int i = 0; prediction->answers && i < prediction->count; i++)
        if (prediction->answers[i]) prediction->answers[i]->head->kind->free_answers(prediction->answers[i]);
    at_release(context, prediction->answers);
    if (prediction->encoded) prediction->free_encoded(prediction->encoded);
    attn_dataset_destroy(prediction->split);
    at_release(context, prediction->split_offsets);
    at_strings_free(context, &prediction->pieces);
    at_release(context, prediction->piece_offsets);
    at_release(context, prediction);
}

const attn_dataset *attn_prediction_split(const attn_prediction *prediction) {
    return prediction ? prediction->split : NULL;
}

int64_t attn_prediction_examples(const attn_prediction *prediction) {
    return prediction ? prediction->encoded->examples : 0;
}

int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example) {
    if (example < 0 || example >= attn_prediction_examples(prediction)) return 0;
    return prediction->encoded->offsets[example + 1] - prediction->encoded->offsets[example];
}

const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit) {
    if (unit < 0 || unit >= attn_prediction_units(prediction, example)) return NULL;
    return prediction->row_name(prediction->encoded, prediction->encoded->offsets[example] + unit);
}

/* ---- heads of rows ---- */

/* The predictions of an output and the place in them, -1 if there is none. */
static const at_row_answers *find_rows(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit, int64_t *place) {
    *place = -1;
    if (!prediction || output < 0 || output >= prediction->count ||
        !prediction->answers[output]->head->kind->rows)
        return NULL;
    if (!prediction->per_row)
        *place = example < 0 || example >= attn_prediction_examples(prediction) ? -1 : example;
    else if (unit >= 0 && unit < attn_prediction_units(prediction, example))
        *place = prediction->encoded->offsets[example] + unit;
    return at_row_answers_of(prediction->answers[output]);
}

int64_t attn_prediction_class(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    int64_t place;
    const at_row_answers *rows = find_rows(prediction, output, example, unit, &place);
    return place < 0 || !rows->classes ? -1 : rows->classes[place];
}

const char *attn_prediction_label(const attn_prediction *prediction, int output, int64_t example,
                                  int64_t unit) {
    int64_t label = attn_prediction_class(prediction, output, example, unit);
    if (attn_prediction_unsure(prediction, output, example, unit)) return at_unknown_label;
    return label < 0 ? NULL : at_string(at_labels_of_head(prediction->answers[output]->head), label);
}

int attn_prediction_unsure(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    int64_t place;
    const at_row_answers *rows = find_rows(prediction, output, example, unit, &place);
    return place >= 0 && at_rows_unsure(rows, place);
}

double attn_prediction_number(const attn_prediction *prediction, int output, int64_t example, int64_t unit) {
    int64_t place;
    const at_row_answers *rows = find_rows(prediction, output, example, unit, &place);
    return place < 0 || !rows->numbers ? NAN : rows->numbers[place];
}

double attn_prediction_probability(const attn_prediction *prediction, int output, int64_t example,
                                   int64_t unit, int64_t label) {
    int64_t place;
    const at_row_answers *rows = find_rows(prediction, output, example, unit, &place);
    if (place < 0 || !rows->probabilities || label < 0 || label >= rows->labels) return NAN;
    return (double)rows->probabilities[place * rows->labels + label];
}

double attn_prediction_spread(const attn_prediction *prediction, int output, int64_t example, int64_t unit,
                              int64_t label) {
    int64_t place;
    const at_row_answers *rows = find_rows(prediction, output, example, unit, &place);
    if (place < 0 || !rows->spread.values) return NAN;
    int of_labels = prediction->answers[output]->head->kind->rows->labels;
    if (of_labels ? label < 0 || label >= rows->labels : rows->classes && label != rows->classes[place])
        return NAN;
    return rows->spread.values[place * rows->spread.columns + (of_labels ? label : 0)];
}

int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example) {
    if (example < 0 || example >= attn_prediction_examples(prediction) || !prediction->piece_offsets)
        return 0;
    return prediction->piece_offsets[example + 1] - prediction->piece_offsets[example];
}

const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word) {
    if (word < 0 || word >= attn_prediction_words(prediction, example)) return NULL;
    return at_string(&prediction->pieces, prediction->piece_offsets[example] + word);
}

/* ---- heads that generate ---- */

static const at_sequence_answers *sequences_of(const attn_prediction *prediction) {
    if (!prediction || prediction->count != 1 || prediction->answers[0]->head->kind->rows) return NULL;
    return (const at_sequence_answers *)(const void *)prediction->answers[0];
}

static const at_hypothesis *find(const attn_prediction *prediction, int64_t example, int64_t number) {
    if (number < 0 || number >= attn_prediction_hypotheses(prediction, example)) return NULL;
    const at_sequence_answers *answers = sequences_of(prediction);
    return &answers->list[example * answers->n_best + number];
}

int64_t attn_prediction_hypotheses(const attn_prediction *prediction, int64_t example) {
    const at_sequence_answers *answers = sequences_of(prediction);
    return !answers || example < 0 || example >= answers->examples ? 0 : answers->counts[example];
}

const char *attn_prediction_text(const attn_prediction *prediction, int64_t example, int64_t hypothesis) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    return found ? at_string(&sequences_of(prediction)->texts, found->text) : NULL;
}

double attn_prediction_log_probability(const attn_prediction *prediction, int64_t example,
                                       int64_t hypothesis) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    return found ? found->log_probability : NAN;
}

int attn_prediction_ended(const attn_prediction *prediction, int64_t example, int64_t hypothesis) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    return found ? found->ended : 0;
}

int64_t attn_prediction_symbols(const attn_prediction *prediction, int64_t example, int64_t hypothesis) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    return found ? found->count : 0;
}

const char *attn_prediction_symbol(const attn_prediction *prediction, int64_t example, int64_t hypothesis,
                                   int64_t symbol) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    if (!found || symbol < 0 || symbol >= found->count) return NULL;
    const at_sequence_answers *answers = sequences_of(prediction);
    return at_string(&at_symbols_of_head(answers->answers.head)->vocabulary.strings,
                     answers->symbols[found->first + symbol]);
}

const float *attn_prediction_alignment(const attn_prediction *prediction, int64_t example,
                                       int64_t hypothesis) {
    const at_hypothesis *found = find(prediction, example, hypothesis);
    return found && found->alignment >= 0 ? sequences_of(prediction)->alignments + found->alignment : NULL;
}
