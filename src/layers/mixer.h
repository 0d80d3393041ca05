/* mixer.h (private): what a mixer is, and what it keeps of a sequence that comes row by row.
 *
 * A kind of mixer is a row of the table in mixer.c: how its parameters are made, how it is applied to whole
 * sequences and, in mixer_step.c, how it takes the next rows of one.
 */
#ifndef AT_LAYERS_MIXER_H
#define AT_LAYERS_MIXER_H

#include "layers/layers.h"

struct attn_mixer {
    attn_mixer_options options;
    int64_t out;
    attn_multihead *attention;
    attn_recurrent_weights direction[2];
    attn_parameter *weight, *bias;
};

/* What the rows so far leave behind for those that come, one block of numbers:
 *
 *     attention   keys, then values: room x (kv_heads * head_width) each
 *     rnn         h, then c (of an LSTM): [hidden] each
 *     cnn, fc     the last rows of the input, at least the (width - 1) * dilation that a next one sees:
 *                 that of position t at t modulo the number of rows there is room for
 */
struct attn_mixer_state {
    attn_context *context; /* whose memory it is */
    const attn_mixer *mixer;
    int64_t room, rows;
    int broken; /* a step failed on its way: what is kept is that of no position */
    int64_t count;
    float *numbers; /* tensor memory */
};

/* How a kind takes rows one after another. */
typedef struct at_mixer_steps {
    /* NULL, or why the mixer cannot: it sees later rows. */
    const char *(*refuses)(const attn_mixer *mixer);
    /* How many numbers the state has. */
    int64_t (*numbers)(const attn_mixer *mixer, int64_t room);
    /* x: the rows from state->rows on, which all fit. Does not change state->rows. */
    attn_variable *(*step)(attn_tape *tape, const attn_mixer *mixer, attn_mixer_state *state,
                           attn_variable *x);
} at_mixer_steps;

extern const at_mixer_steps at_attention_steps, at_rnn_steps, at_window_steps;
const at_mixer_steps *at_mixer_steps_of(const attn_mixer *mixer);

/* What all steps ask: the tape predicts, x is k >= 1 rows of so many columns, and they fit after `rows`. 0
 * with the tape's error set. */
int at_step_fits(attn_tape *tape, const char *name, const attn_variable *x, int64_t columns, int64_t rows,
                 int64_t room, int broken);

/* attn_mixer_state_create for the part `name` of something larger, which the error names. */
attn_status at_mixer_state_create(attn_context *context, const char *name, const attn_mixer *mixer,
                                  int64_t room, attn_mixer_state **state);

#endif
