/* predictor.h: what a model answers.
 *
 *     attn_model_load(context, "pos.safetensors", &model);
 *     attn_predictor_create(model, context, &predictor);
 *     attn_predictor_text(predictor, "The cat sat.", &prediction);
 *     for (int64_t i = 0; i < attn_prediction_units(prediction, 0); i++)
 *         printf("%s\t%s\n", attn_prediction_unit(prediction, 0, i), attn_prediction_label(prediction, 0, 0,
 * i));
 *
 * A model does not change after it is loaded: any number of threads may share it, each with a predictor of
 * its own. A predictor owns all that predicting changes: tapes, caches, the state of a search, working
 * memory, the text of the last error. It is used again from call to call, so that small calls allocate
 * little.
 *
 * Sequences are the same bits whatever else is in the dataset, and whichever predictor answers.
 */
#ifndef ATTN_PREDICTOR_H
#define ATTN_PREDICTOR_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/exchange.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_predictor attn_predictor;
typedef struct attn_prediction attn_prediction;

/* A predictor, which works in `context`: that of the calling thread, used by nobody else at the same time (it
 * may be the one that the model was loaded with). NULL: the predictor has a context of its own, with one
 * thread. Model and context must outlive it. *predictor is untouched on failure; the text is in `context`, or
 * in attn_last_create_error. */
ATTN_API attn_status attn_predictor_create(const attn_model *model, attn_context *context,
                                           attn_predictor **predictor);
ATTN_API void attn_predictor_destroy(attn_predictor *predictor); /* NULL is allowed */
/* The text of the last failed call, as attn_context_error. */
ATTN_API const char *attn_predictor_error(const attn_predictor *predictor);
ATTN_API attn_context *attn_predictor_context(const attn_predictor *predictor);

/* From now on the ranks of an exchange (NULL: this process alone) answer together: each gives its predictor
 * the same datasets in the same order, runs a part of the batches, and has the answers of all afterwards. The
 * exchange must outlive the predictor. */
ATTN_API attn_status attn_predictor_join(attn_predictor *predictor, attn_exchange *exchange);

/* ---- settings ----
 *
 * By name and as text: "probs" "true", "beam" "8", "pretokenized" "true", ...; which there are depends on
 * what the model answers. attn_setting tells all of them: index 0, 1, ... until it returns 0. */
typedef struct attn_setting_text {
    const char *name, *initial, *help;
    const char *models;      /* "classes", "sequences", ...: which models have it */
    int is_switch, whole;    /* true or false; an integer */
    double minimum, maximum; /* of numbers */
} attn_setting_text;
ATTN_API int attn_setting(int index, attn_setting_text *setting);
/* Errors: INVALID_ARGUMENT (an unknown name, or a value out of range), UNSUPPORTED (models like this one do
 * not have it). */
ATTN_API attn_status attn_predictor_set(attn_predictor *predictor, const char *name, const char *value);
/* Whether models like this one have a setting. */
ATTN_API int attn_predictor_has(const attn_predictor *predictor, const char *name);

/* ---- predictions ---- */

/* For every example of a dataset, whose targets are not looked at. Language models continue every example,
 * which are lines. A prediction is to be destroyed before its predictor. Errors: INVALID_ARGUMENT (a dataset
 * of another kind of input), NOT_FINITE (models that write symbols: the network's numbers are none),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_predictor_predict(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_prediction **prediction);
/* For one text without line ends, split as the model splits. */
ATTN_API attn_status attn_predictor_text(attn_predictor *predictor, const char *text,
                                         attn_prediction **prediction);
ATTN_API void attn_prediction_destroy(attn_prediction *prediction); /* NULL is allowed */

/* Raw text that a tagger is given is first split into sentences and words by the model's own splitter, if its
 * training data taught it one: the examples of the prediction are those sentences then, and split is the
 * dataset of them (format CONLLU, with ranges for tokens of several words); else NULL. It belongs to the
 * prediction. */
