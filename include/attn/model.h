/* model.h: trained networks with all that belongs to them, in one file.
 *
 *     attn_model_load(context, "pos.safetensors", &model);
 *     attn_predictor_create(model, context, &predictor);        attn/predictor.h goes on from here
 *
 * A model does not change after it is loaded: threads may share it, each with a predictor of its own. Its
 * memory is that of the context it was loaded with, which must outlive it. The file is specified in
 * docs/format.md.
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

/* Opens a model file. Every size in it is checked against every other before anything is allocated, every
 * tensor against its checksum (if the file has them), and every weight for being finite.
 * Files of up to 256 MB are read into memory of the context. Larger ones are mapped, not copied: as long as
 * the model is there, such a file must not be overwritten or cut in place (cp, truncate), which would change
 * the weights or end the process with SIGBUS; a new file renamed onto it (mv, attn_model_save) does no harm.
 * Errors: INVALID_ARGUMENT (not a model, or a damaged one: the file, the tensor and what is wrong),
 * NOT_FINITE (a weight is NaN or infinite: the file and the tensor), SYSTEM_ERROR, OUT_OF_MEMORY. */
ATTN_API attn_status attn_model_load(attn_context *context, const char *path, attn_model **model);
/* Writes it: to a temporary name beside `path`, synced, then renamed. */
ATTN_API attn_status attn_model_save(const attn_model *model, const char *path);
ATTN_API void attn_model_destroy(attn_model *model); /* NULL is allowed */

/* A number that tells model files apart by all that is in them (tensors, vocabulary, configuration, scores),
 * as they were when the model was loaded: ranks compare it (attn_exchange_agree). 0 for NULL. */
ATTN_API uint64_t attn_model_fingerprint(const attn_model *model);

/* How it was made; not to be set. Asking it for a value writes the text into it: one thread at a time. */
ATTN_API attn_config *attn_model_config(const attn_model *model);
ATTN_API attn_parameters *attn_model_parameters(const attn_model *model);
/* Those of the network that splits raw text into sentences and words; NULL: the model has none. */
ATTN_API attn_parameters *attn_model_splitter(const attn_model *model);

/* Scores on the development data when it was saved, and how far training was: a JSON object; "{}" if none. */
ATTN_API const char *attn_model_scores(const attn_model *model);
/* The same one by one, those of objects in it among them: index 0, 1, ... until it returns 0. The texts
 * belong to the model. */
typedef struct attn_model_score_text {
    const char *name, *value; /* value: a number, a word, true, false or null */
    double number;            /* NaN: the value is no number */
    int whole;                /* an integer */
} attn_model_score_text;
ATTN_API int attn_model_score(const attn_model *model, int64_t index, attn_model_score_text *score);
/* The number of that name; NaN if there is none. */
ATTN_API double attn_model_metric(const attn_model *model, const char *name);

/* How many units its vocabulary has (0: none); unit `index`, NULL out of range. */
ATTN_API int64_t attn_model_vocabulary(const attn_model *model);
ATTN_API const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index);

/* The task that it learned, and the kind of input that it reads. */
ATTN_API const char *attn_model_task(const attn_model *model);
ATTN_API const char *attn_model_input(const attn_model *model);

/* Its networks, by name ("main", "member.1", ...): several answer together. The parameters of all but the
 * first begin with their name. */
ATTN_API int attn_model_networks(const attn_model *model);
ATTN_API const char *attn_model_network(const attn_model *model, int index);

/* What it answers: one output a target column ("class": one of its labels, "labels": any number of them,
 * "number", "crf": a class that depends on its neighbours'), or one that writes symbols ("sequence", "next").
 */
ATTN_API int attn_model_outputs(const attn_model *model);
ATTN_API const char *attn_model_output_name(const attn_model *model, int output);
ATTN_API const char *attn_model_output_kind(const attn_model *model, int output);
ATTN_API int attn_model_output_several(const attn_model *model,
                                       int output);         /* any number of its labels applies */
ATTN_API int attn_model_per_token(const attn_model *model); /* an answer a unit, else one a text */
ATTN_API int64_t attn_model_labels(const attn_model *model, int output);
ATTN_API const char *attn_model_label(const attn_model *model, int output, int64_t label);

/* How many symbols it can write, number 0 being the end of an answer (language models: what is unknown); 0
 * for models that write none. Symbol `index`, NULL out of range. */
ATTN_API int64_t attn_model_symbols(const attn_model *model);
ATTN_API const char *attn_model_symbol(const attn_model *model, int64_t index);

/* How the model reads files: its kind of input, format AUTO unless its task has one, its columns. The texts
 * in it belong to the model. */
ATTN_API void attn_model_reader_options(const attn_model *model, attn_reader_options *options);

ATTN_END_DECLS

#endif
