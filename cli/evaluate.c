/* evaluate.c: the command `attn eval`: evaluate a model on labelled data. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "evaluate_entities.h"
#include "evaluate_raw.h"
#include "opening.h"
#include "progress.h"
#include "ranks.h"
#include "rare.h"
#include "text.h"

enum {
    CLASSES_SHOWN = 30,    /* in the table of classes, unless all are requested */
    MATRIX_CLASSES = 12,   /* rows and columns of the confusion matrix */
    LABEL_CELLS = 24,      /* longer labels are cut in tables; --json has them whole */
    CONFUSIONS_SHOWN = 10, /* pairs that are taken for each other */
    DETAILED_OUTPUTS = 4   /* of more, classes and mistakes are shown if they are requested */
};

enum { MODEL, FILE_ONE, FILE_TWO, POSITIONALS };
typedef struct eval_arguments {
    const char *positional[POSITIONALS];
    bool json, confusion, per_class, skip_bad, raw, scatter;
    const char *format, *column, *text_column, *split, *split_column, *split_file, *shard;
    int64_t threads, limit, memory, part, parts; /* 0 of 1: all examples */
    opening_settings settings;
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

/* The classes that occur in truth or predictions, largest first; NULL without memory. */
static ranked_class *rank_classes(const attn_report *report, int output, int64_t *count) {
    int64_t all = attn_report_classes(report, output);
    ranked_class *ranked = malloc((size_t)(all > 0 ? all : 1) * sizeof *ranked);
    *count = 0;
    for (int64_t c = 0; ranked != NULL && c < all; c++) {
        attn_class_metrics metrics = attn_report_class_metrics(report, output, c);
        if (metrics.support == 0 && metrics.predicted == 0) continue;
        ranked[(*count)++] = (ranked_class){c, metrics.support, metrics.predicted};
    }
    if (ranked != NULL) qsort(ranked, (size_t)*count, sizeof *ranked, by_support);
    return ranked;
}

/* A label, cut where the columns after it would not stand below each other. */
static void print_label(const char *label, int width) {
    if (text_width(label) <= width) {
        text_print_left(stdout, label, width);
        return;
    }
    int cells = 0;
    while (*label != '\0') {
        char shown[ATTN_GLYPH_BYTES];
        const char *next = label;
        attn_text_glyph(&next, shown);
        int one = text_width(shown);
        if (cells + one > width - (int)strlen("...")) break;
        fputs(shown, stdout);
        cells += one;
        label = next;
    }
    printf("...%*s", width - cells - (int)strlen("..."), "");
}

static int widest(const attn_report *report, int output, const ranked_class *ranked, int64_t count) {
    int width = (int)strlen("label");
    for (int64_t i = 0; i < count; i++) {
        int one = text_width(attn_report_class(report, output, ranked[i].number));
        if (one > width) width = one;
    }
    return width < LABEL_CELLS ? width : LABEL_CELLS;
}

static void print_classes(const attn_report *report, int output, const ranked_class *ranked, int64_t count,
                          bool all) {
    int64_t shown = all || count <= CLASSES_SHOWN ? count : CLASSES_SHOWN;
    int width = widest(report, output, ranked, shown);
    fputc('\n', stdout);
    text_print_left(stdout, "label", width);
    printf("  %9s %9s %9s  %9s %9s %9s\n", "support", "predicted", "right", "precision", "recall", "F1");
    for (int64_t i = 0; i < shown; i++) {
        attn_class_metrics metrics = attn_report_class_metrics(report, output, ranked[i].number);
        print_label(attn_report_class(report, output, ranked[i].number), width);
        printf("  %9" PRId64 " %9" PRId64 " %9" PRId64 "  %9.4f %9.4f %9.4f\n", metrics.support,
               metrics.predicted, metrics.right, metrics.precision, metrics.recall, metrics.f1);
    }
    if (shown < count) printf("... and %" PRId64 " more: --per-class shows all\n", count - shown);
}

static void print_matrix(const attn_report *report, int output, const ranked_class *ranked, int64_t count) {
    enum { CELL = 8 };
    int64_t shown = count < MATRIX_CLASSES ? count : MATRIX_CLASSES;
    int width = widest(report, output, ranked, shown), narrow = 1;
    for (int64_t i = 0; i < shown; i++)
        if (text_width(attn_report_class(report, output, ranked[i].number)) >= CELL) narrow = 0;
    printf("\nconfusion matrix: rows are true labels, columns predicted labels%s\n",
           narrow ? "" : ", by number");
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
        print_label(attn_report_class(report, output, ranked[i].number), width);
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
        attn_class_metrics of = attn_report_class_metrics(report, output, ranked[i].number);
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
        if (one > width) width = one < LABEL_CELLS ? one : LABEL_CELLS;
    }
    printf("\nmost frequent mistakes: true label, predicted label\n");
    for (int i = 0; i < used; i++) {
        printf("%8" PRId64 "  ", list[i].times);
        print_label(attn_report_class(report, output, list[i].truth), width);
        fputs("  ", stdout);
        const char *answer = attn_report_class(report, output, list[i].answer);
        print_label(answer, text_width(answer) < LABEL_CELLS ? text_width(answer) : LABEL_CELLS);
        fputc('\n', stdout);
    }
}