ATTN_API const attn_dataset *attn_prediction_split(const attn_prediction *prediction);
/* The splitting alone. Errors: UNSUPPORTED (the model has no splitter), INVALID_ARGUMENT (no raw text). */
ATTN_API attn_status attn_predictor_split(attn_predictor *predictor, const attn_dataset *raw,
                                          attn_dataset **examples);
/* The rule by which a dataset of raw text is split where the model has no splitter: a sentence for the user;
 * NULL: the dataset is not split by rule. */
ATTN_API const char *attn_predictor_rule(const attn_predictor *predictor, const attn_dataset *dataset);

ATTN_API int64_t attn_prediction_examples(const attn_prediction *prediction);

/* The rows of an example, by name: words, characters, ... NULL and 0 out of range. */
ATTN_API int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit);

/* The answer of an output for a row (per example: row 0): the label's text, its number, the number predicted.
 * Several labels: whether label l applies is attn_prediction_probability(...) >= 0.5, which is there always;
 * other probabilities are there with the setting "probs" (with a CRF: marginals). */
ATTN_API const char *attn_prediction_label(const attn_prediction *prediction, int output, int64_t example,
                                           int64_t unit);
ATTN_API int64_t attn_prediction_class(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API double attn_prediction_number(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API double attn_prediction_probability(const attn_prediction *prediction, int output, int64_t example,
                                            int64_t unit, int64_t label);
/* With several networks (output.members), how far they are apart: the standard deviation (of all of them, not
 * of a sample) of the numbers that they answer, label then being anything, or of the probabilities that they
 * give to `label`: to the one that is answered, or, where several labels apply, to any. NaN where there is
 * none, and with one network. */
ATTN_API double attn_prediction_spread(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit, int64_t label);

/* Word segmentation (scheme bmes): the words that the labels make. 0 and NULL for other models. */
ATTN_API int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word);

/* ---- sequences of their own length ----
 *
 * Beam search keeps the `beam` likeliest hypotheses of every example and extends each by every symbol. It
 * ends for an example when no open hypothesis can beat the n_best finished ones; once it has `beam` finished
 * ones, an open hypothesis counts as it is now. The score of a hypothesis is the sum of the log-probabilities
 * of its symbols (the end included), divided by length ^ length_penalty. */

typedef struct attn_search_options {
    size_t size;           /* sizeof(attn_search_options), set by the init function */
    int64_t beam;          /* hypotheses that are kept; 1 is greedy search; 4 after init */
    int64_t n_best;        /* answers of an example, at most `beam`; 1 after init */
    double length_penalty; /* 1 after init: the mean of the log-probabilities; 0: their sum */
    int64_t longest;       /* symbols of an answer; 0 after init: what the model's configuration says */
    int alignment;         /* also keep the cross-attention; 0 after init */
    int lowercase;         /* reports: BLEU and chrF in lower case; 0 after init */
} attn_search_options;
ATTN_API void attn_search_options_init(attn_search_options *options);

/* attn_predictor_predict with these options instead of the settings (NULL: the defaults). Errors also:
 * UNSUPPORTED (the model answers otherwise), INVALID_ARGUMENT (options). */
ATTN_API attn_status attn_predictor_search(attn_predictor *predictor, const attn_dataset *dataset,
                                           const attn_search_options *options, attn_prediction **prediction);

/* How many hypotheses an example has, best first; at least 1. 0 and NULL out of range, here and below, and
 * for models that answer otherwise. */
ATTN_API int64_t attn_prediction_hypotheses(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_text(const attn_prediction *prediction, int64_t example,
                                          int64_t hypothesis);
ATTN_API double attn_prediction_score(const attn_prediction *prediction, int64_t example, int64_t hypothesis);
/* Whether it came to an end by itself, or was cut at the limit. */
ATTN_API int attn_prediction_ended(const attn_prediction *prediction, int64_t example, int64_t hypothesis);
ATTN_API int64_t attn_prediction_symbols(const attn_prediction *prediction, int64_t example,
                                         int64_t hypothesis);
ATTN_API const char *attn_prediction_symbol(const attn_prediction *prediction, int64_t example,
                                            int64_t hypothesis, int64_t symbol);
/* With options.alignment: symbols x rows of the source, row by row: how much each symbol looked at each of
 * them (the cross-attention of the last block, the mean over heads and networks); rows sum to 1. Rows beyond
 * the model's longest source have 0. */
ATTN_API const float *attn_prediction_alignment(const attn_prediction *prediction, int64_t example,
                                                int64_t hypothesis);

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

/* The settings as options. UNSUPPORTED: the model does not continue text. */
ATTN_API attn_status attn_predictor_sampling(attn_predictor *predictor, attn_sampling_options *options);

/* The text that follows `prompt` (which may be empty and may have line ends): without the prompt, in UTF-8
 * whatever the model says, good until the next call of the predictor. options NULL: the settings. */
ATTN_API attn_status attn_predictor_continue(attn_predictor *predictor, const char *prompt,
                                             const attn_sampling_options *options, const char **text);

/* The same step by step. push_text takes text that goes on with what was pushed before; next: the
 * probabilities of the symbol that follows, [attn_model_symbols], good until the next call. Each costs what
 * is new; when the model's window is full, its last half is encoded again. attn_predictor_finish forgets the
 * text. */
ATTN_API attn_status attn_predictor_push_text(attn_predictor *predictor, const char *text);
ATTN_API attn_status attn_predictor_next(attn_predictor *predictor, const double **probabilities);

/* ---- sequences that come in pieces ---- */

/* The rows of all examples of `rows` go on with the sequence whose rows were pushed before. Errors:
 * INVALID_ARGUMENT (rows of another kind; nothing is changed), OUT_OF_MEMORY (the sequence is forgotten). */
ATTN_API attn_status attn_predictor_push(attn_predictor *predictor, const attn_dataset *rows);
/* The answer for the sequence that was pushed (NULL: it is only forgotten), which is one example (raw text
 * that is split: one for each sentence); the next push begins another. Errors: INVALID_ARGUMENT (nothing was
 * pushed), and those of attn_predictor_predict. */
ATTN_API attn_status attn_predictor_finish(attn_predictor *predictor, attn_prediction **prediction);

/* ---- vectors ---- */

/* What the encoder makes of every row, or, pooled, of every example (the mean of its rows), the mean over the
 * networks: rows x columns, contiguous. *vectors is good until the next call of the predictor; the rows of
 * example e are offsets[e] .. offsets[e + 1] - 1 (pooled: e). A sequence longer than the model's longest is
 * encoded in pieces (pooled: its beginning). */
typedef struct attn_vectors {
    const float *numbers;
    int64_t rows, columns, examples;
    const int64_t *offsets; /* [examples + 1] */
} attn_vectors;
ATTN_API attn_status attn_predictor_embed(attn_predictor *predictor, const attn_dataset *dataset, int pooled,
                                          attn_vectors *vectors);

/* ---- writing ---- */

typedef struct attn_write_options {
    size_t size;       /* sizeof(attn_write_options), set by the init function */
    int json;          /* one JSON object an example; of several networks also their "spread" */
    int terminal;      /* what a terminal might obey is escaped */
    const char *lines; /* NULL, or what the dataset was parsed from, `length` bytes: what is not an answer is
                          then written byte for byte as it stands there */
    size_t length;
    int plain; /* the answers alone, a line each, whatever the format of the data has room for */
    /* Where the dataset was selected from a larger one, and its answers are to stand among the others': the
     * number of its first example there, and how many there are; 0, 0: it is whole. A header is written with
     * example 0. */
    int64_t first, whole;
} attn_write_options;
ATTN_API void attn_write_options_init(attn_write_options *options);

/* The answers of all examples as text: in the format of the data where it has room for them (CoNLL-U with its
 * columns filled; with `lines` also tables and token TAB tag with columns predicted_NAME added, and objects
 * of JSON with such fields), else a line an answer (a line a row, and a blank line after each example), or
 * objects of JSON, one a line. *text, `length` bytes and a 0, is good until the next call of the predictor.
 */
ATTN_API attn_status attn_predictor_write(attn_predictor *predictor, const attn_dataset *dataset,
                                          const attn_write_options *options, const char **text,
                                          size_t *length);

ATTN_END_DECLS

#endif
