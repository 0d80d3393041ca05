/* survey.c: statistics of a dataset of texts. */
#include "inputs/text/survey.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/text/texts.h"

typedef enum side { SOURCE, TARGET } side;

/* The text of an example, or the text that is to be made of it. */
static const char *text_of(const attn_dataset *dataset, int64_t example, side which) {
    const char *text = which == SOURCE ? attn_dataset_token(dataset, example, 0)
                                       : attn_dataset_target(dataset, 0, example, 0);
    return text ? text : "";
}

/* ---- lengths ---- */

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int64_t count_characters(const char *text) {
    int64_t count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static int64_t count_words(const char *text) {
    int64_t count = 0;
    for (int inside = 0; *text; text++) {
        if (!is_space(*text) && !inside) count++;
        inside = !is_space(*text);
    }
    return count;
}

/* The lengths of texts; returns how many are empty. `lengths` has room for all examples. */
static int64_t measure_texts(const attn_dataset *dataset, side which, int64_t *lengths,
                             at_lengths *characters, at_lengths *words) {
    int64_t count = dataset->examples, empty = 0;
    for (int64_t e = 0; e < count; e++) lengths[e] = count_characters(text_of(dataset, e, which));
    *characters = at_measure_lengths(lengths, count);
    for (int64_t e = 0; e < count; e++) {
        lengths[e] = count_words(text_of(dataset, e, which));
        empty += lengths[e] == 0;
    }
    *words = at_measure_lengths(lengths, count);
    return empty;
}

static attn_status take_lengths(const attn_dataset *dataset, at_survey *survey) {
    int64_t count = dataset->examples;
    int64_t *lengths = at_allocate(dataset->context, count, sizeof *lengths, "the lengths of examples");
    if (!lengths) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = 0; e < count; e++) lengths[e] = attn_dataset_rows(dataset, e);
    if (at_texts_of(dataset)->tokenized)
        survey->lengths = at_measure_lengths(lengths, count);
    else
        survey->empty = measure_texts(dataset, SOURCE, lengths, &survey->lengths, &survey->words);
    if (survey->pairs)
        measure_texts(dataset, TARGET, lengths, &survey->target_lengths, &survey->target_words);
    at_release(dataset->context, lengths);
    return ATTN_OK;
}

/* ---- pairs ---- */

/* Counts the characters, or words, of a text. */
static attn_status count_parts(attn_context *context, at_vocabulary *parts, const char *text, int words) {
    attn_status status = ATTN_OK;
    while (*text && status == ATTN_OK) {
        int64_t number;
        const char *begin = text++;
        if (words && is_space(*begin)) continue;
        while (*text && (words ? !is_space(*text) : ((unsigned char)*text & 0xc0) == 0x80)) text++;
        status = at_vocabulary_add(context, parts, begin, (size_t)(text - begin), 1, &number);
    }
    return status;
}

static attn_status count_distinct(const attn_dataset *dataset, side which, int words, int64_t *distinct,
                                  int64_t *once) {
    at_vocabulary parts = {0};
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++)
        status = count_parts(dataset->context, &parts, text_of(dataset, e, which), words);
    *distinct = parts.strings.count;
    for (int64_t i = 0; i < parts.strings.count; i++) *once += parts.counts[i] == 1;
    at_vocabulary_free(dataset->context, &parts);
    return status;
}

static attn_status take_distinct(const attn_dataset *dataset, side which, at_distinct *found) {
    attn_status status = count_distinct(dataset, which, 0, &found->characters, &found->characters_once);
    if (status == ATTN_OK) status = count_distinct(dataset, which, 1, &found->words, &found->words_once);
    return status;
}

/* Pairs where one side is much longer than the other, beside what is usual in this file. */
static void find_uneven(const attn_dataset *dataset, at_survey *survey) {
    enum { FEW = 10 }; /* so many characters more or less say nothing */
    if (survey->lengths.median <= 0 || survey->target_lengths.median <= 0) return;
    double usual = survey->target_lengths.median / survey->lengths.median; /* what a few cannot shift */
    for (int64_t e = 0; e < dataset->examples; e++) {
        double expected = usual * (double)count_characters(text_of(dataset, e, SOURCE));
        double found = (double)count_characters(text_of(dataset, e, TARGET));
        if (found <= AT_UNEVEN * expected && expected <= AT_UNEVEN * found) continue;
        if (fabs(found - expected) <= FEW) continue;
        if (survey->uneven < AT_PLACES_SHOWN)
            survey->uneven_lines[survey->uneven] = attn_dataset_line(dataset, e, 0);
        survey->uneven++;
    }
}

/* ---- what makes inputs the same: their tokens, whatever spaces are between them ---- */

static uint64_t hash(const attn_dataset *dataset, int64_t example) {
    const at_strings *tokens = &at_texts_of(dataset)->tokens;
    uint64_t hashed = 0;
    for (int64_t t = dataset->offsets[example]; t < dataset->offsets[example + 1]; t++)
        hashed = at_hash(at_string(tokens, t), at_string_length(tokens, t), hashed);
    return hashed;
}

static int same(const attn_dataset *dataset, int64_t a, int64_t b) {
    int64_t rows = attn_dataset_rows(dataset, a);
    if (rows != attn_dataset_rows(dataset, b)) return 0;
    for (int64_t t = 0; t < rows; t++)
        if (strcmp(attn_dataset_token(dataset, a, t), attn_dataset_token(dataset, b, t)) != 0) return 0;
    return 1;
}

static int is_empty(const attn_dataset *dataset, int64_t example) {
    return !at_texts_of(dataset)->tokenized && count_words(text_of(dataset, example, SOURCE)) == 0;
}

attn_status at_survey_texts(const attn_dataset *dataset, at_survey *survey) {
    static const at_likeness likeness = {hash, same, is_empty};
    memset(survey, 0, sizeof *survey);
    survey->pairs = dataset->pairs;
    attn_status status = take_lengths(dataset, survey);
    if (status == ATTN_OK) status = at_find_repeats(dataset, &likeness, &survey->repeats);
    if (status != ATTN_OK || !survey->pairs) return status;
    find_uneven(dataset, survey);
    status = take_distinct(dataset, SOURCE, &survey->distinct);
    return status == ATTN_OK ? take_distinct(dataset, TARGET, &survey->target_distinct) : status;
}
