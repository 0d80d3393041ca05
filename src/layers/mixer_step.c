/* mixer_step.c: mixers that take a sequence row by row, or some rows at a time.
 *
 *     attention   the keys and values of all rows so far are kept; new rows see them and each other
 *     mean        likewise, the values alone
 *     rnn         continues from h (and c)
 *     cnn, fc     a new row is put beside the rows that it sees, of which the last are kept, and mapped
 *
 * Only what never looks ahead can do so. The arithmetic is that of attn_mixer_apply: the results are equal to
 * those of the whole sequence up to rounding (attention cuts its keys by how many queries there are). What is
 * kept is allocated with the state; a step takes memory from the tape alone.
 */
#include "layers/mixer.h"

#include <inttypes.h>

#include "base/memory.h"
#include "tape/recurrent.h"

/* ---- attention ---- */

static const char *attention_refuses(const attn_mixer *mixer) {
    const attn_multihead_options *o = at_multihead_options(mixer->attention);
    if (o->edge_columns) return "its attention reads the edges of a graph";
    if (o->position == ATTN_POSITION_GRID_RELATIVE) return "its attention knows the places of a grid";
    return o->right == 0 ? NULL : "its attention sees later rows (causal, or right = 0, is needed)";
}

/* Without projections, without scores, or where they are shared, keys and values are the same rows. */
static int keeps_one(const attn_multihead_options *o) {
    int shared = o->form == ATTN_HEADS_SHARED && o->position != ATTN_POSITION_ROTARY;
    return shared || o->form == ATTN_HEADS_RAW || o->score == ATTN_SCORE_NONE;
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

static attn_variable *rnn_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                               attn_variable *x) {
    at_fill_call begin = {at_view_of(state->numbers, 1, state->count, state->count), 0.0f};
    if (state->rows == 0) at_tape_did(tape, at_tape_run(tape)->fill(at_tape_context(tape), &begin));
    return at_tape_recurrent_on(tape, x, mixer->options.recurrence, mixer->direction, state->numbers);
}

const at_mixer_steps at_rnn_steps = {rnn_refuses, rnn_numbers, rnn_step};

/* ---- cnn and fc ---- */

enum { AT_ONCE = 16 }; /* rows: two or three calls for so many */

static const char *window_refuses(const attn_mixer *mixer) {
    int64_t width = mixer->options.width, right = mixer->options.causal ? 0 : width - 1 - width / 2;
    if (mixer->options.grid) return "its window is a square of a grid";
    return right == 0 ? NULL : "its window reaches past a row (causal is needed)";
}

static int64_t dilation_of(const attn_mixer *mixer) {
    return mixer->options.kind == ATTN_MIXER_CNN ? mixer->options.dilation : 1;
}

static int64_t window_rows(const attn_mixer *mixer) {
    return (mixer->options.width - 1) * dilation_of(mixer);
}

/* How many rows there is room for: those that the next ones see, and some next ones. */
static int64_t ring_rows(const attn_mixer *mixer, int64_t room) {
    int64_t rows = window_rows(mixer) + AT_ONCE;
    return rows < room ? rows : room;
}

static int64_t window_numbers(const attn_mixer *mixer, int64_t room) {
    return ring_rows(mixer, room) * mixer->options.columns;
}

/* Rows from .. to - 1 of the sequence into the ring: they fit, but may go over its end. */
static void put_rows(attn_tape *tape, attn_mixer_state *state, const attn_variable *x, int64_t from,
                     int64_t to) {
    int64_t columns = x->columns, size = state->count / columns;
    while (from < to && at_tape_ready(tape)) {
        int64_t place = from % size, count = to - from < size - place ? to - from : size - place;
        at_view rows = at_view_of(x->data + (from - state->rows) * x->stride, count, columns, x->stride);
        at_tape_did(tape,
                    at_numbers_copy(at_tape_context(tape), rows, state->numbers + place * columns, columns));
        from += count;
    }
}

/* What is kept: a ring of rows. New rows are put there, and with them the rows that they see are taken from
 * it. */
static attn_variable *window_step(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                                  attn_variable *x) {
    int64_t columns = x->columns, width = mixer->options.width, dilation = dilation_of(mixer);
    int64_t size = state->count / columns, end = state->rows + x->rows;
    int64_t most =
        size < state->room ? AT_ONCE : x->rows; /* a ring with room for all rows never comes around */
    attn_variable *window = at_result(tape, x->rows, width * columns);
    at_scratch mark = at_scratch_mark(tape);
    int64_t *from = at_scratch_memory(tape, most * width, sizeof *from);
    for (int64_t first = state->rows, count; first < end && at_tape_ready(tape); first += count) {
        count = end - first < most ? end - first : most;
        put_rows(tape, state, x, first, first + count);
        for (int64_t i = 0; i < count * width; i++) {
            int64_t t = first + i / width - (width - 1 - i % width) * dilation;
            from[i] = t < 0 ? -1 : t % size;
        }
        float *to = window->data + (first - state->rows) * window->stride;
        at_gather_call call = {from, at_view_of(state->numbers, size, columns, columns),
                               at_view_of(to, count * width, columns, columns)};
        at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &call));
    }
    at_scratch_release(tape, mark);
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
        return at_fail(context, ATTN_UNSUPPORTED, "%s: incremental evaluation is impossible: %s", name,
                       reason);
    }
    attn_mixer_state *s = at_allocate(context, 1, sizeof *s, "the state of a mixer");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->context = context;
    s->mixer = mixer;
    s->room = room;
    s->count = steps->numbers(mixer, room);
    s->numbers = at_numbers_allocate(context, s->count, "the state of a mixer");
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
    at_numbers_release(state->context, state->numbers);
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
