/* frames.c: checks the constants of frames, and computes those of a whole recording.
 *
 *     spectrum, mel filters, logarithm, cosine transform: ops/spectrum.h, into the first columns of the rows;
 *     then the slopes, row by row, into the columns after them
 */
#include "inputs/speech/frames.h"

#include <float.h>
#include <math.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/frames_tables.h"

struct at_frames_work {
    float *numbers; /* of the spectrum */
    float *padded;  /* centred: the recording with what is mirrored at its ends */
    int64_t padded_room;
};

enum { MOST_WINDOW = 1 << 20, MOST_REACH = 1000 };

void at_frames_defaults(at_frames_options *options) {
    *options = (at_frames_options){.rate = 16000.0,
                                   .window_ms = 25.0,
                                   .shift_ms = 10.0,
                                   .preemphasis = 0.97,
                                   .remove_mean = 1,
                                   .window = AT_WINDOW_POVEY,
                                   .features = AT_FEATURES_LOG_MEL,
                                   .bins = 40,
                                   .low_hz = 20.0,
                                   .high_hz = 0.0,
                                   .scale = AT_MEL_HTK,
                                   .floor = FLT_EPSILON,
                                   .cepstra = 13,
                                   .lifter = 22.0,
                                   .delta_reach = 2,
                                   .scale_samples = 32768.0};
}

/* ---- the constants ---- */

static attn_status refuse(attn_context *context, const char *name, double value, const char *what) {
    return at_fail(context, ATTN_INVALID_ARGUMENT, "frames: %s is %g: it must be %s", name, value, what);
}

static attn_status check_filters(attn_context *context, const at_frames_options *o, int64_t window) {
    double nyquist = o->rate / 2.0, high = o->high_hz > 0.0 ? o->high_hz : nyquist + o->high_hz;
    if (o->scale != AT_MEL_HTK && o->scale != AT_MEL_SLANEY)
        return refuse(context, "scale", o->scale, "one of the mel scales");
    if (o->bins < 1 || o->bins > window)
        return refuse(context, "bins", (double)o->bins, "1 or more, and at most the samples of a window");
    if (!(o->low_hz >= 0.0) || !(o->low_hz < high))
        return refuse(context, "low_hz", o->low_hz, "0 or more, and below high_hz");
    if (!(high <= nyquist)) return refuse(context, "high_hz", o->high_hz, "at most half the rate");
    if (!(o->floor >= FLT_MIN) || !(o->floor <= FLT_MAX))
        return refuse(context, "floor", o->floor, "above 0 and finite");
    if (o->features == AT_FEATURES_LOG_MEL) return ATTN_OK;
    if (o->features != AT_FEATURES_MFCC)
        return refuse(context, "features", o->features, "one of the features");
    if (o->cepstra < 1 || o->cepstra > o->bins)
        return refuse(context, "cepstra", (double)o->cepstra, "1 or more, and at most `bins`");
    if (!(o->lifter >= 0.0) || !isfinite(o->lifter))
        return refuse(context, "lifter", o->lifter, "0 or more, and finite");
    return ATTN_OK;
}

static attn_status check_options(attn_context *context, const at_frames_options *o, double window,
                                 double shift) {
    if (!(o->rate > 0.0) || !(o->rate <= 1e9)) return refuse(context, "rate", o->rate, "above 0, up to 1e9");
    if (!(window >= 4.0) || !(window <= MOST_WINDOW))
        return refuse(context, "window_ms", o->window_ms, "4 samples or more, up to 1048576");
    if (!(shift >= 1.0) || !(shift <= MOST_WINDOW))
        return refuse(context, "shift_ms", o->shift_ms, "1 sample or more, up to 1048576");
    if (!(o->preemphasis >= 0.0) || !(o->preemphasis <= 1.0))
        return refuse(context, "preemphasis", o->preemphasis, "from 0 to 1");
    if ((int)o->window < AT_WINDOW_POVEY || o->window > AT_WINDOW_RECTANGLE)
        return refuse(context, "window", o->window, "one of the window functions");
    if (o->deltas < 0 || o->deltas > 2) return refuse(context, "deltas", (double)o->deltas, "0, 1 or 2");
    if (o->deltas && (o->delta_reach < 1 || o->delta_reach > MOST_REACH))
        return refuse(context, "delta_reach", (double)o->delta_reach, "from 1 to 1000");
    if (!(o->scale_samples > 0.0) || !(o->scale_samples <= 1e12))
        return refuse(context, "scale_samples", o->scale_samples, "above 0, up to 1e12");
    return check_filters(context, o, (int64_t)window);
}

/* Samples of so many milliseconds, a fraction left out. */
static double samples_of(double rate, double milliseconds) {
    return floor(rate * milliseconds / 1000.0 + 1e-6);
}

static void set_spectrum(at_frames *frames) {
    const at_frames_options *options = &frames->options;
    at_spectrum *s = &frames->spectrum;
    s->window = frames->window;
    s->remove_mean = options->remove_mean;
    s->preemphasis = (float)options->preemphasis;
    s->taper = frames->taper;
    s->turns = frames->tables.turns;
    s->halves = frames->tables.halves;
    s->bins = frames->tables.bins;
    s->magnitude = options->magnitude;
    s->bands = options->bins;
    s->band_first = frames->band_first;
    s->band_begin = frames->band_begin;
    s->band_weights = frames->weights;
    s->floor = (float)options->floor;
    s->outputs = frames->base;
    s->linear = frames->linear;
}

