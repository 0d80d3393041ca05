/* train.c: attn train TASK FILE: from a file of labelled examples to a model file. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "progress.h"
#include "text.h"

/* Flags that set a value of the configuration, which checks them. */
typedef struct config_flag {
    const char *flag, *name, *value, *help;
} config_flag;

static const config_flag config_flags[] = {
    {"format", "reader.format", "F", "conllu, columns, table, fasttext (default: from the file)"},
    {"column", "reader.column", "C",
     "what to learn: UPOS, XPOS, FEATS, MISC:Key; a table's column; several with ,"},
    {"text-column", "reader.text_column", "C", "the column of a table that holds the text"},
    {"label-separator", "reader.label_separator", "S", "several labels in one field stand between these"},
    {"unit", "text.unit", "U", "words, chars, bytes, subwords (default words)"},
    {"scheme", "text.scheme", "S", "bmes: with --unit chars, learn to cut text into words"},
    {"output-kind", "output.kind", "K",
     "class, labels (several a text), number (default: from task and data)"},
    {"encoder", "encoder.kind", "E", "attention, rnn, cnn, fc (default attention)"},
    {"layers", "encoder.layers", "N", "blocks of the encoder"},
    {"columns", "encoder.columns", "N", "width of the network"},
    {"heads", "encoder.heads", "N", "attention heads"},
    {"position", "encoder.position", "P", "none, sinusoidal, learned, one-hot, rotary, alibi, relative"},
    {"dropout", "encoder.dropout", "P", "after the input and in the blocks"},
    {"learning-rate", "training.learning_rate", "R", "the highest of the schedule"},
    {"batch", "training.batch_units", "N", "rows (words, characters, ...) a batch"},
    {"epochs", "training.epochs", "N", "passes over the data"},
    {"steps", "training.steps", "N", "steps, instead of epochs"},
    {"patience", "training.patience", "N", "end after N evaluations without a better score; 0: never"},
    {"metric", "training.metric", "M", "what the best model is chosen by: accuracy, macro_f1, ..."},
    {"hold-out", "training.hold_out", "P", "without --dev, the part of the data to choose by (default 0.1)"},
    {"seed", "training.seed", "N", "another start of the network, another order of the data (default 1)"},
};
enum { CONFIG_FLAGS = sizeof config_flags / sizeof config_flags[0], OWN_FLAGS = 16 };

typedef struct train_arguments {
    const char *positional[2];
    const char *set[CONFIG_FLAGS];
    const char *dev, *output, *config, *time, *vectors, *window, *save_every;
    int64_t threads;
    bool crf, pretokenized, one_hot, dump, list, resume, quiet, skip_bad;
} train_arguments;

static int fail(const attn_context *context) { return opening_fail("train", context); }

/* 90, 90s, 10m, 1.5h as seconds, at most some thirty years; -1: it is something else. */
static double duration(const char *text) {
    char *end;
    double number = strtod(text, &end), unit = -1;
    if (end == text) return -1;
    if (*end == '\0' || strcmp(end, "s") == 0) unit = 1;
    if (strcmp(end, "m") == 0 || strcmp(end, "min") == 0) unit = 60;
    if (strcmp(end, "h") == 0) unit = 3600;
    return unit > 0 && number >= 0 && number * unit <= 1e9 ? number * unit : -1;
}

static attn_status read_config_file(attn_context *context, attn_config *config, const char *path) {
    FILE *file = fopen(path, "rb");
    static char text[1 << 20]; /* a configuration has a few kilobytes */
    if (file == NULL) {
        fprintf(stderr, "attn train: cannot open %s: %s\n", path, strerror(errno));
        return ATTN_SYSTEM_ERROR;
    }
    size_t length = fread(text, 1, sizeof text, file);
    bool whole = !ferror(file) && length < sizeof text;
    int reason = errno;
    fclose(file);
    if (!whole) {
        fprintf(stderr, "attn train: cannot read %s: %s\n", path,
                length < sizeof text ? strerror(reason) : "a configuration has less than a megabyte");
        return ATTN_SYSTEM_ERROR;
    }
    attn_status status = attn_config_parse(config, path, text, length);
    if (status != ATTN_OK) fail(context);
    return status;
}

static attn_status set_window(attn_config *config, const char *window) {
    attn_status status = attn_config_set(config, "encoder.left", window);
    return status == ATTN_OK ? attn_config_set(config, "encoder.right", window) : status;
}

