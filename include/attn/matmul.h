/* matmul.h: the product with a weight, y = act(x W^T + b), and its backward: the operator
 * that linear layers are made of.
 *
 *     x  rows x in       W  out x in       b  out       y  rows x out
 *
 * x, y and their gradients have free row strides; their columns stand side by
 * side (stride 1). W is packed once into the order in which the kernel reads
 * it (attn_weight_pack), for as long as it does not change; the packed form is
 * plain memory of the caller's, valid for contexts of one instruction set.
 *
 * Determinism. Same inputs, instruction set and build: the same bits for any
 * number of threads, and a row of y or of dx is the same bits whatever the
 * other rows are. dW and db are sums over rows, in the order of the rows.
 *
 * rows = 0 is allowed (y is empty, dW and db are 0); in and out are >= 1.
 */
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
    ATTN_GELU = 2,      /* x * Phi(x), exact (by erf) */
    ATTN_GELU_TANH = 3, /* its tanh approximation */
    ATTN_SILU = 4,      /* x * sigmoid(x) */
    ATTN_TANH = 5,
    ATTN_SIGMOID = 6,
    ATTN_ELU = 7 /* x above 0, e^x - 1 below */
} attn_activation;

/* A weight in kernel order. Made by attn_weight_pack; the caller owns memory. */
typedef struct attn_packed_weight {
    const void *memory;
    int64_t in;
    int64_t out;
    int transposed; /* 0: for the forward pass; 1: for dx */
    const char *isa;
} attn_packed_weight;

/* Bytes that attn_weight_pack needs for a weight of out x in, either way. */
ATTN_API attn_status attn_weight_packed_size(attn_context *context, int64_t out, int64_t in, size_t *bytes);

/* Packs weight (out x in, any strides) into `memory` (64-byte aligned, at
 * least `bytes`). transposed 0 packs for attn_matmul_forward, 1 for the dx of
 * attn_matmul_backward. */
ATTN_API attn_status attn_weight_pack(attn_context *context, const attn_tensor *weight, int transposed,
                                      void *memory, size_t bytes, attn_packed_weight *packed);

/* output = act(input W^T + bias).
 *
 * bias: NULL or [out]. pre_activation: NULL, or rows x out, filled with
 * input W^T + bias: what the backward pass of an activation needs.
 * output may not overlap input. */
ATTN_API attn_status attn_matmul_forward(attn_context *context, const attn_tensor *input,
                                         const attn_packed_weight *weight, const attn_tensor *bias,
                                         attn_activation activation, const attn_tensor *output,
                                         const attn_tensor *pre_activation);

/* From d_output (rows x out): with g = d_output * act'(pre_activation),
 *
 *     d_input  = g W          rows x in
 *     d_weight = g^T input    out x in
 *     d_bias   = sum over rows of g
 *
 * each NULL if not wanted, each overwritten. weight: packed with transposed 1,
 * needed for d_input only. input: needed for d_weight only. pre_activation:
 * NULL only for ATTN_IDENTITY. */
ATTN_API attn_status attn_matmul_backward(attn_context *context, const attn_tensor *d_output,
                                          const attn_tensor *pre_activation, attn_activation activation,
                                          const attn_tensor *input, const attn_packed_weight *weight,
                                          const attn_tensor *d_input, const attn_tensor *d_weight,
                                          const attn_tensor *d_bias);

/* rows x columns: each row of `output` is the softmax of that of `input`. A
 * row of nothing but -inf gives 0. The two may be the same memory. */
ATTN_API attn_status attn_softmax_forward(attn_context *context, const attn_tensor *input,
                                          const attn_tensor *output);

ATTN_END_DECLS

#endif
