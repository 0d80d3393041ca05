/* evaluate.c: the command `attn eval`: how right a model is on labelled data. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "text.h"

enum {
    CLASSES_SHOWN = 30,   /* in the table of classes, unless all are asked for */
    MATRIX_CLASSES = 12,  /* rows and columns of the confusion matrix */
    CONFUSIONS_SHOWN = 10 /* pairs that are taken for each other */
};

enum { MODEL, FILE_ONE, FILE_TWO, POSITIONALS };
typedef struct eval_arguments {
    const char *positional[POSITIONALS];
    bool json, confusion, per_class, skip_bad, lowercase;
    int format;
    const char *column, *text_column;
    int64_t beam;          /* 0: not given */
    double length_penalty; /* -1: not given */
    int64_t threads;
} eval_arguments;

/* A class by its number, with its support to sort by. */
typedef struct ranked_class {
    int64_t number, support, predicted;
} ranked_class;

static int by_support(const void *left, const void *right) {
    const ranked_class *a = left, *b = right;
    if (a->support != b->support) return a->support > b->support ? -1 : 1;
    if (a->predicted != b->predicted) return a->predicted > b->predicted ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The classes that occur in truth or answers, largest first; NULL without memory. */
static ranked_class *rank_classes(const attn_report *report, int output, int64_t *count) {
    int64_t all = attn_report_classes(report, output);
    ranked_class *ranked = malloc((size_t)(all > 0 ? all : 1) * sizeof *ranked);
    *count = 0;
    for (int64_t c = 0; ranked != NULL && c < all; c++) {
        attn_class_scores scores = attn_report_class_scores(report, output, c);
        if (scores.support == 0 && scores.predicted == 0) continue;
        ranked[(*count)++] = (ranked_class){c, scores.support, scores.predicted};
    }
    if (ranked != NULL) qsort(ranked, (size_t)*count, sizeof *ranked, by_support);
    return ranked;
}

static int widest(const attn_report *report, int output, const ranked_class *ranked, int64_t count) {
    int width = (int)strlen("label");
    for (int64_t i = 0; i < count; i++) {
        int one = text_width(attn_report_class(report, output, ranked[i].number));
        if (one > width) width = one;
    }
    return width;
}

static void print_classes(const attn_report *report, int output, const ranked_class *ranked, int64_t count,
                          bool all) {
    int64_t shown = all || count <= CLASSES_SHOWN ? count : CLASSES_SHOWN;
    int width = widest(report, output, ranked, shown);
    fputc('\n', stdout);
    text_print_left(stdout, "label", width);
    printf("  %9s %9s %9s  %9s %9s %9s\n", "support", "predicted", "right", "precision", "recall", "F1");
    for (int64_t i = 0; i < shown; i++) {
        attn_class_scores scores = attn_report_class_scores(report, output, ranked[i].number);
        text_print_left(stdout, attn_report_class(report, output, ranked[i].number), width);
        printf("  %9" PRId64 " %9" PRId64 " %9" PRId64 "  %9.4f %9.4f %9.4f\n", scores.support,
               scores.predicted, scores.right, scores.precision, scores.recall, scores.f1);
    }
    if (shown < count) printf("... and %" PRId64 " more: --per-class shows all\n", count - shown);
}

static void print_matrix(const attn_report *report, int output, const ranked_class *ranked, int64_t count) {
    enum { CELL = 8 };
    int64_t shown = count < MATRIX_CLASSES ? count : MATRIX_CLASSES;
    int width = widest(report, output, ranked, shown), narrow = 1;
    for (int64_t i = 0; i < shown; i++)
        if (text_width(attn_report_class(report, output, ranked[i].number)) >= CELL) narrow = 0;
    printf("\nconfusion: a row is what it is, a column what it was called%s\n", narrow ? "" : ", by number");
    printf("%*s", width + 5, "");
    for (int64_t i = 0; i < shown; i++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, i + 1);
        text_print_right(stdout, narrow ? attn_report_class(report, output, ranked[i].number) : number, CELL);
    }
    if (shown < count) printf("%*s", CELL, "others");
    fputc('\n', stdout);
    for (int64_t i = 0; i < shown; i++) {
        printf("%3" PRId64 "  ", i + 1);
        text_print_left(stdout, attn_report_class(report, output, ranked[i].number), width);
        int64_t others = ranked[i].support;
        for (int64_t j = 0; j < shown; j++) {
            int64_t times = attn_report_confusion(report, output, ranked[i].number, ranked[j].number);
            others -= times;
            if (times > 0)
                printf("%*" PRId64, CELL, times);
            else
                printf("%*s", CELL, ".");
        }
        if (shown < count) printf("%*" PRId64, CELL, others);
        fputc('\n', stdout);
    }
}

typedef struct mistake {
    int64_t truth, answer, times;
} mistake;

