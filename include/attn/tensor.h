/* tensor.h: views of the caller's memory.
 *
 * A tensor is a view: a pointer, a type, a shape and strides. It owns nothing.
 * Vectors are rows: a matrix of n vectors of d numbers is n x d, row-major
 * (lecture notes that write vectors as columns have Q = W A; here Q = A W^T).
 *
 * Attention reads and writes tensors with the indices
 *
 *     row, head, channel                 rows of all sequences one after another
 *     sequence, row, head, channel       sequences of one size, batched
 *
 * and strides describe any memory order. For a batch x heads x n x d array use
 * attn_tensor_bhnd(), for n x heads x d attn_tensor_rows().
 *
 * Alignment. A call refuses a tensor whose data is not aligned for its type (INVALID_ARGUMENT).
 *
 * Overlap. A result must not share memory with another argument of the call. A call refuses this
 * (INVALID_ARGUMENT) where the shapes and strides show it at no cost: if the result and the other tensor both
 * fill their memory without gaps. Tensors with gaps, such as the heads of one array, may be interleaved; they
 * are not checked, and if they do share elements, the result is undefined. A result with a stride of 0 over
 * more than one element is always refused. The comments of attn/attention.h and attn/matmul.h say which pairs
 * of arguments are checked.
 *
 * The functions here compute views from numbers. Any thread may call them.
 */
#ifndef ATTN_TENSOR_H
#define ATTN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

#define ATTN_MAX_RANK 4

typedef enum attn_dtype {
    ATTN_F32 = 0 /* IEEE single precision */
} attn_dtype;

typedef enum attn_device {
    ATTN_CPU = 0 /* memory that the CPU addresses */
} attn_device;

typedef struct attn_tensor {
    void *data; /* element (0, 0, ...); NULL: no tensor */
    attn_dtype dtype;
    attn_device device;
    int rank;                      /* 1 .. ATTN_MAX_RANK */
    int64_t shape[ATTN_MAX_RANK];  /* extents, each >= 0 */
    int64_t stride[ATTN_MAX_RANK]; /* in elements, not bytes; 0 repeats an element, negative goes backwards */
} attn_tensor;                     /* plain: will not grow */

/* A view with row-major (contiguous) strides. shape has `rank` extents. A rank
 * outside 1..ATTN_MAX_RANK gives a view with rank 0, which every call refuses
 * with a message. */
ATTN_API attn_tensor attn_tensor_view(void *data, int rank, const int64_t *shape);

/* rows x heads x channels, a row's heads side by side (n x heads x d). */
ATTN_API attn_tensor attn_tensor_rows(void *data, int64_t rows, int64_t heads, int64_t channels);

/* A batch x heads x rows x channels array, which is the memory order of PyTorch,
 * as a view with the indices sequence, row, head, channel. */
ATTN_API attn_tensor attn_tensor_bhnd(void *data, int64_t batch, int64_t heads, int64_t rows,
                                      int64_t channels);

/* rows x columns, row-major. */
ATTN_API attn_tensor attn_tensor_matrix(void *data, int64_t rows, int64_t columns);

ATTN_END_DECLS

#endif
