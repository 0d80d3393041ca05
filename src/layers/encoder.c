/* encoder.c: input map, positions, blocks, last norm; whole sequences, or the next rows of one. */
#include <attn/encoder.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "layers/mixer.h"
#include "tape/tape.h"

struct attn_encoder {
    attn_encoder_options options;
    attn_positions *positions;
    attn_linear *input;
    attn_block **block;
    attn_norm *norm;
    int64_t out;
};

void attn_encoder_options_init_sized(attn_encoder_options *options, size_t size) {
    attn_encoder_options own = {.size = sizeof own};
    own.columns = 64;
    own.layers = 2;
    own.position = ATTN_POSITION_SINUSOIDAL;
    own.longest = 512;
    attn_block_options_init(&own.block);
    own.final_norm = 1;
    at_options_give(options, size, &own, sizeof own);
}

/* The blocks. Each branch starts smaller the deeper the stack, so that the sum
 * of all of them is of the size of the input. */
static int add_blocks(attn_parameters *set, const char *name, attn_encoder *encoder) {
    const attn_encoder_options *o = &encoder->options;
    int64_t all = o->columns; /* of x_0 and all results */
    encoder->block = at_layer_memory(set, (size_t)(o->layers > 0 ? o->layers : 1) * sizeof *encoder->block);
    if (!encoder->block) return 0;
    attn_block_options block = o->block;
    block.dropout = o->dropout;
    if (block.residual && block.norm_first) block.output_scale *= 1.0f / sqrtf(2.0f * (float)o->layers);
    attn_position position = o->position;
    if (position == ATTN_POSITION_ROTARY || position == ATTN_POSITION_ALIBI ||
        position == ATTN_POSITION_RELATIVE || position == ATTN_POSITION_GRID_RELATIVE) {
        block.mixer.attention.position = position;
    }
    block.mixer.attention.longest = o->longest;
    encoder->out = o->columns;
    for (int64_t l = 0; l < o->layers; l++) {
        char text[AT_NAME], part[32];
        snprintf(part, sizeof part, "%" PRId64, l);
        if (o->kinds) block.mixer.kind = o->kinds[l];
        block.mixer.columns = encoder->out;
        encoder->block[l] = attn_block_create(set, at_layer_name(text, name, part), &block);
        if (!encoder->block[l]) return 0;
        encoder->out = attn_block_columns(encoder->block[l]);
        all += encoder->out;
        if (encoder->out != o->columns && (o->initial != 0.0f || o->jump == ATTN_JUMP_MEAN)) {
            at_parameters_fail(set, ATTN_SHAPE_MISMATCH,
                               "%s.%" PRId64 ": initial and jump MEAN need blocks that keep the %" PRId64
                               " columns, not make %" PRId64 " of them",
                               name, l, o->columns, encoder->out);
            return 0;
        }
    }
    if (o->jump == ATTN_JUMP_CONCAT) encoder->out = all;
    return 1;
}

static int check_options(attn_parameters *set, const char *name, const attn_encoder_options *o) {
    if (o->columns < 1 || o->layers < 0) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: %" PRId64 " columns and %" PRId64 " layers", name,
                           o->columns, o->layers);
    } else if (!(o->initial >= 0.0f && o->initial < 1.0f)) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: initial is %g; 0 <= initial < 1 is needed", name,
                           (double)o->initial);
    } else if ((int)o->jump < ATTN_JUMP_NONE || (int)o->jump > ATTN_JUMP_MEAN) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: jump is %d, which is not a value of attn_jump",
                           name, (int)o->jump);
    }
    return at_parameters_ready(set);
}