attn_status at_frames_create(attn_context *context, const at_frames_options *options, at_frames **frames) {
    double window = samples_of(options->rate, options->window_ms);
    double shift = samples_of(options->rate, options->shift_ms);
    attn_status status = check_options(context, options, window, shift);
    if (status != ATTN_OK) return status;
    at_frames *made = at_allocate(context, 1, sizeof *made, "frames");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->options = *options;
    made->window = (int64_t)window;
    made->shift = (int64_t)shift;
    made->base = options->features == AT_FEATURES_MFCC ? options->cepstra : options->bins;
    made->columns = made->base * (1 + options->deltas);
    made->spectrum.size = 4;
    while (made->spectrum.size < made->window) made->spectrum.size *= 2;
    status = at_spectrum_tables_create(context, made->spectrum.size, &made->tables);
    if (status == ATTN_OK) status = at_frames_tables(made);
    if (status != ATTN_OK) {
        at_frames_destroy(made);
        return status;
    }
    set_spectrum(made);
    *frames = made;
    return ATTN_OK;
}

void at_frames_destroy(at_frames *frames) {
    if (!frames) return;
    attn_context *context = frames->context;
    at_spectrum_tables_free(context, &frames->tables);
    at_release(context, frames->taper);
    at_release(context, frames->weights);
    at_release(context, frames->linear);
    at_release(context, frames->band_first);
    at_release(context, frames->band_begin);
    at_release(context, frames);
}

int64_t at_frames_columns(const at_frames *frames) { return frames->columns; }
int64_t at_frames_shift(const at_frames *frames) { return frames->shift; }
int64_t at_frames_window(const at_frames *frames) { return frames->window; }

int64_t at_frames_count(const at_frames *frames, int64_t samples) {
    if (samples <= 0) return 0;
    if (frames->options.centered) return 1 + samples / frames->shift;
    return samples < frames->window ? 0 : 1 + (samples - frames->window) / frames->shift;
}

/* ---- the ends of a recording ---- */

int64_t at_frames_before(const at_frames *frames) {
    return frames->options.centered ? (frames->window + 1) / 2 : 0;
}

float at_frames_mirrored(const float *samples, int64_t count, int64_t i) {
    int64_t period = 2 * (count - 1);
    if (period == 0) return samples[0];
    i %= period;
    if (i < 0) i += period;
    return samples[i < count ? i : period - i];
}

/* ---- slopes ---- */

void at_frames_slope(const at_frames *frames, float *rows, int64_t t, int64_t last, int64_t from,
                     int64_t to) {
    const int64_t columns = frames->columns, reach = frames->options.delta_reach;
    const float norm = (float)(3.0 / ((double)reach * (double)(reach + 1) * (double)(2 * reach + 1)));
    float *slope = rows + t * columns + to;
    for (int64_t c = 0; c < frames->base; c++) slope[c] = 0.0f;
    for (int64_t n = 1; n <= reach; n++) {
        const float *after = rows + (t + n < last ? t + n : last) * columns + from;
        const float *before = rows + (t > n ? t - n : 0) * columns + from;
        for (int64_t c = 0; c < frames->base; c++) slope[c] += (float)n * (after[c] - before[c]);
    }
    for (int64_t c = 0; c < frames->base; c++) slope[c] *= norm;
}

/* ---- a whole recording ---- */

static attn_status work_create(const at_frames *frames, attn_context *context, at_frames_work **work) {
    at_frames_work *made = at_allocate(context, 1, sizeof *made, "frames");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->numbers =
        at_allocate(context, at_spectrum_room(context, &frames->spectrum), sizeof *made->numbers, "frames");
    if (!made->numbers) {
        at_release(context, made);
        return ATTN_OUT_OF_MEMORY;
    }
    *work = made;
    return ATTN_OK;
}

void at_frames_work_destroy(attn_context *context, at_frames_work *work) {
    if (!work) return;
    at_release(context, work->numbers);
    at_release(context, work->padded);
    at_release(context, work);
}

/* The recording with what its first and last frames need beyond its ends. */
static attn_status pad(const at_frames *frames, attn_context *context, at_frames_work *work,
                       const float *samples, int64_t count) {
    int64_t before = at_frames_before(frames), after = frames->window - before;
    attn_status status = at_grow(context, &work->padded, &work->padded_room, before + count + after,
                                 sizeof *work->padded, "frames");
    if (status != ATTN_OK) return status;
    for (int64_t i = -before; i < count + after; i++)
        work->padded[before + i] = i >= 0 && i < count ? samples[i] : at_frames_mirrored(samples, count, i);
    return ATTN_OK;
}

attn_status at_frames_compute(const at_frames *frames, attn_context *context, at_frames_work **work,
                              const float *samples, int64_t count, float *numbers) {
    const int64_t rows = at_frames_count(frames, count), base = frames->base;
    attn_status status = ATTN_OK;
    if (!*work) status = work_create(frames, context, work);
    if (status != ATTN_OK || rows == 0) return status;
    if (frames->options.centered) {
        status = pad(frames, context, *work, samples, count);
        if (status != ATTN_OK) return status;
        samples = (*work)->padded;
    }
    at_spectrum_frames(context, &frames->spectrum, samples, frames->shift, rows, (*work)->numbers, numbers,
                       frames->columns);
    for (int64_t d = 1; d <= frames->options.deltas; d++)
        for (int64_t t = 0; t < rows; t++)
            at_frames_slope(frames, numbers, t, rows - 1, (d - 1) * base, d * base);
    return ATTN_OK;
}
