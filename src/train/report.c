/* report.c: a model's answers beside what the data say: metrics by name, scores of classes, confusion, JSON.
 */
#include <attn/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/bmes.h"
#include "model/model.h"
#include "train/metrics.h"
#include "train/report_sequences.h"

/* Confusion of more classes than that is not written as JSON: the matrix would be all there is to see. */
enum { MOST_CLASSES_IN_JSON = 200 };

typedef struct output_report {
    attn_output_kind kind;
    int64_t rows;              /* compared */
    at_strings labels;         /* the model's, then those that only the data have */
    attn_class_scores *scores; /* [labels.count] */
    at_confusion confusion;    /* CLASS */
    int first_metric, metrics; /* which of the report's are of this output */
} output_report;

struct attn_report {
    attn_context *context;
    int64_t examples, units;
    int output_count;
    output_report *outputs;
    at_strings output_names;
    at_strings names; /* of metrics */
    double *values;
    int64_t value_room;
    char *json;
};

/* What is compared: targets and answers of a dataset. */
typedef struct comparison {
    attn_report *report;
    const attn_model *model;
    const attn_prediction *prediction;
    at_targets targets;
    int64_t rows; /* places with an answer: units or examples */
} comparison;

/* ---- metrics by name ---- */

static attn_status add_metric(attn_report *report, int output, const char *name, double value) {
    char full[512];
    size_t length = strlen(name), prefix = 0;
    if (output > 0) { /* "NAME.accuracy", the name cut if it is a long one */
        const char *owner = at_string(&report->output_names, output);
        prefix = at_string_length(&report->output_names, output);
        if (prefix > sizeof full - 64) prefix = sizeof full - 64;
        memcpy(full, owner, prefix);
        full[prefix++] = '.';
    }
    memcpy(full + prefix, name, length);
    attn_status status = at_grow(report->context, &report->values, &report->value_room,
                                 report->names.count + 1, sizeof *report->values, "metrics");
    if (status == ATTN_OK) status = at_strings_add(report->context, &report->names, full, prefix + length);
    if (status == ATTN_OK) {
        report->values[report->names.count - 1] = value;
        report->outputs[output].metrics++;
    }
    return status;
}

static attn_status add_metrics(attn_report *report, int output, const at_named_value *values, int count) {
    attn_status status = ATTN_OK;
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = add_metric(report, output, values[i].name, values[i].value);
    return status;
}
#define ADD_METRICS(report, output, values)                                                                  \
    add_metrics(report, output, values, (int)(sizeof(values) / sizeof(values)[0]))

/* ---- one output ---- */

