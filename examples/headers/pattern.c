/* pattern.c: attn/pattern.h: a window of one row to either side. All queries are 0, so a row is the mean of
 * what it sees. */
#include <attn/attention.h>
#include <attn/pattern.h>
#include <stdio.h>

enum { ROWS = 5 };

int main(void) {
    static float zero[ROWS], value[ROWS] = {1, 2, 3, 4, 8}, output[ROWS];
    attn_context *context;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    attn_pattern pattern;
    attn_pattern_init(&pattern); /* full; right = 0 would be causal */
    pattern.left = pattern.right = 1;
    attn_tensor q = attn_tensor_rows(zero, ROWS, 1, 1), v = attn_tensor_rows(value, ROWS, 1, 1);
    attn_tensor o = attn_tensor_rows(output, ROWS, 1, 1);
    if (attn_attention_forward(context, &pattern, NULL, &q, &q, &v, &o, NULL, NULL) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int i = 0; i < ROWS; i++) printf("row %d sees the mean %.2f\n", i, (double)output[i]);
    attn_context_destroy(context);
    return output[0] != 1.5f || output[4] != 6.0f;
}
