/* trainer.h: from examples to a model file.
 *
 *     attn_trainer_options options;
 *     attn_trainer_options_init(&options);
 *     options.output = "pos.safetensors";
 *     attn_trainer_create(config, train, dev, &options, &trainer);
 *     attn_trainer_run(trainer);
 *     attn_trainer_destroy(trainer);
 *
 * The best model by the development data is kept in `output`; beside it, "pos.last.safetensors" holds all
 * that is needed to go on, until the run has come to its end. Both are written to a temporary name, synced
 * and renamed, so that whatever happens each is a whole file, old or new. Same data, configuration and seed:
 * the same files, byte for byte, for any number of threads and however often it was stopped and resumed.
 *
 * Nothing is overwritten unless the options say so, and while a trainer lives no other one, of this process
 * or another, can be made for the same output (it holds a lock on "pos.safetensors.lock").
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
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_trainer attn_trainer;

typedef enum attn_training_event {
    ATTN_TRAINING_READY = 0,    /* before the first step; steps_total is known */
    ATTN_TRAINING_MEASURED = 1, /* `seconds` was given: steps_total was chosen */
    ATTN_TRAINING_STEP = 2,
    ATTN_TRAINING_DEV = 3, /* the development data was evaluated: score, best */
    ATTN_TRAINING_DONE = 4 /* after the last step, with why */
} attn_training_event;

typedef enum attn_training_end {
    ATTN_TRAINING_FINISHED = 0, /* all steps */
    ATTN_TRAINING_PATIENCE = 1, /* no better score for training.patience evaluations */
    ATTN_TRAINING_STOPPED = 2   /* the callback said so: can be resumed */
} attn_training_end;

typedef struct attn_training_state {
    attn_training_event event;
    int64_t step, steps_total;  /* done; to do */
    double epoch, epochs_total; /* the same as passes over the training data */
    double loss;                /* smoothed, of the last steps */
    double learning_rate;
    double units_per_second;      /* of training, without evaluations */
    double seconds, seconds_left; /* since the run began; estimated */
    int64_t train_examples, dev_examples, train_units;
    int held_out;         /* the development data is a part of the training data */
    int64_t resumed_from; /* step; 0: not resumed */
    int64_t parameters;
    const char *metric;       /* its name */
    double score, best_score; /* NaN before the first evaluation */
    int64_t best_step;
    attn_training_end end;
    int splitter;                 /* a second network is trained, which splits raw text */
    double splitter_score;        /* its F1 of words when the best model was evaluated; NaN before that */
    const char *no_splitter;      /* NULL, or why none can be trained */
    int64_t train_rows, dev_rows; /* where rows are split, those with targets, else 0; dev_rows 0: the same */
    const char *row;              /* what a row is called */
    int ranks;                    /* that train together; units_per_second is that of all of them */
    double exchange_share;        /* of the time of training that this rank spent in the exchange: 0 .. 1 */
    double trained_seconds;       /* of the steps of this run, without evaluations */
    int64_t exchange_bytes;       /* that this rank sent in them */
} attn_training_state;

typedef struct attn_trainer_options {
    size_t size;         /* sizeof(attn_trainer_options), set by the init function */
    const char *output;  /* NULL: nothing is written. A symbolic link is followed, and stays. */
    const char *vectors; /* NULL, or pretrained vectors (.vec: "word number number ...") to start from */
    int resume;     /* go on from the .last file; if there is none and the model says that its run came to its
                       end, there is nothing to do; if there is neither, begin */
    double seconds; /* > 0: measure the speed and choose the number of steps so that it takes this long */
    double save_seconds; /* the .last file is written at evaluations and whenever so long has passed: 30
                            after init; 0: at every step */
    /* Called after every event; not 0 stops after this step. May be NULL. */
    int (*watch)(void *user, const attn_training_state *state);
    void *user;
    int force;     /* begin, and replace a model or a .last file that is there: else that is refused */
    int keep_last; /* the .last file stays when the run has come to its end: else it is removed */
    /* NULL, or a model to begin from: its weights, vocabulary and labels; what the configuration says of the
     * network has to be what it says there. */
    const char *start;
    /* Go on with the model in `output`, as `start` would, in place: training.steps, epochs or `seconds` say
     * for how long, with a learning rate that rises and falls anew. The model is only replaced by one that is
     * no worse by the development data. */
    int more;
    int main_only; /* train no splitter of raw text beside the network */
    /* NULL, or the ranks that train together: each creates the same trainer with the same data and
     * configuration (they compare fingerprints) and runs it. Rank 0 writes the files. The model is the same,
     * to the byte, as that of one process. A callback that stops one rank stops all. */
    attn_exchange *exchange;
    int fast_sum; /* gradients are added in the order that the exchange likes best: bits then depend on the
                     number of ranks */
    /* NULL, or called while attn_trainer_create encodes texts, a few times a second and at the end, from the
     * caller's thread: the file, and how many bytes of it are done. */
    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
} attn_trainer_options;
ATTN_API void attn_trainer_options_init(attn_trainer_options *options);

/* Before the data is read: whether a trainer with these options could write its files. Errors: those of
 * attn_trainer_create that need no data. */
ATTN_API attn_status attn_trainer_check(attn_context *context, const attn_trainer_options *options);
/* The path of the .last file of an output, whose links are followed. INVALID_ARGUMENT: it has not room. */
ATTN_API attn_status attn_trainer_last_path(attn_context *context, const char *output, char *path,
                                            size_t room);

/* dev NULL: training.hold_out of the training examples are taken out of it. config and datasets must outlive
 * the trainer. Errors: INVALID_ARGUMENT for data that cannot be learned from (no examples, targets of the
 * wrong kind with file and line, a model to start from that does not fit), for files that are there and may
 * not be replaced, and for options that exclude each other; SYSTEM_ERROR where no file can be written (no
 * folder, a directory or device in its place, another run that writes the same); what reading vectors may
 * say, OUT_OF_MEMORY. */
ATTN_API attn_status attn_trainer_create(attn_config *config, const attn_dataset *train,
                                         const attn_dataset *dev, const attn_trainer_options *options,
                                         attn_trainer **trainer);
/* Trains until the steps are done, patience ends or the callback stops it. Errors: INVALID_ARGUMENT (what is
 * to be resumed is of another configuration or other data, or damaged), NOT_FINITE (the loss or a gradient is
 * not a number; step and learning rate are named), SYSTEM_ERROR (a file could not be written; the ones before
 * it are whole), OUT_OF_MEMORY. */
ATTN_API attn_status attn_trainer_run(attn_trainer *trainer);
ATTN_API void attn_trainer_destroy(attn_trainer *trainer); /* NULL is allowed */

ATTN_END_DECLS

#endif
