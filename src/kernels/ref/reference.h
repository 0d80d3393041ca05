/* reference.h: the oracle. Plain C, double precision, one page an operator.
 *
 * Written straight from the formulas in attn/attention.h and attn/linear.h,
 * for reading and for checking, never for speed. It shares no code with the
 * fast kernels except the dropout generator (base/random.h). Results are
 * contiguous arrays of double in logical order. Arguments are taken to be
 * valid; the only error is OUT_OF_MEMORY, for one row of scratch.
 */
#ifndef AT_KERNELS_REF_REFERENCE_H
#define AT_KERNELS_REF_REFERENCE_H

#include <attn/attention.h>
#include <attn/linear.h>

/* A view of doubles, so that signed differences can perturb an input in double
 * precision. data NULL: absent. Otherwise shape and stride as in attn_tensor. */
typedef struct ref_tensor {
    const double *data;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t stride[ATTN_MAX_RANK];
} ref_tensor;

/* The inputs of one attention call, in double. pattern and options as the
 * caller gave them and never NULL (options' bias and distance_bias are
 * ignored: those below count; alibi_slopes is used as it is). */
typedef struct ref_attention {
    const attn_pattern *pattern;
    const attn_attention_options *options;
    ref_tensor query, key, value, bias, distance_bias;
} ref_attention;

/* output: query's rows x heads x d_v (with the leading sequence index if
 * query has one); log_sum_exp: rows x heads; weights: as attn_weights_layout.
 * Each may be NULL. Rows that belong to no sequence are left as they are. */
attn_status ref_attention_forward(const ref_attention *call, double *output, double *log_sum_exp,
                                  double *weights);

/* Gradients of sum(output * d_output); d_output contiguous, shaped like
 * output. Each result may be NULL; shapes as the inputs', contiguous, rows
 * that belong to no sequence left as they are. */
attn_status ref_attention_backward(const ref_attention *call, const double *d_output, double *d_query,
                                   double *d_key, double *d_value, double *d_bias, double *d_distance_bias);

/* The activation and its derivative at x. */
double ref_activation(attn_activation activation, double x);
double ref_activation_slope(attn_activation activation, double x);

/* output = act(input W^T + bias), rows x out; bias and pre_activation may be
 * NULL. weight is out x in. */
void ref_linear_forward(int64_t rows, int64_t in, int64_t out, const double *input, const double *weight,
                        const double *bias, attn_activation activation, double *output,
                        double *pre_activation);

/* pre_activation may be NULL for ATTN_IDENTITY; each result may be NULL. */
void ref_linear_backward(int64_t rows, int64_t in, int64_t out, const double *d_output,
                         const double *pre_activation, attn_activation activation, const double *input,
                         const double *weight, double *d_input, double *d_weight, double *d_bias);

#endif
