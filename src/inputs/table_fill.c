/* table_fill.c: predictions as added columns of a table. */
#include "inputs/table_fill.h"

#include <stdio.h>
#include <string.h>

#include "data/lines.h"

enum { NAME_BYTES = 300 };

/* ---- text of the file ---- */

void at_put_lines(at_writer *writer, const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        const char *stop = text;
        while (stop < end && *stop != '\t' && *stop != '\n' && *stop != '\r') stop++;
        at_put_raw(writer, text, (size_t)(stop - text));
        if (stop < end) at_put_char(writer, *stop++);
        text = stop;
    }
}

size_t at_without_end(const char *text, size_t length) {
    if (length > 0 && text[length - 1] == '\n') length--;
    if (length > 0 && text[length - 1] == '\r') length--;
    return length;
}

/* Puts the cell in work->value after a delimiter, quoted if need be. */
static void put_cell(at_filling *work) {
    at_writer *writer = work->writer, *value = &work->value;
    char delimiter = work->dataset->placement.delimiter;
    const char *text = value->count ? value->bytes : "";
    char special[] = {'"', '\n', '\r', delimiter, 0};
    if (value->status != ATTN_OK) writer->status = value->status;
    at_put_char(writer, delimiter);
    if (delimiter == '\t' || delimiter == ' ' || !text[strcspn(text, special)]) {
        at_put(writer, text, strlen(text));
    } else {
        at_put_char(writer, '"');
        for (; *text; text++) {
            if (*text == '"') at_put_char(writer, '"');
            at_put_char(writer, *text);
        }
        at_put_char(writer, '"');
    }
    value->count = 0;
}

/* ---- columns ---- */

void at_fill_answers(at_filling *work, int64_t example, int64_t row) {
    const at_cells *cells = work->cells;
    for (int o = 0; o < cells->outputs; o++) {
        cells->put(cells, o, example, row, &work->value);
        if (work->value.count == 0 && cells->per_row) at_put_char(&work->value, '_');
        put_cell(work);
        if (!cells->likely(cells, o)) continue;
        cells->put_probability(cells, o, example, row, &work->value);
        put_cell(work);
    }
}

/* Whether a field of the header is `name`. */
static int is_column(const char *header, size_t length, char delimiter, const char *name) {
    const char *end = header + length;
    for (;;) {
        const char *stop = memchr(header, delimiter, (size_t)(end - header)), *field = header;
        size_t field_length = (size_t)((stop ? stop : end) - header);
        at_trim(&field, &field_length);
        if (field_length >= 2 && field[0] == '"' && field[field_length - 1] == '"') {
            field++;
            field_length -= 2;
        }
        if (at_same_name(field, field_length, name, strlen(name))) return 1;
        if (!stop) return 0;
        header = stop + 1;
    }
}

static void put_header(at_filling *work, const char *header, size_t length) {
    static const char *const prefixes[] = {"predicted_", "probability_"};
    const at_cells *cells = work->cells;
    for (int o = 0; o < cells->outputs; o++) {
        for (int p = 0; p < (cells->likely(cells, o) ? 2 : 1); p++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "%s%.200s", prefixes[p], cells->name(cells, o));
            for (int n = 2; is_column(header, length, work->dataset->placement.delimiter, name) && n < 1000;
                 n++)
                snprintf(name, sizeof name, "%s%.200s_%d", prefixes[p], cells->name(cells, o), n);
            at_put_text(&work->value, name);
            put_cell(work);
        }
    }
}

void at_fill_table(at_filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    if (places->header > 0 && places->header <= length) {
        size_t header = at_without_end(lines, places->header), skip = 0;
        if (header >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0) skip = 3;
        at_put(work->writer, lines, skip);
        at_put_lines(work->writer, lines + skip, header - skip);
        put_header(work, lines + skip, header - skip);
        at_put_lines(work->writer, lines + header, places->header - header);
        if (header == places->header) at_put_char(work->writer, '\n');
        at = places->header;
    }
    for (int64_t e = 0; e < places->end_count; e++) {
        size_t end = (size_t)places->ends[e], row = at + at_without_end(lines + at, end - at);
        at_put_lines(work->writer, lines + at, row - at);
        at_fill_answers(work, e, 0);
        if (row == end) at_put_char(work->writer, '\n');
        at_put_lines(work->writer, lines + row, end - row);
        at = end;
    }
    at_put_lines(work->writer, lines + at, length - at);
}
