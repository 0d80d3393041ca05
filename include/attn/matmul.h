/* matmul.h: the product with a weight, y = act(x W^T + b), and its backward pass. Linear layers use it.
 *
 *     x  rows x in       W  out x in       b  out       y  rows x out
 *
 * x, y and their gradients may have any row stride; the numbers of a row are contiguous (column stride 1). W
 * is packed into the order in which the kernel reads it (attn_weight_pack), and packed again only when it
 * changes. The packed form is in the caller's memory, and valid for contexts of one instruction set.
 *
 * Determinism. The same inputs, instruction set and build give the same bits for any number of threads. A row
 * of y or of dx has the same bits whatever the other rows are. dW and db are sums over rows, in the order of
 * the rows.
 *
 * rows = 0 is allowed (y is empty, dW and db are 0); in and out are >= 1.
 *
 * Overlap and alignment (see attn/tensor.h). Data that is not aligned as float is refused. The forward pass
 * checks whether output and pre_activation overlap each other, input or bias. The backward pass checks
 * whether d_input, d_weight and d_bias overlap each other, d_output, pre_activation or input. An overlap is
 * refused if both tensors have no gaps. The packed weight is not checked.
 *
 * Threads. A call uses all threads of its context, which is for one thread at a time. Calls only read a
 * packed weight: contexts of several threads may share it.
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

/* A weight in kernel order. Made by attn_weight_pack; the caller owns memory. A plain struct: it will not
 * grow. */
typedef struct attn_packed_weight {
    const void *memory;
    int64_t in;
    int64_t out;
    int transposed; /* 0: for the forward pass; 1: for dx */
    const char *isa;
} attn_packed_weight;

/* Bytes that attn_weight_pack needs for a weight of out x in, transposed or not.
 * Errors: INVALID_ARGUMENT (NULL, out or in below 1), OVERFLOW. */
ATTN_API attn_status attn_weight_packed_size(attn_context *context, int64_t out, int64_t in, size_t *bytes);

/* Packs weight (out x in, any strides) into `memory` (64-byte aligned, at
 * least `bytes`). transposed 0 packs for attn_matmul_forward, 1 for the dx of
 * attn_matmul_backward.
 * Errors: INVALID_ARGUMENT (NULL, memory too small or not aligned), SHAPE_MISMATCH, UNSUPPORTED (a type),
 * OVERFLOW. */
ATTN_API attn_status attn_weight_pack(attn_context *context, const attn_tensor *weight, int transposed,
                                      void *memory, size_t bytes, attn_packed_weight *packed);

/* output = act(input W^T + bias).
 *
 * bias: NULL or [out]. pre_activation: NULL, or rows x out, filled with input
 * W^T + bias, which the backward pass of an activation needs.
 * Errors: INVALID_ARGUMENT (NULL, no such activation, a weight packed for the other pass (see `transposed`)
 * or for another instruction set, overlap), SHAPE_MISMATCH, UNSUPPORTED (a type), OUT_OF_MEMORY; results are
 * then untouched. */
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
 * NULL only for ATTN_IDENTITY.
 * Errors as attn_matmul_forward. */
ATTN_API attn_status attn_matmul_backward(attn_context *context, const attn_tensor *d_output,
                                          const attn_tensor *pre_activation, attn_activation activation,
                                          const attn_tensor *input, const attn_packed_weight *weight,
                                          const attn_tensor *d_input, const attn_tensor *d_weight,
                                          const attn_tensor *d_bias);

/* rows x columns: each row of `output` is the softmax of that row of `input`. A
 * row of only -inf gives 0. input and output may be the same memory; any other
 * overlap is wrong, and not checked.
 * Errors: INVALID_ARGUMENT, SHAPE_MISMATCH, UNSUPPORTED (a type). */
ATTN_API attn_status attn_softmax_forward(attn_context *context, const attn_tensor *input,
                                          const attn_tensor *output);

ATTN_END_DECLS

#endif
