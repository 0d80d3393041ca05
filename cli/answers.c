/* answers.c: answers as lines and as JSON. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include "answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

typedef struct answers_label {
    int64_t label;
    double probability;
} answers_label;

bool answers_begin(answers *how, attn_model *model, bool json, bool probabilities) {
    attn_reader_options options;
    int64_t most = 1;
    attn_model_reader_options(model, &options);
    for (int i = 0; i < attn_model_outputs(model); i++)
        if (attn_model_labels(model, i) > most) most = attn_model_labels(model, i);
    *how = (answers){.model = model, .json = json, .probabilities = probabilities};
    how->words = strcmp(attn_config_get(attn_model_config(model), "text.scheme"), "bmes") == 0;
    how->terminal = isatty(STDOUT_FILENO) != 0;
    how->separator = options.label_separator != 0 ? options.label_separator : ' ';
    how->sorted = malloc((size_t)most * sizeof *how->sorted);
    return how->sorted != NULL;
}

void answers_end(answers *how) { free(how->sorted); }

/* ---- pieces of lines ---- */

void answers_text(const answers *how, FILE *file, const char *text) {
    if (how->terminal) {
        text_print(file, text);
    } else if (text[strcspn(text, "\t\n\r")] == '\0') {
        fputs(text, file);
    } else { /* a label from a quoted field of CSV may hold anything */
        for (; *text != '\0'; text++) {
            if (*text == '\t' || *text == '\n' || *text == '\r')
                fprintf(file, "\\x%02x", (unsigned)*text);
            else
                fputc(*text, file);
        }
    }
}

static void print_labels(const answers *how, FILE *file, const attn_prediction *prediction, int output,
                         int64_t example, int64_t unit, const char *between) {
    bool first = true;
    for (int64_t l = 0; l < attn_model_labels(how->model, output); l++) {
        double probability = attn_prediction_probability(prediction, output, example, unit, l);
        if (!(probability >= 0.5)) continue;
        if (!first) fputc(how->separator, file);
        answers_text(how, file, attn_model_label(how->model, output, l));
        if (between != NULL) fprintf(file, "%s%.4f", between, probability);
        first = false;
    }
}

void answers_cell(const answers *how, FILE *file, const attn_prediction *prediction, int output,
                  int64_t example, int64_t unit, const char *between) {
    int64_t label;
    switch (attn_model_output_kind(how->model, output)) {
    case ATTN_OUTPUT_NUMBER:
        fprintf(file, "%.7g", attn_prediction_number(prediction, output, example, unit));
        break;
    case ATTN_OUTPUT_LABELS: print_labels(how, file, prediction, output, example, unit, between); break;
    case ATTN_OUTPUT_CLASS:
        answers_text(how, file, attn_prediction_label(prediction, output, example, unit));
        if (between == NULL) break;
        label = attn_prediction_class(prediction, output, example, unit);
        fprintf(file, "%s%.4f", between,
                attn_prediction_probability(prediction, output, example, unit, label));
        break;
    }
}

