/* decoder.c: causal self-attention, cross-attention and feed-forward, in blocks. */
#include "layers/decoder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "tape/residual.h"

void attn_decoder_options_init_sized(attn_decoder_options *options, size_t size) {
    attn_decoder_options own = {.size = sizeof own};
    own.columns = 64;
    own.layers = 2;
    own.heads = 4;
    own.source_columns = 64;
    own.inner = 256;
    own.activation = ATTN_GELU;
    own.norm_first = 1;
    own.with_bias = 1;
    own.position = ATTN_POSITION_SINUSOIDAL;
    own.longest = 512;
    at_options_give(options, size, &own, sizeof own);
}

static attn_multihead *make_attention(attn_parameters *set, const char *name, const char *part,
                                      const attn_decoder_options *o, int64_t source_columns,
                                      float output_scale) {
    char text[AT_NAME];
    attn_multihead_options m;
    attn_multihead_options_init(&m);
    m.columns = o->columns;
    m.source_columns = source_columns;
    m.heads = o->heads;
    m.kv_heads = o->kv_heads;
    m.with_bias = o->with_bias;
    m.output_scale = output_scale;
    m.dropout = o->attention_dropout;
    if (!source_columns) {
        m.right = 0;
        if (o->position >= ATTN_POSITION_ROTARY) m.position = o->position;
    }
    return attn_multihead_create(set, at_layer_name(text, name, part), &m);
}

static int make_block(attn_parameters *set, const char *name, const attn_decoder_options *o,
                      float output_scale, at_decoder_block *block) {
    char text[AT_NAME];
    block->self = make_attention(set, name, "self", o, 0, output_scale);
    if (o->source_columns)
        block->cross = make_attention(set, name, "cross", o, o->source_columns, output_scale);
    block->feed = attn_feedforward_create(set, at_layer_name(text, name, "feed"), o->columns, o->inner,
                                          o->activation, o->gated, o->with_bias, output_scale);
    static const char *const names[] = {"norm.0", "norm.1", "norm.2"};
    for (int n = 0; n < 3; n++) {
        if (n == 1 && !o->source_columns) continue;
        block->norm[n] = attn_norm_create_epsilon(set, at_layer_name(text, name, names[n]), o->norm,
                                                  o->columns, o->norm_epsilon);
    }
    return at_parameters_ready(set);
}

attn_decoder *attn_decoder_create(attn_parameters *parameters, const char *name,
                                  const attn_decoder_options *options) {
    attn_decoder *decoder = at_layer_create(parameters, name, sizeof *decoder);
    if (!decoder || !at_take_decoder(parameters, name, options, &decoder->options)) return NULL;
    decoder->parameters = parameters;
    const attn_decoder_options *o = &decoder->options;
    if (o->columns < 1 || o->layers < 1 || o->inner < 1 || o->source_columns < 0) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT,
                                  "%s: %" PRId64 " columns, %" PRId64 " layers, inner %" PRId64
                                  ": at least 1 of each is needed",
                                  name, o->columns, o->layers, o->inner);
    }
    if (o->position == ATTN_POSITION_ONE_HOT || o->position >= ATTN_POSITION_GRID) {
        return at_parameters_fail(
            parameters, ATTN_UNSUPPORTED,
            o->position >= ATTN_POSITION_GRID
                ? "%s: a decoder has no positions in a grid"
                : "%s: a decoder has no one-hot positions; learned ones are equal to them",
            name);
    }
    float output_scale =
        o->norm_first ? 1.0f / sqrtf((o->source_columns ? 3.0f : 2.0f) * (float)o->layers) : 1.0f;
    char text[AT_NAME];
    decoder->positions = attn_positions_create(parameters, at_layer_name(text, name, "position"), o->position,
                                               o->columns, o->longest);
    decoder->block = at_layer_memory(parameters, (size_t)o->layers * sizeof *decoder->block);
    for (int64_t l = 0; decoder->block && l < o->layers; l++) {
        char part[32];
        snprintf(part, sizeof part, "%" PRId64, l);
        if (!make_block(parameters, at_layer_name(text, name, part), o, output_scale, &decoder->block[l]))
            return NULL;
    }
    decoder->norm =
        attn_norm_create_epsilon(parameters, at_layer_name(text, name, "norm"),
                                 o->norm_first ? o->norm : ATTN_NORM_NONE, o->columns, o->norm_epsilon);
    return at_parameters_ready(parameters) ? decoder : NULL;
}

attn_variable *at_branch_begin(attn_tape *tape, const attn_decoder *decoder, const attn_norm *norm,
                               attn_variable *x) {
    return decoder->options.norm_first ? attn_norm_apply(tape, norm, x) : x;
}

attn_variable *at_branch_end(attn_tape *tape, const attn_decoder *decoder, const attn_norm *norm,
                             attn_variable *x, attn_variable *y) {
    y = at_tape_residual(tape, x, y, decoder->options.dropout);
    return decoder->options.norm_first ? y : attn_norm_apply(tape, norm, y);
}

attn_variable *attn_decoder_apply(attn_tape *tape, const attn_decoder *decoder, attn_variable *x,
                                  const attn_places *places) {
    if (!at_tape_ready(tape)) return NULL;
    if (!decoder) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "decoder: the decoder is NULL");
    places = at_places_ready(tape, "decoder", places);
    if (!places) return NULL;
    attn_places self = *places, cross = *places;
    self.source = NULL;
    self.weights = cross.weights = NULL;
    x = attn_positions_apply(tape, decoder->positions, x, places);
    if (decoder->options.dropout > 0.0f) x = attn_tape_dropout(tape, x, decoder->options.dropout);
    for (int64_t l = 0; l < decoder->options.layers; l++) {
        const at_decoder_block *b = &decoder->block[l];
        attn_variable *y = at_branch_begin(tape, decoder, b->norm[0], x);
        x = at_branch_end(tape, decoder, b->norm[0], x, attn_multihead_apply(tape, b->self, y, &self));
        if (b->cross) {
            if (l == decoder->options.layers - 1) cross.weights = places->weights;
            y = at_branch_begin(tape, decoder, b->norm[1], x);
            x = at_branch_end(tape, decoder, b->norm[1], x, attn_multihead_apply(tape, b->cross, y, &cross));
        }
        y = at_branch_begin(tape, decoder, b->norm[2], x);
        x = at_branch_end(tape, decoder, b->norm[2], x, attn_feedforward_apply(tape, b->feed, y));
    }
    return attn_norm_apply(tape, decoder->norm, x);
}
