/* lines.c: lines, their fields, and numbers in them. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/graph/parse.h"

/* ---- lines ---- */

at_graph_lines at_graph_begin(const at_graph_reader *reader, const at_graph_file *file, int64_t first_line) {
    at_graph_lines lines = {.origin = at_graph_origin(reader, file->name),
                            .begin = file->bytes,
                            .next = file->bytes,
                            .end = file->bytes + file->count,
                            .line = first_line - 1};
    if (file->count >= 3 && memcmp(file->bytes, "\xef\xbb\xbf", 3) == 0) lines.next += 3;
    return lines;
}

int at_graph_line(at_graph_lines *lines, const char **text, size_t *length) {
    if (lines->next >= lines->end) return 0;
    size_t left = (size_t)(lines->end - lines->next);
    const char *feed = memchr(lines->next, '\n', left);
    *text = lines->begin = lines->next;
    *length = feed ? (size_t)(feed - lines->next) : left;
    lines->next = feed ? feed + 1 : lines->end;
    lines->line++;
    if (*length > 0 && (*text)[*length - 1] == '\r') --*length;
    return 1;
}

int at_graph_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t') return 0;
    return 1;
}

int64_t at_graph_count_lines(const at_graph_file *file) {
    const char *at = file->bytes, *end = at + file->count;
    int64_t count = 0;
    for (; at < end; count++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed ? feed + 1 : end;
    }
    return count;
}

/* ---- fields ---- */

static attn_status add_field(attn_context *context, const char *text, size_t length,
                             at_graph_fields *fields) {
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    if (fields->count == fields->room) {
        attn_status status = at_grow(context, &fields->list, &fields->room, fields->count + 1,
                                     sizeof *fields->list, "the fields of a line");
        if (status != ATTN_OK) return status;
    }
    fields->list[fields->count++] = (at_graph_field){text, length};
    return ATTN_OK;
}

static attn_status split_at_spaces(attn_context *context, const char *at, const char *end,
                                   at_graph_fields *fields) {
    attn_status status = ATTN_OK;
    while (status == ATTN_OK) {
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (at == end) break;
        const char *begin = at;
        while (at < end && *at != ' ' && *at != '\t') at++;
        status = add_field(context, begin, (size_t)(at - begin), fields);
    }
    return status;
}

attn_status at_graph_split(attn_context *context, const char *text, size_t length, char delimiter,
                           at_graph_fields *fields) {
    const char *end = text + length;
    fields->count = 0;
    if (delimiter == ' ') return split_at_spaces(context, text, end, fields);
    for (;;) {
        const char *stop = memchr(text, delimiter, (size_t)(end - text));
        attn_status status = add_field(context, text, (size_t)((stop ? stop : end) - text), fields);
        if (status != ATTN_OK || !stop) return status;
        text = stop + 1;
    }
}

int at_graph_same(const char *a, size_t length, const char *b) {
    if (strlen(b) != length) return 0;
    for (size_t i = 0; i < length; i++) {
        int x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x >= 'A' && x <= 'Z') x += 'a' - 'A';
        if (y >= 'A' && y <= 'Z') y += 'a' - 'A';
        if (x != y) return 0;
    }
    return 1;
}

/* ---- numbers ---- */

int64_t at_graph_integer(const char *text, size_t length) {
    int64_t value = 0;
    if (length == 0 || length > 18) return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* Numbers of the form -12.25 with at most 15 digits, which are most: a whole number and a power of ten are
 * both exact, and so the quotient is rounded once, as strtod would. 0: it is of another form. */
static int quick(const char *at, const char *end, double *value) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int negative = at < end && *at == '-', digits = 0, behind = 0, dot = 0;
    int64_t whole = 0;
    for (at += negative; at < end; at++) {
        if (*at == '.' && !dot) {
            dot = 1;
            continue;
        }
        if (*at < '0' || *at > '9' || ++digits > 15) return 0;
        whole = whole * 10 + (*at - '0');
        behind += dot;
    }
    if (digits == 0) return 0;
    *value = (double)whole / powers[behind];
    if (negative) *value = -*value;
    return 1;
}

static int slow(const char *text, size_t length, double *value) {
    char copy[400], *end;
    if (length == 0 || length >= sizeof copy) return 0;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (strspn(copy, "0123456789+-.eE") != length) return 0;
    *value = strtod(copy, &end);
    return *end == 0;
}

int at_graph_number(const char *text, size_t length, float *number) {
    double value;
    if (!quick(text, text + length, &value) && !slow(text, length, &value)) return 0;
    if (!(fabs(value) <= (double)FLT_MAX)) return -1;
    *number = (float)value;
    return 1;
}

/* ---- bad lines ---- */

attn_status at_graph_bad(at_graph_reader *reader, const at_graph_lines *lines, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    attn_status status = at_origin_fail_list(&lines->origin, NULL, lines->line, format, arguments);
    va_end(arguments);
    reader->bad = 1;
    return status;
}

attn_status at_graph_settle(at_graph_reader *reader, attn_status status) {
    attn_dataset *dataset = reader->dataset;
    int bad = reader->bad;
    reader->bad = 0;
    if (status == ATTN_OK || !bad || !reader->options->skip_bad) return status;
    dataset->skipped++;
    if (dataset->problems.count >= AT_PROBLEMS) return ATTN_OK;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

attn_status at_graph_bad_number(at_graph_reader *reader, const at_graph_lines *lines, const char *what,
                                const at_graph_field *field, int result) {
    if (field->length == 0)
        return at_graph_bad(reader, lines, "%.80s is empty: every node (edge) has a number there", what);
    return at_graph_bad(reader, lines, "%.80s is \"%.*s\", which is %s", what,
                        (int)(field->length < 40 ? field->length : 40), field->text,
                        result < 0 ? "too large for 32 bits: scale it" : "not a finite number");
}
