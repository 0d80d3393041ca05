/* tree.c: the nodes of the tree of shards. */
#include "train/tree.h"

#include <math.h>

/* From `at` on, the largest node that begins there and does not go beyond `end`, except over shards that do
 * not exist. */
int at_tree_nodes(int64_t shards, int64_t first, int64_t end, at_tree_node nodes[AT_TREE_NODES]) {
    int count = 0;
    while (first < end) {
        int level = 0;
        while (first % ((int64_t)2 << level) == 0 && (first + ((int64_t)1 << level) < shards)) {
            int64_t reach = first + ((int64_t)2 << level);
            if ((reach < shards ? reach : shards) > end) break;
            level++;
        }
        int64_t reach = first + ((int64_t)1 << level);
        nodes[count++] = (at_tree_node){first, reach < shards ? reach : shards, level};
        first = nodes[count - 1].end;
    }
    return count;
}

void at_tree_divide(int64_t shards, const double *cost, int ranks, double *shares, int64_t *bounds) {
    const double about = 0.03; /* of a rank's work */
    double total = 0, before = 0, done = 0;
    for (int r = 0; r < ranks; r++) total += shares[r];
    for (int64_t i = 0; i < shards; i++) total += cost[i];
    int64_t at = 0;
    bounds[0] = 0;
    for (int r = 0; r < ranks; r++) {
        before += shares[r];
        double wanted = total * (r + 1) / ranks - before, even = done;
        int64_t end = at, whole = shards * (r + 1) / ranks;
        for (int64_t i = at; i < whole; i++) even += cost[i];
        for (double sum = done; end < shards && sum + 0.5 * cost[end] <= wanted;) sum += cost[end++];
        if (shards % ranks == 0 && whole >= at && fabs(even - wanted) <= about * total / ranks) end = whole;
        if (r + 1 == ranks) end = shards;
        for (; at < end; at++) {
            shares[r] += cost[at];
            done += cost[at];
        }
        bounds[r + 1] = at;
    }
}
