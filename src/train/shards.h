/* shards.h: a step's batch in parts, each taken from input to gradient by one worker.
 *
 * A batch is cut into shards of about the same number of rows: a function of the data, the configuration and
 * the number of the step, never of threads or ranks. A worker (a thread with a context of its own) takes one
 * shard after another through the network and back; the gradients are added in the order of a tree
 * (train/tree.h), over all threads and ranks. So the bits of a step are the same for any number of either.
 *
 *     shards of the step     0     1     2     3          two ranks of two threads
 *     gradients              g0 +  g1    g2 +  g3         each pair within a rank
 *                               +-----------+             between them (train/reduce.h)
 *
 * A shard that is most of the work, such as one big graph, is taken by all threads of its rank together.
 */
#ifndef AT_TRAIN_SHARDS_H
#define AT_TRAIN_SHARDS_H

#include "base/parts.h"
#include "model/model.h"
#include "train/reduce.h"

/* What a worker has of a course. */
typedef struct at_worker {
    attn_context *context;
    attn_tape *tape;
    at_batch *rows;
    at_targets **targets; /* [heads] */
} at_worker;

/* The data that shards are of. */
typedef struct at_shard_source {
    at_stage *stage;
    const at_encoded *encoded;
    const at_segments *segments;
    at_worker whole;         /* all threads together */
    at_parts *parts;         /* NULL: there is one thread */
    attn_tape **tapes;       /* of the parts, [threads] */
    attn_exchange *exchange; /* NULL: there is one rank */
    int fast_sum;
} at_shard_source;

typedef struct at_shards at_shards;

/* For the parameters that the stage has now. What the source points to outlives it. */
attn_status at_shards_create(const at_shard_source *source, at_shards **shards);
void at_shards_destroy(at_shards *shards); /* NULL is allowed */
/* The workers of the threads, [threads]; NULL: there is one thread. */
at_worker *at_shards_workers(at_shards *shards);

/* A step: it begins, batches are added, then all of them are run. pieces: how many shards to make of a batch;
 * 0: as many as its length is worth. */
void at_shards_begin(at_shards *shards);
attn_status at_shards_add(at_shards *shards, const int64_t *order, int64_t count, int64_t pieces,
                          uint64_t hiding_seed, uint64_t dropout_seed);
/* The gradients of the parameters are those of all batches together; *loss: the sum of their losses. */
attn_status at_shards_run(at_shards *shards, double *loss);
/* Rows, and rows that heads add, of the step, in all ranks. */
int64_t at_shards_units(const at_shards *shards);

#endif
