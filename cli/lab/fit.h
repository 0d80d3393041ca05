/* fit.h: trains a small network on a generated problem, with the library's tape, layers and optimiser.
 *
 *     rows (symbols, vectors or both) -> embedding -> encoder -> (mean of a sequence) -> linear -> classes
 *
 * The same loop for all experiments, so that what they compare differs in one thing alone.
 */
#ifndef CLI_LAB_FIT_H
#define CLI_LAB_FIT_H

#include "lab.h"

/* Examples: ragged rows, and a class per row or per sequence. Arrays belong to the caller. */
typedef struct lab_examples {
    int64_t sequences;
    const int64_t *offsets;          /* [sequences + 1] */
    const int32_t *ids;              /* [rows], or NULL */
    const float *vectors;            /* [rows x columns], or NULL */
    const int32_t *labels;           /* [rows], or [sequences] if per_sequence; -1: not asked */
    const int64_t *heights, *widths; /* [sequences] of grids, or NULL */
    const attn_graph *graph;         /* NULL, or who sees whom: the examples are then one batch */
} lab_examples;

typedef struct lab_problem {
    int64_t symbols; /* ids are below it; 0: there are none */
    int64_t columns; /* of the vectors; 0: there are none */
    int64_t classes;
    bool per_sequence;
    lab_examples train, test;
} lab_problem;

typedef struct lab_network {
    attn_encoder_options encoder; /* input_columns is filled in */
    int64_t steps, batch;         /* of training: steps, sequences of each */
    double learning_rate;         /* 3e-3 after init; warm-up over a tenth of the steps, then a cosine to 0 */
    double weight_decay;
    double stop_at; /* 0, or a training loss (running mean) at which it is enough */
} lab_network;
void lab_network_init(lab_network *network); /* 64 columns, 2 layers, 4 heads, 300 steps of 64 sequences */

typedef struct lab_fitted {
    double accuracy, train_accuracy; /* 0 .. 1, of the labels that are asked; train: of at most as many
                                        sequences as test has */
    double loss;                     /* of the last steps of training */
    double seconds;                  /* of training */
    int64_t parameters;
    int32_t *answers; /* NULL, or where the answers to the test labels go (the caller's memory) */
    /* Filled if weights is not NULL before the call: for each layer, the attention weights of the test
     * examples (attn_encoder_weights), the caller's memory. */
    float *const *weights;
    int64_t steps; /* that were done: fewer if stop_at was reached, or it diverged */
    bool diverged; /* a loss or gradient was not finite: training ended there */
} lab_fitted;

/* Trains from `seed` and answers for the test examples. False: lab_fail was called. Set answers and weights
 * before the call (NULL: not wanted); the rest is overwritten. */
bool lab_fit(lab *lab, const lab_problem *problem, const lab_network *network, uint64_t seed,
             lab_fitted *fitted);

#endif
