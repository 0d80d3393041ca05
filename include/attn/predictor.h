/* predictor.h: predictions of a model.
 *
 *     attn_model_load(context, "pos.safetensors", &model);
 *     attn_predictor_create(model, context, &predictor);
 *     attn_predictor_text(predictor, "The cat sat.", &answer);
 *     for (int64_t i = 0; i < attn_prediction_units(answer, 0); i++)
 *         printf("%s\t%s\n", attn_prediction_unit(answer, 0, i), attn_prediction_label(answer, 0, 0, i));
 *
 * Threads. A model does not change after it is loaded: any number of threads may share it, each with its own
 * predictor. A predictor owns everything that changes during prediction: tapes, caches, the state of beam
 * search, working memory. It is used by one thread at a time, and so are its predictions. Use one predictor
 * for many calls, so that small calls allocate little.
 *
 * The predictions for a sequence have the same bits whatever else is in the dataset, and with every
 * predictor.
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

/* Creates a predictor that works in `context`, which belongs to the calling thread (it may be the context
 * that loaded the model). context NULL: the predictor creates its own context, with one thread. Model and
 * context must outlive it. *predictor is untouched on failure; the message is in `context`, or, if that is
 * NULL, in attn_last_create_error.
 * Errors: INVALID_ARGUMENT (NULL; a context of another instruction set than that of the model's context),
 * OUT_OF_MEMORY, and those of attn_context_create. */
ATTN_API attn_status attn_predictor_create(const attn_model *model, attn_context *context,
                                           attn_predictor **predictor);
ATTN_API void attn_predictor_destroy(attn_predictor *predictor); /* NULL is allowed */
/* The message of the last call that failed, as attn_context_error of the predictor's context. For NULL it
 * says that the predictor is NULL. */
ATTN_API const char *attn_predictor_error(const attn_predictor *predictor);
ATTN_API attn_context *attn_predictor_context(const attn_predictor *predictor);

/* From now on the ranks of an exchange share the work: each gives its predictor the same datasets in the same
 * order, computes a part of the batches, and has all predictions afterwards. exchange NULL: this process
 * works alone again. The exchange must outlive the predictor. Errors: INVALID_ARGUMENT (predictor NULL). */
ATTN_API attn_status attn_predictor_join(attn_predictor *predictor, attn_exchange *exchange);

/* ---- settings ----
 *
 * By name and as text: "probs" "true", "beam" "8", "pretokenized" "true", ...; the kind of model determines
 * which settings it has. attn_setting lists all of them, with index 0, 1, ... until it returns 0; any thread
 * may call it. The struct is plain: it will not grow. */
typedef struct attn_setting_text {
    const char *name, *initial, *help;
    const char *models;      /* "classes", "sequences", ...: which models have it */
    int is_switch;           /* the value is "true" or "false" */
    int whole;               /* the value is an integer */
    double minimum, maximum; /* of a number */
} attn_setting_text;
ATTN_API int attn_setting(int index, attn_setting_text *setting);
/* Errors: INVALID_ARGUMENT (NULL, an unknown name, or a value out of range), UNSUPPORTED (this kind of model
 * does not have it). */
ATTN_API attn_status attn_predictor_set(attn_predictor *predictor, const char *name, const char *value);
/* 1 if this kind of model has a setting of that name, else 0. */
ATTN_API int attn_predictor_has(const attn_predictor *predictor, const char *name);

/* ---- predictions ---- */

/* Predicts for every example of a dataset; its targets are ignored. Language models continue every example (a
 * line). Destroy the prediction before its predictor. Errors: INVALID_ARGUMENT (NULL, or a dataset of another
 * kind of input), UNSUPPORTED (a setting that the model's outputs do not support), NOT_FINITE (models that
 * produce symbols: the network computed NaN), SYSTEM_ERROR (of an exchange), OUT_OF_MEMORY. */
ATTN_API attn_status attn_predictor_predict(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_prediction **prediction);
/* Predicts for one text without line ends, which the model splits into units. Errors: INVALID_ARGUMENT (NULL,
 * a line end, text that is not UTF-8, a model of another kind of input), and those of attn_predictor_predict.
 */
ATTN_API attn_status attn_predictor_text(attn_predictor *predictor, const char *text,
                                         attn_prediction **prediction);
