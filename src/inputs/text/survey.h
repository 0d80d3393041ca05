/* survey.h: statistics of a dataset of texts. */
#ifndef AT_INPUTS_TEXT_SURVEY_H
#define AT_INPUTS_TEXT_SURVEY_H

#include "data/summary.h"

enum { AT_UNEVEN = 3 };

/* How many distinct ones there are, and how many of them occur once. */
typedef struct at_distinct {
    int64_t characters, characters_once;
    int64_t words, words_once;
} at_distinct;

typedef struct at_survey {
    at_lengths lengths; /* tokens of sequences, or characters of texts */
    at_lengths words;   /* texts: what stands between spaces */
    int64_t empty;      /* texts with nothing but white space */
    at_repeats repeats;

    /* Pairs only: lengths, words and distinct are those of sources. A pair is uneven where one side has more
     * than AT_UNEVEN times the characters that the other side, and the file as a whole, let one expect. */
    int pairs;
    at_lengths target_lengths, target_words;
    at_distinct distinct, target_distinct;
    int64_t uneven;
    int64_t uneven_lines[AT_PLACES_SHOWN]; /* the first of those */
} at_survey;

attn_status at_survey_texts(const attn_dataset *dataset, at_survey *survey);

#endif
