/* mixer.c: attention, RNN, CNN, FC over a window and the mean behind one interface.
 *
 *     attention   attn_multihead
 *     rnn         tanh, GRU or LSTM, one or two directions
 *     cnn         act(convolution); on grids over squares
 *     fc          act(linear map of the rows i - left .. i + right side by side); on grids of those of a
 * square mean        attn_multihead with uniform weights
 *
 * A mixer is a kind, its parameters, a function that applies it, and one that
 * takes the next rows of a sequence (mixer_step.c): a new kind is one more set of
 * functions and a row in the table.
 */
#include "layers/mixer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "tape/tape.h"

void attn_mixer_options_init_sized(attn_mixer_options *options, size_t size) {
    attn_mixer_options own = {.size = sizeof own};
    own.columns = 64;
    attn_multihead_options_init(&own.attention);
    own.recurrence = ATTN_RNN_LSTM;
    own.directions = 2;
    own.width = 5;
    own.dilation = 1;
    own.activation = ATTN_RELU;
    at_options_give(options, size, &own, sizeof own);
}

/* ---- attention ---- */

static void make_attention(attn_parameters *set, const char *name, attn_mixer *mixer) {
    attn_multihead_options options = mixer->options.attention;
    options.columns = mixer->options.columns;
    options.source_columns = 0;
    if (mixer->options.causal) options.right = 0;
    mixer->attention = attn_multihead_create(set, name, &options);
    mixer->out = options.columns;
    if (mixer->attention && options.form == ATTN_HEADS_SHARED) /* nothing maps the heads back */
        mixer->out = options.heads * at_multihead_options(mixer->attention)->head_width;
}

/* Everything that would make one weight differ from another is left out. */
static void make_mean(attn_parameters *set, const char *name, attn_mixer *mixer) {
    attn_multihead_options *options = &mixer->options.attention;
    options->uniform = 1;
    options->score = ATTN_SCORE_NONE;
    options->weighting = ATTN_WEIGHTS_SOFTMAX;
    options->position = ATTN_POSITION_NONE;
    options->kv_heads = 0;
    options->average = 0;
    options->scale = options->softcap = 0.0f;
    make_attention(set, name, mixer);
}

static attn_variable *apply_attention(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                      const attn_places *places) {
    return attn_multihead_apply(tape, mixer->attention, x, places);
}

/* ---- rnn ---- */

/* Weights start uniform in +- 1 / sqrt(hidden), as is usual for recurrent ones;
 * the forget gate's bias at 1, so that cells remember from the start. */
static void make_rnn(attn_parameters *set, const char *name, attn_mixer *mixer) {
    attn_mixer_options *o = &mixer->options;
    if (o->causal) o->directions = 1;
    if (o->directions != 1 && o->directions != 2) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT, "%s: %d directions; there are 1 or 2", name,
                           o->directions);
        return;
    }
    if (o->hidden == 0) o->hidden = o->columns / o->directions;
    static const int gates[] = {1, 3, 4};
    int64_t rows = gates[o->recurrence] * o->hidden;
    attn_parameter_options uniform;
    attn_parameter_options_init(&uniform);
    uniform.initial = ATTN_INITIAL_UNIFORM;
    uniform.scale = 1.0f / sqrtf((float)(o->hidden > 0 ? o->hidden : 1));
    for (int d = 0; d < o->directions; d++) {
        char part[2][64], text[AT_NAME];
        int64_t in[2] = {rows, o->columns}, hidden[2] = {rows, o->hidden};
        const char *way = d ? "backward" : "forward";
        attn_recurrent_weights *w = &mixer->direction[d];
        snprintf(part[0], sizeof part[0], "%s.input.weight", way);
        snprintf(part[1], sizeof part[1], "%s.hidden.weight", way);
        w->input = attn_parameters_add(set, at_layer_name(text, name, part[0]), 2, in, &uniform);
        w->hidden = attn_parameters_add(set, at_layer_name(text, name, part[1]), 2, hidden, &uniform);
        snprintf(part[0], sizeof part[0], "%s.input.bias", way);
        snprintf(part[1], sizeof part[1], "%s.hidden.bias", way);
        w->input_bias = at_add_vector(set, name, part[0], rows, ATTN_PARAMETER_BIAS, 0.0f);
        if (o->recurrence != ATTN_RNN_LSTM) { /* one bias does for an LSTM: they are added */
            w->hidden_bias = at_add_vector(set, name, part[1], rows, ATTN_PARAMETER_BIAS, 0.0f);
        } else if (w->input_bias && at_parameters_start(set)) {
            /* the forget gate begins open */
            at_parameters_did(set, at_parameter_fill(w->input_bias, o->hidden, o->hidden, 1.0f));
        }
    }
    mixer->out = o->directions * o->hidden;
}

