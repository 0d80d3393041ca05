/* test_speech_frames.c: frames of speech against a direct Fourier sum in double precision, for every option
 * and on every instruction set; counts, ends, pieces, and what each wrong constant is told.
 */
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/speech/frames.h"
#include "support/contexts.h"
#include "support/random.h"

#define PI 3.14159265358979323846

static attn_context *context;

/* ---- the oracle: every step in its plainest form ---- */

static double oracle_mel(const at_frames_options *o, double hz) {
    if (o->scale == AT_MEL_HTK) return 2595.0 * log10(1.0 + hz / 700.0);
    return hz < 1000.0 ? 3.0 * hz / 200.0 : 15.0 + 27.0 * log(hz / 1000.0) / log(6.4);
}

static double oracle_hz(const at_frames_options *o, double mel) {
    double low = 0.0, high = o->rate; /* by bisection: mel grows with hz */
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2.0;
        *(oracle_mel(o, middle) < mel ? &low : &high) = middle;
    }
    return low;
}

static double oracle_sample(const float *samples, int64_t count, int64_t i) {
    while (count > 1 && (i < 0 || i >= count)) i = i < 0 ? -i : 2 * (count - 1) - i;
    return (double)samples[count > 1 ? i : 0];
}

static int64_t oracle_window(const at_frames_options *o) {
    return (int64_t)(o->rate * o->window_ms / 1000.0);
}
static int64_t oracle_shift(const at_frames_options *o) { return (int64_t)(o->rate * o->shift_ms / 1000.0); }

static int64_t oracle_count(const at_frames_options *o, int64_t samples) {
    int64_t rows = 0;
    if (samples == 0) return 0;
    if (o->centered) {
        while (rows * oracle_shift(o) <= samples) rows++;
    } else {
        while (rows * oracle_shift(o) + oracle_window(o) <= samples) rows++;
    }
    return rows;
}

/* The energies of frame t. */
static void oracle_energies(const at_frames_options *o, const float *samples, int64_t count, int64_t t,
                            double *energies) {
    int64_t window = oracle_window(o), size = 1, begin = t * oracle_shift(o);
    if (o->centered) begin -= (window + 1) / 2;
    while (size < window) size *= 2;
    double *x = calloc((size_t)window, sizeof *x), *power = calloc((size_t)size, sizeof *power), mean = 0.0;
    for (int64_t i = 0; i < window; i++) {
        x[i] = o->scale_samples * oracle_sample(samples, count, begin + i);
        mean += x[i] / (double)window;
    }
    for (int64_t i = 0; i < window && o->remove_mean; i++) x[i] -= mean;
    for (int64_t i = window; i-- > 0;) x[i] -= o->preemphasis * x[i > 0 ? i - 1 : 0];
    for (int64_t i = 0; i < window; i++) {
        double cosine = cos(2.0 * PI * (double)i / (double)(o->periodic ? window : window - 1));
        if (o->window == AT_WINDOW_HAMMING) x[i] *= 0.54 - 0.46 * cosine;
        if (o->window == AT_WINDOW_HANN) x[i] *= (1.0 - cosine) / 2.0;
        if (o->window == AT_WINDOW_POVEY) x[i] *= pow((1.0 - cosine) / 2.0, 0.85);
    }
    for (int64_t k = 0; k <= size / 2; k++) {
        double real = 0.0, imaginary = 0.0;
        for (int64_t i = 0; i < window; i++) {
            double angle = 2.0 * PI * (double)(k * i % size) / (double)size;
            real += x[i] * cos(angle);
            imaginary -= x[i] * sin(angle);
        }
        power[k] = real * real + imaginary * imaginary;
        if (o->magnitude) power[k] = sqrt(power[k]);
    }
    double high = o->high_hz > 0.0 ? o->high_hz : o->rate / 2.0 + o->high_hz;
    double first = oracle_mel(o, o->low_hz), last = oracle_mel(o, high);
    for (int64_t b = 0; b < o->bins; b++) {
        double corner[3], hz[3], sum = 0.0;
        for (int c = 0; c < 3; c++) {
            corner[c] = first + (last - first) * (double)(b + c) / (double)(o->bins + 1);
            hz[c] = oracle_hz(o, corner[c]);
            if (o->ramps_in_hz) corner[c] = hz[c];
        }
        for (int64_t k = 0; k <= size / 2; k++) {
            double f = (double)k * o->rate / (double)size, at = o->ramps_in_hz ? f : oracle_mel(o, f);
            double up = (at - corner[0]) / (corner[1] - corner[0]);
            double down = (corner[2] - at) / (corner[2] - corner[1]);
            sum += power[k] * fmax(0.0, fmin(up, down));
        }
        energies[b] = fmax(o->floor, o->area ? sum * 2.0 / (hz[2] - hz[0]) : sum);
    }
    free(x);
    free(power);
}

