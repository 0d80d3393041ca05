/* class.c: one of several labels, for each row or example: softmax and cross-entropy. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/metrics/calibration.h"
#include "heads/metrics/classes.h"
#include "heads/rows.h"
#include "heads/transitions.h"

static const at_metric metrics[] = {
    AT_COUNTED_METRICS,   {"log_loss", 0, 0, 0}, {"calibration_error", 0, 0, 0},
    {"roc_auc", 1, 0, 0}, {"pr_auc", 1, 0, 0},   {NULL, 0, 0, 0}};

/* The areas are those of two classes. */
static int has_metric(const at_head *head, const at_metric *metric) {
    if (!at_tagging_has_metric(at_row_head_of(head), metric)) return 0;
    return metric <= &metrics[AT_COUNTED + 1] || at_row_head_of(head)->labels.strings.count == 2;
}

static int64_t width(const at_row_head *head) { return head->labels.strings.count; }

/* ---- learning ---- */

/* Rare classes weigh more in the loss. */
static attn_status weigh_classes(at_row_head *head) {
    int64_t classes = head->labels.strings.count, all = 0;
    head->class_weights = at_allocate(head->head.context, classes, sizeof(float), "the weights of classes");
    if (!head->class_weights) return ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0; c < classes; c++) all += head->labels.counts[c];
    for (int64_t c = 0; c < classes; c++)
        head->class_weights[c] = (float)((double)all / ((double)classes * (double)head->labels.counts[c]));
    return ATTN_OK;
}

static attn_status learn(at_head *head, const at_labels *labels, int column) {
    attn_status status = at_learn_labels(at_row_head_of(head), labels, column, 0);
    if (status != ATTN_OK || !head->config.output.balance || labels->fixed) return status;
    return weigh_classes(at_row_head_of(head));
}

static attn_status learn_more(at_head *head, const at_labels *labels, int column) {
    attn_status status = at_rows_learn_more(head, labels, column);
    if (status != ATTN_OK || !head->config.output.balance || labels->fixed) return status;
    return weigh_classes(at_row_head_of(head));
}

/* A run that an older version began continues with what it began with. */
static const char *metric(const at_head *head) {
    const at_tagging *tagging = at_row_head_of(head)->tagging;
    return tagging && tagging->scheme != AT_SCHEME_NONE ? "entity_f1" : "accuracy";
}

static attn_status fill(const at_row_head *head, attn_context *context, const at_labels *labels, int column,
                        at_row_targets *targets) {
    int64_t columns = labels->columns->count;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < labels->places && status == ATTN_OK; i++) {
        const char *text = at_string(labels->values, i * columns + column);
        targets->classes[i] = -1;
        if (!*text) continue;
        int64_t number = at_vocabulary_find(&head->labels, text, strlen(text)), unknown;
        if (number < 0) {
            status = at_vocabulary_add(context, &targets->unknown, text, strlen(text), 1, &unknown);
            number = -2 - unknown;
        }
        targets->classes[i] = (int32_t)number;
    }
    return status;
}

/* ---- computing ---- */

static attn_variable *loss(const at_head *head, attn_tape *tape, attn_variable *logits,
                           const at_targets *targets) {
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
    options.smoothing = (float)head->config.output.smoothing;
    options.class_weights = at_row_head_of(head)->class_weights;
    return attn_tape_cross_entropy(tape, logits,
                                   ((const at_row_targets *)(const void *)targets)->batch_classes, &options);
}

static void soften(const float *logits, int64_t count, double temperature, float *answer) {
    double sum = 0, most = logits[at_largest(logits, count)];
    for (int64_t i = 0; i < count; i++) sum += exp(((double)logits[i] - most) / temperature);
    for (int64_t i = 0; i < count; i++)
        answer[i] = (float)(exp(((double)logits[i] - most) / temperature) / sum);
}

static void answer(const at_row_head *head, const float *logits, float *answer) {
    soften(logits, width(head), 1, answer);
}

