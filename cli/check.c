/* check.c: the command `attn check`: what is in a file of examples, and which lines are wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "survey.h"
#include "terminal.h"
#include "text.h"

enum {
    CLASSES_SHOWN = 20,
    ONCE_CELLS = 40, /* names of classes that occur once, about so many cells of them */
    PROBLEMS_SHOWN = 20,
    LABEL_CELLS = 28, /* a longer label is cut */
    BAR_CELLS = 24
};

/* The values of --task. */
enum { TASK_ANY, TASK_TAG, TASK_CLASSIFY, TASK_REGRESS, TASK_SEQ2SEQ, TASK_LM };
static const char *const tasks[] = {"any", "tag", "classify", "regress", "seq2seq", "lm", NULL};

typedef struct check_arguments {
    const char *positional[2]; /* the second: the file of targets, or NULL */
    const char *column, *text_column;
    int format, task;
    bool skip_bad, json;
} check_arguments;

typedef struct checked {
    const check_arguments *given;
    const attn_dataset *dataset;
    const char *unlabelled; /* why nothing can be learned from it; NULL: it can */
    survey found;
    terminal_color color;
} checked;

/* ---- text ---- */

/* A number with commas between thousands, in one of a few buffers that are used in turn. */
static const char *grouped(int64_t number) {
    static char buffers[4][32];
    static int next;
    char digits[24], *out = buffers[next = (next + 1) % 4], *begin = out;
    int count = snprintf(digits, sizeof digits, "%" PRId64, number);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return begin;
}

/* "1 text", "1,234 texts". */
static void print_count(int64_t count, const char *thing) {
    printf("%s %s%s", grouped(count), thing, count == 1 ? "" : "s");
}

static bool has_pairs(const checked *of) { return attn_dataset_format(of->dataset) == ATTN_FORMAT_PAIRS; }

static const char *name_of_example(const attn_dataset *dataset) {
    if (attn_dataset_format(dataset) == ATTN_FORMAT_PAIRS) return "pair";
    if (!attn_dataset_tokenized(dataset)) return "text";
    return attn_dataset_format(dataset) == ATTN_FORMAT_CONLLU ? "sentence" : "sequence";
}

/* Prints a label, cut to LABEL_CELLS cells; returns how many it took. */
static int print_label(FILE *file, const survey_class *one) {
    char shown[8 * LABEL_CELLS];
    size_t length = one->length < sizeof shown - 4 ? one->length : sizeof shown - 4;
    for (;;) {
        while (length > 0 && length < one->length && ((unsigned char)one->label[length] & 0xc0) == 0x80)
            length--;
        memcpy(shown, one->label, length);
        strcpy(shown + length, length < one->length ? "…" : "");
        if (text_width(shown) <= LABEL_CELLS || length == 0) break;
        length--;
    }
    text_print(file, shown);
    return text_width(shown);
}

static int64_t classes_shown(const survey_column *column) {
    return column->class_count <= CLASSES_SHOWN + 1 ? column->class_count : CLASSES_SHOWN;
}

static void print_classes(const survey_column *column) {
    int64_t shown = classes_shown(column), rest = 0;
    double most = (double)column->classes[0].count;
    for (int64_t i = 0; i < shown; i++) {
        const survey_class *one = &column->classes[i];
        fputs("  ", stdout);
        int cells = print_label(stdout, one);
        printf("%*s %10s  %5.1f %%  ", LABEL_CELLS > cells ? LABEL_CELLS - cells : 0, "", grouped(one->count),
               100.0 * (double)one->count / (double)column->values);
        for (int b = 0; b < (int)(BAR_CELLS * (double)one->count / most + 0.5); b++) fputs("█", stdout);
        fputc('\n', stdout);
    }
    for (int64_t i = shown; i < column->class_count; i++) rest += column->classes[i].count;
    if (rest == 0) return;
    char more[48];
    snprintf(more, sizeof more, "and %s more", grouped(column->class_count - shown));
    printf("  %-*s %10s  %5.1f %%\n", LABEL_CELLS, more, grouped(rest),
           100.0 * (double)rest / (double)column->values);
}

/* Values that are numbers and many are measured, not counted. */
static bool is_measured(const survey_column *column) {
    return column->numbers && column->class_count > CLASSES_SHOWN;
}

