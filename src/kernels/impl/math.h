/* math.h: exp2, tanh and erf as polynomials, the same on every instruction set.
 *
 * Coefficients are minimax fits (relative error, before rounding). Measured
 * against double over all of their range (tests/test_math.c):
 *
 *     exp2   2^round(x) * P6(x - round(x)), |x - round(x)| <= 1/2   < 1.5 ulp
 *     tanh   u / (u + 2), u = e^2|x| - 1 = 2^n (r + r^2 P4(r)) + 2^n - 1   < 3 ulp
 *     erf    |x| < 1: x * P5(x^2); else 1 - e^-x^2 t P7(t),
 *            t = 1 / (1 + |x| / 2); as the normal distribution
 *            function < 4 ulp for x > 0, and 2^-24 more for x < 0
 */
#ifndef AT_KERNELS_IMPL_MATH_H
#define AT_KERNELS_IMPL_MATH_H

#include "kernels/vec/vec.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

/* 2^x for x <= 127 other than -inf, for which it gives NaN or 0. */
VEC_INLINE vec vec_exp2_finite(vec x) {
    if (!VEC_SCALE2_SATURATES) x = vec_max(vec_set(VEC_POWER_OF_ZERO), x); /* in this order: a NaN passes */
    vec whole = vec_round(x);
    vec f = vec_sub(x, whole);
    vec p = vec_set(1.5345812e-4f);
    p = vec_fma(p, f, vec_set(1.3399931e-3f));
    p = vec_fma(p, f, vec_set(9.618489e-3f));
    p = vec_fma(p, f, vec_set(5.5503286e-2f));
    p = vec_fma(p, f, vec_set(2.4022646e-1f));
    p = vec_fma(p, f, vec_set(6.931472e-1f));
    p = vec_fma(p, f, vec_set(1.0f));
    return vec_scale2(p, whole);
}

/* 2^x for x <= 127. Below -126.5 the result is 0 or subnormal; -inf gives
 * exactly 0, NaN gives NaN. */
VEC_INLINE vec vec_exp2(vec x) { return vec_exp2_finite(vec_max(vec_set(VEC_POWER_OF_ZERO), x)); }

/* e^x for any x. */
VEC_INLINE vec vec_exp(vec x) { return vec_exp2(vec_min(vec_set(127.0f), vec_mul(x, vec_set(LOG2_E)))); }

/* e^y - 1 for |y| <= 19. With y = n ln 2 + r it is 2^n q + (2^n - 1), q = e^r - 1 =
 * r + r^2 P(r): as exact near 0 as elsewhere, and without a branch. A NaN passes. */
VEC_INLINE vec vec_exp_minus_1(vec y) {
    vec whole = vec_round(vec_mul(y, vec_set(LOG2_E)));
    vec r = vec_fma(whole, vec_set(-0.693145752f), y); /* ln 2 in two parts: n times the first is exact */
    r = vec_fma(whole, vec_set(-1.42860677e-6f), r);
    vec p = vec_set(1.3909228e-3f);
    p = vec_fma(p, r, vec_set(8.3666751e-3f));
    p = vec_fma(p, r, vec_set(4.1666735e-2f));
    p = vec_fma(p, r, vec_set(1.6666542e-1f));
    p = vec_fma(p, r, vec_set(0.5f));
    vec q = vec_fma(p, vec_mul(r, r), r), power = vec_scale2(vec_set(1.0f), whole);
    return vec_fma(q, power, vec_sub(power, vec_set(1.0f)));
}

/* u / (u + 2) for u = e^2|x| - 1. */
VEC_INLINE vec vec_tanh(vec x) {
    /* past 19 / 2 tanh is 1 */
    vec u = vec_exp_minus_1(vec_min(vec_set(19.0f), vec_mul(vec_set(2.0f), vec_abs(x))));
    return vec_copysign(vec_div(u, vec_add(u, vec_set(2.0f))), x);
}

VEC_INLINE vec vec_sigmoid(vec x) {
    vec power = vec_exp(vec_sub(vec_set(0.0f), x));
    return vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), power));
}

/* erfc(|x|) for |x| >= 1, without its sign; used where 1 - erf would cancel. */
VEC_INLINE vec vec_erfc_tail(vec magnitude) {
    vec t = vec_div(vec_set(1.0f), vec_fma(magnitude, vec_set(0.5f), vec_set(1.0f)));
    vec p = vec_set(9.303138e-2f);
    p = vec_fma(p, t, vec_set(-2.248465e-1f));
    p = vec_fma(p, t, vec_set(8.064583e-2f));
    p = vec_fma(p, t, vec_set(6.225333e-2f));
    p = vec_fma(p, t, vec_set(1.7828192e-1f));
    p = vec_fma(p, t, vec_set(2.470786e-1f));
    p = vec_fma(p, t, vec_set(2.820255e-1f));
    p = vec_fma(p, t, vec_set(2.8209913e-1f));
    vec power = vec_exp(vec_sub(vec_set(0.0f), vec_mul(magnitude, magnitude)));
    return vec_mul(vec_mul(p, t), power);
}

/* x * P5(x^2) = erf(x) for |x| < 1. */
VEC_INLINE vec vec_erf_small(vec x) {
    vec square = vec_mul(x, x);
    vec p = vec_set(-5.6314224e-4f);
    p = vec_fma(p, square, vec_set(4.9175513e-3f));
    p = vec_fma(p, square, vec_set(-2.6711311e-2f));
    p = vec_fma(p, square, vec_set(1.128018e-1f));
    p = vec_fma(p, square, vec_set(-3.7612325e-1f));
    p = vec_fma(p, square, vec_set(1.1283791f));
    return vec_mul(p, x);
}

/* The distribution function of the normal distribution, (1 + erf(x / sqrt 2)) / 2. */
VEC_INLINE vec vec_normal_cdf(vec x) {
    vec u = vec_mul(x, vec_set(0.70710678118654752440f));
    vec magnitude = vec_abs(u);
    vec middle = vec_fma(vec_set(0.5f), vec_erf_small(u), vec_set(0.5f));
    vec tail = vec_mul(vec_set(0.5f), vec_erfc_tail(magnitude));
    vec outer = vec_select(vec_less(u, vec_set(0.0f)), tail, vec_sub(vec_set(1.0f), tail));
    return vec_select(vec_less(magnitude, vec_set(1.0f)), middle, outer);
}

#endif
