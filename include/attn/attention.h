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
 * i' is the position of query i among the keys (attn/pattern.h). Everything is f32. No n x n array is made
 * unless the caller asks for the weights.
 *
 * Scores. a, b and w are score vectors, d_k numbers per head; leaky(x) is x for x > 0 and leaky_slope * x
 * otherwise:
 *
 *     ATTN_SCORE_DOT        scale * q_i . k_j
 *     ATTN_SCORE_ADDITIVE   w . tanh(q_i + k_j)           the additive attention of sequence models
 *     ATTN_SCORE_GAT        leaky(a . q_i + b . k_j)      graph attention; q = k = W x as published
 *     ATTN_SCORE_GATV2      a . leaky(q_i + k_j)          its second version
 *     ATTN_SCORE_NONE       0: the biases alone determine the weights, which do not depend on the input
 *
 * The caller computes projections (W_q q and so on). On a graph, an edge e from i to j may have features,
 * which change these terms:
 *
 *     edge_bias     s_ij + edge_bias[e][h]; for GAT it is added inside leaky(...)
 *     edge_key      k_j + edge_key[e][h] in place of k_j; for GATv2 inside leaky(...), for the additive
 *                   score inside tanh(...)
 *     edge_value    v_j + edge_value[e][h] in place of v_j
 *
 * Weightings:
 *
 *     ATTN_WEIGHTS_SOFTMAX   positive, sums to 1: an average of what is seen (default)
 *     ATTN_WEIGHTS_RELU      max(s, 0): sparse, no competition between keys
 *     ATTN_WEIGHTS_SIGMOID   1 / (1 + exp(-s)): each key on or off independently of the others
 *     ATTN_WEIGHTS_RAW       s itself, without a softmax
 *
 * The last three do not sum to 1, so the output grows with the number of keys seen; `average` divides each
 * weight by that number. They have no log-sum-exp: it is filled with 0.
 *
 * What combines with what (everything else returns ATTN_UNSUPPORTED, with a message):
 *
 *                        reach, mask,   distance_bias,             edge_bias   edge_key,
 *                        bias, ragged   alibi         softcap      (graph)     edge_value (graph)
 *     DOT                yes            positions     yes          yes         yes
 *     ADDITIVE, GATV2    yes            positions     no           yes         yes
 *     GAT                yes            positions     no           yes         edge_value only
 *     NONE               yes            positions     no           yes         edge_value only
 *
 * All of these combine with every weighting, with dropout, with grouped heads and with output of the weights.
 * "positions": not on a graph, where rows have no positions; bias, reach and mask are not possible there
 * either. Edge features are for graphs only. With grouped heads, edge_key and edge_value have an entry for
 * every query head, not for every key/value head.
 *
 * Shapes (attn/tensor.h): query rows x heads x d_k, key rows x kv_heads x d_k, value rows x kv_heads x d_v,
 * output rows x heads x d_v, or the same behind a leading sequence index. heads is a multiple of kv_heads:
 * query head h reads key/value head h / (heads / kv_heads). With kv_heads = heads this is multi-head
 * attention, with kv_heads = 1 it is multi-query attention, and with any number between them grouped-query
 * attention. d_k and d_v are 1 .. 512 and may differ; multiples of 8 are fastest.
 *
 * Any strides are allowed. Contiguous channels (stride 1) are fastest; tensors with other channel strides are
 * copied through the context's memory.
 *
 * Overlap and alignment (see attn/tensor.h). Results must not share memory with inputs or with each other,
 * and all data is aligned as float; tensors that are not aligned are refused. The forward pass checks whether
 * output, log_sum_exp and weights overlap each other, query, key or value. The backward pass checks whether
 * the gradients of query, key and value overlap each other, query, key, value, output or d_output. An overlap
 * is refused if both tensors fill their memory without gaps. Tensors with gaps are not checked, nor are
 * biases, score vectors, edge features and the gradients of these. On a graph, and with the scores ADDITIVE,
 * GAT and GATV2, the backward pass checks no overlaps.
 *
 * Non-finite numbers. For a query that may see a NaN or an infinity, the formulas above hold; no other query
 * is affected, even in the same tile. A query that may see nothing (no key in reach, masked, or bias -inf for
 * all) has output 0, weights 0, log-sum-exp -inf and gradient 0.
 *
 * Determinism. The same inputs, instruction set and build give the same bits, for any number of threads.
 * Without dropout, the results of a sequence have the same bits whatever else is in the batch, and wherever
 * in the batch the sequence is. (Gradients that are sums over sequences, those of a shared bias, are summed
 * in the order of the batch.) The dropout mask depends on the index of the sequence in the batch or, if the
 * pattern is a graph, on the number of the edge (see `dropout`); it is the same on every instruction set.
 *
 * Threads. A call uses all threads of its context. A context is for one thread at a time; several threads
 * with contexts of their own may read the same inputs.
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