static int64_t oracle_base(const at_frames_options *o) {
    return o->features == AT_FEATURES_MFCC ? o->cepstra : o->bins;
}

/* All frames, [rows][columns], to be freed. */
static double *oracle_frames(const at_frames_options *o, const float *samples, int64_t count) {
    int64_t rows = oracle_count(o, count), base = oracle_base(o), columns = base * (1 + o->deltas);
    double *all = calloc((size_t)(rows * columns + 1), sizeof *all);
    double *energies = calloc((size_t)o->bins, sizeof *energies);
    for (int64_t t = 0; t < rows; t++) {
        oracle_energies(o, samples, count, t, energies);
        for (int64_t c = 0; c < base; c++) {
            double sum = 0.0;
            for (int64_t b = 0; b < o->bins; b++)
                sum += log(energies[b]) * cos(PI * (double)c * ((double)b + 0.5) / (double)o->bins);
            sum *= sqrt((c ? 2.0 : 1.0) / (double)o->bins);
            if (o->lifter > 0.0) sum *= 1.0 + o->lifter / 2.0 * sin(PI * (double)c / o->lifter);
            all[t * columns + c] = o->features == AT_FEATURES_MFCC ? sum : log(energies[c]);
        }
    }
    for (int64_t d = 1; d <= o->deltas; d++) {
        for (int64_t t = 0; t < rows; t++) {
            for (int64_t c = 0; c < base; c++) {
                double above = 0.0, below = 0.0;
                for (int64_t n = -o->delta_reach; n <= o->delta_reach; n++) {
                    int64_t at = t + n < 0 ? 0 : t + n >= rows ? rows - 1 : t + n;
                    above += (double)n * all[at * columns + (d - 1) * base + c];
                    below += (double)(n * n);
                }
                all[t * columns + d * base + c] = above / below;
            }
        }
    }
    free(energies);
    return all;
}

/* ---- recordings ---- */

/* Two tones, hiss and an offset. */
static float *make_samples(int64_t count, uint64_t seed) {
    test_random random = {seed};
    float *samples = malloc((size_t)count * sizeof *samples + 1);
    assert_non_null(samples);
    for (int64_t i = 0; i < count; i++)
        samples[i] = 0.02f + 0.2f * (float)sin(0.11 * (double)i) + 0.1f * (float)sin(0.83 * (double)i) +
                     0.05f * random_normal(&random);
    return samples;
}

static float *compute(const at_frames *frames, attn_context *with, const float *samples, int64_t count) {
    int64_t numbers = at_frames_count(frames, count) * at_frames_columns(frames);
    float *rows = malloc((size_t)numbers * sizeof *rows + 1);
    at_frames_work *work = NULL;
    assert_non_null(rows);
    assert_int_equal(at_frames_compute(frames, with, &work, samples, count, rows), ATTN_OK);
    at_frames_work_destroy(with, work);
    return rows;
}

static at_frames *make_frames(const at_frames_options *options) {
    at_frames *frames = NULL;
    attn_status status = at_frames_create(context, options, &frames);
    if (status != ATTN_OK) fail_msg("%s", attn_context_error(context));
    return frames;
}

