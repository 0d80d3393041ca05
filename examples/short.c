/* short.c: causal self-attention over two sequences of different length, in one call.
 *
 *     cc short.c $(pkg-config --cflags --libs attn) -o short && ./short
 */
#include <attn/attn.h>
#include <stdio.h>

enum { ROWS = 5, HEADS = 1, D = 2 };

static float query[ROWS * HEADS * D], key[ROWS * HEADS * D], output[ROWS * HEADS * D];
static const float value[ROWS * HEADS * D] = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50};
static const int64_t offsets[] = {0, 3, 5}; /* rows 0..2 and rows 3..4: ragged, not padded */

int main(void) {
    attn_context *context;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_self_attention(context, query, key, value, output, offsets, 2, HEADS, D, ATTN_CAUSAL) != ATTN_OK)
        return puts(attn_context_error(context)), 1;

    /* All queries are 0, so all weights are equal: running averages, begun anew at row 3. */
    for (int i = 0; i < ROWS; i++)
        printf("row %d  %4.1f %5.1f\n", i, (double)output[i * D], (double)output[i * D + 1]);
    attn_context_destroy(context);
    return 0;
}
