/* matmul.h (private): the product with a weight that is not packed.
 *
 * As attn_matmul_forward and attn_matmul_backward. With `plain` (out x in,
 * contiguous) that is the weight, and only in and out of `weight` count: it is
 * packed on the way into the context's memory, if that pays, in the loop that
 * computes. factor: NULL, or rows x in, contiguous: d_input is multiplied by it.
 */
#ifndef AT_OPS_MATMUL_H
#define AT_OPS_MATMUL_H

#include <attn/matmul.h>

attn_status at_matmul_forward(attn_context *context, const attn_tensor *input,
                              const attn_packed_weight *weight, const float *plain, const attn_tensor *bias,
                              attn_activation activation, const attn_tensor *output,
                              const attn_tensor *pre_activation);

attn_status at_matmul_backward(attn_context *context, const attn_tensor *d_output,
                               const attn_tensor *pre_activation, attn_activation activation,
                               const attn_tensor *input, const attn_packed_weight *weight, const float *plain,
                               const float *factor, const attn_tensor *d_input, const attn_tensor *d_weight,
                               const attn_tensor *d_bias);

#endif
