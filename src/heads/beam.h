/* beam.h: the state of one thread that searches batches of sources: its tapes, caches and memory, in its own
 * context or, if it is the only one, in the predictor's. It is kept between calls.
 */
#ifndef AT_HEADS_BEAM_H
#define AT_HEADS_BEAM_H

#include <attn/predictor.h>

#include "heads/monotone.h"

/* What all workers read, and where their predictions go. */
typedef struct at_beam_job {
    const at_head *head;
    const at_forward *forward;
    attn_search_options options;
    const at_encoded *encoded;
    const at_segments *segments;
    int64_t largest; /* sources of a batch */
    at_found_answers found;
} at_beam_job;

typedef struct at_beam_worker {
    attn_context *context;
    const at_forward *forward;
    at_batch *batch;
    int64_t *limits, limit_room;
    attn_cache *caches[AT_MOST_NETWORKS];
    int64_t cache_sequences, cache_room;
    attn_tape *tapes[AT_MOST_NETWORKS];  /* a step of every network is alive at once */
    at_host_rows host[AT_MOST_NETWORKS]; /* and so are its results */
    at_monotone_search monotone[AT_MOST_NETWORKS];
    float *mean;
    int64_t mean_room;
    at_said said;
} at_beam_worker;

/* Makes a worker ready for a job; an all-0 one is new. */
attn_status at_beam_prepare(at_beam_worker *worker, attn_context *context, const at_beam_job *job);
void at_beam_free(at_beam_worker *worker);
/* The predictions of segments order[0 .. count - 1], none of them empty. The error text is in the worker's
 * context. */
attn_status at_beam_answer(at_beam_worker *worker, const at_beam_job *job, const int64_t *order,
                           int64_t count);

#endif
