/* steps.h: one self-attention, every number of it, computed and printed.
 *
 *     q = x W_q^T     k = x W_k^T     v = x W_v^T
 *     scores_ij = q_i . k_j           scaled_ij = scale * scores_ij
 *     weights_i = softmax(scaled_i)   output_i = sum_j weights_ij v_j
 *
 * The example is built in and small enough to follow with a pencil: five
 * words, each a vector of four numbers.
 */
#ifndef CLI_STEPS_H
#define CLI_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "terminal.h"

enum { STEP_WORDS = 5, STEP_FEATURES = 4, STEP_KEYS = 4, STEP_VALUES = 3 };

typedef struct step_options {
    double scale;   /* 0: 1 / sqrt(STEP_KEYS) */
    bool causal;    /* a word sees itself and those before it */
    int64_t window; /* ... and only those at most this far; -1: no limit */
} step_options;

typedef struct steps {
    const char *words[STEP_WORDS];
    const char *meanings[STEP_WORDS];
    float x[STEP_WORDS][STEP_FEATURES];
    float query[STEP_WORDS][STEP_KEYS];
    float key[STEP_WORDS][STEP_KEYS];
    float value[STEP_WORDS][STEP_VALUES];
    bool seen[STEP_WORDS][STEP_WORDS];
    double scores[STEP_WORDS][STEP_WORDS];
    double scaled[STEP_WORDS][STEP_WORDS];
    double weights[STEP_WORDS][STEP_WORDS]; /* 0 where not seen */
    float output[STEP_WORDS][STEP_VALUES];
    double largest_difference; /* between the operator's weights and the softmax of `scaled` */
} steps;

/* Fills `result`: q, k, v, weights and output by the library, scores and
 * scaled scores here. False, and the reason on standard error, if a call
 * failed or if the softmax of the scores is not what the operator gave. */
bool steps_compute(const step_options *options, steps *result);

void steps_print(const step_options *options, const steps *shown, terminal_color color);

#endif
