/* workers.h (private): workers that compute the shards of a step, each from input to gradient.
 *
 * A worker is a thread with its own context. It takes one shard after another through the forward and
 * backward pass; the gradients are added in the order of a tree (train/tree.h), over all threads and ranks.
 * So the bits of a step are the same for any number of either.
 *
 *     shards of the step     0     1     2     3          two ranks of two threads
 *     gradients              g0 +  g1    g2 +  g3         each pair within a rank
 *                               +-----------+             between them (train/reduce.h)
 *
 * A shard with most of the work, such as one large graph, is computed by all threads of its rank together.
 */
#ifndef AT_TRAIN_WORKERS_H
#define AT_TRAIN_WORKERS_H

#include <attn/workers.h>

#include "base/parts.h"
#include "train/reduce.h"

/* The tapes that workers record on; several courses may use the same, one after another. */
typedef struct at_tapes {
    attn_tape *whole; /* of all threads together */
    at_parts *parts;  /* NULL: there is one thread */
    attn_tape **list; /* of the parts, [threads] */
} at_tapes;
attn_status at_tapes_create(attn_context *context, at_tapes *tapes); /* what was made is freed by: */
void at_tapes_free(attn_context *context, at_tapes *tapes);

/* tapes: they outlive the workers. exchange: NULL, or the ranks that share a step. */
attn_status at_workers_create(attn_parameters *parameters, const at_tapes *tapes, attn_exchange *exchange,
                              int fast_sum, attn_workers **workers);

/* What a shard is. */
typedef struct at_shard {
    int64_t units; /* how much work it is */
    uint64_t seed; /* of dropout */
    double loss;   /* is set */
} at_shard;

/* worker: 0 .. threads - 1, or -1: all threads together; its tape has begun. */
typedef attn_variable *(*at_record_function)(void *user, int worker, attn_tape *tape, int64_t shard);

/* A step of one set of parameters. */
typedef struct at_worker_step {
    attn_workers *workers;
    at_shard *shards; /* all of them, in all ranks */
    int64_t count;
    at_record_function record;
    void *user;
} at_worker_step;

/* Steps of networks that share nothing but their tapes (and their exchange), at once: threads take the shards
 * of all of them from one queue, and gradients of one step travel while shards of the next are computed.
 * Those of this rank are recorded here. The loss of each shard is known in all ranks afterwards. The order of
 * `steps` may change. */
attn_status at_workers_run(at_worker_step *steps, int count);
/* Whether all ranks know how the last run ended that was called with these workers first. */
int at_workers_told(const attn_workers *workers);

#endif
