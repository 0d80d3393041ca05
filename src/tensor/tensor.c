/* tensor.c: views with the usual memory orders. */
#include <attn/tensor.h>

#include <string.h>

/* Strides of a shape that nothing can have wrap around (in unsigned
 * arithmetic, where that is defined): the shape itself is what calls refuse. */
static int64_t product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

attn_tensor attn_tensor_view(void *data, int rank, const int64_t *shape) {
    attn_tensor view;
    memset(&view, 0, sizeof view);
    view.data = data;
    view.dtype = ATTN_F32;
    view.device = ATTN_CPU;
    if (rank < 1 || rank > ATTN_MAX_RANK) return view;
    view.rank = rank;
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        view.shape[axis] = shape[axis];
        view.stride[axis] = stride;
        stride = product(stride, shape[axis]);
    }
    return view;
}

attn_tensor attn_tensor_rows(void *data, int64_t rows, int64_t heads, int64_t channels) {
    const int64_t shape[] = {rows, heads, channels};
    return attn_tensor_view(data, 3, shape);
}

attn_tensor attn_tensor_bhnd(void *data, int64_t batch, int64_t heads, int64_t rows, int64_t channels) {
    const int64_t shape[] = {batch, heads, rows, channels};
    attn_tensor stored = attn_tensor_view(data, 4, shape);
    attn_tensor view = stored;
    view.shape[1] = stored.shape[2];
    view.stride[1] = stored.stride[2];
    view.shape[2] = stored.shape[1];
    view.stride[2] = stored.stride[1];
    return view;
}

attn_tensor attn_tensor_matrix(void *data, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    return attn_tensor_view(data, 2, shape);
}
