/* train.c: attn train TASK FILE: from a file of labelled examples to a model file. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "autotune.h"
#include "commands.h"
#include "messages.h"
#include "opening.h"
#include "progress.h"
#include "ranks.h"
#include "rare.h"
#include "training_flags.h"

typedef struct train_arguments {
    training_flags training;
    double began; /* on progress_now's clock */
    const char *output, *save_every, *start, *more, *autotune;
    int count; /* the words of the command line */
    char **words;
    bool dump, list, resume, force, keep_last, fast_sum, json;
} train_arguments;

static int fail(const attn_context *context) { return opening_fail("train", context); }

/* ---- how much more ---- */

typedef struct extra {
    double seconds;             /* 0: it is one of the others */
    char epochs[32], steps[32]; /* "": likewise */
} extra;

/* 5m, 2epochs or 500steps; false: it is something else. */
static bool read_more(const char *text, extra *read) {
    char *end;
    *read = (extra){.seconds = 0};
    long long count = strtoll(text, &end, 10);
    bool epochs = strcmp(end, "epochs") == 0 || strcmp(end, "epoch") == 0;
    bool steps = strcmp(end, "steps") == 0 || strcmp(end, "step") == 0;
    if (end != text && (epochs || steps)) {
        snprintf(epochs ? read->epochs : read->steps, sizeof read->steps, "%lld", count);
        return count > 0;
    }
    read->seconds = training_duration(text);
    return read->seconds > 0;
}

/* Into the configuration of the model that continues. */
static attn_status set_more(attn_config *config, const extra *more) {
    if (more->seconds > 0) return ATTN_OK; /* the trainer chooses */
    attn_status status = attn_config_set(config, "training.steps", *more->steps != '\0' ? more->steps : "0");
    if (status != ATTN_OK || *more->epochs == '\0') return status;
    status = attn_config_set(config, "training.least_steps", "0");
    return status == ATTN_OK ? attn_config_set(config, "training.epochs", more->epochs) : status;
}

/* ---- training ---- */

/* In a table of Markdown. */
static void print_cell(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '|') fputc('\\', stdout);
        fputc(*text, stdout);
    }
}

/* docs/config.md is this. */
static void list_config(attn_config *config) {
    printf("| value | default | meaning | choices |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < attn_config_count(); i++) {
        const char *value = attn_config_get(config, attn_config_name(i));
        printf("| `%s` | ", attn_config_name(i));
        print_cell(*value != '\0' ? value : "(none)");
        fputs(" | ", stdout);
        print_cell(attn_config_help(i));
        fputs(" | ", stdout);
        for (int c = 0; attn_config_choice(i, c) != NULL; c++)
            printf("%s%s", c > 0 ? ", " : "", attn_config_choice(i, c));
        printf(" |\n");
    }
}

static void set_options(const train_arguments *given, progress *shown, attn_trainer_options *options) {
    const training_flags *training = &given->training;
    extra more;
    attn_trainer_options_init(options);
    options->output = given->output;
    options->vectors = training->vectors;
    options->resume = given->resume;
    options->force = given->force;
    options->keep_last = given->keep_last;
    options->start = given->start;
    options->exchange = ranks_exchange();
    options->fast_sum = given->fast_sum;
    options->watch = progress_watch;
    options->user = shown;
    if (training->time != NULL) options->seconds = training_duration(training->time);
    options->spent = progress_now() - given->began;
    if (given->save_every != NULL) options->save_seconds = training_duration(given->save_every);
    if (given->more == NULL || !read_more(given->more, &more)) return;
    options->more = 1;
    if (more.seconds > 0) options->seconds = more.seconds;
}