static attn_variable *apply_rnn(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                const attn_places *places) {
    return attn_tape_recurrent(tape, x, &places->batch, mixer->options.recurrence, mixer->direction,
                               mixer->options.directions);
}

/* ---- cnn and fc ---- */

/* The activations of this family halve the variance: weights start a little larger. */
static const float rectified = 1.41421356f;

static void make_window(attn_parameters *set, const char *name, attn_mixer *mixer) {
    const attn_mixer_options *o = &mixer->options;
    if (o->width < 1 || o->dilation < 1) {
        at_parameters_fail(set, ATTN_INVALID_ARGUMENT,
                           "%s: width %" PRId64 " and dilation %" PRId64 ": at least 1 is needed", name,
                           o->width, o->dilation);
        return;
    }
    if (o->grid && (o->causal || o->width > 32767)) {
        at_parameters_fail(set, o->causal ? ATTN_UNSUPPORTED : ATTN_INVALID_ARGUMENT, "%s: %s", name,
                           o->causal ? "the rows of a grid have no order: causal and grid exclude each other"
                                     : "a window on a grid is at most 32767 wide");
        return;
    }
    char text[AT_NAME];
    int64_t shape[3] = {o->columns, o->grid ? o->width * o->width : o->width, o->columns};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.initial = ATTN_INITIAL_KAIMING;
    options.scale = o->activation == ATTN_IDENTITY ? 1.0f : rectified;
    mixer->weight = attn_parameters_add(set, at_layer_name(text, name, "weight"), 3, shape, &options);
    mixer->bias = at_add_vector(set, name, "bias", o->columns, ATTN_PARAMETER_BIAS, 0.0f);
    mixer->out = o->columns;
}

/* fc on a grid is the convolution that is not dilated: the same sums, without the squares side by side. */
static attn_variable *apply_grid(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                 const attn_places *places) {
    attn_grids grids;
    if (!at_places_grids(tape, "mixer", places, &grids)) return NULL;
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    options.width = mixer->options.width;
    options.dilation = mixer->options.kind == ATTN_MIXER_CNN ? mixer->options.dilation : 1;
    options.activation = mixer->options.activation;
    return attn_tape_convolution_grid(tape, x, &grids, mixer->weight, mixer->bias, &options);
}

static attn_variable *apply_cnn(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                const attn_places *places) {
    if (mixer->options.grid) return apply_grid(tape, mixer, x, places);
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    options.width = mixer->options.width;
    options.dilation = mixer->options.dilation;
    options.causal = mixer->options.causal;
    options.activation = mixer->options.activation;
    return attn_tape_convolution(tape, x, &places->batch, mixer->weight, mixer->bias, &options);
}

static attn_variable *apply_fc(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                               const attn_places *places) {
    if (mixer->options.grid) return apply_grid(tape, mixer, x, places);
    int64_t width = mixer->options.width, left = mixer->options.causal ? width - 1 : width / 2;
    attn_variable *window = attn_tape_window(tape, x, &places->batch, left, width - 1 - left);
    return attn_tape_linear(tape, window, mixer->weight, mixer->bias, mixer->options.activation);
}

/* ---- how far they look ---- */

