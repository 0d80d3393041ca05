/* spectrum.c: the bands of a spectrum, as many frames at a time as a vector has lanes.
 *
 * A frame is a lane from the first sample to the last logarithm, so that no step shuffles, and the numbers of
 * a frame do not depend on those beside it. The transform of `size` real samples is one of n = size / 2
 * complex numbers, x[2 i] + i x[2 i + 1], in place:
 *
 *     decimation in frequency, by 4 as long as 4 divides the length, then by 2; the frequencies end up
 *     in the order of their reversed digits (s->bins)
 *     X[k] = E + w O, X[n - k] = conj(E - w O),  2 E = Z[k] + conj Z[n - k],  2 O = -i (Z[k] - conj Z[n - k])
 *
 * The two halvings are in the window function.
 */
#include "kernels/spectrum.h"
#include "kernels/impl/math.h"

#include <math.h>

typedef struct spectrum_number {
    vec r, i;
} spectrum_number;

VEC_INLINE spectrum_number spectrum_load(const float *z, int64_t index) {
    return (spectrum_number){vec_load(z + 2 * index * VEC_WIDTH), vec_load(z + (2 * index + 1) * VEC_WIDTH)};
}
VEC_INLINE void spectrum_store(float *z, int64_t index, spectrum_number a) {
    vec_store(z + 2 * index * VEC_WIDTH, a.r);
    vec_store(z + (2 * index + 1) * VEC_WIDTH, a.i);
}
VEC_INLINE spectrum_number spectrum_add(spectrum_number a, spectrum_number b) {
    return (spectrum_number){vec_add(a.r, b.r), vec_add(a.i, b.i)};
}
VEC_INLINE spectrum_number spectrum_less(spectrum_number a, spectrum_number b) {
    return (spectrum_number){vec_sub(a.r, b.r), vec_sub(a.i, b.i)};
}
/* a times the number at `turn`. */
VEC_INLINE spectrum_number spectrum_turn(spectrum_number a, const float *turn) {
    vec c = vec_set(turn[0]), s = vec_set(turn[1]);
    return (spectrum_number){vec_sub(vec_mul(a.r, c), vec_mul(a.i, s)), vec_fma(a.r, s, vec_mul(a.i, c))};
}

/* The four sums of one butterfly: y[q] = sum over p of (-i)^(p q) x[p]. */
VEC_INLINE void spectrum_cross(const spectrum_number x[4], spectrum_number y[4]) {
    spectrum_number even = spectrum_add(x[0], x[2]), odd = spectrum_add(x[1], x[3]);
    spectrum_number apart = spectrum_less(x[0], x[2]), across = spectrum_less(x[1], x[3]);
    y[0] = spectrum_add(even, odd);
    y[2] = spectrum_less(even, odd);
    y[1] = (spectrum_number){vec_add(apart.r, across.i), vec_sub(apart.i, across.r)};
    y[3] = (spectrum_number){vec_sub(apart.r, across.i), vec_add(apart.i, across.r)};
}

/* The transform of `length` complex numbers, in place; depth first, so that its parts stay in the cache. */
static void spectrum_transform(float *z, int64_t length, const float *turns) {
    spectrum_number x[4], y[4];
    const int64_t quarter = length / 4;
    if (length == 2) {
        x[0] = spectrum_load(z, 0);
        x[1] = spectrum_load(z, 1);
        spectrum_store(z, 0, spectrum_add(x[0], x[1]));
        spectrum_store(z, 1, spectrum_less(x[0], x[1]));
        return;
    }
    UNROLL for (int q = 0; q < 4; q++) x[q] = spectrum_load(z, q * quarter);
    spectrum_cross(x, y); /* j = 0: nothing turns */
    UNROLL for (int q = 0; q < 4; q++) spectrum_store(z, q * quarter, y[q]);
    for (int64_t j = 1; j < quarter; j++) {
        const float *turn = turns + 6 * j;
        UNROLL for (int q = 0; q < 4; q++) x[q] = spectrum_load(z, q * quarter + j);
        spectrum_cross(x, y);
        spectrum_store(z, j, y[0]);
        UNROLL for (int q = 1; q < 4; q++)
            spectrum_store(z, q * quarter + j, spectrum_turn(y[q], turn + 2 * (q - 1)));
    }
    if (quarter == 1) return;
    for (int q = 0; q < 4; q++)
        spectrum_transform(z + 2 * q * quarter * VEC_WIDTH, quarter, turns + 6 * quarter);
}

/* The samples of the frames, a lane each; returns their sums. */
static vec spectrum_gather(const at_spectrum *s, const float *samples, int64_t shift, int frames, float *x) {
    vec sums[2] = {vec_set(0.0f), vec_set(0.0f)};
    for (int64_t i = 0; i < s->window; i += VEC_WIDTH) {
        const int64_t left = s->window - i;
        vec block[VEC_WIDTH];
        UNROLL for (int l = 0; l < VEC_WIDTH; l++) block[l] =
            l < frames ? vec_load_up_to(samples + l * shift + i, left) : vec_set(0.0f);
        vec_transpose(block);
        UNROLL for (int c = 0; c < VEC_WIDTH; c++) {
            if (c < left) vec_store(x + (i + c) * VEC_WIDTH, block[c]);
            sums[c & 1] = vec_add(sums[c & 1], block[c]); /* past the end: 0 */
        }
    }
    return vec_add(sums[0], sums[1]);
}

