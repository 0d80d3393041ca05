/* resample.h: bootstrap: values of metrics on samples of the examples.
 *
 * A metric is a function of sums over examples, such as the numbers of correct rows and of rows. The summands
 * of each example are kept; a sample of as many examples, drawn with replacement, has other sums and another
 * value. The percentiles of 1,000 such values are an interval; two models have a difference on each of the
 * samples.
 *
 * Sample b draws example j by a counter (base/random.h): two reports on the same number of examples have the
 * same samples, for any number of threads. With more than 10,000 examples, blocks of neighbours are drawn.
 */
#ifndef AT_HEADS_RESAMPLE_H
#define AT_HEADS_RESAMPLE_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/report.h>

typedef enum at_metric_formula {
    AT_RATIO,    /* column `first` / column `first` + 1; 0 where there is nothing to divide by */
    AT_ROOT,     /* its square root */
    AT_F1,       /* 2 a / (b + c) of the columns `first` .. `first` + 2: right, predicted, support */
    AT_MACRO_F1, /* the mean of the F1 of those classes that occur */
    AT_BLEU      /* of AT_BLEU_COUNTS columns (metrics/bleu.c) */
} at_metric_formula;

enum { AT_MOST_RESAMPLED = 8 };

typedef struct at_statistics at_statistics;

/* For `units` examples of `columns` numbers each, all 0, and counts of `classes` classes (0: none). */
attn_status at_statistics_create(attn_context *context, int64_t units, int columns, int64_t classes,
                                 at_statistics **statistics);
void at_statistics_free(at_statistics *statistics); /* NULL is allowed */
/* name: outlives the statistics. At most AT_MOST_RESAMPLED of them. */
void at_statistics_metric(at_statistics *statistics, const char *name, at_metric_formula formula, int first);

/* The numbers that those of a unit are to be added to. */
double *at_statistics_of(at_statistics *statistics, int64_t unit);
/* Adds to the counts of a class; units come in their order. */
attn_status at_statistics_class(at_statistics *statistics, int64_t unit, int64_t class_number, int support,
                                int predicted, int right);

int64_t at_statistics_units(const at_statistics *statistics);
/* The metric of a number as it was added; NULL: there is none. */
const char *at_statistics_name(const at_statistics *statistics, int number);
/* *values: of a metric on each of ATTN_RESAMPLES samples, computed by the first call and kept; NULL: there is
 * no such metric. */
attn_status at_statistics_values(at_statistics *statistics, const char *name, const double **values);

#endif
