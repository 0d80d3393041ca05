/* check.c: the command `attn check`: what is in a file of examples, and which lines are wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "progress.h"
#include "terminal.h"

enum { SETTINGS = 16, OWN_FLAGS = 5, TASKS = 16 };

typedef struct check_arguments {
    const char *positional[2]; /* the second: the file of targets, or NULL */
    int task;                  /* 0: any */
    bool skip_bad, json;
    int64_t limit, memory;
    const char *name[SETTINGS],
        *value[SETTINGS]; /* values of the configuration that say how files are read */
    int settings;
} check_arguments;

typedef struct checked {
    const check_arguments *given;
    attn_context *context;
    attn_config *config;
    attn_dataset *dataset;
    char *unlabelled; /* why nothing can be learned from it; NULL: it can */
} checked;

/* ---- reading ---- */

/* NULL: it is not given. */
static const char *value_of(const check_arguments *given, const char *name) {
    for (int i = 0; i < given->settings; i++)
        if (strcmp(given->name[i], name) == 0) return given->value[i];
    return NULL;
}

/* Without a task the first that the kind of input can have stands for all of them. */
static attn_status choose_task(attn_config *config) {
    char input[256];
    snprintf(input, sizeof input, "%s", attn_config_get(config, "input"));
    for (int i = 0; attn_task_name(i) != NULL; i++)
        if (attn_input_takes(input, attn_task_name(i)))
            return attn_config_set(config, "task", attn_task_name(i));
    return ATTN_OK; /* there is no such kind, as will be said */
}

/* The flags as a configuration. The kind of input is what the file's name tells, unless it is given. */
static attn_status configure(const checked *of) {
    const check_arguments *given = of->given;
    attn_status status = attn_config_set(of->config, "input", attn_input_of_file(given->positional[0]));
    if (given->task > 0 && status == ATTN_OK)
        status = attn_config_set(of->config, "task", attn_task_name(given->task - 1));
    for (int i = 0; i < given->settings && status == ATTN_OK; i++)
        if (given->value[i] != NULL) status = attn_config_set(of->config, given->name[i], given->value[i]);
    if (given->task == 0 && status == ATTN_OK) status = choose_task(of->config);
    return status;
}

/* How the files are read: as training would, wrong examples left out. */
static int choose_options(const checked *of, attn_reader_options *options) {
    const check_arguments *given = of->given;
    bool parallel = given->positional[1] != NULL;
    if (parallel && (value_of(given, "reader.column") || value_of(given, "reader.text_column"))) {
        fputs("attn check: two files, of sources and of targets, have no columns: leave out --column and "
              "--text-column\n",
              stderr);
        return EXIT_MISUSED;
    }
    attn_status status = configure(of);
    const char *format = value_of(given, "reader.format"), *input = attn_config_get(of->config, "input");
    if (status == ATTN_OK && format != NULL && opening_format("check", input, format) < 0)
        return EXIT_MISUSED;
    if (status != ATTN_OK || attn_config_reader(of->config, options) != ATTN_OK) {
        opening_fail("check", of->context);
        return EXIT_MISUSED;
    }
    options->skip_bad = 1;
    opening_limit(given->limit, options);
    if (given->task == 0) options->per_token = options->pairs = -1; /* whatever the files have */
    return EXIT_DONE;
}

/* A file that has nothing to learn from is read as one to predict on, and of->unlabelled says why. */
static attn_status read_one(checked *of, attn_reader_options *options) {
    const char *path = of->given->positional[0];
    attn_status status = opening_read(of->context, &path, 1, options, &of->dataset);
    if (status != ATTN_INVALID_ARGUMENT || !options->labelled || value_of(of->given, "reader.column"))
        return status;
    const char *error = attn_context_error(of->context);
    of->unlabelled = malloc(strlen(error) + 1);
    if (of->unlabelled == NULL) return status;
    strcpy(of->unlabelled, error);
    options->labelled = 0;
    return opening_read(of->context, &path, 1, options, &of->dataset);
}

/* EXIT_DONE, or it has said why not. */
static int read_files(checked *of) {
    const check_arguments *given = of->given;
    attn_reader_options options;
    int code = choose_options(of, &options);
    if (code != EXIT_DONE) return code;
    bool parallel = given->positional[1] != NULL;
    code = opening_take_input("check", given->positional, parallel ? 2 : 1);
    if (code != EXIT_DONE) return code;
    progress_of_reading shown = {.told = false};
    progress_begin_reading(&shown, "reading");
    options.progress = progress_read;
    options.progress_user = &shown;
    attn_status status = !parallel ? read_one(of, &options)
                         : attn_reader_files(&options) == 2
                             ? opening_read(of->context, given->positional, 2, &options, &of->dataset)
                             : attn_dataset_read_parallel(of->context, given->positional[0],
                                                          given->positional[1], &options, &of->dataset);
    progress_end_reading(&shown);
    if (status != ATTN_OK) {
        const char *reason = of->unlabelled != NULL ? of->unlabelled : attn_context_error(of->context);
        arguments_complain("check", "", reason, "", NULL);
        return parallel && attn_reader_files(&options) < 2 ? EXIT_MISUSED : EXIT_FAILED;
    }
    attn_format format = attn_dataset_format(of->dataset);
    if (options.format == ATTN_FORMAT_AUTO || options.format == format) return EXIT_DONE;
    fprintf(stderr, "attn check: two files are read as %s: --format is to be that, or left out\n",
            attn_input_format(options.input, (int)format));
    return EXIT_MISUSED;
}

