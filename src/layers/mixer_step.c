/* mixer_step.c: mixers that take a sequence row by row, or some rows at a time.
 *
 *     attention   the keys and values of all rows so far are kept; new rows see them and each other
 *     rnn         goes on from h (and c)
 *     cnn, fc     a new row is put beside the rows that it sees, of which the last are kept, and mapped
 *
 * Only what never looks ahead can do so. The arithmetic is that of attn_mixer_apply: the results are equal to
 * those of the whole sequence up to rounding (attention cuts its keys by how many queries there are). What is
 * kept is allocated with the state; a step takes memory from the tape alone.
 */
#include "layers/mixer.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/rows.h"
#include "tape/product.h"

/* ---- attention ---- */

static const char *attention_refuses(const attn_mixer *mixer) {
    const attn_multihead_options *o = at_multihead_options(mixer->attention);
    if (o->edge_columns) return "its attention reads the edges of a graph";
    return o->right == 0 ? NULL : "its attention sees later rows (causal, or right = 0, is needed)";
}

/* Without projections, or without scores, keys and values are the same rows. */
static int keeps_one(const attn_multihead_options *o) {
    return o->form == ATTN_HEADS_RAW || o->score == ATTN_SCORE_NONE;
}

static int64_t attention_numbers(const attn_mixer *mixer, int64_t room) {
    const attn_multihead_options *o = at_multihead_options(mixer->attention);
    return room * o->kv_heads * o->head_width * (keeps_one(o) ? 1 : 2);
}

static attn_variable *attention_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                     attn_variable *x) {
    const attn_multihead_options *o = at_multihead_options(mixer->attention);
    float *values = keeps_one(o) ? state->numbers : state->numbers + state->count / 2;
    return at_multihead_step(tape, mixer->attention, x, state->rows, state->numbers, values);
}

const at_mixer_steps at_attention_steps = {attention_refuses, attention_numbers, attention_step};

/* ---- rnn ---- */

static const char *rnn_refuses(const attn_mixer *mixer) {
    return mixer->options.directions == 1
               ? NULL
               : "its RNN runs in both directions (causal, or directions = 1, is needed)";
}

static int64_t rnn_numbers(const attn_mixer *mixer, int64_t room) {
    (void)room;
    return 2 * mixer->options.hidden;
}

/* b + c, but for r_2 of a GRU, which is multiplied by a gate. NULL with the error set. */
static const float *rnn_bias(attn_tape *tape, const attn_mixer *mixer) {
    const attn_recurrent_weights *w = &mixer->direction[0];
    int64_t gates = w->hidden->rows;
    if (!w->hidden_bias) return w->input_bias->value;
    int64_t added = mixer->options.recurrence == ATTN_RNN_GRU ? gates / 3 * 2 : gates;
    float *sum = at_scratch_memory(tape, gates, sizeof(float));
    for (int64_t g = 0; sum && g < gates; g++) {
        sum[g] = w->input_bias->value[g] + (g < added ? w->hidden_bias->value[g] : 0.0f);
    }
    return sum;
}

static attn_variable *rnn_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                               attn_variable *x) {
    const attn_recurrent_weights *w = &mixer->direction[0];
    attn_recurrence kind = mixer->options.recurrence;
    int64_t hidden = w->hidden->columns, gates = w->hidden->rows;
    float *h = state->numbers, *c = h + hidden;
    if (state->rows == 0) memset(h, 0, 2 * (size_t)hidden * sizeof(float));
    attn_variable *y = at_result(tape, x->rows, hidden);
    at_scratch mark = at_scratch_mark(tape);
    float *u = at_scratch_memory(tape, x->rows * gates, sizeof(float));
    float *r = at_scratch_memory(tape, gates, sizeof(float));
    float *kept = at_scratch_memory(tape, x->rows * hidden, sizeof(float));
    float *before = at_scratch_memory(tape, hidden, sizeof(float));
    const float *bias = rnn_bias(tape, mixer);
    if (!at_tape_ready(tape)) return NULL;
    memcpy(before, h, (size_t)hidden * sizeof(float));
    at_product_forward(tape, at_view_of(x->data, x->rows, x->columns, x->stride), w->input, bias,
                       ATTN_IDENTITY, at_view_of(u, x->rows, gates, gates), NULL);
    for (int64_t i = 0; i < x->rows; i++) {
        at_product_forward(tape, at_view_of(h, 1, hidden, hidden), w->hidden, NULL, ATTN_IDENTITY,
                           at_view_of(r, 1, gates, gates), NULL);
        if (!at_tape_ready(tape)) return NULL;
        at_cell cell = {.hidden = hidden,
                        .gates = u + i * gates,
                        .recurrent = r,
                        .state = h,
                        .h = y->data + i * y->stride,
                        .kept = kept + i * hidden,
                        .h_before = i > 0 ? y->data + (i - 1) * y->stride : before,
                        .kept_before = i > 0 ? kept + (i - 1) * hidden : c,
                        .bias = kind == ATTN_RNN_GRU ? w->hidden_bias->value + 2 * hidden : NULL};
        at_row_kernels_for(at_tape_context(tape)->isa)->cell_forward[kind](&cell);
    }
    if (kind == ATTN_RNN_LSTM) memcpy(c, kept + (x->rows - 1) * hidden, (size_t)hidden * sizeof(float));
    at_scratch_release(tape, mark);
    return y;
}

const at_mixer_steps at_rnn_steps = {rnn_refuses, rnn_numbers, rnn_step};

/* ---- cnn and fc ---- */

