/* report_sequences.h: the metrics of seq2seq and language models. */
#ifndef AT_TRAIN_REPORT_SEQUENCES_H
#define AT_TRAIN_REPORT_SEQUENCES_H

#include <attn/generate.h>

#include "model/model.h"

typedef struct at_named_value {
    const char *name;
    double value;
} at_named_value;

enum { AT_MOST_SEQUENCE_METRICS = 5 };
typedef struct at_sequence_metrics {
    int64_t examples, units, compared; /* compared: questions, or units of running text */
    int count;
    at_named_value list[AT_MOST_SEQUENCE_METRICS];
} at_sequence_metrics;

/* search NULL: the defaults. lowercase: of BLEU and chrF. */
attn_status at_sequences_compare(attn_model *model, const attn_dataset *dataset,
                                 const attn_search_options *search, int lowercase,
                                 at_sequence_metrics *metrics);

#endif