/* What can be said before the data is read: that the files can be written, and nothing is lost by it. */
static int check_files(attn_context *context, const train_arguments *given) {
    char last[4096];
    attn_trainer_options options;
    set_options(given, NULL, &options);
    if (attn_trainer_last_path(context, given->output, last, sizeof last) != ATTN_OK) return fail(context);
    int code = training_check_inputs(&given->training, given->output);
    if (code == EXIT_DONE) code = training_check_inputs(&given->training, last);
    if (code != EXIT_DONE) return code;
    attn_status status = attn_trainer_check(context, &options);
    if (status == ATTN_OK) return EXIT_DONE;
    /* The library speaks of its options; the flags have the same names. */
    bool there = status == ATTN_INVALID_ARGUMENT && !given->resume && !given->force && given->more == NULL;
    const char *flags = !there ? "" : access(last, F_OK) == 0 ? " (--resume, --force)" : " (--force, --more)";
    arguments_complain("train", "", messages_with_flags(attn_context_error(context)), flags, NULL);
    return EXIT_FAILED;
}

/* What accuracy does not say about the model that is kept; with several outputs, eval says it. */
static void print_rare(const attn_trainer *trainer, attn_config *config) {
    const attn_report *report = attn_trainer_report(trainer);
    if (report != NULL && attn_report_classes(report, 1) == 0) rare_print(stderr, report, 0, config);
}

static bool is_given(const attn_config *config, const char *name) {
    for (int i = 0; i < attn_config_count(); i++)
        if (strcmp(attn_config_name(i), name) == 0) return attn_config_given(config, i) != 0;
    return false;
}

/* Trains with what was read. */
static int train_on(attn_context *context, attn_config *config, const train_arguments *given,
                    const attn_dataset *train, const attn_dataset *dev) {
    const training_flags *training = &given->training;
    attn_trainer *trainer = NULL;
    progress shown = {.context = context,
                      .quiet = training->quiet || ranks_rank() > 0,
                      .json = given->json && ranks_rank() == 0,
                      .terminal = isatty(STDERR_FILENO) != 0,
                      .resume = given->resume,
                      .threads = attn_context_threads(context),
                      .more = given->more != NULL,
                      .timed = given->training.time != NULL,
                      .patient = is_given(config, "training.patience")};
    attn_trainer_options options;
    progress_of_reading encoding = {.told = false};
    set_options(given, &shown, &options);
    if (given->fast_sum && ranks_count() > 1 && !shown.quiet)
        fputs("note: with --fast-sum the bits of the model depend on the number of ranks\n", stderr);
    progress_begin_reading(&encoding, "encoding");
    options.progress = shown.quiet ? NULL : progress_read;
    options.progress_user = &encoding;
    attn_status status = attn_trainer_create(config, train, dev, &options, &trainer);
    progress_end_reading(&encoding);
    if (status == ATTN_OK) {
        progress_catch_interrupts();
        status = attn_trainer_run(trainer);
        if (shown.bar_shown) fputc('\n', stderr);
    }
    if (status != ATTN_OK) {
        fail(context);
    } else if (!training->quiet) {
        print_rare(trainer, config);
        fprintf(stderr, "the model is in %s\n", given->output);
    }
    attn_trainer_destroy(trainer);
    if (status != ATTN_OK && attn_exchange_apart(ranks_exchange()) == 0)
        return ranks_settle(EXIT_FAILED, NULL); /* all know of it: they can end as after any other */
    if (status != ATTN_OK) return EXIT_FAILED;
    /* As a shell says it of a program that a signal ends: what was to follow does not. */
    int stopped = ranks_largest(progress_interrupted());
    return stopped != 0 ? 128 + stopped : EXIT_DONE;
}

/* Looks for the best configuration with what was read. */
static int autotune_on(attn_context *context, attn_config *config, const train_arguments *given,
                       const attn_dataset *train, const attn_dataset *dev) {
    const autotune_request request = {.seconds = training_duration(given->autotune),
                                      .began = given->began,
                                      .output = given->output,
                                      .vectors = given->training.vectors,
                                      .force = given->force,
                                      .quiet = given->training.quiet,
                                      .json = given->json,
                                      .count = given->count,
                                      .arguments = given->words};
    return autotune(context, config, train, dev, &request);
}