/* The model's labels, then the unknown ones, and room for their scores. */
static attn_status take_labels(const comparison *work, int output) {
    attn_context *context = work->report->context;
    output_report *into = &work->report->outputs[output];
    const at_strings *lists[] = {&work->model->outputs[output].labels.strings,
                                 &work->targets.outputs[output].unknown.strings};
    attn_status status = ATTN_OK;
    for (int list = 0; list < 2; list++) {
        for (int64_t i = 0; i < lists[list]->count && status == ATTN_OK; i++)
            status = at_strings_add(context, &into->labels, at_string(lists[list], i),
                                    at_string_length(lists[list], i));
    }
    if (status != ATTN_OK) return status;
    into->scores = at_allocate(context, into->labels.count, sizeof *into->scores, "scores of classes");
    return into->scores ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* Calls the model's answers in order, row by row. */
typedef struct walker {
    const comparison *work;
    int64_t row, example, unit;
} walker;

static int next_row(walker *at) {
    if (at->row + 1 >= at->work->rows) return 0;
    at->row++;
    if (!at->work->model->per_token) {
        at->example = at->row;
        return 1;
    }
    at->unit++;
    while (at->row >= at->work->targets.offsets[at->example + 1]) {
        at->example++;
        at->unit = 0;
    }
    return 1;
}
static walker start(const comparison *work) { return (walker){.work = work, .row = -1, .unit = -1}; }

static attn_status count_words(const comparison *work, const int32_t *truth, const int32_t *answers) {
    attn_context *context = work->report->context;
    const at_strings *labels = &work->model->outputs->labels.strings;
    unsigned char *cuts = at_allocate(context, 2 * work->rows, 1, "the words of a text");
    if (!cuts) return ATTN_OUT_OF_MEMORY;
    const int32_t *classes[2] = {truth, answers};
    char before[2] = {0, 0};
    for (walker at = start(work); next_row(&at);) {
        int space = strcmp(attn_prediction_unit(work->prediction, at.example, at.unit), " ") == 0;
        for (int side = 0; side < 2; side++) {
            char label = at_string(labels, classes[side][at.row])[0];
            int begins = at_bmes_begins(at.unit == 0 ? 0 : before[side], label);
            cuts[side * work->rows + at.row] = (unsigned char)(space    ? AT_WORD_NONE
                                                               : begins ? AT_WORD_BEGINS
                                                                        : AT_WORD_GOES_ON);
            before[side] = label;
        }
    }
    at_word_counts counts = {0};
    for (int64_t e = 0; e < work->targets.examples; e++) {
        int64_t first = work->targets.offsets[e], count = work->targets.offsets[e + 1] - first;
        at_words_count(cuts + first, cuts + work->rows + first, count, &counts);
    }
    at_release(context, cuts);
    /* As of one class, "word": its precision, recall and F1. */
    attn_class_scores word = {.support = counts.truth, .predicted = counts.answers, .right = counts.right};
    at_scores_finish(&word, 1);
    const at_named_value values[] = {
        {"word_f1", word.f1}, {"word_precision", word.precision}, {"word_recall", word.recall}};
    return ADD_METRICS(work->report, 0, values);
}

static attn_status compare_class(comparison *work, int output, int32_t *answers) {
    output_report *into = &work->report->outputs[output];
    int32_t *truth = work->targets.outputs[output].classes;
    int64_t known = work->model->outputs[output].labels.strings.count, unknown = 0;
    attn_status status = take_labels(work, output);
    if (status != ATTN_OK) return status;
    for (walker at = start(work); next_row(&at);) {
        answers[at.row] = (int32_t)attn_prediction_class(work->prediction, output, at.example, at.unit);
        if (truth[at.row] < -1) {
            truth[at.row] = (int32_t)(known + (-2 - truth[at.row]));
            unknown++;
        }
    }
    status = at_confusion_make(work->report->context, truth, answers, work->rows, into->labels.count,
                               &into->confusion);
    if (status != ATTN_OK) return status;
    at_confusion_count(&into->confusion, into->scores);
    at_score_summary summary = at_scores_finish(into->scores, into->labels.count);
    for (int64_t c = 0; c < into->labels.count; c++) into->rows += into->scores[c].support;
    if (work->model->values.scheme == AT_SCHEME_BMES) status = count_words(work, truth, answers);
    const at_named_value values[] = {
        {"accuracy", summary.micro_f1},         {"macro_precision", summary.macro_precision},
        {"macro_recall", summary.macro_recall}, {"macro_f1", summary.macro_f1},
        {"micro_f1", summary.micro_f1},         {"unknown_labels", (double)unknown}};
    return status == ATTN_OK ? ADD_METRICS(work->report, output, values) : status;
}

/* A label that the model does not know was missed. */
static attn_status compare_labels(comparison *work, int output, float *probabilities) {
    output_report *into = &work->report->outputs[output];
    const at_target *target = &work->targets.outputs[output];
    int64_t known = work->model->outputs[output].labels.strings.count, exact = 0, unknown = 0;
    attn_status status = take_labels(work, output);
    if (status != ATTN_OK) return status;
    for (walker at = start(work); next_row(&at);) {
        for (int64_t l = 0; l < known; l++)
            probabilities[l] =
                (float)attn_prediction_probability(work->prediction, output, at.example, at.unit, l);
        int right = at_labels_count(target->numbers + at.row * known, probabilities, known, into->scores);
        exact += right && target->classes[at.row] == 0;
        unknown += target->classes[at.row];
    }
    for (int64_t u = 0; u < target->unknown.strings.count; u++)
        into->scores[known + u].support = target->unknown.counts[u];
    into->rows = work->rows;
    at_score_summary summary = at_scores_finish(into->scores, into->labels.count);
    const at_named_value values[] = {{"exact", (double)exact / (double)(into->rows ? into->rows : 1)},
                                     {"macro_precision", summary.macro_precision},
                                     {"macro_recall", summary.macro_recall},
                                     {"macro_f1", summary.macro_f1},
                                     {"micro_precision", summary.micro_precision},
                                     {"micro_recall", summary.micro_recall},
                                     {"micro_f1", summary.micro_f1},
                                     {"unknown_labels", (double)unknown}};
    return ADD_METRICS(work->report, output, values);
}

static attn_status compare_numbers(comparison *work, int output, double *answers) {
    for (walker at = start(work); next_row(&at);)
        answers[at.row] = attn_prediction_number(work->prediction, output, at.example, at.unit);
    at_number_errors errors = at_numbers_compare(work->targets.outputs[output].numbers, answers, work->rows);
    work->report->outputs[output].rows = errors.rows;
    const at_named_value values[] = {{"mean_squared_error", errors.mean_squared},
                                     {"mean_absolute_error", errors.mean_absolute},
                                     {"correlation", errors.correlation}};
    return ADD_METRICS(work->report, output, values);
}

static attn_status compare_output(comparison *work, int output) {
    attn_context *context = work->report->context;
    output_report *into = &work->report->outputs[output];
    into->kind = work->model->outputs[output].kind;
    into->first_metric = (int)work->report->names.count;
    int64_t labels = work->model->outputs[output].labels.strings.count;
    void *answers = NULL;
    attn_status status = ATTN_OUT_OF_MEMORY;
    switch (into->kind) {
    case ATTN_OUTPUT_CLASS:
        answers = at_allocate(context, work->rows, sizeof(int32_t), "answers");
        if (answers) status = compare_class(work, output, answers);
        break;
    case ATTN_OUTPUT_LABELS:
        answers = at_allocate(context, labels, sizeof(float), "answers");
        if (answers) status = compare_labels(work, output, answers);
        break;
    case ATTN_OUTPUT_NUMBER:
        answers = at_allocate(context, work->rows, sizeof(double), "answers");
        if (answers) status = compare_numbers(work, output, answers);
        break;
    }
    at_release(context, answers);
    return status;
}

/* ---- the whole ---- */

static attn_status compare(comparison *work, const attn_dataset *dataset) {
    attn_report *report = work->report;
    attn_context *context = report->context;
    report->examples = work->targets.examples;
    report->units = work->targets.rows;
    report->outputs = at_allocate(context, work->model->output_count, sizeof *report->outputs, "a report");
    if (!report->outputs) return ATTN_OUT_OF_MEMORY;
    report->output_count = work->model->output_count;
    work->rows = work->model->per_token ? work->targets.rows : work->targets.examples;
    int64_t compared = 0;
    attn_status status = ATTN_OK;
    for (int i = 0; i < report->output_count && status == ATTN_OK; i++) {
        status = at_strings_add(context, &report->output_names, at_string(&work->model->output_names, i),
                                at_string_length(&work->model->output_names, i));
        if (status == ATTN_OK) status = compare_output(work, i);
        compared += report->outputs[i].rows;
    }
    if (status == ATTN_OK && compared == 0) {
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "%.300s: has nothing to compare answers with",
                         attn_dataset_name(dataset));
    }
    return status;
}

