/* frames_tables.h: the constants of frames: window function, mel filters, cosine transform. */
#ifndef AT_INPUTS_SPEECH_FRAMES_TABLES_H
#define AT_INPUTS_SPEECH_FRAMES_TABLES_H

#include "inputs/speech/frames.h"
#include "ops/spectrum.h"

struct at_frames {
    attn_context *context; /* its memory */
    at_frames_options options;
    int64_t window, shift, columns, base; /* base: columns without deltas */
    at_spectrum spectrum;
    at_spectrum_tables tables;
    float *taper, *weights, *linear;
    int32_t *band_first, *band_begin;
};

/* Fills `taper`, the filters and `linear` of frames whose options are checked and whose sizes are set. */
attn_status at_frames_tables(at_frames *frames);

/* frames.c and frames_stream.c */

/* Slopes of `columns` numbers over the rows around row t: those of `from` are at rows[... + from], the result
 * goes to columns `to`. Rows 0 .. last are there, and those beyond count as the first or the last. */
void at_frames_slope(const at_frames *frames, float *rows, int64_t t, int64_t last, int64_t from, int64_t to);
/* How many samples are mirrored in front of the first one; 0 unless centred. */
int64_t at_frames_before(const at_frames *frames);
/* Sample i of a signal of `count` that is mirrored at both ends; any i, count >= 1. */
float at_frames_mirrored(const float *samples, int64_t count, int64_t i);

#endif