static void print_column(const checked *of, const survey_column *column) {
    fputc('\n', stdout);
    if (of->color != TERMINAL_PLAIN) fputs("\033[1m", stdout);
    text_print(stdout, column->name);
    if (of->color != TERMINAL_PLAIN) fputs("\033[0m", stdout);
    printf(": %s %s%s", grouped(column->class_count), is_measured(column) ? "different number" : "class",
           column->class_count == 1 ? ""
           : is_measured(column)    ? "s"
                                    : "es");
    if (column->class_count > classes_shown(column) && !is_measured(column))
        printf(", the %d most frequent", CLASSES_SHOWN);
    fputc('\n', stdout);
    if (!is_measured(column) && column->class_count > 0) print_classes(column);
    if (column->numbers)
        printf("  as numbers: least %g, mean %.4g, most %g\n", column->least, column->mean, column->most);
    const char *thing = attn_dataset_tokenized(of->dataset) ? "token" : "text";
    if (column->several > 0) {
        fputs("  ", stdout);
        print_count(column->several, thing);
        puts(" with more than one label");
    }
    if (column->missing > 0) {
        fputs("  ", stdout);
        print_count(column->missing, thing);
        puts(" without a value");
    }
    if (column->once == 0 || is_measured(column)) return;
    printf("  %s %s once:", grouped(column->once), column->once == 1 ? "class occurs" : "classes occur");
    int64_t i = column->class_count - column->once;
    for (int cells = 0; i < column->class_count && cells < ONCE_CELLS; i++) {
        fputs(cells > 0 ? ", " : " ", stdout);
        cells += 2 + print_label(stdout, &column->classes[i]);
    }
    puts(i < column->class_count ? ", ..." : "");
}

static void print_length(const char *what, const survey_length *length) {
    printf("  %-18s %9s %9.1f %9.1f %9s\n", what, grouped(length->least), length->median, length->mean,
           grouped(length->most));
}

/* Lengths of both sides, and how many different symbols there are. */
static void print_sides(const checked *of) {
    const survey *found = &of->found;
    const struct {
        const char *name;
        const survey_symbols *symbols;
    } sides[] = {{"sources", &found->symbols}, {"targets", &found->target_symbols}};
    int count = of->unlabelled ? 1 : 2;
    print_length("source characters", &found->lengths);
    print_length("source words", &found->words);
    if (count > 1) print_length("target characters", &found->target_lengths);
    if (count > 1) print_length("target words", &found->target_words);
    printf("\n  %-18s %10s %9s %10s %9s\n", "different", "characters", "once", "words", "once");
    for (int i = 0; i < count; i++)
        printf("  %-18s %10s %9s %10s %9s\n", sides[i].name, grouped(sides[i].symbols->characters),
               grouped(sides[i].symbols->characters_once), grouped(sides[i].symbols->words),
               grouped(sides[i].symbols->words_once));
}

/* "  lines 1 and 2, 3 and 4, ..." */
static void print_contradictions(const survey *found) {
    fputs("  lines", stdout);
    for (int i = 0; i < SURVEY_PAIRS && i < found->contradictions; i++)
        printf("%s %" PRId64 " and %" PRId64, i > 0 ? "," : "", found->lines[i][0], found->lines[i][1]);
    puts(found->contradictions > SURVEY_PAIRS ? ", ..." : "");
}

static void print_repeated_sources(const survey *found) {
    if (found->repeated == 0) return;
    print_count(found->repeated, "source");
    printf(" %s there more than once", found->repeated == 1 ? "stands" : "stand");
    if (found->contradictions == 0) {
        fputc('\n', stdout);
        return;
    }
    printf(", %s of them with different targets:\n", grouped(found->contradictions));
    print_contradictions(found);
}

static void print_uneven(const survey *found) {
    if (found->uneven == 0) return;
    print_count(found->uneven, "pair");
    printf(" with one side over %d times as long as the other lets expect:\n  line%s", SURVEY_UNEVEN,
           found->uneven == 1 ? "" : "s");
    for (int i = 0; i < SURVEY_PAIRS && i < found->uneven; i++)
        printf("%s %" PRId64, i > 0 ? "," : "", found->uneven_lines[i]);
    puts(found->uneven > SURVEY_PAIRS ? ", ..." : "");
}

