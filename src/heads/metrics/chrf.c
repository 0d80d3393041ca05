/* chrf.c: chrF of a corpus (Popovic 2015): the F score of character n-grams, with recall weighted beta times,
 * from their precision and recall averaged over the orders.
 *
 * As in sacrebleu: counts are summed over the corpus first; an order is used if both sides have n-grams of
 * it; those of a prediction are counted only if the reference has any of that order.
 */
#include <attn/metrics.h>

#include "heads/metrics/texts.h"

enum { ORDERS = 6, BETA_SQUARED = 4 };

typedef struct counts {
    int64_t answers[ORDERS], right[ORDERS], matches[ORDERS];
} counts;

static void remove_spaces(at_code_points *points) {
    int64_t used = 0;
    for (int64_t i = 0; i < points->count; i++) {
        if (!at_code_point_space(points->codes[i])) points->codes[used++] = points->codes[i];
    }
    points->count = used;
}

static attn_status count_pair(attn_context *context, const char *answer, const char *right, int lowercase,
                              at_code_points *points, at_tree *tree, counts *total) {
    attn_status status = at_code_points_read(context, right, lowercase, points);
    if (status != ATTN_OK) return status;
    remove_spaces(points);
    int64_t right_count = points->count;
    status = at_tree_start(context, tree, 1, 1 + ORDERS * right_count);
    if (status != ATTN_OK) return status;
    at_tree_count(tree, 0, points->codes, right_count, ORDERS);

    status = at_code_points_read(context, answer, lowercase, points);
    if (status != ATTN_OK) return status;
    remove_spaces(points);
    at_tree_match(tree, 0, points->codes, points->count, ORDERS, total->matches);
    for (int n = 1; n <= ORDERS; n++) {
        int64_t ngrams = at_ngrams(right_count, n);
        total->right[n - 1] += ngrams;
        if (ngrams) total->answers[n - 1] += at_ngrams(points->count, n);
    }
    return ATTN_OK;
}

static double chrf_of(const counts *total) {
    double precision = 0, recall = 0;
    int orders = 0;
    for (int n = 0; n < ORDERS; n++) {
        if (!total->answers[n] || !total->right[n]) continue;
        precision += (double)total->matches[n] / (double)total->answers[n];
        recall += (double)total->matches[n] / (double)total->right[n];
        orders++;
    }
    if (!(precision + recall > 0)) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * ((1 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall));
}

attn_status attn_metric_chrf(attn_context *context, const char *const *answers, const char *const *right,
                             int64_t count, int lowercase, double *chrf) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_metric_texts_check(context, answers, right, count, chrf);
    if (status != ATTN_OK) return status;
    counts total = {{0}, {0}, {0}};
    at_code_points points = {.count = 0};
    at_tree tree = {.nodes = 0};
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        status = count_pair(context, answers[i], right[i], lowercase, &points, &tree, &total);
    }
    at_code_points_free(context, &points);
    at_tree_free(context, &tree);
    if (status == ATTN_OK) *chrf = chrf_of(&total);
    return status;
}