static at_reach reach_attention(const attn_mixer *mixer) {
    const attn_multihead_options *o = at_multihead_options(mixer->attention);
    return (at_reach){o->left, o->right};
}

/* The state continues from the first row, or back from the last. */
static at_reach reach_rnn(const attn_mixer *mixer) {
    return (at_reach){ATTN_UNLIMITED, mixer->options.directions > 1 ? ATTN_UNLIMITED : 0};
}

static at_reach reach_window(const attn_mixer *mixer) {
    const attn_mixer_options *o = &mixer->options;
    int64_t before = o->causal ? o->width - 1 : o->width / 2;
    int64_t step = o->kind == ATTN_MIXER_CNN ? o->dilation : 1;
    return (at_reach){before * step, (o->width - 1 - before) * step};
}

at_reach at_reach_add(at_reach a, at_reach b) {
    int all_left = a.left == ATTN_UNLIMITED || b.left == ATTN_UNLIMITED;
    int all_right = a.right == ATTN_UNLIMITED || b.right == ATTN_UNLIMITED;
    return (at_reach){all_left ? ATTN_UNLIMITED : a.left + b.left,
                      all_right ? ATTN_UNLIMITED : a.right + b.right};
}

/* ---- the interface ---- */

static const struct {
    void (*make)(attn_parameters *set, const char *name, attn_mixer *mixer);
    attn_variable *(*apply)(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                            const attn_places *places);
    const at_mixer_steps *steps;
    at_reach (*reach)(const attn_mixer *mixer);
} kinds[] = {{make_attention, apply_attention, &at_attention_steps, reach_attention},
             {make_rnn, apply_rnn, &at_rnn_steps, reach_rnn},
             {make_window, apply_cnn, &at_window_steps, reach_window},
             {make_window, apply_fc, &at_window_steps, reach_window},
             {make_mean, apply_attention, &at_attention_steps, reach_attention}};

attn_mixer *attn_mixer_create(attn_parameters *parameters, const char *name,
                              const attn_mixer_options *options) {
    attn_mixer *mixer = at_layer_create(parameters, name, sizeof *mixer);
    if (!mixer || !at_take_mixer(parameters, name, options, &mixer->options)) return NULL;
    options = &mixer->options;
    if ((int)options->kind < 0 || (int)options->kind > ATTN_MIXER_MEAN || (int)options->recurrence < 0 ||
        (int)options->recurrence > ATTN_RNN_LSTM || options->columns < 1) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT, "%s: unknown kind, or no columns", name);
    }
    if (!at_layer_knows(parameters, name, "activation", (int)options->activation, ATTN_ELU)) return NULL;
    kinds[options->kind].make(parameters, name, mixer);
    return at_parameters_ready(parameters) ? mixer : NULL;
}

attn_variable *at_mixer_activated(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                  const attn_places *places, attn_activation activation) {
    if (mixer && mixer->attention && (places = at_places_ready(tape, "mixer", places)) != NULL)
        return at_multihead_activated(tape, mixer->attention, x, places, activation);
    attn_variable *y = attn_mixer_apply(tape, mixer, x, places);
    return activation == ATTN_IDENTITY ? y : attn_tape_activation(tape, y, activation);
}

attn_variable *attn_mixer_apply(attn_tape *tape, const attn_mixer *mixer, attn_variable *x,
                                const attn_places *places) {
    if (!at_tape_ready(tape)) return NULL;
    if (!mixer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "mixer: the mixer is NULL");
    places = at_places_ready(tape, "mixer", places);
    if (!places) return NULL;
    return kinds[mixer->options.kind].apply(tape, mixer, x, places);
}

const at_mixer_steps *at_mixer_steps_of(const attn_mixer *mixer) { return kinds[mixer->options.kind].steps; }

at_reach at_mixer_reach(const attn_mixer *mixer) { return kinds[mixer->options.kind].reach(mixer); }

attn_mixer_kind at_mixer_kind_of(const attn_mixer *mixer) { return mixer->options.kind; }
int64_t attn_mixer_columns(const attn_mixer *mixer) { return mixer ? mixer->out : 0; }
