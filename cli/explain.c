/* explain.c: the command `attn explain`: what a model's answer looks at; or one attention, every step of it;
 * or the vectors of positions.
 */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "steps.h"

enum { MODEL, FIRST_INPUT };

static int misused(const char *text) {
    fprintf(stderr, "attn explain: %s\n", text);
    return EXIT_MISUSED;
}

static int explain_nothing(const explain_request *given) {
    if (given->count > 0)
        arguments_complain(
            "explain", given->steps ? "no text given: attn explain --steps " : "no text given: attn explain ",
            given->positional[MODEL], " TEXT", NULL);
    fputs("attn explain draws the attention of a prediction, or shows one attention step by\n"
          "step: five words with every number.\n\n"
          "  attn explain MODEL \"text\"\n"
          "  attn explain MODEL file -o looks.html\n"
          "  attn explain --steps\n"
          "  attn explain --positions\n",
          stderr);
    return EXIT_MISUSED;
}

/* ---- positions ---- */

static int write_positions(const explain_request *given, attn_context *context, const attn_model *model) {
    attn_drawing_options options;
    char *bytes = NULL;
    size_t length;
    const char *path = given->files[0] != NULL ? given->files[0] : "positions.svg";
    attn_drawing_options_init(&options);
    options.format = (attn_drawing_format)explain_format_of(path);
    options.dark = given->dark;
    options.title = given->title;
    options.layer = given->layer - 1; /* relative positions are learned layer by layer */
    if (attn_positions_write(context, model, given->length, given->columns, &options, &bytes, &length) !=
        ATTN_OK)
        return opening_fail("explain", context);
    int code = explain_write_file(path, bytes, length);
    attn_explain_release(context, bytes);
    if (code == EXIT_DONE && given->files[0] == NULL) printf("%s\n", path);
    return code;
}

static int explain_positions(explain_request *given) {
    attn_context *context = NULL;
    attn_model *model = NULL;
    attn_context_options options;
    const char *path = given->files[0] != NULL ? given->files[0] : "positions.svg";
    if (given->count > 1)
        return misused("--positions takes a model, or nothing: attn explain --positions [MODEL]");
    if (given->files[0] != NULL && given->files[1] != NULL)
        return misused("--positions writes one file: give -o once");
    if (explain_format_of(path) == ATTN_DRAWING_HTML)
        return misused("--positions writes .svg, .png, .tsv or .json");
    int code = explain_check_file(path, given->force);
    if (code != EXIT_DONE) return code;
    if (given->count == 1) {
        if (!opening_model("explain", given->positional[MODEL], given->threads, &context, &model))
            return EXIT_FAILED;
    } else {
        attn_context_options_init(&options);
        if (attn_context_create(&options, &context) != ATTN_OK) {
            arguments_complain("explain", "", attn_last_create_error(), "", NULL);
            return EXIT_FAILED;
        }
    }
    code = write_positions(given, context, model);
    opening_close(context, model);
    return code;
}

/* ---- what goes together ---- */

static int check_files(const explain_request *given) {
    for (int i = 0; given->files[i] != NULL; i++) {
        const char *path = given->files[i];
        int code = explain_check_file(path, given->force);
        if (code != EXIT_DONE) return code;
        int format = explain_format_of(path);
        for (int before = 0; before < i; before++)
            if (strcmp(given->files[before], path) == 0) {
                arguments_complain("explain", "-o ", path, " is given twice", NULL);
                return EXIT_MISUSED;
            }
        if (format < 0) {
            arguments_complain("explain", "-o ", path,
                               ": its ending selects the format: .svg, .png, .html, .tsv or .json", NULL);
            return EXIT_MISUSED;
        }
        if (given->steps && (format != ATTN_DRAWING_HTML || i > 0))
            return misused("--steps prints text, or writes one page: -o steps.html");
    }
    return EXIT_DONE;
}

/* Whether one of the files is a drawing. */
static bool draws(const explain_request *given) {
    bool found = given->positions;
    for (int i = 0; given->files[i] != NULL; i++) {
        int format = explain_format_of(given->files[i]);
        found |= format == ATTN_DRAWING_SVG || format == ATTN_DRAWING_PNG;
    }
    return found;
}

/* Flags that would be read and then do nothing. */
static int check_idle(const explain_request *given) {
    if (given->steps && (given->grid || given->matrix || given->top > 0 || given->label != NULL ||
                         given->view != ATTN_VIEW_WEIGHTS))
        return misused("--steps shows one attention: leave out --view, --top, --label, --grid and --matrix");
    if ((given->grid || given->dark) && !given->steps && !draws(given))
        return misused("--grid and --dark are for drawings: -o x.svg or x.png");
    if (given->grid && given->head > 0) return misused("--grid draws all heads: leave out --head");
    return EXIT_DONE;
}