/* The 95 % interval of a metric after its value; whether it has one. */
static bool print_interval(const attn_report *report, const char *name) {
    double low, high;
    if (!attn_report_interval(report, name, &low, &high)) return false;
    printf("  (%.4f–%.4f)", low, high);
    return true;
}

/* The metrics of one output: those with its prefix, or, of the first, without any. */
static void print_metrics(const attn_report *report, const attn_model *model, int output) {
    const char *prefix = output > 0 ? attn_model_output_name(model, output) : "";
    size_t length = strlen(prefix);
    bool classes = attn_report_classes(report, output) > 0, intervals = false;
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i), *dot = strrchr(name, '.');
        if (output == 0 ? dot != NULL : strncmp(name, prefix, length) != 0 || dot != name + length) continue;
        const char *shown = output == 0 ? name : dot + 1;
        double value = attn_report_metric(report, name);
        if (!attn_report_metric_counts(report, i)) {
            printf("%-20s %*.4f", shown, classes ? 0 : 10, value);
            if (print_interval(report, name)) intervals = true;
            const char *positive = attn_report_class(report, output, attn_report_positive(report, output));
            if (strcmp(shown, "roc_auc") == 0 && positive != NULL) {
                fputs(" (positive: ", stdout);
                print_label(positive,
                            text_width(positive) < LABEL_CELLS ? text_width(positive) : LABEL_CELLS);
                fputc(')', stdout);
            }
            if (strcmp(shown, "calibration_error") == 0) fputs(" (15 bins of equal size)", stdout);
            fputc('\n', stdout);
        } else if (!classes) {
            printf("%-20s %10.0f\n", shown, value);
        } else if (value > 0) {
            printf("%-20s %.0f (unknown to the model)\n", shown, value);
        }
    }
    if (intervals)
        printf("(in brackets: 95 %% intervals, by %d bootstrap samples of the test data)\n", ATTN_RESAMPLES);
}

/* A metric of an output, or of their mean: "-" where there is none, or nothing was compared. */
static void print_cell(const attn_report *report, int output, bool mean, const char *name) {
    double value =
        mean ? attn_report_mean(report, name, NULL) : attn_report_output_metric(report, output, name);
    int width = strlen(name) > 9 ? (int)strlen(name) : 9;
    if (isnan(value) || (!mean && attn_report_compared(report, output) == 0))
        printf("  %*s", width, "-");
    else
        printf("  %*.4f", width, value);
}

