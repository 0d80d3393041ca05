/* math.h: exp2, tanh and the normal distribution as polynomials, the same on every instruction set.
 *
 * Coefficients are minimax fits (relative error, before rounding). Measured
 * against double over all of their range (tests/test_math.c):
 *
 *     exp2   2^round(x) * P6(x - round(x)), |x - round(x)| <= 1/2   < 1.5 ulp
 *     tanh   u / (u + 2), u = e^2|x| - 1 = 2^n (r + r^2 P4(r)) + 2^n - 1   < 3 ulp
 *     normal distribution function   e^(-x^2 / 2) t P6(t), t = 1 / (1 + 0.34 |x|),
 *            or 1 less it   < 4 ulp for x > 0; for x < 0 the error is below
 *            4 ulp + 2^-24 (absolute: below -6 the relative error grows)
 */
#ifndef AT_KERNELS_IMPL_MATH_H
#define AT_KERNELS_IMPL_MATH_H

#include "kernels/vec/vec.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

/* 2^x for x <= 127 other than -inf, for which it gives NaN or 0. The same bits by either way to the fraction.
 */
VEC_INLINE vec vec_exp2_finite(vec x) {
    if (!VEC_SCALE2_SATURATES) x = vec_max(vec_set(VEC_POWER_OF_ZERO), x); /* in this order: a NaN passes */
#if VEC_FRACTION
    vec f = vec_fraction(x), whole = vec_sub(x, f);
#else
    vec whole = vec_round(x);
    vec f = vec_sub(x, whole);
#endif
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
VEC_INLINE vec vec_exp2(vec x) {
    if (VEC_SCALE2_SATURATES && !VEC_FRACTION) x = vec_max(vec_set(VEC_POWER_OF_ZERO), x);
    return vec_exp2_finite(x);
}

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

/* e^(-x^2 / 2), the normal density without its factor. */
VEC_INLINE vec vec_bell(vec x) { return vec_exp2(vec_mul(vec_mul(x, x), vec_set(-0.5f * LOG2_E))); }

/* The distribution function of the normal distribution, (1 + erf(x / sqrt 2)) / 2: for x < 0 the tail
 * e^(-x^2 / 2) t P6(t), t = 1 / (1 + 0.34 |x|), else 1 less it. One way for all x; and the exponential is the
 * one that the derivative of GELU needs. */
VEC_INLINE vec vec_normal_cdf(vec x) {
    vec t = vec_div(vec_set(1.0f), vec_fma(vec_abs(x), vec_set(0.34f), vec_set(1.0f)));
    vec p = vec_set(4.7052905e-2f);
    p = vec_fma(p, t, vec_set(-2.0997275e-1f));
    p = vec_fma(p, t, vec_set(2.8044784e-1f));
    p = vec_fma(p, t, vec_set(-4.5527332e-2f));
    p = vec_fma(p, t, vec_set(1.6392294e-1f));
    p = vec_fma(p, t, vec_set(1.2785699e-1f));
    p = vec_fma(p, t, vec_set(1.3621946e-1f));
    vec tail = vec_mul(vec_mul(p, t), vec_bell(x));
    return vec_select(vec_less(x, vec_set(0.0f)), tail, vec_sub(vec_set(1.0f), tail));
}

#endif
