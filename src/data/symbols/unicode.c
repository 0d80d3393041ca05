/* unicode.c: UTF-8 with utf8proc: checking, decoding, NFC. */
#include "data/symbols/unicode.h"

#include <string.h>
#include <utf8proc.h>

#include "base/context.h"
#include "base/memory.h"

/* How many of the first bytes are ASCII and not 0; eight at a time. */
static size_t ascii_run(const char *text, size_t length) {
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
        if ((word | ((word - ones) & ~word)) & tops) break; /* a top bit, or a byte that is 0 */
    }
    while (i < length && text[i] > 0 && (unsigned char)text[i] < 0x80) i++;
    return i;
}

/* The length of the well-formed sequence at `text`, 0 if there is none (Unicode, table 3-7). */
static size_t sequence_length(const unsigned char *text, size_t length) {
    unsigned char first = text[0];
    if (first == 0) return 0;
    if (first < 0x80) return 1;
    size_t need = first >= 0xc2 && first <= 0xdf   ? 2
                  : first >= 0xe0 && first <= 0xef ? 3
                  : first >= 0xf0 && first <= 0xf4 ? 4
                                                   : 0;
    if (need == 0 || need > length) return 0;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high) return 0;
    for (size_t i = 2; i < need; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf) return 0;
    }
    return need;
}

size_t at_unicode_check(const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        i += ascii_run(text + i, length - i);
        if (i == length) break;
        size_t step = sequence_length((const unsigned char *)text + i, length - i);
        if (step == 0) return i;
        i += step;
    }
    return length;
}

int at_unicode_parts(int32_t code_point, int32_t *parts) {
    int boundary = 0;
    utf8proc_ssize_t count =
        utf8proc_decompose_char(code_point, parts, AT_MOST_PARTS, UTF8PROC_DECOMPOSE, &boundary);
    if (count > 0 && count <= AT_MOST_PARTS) return (int)count;
    parts[0] = code_point;
    return 1;
}

size_t at_unicode_write(int32_t code_point, char *out) {
    return (size_t)utf8proc_encode_char(code_point, (utf8proc_uint8_t *)out);
}

int at_unicode_next(const char *text, size_t length, int32_t *code_point) {
    const unsigned char *byte = (const unsigned char *)text;
    int step = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if ((size_t)step > length) step = (int)length; /* not well-formed: the caller's mistake, but no overrun */
    int32_t code = step == 1 ? byte[0] : byte[0] & (0x7f >> step);
    for (int i = 1; i < step; i++) code = code * 64 + (byte[i] & 0x3f);
    *code_point = code;
    return step;
}

/* Code points that are in NFC whatever is beside them, as far as that is seen from a few ranges: what is
 * most frequent in texts. Of the rest utf8proc has the say. */
static int always_composed(int32_t code) {
    return code < 0x300 || (code >= 0x388 && code <= 0x482) || (code >= 0x2010 && code <= 0x2027) ||
           (code >= 0x3001 && code <= 0x3029) || (code >= 0x3041 && code <= 0x3096) ||
           (code >= 0x30a0 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3) ||
           (code >= 0xff01 && code <= 0xffee);
}

/* utf8proc sorts a run of marks by exchanging neighbours, so the time grows with its square; no script has
 * runs like this. */
enum { LONGEST_RUN_OF_MARKS = 256 };

/* Whether normalisation is called for: not where all is composed already, nor where a run of marks is so
 * long that the text can be no text. */
static int wants_composition(const char *text, size_t length) {
    int wanted = 0, run = 0;
    size_t i = 0;
    while (i < length) {
        int32_t code;
        i += (size_t)at_unicode_next(text + i, length - i, &code);
        if (always_composed(code)) {
            run = 0;
            continue;
        }
        wanted = 1;
        run = utf8proc_get_property(code)->combining_class != 0 ? run + 1 : 0;
        if (run > LONGEST_RUN_OF_MARKS) return 0;
    }
    return wanted;
}

attn_status at_unicode_nfc(attn_context *context, const char *text, size_t length, char **buffer,
                           int64_t *buffer_room, const char **result, size_t *result_length) {
    *result = text;
    *result_length = length;
    size_t ascii = ascii_run(text, length);
    if (ascii == length || !wants_composition(text + ascii, length - ascii)) return ATTN_OK;
    /* Canonical decomposition makes 4 code points of one at most, in utf8proc's buffer of 32-bit numbers. */
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    if (length > INT64_MAX / 32) return at_fail(context, ATTN_OVERFLOW, "%zu bytes of text", length);
    int64_t code_room = *buffer_room / (int64_t)sizeof(utf8proc_int32_t);
    utf8proc_ssize_t count = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        count = utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length,
                                   (utf8proc_int32_t *)(void *)*buffer, code_room > 0 ? code_room - 1 : 0,
                                   options);
        if (count < 0) return ATTN_OK; /* not well-formed: left as it is */
        if (count < code_room) break;
        attn_status status = at_grow(context, buffer, buffer_room,
                                     (count + 1) * (int64_t)sizeof(utf8proc_int32_t), 1, "text in NFC");
        if (status != ATTN_OK) return status;
        code_room = *buffer_room / (int64_t)sizeof(utf8proc_int32_t);
    }
    utf8proc_ssize_t bytes = utf8proc_reencode((utf8proc_int32_t *)(void *)*buffer, count, options);
    if (bytes < 0) return ATTN_OK;
    *result = *buffer;
    *result_length = (size_t)bytes;
    return ATTN_OK;
}