attn_encoder *attn_encoder_create(attn_parameters *parameters, const char *name,
                                  const attn_encoder_options *options) {
    attn_encoder *encoder = at_layer_create(parameters, name, sizeof *encoder);
    if (!encoder || !at_take_encoder(parameters, name, options, &encoder->options)) return NULL;
    attn_encoder_options *o = &encoder->options;
    if (!check_options(parameters, name, o)) return NULL;
    if (o->input_columns == 0) o->input_columns = o->columns;
    int64_t width = o->input_columns + (o->position == ATTN_POSITION_ONE_HOT ? o->longest : 0);
    char text[AT_NAME];
    if (width != o->columns) {
        encoder->input = attn_linear_create(parameters, at_layer_name(text, name, "input"), width, o->columns,
                                            1, ATTN_IDENTITY);
    }
    /* one-hot codes are beside the input, the others are added to what the input map gives */
    encoder->positions = attn_positions_create(parameters, at_layer_name(text, name, "position"), o->position,
                                               o->columns, o->longest);
    if (!encoder->positions || !add_blocks(parameters, name, encoder)) return NULL;
    int last = o->final_norm && o->block.norm_first && o->layers > 0;
    encoder->norm =
        attn_norm_create_epsilon(parameters, at_layer_name(text, name, "norm"),
                                 last ? o->block.norm : ATTN_NORM_NONE, encoder->out, o->block.norm_epsilon);
    encoder->options.kinds = NULL; /* the caller's */
    return at_parameters_ready(parameters) ? encoder : NULL;
}

/* What precedes the blocks. */
static attn_variable *begin(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                            const attn_places *places) {
    int beside = encoder->options.position == ATTN_POSITION_ONE_HOT;
    if (beside) x = attn_positions_apply(tape, encoder->positions, x, places);
    if (encoder->input) x = attn_linear_apply(tape, encoder->input, x);
    if (!beside) x = attn_positions_apply(tape, encoder->positions, x, places);
    return x;
}

/* The blocks, on whole sequences (places; weights may be NULL) or on the next rows of one (states). */
static attn_variable *run_blocks(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                 const attn_places *places, float *const *weights,
                                 attn_mixer_state *const *states) {
    const attn_encoder_options *o = &encoder->options;
    attn_places inner = {.size = sizeof inner};
    if (places) inner = *places;
    attn_variable *first = o->initial > 0.0f ? attn_tape_scale(tape, x, o->initial) : NULL;
    attn_variable **results = NULL;
    if (o->jump != ATTN_JUMP_NONE) {
        results = at_tape_memory(tape, o->layers + 1, sizeof *results);
        if (!results) return NULL;
        results[0] = x;
    }
    for (int64_t l = 0; l < o->layers; l++) {
        inner.weights = weights ? weights[l] : NULL;
        x = states ? at_block_step(tape, encoder->block[l], states[l], x)
                   : attn_block_apply(tape, encoder->block[l], x, &inner);
        if (first) x = attn_tape_add(tape, attn_tape_scale(tape, x, 1.0f - o->initial), first);
        if (results) results[l + 1] = x;
    }
    if (!at_tape_ready(tape)) return NULL;
    if (o->jump == ATTN_JUMP_CONCAT) return attn_tape_concat(tape, results, (int)o->layers + 1);
    if (o->jump == ATTN_JUMP_NONE || o->layers == 0) return x;
    x = results[0];
    for (int64_t l = 1; l <= o->layers; l++) x = attn_tape_add(tape, x, results[l]);
    return attn_tape_scale(tape, x, 1.0f / (float)(o->layers + 1));
}

attn_variable *attn_encoder_weights(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                    const attn_places *places, float *const *weights) {
    if (!at_tape_ready(tape)) return NULL;
    if (!encoder) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "encoder: the encoder is NULL");
    places = at_places_ready(tape, "encoder", places);
    if (!places) return NULL;
    const attn_encoder_options *o = &encoder->options;
    x = begin(tape, encoder, x, places);
    if (o->dropout > 0.0f) x = attn_tape_dropout(tape, x, o->dropout);
    x = run_blocks(tape, encoder, x, places, weights, NULL);
    return attn_norm_apply(tape, encoder->norm, x);
}

attn_variable *attn_encoder_apply(attn_tape *tape, const attn_encoder *encoder, attn_variable *x,
                                  const attn_places *places) {
    return attn_encoder_weights(tape, encoder, x, places, NULL);
}

