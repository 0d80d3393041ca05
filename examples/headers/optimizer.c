/* optimizer.c: attn/optimizer.h: AdamW makes a linear map learn y = 2 x. */
#include <attn/layers.h>
#include <attn/optimizer.h>
#include <stdio.h>

int main(void) {
    static const float x[4] = {1, 2, 3, 4}, y[4] = {2, 4, 6, 8};
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
    attn_optimizer *optimizer;
    attn_optimizer_options options;
    float loss = 0;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_parameters_create(context, 1, &parameters) != ATTN_OK ||
        attn_tape_create(context, &tape) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    attn_linear *map = attn_linear_create(parameters, "map", 1, 1, 0, ATTN_IDENTITY);
    attn_optimizer_options_init(&options);
    options.learning_rate = 0.1;
    if (attn_optimizer_create(parameters, &options, &optimizer) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int step = 1; step <= 300; step++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *out = attn_linear_apply(tape, map, attn_tape_input(tape, x, 4, 1, 0));
        attn_variable *error = attn_tape_squared_error(tape, out, y);
        if (attn_tape_backward(tape, error, NULL) != ATTN_OK) return puts(attn_tape_error(tape)), 1;
        loss = attn_variable_data(error)[0];
        if (attn_optimizer_step(optimizer) != ATTN_OK) return puts(attn_context_error(context)), 1;
    }
    printf("after %lld steps the loss is %.2g\n", (long long)attn_optimizer_steps(optimizer), (double)loss);
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return !(loss < 1e-3f);
}
