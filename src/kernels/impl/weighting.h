/* weighting.h: what the weightings without softmax make of a score, and the
 * derivative of that. The derivative of ReLU at 0 is 0.
 *
 * Scores come in powers of two (times log2 e), as everywhere in the kernels; the
 * derivative is with respect to the score itself. */
#ifndef AT_KERNELS_IMPL_WEIGHTING_H
#define AT_KERNELS_IMPL_WEIGHTING_H

#include <attn/attention.h>

#include "kernels/impl/math.h"

/* 1 / (1 + 2^-s). */
VEC_INLINE vec sigmoid_of_power(vec s) {
    vec power = vec_exp2(vec_min(vec_set(127.0f), vec_sub(vec_set(0.0f), s)));
    return vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), power));
}

VEC_INLINE vec plain_weight(attn_weighting weighting, vec s) {
    if (weighting == ATTN_WEIGHTS_SIGMOID) return sigmoid_of_power(s);
    vec natural = vec_mul(s, vec_set(LN_2));
    return weighting == ATTN_WEIGHTS_RELU ? vec_max(vec_set(0.0f), natural) : natural; /* a NaN passes */
}

VEC_INLINE vec plain_weight_slope(attn_weighting weighting, vec s) {
    if (weighting == ATTN_WEIGHTS_RELU) {
        return vec_select(vec_less(vec_set(0.0f), s), vec_set(1.0f), vec_set(0.0f));
    }
    if (weighting == ATTN_WEIGHTS_SIGMOID) {
        vec p = sigmoid_of_power(s);
        return vec_mul(p, vec_sub(vec_set(1.0f), p));
    }
    return vec_set(1.0f);
}

#endif
