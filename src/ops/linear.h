/* linear.h (private): the backward pass with a weight that is not packed. */
#ifndef AT_OPS_LINEAR_H
#define AT_OPS_LINEAR_H

#include <attn/linear.h>

/* Whether d_input is computed faster from the weight as it lies. */
int at_weight_is_small(int64_t out, int64_t in);

/* attn_linear_backward; with `plain` (out x in, contiguous, and so small) that is
 * the weight, and only in and out of `weight` count. */
attn_status at_linear_backward(attn_context *context, const attn_tensor *d_output,
                               const attn_tensor *pre_activation, attn_activation activation,
                               const attn_tensor *input, const attn_packed_weight *weight, const float *plain,
                               const attn_tensor *d_input, const attn_tensor *d_weight,
                               const attn_tensor *d_bias);

#endif
