/* report.h: how right a model is on labelled data.
 *
 *     attn_report_create(predictor, test, &report);
 *     printf("%.4f\n", attn_report_metric(report, "accuracy"));
 *
 * Metrics by name, those of the first output without a prefix, of further outputs as "NAME.accuracy"; with
 * several outputs "mean.accuracy" is the mean over those that have it (attn_report_mean):
 *
 *     class     accuracy, macro_precision, macro_recall, macro_f1, micro_f1, log_loss; of two labels also
 *               roc_auc and pr_auc. No probabilities, and so none of the last three, with a CRF
 *     labels    exact (all labels of an example right), macro_*, micro_precision, micro_recall, micro_f1;
 *               roc_auc and pr_auc, means over the labels that some examples have and others have not
 *     number    mean_squared_error, rmse, mean_absolute_error, correlation, r2
 *     bmes      also word_precision, word_recall, word_f1
 *     seq2seq   exact_match, word_error_rate, symbol_error_rate (targets of symbols) or character_error_rate,
 *               bleu, chrf. Error rates are edit distances over lengths; where a target is a word spelled in
 *               symbols, a word is wrong or right. Rows with the same source are several right answers: the
 *               nearest counts. bleu and chrf (percents; attn/scores.h) are of rows
 *     lm        bits_per_byte, perplexity (a unit), loss (its logarithm), unknown_units (each of their
 *               characters also costs the 21 bits that say which it is)
 *     raw text  of attn_report_create_raw: sentence_, token_ and word_precision, _recall and _f1; of each
 *               output tag_precision, tag_recall, tag_f1, and tag_accuracy of the words that are aligned;
 *               all_tags_f1 of several outputs at once. There are no classes
 *
 * A target label that the model does not know counts as wrong (and is counted in "unknown_labels"); a missing
 * target does not count. Definitions of roc_auc, pr_auc, log_loss, rmse and r2 are in attn/scores.h. A label
 * that the model does not know has probability 0 in log_loss, and no part in roc_auc and pr_auc.
 *
 * Of two labels the positive one is, in this order: the larger number ("1" of 0 and 1); yes of yes and no,
 * true, positive, active, on and their opposites, or their first letters (y, t) or syllables (pos), in upper
 * or lower case; the rarer one in the training data. attn_report_positive says which it is. A metric that is
 * not defined for the data (an area where only one class occurs, r2 of one number) is not there.
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

/* Predicts with the settings of the predictor and compares. Errors: INVALID_ARGUMENT (the dataset has no such
 * targets, or nothing to compare), and those of attn_predictor_predict. */
ATTN_API attn_status attn_report_create(attn_predictor *predictor, const attn_dataset *dataset,
                                        attn_report **report);
/* The same from raw text: the tokens of the dataset (CoNLL-U; its `# text` where there is one) become text
 * again, which the model splits into sentences and words, and answers for those. Metrics are those of the
 * CoNLL 2018 shared task: a tag counts where its word is aligned with one of the dataset. UNSUPPORTED: the
 * model does not answer for words. INVALID_ARGUMENT also where the words that the model makes are not the
 * text. */
ATTN_API attn_status attn_report_create_raw(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_report **report);
ATTN_API void attn_report_destroy(attn_report *report); /* NULL is allowed */

ATTN_API int attn_report_metrics(const attn_report *report);
ATTN_API const char *attn_report_metric_name(const attn_report *report, int index);
/* By name; NaN if there is none. */
ATTN_API double attn_report_metric(const attn_report *report, const char *name);
/* That of one output, named without prefix. */
ATTN_API double attn_report_output_metric(const attn_report *report, int output, const char *name);
/* The mean of a metric, named without prefix, over the outputs that have it, and in *outputs, unless NULL,
 * how many those are. NaN if none has. An output that has nothing to compare does not count.
 */
ATTN_API double attn_report_mean(const attn_report *report, const char *name, int *outputs);
/* Whether it counts things. */
ATTN_API int attn_report_metric_counts(const attn_report *report, int index);
/* Whether more of it is better (accuracy) or less (errors); of any metric that there is: -1 if there is none
 * of that name. */
ATTN_API int attn_report_metric_rises(const attn_report *report, const char *name);
ATTN_API int attn_metric_rises(const char *name);

/* How many rows or examples of an output had a target. */
ATTN_API int64_t attn_report_compared(const attn_report *report, int output);
/* The labels of a class (or labels) output, those of the data that the model does not know after its own. */
ATTN_API int64_t attn_report_classes(const attn_report *report, int output);
ATTN_API const char *attn_report_class(const attn_report *report, int output, int64_t class_number);
/* The class that roc_auc and pr_auc are about; -1: an output has no such one. */
ATTN_API int64_t attn_report_positive(const attn_report *report, int output);
typedef struct attn_class_scores {
    int64_t support, predicted, right; /* rows that are of it, were called it, both */
    double precision, recall, f1;      /* 0 where nothing is to be divided */
} attn_class_scores;
ATTN_API attn_class_scores attn_report_class_scores(const attn_report *report, int output,
                                                    int64_t class_number);
/* Whether an output has a confusion matrix (one class a row), and how many rows of class `truth` were called
 * `answer`. */
ATTN_API int attn_report_confused(const attn_report *report, int output);
ATTN_API int64_t attn_report_confusion(const attn_report *report, int output, int64_t truth, int64_t answer);

/* All of it as one JSON object; valid as long as the report. NULL without memory.
 *
 *     {"examples": , "units": , "compared": rows with a target, METRIC: ... ,
 *      "classes": [{"label", "support", "predicted", "right", "precision", "recall", "f1"} ...],
 *      "positive": label that the areas are about,
 *      "confusion": {"labels": [...], "rows": [[a row each truth, a number each answer] ...]},
 *      "mean": {METRIC: over the outputs that have it ...},
 *      "outputs": {NAME: {"compared", METRIC, "classes", "positive", "confusion"} ...}}
 *
 * "outputs" has the second and further ones; "mean" is there with several. "classes" are not there for
 * numbers, "confusion" only for class outputs of at most 200 classes. */
ATTN_API const char *attn_report_json(attn_report *report);

ATTN_END_DECLS

#endif