static int check_request(const explain_request *given, const step_options *built_in) {
    bool model = given->count > 0;
    if ((built_in->scale > 0 || built_in->causal || built_in->window >= 0) && (!given->steps || model))
        return misused("--scale, --causal and --window belong to --steps without a model");
    if (!given->positions && (given->columns > 0 || given->length > 0))
        return misused("--width and --length need --positions");
    if (given->positions && given->steps) return misused("--steps or --positions, not both");
    if (given->json && (given->steps || given->positions || given->files[0] != NULL))
        return misused("--json prints the explanation of a model; for a file: -o x.json");
    if (given->view == ATTN_VIEW_ROLLOUT && given->head > 0)
        return misused("--view rollout is over all heads: leave out --head");
    if (given->view == ATTN_VIEW_ROLLOUT && given->part > ATTN_MAP_DECODER + 1)
        return misused("--view rollout needs --part encoder or decoder");
    if (given->example > 0 && given->id != NULL) return misused("--example or --id, not both");
    size_t inputs = (given->count > 0 ? given->count - 1 : 0) + (given->file != NULL);
    if (given->files[0] != NULL && inputs > 1) return misused("-o is for one example: give one INPUT");
    int code = check_idle(given);
    return code != EXIT_DONE ? code : check_files(given);
}

static int explain_built_in(const explain_request *given, const step_options *options) {
    steps shown;
    if (given->files[0] != NULL)
        return misused("-o with --steps is for a model: attn explain --steps MODEL INPUT");
    if (!steps_compute(options, &shown)) return EXIT_FAILED;
    steps_print(options, &shown, terminal_color_of_output((terminal_choice)given->color));
    return EXIT_DONE;
}

static int explain_request_of(explain_request *given, const step_options *built_in) {
    int code = check_request(given, built_in);
    if (code != EXIT_DONE) return code;
    if (given->positions) return explain_positions(given);
    if (given->steps && given->count == 0 && given->file == NULL) return explain_built_in(given, built_in);
    if (given->count == 0 || (given->count <= FIRST_INPUT && given->file == NULL))
        return explain_nothing(given);
    return explain_run(given);
}

/* ---- flags ---- */

static const char *const views[] = {"weights", "rollout", "gradient", NULL};
static const char *const parts[] = {"auto", "encoder", "decoder", "source", "pool", NULL};

static const char about[] =
    "Shows the attention weights and contributions of a prediction. INPUT is a text,\n"
    "or, if the model reads something else, a file: a recording, a picture, a folder\n"
    "with a graph; molecules also as SMILES. - reads the lines of standard input.\n\n"
    "The terminal shows the prediction, then the attention of each row to each\n"
    "column: by default of the last layer, the mean of its heads; for a predicted\n"
    "text the attention of its symbols to the input. Below are the contributions\n"
    "(gradient x input): how each row changed the explained output. Models without\n"
    "attention have only these. Attention weights say where numbers flow, not why a\n"
    "prediction is what it is.\n\n"
    "-o writes a drawing (.svg, .png), a page to explore (.html) or every number\n"
    "(.tsv, .json).\n\n"
    "--steps prints one self-attention step by step: the words as vectors, their\n"
    "queries, keys and values, and word by word the scores, the softmax weights and\n"
    "the weighted sum. With a model it shows one --row of its INPUT, without one a\n"
    "built-in sentence: 看 小猫 它 好 可爱 (look, the kitten, it is so cute). --scale,\n"
    "--causal and --window apply to that one.\n";

static const char examples[] =
    "  attn explain pos.safetensors \"I saw a saw\"\n"
    "  attn explain pos.safetensors \"I saw a saw\" --layer 1 --head 2 --top 3\n"
    "  attn explain g2p.safetensors attention -o looks.html -o looks.svg\n"
    "  attn explain cora.safetensors cora/ --row 1358\n"
    "  attn explain tox.safetensors \"c1ccccc1O\" -o phenol.svg\n"
    "  attn explain pos.safetensors --file test.conllu --example 7\n"
    "  attn explain --steps\n"
    "  attn explain --steps --scale 1      without the division by √d_k\n"
    "  attn explain --steps pos.safetensors \"I saw a saw\" --row 4 -o steps.html\n"
    "  attn explain --positions -o positions.svg\n";

enum { OWN_FLAGS = 30 };

