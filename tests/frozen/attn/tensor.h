/* tensor.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_TENSOR_H
#define ATTN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

#define ATTN_MAX_RANK 4

typedef enum attn_dtype {
    ATTN_F32 = 0
} attn_dtype;

typedef enum attn_device {
    ATTN_CPU = 0
} attn_device;

typedef struct attn_tensor {
    void *data;
    attn_dtype dtype;
    attn_device device;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t stride[ATTN_MAX_RANK];
} attn_tensor;

ATTN_API attn_tensor attn_tensor_view(void *data, int rank, const int64_t *shape);

ATTN_API attn_tensor attn_tensor_rows(void *data, int64_t rows, int64_t heads, int64_t channels);

ATTN_API attn_tensor attn_tensor_bhnd(void *data, int64_t batch, int64_t heads, int64_t rows,
                                      int64_t channels);

ATTN_API attn_tensor attn_tensor_matrix(void *data, int64_t rows, int64_t columns);

ATTN_END_DECLS

#endif
