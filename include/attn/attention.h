/* attention.h: the attention operator, forward and backward.
 *
 * For every sequence and head, with q_i, k_j, v_j the rows of one head:
 *
 *     s_ij = scale * q_i . k_j                                 or another score, below
 *     s_ij = softcap * tanh(s_ij / softcap)                    if softcap > 0
 *     s_ij = s_ij + bias_ij + distance_bias[h][clamp(j - i')]
 *                 - alibi_slopes[h] * |j - i'|                 those that are given
 *     p_ij = exp(s_ij) / sum over the j that i sees of exp(s_ij)   or another weighting
 *     p_ij = p_ij * keep_ij / (1 - dropout)                    if dropout > 0
 *     o_i  = sum_j p_ij v_j
 *
 * i' is the position of query i among the keys (attn/pattern.h). Everything is
 * f32; no n x n array exists unless the weights are asked for.
 *
 * Scores. With a, b and w score vectors of d_k numbers a head, and
 * leaky(x) = x for x > 0, leaky_slope * x otherwise:
 *
 *     ATTN_SCORE_DOT        scale * q_i . k_j
 *     ATTN_SCORE_ADDITIVE   w . tanh(q_i + k_j)           the additive attention of sequence models
 *     ATTN_SCORE_GAT        leaky(a . q_i + b . k_j)      graph attention; q = k = W x as published
 *     ATTN_SCORE_GATV2      a . leaky(q_i + k_j)          its second version
 *     ATTN_SCORE_NONE       0: the biases alone decide, weights that do not depend on the input
 *
 * Projections (W_q q and so on) are the caller's. On a graph, with an edge e
 * from i to j, edge features come in:
 *
 *     edge_bias     s_ij + edge_bias[e][h]; for GAT inside the leaky
 *     edge_key      k_j + edge_key[e][h] in place of k_j; for GATv2 and the additive score inside
 *     edge_value    v_j + edge_value[e][h] in place of v_j
 *
 * Weightings, for what they are for:
 *
 *     ATTN_WEIGHTS_SOFTMAX   positive, sums to 1: an average of what is seen (default)
 *     ATTN_WEIGHTS_RELU      max(s, 0): sparse, no competition between keys
 *     ATTN_WEIGHTS_SIGMOID   1 / (1 + exp(-s)): each key switched on or off by itself
 *     ATTN_WEIGHTS_RAW       s itself: linear, what is left without the softmax
 *
 * The last three grow with the number of keys that are seen; `average` divides
 * them by it. They have no log-sum-exp: it is filled with 0.
 *
 * What combines with what (everything else returns ATTN_UNSUPPORTED by name):
 *
 *                        reach, mask,   distance_bias,             edge_bias   edge_key,
 *                        bias, ragged   alibi         softcap      (graph)     edge_value (graph)
 *     DOT                yes            positions     yes          yes         yes
 *     ADDITIVE, GATV2    yes            positions     no           yes         yes
 *     GAT                yes            positions     no           yes         edge_value only
 *     NONE               yes            positions     no           yes         edge_value only
 *
 * with every weighting, dropout, grouped heads and output of weights. On a
 * graph there are no positions: bias, distance_bias and alibi_slopes are for
 * positions only, edge features for graphs only, and grouped heads need
 * edge_key and edge_value for every query head.
 *
 * Shapes (attn/tensor.h): query rows x heads x d_k, key rows x kv_heads x d_k,
 * value rows x kv_heads x d_v, output rows x heads x d_v, or the same behind a
 * leading sequence index. heads is a multiple of kv_heads: query head h reads
 * key/value head h / (heads / kv_heads), so kv_heads = heads is multi-head,
 * kv_heads = 1 multi-query, and what is between grouped-query. d_k and d_v
 * are 1 .. 512, each its own; multiples of 8 are fastest.
 *
 * Strides are free. Fastest are channels side by side (stride 1); other
 * channel strides are copied through the context's memory. Outputs must not
 * overlap inputs or each other.
 *
 * Non-finite numbers. A query that may see a NaN or an infinity shows what the
 * arithmetic above makes of it; every other query is untouched by it, also
 * where both stand in one tile. A query that may see nothing (no key in reach,
 * masked, or bias -inf for all) has output 0, weights 0, log-sum-exp -inf and
 * gradient 0.
 *
 * Determinism. Same inputs, same instruction set, same build: the same bits,
 * for any number of threads, whatever else is in the batch and wherever in it
 * a sequence stands. (Gradients that are sums over sequences, those of a
 * shared bias, are summed in the order of the batch.) The dropout mask is the
 * same on every instruction set as well.
 *
 * Options combine as the table above says.
 */
