/* report.h of the last release, without its comments (tests/test_frozen.sh). */
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

ATTN_API attn_status attn_report_create(attn_predictor *predictor, const attn_dataset *dataset,
                                        attn_report **report);

ATTN_API attn_status attn_report_create_raw(attn_predictor *predictor, const attn_dataset *dataset,
                                            attn_report **report);
ATTN_API void attn_report_destroy(attn_report *report);

ATTN_API int attn_report_metrics(const attn_report *report);
ATTN_API const char *attn_report_metric_name(const attn_report *report, int index);

ATTN_API double attn_report_metric(const attn_report *report, const char *name);

ATTN_API double attn_report_output_metric(const attn_report *report, int output, const char *name);

ATTN_API double attn_report_mean(const attn_report *report, const char *name, int *outputs);

ATTN_API int attn_report_metric_counts(const attn_report *report, int index);

ATTN_API int attn_report_metric_rises(const attn_report *report, const char *name);
ATTN_API int attn_metric_rises(const char *name);

ATTN_API int64_t attn_report_compared(const attn_report *report, int output);

ATTN_API int64_t attn_report_classes(const attn_report *report, int output);
ATTN_API const char *attn_report_class(const attn_report *report, int output, int64_t class_number);

ATTN_API int64_t attn_report_positive(const attn_report *report, int output);
typedef struct attn_class_scores {
    int64_t support, predicted, right;
    double precision, recall, f1;
} attn_class_scores;
ATTN_API attn_class_scores attn_report_class_scores(const attn_report *report, int output,
                                                    int64_t class_number);

ATTN_API int64_t attn_report_entity_types(const attn_report *report, int output);
ATTN_API const char *attn_report_entity_type(const attn_report *report, int output, int64_t type);
ATTN_API attn_class_scores attn_report_entity_scores(const attn_report *report, int output, int64_t type);

ATTN_API int attn_report_confused(const attn_report *report, int output);
ATTN_API int64_t attn_report_confusion(const attn_report *report, int output, int64_t truth, int64_t answer);

enum { ATTN_RESAMPLES = 1000 };

ATTN_API const double *attn_report_resamples(const attn_report *report, const char *name);

ATTN_API int attn_report_interval(const attn_report *report, const char *name, double *low, double *high);

typedef struct attn_difference {
    double low, high, p;
} attn_difference;

ATTN_API attn_status attn_report_difference(const attn_report *a, const attn_report *b, const char *name,
                                            attn_difference *difference);

ATTN_API void attn_resamples_interval(const double *values, double *low, double *high);
ATTN_API void attn_resamples_difference(const double *a, const double *b, attn_difference *difference);

ATTN_API const char *attn_report_json(attn_report *report);

ATTN_END_DECLS

#endif
