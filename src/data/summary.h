/* summary.h: statistics of a dataset: lengths, values of targets, inputs that occur more than once. */
#ifndef AT_DATA_SUMMARY_H
#define AT_DATA_SUMMARY_H

#include "data/dataset.h"
#include "data/symbols/vocabulary.h"

/* ---- lengths ---- */

typedef struct at_lengths {
    int64_t least, most;
    double median, mean;
} at_lengths;

/* Sorts `lengths`. All 0 where there are none. */
at_lengths at_measure_lengths(int64_t *lengths, int64_t count);

/* ---- targets ---- */

typedef struct at_class_count {
    const char *label;
    int64_t count;
} at_class_count;

typedef struct at_column_summary {
    const char *name;        /* in the dataset */
    int64_t values, missing; /* places (rows or examples) that have one, that have none */
    int64_t several;         /* places with more than one label */
    int64_t once;            /* classes that occur once */
    int64_t class_count;
    at_class_count *classes; /* the most frequent first */
    at_vocabulary labels;    /* holds their text */
    int numbers;             /* all values are numbers: */
    double least, mean, most;
} at_column_summary;

attn_status at_summarize_column(const attn_dataset *dataset, int64_t column, at_column_summary *summary);
void at_column_summary_free(attn_context *context, at_column_summary *summary); /* also after a failure */

/* ---- inputs that occur more than once ---- */

enum { AT_PLACES_SHOWN = 3 };

typedef struct at_repeats {
    int64_t duplicates;                /* examples that occur before, with the same targets */
    int64_t repeated;                  /* inputs that occur more than once */
    int64_t contradictions;            /* inputs that occur with different targets */
    int64_t lines[AT_PLACES_SHOWN][2]; /* of the first contradictions: where the targets differ */
} at_repeats;

/* When two inputs are the same. Functions of the kind of input, since only that knows its rows. */
typedef struct at_likeness {
    uint64_t (*hash)(const attn_dataset *dataset, int64_t example);
    int (*same)(const attn_dataset *dataset, int64_t a, int64_t b);
    int (*ignored)(const attn_dataset *dataset,
                   int64_t example); /* NULL, or examples that are not compared */
} at_likeness;

attn_status at_find_repeats(const attn_dataset *dataset, const at_likeness *likeness, at_repeats *repeats);

#endif
