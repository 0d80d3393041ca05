/* operations.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_OPERATIONS_H
#define ATTN_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/attention.h>
#include <attn/export.h>
#include <attn/matmul.h>
#include <attn/parameters.h>
#include <attn/pattern.h>
#include <attn/ragged.h>
#include <attn/tape.h>

ATTN_BEGIN_DECLS

ATTN_API attn_variable *attn_tape_linear(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                         attn_parameter *bias, attn_activation activation);

ATTN_API attn_variable *attn_tape_feedforward(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                              attn_parameter *bias, attn_activation activation,
                                              attn_parameter *output, attn_parameter *output_bias);

ATTN_API attn_variable *attn_tape_embedding(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                            int64_t count);

typedef enum attn_bag { ATTN_BAG_SUM = 0, ATTN_BAG_MEAN = 1 } attn_bag;

ATTN_API attn_variable *attn_tape_embedding_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                                const int64_t *offsets, int64_t bags, attn_bag kind);

ATTN_API attn_variable *attn_tape_weighted_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                               const float *weights, const int64_t *offsets, int64_t bags);

ATTN_API attn_variable *attn_tape_add(attn_tape *tape, attn_variable *a, attn_variable *b);
ATTN_API attn_variable *attn_tape_multiply(attn_tape *tape, attn_variable *a, attn_variable *b);

ATTN_API attn_variable *attn_tape_scale(attn_tape *tape, attn_variable *x, float factor);

ATTN_API attn_variable *attn_tape_concat(attn_tape *tape, attn_variable *const *parts, int count);

ATTN_API attn_variable *attn_tape_slice(attn_tape *tape, attn_variable *x, int64_t first, int64_t columns);

ATTN_API attn_variable *attn_tape_gather_columns(attn_tape *tape, attn_variable *x, const int64_t *columns,
                                                 int64_t count);

ATTN_API attn_variable *attn_tape_gather(attn_tape *tape, attn_variable *x, const int64_t *rows,
                                         int64_t count);

ATTN_API attn_variable *attn_tape_scatter(attn_tape *tape, attn_variable *x, const int64_t *rows,
                                          int64_t count);

ATTN_API attn_variable *attn_tape_activation(attn_tape *tape, attn_variable *x, attn_activation activation);

ATTN_API attn_variable *attn_tape_gate(attn_tape *tape, attn_variable *gate, attn_variable *value,
                                       attn_activation activation);

ATTN_API attn_variable *attn_tape_dropout(attn_tape *tape, attn_variable *x, float probability);

ATTN_API attn_variable *attn_tape_softmax(attn_tape *tape, attn_variable *x);
ATTN_API attn_variable *attn_tape_log_softmax(attn_tape *tape, attn_variable *x);

ATTN_API attn_variable *attn_tape_layer_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                             attn_parameter *bias, float epsilon);

ATTN_API attn_variable *attn_tape_rms_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                           float epsilon);

typedef enum attn_pool {
    ATTN_POOL_MEAN = 0,
    ATTN_POOL_MAX = 1,
    ATTN_POOL_FIRST = 2,
    ATTN_POOL_SUM = 3
} attn_pool;

ATTN_API attn_variable *attn_tape_pool(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                       attn_pool kind);

ATTN_API attn_variable *attn_tape_pool_attention(attn_tape *tape, attn_variable *x, attn_variable *scores,
                                                 const attn_ragged *batch);

ATTN_API attn_variable *attn_tape_window(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                         int64_t left, int64_t right);

typedef struct attn_convolution_options {
    size_t size;
    int64_t width;
    int64_t dilation;
    int causal;
    attn_activation activation;
} attn_convolution_options;
ATTN_INIT(attn_convolution_options)

ATTN_API attn_variable *attn_tape_convolution(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                              attn_parameter *weight, attn_parameter *bias,
                                              const attn_convolution_options *options);

typedef struct attn_grids {
    attn_ragged batch;
    const int64_t *heights, *widths;
} attn_grids;

ATTN_API attn_variable *attn_tape_convolution_grid(attn_tape *tape, attn_variable *x, const attn_grids *grids,
                                                   attn_parameter *weight, attn_parameter *bias,
                                                   const attn_convolution_options *options);

typedef enum attn_recurrence { ATTN_RNN_TANH = 0, ATTN_RNN_GRU = 1, ATTN_RNN_LSTM = 2 } attn_recurrence;

typedef struct attn_recurrent_weights {
    attn_parameter *input;
    attn_parameter *hidden;
    attn_parameter *input_bias;
    attn_parameter *hidden_bias;
} attn_recurrent_weights;

ATTN_API attn_variable *attn_tape_recurrent(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                            attn_recurrence kind, const attn_recurrent_weights *weights,
                                            int directions);

typedef struct attn_attention_inputs {
    size_t size;
    int64_t heads, kv_heads;
    const attn_pattern *pattern;
    const attn_attention_options *options;
    attn_variable *bias;
    int64_t bias_shape[4];
    attn_variable *distance_bias;
    attn_variable *score_vector, *key_score_vector;
    attn_variable *edge_bias;
    attn_variable *edge_key, *edge_value;
    float *weights;
    attn_activation activation;
    int bias_by_head;
} attn_attention_inputs;
ATTN_INIT(attn_attention_inputs)

ATTN_API attn_variable *attn_tape_attention(attn_tape *tape, attn_variable *query, attn_variable *key,
                                            attn_variable *value, const attn_attention_inputs *inputs);

ATTN_API attn_variable *attn_tape_rotary(attn_tape *tape, attn_variable *x, int64_t heads,
                                         const attn_ragged *batch, const int64_t *first_position, float base);

typedef struct attn_cross_entropy_options {
    size_t size;
    float smoothing;
    const float *class_weights;
    int32_t ignored;
} attn_cross_entropy_options;
ATTN_INIT(attn_cross_entropy_options)

ATTN_API attn_variable *attn_tape_cross_entropy(attn_tape *tape, attn_variable *logits, const int32_t *labels,
                                                const attn_cross_entropy_options *options);

ATTN_API attn_variable *attn_tape_binary_cross_entropy(attn_tape *tape, attn_variable *logits,
                                                       const float *targets);
ATTN_API attn_variable *attn_tape_squared_error(attn_tape *tape, attn_variable *x, const float *targets);
ATTN_API attn_variable *attn_tape_absolute_error(attn_tape *tape, attn_variable *x, const float *targets);

typedef struct attn_crf {
    attn_parameter *transitions;
    attn_parameter *start, *end;
} attn_crf;

ATTN_API attn_variable *attn_tape_crf(attn_tape *tape, attn_variable *emissions, const attn_ragged *batch,
                                      const attn_crf *crf, const int32_t *labels);

ATTN_API attn_status attn_tape_crf_decode(attn_tape *tape, const attn_variable *emissions,
                                          const attn_ragged *batch, const attn_crf *crf, int32_t *labels);
ATTN_API attn_status attn_tape_crf_marginals(attn_tape *tape, const attn_variable *emissions,
                                             const attn_ragged *batch, const attn_crf *crf, float *marginals);

ATTN_API attn_variable *attn_tape_ctc(attn_tape *tape, attn_variable *scores, const attn_ragged *batch,
                                      const int32_t *targets, const attn_ragged *target_batch, int32_t blank);

ATTN_END_DECLS

#endif