/* Several outputs side by side: a row each, and their mean. */
static void print_outputs(const attn_report *report, const attn_model *model) {
    static const char *const names[] = {
        "accuracy",    "exact",  "macro_f1",           "micro_f1", "log_loss",
        "roc_auc",     "pr_auc", "mean_squared_error", "rmse",     "mean_absolute_error",
        "correlation", "r2",     "entity_f1"};
    enum { NAMES = sizeof names / sizeof names[0] };
    int outputs = attn_model_outputs(model), width = (int)strlen("column"), of[NAMES];
    for (int n = 0; n < NAMES; n++) attn_report_mean(report, names[n], &of[n]);
    if (of[0] > 0) of[3] = 0; /* micro_f1 of one class a row is its accuracy */
    if (of[8] > 0) of[7] = 0; /* squared errors: their root says the same */
    for (int o = 0; o < outputs; o++) {
        int one = text_width(attn_model_output_name(model, o));
        if (one > width) width = one < LABEL_CELLS ? one : LABEL_CELLS;
    }
    fputc('\n', stdout);
    text_print_left(stdout, "column", width);
    printf("  %9s", "compared");
    for (int n = 0; n < NAMES; n++)
        if (of[n] > 0) printf("  %9s", names[n]);
    for (int o = 0; o <= outputs; o++) {
        fputc('\n', stdout);
        print_label(o < outputs ? attn_model_output_name(model, o) : "mean", width);
        if (o < outputs)
            printf("  %9" PRId64, attn_report_compared(report, o));
        else
            printf("  %9s", "");
        for (int n = 0; n < NAMES; n++)
            if (of[n] > 0) print_cell(report, o, o == outputs, names[n]);
    }
    fputc('\n', stdout);
    bool fewer = false;
    for (int n = 0; n < NAMES; n++) {
        if (of[n] == 0 || of[n] == outputs) continue;
        printf("%s %s %d", fewer ? "," : "(columns in the mean:", names[n], of[n]);
        fewer = true;
    }
    if (fewer) printf(" of %d)\n", outputs);
}

static void print_title(const attn_dataset *dataset, const eval_arguments *given) {
    text_print(stdout, given->positional[MODEL]);
    fputs(" on ", stdout);
    text_print(stdout, opening_name(given->positional[FILE_ONE]));
    if (given->positional[FILE_TWO] != NULL) {
        fputs(" and ", stdout);
        text_print(stdout, opening_name(given->positional[FILE_TWO]));
    }
    printf(": %" PRId64 " examples", attn_dataset_examples(dataset));
    if (attn_dataset_skipped(dataset) > 0)
        printf(", %" PRId64 " bad ones left out", attn_dataset_skipped(dataset));
    if (given->parts > 1) printf(" (part %" PRId64 " of %" PRId64 ")", given->part + 1, given->parts);
    fputc('\n', stdout);
}

static bool print_report(const attn_report *report, const attn_model *model, const attn_dataset *dataset,
                         const eval_arguments *given) {
    int outputs = attn_model_outputs(model);
    print_title(dataset, given);
    if (outputs > 1) print_outputs(report, model);
    if (outputs > DETAILED_OUTPUTS && !given->per_class && !given->confusion) {
        printf("\n--per-class shows the classes and mistakes of each\n");
        return true;
    }
    for (int output = 0; output < outputs; output++) {
        fputc('\n', stdout);
        if (attn_model_outputs(model) > 1) {
            text_print(stdout, attn_model_output_name(model, output));
            fputc('\n', stdout);
        }
        print_metrics(report, model, output);
        evaluate_print_entities(report, output);
        if (attn_report_classes(report, output) == 0) continue;
        int64_t count = 0;
        ranked_class *ranked = rank_classes(report, output, &count);
        if (ranked == NULL) return false;
        print_classes(report, output, ranked, count, given->per_class);
        if (attn_report_confused(report, output)) {
            if (given->confusion || count <= MATRIX_CLASSES) print_matrix(report, output, ranked, count);
            print_mistakes(report, output, ranked, count);
        }
        rare_print(stdout, report, output, attn_model_config(model));
        free(ranked);
    }
    return true;
}

