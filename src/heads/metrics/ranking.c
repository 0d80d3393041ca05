/* ranking.c: AUC and log loss.
 *
 * Both areas come from one pass over the examples in order of decreasing prediction. Examples of equal
 * prediction are one step: any order among them would be arbitrary.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/metrics.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "heads/metrics/classes.h"

static int by_falling_confidence(const void *left, const void *right) {
    const at_ranked *a = left, *b = right;
    return (a->confidence < b->confidence) - (a->confidence > b->confidence);
}

/* ROC: the share of pairs of a positive and a negative one that are in order, ties being half so. PR: the
 * precision at every step, weighted by the positives that it adds. */
attn_ranking at_rank(at_ranked *list, int64_t count) {
    attn_ranking ranking = {.size = sizeof ranking, .roc_auc = NAN, .pr_auc = NAN};
    for (int64_t i = 0; i < count; i++) ranking.positives += list[i].positive;
    ranking.negatives = count - ranking.positives;
    if (ranking.positives == 0 || ranking.negatives == 0) return ranking;
    qsort(list, (size_t)count, sizeof *list, by_falling_confidence);
    double ordered = 0, precision = 0;
    int64_t positives = 0, next;
    for (int64_t i = 0; i < count; i = next) {
        int64_t here = 0;
        for (next = i; next < count && list[next].confidence == list[i].confidence; next++)
            here += list[next].positive;
        int64_t negatives = next - i - here, after = ranking.negatives - (next - positives - here);
        positives += here;
        ordered += (double)here * ((double)after + 0.5 * (double)negatives);
        precision += (double)here * (double)positives / (double)next;
    }
    ranking.roc_auc = ordered / ((double)ranking.positives * (double)ranking.negatives);
    ranking.pr_auc = precision / (double)ranking.positives;
    return ranking;
}

void attn_ranking_init_sized(attn_ranking *ranking, size_t size) {
    attn_ranking own = {.size = sizeof own};
    at_options_give(ranking, size, &own, sizeof own);
}

attn_status attn_metric_ranking(attn_context *context, const int32_t *truth, const double *confidence,
                                int64_t count, attn_ranking *ranking) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!ranking || count < 0 || (count > 0 && (!truth || !confidence)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a ranking of %" PRId64 " examples: truth, confidence or ranking is NULL", count);
    attn_status status = at_result_check(context, "ranking", "attn_ranking_init", ranking,
                                         AT_FIRST_SIZE(attn_ranking, negatives), sizeof *ranking);
    if (status != ATTN_OK) return status;
    at_ranked *list = at_allocate(context, count, sizeof *list, "a ranking");
    if (!list) return ATTN_OUT_OF_MEMORY;
    int64_t used = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        if (truth[i] < 0) continue;
        if (isnan(confidence[i]))
            status = at_fail(context, ATTN_INVALID_ARGUMENT,
                             "confidence %" PRId64 " of a ranking is NaN: it cannot be ordered", i);
        list[used++] = (at_ranked){confidence[i], truth[i] > 0};
    }
    if (status == ATTN_OK) {
        attn_ranking own = at_rank(list, used);
        at_result_give(ranking, &own, sizeof own);
    }
    at_release(context, list);
    return status;
}

double at_surprise(double probability) {
    double most = 1 - DBL_EPSILON;
    return -log(probability < DBL_EPSILON ? DBL_EPSILON : probability > most ? most : probability);
}

attn_status attn_metric_log_loss(attn_context *context, const int32_t *truth, const double *probabilities,
                                 int64_t count, int64_t classes, double *loss) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!loss || count < 0 || (count > 0 && (!truth || !probabilities)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the log loss of %" PRId64 " examples: truth, probabilities or loss is NULL", count);
    double sum = 0;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        if (truth[i] < 0) continue;
        if (truth[i] >= classes)
            return at_fail(context, ATTN_INVALID_ARGUMENT, "truth %" PRId64 " is class %d of %" PRId64, i,
                           truth[i], classes);
        double probability = probabilities[i * classes + truth[i]];
        if (!(probability >= 0 && probability <= 1))
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "the probability of truth %" PRId64 " is %g, which is not a probability", i,
                           probability);
        sum += at_surprise(probability);
        used++;
    }
    *loss = used ? sum / (double)used : NAN;
    return ATTN_OK;
}
