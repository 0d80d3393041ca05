/* words.c: lower case, shapes, and where words begin.
 *
 * How text is split into words is part of what a model is, so the rule is written down here in full. It
 * follows UAX #29, with hyphens that split and with scripts that put no spaces between words taken apart.
 * Every code point is of one class, the first that fits:
 *
 *     space      categories Zs, Zl, Zp; U+0009 .. U+000D, U+0085, U+200B
 *     extender   categories Mn, Mc, Me, Cf; U+0E33, U+0EB3, U+FF9E, U+FF9F; skin tones U+1F3FB .. U+1F3FF
 *     flag       U+1F1E6 .. U+1F1FF
 *     alone      letters (L) and letter numbers (Nl) of scripts without spaces: the ranges in `alone_ranges`
 *                (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar, Tai)
 *     digit      category Nd
 *     word       categories L, Nl, No, Pc
 *     picture    Extended_Pictographic
 *     symbol     all others
 *
 * 1. Spaces end words and belong to none.
 * 2. An extender belongs to the code point before it. Where a text begins, or after a space, it is a word
 *    with the extenders that follow.
 * 3. Digits and those of class `word` that are contiguous, extenders apart, are one word ("x86_64").
 * 4. One of ' U+2018 U+2019 U+FF07 U+00B7 U+0387 U+2027 U+05F4 between two letters (class `word`, category
 *    L) is inside a word ("don't"); so is one of . , U+066B U+066C U+FF0C U+FF0E between two digits ("3.14").
 *    No extender may follow such a mark.
 * 5. Two flags without an extender between them are one word. A picture, extenders of which ZWJ is the last,
 *    and a picture are one word, and so on.
 * 6. Runs of one symbol without extenders between are one word ("...", "--"); all else is a word alone.
 *
 * With `at_spaces` only rule 1 counts.
 */
#include <utf8proc.h>

#include "data/symbols/unicode.h"

/* The code point at `text`; a byte that begins none (which no text in the library has) is U+FFFD. */
static size_t decode(const char *text, size_t length, int32_t *code_point) {
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        *code_point = first;
        return 1;
    }
    utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text,
                                             length < 4 ? (utf8proc_ssize_t)length : 4, code_point);
    if (size > 0) return (size_t)size;
    *code_point = 0xFFFD;
    return 1;
}

size_t at_unicode_lower(const char *text, size_t length, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x80) {
            out[used++] = (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
            i++;
            continue;
        }
        int32_t code_point, lower;
        size_t size = decode(text + i, length - i, &code_point);
        lower = size > 1 ? utf8proc_tolower(code_point) : code_point;
        if (lower == code_point) { /* also bytes that are no text: they stay */
            for (size_t k = 0; k < size; k++) out[used++] = text[i + k];
        } else {
            used += (size_t)utf8proc_encode_char(lower, (utf8proc_uint8_t *)out + used);
        }
        i += size;
    }
    out[used] = 0;
    return used;
}

size_t at_unicode_upper(const char *text, size_t length, int all, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        int32_t code_point;
        size_t size = decode(text + i, length - i, &code_point);
        int32_t upper = i == 0 || all ? utf8proc_toupper(code_point) : code_point;
        if (upper == code_point) {
            for (size_t k = 0; k < size; k++) out[used++] = text[i + k];
        } else {
            used += (size_t)utf8proc_encode_char(upper, (utf8proc_uint8_t *)out + used);
        }
        i += size;
    }
    out[used] = 0;
    return used;
}

/* What a code point is in a shape: 'X', 'x', 'd' or itself. */
static int32_t shape_kind(int32_t code_point) {
    if (code_point < 0x80) {
        if (code_point >= 'a' && code_point <= 'z') return 'x';
        if (code_point >= 'A' && code_point <= 'Z') return 'X';
        if (code_point >= '0' && code_point <= '9') return 'd';
        return code_point;
    }
    switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return 'X';
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return 'x';
    case UTF8PROC_CATEGORY_ND: return 'd';
    default: return code_point;
    }
}

size_t at_unicode_shape(const char *text, size_t length, char *out) {
    size_t used = 0;
    int32_t last = -1;
    int run = 0;
    for (size_t i = 0; i < length;) {
        int32_t code_point;
        size_t size = decode(text + i, length - i, &code_point);
        int32_t kind = shape_kind(code_point);
        run = kind == last ? run + 1 : 1;
        last = kind;
        if (run <= 3) {
            if (kind != code_point) {
                out[used++] = (char)kind;
            } else {
                for (size_t k = 0; k < size; k++) out[used++] = text[i + k];
            }
        }
        i += size;
    }
    out[used] = 0;
    return used;
}

