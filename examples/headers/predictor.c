/* predictor.c: attn/predictor.h: tags a sentence with the tagger that trainer.c wrote.
 *
 *     predictor tagger.safetensors
 */
#include <attn/predictor.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    static const char *const words[] = {"this", "bird", "sang"};
    static const int64_t offsets[] = {0, 3};
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor;
    attn_dataset *sentence;
    attn_prediction *answer;
    if (count != 2) return puts("predictor MODEL"), 2;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_model_load(context, arguments[1], &model) != ATTN_OK ||
        attn_predictor_create(model, context, &predictor) != ATTN_OK ||
        attn_dataset_from_texts(context, words, offsets, 1, &sentence) != ATTN_OK ||
        attn_predictor_predict(predictor, sentence, &answer) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    for (int64_t i = 0; i < attn_prediction_units(answer, 0); i++)
        printf("%s/%s ", attn_prediction_unit(answer, 0, i), attn_prediction_label(answer, 0, 0, i));
    printf("\n");
    int right = strcmp(attn_prediction_label(answer, 0, 0, 2), "VERB") == 0;
    attn_prediction_destroy(answer);
    attn_dataset_destroy(sentence);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_context_destroy(context);
    return !right;
}
