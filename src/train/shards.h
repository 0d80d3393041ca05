/* shards.h: divides a batch into shards of about equal rows, for workers (train/workers.h). */
#ifndef AT_TRAIN_SHARDS_H
#define AT_TRAIN_SHARDS_H

#include "model/model.h"
#include "train/workers.h"

/* What a worker has of a course. */
typedef struct at_shard_worker {
    attn_context *context;
    attn_tape *tape;
    at_batch *rows;
    at_targets **targets; /* [heads] */
} at_shard_worker;

/* The data that shards are of. */
typedef struct at_shard_source {
    at_stage *stage;
    const at_encoded *encoded;
    const at_segments *segments;
    at_shard_worker whole; /* all threads together */
    const at_tapes *tapes;
    attn_exchange *exchange; /* NULL: there is one rank */
    int fast_sum;
} at_shard_source;

typedef struct at_shards at_shards;

/* For the parameters that the stage has now. What the source points to outlives it. */
attn_status at_shards_create(const at_shard_source *source, at_shards **shards);
void at_shards_destroy(at_shards *shards); /* NULL is allowed */
/* The workers of the threads, [threads]; NULL: there is one thread. */
at_shard_worker *at_shards_workers(at_shards *shards);

/* A step: it begins, batches are added, then all of them are run. pieces: how many shards to make of a batch;
 * 0: as many as its length is worth. */
void at_shards_begin(at_shards *shards);
attn_status at_shards_add(at_shards *shards, const int64_t *order, int64_t count, int64_t pieces,
                          uint64_t hiding_seed, uint64_t dropout_seed);
/* Steps of several stages at once, at most AT_STAGES. Afterwards the gradients of the parameters are those of
 * all batches of their stage together; losses[i]: the sum of their losses. */
attn_status at_shards_run(at_shards *const *stages, int count, double *losses);
/* Whether all ranks know how the last run, in which these were the first, ended. */
int at_shards_told(const at_shards *shards);
/* Rows, and rows that heads add, of the step, in all ranks. */
int64_t at_shards_units(const at_shards *shards);

#endif
