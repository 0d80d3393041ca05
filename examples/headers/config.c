/* config.c: attn/config.h: a configuration by names; what is not set has a default that fits the task. */
#include <attn/config.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    attn_context *context;
    attn_config *config;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_config_create(context, &config) != ATTN_OK ||
        attn_config_set(config, "task", "classify") != ATTN_OK ||
        attn_config_set(config, "encoder.layers", "3") != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    printf("%s layers, pooled by %s\n", attn_config_get(config, "encoder.layers"),
           attn_config_get(config, "output.pool"));
    attn_status status = attn_config_set(config, "encoder.layer", "3");
    printf("%s\n", attn_context_error(context)); /* which name was meant */
    int right =
        status == ATTN_INVALID_ARGUMENT && strcmp(attn_config_get(config, "encoder.layers"), "3") == 0;
    attn_config_destroy(config);
    attn_context_destroy(context);
    return !right;
}
