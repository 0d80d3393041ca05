/* matmul.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_MATMUL_H
#define ATTN_MATMUL_H

#include <stddef.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>
#include <attn/tensor.h>

ATTN_BEGIN_DECLS

typedef enum attn_activation {
    ATTN_IDENTITY = 0,
    ATTN_RELU = 1,
    ATTN_GELU = 2,
    ATTN_GELU_TANH = 3,
    ATTN_SILU = 4,
    ATTN_TANH = 5,
    ATTN_SIGMOID = 6,
    ATTN_ELU = 7
} attn_activation;

typedef struct attn_packed_weight {
    const void *memory;
    int64_t in;
    int64_t out;
    int transposed;
    const char *isa;
} attn_packed_weight;

ATTN_API attn_status attn_weight_packed_size(attn_context *context, int64_t out, int64_t in, size_t *bytes);

ATTN_API attn_status attn_weight_pack(attn_context *context, const attn_tensor *weight, int transposed,
                                      void *memory, size_t bytes, attn_packed_weight *packed);

ATTN_API attn_status attn_matmul_forward(attn_context *context, const attn_tensor *input,
                                         const attn_packed_weight *weight, const attn_tensor *bias,
                                         attn_activation activation, const attn_tensor *output,
                                         const attn_tensor *pre_activation);

ATTN_API attn_status attn_matmul_backward(attn_context *context, const attn_tensor *d_output,
                                          const attn_tensor *pre_activation, attn_activation activation,
                                          const attn_tensor *input, const attn_packed_weight *weight,
                                          const attn_tensor *d_input, const attn_tensor *d_weight,
                                          const attn_tensor *d_bias);

ATTN_API attn_status attn_softmax_forward(attn_context *context, const attn_tensor *input,
                                          const attn_tensor *output);

ATTN_END_DECLS

#endif
