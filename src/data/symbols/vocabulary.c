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

static int64_t slot_of(const at_vocabulary *vocabulary, const char *text, size_t length) {
    int64_t mask = vocabulary->slot_count - 1;
    int64_t slot = (int64_t)(at_hash(text, length, 0) & (uint64_t)mask);
    for (;; slot = (slot + 1) & mask) {
        int64_t number = (int64_t)vocabulary->slots[slot] - 1;
        if (number < 0) return slot;
        if (at_string_length(&vocabulary->strings, number) == length &&
            (!length || !memcmp(at_string(&vocabulary->strings, number), text, length))) {
            return slot;
        }
    }
}

int64_t at_vocabulary_find(const at_vocabulary *vocabulary, const char *text, size_t length) {
    if (!vocabulary->slot_count) return -1;
    return (int64_t)vocabulary->slots[slot_of(vocabulary, text, length)] - 1;
}

/* Room for one more string with at most every second slot taken. */
static attn_status make_room(attn_context *context, at_vocabulary *vocabulary) {
    int64_t count = vocabulary->strings.count;
    if (count >= INT32_MAX - 1) {
        return at_fail(context, ATTN_OVERFLOW, "a vocabulary of more than %" PRId64 " strings", count);
    }
    if (2 * (count + 1) <= vocabulary->slot_count) return ATTN_OK;
    int64_t old_slots = vocabulary->slot_count;
    int64_t more = old_slots ? 2 * old_slots : 64;
    int32_t *slots = at_allocate(context, more, sizeof *slots, "the slots of a vocabulary");
    if (!slots) return ATTN_OUT_OF_MEMORY;
    at_release(context, vocabulary->slots);
    vocabulary->slots = slots;
    vocabulary->slot_count = more;
    for (int64_t i = 0; i < count; i++) {
        const char *text = at_string(&vocabulary->strings, i);
        slots[slot_of(vocabulary, text, at_string_length(&vocabulary->strings, i))] = (int32_t)(i + 1);
    }
    return ATTN_OK;
}

attn_status at_vocabulary_add(attn_context *context, at_vocabulary *vocabulary, const char *text,
                              size_t length, int64_t times, int64_t *number) {
    attn_status status = make_room(context, vocabulary);
    if (status != ATTN_OK) return status;
    int64_t slot = slot_of(vocabulary, text, length);
    int64_t found = (int64_t)vocabulary->slots[slot] - 1;
    if (found < 0) {
        found = vocabulary->strings.count;
        status = at_grow(context, &vocabulary->counts, &vocabulary->count_room, found + 1,
                         sizeof *vocabulary->counts, "the counts of a vocabulary");
        if (status == ATTN_OK) status = at_strings_add(context, &vocabulary->strings, text, length);
        if (status != ATTN_OK) return status;
        vocabulary->slots[slot] = (int32_t)(found + 1);
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
