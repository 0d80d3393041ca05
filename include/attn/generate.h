/* generate.h: answers of their own length: a sequence of a sequence, and the continuation of a text.
 *
 *     attn_search_options options;
 *     attn_search_options_init(&options);
 *     options.beam = 4;
 *     attn_model_generate(model, sentences, &options, &answers);
 *     puts(attn_answers_text(answers, 0, 0));
 *
 * Search keeps the `beam` likeliest beginnings of every example and extends each by every symbol. It ends for
 * an example when none of its beginnings can become better than the n_best answers that it has; once it has
 * `beam` answers, a beginning is taken to be as good as it is now. The score of an answer is the sum of the
 * logarithms of its symbols' probabilities (the end included), divided by length ^ length_penalty.
 */
#ifndef ATTN_GENERATE_H
#define ATTN_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* Whether a model answers with sequences (seq2seq), or continues a text (lm). */
ATTN_API int attn_model_generates(const attn_model *model);
ATTN_API int attn_model_continues(const attn_model *model);

/* How many symbols it can say, number 0 being the end of an answer (lm: what is unknown); 0 for other models.
 * Symbol `index`, NULL out of range. */
ATTN_API int64_t attn_model_symbols(const attn_model *model);
ATTN_API const char *attn_model_symbol(const attn_model *model, int64_t index);

typedef struct attn_search_options {
    size_t size;           /* sizeof(attn_search_options), set by the init function */
    int64_t beam;          /* beginnings that are kept; 1 is greedy search; 4 after init */
    int64_t n_best;        /* answers of an example, at most `beam`; 1 after init */
    double length_penalty; /* 1 after init: the mean of the logarithms; 0: their sum */
    int64_t longest;       /* symbols of an answer; 0 after init: what the model's configuration says */
    int alignment;         /* also keep the cross-attention; 0 after init */
} attn_search_options;
ATTN_API void attn_search_options_init(attn_search_options *options);

/* The answers for every example of a dataset, whose targets are not looked at: the same whatever else is in
 * the dataset. Errors: UNSUPPORTED (the model answers otherwise), INVALID_ARGUMENT (options), NOT_FINITE (the
 * network's numbers are none), OUT_OF_MEMORY. */
typedef struct attn_answers attn_answers;
ATTN_API attn_status attn_model_generate(attn_model *model, const attn_dataset *dataset,
                                         const attn_search_options *options, attn_answers **answers);
ATTN_API void attn_answers_destroy(attn_answers *answers); /* NULL is allowed */

ATTN_API int64_t attn_answers_examples(const attn_answers *answers);
/* How many answers an example has, best first; at least 1. 0 and NULL out of range, here and below. */
ATTN_API int64_t attn_answers_count(const attn_answers *answers, int64_t example);
ATTN_API const char *attn_answers_text(const attn_answers *answers, int64_t example, int64_t answer);
ATTN_API double attn_answers_score(const attn_answers *answers, int64_t example, int64_t answer);
/* Whether it came to an end by itself, or was cut at the limit. */
ATTN_API int attn_answers_ended(const attn_answers *answers, int64_t example, int64_t answer);

/* The symbols of an answer, and the units of its source. */
ATTN_API int64_t attn_answers_symbols(const attn_answers *answers, int64_t example, int64_t answer);
ATTN_API const char *attn_answers_symbol(const attn_answers *answers, int64_t example, int64_t answer,
                                         int64_t symbol);
ATTN_API int64_t attn_answers_source_units(const attn_answers *answers, int64_t example);
ATTN_API const char *attn_answers_source_unit(const attn_answers *answers, int64_t example, int64_t unit);
/* With options.alignment: symbols x source units, row by row: how much each symbol looked at each unit (the
 * cross-attention of the last block, the mean over heads and networks); rows sum to 1. Units beyond the
 * model's longest source have 0. */
ATTN_API const float *attn_answers_alignment(const attn_answers *answers, int64_t example, int64_t answer);

/* ---- language models ---- */

typedef struct attn_sampling_options {
    size_t size;        /* sizeof(attn_sampling_options), set by the init function */
    int64_t tokens;     /* units to add; 200 after init */
    double temperature; /* 1 after init; 0: always the likeliest */
    int64_t top_k;      /* only the so many likeliest; 0 after init: all */
    uint64_t seed;      /* 1 after init: the same seed, the same text */
    /* Called with every piece of text as it comes; not 0 ends it. May be NULL. */
    int (*watch)(void *user, const char *piece);
    void *user;
} attn_sampling_options;
ATTN_API void attn_sampling_options_init(attn_sampling_options *options);

/* The text that follows `prompt` (which may be empty and may have line ends): without the prompt, in UTF-8
 * whatever the model says, to be released with attn_text_destroy. Errors: as above. */
ATTN_API attn_status attn_model_continue(attn_model *model, const char *prompt,
                                         const attn_sampling_options *options, char **text);
ATTN_API void attn_text_destroy(attn_model *model, char *text);

ATTN_END_DECLS

#endif
