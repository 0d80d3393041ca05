/* targets.c: what is to be learned: outputs from the target columns of a dataset, and its targets as numbers.
 *
 * With scheme bmes the target is not a column but where words end: a character is the beginning, middle or
 * end of its word, or a word by itself; a space between words is a word by itself.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"

const char *const at_bmes_labels[AT_BMES_LABELS] = {"S", "B", "M", "E"};
enum { SINGLE, BEGIN, MIDDLE, END };

/* ---- outputs ---- */

void at_outputs_free(attn_model *model) {
    for (int i = 0; i < model->output_count; i++) {
        at_vocabulary_free(model->context, &model->outputs[i].labels);
        at_release(model->context, model->outputs[i].class_weights);
    }
    at_release(model->context, model->outputs);
    at_strings_free(model->context, &model->output_names);
    model->outputs = NULL;
    model->output_count = 0;
}

/* Calls `each` for every value of a column that is not missing; several labels of a value one by one. */
typedef attn_status (*value_function)(void *user, const char *text, size_t length, int64_t index);

static attn_status for_values(const attn_dataset *dataset, int column, int split, value_function each,
                              void *user) {
    int64_t columns = dataset->columns.count, count = columns ? dataset->targets.count / columns : 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const char *text = at_string(&dataset->targets, i * columns + column);
        while (*text && status == ATTN_OK) {
            size_t length = split ? strcspn(text, "\n") : strlen(text);
            status = each(user, text, length, i);
            text += length + (text[length] == '\n');
        }
    }
    return status;
}

typedef struct collector {
    attn_context *context;
    const attn_dataset *dataset;
    at_vocabulary labels;
    int several;                 /* a value has more than one label */
    double count, mean, squares; /* of numbers; squares: of their distances from the mean */
} collector;

static attn_status collect_label(void *user, const char *text, size_t length, int64_t index) {
    collector *into = user;
    int64_t number;
    (void)index;
    if (memchr(text, '\n', length)) into->several = 1;
    return at_vocabulary_add(into->context, &into->labels, text, length, 1, &number);
}

/* The line of target `index`: it stands with the token, or with the text. */
static attn_status parse_number(const attn_dataset *dataset, const char *text, size_t length, int64_t index,
                                double *number) {
    char *end;
    *number = strtod(text, &end);
    if (end == text + length && fabs(*number) <= FLT_MAX) return ATTN_OK;
    return at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "%.200s:%" PRId64 ": \"%.60s\" is not a number",
                   at_string(&dataset->name, 0), dataset->lines[index], text);
}

/* A token that has no such feature (CoNLL-U) has no number. */
static int no_number(const char *text) { return !*text || strcmp(text, "_") == 0; }

static attn_status collect_number(void *user, const char *text, size_t length, int64_t index) {
    collector *into = user;
    double number;
    if (no_number(text)) return ATTN_OK;
    attn_status status = parse_number(into->dataset, text, length, index, &number);
    if (status != ATTN_OK) return status;
    double distance = number - into->mean; /* from the mean of those before it, and then with it */
    into->count += 1;
    into->mean += distance / into->count;
    into->squares += distance * (number - into->mean);
    return ATTN_OK;
}

static attn_status learn_numbers(at_output *output, const attn_dataset *dataset, int column) {
    collector into = {.context = dataset->context, .dataset = dataset};
    attn_status status = for_values(dataset, column, 0, collect_number, &into);
    if (status != ATTN_OK) return status;
    if (into.count == 0) {
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "%.200s: column %.60s has no numbers",
                       at_string(&dataset->name, 0), at_string(&dataset->columns, column));
    }
    output->kind = ATTN_OUTPUT_NUMBER;
    output->mean = into.mean;
    double variance = into.squares / into.count;
    output->deviation = variance > 1e-24 ? sqrt(variance) : 1;
    return ATTN_OK;
}

static attn_status weigh_classes(attn_context *context, at_output *output) {
    int64_t classes = output->labels.strings.count, all = 0;
    output->class_weights = at_allocate(context, classes, sizeof(float), "the weights of classes");
    if (!output->class_weights) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < classes; c++) all += output->labels.counts[c];
    for (int64_t c = 0; c < classes; c++)
        output->class_weights[c] =
            (float)((double)all / ((double)classes * (double)output->labels.counts[c]));
    return ATTN_OK;
}

/* The labels in the order of their frequency; unlike units, without an unknown one. */
static attn_status order_labels(attn_context *context, const at_vocabulary *seen, at_vocabulary *labels) {
    at_vocabulary sorted = {0};
    attn_status status = at_vocabulary_sort(context, seen, 1, 0, &sorted);
    int64_t number;
    for (int64_t i = 1; i < sorted.strings.count && status == ATTN_OK; i++) {
        status = at_vocabulary_add(context, labels, at_string(&sorted.strings, i),
                                   at_string_length(&sorted.strings, i), sorted.counts[i], &number);
    }
    at_vocabulary_free(context, &sorted);
    return status;
}

