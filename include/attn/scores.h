/* scores.h: the names that metrics and log-probabilities had before, for programs that still use them.
 *
 * Deprecated: each function calls the one of the new name, with the same arguments, errors and rules for NULL
 * and threads. New programs include attn/metrics.h. The next minor version will not have this header, and it
 * may drop the functions.
 */
#ifndef ATTN_SCORES_H
#define ATTN_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/metrics.h>
#include <attn/model.h>
#include <attn/predictor.h>
#include <attn/report.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef attn_number_metrics attn_number_scores;
typedef attn_class_metrics attn_class_scores;
typedef attn_model_metric_text attn_model_score_text;
ATTN_INIT(attn_number_scores)

/* Errors as the attn_metric_ functions of attn/metrics.h. */
ATTN_API attn_status attn_score_bleu(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, attn_bleu *bleu);
ATTN_API attn_status attn_score_chrf(attn_context *context, const char *const *answers,
                                     const char *const *right, int64_t count, int lowercase, double *score);
ATTN_API attn_status attn_score_ranking(attn_context *context, const int32_t *truth, const double *scores,
                                        int64_t count, attn_ranking *ranking);
ATTN_API attn_status attn_score_log_loss(attn_context *context, const int32_t *truth,
                                         const double *probabilities, int64_t count, int64_t classes,
                                         double *loss);
ATTN_API attn_status attn_score_calibration_error(attn_context *context, const int32_t *truth,
                                                  const double *probabilities, int64_t count, int64_t classes,
                                                  double *error);
ATTN_API attn_status attn_score_numbers(attn_context *context, const double *truth, const double *answers,
                                        int64_t count, attn_number_scores *scores);

/* The old names of attn_report_class_metrics, attn_report_entity_metrics, attn_model_metrics,
 * attn_model_metric_at and attn_prediction_log_probability. */
ATTN_API attn_class_scores attn_report_class_scores(const attn_report *report, int output,
                                                    int64_t class_number);
ATTN_API attn_class_scores attn_report_entity_scores(const attn_report *report, int output, int64_t type);
ATTN_API const char *attn_model_scores(const attn_model *model);
ATTN_API int attn_model_score(const attn_model *model, int64_t index, attn_model_score_text *score);
ATTN_API double attn_prediction_score(const attn_prediction *prediction, int64_t example, int64_t hypothesis);

ATTN_END_DECLS

#endif
