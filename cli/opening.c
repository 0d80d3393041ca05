/* opening.c: a context, a model, a predictor with its settings, and what to say when there is none. */
#include "opening.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "input.h"

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
    if (opening_is_input(path)) {
        fprintf(stderr, "attn %s: a model is a file, and not read from standard input (-)\n", command);
        return false;
    }
    if (attn_context_create(&options, context) != ATTN_OK) {
        arguments_complain(command, "", attn_last_create_error(), "", NULL);
        return false;
    }
    if (attn_model_load(*context, path, model) == ATTN_OK) return true;
    opening_fail(command, *context);
    attn_context_destroy(*context);
    return false;
}

void opening_close(attn_context *context, attn_model *model) {
    attn_model_destroy(model);
    attn_context_destroy(context);
}

int opening_refuse(const char *command, const char *flag, const char *whose, const attn_model *model) {
    fprintf(stderr, "attn %s: %s is for %s; this one is of task %s\n", command, flag, whose,
            attn_model_task(model));
    return EXIT_MISUSED;
}

int opening_setting_flags(opening_settings *settings, argument_flag *flags) {
    attn_setting_text setting;
    for (int i = 0; i < OPENING_SETTINGS && attn_setting(i, &setting); i++) {
        settings->integer[i] = INT64_MIN;
        settings->number[i] = NAN;
        if (setting.is_switch)
            flags[i] = argument_switch(setting.name, &settings->on[i], setting.help);
        else if (setting.whole)
            flags[i] = argument_integer(setting.name, &settings->integer[i], "N", NULL,
                                        (int64_t)setting.minimum, (int64_t)setting.maximum, setting.help);
        else
            flags[i] = argument_number(setting.name, &settings->number[i], "X", NULL, setting.minimum,
                                       setting.maximum, setting.help);
        settings->count = i + 1;
    }
    return settings->count;
}

int opening_set(const char *command, const opening_settings *settings, attn_predictor *predictor,
                const attn_model *model) {
    attn_setting_text setting;
    for (int i = 0; i < settings->count && attn_setting(i, &setting); i++) {
        char flag[64], value[64] = "";
        if (settings->on[i]) snprintf(value, sizeof value, "true");
        if (settings->integer[i] != INT64_MIN)
            snprintf(value, sizeof value, "%" PRId64, settings->integer[i]);
        if (!isnan(settings->number[i])) snprintf(value, sizeof value, "%.17g", settings->number[i]);
        if (value[0] == '\0') continue;
        snprintf(flag, sizeof flag, "--%s", setting.name);
        if (!attn_predictor_has(predictor, setting.name))
            return opening_refuse(command, flag, setting.models, model);
        if (attn_predictor_set(predictor, setting.name, value) == ATTN_OK) continue;
        arguments_complain(command, "--", attn_predictor_error(predictor), "", NULL);
        return EXIT_MISUSED;
    }
    return EXIT_DONE;
}

/* ---- files of examples ---- */

static input taken; /* standard input */

bool opening_is_input(const char *path) { return strcmp(path, "-") == 0; }
const char *opening_name(const char *path) { return opening_is_input(path) ? "standard input" : path; }

int opening_take_input(const char *command, const char *const *paths, int count) {
    int times = 0;
    for (int i = 0; i < count; i++) times += paths[i] != NULL && opening_is_input(paths[i]);
    if (times > 1) {
        fprintf(stderr, "attn %s: standard input (-) can be read once, and is given %d times\n", command,
                times);
        return EXIT_MISUSED;
    }
    if (times == 0 || taken.bytes != NULL) return EXIT_DONE;
    input_open(&taken, NULL);
    if (taken.error == 0 && input_read_all(&taken)) return EXIT_DONE;
    fprintf(stderr, "attn %s: cannot read standard input: %s\n", command, strerror(taken.error));
    return EXIT_FAILED;
}

attn_status opening_read(attn_context *context, const char *const *paths, int count,
                         const attn_reader_options *options, attn_dataset **dataset) {
    attn_file files[OPENING_FILES];
    if (count > OPENING_FILES) count = OPENING_FILES;
    for (int i = 0; i < count; i++) {
        files[i] = (attn_file){.name = opening_name(paths[i])};
        if (!opening_is_input(paths[i])) continue;
        files[i].bytes = taken.bytes != NULL ? taken.bytes : "";
        files[i].count = taken.end;
    }
    return attn_dataset_read_files(context, files, count, options, dataset);
}

int opening_format(const char *command, const char *kind, const char *format) {
    char list[256] = "";
    const char *name;
    int found = attn_input_find_format(kind, format);
    if (found >= 0) return found;
    for (int f = 0; (name = attn_input_format(kind, f)) != NULL; f++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 f > 0 ? ", " : "; it can be: ", name);
    arguments_complain(command, "there is no --format ", format, list, NULL);
    return -1;
}

void opening_limit(int64_t bytes, attn_reader_options *options) {
    if (bytes == 0) return;
    options->expanded_limit = bytes;
    options->expanded_ratio = 0;
}

int opening_memory(const char *command, attn_context *context, int64_t bytes) {
    if (bytes == INT64_MAX) return EXIT_DONE;
    size_t bound = bytes > 0 ? (size_t)bytes : attn_machine_memory() / 2;
    return attn_context_set_memory(context, bound, NULL) == ATTN_OK ? EXIT_DONE
                                                                    : opening_fail(command, context);
}
