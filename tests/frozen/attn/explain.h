/* explain.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_EXPLAIN_H
#define ATTN_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_explanation attn_explanation;

typedef struct attn_explain_options {
    size_t size;
    int64_t example;
    int64_t piece;
    int member;
    int output;
    int64_t row;
    const char *label;
    int gradients;
    int details;
} attn_explain_options;
ATTN_INIT(attn_explain_options)

ATTN_API attn_status attn_predictor_explain(attn_predictor *predictor, const attn_dataset *dataset,
                                            const attn_explain_options *options,
                                            attn_explanation **explanation);
ATTN_API void attn_explanation_destroy(attn_explanation *explanation);

ATTN_API const attn_prediction *attn_explanation_prediction(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_example(const attn_explanation *explanation);

ATTN_API int64_t attn_explanation_pieces(const attn_explanation *explanation);
ATTN_API int64_t attn_explanation_first_row(const attn_explanation *explanation);

ATTN_API int64_t attn_explanation_unseen(const attn_explanation *explanation);

ATTN_API int64_t attn_explanation_rows(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_row(const attn_explanation *explanation, int64_t row);
ATTN_API int64_t attn_explanation_written(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_symbol(const attn_explanation *explanation, int64_t symbol);

ATTN_API int64_t attn_explanation_answers(const attn_explanation *explanation);
ATTN_API const char *attn_explanation_answer(const attn_explanation *explanation, int64_t row);
ATTN_API double attn_explanation_probability(const attn_explanation *explanation, int64_t row);

ATTN_API const char *attn_explanation_target(const attn_explanation *explanation);

ATTN_API int attn_explanation_grid(const attn_explanation *explanation, int64_t *height, int64_t *width);

ATTN_API const double *attn_explanation_contributions(const attn_explanation *explanation);

typedef enum attn_map_part {
    ATTN_MAP_ENCODER = 0,
    ATTN_MAP_DECODER = 1,
    ATTN_MAP_SOURCE = 2,
    ATTN_MAP_POOL = 3
} attn_map_part;

typedef struct attn_map {
    attn_map_part part;
    int64_t layer;
    int64_t heads, queries, keys;
    int64_t width, first_key, key_step;
    const int64_t *first, *key_of;
    int64_t entries;
    const float *weights;
    const float *gradients;
} attn_map;
ATTN_API int64_t attn_explanation_maps(const attn_explanation *explanation);
ATTN_API const attn_map *attn_explanation_map(const attn_explanation *explanation, int64_t index);

ATTN_API const char *attn_map_part_name(attn_map_part part);

ATTN_API int64_t attn_explanation_layers(const attn_explanation *explanation, attn_map_part part);

static inline int64_t attn_map_entries(const attn_map *map, int64_t query) {
    if (!map) return 0;
    return map->first ? map->first[query + 1] - map->first[query] : map->width;
}

static inline int64_t attn_map_key(const attn_map *map, int64_t query, int64_t entry) {
    if (!map) return -1;
    if (map->first) return map->key_of[map->first[query] + entry];
    int64_t key = map->first_key + query * map->key_step + entry;
    return key >= 0 && key < map->keys ? key : -1;
}
static inline int64_t attn_map_place(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    if (!map) return 0;
    return head * map->entries + (map->first ? map->first[query] : query * map->width) + entry;
}
static inline float attn_map_weight(const attn_map *map, int64_t head, int64_t query, int64_t entry) {
    if (!map) return 0;
    return map->weights[attn_map_place(map, head, query, entry)];
}

typedef enum attn_view {
    ATTN_VIEW_WEIGHTS = 0,
    ATTN_VIEW_ROLLOUT = 1,
    ATTN_VIEW_GRADIENT = 2
} attn_view;

ATTN_API attn_status attn_explanation_view(const attn_explanation *explanation, attn_view view,
                                           attn_map_part part, int64_t layer, int64_t head, double *numbers);

typedef enum attn_drawing_format {
    ATTN_DRAWING_SVG = 0,
    ATTN_DRAWING_PNG = 1,
    ATTN_DRAWING_HTML = 2,
    ATTN_DRAWING_TSV = 3,
    ATTN_DRAWING_JSON = 4
} attn_drawing_format;

typedef struct attn_drawing_options {
    size_t size;
    attn_drawing_format format;
    attn_view view;
    int part;
    int64_t layer, head;
    int grid;
    int matrix;
    int64_t row;
    int64_t most;
    uint64_t seed;
    int dark;
    double scale;
    const char *title;
} attn_drawing_options;
ATTN_INIT(attn_drawing_options)

ATTN_API attn_status attn_explanation_write(attn_explanation *explanation,
                                            const attn_drawing_options *options, const char **bytes,
                                            size_t *length);

typedef struct attn_steps_options {
    size_t size;
    int part;
    int64_t layer, head;
    int64_t row;
    int html;
    int64_t width;
    const char *title;
} attn_steps_options;
ATTN_INIT(attn_steps_options)

ATTN_API attn_status attn_explanation_steps(attn_explanation *explanation, const attn_steps_options *options,
                                            const char **bytes, size_t *length);

ATTN_API attn_status attn_positions_write(attn_context *context, const attn_model *model, int64_t positions,
                                          int64_t columns, const attn_drawing_options *options, char **bytes,
                                          size_t *length);
ATTN_API void attn_explain_release(attn_context *context, char *bytes);

ATTN_END_DECLS

#endif
