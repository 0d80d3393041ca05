/* trainer.h: training of a model.
 *
 *     attn_trainer_options options;
 *     attn_trainer_options_init(&options);
 *     options.output = "pos.safetensors";
 *     attn_trainer_create(config, train, dev, &options, &trainer);
 *     attn_trainer_run(trainer);
 *     attn_trainer_destroy(trainer);
 *
 * `output` keeps the best model by the development data. Beside it, "pos.last.safetensors" holds the state
 * that is needed to resume, until the run has finished. Both are written to a temporary file, synced and
 * renamed, so that each is always a complete file, old or new. With the same build, on CPUs with the same
 * instruction set, the same data, configuration and seed give the same files, byte for byte, for any number
 * of threads and however often the run was stopped and resumed.
 *
 * Nothing is overwritten unless the options allow it. While a trainer exists, no other one, in this process
 * or another, can be created for the same output (it locks "pos.safetensors.lock").
 *
 * A trainer is used by one thread at a time, which also calls the functions in its options. It uses all
 * threads of the configuration's context.
 */
#ifndef ATTN_TRAINER_H
#define ATTN_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/dataset.h>
#include <attn/exchange.h>
#include <attn/export.h>
#include <attn/model.h>
#include <attn/report.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_trainer attn_trainer;

typedef enum attn_training_event {
    ATTN_TRAINING_READY = 0,    /* before the first step; steps_total is known */
    ATTN_TRAINING_MEASURED = 1, /* `seconds` was given: steps_total was chosen */
    ATTN_TRAINING_STEP = 2,
    ATTN_TRAINING_DEV = 3, /* the development data was evaluated: value and best_value are set */
    ATTN_TRAINING_DONE = 4 /* after the last step: `end` says why */
} attn_training_event;

typedef enum attn_training_end {
    ATTN_TRAINING_FINISHED = 0, /* all steps */
    ATTN_TRAINING_PATIENCE = 1, /* no better metric for training.patience evaluations */
    ATTN_TRAINING_STOPPED = 2   /* `watch` stopped it: the run can be resumed */
} attn_training_end;

/* What the function `watch` of the options gets: the library's own memory, for the time of the call. The
 * struct may grow at its end. */
typedef struct attn_training_state {
    attn_training_event event;
    int64_t step, steps_total;  /* steps that are done, and all steps of the run */
    double epoch, epochs_total; /* the same in passes over the training data */
    double loss;                /* of the last steps, smoothed */
    double learning_rate;
    double units_per_second;      /* of training, without evaluations */
    double seconds, seconds_left; /* since the run began; estimated */
    int64_t train_examples, dev_examples, train_units;
    int held_out;         /* the development data is a part of the training data */
    int64_t resumed_from; /* the step from which the run was resumed; 0: it was not */
    int64_t parameters;
    const char *metric;       /* its name */
    double value, best_value; /* NaN before the first evaluation */
    int64_t best_step;
    attn_training_end end;
    int splitter;            /* a second network is trained, which splits raw text */
    double splitter_f1;      /* its F1 of words when the best model was evaluated; NaN before */
    const char *no_splitter; /* NULL, or why none can be trained */
    /* If nodes of graphs have targets: the number of nodes with targets in the training data and in the
     * development data; dev_rows is 0 if the model is evaluated on the nodes that it is trained on. Else both
     * are 0. */
    int64_t train_rows, dev_rows;
    const char *row;        /* what a row is called */
    int ranks;              /* number of ranks that train together; units_per_second is their sum */
    double exchange_share;  /* share of training time that this rank spent in communication: 0 .. 1 */
    double trained_seconds; /* of the steps of this run, without evaluations */
    int64_t exchange_bytes; /* bytes that this rank sent in these steps */
    /* If models are chosen by accuracy: the macro F1 of the last evaluation and of the best model. NaN
     * otherwise, and before the first evaluation. */
    double macro_f1, best_macro_f1;
    int64_t left_out; /* examples in neither set: they are contained in a held-out example, or very similar to
                         one */
    int held_alike;   /* 1: held-out examples were drawn one by one, and not in groups of similar ones
                         (training.hold_out_groups), because all examples are too similar */
    const char *timetable; /* the changes of steps_total so far (training.timetable); "": none */
    int shortened;         /* 1: because of options.at_most there are fewer steps than without `seconds` */
} attn_training_state;

