/* units.c: from the text of examples to their units, and from units back to text.
 *
 * A text that can be written again from its units (options.exact) keeps every space: as a unit of its own
 * between characters; between subwords, U+2581 stands for a space, the last one before a word is the
 * beginning of its first subword, and the text is taken as if one more space stood before it.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/text.h"
#include "data/unicode.h"

static const char mark[] = "\xE2\x96\x81"; /* U+2581 */
enum { MARK_BYTES = 3 };

static attn_status add_unit(attn_context *context, at_units *units, const char *text, size_t length,
                            int64_t token) {
    int64_t count = units->units.count;
    attn_status status =
        at_grow(context, &units->tokens, &units->token_room, count + 1, sizeof *units->tokens, "units");
    if (status == ATTN_OK) status = at_strings_add(context, &units->units, text, length);
    if (status == ATTN_OK) units->tokens[count] = token;
    return status;
}

/* The characters of one token (token >= 0), or of a raw text: -1, and each character has its own number.
 * Where not every space is kept, those at the ends go and a run of them is one. */
static attn_status add_characters(attn_context *context, at_units *units, const char *text, size_t length,
                                  int64_t token, int every_space) {
    int64_t number = 0;
    int space = 0;
    attn_status status = ATTN_OK;
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code_point;
        size = (size_t)at_unicode_next(text + i, length - i, &code_point);
        if (token < 0 && !every_space && at_unicode_space(code_point)) {
            space = 1;
            continue;
        }
        if (space && number) status = add_unit(context, units, " ", 1, number++);
        space = 0;
        if (status == ATTN_OK) {
            status = add_unit(context, units, text + i, size, token < 0 ? number : token);
            number++;
        }
    }
    return status;
}

static attn_status add_bytes(attn_context *context, at_units *units, const char *text, size_t length,
                             int64_t token) {
    int64_t number = -1;
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < length && status == ATTN_OK; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 || number < 0) number++; /* a character begins */
        status = add_unit(context, units, text + i, 1, token < 0 ? number : token);
    }
    return status;
}

/* What at_text_units reuses from word to word. */
typedef struct unit_scratch {
    at_strings words, pieces;
    char *word;
    int64_t word_room;
} unit_scratch;

attn_status at_lower_case(attn_context *context, const char **word, size_t *length, char **buffer,
                          int64_t *room) {
    attn_status status = at_grow(context, buffer, room, 4 * (int64_t)*length + 1, 1, "a word in lower case");
    if (status != ATTN_OK) return status;
    *length = at_unicode_lower(*word, *length, *buffer);
    *word = *buffer;
    return ATTN_OK;
}

/* The subwords of a word, or, while they are being learned, the word itself; in both cases with a space
 * before it if there is one. */
static attn_status add_subwords(const at_text *text, at_units *units, const char *word, size_t length,
                                int spaced, int64_t token, unit_scratch *scratch) {
    attn_context *context = text->context;
    attn_status status =
        at_grow(context, &scratch->word, &scratch->word_room, 4 * (int64_t)length + 2, 1, "a word");
    if (status != ATTN_OK) return status;
    scratch->word[0] = ' ';
    char *begin = scratch->word + spaced;
    if (text->options.lowercase) {
        length = at_unicode_lower(word, length, begin);
    } else {
        memcpy(begin, word, length);
    }
    length += (size_t)spaced;
    if (text->learning) return add_unit(context, units, scratch->word, length, token);
    at_strings_clear(&scratch->pieces);
    status = at_subwords_split(context, &text->subwords, scratch->word, length, &scratch->pieces);
    for (int64_t i = 0; i < scratch->pieces.count && status == ATTN_OK; i++) {
        status = add_unit(context, units, at_string(&scratch->pieces, i),
                          at_string_length(&scratch->pieces, i), token);
    }
    return status;
}

