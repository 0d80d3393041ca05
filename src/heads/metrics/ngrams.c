/* ngrams.c: a tree of symbols in a hash table, and the n-grams that are counted in it.
 *
 * One table serves a tree after another: a slot is free if its node is of an earlier tree, so a new tree
 * costs nothing to start, and it uses only as many slots as it needs, which then stay in the cache.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "heads/metrics/texts.h"

attn_status at_tree_start(attn_context *context, at_tree *tree, int64_t roots, int64_t most) {
    if (most > INT32_MAX) {
        return at_fail(context, ATTN_OVERFLOW,
                       "a text with up to %" PRId64 " n-grams is too long for a metric", most);
    }
    int64_t wanted = 64;
    while (wanted < 2 * most) wanted *= 2; /* at most every second slot is taken */
    if (wanted > tree->slot_room) {
        at_tree_slot *slots = at_allocate(context, wanted, sizeof *slots, "the slots of n-grams");
        if (!slots) return ATTN_OUT_OF_MEMORY;
        at_release(context, tree->slots);
        tree->slots = slots;
        tree->slot_room = wanted;
        tree->first = tree->nodes = 0;
    }
    attn_status status = at_grow(context, &tree->counts, &tree->count_room, most, sizeof *tree->counts,
                                 "the counts of n-grams");
    if (status != ATTN_OK) return status;
    tree->mask = wanted - 1;
    tree->first += tree->nodes;
    tree->nodes = 0;
    /* Node 0 of the first tree would look like an empty slot; but it is a root, and roots are in none. */
    while (tree->nodes < roots) tree->counts[tree->nodes++] = 0;
    return ATTN_OK;
}

void at_tree_free(attn_context *context, at_tree *tree) {
    at_release(context, tree->slots);
    at_release(context, tree->counts);
    memset(tree, 0, sizeof *tree);
}

static uint64_t key_of(int32_t node, int32_t symbol) { return (uint64_t)node << 32 | (uint32_t)symbol; }

/* Where a key is, or the free slot where it would be. */
static int64_t slot_of(const at_tree *tree, uint64_t key) {
    int64_t slot = (int64_t)(at_splitmix64(key) & (uint64_t)tree->mask);
    while (tree->slots[slot].child > tree->first && tree->slots[slot].key != key) {
        slot = (slot + 1) & tree->mask;
    }
    return slot;
}

int32_t at_tree_add(at_tree *tree, int32_t node, int32_t symbol) {
    uint64_t key = key_of(node, symbol);
    at_tree_slot *slot = &tree->slots[slot_of(tree, key)];
    if (slot->child <= tree->first) {
        *slot = (at_tree_slot){.key = key, .child = tree->first + tree->nodes};
        tree->counts[tree->nodes++] = 0;
    }
    return (int32_t)(slot->child - tree->first);
}

int32_t at_tree_find(const at_tree *tree, int32_t node, int32_t symbol) {
    if (node < 0) return -1;
    int64_t child = tree->slots[slot_of(tree, key_of(node, symbol))].child;
    return child > tree->first ? (int32_t)(child - tree->first) : -1;
}

void at_tree_count(at_tree *tree, int32_t root, const int32_t *symbols, int64_t count, int order) {
    for (int64_t i = 0; i < count; i++) {
        int32_t node = root;
        for (int64_t j = i; j < count && j < i + order; j++) {
            node = at_tree_add(tree, node, symbols[j]);
            tree->counts[node]++;
        }
    }
}

void at_tree_match(at_tree *tree, int32_t root, const int32_t *symbols, int64_t count, int order,
                   int64_t *matches) {
    for (int64_t i = 0; i < count; i++) {
        int32_t node = root;
        for (int n = 0; n < order && i + n < count; n++) {
            node = at_tree_find(tree, node, symbols[i + n]);
            if (node < 0) break; /* nor is anything longer there */
            if (tree->counts[node] > 0) {
                tree->counts[node]--;
                matches[n]++;
            }
        }
    }
}
