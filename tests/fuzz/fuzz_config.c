/* fuzz_config.c: any bytes as a configuration: refused without a change, or taken, and then it prints as what
 * it is read from again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/config.h>

#include "fuzz_dataset.h"
#include "model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *printed(attn_config *config) {
    const char *text = attn_config_print(config);
    REQUIRE(text != NULL);
    char *copy = malloc(strlen(text) + 1);
    REQUIRE(copy != NULL);
    return strcpy(copy, text);
}

/* What the values mean can be requested, whatever they are. */
static void use(attn_config *config) {
    at_config values;
    attn_status status = at_config_values(config, &values);
    REQUIRE(status == ATTN_OK || status == ATTN_INVALID_ARGUMENT);
    if (status != ATTN_OK) return;
    at_head_config head;
    at_input *input = NULL;
    at_input_use input_use = at_config_use(&values);
    attn_encoder_options encoder;
    attn_optimizer_options optimizer;
    attn_reader_options reader;
    attn_mixer_kind kinds[1000]; /* the most layers that there can be */
    REQUIRE(values.encoder->layers <= 1000);
    at_config_head(&values, &head);
    at_config_encoder(values.encoder, &encoder, kinds);
    for (int64_t layer = 0; encoder.kinds && layer < values.encoder->layers; layer++)
        REQUIRE(kinds[layer] == ATTN_MIXER_ATTENTION || kinds[layer] == ATTN_MIXER_RNN ||
                kinds[layer] == ATTN_MIXER_CNN || kinds[layer] == ATTN_MIXER_FC ||
                kinds[layer] == ATTN_MIXER_MEAN);
    at_config_optimizer(values.training, 100, &optimizer);
    REQUIRE(attn_config_reader(config, &reader) == ATTN_OK);
    status = values.input->create(fuzz_context(), values.input_values, &input_use, &input);
    REQUIRE((status == ATTN_OK) ==
            (input != NULL)); /* units that are left to the data are those of no model */
    if (!input) return;
    REQUIRE(at_config_longest(values.encoder, input->longest) >= 1);
    values.input->destroy(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_context *context = fuzz_context();
    attn_config *config = NULL, *again = NULL;
    REQUIRE(attn_config_create(context, &config) == ATTN_OK);
    REQUIRE(attn_config_create(context, &again) == ATTN_OK);
    char *before = printed(config);
    attn_status status = attn_config_parse(config, "fuzz", (const char *)data, size);
    char *after = printed(config);
    if (status != ATTN_OK) {
        REQUIRE(status == ATTN_INVALID_ARGUMENT && strcmp(before, after) == 0);
        REQUIRE(strncmp(attn_context_error(context), "fuzz:", 5) == 0);
    } else {
        REQUIRE(attn_config_parse(again, "printed", after, strlen(after)) == ATTN_OK);
        char *twice = printed(again);
        REQUIRE(strcmp(after, twice) == 0);
        free(twice);
        use(config);
    }
    free(before);
    free(after);
    attn_config_destroy(config);
    attn_config_destroy(again);
    return 0;
}
