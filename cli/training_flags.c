/* training_flags.c: from flags to a configuration, from files to examples. */
#define _POSIX_C_SOURCE 200809L
#include "training_flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "opening.h"

/* Flags that set a value of the configuration, which checks them. */
typedef struct setting {
    const char *flag, *name, *value, *help;
} setting;

static const setting settings[TRAINING_SETTINGS] = {
    {"format", "reader.format", "F", "conllu, columns, table, fasttext (default: from the file)"},
    {"column", "reader.column", "C",
     "what to learn: UPOS, XPOS, FEATS, MISC:Key; a table's column; several with ,; seq2seq: 2, ..."},
    {"text-column", "reader.text_column", "C", "the column of a table that holds the text"},
    {"label-separator", "reader.label_separator", "S", "several labels in one field stand between these"},
    {"unit", "text.unit", "U",
     "words, chars, bytes, subwords, symbols (default: words; lm: chars; seq2seq: from the data)"},
    {"target-unit", "target.unit", "U", "seq2seq: the same for the targets (default: from the data)"},
    {"subwords", "text.subwords", "N", "symbols of --unit subwords"},
    {"shared", "target.shared", "true",
     "seq2seq: one vocabulary for both sides (default with subwords); or false"},
    {"decoder-layers", "decoder.layers", "N", "seq2seq: blocks of the decoder"},
    {"scheme", "text.scheme", "S", "bmes: with --unit chars, learn to cut text into words"},
    {"output-kind", "output.kind", "K",
     "class, labels (several a text), number (default: from task and data)"},
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
};

void training_flags_add(training_flags *given, argument_flag *flags) {
    const argument_flag others[TRAINING_FLAGS - TRAINING_SETTINGS] = {
        argument_texts("dev", &given->dev.path[0], &given->dev.path[1], "FILE",
                       "development data: the best model is chosen by it; seq2seq: or two files"),
        argument_text("time", &given->time, "T", "train about so long: 90s, 10m, 1h"),
        argument_text("vectors", &given->vectors, "FILE", "start from pretrained word vectors (.vec)"),
        argument_switch("crf", &given->crf, "a conditional random field over the tags"),
        argument_switch("one-hot", &given->one_hot, "one-hot input: no features of words"),
        argument_switch("pretokenized", &given->pretokenized, "split texts at spaces only"),
        argument_switch("lowercase", &given->lowercase, "all text in lower case"),
        argument_text("window", &given->window, "R", "a row sees the rows at most R away"),
        argument_text("config", &given->config, "FILE", "a configuration as JSON; flags win over it"),
        argument_switch("skip-bad", &given->skip_bad, "leave out lines that cannot be read"),
        argument_integer("threads", &given->threads, "N", "0", 0, 1024, "0: all cores"),
        argument_switch("quiet", &given->quiet, "say nothing but errors"),
    };
    memcpy(flags, others, sizeof others);
    flags += TRAINING_FLAGS - TRAINING_SETTINGS;
    for (int i = 0; i < TRAINING_SETTINGS; i++) {
        const setting *one = &settings[i];
        flags[i] = argument_text(one->flag, &given->setting[i], one->value, one->help);
    }
}

double training_duration(const char *text) {
    char *end;
    double number = strtod(text, &end), unit = -1;
    if (end == text) return -1;
    if (*end == '\0' || strcmp(end, "s") == 0) unit = 1;
    if (strcmp(end, "m") == 0 || strcmp(end, "min") == 0) unit = 60;
    if (strcmp(end, "h") == 0) unit = 3600;
    return unit > 0 && number >= 0 && number * unit <= 1e9 ? number * unit : -1;
}

static bool is_set(const training_flags *given, const char *flag) {
    for (int i = 0; i < TRAINING_SETTINGS; i++)
        if (given->setting[i] != NULL && strcmp(settings[i].flag, flag) == 0) return true;
    return false;
}

const char *training_flags_problem(training_flags *given, const argument_list *list) {
    if (list->positional_count < 1) return "what task? tag, classify, regress, seq2seq or lm";
    for (size_t i = TRAINING_FILES; i < list->positional_count; i++)
        given->train.path[i - TRAINING_FILES] = given->positional[i];
    training_files *others[] = {&given->dev, &given->test};
    bool two = given->train.path[1] != NULL;
    for (int i = 0; i < 2; i++) {
        if (given->train.path[0] == NULL) { /* --dev DEV TRAIN: not a second file, then */
            given->train.path[0] = others[i]->path[1];
            others[i]->path[1] = NULL;
        }
        two |= others[i]->path[1] != NULL;
    }
    if (two && strcmp(given->positional[TRAINING_TASK], "seq2seq") != 0)
        return "one file to learn from, not two (seq2seq takes two: sources and targets, line by line)";
    if (given->time != NULL && !(training_duration(given->time) > 0)) return "--time is 90s, 10m or 1h";
    if (given->time != NULL && is_set(given, "steps")) return "--time chooses the steps: not both";
    return NULL;
}

