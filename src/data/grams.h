/* grams.h: n-grams of units as hashes, and their owners.
 *
 * The kind of input defines units: words, characters. An n-gram is one number, the same for the same units in
 * the same order. An index is filled with pairs (n-gram, owner), closed once, and then only read, by any
 * number of threads.
 */
#ifndef AT_DATA_GRAMS_H
#define AT_DATA_GRAMS_H

#include <stdint.h>

#include <attn/context.h>

#include "base/random.h"

/* The units of an example in their order, as hashes. */
typedef struct at_unit_hashes {
    uint64_t *list;
    int64_t count, room;
} at_unit_hashes;

attn_status at_unit_hashes_add(attn_context *context, at_unit_hashes *units, uint64_t hash);

/* Of no units: 0. */
static inline uint64_t at_gram(const uint64_t *units, int64_t count) {
    uint64_t gram = 0;
    for (int64_t i = 0; i < count; i++) gram = at_splitmix64(gram ^ units[i]);
    return gram;
}

/* Those of one n-gram are contiguous, by the numbers of their owners; the first of them says how many. */
typedef struct at_posting {
    uint64_t gram;
    int32_t owner;
    int32_t owners; /* of the first one: how many follow, itself included; negative: there are more owners */
} at_posting;

typedef struct at_gram_index {
    at_posting *postings;
    int64_t count, room;
    uint32_t *slots; /* open addressing: place of a first posting + 1, 0 is free */
    uint64_t slot_mask;
    uint64_t
        *bits; /* what has no bit here is not in the table: most n-grams are not, and the bits fit a cache */
    uint64_t bit_mask;
} at_gram_index;

/* An index that is all 0 is empty and open. */
attn_status at_gram_index_add(attn_context *context, at_gram_index *index, uint64_t gram, int32_t owner);
/* Each owner of an n-gram is there once, and no more than the `most` first ones by number. unlisted:
 * NULL, or [owners], whose counts rise by the n-grams that do not list them. */
attn_status at_gram_index_close(attn_context *context, at_gram_index *index, int32_t most, int32_t *unlisted);
/* The first posting of an n-gram; NULL: nobody has it. */
const at_posting *at_gram_index_find(const at_gram_index *index, uint64_t gram);
void at_gram_index_free(attn_context *context, at_gram_index *index);

#endif