/* Sequences have one output, which has metrics and nothing else. */
static attn_status report_sequences(attn_model *model, const attn_dataset *dataset,
                                    const attn_search_options *search, int lowercase, attn_report **report) {
    attn_context *context = model->context;
    at_sequence_metrics metrics;
    attn_status status = at_sequences_compare(model, dataset, search, lowercase, &metrics);
    if (status != ATTN_OK) return status;
    if (metrics.compared == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.300s: has nothing to compare answers with",
                       at_string(&dataset->name, 0));
    attn_report *made = at_allocate(context, 1, sizeof *made, "a report");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->examples = metrics.examples;
    made->units = metrics.units;
    made->outputs = at_allocate(context, 1, sizeof *made->outputs, "a report");
    status = made->outputs ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        made->output_count = 1;
        made->outputs->kind = ATTN_OUTPUT_NUMBER;
        made->outputs->rows = metrics.compared;
        status = at_strings_add(context, &made->output_names, "target", 6);
    }
    if (status == ATTN_OK) status = add_metrics(made, 0, metrics.list, metrics.count);
    if (status != ATTN_OK) {
        attn_report_destroy(made);
        return status;
    }
    *report = made;
    return ATTN_OK;
}

attn_status attn_report_create(attn_model *model, const attn_dataset *dataset, attn_report **report) {
    return attn_report_create_search(model, dataset, NULL, 0, report);
}

