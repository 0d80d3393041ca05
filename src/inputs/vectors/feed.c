/* feed.c: a sequence of vectors that arrives in pieces: its last rows, and its predictions, one line per row.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/vectors/vectors.h"

typedef struct feed {
    at_feed feed;
    attn_context *context;
    const at_vectors_input *input;
    int64_t kept, first; /* rows that are kept, and the number of the first */
    at_vectors vectors;  /* their numbers */
    at_vectors_encoded encoded;
    int64_t offsets[2];
    int json;
} feed;

static feed *own(at_feed *given) { return (feed *)(void *)given; }

static const char *refuses(const at_input *input) {
    (void)input;
    return NULL; /* a row is what it is */
}

static int knows(const at_input *input, const char *path) {
    (void)input;
    (void)path;
    return 0; /* files are read as a whole */
}

static void shape(const at_input *input, at_feed_shape *found) {
    (void)input;
    *found = (at_feed_shape){.edge = 0}; /* rows have no times */
}

static void close_feed(at_feed *given) {
    feed *made = own(given);
    if (!made) return;
    at_release(made->context, made->vectors.numbers);
    at_strings_free(made->context, &made->encoded.names);
    at_release(made->context, made);
}

static attn_status open_feed(const at_input *input, attn_context *context, const at_feed_options *options,
                             at_feed **given) {
    if (options->path || options->rate)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a stream of input vectors takes rows of numbers, no file and no rate");
    feed *made = at_allocate(context, 1, sizeof *made, "a stream");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->input = at_vectors_input_of(input);
    made->json = options->json;
    made->vectors.columns = made->input->columns;
    made->encoded.vectors = &made->vectors;
    made->encoded.encoded = (at_encoded){.context = context, .examples = 1, .offsets = made->offsets};
    made->feed.encoded = &made->encoded.encoded;
    *given = &made->feed;
    return ATTN_OK;
}

static attn_status push(at_feed *given, const float *numbers, int64_t count, int last) {
    feed *into = own(given);
    int64_t columns = into->input->columns, used = into->kept * columns;
    if (count % columns)
        return at_fail(into->context, ATTN_INVALID_ARGUMENT,
                       "%" PRId64 " numbers are not whole rows of %" PRId64 " columns", count, columns);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return at_fail(into->context, ATTN_NOT_FINITE,
                           "row %" PRId64 ", column %" PRId64 " is not finite", given->rows + i / columns,
                           i % columns);
    attn_status status = at_grow(into->context, &into->vectors.numbers, &into->vectors.room, used + count,
                                 sizeof *numbers, "the rows of a stream");
    if (status != ATTN_OK) return status;
    if (count) memcpy(into->vectors.numbers + used, numbers, (size_t)count * sizeof *numbers);
    into->kept += count / columns;
    given->rows += count / columns;
    given->ended = last;
    return ATTN_OK;
}

static attn_status view(at_feed *given, int64_t first, int64_t end) {
    feed *from = own(given);
    int64_t columns = from->input->columns, drop = first - from->first;
    if (drop > 0) {
        from->kept -= drop;
        from->first = first;
        memmove(from->vectors.numbers, from->vectors.numbers + drop * columns,
                (size_t)(from->kept * columns) * sizeof *from->vectors.numbers);
    }
    given->first = first;
    from->vectors.rows = from->offsets[1] = from->encoded.encoded.rows = end - first;
    at_strings_clear(&from->encoded.names);
    return ATTN_OK;
}

/* Its number in the sequence, made when it is requested. */
static const char *row_name(const at_encoded *encoded, int64_t row) {
    at_vectors_encoded *made = (at_vectors_encoded *)(uintptr_t)encoded;
    const feed *from = (const feed *)(const void *)((const char *)made - offsetof(feed, encoded));
    for (int64_t i = made->names.count; i <= row; i++) {
        char name[24];
        int length = snprintf(name, sizeof name, "%" PRId64, from->feed.first + i);
        if (at_strings_add(from->context, &made->names, name, (size_t)length) != ATTN_OK) return "";
    }
    return at_string(&made->names, row);
}

/* row TAB answer [TAB probability] ..., or {"row":, "outputs":{NAME:answer, ...}}. */
static void write_row(const feed *from, const at_cells *cells, int64_t unit, at_writer *writer) {
    at_writer answer = {.context = from->context, .terminal = writer->terminal};
    at_print(writer, from->json ? "{\"row\":%" PRId64 ",\"outputs\":{" : "%" PRId64, from->feed.first + unit);
    for (int o = 0; o < cells->outputs; o++) {
        int likely = cells->likely(cells, o);
        if (!from->json) {
            at_put_char(writer, '\t');
            cells->put(cells, o, 0, unit, writer);
            if (likely) at_print(writer, "\t%.4f", cells->probability(cells, o, 0, unit));
            continue;
        }
        if (o > 0) at_put_char(writer, ',');
        at_put_json(writer, cells->name(cells, o));
        at_put_char(writer, ':');
        answer.count = 0;
        at_put(&answer, "", 0);
        cells->put(cells, o, 0, unit, &answer);
        if (answer.status != ATTN_OK) writer->status = answer.status;
        at_put_json(writer, answer.bytes ? answer.bytes : "");
    }
    if (from->json) at_put(writer, "}}", 2);
    at_put_char(writer, '\n');
    at_writer_free(&answer);
}

static attn_status write_rows(at_feed *given, const void *settings, const at_cells *cells, int64_t first,
                              int64_t count, int last, at_writer *writer) {
    (void)settings;
    (void)last;
    for (int64_t unit = first; unit < first + count && writer->status == ATTN_OK; unit++)
        write_row(own(given), cells, unit, writer);
    return writer->status;
}

const at_feed_kind at_vectors_feed_kind = {
    .refuses = refuses,
    .knows = knows,
    .shape = shape,
    .open = open_feed,
    .close = close_feed,
    .push = push,
    .view = view,
    .row_name = row_name,
    .write = write_rows,
};
