/* fuzz_model.c: any bytes as a model file: refused with the file's name, or a model that answers. */
#include <attn/model.h>

#include "fuzz_dataset.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(attn_model *model) {
    static const char text[] = "the cats sat \xe5\xb0\x8f\xe7\x8c\xab";
    attn_prediction *prediction = NULL;
    attn_status status = attn_model_predict_text(model, text, ATTN_PREDICT_PROBABILITIES, &prediction);
    REQUIRE(status == ATTN_OK || prediction == NULL);
    for (int o = 0; o < attn_model_outputs(model); o++) {
        REQUIRE(attn_model_output_name(model, o) != NULL);
        for (int64_t l = 0; l < attn_model_labels(model, o); l++)
            REQUIRE(attn_model_label(model, o, l) != NULL);
        if (status != ATTN_OK || attn_model_output_kind(model, o) == ATTN_OUTPUT_NUMBER) continue;
        int64_t answer = attn_prediction_class(prediction, o, 0, 0);
        REQUIRE(answer >= 0 && answer < attn_model_labels(model, o));
    }
    for (int64_t u = 0; u < attn_model_vocabulary(model); u++)
        REQUIRE(attn_model_vocabulary_unit(model, u) != NULL);
    attn_prediction_destroy(prediction);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_context *context = fuzz_context();
    at_safetensors *file = NULL;
    attn_model *model = NULL;
    if (at_safetensors_parse(context, "fuzz", data, size, &file) != ATTN_OK) return 0;
    attn_status status = at_model_from_file(context, file, &model); /* which closes the file if it fails */
    if (status == ATTN_OK) {
        ask(model);
    } else {
        REQUIRE(model == NULL && attn_context_error(context)[0] != 0);
    }
    attn_model_destroy(model);
    return 0;
}
