/* renamed.c: the functions of attn/scores.h, under the names that they had before they were renamed. */
#include <attn/scores.h>

void attn_number_scores_init_sized(attn_number_scores *scores, size_t size) {
    attn_number_metrics_init_sized(scores, size);
}

attn_status attn_score_bleu(attn_context *context, const char *const *answers, const char *const *right,
                            int64_t count, int lowercase, attn_bleu *bleu) {
    return attn_metric_bleu(context, answers, right, count, lowercase, bleu);
}

attn_status attn_score_chrf(attn_context *context, const char *const *answers, const char *const *right,
                            int64_t count, int lowercase, double *score) {
    return attn_metric_chrf(context, answers, right, count, lowercase, score);
}

attn_status attn_score_ranking(attn_context *context, const int32_t *truth, const double *scores,
                               int64_t count, attn_ranking *ranking) {
    return attn_metric_ranking(context, truth, scores, count, ranking);
}

attn_status attn_score_log_loss(attn_context *context, const int32_t *truth, const double *probabilities,
                                int64_t count, int64_t classes, double *loss) {
    return attn_metric_log_loss(context, truth, probabilities, count, classes, loss);
}

attn_status attn_score_calibration_error(attn_context *context, const int32_t *truth,
                                         const double *probabilities, int64_t count, int64_t classes,
                                         double *error) {
    return attn_metric_calibration_error(context, truth, probabilities, count, classes, error);
}

attn_status attn_score_numbers(attn_context *context, const double *truth, const double *answers,
                               int64_t count, attn_number_scores *scores) {
    return attn_metric_numbers(context, truth, answers, count, scores);
}

attn_class_scores attn_report_class_scores(const attn_report *report, int output, int64_t class_number) {
    return attn_report_class_metrics(report, output, class_number);
}

attn_class_scores attn_report_entity_scores(const attn_report *report, int output, int64_t type) {
    return attn_report_entity_metrics(report, output, type);
}

const char *attn_model_scores(const attn_model *model) { return attn_model_metrics(model); }

int attn_model_score(const attn_model *model, int64_t index, attn_model_score_text *score) {
    return attn_model_metric_at(model, index, score);
}

double attn_prediction_score(const attn_prediction *prediction, int64_t example, int64_t hypothesis) {
    return attn_prediction_log_probability(prediction, example, hypothesis);
}
