/* attention_grid.h: the cases that both passes of attention are checked on.
 *
 * Each function walks one part of the grid, against the oracle, on every
 * instruction set of this machine; `passes` is RUN_FORWARD or RUN_BACKWARD.
 */
#ifndef TEST_SUPPORT_ATTENTION_GRID_H
#define TEST_SUPPORT_ATTENTION_GRID_H

#include "support/attention_run.h"

/* Every pair of lengths 0 .. 49 (three vectors of 16 and one more), the
 * patterns in turn. */
void grid_short_lengths(int passes);

/* Lengths around tile edges and over several tiles, each with each pattern. */
void grid_long_lengths(int passes);

/* d_k and d_v from 1 to 512, equal and not. */
void grid_channels(int passes);

/* Multi-head, grouped and multi-query, each with each pattern and layout. */
void grid_heads_and_layouts(int passes);

/* Ragged batches, with sequences of length 0 and 1 among them. */
void grid_ragged(int passes);

/* Left and right reach from 0 to beyond the sequence, both alignments, more
 * queries than keys and fewer. */
void grid_reach(int passes);

/* Masks with each pattern, over several tiles. */
void grid_masks(int passes);

/* Every broadcast of the bias in every order, with and without -inf. */
void grid_bias(int passes);

/* Tables by distance from 1 entry to more than the sequence has; ALiBi. */
void grid_distance(int passes);

/* Scale, softcap and dropout, singly and together. */
void grid_scores(int passes);

/* 1 .. 8 queries against up to 5000 keys. */
void grid_decode(int passes);

/* `count` cases in which everything is random, lengths up to `longest`. */
void grid_random(int passes, uint64_t seed, int count, int64_t longest);

#endif
