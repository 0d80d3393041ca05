/* report.c: attn/report.h: how right the tagger that trainer.c wrote is on two labelled sentences.
 *
 *     report tagger.safetensors
 */
#include <attn/report.h>
#include <stdio.h>

int main(int count, char **arguments) {
    static const char *const words[] = {"the", "dog", "ran", "a", "cat", "sat"};
    static const char *const tags[] = {"DET", "NOUN", "VERB", "DET", "NOUN", "NOUN"}; /* the last is wrong */
    static const int64_t offsets[] = {0, 3, 6};
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor;
    attn_dataset *data;
    attn_report *report;
    if (count != 2) return puts("report MODEL"), 2;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_model_load(context, arguments[1], &model) != ATTN_OK ||
        attn_predictor_create(model, context, &predictor) != ATTN_OK ||
        attn_dataset_from_texts(context, words, offsets, 2, &data) != ATTN_OK ||
        attn_dataset_set_targets(data, 1, (const char *const[]){"UPOS"}, tags, 1) != ATTN_OK ||
        attn_report_create(predictor, data, &report) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    double accuracy = attn_report_metric(report, "accuracy");
    printf("accuracy %.4f of %lld words\n", accuracy, (long long)attn_report_compared(report, 0));
    attn_report_destroy(report);
    attn_dataset_destroy(data);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_context_destroy(context);
    return !(accuracy > 0.8 && accuracy < 0.84); /* 5 of 6 */
}