typedef enum code_kind { SPACE, EXTENDER, FLAG, ALONE, DIGIT, WORD, PICTURE, SYMBOL } code_kind;

static const int32_t alone_ranges[][2] = {
    {0x0E00, 0x0EFF},   /* Thai, Lao */
    {0x1000, 0x109F},   /* Myanmar */
    {0x1780, 0x17FF},   /* Khmer */
    {0x1950, 0x19DF},   /* Tai Le, New Tai Lue */
    {0x1A20, 0x1AAF},   /* Tai Tham */
    {0x2E80, 0x2FDF},   /* radicals */
    {0x3005, 0x3007},   /* Han */
    {0x3021, 0x3029},   /* Han */
    {0x3031, 0x303C},   /* Han, Hiragana */
    {0x3041, 0x30FF},   /* Hiragana, Katakana */
    {0x31F0, 0x31FF},   /* Katakana */
    {0x3400, 0x4DBF},   /* Han */
    {0x4E00, 0x9FFF},   /* Han */
    {0xA9E0, 0xA9FF},   /* Myanmar */
    {0xAA60, 0xAADF},   /* Myanmar, Tai Viet */
    {0xF900, 0xFAFF},   /* Han */
    {0xFF66, 0xFF9F},   /* Katakana */
    {0x1AFF0, 0x1B16F}, /* Hiragana, Katakana */
    {0x20000, 0x3FFFF}, /* Han */
};

static int stands_alone(int32_t code_point) {
    for (size_t i = 0; i < sizeof alone_ranges / sizeof *alone_ranges; i++) {
        if (code_point < alone_ranges[i][0]) return 0;
        if (code_point <= alone_ranges[i][1]) return 1;
    }
    return 0;
}

