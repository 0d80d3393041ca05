/* units.c: from text to units, and from units back to text: one row of a table for each kind of unit.
 *
 * If the text must be restored exactly from its units (options.exact), every space is kept: between
 * characters as a unit of its own; between subwords U+2581 stands for a space, the last space before a word
 * is the beginning of its first subword, and the text is treated as if one more space preceded it.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/symbols.h"
#include "data/symbols/unicode.h"

static const char mark[] = "\xE2\x96\x81"; /* U+2581 */
enum { MARK_BYTES = 3 };

const char *const at_unit_names[] = {"words", "chars", "bytes", "subwords", "symbols", "auto", NULL};

static attn_status give(at_splitter *splitter, const char *unit, size_t length, int64_t token) {
    return splitter->take(splitter->user, unit, length, token);
}

/* ---- characters ---- */

static attn_status token_characters(at_splitter *splitter, const char *token, size_t length, int64_t number) {
    attn_status status = ATTN_OK;
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code_point;
        size = (size_t)at_unicode_next(token + i, length - i, &code_point);
        status = give(splitter, token + i, size, number);
    }
    return status;
}

/* A character, or its parts (NFD), each with a number of its own. */
static attn_status give_parts(at_splitter *splitter, const char *text, size_t size, int32_t code_point,
                              int64_t *number) {
    int32_t parts[AT_MOST_PARTS];
    attn_status status = ATTN_OK;
    int count = splitter->symbols->options.decompose ? at_unicode_parts(code_point, parts) : 1;
    if (count == 1) return give(splitter, text, size, (*number)++);
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        char part[4];
        status = give(splitter, part, at_unicode_write(parts[i], part), (*number)++);
    }
    return status;
}

/* Each character has its own number. Where not every space is kept, those at the ends go and a run of them is
 * one.
 */
static attn_status text_characters(at_splitter *splitter, const char *text, size_t length) {
    int64_t number = 0;
    int space = 0, every_space = splitter->symbols->options.exact;
    attn_status status = ATTN_OK;
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code_point;
        size = (size_t)at_unicode_next(text + i, length - i, &code_point);
        if (!every_space && at_unicode_space(code_point)) {
            space = 1;
            continue;
        }
        if (space && number) status = give(splitter, " ", 1, number++);
        space = 0;
        if (status == ATTN_OK) status = give_parts(splitter, text + i, size, code_point, &number);
    }
    return status;
}

/* ---- bytes ---- */

/* number < 0: a raw text, whose characters count. */
static attn_status bytes_of(at_splitter *splitter, const char *text, size_t length, int64_t number) {
    int64_t character = -1;
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < length && status == ATTN_OK; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 || character < 0) character++;
        status = give(splitter, text + i, 1, number < 0 ? character : number);
    }
    return status;
}

static attn_status text_bytes(at_splitter *splitter, const char *text, size_t length) {
    return bytes_of(splitter, text, length, -1);
}

/* ---- subwords ---- */

/* The subwords of a word that is ready, or, while they are being learned, the word itself. */
static attn_status give_subwords(at_splitter *splitter, const char *word, size_t length, int64_t token) {
    if (splitter->learning) return give(splitter, word, length, token);
    at_strings_clear(&splitter->pieces);
    attn_status status =
        at_subwords_split(splitter->context, &splitter->symbols->subwords, word, length, &splitter->pieces);
    for (int64_t i = 0; i < splitter->pieces.count && status == ATTN_OK; i++)
        status =
            give(splitter, at_string(&splitter->pieces, i), at_string_length(&splitter->pieces, i), token);
    return status;
}

/* A word with a space before it if there is one. */
static attn_status add_subwords(at_splitter *splitter, const char *word, size_t length, int spaced,
                                int64_t token) {
    attn_context *context = splitter->context;
    const at_symbols *symbols = splitter->symbols;
    attn_status status =
        at_grow(context, &splitter->word, &splitter->word_room, 4 * (int64_t)length + 2, 1, "a word");
    if (status != ATTN_OK) return status;
    splitter->word[0] = ' ';
    char *begin = splitter->word + spaced;
    if (symbols->options.lowercase) {
        length = at_unicode_lower(word, length, begin);
    } else {
        memcpy(begin, word, length);
    }
    return give_subwords(splitter, splitter->word, length + (size_t)spaced, token);
}

/* The word at byte `begin` of a text. Mostly the space before it is there already, and nothing has to be
 * copied. */
static attn_status add_word(at_splitter *splitter, const char *text, size_t begin, size_t end, int spaced,
                            int64_t token) {
    int there = spaced && begin > 0 && text[begin - 1] == ' ';
    if ((spaced && !there) || splitter->symbols->options.lowercase)
        return add_subwords(splitter, text + begin, end - begin, spaced, token);
    begin -= (size_t)there;
    return give_subwords(splitter, text + begin, end - begin, token);
}