#ifndef ATTN_ATTENTION_H
#define ATTN_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/pattern.h>
#include <attn/status.h>
#include <attn/tensor.h>

ATTN_BEGIN_DECLS

#define ATTN_MAX_CHANNELS 512

typedef enum attn_score {
    ATTN_SCORE_DOT = 0,
    ATTN_SCORE_ADDITIVE = 1,
    ATTN_SCORE_GAT = 2,
    ATTN_SCORE_GATV2 = 3,
    ATTN_SCORE_NONE = 4
} attn_score;

typedef enum attn_weighting {
    ATTN_WEIGHTS_SOFTMAX = 0,
    ATTN_WEIGHTS_RELU = 1,
    ATTN_WEIGHTS_SIGMOID = 2,
    ATTN_WEIGHTS_RAW = 3
} attn_weighting;

typedef struct attn_attention_options {
    size_t size;   /* sizeof(attn_attention_options), set by the init function */
    float scale;   /* 0: 1 / sqrt(d_k), the default; 1: the plain dot product */
    float softcap; /* 0: none */

    const float *alibi_slopes; /* [heads], or NULL */

    /* Added to the scores, indexed by positions inside the sequence:
     * [sequences or 1, heads or 1, queries or 1, keys or 1], where 1 shares the
     * entry over that index, and queries and keys cover at least the longest
     * sequence. Strides are free. -inf: may not see. data NULL: none. */
    attn_tensor bias;

    /* Added to the scores by distance: [heads or 1, 2 R + 1]; entry
     * R + clamp(j - i', -R, R). -inf: may not see. data NULL: none. */
    attn_tensor distance_bias;

    /* The probability with which a weight is dropped, 0 <= dropout < 1. Which
     * ones is a function of (seed, sequence, head, query, key) alone; sequence
     * is first_sequence + the index in this call, so that a batch that is cut
     * in pieces keeps its mask. */
    float dropout;
    uint64_t seed;
    int64_t
        first_sequence; /* on a graph: what is added to the edge numbers, which then stand for (query, key) */

    attn_score score;
    attn_weighting weighting;
    int average;       /* not 0: RELU, SIGMOID and RAW weights are divided by the number of keys seen */
    float leaky_slope; /* of GAT and GATV2; 0.2 after init */

    /* [heads, d_k], contiguous: w of ADDITIVE, a of GATV2, a of GAT. */
    attn_tensor score_vector;
    /* [heads, d_k], contiguous: b of GAT, for the keys. */
    attn_tensor key_score_vector;

    /* On a graph, by edge number; channels (heads) side by side. data NULL: none. */
    attn_tensor edge_bias;  /* [edges, heads] */
    attn_tensor edge_key;   /* [edges, heads, d_k] */
    attn_tensor edge_value; /* [edges, heads, d_v] */

    /* NULL, or [sequences]: sequence b adds bias[bias_of[b]], and bias has any number of entries along its
     * first index. For sequences that fall into groups with one bias each, such as images by their width. */
    const int64_t *bias_of;
} attn_attention_options;

/* scale 1 / sqrt(d_k), nothing else. */
ATTN_API void attn_attention_options_init(attn_attention_options *options);

/* The forward pass.
 *
 * pattern NULL: full attention. options NULL: the defaults.
 * log_sum_exp: NULL, or rows x heads (4-d: sequence x rows x heads), filled
 *     with log sum_j exp(s_ij), which the backward pass needs.
 * weights: NULL, or a 1-d contiguous tensor of attn_attention_weights_count()
 *     elements, filled with the p_ij by which the values were summed (so after
 *     dropout); output is the same bits with or without. Laid out as
 *     attn_weights_layout says.
 *
 * Errors: INVALID_ARGUMENT, SHAPE_MISMATCH, UNSUPPORTED (a combination that the table
 * above lacks), OVERFLOW, OUT_OF_MEMORY; outputs are then untouched. */
