/* norms.c: norms, softmax, gates, dropout and rotary positions, a row at a time.
 *
 * Sums over a row run in FOUR vectors at once, so that an addition does not wait
 * for the one before it; what is left of the row goes to the first of them.
 */
#include <math.h>

#include "kernels/impl/activation.h"
#include "kernels/impl/dropout.h"
#include "kernels/rows.h"

enum { FOUR = 4 };

VEC_INLINE float sum_of_four(const vec s[FOUR]) {
    return vec_sum(vec_add(vec_add(s[0], s[1]), vec_add(s[2], s[3])));
}

/* x in its first `left` lanes, 0 in the others. */
VEC_INLINE vec first_lanes(vec x, int64_t left) {
    if (left >= VEC_WIDTH) return x;
    return vec_select(veci_at_least(veci_lanes(), veci_set((uint32_t)left)), vec_set(0.0f), x);
}

static float row_sum(int64_t columns, const float *x) {
    vec s[FOUR] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    int64_t c = 0;
    for (; c + FOUR * VEC_WIDTH <= columns; c += FOUR * VEC_WIDTH) {
        UNROLL for (int k = 0; k < FOUR; k++) s[k] = vec_add(s[k], vec_load(x + c + k * VEC_WIDTH));
    }
    for (; c < columns; c += VEC_WIDTH) s[0] = vec_add(s[0], vec_load_up_to(x + c, columns - c));
    return sum_of_four(s);
}

typedef struct row_moments {
    float sum, squares; /* of x - centre */
} row_moments;

VEC_INLINE row_moments moments_about(int64_t columns, const float *x, float centre) {
    const vec m = vec_set(centre);
    vec s[FOUR] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    vec q[FOUR] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    int64_t c = 0;
    for (; c + FOUR * VEC_WIDTH <= columns; c += FOUR * VEC_WIDTH) {
        UNROLL for (int k = 0; k < FOUR; k++) {
            vec d = vec_sub(vec_load(x + c + k * VEC_WIDTH), m);
            s[k] = vec_add(s[k], d);
            q[k] = vec_fma(d, d, q[k]);
        }
    }
    for (; c < columns; c += VEC_WIDTH) {
        vec d = first_lanes(vec_sub(vec_load_up_to(x + c, columns - c), m), columns - c);
        s[0] = vec_add(s[0], d);
        q[0] = vec_fma(d, d, q[0]);
    }
    row_moments moments = {sum_of_four(s), sum_of_four(q)};
    return moments;
}

/* ---- norms ---- */

/* y = (x - centre) * inverse * gain + bias; in place. */
static void normalise(int64_t columns, const float *x, const float *gain, const float *bias, float centre,
                      float inverse, float *y) {
    const vec m = vec_set(centre), v = vec_set(inverse);
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        vec z = vec_mul(vec_sub(vec_load_up_to(x + c, left), m), v);
        if (gain) z = vec_mul(z, vec_load_up_to(gain + c, left));
        if (bias) z = vec_add(z, vec_load_up_to(bias + c, left));
        vec_store_up_to(y + c, z, left);
    }
}

/* The sum has an error that a large mean makes visible; what is left about the
 * first mean corrects it, and the variance. */
static void layer_norm(int64_t columns, const float *x, const float *gain, const float *bias, float epsilon,
                       float *y, float *mean, float *inverse) {
    float m = row_sum(columns, x) / (float)columns;
    row_moments moments = moments_about(columns, x, m);
    float rest = moments.sum / (float)columns;
    float variance = moments.squares / (float)columns - rest * rest;
    *mean = m + rest;
    *inverse = 1.0f / sqrtf((variance > 0.0f ? variance : 0.0f) + epsilon);
    normalise(columns, x, gain, bias, *mean, *inverse, y);
}

static void rms_norm(int64_t columns, const float *x, const float *gain, float epsilon, float *y,
                     float *inverse) {
    *inverse = 1.0f / sqrtf(moments_about(columns, x, 0.0f).squares / (float)columns + epsilon);
    normalise(columns, x, gain, NULL, 0.0f, *inverse, y);
}

typedef struct norm_sums {
    float plain, along; /* of t and of t * z, with t = d * gain and z the normalised row */
} norm_sums;

/* The sums, and on the way d_gain += d * z, d_bias += d. Past the end of the row
 * d is 0, and so is what it adds. */