/* Rank 0 looks at the data for all. What a run that continues has begun with was accepted then. */
static int examine(attn_context *context, attn_config *config, const train_arguments *given,
                   const attn_dataset *train, const attn_dataset *dev) {
    char last[4096];
    bool begun =
        given->resume && (access(given->output, F_OK) == 0 ||
                          (attn_trainer_last_path(context, given->output, last, sizeof last) == ATTN_OK &&
                           access(last, F_OK) == 0));
    if (begun || ranks_rank() > 0) return EXIT_DONE;
    return training_examine(context, config, &given->training, train, dev, NULL);
}

static int run_training(attn_context *context, attn_config *config, const train_arguments *given) {
    const training_flags *training = &given->training;
    attn_dataset *train = NULL, *dev = NULL;
    attn_status status = training_read(context, config, training, &training->train, &train);
    if (status == ATTN_OK && training->dev.path[0] != NULL)
        status = training_read(context, config, training, &training->dev, &dev);
    if (status != ATTN_OK) fail(context);
    int code = ranks_settle(status == ATTN_OK ? EXIT_DONE : EXIT_FAILED, RANKS_REMEDY);
    if (code == EXIT_DONE) code = ranks_settle(examine(context, config, given, train, dev), NULL);
    if (code == EXIT_DONE)
        code = (given->autotune != NULL ? autotune_on : train_on)(context, config, given, train, dev);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    return code;
}

/* What --more and --start exclude, and how --more is written; NULL: nothing is wrong. */
static const char *more_problem(const train_arguments *given) {
    extra more;
    if (given->resume && given->force) return "--resume continues, --force begins anew: not both";
    if (given->more == NULL) return NULL;
    if (!read_more(given->more, &more)) return "--more is 5m, 2epochs or 500steps";
    if (given->start != NULL) return "--more continues -o, --start starts from another model: not both";
    if (given->force) return "--more continues, --force begins anew: not both";
    if (given->training.time != NULL || training_is_set(&given->training, "steps") ||
        training_is_set(&given->training, "epochs"))
        return "--more sets the length: leave out --time, --epochs and --steps";
    return NULL;
}

/* What --autotune excludes, and how it is written; NULL: nothing is wrong. */
static const char *autotune_problem(const train_arguments *given) {
    static char text[160];
    const training_flags *training = &given->training;
    if (given->autotune == NULL) return NULL;
    if (!(training_duration(given->autotune) > 0)) return "--autotune is 90s, 10m or 1h";
    const char *other = given->resume                            ? "--resume"
                        : given->more != NULL                    ? "--more"
                        : given->start != NULL                   ? "--start"
                        : given->keep_last                       ? "--keep-last"
                        : given->save_every != NULL              ? "--save-every"
                        : training->time != NULL                 ? "--time"
                        : training_is_set(training, "timetable") ? "--timetable"
                        : training->scatter                      ? "--scatter"
                        : given->fast_sum                        ? "--fast-sum"
                                                                 : NULL;
    if (other == NULL) return NULL;
    snprintf(text, sizeof text, "--autotune starts many runs and ends by itself: it does not go with %s",
             other);
    return text;
}

static int check_use(const argument_list *list, train_arguments *given) {
    bool any_task = given->list && list->positional_count == 0; /* what there is, whatever it is for */
    const char *problem = any_task ? NULL : training_flags_problem(&given->training, list);
    bool only_shown = given->dump || given->list;
    if (problem == NULL && given->training.train.path[0] == NULL && !only_shown)
        problem = "no training file given";
    if (problem == NULL && given->output == NULL && !only_shown)
        problem = "no output given: -o MODEL.safetensors";
    if (problem == NULL && given->save_every != NULL && !(training_duration(given->save_every) >= 0))
        problem = "--save-every is 30s or 5m";
    if (problem == NULL) problem = more_problem(given);
    if (problem == NULL) problem = autotune_problem(given);
    if (problem == NULL) return EXIT_DONE;
    fprintf(stderr, "attn train: %s\nattn train --help lists the flags.\n", problem);
    return EXIT_MISUSED;
}

