/* trainer.h (private): the state of a trainer: the data as numbers, the network, and the progress. */
#ifndef AT_TRAIN_TRAINER_H
#define AT_TRAIN_TRAINER_H

#include <attn/optimizer.h>
#include <attn/trainer.h>

#include "model/model.h"
#include "train/shards.h"
#include "train/timetable.h"

enum { AT_MOST_METRICS = 8 }; /* that a model is chosen by */

/* A metric that a model is chosen by. */
typedef struct at_choice {
    char name[2 * AT_FIELD_TEXT_BYTES]; /* as a report has it */
    const char *metric;                 /* the same without prefix */
    int output, mean;                   /* of which output, or the mean over all that have it */
    int rises;                          /* more of it is better */
    const char *others; /* what is in for it if it is not defined, part of values.metric; or NULL */
} at_choice;

/* How far training is: all that decides what comes next, besides weights, the optimisers' states and how far
 * each course is in its data. */
typedef struct at_progress_made {
    int64_t step;                            /* optimiser steps done */
    int64_t evaluated_step, evaluated_epoch; /* where the last evaluation was */
    double loss;                             /* smoothed; NaN before the first step */
    double best_value;                       /* of the model that is kept; NaN: there is none yet */
    int64_t best_step;
    int64_t without_better; /* evaluations since one of the metrics was the best so far */
    /* By metric, where there are several: those of the model that is kept, and the best of any model. */
    double kept[AT_MOST_METRICS], highest[AT_MOST_METRICS];
    int ended; /* patience came to its end */
} at_progress_made;

/* Examples, encoded once, and their targets as numbers. */
typedef struct at_training_data {
    const attn_dataset *dataset;
    attn_dataset *own; /* where it is a part of what was given */
    at_encoded *encoded;
    at_targets **targets;
} at_training_data;

/* The training of one stage: its data, its optimiser and how far it is in its epochs. */
typedef struct at_course {
    attn_trainer *trainer;
    at_stage *stage; /* NULL: there is no such course */
    int loaded;      /* vocabulary and labels are those of a model to begin from */
    at_training_data train, dev;
    at_segments segments;
    int64_t batch_units;      /* rows per batch, about */
    int64_t steps_a_step;     /* of its optimiser, in a step of the run */
    int64_t batches_an_epoch; /* of epoch 0, or as its first window says; others differ by a few */
    int64_t rows_an_epoch;
    attn_optimizer *optimizer;
    int averaged; /* the optimiser keeps averages */
    at_plan plan;
    int64_t planned_epoch;        /* -1: none */
    int64_t window, window_first; /* of the epoch, which is planned; and the number of its first batch */
    int64_t epoch, batch;         /* the epoch that is under way, and how many of its batches are done */
    at_batch *rows;               /* of what all threads run together */
    at_shards *shards;            /* of the step */
    at_work *workers;             /* of evaluations: one per thread */
    at_work work;                 /* of evaluations */
} at_course;
/* The files of a run. */
typedef struct at_output {
    char *model, *last; /* paths, links followed; NULL: nothing is written */
    char *lock;         /* NULL, or the file whose lock `descriptor` holds */
    int descriptor;
} at_output;

/* A run that is to take so long. */
typedef struct at_timing {
    double from, used_before; /* when it began, and what was used of the time before that */
    int next;                 /* of the moments at which the steps are counted anew */
    double counted_at;        /* when they were counted */
    int64_t counted_step;     /* after which step */
    double evaluated;         /* seconds of evaluations and files since then */
    double evaluation;        /* seconds of the last one */
    double saving;            /* seconds of the last .last file between evaluations */
    int64_t most;             /* steps; 0: no bound but the time */
} at_timing;

struct attn_trainer {
    attn_context *context;
    attn_config *config;
    at_training_values values;
    attn_trainer_options options;
    at_output files; /* where it writes */

    int counted;          /* training.examples is how many there are, not what the caller said */
    uint64_t fingerprint; /* of the data, and of what the input was given besides */
    int resumes;          /* what it starts from is the .last file, not the model that it began from */

    attn_model *model;
    at_course courses[AT_STAGES]; /* of the main stage, which is what metrics and messages are about, and of
                                     the splitter */
    at_tapes tapes;
    int64_t steps_total;    /* as the timetable says after the step that is done */
    at_timetable timetable; /* how they change */
    at_timing timing;

