/* classes.c: confusion, precision and recall, errors of numbers. */
#include "heads/metrics/classes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* ---- classes ---- */

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts the pairs, each as one number, and counts runs. */
attn_status at_confusion_make(attn_context *context, const int32_t *truth, const int32_t *answers,
                              int64_t rows, int64_t classes, at_confusion *confusion) {
    int64_t *pairs = at_allocate(context, rows, sizeof *pairs, "pairs of truth and answer");
    if (!pairs) return ATTN_OUT_OF_MEMORY;
    int64_t used = 0, distinct = 0;
    for (int64_t i = 0; i < rows; i++)
        if (truth[i] >= 0) pairs[used++] = truth[i] * classes + answers[i];
    qsort(pairs, (size_t)used, sizeof *pairs, by_value);
    for (int64_t i = 0; i < used; i++) distinct += i == 0 || pairs[i] != pairs[i - 1];
    at_confused *cells = at_allocate(context, distinct, sizeof *cells, "a confusion matrix");
    if (!cells) {
        at_release(context, pairs);
        return ATTN_OUT_OF_MEMORY;
    }
    int64_t last = -1;
    for (int64_t i = 0; i < used; i++) {
        if (i == 0 || pairs[i] != pairs[i - 1])
            cells[++last] = (at_confused){.truth = pairs[i] / classes, .answer = pairs[i] % classes};
        cells[last].count++;
    }
    at_release(context, pairs);
    *confusion = (at_confusion){.classes = classes, .count = distinct, .cells = cells};
    return ATTN_OK;
}

static int by_pair(const void *left, const void *right) {
    const at_confused *a = left, *b = right;
    if (a->truth != b->truth) return a->truth < b->truth ? -1 : 1;
    return (a->answer > b->answer) - (a->answer < b->answer);
}

int64_t at_confusion_get(const at_confusion *confusion, int64_t truth, int64_t answer) {
    const at_confused wanted = {.truth = truth, .answer = answer};
    if (confusion->count == 0) return 0;
    const at_confused *found =
        bsearch(&wanted, confusion->cells, (size_t)confusion->count, sizeof *confusion->cells, by_pair);
    return found ? found->count : 0;
}

void at_confusion_free(attn_context *context, at_confusion *confusion) {
    at_release(context, confusion->cells);
    *confusion = (at_confusion){0};
}

void at_confusion_count(const at_confusion *confusion, attn_class_metrics *metrics) {
    for (int64_t c = 0; c < confusion->classes; c++) metrics[c] = (attn_class_metrics){0};
    for (int64_t i = 0; i < confusion->count; i++) {
        const at_confused *cell = &confusion->cells[i];
        metrics[cell->truth].support += cell->count;
        metrics[cell->answer].predicted += cell->count;
        if (cell->truth == cell->answer) metrics[cell->truth].right += cell->count;
    }
}

int at_labels_count(const float *truth, const float *probabilities, int64_t labels,
                    attn_class_metrics *metrics) {
    int all_right = 1;
    for (int64_t l = 0; l < labels; l++) {
        int is = truth[l] > 0.5f, said = probabilities[l] >= 0.5f;
        metrics[l].support += is;
        metrics[l].predicted += said;
        metrics[l].right += is && said;
        if (is != said) all_right = 0;
    }
    return all_right;
}

at_metric_summary at_metrics_finish(attn_class_metrics *metrics, int64_t classes) {
    at_metric_summary summary = {0};
    int64_t occurring = 0, support = 0, predicted = 0, right = 0;
    for (int64_t c = 0; c < classes; c++) {
        attn_class_metrics *one = &metrics[c];
        one->precision = ratio((double)one->right, (double)one->predicted);
        one->recall = ratio((double)one->right, (double)one->support);
        one->f1 = ratio(2 * (double)one->right, (double)(one->predicted + one->support));
        if (one->support == 0 && one->predicted == 0) continue;
        occurring++;
        support += one->support;
        predicted += one->predicted;
        right += one->right;
        summary.macro_precision += one->precision;
        summary.macro_recall += one->recall;
        summary.macro_f1 += one->f1;
    }
    summary.macro_precision = ratio(summary.macro_precision, (double)occurring);
    summary.macro_recall = ratio(summary.macro_recall, (double)occurring);
    summary.macro_f1 = ratio(summary.macro_f1, (double)occurring);
    summary.micro_precision = ratio((double)right, (double)predicted);
    summary.micro_recall = ratio((double)right, (double)support);
    summary.micro_f1 = ratio(2 * (double)right, (double)(predicted + support));
    return summary;
}

/* ---- numbers ---- */

/* Moments are updated row by row (Welford), counted from the first row, so that numbers far from 0 cost no
 * digits, and a constant side has exactly 0 as its moment. */
typedef struct moments {
    int64_t rows;
    double squares, absolutes, first_x, first_y;
    double mean_x, mean_y, moment_x, moment_y, common;
} moments;

static void add_pair(moments *into, double x, double y) {
    double error = y - x, count = (double)++into->rows;
    into->squares += error * error;
    into->absolutes += fabs(error);
    if (into->rows == 1) into->first_x = x, into->first_y = y;
    x -= into->first_x;
    y -= into->first_y;
    double from_x = x - into->mean_x, from_y = y - into->mean_y;
    into->mean_x += from_x / count;
    into->mean_y += from_y / count;
    into->moment_x += from_x * (x - into->mean_x);
    into->moment_y += from_y * (y - into->mean_y);
    into->common += from_x * (y - into->mean_y);
}

static attn_number_metrics finish(const moments *from) {
    attn_number_metrics metrics = {.size = sizeof metrics, .compared = from->rows};
    metrics.mean_squared_error = ratio(from->squares, (double)from->rows);
    metrics.rmse = sqrt(metrics.mean_squared_error);
    metrics.mean_absolute_error = ratio(from->absolutes, (double)from->rows);
    double correlation = ratio(from->common, sqrt(from->moment_x) * sqrt(from->moment_y));
    metrics.correlation = correlation < -1 ? -1 : correlation > 1 ? 1 : correlation;
    if (from->rows < 2)
        metrics.r2 = NAN;
    else if (from->moment_x > 0)
        metrics.r2 = 1 - from->squares / from->moment_x;
    else
        metrics.r2 = from->squares == 0;
    return metrics;
}

attn_number_metrics at_numbers_compare(const float *truth, const double *answers, int64_t rows) {
    moments all = {0};
    for (int64_t i = 0; i < rows; i++)
        if (!isnan(truth[i])) add_pair(&all, (double)truth[i], answers[i]);
    return finish(&all);
}

void attn_number_metrics_init_sized(attn_number_metrics *metrics, size_t size) {
    attn_number_metrics own = {.size = sizeof own};
    at_options_give(metrics, size, &own, sizeof own);
}

attn_status attn_metric_numbers(attn_context *context, const double *truth, const double *answers,
                                int64_t count, attn_number_metrics *metrics) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!metrics || count < 0 || (count > 0 && (!truth || !answers)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a comparison of %" PRId64 " numbers: truth, answers or metrics is NULL", count);
    attn_status status = at_result_check(context, "metrics", "attn_number_metrics_init", metrics,
                                         AT_FIRST_SIZE(attn_number_metrics, r2), sizeof *metrics);
    if (status != ATTN_OK) return status;
    moments all = {0};
    for (int64_t i = 0; i < count; i++)
        if (!isnan(truth[i])) add_pair(&all, truth[i], answers[i]);
    attn_number_metrics own = finish(&all);
    at_result_give(metrics, &own, sizeof own);
    return ATTN_OK;
}
