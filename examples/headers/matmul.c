/* matmul.c: attn/matmul.h: a linear layer, relu(x W^T + b), with a weight that is packed once. */
#include <attn/matmul.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static float x[2 * 3] = {1, 2, 3, -1, 0, 1}, w[2 * 3] = {1, 0, 0, 0, 1, 1}, b[2] = {0, -4}, y[2 * 2];
    static const int64_t two = 2;
    attn_context *context;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    attn_tensor input = attn_tensor_matrix(x, 2, 3), weight = attn_tensor_matrix(w, 2, 3);
    attn_tensor bias = attn_tensor_view(b, 1, &two), output = attn_tensor_matrix(y, 2, 2);
    attn_packed_weight packed;
    size_t bytes;
    if (attn_weight_packed_size(context, 2, 3, &bytes) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL || attn_weight_pack(context, &weight, 0, memory, bytes, &packed) != ATTN_OK ||
        attn_matmul_forward(context, &input, &packed, &bias, ATTN_RELU, &output, NULL) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("%g %g\n%g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    free(memory);
    attn_context_destroy(context);
    return y[0] != 1 || y[1] != 1 || y[2] != 0 || y[3] != 0;
}
