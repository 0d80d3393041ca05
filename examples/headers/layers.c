/* layers.c: attn/layers.h: multi-head self-attention with its own projections, on two ragged sequences. */
#include <attn/layers.h>
#include <stdio.h>

enum { ROWS = 5, COLUMNS = 8 };

int main(void) {
    static float rows[ROWS * COLUMNS];
    static const int64_t offsets[] = {0, 3, ROWS};
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)(i % 7) / 7;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_parameters_create(context, 1, &parameters) != ATTN_OK ||
        attn_tape_create(context, &tape) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    attn_multihead_options options;
    attn_multihead_options_init(&options);
    options.columns = COLUMNS;
    options.heads = 2;
    options.right = 0; /* causal */
    attn_multihead *layer = attn_multihead_create(parameters, "attention", &options);
    if (layer == NULL) return puts(attn_parameters_error(parameters)), 1;
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){2, offsets};
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y =
        attn_multihead_apply(tape, layer, attn_tape_input(tape, rows, ROWS, COLUMNS, 0), &places);
    if (y == NULL) return puts(attn_tape_error(tape)), 1;
    printf("%lld rows of %lld columns\n", (long long)attn_variable_rows(y),
           (long long)attn_variable_columns(y));
    int right = attn_variable_rows(y) == ROWS && attn_variable_columns(y) == COLUMNS;
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return !right;
}
