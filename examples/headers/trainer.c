/* trainer.c: attn/trainer.h: trains a tagger on sentences in memory, and writes it.
 *
 *     trainer tagger.safetensors
 */
#include <attn/trainer.h>
#include <stdio.h>

enum { SENTENCES = 24, WORDS = 3 };

static int watch(void *user, const attn_training_state *state) {
    (void)user;
    if (state->event == ATTN_TRAINING_DEV)
        printf("step %lld: %s %.3f\n", (long long)state->step, state->metric, state->value);
    return 0; /* 1 would stop it */
}

int main(int count, char **arguments) {
    static const char *const words[] = {"the", "a", "this", "cat", "dog", "bird", "sat", "ran", "sang"};
    static const char *const tags[] = {"DET", "NOUN", "VERB"};
    const char *text[SENTENCES * WORDS], *tag[SENTENCES * WORDS];
    int64_t offsets[SENTENCES + 1] = {0};
    for (int i = 0; i < SENTENCES * WORDS; i++) {
        text[i] = words[3 * (i % WORDS) + (i / WORDS * (i % WORDS + 1) + i) % 3];
        tag[i] = tags[i % WORDS];
        offsets[i / WORDS + 1] = i + 1;
    }
    attn_context *context;
    attn_config *config;
    attn_dataset *data;
    attn_trainer *trainer;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = count > 1 ? arguments[1] : NULL; /* NULL: nothing is written */
    options.force = 1;
    options.watch = watch;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_config_create(context, &config) != ATTN_OK ||
        attn_config_set(config, "task", "tag") != ATTN_OK ||
        attn_config_set(config, "encoder.columns", "32") != ATTN_OK ||
        attn_config_set(config, "encoder.heads", "2") != ATTN_OK ||
        attn_config_set(config, "training.steps", "60") != ATTN_OK ||
        attn_dataset_from_texts(context, text, offsets, SENTENCES, &data) != ATTN_OK ||
        attn_dataset_set_targets(data, 1, (const char *const[]){"UPOS"}, tag, 1) != ATTN_OK ||
        attn_trainer_create(config, data, data, &options, &trainer) != ATTN_OK ||
        attn_trainer_run(trainer) != ATTN_OK)
        return puts(attn_context_error(context)), 1;
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    attn_context_destroy(context);
    return 0;
}