/* *said: EXIT_DONE, or it has said what is wrong: an exit status. */
static attn_status read_examples(attn_context *context, const attn_model *model, eval_arguments *given,
                                 attn_dataset **dataset, int *said) {
    attn_reader_options options;
    attn_model_reader_options(model, &options);
    if (given->format != NULL) {
        int format = opening_format("eval", options.input, given->format);
        *said = format < 0 ? EXIT_MISUSED : EXIT_DONE;
        if (format < 0) return ATTN_INVALID_ARGUMENT;
        options.format = (attn_format)format;
    }
    if (given->column != NULL) options.column = given->column;
    if (given->text_column != NULL) options.text_column = given->text_column;
    if (given->split_column != NULL) {
        options.split_column = given->split_column;
        options.split = NULL;
    }
    *said = opening_files(given->positional + FILE_ONE, 2);
    if (*said == EXIT_DONE) *said = opening_files(&given->split_file, 1);
    if (*said != EXIT_DONE) return ATTN_SYSTEM_ERROR;
    options.split_file = given->split_file;
    if (given->split != NULL && strcmp(given->split, "all") == 0) /* whatever it would say */
        options.split = options.split_column = options.split_file = NULL;
    options.skip_bad = given->skip_bad;
    opening_limit(given->limit, &options);
    const char *one = given->positional[FILE_ONE], *two = given->positional[FILE_TWO];
    if (two != NULL && attn_reader_files(&options) < 2) {
        *said = opening_refuse("eval", "a second file", "models that learned from two", model);
        return ATTN_INVALID_ARGUMENT;
    }
    const char *const files[] = {one, two};
    *said = opening_take_input("eval", files, two != NULL ? 2 : 1);
    if (*said != EXIT_DONE) return ATTN_INVALID_ARGUMENT;
    progress_of_reading shown = {.told = false};
    progress_begin_reading(&shown, "reading");
    options.progress = ranks_rank() > 0 ? NULL : progress_read;
    options.progress_user = &shown;
    attn_status status = opening_read(context, files, two != NULL ? 2 : 1, &options, dataset);
    progress_end_reading(&shown);
    return status;
}

/* Flags that this report has nothing for. */
static int check_flags(const attn_report *report, const attn_model *model, const eval_arguments *given) {
    bool classes = attn_report_classes(report, 0) > 0;
    if (given->per_class && !classes)
        return opening_refuse("eval", "--per-class", "models with classes", model);
    if (given->confusion && !classes)
        return opening_refuse("eval", "--confusion", "models with classes", model);
    return EXIT_DONE;
}

/* part: what of the data was taken; NULL: all of it. */
static int report_on(attn_predictor *predictor, const attn_model *model, const attn_dataset *dataset,
                     const char *part, const eval_arguments *given) {
    attn_report *report = NULL;
    if ((given->raw ? attn_report_create_raw : attn_report_create)(predictor, dataset, &report) != ATTN_OK)
        return opening_fail("eval", attn_predictor_context(predictor));
    int code = ranks_settle(given->raw ? EXIT_DONE : check_flags(report, model, given), NULL);
    bool whole = true;
    if (code == EXIT_DONE && given->json) {
        const char *json = attn_report_json(report);
        whole = json != NULL;
        if (whole) fputc('{', stdout);
        if (whole && given->parts > 1)
            printf("\"shard\": \"%" PRId64 "/%" PRId64 "\", ", given->part + 1, given->parts);
        if (whole && part != NULL) printf("\"split\": \"%s\", ", part);
        if (whole && !given->raw) rare_print_json(stdout, report, model);
        if (whole) puts(json + 1); /* the object continues after its brace */
    } else if (code == EXIT_DONE && given->raw) {
        print_title(dataset, given);
        evaluate_print_raw(report, model);
    } else if (code == EXIT_DONE) {
        whole = print_report(report, model, dataset, given);
    }
    if (!whole) fputs("attn eval: out of memory\n", stderr);
    const opening_lengths lengths = {attn_predictor_answered(predictor), attn_predictor_in_pieces(predictor),
                                     attn_predictor_cut(predictor)};
    if (code == EXIT_DONE && ranks_rank() == 0) /* all ranks have all examples */
        opening_tell_longer("eval", model, &lengths);
    attn_report_destroy(report);
    return whole ? code : EXIT_FAILED;
}

/* What of the data is for testing, if it says so (*taken: its name); *whole belongs to *dataset then, which
 * may share its rows. EXIT_DONE, or it has said why not. */