/* White space between words, and whether the last of it is a space that belongs to the word after it. */
static attn_status add_gap(const at_text *text, at_units *units, const char *gap, size_t length,
                           int64_t token, int *spaced, unit_scratch *scratch) {
    attn_status status = ATTN_OK;
    if (*spaced && length) status = add_subwords(text, units, "", 0, 1, token, scratch);
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code_point;
        size = (size_t)at_unicode_next(gap + i, length - i, &code_point);
        *spaced = code_point == ' ';
        if (*spaced && i + size == length) return ATTN_OK;
        status = add_subwords(text, units, gap + i, *spaced ? 0 : size, *spaced, token, scratch);
    }
    return status;
}

static size_t gap_length(const char *text, size_t length) {
    size_t place = 0;
    while (place < length) {
        int32_t code_point;
        size_t size = (size_t)at_unicode_next(text + place, length - place, &code_point);
        if (!at_unicode_space(code_point)) break;
        place += size;
    }
    return place;
}

/* Words (scratch->words are those of `raw`) and the white space between them. */
static attn_status add_exact(const at_text *text, const char *raw, size_t length, at_units *units,
                             unit_scratch *scratch) {
    size_t place = 0;
    attn_status status = ATTN_OK;
    int spaced = length > 0; /* as if a space stood before the text */
    for (int64_t i = 0; i < scratch->words.count && status == ATTN_OK; i++) {
        size_t gap = gap_length(raw + place, length - place);
        size_t word_length = at_string_length(&scratch->words, i);
        status = add_gap(text, units, raw + place, gap, i, &spaced, scratch);
        place += gap;
        if (status == ATTN_OK)
            status = add_subwords(text, units, raw + place, word_length, spaced, i, scratch);
        place += word_length;
        spaced = 0;
    }
    if (status == ATTN_OK && place < length) {
        status = add_gap(text, units, raw + place, length - place, scratch->words.count, &spaced, scratch);
        if (status == ATTN_OK && spaced)
            status = add_subwords(text, units, "", 0, 1, scratch->words.count, scratch);
    }
    return status;
}

static attn_status add_token(const at_text *text, const attn_dataset *dataset, int64_t example, int64_t t,
                             at_units *units, unit_scratch *scratch) {
    const char *token = at_string(&dataset->tokens, t);
    size_t length = at_string_length(&dataset->tokens, t);
    int64_t number = t - dataset->offsets[example];
    switch (text->options.unit) {
    case AT_UNIT_WORDS:
    case AT_UNIT_SYMBOLS: return add_unit(text->context, units, token, length, number);
    case AT_UNIT_SUBWORDS:
        return length ? add_subwords(text, units, token, length, 1, number, scratch) : ATTN_OK;
    case AT_UNIT_BYTES: return add_bytes(text->context, units, token, length, number);
    default: break;
    }
    attn_status status = add_characters(text->context, units, token, length, number, 0);
    int last = t + 1 == dataset->offsets[example + 1];
    if (status == ATTN_OK && dataset->any_glued && !dataset->glued[t] && !last) {
        status = add_unit(text->context, units, " ", 1, number);
    }
    return status;
}

static attn_status add_raw(const at_text *text, const char *raw, size_t length, at_units *units,
                           unit_scratch *scratch) {
    const at_text_options *options = &text->options;
    if (options->unit == AT_UNIT_CHARS)
        return add_characters(text->context, units, raw, length, -1, options->exact);
    if (options->unit == AT_UNIT_BYTES) return add_bytes(text->context, units, raw, length, -1);
    at_strings_clear(&scratch->words);
    int at_spaces = options->pretokenized || options->unit == AT_UNIT_SYMBOLS;
    attn_status status = at_split_words(text->context, raw, length, at_spaces, &scratch->words);
    if (status == ATTN_OK && options->unit == AT_UNIT_SUBWORDS && options->exact)
        return add_exact(text, raw, length, units, scratch);
    for (int64_t i = 0; i < scratch->words.count && status == ATTN_OK; i++) {
        const char *word = at_string(&scratch->words, i);
        size_t word_length = at_string_length(&scratch->words, i);
        status = options->unit == AT_UNIT_SUBWORDS
                     ? add_subwords(text, units, word, word_length, 1, i, scratch)
                     : add_unit(text->context, units, word, word_length, i);
    }
    return status;
}

