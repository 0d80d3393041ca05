/* rows.h: the table of kernels on plain rows, for the operations of a network.
 *
 * One table an instruction set, from one source (impl/rows.inc), as for
 * attention (kernels/table.h). A kernel works on contiguous numbers, allocates
 * nothing and cannot fail; cutting work into tasks is the operation's matter.
 * Results may be the same memory as an argument where it says "in place".
 */
#ifndef AT_KERNELS_ROWS_H
#define AT_KERNELS_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/matmul.h>
#include <attn/operations.h>

#include "base/cpu.h"
#include "base/random.h"
#include "kernels/crf.h"
#include "kernels/ctc.h"
#include "kernels/optimizers.h"
#include "kernels/spectrum.h"

/* One row of one step of a recurrent network, or some of its units: `units` of them from where the pointers
 * point. All gates stand side by side in the order of attn/operations.h, each `hidden` numbers after the one
 * before. */
typedef struct at_cell {
    int64_t hidden, units;
    float *gates;             /* forward: u in, what backward needs out. Backward: the gradient of u out */
    float *recurrent;         /* forward: r in. Backward: its gradient out */
    float *state;             /* forward: h out, for the next product. Backward: what the step after sends */
    float *h;                 /* the result */
    float *kept;              /* LSTM: c. GRU: r_2, and then its gradient */
    const float *h_before;    /* GRU: the result of the step before, or 0 */
    const float *kept_before; /* LSTM: c of the step before, or 0 */
    const float *bias;        /* GRU: what r_2 lacks, or NULL */
    const float *dh;          /* backward: the gradient of h from above */
    float *carry;             /* backward, in place: the gradient of c (LSTM), of h past the gates (GRU) */
} at_cell;

