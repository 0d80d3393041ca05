/* linear_layer.h: one linear layer with all its matrices, and its check.
 *
 * Tolerance, per tensor: error against the oracle <= 4 x that of naive float
 * code + 2 * 2^-24 * rounding, where rounding is what independent roundings of
 * relative size 1 would leave in an element: the root of the squared terms and
 * partial sums, and for an activation also its own value (its slope is at most
 * about 1, and its exponentials are good to a few units in the last place).
 */
#ifndef TEST_SUPPORT_LINEAR_LAYER_H
#define TEST_SUPPORT_LINEAR_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

#include "support/memory.h"
#include "support/random.h"

#define MATRIX_CANARY 4321.25f /* what is in a matrix before it is filled, and between its rows */

/* A matrix with gaps after its rows. */
typedef struct matrix {
    memory_block memory;
    attn_tensor view;
    double *exact; /* contiguous: the input as double, or what the oracle gives */
    int64_t rows, columns;
} matrix;

matrix matrix_create(memory_kind kind, int64_t rows, int64_t columns, int64_t gap);
void matrix_destroy(matrix *m);
void matrix_fill(matrix *m, test_random *random, float amplitude);
float *matrix_at(const matrix *m, int64_t row, int64_t column);

/* The first rows of two matrices have the same bits. */
bool matrix_same_bits(const matrix *a, const matrix *b, int64_t rows);

/* Nothing but the elements of a result has been written. */
void assert_gaps_untouched(const matrix *m);

typedef struct layer {
    int64_t rows, in, out;
    attn_activation activation;
    bool with_bias;
    matrix x, w, b, y, pre, dy, dx, dw, db;
    attn_tensor bias, d_bias; /* b and db as vectors */
    void *packed_memory[2];
    attn_packed_weight packed[2];
} layer;

/* Numbers, gaps and whether there is a bias follow from the seed: no bias for
 * multiples of 3. */
layer *layer_create(int64_t rows, int64_t in, int64_t out, attn_activation activation, memory_kind kind,
                    uint64_t seed);
void layer_destroy(layer *l);

/* Packs the weight both ways; runs both passes. Each fails the test unless
 * the library says OK. */
void layer_pack(attn_context *context, layer *l);
void layer_run(attn_context *context, layer *l);

/* All five results against the oracle, on every instruction set. */
void layer_check(layer *l);

#endif
