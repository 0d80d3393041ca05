/* opening.c: a context, a model, a predictor with its settings, and what to say when there is none. */
#include "opening.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "messages.h"
#include "ranks.h"

int opening_fail(const char *command, const attn_context *context) {
    const char *text = attn_context_error(context);
    arguments_complain(command, "", messages_with_flags(*text != '\0' ? text : ranks_error()), "", NULL);
    return EXIT_FAILED;
}

/* A context, and the model in it; false, when it has said why not: what was made stays. */
static bool load(const char *command, const char *path, int64_t threads, attn_context **context,
                 attn_model **model) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = ranks_threads(threads);
    if (attn_context_create(&options, context) != ATTN_OK) {
        arguments_complain(command, "", attn_last_create_error(), "", NULL);
        return false;
    }
    if (attn_model_load(*context, path, model) == ATTN_OK) return true;
    opening_fail(command, *context);
    return false;
}

bool opening_model(const char *command, const char *path, int64_t threads, attn_context **context,
                   attn_model **model) {
    *context = NULL;
    *model = NULL;
    if (opening_is_input(path)) {
        fprintf(stderr, "attn %s: a model must be a file, not standard input (-)\n", command);
        return false;
    }
    if (ranks_file(&path) != EXIT_DONE) return false;
    bool loaded = load(command, path, threads, context, model);
    int code = ranks_settle(loaded ? EXIT_DONE : EXIT_FAILED, RANKS_REMEDY);
    uint64_t print = attn_model_fingerprint(*model);
    if (code == EXIT_DONE) code = ranks_agree("another model", &print, sizeof print, RANKS_COPY_FILE);
    if (code == EXIT_DONE) return true;
    opening_close(*context, *model);
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

/* A launcher gives standard input to rank 0, which has read it: the others get it from there. */
static int share_input(void) {
    int64_t count = taken.error == 0 ? (int64_t)taken.end : -1;
    if (ranks_broadcast(&count, sizeof count) != EXIT_DONE) return EXIT_FAILED;
    if (count < 0) return ranks_settle(EXIT_FAILED, NULL);
    if (ranks_rank() > 0) taken = (input){.bytes = malloc((size_t)count + 1), .end = (size_t)count};
    int code = taken.bytes != NULL || count == 0 ? EXIT_DONE : EXIT_FAILED;
    if (code != EXIT_DONE) arguments_complain(ranks_command(), "", "out of memory", "", NULL);
    code = ranks_settle(code, NULL);
    return code == EXIT_DONE && count > 0 ? ranks_broadcast(taken.bytes, (size_t)count) : code;
}

int opening_take_input(const char *command, const char *const *paths, int count) {
    int times = 0;
    for (int i = 0; i < count; i++) times += paths[i] != NULL && opening_is_input(paths[i]);
    if (times > 1) {
        fprintf(stderr, "attn %s: standard input (-) can be read once, and is given %d times\n", command,
                times);
        return EXIT_MISUSED;
    }
    if (times == 0 || taken.bytes != NULL) return EXIT_DONE;
    if (ranks_rank() == 0) {
        input_open(&taken, NULL);
        if (taken.error == 0) input_read_all(&taken);
        if (taken.error != 0)
            fprintf(stderr, "attn %s: cannot read standard input: %s\n", command, strerror(taken.error));
    }
    if (ranks_count() > 1) return share_input();
    return taken.error == 0 ? EXIT_DONE : EXIT_FAILED;
}

int opening_files(const char **paths, int count) {
    int code = EXIT_DONE;
    for (int i = 0; i < count && code == EXIT_DONE; i++) code = ranks_file(&paths[i]);
    return code;
}

attn_status opening_read(attn_context *context, const char *const *paths, int count,
                         const attn_reader_options *options, attn_dataset **dataset) {
    attn_file files[OPENING_FILES];
    if (count > OPENING_FILES) count = OPENING_FILES;
    for (int i = 0; i < count; i++) {
        files[i] = (attn_file){.name = opening_name(paths[i])};
        if (opening_is_input(paths[i])) {
            files[i].bytes = taken.bytes != NULL ? taken.bytes : "";
            files[i].count = taken.end;
        } else {
            files[i].bytes = ranks_bytes(paths[i], &files[i].count, &files[i].name);
        }
    }
    return attn_dataset_read_files(context, files, count, options, dataset);
}

int opening_same_examples(const attn_dataset *dataset) {
    uint64_t print = ranks_count() > 1 ? attn_dataset_fingerprint(dataset) : 0; /* it takes a while */
    return ranks_agree("other examples", &print, sizeof print,
                       "copy the files of rank 0 to all hosts, or use --scatter");
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
    size_t bound = bytes > 0 ? (size_t)bytes : attn_machine_memory() / 2 / (size_t)ranks_beside();
    return attn_context_set_memory(context, bound, NULL) == ATTN_OK ? EXIT_DONE
                                                                    : opening_fail(command, context);
}

static void tell_longer(const char *command, const attn_model *model, int64_t count, int64_t of, int64_t most,
                        const char *what) {
    const char *kind = attn_model_input(model);
    if (count == 0) return;
    fflush(stdout);
    fprintf(stderr, "attn %s: note: %lld of %lld %ss %s longer than the %lld %ss that the model %s\n",
            command, (long long)count, (long long)of, attn_input_example(kind), count == 1 ? "is" : "are",
            (long long)most, attn_input_row(kind), what);
}

void opening_tell_longer(const char *command, const attn_model *model, const opening_lengths *lengths) {
    tell_longer(command, model, lengths->in_pieces, lengths->examples, attn_model_longest(model),
                "reads at once: they are processed in pieces");
    tell_longer(command, model, lengths->cut, lengths->examples, attn_model_most(model),
                "reads: only the beginning was used");
}