static void print_doubles(const checked *of) {
    const survey *found = &of->found;
    const char *thing = has_pairs(of) && of->unlabelled ? "source" : name_of_example(of->dataset);
    if (found->empty + found->repeated + found->uneven == 0) return;
    fputc('\n', stdout);
    if (found->empty > 0) {
        print_count(found->empty, thing);
        puts(found->empty == 1 ? " is empty" : " are empty");
    }
    if (found->duplicates > 0) {
        print_count(found->duplicates, thing);
        puts(found->duplicates == 1 ? " repeats an earlier one" : " repeat earlier ones");
    }
    if (has_pairs(of)) {
        if (!of->unlabelled) print_repeated_sources(found);
        print_uneven(found);
    } else if (found->contradictions > 0) {
        print_count(found->contradictions, thing);
        puts(" with different targets in different places:");
        print_contradictions(found);
    }
}

static void print_problems(const checked *of) {
    int64_t wrong = attn_dataset_skipped(of->dataset);
    if (wrong == 0) return;
    printf("\n%s %s left out:\n", grouped(wrong),
           wrong == 1 ? "example is wrong and" : "examples are wrong and");
    for (int64_t i = 0; i < PROBLEMS_SHOWN && i < wrong; i++) {
        fputs("  ", stdout);
        text_print(stdout, attn_dataset_problem(of->dataset, i));
        fputc('\n', stdout);
    }
    if (wrong > PROBLEMS_SHOWN) printf("  and %s more\n", grouped(wrong - PROBLEMS_SHOWN));
}

/* Indented, with line breaks between words where they would pass the edge. */
static void print_wrapped(const char *text) {
    enum { EDGE = 80 };
    int column = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        char word[256];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, text);
        int cells = text_width(word);
        if (column > 0 && column + 1 + cells > EDGE) {
            fputc('\n', stdout);
            column = 0;
        }
        fputs(column == 0 ? "  " : " ", stdout);
        text_print(stdout, word);
        column += (column == 0 ? 2 : 1) + cells;
        text += length;
    }
    fputc('\n', stdout);
}

static void print_text(const checked *of) {
    static const char *const kinds[] = {
        "", "CoNLL-U", "tokens with tags", "table (TSV or CSV)", "fastText lines", "lines of text"};
    const survey *found = &of->found;
    bool tokenized = attn_dataset_tokenized(of->dataset);
    text_print(stdout, of->given->positional[0]);
    if (of->given->positional[1]) {
        fputs(" and ", stdout);
        text_print(stdout, of->given->positional[1]);
    }
    fputs(": ", stdout);
    if (!has_pairs(of)) printf("%s, ", kinds[attn_dataset_format(of->dataset)]);
    print_count(found->examples, has_pairs(of) && of->unlabelled ? "source" : name_of_example(of->dataset));
    if (tokenized) {
        fputs(", ", stdout);
        print_count(found->tokens, "token");
    }
    fputc('\n', stdout);
    if (of->unlabelled) {
        if (attn_dataset_format(of->dataset) == ATTN_FORMAT_LINES && of->given->task == TASK_ANY)
            puts("\nno labels: attn train lm learns from it as running text. For other tasks it");
        else
            printf("\nno %s: it can be predicted on, not learned from. As training data it\n",
                   has_pairs(of) ? "targets" : "labels");
        const char *name = of->given->positional[0];
        size_t length = strlen(name);
        int prefixed = strncmp(of->unlabelled, name, length) == 0 && of->unlabelled[length] == ':';
        print_wrapped(of->unlabelled + (prefixed ? length + 1 : 0));
    }
    printf("\n  %-18s %9s %9s %9s %9s\n", "length", "least", "median", "mean", "most");
    if (has_pairs(of)) {
        print_sides(of);
    } else {
        print_length(tokenized ? "tokens" : "characters", &found->lengths);
        if (!tokenized) print_length("words (by spaces)", &found->words);
    }
    for (int c = 0; c < found->columns; c++) print_column(of, &found->column[c]);
    print_doubles(of);
    print_problems(of);
}

/* ---- JSON ---- */

static void json_label(const survey_class *one) {
    char *copy = malloc(one->length + 1);
    if (copy != NULL) {
        memcpy(copy, one->label, one->length);
        copy[one->length] = 0;
    }
    text_print_json(stdout, copy != NULL ? copy : "");
    free(copy);
}

static void json_length(const char *name, const survey_length *length) {
    printf("\"%s\":{\"least\":%" PRId64 ",\"median\":%.1f,\"mean\":%.9g,\"most\":%" PRId64 "}", name,
           length->least, length->median, length->mean, length->most);
}