static int by_probability(const void *left, const void *right) {
    const answers_label *a = left, *b = right;
    if (a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return (a->label > b->label) - (a->label < b->label);
}

/* The labels of an output in how->sorted, the most probable first. */
static int64_t sort_labels(const answers *how, const attn_prediction *prediction, int output,
                           int64_t example) {
    int64_t count = attn_model_labels(how->model, output);
    for (int64_t l = 0; l < count; l++)
        how->sorted[l] = (answers_label){l, attn_prediction_probability(prediction, output, example, 0, l)};
    qsort(how->sorted, (size_t)count, sizeof *how->sorted, by_probability);
    return count;
}

/* ---- lines ---- */

static void print_units(const answers *how, const attn_prediction *prediction, int64_t example) {
    for (int64_t u = 0; u < attn_prediction_units(prediction, example); u++) {
        answers_text(how, stdout, attn_prediction_unit(prediction, example, u));
        for (int o = 0; o < attn_model_outputs(how->model); o++) {
            putchar('\t');
            bool labels = attn_model_output_kind(how->model, o) == ATTN_OUTPUT_LABELS;
            answers_cell(how, stdout, prediction, o, example, u,
                         !how->probabilities ? NULL
                         : labels            ? "="
                                             : "\t");
        }
        putchar('\n');
    }
    putchar('\n');
}

static void print_words(const answers *how, const attn_prediction *prediction, int64_t example) {
    for (int64_t w = 0; w < attn_prediction_words(prediction, example); w++) {
        if (w > 0) putchar(' ');
        answers_text(how, stdout, attn_prediction_word(prediction, example, w));
    }
    putchar('\n');
}

/* One text: an answer of each output; with probabilities and one output, all its labels. */
static void print_answer(const answers *how, const attn_prediction *prediction, int64_t example) {
    int outputs = attn_model_outputs(how->model);
    if (how->probabilities && outputs == 1 && attn_model_labels(how->model, 0) > 0) {
        int64_t count = sort_labels(how, prediction, 0, example);
        for (int64_t i = 0; i < count; i++) {
            if (i > 0) putchar('\t');
            answers_text(how, stdout, attn_model_label(how->model, 0, how->sorted[i].label));
            printf("=%.4f", how->sorted[i].probability);
        }
    } else {
        for (int o = 0; o < outputs; o++) {
            if (o > 0) putchar('\t');
            answers_cell(how, stdout, prediction, o, example, 0, how->probabilities ? "=" : NULL);
        }
    }
    putchar('\n');
}

/* ---- JSON ---- */

static void json_number(double number, const char *format) {
    if (!isfinite(number))
        fputs("null", stdout);
    else
        printf(format, number);
}

static void json_cell(const answers *how, const attn_prediction *prediction, int output, int64_t example,
                      int64_t unit) {
    bool first = true;
    switch (attn_model_output_kind(how->model, output)) {
    case ATTN_OUTPUT_NUMBER:
        json_number(attn_prediction_number(prediction, output, example, unit), "%.7g");
        break;
    case ATTN_OUTPUT_CLASS:
        text_print_json(stdout, attn_prediction_label(prediction, output, example, unit));
        break;
    case ATTN_OUTPUT_LABELS:
        putchar('[');
        for (int64_t l = 0; l < attn_model_labels(how->model, output); l++) {
            if (!(attn_prediction_probability(prediction, output, example, unit, l) >= 0.5)) continue;
            if (!first) putchar(',');
            text_print_json(stdout, attn_model_label(how->model, output, l));
            first = false;
        }
        putchar(']');
        break;
    }
}

/* Of a unit's class its probability; else an object of all labels with theirs. */
static void json_probability(const answers *how, const attn_prediction *prediction, int output,
                             int64_t example, int64_t unit) {
    bool per_token = attn_model_per_token(how->model) != 0;
    if (per_token && attn_model_output_kind(how->model, output) == ATTN_OUTPUT_CLASS) {
        int64_t label = attn_prediction_class(prediction, output, example, unit);
        json_number(attn_prediction_probability(prediction, output, example, unit, label), "%.6g");
        return;
    }
    putchar('{');
    for (int64_t l = 0; l < attn_model_labels(how->model, output); l++) {
        if (l > 0) putchar(',');
        text_print_json(stdout, attn_model_label(how->model, output, l));
        putchar(':');
        json_number(attn_prediction_probability(prediction, output, example, unit, l), "%.6g");
    }
    putchar('}');
}

typedef void (*json_function)(const answers *how, const attn_prediction *prediction, int output,
                              int64_t example, int64_t unit);

/* {NAME: answer or list of answers, ...} */
static void json_outputs(const answers *how, const attn_prediction *prediction, int64_t example,
                         json_function print) {
    bool per_token = attn_model_per_token(how->model) != 0, first = true;
    putchar('{');
    for (int o = 0; o < attn_model_outputs(how->model); o++) {
        if (print == json_probability && attn_model_labels(how->model, o) == 0) continue; /* a number */
        if (!first) putchar(',');
        first = false;
        text_print_json(stdout, attn_model_output_name(how->model, o));
        fputs(per_token ? ":[" : ":", stdout);
        for (int64_t u = 0; per_token && u < attn_prediction_units(prediction, example); u++) {
            if (u > 0) putchar(',');
            print(how, prediction, o, example, u);
        }
        if (per_token)
            putchar(']');
        else
            print(how, prediction, o, example, 0);
    }
    putchar('}');
}

static void print_json(const answers *how, const attn_prediction *prediction, int64_t example) {
    putchar('{');
    if (how->words) {
        fputs("\"words\":[", stdout);
        for (int64_t w = 0; w < attn_prediction_words(prediction, example); w++) {
            if (w > 0) putchar(',');
            text_print_json(stdout, attn_prediction_word(prediction, example, w));
        }
        fputs("],", stdout);
    }
    if (attn_model_per_token(how->model)) {
        fputs("\"units\":[", stdout);
        for (int64_t u = 0; u < attn_prediction_units(prediction, example); u++) {
            if (u > 0) putchar(',');
            text_print_json(stdout, attn_prediction_unit(prediction, example, u));
        }
        fputs("],", stdout);
    }
    fputs("\"outputs\":", stdout);
    json_outputs(how, prediction, example, json_cell);
    if (how->probabilities) {
        fputs(",\"probabilities\":", stdout);
        json_outputs(how, prediction, example, json_probability);
    }
    fputs("}\n", stdout);
}

void answers_print(const answers *how, const attn_prediction *prediction) {
    for (int64_t e = 0; e < attn_prediction_examples(prediction); e++) {
        if (how->json)
            print_json(how, prediction, e);
        else if (how->words && !how->probabilities)
            print_words(how, prediction, e);
        else if (attn_model_per_token(how->model))
            print_units(how, prediction, e);
        else
            print_answer(how, prediction, e);
    }
}
