/* layers.h (private): what layers share, and the parts that models use. */
#ifndef AT_LAYERS_LAYERS_H
#define AT_LAYERS_LAYERS_H

#include <attn/encoder.h>
#include <attn/layers.h>

#include "tape/parameters.h"

enum { AT_NAME = 256 };

/* "prefix.part" into text of AT_NAME bytes; returns it. A name that does not
 * fit is cut, and then refused as a duplicate or seen in the parameter list. */
const char *at_layer_name(char *text, const char *prefix, const char *part);

/* Cleared memory for a layer; NULL with the set's error set. */
void *at_layer_memory(attn_parameters *set, size_t bytes);
/* The same for the layer itself, which needs a name. */
void *at_layer_create(attn_parameters *set, const char *name, size_t bytes);

/* A weight, out x in, that starts XAVIER as if it had fan_out rows, times scale;
 * a bias of 0; the rest of the kinds. */
attn_parameter *at_add_weight(attn_parameters *set, const char *prefix, const char *part, int64_t out,
                              int64_t in, int64_t fan_out, float scale);
attn_parameter *at_add_vector(attn_parameters *set, const char *prefix, const char *part, int64_t count,
                              attn_parameter_kind kind, float value);

/* Options of any version, those inside of them too, as this version has them; given NULL: the defaults. 0
 * with the set's error set. */
int at_take_multihead(attn_parameters *set, const char *layer, const attn_multihead_options *given,
                      attn_multihead_options *into);
int at_take_mixer(attn_parameters *set, const char *layer, const attn_mixer_options *given,
                  attn_mixer_options *into);
int at_take_block(attn_parameters *set, const char *layer, const attn_block_options *given,
                  attn_block_options *into);
int at_take_encoder(attn_parameters *set, const char *layer, const attn_encoder_options *given,
                    attn_encoder_options *into);
int at_take_decoder(attn_parameters *set, const char *layer, const attn_decoder_options *given,
                    attn_decoder_options *into);

/* Whether a value is one of its enum, whose last is `last`; else 0 with the set's error set. */
int at_layer_knows(attn_parameters *set, const char *layer, const char *what, int value, int last);

/* Places as this version has them: those given, or a copy that the tape keeps. NULL, with the tape's error
 * set, unless places is there and was set up by attn_places_init. */
const attn_places *at_places_ready(attn_tape *tape, const char *layer, const attn_places *places);

/* The grids of places. 0, with the tape's error set, if it has none. */
int at_places_grids(attn_tape *tape, const char *layer, const attn_places *places, attn_grids *grids);

/* The codes of ATTN_POSITION_GRID and GRID_LEARNED, and x with them added. */
typedef struct at_grid at_grid;
at_grid *at_grid_create(attn_parameters *set, const char *name, int64_t columns);
at_grid *at_grid_create_learned(attn_parameters *set, const char *name, int64_t columns, int64_t longest);
attn_variable *at_grid_apply(attn_tape *tape, const at_grid *grid, attn_variable *x,
                             const attn_places *places);

/* ATTN_POSITION_RELATIVE: the bucket of a distance: one for each small one, then in logarithmic steps; the
 * second half for distances above 0. */
int64_t at_relative_bucket(int64_t distance, int64_t buckets, int64_t farthest);

/* ATTN_POSITION_GRID_RELATIVE: its table, and what it adds to the scores of the rows of places, as the bias
 * of inputs and options. 0 with the tape's error set. */
attn_parameter *at_grid_relative_create(attn_parameters *set, const char *name, int64_t heads,
                                        int64_t farthest);
int at_grid_relative_apply(attn_tape *tape, attn_parameter *table, int64_t farthest, int64_t rows,
                           const attn_places *places, attn_attention_inputs *inputs,
                           attn_attention_options *options);

/* The parts of a multi-head layer that a cache needs; only of the form STANDARD.
 * project: query, key and value of self-attention, rotated if that is requested.
 * query and source: those of cross-attention. output: W_o. */
int at_multihead_project(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                         const attn_ragged *batch, const int64_t *first, attn_variable **query,
                         attn_variable **key, attn_variable **value);
attn_variable *at_multihead_query(attn_tape *tape, const attn_multihead *layer, attn_variable *x);
int at_multihead_source(attn_tape *tape, const attn_multihead *layer, attn_variable *source,
                        attn_variable **key, attn_variable **value);
attn_variable *at_multihead_output(attn_tape *tape, const attn_multihead *layer, attn_variable *x);
const attn_multihead_options *at_multihead_options(const attn_multihead *layer);
/* The next rows of one sequence, in any form: x are its rows from `first` on; keys and values: room for first
 * + x->rows rows of kv_heads * head_width, of which the first `first` are as earlier calls left them and the
 * rest are written. One memory for both where they are the same rows. */
attn_variable *at_multihead_step(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                 int64_t first, float *keys, float *values);
/* The operator's options as the layer uses them, and its bias by distance (or NULL). */
attn_variable *at_multihead_operator(attn_tape *tape, const attn_multihead *layer,
                                     attn_attention_options *options);

/* attn_multihead_apply and attn_mixer_apply with an activation of the result. */
attn_variable *at_multihead_activated(attn_tape *tape, const attn_multihead *layer, attn_variable *x,
                                      const attn_places *places, attn_activation activation);
attn_variable *at_mixer_activated(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                  const attn_places *places, attn_activation activation);

/* How far a row looks: rows before and after it that its result depends on; ATTN_UNLIMITED: all. */
typedef struct at_reach {
    int64_t left, right;
} at_reach;
at_reach at_mixer_reach(const attn_mixer *mixer);
at_reach at_encoder_reach(const attn_encoder *encoder); /* of all its blocks together */
/* Of one layer after another. */
at_reach at_reach_add(at_reach a, at_reach b);

/* The kind of a mixer, and of that of a block. */
attn_mixer_kind at_mixer_kind_of(const attn_mixer *mixer);
attn_mixer_kind at_encoder_kind(const attn_encoder *encoder, int64_t layer);

/* A block's mixer, and the block on the next rows of the sequence that the state of its mixer holds. */
const attn_mixer *at_block_mixer(const attn_block *block);
attn_variable *at_block_step(attn_tape *tape, const attn_block *block, attn_mixer_state *state,
                             attn_variable *x);

#endif
