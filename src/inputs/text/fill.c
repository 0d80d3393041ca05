/* fill.c: predictions as added columns of tables and of tokens, and as added fields of objects; everything
 * else is copied byte for byte.
 *
 * An output NAME goes to a column or field predicted_NAME, its probability to probability_NAME; if the data
 * already has such a one, to predicted_NAME_2 and so on.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "inputs/table_fill.h"
#include "inputs/text/reader.h"
#include "inputs/text/text.h"

enum { NAME_BYTES = 300 };

/* ---- columns ---- */

/* A token a line. */
static void fill_columns(at_filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    for (int64_t e = 0; e < places->end_count; e++) {
        int64_t token = 0, tokens = work->cells->rows(work->cells, e);
        while (at < (size_t)places->ends[e]) {
            const char *feed = memchr(lines + at, '\n', (size_t)places->ends[e] - at);
            size_t next = feed ? (size_t)(feed - lines) + 1 : (size_t)places->ends[e];
            at_line line = {lines + at, at_without_end(lines + at, next - at), 0};
            size_t mark = at == 0 && line.length >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
            line.text += mark;
            line.length -= mark;
            at_put_lines(work->writer, lines + at, mark + line.length);
            if (!at_line_is_blank(&line) && token < tokens) at_fill_answers(work, e, token++);
            at_put_lines(work->writer, line.text + line.length, next - at - mark - line.length);
            if (!feed) at_put_char(work->writer, '\n');
            at = next;
        }
    }
    at_put_lines(work->writer, lines + at, length - at);
}

/* ---- objects ---- */

/* A name that no field of the object has, written as a key after a comma. */
static void put_key(at_filling *work, const json_t *object, const char *prefix, const char *name,
                    int *first) {
    char key[NAME_BYTES];
    snprintf(key, sizeof key, "%s%.200s", prefix, name);
    for (int n = 2; json_object_get(object, key) && n < 1000; n++)
        snprintf(key, sizeof key, "%s%.200s_%d", prefix, name, n);
    if (!*first) at_put_char(work->writer, ',');
    *first = 0;
    at_put_json(work->writer, key);
    at_put_char(work->writer, ':');
}

static void put_fields(at_filling *work, const json_t *object, int64_t example) {
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
static void fill_objects(at_filling *work, const char *lines, size_t length) {
    const at_placement *places = &work->dataset->placement;
    size_t at = 0;
    for (int64_t e = 0; e < places->end_count; e++) {
        size_t end = (size_t)places->ends[e], line = at + at_without_end(lines + at, end - at), brace = line,
               first;
        while (brace > at && lines[brace - 1] != '}') brace--;
        for (first = brace; first > at && lines[first - 1] != '\n';) first--;
        if (first == 0 && brace >= 3 && memcmp(lines, "\xef\xbb\xbf", 3) == 0) first = 3;
        json_t *object = json_loadb(lines + first, brace - first, 0, NULL);
        if (brace > at) brace--;
        at_put_lines(work->writer, lines + at, brace - at);
        put_fields(work, object, e);
        at_put_lines(work->writer, lines + brace, end - brace);
        if (line == end) at_put_char(work->writer, '\n');
        json_decref(object);
        at = end;
    }
    at_put_lines(work->writer, lines + at, length - at);
}

/* ---- all of them ---- */

attn_status at_text_fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                            size_t length, const at_cells *cells, at_writer *writer, int *filled) {
    const at_text_settings *own = settings;
    at_filling work = {.dataset = dataset,
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
        at_fill_table(&work, lines, length);
    else if (dataset->format == ATTN_FORMAT_COLUMNS && cells->per_row)
        fill_columns(&work, lines, length);
    else if (dataset->format == ATTN_FORMAT_JSONL)
        fill_objects(&work, lines, length);
    else
        *filled = 0;
    at_writer_free(&work.value);
    return writer->status;
}