/* Puts a mistake where it belongs among the most frequent ones. */
static void note_mistake(mistake *list, int *used, mistake found) {
    int at = *used < CONFUSIONS_SHOWN ? (*used)++ : CONFUSIONS_SHOWN - 1;
    if (at == CONFUSIONS_SHOWN - 1 && list[at].times >= found.times) return;
    for (; at > 0 && list[at - 1].times < found.times; at--) list[at] = list[at - 1];
    list[at] = found;
}

static void print_mistakes(const attn_report *report, int output, const ranked_class *ranked, int64_t count) {
    mistake list[CONFUSIONS_SHOWN] = {{0}};
    int used = 0;
    for (int64_t i = 0; i < count; i++) {
        attn_class_scores of = attn_report_class_scores(report, output, ranked[i].number);
        for (int64_t j = 0; of.support > of.right && j < count; j++) {
            if (i == j || ranked[j].predicted == 0) continue;
            int64_t times = attn_report_confusion(report, output, ranked[i].number, ranked[j].number);
            if (times > 0) note_mistake(list, &used, (mistake){ranked[i].number, ranked[j].number, times});
        }
    }
    if (used == 0) return;
    int width = 0;
    for (int i = 0; i < used; i++) {
        int one = text_width(attn_report_class(report, output, list[i].truth));
        if (one > width) width = one;
    }
    printf("\nmost frequent mistakes: what it is, and what it was called\n");
    for (int i = 0; i < used; i++) {
        printf("%8" PRId64 "  ", list[i].times);
        text_print_left(stdout, attn_report_class(report, output, list[i].truth), width);
        fputs("  ", stdout);
        text_print(stdout, attn_report_class(report, output, list[i].answer));
        fputc('\n', stdout);
    }
}

/* The metrics of one output: those with its prefix, or, of the first, without any. */
static void print_metrics(const attn_report *report, const attn_model *model, int output) {
    const char *prefix = output > 0 ? attn_model_output_name(model, output) : "";
    size_t length = strlen(prefix);
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i), *dot = strrchr(name, '.');
        if (output == 0 ? dot != NULL : strncmp(name, prefix, length) != 0 || dot != name + length) continue;
        const char *shown = output == 0 ? name : dot + 1;
        double value = attn_report_metric(report, name);
        if (strcmp(shown, "unknown_labels") != 0)
            printf("%-20s %.4f\n", shown, value);
        else if (value > 0)
            printf("%-20s %.0f (the model has not learned them)\n", shown, value);
    }
}

/* Answers with sequences, and running text: all metrics, point under point. */
static void print_all_metrics(const attn_report *report) {
    fputc('\n', stdout);
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        bool counts = strcmp(name, "unknown_units") == 0;
        printf("%-20s %10.*f\n", name, counts ? 0 : 4, attn_report_metric(report, name));
    }
}

static void print_title(const attn_model *model, const attn_dataset *dataset, const eval_arguments *given) {
    text_print(stdout, given->positional[MODEL]);
    fputs(" on ", stdout);
    text_print(stdout, given->positional[FILE_ONE]);
    if (given->positional[FILE_TWO] != NULL) {
        fputs(" and ", stdout);
        text_print(stdout, given->positional[FILE_TWO]);
    }
    printf(": %" PRId64 " %s", attn_dataset_examples(dataset),
           attn_model_generates(model)   ? "pairs"
           : attn_model_continues(model) ? "lines"
                                         : "examples");
    if (attn_dataset_skipped(dataset) > 0)
        printf(", %" PRId64 " bad ones left out", attn_dataset_skipped(dataset));
    fputc('\n', stdout);
}

static bool print_report(const attn_report *report, const attn_model *model, const attn_dataset *dataset,
                         const eval_arguments *given) {
    print_title(model, dataset, given);
    if (attn_model_outputs(model) == 0) print_all_metrics(report);
    for (int output = 0; output < attn_model_outputs(model); output++) {
        fputc('\n', stdout);
        if (attn_model_outputs(model) > 1) {
            text_print(stdout, attn_model_output_name(model, output));
            fputc('\n', stdout);
        }
        print_metrics(report, model, output);
        if (attn_model_output_kind(model, output) == ATTN_OUTPUT_NUMBER) continue;
        int64_t count = 0;
        ranked_class *ranked = rank_classes(report, output, &count);
        if (ranked == NULL) return false;
        print_classes(report, output, ranked, count, given->per_class);
        if (attn_model_output_kind(model, output) == ATTN_OUTPUT_CLASS) {
            if (given->confusion || count <= MATRIX_CLASSES) print_matrix(report, output, ranked, count);
            print_mistakes(report, output, ranked, count);
        }
        free(ranked);
    }
    return true;
}

