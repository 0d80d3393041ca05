/* calibration.c: the expected calibration error, and the temperature that minimises the log loss.
 *
 * With b = 1 / T, the loss of an example of logits z and class y is ln(sum_i exp(b z_i)) - b z_y. Its first
 * derivative by b is E[z] - z_y and its second is the variance of z, both under softmax(b z): it is convex,
 * so that one root of the first derivative is the minimum. Newton's steps find it, in a bracket that
 * bisection makes smaller wherever such a step would leave it.
 */
#include "heads/metrics/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <attn/metrics.h>

#include "base/context.h"
#include "base/memory.h"

/* ---- the error ---- */

static int by_confidence(const void *left, const void *right) {
    const at_confident *a = left, *b = right;
    if (a->confidence != b->confidence) return a->confidence < b->confidence ? -1 : 1;
    return a->right - b->right; /* sums do not depend on the order of the examples */
}

/* Those of equal confidence stay together, in the bin of the first of them: which of them would go to the
 * next one is arbitrary. */
double at_calibration_error(at_confident *list, int64_t count) {
    double error = 0;
    int64_t next, group_end;
    if (count == 0) return NAN;
    qsort(list, (size_t)count, sizeof *list, by_confidence);
    for (int64_t i = 0; i < count; i = next) {
        int64_t bin = i * AT_CALIBRATION_BINS / count;
        double gap = 0; /* of references and confidence, summed */
        for (next = i; next < count && next * AT_CALIBRATION_BINS / count == bin; next = group_end) {
            for (group_end = next; group_end < count && list[group_end].confidence == list[next].confidence;
                 group_end++)
                gap += (double)list[group_end].right - list[group_end].confidence;
        }
        error += fabs(gap);
    }
    return error / (double)count;
}

attn_status attn_metric_calibration_error(attn_context *context, const int32_t *truth,
                                          const double *probabilities, int64_t count, int64_t classes,
                                          double *error) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!error || count < 0 || classes < 1 || (count > 0 && (!truth || !probabilities)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the calibration error of %" PRId64 " examples of %" PRId64
                       " classes: truth, probabilities or error is NULL, or there are no classes",
                       count, classes);
    at_confident *list = at_allocate(context, count, sizeof *list, "a calibration error");
    if (!list) return ATTN_OUT_OF_MEMORY;
    int64_t used = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const double *row = probabilities + i * classes;
        int64_t best = 0;
        if (truth[i] < 0) continue;
        for (int64_t c = 0; c < classes && status == ATTN_OK; c++) {
            if (!(row[c] >= 0 && row[c] <= 1))
                status = at_fail(context, ATTN_INVALID_ARGUMENT,
                                 "probability %" PRId64 " of example %" PRId64
                                 " is %g, which is not a probability",
                                 c, i, row[c]);
            if (row[c] > row[best]) best = c;
        }
        list[used++] = (at_confident){row[best], truth[i] == best};
    }
    if (status == ATTN_OK) *error = at_calibration_error(list, used);
    at_release(context, list);
    return status;
}

/* ---- the temperature ---- */

/* The first and second derivative of the mean loss by the inverse temperature. */
static void derive(const float *logits, const int32_t *truth, int64_t count, int64_t classes, double inverse,
                   double *first, double *second) {
    double slopes = 0, curves = 0;
    for (int64_t i = 0; i < count; i++) {
        const float *row = logits + i * classes;
        float most = row[0];
        double sum = 0, mean = 0, squares = 0;
        for (int64_t c = 1; c < classes; c++)
            if (row[c] > most) most = row[c];
        for (int64_t c = 0; c < classes; c++) { /* counted from the largest, so that nothing overflows */
            double z = (double)row[c] - (double)most, weight = exp(inverse * z);
            sum += weight;
            mean += weight * z;
            squares += weight * z * z;
        }
        mean /= sum;
        slopes += mean - ((double)row[truth[i]] - (double)most);
        curves += squares / sum - mean * mean;
    }
    *first = slopes / (double)count;
    *second = curves / (double)count;
}

double at_fit_temperature(const float *logits, const int32_t *truth, int64_t count, int64_t classes) {
    enum { MOST_STEPS = 200 };
    double low = 1 / AT_MOST_TEMPERATURE, high = 1 / AT_LEAST_TEMPERATURE, inverse = 1, slope, curve;
    if (count < AT_LEAST_CALIBRATED) return 1;
    derive(logits, truth, count, classes, low, &slope, &curve);
    if (!(slope < 0)) return 1;
    derive(logits, truth, count, classes, high, &slope, &curve);
    if (!(slope > 0)) return 1;
    for (int step = 0; step < MOST_STEPS && high - low > 1e-13 * high; step++) {
        derive(logits, truth, count, classes, inverse, &slope, &curve);
        if (slope == 0) break;
        if (slope < 0)
            low = inverse;
        else
            high = inverse;
        double next = curve > 0 ? inverse - slope / curve : low;
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        double moved = fabs(next - inverse);
        inverse = next;
        if (moved <= 1e-13 * inverse) break;
    }
    return 1 / inverse;
}