static void check_against_oracle(const char *name, const at_frames_options *options, int64_t count) {
    float *samples = make_samples(count, 7);
    at_frames *frames = make_frames(options);
    int64_t rows = oracle_count(options, count);
    assert_int_equal(at_frames_count(frames, count), rows);
    int64_t columns = at_frames_columns(frames);
    assert_int_equal(columns, oracle_base(options) * (1 + options->deltas));
    double *want = oracle_frames(options, samples, count);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *with = test_context(isa, 1);
        if (!with) continue;
        float *got = compute(frames, with, samples, count);
        for (int64_t i = 0; i < rows * columns; i++) {
            /* The noise is 1/4 of the loudest tone: no energy is faint. A cepstrum is a sum that cancels, of
             * terms as large as the first one of its row. */
            double bound = 5e-5 * fmax(1.0, fmax(fabs(want[i]), fabs(want[i / columns * columns])));
            if (!(fabs((double)got[i] - want[i]) <= bound))
                fail_msg("%s on %s: row %lld column %lld: %.7g, not %.7g", name, test_isa_names[isa],
                         (long long)(i / columns), (long long)(i % columns), (double)got[i], want[i]);
        }
        free(got);
    }
    free(want);
    at_frames_destroy(frames);
    free(samples);
}

/* ---- tests ---- */

typedef struct option_case {
    const char *name;
    void (*set)(at_frames_options *options);
} option_case;

static void set_nothing(at_frames_options *o) { (void)o; }
static void set_hann(at_frames_options *o) { o->window = AT_WINDOW_HANN; }
static void set_hamming(at_frames_options *o) { o->window = AT_WINDOW_HAMMING; }
static void set_rectangle(at_frames_options *o) { o->window = AT_WINDOW_RECTANGLE; }
static void set_periodic(at_frames_options *o) { o->periodic = 1; }
static void set_mean(at_frames_options *o) { o->remove_mean = 0; }
static void set_flat(at_frames_options *o) { o->preemphasis = 0.0; }
static void set_slaney(at_frames_options *o) { o->scale = AT_MEL_SLANEY; }
static void set_ramps(at_frames_options *o) { o->ramps_in_hz = 1; }
static void set_area(at_frames_options *o) { o->area = 1; }
static void set_librosa(at_frames_options *o) {
    o->scale = AT_MEL_SLANEY;
    o->area = o->ramps_in_hz = o->centered = o->periodic = 1;
    o->window = AT_WINDOW_HANN;
    o->preemphasis = 0.0;
    o->remove_mean = 0;
}
static void set_magnitude(at_frames_options *o) { o->magnitude = 1; }
static void set_range(at_frames_options *o) { o->low_hz = 100.0, o->high_hz = 3000.0; }
static void set_below(at_frames_options *o) { o->high_hz = -500.0; }
static void set_floor(at_frames_options *o) { o->floor = 1e9; }
static void set_scale(at_frames_options *o) { o->scale_samples = 1.0; }
static void set_mfcc(at_frames_options *o) { o->features = AT_FEATURES_MFCC; }
static void set_plain_mfcc(at_frames_options *o) { o->features = AT_FEATURES_MFCC, o->lifter = 0.0; }
static void set_deltas(at_frames_options *o) { o->deltas = 1; }
static void set_two_deltas(at_frames_options *o) {
    o->features = AT_FEATURES_MFCC;
    o->deltas = 2;
    o->delta_reach = 3;
}
static void set_centered(at_frames_options *o) { o->centered = 1; }
static void set_long_shift(at_frames_options *o) { o->shift_ms = 31.0; }
static void set_44100(at_frames_options *o) { o->rate = 44100.0; }
static void set_8000(at_frames_options *o) { o->rate = 8000.0, o->bins = 23; }
static void set_11025(at_frames_options *o) { o->rate = 11025.0, o->centered = 1; } /* an odd window */
static void set_80(at_frames_options *o) { o->bins = 80; }
static void set_tiny(at_frames_options *o) { /* windows and transforms of 4 samples */
    o->window_ms = 0.25;
    o->shift_ms = 0.0625;
    o->window = AT_WINDOW_RECTANGLE;
    o->bins = 1;
    o->scale_samples = 1.0;
}
static void set_17(at_frames_options *o) { o->bins = 17; }

