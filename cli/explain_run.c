/* explain_run.c: opens a model, reads what is to be explained, and shows or writes it (see explain.h). */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "explain.h"
#include "text.h"

enum { MODEL, FIRST_INPUT, SHOWN = 5 /* examples of a file, unless one is chosen */ };

typedef struct run {
    const explain_request *request;
    explain_source source;
    attn_explain_options options;
    explain_choice choice;
    explain_names names;
    explain_screen screen;
    bool told; /* by which rule raw text is split */
} run;

static bool to_files(const run *now) { return now->request->files[0] != NULL || now->request->json; }

static int fail(const run *now) {
    fflush(stdout);
    return opening_fail("explain", now->source.context);
}

/* ---- labels, outputs, members ---- */

/* Which of `count` names is `given`; -1, when it has said what may have been meant. */
static int find_name(const char *flag, const char *given, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], given) == 0) return (int)i;
    fprintf(stderr, "attn explain: --%s ", flag);
    text_print_error(stderr, given);
    fputs(count > 0 ? ": there is none; the model has " : ": this model has none", stderr);
    for (size_t i = 0; i < count && i < 8; i++) {
        if (i > 0) fputs(", ", stderr);
        text_print_cut(stderr, names[i], 40);
    }
    if (count > 8) fputs(", … (attn info lists them)", stderr);
    const char *nearest = arguments_nearest(given, names, count);
    if (nearest != NULL) {
        fputs("; did you mean ", stderr);
        text_print_error(stderr, nearest);
        fputc('?', stderr);
    }
    fputc('\n', stderr);
    return -1;
}

static bool find_output(run *now) {
    enum { MOST = 64 };
    const char *names[MOST];
    int outputs = attn_model_outputs(now->source.model);
    if (now->request->output == NULL) return true;
    for (int i = 0; i < outputs && i < MOST; i++) names[i] = attn_model_output_name(now->source.model, i);
    now->options.output =
        find_name("output", now->request->output, names, (size_t)(outputs < MOST ? outputs : MOST));
    return now->options.output >= 0;
}

static bool find_label(run *now) {
    const attn_model *model = now->source.model;
    int64_t count = attn_model_labels(model, now->options.output);
    now->options.label = now->request->label;
    if (now->request->label == NULL || count == 0) return true; /* the library knows what else there is */
    const char **names = malloc((size_t)count * sizeof *names);
    if (names == NULL) {
        fputs("attn explain: out of memory\n", stderr);
        return false;
    }
    for (int64_t i = 0; i < count; i++) names[i] = attn_model_label(model, now->options.output, i);
    bool found = find_name("label", now->request->label, names, (size_t)count) >= 0;
    free(names);
    return found;
}

static bool find_member(run *now) {
    int networks = attn_model_networks(now->source.model);
    if (now->request->member > networks) {
        fprintf(stderr, "attn explain: --member %" PRId64 ": the model has %d network%s\n",
                now->request->member, networks, networks == 1 ? "" : "s");
        return false;
    }
    now->options.member = (int)now->request->member - 1;
    return true;
}

/* ---- one example ---- */

/* The row that was requested, and whether the prediction of it is what contributions are to. */
static bool choose_row(run *now, attn_explanation *first, bool *again) {
    bool none;
    explain_choice choice = now->choice;
    *again = false;
    if (explain_find(first, &choice, &none) == NULL && !none) return false;
    bool written = choice.part == ATTN_MAP_SOURCE || choice.part == ATTN_MAP_DECODER;
    now->choice.row = explain_find_row(first, written, now->request->row);
    if (now->choice.row < 0) return false;
    bool each = attn_explanation_answers(first) == attn_explanation_rows(first) &&
                attn_model_per_token(now->source.model);
    now->options.row = written || each ? now->choice.row : -1;
    if (each && !written) now->options.row += attn_explanation_first_row(first);
    *again = now->options.row >= 0;
    return true;
}

/* The explanation of the one example of a dataset: NULL, and what the command returns. */
static attn_explanation *explain(run *now, const attn_dataset *dataset, int *code) {
    attn_explanation *made = NULL, *first = NULL;
    bool again = true;
    now->options.row = now->choice.row = -1;
    if (now->request->row != NULL) {
        attn_explain_options options = now->options;
        options.gradients = options.details = 0;
        if (attn_predictor_explain(now->source.predictor, dataset, &options, &first) != ATTN_OK) {
            *code = fail(now);
            return NULL;
        }
        bool found = choose_row(now, first, &again);
        attn_explanation_destroy(first);
        *code = EXIT_MISUSED;
        if (!found) return NULL;
    }
    if (attn_predictor_explain(now->source.predictor, dataset, &now->options, &made) == ATTN_OK) return made;
    *code = fail(now);
    return NULL;
}