static void put(const at_row_head *head, at_row_answers *into, const float *row, int averaged,
                int64_t place) {
    into->classes[place] = at_largest(row, into->labels);
    if (!into->probabilities && !into->likelihood) return;
    float *probabilities = into->probabilities ? into->probabilities + place * into->labels : into->row;
    if (averaged) {
        memcpy(probabilities, row, (size_t)into->labels * sizeof *row);
        at_temper_class(head->temperature, probabilities, into->labels);
    } else {
        soften(row, into->labels, head->temperature, probabilities);
    }
    if (!into->likelihood) return;
    into->confidence[place] = probabilities[into->classes[place]];
    int32_t truth = into->truth[place];
    into->likelihood[place] = truth >= 0 ? probabilities[truth] : 0;
    if (into->positive) into->positive[place] = probabilities[at_positive_label(&head->labels.strings)];
}

/* ---- comparing ---- */

/* A label that the head does not know was wrong. */
static attn_status measure_calibration(attn_context *context, const at_row_targets *targets,
                                       const at_row_answers *answers, double *error) {
    at_confident *list = at_allocate(context, targets->places, sizeof *list, "a calibration error");
    int64_t used = 0;
    if (!list) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < targets->places; i++)
        if (targets->classes[i] != -1)
            list[used++] =
                (at_confident){(double)answers->confidence[i], targets->classes[i] == answers->classes[i]};
    *error = at_calibration_error(list, used);
    at_release(context, list);
    return ATTN_OK;
}

/* A label that the head does not know was impossible; its rows are of neither class. */
static attn_status compare_probabilities(const at_row_head *head, attn_context *context,
                                         const at_row_targets *targets, const at_row_answers *answers,
                                         int output, attn_report *report) {
    int64_t positive = at_positive_label(&head->labels.strings), counted = 0, used = 0;
    at_ranked *list =
        at_allocate(context, answers->positive ? targets->places : 0, sizeof *list, "a ranking");
    double surprise = 0;
    if (!list) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < targets->places; i++) {
        if (targets->classes[i] == -1) continue;
        surprise += at_surprise((double)answers->likelihood[i]);
        counted++;
        if (answers->positive && targets->classes[i] >= 0)
            list[used++] = (at_ranked){(double)answers->positive[i], targets->classes[i] == positive};
    }
    attn_ranking ranking = at_rank(list, used);
    if (!isnan(ranking.roc_auc)) at_report_positive(report, output, positive);
    at_release(context, list);
    double error = NAN;
    attn_status status = measure_calibration(context, targets, answers, &error);
    const double values[] = {counted ? surprise / (double)counted : NAN, error, ranking.roc_auc,
                             ranking.pr_auc};
    for (int i = 0; i < 4 && status == ATTN_OK; i++) /* what is not defined is not said */
        if (!isnan(values[i]))
            status = at_report_add(report, output, metrics[AT_COUNTED + i].name, values[i]);
    return status;
}

static attn_status compare(const at_row_head *head, attn_context *context, const at_row_targets *targets,
                           const at_row_answers *answers, int output, attn_report *report) {
    int64_t known = head->labels.strings.count, unknown = 0;
    int32_t *truth = at_allocate(context, targets->places, sizeof *truth, "a comparison");
    if (!truth) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < targets->places; i++) {
        truth[i] = targets->classes[i];
        if (truth[i] >= -1) continue;
        truth[i] = (int32_t)(known + (-2 - truth[i]));
        unknown++;
    }
    at_metric_summary summary;
    attn_status status = at_report_confusion(report, output, &head->labels.strings, &targets->unknown.strings,
                                             truth, answers->classes, targets->places, &summary);
    at_release(context, truth);
    if (status != ATTN_OK) return status;
    const double values[] = {summary.micro_f1, summary.macro_precision, summary.macro_recall,
                             summary.macro_f1, summary.micro_f1,        (double)unknown};
    for (int i = 0; i < 6 && status == ATTN_OK; i++)
        status = at_report_add(report, output, metrics[i].name, values[i]);
    if (status != ATTN_OK || !answers->likelihood) return status;
    return compare_probabilities(head, context, targets, answers, output, report);
}

/* ---- the file ---- */

int at_class_store(const at_head *head, json_t *description) {
    const at_strings *strings = &at_row_head_of(head)->labels.strings;
    json_t *labels = json_array();
    int bad = 0;
    for (int64_t l = 0; l < strings->count; l++)
        bad |= json_array_append_new(labels, json_string(at_string(strings, l)));
    bad |= json_object_set_new(description, "labels", labels);
    double temperature = at_row_head_of(head)->temperature;
    bad |= at_tagging_store(at_row_head_of(head), description);
    return temperature == 1 ? bad
                            : json_object_set_new(description, "temperature", json_real(temperature)) | bad;
}