at_reach at_encoder_reach(const attn_encoder *encoder) {
    at_reach reach = {0, 0};
    for (int64_t l = 0; l < encoder->options.layers; l++)
        reach = at_reach_add(reach, at_mixer_reach(at_block_mixer(encoder->block[l])));
    return reach;
}

attn_mixer_kind at_encoder_kind(const attn_encoder *encoder, int64_t layer) {
    return at_mixer_kind_of(at_block_mixer(encoder->block[layer]));
}

int64_t attn_encoder_columns(const attn_encoder *encoder) { return encoder ? encoder->out : 0; }
int64_t attn_encoder_layers(const attn_encoder *encoder) { return encoder ? encoder->options.layers : 0; }

/* ---- the next rows of a sequence ---- */

struct attn_encoder_state {
    attn_context *context;
    const attn_encoder *encoder;
    int64_t room, rows;
    int broken;
    attn_mixer_state **mixer; /* [layers] */
};

attn_status attn_encoder_state_create(attn_context *context, const attn_encoder *encoder, int64_t room,
                                      attn_encoder_state **state) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!encoder || !state) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "encoder state: %s is NULL",
                       encoder ? "state" : "the encoder");
    }
    if (room < 1) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder state: room for %" PRId64 " rows; at least 1 is needed", room);
    }
    if (encoder->options.position >= ATTN_POSITION_GRID) {
        return at_fail(
            context, ATTN_UNSUPPORTED,
            "encoder state: incremental evaluation is impossible: positions in a grid need all rows");
    }
    int64_t layers = encoder->options.layers;
    attn_encoder_state *s = at_allocate(context, 1, sizeof *s, "the state of an encoder");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->context = context;
    s->encoder = encoder;
    s->room = room;
    s->mixer = at_allocate(context, layers, sizeof *s->mixer, "the state of an encoder");
    attn_status status = s->mixer ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t l = 0; l < layers && status == ATTN_OK; l++) {
        char name[64];
        snprintf(name, sizeof name, "encoder state: block %" PRId64, l);
        status = at_mixer_state_create(context, name, at_block_mixer(encoder->block[l]), room, &s->mixer[l]);
    }
    if (status != ATTN_OK) {
        attn_encoder_state_destroy(s);
        return status;
    }
    *state = s;
    return ATTN_OK;
}

void attn_encoder_state_destroy(attn_encoder_state *state) {
    if (!state) return;
    for (int64_t l = 0; state->mixer && l < state->encoder->options.layers; l++) {
        attn_mixer_state_destroy(state->mixer[l]);
    }
    at_release(state->context, state->mixer);
    at_release(state->context, state);
}

void attn_encoder_state_clear(attn_encoder_state *state) {
    if (!state) return;
    for (int64_t l = 0; l < state->encoder->options.layers; l++) attn_mixer_state_clear(state->mixer[l]);
    state->rows = 0;
    state->broken = 0;
}

int64_t attn_encoder_state_rows(const attn_encoder_state *state) { return state ? state->rows : 0; }

attn_variable *attn_encoder_step(attn_tape *tape, const attn_encoder *encoder, attn_encoder_state *state,
                                 attn_variable *x) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "encoder step", "x", x)) return NULL;
    if (!encoder || !state || state->encoder != encoder) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "encoder step: the encoder or the state is NULL, or the state is another's");
    }
    if (!at_step_fits(tape, "encoder step", x, encoder->options.input_columns, state->rows, state->room,
                      state->broken)) {
        return NULL;
    }
    int64_t offsets[2] = {0, x->rows}, rows = x->rows;
    attn_places places = {.size = sizeof places, .batch = {1, offsets}, .first = &state->rows};
    x = begin(tape, encoder, x, &places);
    if (!x) return NULL;
    state->broken = 1; /* blocks that were done would be ahead of the others */
    x = run_blocks(tape, encoder, x, NULL, NULL, state->mixer);
    x = attn_norm_apply(tape, encoder->norm, x);
    if (!x) return NULL;
    state->broken = 0;
    state->rows += rows;
    return x;
}