/* A view of all layers has no heads; it is of rows that look at each other. */
static void choose_part(const attn_explanation *explanation, explain_choice *choice) {
    if (choice->view != ATTN_VIEW_ROLLOUT || choice->part >= 0) return;
    if (attn_explanation_layers(explanation, ATTN_MAP_ENCODER) > 0)
        choice->part = ATTN_MAP_ENCODER;
    else if (attn_explanation_layers(explanation, ATTN_MAP_DECODER) > 0)
        choice->part = ATTN_MAP_DECODER;
}

static int write_one(run *now, attn_explanation *explanation, const explain_choice *choice,
                     attn_drawing_format format, const char *path) {
    const explain_request *request = now->request;
    attn_drawing_options options;
    const char *bytes;
    size_t length;
    attn_drawing_options_init(&options);
    options.format = format;
    options.view = choice->view;
    options.part = choice->part;
    options.layer = choice->layer;
    options.head = choice->head;
    options.row = choice->part == ATTN_MAP_POOL ? -1 : choice->row; /* pooling has no row that looks */
    options.grid = request->grid;
    options.matrix = request->matrix;
    options.dark = request->dark;
    options.title = request->title;
    if (request->seed >= 0) options.seed = (uint64_t)request->seed;
    if (attn_explanation_write(explanation, &options, &bytes, &length) != ATTN_OK) return fail(now);
    if (path != NULL) return explain_write_file(path, bytes, length);
    fwrite(bytes, 1, length, stdout);
    return EXIT_DONE;
}

static int write_all(run *now, attn_explanation *explanation) {
    bool none;
    explain_choice choice = now->choice;
    if (explain_find(explanation, &choice, &none) == NULL && !none) return EXIT_MISUSED;
    if (now->request->json) return write_one(now, explanation, &choice, ATTN_DRAWING_JSON, NULL);
    for (int i = 0; now->request->files[i] != NULL; i++) {
        const char *path = now->request->files[i];
        int code = write_one(now, explanation, &choice, (attn_drawing_format)explain_format_of(path), path);
        if (code != EXIT_DONE) return code;
    }
    explain_view view = {.explanation = explanation, .choice = choice};
    explain_show_answer(&view, &now->names, &now->screen);
    return EXIT_DONE;
}

/* The map of the first layer that has attention of the same part. */
static const attn_map *first_of(const attn_explanation *explanation, const attn_map *map) {
    for (int64_t m = 0; m < attn_explanation_maps(explanation); m++) {
        const attn_map *other = attn_explanation_map(explanation, m);
        if (other->part == map->part && other->layer < map->layer) map = other;
    }
    return map;
}

static int show_steps(run *now, attn_explanation *explanation) {
    const explain_request *request = now->request;
    attn_steps_options options;
    explain_choice choice = now->choice;
    const char *bytes;
    size_t length;
    bool none;
    const attn_map *map = explain_find(explanation, &choice, &none);
    if (map == NULL && none) fputs("attn explain: --steps: this model has no attention\n", stderr);
    if (map == NULL) return EXIT_MISUSED;
    if (now->choice.layer < 0) map = first_of(explanation, map);
    if (map->part == ATTN_MAP_POOL) {
        fputs("attn explain: --steps needs queries and keys, which pooling does not have; its weights: "
              "--part pool without --steps\n",
              stderr);
        return EXIT_MISUSED;
    }
    attn_steps_options_init(&options);
    options.part = choice.part;
    options.layer = map->layer;
    options.head = choice.head >= 0 ? choice.head : 0;
    options.row = choice.row >= 0 && choice.row < map->queries ? choice.row : 0;
    options.html = request->files[0] != NULL;
    options.width = now->screen.width;
    options.title = request->title;
    if (attn_explanation_steps(explanation, &options, &bytes, &length) != ATTN_OK) return fail(now);
    if (options.html) return explain_write_file(request->files[0], bytes, length);
    fwrite(bytes, 1, length, stdout);
    return EXIT_DONE;
}

static int show(run *now, attn_explanation *explanation) {
    explain_view view;
    bool made = explain_view_make(now->source.context, explanation, &now->choice, &view);
    if (made) explain_show(&view, &now->names, &now->screen);
    explain_view_free(&view);
    return made ? EXIT_DONE : EXIT_MISUSED;
}