static const option_case cases[] = {
    {"defaults", set_nothing},
    {"hann", set_hann},
    {"hamming", set_hamming},
    {"rectangle", set_rectangle},
    {"periodic", set_periodic},
    {"with its mean", set_mean},
    {"no pre-emphasis", set_flat},
    {"slaney", set_slaney},
    {"ramps in Hz", set_ramps},
    {"area", set_area},
    {"librosa", set_librosa},
    {"magnitude", set_magnitude},
    {"range", set_range},
    {"below half the rate", set_below},
    {"floor", set_floor},
    {"scale", set_scale},
    {"mfcc", set_mfcc},
    {"mfcc without lifter", set_plain_mfcc},
    {"deltas", set_deltas},
    {"deltas twice", set_two_deltas},
    {"centred", set_centered},
    {"long shift", set_long_shift},
    {"44100 Hz", set_44100},
    {"8000 Hz", set_8000},
    {"11025 Hz", set_11025},
    {"80 bins", set_80},
    {"17 bins", set_17},
    {"tiny", set_tiny},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static at_frames_options options_of(const option_case *c) {
    at_frames_options options;
    at_frames_defaults(&options);
    c->set(&options);
    return options;
}

static void test_every_option(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c++) {
        at_frames_options options = options_of(&cases[c]);
        int64_t window = oracle_window(&options), shift = oracle_shift(&options);
        check_against_oracle(cases[c].name, &options, window + 18 * shift + 3);
    }
}

/* 0 .. 3 windows of samples, whole and in pieces. */
static void test_counts(void **state) {
    (void)state;
    for (int centered = 0; centered < 2; centered++) {
        at_frames_options options;
        at_frames_defaults(&options);
        options.rate = 1000.0;
        options.bins = 5;
        options.centered = centered;
        options.deltas = 1;
        at_frames *frames = make_frames(&options);
        assert_int_equal(at_frames_window(frames), 25);
        assert_int_equal(at_frames_shift(frames), 10);
        for (int64_t count = 0; count <= 76; count++) {
            assert_int_equal(at_frames_count(frames, count), oracle_count(&options, count));
            check_against_oracle("counts", &options, count);
        }
        at_frames_destroy(frames);
    }
}

static void check_pieces(const char *name, const at_frames *frames, const float *samples, int64_t count,
                         int64_t piece, int ends_empty) {
    int64_t rows = at_frames_count(frames, count), columns = at_frames_columns(frames), have = 0;
    float *whole = compute(frames, context, samples, count);
    at_frames_stream *stream;
    assert_int_equal(at_frames_stream_create(context, frames, &stream), ATTN_OK);
    for (int64_t i = 0, ended = 0; !ended; i += piece) {
        int64_t left = count - i < piece ? count - i : piece, fresh = -1;
        const float *numbers;
        if (left < 0) left = 0;
        ended = ends_empty ? left == 0 : i + piece >= count;
        assert_int_equal(
            at_frames_stream_push(stream, left ? samples + i : NULL, left, (int)ended, &numbers, &fresh),
            ATTN_OK);
        assert_true(fresh >= 0 && have + fresh <= rows);
        if (fresh && memcmp(numbers, whole + have * columns, (size_t)(fresh * columns) * sizeof *whole))
            fail_msg("%s in pieces of %lld: other bits", name, (long long)piece);
        have += fresh;
    }
    if (have != rows)
        fail_msg("%s: %lld samples in pieces of %lld: %lld rows, not %lld", name, (long long)count,
                 (long long)piece, (long long)have, (long long)rows);
    const float *numbers;
    int64_t fresh;
    assert_int_equal(at_frames_stream_push(stream, samples, 1, 0, &numbers, &fresh), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "after the last"));
    at_frames_stream_destroy(stream);
    free(whole);
}

