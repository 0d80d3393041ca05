/* losses.c: losses, a row at a time.
 *
 * Sums go in runs: SUM_VECTORS vectors are added lane by lane in f32, then the
 * run's sum in double, so that the error does not grow with the length and the
 * order depends on the length alone.
 *
 * log: x = m 2^e with m in [sqrt(1/2), sqrt(2)); log(1 + t) = t - t^2 / 2 +
 * t^3 P8(t), minimax on t = m - 1, < 1.5 ulp (held by tests/test_operations_losses.c).
 */
#include "kernels/impl/math.h"
#include "kernels/rows.h"

#include <math.h>

enum { SUM_CHAINS = 4, SUM_VECTORS = 32 * SUM_CHAINS };

/* P8 of log(1 + t), without the t - t^2 / 2. */
#define LOG_P0 3.3333331174e-1f
#define LOG_P1 -2.4999993993e-1f
#define LOG_P2 2.0000714765e-1f
#define LOG_P3 -1.6668057665e-1f
#define LOG_P4 1.4249322787e-1f
#define LOG_P5 -1.2420140846e-1f
#define LOG_P6 1.1676998740e-1f
#define LOG_P7 -1.1514610310e-1f
#define LOG_P8 7.0376836292e-2f
#define SQRT_2 1.41421356237309504880f

/* ln 2 in two parts: e times the first is exact. */
#define LN_2_HIGH 0.693359375f
#define LN_2_LOW -2.12194440e-4f

/* For x = 0, normal numbers, inf and NaN; smaller ones count as 0. A plain loop
 * over the bits of as many numbers as a vector has: vectors of it are the
 * compiler's, without code for what is left over. */
VEC_INLINE vec vec_logarithm(vec x) {
    float value[VEC_WIDTH], result[VEC_WIDTH];
    vec_store(value, x);
    for (int l = 0; l < VEC_WIDTH; l++) {
        uint32_t bits;
        memcpy(&bits, &value[l], sizeof bits);
        uint32_t above = bits - 0x3f3504f3u; /* sqrt(1/2), so that the exponent changes there */
        int32_t exponent = (int32_t)above >> 23;
        uint32_t fraction = (above & 0x007fffffu) + 0x3f3504f3u;
        float mantissa;
        memcpy(&mantissa, &fraction, sizeof mantissa);
        float e = (float)exponent, t = mantissa - 1.0f, square = t * t;
        float p = LOG_P8;
        p = p * t + LOG_P7;
        p = p * t + LOG_P6;
        p = p * t + LOG_P5;
        p = p * t + LOG_P4;
        p = p * t + LOG_P3;
        p = p * t + LOG_P2;
        p = p * t + LOG_P1;
        p = p * t + LOG_P0;
        float tail = p * t * square + e * LN_2_LOW - 0.5f * square;
        result[l] = tail + t + e * LN_2_HIGH;
    }
    vec y = vec_select(vec_less(x, vec_set(1.17549435e-38f)), vec_set(-INFINITY), vec_load(result));
    return vec_select(vec_less(x, vec_set(INFINITY)), y, x); /* inf and NaN stay */
}

/* Of ELU below 0 the slope is y + 1 and x its logarithm; the two are then multiplied, so that what y has lost
 * of x by being rounded near -1 is lost from nothing. */
static void activation_undo(attn_activation activation, int64_t count, const float *y, const float *d,
                            float *dx, float *x) {
    const vec zero = vec_set(0.0f), one = vec_set(1.0f), least = vec_set(1e-9f);
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        int64_t left = count - c;
        vec result = vec_load_up_to(y + c, left), given = vec_load_up_to(d + c, left);
        vecb above = vec_less(zero, result);
        vec slope = zero, before = result;
        if (activation == ATTN_ELU) {
            slope = vec_add(result, one);
            before = vec_select(above, result, vec_logarithm(vec_max(least, slope)));
        }
        vec_store_up_to(dx + c, vec_select(above, given, vec_mul(given, slope)), left);
        vec_store_up_to(x + c, before, left);
    }
}

static void logarithm(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec_store_up_to(y + c, vec_logarithm(vec_load_up_to(x + c, count - c)), count - c);
    }
}

/* log(1 + u) for 0 <= u <= 1, exact to the last bits for small u, too. */
VEC_INLINE vec log_of_one_more(vec u) {
    const vec half = vec_set(0.5f);
    vecb small = vec_less(u, vec_set(SQRT_2 - 1.0f));
    vec t = vec_select(small, u, vec_mul(vec_sub(u, vec_set(1.0f)), half)); /* (1 + u) / 2 - 1 */
    vec square = vec_mul(t, t);
    vec p = vec_set(LOG_P8);
    p = vec_fma(p, t, vec_set(LOG_P7));
    p = vec_fma(p, t, vec_set(LOG_P6));
    p = vec_fma(p, t, vec_set(LOG_P5));
    p = vec_fma(p, t, vec_set(LOG_P4));
    p = vec_fma(p, t, vec_set(LOG_P3));
    p = vec_fma(p, t, vec_set(LOG_P2));
    p = vec_fma(p, t, vec_set(LOG_P1));
    p = vec_fma(p, t, vec_set(LOG_P0));
    vec tail = vec_sub(vec_mul(vec_mul(p, t), square), vec_mul(half, square));
    vec whole = vec_select(small, vec_set(0.0f), vec_set(LN_2));
    return vec_add(vec_add(tail, t), whole);
}