/* ---- the short form: self-attention of ragged rows ---- */

typedef enum attn_reach {
    ATTN_FULL = 0,  /* a row sees all rows of its sequence */
    ATTN_CAUSAL = 1 /* a row sees itself and the rows before it */
} attn_reach;

/* output = softmax(query key^T / sqrt(d)) value, for every sequence and every head.
 *
 * query, key, value, output: float [rows][heads][d], contiguous; rows = offsets[sequences].
 * offsets: [sequences + 1], from 0 up; rows offsets[b] .. offsets[b + 1] - 1 are sequence b, which may be
 * empty. d: 1 .. ATTN_MAX_CHANNELS.
 *
 *     float q[5][2][4], k[5][2][4], v[5][2][4], o[5][2][4];       five rows, two heads of four channels
 *     const int64_t offsets[] = {0, 3, 5};                        two sequences: three rows, and two
 *     attn_self_attention(context, **q, **k, **v, **o, offsets, 2, 2, 4, ATTN_CAUSAL);
 *
 * The results have the same bits as those of attn_attention_forward, which is described below. No pointer may
 * be NULL, except query, key, value and output if there are no rows. Errors: INVALID_ARGUMENT (a NULL,
 * offsets that decrease or do not begin at 0, heads or d out of range, a reach that does not exist, an output
 * that overlaps an input, memory that is not aligned as float), OVERFLOW, OUT_OF_MEMORY; output is then
 * untouched.
 */
ATTN_API attn_status attn_self_attention(attn_context *context, const float *query, const float *key,
                                         const float *value, float *output, const int64_t *offsets,
                                         int64_t sequences, int64_t heads, int64_t d, attn_reach reach);

/* ---- the whole operator ---- */

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

    /* Added to the scores, indexed by positions inside the sequence: [sequences
     * or 1, heads or 1, queries or 1, keys or 1]. An extent of 1 means that all
     * values of that index share the entry; other extents of queries and keys
     * are at least the length of the longest sequence. Any strides. -inf: may
     * not see. data NULL: none. */
    attn_tensor bias;

    /* Added to the scores by distance: [heads or 1, 2 R + 1]; entry
     * R + clamp(j - i', -R, R). -inf: may not see. data NULL: none. */
    attn_tensor distance_bias;

    /* The probability with which a weight is dropped, 0 <= dropout < 1. The
     * mask is a function of (seed, sequence, head, query, key) alone. Here
     * sequence is first_sequence + the index in this call, so that a batch that
     * is split into several calls keeps its mask. */
    float dropout;
    uint64_t seed;
    int64_t first_sequence; /* on a graph: added to the number of an edge; the mask is a function of seed,
                               head and this sum */

    attn_score score;
    attn_weighting weighting;
    int average;       /* not 0: RELU, SIGMOID and RAW weights are divided by the number of keys seen */
    float leaky_slope; /* of GAT and GATV2; 0.2 after init */

    /* [heads, d_k], contiguous: w of ADDITIVE, a of GATV2, a of GAT. */
    attn_tensor score_vector;
    /* [heads, d_k], contiguous: b of GAT, for the keys. */
    attn_tensor key_score_vector;

    /* On a graph, by edge number; channels (heads) are contiguous. data NULL: none. */
    attn_tensor edge_bias;  /* [edges, heads] */
    attn_tensor edge_key;   /* [edges, heads, d_k] */
    attn_tensor edge_value; /* [edges, heads, d_v] */

    /* NULL, or [sequences]: sequence b adds bias[bias_of[b]], and bias has any number of entries along its
     * first index. For sequences that fall into groups with one bias each, such as images by their width. */
    const int64_t *bias_of;
} attn_attention_options;

