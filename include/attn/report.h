/* report.h: evaluation of a model on labelled data.
 *
 *     attn_report_create(predictor, test, &report);
 *     printf("%.4f\n", attn_report_metric(report, "accuracy"));
 *
 * Metrics have names: without a prefix for the first output, "NAME.accuracy" for further outputs; with
 * several outputs "mean.accuracy" is the mean over those that have it (attn_report_mean):
 *
 *     class     accuracy, macro_precision, macro_recall, macro_f1, micro_f1, log_loss, calibration_error;
 *               with two labels, and without a CRF, also roc_auc and pr_auc. With a CRF, log_loss and
 *               calibration_error are computed from the marginals
 *     entities  class outputs whose labels are entity tags (IOB2: O, B-TYPE, I-TYPE; also IOBES, BILOU and
 *               BMES): also entity_f1, entity_precision, entity_recall over all entities, equal to seqeval's
 *               default mode: an entity is correct if its type, first and last row are
 *     labels    exact (all labels of an example correct), macro_*, micro_precision, micro_recall, micro_f1;
 *               roc_auc and pr_auc, means over the labels that some examples have and others have not
 *     number    mean_squared_error, rmse, mean_absolute_error, correlation, r2
 *     bmes      also word_precision, word_recall, word_f1
 *     seq2seq   exact_match, word_error_rate, symbol_error_rate (if the unit of targets is symbols, such as
 *               phonemes) or character_error_rate, bleu, chrf. Error rates are edit distances divided by
 *               lengths; for targets of symbols (a pronunciation), the word error rate counts a whole target
 *               as one word. Examples with the same source are several references for it, of which the
 *               nearest counts. bleu and chrf (percents; attn/metrics.h) compare each example with its own
 *               target
 *     lm        bits_per_byte, perplexity (per unit), loss (its logarithm), unknown_units (their number; each
 *               of their characters adds 21 bits, the size of a code point, to the loss, and so to all three)
 *     raw text  of attn_report_create_raw: sentence_, token_ and word_precision, _recall and _f1; for each
 *               output tag_precision, tag_recall, tag_f1, and tag_accuracy of the aligned words;
 *               all_tags_f1 of several outputs together. Such a report has no metrics per class or entity
 *               type, and no confusion matrix
 *
 * An example whose true label is unknown to the model counts as wrong (and in "unknown_labels"); a missing
 * target does not count. attn/metrics.h defines roc_auc, pr_auc, log_loss, calibration_error, rmse and r2. A
 * label unknown to the model has probability 0 in log_loss, and is left out of roc_auc and pr_auc.
 *
 * Of two labels the positive one (attn_report_positive) is given by the first rule that applies:
 *
 *     two numbers         the larger one: 1 of 0 and 1
 *     yes/no, y/n, true/false, t/f, positive/negative, pos/neg, on/off, active/inactive (upper or lower case)
 *                         the one that is named first here
 *     all other labels    the one that is rarer in the training data
 *
 * A metric that is undefined for the data (an AUC with only one class, r2 of one number) is left out.
 *
 * A report is destroyed before its predictor, and used by one thread at a time: getters may compute what they
 * return (attn_report_resamples, attn_report_json).
 */
#ifndef ATTN_REPORT_H
#define ATTN_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/predictor.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_report attn_report;

/* Predicts with the predictor's settings and compares with the targets. Errors: INVALID_ARGUMENT (NULL, or
 * the dataset lacks the model's targets, or has nothing to compare), and those of attn_predictor_predict. */
ATTN_API attn_status attn_report_create(attn_predictor *predictor, const attn_dataset *dataset,
                                        attn_report **report);
/* The same from raw text: the tokens of the dataset (CoNLL-U; its `# text` if there is one) are joined to
 * text, which the model splits into sentences and words; then it predicts for the words. Metrics are those of
 * the CoNLL 2018 shared task: a tag is compared if its word is aligned with one of the dataset. Errors: those
 * of attn_report_create, UNSUPPORTED (the model does not predict for words), INVALID_ARGUMENT (the words that
 * the model produces do not give the text). */
ATTN_API attn_status attn_report_create_raw(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_report **report);
ATTN_API void attn_report_destroy(attn_report *report); /* NULL is allowed */

/* The number of metrics, and their names. */
ATTN_API int attn_report_metrics(const attn_report *report);
ATTN_API const char *attn_report_metric_name(const attn_report *report, int index);
/* A metric by name; NaN if there is none. */
ATTN_API double attn_report_metric(const attn_report *report, const char *name);
/* A metric of one output, named without prefix; NaN if there is none. */
ATTN_API double attn_report_output_metric(const attn_report *report, int output, const char *name);
/* The mean of a metric, named without prefix, over the outputs that have it; *outputs, unless NULL, gets
 * their number. NaN if no output has it. An output with nothing to compare does not count. */
ATTN_API double attn_report_mean(const attn_report *report, const char *name, int *outputs);
/* 1 if a metric is a count (such as unknown_labels), else 0. */
ATTN_API int attn_report_metric_counts(const attn_report *report, int index);
/* 1 if a higher value of a metric is better (accuracy), 0 if a lower one is (errors). If there is no such
 * metric, or for NULL, attn_report_metric_rises returns 1 and attn_metric_rises, which knows the metrics of
 * all reports, returns -1. Any thread may call attn_metric_rises. */