/* Whose configuration the flags change: NULL, or the model that training begins from (of a run that is
 * resumed, its own file: the model may have gone since). `last` has room for its path. */
static const char *base_of(attn_context *context, const train_arguments *given, char *last, size_t room) {
    const char *base = given->more != NULL ? given->output : given->start;
    if (base != NULL && given->resume && given->output != NULL &&
        attn_trainer_last_path(context, given->output, last, room) == ATTN_OK && access(last, F_OK) == 0)
        return last;
    return base;
}

/* The configuration, from flags and files. EXIT_DONE, or it has said why not. */
static int configure(attn_context *context, train_arguments *given, attn_config *config) {
    char last[4096];
    extra more;
    given->training.base = base_of(context, given, last, sizeof last);
    int code = training_configure(context, &given->training, config);
    if (code == EXIT_DONE && given->more != NULL && read_more(given->more, &more) &&
        set_more(config, &more) != ATTN_OK)
        code = fail(context);
    return code;
}

/* --scatter: the others get the file that rank 0 begins from, whichever it is. They write nothing, so that
 * their output may be that file, too: a .last file beside it that is of another run is not found then. */
static int share_start(attn_context *context, train_arguments *given) {
    char last[4096];
    const char *own = given->more != NULL ? given->output : given->start, *path = own;
    if (ranks_rank() == 0) path = base_of(context, given, last, sizeof last);
    int code = ranks_file(&path);
    if (code != EXIT_DONE || ranks_rank() == 0 || path == own) return code;
    if (given->start != NULL) given->start = path;
    given->output = path;
    return EXIT_DONE;
}

/* Every value that was set, as NAME NUL VALUE NUL; NULL: no memory. Defaults are left out, as some follow
 * from the data, in all ranks alike. */
static char *print_given(attn_config *config, size_t *length) {
    char *text = NULL;
    FILE *to = open_memstream(&text, length);
    for (int i = 0; to != NULL && i < attn_config_count(); i++)
        if (attn_config_given(config, i))
            fprintf(to, "%s%c%s%c", attn_config_name(i), '\0', attn_config_get(config, attn_config_name(i)),
                    '\0');
    if (to == NULL || fclose(to) == 0) return text;
    free(text);
    return NULL;
}

static attn_status set_given(attn_config *config, const char *text, size_t length) {
    attn_status status = ATTN_OK;
    for (const char *name = text, *end = text + length; name < end && status == ATTN_OK;) {
        const char *value = name + strlen(name) + 1;
        status = attn_config_set(config, name, value);
        name = value + strlen(value) + 1;
    }
    return status;
}

/* Other ranks need none of the files that it comes from: they get that of rank 0. */
static int share_config(attn_context *context, attn_config *config) {
    size_t length = 0;
    char *text = ranks_rank() == 0 ? print_given(config, &length) : NULL;
    int64_t count = ranks_rank() > 0 || text != NULL ? (int64_t)length : -1;
    int code = ranks_broadcast(&count, sizeof count);
    if (code == EXIT_DONE && ranks_rank() > 0 && count >= 0) text = malloc((size_t)count + 1);
    if (text == NULL) fputs("attn train: out of memory\n", stderr);
    if (code == EXIT_DONE) code = ranks_settle(text != NULL ? EXIT_DONE : EXIT_FAILED, NULL);
    if (code == EXIT_DONE) code = ranks_broadcast(text, (size_t)count);
    if (code == EXIT_DONE && ranks_rank() > 0 && set_given(config, text, (size_t)count) != ATTN_OK)
        code = fail(context);
    free(text);
    return ranks_settle(code, NULL);
}

