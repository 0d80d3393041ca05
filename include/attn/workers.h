/* workers.h: data-parallel training steps on the threads of a context.
 *
 * The batch of a step is divided into shards whose losses sum to the loss of the batch. One thread records a
 * shard on its tape and runs the backward pass. (If the step has only one shard, all threads work on it
 * together.) The gradients of the shards are added in the order of a fixed tree. So the bits of a step depend
 * on the shards, not on the number of threads, and small batches use all threads:
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
 * It is fastest if each shard has at least 128 rows, and the number of shards is a power of two.
 *
 * Workers are used by one thread at a time, the one of the parameters' context.
 */
#ifndef ATTN_WORKERS_H
#define ATTN_WORKERS_H

#include <stdint.h>

#include <attn/tape.h>

ATTN_BEGIN_DECLS

typedef struct attn_workers attn_workers;

/* Workers for the threads of the parameters' context and the parameters that the set has now: create them
 * after the last parameter was added, and destroy them before the set. *workers is untouched on failure.
 * Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY, SYSTEM_ERROR, and the set's own status if that is not OK.
 */
ATTN_API attn_status attn_workers_create(attn_parameters *parameters, attn_workers **workers);
ATTN_API void attn_workers_destroy(attn_workers *workers); /* NULL is allowed */

/* Records shard `shard` on a tape that has begun, and returns its loss (1 x 1), or NULL with the tape's error
 * set. Several threads call it at the same time, each with its own tape; it may only read parameters. */
typedef attn_variable *(*attn_record_function)(void *user, attn_tape *tape, int64_t shard);

/* Runs the forward and backward pass of shards 0 .. count - 1 for training. The gradients of the parameters
 * are then those of the sum of the losses; earlier gradients are overwritten. *loss gets the sum (loss may be
 * NULL). seed: of dropout; each shard derives its own seed from it. Errors: INVALID_ARGUMENT (NULL, count
 * below 1, parameters added since create), and the status of the first shard that failed. */
ATTN_API attn_status attn_workers_run(attn_workers *workers, int64_t count, uint64_t seed,
                                      attn_record_function record, void *user, double *loss);

ATTN_END_DECLS

#endif