attn_status attn_report_create_search(attn_model *model, const attn_dataset *dataset,
                                      const attn_search_options *search, int lowercase,
                                      attn_report **report) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    attn_context *context = model->context;
    if (!dataset || !report) return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset or report is NULL");
    if (at_model_says_symbols(model)) return report_sequences(model, dataset, search, lowercase, report);
    comparison work = {.model = model};
    attn_prediction *prediction = NULL;
    attn_status status = at_model_targets(model, dataset, &work.targets);
    if (status != ATTN_OK) return status;
    status = attn_model_predict(model, dataset, 0, &prediction);
    if (status == ATTN_OK) {
        work.prediction = prediction;
        work.report = at_allocate(context, 1, sizeof *work.report, "a report");
        status = work.report ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    }
    if (status == ATTN_OK) {
        work.report->context = context;
        status = compare(&work, dataset);
        if (status == ATTN_OK)
            *report = work.report;
        else
            attn_report_destroy(work.report);
    }
    attn_prediction_destroy(prediction);
    at_targets_free(context, &work.targets);
    return status;
}

void attn_report_destroy(attn_report *report) {
    if (!report) return;
    attn_context *context = report->context;
    for (int i = 0; i < report->output_count; i++) {
        at_strings_free(context, &report->outputs[i].labels);
        at_release(context, report->outputs[i].scores);
        at_confusion_free(context, &report->outputs[i].confusion);
    }
    at_release(context, report->outputs);
    at_strings_free(context, &report->output_names);
    at_strings_free(context, &report->names);
    at_release(context, report->values);
    free(report->json);
    at_release(context, report);
}

/* ---- asking ---- */

int attn_report_metrics(const attn_report *report) { return report ? (int)report->names.count : 0; }

const char *attn_report_metric_name(const attn_report *report, int index) {
    return index >= 0 && index < attn_report_metrics(report) ? at_string(&report->names, index) : NULL;
}

double attn_report_metric(const attn_report *report, const char *name) {
    for (int i = 0; name && i < attn_report_metrics(report); i++)
        if (strcmp(at_string(&report->names, i), name) == 0) return report->values[i];
    return NAN;
}

int attn_metric_rises(const char *name) {
    static const char *const falling[] = {"mean_squared_error", "mean_absolute_error", "unknown_labels",
                                          "word_error_rate",    "symbol_error_rate",   "character_error_rate",
                                          "bits_per_byte",      "perplexity",          "loss",
                                          "unknown_units"};
    const char *dot = name ? strrchr(name, '.') : NULL;
    for (size_t i = 0; name && i < sizeof falling / sizeof falling[0]; i++)
        if (strcmp(dot ? dot + 1 : name, falling[i]) == 0) return 0;
    return 1;
}

static const output_report *find_output(const attn_report *report, int output) {
    return report && output >= 0 && output < report->output_count ? &report->outputs[output] : NULL;
}

int64_t attn_report_classes(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->labels.count : 0;
}

