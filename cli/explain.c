/* explain.c: the command `attn explain`: what a model's answer looks at, or one attention, every step of it.
 */
#define _POSIX_C_SOURCE 200809L /* getline */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "alignment.h"
#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "steps.h"
#include "terminal.h"

enum { MODEL, FIRST_TEXT, POSITIONALS = 256 };

typedef struct explain_arguments {
    const char *positional[POSITIONALS];
    size_t count; /* of them */
    bool steps;
    int color;
    step_options options;
    int64_t beam;
} explain_arguments;

static int explain_nothing(const explain_arguments *given) {
    if (given->count > 0 && given->steps)
        arguments_complain("explain", "--steps shows the built-in example, and takes no ",
                           given->positional[MODEL], "", NULL);
    else if (given->count > 0)
        arguments_complain("explain", "no text given: attn explain ", given->positional[MODEL], " TEXT",
                           NULL);
    fputs("attn explain shows what the answer of a model looks at, or one attention step by\n"
          "step: five words with every number of their attention.\n\n"
          "  attn explain MODEL \"text\"\n"
          "  attn explain --steps\n",
          stderr);
    return EXIT_MISUSED;
}

/* ---- a model ---- */

/* What a text says, or, where the input is no text, what stands in the file of that name. */
static attn_status read_source(attn_predictor *predictor, const attn_model *model, const char *text,
                               attn_dataset **dataset) {
    attn_context *context = attn_predictor_context(predictor);
    attn_reader_options reader;
    attn_model_reader_options(model, &reader);
    reader.labelled = 0;
    if (attn_input_find_format(attn_model_input(model), "lines") < 0)
        return attn_dataset_read(context, text, &reader, dataset);
    if (*text == '\0') text = "\n"; /* an empty text, not an empty file */
    return attn_dataset_parse(context, "the text", 1, text, strlen(text), &reader, dataset);
}

/* What an example is called above its answer. */
static const char *title_of(const attn_dataset *dataset, int64_t example, const char *given) {
    const char *name = attn_dataset_row_name(dataset, example, 0), *id = attn_dataset_id(dataset, example);
    if (name != NULL) return name;
    return id != NULL && *id != '\0' ? id : given;
}

/* One text given as an argument. */
static attn_status explain_text(attn_predictor *predictor, const attn_model *model,
                                const explain_arguments *given, const char *text) {
    attn_search_options search;
    attn_dataset *dataset = NULL;
    attn_prediction *prediction = NULL;
    terminal_color color = terminal_color_of_output((terminal_choice)given->color);
    attn_search_options_init(&search);
    search.beam = given->beam;
    search.alignment = 1;
    attn_status status = read_source(predictor, model, text, &dataset);
    if (status == ATTN_OK) status = attn_predictor_search(predictor, dataset, &search, &prediction);
    for (int64_t e = 0; status == ATTN_OK && e < attn_prediction_examples(prediction); e++)
        alignment_print(title_of(dataset, e, text), prediction, e, color, terminal_width());
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(dataset);
    return status;
}

static int explain_line(attn_predictor *predictor, const attn_model *model, const explain_arguments *given,
                        const char *text) {
    if (explain_text(predictor, model, given, text) == ATTN_OK) return EXIT_DONE;
    fflush(stdout);
    return opening_fail("explain", attn_predictor_context(predictor));
}