VEC_INLINE norm_sums norm_backward_sums(int64_t columns, const float *d, const float *x, const float *gain,
                                        vec m, vec v, float *d_gain, float *d_bias) {
    vec plain[2] = {vec_set(0.0f), vec_set(0.0f)}, along[2] = {vec_set(0.0f), vec_set(0.0f)};
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        int k = (int)(c / VEC_WIDTH % 2);
        vec g = vec_load_up_to(d + c, left), t = g;
        vec z = vec_mul(vec_sub(vec_load_up_to(x + c, left), m), v);
        if (gain) t = vec_mul(t, vec_load_up_to(gain + c, left));
        if (d_gain) vec_store_up_to(d_gain + c, vec_fma(g, z, vec_load_up_to(d_gain + c, left)), left);
        if (d_bias) vec_store_up_to(d_bias + c, vec_add(g, vec_load_up_to(d_bias + c, left)), left);
        if (k) {
            plain[1] = vec_add(plain[1], t);
            along[1] = vec_fma(t, z, along[1]);
        } else {
            plain[0] = vec_add(plain[0], t);
            along[0] = vec_fma(t, z, along[0]);
        }
    }
    norm_sums sums = {vec_sum(vec_add(plain[0], plain[1])), vec_sum(vec_add(along[0], along[1]))};
    return sums;
}

/* dx = inverse * (t - mean of t - z * mean of t z); without the mean of t where
 * the row was not centred. */
static void norm_backward(int64_t columns, const float *d, const float *x, const float *gain, int centred,
                          float mean, float inverse, int adds, float *dx, float *d_gain, float *d_bias) {
    const vec m = vec_set(mean), v = vec_set(inverse);
    norm_sums sums = norm_backward_sums(columns, d, x, gain, m, v, d_gain, d_bias);
    if (!dx) return;
    const vec plain = vec_set(centred ? sums.plain / (float)columns : 0.0f);
    const vec along = vec_set(sums.along / (float)columns);
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        vec t = vec_load_up_to(d + c, left), z = vec_mul(vec_sub(vec_load_up_to(x + c, left), m), v);
        if (gain) t = vec_mul(t, vec_load_up_to(gain + c, left));
        vec result = vec_mul(v, vec_sub(vec_sub(t, plain), vec_mul(z, along)));
        if (adds) result = vec_add(vec_load_up_to(dx + c, left), result);
        vec_store_up_to(dx + c, result, left);
    }
}

/* ---- softmax ---- */

/* dx = y * (d - sum of d y). */
static void softmax_backward(int64_t columns, const float *y, const float *d, float *dx) {
    vec s[FOUR] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    int64_t c = 0;
    for (; c + FOUR * VEC_WIDTH <= columns; c += FOUR * VEC_WIDTH) {
        UNROLL for (int k = 0; k < FOUR; k++) {
            int64_t at = c + k * VEC_WIDTH;
            s[k] = vec_fma(vec_load(d + at), vec_load(y + at), s[k]);
        }
    }
    for (; c < columns; c += VEC_WIDTH) {
        s[0] = vec_fma(vec_load_up_to(d + c, columns - c), vec_load_up_to(y + c, columns - c), s[0]);
    }
    const vec total = vec_set(sum_of_four(s));
    for (c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        vec_store_up_to(
            dx + c, vec_mul(vec_load_up_to(y + c, left), vec_sub(vec_load_up_to(d + c, left), total)), left);
    }
}

/* x - max - log(sum of exp(x - max)); -inf everywhere if all are. */
static void log_softmax(int64_t columns, const float *x, float *y) {
    vec m = vec_set(-INFINITY);
    int64_t c = 0;
    for (; c + VEC_WIDTH <= columns; c += VEC_WIDTH) m = vec_max(vec_load(x + c), m);
    float maximum = vec_maximum(m);
    for (; c < columns; c++) maximum = x[c] > maximum ? x[c] : maximum;
    if (maximum == -INFINITY) maximum = 0.0f;
    const vec reference = vec_set(maximum);
    vec s[2] = {vec_set(0.0f), vec_set(0.0f)};
    for (c = 0; c < columns; c += 2 * VEC_WIDTH) {
        UNROLL for (int k = 0; k < 2; k++) {
            int64_t at = c + k * VEC_WIDTH;
            if (at >= columns) break;
            vec z = vec_sub(vec_load_up_to(x + at, columns - at), reference);
            s[k] = vec_add(s[k], first_lanes(vec_exp2(vec_mul(z, vec_set(LOG2_E))), columns - at));
        }
    }
    float sum = vec_sum(vec_add(s[0], s[1]));
    const vec log_sum = vec_set(sum == 0.0f ? 0.0f : (float)log((double)sum));
    for (c = 0; c < columns; c += VEC_WIDTH) {
        vec z = vec_sub(vec_load_up_to(x + c, columns - c), reference);
        vec_store_up_to(y + c, vec_sub(z, log_sum), columns - c);
    }
}

/* dx = d - exp(y) * sum of d. */
static void log_softmax_backward(int64_t columns, const float *y, const float *d, float *dx) {
    const vec total = vec_set(row_sum(columns, d));
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        vec p = vec_exp2(vec_mul(vec_load_up_to(y + c, left), vec_set(LOG2_E)));
        vec_store_up_to(dx + c, vec_sub(vec_load_up_to(d + c, left), vec_mul(p, total)), left);
    }
}

