/* vocabulary.c: strings and their numbers: a list, and a table of slots to find them in. */
#include "data/symbols/vocabulary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"

/* FNV-1a, byte by byte and so the same on every machine, with a finalizer that spreads it over all bits. */
uint64_t at_hash(const char *text, size_t length, uint64_t seed) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ at_splitmix64(seed);
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return at_splitmix64(hash ^ length);
}

/* Where strings are in the table is seen nowhere outside, so that this one may depend on the machine: eight
 * bytes at a time. */
uint32_t at_vocabulary_hash(const char *text, size_t length) {
    const uint64_t factor = UINT64_C(0x9fb21c651e98df25);
    uint64_t hash = length, word = 0;
    for (; length > 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    if (length >= 4) {
        uint32_t first, last; /* which overlap where there are fewer than 8 */
        memcpy(&first, text, 4);
        memcpy(&last, text + length - 4, 4);
        word = ((uint64_t)first << 32) | last;
    } else {
        word = 0;
        for (size_t i = 0; i < length; i++) word = word << 8 | (unsigned char)text[i];
    }
    hash = (hash ^ word) * factor;
    hash = (hash ^ (hash >> 29)) * factor;
    return (uint32_t)(hash >> 32);
}

/* Words are short: a call would cost more than the comparison. */
static int same_bytes(const char *a, const char *b, size_t length) {
    uint64_t x, y;
    if (length < 8) {
        for (size_t i = 0; i < length; i++)
            if (a[i] != b[i]) return 0;
        return 1;
    }
    for (size_t i = 0; i + 8 < length; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y) return 0;
    }
    memcpy(&x, a + length - 8, 8);
    memcpy(&y, b + length - 8, 8);
    return x == y;
}

static int64_t slot_of(const at_vocabulary *vocabulary, const char *text, size_t length, uint32_t hash) {
    int64_t mask = vocabulary->slot_count - 1;
    for (int64_t slot = (int64_t)hash & mask;; slot = (slot + 1) & mask) {
        at_vocabulary_slot found = vocabulary->slots[slot];
        if (!found.number) return slot;
        if (found.hash == hash && at_string_length(&vocabulary->strings, found.number - 1) == length &&
            same_bytes(at_string(&vocabulary->strings, found.number - 1), text, length)) {
            return slot;
        }
    }
}

int64_t at_vocabulary_find(const at_vocabulary *vocabulary, const char *text, size_t length) {
    if (!vocabulary->slot_count) return -1;
    int64_t slot = slot_of(vocabulary, text, length, at_vocabulary_hash(text, length));
    return (int64_t)vocabulary->slots[slot].number - 1;
}

/* Room for one more string with at most every second slot taken. */
static attn_status make_room(attn_context *context, at_vocabulary *vocabulary) {
    int64_t count = vocabulary->strings.count, old_count = vocabulary->slot_count;
    if (2 * (count + 1) <= old_count) return ATTN_OK;
    if (count >= INT32_MAX / 2) {
        return at_fail(context, ATTN_OVERFLOW, "a vocabulary of more than %" PRId64 " strings", count);
    }
    int64_t more = old_count ? 2 * old_count : 64, mask = more - 1;
    at_vocabulary_slot *old = vocabulary->slots;
    at_vocabulary_slot *slots = at_allocate(context, more, sizeof *slots, "the slots of a vocabulary");
    if (!slots) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < old_count; i++) {
        if (!old[i].number) continue;
        int64_t slot = (int64_t)old[i].hash & mask;
        while (slots[slot].number) slot = (slot + 1) & mask;
        slots[slot] = old[i];
    }
    at_release(context, old);
    vocabulary->slots = slots;
    vocabulary->slot_count = more;
    return ATTN_OK;
}

attn_status at_vocabulary_add(attn_context *context, at_vocabulary *vocabulary, const char *text,
                              size_t length, int64_t times, int64_t *number) {
    attn_status status = make_room(context, vocabulary);
    if (status != ATTN_OK) return status;
    uint32_t hash = at_vocabulary_hash(text, length);
    int64_t slot = slot_of(vocabulary, text, length, hash);
    int64_t found = (int64_t)vocabulary->slots[slot].number - 1;
    if (found < 0) {
        found = vocabulary->strings.count;
        status = at_grow(context, &vocabulary->counts, &vocabulary->count_room, found + 1,
                         sizeof *vocabulary->counts, "the counts of a vocabulary");
        if (status == ATTN_OK) status = at_strings_add(context, &vocabulary->strings, text, length);
        if (status != ATTN_OK) return status;
        vocabulary->slots[slot] = (at_vocabulary_slot){hash, (int32_t)(found + 1)};
        vocabulary->counts[found] = 0;
    }
    vocabulary->counts[found] += times;
    if (number) *number = found;
    return ATTN_OK;
}

typedef struct entry {
    const char *text;
    size_t length;
    int64_t count;
} entry;

/* A total order, so that the result does not depend on how qsort works. */
static int compare_entries(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);
    if (order) return order;
    return (a->length > b->length) - (a->length < b->length);
}

attn_status at_vocabulary_sort(attn_context *context, const at_vocabulary *vocabulary, int64_t min_count,
                               int64_t limit, at_vocabulary *sorted) {
    entry *entries = at_allocate(context, vocabulary->strings.count, sizeof *entries, "a sorted vocabulary");
    if (!entries) return ATTN_OUT_OF_MEMORY;
    int64_t used = 0;
    for (int64_t i = 0; i < vocabulary->strings.count; i++) {
        size_t length = at_string_length(&vocabulary->strings, i);
        if (!length || vocabulary->counts[i] < min_count) continue;
        entries[used++] = (entry){at_string(&vocabulary->strings, i), length, vocabulary->counts[i]};
    }
    if (used) qsort(entries, (size_t)used, sizeof *entries, compare_entries);
    if (limit > 0 && used > limit) used = limit;

    attn_status status = at_vocabulary_add(context, sorted, "", 0, 0, NULL);
    for (int64_t i = 0; i < used && status == ATTN_OK; i++) {
        status =
            at_vocabulary_add(context, sorted, entries[i].text, entries[i].length, entries[i].count, NULL);
    }
    at_release(context, entries);
    if (status != ATTN_OK) at_vocabulary_free(context, sorted);
    return status;
}

void at_vocabulary_free(attn_context *context, at_vocabulary *vocabulary) {
    at_strings_free(context, &vocabulary->strings);
    at_release(context, vocabulary->counts);
    at_release(context, vocabulary->slots);
    memset(vocabulary, 0, sizeof *vocabulary);
}
