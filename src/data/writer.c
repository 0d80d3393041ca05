/* writer.c: text that grows in memory. */
#include "data/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <attn/text.h>

#include "base/memory.h"

void at_put(at_writer *writer, const char *text, size_t length) {
    if (writer->status != ATTN_OK) return;
    writer->status = at_grow(writer->context, &writer->bytes, &writer->room,
                             writer->count + (int64_t)length + 1, 1, "text to be written");
    if (writer->status != ATTN_OK) return;
    if (length) memcpy(writer->bytes + writer->count, text, length);
    writer->count += (int64_t)length;
    writer->bytes[writer->count] = 0;
}

void at_put_char(at_writer *writer, char byte) { at_put(writer, &byte, 1); }

void at_print(at_writer *writer, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < (int)sizeof text) {
        at_put(writer, text, (size_t)length);
        return;
    }
    if (writer->status != ATTN_OK) return;
    writer->status = at_grow(writer->context, &writer->bytes, &writer->room, writer->count + length + 1, 1,
                             "text to be written");
    if (writer->status != ATTN_OK) return;
    va_start(arguments, format);
    vsnprintf(writer->bytes + writer->count, (size_t)length + 1, format, arguments);
    va_end(arguments);
    writer->count += length;
}

void at_put_text(at_writer *writer, const char *text) {
    if (writer->terminal) {
        char shown[ATTN_GLYPH_BYTES];
        while (*text) {
            attn_text_glyph(&text, shown);
            at_put(writer, shown, strlen(shown));
        }
        return;
    }
    for (;;) { /* a label from a quoted field of CSV may hold anything */
        size_t length = strcspn(text, "\t\n\r");
        at_put(writer, text, length);
        if (!text[length]) return;
        at_print(writer, "\\x%02x", (unsigned)text[length]);
        text += length + 1;
    }
}

void at_put_json(at_writer *writer, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    at_put_char(writer, '"');
    while (*text) {
        int length = attn_text_json_glyph(&text, shown);
        at_put(writer, shown, (size_t)length);
    }
    at_put_char(writer, '"');
}

void at_put_number(at_writer *writer, double number, int digits) {
    if (isfinite(number))
        at_print(writer, "%.*g", digits, number);
    else
        at_put(writer, "null", 4);
}

void at_writer_free(at_writer *writer) {
    at_release(writer->context, writer->bytes);
    writer->bytes = NULL;
    writer->count = writer->room = 0;
}