/* The texts of standard input, one a line, as they come. */
static int explain_lines(attn_predictor *predictor, const attn_model *model, const explain_arguments *given) {
    char *line = NULL;
    size_t room = 0;
    int code = EXIT_DONE;
    for (ssize_t length; code == EXIT_DONE && (length = getline(&line, &room, stdin)) >= 0;) {
        if (length > 0 && line[length - 1] == '\n') line[length - 1] = '\0';
        code = explain_line(predictor, model, given, line);
    }
    if (code == EXIT_DONE && ferror(stdin)) {
        fprintf(stderr, "attn explain: cannot read standard input: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    free(line);
    return code;
}

static int explain_texts(attn_predictor *predictor, const attn_model *model, const explain_arguments *given) {
    if (!attn_predictor_has(predictor, "beam")) {
        fprintf(
            stderr,
            "attn explain: this version explains models that answer with sequences, and the built-in example "
            "(attn explain --steps); this model is of task %s\n",
            attn_model_task(model));
        return EXIT_MISUSED;
    }
    for (size_t i = FIRST_TEXT; i < given->count; i++) {
        int code = strcmp(given->positional[i], "-") == 0
                       ? explain_lines(predictor, model, given)
                       : explain_line(predictor, model, given, given->positional[i]);
        if (code != EXIT_DONE) return code;
    }
    alignment_legend(terminal_color_of_output((terminal_choice)given->color));
    return EXIT_DONE;
}

static int explain_model(const explain_arguments *given) {
    attn_context *context;
    attn_model *model;
    attn_predictor *predictor = NULL;
    if (!opening_model("explain", given->positional[MODEL], 0, &context, &model)) return EXIT_FAILED;
    int code = attn_predictor_create(model, context, &predictor) == ATTN_OK
                   ? explain_texts(predictor, model, given)
                   : opening_fail("explain", context);
    attn_predictor_destroy(predictor);
    opening_close(context, model);
    return code;
}

/* ---- the whole ---- */

int command_explain(int count, char **arguments) {
    explain_arguments given = {.color = TERMINAL_AUTO, .options.window = -1};
    const argument_flag flags[] = {
        argument_switch("steps", &given.steps, "the built-in example, every step with its numbers"),
        argument_number("scale", &given.options.scale, "S", NULL, 1e-3, 1e3,
                        "times S instead of ÷ √d_k; 1: the plain dot product"),
        argument_switch("causal", &given.options.causal, "a word sees itself and the words before it"),
        argument_integer("window", &given.options.window, "R", NULL, 0, 1000000,
                         "a word sees the words at most R away"),
        argument_integer("beam", &given.beam, "N", "4", 1, 1024, "how the model's answer is searched for"),
        argument_choice("color", &given.color, NULL, "auto", terminal_color_choices,
                        "colour in the heat map"),
    };
    argument_list list = {
        .command = "explain",
        .usage = "MODEL \"text\" ... | --steps [flags]",
        .about = "With a model that answers with sequences: the answer to each text and a heat map\n"
                 "of what its symbols (rows) look at in the text (columns): the attention of the\n"
                 "decoder's last block, the mean of its heads. - are the lines of standard input.\n"
                 "Where the input is no text, a file is named instead: a recording, a picture.\n\n"
                 "--steps prints one self-attention step by step: the words as vectors, their\n"
                 "queries, keys and values, and word by word the scores, the softmax weights and\n"
                 "the weighted sum; then the weights as a heat map. The sentence is built in:\n"
                 "看 小猫 它 好 可爱 (look, the kitten, it is so cute). --scale, --causal and\n"
                 "--window belong to it.\n",
        .examples = "  attn explain g2p.safetensors attention\n"
                    "  attn explain --steps\n"
                    "  attn explain --steps --scale 1      without the division by √d_k\n"
                    "  attn explain --steps --causal       no word looks ahead\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = given.positional,
        .positional_limit = POSITIONALS,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    given.count = list.positional_count;
    if (given.steps ? given.count > 0 : given.count <= FIRST_TEXT) return explain_nothing(&given);
    if (!given.steps && (given.options.scale > 0 || given.options.causal || given.options.window >= 0)) {
        fputs("attn explain: --scale, --causal and --window belong to --steps\n", stderr);
        return EXIT_MISUSED;
    }
    if (!given.steps) return explain_model(&given);
    steps shown;
    if (!steps_compute(&given.options, &shown)) return EXIT_FAILED;
    steps_print(&given.options, &shown, terminal_color_of_output((terminal_choice)given.color));
    return EXIT_DONE;
}