static void json_column(const survey_column *column) {
    fputs("{\"name\":", stdout);
    text_print_json(stdout, column->name);
    printf(",\"values\":%" PRId64 ",\"missing\":%" PRId64 ",\"several\":%" PRId64 ",\"once\":%" PRId64
           ",\"distinct\":%" PRId64 ",\"classes\":[",
           column->values, column->missing, column->several, column->once, column->class_count);
    for (int64_t i = 0; !is_measured(column) && i < column->class_count; i++) {
        fputs(i > 0 ? ",{\"label\":" : "{\"label\":", stdout);
        json_label(&column->classes[i]);
        printf(",\"count\":%" PRId64 ",\"share\":%.9g}", column->classes[i].count,
               (double)column->classes[i].count / (double)column->values);
    }
    if (column->numbers)
        printf("],\"numbers\":{\"least\":%.17g,\"mean\":%.17g,\"most\":%.17g}}", column->least, column->mean,
               column->most);
    else
        fputs("],\"numbers\":null}", stdout);
}

static void json_symbols(const char *name, const survey_symbols *symbols) {
    printf(",\"%s\":{\"characters\":%" PRId64 ",\"characters_once\":%" PRId64 ",\"words\":%" PRId64
           ",\"words_once\":%" PRId64 "}",
           name, symbols->characters, symbols->characters_once, symbols->words, symbols->words_once);
}

/* What only pairs have. */
static void json_pairs(const checked *of) {
    const survey *found = &of->found;
    fputs("\"target_lengths\":{", stdout);
    json_length("characters", &found->target_lengths);
    fputc(',', stdout);
    json_length("words", &found->target_words);
    fputc('}', stdout);
    json_symbols("symbols", &found->symbols);
    json_symbols("target_symbols", &found->target_symbols);
    printf(",\"repeated\":%" PRId64 ",\"uneven\":%" PRId64 ",", found->repeated, found->uneven);
}

static void print_json(const checked *of) {
    const survey *found = &of->found;
    fputs("{\"file\":", stdout);
    text_print_json(stdout, of->given->positional[0]);
    if (of->given->positional[1]) {
        fputs(",\"targets\":", stdout);
        text_print_json(stdout, of->given->positional[1]);
    }
    printf(",\"format\":\"%s\",\"labelled\":%s,\"examples\":%" PRId64 ",\"tokens\":%" PRId64 ",\"lengths\":{",
           opening_formats[attn_dataset_format(of->dataset)], of->unlabelled ? "false" : "true",
           found->examples, found->tokens);
    if (attn_dataset_tokenized(of->dataset)) {
        json_length("tokens", &found->lengths);
    } else {
        json_length("characters", &found->lengths);
        fputc(',', stdout);
        json_length("words", &found->words);
    }
    fputs("},", stdout);
    if (has_pairs(of)) json_pairs(of);
    fputs("\"columns\":[", stdout);
    for (int c = 0; c < found->columns; c++) {
        if (c > 0) fputc(',', stdout);
        json_column(&found->column[c]);
    }
    printf("],\"empty\":%" PRId64 ",\"duplicates\":%" PRId64 ",\"contradictions\":%" PRId64
           ",\"wrong\":%" PRId64 ",\"problems\":[",
           found->empty, found->duplicates, found->contradictions, attn_dataset_skipped(of->dataset));
    const char *problem;
    for (int64_t i = 0; (problem = attn_dataset_problem(of->dataset, i)) != NULL; i++) {
        if (i > 0) fputc(',', stdout);
        text_print_json(stdout, problem);
    }
    puts("]}");
}

/* ---- the command ---- */

/* Reads it as training would, wrong examples left out. A file that has nothing to learn is read as one to
 * predict on, and *unlabelled (to be freed) says why. */
