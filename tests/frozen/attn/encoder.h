/* encoder.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_ENCODER_H
#define ATTN_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/layers.h>

ATTN_BEGIN_DECLS

typedef enum attn_jump { ATTN_JUMP_NONE = 0, ATTN_JUMP_CONCAT = 1, ATTN_JUMP_MEAN = 2 } attn_jump;

typedef struct attn_encoder_options {
    size_t size;
    int64_t columns;
    int64_t input_columns;
    int64_t layers;
    attn_position position;
    int64_t longest;
    float dropout;
    union {
        attn_block_options
            block;
        unsigned char block_room[ATTN_BLOCK_ROOM];
    };
    const attn_mixer_kind *kinds;
    int final_norm;
    float initial;
    attn_jump jump;
} attn_encoder_options;

ATTN_INIT(attn_encoder_options)

typedef struct attn_encoder attn_encoder;
ATTN_API attn_encoder *attn_encoder_create(attn_parameters *parameters, const char *name,
                                           const attn_encoder_options *options);

ATTN_API attn_variable *attn_encoder_apply(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                           const attn_places *places);
ATTN_API int64_t attn_encoder_columns(const attn_encoder *encoder);
ATTN_API int64_t attn_encoder_layers(const attn_encoder *encoder);

ATTN_API attn_variable *attn_encoder_weights(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                             const attn_places *places, float *const *weights);

typedef struct attn_encoder_state attn_encoder_state;

ATTN_API attn_status attn_encoder_state_create(attn_context *context, const attn_encoder *encoder,
                                               int64_t room, attn_encoder_state **state);
ATTN_API void attn_encoder_state_destroy(attn_encoder_state *state);
ATTN_API void attn_encoder_state_clear(attn_encoder_state *state);
ATTN_API int64_t attn_encoder_state_rows(const attn_encoder_state *state);

ATTN_API attn_variable *attn_encoder_step(attn_tape *tape, const attn_encoder *encoder,
                                          attn_encoder_state *state, attn_variable *x);

typedef struct attn_decoder_options {
    size_t size;
    int64_t columns, layers, heads, kv_heads;
    int64_t source_columns;
    int64_t inner;
    attn_activation activation;
    int gated;
    attn_norm_kind norm;
    int norm_first;
    int with_bias;
    attn_position position;
    int64_t longest;
    float dropout, attention_dropout;
    float norm_epsilon;
} attn_decoder_options;
ATTN_INIT(attn_decoder_options)

typedef struct attn_decoder attn_decoder;
ATTN_API attn_decoder *attn_decoder_create(attn_parameters *parameters, const char *name,
                                           const attn_decoder_options *options);

ATTN_API attn_variable *attn_decoder_apply(attn_tape *tape, const attn_decoder *decoder, attn_variable *x,
                                           const attn_places *places);

typedef struct attn_cache attn_cache;

ATTN_API attn_status attn_cache_create(const attn_decoder *decoder, int64_t sequences, int64_t room,
                                       attn_cache **cache);
ATTN_API void attn_cache_destroy(attn_cache *cache);

ATTN_API attn_status attn_cache_begin(attn_tape *tape, attn_cache *cache, int64_t sequences,
                                      attn_variable *source, const attn_ragged *source_batch);

ATTN_API attn_status attn_cache_reorder(attn_cache *cache, int64_t sequences, const int64_t *from);

ATTN_API int64_t attn_cache_length(const attn_cache *cache);

ATTN_API attn_variable *attn_decoder_step(attn_tape *tape, const attn_decoder *decoder, attn_cache *cache,
                                          attn_variable *x, float *weights);

ATTN_END_DECLS

#endif
