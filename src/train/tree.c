/* tree.c: the nodes of the tree of shards. */
#include "train/tree.h"

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
