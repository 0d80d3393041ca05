/* attention.h (private): as attn_attention_forward, with keys and values that may are in no order. */
#ifndef AT_OPS_ATTENTION_H
#define AT_OPS_ATTENTION_H

#include "ops/calls.h"

attn_status at_attention_forward(attn_context *context, const attn_pattern *pattern,
                                 const attn_attention_options *options, const attn_tensor *query,
                                 const attn_tensor *key, const attn_tensor *value, const attn_tensor *output,
                                 const attn_tensor *log_sum_exp, const attn_tensor *weights,
                                 const at_key_places *places);

#endif
