/* classes.h: metrics by counting, independent of models and files. */
#ifndef AT_HEADS_METRICS_CLASSES_H
#define AT_HEADS_METRICS_CLASSES_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/metrics.h>
#include <attn/report.h>

/* ---- classes ---- */

/* How often rows of class `truth` were called `answer`: those pairs that occur, by truth, then answer. (A
 * matrix of all pairs would be large where there are thousands of classes.) */
typedef struct at_confused {
    int64_t truth, answer, count;
} at_confused;
typedef struct at_confusion {
    int64_t classes, count;
    at_confused *cells; /* [count] */
} at_confusion;

/* Rows with a truth below 0 are not counted; all else is in 0 .. classes - 1. */
attn_status at_confusion_make(attn_context *context, const int32_t *truth, const int32_t *answers,
                              int64_t rows, int64_t classes, at_confusion *confusion);
int64_t at_confusion_get(const at_confusion *confusion, int64_t truth, int64_t answer);
void at_confusion_free(attn_context *context, at_confusion *confusion);

/* Support, predicted and right of every class, [classes] of them; not yet their ratios. */
void at_confusion_count(const at_confusion *confusion, attn_class_metrics *metrics);

/* Any number of labels a row: adds one row to the counts of its labels (truth 0 or 1; a probability of 0.5 is
 * a yes). Whether all were right. */
int at_labels_count(const float *truth, const float *probabilities, int64_t labels,
                    attn_class_metrics *metrics);

/* The ratios from the counts. Macro: the mean of the classes that occur in truth or predictions. Micro: from
 * the counts of all classes together; for one class a row all three are the accuracy. 0 where nothing is to
 * be divided. */
typedef struct at_metric_summary {
    double macro_precision, macro_recall, macro_f1;
    double micro_precision, micro_recall, micro_f1;
} at_metric_summary;
at_metric_summary at_metrics_finish(attn_class_metrics *metrics, int64_t classes);

/* ---- one of two classes ---- */

/* An example and how confident the model is in the positive class; at_rank sorts by that, falling. */
typedef struct at_ranked {
    double confidence;
    int positive; /* 0 or 1 */
} at_ranked;
attn_ranking at_rank(at_ranked *list, int64_t count);

/* -ln of a probability, which is clipped as attn_metric_log_loss says. */
double at_surprise(double probability);

/* ---- numbers ---- */

/* As attn_metric_numbers does. */
attn_number_metrics at_numbers_compare(const float *truth, const double *answers, int64_t rows);

#endif
