/* lane.h: what one thread works with that searches for the answers of batches of sources: its own tapes,
 * caches and memory, in a context of its own or, if it is alone, in the model's.
 */
#ifndef AT_MODEL_LANE_H
#define AT_MODEL_LANE_H

#include <attn/generate.h>

#include "model/model.h"

/* What all lanes read, and where their answers go. */
typedef struct at_lane_job {
    const attn_model *model;
    attn_search_options options;
    const at_units *units;
    const at_segments *segments;
    int64_t largest;      /* sources of a batch */
    struct at_said *said; /* [segments][n_best] */
    int64_t *said_counts; /* [segments] */
} at_lane_job;

typedef struct at_lane {
    const at_lane_job *job;
    attn_context *context;
    at_text text; /* the model's, with memory from this context */
    at_batch batch;
    int64_t *limits, limit_room;
    attn_cache *caches[AT_MOST_MEMBERS];
    attn_tape *tapes[AT_MOST_MEMBERS]; /* a step of every network is alive at once */
    float *mean;
    int64_t mean_room;
    int32_t *symbols; /* of all its answers */
    int64_t symbol_count, symbol_room;
    attn_status status; /* of the last batch, and its number: for the caller */
    int64_t failed;
} at_lane;

/* An answer: `count` symbols of a lane from `first` on. */
typedef struct at_said {
    double score;
    const at_lane *lane;
    int64_t first, count;
    int ended;
} at_said;

attn_status at_lane_create(const at_lane_job *job, attn_context *context, at_lane *lane);
void at_lane_free(at_lane *lane);
/* The answers of segments order[0 .. count - 1], none of them empty. The error text is in the lane's context.
 */
attn_status at_lane_answer(at_lane *lane, const int64_t *order, int64_t count);

#endif