/* Files without one are older, or have none: probabilities are those of the networks. */
static const char *load_temperature(at_row_head *head, const json_t *description) {
    const json_t *stored = json_object_get(description, "temperature");
    double temperature = json_number_value(stored);
    if (!stored) return NULL;
    if (!json_is_number(stored) ||
        !(temperature >= AT_LEAST_TEMPERATURE && temperature <= AT_MOST_TEMPERATURE))
        return "the temperature of an output is not a number from 0.05 to 20";
    head->temperature = temperature;
    return NULL;
}

attn_status at_class_load(at_head *head, const json_t *description, const char **reason) {
    const json_t *labels = json_object_get(description, "labels"), *label;
    at_vocabulary *into = &at_row_head_of(head)->labels;
    size_t index;
    *reason = load_temperature(at_row_head_of(head), description);
    if (*reason) return ATTN_OK;
    if (!json_is_array(labels) || json_array_size(labels) == 0) *reason = "an output has no labels";
    for (index = 0; !*reason && index < json_array_size(labels); index++) {
        int64_t number = -1;
        label = json_array_get(labels, index);
        if (!json_is_string(label) || json_string_length(label) == 0) {
            *reason = "a label is not a string";
            break;
        }
        attn_status status = at_vocabulary_add(head->context, into, json_string_value(label),
                                               json_string_length(label), 1, &number);
        if (status != ATTN_OK) return status;
        if (number != (int64_t)index) *reason = "a label occurs twice";
    }
    return *reason ? ATTN_OK : at_tagging_load(at_row_head_of(head), description, reason);
}

/* ---- writing ---- */

static const at_strings *labels_of(const at_answers *answers) {
    return &at_row_head_of(answers->head)->labels.strings;
}

static double probability(const at_row_answers *rows, int64_t place, int64_t label) {
    return rows->probabilities ? (double)rows->probabilities[place * rows->labels + label] : NAN;
}

static void write(const at_answers *answers, int64_t place, const char *between, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    int32_t label = rows->classes[place];
    at_put_text(writer,
                at_rows_unsure(rows, place) ? at_unknown_label : at_string(labels_of(answers), label));
    if (between) at_print(writer, "%s%.4f", between, probability(rows, place, label));
}

static void write_json(const at_answers *answers, int64_t place, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    at_put_json(writer, at_rows_unsure(rows, place) ? at_unknown_label
                                                    : at_string(labels_of(answers), rows->classes[place]));
}

/* All labels with their probabilities. */
void at_write_probabilities(const at_answers *answers, int64_t place, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    at_put_char(writer, '{');
    for (int64_t l = 0; l < rows->labels; l++) {
        if (l > 0) at_put_char(writer, ',');
        at_put_json(writer, at_string(labels_of(answers), l));
        at_put_char(writer, ':');
        at_put_number(writer, probability(rows, place, l), 6);
    }
    at_put_char(writer, '}');
}

/* Of a row's class its probability; of an example those of all labels. */
static void write_probability(const at_answers *answers, int64_t place, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    if (answers->head->per_row)
        at_put_number(writer, probability(rows, place, rows->classes[place]), 6);
    else
        at_write_probabilities(answers, place, writer);
}

const at_row_kind at_class_rows = {.width = width,
                                   .loss = loss,
                                   .classes = 1,
                                   .likelihood = 1,
                                   .answer = answer,
                                   .put = put,
                                   .fill = fill,
                                   .compare = compare,
                                   .write = write,
                                   .write_json = write_json,
                                   .write_probability = write_probability};

const at_head_kind at_head_class = {
    AT_ROW_HEAD,
    .name = "class",
    .rows = &at_class_rows,
    .metrics = metrics,
    .has_metric = has_metric,
    .learn = learn,
    .learn_more = learn_more,
    .learn_order = at_tagging_learn,
    .metric = metric,
    .store = at_class_store,
    .load = at_class_load,
    .build = at_rows_build,
    .weight = at_rows_weight,
    .loss = at_rows_loss,
};