static attn_status learn_labels(const attn_model *model, at_output *output, const attn_dataset *dataset,
                                int column) {
    attn_context *context = model->context;
    collector into = {.context = context, .dataset = dataset};
    attn_status status = for_values(dataset, column, 0, collect_label, &into);
    int choice = model->values.output;
    int labels = choice == AT_OUTPUT_LABELS || (choice == AT_OUTPUT_AUTO && into.several);
    output->kind = labels ? ATTN_OUTPUT_LABELS : ATTN_OUTPUT_CLASS;
    if (labels && status == ATTN_OK) {
        at_vocabulary_free(context, &into.labels);
        status = for_values(dataset, column, 1, collect_label, &into);
    }
    if (status == ATTN_OK) status = order_labels(context, &into.labels, &output->labels);
    at_vocabulary_free(context, &into.labels);
    if (status != ATTN_OK) return status;
    if (output->labels.strings.count == 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: column %.60s has no labels",
                       at_string(&dataset->name, 0), at_string(&dataset->columns, column));
    }
    if (model->values.balance && output->kind == ATTN_OUTPUT_CLASS) return weigh_classes(context, output);
    return ATTN_OK;
}

static attn_status learn_bmes(attn_model *model) {
    attn_status status = at_strings_add(model->context, &model->output_names, "bmes", 4);
    model->outputs = at_allocate(model->context, 1, sizeof *model->outputs, "an output");
    if (!model->outputs) return ATTN_OUT_OF_MEMORY;
    model->output_count = 1;
    int64_t number;
    for (int i = 0; i < AT_BMES_LABELS && status == ATTN_OK; i++)
        status = at_vocabulary_add(model->context, &model->outputs->labels, at_bmes_labels[i], 1, 1, &number);
    return status;
}

attn_status at_outputs_learn(attn_model *model, const attn_dataset *dataset) {
    attn_context *context = model->context;
    model->per_token = dataset->tokenized;
    if (model->values.task == (dataset->tokenized ? AT_TASK_CLASSIFY : AT_TASK_TAG)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has %s", at_string(&dataset->name, 0),
                       dataset->tokenized ? "labelled tokens; to classify is to label texts"
                                          : "texts; to tag is to label tokens");
    }
    if (model->values.scheme == AT_SCHEME_BMES) return learn_bmes(model);
    int64_t columns = dataset->columns.count;
    if (columns == 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has nothing to learn: no column of labels",
                       at_string(&dataset->name, 0));
    }
    model->outputs = at_allocate(context, columns, sizeof *model->outputs, "the outputs");
    if (!model->outputs) return ATTN_OUT_OF_MEMORY;
    model->output_count = (int)columns;
    attn_status status = ATTN_OK;
    int numbers = model->values.output == AT_OUTPUT_NUMBER ||
                  (model->values.output == AT_OUTPUT_AUTO && model->values.task == AT_TASK_REGRESS);
    for (int c = 0; c < columns && status == ATTN_OK; c++) {
        status = at_strings_add(context, &model->output_names, at_string(&dataset->columns, c),
                                at_string_length(&dataset->columns, c));
        if (status != ATTN_OK) break;
        status = numbers ? learn_numbers(&model->outputs[c], dataset, c)
                         : learn_labels(model, &model->outputs[c], dataset, c);
    }
    return status;
}

/* ---- targets ---- */

void at_targets_free(attn_context *context, at_targets *targets) {
    for (int i = 0; i < targets->output_count; i++) {
        at_release(context, targets->outputs[i].classes);
        at_release(context, targets->outputs[i].numbers);
        at_vocabulary_free(context, &targets->outputs[i].unknown);
    }
    at_release(context, targets->outputs);
    at_release(context, targets->offsets);
    memset(targets, 0, sizeof *targets);
}

/* Labels of the characters of each word, in the order in which at_text_units gives characters. */
static void label_characters(const at_units *units, int32_t *labels) {
    for (int64_t example = 0; example < units->examples; example++) {
        int64_t end = units->offsets[example + 1];
        for (int64_t i = units->offsets[example]; i < end; i++) {
            if (strcmp(at_string(&units->units, i), " ") == 0) {
                labels[i] = SINGLE;
                continue;
            }
            int starts = i == units->offsets[example] || units->tokens[i - 1] != units->tokens[i];
            int ends = i + 1 == end || units->tokens[i + 1] != units->tokens[i] ||
                       strcmp(at_string(&units->units, i + 1), " ") == 0;
            labels[i] = starts ? (ends ? SINGLE : BEGIN) : (ends ? END : MIDDLE);
        }
    }
}

static attn_status class_number(const at_output *output, at_target *target, attn_context *context,
                                const char *text, int32_t *number) {
    *number = -1;
    if (!*text) return ATTN_OK;
    int64_t found = at_vocabulary_find(&output->labels, text, strlen(text));
    *number = (int32_t)found;
    if (found >= 0) return ATTN_OK;
    int64_t unknown;
    attn_status status = at_vocabulary_add(context, &target->unknown, text, strlen(text), 1, &unknown);
    if (status == ATTN_OK) *number = (int32_t)(-2 - unknown);
    return status;
}

