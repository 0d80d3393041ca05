/* grams.c: an index of n-grams: pairs are sorted, so that what it holds depends on the pairs alone, and a
 * table of slots finds the first of an n-gram. */
#include "data/grams.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

enum { BITS_A_GRAM = 16, SLOTS_A_GRAM = 2 };

attn_status at_unit_hashes_add(attn_context *context, at_unit_hashes *units, uint64_t hash) {
    if (units->count == units->room) {
        attn_status status = at_grow(context, &units->list, &units->room, units->count + 1,
                                     sizeof *units->list, "the units of an example");
        if (status != ATTN_OK) return status;
    }
    units->list[units->count++] = hash;
    return ATTN_OK;
}

attn_status at_gram_index_add(attn_context *context, at_gram_index *index, uint64_t gram, int32_t owner) {
    if (index->count == index->room) {
        attn_status status = at_grow(context, &index->postings, &index->room, index->count + 1,
                                     sizeof *index->postings, "an index of n-grams");
        if (status != ATTN_OK) return status;
    }
    index->postings[index->count++] = (at_posting){.gram = gram, .owner = owner};
    return ATTN_OK;
}

static int by_gram(const void *a, const void *b) {
    const at_posting *x = a, *y = b;
    if (x->gram != y->gram) return x->gram < y->gram ? -1 : 1;
    return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Leaves each owner of an n-gram once, and the first `most` of them; how many n-grams there are. */
static int64_t compact(at_gram_index *index, int32_t most, int32_t *unlisted) {
    at_posting *all = index->postings;
    int64_t kept = 0, grams = 0;
    for (int64_t i = 0; i < index->count; grams++) {
        uint64_t gram = all[i].gram;
        int64_t first = kept;
        int32_t owners = 0, more = 0;
        for (int32_t last = -1; i < index->count && all[i].gram == gram; i++) {
            if (owners > 0 && all[i].owner == last) continue;
            last = all[i].owner;
            if (owners == most) {
                more = 1;
                if (unlisted) unlisted[last]++;
                continue;
            }
            all[kept++] = all[i];
            owners++;
        }
        all[first].owners = more ? -owners : owners;
    }
    index->count = kept;
    return grams;
}

static uint64_t power_of_two(int64_t least) {
    uint64_t power = 64;
    while (power < (uint64_t)least) power *= 2;
    return power;
}

attn_status at_gram_index_close(attn_context *context, at_gram_index *index, int32_t most,
                                int32_t *unlisted) {
    if (index->count) qsort(index->postings, (size_t)index->count, sizeof *index->postings, by_gram);
    int64_t grams = compact(index, most, unlisted);
    uint64_t slots = power_of_two(grams * SLOTS_A_GRAM), bits = power_of_two(grams * BITS_A_GRAM);
    if (index->count >= UINT32_MAX)
        return at_fail(context, ATTN_OVERFLOW, "an index of n-grams has too many of them");
    index->slots = at_allocate(context, (int64_t)slots, sizeof *index->slots, "an index of n-grams");
    index->bits = at_allocate(context, (int64_t)(bits / 64), sizeof *index->bits, "an index of n-grams");
    if (!index->slots || !index->bits) return ATTN_OUT_OF_MEMORY;
    index->slot_mask = slots - 1;
    index->bit_mask = bits - 1;
    for (int64_t i = 0; i < index->count; i += abs(index->postings[i].owners)) {
        uint64_t gram = index->postings[i].gram, bit = gram >> 24 & index->bit_mask,
                 slot = gram & index->slot_mask;
        while (index->slots[slot]) slot = (slot + 1) & index->slot_mask;
        index->slots[slot] = (uint32_t)i + 1;
        index->bits[bit / 64] |= (uint64_t)1 << bit % 64;
    }
    return ATTN_OK;
}

const at_posting *at_gram_index_find(const at_gram_index *index, uint64_t gram) {
    uint64_t bit = gram >> 24 & index->bit_mask;
    if (!(index->bits[bit / 64] >> bit % 64 & 1)) return NULL;
    for (uint64_t slot = gram & index->slot_mask; index->slots[slot]; slot = (slot + 1) & index->slot_mask) {
        const at_posting *found = &index->postings[index->slots[slot] - 1];
        if (found->gram == gram) return found;
    }
    return NULL;
}

void at_gram_index_free(attn_context *context, at_gram_index *index) {
    at_release(context, index->postings);
    at_release(context, index->slots);
    at_release(context, index->bits);
    memset(index, 0, sizeof *index);
}
