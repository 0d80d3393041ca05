/* explain.c: attn/explain.h: which word each word of a sentence looks at most, in the tagger that trainer.c
 * wrote.
 *
 *     explain tagger.safetensors
 */
#include <attn/explain.h>
#include <stdio.h>

int main(int count, char **arguments) {
    static const char *const words[] = {"this", "bird", "sang"};
    static const int64_t offsets[] = {0, 3};
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor;
    attn_dataset *sentence;
    attn_explanation *explanation;
    if (count != 2) return puts("explain MODEL"), 2;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_model_load(context, arguments[1], &model) != ATTN_OK ||
        attn_predictor_create(model, context, &predictor) != ATTN_OK ||
        attn_dataset_from_texts(context, words, offsets, 1, &sentence) != ATTN_OK ||
        attn_predictor_explain(predictor, sentence, NULL, &explanation) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    const attn_map *map = attn_explanation_map(explanation, 0); /* the first layer */
    for (int64_t query = 0; query < map->queries; query++) {
        int64_t most = 0;
        for (int64_t c = 1; c < attn_map_entries(map, query); c++)
            if (attn_map_weight(map, 0, query, c) > attn_map_weight(map, 0, query, most)) most = c;
        printf("%s looks at %s\n", attn_explanation_row(explanation, query),
               attn_explanation_row(explanation, attn_map_key(map, query, most)));
    }
    int right = map->queries == 3 && map->heads == 2;
    attn_explanation_destroy(explanation);
    attn_dataset_destroy(sentence);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_context_destroy(context);
    return !right;
}
