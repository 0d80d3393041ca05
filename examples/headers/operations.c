/* operations.c: attn/operations.h: a small network of single operations; errors are asked for once, at the
 * end. */
#include <attn/operations.h>
#include <stdio.h>

int main(void) {
    static const float x[2 * 2] = {1, -1, 2, 0};
    attn_context *context;
    attn_tape *tape;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_tape_create(context, &tape) != ATTN_OK) return puts(attn_context_error(context)), 1;
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *input = attn_tape_input(tape, x, 2, 2, 0);
    attn_variable *sum = attn_tape_add(tape, attn_tape_activation(tape, input, ATTN_RELU), input);
    attn_variable *weights = attn_tape_softmax(tape, sum);
    if (attn_tape_status(tape) != ATTN_OK) return puts(attn_tape_error(tape)), 1;
    const float *row = attn_variable_data(weights);
    printf("softmax(relu(x) + x), row 0: %.4f %.4f\n", (double)row[0], (double)row[1]);
    int right = row[0] > 0.95f && row[0] + row[1] > 0.999f;
    attn_tape_add(tape, input, NULL); /* a mistake is kept until it is asked for */
    right = right && attn_tape_status(tape) == ATTN_INVALID_ARGUMENT;
    printf("%s\n", attn_tape_error(tape));
    attn_tape_destroy(tape);
    attn_context_destroy(context);
    return !right;
}
