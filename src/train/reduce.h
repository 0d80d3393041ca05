/* reduce.h: the gradients of a step, summed over all ranks in the order of the tree (train/tree.h).
 *
 * Parameters are grouped into buckets, from the last one to the first, which is the order in which a backward
 * pass completes them. A bucket whose gradients are complete in this rank is exchanged while the backward
 * pass continues, by a separate thread. Each rank sums a slice of every bucket, in the order of the tree, and
 * sends out the sum. Of embedding tables only the rows are exchanged that some rank has touched.
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
/* Also in the middle of a step; before the set and the exchange. NULL is allowed. */
void at_reduce_destroy(at_reduce *reduce);

int at_reduce_buckets(const at_reduce *reduce);
int at_reduce_bucket_of(const at_reduce *reduce, int64_t parameter); /* by its index in the set */

/* A step begins; called while no worker runs, as memory is made. Rank r has the shards bounds[r] .. bounds[r
 * + 1] - 1, of bounds[ranks] in all. nodes: the sums of this rank's nodes (at_tree_nodes), from left to
 * right; the first is of the parameters' own gradients; there may be none. They are read, and the first
 * written, until wait returns; after it the others count no more. before: NULL, or other parameters whose
 * step has begun and whose gradients travel first; it is waited for before this one. With one rank it does
 * nothing, nor do ready and wait: there is one node, which is the sum. */
attn_status at_reduce_begin(at_reduce *reduce, const int64_t *bounds, at_gradients *const *nodes,
                            at_reduce *before);
/* From any thread, once for each bucket: its gradients are complete in all nodes of this rank. */
void at_reduce_ready(at_reduce *reduce, int bucket);
/* All buckets are ready now, if they were not. Returns when the parameters' own gradients are the sums over
 * all ranks; how long that took from here is added to the exchange's seconds. The exchange is free again.
 * After a failure every later step fails, too. */
attn_status at_reduce_wait(at_reduce *reduce);

#endif