static int own_flags(explain_request *given, step_options *built_in, argument_flag *flags) {
    const int64_t most = INT64_C(1) << 40;
    const argument_flag own[] = {
        argument_integer("layer", &given->layer, "N", NULL, 1, most,
                         "the layer, counted from 1 (default: the last)"),
        argument_integer("head", &given->head, "N", NULL, 1, most,
                         "the head, counted from 1 (default: the mean of all)"),
        argument_choice("part", &given->part, NULL, "auto", parts,
                        "source: the decoder's attention to its input; pool: attention pooling of the rows"),
        argument_choice("view", &given->view, NULL, "weights", views,
                        "rollout: over all layers; gradient: weight x gradient"),
        argument_integer("top", &given->top, "K", NULL, 1, 100,
                         "the K highest weights of each row, instead of a map"),
        argument_text("row", &given->row, "R",
                      "number or name of a row: its prediction, its weights, its steps"),
        argument_text("label", &given->label, "NAME",
                      "contributions to this label (default: the predicted one)"),
        argument_text("output", &given->output, "NAME",
                      "the output to explain, of a model with several target columns"),
        argument_integer("member", &given->member, "N", NULL, 1, 1000000,
                         "one network of several (default: the mean of all)"),
        argument_text("file", &given->file, "FILE", "examples in any format that the model reads"),
        argument_text("format", &given->format, "F",
                      "format of the file (default: from its name and content)"),
        argument_integer("example", &given->example, "N", NULL, 1, most,
                         "number of the example in a file or text, counted from 1"),
        argument_text("id", &given->id, "NAME", "the example by its identifier in the file"),
        argument_integer("piece", &given->piece, "N", NULL, 1, most,
                         "number of a piece, if the example is longer than the model processes at once"),
        argument_letter(argument_repeated("out", given->files, EXPLAIN_FILES, "FILE",
                                          ".svg, .png, .html, .tsv or .json; may be given again"),
                        'o'),
        argument_switch("force", &given->force, "replace existing files"),
        argument_switch("json", &given->json, "print every number as one JSON object"),
        argument_switch("grid", &given->grid, ".svg, .png: all layers and heads"),
        argument_switch("matrix", &given->matrix, "draw the matrix, also for graphs, molecules and pictures"),
        argument_text("title", &given->title, "TEXT", "title of the drawing (default: the prediction)"),
        argument_switch("dark", &given->dark, ".svg, .png: light on dark"),
        argument_integer("seed", &given->seed, "N", NULL, 0, INT64_MAX,
                         "seed of the layout of a graph (default 1)"),
        argument_switch("steps", &given->steps, "one attention, every step with its numbers"),
        argument_number("scale", &built_in->scale, "S", NULL, 1e-3, 1e3,
                        "multiply scores by S, not by 1 / √d_k; 1: the plain dot product"),
        argument_switch("causal", &built_in->causal, "a word sees itself and the words before it"),
        argument_integer("window", &built_in->window, "R", NULL, 0, 1000000,
                         "a word sees the words at most R away"),
        argument_switch("positions", &given->positions, "draw position vectors, of a model or sinusoidal"),
        argument_integer("width", &given->columns, "N", NULL, 1, 4096, "--positions: width of the vectors"),
        argument_integer("length", &given->length, "N", NULL, 1, 4096, "--positions: number of positions"),
        argument_choice("color", &given->color, NULL, "auto", terminal_color_choices,
                        "colour in the terminal"),
    };
    memcpy(flags, own, sizeof own);
    return (int)(sizeof own / sizeof own[0]);
}

/* The settings of predictions that decide what there is to explain. */
static int setting_flags(explain_request *given, argument_flag *flags) {
    static const char *const wanted[] = {"beam", "length-penalty", "longest", "pretokenized"};
    argument_flag all[OPENING_SETTINGS];
    int count = opening_setting_flags(&given->settings, all), kept = 0;
    for (int i = 0; i < count; i++)
        for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++)
            if (strcmp(all[i].name, wanted[w]) == 0) flags[kept++] = all[i];
    return kept;
}

int command_explain(int count, char **arguments) {
    explain_request given = {.color = TERMINAL_AUTO, .seed = -1};
    step_options built_in = {.window = -1};
    argument_flag flags[OWN_FLAGS + 1 + OPENING_SETTINGS];
    int used = own_flags(&given, &built_in, flags);
    used += setting_flags(&given, flags + used);
    flags[used++] =
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "number of threads; 0: all cores");
    argument_list list = {
        .command = "explain",
        .usage = "MODEL INPUT ... | --steps [MODEL INPUT] | --positions [MODEL]",
        .about = about,
        .examples = examples,
        .first = "out layer head top row view label file example steps causal window scale positions threads",
        .flags = flags,
        .flag_count = (size_t)used,
        .positional = given.positional,
        .positional_limit = EXPLAIN_INPUTS + 1,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    given.count = list.positional_count;
    return explain_request_of(&given, &built_in);
}
