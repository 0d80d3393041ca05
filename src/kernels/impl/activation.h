/* activation.h: the activations of the linear operator and their derivatives. */
#ifndef AT_KERNELS_IMPL_ACTIVATION_H
#define AT_KERNELS_IMPL_ACTIVATION_H

#include <attn/matmul.h>

#include "kernels/impl/math.h"

#define GELU_TANH_SCALE 0.79788456080286535588f /* sqrt(2 / pi) */
#define GELU_TANH_CUBE 0.044715f

VEC_INLINE vec gelu_tanh_inner(vec x) {
    vec cube = vec_mul(vec_mul(x, x), x);
    return vec_tanh(vec_mul(vec_set(GELU_TANH_SCALE), vec_fma(vec_set(GELU_TANH_CUBE), cube, x)));
}

VEC_INLINE vec activate(attn_activation activation, vec x) {
    const vec half = vec_set(0.5f), one = vec_set(1.0f);
    switch (activation) {
    case ATTN_RELU: return vec_max(vec_set(0.0f), x); /* in this order: a NaN passes */
    case ATTN_GELU: return vec_mul(x, vec_normal_cdf(x));
    case ATTN_GELU_TANH: return vec_mul(vec_mul(half, x), vec_add(one, gelu_tanh_inner(x)));
    case ATTN_SILU: return vec_mul(x, vec_sigmoid(x));
    case ATTN_TANH: return vec_tanh(x);
    case ATTN_SIGMOID: return vec_sigmoid(x);
    case ATTN_ELU: { /* below -19 it is -1 */
        vec below = vec_max(vec_set(-19.0f), vec_min(vec_set(0.0f), x));
        return vec_select(vec_less(vec_set(0.0f), x), x, vec_exp_minus_1(below));
    }
    case ATTN_IDENTITY: break;
    }
    return x;
}

/* The derivative at x. That of ReLU at 0 is 0. */
VEC_INLINE vec activation_slope(attn_activation activation, vec x) {
    const vec half = vec_set(0.5f), one = vec_set(1.0f), zero = vec_set(0.0f);
    switch (activation) {
    case ATTN_RELU: return vec_select(vec_less(zero, x), one, zero);
    case ATTN_GELU: /* Phi(x) + x phi(x); the exponential is the one that vec_normal_cdf has, made once */
        return vec_fma(vec_mul(x, vec_set(0.39894228040143267794f)), vec_bell(x), vec_normal_cdf(x));
    case ATTN_GELU_TANH: {
        vec t = gelu_tanh_inner(x), square = vec_mul(x, x);
        vec inner = vec_mul(vec_set(GELU_TANH_SCALE), vec_fma(vec_set(3.0f * GELU_TANH_CUBE), square, one));
        vec slope = vec_mul(vec_sub(one, vec_mul(t, t)), inner);
        return vec_fma(vec_mul(half, x), slope, vec_mul(half, vec_add(one, t)));
    }
    case ATTN_SILU: { /* s + x s (1 - s) */
        vec s = vec_sigmoid(x);
        return vec_fma(vec_mul(x, s), vec_sub(one, s), s);
    }
    case ATTN_TANH: {
        vec t = vec_tanh(x);
        return vec_sub(one, vec_mul(t, t));
    }
    case ATTN_SIGMOID: {
        vec s = vec_sigmoid(x);
        return vec_mul(s, vec_sub(one, s));
    }
    case ATTN_ELU: return vec_exp(vec_min(zero, x));
    case ATTN_IDENTITY: break;
    }
    return one;
}

/* function(activation, ...) with the activation a constant: a loop of its own for each,
 * its constants in registers. */
#define FOR_ACTIVATION(activation, function, ...)                                                            \
    do {                                                                                                     \
        switch (activation) {                                                                                \
        case ATTN_IDENTITY: function(ATTN_IDENTITY, __VA_ARGS__); break;                                     \
        case ATTN_RELU: function(ATTN_RELU, __VA_ARGS__); break;                                             \
        case ATTN_GELU: function(ATTN_GELU, __VA_ARGS__); break;                                             \
        case ATTN_GELU_TANH: function(ATTN_GELU_TANH, __VA_ARGS__); break;                                   \
        case ATTN_SILU: function(ATTN_SILU, __VA_ARGS__); break;                                             \
        case ATTN_TANH: function(ATTN_TANH, __VA_ARGS__); break;                                             \
        case ATTN_SIGMOID: function(ATTN_SIGMOID, __VA_ARGS__); break;                                       \
        case ATTN_ELU: function(ATTN_ELU, __VA_ARGS__); break;                                               \
        }                                                                                                    \
    } while (0)

#endif
