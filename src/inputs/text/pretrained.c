/* vectors.c: pretrained vectors of words, from a text file.
 *
 * Files of vectors have gigabytes, and of most the first part is all that is wanted: they are read piece by
 * piece, and lines are taken from what has been read. Numbers are parsed here, because strtof does what the
 * locale says.
 */
#define _POSIX_C_SOURCE 200809L

#include "inputs/text/pretrained.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"

enum { PIECE = 1 << 17, LONGEST_LINE = 1 << 23 };

typedef struct vector_reader {
    attn_context *context;
    const char *name;
    int64_t limit, line;
    int64_t promised; /* vectors, by the first line; -1: it does not say */
    int64_t columns;  /* 0: not known yet */
    at_strings words;
    float *numbers;
    int64_t number_count, number_room;
    char *composed; /* for NFC */
    int64_t composed_room;
} vector_reader;

static attn_status fail(vector_reader *reader, const char *what) {
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s:%" PRId64 ": %s", reader->name, reader->line,
                   what);
}

static int is_separator(char c) { return c == ' ' || c == '\t'; }

/* The field at `place` of a line and what follows it. */
static size_t field_end(const char *line, size_t length, size_t place) {
    while (place < length && !is_separator(line[place])) place++;
    return place;
}

static size_t field_begin(const char *line, size_t length, size_t place) {
    while (place < length && is_separator(line[place])) place++;
    return place;
}

/* 10 to the power of an exponent, by squares; infinite or 0 out of range. Exact up to 10^22. */
static double power_of_ten(int exponent) {
    double power = 1, square = 10;
    for (; exponent; exponent >>= 1, square *= square) {
        if (exponent & 1) power *= square;
    }
    return power;
}

/* A decimal number: [+-] digits [. digits] [e [+-] digits], one digit at least. 0 if it is none. */
static int parse_number(const char *text, size_t length, float *number) {
    size_t i = 0;
    int negative = length && text[0] == '-', digits = 0, point = 0;
    int64_t exponent = 0;
    uint64_t mantissa = 0;
    if (length && (text[0] == '-' || text[0] == '+')) i++;
    for (; i < length; i++) {
        if (text[i] == '.' && !point) {
            point = 1;
            continue;
        }
        if (text[i] < '0' || text[i] > '9') break;
        digits = 1;
        if (mantissa < UINT64_MAX / 10 - 1) {
            mantissa = 10 * mantissa + (uint64_t)(text[i] - '0');
            exponent -= point;
        } else {
            exponent += !point; /* digits that no float can tell */
        }
    }
    if (!digits) return 0;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        int64_t sign = 1, written = 0;
        i++;
        if (i < length && (text[i] == '-' || text[i] == '+')) sign = text[i++] == '-' ? -1 : 1;
        if (i == length) return 0;
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
            if (written < 100000) written = 10 * written + (text[i] - '0');
        }
        exponent += sign * written;
    }
    if (i != length) return 0;
    double value = (double)mantissa;
    if (mantissa) { /* in two steps, since 10^exponent alone may be out of range */
        int steps = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : (int)exponent;
        if (steps < 0) {
            value = value / power_of_ten(-steps / 2) / power_of_ten(-steps - -steps / 2);
        } else {
            value = value * power_of_ten(steps / 2) * power_of_ten(steps - steps / 2);
        }
    }
    *number = (float)(negative ? -value : value);
    return 1;
}

static attn_status fail_at_number(vector_reader *reader, const char *text, size_t length, int64_t column) {
    char shown[25];
    snprintf(shown, sizeof shown, "%.*s", length < 24 ? (int)length : 24, text);
    for (char *c = shown; *c; c++) {
        if (*c < ' ' || *c > '~') *c = '?'; /* it may be no text at all */
    }
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                   "%s:%" PRId64 ": column %" PRId64 ", \"%s\", is not a finite number of single precision",
                   reader->name, reader->line, column, shown);
}

/* "count columns", both whole numbers. */
static int parse_header(const char *line, size_t length, int64_t *count, int64_t *columns) {
    int64_t values[2] = {0, 0};
    size_t place = 0;
    for (int i = 0; i < 2; i++) {
        size_t end = field_end(line, length, place);
        if (end == place || end - place > 15) return 0;
        for (; place < end; place++) {
            if (line[place] < '0' || line[place] > '9') return 0;
            values[i] = 10 * values[i] + (line[place] - '0');
        }
        place = field_begin(line, length, place);
    }
    if (place != length) return 0;
    *count = values[0];
    *columns = values[1];
    return 1;
}

static attn_status add_numbers(vector_reader *reader, const char *line, size_t length, size_t place) {
    int64_t found = 0;
    while ((place = field_begin(line, length, place)) < length) {
        size_t end = field_end(line, length, place);
        attn_status status = at_grow(reader->context, &reader->numbers, &reader->number_room,
                                     reader->number_count + found + 1, sizeof *reader->numbers, "vectors");
        if (status != ATTN_OK) return status;
        float *number = &reader->numbers[reader->number_count + found];
        if (!parse_number(line + place, end - place, number) || !isfinite(*number)) {
            return fail_at_number(reader, line + place, end - place, found + 2);
        }
        found++;
        place = end;
    }
    if (!reader->columns) {
        if (!found) return fail(reader, "a word without numbers");
        reader->columns = found;
    }
    if (found != reader->columns) {
        return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                       "%s:%" PRId64 ": %" PRId64
                       " numbers after the word, where the lines before have %" PRId64,
                       reader->name, reader->line, found, reader->columns);
    }
    reader->number_count += found;
    return ATTN_OK;
}

