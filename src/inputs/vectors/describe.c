/* describe.c: a dataset of vectors described for people and as JSON (see data/describe.h): sequences, rows,
 * and the range of every column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/describe.h"
#include "inputs/vectors/vectors.h"

enum { COLUMNS_SHOWN = 20 };

static void put(at_writer *writer, const char *text) { at_put(writer, text, strlen(text)); }

static const char *place_name(const attn_dataset *dataset) { return dataset->per_row ? "row" : "sequence"; }

/* The range of one column. */
typedef struct range {
    double least, mean, most;
} range;

static range range_of(const at_vectors *vectors, int64_t column) {
    range found = {0, 0, 0};
    for (int64_t row = 0; row < vectors->rows; row++) {
        double number = (double)vectors->numbers[row * vectors->columns + column];
        if (row == 0 || number < found.least) found.least = number;
        if (row == 0 || number > found.most) found.most = number;
        found.mean += number / (double)vectors->rows;
    }
    return found;
}

static attn_status measure(const attn_dataset *dataset, at_lengths *lengths, int64_t *empty) {
    int64_t *list =
        at_allocate(dataset->context, dataset->examples, sizeof *list, "the lengths of sequences");
    if (!list) return ATTN_OUT_OF_MEMORY;
    *empty = 0;
    for (int64_t e = 0; e < dataset->examples; e++) {
        list[e] = dataset->offsets[e + 1] - dataset->offsets[e];
        *empty += list[e] == 0;
    }
    *lengths = at_measure_lengths(list, dataset->examples);
    at_release(dataset->context, list);
    return ATTN_OK;
}

/* A column by its name, or by its number, from 0 as NumPy counts. */
static void put_name(at_writer *writer, const at_vectors *vectors, int64_t column) {
    char name[64];
    if (vectors->names.count)
        snprintf(name, sizeof name, "%.40s", at_string(&vectors->names, column));
    else
        snprintf(name, sizeof name, "column %" PRId64, column);
    size_t begin = (size_t)writer->count;
    at_put_text(writer, name);
    while (writer->status == ATTN_OK && (size_t)writer->count < begin + 18) at_put_char(writer, ' ');
}

static void put_columns(at_writer *writer, const at_vectors *vectors) {
    int64_t constant = 0;
    at_print(writer, "\n  %-18s %12s %12s %12s\n", "column", "least", "mean", "most");
    for (int64_t c = 0; c < vectors->columns; c++) {
        range found = range_of(vectors, c);
        constant += found.least == found.most;
        if (c >= COLUMNS_SHOWN) continue;
        put(writer, "  ");
        put_name(writer, vectors, c);
        at_print(writer, " %12.6g %12.6g %12.6g%s\n", found.least, found.mean, found.most,
                 found.least == found.most ? "  constant" : "");
    }
    if (vectors->columns > COLUMNS_SHOWN)
        at_print(writer, "  and %s more\n", at_grouped(vectors->columns - COLUMNS_SHOWN).text);
    if (constant == 0) return;
    put(writer, "\n");
    at_put_count(writer, constant, "column");
    put(writer, constant == 1 ? " is constant\n" : " are constant\n");
}

static void put_columns_json(at_writer *writer, const at_vectors *vectors) {
    put(writer, ",\"vector\":[");
    for (int64_t c = 0; c < vectors->columns; c++) {
        range found = range_of(vectors, c);
        put(writer, c ? ",{" : "{");
        if (vectors->names.count) {
            put(writer, "\"name\":");
            at_put_json(writer, at_string(&vectors->names, c));
            put(writer, ",");
        }
        at_print(writer, "\"least\":%.9g,\"mean\":%.9g,\"most\":%.9g}", found.least, found.mean, found.most);
    }
    put(writer, "]");
}

static attn_status describe_json(const attn_dataset *dataset, const attn_describe_options *options,
                                 const at_lengths *lengths, int64_t empty, at_writer *writer) {
    at_print(writer, ",\"rows\":%" PRId64 ",\"width\":%" PRId64 ",\"lengths\":{", dataset->rows,
             at_vectors_of(dataset)->columns);
    at_put_lengths_json(writer, "rows", lengths);
    put(writer, "}");
    put_columns_json(writer, at_vectors_of(dataset));
    put(writer, ",\"columns\":");
    attn_status status = at_put_columns(writer, dataset, options, place_name(dataset));
    at_print(writer, ",\"empty\":%" PRId64, empty);
    return status;
}

attn_status at_vectors_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                at_writer *writer) {
    static const char *const formats[] = {"", "an array of NumPy", "arrays of NumPy", "a table"};
    const at_vectors *vectors = at_vectors_of(dataset);
    at_lengths lengths;
    int64_t empty;
    attn_status status = measure(dataset, &lengths, &empty);
    if (status != ATTN_OK) return status;
    if (options->json) return describe_json(dataset, options, &lengths, empty, writer);
    at_print(writer, "%s, ", formats[dataset->format]);
    at_put_count(writer, dataset->examples, "sequence");
    put(writer, ", ");
    at_put_count(writer, dataset->rows, "row");
    at_print(writer, " of %s number%s\n", at_grouped(vectors->columns).text,
             vectors->columns == 1 ? "" : "s");
    if (vectors->unsplit) put(writer, "\nno sequence boundaries: each row is one sequence\n");
    if (options->unlabelled) {
        put(writer, "\nno targets: it can be used for prediction, not for training. As training data it\n");
        at_put_reason(writer, options);
    }
    at_put_lengths_heading(writer);
    at_put_lengths(writer, "rows", &lengths);
    put_columns(writer, vectors);
    status = at_put_columns(writer, dataset, options, place_name(dataset));
    if (empty > 0) {
        put(writer, "\n");
        at_put_count(writer, empty, "sequence");
        put(writer, empty == 1 ? " is empty\n" : " are empty\n");
    }
    return status;
}
