/* lexicon.c: distinct units, found by their text, with everything that depends on them alone. */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "data/symbols/unicode.h"
#include "inputs/text/text.h"

enum { BLOCK_BYTES = 1 << 16 };

typedef struct at_text_block {
    struct at_text_block *next;
    size_t used, bytes;
    char text[];
} at_text_block;

attn_status at_lexicon_create(attn_context *context, at_lexicon **lexicon) {
    at_lexicon *made = at_allocate(context, 1, sizeof *made, "a lexicon");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->references = 1;
    *lexicon = made;
    return ATTN_OK;
}

void at_lexicon_release(at_lexicon *lexicon) {
    if (!lexicon || --lexicon->references > 0) return;
    attn_context *context = lexicon->context;
    for (at_text_block *block = lexicon->blocks, *next; block; block = next) {
        next = block->next;
        at_release(context, block);
    }
    at_release(context, lexicon->entries);
    at_release(context, lexicon->slots);
    at_release(context, lexicon->features.ids);
    at_release(context, lexicon->features.scratch);
    at_strings_free(context, &lexicon->texts);
    at_release(context, lexicon);
}

/* A copy that does not move when others are added. */
static attn_status keep_text(at_lexicon *lexicon, const char *text, size_t length, const char **kept) {
    at_text_block *block = lexicon->blocks;
    if (!block || block->bytes - block->used < length + 1) {
        size_t bytes = length + 1 > BLOCK_BYTES ? length + 1 : BLOCK_BYTES;
        block = at_allocate(lexicon->context, (int64_t)(sizeof *block + bytes), 1, "the text of units");
        if (!block) return ATTN_OUT_OF_MEMORY;
        block->bytes = bytes;
        block->next = lexicon->blocks;
        lexicon->blocks = block;
    }
    char *copy = block->text + block->used;
    if (length) memcpy(copy, text, length);
    copy[length] = 0;
    block->used += length + 1;
    *kept = copy;
    return ATTN_OK;
}

static int64_t slot_of(const at_lexicon *lexicon, const char *text, size_t length) {
    int64_t mask = lexicon->slot_count - 1;
    int64_t slot = (int64_t)(at_hash(text, length, 0) & (uint64_t)mask);
    for (;; slot = (slot + 1) & mask) {
        int64_t number = (int64_t)lexicon->slots[slot] - 1;
        if (number < 0) return slot;
        const at_entry *entry = &lexicon->entries[number];
        if ((size_t)entry->length == length && memcmp(entry->text, text, length) == 0) return slot;
    }
}

/* Room for one more entry with at most every second slot taken. */
static attn_status make_room(at_lexicon *lexicon) {
    attn_context *context = lexicon->context;
    attn_status status = at_grow(context, &lexicon->entries, &lexicon->room, lexicon->count + 1,
                                 sizeof *lexicon->entries, "a lexicon");
    if (status != ATTN_OK || 2 * (lexicon->count + 1) <= lexicon->slot_count) return status;
    if (lexicon->count >= INT32_MAX / 4)
        return at_fail(context, ATTN_OVERFLOW, "a text of more than %" PRId64 " different units",
                       lexicon->count);
    int64_t more = lexicon->slot_count ? 2 * lexicon->slot_count : 256;
    while (2 * (lexicon->count + 1) > more) more *= 2; /* what it was filled with is not yet in a table */
    int32_t *slots = at_allocate(context, more, sizeof *slots, "a lexicon");
    if (!slots) return ATTN_OUT_OF_MEMORY;
    at_release(context, lexicon->slots);
    lexicon->slots = slots;
    lexicon->slot_count = more;
    for (int64_t i = 0; i < lexicon->count; i++)
        slots[slot_of(lexicon, lexicon->entries[i].text, (size_t)lexicon->entries[i].length)] =
            (int32_t)(i + 1);
    return ATTN_OK;
}

/* A unit is looked up as it is, then in lower case. */
static int32_t find_vector(const at_vocabulary *vectors, const char *unit, size_t length) {
    char lower[1024];
    int64_t found = at_vocabulary_find(vectors, unit, length);
    if (found < 0 && 4 * length + 1 <= sizeof lower)
        found = at_vocabulary_find(vectors, lower, at_unicode_lower(unit, length, lower));
    return found < 0 ? 0 : (int32_t)found;
}

/* What an entry has besides its text; features go to the end of the list. */
static attn_status complete_entry(attn_context *context, const at_text_input *input, at_entry *entry,
                                  at_feature_list *features) {
    int64_t symbol, before = features->count;
    size_t length = (size_t)entry->length;
    attn_status status = at_symbols_find(&input->symbols, context, entry->text, length, &features->scratch,
                                         &features->scratch_room, &symbol);
    if (status != ATTN_OK) return status;
    entry->symbol = (int32_t)symbol;
    entry->features = before;
    if (input->pretrained.columns) entry->vector = find_vector(&input->pretrained.words, entry->text, length);
    status = at_entry_features(context, input, entry, features);
    if (status != ATTN_OK) features->count = before;
    return status;
}