/* White space between words, and whether the last of it is a space that belongs to the word after it. */
static attn_status add_gap(at_splitter *splitter, const char *gap, size_t length, int64_t token,
                           int *spaced) {
    attn_status status = ATTN_OK;
    if (length == 1 && *gap == ' ' && !*spaced) {
        *spaced = 1;
        return ATTN_OK;
    }
    if (*spaced && length) status = add_subwords(splitter, "", 0, 1, token);
    for (size_t i = 0, size; i < length && status == ATTN_OK; i += size) {
        int32_t code_point;
        size = (size_t)at_unicode_next(gap + i, length - i, &code_point);
        *spaced = code_point == ' ';
        if (*spaced && i + size == length) return ATTN_OK;
        status = add_subwords(splitter, gap + i, *spaced ? 0 : size, *spaced, token);
    }
    return status;
}

/* Words and the white space between them. */
static attn_status add_exact(at_splitter *splitter, const char *raw, size_t length) {
    size_t place = 0, end = 0, begin;
    int64_t word = 0;
    attn_status status = ATTN_OK;
    int spaced = length > 0 && !splitter->open; /* as if a space stood before the text */
    for (; status == ATTN_OK && at_next_word(raw, length, splitter->pretokenized, &end, &begin); word++) {
        status = add_gap(splitter, raw + place, begin - place, word, &spaced);
        if (status == ATTN_OK) status = add_word(splitter, raw, begin, end, spaced, word);
        place = end;
        spaced = 0;
    }
    if (status == ATTN_OK && place < length) {
        status = add_gap(splitter, raw + place, length - place, word, &spaced);
        if (status == ATTN_OK && spaced) status = add_subwords(splitter, "", 0, 1, word);
    }
    return status;
}

static attn_status token_subwords(at_splitter *splitter, const char *token, size_t length, int64_t number) {
    return length ? add_subwords(splitter, token, length, 1, number) : ATTN_OK;
}

static attn_status text_subwords(at_splitter *splitter, const char *text, size_t length) {
    if (splitter->symbols->options.exact) return add_exact(splitter, text, length);
    attn_status status = ATTN_OK;
    size_t place = 0, begin;
    for (int64_t word = 0;
         status == ATTN_OK && at_next_word(text, length, splitter->pretokenized, &place, &begin); word++)
        status = add_word(splitter, text, begin, place, 1, word);
    return status;
}

/* ---- words, and symbols between spaces ---- */

static attn_status give_words(at_splitter *splitter, const char *text, size_t length, int at_spaces) {
    attn_status status = ATTN_OK;
    size_t place = 0, begin;
    for (int64_t word = 0; status == ATTN_OK && at_next_word(text, length, at_spaces, &place, &begin); word++)
        status = give(splitter, text + begin, place - begin, word);
    return status;
}

static attn_status text_words(at_splitter *splitter, const char *text, size_t length) {
    return give_words(splitter, text, length, splitter->pretokenized);
}

static attn_status text_symbols(at_splitter *splitter, const char *text, size_t length) {
    return give_words(splitter, text, length, 1);
}

/* ---- the table ---- */

static const struct {
    attn_status (*token)(at_splitter *splitter, const char *token, size_t length, int64_t number);
    attn_status (*text)(at_splitter *splitter, const char *text, size_t length);
    int spaced; /* a space stands between units that are joined */
    int marked; /* U+2581 is a space */
} kinds[] = {
    [AT_UNIT_WORDS] = {give, text_words, 1, 0},
    [AT_UNIT_CHARS] = {token_characters, text_characters, 0, 0},
    [AT_UNIT_BYTES] = {bytes_of, text_bytes, 0, 0},
    [AT_UNIT_SUBWORDS] = {token_subwords, text_subwords, 0, 1},
    [AT_UNIT_SYMBOLS] = {give, text_symbols, 1, 0},
};

at_splitter at_splitter_of(const at_symbols *symbols, attn_context *context, at_unit_function take,
                           void *user) {
    return (at_splitter){.symbols = symbols,
                         .context = context,
                         .take = take,
                         .user = user,
                         .pretokenized = symbols->options.pretokenized};
}

void at_splitter_free(at_splitter *splitter) {
    at_strings_free(splitter->context, &splitter->pieces);
    at_release(splitter->context, splitter->word);
    splitter->word = NULL;
    splitter->word_room = 0;
}

attn_status at_split_token(at_splitter *splitter, const char *token, size_t length, int64_t number) {
    return kinds[splitter->symbols->options.unit].token(splitter, token, length, number);
}

attn_status at_split_text(at_splitter *splitter, const char *text, size_t length) {
    return kinds[splitter->symbols->options.unit].text(splitter, text, length);
}

/* ---- back to text ---- */

attn_status at_symbols_append(const at_symbols *symbols, attn_context *context, const char *unit,
                              size_t length, at_joined *joined) {
    attn_status status =
        at_grow(context, &joined->bytes, &joined->room, joined->count + (int64_t)length + 2, 1, "a text");
    if (status != ATTN_OK) return status;
    int line_end = symbols->options.running && length == 1 && *unit == '\n';
    int marked = kinds[symbols->options.unit].marked;
    if (kinds[symbols->options.unit].spaced && joined->started && !line_end)
        joined->bytes[joined->count++] = ' ';
    for (size_t i = 0; i < length;) {
        if (marked && length - i >= MARK_BYTES && memcmp(unit + i, mark, MARK_BYTES) == 0) {
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