/* The last, incomplete vector of a row: -inf, which is nothing to a maximum and
 * to a sum of exponentials, in the lanes past its end. */
static const float nothing_after[32] = {
    0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,
    0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,      0.0f,
    -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
    -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
};
VEC_INLINE vec load_or_nothing(const float *p, int64_t left) {
    if (left >= VEC_WIDTH) return vec_load(p);
    return vec_add(vec_load_part(p, (int)left), vec_load(nothing_after + 16 - left));
}

static double sum_in_double(int64_t count, const float *x) {
    double total = 0.0;
    for (int64_t first = 0; first < count; first += SUM_VECTORS * VEC_WIDTH) {
        int64_t left = count - first < SUM_VECTORS * VEC_WIDTH ? count - first : SUM_VECTORS * VEC_WIDTH;
        vec chain[SUM_CHAINS];
        UNROLL for (int k = 0; k < SUM_CHAINS; k++) chain[k] = vec_set(0.0f);
        const float *p = x + first;
        for (; left >= SUM_CHAINS * VEC_WIDTH; left -= SUM_CHAINS * VEC_WIDTH, p += SUM_CHAINS * VEC_WIDTH) {
            UNROLL for (int k = 0; k < SUM_CHAINS; k++) {
                chain[k] = vec_add(chain[k], vec_load(p + k * VEC_WIDTH));
            }
        }
        for (; left > 0; left -= VEC_WIDTH, p += VEC_WIDTH) {
            chain[0] = vec_add(chain[0], vec_load_up_to(p, left));
        }
        total += (double)vec_sum(vec_add(vec_add(chain[0], chain[1]), vec_add(chain[2], chain[3])));
    }
    return total;
}

/* ---- cross-entropy ---- */

VEC_INLINE float row_maximum(int64_t count, const float *x) {
    vec chain[SUM_CHAINS];
    UNROLL for (int k = 0; k < SUM_CHAINS; k++) chain[k] = vec_set(-INFINITY);
    int64_t c = 0;
    for (; c + SUM_CHAINS * VEC_WIDTH <= count; c += SUM_CHAINS * VEC_WIDTH) {
        UNROLL for (int k = 0; k < SUM_CHAINS; k++) {
            chain[k] = vec_max(chain[k], vec_load(x + c + k * VEC_WIDTH));
        }
    }
    for (; c < count; c += VEC_WIDTH) chain[0] = vec_max(chain[0], load_or_nothing(x + c, count - c));
    return vec_maximum(vec_max(vec_max(chain[0], chain[1]), vec_max(chain[2], chain[3])));
}

VEC_INLINE vec exp_below(vec x, vec maximum) { /* x <= maximum, so that nothing overflows */
    return vec_exp2(vec_mul(vec_sub(x, maximum), vec_set(LOG2_E)));
}

static float exponential_sum_below(int64_t count, const float *x, float maximum) {
    const vec highest = vec_set(maximum);
    double total = 0.0;
    for (int64_t first = 0; first < count; first += SUM_VECTORS * VEC_WIDTH) {
        int64_t left = count - first < SUM_VECTORS * VEC_WIDTH ? count - first : SUM_VECTORS * VEC_WIDTH;
        vec chain[SUM_CHAINS];
        UNROLL for (int k = 0; k < SUM_CHAINS; k++) chain[k] = vec_set(0.0f);
        const float *p = x + first;
        for (; left >= SUM_CHAINS * VEC_WIDTH; left -= SUM_CHAINS * VEC_WIDTH, p += SUM_CHAINS * VEC_WIDTH) {
            UNROLL for (int k = 0; k < SUM_CHAINS; k++) {
                chain[k] = vec_add(chain[k], exp_below(vec_load(p + k * VEC_WIDTH), highest));
            }
        }
        for (; left > 0; left -= VEC_WIDTH, p += VEC_WIDTH) {
            chain[0] = vec_add(chain[0], exp_below(load_or_nothing(p, left), highest));
        }
        total += (double)vec_sum(vec_add(vec_add(chain[0], chain[1]), vec_add(chain[2], chain[3])));
    }
    return (float)total;
}

/* A NaN in x need not show in the maximum, but is in the sum. */
static void exponential_sum(int64_t count, const float *x, float *maximum, float *sum) {
    *maximum = row_maximum(count, x);
    *sum = exponential_sum_below(count, x, *maximum);
}

