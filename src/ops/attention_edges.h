/* attention_edges.h: the attention operator over lists of neighbours. */
#ifndef AT_OPS_ATTENTION_EDGES_H
#define AT_OPS_ATTENTION_EDGES_H

#include "ops/attention_call.h"

/* The passes of a checked call; operands: query, key, value, output and, for
 * the backward pass, d_output, d_query, d_key, d_value (NULL or without data:
 * absent). bytes not NULL: only tells the memory that it would take. */
attn_status at_attention_edges_forward(attn_context *context, const at_attention_call *checked,
                                       const attn_tensor *const operands[4], size_t *bytes);
attn_status at_attention_edges_backward(attn_context *context, const at_attention_call *checked,
                                        const attn_tensor *const operands[8],
                                        const attn_attention_gradients *gradients, size_t *bytes);

#endif