/* ---- gates ---- */

VEC_INLINE void gated_product_with(attn_activation activation, int64_t count, const float *gate,
                                   const float *value, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        int64_t left = count - c;
        vec a = activate(activation, vec_load_up_to(gate + c, left));
        vec_store_up_to(y + c, vec_mul(a, vec_load_up_to(value + c, left)), left);
    }
}

static void gated_product(attn_activation activation, int64_t count, const float *gate, const float *value,
                          float *y) {
    FOR_ACTIVATION(activation, gated_product_with, count, gate, value, y);
}

/* Both are computed whatever is wanted: they share the exponential. */
VEC_INLINE void gated_product_backward_with(attn_activation activation, int64_t count, const float *gate,
                                            const float *value, const float *d, float *d_gate,
                                            float *d_value) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        int64_t left = count - c;
        vec g = vec_load_up_to(gate + c, left), v = vec_load_up_to(value + c, left),
            t = vec_load_up_to(d + c, left);
        vec to_value = vec_mul(t, activate(activation, g));
        vec to_gate = vec_mul(vec_mul(t, v), activation_slope(activation, g));
        if (d_value) vec_store_up_to(d_value + c, to_value, left);
        if (d_gate) vec_store_up_to(d_gate + c, to_gate, left);
    }
}

static void gated_product_backward(attn_activation activation, int64_t count, const float *gate,
                                   const float *value, const float *d, float *d_gate, float *d_value) {
    FOR_ACTIVATION(activation, gated_product_backward_with, count, gate, value, d, d_gate, d_value);
}

/* ---- dropout ---- */

static void dropout_all(int64_t columns, at_row_key key, uint32_t threshold, float factor, const float *x,
                        float *y) {
    const veci b = veci_set(key.b), limit = veci_set(threshold);
    const veci step = veci_set(DROPOUT_STEP * (uint32_t)VEC_WIDTH);
    const vec f = vec_set(factor), zero = vec_set(0.0f);
    veci at = veci_add(veci_mul(veci_lanes(), veci_set(DROPOUT_STEP)), veci_set(key.a));
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int64_t left = columns - c;
        vec z = vec_mul(vec_load_up_to(x + c, left), f);
        vec_store_up_to(y + c, vec_select(dropout_keeps_at(at, b, limit), z, zero), left);
        at = veci_add(at, step);
    }
}

/* ---- rotary positions ---- */

/* Heads so narrow that a vector holds one or more of them, with all their channels. */
static void rotary_narrow(int64_t heads, int64_t half, const float *cosine, const float *sine, float sign,
                          const float *x, float *y) {
    const veci lanes = veci_lanes(), width = veci_set((uint32_t)half);
    const veci halves = veci_shift_right(lanes, __builtin_ctzll((uint64_t)half)); /* a power of two */
    const veci channel = veci_xor(lanes, veci_mul(halves, width)), other = veci_xor(lanes, width);
    const vec c = vec_pick(vec_load_part(cosine, (int)half), channel);
    const vec along = vec_mul(vec_set(sign), vec_pick(vec_load_part(sine, (int)half), channel));
    const vec s = vec_select(veci_bit0(halves), along, vec_sub(vec_set(-0.0f), along));
    for (int64_t i = 0; i < 2 * half * heads; i += VEC_WIDTH) {
        int64_t left = 2 * half * heads - i;
        vec a = vec_load_up_to(x + i, left);
        vec_store_up_to(y + i, vec_add(vec_mul(a, c), vec_mul(vec_pick(a, other), s)), left);
    }
}

static void rotary_all(int64_t heads, int64_t half, const float *cosine, const float *sine, float sign,
                       const float *x, float *y) {
    if (half < VEC_WIDTH && VEC_WIDTH % (2 * half) == 0) {
        rotary_narrow(heads, half, cosine, sine, sign, x, y);
        return;
    }
    const vec s = vec_set(sign);
    for (int64_t h = 0; h < heads; h++, x += 2 * half, y += 2 * half) {
        for (int64_t c = 0; c < half; c += VEC_WIDTH) {
            int64_t left = half - c;
            vec a = vec_load_up_to(x + c, left), b = vec_load_up_to(x + half + c, left);
            vec cosines = vec_load_up_to(cosine + c, left),
                sines = vec_mul(s, vec_load_up_to(sine + c, left));
            vec_store_up_to(y + c, vec_sub(vec_mul(a, cosines), vec_mul(b, sines)), left);
            vec_store_up_to(y + half + c, vec_add(vec_mul(b, cosines), vec_mul(a, sines)), left);
        }
    }
}