typedef struct attn_trainer_options {
    size_t size;         /* sizeof(attn_trainer_options), set by the init function */
    const char *output;  /* NULL: nothing is written. A symbolic link is followed and not replaced */
    const char *vectors; /* NULL, or pretrained vectors (.vec: "word number number ...") to start from */
    int resume; /* not 0: continue from the .last file. Without this file, if there is a model whose run has
                   finished, there is nothing to do; if there is no model, the run begins */
    /* > 0: choose the number of steps so that training takes this long, counted from attn_trainer_create. The
     * speed is measured before the first step and, if `seconds` is at least 20, also during the run, which
     * then adjusts the number of steps. training.patience is 0 unless the configuration sets it. The model's
     * configuration has the training.steps, training.timetable and training.patience with which the same run
     * can be repeated. */
    double seconds;
    double save_seconds; /* the .last file is written at evaluations, and when this time has passed since it
                            was written; 30 after init; 0: at every step */
    /* NULL, or called after every event. If it returns another number than 0, the run stops after the step.
     */
    int (*watch)(void *user, const attn_training_state *state);
    void *user;
    int force;     /* replace an existing model or .last file; without it, existing files are an error */
    int keep_last; /* keep the .last file when the run has finished; without it, the file is removed */
    /* NULL, or the path of a model to start from: its weights, vocabulary and labels. The network of the
     * configuration must be the same as the model's. */
    const char *start;
    /* Not 0: train the model in `output` further, as if it were `start`. training.steps, training.epochs or
     * `seconds` set the length; the learning rate schedule begins anew. The model is replaced only by one
     * that is not worse on the development data. */
    int more;
    int main_only; /* not 0: no splitter of raw text is trained beside the network */
    /* NULL, or the ranks that train together. Each creates a trainer with the same data and configuration
     * (they compare fingerprints) and runs it. Rank 0 writes the files. The model has the same bytes as that
     * of one process. If the function `watch` stops one rank, all stop. */
    attn_exchange *exchange;
    int fast_sum; /* not 0: gradients are added in the order that is fastest for the exchange; the bits of the
                     model then depend on the number of ranks */
    /* NULL, or called while attn_trainer_create encodes texts, a few times per second and at the end, by the
     * caller's thread: `done` of `total` bytes of the file are encoded. */
    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
    double spent; /* the part of `seconds` that was used before attn_trainer_create, for example for reading
                     the data */
    /* NULL: the system's clock. Else returns the time in seconds since a fixed moment. */
    double (*clock)(void *user);
    void *clock_user;
    int at_most; /* not 0: `seconds` is a bound: it may reduce the number of steps, but not increase it */
} attn_trainer_options;
ATTN_INIT(attn_trainer_options)

/* Checks, before data is read, whether a trainer with these options can write its files. Errors:
 * INVALID_ARGUMENT, SYSTEM_ERROR and OUT_OF_MEMORY, as attn_trainer_create. */
ATTN_API attn_status attn_trainer_check(attn_context *context, const attn_trainer_options *options);
/* Writes the path of the .last file of an output to path[room]; symbolic links are followed. Errors:
 * INVALID_ARGUMENT (NULL, or the path does not fit), SYSTEM_ERROR (a link that cannot be followed),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_trainer_last_path(attn_context *context, const char *output, char *path,
                                            size_t room);

/* dev NULL: a share training.hold_out of the training examples is held out as development data, in groups as
 * training.hold_out_groups says. options NULL: the defaults. config, datasets and the texts in options must
 * outlive the trainer. Errors: INVALID_ARGUMENT (NULL, no examples, targets of the wrong kind (with file and
 * line), a start model that does not fit, existing files that may not be replaced, options that exclude each
 * other), SYSTEM_ERROR (files cannot be written: no such folder, a directory or device in the file's place,
 * another run that writes the same file), those of reading vectors, UNSUPPORTED (options of a newer caller),
 * OUT_OF_MEMORY. */
ATTN_API attn_status attn_trainer_create(attn_config *config, const attn_dataset *train,
                                         const attn_dataset *dev, const attn_trainer_options *options,
                                         attn_trainer **trainer);
/* Trains until all steps are done, patience ends or `watch` stops it. Errors: INVALID_ARGUMENT (NULL, or the
 * .last file is damaged, or has another configuration or other data), NOT_FINITE (the loss or a gradient is
 * NaN or infinite; the message gives step and learning rate), SYSTEM_ERROR (a file could not be written;
 * earlier files are complete), OUT_OF_MEMORY. */
ATTN_API attn_status attn_trainer_run(attn_trainer *trainer);
/* After a finished run, if the model has outputs with labels: the report of the model in `output` on the
 * development data, with its temperatures. NULL if the run was stopped, had nothing to do, or writes no files
 * (no output, or another rank writes). It belongs to the trainer. */
ATTN_API const attn_report *attn_trainer_report(const attn_trainer *trainer);
ATTN_API void attn_trainer_destroy(attn_trainer *trainer); /* NULL is allowed */

ATTN_END_DECLS

#endif