ATTN_API attn_status attn_attention_forward(attn_context *context, const attn_pattern *pattern,
                                            const attn_attention_options *options, const attn_tensor *query,
                                            const attn_tensor *key, const attn_tensor *value,
                                            const attn_tensor *output, const attn_tensor *log_sum_exp,
                                            const attn_tensor *weights);

/* Which gradients to compute, and where to. data NULL: not wanted. All are
 * overwritten, not added to. */
typedef struct attn_attention_gradients {
    size_t size; /* sizeof(attn_attention_gradients), set by the init function */
    attn_tensor query;
    attn_tensor key;
    attn_tensor value;
    attn_tensor bias;          /* shape of options->bias; entries that nothing used are 0 */
    attn_tensor distance_bias; /* shape of options->distance_bias */
    attn_tensor score_vector;  /* those of the options of the same names */
    attn_tensor key_score_vector;
    attn_tensor edge_bias;
    attn_tensor edge_key;
    attn_tensor edge_value;
} attn_attention_gradients;

ATTN_API void attn_attention_gradients_init(attn_attention_gradients *gradients);

/* The backward pass: five products, nothing n x n.
 *
 * pattern, options, query, key, value: as in the forward pass. output and
 * log_sum_exp: what it gave. d_output: the gradient that arrives, of output's
 * shape.
 *
 * Errors as in the forward pass; gradients are then untouched. */
ATTN_API attn_status attn_attention_backward(attn_context *context, const attn_pattern *pattern,
                                             const attn_attention_options *options, const attn_tensor *query,
                                             const attn_tensor *key, const attn_tensor *value,
                                             const attn_tensor *output, const attn_tensor *log_sum_exp,
                                             const attn_tensor *d_output,
                                             const attn_attention_gradients *gradients);

/* On a graph the weights are [edges, heads], by edge number, and
 * attn_weights_layout is not used.
 *
 * How the weights of one sequence lie: heads one after another, in a head the
 * queries one after another, in a query `width` weights. Entry c of query i is
 * the weight of key first_key + i * key_step + c; entries whose key lies
 * outside 0 .. keys-1, or is not seen, are 0.
 *
 *     full rows   width = keys, first_key = 0, key_step = 0
 *     a band      width = left + right + 1, key_step = 1: where both reaches
 *                 are limited and that is less than keys */
typedef struct attn_weights_layout {
    int64_t offset; /* of (head 0, query 0) in the weights */
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t width;
    int64_t first_key;
    int64_t key_step;
} attn_weights_layout;

/* How many elements the weights of a call have, and how those of one sequence
 * lie. The arguments are those of the forward pass. Errors as there. */
ATTN_API attn_status attn_attention_weights_count(attn_context *context, const attn_pattern *pattern,
                                                  const attn_tensor *query, const attn_tensor *key,
                                                  int64_t *count);
ATTN_API attn_status attn_attention_weights_layout(attn_context *context, const attn_pattern *pattern,
                                                   const attn_tensor *query, const attn_tensor *key,
                                                   int64_t sequence, attn_weights_layout *layout);

/* Bytes of working memory that a forward (or backward) call of these shapes
 * uses at the most, for attn_context_reserve(), if the results have their
 * channels side by side where the inputs do. Linear in the rows: never
 * queries x keys. */
ATTN_API attn_status attn_attention_forward_memory(attn_context *context, const attn_pattern *pattern,
                                                   const attn_attention_options *options,
                                                   const attn_tensor *query, const attn_tensor *key,
                                                   const attn_tensor *value, size_t *bytes);
ATTN_API attn_status attn_attention_backward_memory(attn_context *context, const attn_pattern *pattern,
                                                    const attn_attention_options *options,
                                                    const attn_tensor *query, const attn_tensor *key,
                                                    const attn_tensor *value, size_t *bytes);

ATTN_END_DECLS

#endif
