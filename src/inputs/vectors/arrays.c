/* arrays.c: .npy and .npz to a dataset of vectors.
 *
 * Rows: the array of an .npy; of an .npz that which options.text_column names, or `rows`, or the only one of
 * two or three dimensions. n x t x d is n sequences of t rows. r x d is cut by `offsets` (of an .npz);
 * without them, all rows are one sequence where the task labels rows (per_token 1), and each row is a
 * sequence of its own otherwise: then a prediction cuts them as training did.
 *
 * Targets: the other arrays of an .npz, or those of them that are requested, or a second file: an .npy, or
 * lines of text. As many entries as rows stand with rows, as many as sequences with sequences; where that is
 * the same number the task decides.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/npy.h"
#include "data/symbols/unicode.h"
#include "data/zip.h"
#include "inputs/vectors/reader.h"

enum { FITS_ROWS = 1, FITS_SEQUENCES = 2, MOST_TARGETS = 1000 };

/* A column of targets. */
typedef struct column {
    char name[128];
    at_strings values;
    int fits; /* rows, sequences, or both */
} column;

typedef struct arrays {
    at_vectors_reader *reader;
    int64_t rows, sequences,
        steps;  /* steps: rows of each sequence, of an array of three dimensions; else 0 */
    int single; /* every sequence has one row */
    column *columns;
    int64_t count, room;
    at_bytes text; /* an entry of an array */
} arrays;

/* ---- rows ---- */

static attn_status check_rows(at_vectors_reader *reader, const char *name, const at_npy *array) {
    if (array->type == AT_NPY_BYTES || array->type == AT_NPY_UNICODE)
        return at_vectors_fail(reader, name, 0, "has strings: rows must be numbers");
    if (array->rank < 2)
        return at_vectors_fail(
            reader, name, 0,
            "has %d dimension%s: rows are rows x columns, or sequences x rows x columns: reshape it",
            array->rank, array->rank == 1 ? "" : "s");
    if (array->rank > 3)
        return at_vectors_fail(
            reader, name, 0,
            "has more than 3 dimensions: rows are sequences x rows x columns at most: reshape it");
    if (array->shape[array->rank - 1] == 0) return at_vectors_fail(reader, name, 0, "has no columns");
    if (array->rank == 3 && array->count == 0) return at_vectors_fail(reader, name, 0, "has no rows");
    return ATTN_OK;
}

static attn_status take_rows(arrays *file, const char *name, int format, const at_npy *array) {
    at_vectors_reader *reader = file->reader;
    attn_status status = check_rows(reader, name, array);
    if (status != ATTN_OK) return status;
    int64_t columns = array->shape[array->rank - 1];
    file->rows = array->count / columns;
    file->steps = array->rank == 3 ? array->shape[1] : 0;
    status = at_vectors_dataset(reader->context, reader->name, format, columns, &reader->dataset);
    if (status != ATTN_OK) return status;
    float *numbers = at_vectors_room(reader->dataset, file->rows);
    if (!numbers) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < array->count; i++) {
        double number = at_npy_number(array, i);
        if (!(fabs(number) <= (double)FLT_MAX))
            return at_vectors_fail(
                reader, name, 0, "row %" PRId64 ", column %" PRId64 " is %s: %s", i / columns, i % columns,
                isnan(number)   ? "not a number"
                : isinf(number) ? "infinite"
                                : "too large for 32 bits",
                isfinite(number) ? "scale it" : "replace it (numpy.nan_to_num), or leave the row out");
        numbers[i] = at_npy_single(array, i);
    }
    return ATTN_OK;
}

static attn_status add_sequence(arrays *file, int64_t first, int64_t end) {
    attn_status status = at_vectors_add(file->reader->dataset, end - first, first + 1);
    file->sequences++;
    file->single &= end - first == 1;
    return status == ATTN_OK ? at_dataset_end(file->reader->dataset) : status;
}

