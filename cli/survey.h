/* survey.h: what is in a dataset, in numbers: lengths, classes, what is missing, what stands twice. */
#ifndef CLI_SURVEY_H
#define CLI_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attn/dataset.h>

typedef struct survey_class {
    const char *label; /* in the dataset, and not ended by 0 */
    size_t length;
    int64_t count;
} survey_class;

typedef struct survey_column {
    const char *name;
    int64_t values, missing; /* tokens (or texts) that have one, that have none */
    int64_t several;         /* that have more than one label */
    int64_t once;            /* classes that occur once */
    survey_class *classes;   /* the most frequent first */
    int64_t class_count;
    bool numbers; /* all values are */
    double least, mean, most;
} survey_column;

typedef struct survey_length {
    int64_t least, most;
    double median, mean;
} survey_length;

enum { SURVEY_PAIRS = 3, SURVEY_UNEVEN = 3 };

/* How many different ones there are, and how many of them occur once. */
typedef struct survey_symbols {
    int64_t characters, characters_once;
    int64_t words, words_once;
} survey_symbols;

typedef struct survey {
    int64_t examples, tokens;
    survey_length lengths;          /* tokens of sequences, or characters of texts */
    survey_length words;            /* texts: what stands between spaces */
    int64_t empty;                  /* texts with nothing but white space */
    int64_t duplicates;             /* examples that stand before, with the same targets */
    int64_t contradictions;         /* inputs that stand there with different targets */
    int64_t lines[SURVEY_PAIRS][2]; /* the first of those: where they differ */
    int64_t repeated;               /* inputs that stand there more than once */
    int columns;                    /* 0 for pairs, whose targets are no classes */
    survey_column *column;

    /* Pairs only. lengths, words and symbols are those of sources. A pair is uneven where one side has more
     * than SURVEY_UNEVEN times the characters that the other, and the whole, let one expect. */
    survey_length target_lengths, target_words;
    survey_symbols symbols, target_symbols;
    int64_t uneven;
    int64_t uneven_lines[SURVEY_PAIRS]; /* the first of those */
} survey;

/* False without memory; *result is empty then. */
bool survey_take(const attn_dataset *dataset, survey *result);
void survey_free(survey *result);

#endif
