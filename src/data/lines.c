/* lines.c: names, columns by number, bytes that are no text. */
#include "data/lines.h"

#include <stdio.h>
#include <string.h>

#include "data/symbols/unicode.h"

/* ---- names ---- */

int at_clip(const char *text, size_t length, size_t limit) {
    if (length <= limit) return (int)length;
    while (limit > 0 && ((unsigned char)text[limit] & 0xc0) == 0x80) limit--;
    return (int)limit;
}

void at_trim(const char **text, size_t *length) {
    while (*length > 0 && (*text)[0] == ' ') {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ') (*length)--;
}

int at_same_name(const char *a, size_t a_length, const char *b, size_t b_length) {
    if (a_length != b_length) return 0;
    for (size_t i = 0; i < a_length; i++) {
        int x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x >= 'A' && x <= 'Z') x += 'a' - 'A';
        if (y >= 'A' && y <= 'Z') y += 'a' - 'A';
        if (x != y) return 0;
    }
    return 1;
}

int64_t at_column_number(const char *text, size_t length) {
    int64_t number = 0;
    if (length == 0 || length > 9) return 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

const char *at_name_end(const char *name, const char **before) {
    enum { LONGEST_NAME = 180 };
    size_t length = strlen(name);
    *before = "";
    if (length <= LONGEST_NAME) return name;
    *before = "...";
    name += length - LONGEST_NAME;
    while (((unsigned char)*name & 0xc0) == 0x80) name++;
    return name;
}

int at_name_ends(const char *name, const char *ending) {
    size_t length = strlen(name), ending_length = strlen(ending);
    if (length > 3 && at_same_name(name + length - 3, 3, ".gz", 3)) length -= 3;
    return length > ending_length &&
           at_same_name(name + length - ending_length, ending_length, ending, ending_length);
}

int at_is_id_name(const char *name, size_t length) {
    static const char *const names[] = {"id", "guid", "uid", "uuid", "sent_id", "doc_id", "text_id"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (at_same_name(names[i], strlen(names[i]), name, length)) return 1;
    return 0;
}

/* ---- what is no text ---- */

const char *at_not_text(const char *bytes, size_t count) {
    static const struct {
        size_t length;
        const char *bytes, *advice;
    } kinds[] = {
        {2, "\xff\xfe", "is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {2, "\xfe\xff", "is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {6,
         "\xfd"
         "7zXZ",
         "is compressed with xz: expand it (xz -d), or compress it with gzip"},
        {4, "\x28\xb5\x2f\xfd", "is compressed with zstd: expand it (zstd -d), or compress it with gzip"},
        {4, "BZh9", "is compressed with bzip2: expand it (bzip2 -d), or compress it with gzip"},
        {4, "PK\x03\x04", "is a zip archive: unpack it; a spreadsheet is to be saved as CSV"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (count >= kinds[i].length && memcmp(bytes, kinds[i].bytes, kinds[i].length) == 0)
            return kinds[i].advice;
    }
    /* Lines that CR alone ends, as they did on old Macs, would all be one line. */
    const char *cr = count ? memchr(bytes, '\r', count) : NULL;
    if (!cr || cr + 1 == bytes + count || memchr(bytes, '\n', count)) return NULL;
    return "has lines that end in CR alone: convert it (tr '\\r' '\\n' < OLD > NEW)";
}

int at_looks_binary(const char *bytes, size_t count) {
    enum { LOOKED_AT = 16 };
    if (count == 0 || at_is_gzip(bytes, count) || at_not_text(bytes, count)) return 0;
    return memchr(bytes, 0, count < LOOKED_AT ? count : LOOKED_AT) != NULL;
}

int at_is_text(const char *text, size_t length, int64_t *line, char *reason) {
    size_t place = at_unicode_check(text, length), begin = 0;
    if (place == length) return 1;
    for (size_t i = 0; i < place; i++) {
        if (text[i] == '\n') {
            begin = i + 1;
            ++*line;
        }
    }
    if (text[place] == 0)
        snprintf(reason, 160, "byte %zu is 0: this is not text", place - begin + 1);
    else
        snprintf(reason, 160, "byte %zu (0x%02x) is not UTF-8: convert the file with iconv",
                 place - begin + 1, (unsigned)(unsigned char)text[place]);
    return 0;
}

/* ---- labels ---- */

attn_status at_join_labels(attn_context *context, const char *text, size_t length, char separator,
                           at_bytes *joined) {
    attn_status status = ATTN_OK;
    const char *end = text + length;
    joined->count = 0;
    while (status == ATTN_OK && text < end) {
        const char *stop = memchr(text, separator, (size_t)(end - text)), *label = text;
        if (stop == NULL) stop = end;
        size_t label_length = (size_t)(stop - text);
        at_trim(&label, &label_length);
        if (label_length > 0 && joined->count > 0) status = at_bytes_append(context, joined, "\n", 1);
        if (status == ATTN_OK) status = at_bytes_append(context, joined, label, label_length);
        text = stop < end ? stop + 1 : end;
    }
    return status;
}

/* ---- writing ---- */

void at_put_raw(at_writer *writer, const char *text, size_t length) {
    if (!writer->terminal) {
        at_put(writer, text, length);
        return;
    }
    for (size_t i = 0; i < length;) {
        char part[128];
        int taken = at_clip(text + i, length - i, sizeof part - 1);
        memcpy(part, text + i, (size_t)taken);
        part[taken] = 0;
        at_put_text(writer, part);
        i += (size_t)taken;
    }
}
