/* reduce.h: the gradients of a step, added up over all ranks in the order of the tree (train/tree.h).
 *
 * Parameters are put into buckets, from the last one to the first, since that is the order in which a walk
 * back completes them. A bucket whose gradients are complete in this rank travels while the walk goes on: a
 * thread of its own trades it with the other ranks. Each rank adds up a slice of every bucket, in the order
 * of the tree, and hands out the sum. Of tables of embeddings only the rows travel that some rank has
 * touched.
 */
#ifndef AT_TRAIN_REDUCE_H
#define AT_TRAIN_REDUCE_H

#include "tape/gradients.h"
#include "train/exchange.h"
#include "train/tree.h"

typedef struct at_reduce at_reduce;

/* For the parameters that the set has now. fast: in the order that the exchange likes best, so that bits
 * depend on the number of ranks. */
attn_status at_reduce_create(attn_context *context, attn_exchange *exchange, attn_parameters *set, int fast,
                             at_reduce **reduce);
void at_reduce_destroy(at_reduce *reduce); /* NULL is allowed */

int at_reduce_buckets(const at_reduce *reduce);
int at_reduce_bucket_of(const at_reduce *reduce, int64_t parameter); /* by its index in the set */

/* A step of `shards` shards begins. nodes: the sums of this rank's nodes (at_tree_nodes of its run), from
 * left to right; the first is of the parameters' own gradients; there may be none. They are read, and the
 * first written, until wait returns. */
attn_status at_reduce_begin(at_reduce *reduce, int64_t shards, at_gradients *const *nodes);
/* From any thread, once for each bucket: its gradients are complete in all nodes of this rank. */
void at_reduce_ready(at_reduce *reduce, int bucket);
/* Returns when the parameters' own gradients are the sums over all ranks. The exchange is free again. */
attn_status at_reduce_wait(at_reduce *reduce);

#endif
