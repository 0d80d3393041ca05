/* examine.c: attn/examine.h: what speaks against learning from data, before it is learned from. */
#include <attn/config.h>
#include <attn/examine.h>
#include <stdio.h>

int main(void) {
    static const char *const texts[] = {"one", "two", "three"}, *const labels[] = {"same", "same", "same"};
    attn_context *context;
    attn_config *config;
    attn_dataset *data;
    attn_examination *found;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_config_create(context, &config) != ATTN_OK ||
        attn_config_set(config, "task", "classify") != ATTN_OK ||
        attn_dataset_from_texts(context, texts, NULL, 3, &data) != ATTN_OK ||
        attn_dataset_set_targets(data, 1, (const char *const[]){"label"}, labels, 0) != ATTN_OK ||
        attn_examine(config, data, NULL, &found) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    int findings = attn_examination_findings(found);
    for (int i = 0; i < findings; i++) printf("%s\n", attn_examination_finding(found, i).text);
    attn_examination_destroy(found);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    attn_context_destroy(context);
    return findings < 1;
}