/* A text without a word has a prediction, and nothing that it looks at. */
static int show_nothing(run *now, const attn_dataset *dataset) {
    attn_prediction *prediction;
    if (attn_predictor_predict(now->source.predictor, dataset, &prediction) != ATTN_OK) return fail(now);
    const char *answer = attn_prediction_text(prediction, 0, 0);
    if (answer == NULL) answer = attn_prediction_label(prediction, now->options.output, 0, 0);
    double number = attn_prediction_number(prediction, now->options.output, 0, 0);
    printf("(nothing) → ");
    if (answer == NULL && !isnan(number))
        printf("%.7g", number);
    else
        text_print_name(stdout, answer != NULL && *answer != '\0' ? answer : "(nothing)");
    puts("\n");
    attn_prediction_destroy(prediction);
    return EXIT_DONE;
}

/* number: of several; 0: there is but one. */
static int explain_example(run *now, const attn_dataset *dataset, const char *given, int64_t number) {
    char numbered[320];
    if (number > 0) snprintf(numbered, sizeof numbered, "%.250s, example %" PRId64, given, number);
    const char *rule = now->told ? NULL : attn_predictor_rule(now->source.predictor, dataset);
    if (rule != NULL) fprintf(stderr, "attn explain: note: %s\n", rule);
    now->told |= rule != NULL;
    now->names.title = explain_title(dataset, 0, number > 0 ? numbered : given);
    bool continues = attn_predictor_has(now->source.predictor, "tokens"); /* running text begins somewhere */
    bool empty = now->names.words && !continues && attn_dataset_rows(dataset, 0) == 1 &&
                 now->names.title != NULL && now->names.title[strspn(now->names.title, " \t")] == '\0';
    if (empty && !to_files(now) && !now->request->steps) return show_nothing(now, dataset);
    int code = EXIT_DONE;
    explain_choice kept = now->choice;
    attn_explanation *explanation = explain(now, dataset, &code);
    if (explanation == NULL) return code;
    choose_part(explanation, &now->choice);
    code = now->request->steps ? show_steps(now, explanation)
           : to_files(now)     ? write_all(now, explanation)
                               : show(now, explanation);
    now->choice = kept;
    attn_explanation_destroy(explanation);
    return code;
}

/* ---- the examples of an input ---- */

/* Examples first .. end - 1; false, when it has said why not. */
static bool choose_examples(run *now, const attn_dataset *dataset, const char *given, int64_t *first,
                            int64_t *end) {
    const explain_request *request = now->request;
    int64_t count = attn_dataset_examples(dataset);
    *first = 0;
    *end = count;
    if (request->example > count) {
        fprintf(stderr, "attn explain: --example %" PRId64 ": ", request->example);
        text_print(stderr, given);
        fprintf(stderr, " has %" PRId64 "\n", count);
        return false;
    }
    if (request->example > 0) *first = request->example - 1;
    if (request->id != NULL) {
        while (*first < count && strcmp(attn_dataset_id(dataset, *first), request->id) != 0) ++*first;
        if (*first == count) {
            arguments_complain("explain", "--id ", request->id, ": no example has this id", NULL);
            return false;
        }
    }
    int64_t most = to_files(now) || request->steps ? 1 : SHOWN;
    if (request->example > 0 || request->id != NULL) *end = *first + 1;
    if (*end - *first > most) {
        *end = *first + most;
        fprintf(stderr,
                "attn explain: note: the first %" PRId64 " of %" PRId64
                " examples; --example N chooses one\n",
                most, count);
    }
    return true;
}

/* What a text without a word is split into. */
static int explain_no_example(const run *now, const char *given) {
    if (!to_files(now) && !now->request->steps) {
        puts("(nothing) → (nothing)\n");
        return EXIT_DONE;
    }
    arguments_complain("explain", "", *given != '\0' ? given : "the text", " has nothing in it to explain",
                       NULL);
    return EXIT_FAILED;
}

/* The dataset is destroyed. */
static int explain_dataset(run *now, attn_dataset *dataset, const char *given) {
    int64_t first, end;
    if (attn_dataset_examples(dataset) == 0) {
        attn_dataset_destroy(dataset);
        return explain_no_example(now, given);
    }
    int code = choose_examples(now, dataset, given, &first, &end) ? EXIT_DONE : EXIT_MISUSED;
    for (int64_t e = first; code == EXIT_DONE && e < end; e++) {
        attn_dataset *one = NULL;
        bool several = attn_dataset_examples(dataset) > 1;
        if (several && attn_dataset_select(dataset, &e, 1, &one) != ATTN_OK)
            code = fail(now);
        else
            code = explain_example(now, several ? one : dataset, given, several ? e + 1 : 0);
        attn_dataset_destroy(one);
    }
    attn_dataset_destroy(dataset);
    return code;
}

