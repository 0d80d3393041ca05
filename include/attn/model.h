/* model.h: a trained network with all that belongs to it, in one file.
 *
 *     attn_model_load(context, "pos.safetensors", &model);
 *     attn_model_predict_text(model, "The cat sat.", 0, &prediction);
 *     for (int64_t i = 0; i < attn_prediction_units(prediction, 0); i++)
 *         printf("%s\t%s\n", attn_prediction_unit(prediction, 0, i),
 *                attn_prediction_label(prediction, 0, 0, i));
 *
 * The file is specified in docs/format.md. A model belongs to its context.
 */
#ifndef ATTN_MODEL_H
#define ATTN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/parameters.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_model attn_model;

/* Opens a model file. Every size in it is checked against every other before anything is allocated; the
 * weights are mapped, not copied. Errors: INVALID_ARGUMENT (not a model, or a damaged one: the file and what
 * is wrong), SYSTEM_ERROR, OUT_OF_MEMORY. */
ATTN_API attn_status attn_model_load(attn_context *context, const char *path, attn_model **model);
/* Writes it: to a temporary name beside `path`, synced, then renamed. */
ATTN_API attn_status attn_model_save(attn_model *model, const char *path);
ATTN_API void attn_model_destroy(attn_model *model); /* NULL is allowed */

ATTN_API attn_config *attn_model_config(attn_model *model);
ATTN_API attn_parameters *attn_model_parameters(attn_model *model);

/* Scores on the development data when it was saved, and how far training was: a JSON object; "{}" if none. */
ATTN_API const char *attn_model_scores(const attn_model *model);

/* How many units its vocabulary has (0: none); unit `index`, NULL out of range. */
ATTN_API int64_t attn_model_vocabulary(const attn_model *model);
ATTN_API const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index);

/* What it answers: one output a target column. */
typedef enum attn_output_kind {
    ATTN_OUTPUT_CLASS = 0,  /* one of its labels */
    ATTN_OUTPUT_LABELS = 1, /* any number of its labels */
    ATTN_OUTPUT_NUMBER = 2
} attn_output_kind;
ATTN_API int attn_model_outputs(const attn_model *model);
ATTN_API const char *attn_model_output_name(const attn_model *model, int output);
ATTN_API attn_output_kind attn_model_output_kind(const attn_model *model, int output);
ATTN_API int attn_model_per_token(const attn_model *model); /* an answer a unit, else one a text */
ATTN_API int64_t attn_model_labels(const attn_model *model, int output);
ATTN_API const char *attn_model_label(const attn_model *model, int output, int64_t label);

/* How the model reads files: format AUTO, its columns, its unit. */
ATTN_API void attn_model_reader_options(const attn_model *model, attn_reader_options *options);

/* ---- prediction ---- */

typedef struct attn_prediction attn_prediction;

enum {
    ATTN_PREDICT_PROBABILITIES = 1, /* also compute those (marginals with a CRF) */
    ATTN_PREDICT_PRETOKENIZED = 2   /* texts are split at spaces only, whatever the model does by itself */
};

/* For every example of a dataset, whose targets are not looked at. Sequences are the same bits whatever else
 * is in the dataset. */
ATTN_API attn_status attn_model_predict(attn_model *model, const attn_dataset *dataset, int flags,
                                        attn_prediction **prediction);
/* For one text, split as the model splits. */
ATTN_API attn_status attn_model_predict_text(attn_model *model, const char *text, int flags,
                                             attn_prediction **prediction);
ATTN_API void attn_prediction_destroy(attn_prediction *prediction); /* NULL is allowed */

ATTN_API int64_t attn_prediction_examples(const attn_prediction *prediction);

/* The units of an example: what the model's rows stand for. NULL and 0 out of range. */
ATTN_API int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit);

/* The answer of an output for a unit (per text: unit 0): the label's text, its number, the number predicted.
 * LABELS: whether label l applies is attn_prediction_probability(...) >= 0.5, which is there always. */
ATTN_API const char *attn_prediction_label(const attn_prediction *prediction, int output, int64_t example,
                                           int64_t unit);
ATTN_API int64_t attn_prediction_class(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API double attn_prediction_number(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit);
ATTN_API double attn_prediction_probability(const attn_prediction *prediction, int output, int64_t example,
                                            int64_t unit, int64_t label);

/* Word segmentation (scheme bmes): the words that the labels make. 0 and NULL for other models. */
ATTN_API int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word);

ATTN_END_DECLS

#endif
