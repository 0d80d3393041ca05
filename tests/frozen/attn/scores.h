/* scores.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_SCORES_H
#define ATTN_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

ATTN_API attn_status attn_edit_distance(attn_context *context, const int32_t *a, int64_t a_count,
                                        const int32_t *b, int64_t b_count, int64_t *distance);

typedef struct attn_bleu {
    size_t size;
    double score;
    double precisions[4];
    double brevity_penalty;
    int64_t answer_tokens, right_tokens;
} attn_bleu;
ATTN_INIT(attn_bleu)

ATTN_API attn_status attn_score_bleu(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, attn_bleu *bleu);

ATTN_API attn_status attn_score_chrf(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, double *score);

typedef struct attn_ranking {
    size_t size;
    double roc_auc, pr_auc;
    int64_t positives, negatives;
} attn_ranking;
ATTN_INIT(attn_ranking)
ATTN_API attn_status attn_score_ranking(attn_context *context, const int32_t *truth, const double *scores,
                                        int64_t count, attn_ranking *ranking);

ATTN_API attn_status attn_score_log_loss(attn_context *context, const int32_t *truth,
                                         const double *probabilities, int64_t count, int64_t classes,
                                         double *loss);

ATTN_API attn_status attn_score_calibration_error(attn_context *context, const int32_t *truth,
                                                  const double *probabilities, int64_t count, int64_t classes,
                                                  double *error);

typedef struct attn_number_scores {
    size_t size;
    int64_t compared;
    double mean_squared_error, rmse, mean_absolute_error, correlation, r2;
} attn_number_scores;
ATTN_INIT(attn_number_scores)
ATTN_API attn_status attn_score_numbers(attn_context *context, const double *truth, const double *answers,
                                        int64_t count, attn_number_scores *scores);

ATTN_END_DECLS

#endif
