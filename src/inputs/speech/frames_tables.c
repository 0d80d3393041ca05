/* frames_tables.c: window functions, mel filters and the cosine transform, in double precision, once. */
#include "inputs/speech/frames_tables.h"

#include <math.h>

#include "base/memory.h"

#define PI 3.14159265358979323846

static double window_value(const at_frames_options *options, int64_t i, int64_t window) {
    double period = (double)(options->periodic ? window : window - 1);
    double cosine = period > 0.0 ? cos(2.0 * PI * (double)i / period) : 1.0;
    switch (options->window) {
    case AT_WINDOW_POVEY: return pow(0.5 - 0.5 * cosine, 0.85);
    case AT_WINDOW_HANN: return 0.5 - 0.5 * cosine;
    case AT_WINDOW_HAMMING: return 0.54 - 0.46 * cosine;
    case AT_WINDOW_RECTANGLE: break;
    }
    return 1.0;
}

/* Slaney's scale is linear up to 1000 Hz, at 15 mel, and then grows by a factor of 6.4 in 27 mel. */
#define SLANEY_MELS 15.0
#define SLANEY_HZ 1000.0
#define SLANEY_STEP 0.068751777420949123 /* log(6.4) / 27 */

static double mel_of(at_mel_scale scale, double hz) {
    if (scale == AT_MEL_HTK) return 1127.0 * log(1.0 + hz / 700.0);
    if (hz < SLANEY_HZ) return hz * SLANEY_MELS / SLANEY_HZ;
    return SLANEY_MELS + log(hz / SLANEY_HZ) / SLANEY_STEP;
}

static double hz_of(at_mel_scale scale, double mel) {
    if (scale == AT_MEL_HTK) return 700.0 * (exp(mel / 1127.0) - 1.0);
    if (mel < SLANEY_MELS) return mel * SLANEY_HZ / SLANEY_MELS;
    return SLANEY_HZ * exp((mel - SLANEY_MELS) * SLANEY_STEP);
}

/* A triangle: left, peak and right, in mel or in Hz. */
static double triangle(const double corners[3], double x) {
    double rise = (x - corners[0]) / (corners[1] - corners[0]);
    double fall = (corners[2] - x) / (corners[2] - corners[1]);
    double height = rise < fall ? rise : fall;
    return height > 0.0 ? height : 0.0;
}

static attn_status make_filters(at_frames *frames) {
    const at_frames_options *options = &frames->options;
    attn_context *context = frames->context;
    const int64_t bins = options->bins, frequencies = frames->spectrum.size / 2 + 1;
    const double nyquist = options->rate / 2.0;
    double high = options->high_hz > 0.0 ? options->high_hz : nyquist + options->high_hz;
    double low_mel = mel_of(options->scale, options->low_hz), high_mel = mel_of(options->scale, high);
    double step = (high_mel - low_mel) / (double)(bins + 1);
    int64_t room = 0, used = 0;
    frames->band_first = at_allocate(context, bins, sizeof *frames->band_first, "mel filters");
    frames->band_begin = at_allocate(context, bins + 1, sizeof *frames->band_begin, "mel filters");
    if (!frames->band_first || !frames->band_begin) return ATTN_OUT_OF_MEMORY;
    for (int64_t b = 0; b < bins; b++) {
        double corners[3], hz[3];
        for (int c = 0; c < 3; c++) {
            double mel = low_mel + step * (double)(b + c);
            hz[c] = hz_of(options->scale, mel);
            corners[c] = options->ramps_in_hz ? hz[c] : mel;
        }
        double height = options->area ? 2.0 / (hz[2] - hz[0]) : 1.0;
        attn_status status = at_grow(context, &frames->weights, &room, used + frequencies,
                                     sizeof *frames->weights, "mel filters");
        if (status != ATTN_OK) return status;
        int64_t first = used;
        for (int64_t k = 0; k < frequencies; k++) {
            double frequency = options->rate * (double)k / (double)frames->spectrum.size;
            double x = options->ramps_in_hz ? frequency : mel_of(options->scale, frequency);
            double weight = triangle(corners, x);
            if (weight == 0.0) continue;
            if (used == first) frames->band_first[b] = (int32_t)k;
            frames->weights[used++] = (float)(weight * height);
        }
        frames->band_begin[b + 1] = (int32_t)used;
    }
    return ATTN_OK;
}

/* The orthonormal cosine transform of the log energies, each row times the lifter's factor. */
static attn_status make_cepstra(at_frames *frames) {
    const at_frames_options *options = &frames->options;
    const int64_t bins = options->bins;
    frames->linear =
        at_allocate(frames->context, options->cepstra * bins, sizeof *frames->linear, "cosine transform");
    if (!frames->linear) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < options->cepstra; c++) {
        double lift =
            options->lifter > 0.0 ? 1.0 + 0.5 * options->lifter * sin(PI * (double)c / options->lifter) : 1.0;
        double norm = sqrt((c == 0 ? 1.0 : 2.0) / (double)bins);
        for (int64_t b = 0; b < bins; b++)
            frames->linear[c * bins + b] =
                (float)(lift * norm * cos(PI / (double)bins * ((double)b + 0.5) * (double)c));
    }
    return ATTN_OK;
}

attn_status at_frames_tables(at_frames *frames) {
    const at_frames_options *options = &frames->options;
    frames->taper = at_allocate(frames->context, frames->window, sizeof *frames->taper, "window function");
    if (!frames->taper) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < frames->window; i++) /* halved: see at_spectrum */
        frames->taper[i] = (float)(0.5 * options->scale_samples * window_value(options, i, frames->window));
    attn_status status = make_filters(frames);
    if (status == ATTN_OK && options->features == AT_FEATURES_MFCC) status = make_cepstra(frames);
    return status;
}