static attn_status read_file(attn_context *context, const check_arguments *given, attn_dataset **dataset,
                             char **unlabelled) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.format = (attn_format)given->format;
    options.column = given->column;
    options.text_column = given->text_column;
    options.skip_bad = 1;
    if (given->positional[1])
        return attn_dataset_read_parallel(context, given->positional[0], given->positional[1], &options,
                                          dataset);
    if (given->task == TASK_SEQ2SEQ) options.format = ATTN_FORMAT_PAIRS;
    if (given->task == TASK_LM) {
        options.format = ATTN_FORMAT_LINES;
        options.labelled = 0; /* lines are all there is */
    }
    if (given->task == TASK_TAG) options.per_token = 1;
    if (given->task == TASK_CLASSIFY || given->task == TASK_REGRESS) options.per_token = 0;
    attn_status status = attn_dataset_read(context, given->positional[0], &options, dataset);
    if (status != ATTN_INVALID_ARGUMENT || given->column != NULL) return status;
    const char *error = attn_context_error(context);
    *unlabelled = malloc(strlen(error) + 1);
    if (*unlabelled == NULL) return status;
    strcpy(*unlabelled, error);
    options.labelled = 0;
    return attn_dataset_read(context, given->positional[0], &options, dataset);
}

static int check(attn_context *context, const check_arguments *given) {
    attn_dataset *dataset = NULL;
    char *unlabelled = NULL;
    int code = EXIT_DONE;
    if (read_file(context, given, &dataset, &unlabelled) != ATTN_OK) {
        if (unlabelled != NULL)
            arguments_complain("check", "", unlabelled, "", NULL);
        else
            opening_fail("check", context);
        free(unlabelled);
        return EXIT_FAILED;
    }
    checked of = {.given = given,
                  .dataset = dataset,
                  .unlabelled = unlabelled,
                  .color = terminal_color_of_output(TERMINAL_AUTO)};
    if (!survey_take(dataset, &of.found)) {
        fputs("attn check: out of memory\n", stderr);
        code = EXIT_FAILED;
    } else {
        if (given->json)
            print_json(&of);
        else
            print_text(&of);
        if (attn_dataset_skipped(dataset) > 0 && !given->skip_bad) code = EXIT_FAILED;
        survey_free(&of.found);
    }
    free(unlabelled);
    attn_dataset_destroy(dataset);
    return code;
}

/* Whether the arguments go together; it has said why not. */
static bool make_sense(const check_arguments *given, size_t files) {
    bool pairs = files > 1 || given->task == TASK_SEQ2SEQ;
    const char *problem = NULL;
    if (files < 1)
        problem = "give a file: attn check FILE";
    else if (files > 1 && given->task != TASK_ANY && given->task != TASK_SEQ2SEQ)
        problem = "two files are sources and targets, of seq2seq: give one, or that task";
    else if (pairs && given->format != ATTN_FORMAT_AUTO && given->format != ATTN_FORMAT_PAIRS)
        problem = "pairs are read: --format is to be pairs, or left out";
    else if (files > 1 && (given->column || given->text_column))
        problem = "two files, of sources and of targets, have no columns: leave out --column and "
                  "--text-column";
    if (problem) fprintf(stderr, "attn check: %s\n", problem);
    return problem == NULL;
}

int command_check(int count, char **arguments) {
    check_arguments given = {0};
    const argument_flag flags[] = {
        argument_choice("task", &given.task, NULL, "any", tasks, "what the file is to be good for"),
        argument_choice("format", &given.format, NULL, "auto", opening_formats, "of the file"),
        argument_text("column", &given.column, "NAMES", "what is to be learned: UPOS, label, ..."),
        argument_text("text-column", &given.text_column, "NAME",
                      "the text of a table; of pairs the source's number"),
        argument_switch("skip-bad", &given.skip_bad, "wrong lines are no failure, only left out"),
        argument_switch("json", &given.json, "everything as one JSON object"),
    };
    argument_list list = {
        .command = "check",
        .usage = "FILE [TARGETS] [flags]",
        .about = "Says what is in a file of examples: how many and how long, the classes and how often\n"
                 "each occurs, what is missing or empty, what stands there twice or contradicts itself,\n"
                 "and which lines are wrong (the status is 1 then). Pairs of texts (--task seq2seq) stand\n"
                 "in one file, source TAB target, or in two that belong together line by line.\n",
        .examples = "  attn check train.conllu\n"
                    "  attn check train.conllu --column FEATS:Number\n"
                    "  attn check reviews.csv --column stars --text-column review\n"
                    "  attn check train.en train.de\n"
                    "  attn check words.tsv --task seq2seq\n",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = given.positional,
        .positional_limit = 2,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (!make_sense(&given, list.positional_count)) return EXIT_MISUSED;
    attn_context_options options;
    attn_context *context;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK) {
        arguments_complain("check", "", attn_last_create_error(), "", NULL);
        return EXIT_FAILED;
    }
    int code = check(context, &given);
    attn_context_destroy(context);
    return code;
}
