/* symbols.c: the vocabulary of units and the subword model, learned from text. */
#include "data/symbols/symbols.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
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

typedef struct counter {
    attn_context *context;
    int lowercase;
    at_vocabulary counts;
    char *lower;
    int64_t lower_room;
} counter;

static attn_status count_unit(void *user, const char *unit, size_t length, int64_t token) {
    counter *into = user;
    attn_status status = ATTN_OK;
    (void)token;
    if (into->lowercase)
        status = at_lower_case(into->context, &unit, &length, &into->lower, &into->lower_room);
    return status == ATTN_OK ? at_vocabulary_add(into->context, &into->counts, unit, length, 1, NULL)
                             : status;
}

/* How often each unit is there, in lower case if the options say so. */
static attn_status count_units(const at_symbols *symbols, int learning, at_feed_function feed,
                               const void *user, at_vocabulary *counts) {
    counter into = {.context = symbols->context, .lowercase = symbols->options.lowercase};
    at_splitter splitter = at_splitter_of(symbols, symbols->context, count_unit, &into);
    splitter.learning = learning;
    attn_status status = feed(user, &splitter);
    at_splitter_free(&splitter);
    at_release(symbols->context, into.lower);
    if (status != ATTN_OK) at_vocabulary_free(symbols->context, &into.counts);
    *counts = into.counts;
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

attn_status at_symbols_learn(at_symbols *symbols, at_feed_function feed, const void *user) {
    attn_context *context = symbols->context;
    at_vocabulary counts = {.slot_count = 0}, vocabulary = {.slot_count = 0};
    at_symbols learned = {.context = context, .options = symbols->options};
    attn_status status = ATTN_OK;
    if (symbols->options.unit == AT_UNIT_SUBWORDS) {
        status = count_units(&learned, 1, feed, user, &counts);
        if (status == ATTN_OK)
            status = at_subwords_learn(context, &counts, symbols->options.subwords, &learned.subwords);
        at_vocabulary_free(context, &counts);
    }
    if (status == ATTN_OK) status = count_units(&learned, 0, feed, user, &counts);
    if (status == ATTN_OK)
        status = at_vocabulary_sort(context, &counts, symbols->options.min_count, symbols->options.vocabulary,
                                    &vocabulary);
    at_vocabulary_free(context, &counts);
    if (status == ATTN_OK && symbols->options.unit == AT_UNIT_BYTES && symbols->options.exact)
        status = add_all_bytes(context, &vocabulary);
    if (status != ATTN_OK) {
        at_subwords_free(context, &learned.subwords);
        at_vocabulary_free(context, &vocabulary);
        return status;
    }
    at_symbols_free(symbols);
    symbols->vocabulary = vocabulary;
    symbols->subwords = learned.subwords;
    return ATTN_OK;
}

void at_symbols_free(at_symbols *symbols) {
    if (!symbols->context) return;
    at_vocabulary_free(symbols->context, &symbols->vocabulary);
    at_subwords_free(symbols->context, &symbols->subwords);
}

enum { FEW_SYMBOLS = 500, PIECES_A_SYMBOL = 8, SHORT_TEXT = 24 };

attn_status at_symbols_guess(attn_context *context, const at_strings *texts, at_unit *unit) {
    int64_t spaced = 0, pieces = 0, characters = 0;
    at_vocabulary symbols = {.slot_count = 0};
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < texts->count && status == ATTN_OK; i++) {
        const char *text = at_string(texts, i);
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
