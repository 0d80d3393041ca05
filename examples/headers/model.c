/* model.c: attn/model.h: opens the tagger that trainer.c wrote, and says what is in it.
 *
 *     model tagger.safetensors
 */
#include <attn/model.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    attn_context *context;
    attn_model *model;
    if (count != 2) return puts("model MODEL"), 2;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_model_load(context, arguments[1], &model) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("task %s, input %s, %lld parameters, labels:", attn_model_task(model), attn_model_input(model),
           (long long)attn_model_parameters(model));
    for (int64_t l = 0; l < attn_model_labels(model, 0); l++) printf(" %s", attn_model_label(model, 0, l));
    printf("\n");
    int right = strcmp(attn_model_task(model), "tag") == 0 && attn_model_labels(model, 0) == 3;
    attn_model_destroy(model);
    attn_context_destroy(context);
    return !right;
}
