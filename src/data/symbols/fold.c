/* fold.c: texts normalised for comparison: case, white space, and punctuation at the ends.
 *
 * Case is folded in full (a sharp s becomes ss), code point by code point. Punctuation is defined by Unicode
 * (categories Pc to Po); signs such as $ and + are not punctuation.
 */
#include <utf8proc.h>

#include "data/symbols/unicode.h"

static int is_punctuation(int32_t code) {
    if (code < 0x80) {
        int letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
        if (letter || (code >= '0' && code <= '9')) return 0;
    }
    utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

static size_t put_folded(int32_t code, char *out) {
    enum { MOST_CODES = 4 }; /* that one becomes; Unicode has no more than three */
    utf8proc_int32_t codes[MOST_CODES];
    int boundary = 0;
    size_t used = 0;
    if (code < 0x80) {
        *out = (char)(code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code);
        return 1;
    }
    utf8proc_ssize_t count = utf8proc_decompose_char(code, codes, MOST_CODES, UTF8PROC_CASEFOLD, &boundary);
    if (count < 1 || count > MOST_CODES) {
        codes[0] = code;
        count = 1;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++)
        used += (size_t)utf8proc_encode_char(codes[i], (utf8proc_uint8_t *)out + used);
    return used;
}

size_t at_unicode_fold(const char *text, size_t length, int strip, char *out) {
    size_t used = 0, kept = 0; /* kept: up to the last that is no punctuation */
    int gap = 0;
    for (size_t i = 0, step; i < length; i += step) {
        int32_t code;
        step = (size_t)at_unicode_next(text + i, length - i, &code);
        if (code < 0x80 ? code == ' ' || (code >= '\t' && code <= '\r') : at_unicode_space(code)) {
            gap = used > 0;
            continue;
        }
        int stripped = strip && is_punctuation(code);
        if (stripped && used == 0) continue;
        if (gap) out[used++] = ' ';
        gap = 0;
        used += put_folded(code, out + used);
        if (!stripped) kept = used;
    }
    out[kept] = 0;
    return kept;
}
