/* text.c: UTF-8 decoding, display width and escaping (see text.h). */
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Marks that stand on the character before them, and joiners. */
static const code_range zero_ranges[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},
    {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* What a terminal would obey rather than show: C0, DEL, C1, line and paragraph
 * separators, and the marks that turn the direction of what follows. */
static const code_range control_ranges[] = {
    {0x00, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff},
};

static bool in_ranges(uint32_t code, const code_range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    }
    return false;
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

/* One character in the form in which it is printed, and its width. */
typedef struct glyph {
    char bytes[TEXT_GLYPH];
    int width;
} glyph;

/* Reads one character from *text, moves *text past it. */
static glyph next_glyph(const char **text) {
    glyph result = {{0}, 1};
    uint32_t code = 0;
    size_t length = decode(*text, &code);
    if (length == 0) {
        result.width =
            snprintf(result.bytes, sizeof result.bytes, "\\x%02x", (unsigned)(unsigned char)**text);
        *text += 1;
        return result;
    }
    if (IN(code, control_ranges)) {
        const char *format = code < 0x100 ? "\\x%02x" : "\\u%04x";
        result.width = snprintf(result.bytes, sizeof result.bytes, format, (unsigned)code);
    } else {
        memcpy(result.bytes, *text, length);
        if (IN(code, wide_ranges)) result.width = 2;
        if (IN(code, zero_ranges)) result.width = 0;
    }
    *text += length;
    return result;
}

int text_glyph(const char **text, char bytes[TEXT_GLYPH]) {
    glyph one = next_glyph(text);
    memcpy(bytes, one.bytes, sizeof one.bytes);
    return one.width;
}

int text_width(const char *text) {
    int width = 0;
    while (*text != '\0') width += next_glyph(&text).width;
    return width;
}

void text_print(FILE *file, const char *text) {
    while (*text != '\0') fputs(next_glyph(&text).bytes, file);
}

static void print_spaces(FILE *file, int count) {
    for (int i = 0; i < count; i++) fputc(' ', file);
}

void text_print_left(FILE *file, const char *text, int width) {
    text_print(file, text);
    print_spaces(file, width - text_width(text));
}

void text_print_right(FILE *file, const char *text, int width) {
    print_spaces(file, width - text_width(text));
    text_print(file, text);
}

void text_print_json(FILE *file, const char *text) {
    fputc('"', file);
    while (*text != '\0') {
        uint32_t code = 0xfffd;
        size_t length = decode(text, &code);
        if (length == 0) {
            fputs("\\ufffd", file);
            text += 1;
            continue;
        }
        if (code == '"' || code == '\\') {
            fprintf(file, "\\%c", (char)code);
        } else if (IN(code, control_ranges)) {
            fprintf(file, "\\u%04x", (unsigned)code);
        } else {
            fwrite(text, 1, length, file);
        }
        text += length;
    }
    fputc('"', file);
}
