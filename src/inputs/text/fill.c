/* fill.c: answers as added columns of tables and of tokens, and as added fields of objects; everything else
 * byte for byte as it was.
 *
 * An output NAME goes to a column or field predicted_NAME, its probability to probability_NAME; where the
 * data has such a one already, to predicted_NAME_2 and so on.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "inputs/text/reader.h"
#include "inputs/text/text.h"

enum { NAME_BYTES = 300 };

typedef struct filling {
    const attn_dataset *dataset;
    const at_cells *cells;
    at_writer *writer;
    at_writer value; /* one cell, before it is quoted */
} filling;

/* ---- text of the file ---- */

/* Lines of the file: TABs and line ends stay also on a terminal. */
static void put_lines(at_writer *writer, const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        const char *stop = text;
        while (stop < end && *stop != '\t' && *stop != '\n' && *stop != '\r') stop++;
        at_put_raw(writer, text, (size_t)(stop - text));
        if (stop < end) at_put_char(writer, *stop++);
        text = stop;
    }
}

/* Where the last line of some lines ends: before its LF or CRLF. */
static size_t without_end(const char *text, size_t length) {
    if (length > 0 && text[length - 1] == '\n') length--;
    if (length > 0 && text[length - 1] == '\r') length--;
    return length;
}

/* Puts the cell in work->value after a delimiter, quoted if need be. */
static void put_cell(filling *work) {
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

static void put_answers(filling *work, int64_t example, int64_t row) {
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

static void put_header(filling *work, const char *header, size_t length) {
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

/* A row an example; before it perhaps the header and blank lines. */
static void fill_table(filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    if (places->header > 0 && places->header <= length) {
        size_t header = without_end(lines, places->header), skip = 0;
        if (header >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0) skip = 3;
        at_put(work->writer, lines, skip);
        put_lines(work->writer, lines + skip, header - skip);
        put_header(work, lines + skip, header - skip);
        put_lines(work->writer, lines + header, places->header - header);
        if (header == places->header) at_put_char(work->writer, '\n');
        at = places->header;
    }
    for (int64_t e = 0; e < places->end_count; e++) {
        size_t end = (size_t)places->ends[e], row = at + without_end(lines + at, end - at);
        put_lines(work->writer, lines + at, row - at);
        put_answers(work, e, 0);
        if (row == end) at_put_char(work->writer, '\n');
        put_lines(work->writer, lines + row, end - row);
        at = end;
    }
    put_lines(work->writer, lines + at, length - at);
}

/* A token a line. */
static void fill_columns(filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    for (int64_t e = 0; e < places->end_count; e++) {
        int64_t token = 0, tokens = work->cells->rows(work->cells, e);
        while (at < (size_t)places->ends[e]) {
            const char *feed = memchr(lines + at, '\n', (size_t)places->ends[e] - at);
            size_t next = feed ? (size_t)(feed - lines) + 1 : (size_t)places->ends[e];
            at_line line = {lines + at, without_end(lines + at, next - at), 0};
            size_t mark = at == 0 && line.length >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
            line.text += mark;
            line.length -= mark;
            put_lines(work->writer, lines + at, mark + line.length);
            if (!at_line_is_blank(&line) && token < tokens) put_answers(work, e, token++);
            put_lines(work->writer, line.text + line.length, next - at - mark - line.length);
            if (!feed) at_put_char(work->writer, '\n');
            at = next;
        }
    }
    put_lines(work->writer, lines + at, length - at);
}

/* ---- objects ---- */

/* A name that no field of the object has, written as a key after a comma. */
static void put_key(filling *work, const json_t *object, const char *prefix, const char *name, int *first) {
    char key[NAME_BYTES];
    snprintf(key, sizeof key, "%s%.200s", prefix, name);
    for (int n = 2; json_object_get(object, key) && n < 1000; n++)
        snprintf(key, sizeof key, "%s%.200s_%d", prefix, name, n);
    if (!*first) at_put_char(work->writer, ',');
    *first = 0;
    at_put_json(work->writer, key);
    at_put_char(work->writer, ':');
}

static void put_fields(filling *work, const json_t *object, int64_t example) {
    const at_cells *cells = work->cells;
    at_writer *writer = work->writer;
    int first = json_object_size(object) == 0;
    int64_t before = writer->count;
    if (cells->per_row && !work->dataset->per_row) {
        put_key(work, object, "predicted_", "words", &first);
        if (cells->put_json_pieces(cells, example, writer)) return;
        writer->count = before;
        first = json_object_size(object) == 0;
        put_key(work, object, "", "tokens", &first);
        cells->put_json_rows(cells, example, writer);
    }
    for (int o = 0; o < cells->outputs; o++) {
        put_key(work, object, "predicted_", cells->name(cells, o), &first);
        cells->put_json(cells, o, example, writer);
        before = writer->count;
        int alone = first;
        put_key(work, object, "probability_", cells->name(cells, o), &first);
        if (cells->put_json_probability(cells, o, example, writer)) continue;
        writer->count = before;
        first = alone;
    }
}

/* An object a line; blank lines between stay. */
static void fill_objects(filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    for (int64_t e = 0; e < places->end_count; e++) {
        size_t end = (size_t)places->ends[e], line = at + without_end(lines + at, end - at), brace = line,
               first;
        while (brace > at && lines[brace - 1] != '}') brace--;
        for (first = brace; first > at && lines[first - 1] != '\n';) first--;
        if (first == 0 && brace >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0) first = 3;
        json_t *object = json_loadb(lines + first, brace - first, 0, NULL);
        if (brace > at) brace--;
        put_lines(work->writer, lines + at, brace - at);
        put_fields(work, object, e);
        put_lines(work->writer, lines + brace, end - brace);
        if (line == end) at_put_char(work->writer, '\n');
        json_decref(object);
        at = end;
    }
    put_lines(work->writer, lines + at, length - at);
}

/* ---- all of them ---- */

attn_status at_text_fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                            size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    const at_text_settings *own = settings;
    filling work = {.dataset = dataset,
                    .cells = cells,
                    .writer = writer,
                    .value = {.context = writer->context, .terminal = writer->terminal}};
    *filled = 0;
    if (at_texts_of(dataset)->split && !(own && own->conllu)) return ATTN_OK; /* it was given as raw text */
    if (cells->nested && dataset->format != ATTN_FORMAT_JSONL) return ATTN_OK;
    if (cells->parts && dataset->format != ATTN_FORMAT_JSONL) return ATTN_OK;
    if (dataset->format == ATTN_FORMAT_CONLLU)
        return at_conllu_fill(dataset, lines, length, cells, writer, filled);
    const at_placement *places = &dataset->placement;
    if (!lines || places->end_count != dataset->examples) return ATTN_OK;
    if (places->end_count > 0 && (size_t)places->ends[places->end_count - 1] > length) return ATTN_OK;
    *filled = 1;
    if (dataset->format == ATTN_FORMAT_TABLE && !cells->per_row)
        fill_table(&work, lines, length);
    else if (dataset->format == ATTN_FORMAT_COLUMNS && cells->per_row)
        fill_columns(&work, lines, length);
    else if (dataset->format == ATTN_FORMAT_JSONL)
        fill_objects(&work, lines, length);
    else
        *filled = 0;
    at_writer_free(&work.value);
    return writer->status;
}
