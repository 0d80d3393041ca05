/* optimizers.c: one step of the optimisers, on a run of numbers.
 *
 * Plain loops, one pass over all that a step reads and writes: the compiler
 * makes vectors of them, and as nothing is fused and sqrt and division are
 * exact to the last bit, all instruction sets give the same bits.
 *
 * A gradient of NULL is 0 everywhere. Moments that have decayed below the normal
 * numbers become 0: as subnormal numbers they would stay for ever (0.9 times
 * the smallest one rounds to itself) and cost a hundred cycles each.
 */
#include "kernels/rows.h"

#include <float.h>
#include <math.h>

static double sum_of_squares(int64_t count, const float *x) {
    double total = 0.0;
    for (int64_t first = 0; first < count; first += SUM_VECTORS * VEC_WIDTH) {
        int64_t left = count - first < SUM_VECTORS * VEC_WIDTH ? count - first : SUM_VECTORS * VEC_WIDTH;
        vec chain[SUM_CHAINS];
        UNROLL for (int k = 0; k < SUM_CHAINS; k++) chain[k] = vec_set(0.0f);
        const float *p = x + first;
        for (; left >= SUM_CHAINS * VEC_WIDTH; left -= SUM_CHAINS * VEC_WIDTH, p += SUM_CHAINS * VEC_WIDTH) {
            UNROLL for (int k = 0; k < SUM_CHAINS; k++) {
                vec number = vec_load(p + k * VEC_WIDTH);
                chain[k] = vec_fma(number, number, chain[k]);
            }
        }
        for (; left > 0; left -= VEC_WIDTH, p += VEC_WIDTH) {
            vec number = vec_load_up_to(p, left);
            chain[0] = vec_fma(number, number, chain[0]);
        }
        total += (double)vec_sum(vec_add(vec_add(chain[0], chain[1]), vec_add(chain[2], chain[3])));
    }
    return total;
}

VEC_INLINE float normal_or_zero(float x) { return fabsf(x) < FLT_MIN ? 0.0f : x; }

VEC_INLINE void adamw_run(int64_t count, at_adamw s, const float *restrict gradient, float *restrict value,
                          float *restrict moment1, float *restrict moment2) {
    for (int64_t i = 0; i < count; i++) {
        float g = gradient ? s.scale * gradient[i] : 0.0f;
        float m = normal_or_zero(s.beta1 * moment1[i] + s.rest1 * g);
        float v = normal_or_zero(s.beta2 * moment2[i] + s.rest2 * (g * g));
        moment1[i] = m;
        moment2[i] = v;
        value[i] = s.keep * value[i] - s.rate * (m / (sqrtf(v) * s.root + s.epsilon));
    }
}

static void adamw(int64_t count, const at_adamw *step, const float *gradient, float *value, float *moment1,
                  float *moment2) {
    if (gradient) {
        adamw_run(count, *step, gradient, value, moment1, moment2);
    } else {
        adamw_run(count, *step, NULL, value, moment1, moment2);
    }
}

VEC_INLINE void adamw_late_run(int64_t count, at_adamw_late s, float *restrict value, float *restrict moment1,
                               float *restrict moment2, float *restrict average) {
    for (int64_t i = 0; i < count; i++) {
        float m = moment1[i], v = moment2[i];
        float x = m / (sqrtf(v) + s.epsilon), moved = value[i] - s.slide * x;
        value[i] = moved;
        moment1[i] = normal_or_zero(s.decay1 * m);
        moment2[i] = normal_or_zero(s.decay2 * v);
        if (average) average[i] = moved + s.keep_average * (average[i] - moved) + s.lag * x;
    }
}

static void adamw_late(int64_t count, const at_adamw_late *late, float *value, float *moment1, float *moment2,
                       float *average) {
    if (average) {
        adamw_late_run(count, *late, value, moment1, moment2, average);
    } else {
        adamw_late_run(count, *late, value, moment1, moment2, NULL);
    }
}

VEC_INLINE void sgd_run(int64_t count, at_sgd s, const float *restrict gradient, float *restrict value,
                        float *restrict momentum) {
    for (int64_t i = 0; i < count; i++) {
        float g = (gradient ? s.scale * gradient[i] : 0.0f) + s.decay * value[i];
        if (momentum) {
            float b = normal_or_zero(s.momentum * momentum[i] + g);
            momentum[i] = b;
            g = s.nesterov ? g + s.momentum * b : b;
        }
        value[i] -= s.rate * g;
    }
}

static void sgd(int64_t count, const at_sgd *step, const float *gradient, float *value, float *momentum) {
    if (gradient && momentum) {
        sgd_run(count, *step, gradient, value, momentum);
    } else if (gradient) {
        sgd_run(count, *step, gradient, value, NULL);
    } else if (momentum) {
        sgd_run(count, *step, NULL, value, momentum);
    } else {
        sgd_run(count, *step, NULL, value, NULL);
    }
}

static void move_average(int64_t count, float rest, const float *restrict value, float *restrict average) {
    for (int64_t i = 0; i < count; i++) average[i] += rest * (value[i] - average[i]);
}
