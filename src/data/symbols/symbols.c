/* symbols.c: the vocabulary of units and the subword model, learned from text. */
#include "data/symbols/symbols.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/numbering.h"
#include "data/symbols/unicode.h"

attn_status at_lower_case(attn_context *context, const char **word, size_t *length, char **buffer,
                          int64_t *room) {
    attn_status status = at_grow(context, buffer, room, 4 * (int64_t)*length + 1, 1, "a word in lower case");
    if (status != ATTN_OK) return status;
    *length = at_unicode_lower(*word, *length, *buffer);
    *word = *buffer;
    return ATTN_OK;
}

attn_status at_symbols_find(const at_symbols *symbols, attn_context *context, const char *unit, size_t length,
                            char **buffer, int64_t *room, int64_t *number) {
    attn_status status = ATTN_OK;
    if (symbols->options.lowercase) status = at_lower_case(context, &unit, &length, buffer, room);
    if (status == ATTN_OK) *number = at_vocabulary_find(&symbols->vocabulary, unit, length);
    return status;
}

/* ---- learning ---- */

/* How often each of the units is there in lower case. */
static attn_status count_lower(attn_context *context, const at_vocabulary *units, at_vocabulary *counts) {
    char *lower = NULL;
    int64_t room = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < units->strings.count && status == ATTN_OK; i++) {
        const char *unit = at_string(&units->strings, i);
        size_t length = at_string_length(&units->strings, i);
        status = at_lower_case(context, &unit, &length, &lower, &room);
        if (status == ATTN_OK)
            status = at_vocabulary_add(context, counts, unit, length, units->counts[i], NULL);
    }
    at_release(context, lower);
    return status;
}

/* Merges of the words' characters, then the words as their parts. */
static attn_status learn_subwords(at_symbols *learned, const at_text_list *texts, at_numbered *units) {
    attn_context *context = learned->context;
    at_numbered words = {.count = 0};
    at_vocabulary counts = {.slot_count = 0};
    int lowercase = learned->options.lowercase;
    attn_status status = at_number_texts(context, learned, texts, 1, &words);
    if (status == ATTN_OK && lowercase) status = count_lower(context, &words.units, &counts);
    if (status == ATTN_OK)
        status = at_subwords_learn(context, lowercase ? &counts : &words.units, learned->options.subwords,
                                   &learned->subwords);
    if (status == ATTN_OK) status = at_number_subwords(context, learned, &words, texts->numbered, units);
    at_vocabulary_free(context, &counts);
    at_numbered_free(context, &words);
    return status;
}

/* Bytes are all there, seen or not. */
static attn_status add_all_bytes(attn_context *context, at_vocabulary *vocabulary) {
    attn_status status = ATTN_OK;
    for (int byte = 1; byte < 256 && status == ATTN_OK; byte++) {
        char text = (char)byte;
        status = at_vocabulary_add(context, vocabulary, &text, 1, 1, NULL);
    }
    return status;
}

attn_status at_symbols_learn(at_symbols *symbols, const at_text_list *texts, at_numbered *numbered) {
    attn_context *context = symbols->context;
    at_vocabulary counts = {.slot_count = 0}, vocabulary = {.slot_count = 0};
    at_symbols learned = {.context = context, .options = symbols->options};
    at_numbered units = {.count = 0};
    at_text_list counted = *texts;
    if (!numbered) counted.numbered = 0;
    int lowercase = symbols->options.lowercase;
    attn_status status = symbols->options.unit == AT_UNIT_SUBWORDS
                             ? learn_subwords(&learned, &counted, &units)
                             : at_number_texts(context, &learned, &counted, 0, &units);
    if (status == ATTN_OK && lowercase) status = count_lower(context, &units.units, &counts);
    if (status == ATTN_OK)
        status = at_vocabulary_sort(context, lowercase ? &counts : &units.units, symbols->options.min_count,
                                    symbols->options.vocabulary, &vocabulary);
    at_vocabulary_free(context, &counts);
    if (status == ATTN_OK && symbols->options.unit == AT_UNIT_BYTES && symbols->options.exact)
        status = add_all_bytes(context, &vocabulary);
    if (status != ATTN_OK) {
        at_numbered_free(context, &units);
        at_subwords_free(context, &learned.subwords);
        at_vocabulary_free(context, &vocabulary);
        return status;
    }
    at_symbols_free(symbols);
    symbols->vocabulary = vocabulary;
    symbols->subwords = learned.subwords;
    if (numbered)
        *numbered = units;
    else
        at_numbered_free(context, &units);
    return ATTN_OK;
}

