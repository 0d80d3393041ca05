/* reading.c: from files or from memory to a dataset of vectors: which format it is, errors, targets as text.
 */
#include <stdarg.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/npy.h"
#include "data/symbols/unicode.h"
#include "data/zip.h"
#include "inputs/vectors/reader.h"
#include "inputs/vectors/vectors.h"

const char *const at_vectors_formats[] = {"auto", "npy", "npz", "csv", NULL};

/* ---- errors ---- */

at_origin at_vectors_origin(const at_vectors_reader *reader) {
    return (at_origin){reader->context, reader->name, reader->options->expanded_limit,
                       reader->options->expanded_ratio};
}

attn_status at_vectors_fail(at_vectors_reader *reader, const char *array, int64_t line, const char *format,
                            ...) {
    at_origin origin = at_vectors_origin(reader);
    va_list arguments;
    va_start(arguments, format);
    attn_status status = at_origin_fail_list(&origin, array, line, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- names and targets ---- */

int at_vectors_wanted(const at_vectors_reader *reader, const char *name, size_t length) {
    const at_strings *wanted = &reader->wanted;
    for (int64_t i = 0; i < wanted->count; i++)
        if (at_string_length(wanted, i) == length && memcmp(at_string(wanted, i), name, length) == 0)
            return 1;
    return 0;
}

static attn_status add_normal(at_vectors_reader *reader, at_strings *list, const char *text, size_t length) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    return status == ATTN_OK ? at_strings_add(reader->context, list, text, length) : status;
}

attn_status at_vectors_target(at_vectors_reader *reader, at_strings *list, const char *text, size_t length) {
    char separator = reader->options->label_separator;
    at_bytes *joined = &reader->joined;
    attn_status status = ATTN_OK;
    at_trim(&text, &length);
    if (separator == 0) return add_normal(reader, list, text, length);
    joined->count = 0;
    for (const char *end = text + length; status == ATTN_OK && text < end;) {
        const char *stop = memchr(text, separator, (size_t)(end - text)), *label = text;
        if (!stop) stop = end;
        size_t label_length = (size_t)(stop - text);
        at_trim(&label, &label_length);
        if (label_length > 0 && joined->count > 0) status = at_bytes_append(reader->context, joined, "\n", 1);
        if (status == ATTN_OK) status = at_bytes_append(reader->context, joined, label, label_length);
        text = stop < end ? stop + 1 : end;
    }
    if (status != ATTN_OK) return status;
    return add_normal(reader, list, joined->count ? joined->data : "", (size_t)joined->count);
}

static attn_status split_wanted(at_vectors_reader *reader) {
    const char *text = reader->options->column;
    if (!text || !*text) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ","), kept = length;
        const char *name = text;
        at_trim(&name, &kept);
        if (kept == 0 || at_unicode_check(name, kept) != kept)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: an empty name among the columns, or one that is not UTF-8");
        if (at_vectors_wanted(reader, name, kept))
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: a name occurs twice among the columns \"%.200s\"",
                           reader->options->column);
        attn_status status = add_normal(reader, &reader->wanted, name, kept);
        if (status != ATTN_OK || text[length] == 0) return status;
        text += length + 1;
    }
}

/* ---- the kind's interface ---- */

static int ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), ending_length = strlen(ending);
    return length > ending_length &&
           at_same_name(name + length - ending_length, ending_length, ending, ending_length);
}

int at_vectors_knows(const char *path) {
    return ends_with(path, ".npy") || ends_with(path, ".npz") || ends_with(path, ".npy.gz");
}

/* An array is one piece, and a table's first line belongs to all of it. */
int at_vectors_pieces(int format) {
    (void)format;
    return -1;
}

/* Rows and their targets; a table has both. */
int at_vectors_takes_two(const attn_reader_options *options) {
    return (int)options->format != AT_VECTORS_CSV;
}

/* Arrays begin with what they are; everything else may be a table. */
int at_vectors_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    (void)options;
    if (at_is_npy(bytes, count)) return AT_VECTORS_NPY;
    if (at_is_zip(bytes, count)) return AT_VECTORS_NPZ;
    return count == 0 || at_vectors_knows(name) ? AT_VECTORS_AUTO : AT_VECTORS_CSV;
}

static attn_status choose_format(at_vectors_reader *reader, const at_vectors_file *file, int *format) {
    int found = at_vectors_detect(file->name, file->bytes, file->count, reader->options);
    *format = (int)reader->options->format;
    if (file->count == 0) return at_vectors_fail(reader, NULL, 0, "is empty");
    if (*format == AT_VECTORS_AUTO) *format = found;
    if (*format == AT_VECTORS_AUTO)
        return at_vectors_fail(reader, NULL, 0,
                               "is named like a NumPy array but is not one: save it with numpy.save");
    if (*format == found || (*format == AT_VECTORS_CSV && found == AT_VECTORS_AUTO)) return ATTN_OK;
    return at_vectors_fail(reader, NULL, 0, "is not a %s: it begins like %s", at_vectors_formats[*format],
                           found == AT_VECTORS_CSV || found == AT_VECTORS_AUTO ? "text"
                                                                               : at_vectors_formats[found]);
}

static attn_status parse(at_vectors_reader *reader, const at_vectors_file *files, int count) {
    int format;
    attn_status status = choose_format(reader, &files[0], &format);
    if (status == ATTN_OK) status = split_wanted(reader);
    if (status != ATTN_OK) return status;
    if (format != AT_VECTORS_CSV)
        return at_vectors_read_arrays(reader, format, &files[0], count == 2 ? &files[1] : NULL);
    if (count == 2)
        return at_vectors_fail(reader, NULL, 0,
                               "is a table, which has its targets in columns of its own: give one file");
    return at_vectors_read_table(reader, &files[0]);
}

/* What a compressed file is expanded to, as it comes: it must be what it is named or said to be, and a table
 * has no byte that is 0. */
static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    at_vectors_reader *reader = user;
    at_vectors_file file = {reader->name, bytes, count};
    int format;
    attn_status status = choose_format(reader, &file, &format);
    if (status != ATTN_OK || format != AT_VECTORS_CSV) return status;
    const char *zero = memchr(bytes + judged, 0, count - judged);
    return zero ? at_vectors_fail(reader, NULL, 0, "byte %zu is 0: this is not a table",
                                  (size_t)(zero - bytes) + 1)
                : ATTN_OK;
}

attn_status at_vectors_read_files(attn_context *context, const at_source *source, attn_dataset **dataset) {
    const attn_reader_options *options = source->options;
    at_bytes contents[2] = {{0}, {0}};
    at_vectors_file files[2];
    int count = source->names[1] ? 2 : 1;
    attn_status status = ATTN_OK;
    at_vectors_reader reader = {.context = context, .options = options, .first_line = source->first_line};
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        files[i] = (at_vectors_file){source->names[i], source->bytes[i], source->counts[i]};
        if (files[i].bytes) continue;
        reader.name = source->names[i];
        const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, i ? NULL : judge,
                                      &reader};
        status = at_file_read(context, source->names[i], &allowed, &contents[i]);
        files[i].bytes = contents[i].data ? contents[i].data : "";
        files[i].count = (size_t)contents[i].count;
    }
    reader.name = source->names[0];
    if (status == ATTN_OK) status = parse(&reader, files, count);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    for (int i = 0; i < 2; i++) at_bytes_free(context, &contents[i]);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}
