/* scores.h: how close texts, probabilities and numbers are to the right ones.
 *
 * The texts of a set of answers are compared with one right text each; a text that may be said in several
 * ways is for the caller to choose from (attn_report does: see report.h). Scores of probabilities and numbers
 * leave out what has no truth, and are those of scikit-learn to the last digits.
 */
#ifndef ATTN_SCORES_H
#define ATTN_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* Levenshtein's distance: the fewest insertions, deletions and replacements that make one sequence of symbols
 * of the other. Symbols are numbers; extra memory is that of the shorter one. */
ATTN_API attn_status attn_edit_distance(attn_context *context, const int32_t *a, int64_t a_count,
                                        const int32_t *b, int64_t b_count, int64_t *distance);

/* BLEU of a corpus, equal to that of sacrebleu with its defaults: tokenizer 13a, n-grams up to 4, exponential
 * smoothing; lowercase as sacrebleu's. score and precisions are percents. Texts are UTF-8, without line ends;
 * bytes that are no UTF-8 count as characters that are equal to themselves only. No texts at all score 0. */
typedef struct attn_bleu {
    double score;
    double precisions[4];
    double brevity_penalty;
    int64_t answer_tokens, right_tokens;
} attn_bleu;
ATTN_API attn_status attn_score_bleu(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, attn_bleu *bleu);

/* chrF of a corpus in percent, equal to sacrebleu's chrF2 with its defaults (characters up to 6, no words,
 * beta 2, spaces left out). */
ATTN_API attn_status attn_score_chrf(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, double *score);

/* ---- probabilities ---- */

/* How well scores separate two classes. truth: 1 (any number above 0) for the positive class, 0 for the
 * other, below 0: missing. A score may be anything that grows with the belief in the positive class.
 *
 *     roc_auc   the area under the ROC curve: the share of pairs of a positive and a negative example whose
 *               scores are in order, equal ones being half in order. scikit-learn's roc_auc_score
 *     pr_auc    the area under the curve of precision and recall, by steps, without interpolation.
 *               scikit-learn's average_precision_score
 *
 * Both are NaN where there are examples of one class only. INVALID_ARGUMENT: a score is NaN. */
typedef struct attn_ranking {
    double roc_auc, pr_auc;
    int64_t positives, negatives; /* that were compared */
} attn_ranking;
ATTN_API attn_status attn_score_ranking(attn_context *context, const int32_t *truth, const double *scores,
                                        int64_t count, attn_ranking *ranking);

/* The mean of -ln p of the true class, p clipped to 2^-52 .. 1 - 2^-52: scikit-learn's log_loss of doubles.
 * probabilities: [count][classes]; truth below 0 is missing; NaN where all is. INVALID_ARGUMENT: a truth of
 * `classes` or more, or a probability outside of 0 .. 1. */
ATTN_API attn_status attn_score_log_loss(attn_context *context, const int32_t *truth,
                                         const double *probabilities, int64_t count, int64_t classes,
                                         double *loss);

/* ---- numbers ---- */

/* Errors of numbers; truth NaN is missing. rmse is the root of mean_squared_error. correlation: Pearson's; 0
 * where one side is constant. r2: 1 - squared errors / squared distances of the truth from its mean; of a
 * constant truth 1 if every answer is right and else 0; NaN for fewer than two numbers. Errors of none at all
 * are 0. */
typedef struct attn_number_scores {
    int64_t compared;
    double mean_squared_error, rmse, mean_absolute_error, correlation, r2;
} attn_number_scores;
ATTN_API attn_status attn_score_numbers(attn_context *context, const double *truth, const double *answers,
                                        int64_t count, attn_number_scores *scores);

ATTN_END_DECLS

#endif