    at_progress_made made;
    at_choice choices[AT_MOST_METRICS];
    int choice_count;
    const char *metric; /* the name of the first */

    double began, saved_at, trained_seconds, exchange_seconds;
    int64_t trained_rows, exchange_bytes;
    attn_training_state state;
    attn_report *report; /* of the model that is kept, when the run has come to its end; or NULL */
    char timetable_text[AT_FIELD_TEXT_BYTES];
};

static inline at_course *at_main_course(attn_trainer *trainer) { return &trainer->courses[0]; }

/* A seed for one purpose and one number of it. */
uint64_t at_trainer_seed(const attn_trainer *trainer, uint64_t purpose, int64_t counter);

/* ---- course.c ---- */

/* Learns from the data of the course, encodes it, and sees whether the development data fits. vectors: NULL,
 * or a file of pretrained ones. */
attn_status at_course_prepare(at_course *course, const char *vectors);
/* Makes the optimiser, for the networks as they are now and all steps, and starts with the first batch. */
attn_status at_course_build(at_course *course);
void at_course_unbuild(at_course *course);
attn_status at_course_plan(at_course *course); /* of the epoch that is under way */
/* Adds the shards of the next batch, of this number, to those of the step, and continues to the one after it.
 */
attn_status at_course_batch(at_course *course, int64_t counter);
void at_course_free(at_course *course);
/* Sets a value that follows from the data, in the configuration of the stage (and of the trainer). */
attn_status at_course_set(at_course *course, const char *name, const char *value);

/* Makes network and optimiser anew, from the seed, for `steps_total` steps. */
attn_status at_trainer_build(attn_trainer *trainer);
/* One step of the optimiser. */
attn_status at_trainer_step(attn_trainer *trainer);
/* The values of the metrics on the development data, [AT_MOST_METRICS] of them, and as JSON all metrics. */
attn_status at_trainer_evaluate(attn_trainer *trainer, at_effort effort, double *values);

/* rounding.c: weights as training.store will have them in the file, and as they were. What is to be given
 * back is NULL where nothing is rounded; on failure, too, it has to be given back. */
typedef struct at_unrounded at_unrounded;
attn_status at_round_weights(attn_trainer *trainer, at_unrounded **before);
attn_status at_unround_weights(attn_trainer *trainer, at_unrounded *before);

/* metric.c: what the best model is chosen by. */
attn_status at_metric_choose(attn_trainer *trainer); /* as the configuration says */
attn_status at_metric_values(const attn_trainer *trainer, const attn_report *report, double *values);
/* Before anything is trained: whether the metrics that were asked for are defined for the development data;
 * others are in for those that are not. */
attn_status at_metric_try(attn_trainer *trainer);
void at_metric_none(at_progress_made *made); /* no values yet */
/* Whether a model is no worse than the one that is kept; whether any metric is better than it ever was. */
int at_metric_as_good(const attn_trainer *trainer, const double *values);
int at_metric_improved(const attn_trainer *trainer, const double *values);
/* Where models are chosen by accuracy, the macro F1 of the same outputs; else NaN. */
double at_metric_macro(const attn_trainer *trainer, const attn_report *report);
/* Notes the values of an evaluation; as_good: its model is kept. */
void at_metric_keep(attn_trainer *trainer, const double *values, int as_good);

/* prepare.c: what comes before the first step: configuration, data held out, what is learned from the data.
 */
attn_status at_trainer_prepare(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev);

/* output.c: names, checks and locks the files of a run. On failure there is nothing to close. */
attn_status at_output_open(attn_context *context, const attn_trainer_options *options, at_output *files);
void at_output_close(attn_context *context, at_output *files);

/* checkpoint.c: writes and reads the .last file. */
attn_status at_checkpoint_write(attn_trainer *trainer, const char *path);
attn_status at_checkpoint_read(attn_trainer *trainer);
/* Before the network is made: whether there is a file that fits (or a model whose run came to its end), and
 * the steps that its run was to have; 0: there is none. */
