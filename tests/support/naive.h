/* naive.h: attention written down in float, and how far roundings reach.
 *
 * naive_attention computes what attn/attention.h says in f32, one number after
 * another, without blocks, vectors or tricks: its error against the oracle is
 * what the format itself costs.
 *
 * Beside every result stands its `rounding`: to first order, the error that
 * the element would have if every product, sum and exponential that it depends
 * on had an independent relative error of 1 (so 2^-24 times that is the size
 * to be expected of f32). Independent errors add in squares.
 */
#ifndef TEST_SUPPORT_NAIVE_H
#define TEST_SUPPORT_NAIVE_H

#include "support/attention_run.h"

/* Fills `result` and `rounding`, both made by values_create. The gradients
 * only if passes has RUN_BACKWARD. */
void naive_attention(const problem *p, int passes, values *result, values *rounding);

#endif