const char *attn_report_class(const attn_report *report, int output, int64_t class_number) {
    if (class_number < 0 || class_number >= attn_report_classes(report, output)) return NULL;
    return at_string(&report->outputs[output].labels, class_number);
}

attn_class_scores attn_report_class_scores(const attn_report *report, int output, int64_t class_number) {
    if (class_number < 0 || class_number >= attn_report_classes(report, output))
        return (attn_class_scores){0};
    return report->outputs[output].scores[class_number];
}

int64_t attn_report_confusion(const attn_report *report, int output, int64_t truth, int64_t answer) {
    const output_report *found = find_output(report, output);
    return found ? at_confusion_get(&found->confusion, truth, answer) : 0;
}

/* ---- JSON ---- */

/* Numbers that JSON does not have are null. */
static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *classes_json(const output_report *output) {
    json_t *list = json_array();
    for (int64_t c = 0; list && c < output->labels.count; c++) {
        const attn_class_scores *one = &output->scores[c];
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "label", at_string(&output->labels, c),
                      "support", (json_int_t)one->support, "predicted", (json_int_t)one->predicted, "right",
                      (json_int_t)one->right, "precision", real(one->precision), "recall", real(one->recall),
                      "f1", real(one->f1));
        if (json_array_append_new(list, object) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *confusion_json(const output_report *output) {
    json_t *labels = json_array(), *rows = json_array();
    int bad = !labels || !rows;
    for (int64_t truth = 0; !bad && truth < output->labels.count; truth++) {
        json_t *row = json_array();
        bad = json_array_append_new(labels, json_string(at_string(&output->labels, truth))) != 0 || !row;
        for (int64_t answer = 0; !bad && answer < output->labels.count; answer++)
            bad = json_array_append_new(
                      row, json_integer(at_confusion_get(&output->confusion, truth, answer))) != 0;
        if (json_array_append_new(rows, row) != 0) bad = 1;
    }
    if (bad) {
        json_decref(labels);
        json_decref(rows);
        return NULL;
    }
    return json_pack("{s:o, s:o}", "labels", labels, "rows", rows);
}

/* Adds what is known of an output to an object; 0, or -1 without memory. */
static int output_json(const attn_report *report, int number, json_t *object) {
    const output_report *output = &report->outputs[number];
    int bad = json_object_set_new(object, "compared", json_integer(output->rows));
    for (int i = output->first_metric; i < output->first_metric + output->metrics; i++) {
        const char *name = at_string(&report->names, i);
        const char *dot = number > 0 ? strrchr(name, '.') : NULL; /* the prefix is the object's name */
        const char *key = dot ? dot + 1 : name;
        int count = strncmp(key, "unknown_", 8) == 0;
        bad |= json_object_set_new(
            object, key, count ? json_integer((json_int_t)report->values[i]) : real(report->values[i]));
    }
    if (output->labels.count > 0) bad |= json_object_set_new(object, "classes", classes_json(output));
    if (output->kind == ATTN_OUTPUT_CLASS && output->labels.count <= MOST_CLASSES_IN_JSON)
        bad |= json_object_set_new(object, "confusion", confusion_json(output));
    return bad;
}

static int whole_json(const attn_report *report, json_t *object) {
    int bad = json_object_set_new(object, "examples", json_integer(report->examples));
    bad |= json_object_set_new(object, "units", json_integer(report->units));
    bad |= output_json(report, 0, object);
    if (report->output_count < 2) return bad;
    json_t *others = json_object();
    for (int i = 1; i < report->output_count; i++) {
        json_t *one = json_object();
        if (!one || output_json(report, i, one) != 0) bad = 1;
        bad |= json_object_set_new(others, at_string(&report->output_names, i), one);
    }
    bad |= json_object_set_new(object, "outputs", others);
    return bad;
}

const char *attn_report_json(attn_report *report) {
    if (!report || report->json) return report ? report->json : NULL;
    json_t *object = json_object();
    if (object && whole_json(report, object) == 0)
        report->json = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(object);
    return report->json;
}
