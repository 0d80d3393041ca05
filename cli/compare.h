/* compare.h: the same training with each encoder and several seeds: the runs and what is made of them. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <attn/report.h>

#include "training_flags.h"

enum { COMPARE_ENCODERS = 8 }; /* at most */

/* What a run tells; it goes through a pipe as it is. */
typedef struct compare_figures {
    bool done;
    char metric[128];             /* what its best model was chosen by */
    double dev, test;             /* of that model */
    double dev_macro, test_macro; /* macro F1, where it was chosen by accuracy; else NaN */
    int64_t parameters, layers, columns, steps, best_step;
    double rate;     /* tokens per second of training */
    double seconds;  /* of training and choosing */
    char error[600]; /* where not done; empty: it was not run, or not to its end */
    bool sampled;    /* the test metric has samples */
    double samples[ATTN_RESAMPLES];
} compare_figures;

typedef struct compare_run {
    int encoder; /* index */
    int64_t seed;
    compare_figures figures;
    int64_t memory; /* bytes: the most that its process had */
} compare_run;

typedef struct comparison {
    training_flags training;
    const char *encoder[COMPARE_ENCODERS]; /* names */
    int encoders;
    int64_t seeds;
    const char *folder; /* where models go */
    bool keep;          /* they stay there */
    compare_run *runs;  /* encoder by encoder; encoders x seeds */
} comparison;

/* ---- compare_run.c ---- */

/* Ctrl-C and SIGTERM from now on end the run that is on. */
void compare_catch_interrupts(void);
bool compare_interrupted(void);

/* Whether an encoder goes with the flags: an exit status, and it has said what is wrong with others. */
int compare_takes(comparison *what, const char *encoder, bool *taken);

/* Whether flags and files are good, before hours go by: an exit status, and it has said what is wrong. */
int compare_check(comparison *what);

/* Whether the model of a run is there already; it has said so. */
bool compare_is_there(const comparison *what, const compare_run *run);

/* Trains and evaluates in a process of its own: no run can disturb another, and its memory is its own. With
 * `bar` it draws one on standard error. */
void compare_train(comparison *what, compare_run *run, bool bar);

/* ---- compare_table.c ---- */

/* Over the seeds of one encoder. */
typedef struct compare_spread {
    int64_t count; /* runs that were done; 0: the others are NaN */
    double median, lowest, highest;
} compare_spread;

typedef enum compare_value {
    COMPARE_DEV,
    COMPARE_TEST,
    COMPARE_DEV_MACRO,
    COMPARE_TEST_MACRO,
    COMPARE_PARAMETERS,
    COMPARE_RATE,
    COMPARE_MINUTES,
    COMPARE_MEMORY,
    COMPARE_STEPS
} compare_value;

double compare_value_of(const compare_run *run, compare_value value);
compare_spread compare_spread_of(const comparison *what, int encoder, compare_value value);
/* The same over all runs. */
compare_spread compare_spread_all(const comparison *what, compare_value value);
/* A run that was done, for what all have in common; NULL: none was. */
const compare_run *compare_any(const comparison *what);
/* "tag, 3 seeds, 2 layers of 192 columns, 3168–3174 steps per run" */
void compare_describe(const comparison *what, char *text, size_t room);
/* "0.25", "12.3" into `text` (at least 32 bytes). */
void compare_minutes(double minutes, char *text);

void compare_print_table(const comparison *what);
void compare_print_json(const comparison *what);

/* ---- compare_differences.c ---- */

/* Which differences on the test data are more than chance: each encoder against the best one. */
typedef struct compare_difference {
    bool known;   /* else it is the best one, or there are no samples */
    double value; /* its mean over the seeds less that of the best one */
    attn_difference sampled;
} compare_difference;

/* The encoder with the best median on the test data; -1: there is none. */
int compare_best(const comparison *what);
compare_difference compare_difference_of(const comparison *what, int encoder);
bool compare_significant(const compare_difference *difference);
/* A line each encoder but the best, and how it was computed; nothing where there is nothing to compare. */
void compare_print_differences(const comparison *what);

/* ---- compare_svg.c ---- */

/* False, with errno, if it cannot be written. */
bool compare_write_svg(const comparison *what, const char *path);

#endif