/* One line, without its end. */
static attn_status add_line(vector_reader *reader, const char *line, size_t length) {
    reader->line++;
    if (reader->line == 1 && length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        length -= 3;
    }
    while (length && (is_separator(line[length - 1]) || line[length - 1] == '\r')) length--;
    if (!length) return ATTN_OK;
    if (reader->line == 1 && parse_header(line, length, &reader->promised, &reader->columns)) {
        return reader->columns ? ATTN_OK : fail(reader, "vectors of 0 numbers");
    }
    size_t end = field_end(line, length, 0);
    if (!end) return fail(reader, "begins with a separator, and so has no word");
    if (at_unicode_check(line, end) != end) return fail(reader, "the word is not UTF-8");
    attn_status status = add_numbers(reader, line, length, end);
    if (status != ATTN_OK) return status;
    const char *word;
    size_t word_length;
    status = at_unicode_nfc(reader->context, line, end, &reader->composed, &reader->composed_room, &word,
                            &word_length);
    if (status != ATTN_OK) return status;
    return at_strings_add(reader->context, &reader->words, word, word_length);
}

static int has_enough(const vector_reader *reader) {
    return reader->limit > 0 && reader->words.count >= reader->limit;
}

/* Takes the whole lines of `bytes`; *used says how many bytes they have. `last`: what follows them is a line
 * too. */
static attn_status add_lines(vector_reader *reader, const char *bytes, size_t count, int last, size_t *used) {
    size_t place = 0;
    attn_status status = ATTN_OK;
    while (status == ATTN_OK && place < count && !has_enough(reader)) {
        const char *end = memchr(bytes + place, '\n', count - place);
        if (!end && !last) break;
        size_t length = end ? (size_t)(end - bytes) - place : count - place;
        status = add_line(reader, bytes + place, length);
        place += length + (end ? 1 : 0);
    }
    *used = place;
    return status;
}

static attn_status read_pieces(vector_reader *reader, gzFile file, char **buffer, int64_t *room) {
    size_t held = 0, used;
    for (;;) {
        if (held > LONGEST_LINE) {
            reader->line++;
            return fail(reader, "a line of more than 8 MiB: this is not a file of vectors");
        }
        attn_status status = at_grow(reader->context, buffer, room, (int64_t)held + PIECE, 1,
                                     "the lines of a file of vectors");
        if (status != ATTN_OK) return status;
        errno = 0;
        int got = gzread(file, *buffer + held, PIECE);
        int problem = Z_OK;
        if (got <= 0) gzerror(file, &problem);
        if (got < 0 && problem == Z_ERRNO)
            return at_fail_system(reader->context, reader->name, "read", errno);
        if (problem != Z_OK && problem != Z_STREAM_END) {
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "%s: the gzip data are damaged or cut off after line %" PRId64, reader->name,
                           reader->line);
        }
        held += got > 0 ? (size_t)got : 0;
        status = add_lines(reader, *buffer, held, got == 0, &used);
        if (status != ATTN_OK || got == 0 || has_enough(reader)) return status;
        held -= used;
        memmove(*buffer, *buffer + used, held);
    }
}

/* Opened by descriptor, so that a folder is recognised and says so. */
static attn_status read_file(vector_reader *reader) {
    int descriptor = open(reader->name, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return at_fail_system(reader->context, reader->name, "read", errno);
    struct stat about;
    if (fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode)) {
        close(descriptor);
        return at_fail_system(reader->context, reader->name, "read", EISDIR);
    }
    gzFile file = gzdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return at_fail(reader->context, ATTN_OUT_OF_MEMORY, "no memory to read %s", reader->name);
    }
    gzbuffer(file, PIECE);
    char *buffer = NULL;
    int64_t room = 0;
    attn_status status = read_pieces(reader, file, &buffer, &room);
    at_release(reader->context, buffer);
    gzclose(file);
    return status;
}

/* Hands over what was read, or frees it. */
static attn_status finish(vector_reader *reader, attn_status status, at_strings *words, float **numbers,
                          int64_t *columns) {
    attn_context *context = reader->context;
    int64_t count = reader->words.count;
    if (status == ATTN_OK && !count) {
        status = at_fail(context, ATTN_INVALID_ARGUMENT, "%s: has no vectors", reader->name);
    }
    int short_of = reader->promised >= 0 && !has_enough(reader) && count < reader->promised;
    if (status == ATTN_OK && (short_of || (reader->promised >= 0 && count > reader->promised))) {
        status = at_fail(context, ATTN_INVALID_ARGUMENT,
                         "%s: has %" PRId64 "%s vectors, but its first line says %" PRId64, reader->name,
                         count, short_of ? "" : " or more", reader->promised);
    }
    at_release(context, reader->composed);
    if (status != ATTN_OK) {
        at_strings_free(context, &reader->words);
        at_release(context, reader->numbers);
        return status;
    }
    *words = reader->words;
    *numbers = reader->numbers;
    *columns = reader->columns;
    return ATTN_OK;
}

attn_status at_vectors_read(attn_context *context, const char *path, int64_t limit, at_strings *words,
                            float **numbers, int64_t *columns) {
    vector_reader reader = {.context = context, .name = path, .limit = limit, .promised = -1};
    return finish(&reader, read_file(&reader), words, numbers, columns);
}

attn_status at_vectors_parse(attn_context *context, const char *name, const char *bytes, size_t count,
                             int64_t limit, at_strings *words, float **numbers, int64_t *columns) {
    vector_reader reader = {.context = context, .name = name, .limit = limit, .promised = -1};
    size_t used;
    return finish(&reader, add_lines(&reader, bytes, count, 1, &used), words, numbers, columns);
}