/* The file first, then the flags: what is typed wins. */
static int configure(attn_context *context, const train_arguments *given, attn_config *config) {
    if (given->config != NULL && read_config_file(context, config, given->config) != ATTN_OK)
        return EXIT_FAILED;
    attn_status status = attn_config_set(config, "task", given->positional[0]);
    for (int i = 0; i < CONFIG_FLAGS && status == ATTN_OK; i++) {
        if (given->set[i] != NULL) status = attn_config_set(config, config_flags[i].name, given->set[i]);
    }
    if (status == ATTN_OK && given->crf) status = attn_config_set(config, "output.crf", "true");
    if (status == ATTN_OK && given->one_hot) status = attn_config_set(config, "text.one_hot", "true");
    if (status == ATTN_OK && given->pretokenized)
        status = attn_config_set(config, "text.pretokenized", "true");
    if (status == ATTN_OK && given->window != NULL) status = set_window(config, given->window);
    if (status == ATTN_OK) return EXIT_DONE;
    fail(context);
    return EXIT_MISUSED;
}

static attn_status read_data(attn_context *context, attn_config *config, const train_arguments *given,
                             const char *path, attn_dataset **dataset) {
    attn_reader_options options;
    attn_status status = attn_config_reader(config, &options);
    if (status != ATTN_OK) return status;
    options.skip_bad = given->skip_bad;
    status = attn_dataset_read(context, path, &options, dataset);
    if (status == ATTN_OK && attn_dataset_skipped(*dataset) > 0 && !given->quiet) {
        fprintf(stderr, "%s: %lld bad lines or sentences left out\n", path,
                (long long)attn_dataset_skipped(*dataset));
    }
    return status;
}

/* docs/config.md is this. */
static void list_config(attn_config *config) {
    printf("| value | default | meaning |\n| --- | --- | --- |\n");
    for (int i = 0; i < attn_config_count(); i++) {
        const char *value = attn_config_get(config, attn_config_name(i));
        printf("| `%s` | %s | %s", attn_config_name(i), *value != '\0' ? value : "(none)",
               attn_config_help(i));
        for (int c = 0; attn_config_choice(i, c) != NULL; c++)
            printf("%s%s", c > 0 ? ", " : *attn_config_help(i) != '\0' ? ": " : "", attn_config_choice(i, c));
        printf(" |\n");
    }
}

