/* predict.c: the command `attn predict`: text in, answers out, line by line as it comes. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "answers.h"
#include "arguments.h"
#include "commands.h"
#include "continuation.h"
#include "input.h"
#include "opening.h"
#include "sequences.h"

enum { SEARCH_PIECE = 1 << 16 }; /* bytes of a file that are searched for at once: some tens of batches */

/* Flags that only some models have hold what they cannot be given as, so that it shows who was given one. */
typedef struct predict_arguments {
    const char *positional[2];
    bool json, probabilities, pretokenized;
    int format;
    int64_t threads;
    int64_t beam, n_best, longest; /* 0 */
    double length_penalty;         /* -1 */
    bool alignment;
    const char *prompt;          /* NULL */
    int64_t tokens, top_k, seed; /* -1 */
    double temperature;          /* -1 */
} predict_arguments;

typedef struct predictor {
    attn_context *context;
    attn_model *model;
    attn_reader_options options;
    answers how;
    int flags;
    attn_search_options search; /* seq2seq */
    sequences sequences;
    continuation continuation; /* lm */
    const char *name;          /* of the input, in errors */
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

static attn_status answer_sequences(predictor *with, const attn_dataset *dataset) {
    attn_answers *answered = NULL;
    attn_status status = attn_model_generate(with->model, dataset, &with->search, &answered);
    if (status != ATTN_OK) return status;
    sequences_print(&with->sequences, dataset, answered);
    attn_answers_destroy(answered);
    return ATTN_OK;
}

static attn_status continue_lines(predictor *with, const attn_dataset *dataset) {
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < attn_dataset_examples(dataset) && status == ATTN_OK && !ferror(stdout); e++)
        status = continuation_print(&with->continuation, attn_dataset_token(dataset, e, 0));
    return status;
}

