/* number.c: a number for each row or example: the network predicts (number - mean) / deviation. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "data/fields.h"
#include "heads/metrics/classes.h"
#include "heads/rows.h"

static const at_metric metrics[] = {
    {"mean_squared_error", 0, 0, 0}, {"rmse", 0, 0, 0}, {"mean_absolute_error", 0, 0, 0},
    {"correlation", 1, 0, 0},        {"r2", 1, 0, 0},   {NULL, 0, 0, 0}};

static int64_t width(const at_row_head *head) {
    (void)head;
    return 1;
}

/* ---- learning ---- */

/* A row that has no such feature (CoNLL-U) has no number. */
static int no_number(const char *text) { return !*text || strcmp(text, "_") == 0; }

static attn_status parse(attn_context *context, const at_labels *labels, const char *text, size_t length,
                         int64_t place, double *number) {
    int decimal = strlen(text) == length && at_decimal(text, number);
    if (decimal && fabs(*number) <= FLT_MAX) return ATTN_OK;
    if (decimal)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": %.60s is too large: numbers go up to %.2g",
                       at_label_name(labels, place), at_label_line(labels, place), text, (double)FLT_MAX);
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s:%" PRId64 ": \"%.60s\" is not a number",
                   at_label_name(labels, place), at_label_line(labels, place), text);
}

typedef struct moments {
    attn_context *context;
    const at_labels *labels;
    double count, mean, squares; /* squares: of distances from the mean */
} moments;

static attn_status collect(void *user, const char *text, size_t length, int64_t place) {
    moments *into = user;
    double number;
    if (no_number(text)) return ATTN_OK;
    attn_status status = parse(into->context, into->labels, text, length, place, &number);
    if (status != ATTN_OK) return status;
    double distance = number - into->mean; /* from the mean of those before it, and then with it */
    into->count += 1;
    into->mean += distance / into->count;
    into->squares += distance * (number - into->mean);
    return ATTN_OK;
}

static attn_status learn(at_head *head, const at_labels *labels, int column) {
    moments into = {.context = head->context, .labels = labels};
    attn_status status = at_head_unbalanced(head);
    if (status == ATTN_OK) status = at_for_values(labels, column, 0, collect, &into);
    if (status != ATTN_OK) return status;
    if (into.count == 0) {
        return at_fail(head->context, ATTN_INVALID_ARGUMENT, "%.200s: column %.60s has no numbers",
                       labels->name, at_string(labels->columns, column));
    }
    double variance = into.squares / into.count;
    at_row_head_of(head)->mean = into.mean;
    at_row_head_of(head)->deviation = variance > 1e-24 ? sqrt(variance) : 1;
    return ATTN_OK;
}

static const char *metric(const at_head *head) {
    (void)head;
    return "mean_squared_error";
}

static attn_status fill(const at_row_head *head, attn_context *context, const at_labels *labels, int column,
                        at_row_targets *targets) {
    attn_status status = ATTN_OK;
    (void)head;
    for (int64_t i = 0; i < labels->places && status == ATTN_OK; i++) {
        const char *text = at_string(labels->values, i * labels->columns->count + column);
        double number = NAN;
        if (!no_number(text)) status = parse(context, labels, text, strlen(text), i, &number);
        targets->numbers[i] = (float)number;
    }
    return status;
}

/* ---- computing ---- */

static attn_variable *loss(const at_head *head, attn_tape *tape, attn_variable *outputs,
                           const at_targets *targets) {
    (void)head;
    return attn_tape_squared_error(tape, outputs,
                                   ((const at_row_targets *)(const void *)targets)->batch_numbers);
}

static void answer(const at_row_head *head, const float *outputs, float *answer) {
    (void)head;
    answer[0] = outputs[0];
}

static void put(const at_row_head *head, at_row_answers *into, const float *row, int averaged,
                int64_t place) {
    (void)averaged;
    into->numbers[place] = (double)row[0] * head->deviation + head->mean;
}

static attn_status compare(const at_row_head *head, attn_context *context, const at_row_targets *targets,
                           const at_row_answers *answers, int output, attn_report *report) {
    attn_number_metrics measured = at_numbers_compare(targets->numbers, answers->numbers, targets->places);
    const double values[] = {measured.mean_squared_error, measured.rmse, measured.mean_absolute_error,
                             measured.correlation, measured.r2};
    attn_status status = ATTN_OK;
    (void)head;
    (void)context;
    at_report_compared(report, output, measured.compared);
    for (int i = 0; i < 5 && status == ATTN_OK; i++) /* r2 of one number is none */
        if (!isnan(values[i])) status = at_report_add(report, output, metrics[i].name, values[i]);
    return status;
}

/* ---- the file, and writing ---- */

static int store(const at_head *head, json_t *description) {
    int bad = json_object_set_new(description, "mean", json_real(at_row_head_of(head)->mean));
    return json_object_set_new(description, "deviation", json_real(at_row_head_of(head)->deviation)) | bad;
}

static attn_status load(at_head *head, const json_t *description, const char **reason) {
    at_row_head *own = at_row_head_of(head);
    const json_t *mean = json_object_get(description, "mean");
    own->mean = json_number_value(mean);
    own->deviation = json_number_value(json_object_get(description, "deviation"));
    *reason = json_is_number(mean) && own->deviation > 0 ? NULL /* JSON's are finite */
                                                         : "an output of numbers has no mean or deviation";
    return ATTN_OK;
}

static void write(const at_answers *answers, int64_t place, const char *between, at_writer *writer) {
    (void)between;
    at_print(writer, "%.7g", at_row_answers_of(answers)->numbers[place]);
}

static void write_json(const at_answers *answers, int64_t place, at_writer *writer) {
    at_put_number(writer, at_row_answers_of(answers)->numbers[place], 7);
}

static const at_row_kind rows = {.width = width,
                                 .loss = loss,
                                 .numbers = 1,
                                 .answer = answer,
                                 .put = put,
                                 .fill = fill,
                                 .compare = compare,
                                 .write = write,
                                 .write_json = write_json};

const at_head_kind at_head_number = {
    AT_ROW_HEAD,
    .name = "number",
    .rows = &rows,
    .metrics = metrics,
    .learn = learn,
    .learn_more = at_rows_learn_more,
    .metric = metric,
    .store = store,
    .load = load,
    .build = at_rows_build,
    .weight = at_rows_weight,
    .loss = at_rows_loss,
};
