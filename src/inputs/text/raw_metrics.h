/* raw_metrics.h: metrics of sentences, words and tags found in raw text.
 *
 * The definitions are those of the CoNLL 2018 shared task (conll18_ud_eval.py). Both sides are the same text,
 * except for white space; positions count its other characters. Tokens and sentences are correct if their
 * spans are. Words are aligned by their spans, but in regions where one side has multi-word tokens by the
 * longest common subsequence of their forms in lower case. A tag is correct if its word is aligned and has
 * the same tag.
 */
#ifndef AT_INPUTS_TEXT_RAW_METRICS_H
#define AT_INPUTS_TEXT_RAW_METRICS_H

#include "data/file.h"
#include "data/strings.h"

/* A word: the span of the token that it is written in. Words of one token have the same. */
typedef struct at_raw_word {
    int64_t begin, end; /* never the same */
    int multiword;      /* its token is a multi-word token */
} at_raw_word;

/* The text as one side has it. */
typedef struct at_raw_side {
    const char *name; /* for errors */
    at_bytes text;    /* the tokens side by side, without white space */
    int64_t sentences;
    int64_t *first; /* [sentences + 1] the first word of each sentence; all have words */
    int64_t words;
    at_raw_word *spans; /* [words] */
    int64_t first_room, span_room;
    const at_strings *forms; /* FORM of word w */
    const at_strings *tags;  /* of word w and column c: string w * columns + c */
} at_raw_side;

typedef struct at_f1 {
    int64_t right, gold, system;
    int64_t aligned;              /* tags: the words that are aligned; else what is right */
    double precision, recall, f1; /* 0 where there is nothing to be divided by */
    double accuracy;              /* right / aligned */
} at_f1;

/* tags: [columns->count + 1], the last for all columns at once. By the names of the columns: of FEATS the
 * universal features count, and a LEMMA that the right side does not have ("" or "_") is right whatever it
 * is. Errors: INVALID_ARGUMENT (other characters, and where), OVERFLOW (a region of multi-word tokens with
 * too many words), OUT_OF_MEMORY. */
attn_status at_raw_compare(attn_context *context, const at_raw_side *gold, const at_raw_side *system,
                           const at_strings *columns, at_f1 *tokens, at_f1 *sentences, at_f1 *words,
                           at_f1 *tags);

#endif
