/* check.c: the command `attn check`: describe a file of examples, and list bad lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "messages.h"
#include "opening.h"
#include "progress.h"
#include "terminal.h"

enum { SETTINGS = 16, OWN_FLAGS = 8, TASKS = 16 };

typedef struct check_arguments {
    const char *positional[2]; /* the second: the file of targets, or NULL */
    int task;                  /* 0: any */
    const char *dev[OPENING_FILES + 1], *test[OPENING_FILES + 1]; /* what else is looked for in it */
    bool skip_bad, json, anyway;
    int64_t limit, memory;
    const char *name[SETTINGS],
        *value[SETTINGS]; /* values of the configuration that say how files are read */
    int settings;
} check_arguments;

typedef struct checked {
    const check_arguments *given;
    attn_context *context;
    attn_config *config;
    attn_dataset *dataset, *dev, *test; /* the last two: NULL, or what else is looked for in it */
    char *unlabelled;                   /* why nothing can be learned from it; NULL: it can */
    attn_examination *found;            /* NULL: nothing is to be learned from it */
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
    const char *error = messages_with_flags(attn_context_error(of->context));
    of->unlabelled = malloc(strlen(error) + 1);
    if (of->unlabelled == NULL) return status;
    strcpy(of->unlabelled, error);
    options->labelled = 0;
    return opening_read(of->context, &path, 1, options, &of->dataset);
}

static int count_files(const char *const *paths) {
    int count = 0;
    while (paths[count] != NULL) count++;
    return count;
}

/* Two files without a task are sources and targets. */
static attn_status read_set(const checked *of, const char *const *paths, const attn_reader_options *options,
                            attn_dataset **dataset) {
    if (count_files(paths) == 2 && of->given->positional[1] != NULL && attn_reader_files(options) < 2)
        return attn_dataset_read_parallel(of->context, paths[0], paths[1], options, dataset);
    return opening_read(of->context, paths, count_files(paths), options, dataset);
}

/* --dev and --test, as the file itself was read. EXIT_DONE, or it has said why not. */
static int read_others(checked *of, const attn_reader_options *given) {
    attn_reader_options options = *given;
    options.split = options.split_column = NULL;
    attn_status status = ATTN_OK;
    if (of->given->dev[0] != NULL) status = read_set(of, of->given->dev, &options, &of->dev);
    if (status == ATTN_OK && of->given->test[0] != NULL)
        status = read_set(of, of->given->test, &options, &of->test);
    return status == ATTN_OK ? EXIT_DONE : opening_fail("check", of->context);
}

/* Standard input, if it is among the files. */
static int take_input(const check_arguments *given) {
    const char *all[2 + 2 * OPENING_FILES];
    int count = 0;
    for (int i = 0; i < 2 && given->positional[i] != NULL; i++) all[count++] = given->positional[i];
    for (int i = 0; given->dev[i] != NULL; i++) all[count++] = given->dev[i];
    for (int i = 0; given->test[i] != NULL; i++) all[count++] = given->test[i];
    return opening_take_input("check", all, count);
}

/* EXIT_DONE, or it has said why not. */
static int read_files(checked *of) {
    const check_arguments *given = of->given;
    attn_reader_options options;
    int code = choose_options(of, &options);
    if (code != EXIT_DONE) return code;
    bool parallel = given->positional[1] != NULL;
    code = take_input(given);
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
        if (of->unlabelled != NULL)
            arguments_complain("check", "", of->unlabelled, "", NULL);
        else
            opening_fail("check", of->context);
        return parallel && attn_reader_files(&options) < 2 ? EXIT_MISUSED : EXIT_FAILED;
    }
    attn_format format = attn_dataset_format(of->dataset);
    if (options.format == ATTN_FORMAT_AUTO || options.format == format) return read_others(of, &options);
    fprintf(stderr, "attn check: two files are read as %s: set --format to that, or leave it out\n",
            attn_input_format(options.input, (int)format));
    return EXIT_MISUSED;
}