/* ---- the command ---- */

static int print(const checked *of) {
    const check_arguments *given = of->given;
    attn_describe_options options;
    char *text = NULL;
    attn_describe_options_init(&options);
    options.json = given->json;
    options.bold = terminal_color_of_output(TERMINAL_AUTO) != TERMINAL_PLAIN;
    options.names[0] = opening_name(given->positional[0]);
    options.names[1] = given->positional[1] != NULL ? opening_name(given->positional[1]) : NULL;
    options.unlabelled = of->unlabelled;
    options.task = given->task > 0 ? attn_task_name(given->task - 1) : NULL;
    if (attn_dataset_describe(of->dataset, &options, &text) != ATTN_OK)
        return opening_fail("check", of->context);
    fputs(text, stdout);
    attn_text_release(of->context, text);
    return attn_dataset_skipped(of->dataset) > 0 && !given->skip_bad ? EXIT_FAILED : EXIT_DONE;
}

static int check(attn_context *context, const check_arguments *given) {
    checked of = {.given = given, .context = context};
    int code =
        attn_config_create(context, &of.config) == ATTN_OK ? read_files(&of) : opening_fail("check", context);
    if (code == EXIT_DONE) code = print(&of);
    free(of.unlabelled);
    attn_dataset_destroy(of.dataset);
    attn_config_destroy(of.config);
    return code;
}

/* The library's flags that say how files are read; how many. */
static int add_reader_flags(check_arguments *given, argument_flag *flags) {
    attn_config_flag_text flag;
    for (int i = 0; given->settings < SETTINGS && attn_config_flag(i, &flag); i++) {
        bool reads = strcmp(flag.name, "input") == 0 || strncmp(flag.name, "reader.", strlen("reader.")) == 0;
        if (!reads || flag.value == NULL) continue;
        int at = given->settings++;
        given->name[at] = flag.name;
        flags[at] = argument_text(flag.flag, &given->value[at], flag.value, flag.help);
    }
    return given->settings;
}

int command_check(int count, char **arguments) {
    check_arguments given = {0};
    const char *tasks[TASKS + 2] = {"any"};
    for (int i = 0; i < TASKS && attn_task_name(i) != NULL; i++) tasks[1 + i] = attn_task_name(i);
    argument_flag flags[OWN_FLAGS + SETTINGS] = {
        argument_choice("task", &given.task, NULL, "any", tasks, "what the file is to be good for"),
        argument_switch("skip-bad", &given.skip_bad, "wrong lines are no failure, only left out"),
        argument_switch("json", &given.json, "everything as one JSON object"),
        argument_size(OPENING_LIMIT, &given.limit, OPENING_LIMIT_HELP),
        argument_size_or_all(OPENING_MEMORY, &given.memory, OPENING_MEMORY_HELP),
    };
    argument_list list = {
        .command = "check",
        .usage = "FILE [TARGETS] [flags]",
        .about = "Says what is in a file of examples: how many and how long, the classes and how\n"
                 "often each occurs, what is missing or empty, what occurs twice or contradicts\n"
                 "itself, and which lines are wrong (the status is 1 then). Pairs of texts stand\n"
                 "in one file, source TAB target, or in two that belong together line by line.\n",
        .examples = "  attn check train.conllu\n"
                    "  attn check train.conllu --column FEATS:Number\n"
                    "  attn check reviews.csv --column stars --text-column review\n"
                    "  attn check train.en train.de\n"
                    "  attn check words.tsv --task seq2seq\n",
        .flags = flags,
        .flag_count = OWN_FLAGS + (size_t)add_reader_flags(&given, flags + OWN_FLAGS),
        .positional = given.positional,
        .positional_limit = 2,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (list.positional_count < 1) {
        fputs("attn check: give a file: attn check FILE\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context_options options;
    attn_context *context;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK) {
        arguments_complain("check", "", attn_last_create_error(), "", NULL);
        return EXIT_FAILED;
    }
    int code = opening_memory("check", context, given.memory);
    if (code == EXIT_DONE) code = check(context, &given);
    attn_context_destroy(context);
    return code;
}