typedef struct at_row_kernels {
    /* ---- element by element (impl/elements.c); all of them in place ---- */
    void (*add)(int64_t count, const float *a, const float *b, float *y);      /* y = a + b */
    void (*add_to)(int64_t count, const float *x, float *y);                   /* y += x */
    void (*multiply)(int64_t count, const float *a, const float *b, float *y); /* y = a * b */
    void (*scale)(int64_t count, float factor, const float *x, float *y);      /* y = factor * x */
    void (*activation)(attn_activation activation, int64_t count, const float *x, float *y);
    /* y = act(x) and slope = act'(x); slope may be x. */
    void (*activation_and_slope)(attn_activation activation, int64_t count, const float *x, float *y,
                                 float *slope);
    /* From y = act(x) of RELU or ELU: dx = d * act'(x), and x (any number where dx is 0); dx may be d. */
    void (*activation_undo)(attn_activation activation, int64_t count, const float *y, const float *d,
                            float *dx, float *x);
    void (*add_product)(int64_t count, const float *a, const float *b, float *y); /* y += a * b */
    /* For i = 0 .. count - 1 in order, y[to[i]] += factor[i] * x[from[i]], rows of `columns`
     * numbers; a negative to[i]: nothing. from NULL: i; factor NULL: 1. */
    void (*add_rows)(int64_t count, int64_t columns, const int64_t *from, const int64_t *to,
                     const float *factor, const float *x, int64_t x_stride, float *y, int64_t y_stride);
    /* Row rows[i] of y += that of x, which becomes 0, for i = 0 .. count - 1; rows of `columns` numbers, one
     * after another in x and y. */
    void (*take_rows)(int64_t count, int64_t columns, const int64_t *rows, float *x, float *y);
    /* y = sum over k = 0 .. count - 1, in order, of weights[k] * row rows[k] of the table (negative:
     * nothing; weights NULL: 1), rows of `columns` numbers. rows has `listed` >= count numbers: those of
     * the bags that come next are fetched ahead. */
    void (*bag)(int64_t count, int64_t listed, int64_t columns, const int64_t *rows, const float *weights,
                const float *table, int64_t stride, float *y);

    /* ---- norms, softmax, gates, dropout, rotary positions (impl/norms.c) ---- */

    /* One row; y may be x. gain and bias: NULL means 1 and 0. mean and inverse (1 / standard
     * deviation, 1 / root of the mean square) are what the backward pass needs. */
    void (*layer_norm)(int64_t columns, const float *x, const float *gain, const float *bias, float epsilon,
                       float *y, float *mean, float *inverse);
    void (*rms_norm)(int64_t columns, const float *x, const float *gain, float epsilon, float *y,
                     float *inverse);
    /* dx of one row of layer_norm (centred) or rms_norm (not centred; mean 0), added to what is
     * there if `adds`; adds to d_gain and d_bias. Each NULL: not wanted. dx may be d. */
    void (*norm_backward)(int64_t columns, const float *d, const float *x, const float *gain, int centred,
                          float mean, float inverse, int adds, float *dx, float *d_gain, float *d_bias);
    void (*softmax_backward)(int64_t columns, const float *y, const float *d, float *dx);
    void (*log_softmax)(int64_t columns, const float *x, float *y);
    void (*log_softmax_backward)(int64_t columns, const float *y, const float *d, float *dx);
    void (*gate)(attn_activation activation, int64_t count, const float *gate, const float *value, float *y);
    void (*gate_backward)(attn_activation activation, int64_t count, const float *gate, const float *value,
                          const float *d, float *d_gate, float *d_value); /* NULL: not wanted */
    /* y = factor * x where the generator's word of column c is at least threshold, else 0. */
    void (*dropout)(int64_t columns, at_row_key key, uint32_t threshold, float factor, const float *x,
                    float *y);
    /* One row of heads * 2 * half numbers, turned by sign * the angle. In place. */
    void (*rotary)(int64_t heads, int64_t half, const float *cosine, const float *sine, float sign,
                   const float *x, float *y);

    /* ---- recurrent cells (impl/recurrent.c) ---- */
    void (*cell_forward[3])(const at_cell *cell); /* by attn_recurrence */
    void (*cell_backward[3])(const at_cell *cell);

    /* And pooling. y = the maximum of each column over rows >= 1 rows, `at` the
     * first row that has it; y = sum of weights[i] * row i; y[i] = a . row i. */
    void (*pool_maximum)(int64_t rows, int64_t columns, const float *x, int64_t stride, float *y,
                         int32_t *at);
    void (*pool_weighted_sum)(int64_t rows, int64_t columns, const float *weights, const float *x,
                              int64_t stride, float *y);
    void (*pool_dots)(int64_t rows, int64_t columns, const float *a, const float *x, int64_t stride,
                      float *y);

    /* ---- losses (impl/losses.c) ---- */
    void (*logarithm)(int64_t count, const float *x, float *y); /* in place; -inf at 0 */
    double (*sum)(int64_t count, const float *x);
    /* The maximum of x and the sum of exp(x - maximum); count >= 1. */
    void (*exponential_sum)(int64_t count, const float *x, float *maximum, float *sum);
    /* And the maxima of every `block` numbers, the last ones fewer. */
    void (*exponential_sum_in_blocks)(int64_t count, int64_t block, const float *x, float *maxima,
                                      float *maximum, float *sum);
    /* The sum of weight * (maximum - x); weights NULL: 1. A weight of 0 counts for nothing. */
    double (*distance_sum)(int64_t count, const float *weights, float maximum, const float *x);
    /* y = factor * exp(x - maximum) - smoothing * weight; weights NULL: 1. */
    void (*softmax_slope)(int64_t count, const float *weights, float maximum, float factor, float smoothing,
                          const float *x, float *y);
    /* The loss of every number, 0 where the target is NaN, and factor times its slope. */
    void (*binary_cross_entropy)(int64_t count, const float *x, const float *targets, float *y);
    void (*binary_cross_entropy_slope)(int64_t count, float factor, const float *x, const float *targets,
                                       float *y);
    void (*squared_error)(int64_t count, const float *x, const float *targets, float *y);
    void (*squared_error_slope)(int64_t count, float factor, const float *x, const float *targets, float *y);
    void (*absolute_error)(int64_t count, const float *x, const float *targets, float *y);
    void (*absolute_error_slope)(int64_t count, float factor, const float *x, const float *targets, float *y);

    /* ---- conditional random fields (impl/crf.c) ----
     * alpha: rows x classes, of each row less its maximum. Returns the log of the sum over all paths.
     * work: classes numbers. */
    double (*crf_forward)(const at_crf_sequence *sequence, float *work, float *alpha);
    /* p(class) of every row, and, unless NULL, the expected number of transitions (to, from) is added to
     * `expected`. work: 4 * classes numbers, and classes^2 more for `expected`. */
    void (*crf_backward)(const at_crf_sequence *sequence, const float *alpha, float *work, float *marginals,
                         int64_t marginals_stride, float *expected);
    /* The best path; of equal ones the first in the order of the classes. work: rows * classes. */
    void (*crf_best)(const at_crf_sequence *sequence, double *work, int32_t *labels);

    /* ---- connectionist temporal classification (impl/ctc.c) ----
     * alpha: rows x at_ctc_states(length); normal: rows x 2, maximum and sum of exponentials of the scores.
     * Returns log p(target), -inf if no path is it. work: at_ctc_work(length). */
    double (*ctc_forward)(const at_ctc_sequence *sequence, double *work, float *normal, double *alpha);
    /* -d log p(target) / d scores, where log p is not -inf. */
    void (*ctc_backward)(const at_ctc_sequence *sequence, const float *normal, const double *alpha,
                         double *work, float *gradient, int64_t gradient_stride);

    /* ---- optimisers (impl/optimizers.c); gradient NULL: 0 ---- */
    double (*sum_of_squares)(int64_t count, const float *x);
    void (*adamw)(int64_t count, const at_adamw *step, const float *gradient, float *value, float *moment1,
                  float *moment2);
    void (*adamw_late)(int64_t count, const at_adamw_late *late, float *value, float *moment1, float *moment2,
                       float *average); /* average NULL: none */
    void (*sgd)(int64_t count, const at_sgd *step, const float *gradient, float *value,
                float *momentum); /* momentum NULL: none */
    /* average += rest * (value - average) */
    void (*move_average)(int64_t count, float rest, const float *value, float *average);

    /* ---- spectra (impl/spectrum.c) ----
     * rows[f] = the numbers of the frame at samples[f * shift], for f < frames <= lanes. work:
     * at_spectrum_work * lanes numbers. */
    void (*spectrum)(const at_spectrum *spectrum, const float *samples, int64_t shift, int frames,
                     float *work, float *rows, int64_t stride);

    int lanes; /* of a vector */
} at_row_kernels;

/* The table of an available instruction set. */
const at_row_kernels *at_row_kernels_for(at_isa isa);

#endif