attn_status at_checkpoint_steps(attn_trainer *trainer, int64_t *steps);
/* How far the run of a .last file is; 0: it does not say so. */
int at_checkpoint_progress(attn_context *context, const char *path, int64_t *step, int64_t *steps,
                           int *ended);
attn_status at_checkpoint_refuse(attn_trainer *trainer, const char *path, const char *what,
                                 const char *detail);
enum { AT_DIFFERENCE_BYTES = 320 };
/* The first value in which the configurations of file and trainer differ, of those that matter, as "NAME was
 * X and is Y"; "": there is none. INVALID_ARGUMENT: the file has no configuration. */
attn_status at_checkpoint_compare(attn_trainer *trainer, const at_safetensors *file,
                                  int (*matters)(const attn_trainer *trainer, const char *name),
                                  char *difference);
int at_checkpoint_matters(const attn_trainer *trainer, const char *name); /* to what is resumed */
/* Takes a value that the caller does not set from the file that is resumed, if there is one. */
attn_status at_checkpoint_adopt(attn_trainer *trainer, const char *name);
/* A fingerprint of the data as text, of 17 bytes, and whether a text is ours. */
void at_checkpoint_fingerprint(const attn_trainer *trainer, char *text);

/* calibrate.c: fits the temperatures of the model that is kept, and makes its report on the development data;
 * with outputs that have no labels it does nothing (0: at_calibrate_due). */
attn_status at_calibrate(attn_trainer *trainer, attn_model *model);
int at_calibrate_due(const attn_trainer *trainer);

/* finish.c: a run that came to its end: the model says so, and the .last file goes. */
attn_status at_finish(attn_trainer *trainer);
/* The same as at_checkpoint_steps and _read, from a model that says so. */
attn_status at_finished_steps(attn_trainer *trainer, int64_t *steps);
attn_status at_finished_read(attn_trainer *trainer);

/* ranks.c: several processes that train together; with one of them they do nothing. Files are rank 0's. */
int at_rank_writes(const attn_trainer *trainer);
attn_status at_ranks_open(attn_trainer *trainer); /* the files */
/* Whether all have the same program, configuration and data. */
attn_status at_ranks_agree(attn_trainer *trainer);
attn_status at_ranks_number(attn_trainer *trainer, int64_t *number); /* becomes rank 0's */
attn_status at_ranks_timetable(attn_trainer *trainer);               /* likewise */
/* What was read to be resumed, from rank 0 to all. */
attn_status at_ranks_send(attn_trainer *trainer);
/* Ranks are in the middle of what all of them do: a failure may be of this one alone, unknown to the others.
 */
void at_ranks_apart(attn_trainer *trainer, int apart);
/* If one fails, all do, with its text; if one stops, all do. A rank that failed apart from the others does
 * not wait for them: who calls has to end them (attn_exchange_abort). */
attn_status at_ranks_settle(attn_trainer *trainer, attn_status status, int *stop);

/* timing.c: the clock, and the number of steps of a run that is to take so long. */
double at_now(const attn_trainer *trainer);
#define AT_QUIET_END                                                                                         \
    0.1 /* part of the steps before the last in which nothing is evaluated, if time decides */
int at_timing_adapts(const attn_trainer *trainer);  /* steps are counted anew while it runs */
double at_timing_used(const attn_trainer *trainer); /* seconds of the time given */
int64_t at_timing_bound(const attn_trainer *trainer, int64_t steps); /* at most options.at_most allows */
/* Takes training.timetable, which has to end with as many steps as there are to be. */
attn_status at_timing_read(attn_trainer *trainer, const char *text);
/* Writes steps and timetable into the configuration that files get. */
attn_status at_timing_set(attn_trainer *trainer);
void at_timing_begin(attn_trainer *trainer);                                    /* measuring, from now on */
void at_timing_evaluated(attn_trainer *trainer, int evaluated, double seconds); /* else only saved */
attn_status at_timing_look(attn_trainer *trainer); /* after a step: counts anew, if it is time */

/* start.c: a model to begin from. Its vocabulary and labels, into the stage, which is empty; its weights,
 * into the network that was made; and how good it is, as the best so far. */
attn_status at_start_open(attn_trainer *trainer);
attn_status at_start_weights(attn_trainer *trainer);
attn_status at_start_value(attn_trainer *trainer);

#endif
