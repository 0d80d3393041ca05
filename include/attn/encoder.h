/* encoder.h: a stack of blocks around a mixer, and the decoder.
 *
 * The encoder takes rows x input_columns and gives rows x columns: an input map
 * if the widths differ (or positions were concatenated), positions, the blocks
 * "name.0", "name.1", ..., and for pre-norm blocks a last norm "name.norm".
 *
 * Two options for deep stacks and for graphs, with x_0 what enters the first block:
 *
 *     initial a    x_{l+1} = (1 - a) block_l(x_l) + a x_0: however often rows are mixed, they keep a part
 *                  of their own. With the mixer MEAN of RAW heads, without residual, norm and
 *                  feed-forward it is propagation with restarts
 *     jump         what comes out (before the last norm): that of the last block; CONCAT: x_0 and the
 *                  results of all blocks side by side; MEAN: their mean
 *
 *     attn_encoder_options options;
 *     attn_encoder_options_init(&options);
 *     options.layers = 2;
 *     options.block.mixer.kind = ATTN_MIXER_RNN;
 *     attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &options);
 *     x = attn_encoder_apply(tape, encoder, x, &places);
 */
#ifndef ATTN_ENCODER_H
#define ATTN_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/layers.h>

ATTN_BEGIN_DECLS

typedef enum attn_jump { ATTN_JUMP_NONE = 0, ATTN_JUMP_CONCAT = 1, ATTN_JUMP_MEAN = 2 } attn_jump;

typedef struct attn_encoder_options {
    size_t size; /* sizeof(attn_encoder_options), set by the init function */
    int64_t columns;
    int64_t input_columns; /* 0: columns */
    int64_t layers;
    attn_position position;   /* SINUSOIDAL after init. Kinds that act inside attention are handed to it */
    int64_t longest;          /* of LEARNED and ONE_HOT, and of the score NONE; 512 after init */
    float dropout;            /* after the input, and in the blocks */
    attn_block_options block; /* all blocks alike; mixer.columns, dropout and output_scale are filled in */
    const attn_mixer_kind *kinds; /* NULL, or [layers]: the mixer of each block */
    int final_norm;               /* 1 after init; counts for pre-norm blocks */
    float initial;                /* 0 <= initial < 1; blocks must then keep their width; 0 after init */
    attn_jump jump;               /* MEAN: blocks must keep their width */
} attn_encoder_options;

/* 64 columns, 2 layers of self-attention with 4 heads, feed-forward 4 x, GELU, pre-norm. */
ATTN_API void attn_encoder_options_init(attn_encoder_options *options);

typedef struct attn_encoder attn_encoder;
ATTN_API attn_encoder *attn_encoder_create(attn_parameters *parameters, const char *name,
                                           const attn_encoder_options *options);

/* places->weights is not used here: attn_encoder_weights asks for them. */
ATTN_API attn_variable *attn_encoder_apply(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                           const attn_places *places);
ATTN_API int64_t attn_encoder_columns(const attn_encoder *encoder); /* of its result */
ATTN_API int64_t attn_encoder_layers(const attn_encoder *encoder);

/* The same pass, with the attention weights of block l in weights[l] where that
 * is not NULL (sized as attn_attention_weights_count says). */
ATTN_API attn_variable *attn_encoder_weights(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                             const attn_places *places, float *const *weights);

/* ---- an encoder that takes a sequence row by row ----
 *
 * For encoders that never look ahead (causal). A step takes the next k >= 1 rows
 * of one sequence (a prompt at once, then one by one) and gives their k results,
 * equal to what attn_encoder_apply gives for these rows of the whole sequence up
 * to rounding. Its cost is that of the new rows, not of those before.
 *
 * All mixers and mixes of them, with all positions, reaches, forms of heads,
 * scores and weightings that they have.
 *
 *     attn_encoder_state_create(context, encoder, room, &state);
 *     for (;;) {
 *         attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
 *         y = attn_encoder_step(tape, encoder, state, next rows);
 *     }
 *
 * State, errors and the rest are as those of attn_mixer_state (attn/layers.h). */

typedef struct attn_encoder_state attn_encoder_state;
ATTN_API attn_status attn_encoder_state_create(attn_context *context, const attn_encoder *encoder,
                                               int64_t room, attn_encoder_state **state);
ATTN_API void attn_encoder_state_destroy(attn_encoder_state *state);       /* NULL is allowed */
ATTN_API void attn_encoder_state_clear(attn_encoder_state *state);         /* a new sequence begins */
ATTN_API int64_t attn_encoder_state_rows(const attn_encoder_state *state); /* so far */

/* x: k x input_columns of the encoder. */
ATTN_API attn_variable *attn_encoder_step(attn_tape *tape, const attn_encoder *encoder,
                                          attn_encoder_state *state, attn_variable *x);

/* ---- decoder ----
 *
 * Blocks of causal self-attention, cross-attention on a source (unless
 * source_columns is 0: a language model) and feed-forward. */

typedef struct attn_decoder_options {
    size_t size; /* sizeof(attn_decoder_options), set by the init function */
    int64_t columns, layers, heads, kv_heads;
    int64_t source_columns; /* 0: no cross-attention */
    int64_t inner;          /* feed-forward; 4 x columns after init (256) */
    attn_activation activation;
    int gated;
    attn_norm_kind norm;
    int norm_first;
    int with_bias;
    attn_position position;
    int64_t longest;
    float dropout, attention_dropout;
    float norm_epsilon; /* 0: 1e-5 */
} attn_decoder_options;
ATTN_API void attn_decoder_options_init(attn_decoder_options *options);

typedef struct attn_decoder attn_decoder;
ATTN_API attn_decoder *attn_decoder_create(attn_parameters *parameters, const char *name,
                                           const attn_decoder_options *options);

/* All rows of every sequence at once: training. places as for attn_multihead.
 * places->weights: NULL, or the cross-attention weights of the last block. */
ATTN_API attn_variable *attn_decoder_apply(attn_tape *tape, const attn_decoder *decoder, attn_variable *x,
                                           const attn_places *places);

/* A key/value cache: what has been decoded so far, for `sequences` of at most
 * `room` rows each; the keys and values of the source, too. */
typedef struct attn_cache attn_cache;
ATTN_API attn_status attn_cache_create(const attn_decoder *decoder, int64_t sequences, int64_t room,
                                       attn_cache **cache);
ATTN_API void attn_cache_destroy(attn_cache *cache); /* NULL is allowed */

/* Begins `sequences` (at most those of the create) new sequences on this source
 * (NULL without cross-attention): sequence b decodes from source sequence b.
 * The tape predicts. */
ATTN_API attn_status attn_cache_begin(attn_tape *tape, attn_cache *cache, int64_t sequences,
                                      attn_variable *source, const attn_ragged *source_batch);

/* Sequence b goes on from what was sequence from[b]; there are `sequences` of
 * them then. For beams: an entry may be named many times or never. */
ATTN_API attn_status attn_cache_reorder(attn_cache *cache, int64_t sequences, const int64_t *from);

/* Rows that every sequence has so far. */
ATTN_API int64_t attn_cache_length(const attn_cache *cache);

/* One more row for every sequence: x is sequences x columns, so is the result,
 * equal to what attn_decoder_apply gives for that row up to rounding. The tape
 * predicts (nothing is recorded). weights: NULL, or sequences x heads x (the
 * longest source) cross-attention weights of the last block, 0 past a source's end. */
ATTN_API attn_variable *attn_decoder_step(attn_tape *tape, const attn_decoder *decoder, attn_cache *cache,
                                          attn_variable *x, float *weights);

ATTN_END_DECLS

#endif