static void test_pieces(void **state) {
    (void)state;
    static const int64_t pieces[] = {1, 7, 160, 1000, 100000};
    for (int c = 0; c < CASES; c++) {
        at_frames_options options = options_of(&cases[c]);
        at_frames *frames = make_frames(&options);
        int64_t count = oracle_window(&options) + 23 * oracle_shift(&options) + 5;
        float *samples = make_samples(count, 11);
        for (int p = 0; p < 5; p++) check_pieces(cases[c].name, frames, samples, count, pieces[p], p % 2);
        free(samples);
        at_frames_destroy(frames);
    }
}

/* Every length up to three windows, so that the last frame ends everywhere. */
static void test_pieces_of_every_length(void **state) {
    (void)state;
    float *samples = make_samples(120, 13);
    for (int mode = 0; mode < 12; mode++) {
        at_frames_options options;
        at_frames_defaults(&options);
        options.rate = 1000.0;
        options.bins = 5;
        options.window_ms = mode & 1 ? 25 : 16;
        options.centered = (mode & 2) != 0;
        options.shift_ms = mode < 4 ? 10 : mode < 8 ? 29 : 8;
        options.deltas = mode < 4 ? 0 : mode < 8 ? 1 : 2;
        at_frames *frames = make_frames(&options);
        for (int64_t count = 0; count <= 120; count++)
            for (int64_t piece = 1; piece <= 31; piece += 6)
                check_pieces("every length", frames, samples, count, piece, count & 1);
        at_frames_destroy(frames);
    }
    free(samples);
}

/* How far the rows of a stream are behind its samples is what the header says: a window, and the deltas'
 * reach. */
static void test_delay(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    options.deltas = 2;
    at_frames *frames = make_frames(&options);
    at_frames_stream *stream;
    float *samples = make_samples(16000, 3);
    assert_int_equal(at_frames_stream_create(context, frames, &stream), ATTN_OK);
    int64_t have = 0;
    for (int64_t i = 0; i < 16000; i += 160) {
        const float *numbers;
        int64_t rows;
        assert_int_equal(at_frames_stream_push(stream, samples + i, 160, 0, &numbers, &rows), ATTN_OK);
        have += rows;
        int64_t whole = at_frames_count(frames, i + 160);
        assert_int_equal(have, whole > 4 ? whole - 4 : 0);
    }
    at_frames_stream_destroy(stream);
    at_frames_destroy(frames);
    free(samples);
}

static void test_sine_peaks_in_its_filter(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    at_frames *frames = make_frames(&options);
    float samples[400];
    double first = oracle_mel(&options, options.low_hz), last = oracle_mel(&options, 8000.0);
    for (int64_t b = 6; b < 40; b++) { /* lower filters are narrower than what the window smears */
        double hz = oracle_hz(&options, first + (last - first) * (double)(b + 1) / 41.0);
        for (int i = 0; i < 400; i++) samples[i] = 0.5f * (float)sin(2.0 * PI * hz * i / 16000.0);
        float *row = compute(frames, context, samples, 400);
        int64_t peak = 0;
        for (int64_t c = 1; c < 40; c++)
            if (row[c] > row[peak]) peak = c;
        assert_int_equal(peak, b);
        free(row);
    }
    at_frames_destroy(frames);
}

static void test_silence_is_the_floor(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    options.deltas = 2;
    at_frames *frames = make_frames(&options);
    float silence[1600] = {0.0f}, constant[1600];
    for (int i = 0; i < 1600; i++) constant[i] = 0.25f;
    for (int loud = 0; loud < 2; loud++) { /* a constant is silence less its mean */
        float *rows = compute(frames, context, loud ? constant : silence, 1600);
        int64_t columns = at_frames_columns(frames);
        for (int64_t i = 0; i < at_frames_count(frames, 1600) * columns; i++) {
            double want = i % columns < 40 ? log(FLT_EPSILON) : 0.0;
            assert_true(fabs((double)rows[i] - want) < 2e-6);
        }
        free(rows);
    }
    at_frames_destroy(frames);
}

