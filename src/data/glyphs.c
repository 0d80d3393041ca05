/* glyphs.c: UTF-8 decoding, display width and escaping (see attn/text.h). */
#include <attn/text.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

typedef struct code_range {
    uint32_t first, last;
} code_range;

/* East Asian Wide and Fullwidth, and the emoji that terminals draw wide. */
static const code_range wide_ranges[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
    {0x20000, 0x2fffd}, {0x30000, 0x3fffd},
};

/* Marks that are on the character before them, and joiners. */
static const code_range zero_ranges[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},
    {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* What a terminal would obey rather than show: C0, DEL, C1, line and paragraph
 * separators, and the marks that turn the direction of what follows. */
static const code_range control_ranges[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff},
};

static bool in_ranges(uint32_t code, const code_range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    }
    return false;
}

/* Marks of all scripts: vowels of Hebrew, Arabic, Devanagari, Thai, accents. */
static bool is_mark(uint32_t code) {
    if (code < 0x300) return false;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

#define IN(code, ranges) in_ranges((code), (ranges), sizeof(ranges) / sizeof((ranges)[0]))

/* Decodes the character at `bytes` (not at the end of the text) and returns
 * how many bytes it has; 0 if they are not UTF-8 (too short, overlong, a
 * surrogate, beyond U+10FFFF). */
static size_t decode(const char *bytes, uint32_t *code) {
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)bytes[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xf0 && lead < 0xf8 ? 4
                    : lead >= 0xe0                ? 3
                    : lead >= 0xc0                ? 2
                                                  : 0;
    if (length == 0 || lead >= 0xf8) return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xc0) != 0x80) return 0;
        value = value << 6 | (next & 0x3fu);
    }
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
    *code = value;
    return length;
}

int attn_text_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]) {
    if (!text || !*text || !shown) return 0;
    uint32_t code = 0;
    size_t length = decode(*text, &code);
    if (length == 0) {
        int width = snprintf(shown, ATTN_GLYPH_BYTES, "\\x%02x", (unsigned)(unsigned char)**text);
        *text += 1;
        return width;
    }
    const char *bytes = *text;
    *text += length;
    if (IN(code, control_ranges))
        return snprintf(shown, ATTN_GLYPH_BYTES, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    memcpy(shown, bytes, length);
    shown[length] = 0;
    return IN(code, zero_ranges) || is_mark(code) ? 0 : IN(code, wide_ranges) ? 2 : 1;
}

int attn_text_json_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]) {
    if (!text || !*text || !shown) return 0;
    uint32_t code = 0xfffd;
    size_t length = decode(*text, &code);
    const char *bytes = *text;
    *text += length ? length : 1;
    if (length == 0) return snprintf(shown, ATTN_GLYPH_BYTES, "\\ufffd");
    if (code == '"' || code == '\\') return snprintf(shown, ATTN_GLYPH_BYTES, "\\%c", (char)code);
    if (IN(code, control_ranges)) return snprintf(shown, ATTN_GLYPH_BYTES, "\\u%04x", (unsigned)code);
    memcpy(shown, bytes, length);
    shown[length] = 0;
    return (int)length;
}

int attn_text_cells(const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    int width = 0;
    while (text && *text) width += attn_text_glyph(&text, shown);
    return width;
}