static const char *window_refuses(const attn_mixer *mixer) {
    int64_t width = mixer->options.width, right = mixer->options.causal ? 0 : width - 1 - width / 2;
    return right == 0 ? NULL : "its window reaches past a row (causal is needed)";
}

static int64_t dilation_of(const attn_mixer *mixer) {
    return mixer->options.kind == ATTN_MIXER_CNN ? mixer->options.dilation : 1;
}

static int64_t window_rows(const attn_mixer *mixer) {
    return (mixer->options.width - 1) * dilation_of(mixer);
}

static int64_t window_numbers(const attn_mixer *mixer, int64_t room) {
    int64_t rows = window_rows(mixer);
    return (rows < room ? rows : room) * mixer->options.columns;
}

/* What is kept: a ring of `size` rows. */
static attn_variable *window_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                  attn_variable *x) {
    int64_t columns = x->columns, width = mixer->options.width, dilation = dilation_of(mixer);
    int64_t size = state->count / columns, end = state->rows + x->rows;
    size_t bytes = (size_t)columns * sizeof(float);
    attn_variable *window = at_result(tape, x->rows, width * columns);
    if (!window) return NULL;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t s = 0; s < width; s++) {
            int64_t t = state->rows + i - (width - 1 - s) * dilation;
            float *part = window->data + i * window->stride + s * columns;
            if (t < 0) {
                memset(part, 0, bytes);
            } else if (t >= state->rows) {
                memcpy(part, x->data + (t - state->rows) * x->stride, bytes);
            } else {
                memcpy(part, state->numbers + t % size * columns, bytes);
            }
        }
    }
    for (int64_t t = x->rows > size ? end - size : state->rows; t < end; t++) {
        memcpy(state->numbers + t % size * columns, x->data + (t - state->rows) * x->stride, bytes);
    }
    return attn_tape_linear(tape, window, mixer->weight, mixer->bias, mixer->options.activation);
}

const at_mixer_steps at_window_steps = {window_refuses, window_numbers, window_step};

/* ---- the interface ---- */

attn_status at_mixer_state_create(attn_context *context, const char *name, const attn_mixer *mixer,
                                  int64_t room, attn_mixer_state **state) {
    if (!mixer || !state) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s: %s is NULL", name, mixer ? "state" : "the mixer");
    }
    if (room < 1 || room > INT32_MAX) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s: room for %" PRId64 " rows; 1 to %d are possible",
                       name, room, INT32_MAX);
    }
    const at_mixer_steps *steps = at_mixer_steps_of(mixer);
    const char *reason = steps->refuses(mixer);
    if (reason) {
        return at_fail(context, ATTN_UNSUPPORTED, "%s: rows cannot be taken one after another: %s", name,
                       reason);
    }
    attn_mixer_state *s = at_allocate(context, 1, sizeof *s, "the state of a mixer");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->context = context;
    s->mixer = mixer;
    s->room = room;
    s->count = steps->numbers(mixer, room);
    s->numbers = at_allocate(context, s->count, sizeof(float), "the state of a mixer");
    if (!s->numbers) {
        attn_mixer_state_destroy(s);
        return ATTN_OUT_OF_MEMORY;
    }
    *state = s;
    return ATTN_OK;
}

attn_status attn_mixer_state_create(attn_context *context, const attn_mixer *mixer, int64_t room,
                                    attn_mixer_state **state) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    return at_mixer_state_create(context, "mixer state", mixer, room, state);
}

void attn_mixer_state_destroy(attn_mixer_state *state) {
    if (!state) return;
    at_release(state->context, state->numbers);
    at_release(state->context, state);
}

void attn_mixer_state_clear(attn_mixer_state *state) {
    if (!state) return;
    state->rows = 0;
    state->broken = 0;
}

int64_t attn_mixer_state_rows(const attn_mixer_state *state) { return state ? state->rows : 0; }

static int check_step(attn_tape *tape, const attn_mixer *mixer, const attn_mixer_state *state,
                      const attn_variable *x) {
    if (!at_tape_has(tape, "mixer step", "x", x)) return 0;
    if (!mixer || !state || state->mixer != mixer) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "mixer step: the mixer or the state is NULL, or the state is another mixer's");
    } else {
        at_step_fits(tape, "mixer step", x, mixer->options.columns, state->rows, state->room, state->broken);
    }
    return at_tape_ready(tape);
}

int at_step_fits(attn_tape *tape, const char *name, const attn_variable *x, int64_t columns, int64_t rows,
                 int64_t room, int broken) {
    if (at_recording(tape)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: the tape records; ATTN_TAPE_PREDICT is needed", name);
    } else if (x->columns != columns || x->rows < 1) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "%s: x is %" PRId64 " x %" PRId64 ", at least 1 row of %" PRId64 " columns is needed",
                     name, x->rows, x->columns, columns);
    } else if (broken) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: an earlier step failed: clear the state first", name);
    } else if (x->rows > room - rows) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "%s: %" PRId64 " rows after %" PRId64 " are more than the state has room for (%" PRId64
                     ")",
                     name, x->rows, rows, room);
    }
    return at_tape_ready(tape);
}

attn_variable *attn_mixer_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                               attn_variable *x) {
    if (!at_tape_ready(tape) || !check_step(tape, mixer, state, x)) return NULL;
    state->broken = 1;
    attn_variable *y = at_mixer_steps_of(mixer)->step(tape, mixer, state, x);
    if (!y) return NULL;
    state->broken = 0;
    state->rows += x->rows;
    return y;
}