attn_status at_text_units(const at_text *text, const attn_dataset *dataset, at_units *units) {
    attn_context *context = text->context;
    int64_t old_examples = units->examples, old_units = units->units.count;
    unit_scratch scratch = {.word = NULL};
    attn_status status = at_grow(context, &units->offsets, &units->offset_room,
                                 old_examples + dataset->examples + 1, sizeof *units->offsets, "units");
    if (status == ATTN_OK) units->offsets[old_examples] = old_units;
    if (status == ATTN_OK && text->options.running && !old_units)
        status = add_unit(context, units, "\n", 1, 0);
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        for (int64_t t = dataset->offsets[e]; t < dataset->offsets[e + 1] && status == ATTN_OK; t++) {
            status = dataset->tokenized ? add_token(text, dataset, e, t, units, &scratch)
                                        : add_raw(text, at_string(&dataset->tokens, t),
                                                  at_string_length(&dataset->tokens, t), units, &scratch);
        }
        if (status == ATTN_OK && text->options.running) status = add_unit(context, units, "\n", 1, 0);
        if (status == ATTN_OK) units->offsets[++units->examples] = units->units.count;
    }
    at_strings_free(context, &scratch.words);
    at_strings_free(context, &scratch.pieces);
    at_release(context, scratch.word);
    if (status != ATTN_OK) {
        units->examples = old_examples;
        units->units.count = old_units;
    }
    return status;
}

void at_units_free(attn_context *context, at_units *units) {
    at_strings_free(context, &units->units);
    at_release(context, units->offsets);
    at_release(context, units->tokens);
    memset(units, 0, sizeof *units);
}

/* ---- back to text ---- */

attn_status at_text_append(const at_text *text, const char *unit, size_t length, at_joined *joined) {
    attn_status status = at_grow(text->context, &joined->bytes, &joined->room,
                                 joined->count + (int64_t)length + 2, 1, "a text");
    if (status != ATTN_OK) return status;
    int subwords = text->options.unit == AT_UNIT_SUBWORDS;
    int words = text->options.unit == AT_UNIT_WORDS || text->options.unit == AT_UNIT_SYMBOLS;
    int line_end = text->options.running && length == 1 && *unit == '\n';
    if (words && joined->started && !line_end) joined->bytes[joined->count++] = ' ';
    for (size_t i = 0; i < length;) {
        if (subwords && length - i >= MARK_BYTES && memcmp(unit + i, mark, MARK_BYTES) == 0) {
            if (joined->started)
                joined->bytes[joined->count++] = ' '; /* the one before the text is not in it */
            i += MARK_BYTES;
        } else {
            joined->bytes[joined->count++] = unit[i++];
        }
        joined->started = 1;
    }
    if (line_end) joined->started = 0;
    joined->bytes[joined->count] = 0;
    return ATTN_OK;
}

int64_t at_joined_mend(at_joined *joined, int64_t from, int last) {
    int64_t place = from;
    if (place >= joined->count) return joined->count;
    for (;;) {
        place += (int64_t)at_unicode_check(joined->bytes + place, (size_t)(joined->count - place));
        if (place >= joined->count) return joined->count;
        unsigned char byte = (unsigned char)joined->bytes[place];
        int64_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
        int waits = !last && whole > 1 && byte < 0xF5 && joined->count - place < whole;
        for (int64_t i = place + 1; i < joined->count && waits; i++)
            waits = ((unsigned char)joined->bytes[i] & 0xC0) == 0x80;
        if (waits) return place;
        joined->bytes[place++] = '?';
    }
}
