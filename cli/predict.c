/* predict.c: the command `attn predict`: text in, answers out, line by line as it comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "answers.h"
#include "arguments.h"
#include "commands.h"
#include "input.h"
#include "opening.h"

typedef struct predict_arguments {
    const char *positional[2];
    bool json, probabilities, pretokenized;
    int format;
    int64_t threads;
} predict_arguments;

typedef struct predictor {
    attn_context *context;
    attn_model *model;
    attn_reader_options options;
    answers how;
    int flags;
    const char *name; /* of the input, in errors */
} predictor;

static const char out_of_memory[] = "attn predict: out of memory\n";

/* ---- answering ---- */

/* Whether every token of CoNLL-U has an answer that can be filled in. */
static bool can_fill(const predictor *with, const attn_dataset *dataset, const attn_prediction *prediction) {
    if (attn_dataset_format(dataset) != ATTN_FORMAT_CONLLU || !attn_model_per_token(with->model) ||
        with->how.words || with->how.json)
        return false;
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++)
        if (attn_prediction_units(prediction, e) != attn_dataset_tokens(dataset, e)) return false;
    return true;
}

/* lines: the dataset's own bytes, NULL if they are not at hand. */
static attn_status answer_dataset(predictor *with, const attn_dataset *dataset, const char *lines,
                                  size_t length) {
    attn_prediction *prediction = NULL;
    attn_status status = attn_model_predict(with->model, dataset, with->flags, &prediction);
    if (status != ATTN_OK) return status;
    bool good = true;
    int64_t example = 0, word = 0;
    if (!can_fill(with, dataset, prediction)) {
        answers_print(&with->how, prediction);
    } else if (lines != NULL) {
        good = answers_fill(&with->how, prediction, lines, length, &example, &word);
    } else {
        for (int64_t e = 0; good && e < attn_dataset_examples(dataset); e++) {
            const char *source = attn_dataset_source(dataset, e);
            good = answers_fill(&with->how, prediction, source, strlen(source), &example, &word);
            putchar('\n');
        }
    }
    attn_prediction_destroy(prediction);
    if (!good) fputs(out_of_memory, stderr);
    return good ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static attn_status answer(predictor *with, const char *bytes, size_t length, int64_t line) {
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(with->context, with->name, line, bytes, length, &with->options, &dataset);
    if (status != ATTN_OK) return status;
    status = answer_dataset(with, dataset, bytes, length);
    attn_dataset_destroy(dataset);
    return status;
}

/* A piece that cannot be read as a whole: what stands before the bad line is answered. */
static attn_status answer_up_to_error(predictor *with, const input *from, const char *bytes, size_t length,
                                      int64_t line) {
    attn_status status = ATTN_OK;
    for (size_t at = 0, first; at < length && status == ATTN_OK; at += first) {
        first = input_first(from, bytes + at, length - at);
        status = answer(with, bytes + at, first, line);
        for (size_t i = 0; i < first; i++) line += bytes[at + i] == '\n';
    }
    return status;
}

/* The format, from the first lines. Comments and blank lines say nothing. */
static attn_format find_format(const predictor *with, input *from) {
    input_peek(from);
    size_t length = from->end - from->begin;
    attn_format format =
        attn_dataset_detect(with->name, length > 0 ? from->bytes + from->begin : "", length, &with->options);
    return format != ATTN_FORMAT_AUTO ? format : ATTN_FORMAT_LINES;
}

/* ---- the whole ---- */

static int fail_input(const predictor *with, const input *from) {
    char reason[160];
    fflush(stdout);
    snprintf(reason, sizeof reason, ": %s", strerror(from->error));
    arguments_complain("predict", "cannot read ", with->name, reason, NULL);
    return EXIT_FAILED;
}

static int predict_stream(predictor *with, input *from) {
    const char *bytes;
    size_t length;
    int64_t line;
    attn_status status = ATTN_OK;
    if (with->options.format == ATTN_FORMAT_AUTO) with->options.format = find_format(with, from);
    attn_format format = with->options.format;
    input_set_blocks(from, format == ATTN_FORMAT_CONLLU || format == ATTN_FORMAT_COLUMNS);
    while (status == ATTN_OK && input_next(from, format == ATTN_FORMAT_TABLE, &bytes, &length, &line)) {
        status = answer(with, bytes, length, line);
        if (status == ATTN_INVALID_ARGUMENT && format != ATTN_FORMAT_TABLE)
            status = answer_up_to_error(with, from, bytes, length, line);
        if (from->live && fflush(stdout) != 0) return EXIT_FAILED; /* main says why */
        if (ferror(stdout)) return EXIT_FAILED;
    }
    if (status != ATTN_OK) {
        fflush(stdout);
        return opening_fail("predict", with->context);
    }
    return from->error == 0 ? EXIT_DONE : fail_input(with, from);
}

static int predict_gzip(predictor *with, const char *path) {
    attn_dataset *dataset = NULL;
    attn_status status = attn_dataset_read(with->context, path, &with->options, &dataset);
    if (status == ATTN_OK) status = answer_dataset(with, dataset, NULL, 0);
    attn_dataset_destroy(dataset);
    return status == ATTN_OK ? EXIT_DONE : opening_fail("predict", with->context);
}

static int predict(predictor *with, const predict_arguments *given) {
    const char *path = given->positional[1];
    input from;
    int code;
    if (!answers_begin(&with->how, with->model, given->json, given->probabilities)) {
        fputs(out_of_memory, stderr);
        return EXIT_FAILED;
    }
    attn_model_reader_options(with->model, &with->options);
    with->options.format = (attn_format)given->format;
    with->options.labelled = 0;
    with->name = path != NULL ? path : "standard input";
    with->flags = (given->probabilities ? ATTN_PREDICT_PROBABILITIES : 0) |
                  (given->pretokenized ? ATTN_PREDICT_PRETOKENIZED : 0);
    input_open(&from, path);
    if (from.error != 0) {
        code = fail_input(with, &from);
    } else if (!input_begins_with(&from, "\x1f\x8b")) { /* gzip */
        code = predict_stream(with, &from);
    } else if (path != NULL) {
        code = predict_gzip(with, path);
    } else {
        fputs(
            "attn predict: standard input is compressed: give the file's name, or zcat FILE | attn predict\n",
            stderr);
        code = EXIT_FAILED;
    }
    input_close(&from);
    answers_end(&with->how);
    return code;
}

int command_predict(int count, char **arguments) {
    predict_arguments given = {0};
    const argument_flag flags[] = {
        argument_switch("probs", &given.probabilities, "probabilities too"),
        argument_switch("json", &given.json, "one JSON object a text"),
        argument_switch("pretokenized", &given.pretokenized, "words are what stands between spaces"),
        argument_choice("format", &given.format, "F", "auto", opening_formats,
                        "lines, conllu, columns, table or fasttext"),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "0: all cores"),
    };
    argument_list list = {
        .command = "predict",
        .usage = "MODEL [FILE] [flags]",
        .about = "Reads texts, one a line, from FILE or standard input, and prints what the model\n"
                 "says.\n\n"
                 "  tags     a line of word TAB tag for each word, a blank line after each text;\n"
                 "           --probs adds the tag's probability\n"
                 "  words    (scheme bmes) with spaces between them, one line a text; --probs:\n"
                 "           as tags, character by character\n"
                 "  class    the label; --probs: all of them as label=0.93, likeliest first\n"
                 "  labels   those with a probability of at least 0.5; --probs as above\n"
                 "  number   the number\n\n"
                 "A model with several outputs prints a column each. CoNLL-U comes out as CoNLL-U\n"
                 "with the columns filled (--probs: Prob=0.93 in MISC), all else as it was. Labels\n"
                 "in the input are not looked at. What is typed or piped is answered as it comes.\n",
        .examples = "  attn predict pos.safetensors < sentences.txt\n"
                    "  attn predict pos.safetensors test.conllu > tagged.conllu\n"
                    "  echo \"A fine film.\" | attn predict senti.safetensors --probs\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = given.positional,
        .positional_limit = 2,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (list.positional_count < 1) {
        fputs("attn predict: which model? attn predict MODEL [FILE]\n", stderr);
        return EXIT_MISUSED;
    }
    predictor with = {0};
    if (!opening_model("predict", given.positional[0], given.threads, &with.context, &with.model))
        return EXIT_FAILED;
    int code = predict(&with, &given);
    opening_close(with.context, with.model);
    return code;
}
