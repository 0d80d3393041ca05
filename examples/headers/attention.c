/* attention.c: attn/attention.h: the short form, causal, and the weights of the long one. */
#include <attn/attention.h>
#include <stdio.h>

enum { ROWS = 3, D = 2 };

int main(void) {
    static float query[ROWS * D] = {1, 0, 0, 1, 1, 1}, key[ROWS * D] = {1, 0, 0, 2, 1, 1};
    static float value[ROWS * D] = {1, 10, 2, 20, 3, 30}, output[ROWS * D], weights[ROWS * ROWS];
    static const int64_t offsets[] = {0, ROWS}, all = ROWS * ROWS;
    attn_context *context;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_self_attention(context, query, key, value, output, offsets, 1, 1, D, ATTN_CAUSAL) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    int right = output[0] == 1.0f && output[1] == 10.0f; /* the first row sees itself alone */

    attn_tensor q = attn_tensor_rows(query, ROWS, 1, D), k = attn_tensor_rows(key, ROWS, 1, D);
    attn_tensor v = attn_tensor_rows(value, ROWS, 1, D), o = attn_tensor_rows(output, ROWS, 1, D);
    attn_tensor p = attn_tensor_view(weights, 1, &all);
    attn_attention_options options;
    attn_attention_options_init(&options);
    options.scale = 1; /* the plain dot product, and every row sees every row: no pattern */
    if (attn_attention_forward(context, NULL, &options, &q, &k, &v, &o, NULL, &p) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int i = 0; i < ROWS; i++) {
        float sum = 0;
        for (int j = 0; j < ROWS; j++) sum += weights[i * ROWS + j];
        printf("row %d: weights %.3f %.3f %.3f\n", i, (double)weights[i * ROWS],
               (double)weights[i * ROWS + 1], (double)weights[i * ROWS + 2]);
        right = right && sum > 0.999999f && sum < 1.000001f;
    }
    attn_context_destroy(context);
    return !right;
}
