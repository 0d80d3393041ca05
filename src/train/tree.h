/* tree.h: the order in which the gradients of shards are added.
 *
 * The shards 0 .. count - 1 of a step are the leaves of a binary tree. Node k of level j covers the shards k
 * 2^j .. (k + 1) 2^j - 1, as far as they exist; its sum is that of its left half plus that of its right half.
 * So a sum depends only on the number of shards, whichever thread or rank computes which part.
 *
 * Each rank has consecutive shards, and sums the largest nodes that contain only its own.
 */
#ifndef AT_TRAIN_TREE_H
#define AT_TRAIN_TREE_H

#include <stdint.h>

enum { AT_TREE_NODES = 128 }; /* of a run of shards, at most */

typedef struct at_tree_node {
    int64_t first, end; /* shards */
    int level;          /* it is node first >> level of this level */
} at_tree_node;

/* The shards of rank r are bounds[r] .. bounds[r + 1] - 1. bounds: [ranks + 1]. shares[r]: how much work rank
 * r has already; that of its shards is added. cost[i]: the work of shard i. Each bound is put where the work
 * of all ranks before it comes nearest to their part of all; where as many shards for each rank are about as
 * good, it is put there, since sums of whole nodes have fewer numbers to send. */
void at_tree_divide(int64_t shards, const double *cost, int ranks, double *shares, int64_t *bounds);

/* The largest nodes within first .. end - 1, from left to right; returns how many. */
int at_tree_nodes(int64_t shards, int64_t first, int64_t end, at_tree_node nodes[AT_TREE_NODES]);

#endif