typedef struct label_marks {
    attn_context *context;
    const at_output *output;
    at_target *target;
} label_marks;

static attn_status mark_label(void *user, const char *text, size_t length, int64_t index) {
    label_marks *marks = user;
    int64_t label = at_vocabulary_find(&marks->output->labels, text, length);
    if (label >= 0) {
        marks->target->numbers[index * marks->output->labels.strings.count + label] = 1;
        return ATTN_OK;
    }
    int64_t unknown;
    marks->target->classes[index]++;
    return at_vocabulary_add(marks->context, &marks->target->unknown, text, length, 1, &unknown);
}

static attn_status fill_target(const attn_model *model, const attn_dataset *dataset, int column,
                               const at_output *output, int64_t count, at_target *target) {
    attn_context *context = model->context;
    int64_t columns = dataset->columns.count;
    int64_t width = output->kind == ATTN_OUTPUT_LABELS ? output->labels.strings.count : 1;
    attn_status status = ATTN_OK;
    if (output->kind != ATTN_OUTPUT_NUMBER) {
        target->classes = at_allocate(context, count, sizeof *target->classes, "targets");
        if (!target->classes) return ATTN_OUT_OF_MEMORY;
    }
    if (output->kind == ATTN_OUTPUT_CLASS) {
        for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
            status = class_number(output, target, context, at_string(&dataset->targets, i * columns + column),
                                  &target->classes[i]);
        }
        return status;
    }
    target->numbers = at_allocate(context, count * width, sizeof *target->numbers, "targets");
    if (!target->numbers) return ATTN_OUT_OF_MEMORY;
    if (output->kind == ATTN_OUTPUT_LABELS) {
        label_marks marks = {context, output, target};
        return for_values(dataset, column, 1, mark_label, &marks);
    }
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const char *text = at_string(&dataset->targets, i * columns + column);
        double number = NAN;
        if (!no_number(text)) status = parse_number(dataset, text, strlen(text), i, &number);
        target->numbers[i] = (float)number;
    }
    return status;
}

/* The column of the dataset for an output: by name, or, where there is only one of each, that one. */
static int find_column(const attn_model *model, const attn_dataset *dataset, int output) {
    for (int c = 0; c < dataset->columns.count; c++) {
        if (strcmp(at_string(&dataset->columns, c), at_string(&model->output_names, output)) == 0) return c;
    }
    return model->output_count == 1 && dataset->columns.count == 1 ? 0 : -1;
}

static attn_status fill_targets(const attn_model *model, const attn_dataset *dataset, const at_units *units,
                                at_targets *targets) {
    attn_context *context = model->context;
    targets->examples = units->examples;
    targets->rows = units->units.count;
    targets->offsets = at_allocate(context, units->examples + 1, sizeof *targets->offsets, "targets");
    targets->outputs = at_allocate(context, model->output_count, sizeof *targets->outputs, "targets");
    if (!targets->offsets || !targets->outputs) return ATTN_OUT_OF_MEMORY;
    targets->output_count = model->output_count;
    if (units->examples)
        memcpy(targets->offsets, units->offsets, (size_t)(units->examples + 1) * sizeof *units->offsets);
    if (model->values.scheme == AT_SCHEME_BMES) {
        targets->outputs->classes = at_allocate(context, targets->rows, sizeof(int32_t), "targets");
        if (!targets->outputs->classes) return ATTN_OUT_OF_MEMORY;
        label_characters(units, targets->outputs->classes);
        return ATTN_OK;
    }
    int64_t count = model->per_token ? targets->rows : targets->examples;
    for (int i = 0; i < model->output_count; i++) {
        int column = find_column(model, dataset, i);
        if (column < 0) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s: has no column %.100s, which the model learned",
                           at_string(&dataset->name, 0), at_string(&model->output_names, i));
        }
        attn_status status =
            fill_target(model, dataset, column, &model->outputs[i], count, &targets->outputs[i]);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

attn_status at_targets_make(const attn_model *model, const attn_dataset *dataset, const at_units *units,
                            at_targets *targets) {
    memset(targets, 0, sizeof *targets);
    if (model->per_token != dataset->tokenized) {
        return at_fail(model->context, ATTN_INVALID_ARGUMENT, "%.200s: has %s, the model learned from %s",
                       at_string(&dataset->name, 0), dataset->tokenized ? "labelled tokens" : "texts",
                       model->per_token ? "labelled tokens" : "texts");
    }
    if (model->per_token && model->values.scheme != AT_SCHEME_BMES &&
        units->units.count != dataset->tokens.count) {
        return at_fail(model->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has a target for each token, which needs text.unit words",
                       at_string(&dataset->name, 0));
    }
    attn_status status = fill_targets(model, dataset, units, targets);
    if (status != ATTN_OK) at_targets_free(model->context, targets);
    return status;
}

attn_status at_model_targets(const attn_model *model, const attn_dataset *dataset, at_targets *targets) {
    at_units units = {0};
    attn_status status = at_text_units(&model->text, dataset, &units);
    if (status == ATTN_OK) status = at_targets_make(model, dataset, &units, targets);
    at_units_free(model->context, &units);
    return status;
}