/* Flags that this model cannot obey. */
static int check_flags(attn_model *model, const eval_arguments *given) {
    bool searches = attn_model_generates(model) != 0;
    static const char labels[] = "models with classes", pairs[] = "models of task seq2seq";
    if (!searches && given->positional[FILE_TWO] != NULL)
        return opening_refuse("eval", "a second file", pairs, model);
    if (!searches && given->beam > 0) return opening_refuse("eval", "--beam", pairs, model);
    if (!searches && given->length_penalty >= 0)
        return opening_refuse("eval", "--length-penalty", pairs, model);
    if (!searches && given->lowercase) return opening_refuse("eval", "--lowercase", pairs, model);
    if (attn_model_outputs(model) > 0) return EXIT_DONE;
    if (given->per_class) return opening_refuse("eval", "--per-class", labels, model);
    if (given->confusion) return opening_refuse("eval", "--confusion", labels, model);
    return EXIT_DONE;
}

static attn_status read_examples(attn_context *context, const attn_model *model, const eval_arguments *given,
                                 attn_dataset **dataset) {
    attn_reader_options options;
    attn_model_reader_options(model, &options);
    if (given->format != ATTN_FORMAT_AUTO) options.format = (attn_format)given->format;
    if (given->column != NULL) options.column = given->column;
    if (given->text_column != NULL) options.text_column = given->text_column;
    options.skip_bad = given->skip_bad;
    const char *one = given->positional[FILE_ONE], *two = given->positional[FILE_TWO];
    return two != NULL ? attn_dataset_read_parallel(context, one, two, &options, dataset)
                       : attn_dataset_read(context, one, &options, dataset);
}

static int evaluate(attn_context *context, attn_model *model, const eval_arguments *given) {
    attn_dataset *dataset = NULL;
    attn_report *report = NULL;
    attn_search_options search;
    attn_search_options_init(&search);
    if (given->beam > 0) search.beam = given->beam;
    if (given->length_penalty >= 0) search.length_penalty = given->length_penalty;
    attn_status status = read_examples(context, model, given, &dataset);
    if (status == ATTN_OK)
        status = attn_report_create_search(model, dataset, &search, given->lowercase, &report);
    int code = EXIT_DONE;
    if (status != ATTN_OK) {
        code = opening_fail("eval", context);
    } else if (given->json) {
        const char *json = attn_report_json(report);
        if (json != NULL)
            puts(json);
        else
            code = EXIT_FAILED;
    } else if (!print_report(report, model, dataset, given)) {
        code = EXIT_FAILED;
    }
    if (code == EXIT_FAILED && status == ATTN_OK) fputs("attn eval: out of memory\n", stderr);
    attn_report_destroy(report);
    attn_dataset_destroy(dataset);
    return code;
}

int command_eval(int count, char **arguments) {
    eval_arguments given = {.length_penalty = -1};
    const argument_flag flags[] = {
        argument_switch("json", &given.json, "everything as one JSON object"),
        argument_switch("per-class", &given.per_class, "all classes in the table, not the 30 largest"),
        argument_switch("confusion", &given.confusion, "the confusion matrix of more than 12 classes, too"),
        argument_integer("beam", &given.beam, "N", NULL, 1, 1024,
                         "seq2seq: beginnings kept; 1 is greedy (default 4)"),
        argument_number("length-penalty", &given.length_penalty, "A", NULL, 0, 10,
                        "seq2seq: scores / length^A (default 1)"),
        argument_switch("lowercase", &given.lowercase, "seq2seq: bleu and chrf in lower case"),
        argument_choice("format", &given.format, "F", NULL, opening_formats,
                        "conllu, columns, table, fasttext, lines or pairs"),
        argument_text("column", &given.column, "C", "the column of answers, if not as in training"),
        argument_text("text-column", &given.text_column, "C", "the same for the texts"),
        argument_switch("skip-bad", &given.skip_bad, "leave out lines that cannot be read"),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "0: all cores"),
    };
    argument_list list = {
        .command = "eval",
        .usage = "MODEL FILE [FILE] [flags]",
        .about = "Compares a model's answers with the labels of a file: accuracy, precision,\n"
                 "recall and F1 of every class, what is taken for what; errors and correlation\n"
                 "of numbers; words of a segmentation.\n\n"
                 "  seq2seq   pairs (source TAB target), or sources and targets in two files,\n"
                 "            line by line: answers that are exactly right; error rates, that\n"
                 "            is edit distance over length; BLEU and chrF. Lines with the same\n"
                 "            source are several right answers\n"
                 "  lm        running text: bits a byte, perplexity a unit and its logarithm\n",
        .examples = "  attn eval pos.safetensors test.conllu\n"
                    "  attn eval senti.safetensors test.tsv --json\n"
                    "  attn eval ende.safetensors test.en test.de --beam 8 --lowercase\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = given.positional,
        .positional_limit = POSITIONALS,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (list.positional_count <= FILE_ONE) {
        fputs("attn eval: give a model and a file: attn eval MODEL FILE\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context *context;
    attn_model *model;
    if (!opening_model("eval", given.positional[MODEL], given.threads, &context, &model)) return EXIT_FAILED;
    int code = check_flags(model, &given);
    if (code == EXIT_DONE) code = evaluate(context, model, &given);
    opening_close(context, model);
    return code;
}
