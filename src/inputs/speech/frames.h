/* frames.h: samples to frames: what a recording looks like to a network.
 *
 *     frame t = samples t * shift .. t * shift + window - 1
 *     -> (minus its mean) -> pre-emphasis -> window function -> power spectrum (FFT of the next power of 2)
 *     -> mel filters -> log: `bins` log-mel energies; or their cosine transform, liftered: MFCC
 *     -> with deltas: the slopes over the frames around, once or twice
 *
 * All constants are the caller's. With the defaults of at_frames_defaults the numbers are those of Kaldi's
 * (torchaudio.compliance.kaldi.fbank and mfcc without dither); other values give librosa's. Frames of a
 * recording do not depend on how it was cut: a stream takes samples in pieces of any size and gives the same
 * bits.
 *
 * The transform is our own (ops/spectrum.h), because frames are computed side by side on the lanes of a
 * vector, which takes a transform of several signals at once: four times as fast as a library's of one.
 */
#ifndef AT_INPUTS_SPEECH_FRAMES_H
#define AT_INPUTS_SPEECH_FRAMES_H

#include <stdint.h>

#include <attn/context.h>

typedef enum at_window_function {
    AT_WINDOW_POVEY, /* Hann to the power of 0.85 */
    AT_WINDOW_HANN,
    AT_WINDOW_HAMMING,
    AT_WINDOW_RECTANGLE
} at_window_function;

typedef enum at_frame_features { AT_FEATURES_LOG_MEL, AT_FEATURES_MFCC } at_frame_features;

typedef enum at_mel_scale { AT_MEL_HTK, AT_MEL_SLANEY } at_mel_scale;

typedef struct at_frames_options {
    double rate; /* samples per second */
    double window_ms, shift_ms;
    double preemphasis; /* y[i] = x[i] - p * x[i - 1], with x[-1] = x[0]; 0: none */
    int remove_mean;    /* of each window */
    at_window_function window;
    int periodic; /* the window function has the period `window`, not `window - 1` */
    at_frame_features features;
    int64_t bins;           /* mel filters */
    double low_hz, high_hz; /* of the filters; high 0 or below: counted from half the rate */
    at_mel_scale scale;
    int ramps_in_hz;     /* filters rise and fall evenly in Hz (librosa), not in mel (Kaldi) */
    int area;            /* filters are scaled to area 1 in Hz (Slaney), not to height 1 */
    int magnitude;       /* the spectrum is |X|, not |X|^2 */
    double floor;        /* energies are at least this before the logarithm */
    int64_t cepstra;     /* of MFCC */
    double lifter;       /* of MFCC: 0: none */
    int64_t deltas;      /* 0, 1 or 2 more times as many columns */
    int64_t delta_reach; /* frames on each side for a slope; 2 */
    int centered; /* frame t begins (window + 1) / 2 samples before t * shift, with samples mirrored at the
                     ends (the first and the last one are not repeated) */
    double scale_samples; /* samples are multiplied by it: 32768 for Kaldi's 16-bit numbers */
} at_frames_options;

/* 25 ms every 10 ms, 40 log-mel energies, as Kaldi has them, at 16 kHz. */
void at_frames_defaults(at_frames_options *options);

typedef struct at_frames at_frames;
/* Checks the options (INVALID_ARGUMENT names the one that cannot be) and makes the tables. It does not change
 * afterwards: any number of threads may share it. */
attn_status at_frames_create(attn_context *context, const at_frames_options *options, at_frames **frames);
void at_frames_destroy(at_frames *frames); /* NULL is allowed */
int64_t at_frames_columns(const at_frames *frames);
int64_t at_frames_shift(const at_frames *frames);  /* in samples */
int64_t at_frames_window(const at_frames *frames); /* in samples */
/* How many frames so many samples give; 0 for fewer than one window (centered: at least 1 for 1 sample). */
int64_t at_frames_count(const at_frames *frames, int64_t samples);

/* All frames of a recording: numbers[at_frames_count][columns]. work: memory that is used again; made by the
 * call if *work is NULL, released with at_frames_work_destroy; one per thread. */
typedef struct at_frames_work at_frames_work;
attn_status at_frames_compute(const at_frames *frames, attn_context *context, at_frames_work **work,
                              const float *samples, int64_t count, float *numbers);
void at_frames_work_destroy(attn_context *context, at_frames_work *work); /* NULL is allowed */

/* The same for samples that come in pieces. A piece gives the frames that can be told with it; `last` says
 * that no more will come. *numbers and *rows are good until the next call. Deltas and centred frames wait for
 * the samples that they look at. */
typedef struct at_frames_stream at_frames_stream;
attn_status at_frames_stream_create(attn_context *context, const at_frames *frames,
                                    at_frames_stream **stream);
attn_status at_frames_stream_push(at_frames_stream *stream, const float *samples, int64_t count, int last,
                                  const float **numbers, int64_t *rows);
void at_frames_stream_destroy(at_frames_stream *stream); /* NULL is allowed */

#endif
