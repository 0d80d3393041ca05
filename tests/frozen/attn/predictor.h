/* predictor.h of the last release, without its comments (tests/test_frozen.sh). */
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

ATTN_API attn_status attn_predictor_create(const attn_model *model, attn_context *context,
                                           attn_predictor **predictor);
ATTN_API void attn_predictor_destroy(attn_predictor *predictor);

ATTN_API const char *attn_predictor_error(const attn_predictor *predictor);
ATTN_API attn_context *attn_predictor_context(const attn_predictor *predictor);

ATTN_API attn_status attn_predictor_join(attn_predictor *predictor, attn_exchange *exchange);

typedef struct attn_setting_text {
    const char *name, *initial, *help;
    const char *models;
    int is_switch, whole;
    double minimum, maximum;
} attn_setting_text;
ATTN_API int attn_setting(int index, attn_setting_text *setting);

ATTN_API attn_status attn_predictor_set(attn_predictor *predictor, const char *name, const char *value);

ATTN_API int attn_predictor_has(const attn_predictor *predictor, const char *name);

ATTN_API attn_status attn_predictor_predict(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_prediction **prediction);

ATTN_API attn_status attn_predictor_text(attn_predictor *predictor, const char *text,
                                         attn_prediction **prediction);
ATTN_API void attn_prediction_destroy(attn_prediction *prediction);

ATTN_API int64_t attn_predictor_answered(const attn_predictor *predictor);
ATTN_API int64_t attn_predictor_cut(const attn_predictor *predictor);

ATTN_API const attn_dataset *attn_prediction_split(const attn_prediction *prediction);

ATTN_API attn_status attn_predictor_split(attn_predictor *predictor, const attn_dataset *raw,
                                          attn_dataset **examples);

ATTN_API const char *attn_predictor_rule(const attn_predictor *predictor, const attn_dataset *dataset);

ATTN_API int64_t attn_prediction_examples(const attn_prediction *prediction);

ATTN_API int64_t attn_prediction_units(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_unit(const attn_prediction *prediction, int64_t example, int64_t unit);

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

ATTN_API double attn_prediction_spread(const attn_prediction *prediction, int output, int64_t example,
                                       int64_t unit, int64_t label);

ATTN_API int64_t attn_prediction_words(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_word(const attn_prediction *prediction, int64_t example, int64_t word);

typedef struct attn_search_options {
    size_t size;
    int64_t beam;
    int64_t n_best;
    double length_penalty;
    int64_t longest;
    int alignment;
    int lowercase;
} attn_search_options;
ATTN_INIT(attn_search_options)

ATTN_API attn_status attn_predictor_search(attn_predictor *predictor, const attn_dataset *dataset,
                                           const attn_search_options *options, attn_prediction **prediction);

ATTN_API int64_t attn_prediction_hypotheses(const attn_prediction *prediction, int64_t example);
ATTN_API const char *attn_prediction_text(const attn_prediction *prediction, int64_t example,
                                          int64_t hypothesis);
ATTN_API double attn_prediction_score(const attn_prediction *prediction, int64_t example, int64_t hypothesis);

ATTN_API int attn_prediction_ended(const attn_prediction *prediction, int64_t example, int64_t hypothesis);
ATTN_API int64_t attn_prediction_symbols(const attn_prediction *prediction, int64_t example,
                                         int64_t hypothesis);
ATTN_API const char *attn_prediction_symbol(const attn_prediction *prediction, int64_t example,
                                            int64_t hypothesis, int64_t symbol);

ATTN_API const float *attn_prediction_alignment(const attn_prediction *prediction, int64_t example,
                                                int64_t hypothesis);

typedef struct attn_sampling_options {
    size_t size;
    int64_t tokens;
    double temperature;
    int64_t top_k;
    uint64_t seed;

    int (*watch)(void *user, const char *piece);
    void *user;
} attn_sampling_options;
ATTN_INIT(attn_sampling_options)

ATTN_API attn_status attn_predictor_sampling_sized(attn_predictor *predictor, attn_sampling_options *options,
                                                   size_t size);
static inline attn_status attn_predictor_sampling(attn_predictor *predictor, attn_sampling_options *options) {
    return attn_predictor_sampling_sized(predictor, options, sizeof *options);
}

ATTN_API attn_status attn_predictor_continue(attn_predictor *predictor, const char *prompt,
                                             const attn_sampling_options *options, const char **text);

ATTN_API attn_status attn_predictor_push_text(attn_predictor *predictor, const char *text);
ATTN_API attn_status attn_predictor_next(attn_predictor *predictor, const double **probabilities);

ATTN_API attn_status attn_predictor_push(attn_predictor *predictor, const attn_dataset *rows);

ATTN_API attn_status attn_predictor_finish(attn_predictor *predictor, attn_prediction **prediction);

typedef struct attn_vectors {
    size_t size;
    const float *numbers;
    int64_t rows, columns, examples;
    const int64_t *offsets;
} attn_vectors;
ATTN_INIT(attn_vectors)

ATTN_API attn_status attn_predictor_embed(attn_predictor *predictor, const attn_dataset *dataset, int pooled,
                                          attn_vectors *vectors);

typedef struct attn_write_options {
    size_t size;
    int json;
    int terminal;
    const char *lines;
    size_t length;
    int plain;

    int64_t first, whole;
} attn_write_options;
ATTN_INIT(attn_write_options)

ATTN_API attn_status attn_predictor_write(attn_predictor *predictor, const attn_dataset *dataset,
                                          const attn_write_options *options, const char **text,
                                          size_t *length);

ATTN_END_DECLS

#endif
