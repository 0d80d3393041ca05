/* vocabulary.h: strings and their numbers. */
#ifndef AT_DATA_SYMBOLS_VOCABULARY_H
#define AT_DATA_SYMBOLS_VOCABULARY_H

#include "data/strings.h"

/* A place in the table: the number of a string + 1, 0 is free; and the hash of the string, so that others are
 * skipped, and moved to a larger table, without a look at their bytes. */
typedef struct at_vocabulary_slot {
    uint32_t hash;
    int32_t number;
} at_vocabulary_slot;

typedef struct at_vocabulary {
    at_strings strings;
    int64_t *counts, count_room; /* how often each was added */
    at_vocabulary_slot *slots;   /* open addressing; a power of two of them */
    int64_t slot_count;
} at_vocabulary;

/* The number of a string, -1 if it is not there. */
int64_t at_vocabulary_find(const at_vocabulary *vocabulary, const char *text, size_t length);
/* The number of a string, which is added if need be; its count rises by `times`. */
attn_status at_vocabulary_add(attn_context *context, at_vocabulary *vocabulary, const char *text,
                              size_t length, int64_t times, int64_t *number);
/* The hash that strings are looked up by: it depends on the machine. */
uint32_t at_vocabulary_hash(const char *text, size_t length);
/* *sorted (empty before) = "" as number 0, then the strings (other than "") with at least min_count, the
 * most frequent first, equal ones by bytes; at most `limit` of them (0: all). */
attn_status at_vocabulary_sort(attn_context *context, const at_vocabulary *vocabulary, int64_t min_count,
                               int64_t limit, at_vocabulary *sorted);
void at_vocabulary_free(attn_context *context, at_vocabulary *vocabulary);

/* A hash of bytes that is the same everywhere. */
uint64_t at_hash(const char *text, size_t length, uint64_t seed);

#endif
