/* compare_differences.c: which differences between encoders are more than chance.
 *
 * Paired bootstrap: every run was tested on the same 1,000 samples of the test examples. On each sample an
 * encoder has the mean of its runs; the difference to that of the best encoder on the same sample is what is
 * looked at. Runs that were not done are left out.
 */
#include <math.h>
#include <string.h>

#include "compare.h"

int compare_best(const comparison *what) {
    const compare_run *any = compare_any(what);
    int best = -1, rises = any != NULL ? attn_metric_rises(any->figures.metric) : 1;
    double most = NAN;
    for (int i = 0; i < what->encoders; i++) {
        double median = compare_spread_of(what, i, COMPARE_TEST).median;
        if (isnan(median) || (best >= 0 && (rises != 0 ? median <= most : median >= most))) continue;
        best = i;
        most = median;
    }
    return best;
}

/* Means over the runs of an encoder, on the samples and on all examples; false: a run has no samples. */
static bool mean_of(const comparison *what, int encoder, double *samples, double *mean) {
    double count = 0;
    memset(samples, 0, ATTN_RESAMPLES * sizeof *samples);
    *mean = 0;
    for (int64_t s = 0; s < what->seeds; s++) {
        const compare_figures *figures = &what->runs[encoder * what->seeds + s].figures;
        if (!figures->done) continue;
        if (!figures->sampled) return false;
        for (int i = 0; i < ATTN_RESAMPLES; i++) samples[i] += figures->samples[i];
        *mean += figures->test;
        count++;
    }
    for (int i = 0; i < ATTN_RESAMPLES && count > 0; i++) samples[i] /= count;
    if (count > 0) *mean /= count;
    return count > 0;
}

compare_difference compare_difference_of(const comparison *what, int encoder) {
    compare_difference difference = {.known = false};
    double own[ATTN_RESAMPLES], others[ATTN_RESAMPLES], mean, other;
    int best = compare_best(what);
    if (best < 0 || best == encoder || !mean_of(what, encoder, own, &mean) ||
        !mean_of(what, best, others, &other))
        return difference;
    difference.known = true;
    difference.value = mean - other;
    attn_resamples_difference(own, others, &difference.sampled);
    return difference;
}

bool compare_significant(const compare_difference *difference) { return difference->sampled.p < 0.05; }

void compare_print_differences(const comparison *what) {
    bool any = false;
    for (int i = 0; i < what->encoders; i++) {
        compare_difference difference = compare_difference_of(what, i);
        if (!difference.known) continue;
        if (!any)
            printf("\ntest %s against %s, the best:\n", compare_any(what)->figures.metric,
                   what->encoder[compare_best(what)]);
        any = true;
        printf("  %-9s  %+.4f (%+.4f to %+.4f), p %.3f%s\n", what->encoder[i], difference.value,
               difference.sampled.low, difference.sampled.high, difference.sampled.p,
               compare_significant(&difference) ? "" : ": not significant");
    }
    if (any)
        printf(
            "Paired bootstrap: the difference of the means over the seeds on each of %d samples of the test\n"
            "examples, its 95 %% interval, and the two-sided p-value; p >= 0.05 is not significant.\n",
            ATTN_RESAMPLES);
}
