/* rows.c: the rows of a dataset of vectors in memory: how readers and programs add them, and how they are
 * selected. */
#include "inputs/vectors/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/vocabulary.h"

static void destroy(attn_context *context, void *content) {
    at_vectors *vectors = content;
    if (!vectors) return;
    at_release(context, vectors->numbers);
    at_strings_free(context, &vectors->names);
    at_release(context, vectors);
}

static attn_status create(attn_context *context, const void *like, void **content) {
    const at_vectors *from = like;
    at_vectors *made = at_allocate(context, 1, sizeof *made, "vectors");
    if (!made) return ATTN_OUT_OF_MEMORY;
    attn_status status = ATTN_OK;
    if (from) {
        made->columns = from->columns;
        made->unsplit = from->unsplit;
        for (int64_t i = 0; i < from->names.count && status == ATTN_OK; i++)
            status = at_strings_add(context, &made->names, at_string(&from->names, i),
                                    at_string_length(&from->names, i));
    }
    if (status == ATTN_OK)
        *content = made;
    else
        destroy(context, made);
    return status;
}

static attn_status grow(attn_context *context, at_vectors *vectors, int64_t rows) {
    if (rows > INT64_MAX / 8 / vectors->columns - vectors->rows)
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " more rows of %" PRId64 " numbers", rows,
                       vectors->columns);
    return at_grow(context, &vectors->numbers, &vectors->room, (vectors->rows + rows) * vectors->columns + 1,
                   sizeof *vectors->numbers, "the rows of a dataset");
}

static attn_status append(attn_context *context, void *content, const void *from, int64_t example,
                          int64_t first, int64_t end) {
    at_vectors *to = content;
    const at_vectors *source = from;
    (void)example;
    if (to->columns != source->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "rows of %" PRId64 " numbers cannot be appended to rows of %" PRId64, to->columns,
                       source->columns);
    attn_status status = grow(context, to, end - first);
    if (status != ATTN_OK) return status;
    memcpy(to->numbers + to->rows * to->columns, source->numbers + first * to->columns,
           (size_t)((end - first) * to->columns) * sizeof *to->numbers);
    to->rows += end - first;
    return ATTN_OK;
}

static uint64_t hash(const void *content, int64_t first, int64_t end, uint64_t seed) {
    const at_vectors *vectors = content;
    seed = at_hash((const char *)&vectors->columns, sizeof vectors->columns, seed);
    if (first == end) return seed;
    return at_hash((const char *)(vectors->numbers + first * vectors->columns),
                   (size_t)((end - first) * vectors->columns) * sizeof *vectors->numbers, seed);
}

const at_content_kind at_vectors_content = {"vectors", destroy, create, append, hash, NULL, NULL, 0, 0};

attn_status at_vectors_dataset(attn_context *context, const char *name, int format, int64_t columns,
                               attn_dataset **dataset) {
    void *content;
    attn_dataset *made;
    attn_status status = create(context, NULL, &content);
    if (status != ATTN_OK) return status;
    ((at_vectors *)content)->columns = columns;
    status = at_dataset_create(context, name, &at_vectors_content, content, &made);
    if (status != ATTN_OK) return status;
    made->format = (attn_format)format;
    *dataset = made;
    return ATTN_OK;
}

float *at_vectors_room(attn_dataset *dataset, int64_t rows) {
    at_vectors *vectors = at_vectors_of(dataset);
    if (grow(dataset->context, vectors, rows) != ATTN_OK) return NULL;
    return vectors->numbers + vectors->rows * vectors->columns;
}

attn_status at_vectors_add(attn_dataset *dataset, int64_t rows, int64_t line) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < rows && status == ATTN_OK; i++) status = at_dataset_row(dataset, line + i);
    if (status == ATTN_OK) at_vectors_of(dataset)->rows += rows;
    return status;
}

void at_vectors_undo(attn_dataset *dataset) {
    dataset->rows = at_vectors_of(dataset)->rows = dataset->offsets[dataset->examples];
}

/* ---- from memory ---- */

static attn_status check_offsets(attn_context *context, const int64_t *offsets, int64_t examples) {
    for (int64_t e = 0; offsets && e < examples; e++) {
        if ((e == 0 && offsets[0] != 0) || offsets[e] > offsets[e + 1])
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "offsets must not decrease from 0: offsets[%" PRId64 "] is %" PRId64
                           ", the next %" PRId64,
                           e, offsets[e], offsets[e + 1]);
    }
    return ATTN_OK;
}

static attn_status check_finite(attn_context *context, const float *rows, int64_t count, int64_t columns) {
    for (int64_t i = 0; i < count * columns; i++) {
        if (!isfinite(rows[i]))
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "rows: row %" PRId64 ", column %" PRId64 " is %s: give finite numbers",
                           i / columns, i % columns, isnan(rows[i]) ? "not a number" : "infinite");
    }
    return ATTN_OK;
}

attn_status attn_dataset_from_rows(attn_context *context, const float *rows, int64_t columns,
                                   const int64_t *offsets, int64_t examples, attn_dataset **dataset) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!dataset || columns < 1 || examples < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "dataset is NULL, or columns is %" PRId64 ", or examples is %" PRId64, columns,
                       examples);
    attn_status status = check_offsets(context, offsets, examples);
    if (status != ATTN_OK) return status;
    int64_t count = !offsets ? examples : examples ? offsets[examples] : 0;
    if (!rows && count > 0) return at_fail(context, ATTN_INVALID_ARGUMENT, "rows is NULL");
    if (count > INT64_MAX / 8 / columns)
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " rows of %" PRId64 " numbers", count, columns);
    status = check_finite(context, rows, count, columns);
    attn_dataset *made;
    if (status == ATTN_OK) status = at_vectors_dataset(context, "memory", AT_VECTORS_NPY, columns, &made);
    if (status != ATTN_OK) return status;
    float *into = at_vectors_room(made, count);
    if (!into) status = ATTN_OUT_OF_MEMORY;
    if (into && count) memcpy(into, rows, (size_t)(count * columns) * sizeof *rows);
    for (int64_t e = 0; e < examples && status == ATTN_OK; e++) {
        int64_t first = offsets ? offsets[e] : e, end = offsets ? offsets[e + 1] : e + 1;
        status = at_vectors_add(made, end - first, first + 1);
        if (status == ATTN_OK) status = at_dataset_end(made);
    }
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}
