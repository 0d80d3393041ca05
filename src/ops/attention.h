/* attention.h (private): attention over rows that stand in no order.
 *
 * As attn_attention_forward, but key j of sequence b is row list[b * stride + j] of key and value, whose
 * sequence stride is 0. NULL: where the tensors say. For few queries with scores that are products, under a
 * softmax, alone; weights cannot be asked for.
 */
#ifndef AT_OPS_ATTENTION_H
#define AT_OPS_ATTENTION_H

#include <attn/attention.h>

typedef struct at_key_places {
    const int32_t *list;
    int64_t stride;
} at_key_places;

attn_status at_attention_forward(attn_context *context, const attn_pattern *pattern,
                                 const attn_attention_options *options, const attn_tensor *query,
                                 const attn_tensor *key, const attn_tensor *value, const attn_tensor *output,
                                 const attn_tensor *log_sum_exp, const attn_tensor *weights,
                                 const at_key_places *places);

#endif
