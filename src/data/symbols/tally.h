/* tally.h: counts occurrences of strings, in the order of their first occurrence.
 *
 * Words are short: up to 15 bytes are stored in two integers in the entry itself, so that a lookup costs two
 * cache lines, that of its slot and that of its entry.
 */
#ifndef AT_DATA_SYMBOLS_TALLY_H
#define AT_DATA_SYMBOLS_TALLY_H

#include "data/strings.h"

enum { AT_SHORT_STRING = 15 };

/* A string as it is looked up: its bytes and length in two numbers, or, if it is long, its text. */
typedef struct at_key {
    uint64_t low, high;
    uint32_t hash;
    const char *text; /* of a long one */
    size_t length;
} at_key;

typedef struct at_tally_entry {
    uint64_t low, high; /* of a long one: its number among `longs`, and UINT64_MAX */
    int64_t count;
    uint32_t hash;
} at_tally_entry;

typedef struct at_tally_slot {
    uint32_t hash;
    int32_t number; /* + 1; 0: free */
} at_tally_slot;

typedef struct at_tally {
    at_tally_entry *entries;
    int64_t count, room;
    at_tally_slot *slots; /* open addressing; a power of two of them */
    int64_t slot_count;
    at_strings longs;
} at_tally;

at_key at_key_of(const char *text, size_t length);
/* The key of an entry, good until the next addition. */
at_key at_tally_key(const at_tally *tally, int64_t number);
/* Its number, which is that of the string's first occurrence; its count rises by `times`. */
attn_status at_tally_add(attn_context *context, at_tally *tally, const at_key *key, int64_t times,
                         int64_t *number);
/* Has the slot of a key, then, somewhat later, its entry brought near. */
void at_tally_expect_slot(const at_tally *tally, uint32_t hash);
void at_tally_expect_entry(const at_tally *tally, uint32_t hash);
/* Appends all strings, in their order. */
attn_status at_tally_strings(attn_context *context, const at_tally *tally, at_strings *strings);
void at_tally_clear(at_tally *tally); /* empties it, keeps the memory */
void at_tally_free(attn_context *context, at_tally *tally);

#endif
