/* tape.c: attn/tape.h: records operations, and walks them back: the gradient of a sum of squares is 2 x. */
#include <attn/operations.h>
#include <attn/tape.h>
#include <stdio.h>

int main(void) {
    static const float x[3] = {1, 2, 3}, zero[3] = {0, 0, 0};
    attn_context *context;
    attn_tape *tape;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_tape_create(context, &tape) != ATTN_OK) return puts(attn_context_error(context)), 1;
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 1);
    attn_variable *input = attn_tape_input(tape, x, 3, 1, 1);          /* with a gradient */
    attn_variable *error = attn_tape_squared_error(tape, input, zero); /* the mean of the squares */
    if (attn_tape_backward(tape, error, NULL) != ATTN_OK) return puts(attn_tape_error(tape)), 1;
    float loss = attn_variable_data(error)[0];
    const float *gradient = attn_variable_gradient(input);
    printf("loss %.4f, gradient %.4f %.4f %.4f\n", (double)loss, (double)gradient[0], (double)gradient[1],
           (double)gradient[2]);
    int right = loss > 4.66f && loss < 4.67f && gradient[2] == 2.0f;
    attn_tape_destroy(tape);
    attn_context_destroy(context);
    return !right;
}