static void spectrum_shape(const at_spectrum *s, vec sum, float *x) {
    const vec mean = s->remove_mean ? vec_div(sum, vec_set((float)s->window)) : vec_set(0.0f);
    const vec back = vec_set(-s->preemphasis);
    vec before = vec_sub(vec_load(x), mean);
    for (int64_t i = 0; i < s->window; i++) {
        vec now = vec_sub(vec_load(x + i * VEC_WIDTH), mean);
        vec_store(x + i * VEC_WIDTH, vec_mul(vec_fma(back, before, now), vec_set(s->taper[i])));
        before = now;
    }
    for (int64_t i = s->window; i < s->size; i++) vec_store(x + i * VEC_WIDTH, vec_set(0.0f));
}

VEC_INLINE vec spectrum_square(vec r, vec i) { return vec_fma(r, r, vec_mul(i, i)); }

/* |X[0 .. size / 2]|^2 of the transform z. */
static void spectrum_power(const at_spectrum *s, const float *z, float *power) {
    const int64_t n = s->size / 2;
    const vec four = vec_set(4.0f);
    spectrum_number zero = spectrum_load(z, s->bins[0]), middle = spectrum_load(z, s->bins[n / 2]);
    vec sum = vec_add(zero.r, zero.i), difference = vec_sub(zero.r, zero.i);
    vec_store(power, vec_mul(four, vec_mul(sum, sum)));
    vec_store(power + n * VEC_WIDTH, vec_mul(four, vec_mul(difference, difference)));
    vec_store(power + n / 2 * VEC_WIDTH, vec_mul(four, spectrum_square(middle.r, middle.i)));
    for (int64_t k = 1; k < n / 2; k++) {
        spectrum_number a = spectrum_load(z, s->bins[k]), b = spectrum_load(z, s->bins[n - k]);
        vec er = vec_add(a.r, b.r), ei = vec_sub(a.i, b.i);
        spectrum_number odd = {vec_add(a.i, b.i), vec_sub(b.r, a.r)};
        odd = spectrum_turn(odd, s->halves + 2 * k);
        vec_store(power + k * VEC_WIDTH, spectrum_square(vec_add(er, odd.r), vec_add(ei, odd.i)));
        vec_store(power + (n - k) * VEC_WIDTH, spectrum_square(vec_sub(er, odd.r), vec_sub(ei, odd.i)));
    }
}

/* rows[f][c] = numbers[c][f] */
static void spectrum_rows(const float *numbers, int64_t columns, int frames, float *rows, int64_t stride) {
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        vec block[VEC_WIDTH];
        UNROLL for (int l = 0; l < VEC_WIDTH; l++) block[l] = vec_load(numbers + (c + l) * VEC_WIDTH);
        vec_transpose(block);
        UNROLL for (int l = 0; l < VEC_WIDTH; l++) if (l < frames)
            vec_store_up_to(rows + l * stride + c, block[l], columns - c);
    }
}

static void spectrum_frames(const at_spectrum *s, const float *samples, int64_t shift, int frames,
                            float *work, float *rows, int64_t stride) {
    const int64_t n = s->size / 2, padded = (s->bands + VEC_WIDTH - 1) / VEC_WIDTH * VEC_WIDTH;
    float *power = work + s->size * VEC_WIDTH, *bands = power + (n + 1) * VEC_WIDTH;
    float *mapped = bands + padded * VEC_WIDTH;
    spectrum_shape(s, spectrum_gather(s, samples, shift, frames, work), work);
    spectrum_transform(work, n, s->turns);
    spectrum_power(s, work, power);
    if (s->magnitude)
        for (int64_t i = 0; i < (n + 1) * VEC_WIDTH; i++) power[i] = sqrtf(power[i]);
    for (int64_t b = 0; b < s->bands; b++) {
        const float *weights = s->band_weights + s->band_begin[b];
        const float *from = power + s->band_first[b] * VEC_WIDTH;
        vec energy = vec_set(0.0f);
        for (int64_t k = 0; k < s->band_begin[b + 1] - s->band_begin[b]; k++)
            energy = vec_fma(vec_set(weights[k]), vec_load(from + k * VEC_WIDTH), energy);
        vec_store(bands + b * VEC_WIDTH, vec_logarithm(vec_max(vec_set(s->floor), energy)));
    }
    for (int64_t o = 0; s->linear && o < s->outputs; o++) {
        vec sum = vec_set(0.0f);
        for (int64_t b = 0; b < s->bands; b++)
            sum = vec_fma(vec_set(s->linear[o * s->bands + b]), vec_load(bands + b * VEC_WIDTH), sum);
        vec_store(mapped + o * VEC_WIDTH, sum);
    }
    spectrum_rows(s->linear ? mapped : bands, s->outputs, frames, rows, stride);
}
