/* model.h of the last release, without its comments (tests/test_frozen.sh). */
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

ATTN_API attn_status attn_model_load(attn_context *context, const char *path, attn_model **model);

ATTN_API attn_status attn_model_save(const attn_model *model, const char *path);
ATTN_API void attn_model_destroy(attn_model *model);

ATTN_API uint64_t attn_model_fingerprint(const attn_model *model);

ATTN_API attn_config *attn_model_config(const attn_model *model);
ATTN_API attn_parameters *attn_model_parameters(const attn_model *model);

ATTN_API attn_parameters *attn_model_splitter(const attn_model *model);

ATTN_API const char *attn_model_storage(const attn_model *model);

ATTN_API const char *attn_model_scores(const attn_model *model);

typedef struct attn_model_score_text {
    const char *name, *value;
    double number;
    int whole;
} attn_model_score_text;
ATTN_API int attn_model_score(const attn_model *model, int64_t index, attn_model_score_text *score);

ATTN_API double attn_model_metric(const attn_model *model, const char *name);

ATTN_API int64_t attn_model_vocabulary(const attn_model *model);
ATTN_API const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index);

ATTN_API const char *attn_model_task(const attn_model *model);
ATTN_API const char *attn_model_input(const attn_model *model);

ATTN_API int attn_model_networks(const attn_model *model);
ATTN_API const char *attn_model_network(const attn_model *model, int index);

ATTN_API int attn_model_outputs(const attn_model *model);
ATTN_API const char *attn_model_output_name(const attn_model *model, int output);
ATTN_API const char *attn_model_output_kind(const attn_model *model, int output);
ATTN_API int attn_model_output_several(const attn_model *model,
                                       int output);
ATTN_API int attn_model_per_token(const attn_model *model);

ATTN_API int64_t attn_model_longest(const attn_model *model);
ATTN_API int64_t attn_model_labels(const attn_model *model, int output);
ATTN_API const char *attn_model_label(const attn_model *model, int output, int64_t label);

ATTN_API double attn_model_temperature(const attn_model *model, int output);

ATTN_API int64_t attn_model_symbols(const attn_model *model);
ATTN_API const char *attn_model_symbol(const attn_model *model, int64_t index);

ATTN_API void attn_model_reader_options_sized(const attn_model *model, attn_reader_options *options,
                                              size_t size);
static inline void attn_model_reader_options(const attn_model *model, attn_reader_options *options) {
    attn_model_reader_options_sized(model, options, sizeof *options);
}

ATTN_END_DECLS

#endif