static int show(attn_context *context, const train_arguments *given, attn_config *config) {
    const char *text = given->list ? "" : attn_config_print(config);
    if (text == NULL) return fail(context);
    if (given->list) list_config(config);
    fputs(text, stdout);
    return EXIT_DONE;
}

/* Trains, or shows the configuration that it would train with. */
static int train_or_show(attn_context *context, train_arguments *given) {
    attn_config *config;
    bool only_shown = given->list || given->dump, first = ranks_rank() == 0; /* who writes the files */
    int code = ranks_settle(only_shown || !first ? EXIT_DONE : check_files(context, given), NULL);
    if (code != EXIT_DONE) return code;
    if (attn_config_create(context, &config) != ATTN_OK) return fail(context);
    code = ranks_settle(first ? configure(context, given, config) : EXIT_DONE, NULL);
    if (code == EXIT_DONE && ranks_count() > 1) code = share_config(context, config);
    if (code == EXIT_DONE && only_shown) {
        code = show(context, given, config);
    } else if (code == EXIT_DONE) {
        code = ranks_settle(training_take_input(&given->training), NULL);
        if (code == EXIT_DONE) code = share_start(context, given);
        if (code == EXIT_DONE) code = run_training(context, config, given);
    }
    attn_config_destroy(config);
    return code;
}

/* "--output ctc" names a kind of output and no file: it stands for --output-kind then. A file of that name is
 * -o ctc. False, when it has said that two files are named: one may be a kind that is misspelt. */
static bool name_outputs(int count, char **arguments) {
    static char flag[] = "--output-kind";
    const char *file = NULL;
    int kinds = 0;
    while (strcmp(attn_config_name(kinds), "output.kind") != 0) kinds++;
    for (int i = 0; i + 1 < count; i++) {
        bool known = false, longer = strcmp(arguments[i], "--output") == 0;
        if (!longer && strcmp(arguments[i], "-o") != 0) continue;
        for (int c = 0; longer && !known && attn_config_choice(kinds, c) != NULL; c++)
            known = strcmp(arguments[i + 1], attn_config_choice(kinds, c)) == 0;
        if (known) {
            arguments[i] = flag;
        } else if (file != NULL) {
            arguments_complain("train", "there can be only one output file, and two are given: the first is ",
                               file, "", NULL);
            fputs("attn train: --output-kind K sets the kind of output: auto", stderr);
            for (int c = 1; attn_config_choice(kinds, c) != NULL; c++)
                fprintf(stderr, ", %s", attn_config_choice(kinds, c));
            fputc('\n', stderr);
            return false;
        } else {
            file = arguments[++i];
        }
    }
    return true;
}

static const char examples[] =
    "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors\n"
    "  attn train classify train.tsv --dev dev.tsv -o senti.safetensors --time 5m\n"
    "  attn train classify train.tsv -o senti.safetensors --autotune 20m\n"
    "  attn train tag zh.conllu --unit chars --scheme bmes -o words.safetensors\n"
    "  attn train seq2seq words.tsv -o g2p.safetensors\n"
    "  attn train seq2seq train.en train.de --dev val.en val.de -o ende.safetensors\n"
    "  attn train lm book.txt -o book.safetensors\n"
    "  attn train tag cora/ -o cora.safetensors\n"
    "  attn train classify --input molecule tox21.csv -o tox.safetensors\n"
    "  attn train tag --input speech utterances.tsv -o phones.safetensors\n"
    "  attn train seq2seq --input speech said.tsv --output ctc -o said.safetensors\n"
    "  attn train classify --input image folder/ -o shapes.safetensors\n"
    "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors --more 5m\n"
    "  attn train tag own.conllu -o own.safetensors --start pos.safetensors\n";