static void forget_answers(at_symbols *symbols) {
    if (symbols->answer_symbols) at_numbered_free(symbols->context, symbols->answer_symbols);
    at_release(symbols->context, symbols->answer_symbols);
    symbols->answer_symbols = NULL;
    symbols->answers = NULL;
}

void at_symbols_free(at_symbols *symbols) {
    if (!symbols->context) return;
    at_vocabulary_free(symbols->context, &symbols->vocabulary);
    at_subwords_free(symbols->context, &symbols->subwords);
    forget_answers(symbols);
}

/* ---- answers ---- */

/* The numbers of all symbols that units are. */
static attn_status find_all(const at_symbols *symbols, const at_strings *units, int32_t *map) {
    char *lower = NULL;
    int64_t room = 0, number = 0;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < units->count && status == ATTN_OK; i++) {
        status = at_symbols_find(symbols, symbols->context, at_string(units, i), at_string_length(units, i),
                                 &lower, &room, &number);
        map[i] = (int32_t)number;
    }
    at_release(symbols->context, lower);
    return status;
}

attn_status at_symbols_keep(at_symbols *symbols, const at_strings *answers, at_numbered *numbered,
                            int64_t texts, int64_t first) {
    attn_context *context = symbols->context;
    int64_t begins = numbered->offsets[first];
    forget_answers(symbols);
    at_numbered *kept = at_allocate(context, 1, sizeof *kept, "the symbols of answers");
    int32_t *map = at_allocate(context, numbered->units.strings.count, sizeof *map, "the symbols of answers");
    attn_status status = kept && map ? find_all(symbols, &numbered->units.strings, map) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        status = at_grow(context, &kept->ids, &kept->room, numbered->count - begins, sizeof *kept->ids,
                         "the symbols of answers");
    if (status == ATTN_OK)
        status = at_grow(context, &kept->offsets, &kept->offset_room, texts - first + 1,
                         sizeof *kept->offsets, "the symbols of answers");
    if (status == ATTN_OK) {
        for (int64_t i = begins; i < numbered->count; i++) kept->ids[i - begins] = map[numbered->ids[i]];
        for (int64_t i = first; i <= texts; i++) kept->offsets[i - first] = numbered->offsets[i] - begins;
        kept->count = numbered->count - begins;
        numbered->count = begins;
        symbols->answers = answers;
        symbols->answer_symbols = kept;
    } else if (kept) {
        at_numbered_free(context, kept);
        at_release(context, kept);
    }
    at_release(context, map);
    return status;
}

int at_symbols_take(const at_symbols *symbols, attn_context *context, const at_strings *answers,
                    at_numbered *taken) {
    at_symbols *own = (at_symbols *)(uintptr_t)symbols; /* gives away what it kept for this */
    if (!own->answer_symbols || own->answers != answers || own->context != context) return 0;
    *taken = *own->answer_symbols;
    at_release(context, own->answer_symbols);
    own->answer_symbols = NULL;
    own->answers = NULL;
    return 1;
}

/* ---- units that data looks to be made of ---- */

enum { FEW_SYMBOLS = 500, PIECES_A_SYMBOL = 8, SHORT_TEXT = 24 };

attn_status at_symbols_guess(attn_context *context, const at_strings *texts, at_unit *unit) {
    int64_t spaced = 0, pieces = 0, characters = 0;
    at_vocabulary symbols = {.slot_count = 0};
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < texts->count && status == ATTN_OK; i++) {
        const char *text = at_string(texts, i);
        if (symbols.strings.count > FEW_SYMBOLS && 10 * spaced > texts->count &&
            characters > SHORT_TEXT * texts->count)
            break; /* what follows changes nothing */
        spaced += strchr(text, ' ') != NULL;
        for (const char *piece = text; *piece && status == ATTN_OK;) {
            size_t length = strcspn(piece, " ");
            for (size_t c = 0; c < length; c++) characters += ((unsigned char)piece[c] & 0xC0) != 0x80;
            if (length && symbols.strings.count <= FEW_SYMBOLS)
                status = at_vocabulary_add(context, &symbols, piece, length, 1, NULL);
            pieces += length > 0;
            piece += length + (piece[length] == ' ');
        }
    }
    int64_t different = symbols.strings.count;
    at_vocabulary_free(context, &symbols);
    if (status != ATTN_OK) return status;
    int few = different <= FEW_SYMBOLS && (pieces >= PIECES_A_SYMBOL * different || characters <= 3 * pieces);
    int words = 10 * spaced <= texts->count || (!few && characters <= SHORT_TEXT * texts->count);
    *unit = words ? AT_UNIT_CHARS : few ? AT_UNIT_SYMBOLS : AT_UNIT_SUBWORDS;
    return ATTN_OK;
}
