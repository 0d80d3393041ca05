/* labels.c: any number of labels for each row or example: a probability for each label, which applies from
 * 0.5 on.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/metrics/classes.h"
#include "heads/rows.h"

static const at_metric metrics[] = {{"exact", 1, 0, 0},
                                    {"macro_precision", 1, 0, 0},
                                    {"macro_recall", 1, 0, 0},
                                    {"macro_f1", 1, 0, 0},
                                    {"micro_precision", 1, 0, 0},
                                    {"micro_recall", 1, 0, 0},
                                    {"micro_f1", 1, 0, 0},
                                    {"unknown_labels", 0, 1, 0},
                                    {"roc_auc", 1, 0, 0},
                                    {"pr_auc", 1, 0, 0},
                                    {NULL, 0, 0, 0}};

static int64_t width(const at_row_head *head) { return head->labels.strings.count; }

static attn_status learn(at_head *head, const at_labels *labels, int column) {
    attn_status status = at_head_unbalanced(head);
    return status == ATTN_OK ? at_learn_labels(at_row_head_of(head), labels, column, 1) : status;
}

static const char *metric(const at_head *head) {
    (void)head;
    return "micro_f1";
}

typedef struct marks {
    attn_context *context;
    const at_row_head *head;
    at_row_targets *targets;
} marks;

static attn_status mark(void *user, const char *text, size_t length, int64_t place) {
    marks *into = user;
    int64_t label = at_vocabulary_find(&into->head->labels, text, length);
    if (label >= 0) {
        into->targets->numbers[place * into->head->labels.strings.count + label] = 1;
        return ATTN_OK;
    }
    into->targets->classes[place]++;
    return at_vocabulary_add(into->context, &into->targets->unknown, text, length, 1, NULL);
}

static attn_status fill(const at_row_head *head, attn_context *context, const at_labels *labels, int column,
                        at_row_targets *targets) {
    marks into = {context, head, targets};
    return at_for_values(labels, column, 1, mark, &into);
}

static attn_variable *loss(const at_head *head, attn_tape *tape, attn_variable *logits,
                           const at_targets *targets) {
    (void)head;
    return attn_tape_binary_cross_entropy(tape, logits,
                                          ((const at_row_targets *)(const void *)targets)->batch_numbers);
}

static void answer(const at_row_head *head, const float *logits, float *answer) {
    for (int64_t l = 0; l < width(head); l++) answer[l] = (float)(1.0 / (1.0 + exp(-(double)logits[l])));
}

static void put(const at_row_head *head, at_row_answers *into, const float *row, int averaged,
                int64_t place) {
    float *probabilities = into->probabilities + place * into->labels;
    into->classes[place] = at_largest(row, into->labels);
    if (averaged)
        memcpy(probabilities, row, (size_t)into->labels * sizeof *row);
    else
        answer(head, row, probabilities);
    at_temper_labels(head->temperature, probabilities, into->labels);
}

/* The means of the areas of those labels that some examples have and others have not; NaN if there is none.
 */
static attn_status rank(const at_row_head *head, attn_context *context, const at_row_targets *targets,
                        const at_row_answers *answers, double *roc_auc, double *pr_auc) {
    int64_t known = width(head), ranked = 0;
    at_ranked *list = at_allocate(context, targets->places, sizeof *list, "a ranking");
    if (!list) return ATTN_OUT_OF_MEMORY;
    *roc_auc = *pr_auc = 0;
    for (int64_t l = 0; l < known; l++) {
        for (int64_t i = 0; i < targets->places; i++)
            list[i] = (at_ranked){(double)answers->probabilities[i * known + l],
                                  targets->numbers[i * known + l] > 0.5f};
        attn_ranking ranking = at_rank(list, targets->places);
        if (isnan(ranking.roc_auc)) continue;
        *roc_auc += ranking.roc_auc;
        *pr_auc += ranking.pr_auc;
        ranked++;
    }
    at_release(context, list);
    *roc_auc = ranked ? *roc_auc / (double)ranked : NAN;
    *pr_auc = ranked ? *pr_auc / (double)ranked : NAN;
    return ATTN_OK;
}

