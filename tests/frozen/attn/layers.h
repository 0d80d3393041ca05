/* layers.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_LAYERS_H
#define ATTN_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/operations.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/tape.h>

ATTN_BEGIN_DECLS

typedef struct attn_linear attn_linear;
ATTN_API attn_linear *attn_linear_create(attn_parameters *parameters, const char *name, int64_t in,
                                         int64_t out, int with_bias, attn_activation activation);
ATTN_API attn_variable *attn_linear_apply(attn_tape *tape, const attn_linear *layer, attn_variable *x);

typedef enum attn_norm_kind {
    ATTN_NORM_LAYER = 0,
    ATTN_NORM_RMS = 1,
    ATTN_NORM_NONE = 2
} attn_norm_kind;

typedef struct attn_norm attn_norm;
ATTN_API attn_norm *attn_norm_create(attn_parameters *parameters, const char *name, attn_norm_kind kind,
                                     int64_t columns);

ATTN_API attn_norm *attn_norm_create_epsilon(attn_parameters *parameters, const char *name,
                                             attn_norm_kind kind, int64_t columns, float epsilon);
ATTN_API attn_variable *attn_norm_apply(attn_tape *tape, const attn_norm *layer, attn_variable *x);

typedef struct attn_embedding attn_embedding;
ATTN_API attn_embedding *attn_embedding_create(attn_parameters *parameters, const char *name, int64_t entries,
                                               int64_t columns);
ATTN_API attn_variable *attn_embedding_apply(attn_tape *tape, const attn_embedding *layer, const int32_t *ids,
                                             int64_t count);

enum { ATTN_MULTIHEAD_ROOM = 512, ATTN_MIXER_ROOM = 1024, ATTN_BLOCK_ROOM = 2048 };

typedef struct attn_places {
    size_t size;
    attn_ragged batch;
    const int64_t *first;
    attn_variable *source;
    attn_ragged source_batch;

    const attn_graph *graph;
    attn_variable *edges;

    const int64_t *heights, *widths;

    float *weights;
} attn_places;
ATTN_INIT(attn_places)

typedef enum attn_position {
    ATTN_POSITION_NONE = 0,
    ATTN_POSITION_SINUSOIDAL = 1,
    ATTN_POSITION_LEARNED = 2,
    ATTN_POSITION_ONE_HOT = 3,
    ATTN_POSITION_ROTARY = 4,
    ATTN_POSITION_ALIBI = 5,
    ATTN_POSITION_RELATIVE = 6,
    ATTN_POSITION_GRID = 7,
    ATTN_POSITION_GRID_LEARNED = 8,
    ATTN_POSITION_GRID_RELATIVE = 9
} attn_position;

typedef struct attn_positions attn_positions;

ATTN_API attn_positions *attn_positions_create(attn_parameters *parameters, const char *name,
                                               attn_position kind, int64_t columns, int64_t longest);

ATTN_API attn_variable *attn_positions_apply(attn_tape *tape, const attn_positions *layer, attn_variable *x,
                                             const attn_places *places);

typedef enum attn_heads_form {
    ATTN_HEADS_STANDARD = 0,
    ATTN_HEADS_NARROW = 1,
    ATTN_HEADS_WIDE = 2,
    ATTN_HEADS_RAW = 3,
    ATTN_HEADS_SHARED = 4
} attn_heads_form;

typedef enum attn_edge_term { ATTN_EDGE_SCORE = 1, ATTN_EDGE_KEY = 2, ATTN_EDGE_VALUE = 4 } attn_edge_term;

typedef struct attn_multihead_options {
    size_t size;
    int64_t columns;
    int64_t source_columns;
    int64_t heads;
    int64_t kv_heads;
    int64_t head_width;
    attn_heads_form form;
    int with_bias;
    float output_scale;
    attn_score score;
    attn_weighting weighting;
    int average;
    float scale, softcap, leaky_slope;
    float dropout;
    int64_t left, right;
    attn_position position;
    float rotary_base;
    int64_t buckets, farthest;
    int64_t longest;
    int64_t edge_columns;
    unsigned edge_terms;
    int uniform;
} attn_multihead_options;
ATTN_INIT(attn_multihead_options)

typedef struct attn_multihead attn_multihead;
ATTN_API attn_multihead *attn_multihead_create(attn_parameters *parameters, const char *name,
                                               const attn_multihead_options *options);

ATTN_API attn_variable *attn_multihead_apply(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                             const attn_places *places);

typedef struct attn_feedforward attn_feedforward;
ATTN_API attn_feedforward *attn_feedforward_create(attn_parameters *parameters, const char *name,
                                                   int64_t columns, int64_t inner, attn_activation activation,
                                                   int gated, int with_bias, float output_scale);
ATTN_API attn_variable *attn_feedforward_apply(attn_tape *tape, const attn_feedforward *layer,
                                               attn_variable *x);

typedef enum attn_mixer_kind {
    ATTN_MIXER_ATTENTION = 0,
    ATTN_MIXER_RNN = 1,
    ATTN_MIXER_CNN = 2,
    ATTN_MIXER_FC = 3,
    ATTN_MIXER_MEAN = 4
} attn_mixer_kind;

typedef struct attn_mixer_options {
    size_t size;
    attn_mixer_kind kind;
    int64_t columns;
    int causal;

    union {
        attn_multihead_options attention;
        unsigned char attention_room[ATTN_MULTIHEAD_ROOM];
    };

    attn_recurrence recurrence;
    int directions;
    int64_t hidden;

    int64_t width;
    int64_t dilation;
    attn_activation activation;
    int grid;
} attn_mixer_options;
ATTN_INIT(attn_mixer_options)

typedef struct attn_mixer attn_mixer;
ATTN_API attn_mixer *attn_mixer_create(attn_parameters *parameters, const char *name,
                                       const attn_mixer_options *options);
ATTN_API attn_variable *attn_mixer_apply(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_mixer_columns(const attn_mixer *mixer);

typedef struct attn_mixer_state attn_mixer_state;
ATTN_API attn_status attn_mixer_state_create(attn_context *context, const attn_mixer *mixer, int64_t room,
                                             attn_mixer_state **state);
ATTN_API void attn_mixer_state_destroy(attn_mixer_state *state);
ATTN_API void attn_mixer_state_clear(attn_mixer_state *state);
ATTN_API int64_t attn_mixer_state_rows(const attn_mixer_state *state);

ATTN_API attn_variable *attn_mixer_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                        attn_variable *x);

typedef struct attn_block_options {
    size_t size;
    union {
        attn_mixer_options mixer;
        unsigned char mixer_room[ATTN_MIXER_ROOM];
    };
    int64_t inner;
    attn_activation activation;
    int gated;
    attn_norm_kind norm;
    int norm_first;
    int residual;
    float dropout;
    float output_scale;
    float norm_epsilon;
    attn_activation mixed_activation;
} attn_block_options;
ATTN_INIT(attn_block_options)

typedef struct attn_block attn_block;
ATTN_API attn_block *attn_block_create(attn_parameters *parameters, const char *name,
                                       const attn_block_options *options);
ATTN_API attn_variable *attn_block_apply(attn_tape *tape, const attn_block *block, attn_variable *x,
                                         const attn_places *places);
ATTN_API int64_t attn_block_columns(const attn_block *block);

ATTN_END_DECLS

#endif