static attn_status read_config_file(attn_context *context, const training_flags *given, attn_config *config) {
    FILE *file = fopen(given->config, "rb");
    static char text[1 << 20]; /* a configuration has a few kilobytes */
    if (file == NULL) {
        fprintf(stderr, "attn %s: cannot open %s: %s\n", given->command, given->config, strerror(errno));
        return ATTN_SYSTEM_ERROR;
    }
    size_t length = fread(text, 1, sizeof text, file);
    bool whole = !ferror(file) && length < sizeof text;
    int reason = errno;
    fclose(file);
    if (!whole) {
        fprintf(stderr, "attn %s: cannot read %s: %s\n", given->command, given->config,
                length < sizeof text ? strerror(reason) : "a configuration has less than a megabyte");
        return ATTN_SYSTEM_ERROR;
    }
    attn_status status = attn_config_parse(config, given->config, text, length);
    if (status != ATTN_OK) opening_fail(given->command, context);
    return status;
}

static attn_status set_if(attn_config *config, const char *name, const char *value) {
    return value != NULL ? attn_config_set(config, name, value) : ATTN_OK;
}

int training_configure(attn_context *context, const training_flags *given, attn_config *config) {
    if (given->config != NULL && read_config_file(context, given, config) != ATTN_OK) return EXIT_FAILED;
    attn_status status = attn_config_set(config, "task", given->positional[TRAINING_TASK]);
    for (int i = 0; i < TRAINING_SETTINGS && status == ATTN_OK; i++)
        status = set_if(config, settings[i].name, given->setting[i]);
    if (status == ATTN_OK) status = set_if(config, "encoder.kind", given->encoder);
    if (status == ATTN_OK) status = set_if(config, "training.seed", given->seed);
    if (status == ATTN_OK) status = set_if(config, "output.crf", given->crf ? "true" : NULL);
    if (status == ATTN_OK) status = set_if(config, "text.one_hot", given->one_hot ? "true" : NULL);
    if (status == ATTN_OK) status = set_if(config, "text.pretokenized", given->pretokenized ? "true" : NULL);
    if (status == ATTN_OK) status = set_if(config, "text.lowercase", given->lowercase ? "true" : NULL);
    if (status == ATTN_OK) status = set_if(config, "encoder.left", given->window);
    if (status == ATTN_OK) status = set_if(config, "encoder.right", given->window);
    if (status == ATTN_OK) return EXIT_DONE;
    opening_fail(given->command, context);
    return EXIT_MISUSED;
}

attn_status training_read(attn_context *context, attn_config *config, const training_flags *given,
                          const training_files *files, attn_dataset **dataset) {
    attn_reader_options options;
    attn_status status = attn_config_reader(config, &options);
    if (status != ATTN_OK) return status;
    options.skip_bad = given->skip_bad;
    status = files->path[1] != NULL
                 ? attn_dataset_read_parallel(context, files->path[0], files->path[1], &options, dataset)
                 : attn_dataset_read(context, files->path[0], &options, dataset);
    if (status == ATTN_OK && attn_dataset_skipped(*dataset) > 0 && !given->quiet) {
        fprintf(stderr, "%s: %lld bad lines or sentences left out\n", files->path[0],
                (long long)attn_dataset_skipped(*dataset));
    }
    return status;
}

int training_check_output(const training_flags *given, const char *path) {
    const training_files *files[] = {&given->train, &given->dev, &given->test};
    const char *inputs[8] = {given->vectors, given->config};
    struct stat output, input;
    if (stat(path, &output) != 0) return EXIT_DONE; /* a new file; writing will tell */
    const char *problem = S_ISREG(output.st_mode) ? NULL : " is there, and not a file";
    for (int i = 0; i < 6; i++) inputs[2 + i] = files[i / 2]->path[i % 2];
    for (int i = 0; i < 8; i++) {
        if (inputs[i] != NULL && stat(inputs[i], &input) == 0 && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            problem = " is what is read: what is written would take its place";
    }
    if (problem == NULL) return EXIT_DONE;
    arguments_complain(given->command, "", path, problem, NULL);
    return EXIT_FAILED;
}
