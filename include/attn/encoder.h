/* encoder.h: the encoder, a stack of blocks, and the decoder.
 *
 * The encoder maps rows x input_columns to rows x columns. It consists of an input map if the widths differ
 * (or positions are concatenated), positions, the blocks "name.0", "name.1", ..., and for pre-norm blocks a
 * final norm "name.norm".
 *
 * Two options for deep stacks and for graphs, with x_0 the input of the first block:
 *
 *     initial a    x_{l+1} = (1 - a) block_l(x_l) + a x_0: every layer adds a part of the row's own input.
 *                  With the mixer MEAN, RAW heads, and no residual, norm or feed-forward, this is
 *                  propagation with restarts (APPNP)
 *     jump         (jumping knowledge) what the output is, before the final norm. NONE: the result of the
 *                  last block; CONCAT: x_0 and the results of all blocks, concatenated; MEAN: their mean
 *
 *     attn_encoder_options options;
 *     attn_encoder_options_init(&options);
 *     options.layers = 2;
 *     options.block.mixer.kind = ATTN_MIXER_RNN;
 *     attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &options);
 *     x = attn_encoder_apply(tape, encoder, x, &places);
 *
 * Errors of the functions that return an encoder, a decoder or a variable: those of the create, apply and
 * step functions of layers (attn/layers.h), and sticky like them. The rules for threads are those of layers,
 * too; a state or a cache is used by one thread at a time.
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
    attn_position position; /* SINUSOIDAL after init. Kinds that act inside attention go to the blocks */
    int64_t longest;        /* largest number of positions for LEARNED, ONE_HOT and the score NONE; largest
                               height and width of a grid for GRID_LEARNED; 512 after init */
    float dropout;          /* after the input, and in the blocks */
    union {
        attn_block_options block; /* of every block; the encoder sets mixer.columns, dropout, output_scale */
        unsigned char block_room[ATTN_BLOCK_ROOM];
    };
    const attn_mixer_kind *kinds; /* NULL, or [layers]: the mixer of each block */
    int final_norm;               /* 1 after init; for pre-norm blocks only */
    float initial;                /* 0 <= initial < 1; blocks must then keep their width; 0 after init */
    attn_jump jump;               /* MEAN: blocks must keep their width */
} attn_encoder_options;

/* 64 columns, 2 layers of self-attention with 4 heads, feed-forward of 4 x 64, GELU, pre-norm. */
ATTN_INIT(attn_encoder_options)

typedef struct attn_encoder attn_encoder;
ATTN_API attn_encoder *attn_encoder_create(attn_parameters *parameters, const char *name,
                                           const attn_encoder_options *options);

/* The rows after all blocks. Ignores places->weights: see attn_encoder_weights. */
ATTN_API attn_variable *attn_encoder_apply(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                           const attn_places *places);
ATTN_API int64_t attn_encoder_columns(const attn_encoder *encoder); /* of its result */
ATTN_API int64_t attn_encoder_layers(const attn_encoder *encoder);

/* As attn_encoder_apply. It also writes the attention weights of block l to
 * weights[l] if that is not NULL (attn_attention_weights_count elements). */
ATTN_API attn_variable *attn_encoder_weights(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                             const attn_places *places, float *const *weights);

/* ---- incremental evaluation ----
 *
 * For encoders that do not look ahead (causal). A step takes the next k >= 1 rows
 * of one sequence (a prompt at once, then row by row) and gives their k results,
 * equal up to rounding to those of attn_encoder_apply for the whole sequence. Only
 * the new rows are computed.
 *
 * Incremental evaluation supports all mixers and combinations of them. Attention may
 * have any reach to the left, form of heads, score, weighting and position. Not
 * supported are graphs, edge features, and positions and mixers on a grid.
 *
 *     attn_encoder_state_create(context, encoder, room, &state);
 *     for (;;) {
 *         attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
 *         y = attn_encoder_step(tape, encoder, state, next_rows);
 *     }
 *
 * The rules for a state, and its errors, are those of attn_mixer_state
 * (attn/layers.h). */

typedef struct attn_encoder_state attn_encoder_state;
/* Errors: INVALID_ARGUMENT (NULL, room below 1), UNSUPPORTED (it looks ahead, or has something else that is
 * not supported; the message says what), OUT_OF_MEMORY. */
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
ATTN_INIT(attn_decoder_options)

typedef struct attn_decoder attn_decoder;
ATTN_API attn_decoder *attn_decoder_create(attn_parameters *parameters, const char *name,
                                           const attn_decoder_options *options);

/* All rows of every sequence at once, for training. places as for
 * attn_multihead. places->weights: NULL, or where to write the cross-attention
 * weights of the last block. */
ATTN_API attn_variable *attn_decoder_apply(attn_tape *tape, const attn_decoder *decoder, attn_variable *x,
                                           const attn_places *places);

/* A key/value cache: the keys and values of the rows decoded so far, for
 * `sequences` sequences of at most `room` rows each, and those of the source. */
typedef struct attn_cache attn_cache;
/* *cache is untouched on failure. Errors: INVALID_ARGUMENT (NULL, sequences or room below 1), OUT_OF_MEMORY;
 * the message is in the context of the set of parameters. */
ATTN_API attn_status attn_cache_create(const attn_decoder *decoder, int64_t sequences, int64_t room,
                                       attn_cache **cache);
ATTN_API void attn_cache_destroy(attn_cache *cache); /* NULL is allowed */

/* Begins `sequences` new sequences (at most as many as at creation) on this
 * source (NULL without cross-attention): sequence b has source sequence b. The
 * tape's mode must be ATTN_TAPE_PREDICT. Errors, which the tape also keeps:
 * INVALID_ARGUMENT (NULL, too many sequences, a source that is missing, or one
 * for a decoder without cross-attention), SHAPE_MISMATCH (the source),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_cache_begin(attn_tape *tape, attn_cache *cache, int64_t sequences,
                                      attn_variable *source, const attn_ragged *source_batch);

/* Afterwards the cache holds `sequences` sequences, and sequence b continues
 * the old sequence from[b]. As beam search needs it, `from` may contain an old
 * sequence several times or not at all. The new order must keep the hypotheses
 * of one source adjacent, and the sources in their order.
 * Errors: INVALID_ARGUMENT (a number out of range, more sequences than the cache was made for),
 * UNSUPPORTED (they would no longer be adjacent). */
ATTN_API attn_status attn_cache_reorder(attn_cache *cache, int64_t sequences, const int64_t *from);

/* The number of rows of every sequence so far. */
ATTN_API int64_t attn_cache_length(const attn_cache *cache);

/* Decodes one more row of every sequence. x and the result are sequences x columns; the result equals that of
 * attn_decoder_apply for this row up to rounding. The tape's mode must be ATTN_TAPE_PREDICT. weights: NULL,
 * or sequences x heads x (the longest source), filled with the cross-attention weights of the last block, 0
 * past a source's end. */
ATTN_API attn_variable *attn_decoder_step(attn_tape *tape, const attn_decoder *decoder, attn_cache *cache,
                                          attn_variable *x, float *weights);

ATTN_END_DECLS

#endif