/* A label that the head does not know was missed. */
static attn_status compare(const at_row_head *head, attn_context *context, const at_row_targets *targets,
                           const at_row_answers *answers, int output, attn_report *report) {
    int64_t known = width(head), exact = 0, unknown = 0;
    double roc_auc, pr_auc;
    attn_class_metrics *counted;
    attn_status status =
        at_report_labels(report, output, &head->labels.strings, &targets->unknown.strings, &counted);
    if (status == ATTN_OK) status = rank(head, context, targets, answers, &roc_auc, &pr_auc);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < targets->places; i++) {
        int right =
            at_labels_count(targets->numbers + i * known, answers->probabilities + i * known, known, counted);
        exact += right && targets->classes[i] == 0;
        unknown += targets->classes[i];
    }
    for (int64_t u = 0; u < targets->unknown.strings.count; u++)
        counted[known + u].support = targets->unknown.counts[u];
    at_metric_summary summary = at_metrics_finish(counted, known + targets->unknown.strings.count);
    at_report_compared(report, output, targets->places);
    const double values[] = {(double)exact / (double)(targets->places ? targets->places : 1),
                             summary.macro_precision,
                             summary.macro_recall,
                             summary.macro_f1,
                             summary.micro_precision,
                             summary.micro_recall,
                             summary.micro_f1,
                             (double)unknown,
                             roc_auc,
                             pr_auc};
    for (int i = 0; i < 10 && status == ATTN_OK; i++) /* what is not defined is not said */
        if (!isnan(values[i])) status = at_report_add(report, output, metrics[i].name, values[i]);
    return status;
}

static const char *separator(const at_answers *answers) {
    return *answers->head->config.separator ? answers->head->config.separator : " ";
}

static void write(const at_answers *answers, int64_t place, const char *between, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    int first = 1;
    for (int64_t l = 0; l < rows->labels; l++) {
        double probability = (double)rows->probabilities[place * rows->labels + l];
        if (!(probability >= 0.5)) continue;
        if (!first) at_put(writer, separator(answers), 1);
        at_put_text(writer, at_string(&at_row_head_of(answers->head)->labels.strings, l));
        if (between) at_print(writer, "%s%.4f", *between == '\t' ? "=" : between, probability);
        first = 0;
    }
}

static void write_json(const at_answers *answers, int64_t place, at_writer *writer) {
    const at_row_answers *rows = at_row_answers_of(answers);
    int first = 1;
    at_put_char(writer, '[');
    for (int64_t l = 0; l < rows->labels; l++) {
        if (!(rows->probabilities[place * rows->labels + l] >= 0.5f)) continue;
        if (!first) at_put_char(writer, ',');
        at_put_json(writer, at_string(&at_row_head_of(answers->head)->labels.strings, l));
        first = 0;
    }
    at_put_char(writer, ']');
}

static const at_row_kind rows = {.width = width,
                                 .loss = loss,
                                 .classes = 1,
                                 .numbers = 1,
                                 .labels = 1,
                                 .answer = answer,
                                 .put = put,
                                 .fill = fill,
                                 .compare = compare,
                                 .write = write,
                                 .write_json = write_json,
                                 .write_probability = at_write_probabilities};

const at_head_kind at_head_labels = {
    AT_ROW_HEAD,
    .name = "labels",
    .several = 1,
    .rows = &rows,
    .metrics = metrics,
    .learn = learn,
    .learn_more = at_rows_learn_more,
    .metric = metric,
    .store = at_class_store,
    .load = at_class_load,
    .build = at_rows_build,
    .weight = at_rows_weight,
    .loss = at_rows_loss,
};