/* A sample that is no number spoils the frames that it is in, and no others. */
static void test_nan_stays_in_its_frames(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    at_frames *frames = make_frames(&options);
    float *samples = make_samples(8000, 17);
    samples[4000] = NAN;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *with = test_context(isa, 1);
        if (!with) continue;
        float *rows = compute(frames, with, samples, 8000);
        for (int64_t t = 0; t < at_frames_count(frames, 8000); t++)
            for (int64_t c = 0; c < 40; c++)
                assert_int_equal(isnan(rows[t * 40 + c]) != 0, t * 160 <= 4000 && 4000 < t * 160 + 400);
        free(rows);
    }
    free(samples);
    at_frames_destroy(frames);
}

/* The numbers of a frame do not depend on in place in its block of lanes. */
static void test_frames_stand_alone(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    options.features = AT_FEATURES_MFCC;
    at_frames *frames = make_frames(&options);
    float *samples = make_samples(400 + 39 * 160, 23);
    float *all = compute(frames, context, samples, 400 + 39 * 160);
    for (int64_t t = 0; t < 40; t++) {
        float *one = compute(frames, context, samples + t * 160, 400);
        assert_memory_equal(one, all + t * 13, 13 * sizeof *one);
        free(one);
    }
    free(all);
    free(samples);
    at_frames_destroy(frames);
}

#define REFUSES(member, value)                                                                               \
    do {                                                                                                     \
        at_frames_options wrong = options;                                                                   \
        at_frames *none = NULL;                                                                              \
        wrong.member = value;                                                                                \
        assert_int_equal(at_frames_create(context, &wrong, &none), ATTN_INVALID_ARGUMENT);                   \
        assert_null(none);                                                                                   \
        assert_non_null(strstr(attn_context_error(context), #member " is "));                                \
    } while (0)

static void test_wrong_options(void **state) {
    (void)state;
    at_frames_options options;
    at_frames_defaults(&options);
    REFUSES(rate, 0.0);
    REFUSES(rate, NAN);
    REFUSES(rate, 2e9);
    REFUSES(window_ms, 0.0);
    REFUSES(window_ms, 0.2);
    REFUSES(window_ms, 1e9);
    REFUSES(window_ms, NAN);
    REFUSES(shift_ms, 0.0);
    REFUSES(shift_ms, -10.0);
    REFUSES(shift_ms, INFINITY);
    REFUSES(preemphasis, -0.1);
    REFUSES(preemphasis, 1.5);
    REFUSES(window, (at_window_function)4);
    REFUSES(bins, 0);
    REFUSES(bins, 401);
    REFUSES(low_hz, -1.0);
    REFUSES(low_hz, 8000.0);
    REFUSES(high_hz, 8001.0);
    REFUSES(low_hz, NAN);
    REFUSES(scale, (at_mel_scale)2);
    REFUSES(floor, 0.0);
    REFUSES(floor, 1e-60);
    REFUSES(floor, NAN);
    REFUSES(features, (at_frame_features)2);
    REFUSES(deltas, -1);
    REFUSES(deltas, 3);
    REFUSES(scale_samples, 0.0);
    REFUSES(scale_samples, INFINITY);
    options.features = AT_FEATURES_MFCC;
    REFUSES(cepstra, 0);
    REFUSES(cepstra, 41);
    REFUSES(lifter, -1.0);
    REFUSES(lifter, INFINITY);
    options.deltas = 1;
    REFUSES(delta_reach, 0);
    REFUSES(delta_reach, 100000);
    at_frames_destroy(NULL);
    at_frames_stream_destroy(NULL);
    at_frames_work_destroy(context, NULL);
}

static int setup(void **state) {
    if (test_contexts_setup(state)) return 1;
    context = test_best_context(1);
    return context ? 0 : 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_of_every_length),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_sine_peaks_in_its_filter),
        cmocka_unit_test(test_silence_is_the_floor),
        cmocka_unit_test(test_nan_stays_in_its_frames),
        cmocka_unit_test(test_frames_stand_alone),
        cmocka_unit_test(test_wrong_options),
    };
    return cmocka_run_group_tests(tests, setup, test_contexts_teardown);
}
