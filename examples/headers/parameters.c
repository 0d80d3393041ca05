/* parameters.c: attn/parameters.h: what a network learns: tensors with names, values and gradients. */
#include <attn/parameters.h>
#include <stdio.h>

int main(void) {
    static const int64_t shape[2] = {3, 4};
    attn_context *context;
    attn_parameters *parameters;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_parameters_create(context, 7, &parameters) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    attn_parameters_add(parameters, "map.weight", 2, shape, NULL); /* starts at random, by the seed 7 */
    if (attn_parameters_status(parameters) != ATTN_OK) return puts(attn_parameters_error(parameters)), 1;
    attn_parameter *weight = attn_parameters_find(parameters, "map.weight");
    printf("%s: %lld numbers in all\n", attn_parameter_name(weight),
           (long long)attn_parameters_size(parameters));
    int right = weight != NULL && attn_parameters_size(parameters) == 12;
    attn_parameters_destroy(parameters);
    attn_context_destroy(context);
    return !right;
}
