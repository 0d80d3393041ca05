/* autotune_choice.c: whether a run is so much better than the defaults that it is more than chance.
 *
 * The best of many candidates is better on the development data even if all are equally good. So the defaults
 * are kept unless a candidate is better by so many standard errors of the difference that the best of as many
 * equally good candidates would reach this only once in twenty searches.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autotune.h"

/* Of "A,B" and of "output.A": A. */
static void plain_name(const char *metric, char name[128]) {
    snprintf(name, 128, "%.*s", (int)strcspn(metric, ",|"), metric);
    const char *last = strrchr(name, '.');
    if (last != NULL) memmove(name, last + 1, strlen(last + 1) + 1);
}

bool autotune_rises(const char *metric) {
    char name[128];
    plain_name(metric, name);
    return attn_metric_rises(name) != 0;
}

/* A share of what was compared, as accuracies and F1 are: a correlation may be below 0. */
static bool is_share(const char *metric, double value) {
    char name[128];
    plain_name(metric, name);
    return attn_metric_rises(name) > 0 && strcmp(name, "correlation") != 0 && strcmp(name, "r2") != 0 &&
           value >= 0 && value <= 1;
}

/* The standard deviation of the differences on the same samples of the examples. */
static double paired_error(const double *a, const double *b) {
    double mean = 0, squares = 0;
    for (int i = 0; i < ATTN_RESAMPLES; i++) mean += (a[i] - b[i]) / ATTN_RESAMPLES;
    for (int i = 0; i < ATTN_RESAMPLES; i++) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    return sqrt(squares / (ATTN_RESAMPLES - 1));
}

double autotune_standard_error(const autotune_run *run, const autotune_run *than) {
    if (run->sampled && than->sampled) return paired_error(run->sample, than->sample);
    double value = than->metric_value;
    if (!is_share(than->metric, value) || than->compared < 1) return NAN;
    return sqrt(value * (1 - value) / (double)than->compared);
}

double autotune_margin(int candidates) {
    const double chance = 0.05 / (candidates > 1 ? candidates : 1);
    double low = 0, high = 40;
    while (high - low > 1e-9) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) / 2 > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool autotune_clearly_better(double metric_value, double than, double needed, bool rises) {
    if (!autotune_better(metric_value, than, rises)) return false;
    return isnan(needed) || isnan(than) || fabs(metric_value - than) > needed;
}