/* lines: the dataset's own bytes, NULL if they are not at hand. */
static attn_status answer_dataset(predictor *with, const attn_dataset *dataset, const char *lines,
                                  size_t length) {
    attn_prediction *prediction = NULL;
    if (attn_model_generates(with->model)) return answer_sequences(with, dataset);
    if (attn_model_continues(with->model)) return continue_lines(with, dataset);
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

/* *printed: whether some answers may be out, though not all are. */
static attn_status answer(predictor *with, const char *bytes, size_t length, int64_t line, bool *printed) {
    attn_dataset *dataset = NULL;
    *printed = false;
    attn_status status =
        attn_dataset_parse(with->context, with->name, line, bytes, length, &with->options, &dataset);
    if (status != ATTN_OK) return status;
    *printed = attn_model_continues(with->model); /* line by line */
    status = answer_dataset(with, dataset, bytes, length);
    attn_dataset_destroy(dataset);
    return status;
}

/* The bytes of the first half of the lines, or examples, of a piece; 0 if it is one. */
static size_t half(const input *from, const char *bytes, size_t length) {
    size_t at = 0, first = 0;
    while (at < length / 2) {
        first = input_first(from, bytes + at, length - at);
        at += first;
    }
    return at < length ? at : at - first;
}

/* What stands before a line that cannot be read is answered, in parts as large as can be. */
static attn_status answer_up_to_error(predictor *with, const input *from, const char *bytes, size_t length,
                                      int64_t line) {
    bool printed;
    attn_status status = answer(with, bytes, length, line, &printed);
    size_t first = status == ATTN_INVALID_ARGUMENT && !printed ? half(from, bytes, length) : 0;
    if (first == 0) return status;
    status = answer_up_to_error(with, from, bytes, first, line);
    if (status != ATTN_OK) return status;
    for (size_t i = 0; i < first; i++) line += bytes[i] == '\n';
    return answer_up_to_error(with, from, bytes + first, length - first, line);
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
    bool printed;
    if (attn_model_generates(with->model)) from->piece = SEARCH_PIECE;
    if (with->options.format == ATTN_FORMAT_AUTO) with->options.format = find_format(with, from);
    attn_format format = with->options.format;
    input_set_blocks(from, format == ATTN_FORMAT_CONLLU || format == ATTN_FORMAT_COLUMNS);
    while (status == ATTN_OK && input_next(from, format == ATTN_FORMAT_TABLE, &bytes, &length, &line)) {
        status = format == ATTN_FORMAT_TABLE ? answer(with, bytes, length, line, &printed)
                                             : answer_up_to_error(with, from, bytes, length, line);
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

/* ---- what is asked for ---- */

static void choose_search(predictor *with, const predict_arguments *given) {
    attn_search_options *search = &with->search;
    attn_search_options_init(search);
    if (given->n_best > 0) search->n_best = given->n_best;
    if (given->beam > 0 || search->beam < search->n_best)
        search->beam = given->beam > 0 ? given->beam : search->n_best;
    if (given->length_penalty >= 0) search->length_penalty = given->length_penalty;
    search->longest = given->longest;
    search->alignment = given->alignment;
    with->sequences =
        (sequences){.how = &with->how, .ranked = given->n_best > 0, .alignment = given->alignment};
}

static void choose_continuation(predictor *with, const predict_arguments *given) {
    continuation *how = &with->continuation;
    *how = (continuation){.model = with->model, .json = given->json, .one_line = given->prompt == NULL};
    how->terminal = isatty(STDOUT_FILENO) != 0;
    attn_sampling_options_init(&how->options);
    if (given->tokens >= 0) how->options.tokens = given->tokens;
    if (given->temperature >= 0) how->options.temperature = given->temperature;
    if (given->top_k >= 0) how->options.top_k = given->top_k;
    if (given->seed >= 0) how->options.seed = (uint64_t)given->seed;
}

/* Flags that this model cannot obey are an error, so that nobody waits for what they ask. */
static int check_flags(predictor *with, const predict_arguments *given) {
    enum { LABELS = 1, SEARCHES = 2, CONTINUES = 4 };
    static const char *const whose[] = {[LABELS] = "models that label texts or tokens",
                                        [SEARCHES] = "models of task seq2seq",
                                        [CONTINUES] = "models of task lm"};
    const struct {
        const char *flag;
        bool given;
        int of;
    } flags[] = {
        {"--probs", given->probabilities, LABELS},
        {"--pretokenized", given->pretokenized, LABELS},
        {"--beam", given->beam > 0, SEARCHES},
        {"--n-best", given->n_best > 0, SEARCHES},
        {"--length-penalty", given->length_penalty >= 0, SEARCHES},
        {"--longest", given->longest > 0, SEARCHES},
        {"--alignment", given->alignment, SEARCHES},
        {"--prompt", given->prompt != NULL, CONTINUES},
        {"--tokens", given->tokens >= 0, CONTINUES},
        {"--temperature", given->temperature >= 0, CONTINUES},
        {"--top-k", given->top_k >= 0, CONTINUES},
        {"--seed", given->seed >= 0, CONTINUES},
    };
    int kind = attn_model_generates(with->model)   ? SEARCHES
               : attn_model_continues(with->model) ? CONTINUES
                                                   : LABELS;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (flags[i].given && flags[i].of != kind)
            return opening_refuse("predict", flags[i].flag, whose[flags[i].of], with->model);
    }
    const char *problem = NULL;
    if (given->beam > 0 && given->n_best > given->beam)
        problem = "--n-best is more than --beam: of a beam of N there are at most N answers";
    if (given->prompt != NULL && given->positional[1] != NULL)
        problem = "--prompt or a file of prompts, not both";
    if (kind == CONTINUES && given->format != ATTN_FORMAT_AUTO && given->format != ATTN_FORMAT_LINES)
        problem = "--format: a model of task lm goes on with lines of text";
    if (problem == NULL) return EXIT_DONE;
    fprintf(stderr, "attn predict: %s\n", problem);
    return EXIT_MISUSED;
}

static int predict_prompt(predictor *with, const char *prompt) {
    attn_status status = continuation_print(&with->continuation, prompt);
    return status == ATTN_OK ? EXIT_DONE : opening_fail("predict", with->context);
}

static int predict_input(predictor *with, const char *path) {
    input from;
    int code;
    with->name = path != NULL ? path : "standard input";
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
    return code;
}

static int predict(predictor *with, const predict_arguments *given) {
    int code = check_flags(with, given);
    if (code != EXIT_DONE) return code;
    if (!answers_begin(&with->how, with->model, given->json, given->probabilities)) {
        fputs(out_of_memory, stderr);
        return EXIT_FAILED;
    }
    choose_search(with, given);
    choose_continuation(with, given);
    attn_model_reader_options(with->model, &with->options);
    bool labels = !attn_model_generates(with->model) && !attn_model_continues(with->model);
    if (labels || given->format != ATTN_FORMAT_AUTO) with->options.format = (attn_format)given->format;
    with->options.labelled = 0;
    with->flags = (given->probabilities ? ATTN_PREDICT_PROBABILITIES : 0) |
                  (given->pretokenized ? ATTN_PREDICT_PRETOKENIZED : 0);
    code = given->prompt != NULL ? predict_prompt(with, given->prompt)
                                 : predict_input(with, given->positional[1]);
    answers_end(&with->how);
    return code;
}

static const char about[] =
    "Reads texts, one a line, from FILE or standard input, and prints what the model\n"
    "says.\n\n"
    "  tags      a line of word TAB tag for each word, a blank line after each text;\n"
    "            --probs adds the tag's probability\n"
    "  words     (scheme bmes) with spaces between them, one line a text; --probs:\n"
    "            as tags, character by character\n"
    "  class     the label; --probs: all of them as label=0.93, likeliest first\n"
    "  labels    those with a probability of at least 0.5; --probs as above\n"
    "  number    the number\n"
    "  seq2seq   the likeliest answer, one line a text; --n-best N: up to N lines of\n"
    "            rank TAB score TAB answer, the first being 1; --alignment adds a\n"
    "            column like 0-0 1-1 3-2: unit 3 of the source is what symbol 2 of\n"
    "            the answer looks at most, both counted from 0\n"
    "  lm        the --prompt and what follows it, as it comes. Without it every line\n"
    "            is a prompt and a line comes out for it, line ends printed as \\n\n\n"
    "A model with several outputs prints a column each. CoNLL-U comes out as CoNLL-U\n"
    "with the columns filled (--probs: Prob=0.93 in MISC), all else as it was. Labels\n"
    "and targets in the input are not looked at. What is typed or piped is answered\n"
    "as it comes.\n";

int command_predict(int count, char **arguments) {
    predict_arguments given = {
        .length_penalty = -1, .tokens = -1, .top_k = -1, .seed = -1, .temperature = -1};
    const argument_flag flags[] = {
        argument_switch("probs", &given.probabilities, "labels: probabilities too"),
        argument_switch("json", &given.json, "one JSON object a text"),
        argument_switch("pretokenized", &given.pretokenized, "labels: words are what stands between spaces"),
        argument_choice("format", &given.format, "F", NULL, opening_formats,
                        "lines, conllu, columns, table, fasttext or pairs"),
        argument_integer("beam", &given.beam, "N", NULL, 1, 1024,
                         "seq2seq: beginnings kept; 1 is greedy (default 4)"),
        argument_integer("n-best", &given.n_best, "N", NULL, 1, 1024, "seq2seq: answers a text, with scores"),
        argument_number("length-penalty", &given.length_penalty, "A", NULL, 0, 10,
                        "seq2seq: scores / length^A (default 1)"),
        argument_integer("longest", &given.longest, "N", NULL, 1, 1000000,
                         "seq2seq: symbols of an answer (default: the model's)"),
        argument_switch("alignment", &given.alignment, "seq2seq: what each symbol looks at"),
        argument_text("prompt", &given.prompt, "TEXT", "lm: what to go on with"),
        argument_integer("tokens", &given.tokens, "N", NULL, 0, 1000000000, "lm: units to add (default 200)"),
        argument_number("temperature", &given.temperature, "T", NULL, 0, 1000,
                        "lm: above 1 bolder, 0 the likeliest (default 1)"),
        argument_integer("top-k", &given.top_k, "K", NULL, 0, 1000000000,
                         "lm: only the K likeliest; 0: all (default 0)"),
        argument_integer("seed", &given.seed, "N", NULL, 0, INT64_MAX,
                         "lm: another number, another text (default 1)"),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "0: all cores"),
    };
    argument_list list = {
        .command = "predict",
        .usage = "MODEL [FILE] [flags]",
        .about = about,
        .examples = "  attn predict pos.safetensors < sentences.txt\n"
                    "  attn predict pos.safetensors test.conllu > tagged.conllu\n"
                    "  echo \"A fine film.\" | attn predict senti.safetensors --probs\n"
                    "  attn predict ende.safetensors test.en --beam 8 > test.de\n"
                    "  echo attention | attn predict g2p.safetensors --n-best 5\n"
                    "  attn predict book.safetensors --prompt \"It was \" --temperature 0.8 --seed 7\n",
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