static int explain_input(run *now, const char *input) {
    attn_dataset *dataset = NULL;
    if (*input == '\0' && !now->names.words) {
        fputs("attn explain: INPUT is empty\n", stderr);
        return EXIT_MISUSED;
    }
    if (explain_read_input(&now->source, input, &dataset) != ATTN_OK) return fail(now);
    return explain_dataset(now, dataset, input);
}

/* What is in the lines of standard input, one after another, as they come. */
static int explain_lines(run *now) {
    char *line = NULL;
    size_t room = 0;
    int code = EXIT_DONE;
    for (ssize_t length; code == EXIT_DONE && (length = getline(&line, &room, stdin)) >= 0;) {
        if (length > 0 && line[length - 1] == '\n') line[--length] = '\0';
        if (length > 0 && line[length - 1] == '\r') line[length - 1] = '\0';
        code = explain_input(now, line);
        fflush(stdout);
        if (now->request->files[0] != NULL) break; /* a file has one example */
    }
    if (code == EXIT_DONE && now->request->files[0] != NULL && getline(&line, &room, stdin) >= 0)
        fputs("attn explain: note: the first line of standard input; -o is for one example\n", stderr);
    if (code == EXIT_DONE && ferror(stdin)) {
        fprintf(stderr, "attn explain: cannot read standard input: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    free(line);
    return code;
}

static int explain_file(run *now, const char *path) {
    attn_dataset *dataset = NULL;
    int code = opening_take_input("explain", &path, 1);
    if (code != EXIT_DONE) return code;
    if (explain_read_file(&now->source, path, &dataset) != ATTN_OK) return fail(now);
    return explain_dataset(now, dataset, opening_name(path));
}

/* ---- the whole ---- */

static int explain_inputs(run *now) {
    const explain_request *request = now->request;
    int code = request->file != NULL ? explain_file(now, request->file) : EXIT_DONE;
    for (size_t i = FIRST_INPUT; i < request->count && code == EXIT_DONE; i++)
        code = opening_is_input(request->positional[i]) ? explain_lines(now)
                                                        : explain_input(now, request->positional[i]);
    return code;
}

/* What the flags mean for this model. */
static int prepare(run *now) {
    const explain_request *request = now->request;
    explain_source *source = &now->source;
    int code = opening_set("explain", &request->settings, source->predictor, source->model);
    if (code != EXIT_DONE) return code;
    attn_explain_options_init(&now->options);
    now->options.piece = request->piece > 0 ? request->piece - 1 : 0;
    now->options.details = request->steps;
    if (!find_output(now) || !find_label(now) || !find_member(now)) return EXIT_MISUSED;
    now->choice = (explain_choice){.view = (attn_view)request->view,
                                   .part = request->part - 1,
                                   .layer = request->layer - 1,
                                   .head = request->head - 1,
                                   .row = -1,
                                   .top = request->top,
                                   .matrix = request->matrix};
    attn_model_reader_options(source->model, &source->reader);
    source->reader.labelled = 0;
    if (request->format != NULL) {
        int format = opening_format("explain", source->reader.input, request->format);
        if (format < 0) return EXIT_MISUSED;
        source->reader.format = (attn_format)format;
    }
    now->names.words = explain_reads_texts(source->model);
    now->names.network = now->options.member + 1;
    now->names.networks = attn_model_networks(source->model);
    now->names.outputs = attn_model_outputs(source->model);
    now->names.output_number = now->options.output + 1;
    if (now->names.outputs > 1)
        now->names.output = attn_model_output_name(source->model, now->options.output);
    now->names.row = attn_input_row(attn_model_input(source->model));
    now->screen.color = terminal_color_of_output((terminal_choice)request->color);
    now->screen.width = terminal_width();
    return EXIT_DONE;
}

int explain_run(const explain_request *request) {
    attn_model *model;
    run now = {.request = request};
    if (!opening_model("explain", request->positional[MODEL], request->threads, &now.source.context, &model))
        return EXIT_FAILED;
    now.source.model = model;
    int code = attn_predictor_create(model, now.source.context, &now.source.predictor) == ATTN_OK
                   ? prepare(&now)
                   : fail(&now);
    if (code == EXIT_DONE) code = explain_inputs(&now);
    attn_predictor_destroy(now.source.predictor);
    opening_close(now.source.context, model);
    return code;
}
