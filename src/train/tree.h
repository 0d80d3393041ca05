/* tree.h: the order in which the gradients of shards are added.
 *
 * The shards 0 .. count - 1 of a step are the leaves of a binary tree. Node k of level j covers the shards
 * k 2^j .. (k + 1) 2^j - 1, as far as there are so many; its sum is that of its left half plus that of its
 * right half. So a sum depends on the number of shards alone, whoever computes which part of it.
 *
 * Each rank has a run of shards. The largest nodes that lie within the run are what it adds up by itself.
 */
#ifndef AT_TRAIN_TREE_H
#define AT_TRAIN_TREE_H

#include <stdint.h>

enum { AT_TREE_NODES = 128 }; /* of a run of shards, at most */

typedef struct at_tree_node {
    int64_t first, end; /* shards */
    int level;          /* it is node first >> level of this level */
} at_tree_node;

/* The shards of a rank: first .. end - 1, about as many for each. */
static inline void at_tree_run(int64_t shards, int rank, int ranks, int64_t *first, int64_t *end) {
    *first = shards * rank / ranks;
    *end = shards * (rank + 1) / ranks;
}

/* The largest nodes within first .. end - 1, from left to right; returns how many. */
int at_tree_nodes(int64_t shards, int64_t first, int64_t end, at_tree_node nodes[AT_TREE_NODES]);

#endif
