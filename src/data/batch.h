/* batch.h: which rows go through the network together.
 *
 * Segments are runs of units of one example: the whole of it, or, where it is longer than the limit, its
 * pieces (an answer per unit) or its beginning (an answer per text). A plan orders the segments of an epoch
 * into batches of about so many units: shuffled, then sorted by length within buckets of some batches, so
 * that the sequences of a batch are about equally long, then the batches shuffled. It is a function of
 * (lengths, budget, seed) alone.
 */
#ifndef AT_DATA_BATCH_H
#define AT_DATA_BATCH_H

#include "data/text.h"

typedef struct at_segment {
    int64_t example;
    int64_t first, count; /* units, as numbers in at_units */
    int64_t answer;       /* symbols of its answer: they count in the plan */
} at_segment;

typedef struct at_segments {
    at_segment *list;
    int64_t count, room;
} at_segments;

/* Examples without units have a segment of count 0 with `in_pieces` 0, none with 1. */
attn_status at_segments_make(attn_context *context, const at_units *units, int64_t longest, int in_pieces,
                             at_segments *segments);
void at_segments_free(attn_context *context, at_segments *segments);

typedef struct at_plan {
    int64_t *order; /* [segments]: their numbers, batch after batch */
    int64_t *first; /* [batches + 1]: where each batch begins in `order` */
    int64_t batches;
    int64_t order_room, first_room;
} at_plan;

/* shuffled 0: in order of length, longest first: for evaluation. */
attn_status at_plan_make(attn_context *context, const at_segments *segments, int64_t units_a_batch,
                         int shuffled, uint64_t seed, at_plan *plan);
void at_plan_free(attn_context *context, at_plan *plan);

/* The input of a batch: offsets of its sequences and the features of its rows. Used again and again. */
typedef struct at_batch {
    int64_t *offsets, offset_room; /* [sequences + 1] */
    int64_t sequences;
    at_features features;
    int32_t *vector_ids; /* [rows] the pretrained vector of each, if there are any */
    int64_t vector_room;
} at_batch;

typedef struct at_hiding {
    double unit, feature; /* how often the unit itself (its id becomes 0) and a hashed feature are hidden */
    uint64_t seed;
} at_hiding;

/* The segments order[0 .. count - 1]. vectors NULL: there are no pretrained ones; else the words that have
 * one (a unit is looked up as it is, then in lower case; 0 is none). hiding NULL: nothing is hidden. */
attn_status at_batch_make(const at_text *text, const at_vocabulary *vectors, const at_units *units,
                          const at_segments *segments, const int64_t *order, int64_t count,
                          const at_hiding *hiding, at_batch *batch);
void at_batch_free(attn_context *context, at_batch *batch);

#endif
