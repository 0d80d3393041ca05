/* opening.c: a context, a model, and what to say when there is none. */
#include "opening.h"

#include <stddef.h>
#include <stdio.h>

#include "arguments.h"

const char *const opening_formats[] = {"auto",     "conllu", "columns", "table",
                                       "fasttext", "lines",  "pairs",   NULL};

int opening_fail(const char *command, const attn_context *context) {
    arguments_complain(command, "", attn_context_error(context), "", NULL);
    return EXIT_FAILED;
}

bool opening_model(const char *command, const char *path, int64_t threads, attn_context **context,
                   attn_model **model) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = (int)threads;
    *context = NULL;
    *model = NULL;
    if (attn_context_create(&options, context) != ATTN_OK) {
        arguments_complain(command, "", attn_last_create_error(), "", NULL);
        return false;
    }
    if (attn_model_load(*context, path, model) == ATTN_OK) return true;
    opening_fail(command, *context);
    attn_context_destroy(*context);
    return false;
}

int opening_refuse(const char *command, const char *flag, const char *whose, attn_model *model) {
    fprintf(stderr, "attn %s: %s is for %s; this one is of task %s\n", command, flag, whose,
            attn_config_get(attn_model_config(model), "task"));
    return EXIT_MISUSED;
}

void opening_close(attn_context *context, attn_model *model) {
    attn_model_destroy(model);
    attn_context_destroy(context);
}
