/* attention.h of the last release, without its comments (tests/test_frozen.sh). */
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

typedef enum attn_reach {
    ATTN_FULL = 0,
    ATTN_CAUSAL = 1
} attn_reach;

ATTN_API attn_status attn_self_attention(attn_context *context, const float *query, const float *key,
                                         const float *value, float *output, const int64_t *offsets,
                                         int64_t sequences, int64_t heads, int64_t d, attn_reach reach);

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
    size_t size;
    float scale;
    float softcap;

    const float *alibi_slopes;

    attn_tensor bias;

    attn_tensor distance_bias;

    float dropout;
    uint64_t seed;
    int64_t
        first_sequence;

    attn_score score;
    attn_weighting weighting;
    int average;
    float leaky_slope;

    attn_tensor score_vector;

    attn_tensor key_score_vector;

    attn_tensor edge_bias;
    attn_tensor edge_key;
    attn_tensor edge_value;

    const int64_t *bias_of;
} attn_attention_options;

ATTN_INIT(attn_attention_options)

ATTN_API attn_status attn_attention_forward(attn_context *context, const attn_pattern *pattern,
                                            const attn_attention_options *options, const attn_tensor *query,
                                            const attn_tensor *key, const attn_tensor *value,
                                            const attn_tensor *output, const attn_tensor *log_sum_exp,
                                            const attn_tensor *weights);

typedef struct attn_attention_gradients {
    size_t size;
    attn_tensor query;
    attn_tensor key;
    attn_tensor value;
    attn_tensor bias;
    attn_tensor distance_bias;
    attn_tensor score_vector;
    attn_tensor key_score_vector;
    attn_tensor edge_bias;
    attn_tensor edge_key;
    attn_tensor edge_value;
} attn_attention_gradients;

ATTN_INIT(attn_attention_gradients)

ATTN_API attn_status attn_attention_backward(attn_context *context, const attn_pattern *pattern,
                                             const attn_attention_options *options, const attn_tensor *query,
                                             const attn_tensor *key, const attn_tensor *value,
                                             const attn_tensor *output, const attn_tensor *log_sum_exp,
                                             const attn_tensor *d_output,
                                             const attn_attention_gradients *gradients);

typedef struct attn_weights_layout {
    size_t size;
    int64_t offset;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t width;
    int64_t first_key;
    int64_t key_step;
} attn_weights_layout;
ATTN_INIT(attn_weights_layout)

ATTN_API attn_status attn_attention_weights_count(attn_context *context, const attn_pattern *pattern,
                                                  const attn_tensor *query, const attn_tensor *key,
                                                  int64_t *count);
ATTN_API attn_status attn_attention_weights_layout(attn_context *context, const attn_pattern *pattern,
                                                   const attn_tensor *query, const attn_tensor *key,
                                                   int64_t sequence, attn_weights_layout *layout);

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
