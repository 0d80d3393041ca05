/* rows.c: kernels on plain rows of numbers: softmax, the backward of the
 * activations, the polynomials by themselves, and the loop that measures the
 * multiply-add peak.
 */
#include "kernels/impl/activation.h"
#include "kernels/impl/pack.h"
#include "kernels/table.h"

#include <math.h>

/* exp(x - max) / sum, 0 everywhere if all are -inf. */
static void softmax_row(int64_t columns, const float *input, float *output) {
    vec m = vec_set(-INFINITY);
    int64_t c = 0;
    for (; c + VEC_WIDTH <= columns; c += VEC_WIDTH) m = vec_max(vec_load(input + c), m);
    float maximum = vec_maximum(m);
    for (int64_t tail = c; tail < columns; tail++) {
        if (input[tail] > maximum) maximum = input[tail];
    }
    const float reference = maximum == -INFINITY ? 0.0f : maximum;
    vec total = vec_set(0.0f);
    float tail_sum = 0.0f;
    for (c = 0; c < columns; c += VEC_WIDTH) {
        vec x = vec_sub(vec_load_up_to(input + c, columns - c), vec_set(reference));
        vec p = vec_exp2(vec_mul(x, vec_set(LOG2_E)));
        vec_store_up_to(output + c, p, columns - c);
        if (columns - c >= VEC_WIDTH) {
            total = vec_add(total, p);
        } else {
            for (int64_t tail = c; tail < columns; tail++) tail_sum += output[tail];
        }
    }
    float sum = vec_sum(total) + tail_sum;
    const vec inverse = vec_set(sum == 0.0f ? 0.0f : 1.0f / sum);
    for (c = 0; c < columns; c += VEC_WIDTH) {
        vec_store_up_to(output + c, vec_mul(vec_load_up_to(output + c, columns - c), inverse), columns - c);
    }
}

VEC_INLINE void activation_backward_with(attn_activation activation, int64_t count, const float *d_output,
                                         const float *pre, float *g) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec slope = activation_slope(activation, vec_load_up_to(pre + c, count - c));
        vec_store_up_to(g + c, vec_mul(vec_load_up_to(d_output + c, count - c), slope), count - c);
    }
}
static void activation_backward(attn_activation activation, int64_t count, const float *d_output,
                                const float *pre, float *g) {
    FOR_ACTIVATION(activation, activation_backward_with, count, d_output, pre, g);
}

static void exp2_all(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH)
        vec_store_up_to(y + c, vec_exp2(vec_load_up_to(x + c, count - c)), count - c);
}
static void tanh_all(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH)
        vec_store_up_to(y + c, vec_tanh(vec_load_up_to(x + c, count - c)), count - c);
}
static void normal_cdf_all(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec_store_up_to(y + c, vec_normal_cdf(vec_load_up_to(x + c, count - c)), count - c);
    }
}

/* Twelve chains: more than latency times throughput anywhere, and with the
 * operands they fit sixteen registers. */
static int64_t fma_loop(int64_t rounds, float *sink) {
    enum { CHAINS = 12 };
    vec sum[CHAINS];
    const vec a = vec_keep(vec_set(0.999f)), b = vec_keep(vec_set(0.001f));
    for (int x = 0; x < CHAINS; x++) sum[x] = vec_set((float)x);
    for (int64_t r = 0; r < rounds; r++) {
        for (int x = 0; x < CHAINS; x++) sum[x] = vec_keep(vec_fma(sum[x], a, b));
    }
    for (int x = 0; x < CHAINS; x++) *sink += vec_sum(sum[x]);
    return rounds * CHAINS * VEC_WIDTH * 2;
}
