/* reference.h: the oracle. Plain C, double precision, one page an operator.
 *
 * Written straight from the formulas in attn/attention.h and attn/matmul.h,
 * for reading and for checking, never for speed. It shares no code with the
 * fast kernels except the dropout generator (base/random.h), and reads graphs
 * as a caller would (attn/graph.h). Results are contiguous arrays of double in
 * logical order. Arguments are taken to be valid; the only error is
 * OUT_OF_MEMORY, for one row of scratch.
 */
#ifndef AT_KERNELS_REF_REFERENCE_H
#define AT_KERNELS_REF_REFERENCE_H

#include <attn/attention.h>
#include <attn/matmul.h>

/* A view of doubles, so that signed differences can perturb an input in double
 * precision. data NULL: absent. Otherwise shape and stride as in attn_tensor. */
typedef struct ref_tensor {
    const double *data;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t stride[ATTN_MAX_RANK];
} ref_tensor;

/* The inputs of one attention call, in double. pattern and options as the
 * caller gave them and never NULL (the tensors of options are ignored: those
 * below count, shaped as attn/attention.h says; alibi_slopes is used as it is). */
typedef struct ref_attention {
    const attn_pattern *pattern;
    const attn_attention_options *options;
    ref_tensor query, key, value, bias, distance_bias;
    ref_tensor score_vector, key_score_vector, edge_bias, edge_key, edge_value;

    /* NULL: as exact as double is. Otherwise the state (not 0) of a generator:
     * every product, sum and function value is made larger or smaller by
     * 2^-24 of itself, at random. What a few such calls are apart is how far
     * the roundings of f32 reach, whatever the order of the sums. */
    uint64_t *noise;
} ref_attention;

/* output: query's rows x heads x d_v (with the leading sequence index if
 * query has one); log_sum_exp: rows x heads; weights: as attn_weights_layout,
 * on a graph edges x heads by edge number. Each may be NULL. Rows that belong
 * to no sequence are left as they are. */
attn_status ref_attention_forward(const ref_attention *call, double *output, double *log_sum_exp,
                                  double *weights);

/* Where the gradients go: contiguous, shaped as the inputs of the same names.
 * Each may be NULL. */
typedef struct ref_gradients {
    double *query, *key, *value, *bias, *distance_bias;
    double *score_vector, *key_score_vector, *edge_bias, *edge_key, *edge_value;
} ref_gradients;

/* Gradients of sum(output * d_output); d_output contiguous, shaped like
 * output. Rows that belong to no sequence are left as they are. */
attn_status ref_attention_gradients(const ref_attention *call, const double *d_output,
                                    const ref_gradients *results);

/* The same, of the first five inputs alone. */
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