ATTN_API void attn_prediction_destroy(attn_prediction *prediction); /* NULL is allowed */

/* Counts of examples since the predictor was created, including those of reports.
 *
 *     answered    all examples
 *     in_pieces   those with one prediction that were longer than attn_model_longest and processed in pieces
 *     cut         those that were longer than attn_model_most, and truncated
 *
 * Examples with a prediction for each row are never truncated; in_pieces and cut do not count them. */
ATTN_API int64_t attn_predictor_answered(const attn_predictor *predictor);
ATTN_API int64_t attn_predictor_in_pieces(const attn_predictor *predictor);
ATTN_API int64_t attn_predictor_cut(const attn_predictor *predictor);

/* A tagger first splits raw text into sentences and words, if its training data had what a splitter needs.
 * The examples of the prediction are then these sentences, and attn_prediction_split returns their dataset
 * (format CONLLU, with ranges for tokens of several words); else NULL. It belongs to the prediction. */
ATTN_API const attn_dataset *attn_prediction_split(const attn_prediction *prediction);
/* Splits raw text without predicting; *examples belongs to the caller. Errors: UNSUPPORTED (the model has no
 * splitter), INVALID_ARGUMENT (NULL, or not raw text), and those of attn_predictor_predict. */
ATTN_API attn_status attn_predictor_split(attn_predictor *predictor, const attn_dataset *raw,
                                          attn_dataset **examples);
/* If the model has no splitter, raw text is split by a rule: this is the rule as a sentence for the user.
 * NULL: the dataset is not split by a rule. */
ATTN_API const char *attn_predictor_rule(const attn_predictor *predictor, const attn_dataset *dataset);

ATTN_API int64_t attn_prediction_examples(const attn_prediction *prediction);

/* The rows of an example, by name: words, characters, ... */
ATTN_API int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit);

/* The prediction of an output for a row; if there is one prediction per example, it is that of row 0.
 *
 *     label         the text of the predicted label
 *     class         its number; -1 if there is none (another kind of output, out of range)
 *     unsure        1 if the prediction is unsure, see below
 *     number        the predicted number
 *     probability   the probability of a label
 *
 * An output with several labels per row has neither label nor class: label l applies if the probability of l
 * is at least 0.5. Such an output always has probabilities. An output that predicts one class has them only
 * with the setting "probs" or "unsure"; with a CRF they are marginals. Without probabilities, probability
 * returns NaN. Probabilities include the temperature of the output (attn_model_temperature), which changes no
 * label.
 *
 * With the setting "unsure" p, 0 < p <= 1, a prediction is unsure if the probability of its class is below p.
 * The label is then "unknown", and the class is still the likeliest one. If no output of the model predicts
 * one class (numbers, several labels), attn_predictor_predict returns UNSUPPORTED. */
ATTN_API const char *attn_prediction_label(const attn_prediction *prediction, int output, int64_t example,
                                           int64_t unit);