static attn_status refuse_unit(attn_context *context, size_t length) {
    return at_fail(context, ATTN_OVERFLOW, "a unit of %zu bytes", length);
}

enum { LONGEST_UNIT = INT32_MAX / 8 };

attn_status at_lexicon_add(at_lexicon *lexicon, const at_text_input *input, const char *unit, size_t length,
                           int32_t *number) {
    if (length > LONGEST_UNIT) return refuse_unit(lexicon->context, length);
    attn_status status = make_room(lexicon);
    if (status != ATTN_OK) return status;
    int64_t slot = slot_of(lexicon, unit, length);
    if (lexicon->slots[slot]) {
        *number = lexicon->slots[slot] - 1;
        return ATTN_OK;
    }
    at_entry entry = {.length = (int32_t)length};
    status = keep_text(lexicon, unit, length, &entry.text);
    if (status == ATTN_OK) status = complete_entry(lexicon->context, input, &entry, &lexicon->features);
    if (status != ATTN_OK) return status;
    lexicon->entries[lexicon->count] = entry;
    *number = (int32_t)lexicon->count++;
    lexicon->slots[slot] = *number + 1;
    return ATTN_OK;
}

/* ---- many at once ---- */

enum { RANGE = 1 << 10, RANGES_A_THREAD = 16 };

typedef struct filling {
    at_lexicon *lexicon;
    const at_text_input *input;
    int64_t first;          /* entry of the round */
    at_feature_list *lists; /* [ranges of a round] */
} filling;

static attn_status fill_range(void *user, attn_context *part, int worker, int64_t first, int64_t end) {
    filling *work = user;
    const at_strings *texts = &work->lexicon->texts;
    at_feature_list *list = &work->lists[first / RANGE];
    attn_status status = ATTN_OK;
    (void)worker;
    list->count = 0;
    for (int64_t i = work->first + first; i < work->first + end && status == ATTN_OK; i++) {
        at_entry *entry = &work->lexicon->entries[i];
        size_t length = at_string_length(texts, i);
        if (length > LONGEST_UNIT) return refuse_unit(part, length);
        *entry = (at_entry){.text = at_string(texts, i), .length = (int32_t)length};
        status = complete_entry(part, work->input, entry, list);
    }
    return status;
}

/* The features of a round, one range after another. */
static attn_status gather_features(filling *work, int64_t count) {
    at_lexicon *lexicon = work->lexicon;
    at_feature_list *all = &lexicon->features;
    attn_status status = ATTN_OK;
    for (int64_t first = 0; first < count && status == ATTN_OK; first += RANGE) {
        const at_feature_list *list = &work->lists[first / RANGE];
        int64_t end = first + RANGE < count ? first + RANGE : count;
        status = at_grow(lexicon->context, &all->ids, &all->room, all->count + list->count, sizeof *all->ids,
                         "features");
        if (status != ATTN_OK) break;
        if (list->count) memcpy(all->ids + all->count, list->ids, (size_t)list->count * sizeof *all->ids);
        for (int64_t i = work->first + first; i < work->first + end; i++)
            lexicon->entries[i].features += all->count;
        all->count += list->count;
    }
    return status;
}

attn_status at_lexicon_fill(at_lexicon *lexicon, const at_text_input *input, at_strings *units) {
    attn_context *context = lexicon->context;
    int64_t ranges = (int64_t)context->threads * RANGES_A_THREAD, round = ranges * RANGE;
    filling work = {.lexicon = lexicon, .input = input};
    lexicon->texts = *units;
    *units = (at_strings){0};
    int64_t count = lexicon->texts.count;
    if (count >= INT32_MAX / 4)
        return at_fail(context, ATTN_OVERFLOW, "a text of more than %" PRId64 " different units", count);
    attn_status status =
        at_grow(context, &lexicon->entries, &lexicon->room, count, sizeof *lexicon->entries, "a lexicon");
    if (status != ATTN_OK) return status;
    work.lists = at_allocate(context, ranges, sizeof *work.lists, "features");
    if (!work.lists) return ATTN_OUT_OF_MEMORY;
    for (; work.first < count && status == ATTN_OK; work.first += round) {
        int64_t some = count - work.first < round ? count - work.first : round;
        status = at_for_ranges(context, some, RANGE, fill_range, &work);
        if (status == ATTN_OK) status = gather_features(&work, some);
    }
    lexicon->count = count;
    for (int64_t i = 0; i < ranges; i++) {
        at_release(context, work.lists[i].ids);
        at_release(context, work.lists[i].scratch);
    }
    at_release(context, work.lists);
    return status;
}
