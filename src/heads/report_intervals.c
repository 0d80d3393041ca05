/* report_intervals.c: intervals of metrics and differences between reports, from values on samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/report.h>

#include "base/context.h"
#include "heads/head.h"
#include "heads/resample.h"

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The value that a share of the sorted ones is below, between two of them in proportion. */
static double percentile(const double *sorted, double share) {
    double place = share * (ATTN_RESAMPLES - 1);
    int64_t below = (int64_t)place;
    double rest = place - (double)below;
    return rest > 0 ? sorted[below] + rest * (sorted[below + 1] - sorted[below]) : sorted[below];
}

void attn_resamples_interval(const double *values, double *low, double *high) {
    double sorted[ATTN_RESAMPLES];
    if (low) *low = NAN;
    if (high) *high = NAN;
    if (!values) return;
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ATTN_RESAMPLES, sizeof *sorted, by_value);
    if (low) *low = percentile(sorted, 0.025);
    if (high) *high = percentile(sorted, 0.975);
}

void attn_resamples_difference(const double *a, const double *b, attn_difference *difference) {
    double values[ATTN_RESAMPLES];
    int64_t not_above = 0, not_below = 0;
    if (!difference) return;
    *difference = (attn_difference){NAN, NAN, NAN};
    if (!a || !b) return;
    for (int i = 0; i < ATTN_RESAMPLES; i++) {
        values[i] = a[i] - b[i];
        not_above += values[i] <= 0;
        not_below += values[i] >= 0;
    }
    int64_t fewer = not_above < not_below ? not_above : not_below;
    double p = 2 * (double)(fewer + 1) / (ATTN_RESAMPLES + 1);
    attn_resamples_interval(values, &difference->low, &difference->high);
    difference->p = p < 1 ? p : 1;
}

/* ---- reports ---- */

const double *attn_report_resamples(const attn_report *report, const char *name) {
    const char *plain;
    const double *values = NULL;
    at_statistics *statistics = at_report_statistics_of(report, name, &plain);
    if (!statistics || at_statistics_values(statistics, plain, &values) != ATTN_OK) return NULL;
    return values;
}

int attn_report_interval(const attn_report *report, const char *name, double *low, double *high) {
    const double *values = attn_report_resamples(report, name);
    attn_resamples_interval(values, low, high);
    return values != NULL;
}

attn_status attn_report_difference(const attn_report *a, const attn_report *b, const char *name,
                                   attn_difference *difference) {
    const char *plain;
    const at_statistics *of_a = at_report_statistics_of(a, name, &plain);
    const at_statistics *of_b = at_report_statistics_of(b, name, &plain);
    if (!difference || !of_a || !of_b || at_statistics_units(of_a) != at_statistics_units(of_b))
        return ATTN_INVALID_ARGUMENT;
    const double *values_a = attn_report_resamples(a, name), *values_b = attn_report_resamples(b, name);
    if (!values_a || !values_b) return ATTN_INVALID_ARGUMENT;
    attn_resamples_difference(values_a, values_b, difference);
    return ATTN_OK;
}