ATTN_API int64_t attn_prediction_class(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API int attn_prediction_unsure(const attn_prediction *prediction, int output, int64_t example,
                                    int64_t unit);
ATTN_API double attn_prediction_number(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API double attn_prediction_probability(const attn_prediction *prediction, int output, int64_t example,
                                            int64_t unit, int64_t label);
/* How much the networks of an ensemble (output.members) differ, as a population standard deviation: of the
 * numbers that they predict (label is ignored), or of their probabilities of `label`, without temperature. If
 * the output predicts one label, `label` must be the number of the predicted one. NaN otherwise, and with one
 * network. */
ATTN_API double attn_prediction_spread(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit, int64_t label);

/* Word segmentation (scheme bmes): the words that the labels form. Other models have none. */
ATTN_API int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word);

/* ---- generated sequences: beam search ----
 *
 * Beam search keeps the `beam` best hypotheses of every example and extends each by every symbol. Hypotheses
 * are compared by their normalised log-probability: the sum of the log-probabilities of their symbols (the
 * end included), divided by length ^ length_penalty. A hypothesis that ends with the end symbol is finished,
 * the others are open. The search ends for an example when there are n_best finished hypotheses and no open
 * one can still become better than the worst of them. Once `beam` hypotheses are finished, open ones are
 * compared by their present value, not by what they can still become. */

typedef struct attn_search_options {
    size_t size;           /* sizeof(attn_search_options), set by the init function */
    int64_t beam;          /* hypotheses that are kept; 1 is greedy search; 4 after init */
    int64_t n_best;        /* hypotheses returned per example, at most `beam`; 1 after init */
    double length_penalty; /* 1 after init: the mean log-probability of the symbols; 0: their sum */
    int64_t longest; /* the most symbols of a hypothesis; 0 after init: what the model's configuration says */
    int alignment;   /* also returns the cross-attention; 0 after init */
    int lowercase;   /* reports: BLEU and chrF in lower case; 0 after init */
} attn_search_options;
ATTN_INIT(attn_search_options)

/* attn_predictor_predict with these options instead of the settings (NULL: the defaults). Errors: those of
 * attn_predictor_predict, UNSUPPORTED (not a sequence model), INVALID_ARGUMENT (an option out of range). */
ATTN_API attn_status attn_predictor_search(attn_predictor *predictor, const attn_dataset *dataset,
                                           const attn_search_options *options, attn_prediction **prediction);

/* The number of hypotheses of an example, at least 1; number 0 is the best. For models that generate neither
 * sequences nor continuations, this function and those below return the same as for an index out of range. */
ATTN_API int64_t attn_prediction_hypotheses(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_text(const attn_prediction *prediction, int64_t example,
                                          int64_t hypothesis);
/* Normalised, as above. NaN for continuations of a language model. */
ATTN_API double attn_prediction_log_probability(const attn_prediction *prediction, int64_t example,
                                                int64_t hypothesis);
/* 1 if the hypothesis ends with the end symbol, 0 if it was cut at the limit. */
ATTN_API int attn_prediction_ended(const attn_prediction *prediction, int64_t example, int64_t hypothesis);
ATTN_API int64_t attn_prediction_symbols(const attn_prediction *prediction, int64_t example,
                                         int64_t hypothesis);
ATTN_API const char *attn_prediction_symbol(const attn_prediction *prediction, int64_t example,
                                            int64_t hypothesis, int64_t symbol);
/* With options.alignment: the attention of each symbol to each row of the source, symbols x rows, row-major.
 * It is the cross-attention of the last block, as the mean over heads and networks, and sums to 1 for each
 * symbol. Rows beyond the model's longest source have 0. NULL without options.alignment. */
ATTN_API const float *attn_prediction_alignment(const attn_prediction *prediction, int64_t example,
                                                int64_t hypothesis);

/* ---- language models ---- */

typedef struct attn_sampling_options {
    size_t size;        /* sizeof(attn_sampling_options), set by the init function */
    int64_t tokens;     /* units to generate; 200 after init */
    double temperature; /* 1 after init; 0: always the likeliest unit */
    int64_t top_k;      /* sample from the top_k likeliest units only; 0 after init: all */
    uint64_t seed;      /* 1 after init; the same seed gives the same text */
    /* Called with every piece of text as it is generated; a result other than 0 ends generation. May be NULL.
     */
    int (*watch)(void *user, const char *piece);
    void *user;
} attn_sampling_options;
ATTN_INIT(attn_sampling_options)

/* Fills options with the predictor's settings. Errors: INVALID_ARGUMENT (NULL), UNSUPPORTED (the model is not
 * a language model). */
ATTN_API attn_status attn_predictor_sampling_sized(attn_predictor *predictor, attn_sampling_options *options,
                                                   size_t size);
static inline attn_status attn_predictor_sampling(attn_predictor *predictor, attn_sampling_options *options) {
    return attn_predictor_sampling_sized(predictor, options, sizeof *options); /* as an init function */
}

/* Generates the text that follows `prompt` (which may be empty and may have line ends). *text does not
 * include the prompt, is valid UTF-8 whatever bytes the model generates, and is valid until the next call of
 * the predictor. options NULL: the settings.
 * Errors: INVALID_ARGUMENT (NULL, an option out of range, a prompt that is not UTF-8), UNSUPPORTED (the model
 * is not a language model), NOT_FINITE (the network computed NaN), OUT_OF_MEMORY. */
ATTN_API attn_status attn_predictor_continue(attn_predictor *predictor, const char *prompt,
                                             const attn_sampling_options *options, const char **text);

/* The same step by step. push_text appends text to what was pushed before. next returns the probabilities of
 * the next symbol, [attn_model_symbols], valid until the next call of the predictor. Only the new text is
 * encoded; when the model's window is full, its last half is encoded again. attn_predictor_finish discards
 * the text. Errors as attn_predictor_continue. */
ATTN_API attn_status attn_predictor_push_text(attn_predictor *predictor, const char *text);
ATTN_API attn_status attn_predictor_next(attn_predictor *predictor, const double **probabilities);

/* ---- sequences that come in pieces ---- */

/* Appends the rows of all examples of `rows` to the sequence pushed before. Errors: INVALID_ARGUMENT (NULL,
 * or rows of another kind; the sequence is unchanged), OUT_OF_MEMORY (the sequence is discarded). */
ATTN_API attn_status attn_predictor_push(attn_predictor *predictor, const attn_dataset *rows);
/* Predicts for the pushed sequence, which is one example; if it is raw text that the model splits, each
 * sentence is an example. The next push begins a new sequence. prediction NULL: only discards the sequence.
 * Errors: INVALID_ARGUMENT (predictor NULL, nothing was pushed), and those of attn_predictor_predict. */
ATTN_API attn_status attn_predictor_finish(attn_predictor *predictor, attn_prediction **prediction);

/* ---- vectors ---- */

/* The encoder's output for every row or, with pooled, for every example: the mean of its rows. Of an ensemble
 * it is the mean over the networks. numbers: rows x columns, contiguous. Example e has rows offsets[e] ..
 * offsets[e + 1] - 1 (pooled: row e). A sequence longer than attn_model_longest is encoded in pieces. With
 * pooled, the pieces overlap as for a prediction; if the model has one prediction per row, the sequence is
 * truncated instead. The arrays are valid until the next call of the predictor. */
typedef struct attn_vectors {
    size_t size; /* sizeof(attn_vectors), set by the init function */
    const float *numbers;
    int64_t rows, columns, examples;
    const int64_t *offsets; /* [examples + 1] */
} attn_vectors;
ATTN_INIT(attn_vectors)
/* Errors: INVALID_ARGUMENT (NULL, vectors without init, a dataset of another kind of input), UNSUPPORTED (a
 * model without an encoder), OUT_OF_MEMORY. */
ATTN_API attn_status attn_predictor_embed(attn_predictor *predictor, const attn_dataset *dataset, int pooled,
                                          attn_vectors *vectors);

/* ---- writing ---- */

typedef struct attn_write_options {
    size_t size;       /* sizeof(attn_write_options), set by the init function */
    int json;          /* one JSON object per example; of an ensemble also "spread" */
    int terminal;      /* escapes control characters for a terminal */
    const char *lines; /* NULL, or the `length` bytes that the dataset was parsed from: everything except
                          predictions is then copied from it byte for byte */
    size_t length;
    int plain; /* only the predictions, one per line, even if the format of the data has room for them */
    /* For a dataset that is a part of a larger one, whose predictions are written in several calls. first:
     * the number of its first example in the larger one; whole: the number of examples there. 0, 0: it is not
     * a part. A header is written with example 0. */
    int64_t first, whole;
} attn_write_options;
ATTN_INIT(attn_write_options)

/* Predicts for all examples and writes the predictions as text, in the format of the data if it has room for
 * them: CoNLL-U with its columns filled; with `lines` also tables and lines of token TAB tag, to which
 * columns predicted_NAME are added, and JSON objects, to which fields of that name are added. Else it writes
 * one line per prediction (with one per row, a blank line after each example), or one JSON object per line.
 * *text, `length` bytes and a 0, is valid until the next call of the predictor. options NULL: the defaults.
 * Errors: INVALID_ARGUMENT (NULL), UNSUPPORTED (options of a newer caller), and those of
 * attn_predictor_predict.
 */
ATTN_API attn_status attn_predictor_write(attn_predictor *predictor, const attn_dataset *dataset,
                                          const attn_write_options *options, const char **text,
                                          size_t *length);

ATTN_END_DECLS

#endif