ATTN_API int attn_report_metric_rises(const attn_report *report, const char *name);
ATTN_API int attn_metric_rises(const char *name);

/* How many rows or examples of an output had a target. */
ATTN_API int64_t attn_report_compared(const attn_report *report, int output);
/* The labels of a class (or labels) output: those of the model, then those of the data that are unknown to
 * the model. */
ATTN_API int64_t attn_report_classes(const attn_report *report, int output);
ATTN_API const char *attn_report_class(const attn_report *report, int output, int64_t class_number);
/* The positive class of roc_auc and pr_auc; -1 if the output has none, and for NULL. */
ATTN_API int64_t attn_report_positive(const attn_report *report, int output);
/* The metrics of a class. A plain struct: it will not grow. */
typedef struct attn_class_metrics {
    int64_t support, predicted, right; /* rows with this true label, with this predicted label, with both */
    double precision, recall, f1;      /* 0 if the denominator is 0 */
} attn_class_metrics;
ATTN_API attn_class_metrics attn_report_class_metrics(const attn_report *report, int output,
                                                      int64_t class_number);
/* The entity types, if labels are entity tags (else 0), and the metrics of each: how many entities there are,
 * were predicted, and were predicted correctly. */
ATTN_API int64_t attn_report_entity_types(const attn_report *report, int output);
ATTN_API const char *attn_report_entity_type(const attn_report *report, int output, int64_t type);
ATTN_API attn_class_metrics attn_report_entity_metrics(const attn_report *report, int output, int64_t type);
/* confused: 1 if an output has a confusion matrix (it predicts one class). confusion: how many rows of the
 * true class `truth` were predicted as `answer`. */
ATTN_API int attn_report_confused(const attn_report *report, int output);
ATTN_API int64_t attn_report_confusion(const attn_report *report, int output, int64_t truth, int64_t answer);

/* ---- intervals ----
 *
 * Confidence intervals by bootstrap: a metric is computed on ATTN_RESAMPLES samples of the examples (if there
 * is one graph: of its rows), each of the same size, drawn with replacement. With more than 10,000 examples,
 * blocks of neighbours are drawn. The samples depend only on the number of examples. These metrics have
 * intervals: accuracy, macro_f1, entity_f1, exact, micro_f1 of several labels, mean_squared_error, rmse,
 * mean_absolute_error, exact_match, word_, symbol_ and character_error_rate, bleu.
 */

enum { ATTN_RESAMPLES = 1000 };

/* The metric of every sample, [ATTN_RESAMPLES], valid as long as the report; the first call computes them.
 * NULL: this metric has no intervals, or there is no memory. */
ATTN_API const double *attn_report_resamples(const attn_report *report, const char *name);
/* The 95 % interval of a metric: the 2.5th and the 97.5th percentile of the samples. Returns 1 if there is
 * one; if not, 0, and both are NaN. low and high may be NULL. */
ATTN_API int attn_report_interval(const attn_report *report, const char *name, double *low, double *high);

/* The difference of a metric between two reports on the same examples (paired bootstrap): the 95 % interval
 * of the difference, and the two-sided p-value of no difference, which is twice the share of samples whose
 * difference is 0 or has the rarer sign. A plain struct: it will not grow. */
typedef struct attn_difference {
    double low, high, p;
} attn_difference;
/* The caller makes sure that the examples are the same. Errors, without a message: INVALID_ARGUMENT (NULL, a
 * report has no intervals of that metric, or the numbers of examples differ). */
ATTN_API attn_status attn_report_difference(const attn_report *a, const attn_report *b, const char *name,
                                            attn_difference *difference);
/* The interval and the difference from arrays of ATTN_RESAMPLES values, which are those of
 * attn_report_resamples or their means over several reports. If values, a or b is NULL, the results are NaN.
 * Results may be NULL. Any thread may call these. */
ATTN_API void attn_resamples_interval(const double *values, double *low, double *high);
ATTN_API void attn_resamples_difference(const double *a, const double *b, attn_difference *difference);

/* The whole report as one JSON object; valid as long as the report. NULL if there is no memory.
 *
 *     {"examples": , "units": , "compared": rows with a target, METRIC: ... ,
 *      "classes": [{"label", "support", "predicted", "right", "precision", "recall", "f1"} ...],
 *      "positive": the positive label of roc_auc and pr_auc,
 *      "intervals": {METRIC: [low, high] ...},
 *      "entities": [{"type", "support", "predicted", "right", "precision", "recall", "f1"} ...],
 *      "confusion": {"labels": [...], "rows": [[one row per true, one number per predicted label] ...]},
 *      "mean": {METRIC: over the outputs that have it ...},
 *      "outputs": {NAME: {"compared", METRIC, "classes", "positive", "confusion"} ...}}
 *
 * "outputs" has the second and further outputs; "mean" is present if there are several. Outputs of numbers
 * have no "classes"; "confusion" is present for class outputs of at most 200 classes. */
ATTN_API const char *attn_report_json(attn_report *report);

ATTN_END_DECLS

#endif
