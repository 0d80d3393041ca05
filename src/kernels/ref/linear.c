/* linear.c: the oracle of y = act(x W^T + b) and of its gradients, in double.
 *
 * Every sum is one plain loop in the order of its index.
 */
#include "kernels/ref/reference.h"

#include <math.h>

/* Of the tanh form of GELU: sqrt(2 / pi), and the weight of the cube. */
static const double gelu_slope = 0.79788456080286535588;
static const double gelu_cube = 0.044715;

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

double ref_activation(attn_activation activation, double x) {
    switch (activation) {
    case ATTN_IDENTITY: return x;
    case ATTN_RELU: return x > 0.0 ? x : 0.0;
    case ATTN_GELU: return 0.5 * x * erfc(-x / sqrt(2.0));
    case ATTN_GELU_TANH: return 0.5 * x * (1.0 + tanh(gelu_slope * (x + gelu_cube * x * x * x)));
    case ATTN_SILU: return x * sigmoid(x);
    case ATTN_TANH: return tanh(x);
    case ATTN_SIGMOID: return sigmoid(x);
    case ATTN_ELU: return x > 0.0 ? x : expm1(x);
    }
    return NAN;
}

double ref_activation_slope(attn_activation activation, double x) {
    switch (activation) {
    case ATTN_IDENTITY: return 1.0;
    case ATTN_RELU: return x > 0.0 ? 1.0 : 0.0;
    case ATTN_GELU: /* Phi(x) + x phi(x); sqrt(1 / (2 pi)) = gelu_slope / 2 */
        return 0.5 * erfc(-x / sqrt(2.0)) + x * 0.5 * gelu_slope * exp(-0.5 * x * x);
    case ATTN_GELU_TANH: {
        double t = tanh(gelu_slope * (x + gelu_cube * x * x * x));
        return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * gelu_slope * (1.0 + 3.0 * gelu_cube * x * x);
    }
    case ATTN_SILU: return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)));
    case ATTN_TANH: return 1.0 - tanh(x) * tanh(x);
    case ATTN_SIGMOID: return sigmoid(x) * (1.0 - sigmoid(x));
    case ATTN_ELU: return x > 0.0 ? 1.0 : exp(x);
    }
    return NAN;
}

void ref_linear_forward(int64_t rows, int64_t in, int64_t out, const double *input, const double *weight,
                        const double *bias, attn_activation activation, double *output,
                        double *pre_activation) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = bias ? bias[o] : 0.0;
            for (int64_t c = 0; c < in; c++) sum += input[r * in + c] * weight[o * in + c];
            if (pre_activation) pre_activation[r * out + o] = sum;
            output[r * out + o] = ref_activation(activation, sum);
        }
    }
}

void ref_linear_backward(int64_t rows, int64_t in, int64_t out, const double *d_output,
                         const double *pre_activation, attn_activation activation, const double *input,
                         const double *weight, double *d_input, double *d_weight, double *d_bias) {
    for (int64_t e = 0; d_input && e < rows * in; e++) d_input[e] = 0.0;
    for (int64_t e = 0; d_weight && e < out * in; e++) d_weight[e] = 0.0;
    for (int64_t o = 0; d_bias && o < out; o++) d_bias[o] = 0.0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t o = 0; o < out; o++) {
            double g = d_output[r * out + o];
            if (activation != ATTN_IDENTITY)
                g *= ref_activation_slope(activation, pre_activation[r * out + o]);
            if (d_bias) d_bias[o] += g;
            for (int64_t c = 0; d_input && c < in; c++) d_input[r * in + c] += g * weight[o * in + c];
            for (int64_t c = 0; d_weight && c < in; c++) d_weight[o * in + c] += g * input[r * in + c];
        }
    }
}