static attn_status split_evenly(arrays *file) {
    attn_status status = ATTN_OK;
    int whole = !file->steps && file->reader->options->per_token == 1;
    int64_t each = file->steps ? file->steps : whole ? file->rows : 1;
    if (file->rows == 0) return at_vectors_fail(file->reader, NULL, 0, "has no rows");
    at_vectors_of(file->reader->dataset)->unsplit = !file->steps && !whole;
    for (int64_t row = 0; row < file->rows && status == ATTN_OK; row += each)
        status = add_sequence(file, row, row + each);
    return status;
}

static attn_status split_at(arrays *file, const at_npy *offsets) {
    at_vectors_reader *reader = file->reader;
    if (file->steps)
        return at_vectors_fail(reader, "offsets", 0,
                               "cannot be used with rows of three dimensions, which already are sequences");
    if (offsets->rank != 1 || offsets->count < 2 ||
        (offsets->type != AT_NPY_SIGNED && offsets->type != AT_NPY_UNSIGNED))
        return at_vectors_fail(
            reader, "offsets", 0,
            "is not a list of integers: sequences + 1 of them, from 0 to the number of rows");
    int64_t before = 0, next;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < offsets->count && status == ATTN_OK; i++, before = next) {
        if (!at_npy_integer(offsets, i, &next) || (i == 0 && next != 0) || next < before || next > file->rows)
            return at_vectors_fail(
                reader, "offsets", 0,
                "entry %" PRId64 " is out of order: offsets increase from 0 to the number of rows, %" PRId64,
                i, file->rows);
        if (i > 0) status = add_sequence(file, before, next);
    }
    if (status == ATTN_OK && before != file->rows)
        return at_vectors_fail(reader, "offsets", 0, "ends at %" PRId64 ", there are %" PRId64 " rows",
                               before, file->rows);
    return status;
}

/* ---- targets ---- */