/* Before anything is read: that the model can go there, and that nothing is lost by it. */
static int check_output(const train_arguments *given) {
    const char *inputs[] = {given->positional[1], given->dev, given->vectors, given->config};
    struct stat output, input;
    if (stat(given->output, &output) != 0) return EXIT_DONE; /* a new file; writing will tell */
    const char *problem = S_ISREG(output.st_mode) ? NULL : "is there, and not a file";
    for (int i = 0; i < 4; i++) {
        if (inputs[i] != NULL && stat(inputs[i], &input) == 0 && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            problem = "is what is read: the model would take its place";
    }
    if (problem == NULL) return EXIT_DONE;
    fputs("attn train: ", stderr);
    text_print(stderr, given->output);
    fprintf(stderr, " %s\n", problem);
    return EXIT_FAILED;
}

static int run_training(attn_context *context, attn_config *config, const train_arguments *given) {
    attn_dataset *train = NULL, *dev = NULL;
    attn_trainer *trainer = NULL;
    progress shown = {.quiet = given->quiet, .terminal = isatty(STDERR_FILENO) != 0, .resume = given->resume};
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = given->output;
    options.vectors = given->vectors;
    options.resume = given->resume;
    options.watch = progress_watch;
    options.user = &shown;
    if (given->time != NULL) options.seconds = duration(given->time);
    if (given->save_every != NULL) options.save_seconds = duration(given->save_every);
    attn_status status = read_data(context, config, given, given->positional[1], &train);
    if (status == ATTN_OK && given->dev != NULL) status = read_data(context, config, given, given->dev, &dev);
    if (status == ATTN_OK) status = attn_trainer_create(config, train, dev, &options, &trainer);
    if (status == ATTN_OK) {
        progress_catch_interrupts();
        status = attn_trainer_run(trainer);
        if (shown.bar_shown) fputc('\n', stderr);
    }
    if (status != ATTN_OK) {
        fail(context);
    } else if (!given->quiet) {
        fprintf(stderr, "the model is in %s\n", given->output);
    }
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    return status == ATTN_OK ? EXIT_DONE : EXIT_FAILED;
}

static bool given_flag(const train_arguments *given, const char *flag) {
    for (int i = 0; i < CONFIG_FLAGS; i++)
        if (given->set[i] != NULL && strcmp(config_flags[i].flag, flag) == 0) return true;
    return false;
}

static int check_use(const argument_list *list, const train_arguments *given) {
    const char *problem = NULL;
    bool only_shown = given->dump || given->list;
    if (list->positional_count < 1)
        problem = "what task? tag, classify or regress";
    else if (list->positional_count < 2 && !only_shown)
        problem = "which file to learn from?";
    else if (given->output == NULL && !only_shown)
        problem = "where does the model go? -o MODEL.safetensors";
    else if (given->time != NULL && !(duration(given->time) > 0))
        problem = "--time is 90s, 10m or 1h";
    else if (given->time != NULL && given_flag(given, "steps"))
        problem = "--time chooses the steps: not both";
    else if (given->save_every != NULL && !(duration(given->save_every) >= 0))
        problem = "--save-every is 30s or 5m";
    if (problem == NULL) return EXIT_DONE;
    fprintf(stderr, "attn train: %s\nattn train --help lists the flags.\n", problem);
    return EXIT_MISUSED;
}

int command_train(int count, char **arguments) {
    train_arguments given = {0};
    argument_flag flags[CONFIG_FLAGS + OWN_FLAGS] = {
        argument_letter(argument_text("output", &given.output, "FILE",
                                      "the model; beside it *.last.safetensors, for --resume"),
                        'o'),
        argument_text("dev", &given.dev, "FILE", "development data: the best model is chosen by it"),
        argument_text("time", &given.time, "T", "train about so long: 90s, 10m, 1h"),
        argument_switch("resume", &given.resume, "go on where the last run was stopped"),
        argument_text("vectors", &given.vectors, "FILE", "start from pretrained word vectors (.vec)"),
        argument_switch("crf", &given.crf, "a conditional random field over the tags"),
        argument_switch("one-hot", &given.one_hot, "one-hot input: no features of words"),
        argument_switch("pretokenized", &given.pretokenized, "split texts at spaces only"),
        argument_text("window", &given.window, "R", "a row sees the rows at most R away"),
        argument_text("config", &given.config, "FILE", "a configuration as JSON; flags win over it"),
        argument_switch("dump-config", &given.dump, "print the whole configuration and end"),
        argument_switch("list-config", &given.list, "list all that --config can say, as a Markdown table"),
        argument_text("save-every", &given.save_every, "T",
                      "time between two files for --resume (default 30s)"),
        argument_switch("skip-bad", &given.skip_bad, "leave out lines that cannot be read"),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "0: all cores"),
        argument_switch("quiet", &given.quiet, "say nothing but errors"),
    };
    for (int i = 0; i < CONFIG_FLAGS; i++) {
        const config_flag *flag = &config_flags[i];
        flags[OWN_FLAGS + i] = argument_text(flag->flag, &given.set[i], flag->value, flag->help);
    }
    argument_list list = {
        .command = "train",
        .usage = "TASK FILE [--dev FILE] -o MODEL [flags]",
        .about = "Learns from labelled examples and writes a model.\n\n"
                 "  tag        a label per token: CoNLL-U, or token TAB tag with blank lines between\n"
                 "  classify   a class per text: TSV or CSV, label TAB text, or __label__X text\n"
                 "  regress    a number per text or token\n",
        .examples = "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors\n"
                    "  attn train classify train.tsv --dev dev.tsv -o senti.safetensors --time 5m\n"
                    "  attn train tag zh.conllu --unit chars --scheme bmes -o words.safetensors\n",
        .flags = flags,
        .flag_count = OWN_FLAGS + CONFIG_FLAGS,
        .positional = given.positional,
        .positional_limit = 2,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (check_use(&list, &given) != EXIT_DONE) return EXIT_MISUSED;
    attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = (int)given.threads;
    if (attn_context_create(&options, &context) != ATTN_OK) {
        fprintf(stderr, "attn train: %s\n", attn_last_create_error());
        return EXIT_FAILED;
    }
    attn_config *config;
    int code = EXIT_FAILED;
    if (attn_config_create(context, &config) != ATTN_OK) {
        fail(context);
    } else {
        code = configure(context, &given, config);
        if (code == EXIT_DONE && given.list) {
            list_config(config);
        } else if (code == EXIT_DONE && given.dump) {
            const char *text = attn_config_print(config);
            if (text != NULL)
                fputs(text, stdout);
            else
                code = fail(context);
        } else if (code == EXIT_DONE) {
            code = check_output(&given);
            if (code == EXIT_DONE) code = run_training(context, config, &given);
        }
        attn_config_destroy(config);
    }
    attn_context_destroy(context);
    return code;
}