static int take_part(attn_context *context, const attn_model *model, const eval_arguments *given,
                     attn_dataset **dataset, attn_dataset **whole, const char **taken) {
    const char *wanted = given->split;
    int64_t sizes[ATTN_PART_TEST + 1], all = 0;
    for (int p = 0; p <= ATTN_PART_TEST; p++)
        all += sizes[p] = attn_dataset_part_size(*dataset, (attn_part)p);
    attn_reader_options options;
    attn_model_reader_options(model, &options);
    if (all == 0 && options.split != NULL && strcmp(options.split, "file") == 0 && wanted == NULL) {
        fputs("attn eval: the model was trained with --split-file: use it here too, or --split all for all "
              "of the data\n",
              stderr);
        return EXIT_MISUSED;
    }
    bool drawn = options.split != NULL && *options.split != '\0' && strcmp(options.split, "file") != 0 &&
                 given->split_column == NULL && given->split_file == NULL;
    int part = wanted != NULL ? attn_part_find(wanted) : ATTN_PART_TEST;
    bool everything = wanted != NULL && strcmp(wanted, "all") == 0;
    if (!everything && (part < ATTN_PART_TRAIN || (wanted != NULL && all == 0))) {
        fprintf(stderr, "attn eval: --split is train, val, test or all%s\n",
                all == 0 ? "; this data has no split into training and test data" : "");
        return EXIT_MISUSED;
    }
    if (!everything && all > 0 && wanted == NULL && sizes[ATTN_PART_TEST] == 0 && !given->json)
        printf("the split has no test part: all %" PRId64 "\n", all);
    if (everything || all == 0 || (wanted == NULL && sizes[ATTN_PART_TEST] == 0)) return EXIT_DONE;
    *whole = *dataset;
    *dataset = NULL;
    if (attn_dataset_part(*whole, (attn_part)part, dataset) != ATTN_OK) return opening_fail("eval", context);
    *taken = attn_part_name((attn_part)part);
    if (!given->json)
        printf("%s: %" PRId64 " of %" PRId64 " (%schoose with --split)\n", attn_part_name((attn_part)part),
               sizes[part], all, drawn ? "drawn as in training; " : "");
    return EXIT_DONE;
}

