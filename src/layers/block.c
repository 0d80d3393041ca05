/* block.c: a mixer and a feed-forward, each with norm, dropout and residual. */
#include "base/options.h"
#include "layers/layers.h"

#include <inttypes.h>
#include <string.h>

#include "tape/residual.h"

struct attn_block {
    attn_block_options options;
    attn_mixer *mixer;
    attn_feedforward *feed;
    attn_norm *norm[2];
};

void attn_block_options_init_sized(attn_block_options *options, size_t size) {
    attn_block_options own = {.size = sizeof own};
    attn_mixer_options_init(&own.mixer);
    own.inner = 4 * own.mixer.columns;
    own.activation = ATTN_GELU;
    own.norm_first = 1;
    own.residual = 1;
    own.output_scale = 1.0f;
    at_options_give(options, size, &own, sizeof own);
}

attn_block *attn_block_create(attn_parameters *parameters, const char *name,
                              const attn_block_options *options) {
    attn_block *block = at_layer_create(parameters, name, sizeof *block);
    if (!block || !at_take_block(parameters, name, options, &block->options)) return NULL;
    options = &block->options;
    if (!at_layer_knows(parameters, name, "mixed_activation", (int)options->mixed_activation, ATTN_ELU))
        return NULL;
    static const char *const parts[] = {"attention", "rnn", "cnn", "fc", "mean"};
    char text[AT_NAME];
    attn_mixer_options mixer = options->mixer;
    mixer.attention.output_scale = options->output_scale;
    int kind = (int)mixer.kind < 0 || (int)mixer.kind > ATTN_MIXER_MEAN ? 0 : (int)mixer.kind;
    block->mixer = attn_mixer_create(parameters, at_layer_name(text, name, parts[kind]), &mixer);
    if (!block->mixer) return NULL;
    int64_t columns = mixer.columns, out = attn_mixer_columns(block->mixer);
    if (options->residual && out != columns) {
        return at_parameters_fail(parameters, ATTN_SHAPE_MISMATCH,
                                  "%s: a residual needs the mixer to give the %" PRId64
                                  " columns it takes, not %" PRId64,
                                  name, columns, out);
    }
    int64_t width = options->norm_first ? columns : out;
    block->norm[0] = attn_norm_create_epsilon(parameters, at_layer_name(text, name, "norm.0"), options->norm,
                                              width, options->norm_epsilon);
    if (options->inner > 0) {
        block->norm[1] = attn_norm_create_epsilon(parameters, at_layer_name(text, name, "norm.1"),
                                                  options->norm, out, options->norm_epsilon);
        block->feed =
            attn_feedforward_create(parameters, at_layer_name(text, name, "feed"), out, options->inner,
                                    options->activation, options->gated, 1, options->output_scale);
    }
    return at_parameters_ready(parameters) ? block : NULL;
}

/* norm, branch, dropout and residual in their order. state: NULL, or x are the next rows of its sequence. */
static attn_variable *branch(attn_tape *tape, const attn_block *block, int which, attn_variable *x,
                             const attn_places *places, attn_mixer_state *state) {
    const attn_block_options *o = &block->options;
    attn_variable *y = o->norm_first ? attn_norm_apply(tape, block->norm[which], x) : x;
    if (which) {
        y = attn_feedforward_apply(tape, block->feed, y);
    } else if (!state) {
        y = at_mixer_activated(tape, block->mixer, y, places, o->mixed_activation);
    } else {
        y = attn_mixer_step(tape, block->mixer, state, y);
        if (o->mixed_activation != ATTN_IDENTITY) y = attn_tape_activation(tape, y, o->mixed_activation);
    }
    if (o->residual) {
        y = at_tape_residual(tape, x, y, o->dropout);
    } else if (o->dropout > 0.0f) {
        y = attn_tape_dropout(tape, y, o->dropout);
    }
    return o->norm_first ? y : attn_norm_apply(tape, block->norm[which], y);
}

attn_variable *attn_block_apply(attn_tape *tape, const attn_block *block, attn_variable *x,
                                const attn_places *places) {
    if (!at_tape_ready(tape)) return NULL;
    if (!block) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "block: the block is NULL");
    x = branch(tape, block, 0, x, places, NULL);
    return block->feed ? branch(tape, block, 1, x, places, NULL) : x;
}

attn_variable *at_block_step(attn_tape *tape, const attn_block *block, attn_mixer_state *state,
                             attn_variable *x) {
    x = branch(tape, block, 0, x, NULL, state);
    return block->feed ? branch(tape, block, 1, x, NULL, state) : x;
}

const attn_mixer *at_block_mixer(const attn_block *block) { return block->mixer; }

int64_t attn_block_columns(const attn_block *block) { return block ? attn_mixer_columns(block->mixer) : 0; }
