/* metrics.h: metrics of texts, probabilities and numbers.
 *
 * Every predicted text is compared with one reference; report.h says what attn_report does with several.
 * Metrics of probabilities and numbers ignore missing truths, and agree with scikit-learn up to rounding.
 *
 * The functions are for the thread of their context. On an error the results are untouched.
 */
#ifndef ATTN_METRICS_H
#define ATTN_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* Levenshtein distance: the smallest number of insertions, deletions and replacements that turn one sequence
 * of symbols into the other. Symbols are numbers. It needs memory proportional to the shorter sequence.
 * Errors: INVALID_ARGUMENT (NULL, a count below 0), OUT_OF_MEMORY. */
ATTN_API attn_status attn_edit_distance(attn_context *context, const int32_t *a, int64_t a_count,
                                        const int32_t *b, int64_t b_count, int64_t *distance);

/* BLEU of a corpus, equal to that of sacrebleu with its defaults: tokenizer 13a, n-grams up to 4, exponential
 * smoothing; lowercase as sacrebleu's. score, which is BLEU itself, and precisions are percents. Texts are
 * UTF-8, without line ends; bytes that are not UTF-8 count as characters that equal only themselves. BLEU of
 * no texts is 0. answers: the predicted texts; right: the reference of each; count: how many there are. */
typedef struct attn_bleu {
    size_t size; /* sizeof(attn_bleu), set by the init function */
    double score;
    double precisions[4];
    double brevity_penalty;
    int64_t answer_tokens, right_tokens; /* number of tokens of all answers, and of all references */
} attn_bleu;
ATTN_INIT(attn_bleu)
/* Errors: INVALID_ARGUMENT (NULL, a count below 0, bleu without init), OUT_OF_MEMORY. */
ATTN_API attn_status attn_metric_bleu(attn_context *context, const char *const *answers,
                                      const char *const *right, int64_t count, int lowercase,
                                      attn_bleu *bleu);

/* chrF of a corpus in percent, equal to sacrebleu's chrF2 with its defaults (characters up to 6, no words,
 * beta 2, spaces left out). Arguments as for BLEU.
 * Errors: INVALID_ARGUMENT (NULL, a count below 0), OUT_OF_MEMORY. */
ATTN_API attn_status attn_metric_chrf(attn_context *context, const char *const *answers,
                                      const char *const *right, int64_t count, int lowercase, double *chrf);

/* ---- probabilities ---- */

/* How well predictions rank two classes. truth: 1 (any number above 0) for the positive class, 0 for the
 * other, below 0: missing. confidence: any numbers that are larger the more likely the positive class is,
 * such as probabilities or logits.
 *
 *     roc_auc   the area under the ROC curve: the share of pairs of a positive and a negative example that
 *               are ranked correctly; ties count half. scikit-learn's roc_auc_score
 *     pr_auc    the area under the precision-recall curve, as a step function, without interpolation.
 *               scikit-learn's average_precision_score
 *
 * Both are NaN if there are examples of one class only. Errors: INVALID_ARGUMENT (NULL, a count below 0,
 * ranking without init, a number is NaN), OUT_OF_MEMORY. */
typedef struct attn_ranking {
    size_t size; /* sizeof(attn_ranking), set by the init function */
    double roc_auc, pr_auc;
    int64_t positives, negatives; /* examples that were compared */
} attn_ranking;
ATTN_INIT(attn_ranking)
ATTN_API attn_status attn_metric_ranking(attn_context *context, const int32_t *truth,
                                         const double *confidence, int64_t count, attn_ranking *ranking);

/* The mean of -ln p of the true class, p clipped to 2^-52 .. 1 - 2^-52: scikit-learn's log_loss of doubles.
 * probabilities: [count][classes]; truth below 0 is missing; the loss is NaN if all truths are missing.
 * Errors: INVALID_ARGUMENT (NULL, a count below 0, a truth of `classes` or more, or a probability outside
 * 0 .. 1). */
ATTN_API attn_status attn_metric_log_loss(attn_context *context, const int32_t *truth,
                                          const double *probabilities, int64_t count, int64_t classes,
                                          double *loss);

/* The expected calibration error: how far the accuracy is from the probability of the predicted class.
 * Examples are sorted by that probability and divided into 15 bins of equal size; the error is the mean over
 * all examples of |accuracy - mean probability| of their bin. Examples of equal probability stay together, in
 * the bin of the first of them; among equally likely classes the first is the predicted one. Arguments are
 * those of attn_metric_log_loss, but a truth of `classes` or more is allowed and counts as a wrong
 * prediction. Errors: INVALID_ARGUMENT (NULL, a count below 0, a probability outside 0 .. 1), OUT_OF_MEMORY.
 */
ATTN_API attn_status attn_metric_calibration_error(attn_context *context, const int32_t *truth,
                                                   const double *probabilities, int64_t count,
                                                   int64_t classes, double *error);

/* ---- numbers ---- */

/* Errors of numbers; truth NaN is missing. rmse is the root of mean_squared_error. correlation: Pearson's; 0
 * if one side is constant. r2: 1 - squared errors / squared distances of the truth from its mean; for a
 * constant truth 1 if every prediction is exact and else 0; NaN for fewer than two numbers. Without numbers,
 * the errors are 0. Errors: INVALID_ARGUMENT (NULL, a count below 0, metrics without init). */
typedef struct attn_number_metrics {
    size_t size; /* sizeof(attn_number_metrics), set by the init function */
    int64_t compared;
    double mean_squared_error, rmse, mean_absolute_error, correlation, r2;
} attn_number_metrics;
ATTN_INIT(attn_number_metrics)
ATTN_API attn_status attn_metric_numbers(attn_context *context, const double *truth, const double *answers,
                                         int64_t count, attn_number_metrics *metrics);

ATTN_END_DECLS

#endif
