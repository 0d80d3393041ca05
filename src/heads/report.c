/* report.c: the report of a model: metrics by name, metrics of classes, confusion, JSON. */
#include <attn/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/head.h"
#include "heads/metrics/classes.h"
#include "heads/resample.h"

/* Confusion of more classes than that is not written as JSON: the matrix would be all there is to see. */
enum { MOST_CLASSES_IN_JSON = 200 };

typedef struct output_report {
    const at_head_kind *kind;
    int64_t compared;
    at_strings labels;                 /* the head's, then those that only the data have */
    attn_class_metrics *class_metrics; /* [labels.count] */
    at_confusion confusion;
    int confused;                     /* there is a confusion */
    int64_t positive;                 /* of two labels; -1: none */
    at_strings types;                 /* of entities */
    attn_class_metrics *type_metrics; /* [types.count] */
    int first_metric, metrics;        /* which of the report's are of this output */
    at_statistics *statistics;        /* NULL, or what intervals are computed from */
} output_report;

struct attn_report {
    attn_context *context;
    int64_t examples, rows;
    int output_count;
    output_report *outputs;
    at_strings output_names;
    at_strings names; /* of metrics */
    double *values;
    const at_metric **described; /* [names.count] */
    int64_t value_room, described_room;
    char *json;
};

/* ---- what heads add ---- */

attn_status at_report_create(attn_context *context, at_head *const *heads, int count, int64_t examples,
                             attn_report **report) {
    attn_report *made = at_allocate(context, 1, sizeof *made, "a report");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->examples = examples;
    made->outputs = at_allocate(context, count, sizeof *made->outputs, "a report");
    attn_status status = made->outputs ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        made->outputs[i].kind = heads[i]->kind;
        made->outputs[i].positive = -1;
        made->output_count = i + 1;
        status = at_strings_add(context, &made->output_names, at_string(&heads[i]->name, 0),
                                at_string_length(&heads[i]->name, 0));
    }
    if (status != ATTN_OK) {
        attn_report_destroy(made);
        return status;
    }
    *report = made;
    return ATTN_OK;
}

void at_report_rows(attn_report *report, int64_t rows) { report->rows = rows; }
void at_report_compared(attn_report *report, int output, int64_t count) {
    report->outputs[output].compared = count;
}

void at_report_positive(attn_report *report, int output, int64_t label) {
    report->outputs[output].positive = label;
}

int64_t at_report_all_compared(const attn_report *report) {
    int64_t compared = 0;
    for (int i = 0; i < report->output_count; i++) compared += report->outputs[i].compared;
    return compared;
}

/* A metric that its head does not describe has no direction: it is a mistake of ours, found by the first
 * test. */
static const at_metric *describe(const at_head_kind *kind, const char *name) {
    const at_metric *const lists[] = {kind->metrics, at_raw_metrics};
    for (int i = 0; i < 2; i++) {
        for (const at_metric *metric = lists[i]; metric->name; metric++)
            if (strcmp(metric->name, name) == 0) return metric;
    }
    return NULL;
}

attn_status at_report_add(attn_report *report, int output, const char *name, double value) {
    char full[512];
    size_t length = strlen(name), prefix = 0;
    output_report *into = &report->outputs[output];
    const at_metric *metric = describe(into->kind, name);
    if (!metric)
        return at_fail(report->context, ATTN_UNSUPPORTED, "the head %s does not describe its metric %.60s",
                       into->kind->name, name);
    if (output > 0) { /* "NAME.accuracy", the name cut if it is a long one */
        const char *owner = at_string(&report->output_names, output);
        prefix = at_string_length(&report->output_names, output);
        if (prefix > sizeof full - 64) prefix = sizeof full - 64;
        memcpy(full, owner, prefix);
        full[prefix++] = '.';
    }
    memcpy(full + prefix, name, length);
    int64_t count = report->names.count;
    attn_status status = at_grow(report->context, &report->values, &report->value_room, count + 1,
                                 sizeof *report->values, "metrics");
    if (status == ATTN_OK)
        status = at_grow(report->context, &report->described, &report->described_room, count + 1,
                         sizeof *report->described, "metrics");
    if (status == ATTN_OK) status = at_strings_add(report->context, &report->names, full, prefix + length);
    if (status != ATTN_OK) return status;
    report->values[count] = value;
    report->described[count] = metric;
    if (into->metrics++ == 0) into->first_metric = (int)count;
    return ATTN_OK;
}