static attn_status add_column(arrays *file, const char *name, int fits) {
    attn_status status = at_grow(file->reader->context, &file->columns, &file->room, file->count + 1,
                                 sizeof *file->columns, "the targets of a file");
    if (status != ATTN_OK) return status;
    column *made = &file->columns[file->count++];
    memset(made, 0, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->fits = fits;
    return ATTN_OK;
}

static int fits(const arrays *file, int64_t entries) {
    return (entries == file->rows ? FITS_ROWS : 0) | (entries == file->sequences ? FITS_SEQUENCES : 0);
}

/* Whether an array has an entry for each row of sequences of equal length. */
static int is_grid(const arrays *file, const at_npy *array) {
    return file->steps && array->rank == 2 && array->shape[0] == file->sequences &&
           array->shape[1] == file->steps;
}

static attn_status fail_to_fit(const arrays *file, const char *name, int64_t entries) {
    return at_vectors_fail(file->reader, name, 0,
                           "has %" PRId64 " entries; there are %" PRId64 " rows in %" PRId64 " sequences%s",
                           entries, file->rows, file->sequences,
                           at_vectors_of(file->reader->dataset)->unsplit
                               ? " (each row is one, as there are no sequence boundaries)"
                               : "");
}

/* Entry i * stride + first of the array, for every i. */
static attn_status take_values(arrays *file, const char *name, const at_npy *array, int64_t first,
                               int64_t stride) {
    at_strings *values = &file->columns[file->count - 1].values;
    at_origin origin = at_vectors_origin(file->reader);
    attn_status status = ATTN_OK;
    for (int64_t i = first; i < array->count && status == ATTN_OK; i += stride) {
        status = at_npy_text(&origin, name, array, i, &file->text);
        if (status == ATTN_OK)
            status = at_vectors_target(file->reader, values, file->text.data, (size_t)file->text.count - 1);
    }
    return status;
}

/* An array of an .npz. */
static attn_status take_target(arrays *file, const char *name, const at_npy *array) {
    int where = is_grid(file, array) ? FITS_ROWS : array->rank == 1 ? fits(file, array->count) : 0;
    if (where == 0 && array->rank != 1)
        return at_vectors_fail(file->reader, name, 0,
                               "has %d dimensions: targets are lists, one entry per row or sequence%s",
                               array->rank, file->steps ? ", or sequences x rows" : "");
    if (where == 0) return fail_to_fit(file, name, array->count);
    attn_status status = add_column(file, name, where);
    return status == ATTN_OK ? take_values(file, name, array, 0, 1) : status;
}

/* A second file that is an array: a column of targets for each of its columns. */
static attn_status take_target_file(arrays *file, const at_npy *array) {
    int grid = is_grid(file, array) && file->reader->options->per_token != 0;
    int64_t width = array->rank == 2 && !grid ? array->shape[1] : 1;
    int64_t entries = width ? array->count / width : 0;
    int where = grid ? FITS_ROWS : fits(file, entries);
    if (array->rank < 1 || array->rank > 2 || width < 1 || width > MOST_TARGETS)
        return at_vectors_fail(file->reader, NULL, 0,
                               "targets are a list, or entries x columns (%d at most): reshape it",
                               MOST_TARGETS);
    if (where == 0) return fail_to_fit(file, NULL, entries);
    attn_status status = ATTN_OK;
    for (int64_t c = 0; c < width && status == ATTN_OK; c++) {
        char name[32] = "target";
        if (width > 1) snprintf(name, sizeof name, "target%" PRId64, c);
        status = add_column(file, name, where);
        if (status == ATTN_OK) status = take_values(file, NULL, array, c, width);
    }
    return status;
}

/* A second file that is text: a target a line. */
static attn_status take_target_lines(arrays *file, const at_vectors_file *lines) {
    at_vectors_reader *reader = file->reader;
    const char *at = lines->bytes, *end = at + lines->count;
    if (lines->count >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    attn_status status = add_column(file, "target", 0);
    for (int64_t line = 1; at < end && status == ATTN_OK; line++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        size_t length = (size_t)(stop - at);
        if (length > 0 && at[length - 1] == '\r') length--;
        if (at_unicode_check(at, length) != length)
            return at_vectors_fail(reader, NULL, line,
                                   "is not UTF-8: targets must be an .npy array, or text with one per line");
        status = at_vectors_target(reader, &file->columns[0].values, at, length);
        at = feed ? feed + 1 : end;
    }
    if (status != ATTN_OK) return status;
    file->columns[0].fits = fits(file, file->columns[0].values.count);
    return file->columns[0].fits ? ATTN_OK : fail_to_fit(file, NULL, file->columns[0].values.count);
}

static attn_status take_second(arrays *file, const at_vectors_file *targets) {
    at_vectors_reader *reader = file->reader;
    const char *name = reader->name;
    at_npy array;
    reader->name = targets->name; /* errors are about that file now, and its columns have no names */
    at_strings_clear(&reader->wanted);
    attn_status status;
    if (!at_is_npy(targets->bytes, targets->count)) {
        status = take_target_lines(file, targets);
    } else {
        at_origin origin = at_vectors_origin(reader);
        status = at_npy_parse(&origin, NULL, targets->bytes, targets->count, &array);
        if (status == ATTN_OK) status = take_target_file(file, &array);
    }
    reader->name = name;
    return status;
}

/* ---- where the targets stand ---- */

static attn_status decide_place(arrays *file, int *per_row) {
    const attn_reader_options *options = file->reader->options;
    int any_rows = 0, any_sequences = 0;
    *per_row = options->pairs == 1 ? 0 : options->per_token;
    if (*per_row >= 0) return ATTN_OK;
    *per_row = 0;
    for (int64_t c = 0; c < file->count; c++) {
        any_rows |= file->columns[c].fits == FITS_ROWS;
        any_sequences |= file->columns[c].fits == FITS_SEQUENCES;
    }
    if (any_rows && any_sequences)
        return at_vectors_fail(file->reader, NULL, 0,
                               "has targets of rows and targets of sequences: name those to learn (column)");
    if (file->count && !any_rows && !any_sequences && !file->single)
        return at_vectors_fail(file->reader, NULL, 0,
                               "has as many sequences as rows, %" PRId64
                               ": state whether targets are of rows (per_token 1, task tag) or of sequences",
                               file->rows);
    *per_row = any_rows;
    return ATTN_OK;
}

/* Leaves out what stands elsewhere, unless it was requested. */
static attn_status keep_fitting(arrays *file, int per_row) {
    at_vectors_reader *reader = file->reader;
    int64_t kept = 0;
    for (int64_t c = 0; c < file->count; c++) {
        column *now = &file->columns[c];
        if (now->fits & (per_row ? FITS_ROWS : FITS_SEQUENCES)) {
            column other = file->columns[kept];
            file->columns[kept++] = *now;
            if (kept - 1 != c) *now = other;
        } else if (reader->options->labelled && (reader->wanted.count || file->count == 1)) {
            return at_vectors_fail(reader, now->name, 0,
                                   per_row ? "has an entry per sequence, but this task needs one per row"
                                           : "has an entry per row, but this task needs one per sequence");
        }
    }
    for (int64_t c = kept; c < file->count; c++) at_strings_free(reader->context, &file->columns[c].values);
    file->count = kept;
    return ATTN_OK;
}

static attn_status check_targets(arrays *file) {
    at_vectors_reader *reader = file->reader;
    const attn_reader_options *options = reader->options;
    for (int64_t i = 0; options->labelled && i < reader->wanted.count; i++) {
        int there = 0;
        for (int64_t c = 0; c < file->count; c++)
            there |= strcmp(file->columns[c].name, at_string(&reader->wanted, i)) == 0;
        if (!there)
            return at_vectors_fail(reader, NULL, 0, "has no array %.80s", at_string(&reader->wanted, i));
    }
    if (options->labelled && file->count == 0)
        return at_vectors_fail(
            reader, NULL, 0, "has no targets: give targets as a second file, or rows and targets in an .npz");
    if (options->pairs == 1 && file->count > 1)
        return at_vectors_fail(reader, NULL, 0,
                               "has %" PRId64 " targets, but this task learns one: name it (column)",
                               file->count);
    return ATTN_OK;
}

static attn_status put_targets(arrays *file) {
    attn_dataset *dataset = file->reader->dataset;
    attn_context *context = file->reader->context;
    attn_status status = check_targets(file);
    if (status == ATTN_OK) status = decide_place(file, &dataset->per_row);
    if (status == ATTN_OK) status = keep_fitting(file, dataset->per_row);
    if (status == ATTN_OK) status = check_targets(file);
    for (int64_t c = 0; c < file->count && status == ATTN_OK; c++)
        status =
            at_strings_add(context, &dataset->columns, file->columns[c].name, strlen(file->columns[c].name));
    int64_t places = dataset->per_row ? file->rows : file->sequences;
    for (int64_t i = 0; i < places && status == ATTN_OK; i++) {
        for (int64_t c = 0; c < file->count && status == ATTN_OK; c++) {
            const at_strings *values = &file->columns[c].values;
            status =
                at_strings_add(context, &dataset->targets, at_string(values, i), at_string_length(values, i));
        }
    }
    return status;
}

/* ---- archives ---- */

static attn_status with_member(arrays *file, const at_zip_member *member, at_bytes *expanded, at_npy *array) {
    const char *bytes;
    at_origin origin = at_vectors_origin(file->reader);
    at_bytes_free(file->reader->context, expanded);
    attn_status status = at_zip_read(&origin, member, expanded, &bytes);
    return status == ATTN_OK ? at_npy_parse(&origin, member->name, bytes, member->size, array) : status;
}

static const at_zip_member *find_member(const at_zip *archive, const char *name) {
    for (int64_t i = 0; i < archive->count; i++)
        if (strcmp(archive->members[i].name, name) == 0) return &archive->members[i];
    return NULL;
}

/* The array of rows: see above. */
static attn_status find_rows(arrays *file, const at_zip *archive, at_bytes *expanded,
                             const at_zip_member **rows) {
    at_vectors_reader *reader = file->reader;
    const char *asked = reader->options->text_column;
    int named = asked && *asked;
    *rows = find_member(archive, named ? asked : "rows");
    if (*rows) return ATTN_OK;
    if (named) return at_vectors_fail(reader, NULL, 0, "has no array %.80s", asked);
    for (int64_t i = 0; i < archive->count; i++) {
        at_npy array;
        attn_status status = with_member(file, &archive->members[i], expanded, &array);
        if (status != ATTN_OK) return status;
        if (array.rank < 2) continue;
        if (*rows)
            return at_vectors_fail(
                reader, NULL, 0,
                "has several arrays of two or more dimensions: name the one with the rows `rows`");
        *rows = &archive->members[i];
    }
    if (!*rows)
        return at_vectors_fail(reader, NULL, 0, "has no array of rows: save it as `rows`, rows x columns");
    return ATTN_OK;
}

static attn_status read_members(arrays *file, const at_zip *archive, int with_targets, at_bytes *expanded) {
    const at_zip_member *rows, *offsets = find_member(archive, "offsets");
    at_vectors_reader *reader = file->reader;
    at_npy array;
    attn_status status = find_rows(file, archive, expanded, &rows);
    if (status == ATTN_OK) status = with_member(file, rows, expanded, &array);
    if (status == ATTN_OK) status = take_rows(file, rows->name, AT_VECTORS_NPZ, &array);
    if (status == ATTN_OK && offsets) status = with_member(file, offsets, expanded, &array);
    if (status == ATTN_OK) status = offsets ? split_at(file, &array) : split_evenly(file);
    for (int64_t i = 0; with_targets && i < archive->count && status == ATTN_OK; i++) {
        const at_zip_member *member = &archive->members[i];
        int asked = !reader->wanted.count || at_vectors_wanted(reader, member->name, strlen(member->name));
        if (member == rows || member == offsets || !asked) continue;
        status = with_member(file, member, expanded, &array);
        if (status == ATTN_OK) status = take_target(file, member->name, &array);
    }
    return status;
}

static attn_status read_archive(arrays *file, const at_vectors_file *source, int with_targets) {
    at_zip archive = {0};
    at_bytes expanded = {0};
    at_origin origin = at_vectors_origin(file->reader);
    attn_status status = at_zip_open(&origin, source->bytes, source->count, &archive);
    if (status == ATTN_OK) status = read_members(file, &archive, with_targets, &expanded);
    at_bytes_free(file->reader->context, &expanded);
    at_zip_free(file->reader->context, &archive);
    return status;
}

attn_status at_vectors_read_arrays(at_vectors_reader *reader, int format, const at_vectors_file *rows,
                                   const at_vectors_file *targets) {
    arrays file = {.reader = reader, .single = 1};
    at_npy array;
    at_origin origin = at_vectors_origin(reader);
    attn_status status;
    if (format == AT_VECTORS_NPZ) {
        status = read_archive(&file, rows, !targets);
    } else {
        status = at_npy_parse(&origin, NULL, rows->bytes, rows->count, &array);
        if (status == ATTN_OK) status = take_rows(&file, NULL, AT_VECTORS_NPY, &array);
        if (status == ATTN_OK) status = split_evenly(&file);
    }
    if (status == ATTN_OK && targets) status = take_second(&file, targets);
    if (status == ATTN_OK) status = put_targets(&file);
    for (int64_t c = 0; c < file.count; c++) at_strings_free(reader->context, &file.columns[c].values);
    at_release(reader->context, file.columns);
    at_bytes_free(reader->context, &file.text);
    return status;
}
