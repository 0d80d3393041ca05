/* trainer.h (private): what a trainer holds: the data as numbers, the network, and how far it is. */
#ifndef AT_TRAIN_TRAINER_H
#define AT_TRAIN_TRAINER_H

#include <attn/optimizer.h>
#include <attn/trainer.h>

#include "model/model.h"

/* How far training is: all that decides what comes next, besides weights and the optimiser's state. */
typedef struct at_progress_made {
    int64_t step;         /* optimiser steps done */
    int64_t epoch, batch; /* the epoch that is under way, and how many of its batches are done */
    int64_t evaluated_step, evaluated_epoch; /* where the last evaluation was */
    double loss;                             /* smoothed; NaN before the first step */
    double best_score;                       /* NaN: none yet */
    int64_t best_step;
    int64_t without_better; /* evaluations since the best one */
    int ended;              /* patience came to its end */
} at_progress_made;

struct attn_trainer {
    attn_context *context;
    attn_config *config;
    at_config values;
    attn_trainer_options options;
    char *output, *last; /* paths; NULL: nothing is written */

    const attn_dataset *train, *dev;
    attn_dataset *own_train, *own_dev; /* where the development data was taken out of the training data */
    int64_t labelled;                  /* an example of the development data that has a target */
    uint64_t fingerprint;              /* of both, and of the vectors */

    attn_model *model;
    attn_optimizer *optimizer;
    attn_tape *tape;
    at_units units;
    at_segments segments;
    at_targets targets;
    at_symbols symbols;                    /* seq2seq: the answers */
    int64_t dev_longest;                   /* seq2seq: symbols of a development answer, at most */
    int32_t *running;                      /* lm: what is said after each unit */
    at_decoding decoding;                  /* seq2seq: the answers of a batch */
    int64_t steps_total, batches_an_epoch; /* of epoch 0; others differ by a few at most */

    at_plan plan;
    int64_t planned_epoch; /* -1: none */
    at_batch batch;
    at_batch_targets *batch_targets; /* [outputs]; they point into: */
    int32_t *classes;
    float *numbers;
    int64_t class_room, number_room;

    float *vectors; /* NULL, or the pretrained ones: rows of model->pretrained.words */
    int averaged;   /* the optimiser keeps averages */
    int measuring;  /* how long steps and evaluations take is being found out */

    at_progress_made made;
    const char *metric;

    double began, saved_at, trained_seconds;
    int64_t trained_units;
    attn_training_state state;
};

/* Makes network and optimiser anew, from the seed, for `steps_total` steps. */
attn_status at_trainer_build(attn_trainer *trainer);
/* One step of the optimiser. */
attn_status at_trainer_step(attn_trainer *trainer);
/* The score on the development data with the averaged weights, and as JSON all metrics. */
attn_status at_trainer_evaluate(attn_trainer *trainer, double *score);

/* checkpoint.c: writes and reads the .last file. */
attn_status at_checkpoint_write(attn_trainer *trainer, const char *path);
attn_status at_checkpoint_read(attn_trainer *trainer);
/* Before the network is made: whether there is a file that fits, and the steps that its run was to have; 0:
 * there is none. */
attn_status at_checkpoint_steps(attn_trainer *trainer, int64_t *steps);

/* examples.c: what is held out, the targets of a batch, and vectors to start from: read (before the network
 * is made) and put into it. */
attn_status at_trainer_hold_out(attn_trainer *trainer);
attn_status at_trainer_gather(attn_trainer *trainer, const int64_t *order, int64_t count);
attn_status at_trainer_read_vectors(attn_trainer *trainer);

/* sequences.c: what is different for answers of their own length and for running text: what the configuration
 * leaves to the data, vocabularies and numbers, and the loss of a batch. */
attn_status at_trainer_look_at_dev(attn_trainer *trainer);
attn_status at_trainer_choose_units(attn_trainer *trainer);
attn_status at_trainer_learn_sequences(attn_trainer *trainer);
attn_status at_trainer_sequences_loss(attn_trainer *trainer, const int64_t *order, int64_t count,
                                      attn_variable **loss);
int at_trainer_of_sequences(const attn_trainer *trainer);

void at_trainer_start_vectors(attn_trainer *trainer);

#endif
