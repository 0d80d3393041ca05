/* train.c: attn train TASK FILE: from a file of labelled examples to a model file. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "progress.h"
#include "training_flags.h"

typedef struct train_arguments {
    training_flags training;
    const char *output, *save_every;
    bool dump, list, resume;
} train_arguments;

static int fail(const attn_context *context) { return opening_fail("train", context); }

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

static int run_training(attn_context *context, attn_config *config, const train_arguments *given) {
    const training_flags *training = &given->training;
    attn_dataset *train = NULL, *dev = NULL;
    attn_trainer *trainer = NULL;
    progress shown = {
        .quiet = training->quiet, .terminal = isatty(STDERR_FILENO) != 0, .resume = given->resume};
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = given->output;
    options.vectors = training->vectors;
    options.resume = given->resume;
    options.watch = progress_watch;
    options.user = &shown;
    if (training->time != NULL) options.seconds = training_duration(training->time);
    if (given->save_every != NULL) options.save_seconds = training_duration(given->save_every);
    attn_status status = training_read(context, config, training, &training->train, &train);
    if (status == ATTN_OK && training->dev.path[0] != NULL)
        status = training_read(context, config, training, &training->dev, &dev);
    if (status == ATTN_OK) status = attn_trainer_create(config, train, dev, &options, &trainer);
    if (status == ATTN_OK) {
        progress_catch_interrupts();
        status = attn_trainer_run(trainer);
        if (shown.bar_shown) fputc('\n', stderr);
    }
    if (status != ATTN_OK) {
        fail(context);
    } else if (!training->quiet) {
        fprintf(stderr, "the model is in %s\n", given->output);
    }
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    return status == ATTN_OK ? EXIT_DONE : EXIT_FAILED;
}

static int check_use(const argument_list *list, train_arguments *given) {
    bool any_task = given->list && list->positional_count == 0; /* what there is, whatever it is for */
    const char *problem = any_task ? NULL : training_flags_problem(&given->training, list);
    bool only_shown = given->dump || given->list;
    if (problem == NULL && given->training.train.path[0] == NULL && !only_shown)
        problem = "which file to learn from?";
    if (problem == NULL && given->output == NULL && !only_shown)
        problem = "where does the model go? -o MODEL.safetensors";
    if (problem == NULL && given->save_every != NULL && !(training_duration(given->save_every) >= 0))
        problem = "--save-every is 30s or 5m";
    if (problem == NULL) return EXIT_DONE;
    fprintf(stderr, "attn train: %s\nattn train --help lists the flags.\n", problem);
    return EXIT_MISUSED;
}

/* Trains, or shows the configuration that it would train with. */
static int train_or_show(attn_context *context, const train_arguments *given) {
    attn_config *config;
    if (attn_config_create(context, &config) != ATTN_OK) return fail(context);
    int code = training_configure(context, &given->training, config);
    if (code == EXIT_DONE && given->list) {
        list_config(config);
    } else if (code == EXIT_DONE && given->dump) {
        const char *text = attn_config_print(config);
        if (text != NULL)
            fputs(text, stdout);
        else
            code = fail(context);
    } else if (code == EXIT_DONE) {
        code = training_check_output(&given->training, given->output);
        if (code == EXIT_DONE) code = training_take_input(&given->training);
        if (code == EXIT_DONE) code = run_training(context, config, given);
    }
    attn_config_destroy(config);
    return code;
}

int command_train(int count, char **arguments) {
    enum { OWN_FLAGS = 7 };
    train_arguments given = {.training.command = "train"};
    training_flags *training = &given.training;
    argument_flag flags[OWN_FLAGS + TRAINING_FLAGS] = {
        argument_letter(argument_text("output", &given.output, "FILE",
                                      "the model; beside it *.last.safetensors, for --resume"),
                        'o'),
        argument_switch("resume", &given.resume, "go on where the last run was stopped"),
        argument_text("save-every", &given.save_every, "T",
                      "time between two files for --resume (default 30s)"),
        argument_text("encoder", &training->encoder, "E", "attention, rnn, cnn, fc (default attention)"),
        argument_text("seed", &training->seed, "N",
                      "another start of the network, another order of the data (default 1)"),
        argument_switch("dump-config", &given.dump, "print the whole configuration and end"),
        argument_switch("list-config", &given.list, "list all that --config can say, as a Markdown table"),
    };
    int added = training_flags_add(training, flags + OWN_FLAGS);
    argument_list list = {
        .command = "train",
        .usage = "TASK FILE [FILE...] [--dev FILE] -o MODEL [flags]",
        .about =
            training_tasks("Learns from labelled examples and writes a model.\n\n",
                           "\nSeveral files are one set of examples. For seq2seq two files are sources and\n"
                           "targets, line by line, unless the first line of each is a pair: source TAB\n"
                           "target, or an object of JSON. - is standard input.\n"),
        .examples =
            "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors\n"
            "  attn train classify train.tsv --dev dev.tsv -o senti.safetensors --time 5m\n"
            "  attn train tag zh.conllu --unit chars --scheme bmes -o words.safetensors\n"
            "  attn train seq2seq words.tsv -o g2p.safetensors\n"
            "  attn train seq2seq train.en train.de --dev val.en val.de --unit subwords -o ende.safetensors\n"
            "  attn train lm book.txt -o book.safetensors\n",
        .flags = flags,
        .flag_count = (size_t)(OWN_FLAGS + added),
        .positional = training->positional,
        .positional_limit = TRAINING_POSITIONALS,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (check_use(&list, &given) != EXIT_DONE) return EXIT_MISUSED;
    attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = (int)training->threads;
    if (attn_context_create(&options, &context) != ATTN_OK) {
        fprintf(stderr, "attn train: %s\n", attn_last_create_error());
        return EXIT_FAILED;
    }
    int code = train_or_show(context, &given);
    attn_context_destroy(context);
    return code;
}