static int train_command(int count, char **arguments) {
    enum { OWN_FLAGS = 15 };
    train_arguments given = {
        .training.command = "train", .began = progress_now(), .count = count, .words = arguments};
    training_flags *training = &given.training;
    argument_flag flags[OWN_FLAGS + TRAINING_FLAGS] = {
        argument_letter(argument_text("output", &given.output, "FILE",
                                      "the model; beside it *.last.safetensors, for --resume"),
                        'o'),
        argument_switch("resume", &given.resume, "continue where the last run was stopped"),
        argument_switch("force", &given.force, "begin anew, and replace an existing model"),
        argument_text("more", &given.more, "T", "train the model in -o further: 5m, 2epochs, 500steps"),
        argument_text("autotune", &given.autotune, "T",
                      "try encoders, units, widths, rates, ... for this long; keep the best model on the "
                      "development data, and print the command that repeats it"),
        argument_text("start", &given.start, "MODEL", "start from the weights of another model"),
        argument_switch("keep-last", &given.keep_last, "keep *.last.safetensors after a finished run"),
        argument_text("save-every", &given.save_every, "T",
                      "time between writing *.last.safetensors (default 30s)"),
        argument_text(
            "encoder", &training->encoder, "E",
            "attention, rnn, cnn, fc, mean; none: only n-grams of whole texts (default: from task and "
            "data, mostly attention)"),
        argument_text("seed", &training->seed, "N",
                      "seed of the initial weights and the order of the data (default 1)"),
        argument_switch("scatter", &training->scatter, RANKS_SCATTER_HELP),
        argument_switch("fast-sum", &given.fast_sum,
                        "with mpirun: add gradients in any order; bits then depend on the number of ranks "
                        "(without it: the same bytes as one process)"),
        argument_switch("json", &given.json,
                        "every step and evaluation as a line of JSON on standard output"),
        argument_switch("dump-config", &given.dump, "print the whole configuration and exit"),
        argument_switch("list-config", &given.list, "list all values of --config, as a Markdown table"),
    };
    int added = training_flags_add(training, flags + OWN_FLAGS);
    for (int i = 0; i < OWN_FLAGS; i++)
        if (flags[i].target.text == &training->encoder) flags[i].choices = training_encoder_names();
    argument_list list = {
        .command = "train",
        .usage = "TASK FILE [FILE...] [--dev FILE] -o MODEL [flags]",
        .about = training_tasks(
            "Trains a model from labelled examples.\n\n",
            "\nSeveral files form one dataset. For seq2seq two files are sources and targets,\n"
            "line by line, unless the first line of each is already a pair: source TAB\n"
            "target, or a JSON object. - is standard input.\n"),
        .examples = examples,
        .first =
            "output dev time resume force more encoder input unit column layers width seed config threads",
        .words = training_task_names(),
        .flags = flags,
        .flag_count = (size_t)(OWN_FLAGS + added),
        .positional = training->positional,
        .positional_limit = TRAINING_POSITIONALS,
    };
    if (!name_outputs(count, arguments)) return EXIT_MISUSED;
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (check_use(&list, &given) != EXIT_DONE) return EXIT_MISUSED;
    int code = given.dump || given.list ? EXIT_DONE : ranks_open(&list);
    if (code != EXIT_DONE) return code;
    if (given.autotune != NULL && ranks_count() > 1) {
        if (ranks_rank() == 0) fputs("attn train: --autotune is for one process, not for mpirun\n", stderr);
        return ranks_settle(EXIT_MISUSED, NULL);
    }
    ranks_scatter(training->scatter);
    attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = ranks_threads(training->threads);
    if (attn_context_create(&options, &context) != ATTN_OK) {
        fprintf(stderr, "attn train: %s\n", attn_last_create_error());
        return EXIT_FAILED;
    }
    code = opening_memory("train", context, training->memory);
    if (code == EXIT_DONE) code = train_or_show(context, &given);
    attn_context_destroy(context);
    return code;
}

int command_train(int count, char **arguments) {
    ranks_begin("train");
    return ranks_end(train_command(count, arguments));
}