/* ---- the command ---- */

/* Whether it can be learned from, for the task or, without one, for what it looks like. */
static int examine(checked *of) {
    attn_examine_options options;
    attn_examine_options_init(&options);
    options.dev = of->dev;
    options.test = of->test;
    options.guess = of->given->task == 0;
    options.unlabelled = of->unlabelled != NULL;
    return attn_examine(of->config, of->dataset, &options, &of->found) == ATTN_OK
               ? EXIT_DONE
               : opening_fail("check", of->context);
}

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
    options.examination = of->found;
    if (attn_dataset_describe(of->dataset, &options, &text) != ATTN_OK)
        return opening_fail("check", of->context);
    const char *findings = strstr(text, given->json ? "\"findings\":[" : "\nThe data looks wrong:\n");
    size_t before = findings != NULL ? (size_t)(findings - text) : strlen(text);
    fwrite(text, 1, before, stdout); /* what stands there is the user's data */
    fputs(messages_with_flags(text + before), stdout);
    attn_text_release(of->context, text);
    if (attn_examination_findings(of->found) > 0 && !given->anyway) return EXIT_FAILED;
    return attn_dataset_skipped(of->dataset) > 0 && !given->skip_bad ? EXIT_FAILED : EXIT_DONE;
}

static int check(attn_context *context, const check_arguments *given) {
    checked of = {.given = given, .context = context};
    int code =
        attn_config_create(context, &of.config) == ATTN_OK ? read_files(&of) : opening_fail("check", context);
    if (code == EXIT_DONE) code = examine(&of);
    if (code == EXIT_DONE) code = print(&of);
    free(of.unlabelled);
    attn_examination_destroy(of.found);
    attn_dataset_destroy(of.dataset);
    attn_dataset_destroy(of.dev);
    attn_dataset_destroy(of.test);
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
        argument_choice("task", &given.task, NULL, "any", tasks, "the task that the file is for"),
        argument_texts("dev", given.dev, OPENING_FILES, "FILE",
                       "development data: count its examples that are also in FILE"),
        argument_texts("test", given.test, OPENING_FILES, "FILE", "the same for test data"),
        argument_switch("skip-bad", &given.skip_bad, "leave bad lines out, and exit with status 0"),
        argument_switch("anyway", &given.anyway, "exit with status 0 even if the data looks wrong"),
        argument_switch("json", &given.json, "print one JSON object"),
        argument_size(OPENING_LIMIT, &given.limit, OPENING_LIMIT_HELP),
        argument_size_or_all(OPENING_MEMORY, &given.memory, OPENING_MEMORY_HELP),
    };
    argument_list list = {
        .command = "check",
        .usage = "FILE [TARGETS] [flags]",
        .about = "Describes a file of examples: their number and lengths, the classes and their\n"
                 "frequencies, missing and empty values, duplicates and contradictions, and bad\n"
                 "lines (the status is then 1). Pairs of texts are in one file, source TAB target,\n"
                 "or in two files, line by line.\n\n"
                 "The status is also 1 if the data looks wrong: columns that seem swapped (nearly\n"
                 "every label occurs once), a single class, fewer than ten examples, labels that\n"
                 "differ only in spaces or case. train and compare stop then, unless --anyway is\n"
                 "given. With --dev and --test it prints how many of their examples are also in\n"
                 "FILE, exactly or except for case, spaces and punctuation.\n",
        .examples = "  attn check train.conllu\n"
                    "  attn check train.conllu --column FEATS:Number\n"
                    "  attn check reviews.csv --column stars --text-column review\n"
                    "  attn check train.tsv --dev dev.tsv --test test.tsv\n"
                    "  attn check train.en train.de\n"
                    "  attn check words.tsv --task seq2seq\n",
        .first = "task dev test json skip-bad anyway input format column text-column",
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