/* scale 1 / sqrt(d_k), nothing else. */
ATTN_INIT(attn_attention_options)

/* The forward pass.
 *
 * pattern NULL: full attention. options NULL: the defaults.
 * log_sum_exp: NULL, or rows x heads (4-d: sequence x rows x heads), filled
 *     with log sum_j exp(s_ij), which the backward pass needs.
 * weights: NULL, or a 1-d contiguous tensor of attn_attention_weights_count()
 *     elements, filled with the p_ij that weighted the values (after dropout),
 *     in the order of attn_weights_layout. Asking for them changes no bit of the
 *     output.
 *
 * Errors: INVALID_ARGUMENT (NULL, an option or a pattern out of range, data that is not aligned, an overlap),
 * SHAPE_MISMATCH, UNSUPPORTED (a combination that the table above lacks), OVERFLOW, OUT_OF_MEMORY; results
 * are then untouched. */
ATTN_API attn_status attn_attention_forward(attn_context *context, const attn_pattern *pattern,
                                            const attn_attention_options *options, const attn_tensor *query,
                                            const attn_tensor *key, const attn_tensor *value,
                                            const attn_tensor *output, const attn_tensor *log_sum_exp,
                                            const attn_tensor *weights);

/* Which gradients to compute, and where to write them. data NULL: not wanted.
 * They are overwritten, not added to. */
typedef struct attn_attention_gradients {
    size_t size; /* sizeof(attn_attention_gradients), set by the init function */
    attn_tensor query;
    attn_tensor key;
    attn_tensor value;
    attn_tensor bias;          /* shape of options->bias; entries that nothing used are 0 */
    attn_tensor distance_bias; /* shape of options->distance_bias */
    attn_tensor score_vector;  /* this and those below: shape of the option of the same name */
    attn_tensor key_score_vector;
    attn_tensor edge_bias;
    attn_tensor edge_key;
    attn_tensor edge_value;
} attn_attention_gradients;

ATTN_INIT(attn_attention_gradients)

/* The backward pass: five matrix products, no n x n array.
 *
 * pattern, options, query, key, value: as in the forward pass. output and
 * log_sum_exp: its results. d_output: the gradient of the output, in output's
 * shape.
 *
 * Errors as in the forward pass; gradients are then untouched. */
ATTN_API attn_status attn_attention_backward(attn_context *context, const attn_pattern *pattern,
                                             const attn_attention_options *options, const attn_tensor *query,
                                             const attn_tensor *key, const attn_tensor *value,
                                             const attn_tensor *output, const attn_tensor *log_sum_exp,
                                             const attn_tensor *d_output,
                                             const attn_attention_gradients *gradients);

/* The layout of the weights of one sequence: [heads][queries][width]. Entry c
 * of query i is the weight of key first_key + i * key_step + c; entries whose
 * key is outside 0 .. keys-1, or is not seen, are 0. (On a graph the weights are
 * [edges][heads], by edge number, and this struct is not used.)
 *
 *     full rows   width = keys, first_key = 0, key_step = 0
 *     a band      width = left + right + 1, key_step = 1
 *
 * A band is used if both reaches are limited and its width is less than keys. */
typedef struct attn_weights_layout {
    size_t size;    /* sizeof(attn_weights_layout), set by the init function */
    int64_t offset; /* of (head 0, query 0) in the weights */
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t width;
    int64_t first_key;
    int64_t key_step;
} attn_weights_layout;
ATTN_INIT(attn_weights_layout)

/* The number of elements of the weights of a call, and the layout of those of
 * one sequence. The arguments are those of the forward pass. Errors as
 * attn_attention_forward. */
ATTN_API attn_status attn_attention_weights_count(attn_context *context, const attn_pattern *pattern,
                                                  const attn_tensor *query, const attn_tensor *key,
                                                  int64_t *count);
ATTN_API attn_status attn_attention_weights_layout(attn_context *context, const attn_pattern *pattern,
                                                   const attn_tensor *query, const attn_tensor *key,
                                                   int64_t sequence, attn_weights_layout *layout);

/* An upper bound, in bytes, of the working memory of a forward (or backward)
 * call of these shapes, for attn_context_reserve(). It assumes that results
 * have contiguous channels if query, key and value all have them. It is linear
 * in the rows, never queries x keys. Errors as attn_attention_forward. */
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