int at_report_of_pieces(const attn_report *report, int index) { return report->described[index]->of_pieces; }

attn_status at_report_labels(attn_report *report, int output, const at_strings *known,
                             const at_strings *unknown, attn_class_metrics **metrics) {
    attn_context *context = report->context;
    output_report *into = &report->outputs[output];
    const at_strings *lists[] = {known, unknown};
    attn_status status = ATTN_OK;
    for (int list = 0; list < 2; list++) {
        for (int64_t i = 0; i < lists[list]->count && status == ATTN_OK; i++)
            status = at_strings_add(context, &into->labels, at_string(lists[list], i),
                                    at_string_length(lists[list], i));
    }
    if (status != ATTN_OK) return status;
    into->class_metrics =
        at_allocate(context, into->labels.count, sizeof *into->class_metrics, "metrics of classes");
    *metrics = into->class_metrics;
    return into->class_metrics ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

attn_status at_report_confusion(attn_report *report, int output, const at_strings *known,
                                const at_strings *unknown, const int32_t *truth, const int32_t *answers,
                                int64_t places, at_metric_summary *summary) {
    output_report *into = &report->outputs[output];
    attn_class_metrics *metrics;
    attn_status status = at_report_labels(report, output, known, unknown, &metrics);
    if (status == ATTN_OK)
        status =
            at_confusion_make(report->context, truth, answers, places, into->labels.count, &into->confusion);
    if (status != ATTN_OK) return status;
    into->confused = 1;
    at_confusion_count(&into->confusion, metrics);
    *summary = at_metrics_finish(metrics, into->labels.count);
    for (int64_t c = 0; c < into->labels.count; c++) into->compared += metrics[c].support;
    return ATTN_OK;
}

attn_status at_report_entities(attn_report *report, int output, const at_strings *types,
                               attn_class_metrics **metrics) {
    output_report *into = &report->outputs[output];
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < types->count && status == ATTN_OK; i++)
        status =
            at_strings_add(report->context, &into->types, at_string(types, i), at_string_length(types, i));
    if (status != ATTN_OK) return status;
    into->type_metrics =
        at_allocate(report->context, types->count, sizeof *into->type_metrics, "metrics of entities");
    *metrics = into->type_metrics;
    return into->type_metrics ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

void at_report_statistics(attn_report *report, int output, at_statistics *statistics) {
    at_statistics_free(report->outputs[output].statistics);
    report->outputs[output].statistics = statistics;
}

void attn_report_destroy(attn_report *report) {
    if (!report) return;
    attn_context *context = report->context;
    for (int i = 0; i < report->output_count; i++) {
        at_strings_free(context, &report->outputs[i].labels);
        at_release(context, report->outputs[i].class_metrics);
        at_strings_free(context, &report->outputs[i].types);
        at_release(context, report->outputs[i].type_metrics);
        at_statistics_free(report->outputs[i].statistics);
        at_confusion_free(context, &report->outputs[i].confusion);
    }
    at_release(context, report->outputs);
    at_strings_free(context, &report->output_names);
    at_strings_free(context, &report->names);
    at_release(context, report->values);
    at_release(context, report->described);
    free(report->json);
    at_release(context, report);
}

/* ---- asking ---- */

int attn_report_metrics(const attn_report *report) { return report ? (int)report->names.count : 0; }

const char *attn_report_metric_name(const attn_report *report, int index) {
    return index >= 0 && index < attn_report_metrics(report) ? at_string(&report->names, index) : NULL;
}

static int find_metric(const attn_report *report, const char *name) {
    for (int i = 0; name && i < attn_report_metrics(report); i++)
        if (strcmp(at_string(&report->names, i), name) == 0) return i;
    return -1;
}

at_statistics *at_report_statistics_of(const attn_report *report, const char *name, const char **plain) {
    int found = find_metric(report, name);
    if (found < 0) return NULL;
    *plain = report->described[found]->name;
    for (int o = 0; o < report->output_count; o++) {
        const output_report *of = &report->outputs[o];
        if (found >= of->first_metric && found < of->first_metric + of->metrics) return of->statistics;
    }
    return NULL;
}

static const char mean_prefix[] = "mean.";
enum { MEAN_PREFIX = sizeof mean_prefix - 1 };

/* "mean.accuracy" of several outputs, as attn_report_mean wants it: "accuracy"; NULL: it is none. */
static const char *name_of_mean(const attn_report *report, const char *name) {
    int is = report && name && report->output_count > 1 && strncmp(name, mean_prefix, MEAN_PREFIX) == 0;
    return is ? name + MEAN_PREFIX : NULL;
}

double attn_report_metric(const attn_report *report, const char *name) {
    int found = find_metric(report, name);
    return found >= 0 ? report->values[found] : attn_report_mean(report, name_of_mean(report, name), NULL);
}

/* A metric of an output by its name without prefix; -1: it has none. */
static int find_of_output(const attn_report *report, int output, const char *name) {
    const output_report *of = &report->outputs[output];
    for (int i = of->first_metric; i < of->first_metric + of->metrics; i++)
        if (strcmp(report->described[i]->name, name) == 0) return i;
    return -1;
}

double attn_report_output_metric(const attn_report *report, int output, const char *name) {
    if (!report || !name || output < 0 || output >= report->output_count) return NAN;
    int found = find_of_output(report, output, name);
    return found >= 0 ? report->values[found] : NAN;
}

double attn_report_mean(const attn_report *report, const char *name, int *outputs) {
    double sum = 0;
    int count = 0;
    for (int o = 0; report && name && o < report->output_count; o++) {
        int found = find_of_output(report, o, name);
        if (found < 0 || report->described[found]->counts) continue;
        if (report->outputs[o].compared == 0) continue; /* its zeros are those of nothing */
        sum += report->values[found];
        count++;
    }
    if (outputs) *outputs = count;
    return count ? sum / count : NAN;
}

int attn_report_metric_rises(const attn_report *report, const char *name) {
    int found = find_metric(report, name), rises = -1;
    if (found >= 0) return report->described[found]->rises;
    if (name_of_mean(report, name)) rises = attn_metric_rises(name_of_mean(report, name));
    return rises < 0 ? 1 : rises;
}

static const output_report *find_output(const attn_report *report, int output) {
    return report && output >= 0 && output < report->output_count ? &report->outputs[output] : NULL;
}

int64_t attn_report_compared(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->compared : 0;
}

int64_t attn_report_classes(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->labels.count : 0;
}

const char *attn_report_class(const attn_report *report, int output, int64_t class_number) {
    if (class_number < 0 || class_number >= attn_report_classes(report, output)) return NULL;
    return at_string(&report->outputs[output].labels, class_number);
}

attn_class_metrics attn_report_class_metrics(const attn_report *report, int output, int64_t class_number) {
    if (class_number < 0 || class_number >= attn_report_classes(report, output))
        return (attn_class_metrics){0};
    return report->outputs[output].class_metrics[class_number];
}

int64_t attn_report_entity_types(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->types.count : 0;
}

const char *attn_report_entity_type(const attn_report *report, int output, int64_t type) {
    if (type < 0 || type >= attn_report_entity_types(report, output)) return NULL;
    return at_string(&report->outputs[output].types, type);
}

attn_class_metrics attn_report_entity_metrics(const attn_report *report, int output, int64_t type) {
    if (type < 0 || type >= attn_report_entity_types(report, output)) return (attn_class_metrics){0};
    return report->outputs[output].type_metrics[type];
}

int64_t attn_report_positive(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->positive : -1;
}

int attn_report_confused(const attn_report *report, int output) {
    const output_report *found = find_output(report, output);
    return found ? found->confused : 0;
}

int attn_report_metric_counts(const attn_report *report, int index) {
    return index >= 0 && index < attn_report_metrics(report) ? report->described[index]->counts : 0;
}

int64_t attn_report_confusion(const attn_report *report, int output, int64_t truth, int64_t answer) {
    const output_report *found = find_output(report, output);
    return found ? at_confusion_get(&found->confusion, truth, answer) : 0;
}

/* ---- JSON ---- */

/* Numbers that JSON does not have are null. */
static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* name: "label" of classes, "type" of entities. */
static json_t *classes_json(const at_strings *labels, const attn_class_metrics *metrics, const char *name) {
    json_t *list = json_array();
    for (int64_t c = 0; list && c < labels->count; c++) {
        const attn_class_metrics *one = &metrics[c];
        json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o}", name, at_string(labels, c),
                                   "support", (json_int_t)one->support, "predicted",
                                   (json_int_t)one->predicted, "right", (json_int_t)one->right, "precision",
                                   real(one->precision), "recall", real(one->recall), "f1", real(one->f1));
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

/* The intervals of those metrics that have one. */
static json_t *intervals_json(const attn_report *report, int number) {
    const output_report *output = &report->outputs[number];
    json_t *object = json_object();
    int bad = !object;
    for (int i = output->first_metric; i < output->first_metric + output->metrics && !bad; i++) {
        double low, high;
        const double *values;
        const char *name = report->described[i]->name;
        bad = at_statistics_values(output->statistics, name, &values) != ATTN_OK;
        if (bad || !values) continue;
        attn_resamples_interval(values, &low, &high);
        bad = json_object_set_new(object, name, json_pack("[o, o]", real(low), real(high))) != 0;
    }
    if (!bad) return object;
    json_decref(object);
    return NULL;
}

/* Adds what is known of an output to an object; 0, or -1 without memory. */
static int output_json(const attn_report *report, int number, json_t *object) {
    const output_report *output = &report->outputs[number];
    int bad = json_object_set_new(object, "compared", json_integer(output->compared));
    for (int i = output->first_metric; i < output->first_metric + output->metrics; i++) {
        const char *name = at_string(&report->names, i);
        const char *dot = number > 0 ? strrchr(name, '.') : NULL; /* the prefix is the object's name */
        const char *key = dot ? dot + 1 : name;
        bad |= json_object_set_new(object, key,
                                   report->described[i]->counts ? json_integer((json_int_t)report->values[i])
                                                                : real(report->values[i]));
    }
    if (output->statistics) bad |= json_object_set_new(object, "intervals", intervals_json(report, number));
    if (output->types.count > 0)
        bad |= json_object_set_new(object, "entities",
                                   classes_json(&output->types, output->type_metrics, "type"));
    if (output->labels.count > 0)
        bad |= json_object_set_new(object, "classes",
                                   classes_json(&output->labels, output->class_metrics, "label"));
    if (output->positive >= 0)
        bad |= json_object_set_new(object, "positive",
                                   json_string(at_string(&output->labels, output->positive)));
    if (output->confused && output->labels.count <= MOST_CLASSES_IN_JSON)
        bad |= json_object_set_new(object, "confusion", confusion_json(output));
    return bad;
}

/* The means over the outputs, of every metric that one of them has. */
static json_t *means_json(const attn_report *report) {
    json_t *means = json_object();
    int bad = !means;
    for (int i = 0; i < attn_report_metrics(report) && !bad; i++) {
        const char *name = report->described[i]->name;
        if (report->described[i]->counts || json_object_get(means, name)) continue;
        bad = json_object_set_new(means, name, real(attn_report_mean(report, name, NULL))) != 0;
    }
    if (!bad) return means;
    json_decref(means);
    return NULL;
}

static int whole_json(const attn_report *report, json_t *object) {
    int bad = json_object_set_new(object, "examples", json_integer(report->examples));
    bad |= json_object_set_new(object, "units", json_integer(report->rows));
    bad |= output_json(report, 0, object);
    if (report->output_count < 2) return bad;
    bad |= json_object_set_new(object, "mean", means_json(report));
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
