/* attn/workers.h: one training step on all threads of a context, each with a part of the batch.
 *
 * A step's batch is cut into shards, whose losses add up to the loss of the batch. Each shard is recorded on
 * a tape, and walked back, by one thread; the gradients are added in the order of a fixed tree. So the bits
 * of a step depend on the shards, never on the number of threads, and small batches keep all threads busy:
 *
 *     static attn_variable *record(void *user, attn_tape *tape, int64_t shard) {
 *         ...                       the loss of the rows of this shard, divided by the rows of the batch
 *     }
 *     attn_workers_create(parameters, &workers);
 *     for (;;) {
 *         attn_workers_run(workers, 8, step, record, user, &loss);
 *         attn_optimizer_step(optimizer);
 *     }
 *
 * Shards of 128 rows or more and a number of them that is a power of two are best.
 */
#ifndef ATTN_WORKERS_H
#define ATTN_WORKERS_H

#include <stdint.h>

#include <attn/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attn_workers attn_workers;

/* One for each thread of the parameters' context, for the parameters that the set has now: it is made after
 * the last was added, and destroyed before the set. *workers is untouched on failure (OUT_OF_MEMORY,
 * SYSTEM_ERROR). */
ATTN_API attn_status attn_workers_create(attn_parameters *parameters, attn_workers **workers);
ATTN_API void attn_workers_destroy(attn_workers *workers); /* NULL is allowed */

/* Records shard `shard` on a tape that has begun, and returns its loss, a number; NULL with the tape's error
 * set. Several threads call it at the same time, each with a tape of its own; parameters are only read. */
typedef attn_variable *(*attn_record_function)(void *user, attn_tape *tape, int64_t shard);

/* Records shards 0 .. count - 1, for training, and walks them back. The gradients of the parameters are then
 * those of the sum of the losses, which is *loss (loss may be NULL); what they held before is gone. seed: of
 * dropout; each shard has its own made of it. Errors: what the first shard that failed says. */
ATTN_API attn_status attn_workers_run(attn_workers *workers, int64_t count, uint64_t seed,
                                      attn_record_function record, void *user, double *loss);

#ifdef __cplusplus
}
#endif

#endif
