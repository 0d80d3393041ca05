/* attention.c: causal self-attention over two sequences of different length,
 * forward and backward.
 *
 * The rows of both sequences stand one after another, five in all; offsets say
 * where each sequence begins. Nothing is padded, and no row sees a row of the
 * other sequence.
 *
 *     cc attention.c $(pkg-config --cflags --libs attn)
 */
#include <stdio.h>
#include <stdlib.h>

#include <attn/attn.h>

enum { ROWS = 5, HEADS = 2, CHANNELS = 4, COUNT = ROWS * HEADS * CHANNELS };

static const int64_t offsets[] = {0, 3, 5}; /* rows 0..2 and rows 3..4 */

static float query[COUNT], key[COUNT], value[COUNT], output[COUNT], log_sum_exp[ROWS * HEADS];
static float d_output[COUNT], d_query[COUNT], d_key[COUNT], d_value[COUNT];

/* A row holds its heads side by side: rows x heads x channels. */
static attn_tensor rows(float *data) { return attn_tensor_rows(data, ROWS, HEADS, CHANNELS); }

static attn_status run(attn_context *context) {
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.sequences = 2;
    pattern.query_offsets = offsets;
    pattern.right = 0; /* causal: a row sees itself and what is before it */

    const attn_tensor q = rows(query), k = rows(key), v = rows(value), o = rows(output), d_o = rows(d_output);
    const attn_tensor lse = attn_tensor_matrix(log_sum_exp, ROWS, HEADS);
    attn_status status = attn_attention_forward(context, &pattern, NULL, &q, &k, &v, &o, &lse, NULL);
    if (status != ATTN_OK) return status;

    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    gradients.query = rows(d_query);
    gradients.key = rows(d_key);
    gradients.value = rows(d_value);
    return attn_attention_backward(context, &pattern, NULL, &q, &k, &v, &o, &lse, &d_o, &gradients);
}

static void print_rows(const char *name, const float *data) {
    printf("%s, head 0\n", name);
    for (int row = 0; row < ROWS; row++) {
        printf("  row %d ", row);
        for (int channel = 0; channel < CHANNELS; channel++)
            printf(" %8.4f", (double)data[row * HEADS * CHANNELS + channel]);
        printf("\n");
    }
}

int main(void) {
    for (int i = 0; i < COUNT; i++) { /* any numbers will do */
        query[i] = (float)(i * 7 % 11 - 5) / 4;
        key[i] = (float)(i * i % 13 - 6) / 4;
        value[i] = (float)(i * 3 % 17 - 8) / 4;
        d_output[i] = (float)(i * 2 % 7 - 3) / 4;
    }

    attn_context *context;
    if (attn_context_create(NULL, &context) != ATTN_OK) {
        fprintf(stderr, "attn: %s\n", attn_last_create_error());
        return EXIT_FAILURE;
    }
    printf("attn %s, %s, %d threads\n", attn_version(), attn_context_isa(context),
           attn_context_threads(context));

    attn_status status = run(context);
    if (status == ATTN_OK) {
        print_rows("output", output);
        print_rows("gradient of value", d_value);
        print_rows("gradient of query", d_query);
    } else {
        fprintf(stderr, "attn: %s: %s\n", attn_status_name(status), attn_context_error(context));
    }
    attn_context_destroy(context);
    return status == ATTN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