static int is_letter(int32_t code_point) {
    utf8proc_category_t category = utf8proc_category(code_point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static code_kind classify_ascii(int32_t code_point) {
    if ((code_point >= 'a' && code_point <= 'z') || (code_point >= 'A' && code_point <= 'Z')) return WORD;
    if (code_point == ' ' || (code_point >= 9 && code_point <= 13)) return SPACE;
    if (code_point >= '0' && code_point <= '9') return DIGIT;
    return code_point == '_' ? WORD : SYMBOL;
}

static int is_plain_letter(char byte) { return ((unsigned char)byte | 0x20u) - 'a' < 26u; }

static code_kind classify(int32_t code_point) {
    if (code_point < 0x80) return classify_ascii(code_point);
    if (code_point == 0x85 || code_point == 0x200B) return SPACE;
    if (code_point == 0x0E33 || code_point == 0x0EB3 || code_point == 0xFF9E || code_point == 0xFF9F ||
        (code_point >= 0x1F3FB && code_point <= 0x1F3FF)) {
        return EXTENDER;
    }
    if (code_point >= 0x1F1E6 && code_point <= 0x1F1FF) return FLAG;
    const utf8proc_property_t *property = utf8proc_get_property(code_point);
    switch (property->category) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return SPACE;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF: return EXTENDER;
    case UTF8PROC_CATEGORY_ND: return DIGIT;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL: return stands_alone(code_point) ? ALONE : WORD;
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_PC: return WORD;
    default: return property->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ? PICTURE : SYMBOL;
    }
}

int at_unicode_space(int32_t code_point) { return classify(code_point) == SPACE; }

int at_unicode_wide_space(int32_t code_point) {
    return utf8proc_category(code_point) == UTF8PROC_CATEGORY_ZS;
}

int at_unicode_spaced(int32_t code_point) { return is_letter(code_point) ? !stands_alone(code_point) : -1; }

static int joins_letters(int32_t code_point) {
    switch (code_point) {
    case '\'':
    case 0x2018:
    case 0x2019:
    case 0xFF07:
    case 0x00B7:
    case 0x0387:
    case 0x2027:
    case 0x05F4: return 1;
    default: return 0;
    }
}

static int joins_digits(int32_t code_point) {
    switch (code_point) {
    case '.':
    case ',':
    case 0x066B:
    case 0x066C:
    case 0xFF0C:
    case 0xFF0E: return 1;
    default: return 0;
    }
}

typedef struct word_scanner {
    const char *text;
    size_t length;
    size_t place, size; /* of the code point that is looked at; size 0 at the end */
    int32_t code_point;
    code_kind kind;
} word_scanner;

static void look(word_scanner *scanner, size_t place) {
    scanner->place = place;
    scanner->size = 0;
    scanner->code_point = -1;
    scanner->kind = SPACE;
    if (place < scanner->length) {
        scanner->size = decode(scanner->text + place, scanner->length - place, &scanner->code_point);
        scanner->kind = classify(scanner->code_point);
    }
}

static void advance(word_scanner *scanner) { look(scanner, scanner->place + scanner->size); }

/* Past the extenders; the last one of them, 0 if there is none. */
static int32_t skip_extenders(word_scanner *scanner) {
    int32_t last = 0;
    for (; scanner->kind == EXTENDER; advance(scanner)) last = scanner->code_point;
    return last;
}

/* Rules 3 and 4. The scanner is at the first code point of a word. */
static void skip_run(word_scanner *scanner) {
    for (;;) {
        /* Of several ASCII letters side by side, only the last one matters. */
        size_t place = scanner->place, end_of_text = scanner->length;
        if (scanner->code_point < 0x80 && is_plain_letter(scanner->text[place])) {
            while (place + 1 < end_of_text && is_plain_letter(scanner->text[place + 1])) place++;
            scanner->place = place;
            scanner->code_point = scanner->text[place];
            scanner->kind = WORD;
        }
        code_kind kind = scanner->kind;
        int32_t code_point = scanner->code_point;
        advance(scanner);
        skip_extenders(scanner);
        if (scanner->kind == WORD || scanner->kind == DIGIT) continue;
        int letters = kind == WORD && joins_letters(scanner->code_point) && is_letter(code_point);
        int digits = kind == DIGIT && joins_digits(scanner->code_point);
        if (!letters && !digits) return;
        size_t end = scanner->place;
        advance(scanner);
        if (letters && scanner->kind == WORD && is_letter(scanner->code_point)) continue;
        if (digits && scanner->kind == DIGIT) continue;
        look(scanner, end);
        return;
    }
}

/* From the first code point of a word, which is no space, to what follows it. */
static void skip_word(word_scanner *scanner) {
    code_kind kind = scanner->kind;
    int32_t code_point = scanner->code_point, last;
    switch (kind) {
    case WORD:
    case DIGIT: skip_run(scanner); return;
    case FLAG:
        advance(scanner);
        last = skip_extenders(scanner);
        if (!last && scanner->kind == FLAG) advance(scanner);
        break;
    case PICTURE:
        do {
            advance(scanner);
            last = skip_extenders(scanner);
        } while (last == 0x200D && scanner->kind == PICTURE);
        return;
    case SYMBOL: do { advance(scanner);
        } while (scanner->kind == SYMBOL && scanner->code_point == code_point);
        break;
    default: advance(scanner); break;
    }
    skip_extenders(scanner);
}

int at_next_word(const char *text, size_t length, int at_spaces, size_t *place, size_t *begin) {
    word_scanner scanner = {.text = text, .length = length};
    while (*place < length && text[*place] == ' ') ++*place;
    size_t end = *place;
    while (end < length && is_plain_letter(text[end])) end++;
    if (end > *place && (end == length || text[end] == ' ')) { /* most words of most texts */
        *begin = *place;
        *place = end;
        return 1;
    }
    look(&scanner, *place);
    while (scanner.size && scanner.kind == SPACE) advance(&scanner);
    if (!scanner.size) return 0;
    *begin = scanner.place;
    if (at_spaces) {
        while (scanner.size && scanner.kind != SPACE) advance(&scanner);
    } else {
        skip_word(&scanner);
    }
    *place = scanner.place;
    return 1;
}

attn_status at_split_words(attn_context *context, const char *text, size_t length, int at_spaces,
                           at_strings *words) {
    int64_t count = words->count;
    size_t place = 0, begin;
    while (at_next_word(text, length, at_spaces, &place, &begin)) {
        attn_status status = at_strings_add(context, words, text + begin, place - begin);
        if (status != ATTN_OK) {
            words->count = count;
            return status;
        }
    }
    return ATTN_OK;
}