/* --shard: some of the examples; *all is what they were selected from. EXIT_DONE, or it has said why not. */
static int take_shard(attn_context *context, const eval_arguments *given, attn_dataset **dataset,
                      attn_dataset **all) {
    if (given->parts == 1) return EXIT_DONE;
    int64_t count = attn_dataset_examples(*dataset);
    int64_t first = ranks_part_begin(count, given->part, given->parts);
    int64_t end = ranks_part_begin(count, given->part + 1, given->parts);
    if (first == end) {
        fprintf(stderr, "attn eval: part %" PRId64 " of %" PRId64 " has no examples: there are %" PRId64 "\n",
                given->part + 1, given->parts, count);
        return EXIT_FAILED;
    }
    int64_t *numbers = malloc((size_t)(end - first) * sizeof *numbers);
    if (numbers == NULL) {
        fputs("attn eval: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    for (int64_t i = first; i < end; i++) numbers[i - first] = i;
    *all = *dataset;
    *dataset = NULL;
    attn_status status = attn_dataset_select(*all, numbers, end - first, dataset);
    free(numbers);
    return status == ATTN_OK ? EXIT_DONE : opening_fail("eval", context);
}

static int evaluate(attn_context *context, attn_model *model, eval_arguments *given) {
    attn_dataset *dataset = NULL, *whole = NULL, *all = NULL;
    attn_predictor *predictor = NULL;
    const char *part = NULL;
    int code = attn_predictor_create(model, context, &predictor) == ATTN_OK ? EXIT_DONE
                                                                            : opening_fail("eval", context);
    if (code == EXIT_DONE) code = opening_set("eval", &given->settings, predictor, model);
    code = ranks_settle(code, NULL);
    if (code == EXIT_DONE) {
        int said = EXIT_DONE;
        if (read_examples(context, model, given, &dataset, &said) == ATTN_OK)
            code = take_part(context, model, given, &dataset, &whole, &part);
        else
            code = said != EXIT_DONE ? said : opening_fail("eval", context);
        if (code == EXIT_DONE) code = take_shard(context, given, &dataset, &all);
        code = ranks_settle(code, RANKS_REMEDY);
        if (code == EXIT_DONE) code = opening_same_examples(dataset);
    }
    if (code == EXIT_DONE) {
        attn_predictor_join(predictor, ranks_exchange());
        code = report_on(predictor, model, dataset, part, given);
    }
    attn_dataset_destroy(dataset);
    attn_dataset_destroy(all);
    attn_dataset_destroy(whole);
    attn_predictor_destroy(predictor);
    return code;
}

static const char about[] =
    "Evaluates a model on labelled data: accuracy, precision, recall and F1 of every\n"
    "class, the confusion matrix; errors and correlation of numbers; words of a\n"
    "segmentation; entities, if labels are B-X, I-X and O.\n\n"
    "  seq2seq   pairs (source TAB target), or sources and targets in two files,\n"
    "            line by line: exact matches; error rates, that is edit distance\n"
    "            divided by length; BLEU and chrF. Lines with the same source are\n"
    "            several references\n"
    "  lm        running text: bits per byte, perplexity per unit and its logarithm\n"
    "  tag --raw CoNLL-U as raw text: F1 of sentences, words and tags, as in the\n"
    "            CoNLL 2018 shared task\n";

static const char examples[] = "  attn eval pos.safetensors test.conllu\n"
                               "  attn eval pos.safetensors test.conllu --raw\n"
                               "  attn eval senti.safetensors test.tsv --json\n"
                               "  attn eval cora.safetensors cora/ --split val\n"
                               "  attn eval ende.safetensors test.en test.de --beam 8 --lowercase\n";

static int eval_command(int count, char **arguments) {
    enum { OWN_FLAGS = 16 };
    eval_arguments given = {.parts = 1};
    argument_flag flags[OWN_FLAGS + OPENING_SETTINGS] = {
        argument_switch("json", &given.json, "print one JSON object"),
        argument_switch("per-class", &given.per_class, "list all classes, not only the 30 most frequent"),
        argument_switch("confusion", &given.confusion,
                        "print the confusion matrix also for more than 12 classes"),
        argument_switch("raw", &given.raw,
                        "from raw text: evaluate the sentences, words and tags that the model finds"),
        argument_text("format", &given.format, "F",
                      "format of the file (default: from its name and content)"),
        argument_text("column", &given.column, "C", "the column of the targets, if not as in training"),
        argument_text("text-column", &given.text_column, "C", "the column of the texts, likewise"),
        argument_text("split", &given.split, "PART",
                      "which part of split data: train, val, test or all (default: test)"),
        argument_text("split-column", &given.split_column, "C",
                      "the column with train, val or test, if not as in training"),
        argument_text("split-file", &given.split_file, "FILE",
                      "a file with train, val or test for each example"),
        argument_switch("skip-bad", &given.skip_bad, "leave out lines that cannot be read"),
        argument_text("shard", &given.shard, "I/N", RANKS_SHARD_HELP),
        argument_switch("scatter", &given.scatter, RANKS_SCATTER_HELP),
        argument_size(OPENING_LIMIT, &given.limit, OPENING_LIMIT_HELP),
        argument_size_or_all(OPENING_MEMORY, &given.memory, OPENING_MEMORY_HELP),
        argument_integer("threads", &given.threads, "N", "0", 0, 1024, "number of threads; 0: all cores"),
    };
    int settings = opening_setting_flags(&given.settings, flags + OWN_FLAGS);
    argument_list list = {
        .command = "eval",
        .usage = "MODEL FILE [FILE] [flags]",
        .about = about,
        .examples = examples,
        .first = "json raw per-class confusion split column text-column format beam threads",
        .flags = flags,
        .flag_count = (size_t)(OWN_FLAGS + settings),
        .positional = given.positional,
        .positional_limit = POSITIONALS,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (list.positional_count <= FILE_ONE) {
        fputs("attn eval: give a model and a file: attn eval MODEL FILE\n", stderr);
        return EXIT_MISUSED;
    }
    if (given.raw && (given.per_class || given.confusion)) {
        fputs("attn eval: --raw has no table of classes: not with --per-class or --confusion\n", stderr);
        return EXIT_MISUSED;
    }
    if (given.shard != NULL && !ranks_read_shard(given.shard, &given.part, &given.parts)) {
        fputs("attn eval: " RANKS_SHARD_FORM "\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context *context;
    attn_model *model;
    int code = ranks_open(&list);
    if (code != EXIT_DONE) return code;
    ranks_scatter(given.scatter);
    if (!opening_model("eval", given.positional[MODEL], given.threads, &context, &model)) return EXIT_FAILED;
    code = opening_memory("eval", context, given.memory);
    if (code == EXIT_DONE) code = evaluate(context, model, &given);
    opening_close(context, model);
    return code;
}

int command_eval(int count, char **arguments) {
    ranks_begin("eval");
    return ranks_end(eval_command(count, arguments));
}