static void exponential_sum_in_blocks(int64_t count, int64_t block, const float *x, float *maxima,
                                      float *maximum, float *sum) {
    *maximum = -INFINITY;
    for (int64_t first = 0; first < count; first += block) {
        float highest = row_maximum(count - first < block ? count - first : block, x + first);
        if (highest > *maximum) *maximum = highest;
        *maxima++ = highest;
    }
    *sum = exponential_sum_below(count, x, *maximum);
}

/* Only smoothing asks for it: four chains would gain little. */
static double distance_sum(int64_t count, const float *weights, float maximum, const float *x) {
    const vec highest = vec_set(maximum), zero = vec_set(0.0f);
    double total = 0.0;
    for (int64_t first = 0; first < count; first += SUM_VECTORS * VEC_WIDTH) {
        int64_t end = count - first < SUM_VECTORS * VEC_WIDTH ? count : first + SUM_VECTORS * VEC_WIDTH;
        vec chain = zero;
        for (int64_t c = first; c < end; c += VEC_WIDTH) {
            vec distance = vec_sub(highest, vec_load_up_to(x + c, end - c));
            vec weight = weights ? vec_load_up_to(weights + c, end - c) : vec_set(1.0f);
            vec share = vec_select(vec_equal(weight, zero), zero, vec_mul(weight, distance));
            if (end - c < VEC_WIDTH) { /* lanes past the end are not there */
                float lanes[VEC_WIDTH];
                vec_store(lanes, zero);
                vec_store_part(lanes, share, (int)(end - c));
                share = vec_load(lanes);
            }
            chain = vec_add(chain, share);
        }
        total += (double)vec_sum(chain);
    }
    return total;
}

static void softmax_slope(int64_t count, const float *weights, float maximum, float factor, float smoothing,
                          const float *x, float *y) {
    const vec highest = vec_set(maximum), share = vec_set(factor), less = vec_set(smoothing);
    int64_t c = 0;
    for (; smoothing == 0.0f && c < count; c += VEC_WIDTH) {
        vec power = exp_below(vec_load_up_to(x + c, count - c), highest);
        vec_store_up_to(y + c, vec_mul(share, power), count - c);
    }
    for (; c < count; c += VEC_WIDTH) {
        vec power = exp_below(vec_load_up_to(x + c, count - c), highest);
        vec target = weights ? vec_mul(less, vec_load_up_to(weights + c, count - c)) : less;
        vec_store_up_to(y + c, vec_sub(vec_mul(share, power), target), count - c);
    }
}

/* ---- number by number; a target that is NaN is missing ---- */

/* max(x, 0) - x t + log(1 + e^-|x|) */
static void binary_cross_entropy(int64_t count, const float *x, const float *targets, float *y) {
    const vec zero = vec_set(0.0f);
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec z = vec_load_up_to(x + c, count - c), t = vec_load_up_to(targets + c, count - c);
        vec power = vec_exp2(vec_mul(vec_abs(z), vec_set(-LOG2_E)));
        vec hinge = vec_sub(vec_max(zero, z), vec_mul(z, t)); /* in this order: a NaN passes */
        vec loss = vec_add(hinge, log_of_one_more(power));
        vec_store_up_to(y + c, vec_select(vec_equal(t, t), loss, zero), count - c);
    }
}

static void binary_cross_entropy_slope(int64_t count, float factor, const float *x, const float *targets,
                                       float *y) {
    const vec zero = vec_set(0.0f), scale_all = vec_set(factor);
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec z = vec_load_up_to(x + c, count - c), t = vec_load_up_to(targets + c, count - c);
        vec slope = vec_mul(scale_all, vec_sub(vec_sigmoid(z), t));
        vec_store_up_to(y + c, vec_select(vec_equal(t, t), slope, zero), count - c);
    }
}

static void squared_error(int64_t count, const float *x, const float *targets, float *y) {
    for (int64_t c = 0; c < count; c++) {
        float t = targets[c], distance = x[c] - t;
        y[c] = t == t ? distance * distance : 0.0f;
    }
}
static void squared_error_slope(int64_t count, float factor, const float *x, const float *targets, float *y) {
    for (int64_t c = 0; c < count; c++) {
        float t = targets[c], slope = 2.0f * factor * (x[c] - t);
        y[c] = t == t ? slope : 0.0f;
    }
}

static void absolute_error(int64_t count, const float *x, const float *targets, float *y) {
    for (int64_t c = 0; c < count; c++) {
        float t = targets[c], distance = fabsf(x[c] - t);
        y[c] = t == t ? distance : 0.0f;
    }
}
static void absolute_error_slope(int64_t count, float factor, const float *x, const float *targets,
                                 float *y) { /* 0 where they are equal; a NaN in x passes */
    for (int64_t c = 0; c < count; c++) {
        float t = targets[c], distance = x[c] - t;
        float sign = distance > 0.0f ? 1.0f : distance < 0.0f ? -1.0f : distance;
        y[c] = t == t ? factor * sign : 0.0f;
    }
}
