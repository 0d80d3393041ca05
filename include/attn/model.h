/* model.h: a trained model, loaded from one file.
 *
 *     attn_model_load(context, "pos.safetensors", &model);
 *     attn_predictor_create(model, context, &predictor);        see attn/predictor.h
 *
 * Threads. A model does not change after it is loaded: threads may share it, each with its own predictor. Two
 * functions are for one thread at a time, the one of the context that loaded the model: attn_model_save, and
 * the getters of the configuration that attn_model_config returns. The model's memory comes from that
 * context, which must outlive it. docs/format.md specifies the file.
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

/* Loads a model file. All sizes are checked before anything is allocated, every tensor is checked against its
 * checksum (if the file has checksums), and every weight must be finite. Files of up to 256 MB are read into
 * memory of the context. Larger ones are mapped: until the model is destroyed, such a file must not be
 * overwritten or truncated in place (cp, truncate), which would change the weights or end the process with
 * SIGBUS. Renaming a new file onto it (mv, attn_model_save) is safe. Errors: INVALID_ARGUMENT (NULL, a file
 * that is not a model, or a damaged one), NOT_FINITE (a weight is NaN or infinite), UNSUPPORTED (this build
 * lacks what the model needs), SYSTEM_ERROR (the file cannot be read), OUT_OF_MEMORY; the message has the
 * file, the tensor and what is wrong. */
ATTN_API attn_status attn_model_load(attn_context *context, const char *path, attn_model **model);
/* Writes a model file: to a temporary file beside `path`, which is synced and then renamed. Errors:
 * INVALID_ARGUMENT (NULL), SYSTEM_ERROR (`path` is a directory or a device, or cannot be written; an earlier
 * file is then unchanged), OUT_OF_MEMORY. */
ATTN_API attn_status attn_model_save(const attn_model *model, const char *path);
ATTN_API void attn_model_destroy(attn_model *model); /* NULL is allowed */

/* A hash of the content of the model file (tensors, vocabulary, configuration, metrics) at the time it was
 * loaded. 0 for a model that was not loaded from a file. Processes that predict together can check with it
 * that all have the same model (attn_exchange_agree). */
ATTN_API uint64_t attn_model_fingerprint(const attn_model *model);

/* The configuration it was trained with; do not set values. Its getters write into it (attn/config.h). */
ATTN_API attn_config *attn_model_config(const attn_model *model);
/* The parameters of its network, or networks. */
ATTN_API attn_parameters *attn_model_parameters(const attn_model *model);
/* The parameters of the network that splits raw text into sentences and words; NULL: the model has none. */
ATTN_API attn_parameters *attn_model_splitter(const attn_model *model);

/* How the weights are stored in the file, for display: "32 bits per number", "16 bits per number, without
 * empty rows", ... attn_model_save stores them as training.store of the configuration says. */
ATTN_API const char *attn_model_storage(const attn_model *model);

/* Metrics on the development data when the model was saved, and the progress of training: a JSON object; "{}"
 * if there are none, and for NULL. */
ATTN_API const char *attn_model_metrics(const attn_model *model);
/* The same one by one, including members of nested objects: index 0, 1, ... until it returns 0. The texts
 * belong to the model. A plain struct: it will not grow. */
typedef struct attn_model_metric_text {
    const char *name, *value; /* value: a number, a word, true, false or null */
    double number;            /* NaN: the value is not a number */
    int whole;                /* 1: the value is an integer */
} attn_model_metric_text;
ATTN_API int attn_model_metric_at(const attn_model *model, int64_t index, attn_model_metric_text *metric);
/* The metric of that name; NaN if there is none. */
ATTN_API double attn_model_metric(const attn_model *model, const char *name);

/* The number of units of its vocabulary (0: it has none), and a unit. */
ATTN_API int64_t attn_model_vocabulary(const attn_model *model);
ATTN_API const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index);

/* Its task and its kind of input. */
ATTN_API const char *attn_model_task(const attn_model *model);
ATTN_API const char *attn_model_input(const attn_model *model);

/* Its networks, by name ("main", "member.1", ...); several form an ensemble. The parameters of all but the
 * first begin with the network's name. */
ATTN_API int attn_model_networks(const attn_model *model);
ATTN_API const char *attn_model_network(const attn_model *model, int index);

/* Its outputs: one per target column, or one that produces symbols. The kinds are "class" (one of its
 * labels), "crf" (a class that depends on those of the neighbours), "labels" (any number of its labels) and
 * "number" for target columns, and "sequence", "ctc" and "next" for symbols. several: 1 if any number of
 * labels applies. */
ATTN_API int attn_model_outputs(const attn_model *model);
ATTN_API const char *attn_model_output_name(const attn_model *model, int output);
ATTN_API const char *attn_model_output_kind(const attn_model *model, int output);
ATTN_API int attn_model_output_several(const attn_model *model, int output);
ATTN_API int attn_model_per_token(const attn_model *model); /* 1: a prediction per row; 0: one per example */
/* attn_model_longest: the largest number of rows that the network processes at once. Longer sources of
 * seq2seq are truncated to it; other longer examples are processed in pieces. If an example has one
 * prediction, the pieces overlap, and the prediction is made from the rows of all of them. attn_model_most:
 * for models with one prediction per example, the largest number of rows that are used (encoder.pieces); the
 * rest is ignored. It equals attn_model_longest for models with a prediction per row, which never truncate,
 * and for models that produce symbols. */
ATTN_API int64_t attn_model_longest(const attn_model *model);
ATTN_API int64_t attn_model_most(const attn_model *model);
/* The labels of an output: how many, and their texts. */
ATTN_API int64_t attn_model_labels(const attn_model *model, int output);
ATTN_API const char *attn_model_label(const attn_model *model, int output, int64_t label);
/* The temperature T of an output with labels, fitted to the development data at the end of training
 * (output.calibrate). With p the mean of the networks' probabilities (with a CRF: marginals), the predicted
 * probabilities are softmax(ln p / T), and sigmoid(logit p / T) for several labels. If T is 1, the predicted
 * probabilities are p. NaN for outputs without labels. */
ATTN_API double attn_model_temperature(const attn_model *model, int output);

/* The symbols that it can produce: how many (0 for models that produce none), and their texts. Symbol 0 is
 * the end of a sequence (of a language model: the unknown symbol). */
ATTN_API int64_t attn_model_symbols(const attn_model *model);
ATTN_API const char *attn_model_symbol(const attn_model *model, int64_t index);

/* Fills in the reader options for data of the model: its kind of input, its columns, and the format AUTO
 * unless its task has a format. The texts in them belong to the model. */
ATTN_API void attn_model_reader_options_sized(const attn_model *model, attn_reader_options *options,
                                              size_t size);
static inline void attn_model_reader_options(const attn_model *model, attn_reader_options *options) {
    attn_model_reader_options_sized(model, options, sizeof *options); /* as an init function: see ATTN_INIT */
}

ATTN_END_DECLS

#endif
