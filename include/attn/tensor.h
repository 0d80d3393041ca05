/* tensor.h: views of the caller's memory.
 *
 * A tensor is a view: a pointer, a type, a shape and strides. It owns nothing.
 * Vectors are rows: a matrix of n vectors of d numbers is n x d, row-major
 * (lecture notes that write vectors as columns have Q = W A; here Q = A W^T).
 *
 * What attention reads and writes is, index by index,
 *
 *     row, head, channel                 rows of all sequences one after another
 *     sequence, row, head, channel       sequences of one size, batched
 *
 * and any memory order is a matter of strides. For a batch x heads x n x d
 * array use attn_tensor_bhnd(), for rows that hold all their heads
 * (n x heads x d) attn_tensor_rows().
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
    int64_t stride[ATTN_MAX_RANK]; /* steps in elements, not bytes; 0 repeats, negative walks back */
} attn_tensor;

/* A view with row-major (contiguous) strides. shape has `rank` extents; a
 * rank outside 1..ATTN_MAX_RANK gives a view with rank 0, which every call
 * refuses by name. */
ATTN_API attn_tensor attn_tensor_view(void *data, int rank, const int64_t *shape);

/* rows x heads x channels, a row's heads side by side (n x heads x d). */
ATTN_API attn_tensor attn_tensor_rows(void *data, int64_t rows, int64_t heads, int64_t channels);

/* The batch x heads x rows x channels array of the big frameworks, as the
 * view sequence, row, head, channel that attention takes. */
ATTN_API attn_tensor attn_tensor_bhnd(void *data, int64_t batch, int64_t heads, int64_t rows,
                                      int64_t channels);

/* rows x columns, row-major. */
ATTN_API attn_tensor attn_tensor_matrix(void *data, int64_t rows, int64_t columns);

ATTN_END_DECLS

#endif
