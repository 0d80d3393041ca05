/* predict.c: loads a model and asks it about a text; taggers split it into sentences first.
 *
 *     predict pos.safetensors "The cat sat on the mat."
 */
#include <attn/attn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "predict MODEL TEXT\n"), 2;
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor;
    attn_prediction *answer;
    if (attn_context_create(NULL, &context) != ATTN_OK)
        return fprintf(stderr, "%s\n", attn_last_create_error()), 1;
    if (attn_model_load(context, arguments[1], &model) != ATTN_OK ||
        attn_predictor_create(model, context, &predictor) != ATTN_OK ||
        attn_predictor_set(predictor, "probs", "true") != ATTN_OK ||
        attn_predictor_text(predictor, arguments[2], &answer) != ATTN_OK)
        return fprintf(stderr, "%s\n", attn_context_error(context)), 1;

    for (int64_t e = 0; e < attn_prediction_examples(answer); e++) {
        int64_t rows = attn_model_per_token(model) ? attn_prediction_units(answer, e) : 1;
        for (int64_t i = 0; i < rows; i++) {
            int64_t label = attn_prediction_class(answer, 0, e, i);
            const char *unit =
                attn_model_per_token(model) ? attn_prediction_unit(answer, e, i) : arguments[2];
            printf("%s\t%s\t%.3f\n", unit, attn_prediction_label(answer, 0, e, i),
                   attn_prediction_probability(answer, 0, e, i, label));
        }
    }

    attn_prediction_destroy(answer);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_context_destroy(context);
    return 0;
}
