/* tally.c: how often each of many strings occurs. */
#include "data/symbols/tally.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/vocabulary.h"

/* Bytes 0 .. 14 of a short string, and its length as byte 15. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static uint64_t load(const char *text, size_t bytes) {
    uint64_t word = 0;
    memcpy(&word, text, bytes);
    return word;
}

/* Two loads that overlap, and no loop: a store byte by byte would have to be waited for. */
static void pack(const char *text, size_t length, uint64_t *low, uint64_t *high) {
    *high = (uint64_t)length << 56;
    if (length > 8) {
        *low = load(text, 8);
        *high |= load(text + length - 8, 8) >> (8 * (16 - length));
    } else if (length == 8) {
        *low = load(text, 8);
    } else if (length >= 4) {
        *low = load(text, 4) | load(text + length - 4, 4) << (8 * (length - 4));
    } else {
        *low = 0;
        for (size_t i = 0; i < length; i++) *low |= (uint64_t)(unsigned char)text[i] << (8 * i);
    }
}
#else
static void pack(const char *text, size_t length, uint64_t *low, uint64_t *high) {
    unsigned char bytes[16] = {0};
    memcpy(bytes, text, length);
    bytes[AT_SHORT_STRING] = (unsigned char)length;
    memcpy(low, bytes, 8);
    memcpy(high, bytes + 8, 8);
}
#endif

static uint32_t mix(uint64_t low, uint64_t high) {
    uint64_t hash = (low ^ (high >> 32) ^ (high << 32)) * UINT64_C(0x9fb21c651e98df25);
    hash = (hash ^ high ^ (hash >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32);
}

at_key at_key_of(const char *text, size_t length) {
    at_key key = {.text = text, .length = length, .high = UINT64_MAX};
    if (length > AT_SHORT_STRING) {
        key.hash = at_vocabulary_hash(text, length);
    } else {
        pack(text, length, &key.low, &key.high);
        key.hash = mix(key.low, key.high);
    }
    return key;
}

at_key at_tally_key(const at_tally *tally, int64_t number) {
    const at_tally_entry *entry = &tally->entries[number];
    at_key key = {.low = entry->low, .high = entry->high, .hash = entry->hash};
    if (entry->high == UINT64_MAX) {
        key.text = at_string(&tally->longs, (int64_t)entry->low);
        key.length = at_string_length(&tally->longs, (int64_t)entry->low);
    }
    return key;
}

static int is_entry(const at_tally *tally, int64_t number, const at_key *key) {
    const at_tally_entry *entry = &tally->entries[number];
    if (key->high != UINT64_MAX) return entry->low == key->low && entry->high == key->high;
    if (entry->high != UINT64_MAX) return 0;
    int64_t place = (int64_t)entry->low;
    return at_string_length(&tally->longs, place) == key->length &&
           memcmp(at_string(&tally->longs, place), key->text, key->length) == 0;
}

/* Room for one more with at most every second slot taken. */
static attn_status make_room(attn_context *context, at_tally *tally) {
    if (2 * (tally->count + 1) <= tally->slot_count) return ATTN_OK;
    if (tally->count >= INT32_MAX / 2)
        return at_fail(context, ATTN_OVERFLOW, "a vocabulary of more than %" PRId64 " strings", tally->count);
    int64_t more = tally->slot_count ? 2 * tally->slot_count : 1024, mask = more - 1;
    at_tally_slot *slots = at_allocate(context, more, sizeof *slots, "the slots of a vocabulary");
    if (!slots) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < tally->count; i++) {
        int64_t slot = (int64_t)tally->entries[i].hash & mask;
        while (slots[slot].number) slot = (slot + 1) & mask;
        slots[slot] = (at_tally_slot){tally->entries[i].hash, (int32_t)(i + 1)};
    }
    at_release(context, tally->slots);
    tally->slots = slots;
    tally->slot_count = more;
    return ATTN_OK;
}

static attn_status add_entry(attn_context *context, at_tally *tally, const at_key *key) {
    at_tally_entry entry = {.low = key->low, .high = key->high, .hash = key->hash};
    attn_status status = at_grow(context, &tally->entries, &tally->room, tally->count + 1,
                                 sizeof *tally->entries, "the counts of a vocabulary");
    if (status == ATTN_OK && key->high == UINT64_MAX) {
        entry.low = (uint64_t)tally->longs.count;
        status = at_strings_add(context, &tally->longs, key->text, key->length);
    }
    if (status == ATTN_OK) tally->entries[tally->count++] = entry;
    return status;
}

attn_status at_tally_add(attn_context *context, at_tally *tally, const at_key *key, int64_t times,
                         int64_t *number) {
    attn_status status = make_room(context, tally);
    if (status != ATTN_OK) return status;
    int64_t mask = tally->slot_count - 1, slot = (int64_t)key->hash & mask;
    for (;; slot = (slot + 1) & mask) {
        at_tally_slot found = tally->slots[slot];
        if (!found.number) break;
        if (found.hash != key->hash || !is_entry(tally, found.number - 1, key)) continue;
        *number = found.number - 1;
        tally->entries[*number].count += times;
        return ATTN_OK;
    }
    status = add_entry(context, tally, key);
    if (status != ATTN_OK) return status;
    *number = tally->count - 1;
    tally->slots[slot] = (at_tally_slot){key->hash, (int32_t)tally->count};
    tally->entries[*number].count = times;
    return ATTN_OK;
}

void at_tally_expect_slot(const at_tally *tally, uint32_t hash) {
#if defined(__GNUC__)
    if (tally->slot_count) __builtin_prefetch(&tally->slots[(int64_t)hash & (tally->slot_count - 1)]);
#else
    (void)tally;
    (void)hash;
#endif
}

void at_tally_expect_entry(const at_tally *tally, uint32_t hash) {
#if defined(__GNUC__)
    if (!tally->slot_count) return;
    int32_t number = tally->slots[(int64_t)hash & (tally->slot_count - 1)].number;
    if (number) __builtin_prefetch(&tally->entries[number - 1]);
#else
    (void)tally;
    (void)hash;
#endif
}

attn_status at_tally_strings(attn_context *context, const at_tally *tally, at_strings *strings) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < tally->count && status == ATTN_OK; i++) {
        at_key key = at_tally_key(tally, i);
        char bytes[16];
        if (!key.text) {
            memcpy(bytes, &key.low, 8);
            memcpy(bytes + 8, &key.high, 8);
            key.text = bytes;
            key.length = (unsigned char)bytes[AT_SHORT_STRING];
        }
        status = at_strings_add(context, strings, key.text, key.length);
    }
    return status;
}

void at_tally_clear(at_tally *tally) {
    if (tally->slot_count) memset(tally->slots, 0, (size_t)tally->slot_count * sizeof *tally->slots);
    tally->count = 0;
    at_strings_clear(&tally->longs);
}

void at_tally_free(attn_context *context, at_tally *tally) {
    at_release(context, tally->entries);
    at_release(context, tally->slots);
    at_strings_free(context, &tally->longs);
    memset(tally, 0, sizeof *tally);
}
