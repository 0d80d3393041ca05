/* reading.c: from files or from memory to a dataset of images: which format it is, single pictures, errors,
 * targets as text. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "data/zip.h"
#include "inputs/image/image.h"
#include "inputs/image/reader.h"

const char *const at_image_formats[] = {"auto", "folder", "list", "idx", "npy", "npz", "picture", NULL};

/* ---- errors ---- */

at_origin at_image_origin(const at_image_reader *reader) {
    return (at_origin){reader->context, reader->name, reader->options->expanded_limit,
                       reader->options->expanded_ratio};
}

attn_status at_image_fail(at_image_reader *reader, const char *array, int64_t line, const char *format, ...) {
    at_origin origin = at_image_origin(reader);
    va_list arguments;
    va_start(arguments, format);
    attn_status status = at_origin_fail_list(&origin, array, line, format, arguments);
    va_end(arguments);
    reader->bad = line > 0;
    return status;
}

attn_status at_image_settle(at_image_reader *reader, attn_status status, int *stop) {
    attn_dataset *dataset = reader->dataset;
    int bad = reader->bad, stops = reader->options->stop_at_bad && !reader->options->skip_bad;
    reader->bad = 0;
    *stop = 0;
    if (status == ATTN_OK || !bad || !(stops || reader->options->skip_bad)) return status;
    at_image_undo(dataset);
    if (stops) { /* what precedes it is good: the rest is not read */
        dataset->stopped = status;
        dataset->consumed = reader->consumed;
        *stop = 1;
        status = ATTN_OK;
    } else {
        dataset->skipped++;
        status = at_dataset_leave_out(dataset);
    }
    if (dataset->problems.count >= AT_PROBLEMS || status != ATTN_OK) return status;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

/* ---- one picture ---- */

/* "LIST:LINE: PICTURE: reason", or "PICTURE: reason". */
static attn_status fail_picture(at_image_reader *reader, const char *path, int64_t line, int list,
                                const char *reason) {
    const char *before, *shown = at_name_end(path, &before);
    attn_status status;
    if (list) {
        status = at_image_fail(reader, NULL, line, "%s%s: %s", before, shown, reason);
    } else {
        at_origin origin = {reader->context, path, 0, 0};
        status = at_origin_fail(&origin, NULL, 0, "%s", reason);
    }
    reader->bad = 1;
    return status;
}

attn_status at_image_take_bytes(at_image_reader *reader, const char *path, const char *id, const char *bytes,
                                size_t count, int64_t line, int list) {
    at_image_decoding now = {.context = reader->context,
                             .pictures = at_pictures_of(reader->dataset),
                             .limit = reader->options->expanded_limit};
    attn_status status = at_image_decode(&now, bytes, count);
    if (status == ATTN_INVALID_ARGUMENT) return fail_picture(reader, path, line, list, now.reason);
    return status == ATTN_OK ? at_image_end(reader->dataset, &now.made, line, id) : status;
}

static attn_status read_whole(at_image_reader *reader, FILE *stream, int64_t limit, int *error) {
    enum { PIECE = 1 << 16 };
    at_bytes *file = &reader->file;
    file->count = 0;
    for (;;) {
        attn_status status = at_grow(reader->context, &file->data, &file->room, file->count + PIECE, 1,
                                     "the bytes of a picture");
        if (status != ATTN_OK) return status;
        errno = 0;
        size_t got = fread(file->data + file->count, 1, (size_t)(file->room - file->count), stream);
        if (got == 0) {
            *error = ferror(stream) ? errno : 0;
            return ATTN_OK;
        }
        file->count += (int64_t)got;
        if (file->count <= limit) continue;
        *error = EFBIG;
        return ATTN_OK;
    }
}

/* Opens a file, and nothing that could be waited for, such as a pipe; NULL: *reason[160] says why not. */
static FILE *open_picture(const char *path, char *reason) {
    struct stat state;
    FILE *stream = NULL;
    errno = 0;
    int there = stat(path, &state) == 0;
    if (there && S_ISREG(state.st_mode)) stream = fopen(path, "rb");
    if (there && S_ISDIR(state.st_mode)) errno = EISDIR;
    if (!stream && errno == 0)
        snprintf(reason, 160, "is no file, but a device or a pipe");
    else if (!stream)
        snprintf(reason, 160, "cannot be opened: %.100s", strerror(errno));
    return stream;
}

attn_status at_image_take_path(at_image_reader *reader, const char *path, const char *id, int64_t line,
                               int list) {
    char reason[160];
    int error = 0;
    FILE *stream = open_picture(path, reason);
    if (!stream) return fail_picture(reader, path, line, list, reason);
    attn_status status = read_whole(reader, stream, reader->options->expanded_limit, &error);
    fclose(stream);
    if (status != ATTN_OK) return status;
    if (error) {
        snprintf(reason, sizeof reason, "cannot be read: %.100s", strerror(error));
        return fail_picture(reader, path, line, list, reason);
    }
    return at_image_take_bytes(reader, path, id, reader->file.data, (size_t)reader->file.count, line, list);
}

/* A picture alone: something to be predicted. */
static attn_status read_picture(at_image_reader *reader, const at_image_file *file) {
    int stop;
    if (reader->options->labelled)
        return at_image_fail(reader, NULL, 0,
                             "is one picture without a label: give a folder with a folder for each label, or "
                             "a list of path TAB label");
    attn_status status = at_image_dataset(reader->context, reader->name, AT_IMAGE_FILE, &reader->dataset);
    if (status != ATTN_OK) return status;
    status = at_image_take_bytes(reader, reader->name, reader->name, file->bytes, file->count, 1, 0);
    return at_image_settle(reader, status, &stop);
}

/* ---- names and targets ---- */

int at_image_wanted(const at_image_reader *reader, const char *name, size_t length) {
    const at_strings *wanted = &reader->wanted;
    for (int64_t i = 0; i < wanted->count; i++)
        if (at_same_name(at_string(wanted, i), at_string_length(wanted, i), name, length)) return 1;
    return 0;
}

attn_status at_image_text(at_image_reader *reader, at_strings *list, const char *text, size_t length) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    return status == ATTN_OK ? at_strings_add(reader->context, list, text, length) : status;
}

attn_status at_image_target(at_image_reader *reader, at_strings *list, const char *text, size_t length) {
    char separator = reader->options->label_separator;
    at_trim(&text, &length);
    if (separator) {
        attn_status status = at_join_labels(reader->context, text, length, separator, &reader->joined);
        if (status != ATTN_OK) return status;
        length = (size_t)reader->joined.count;
        text = length ? reader->joined.data : "";
    }
    return at_image_text(reader, list, text, length);
}

attn_status at_image_only_target(at_image_reader *reader) {
    const char *name = reader->wanted.count ? at_string(&reader->wanted, 0) : "label";
    if (reader->wanted.count > 1)
        return at_image_fail(reader, NULL, 0,
                             "has one label for each picture, and %" PRId64 " columns are asked for",
                             reader->wanted.count);
    return at_strings_add(reader->context, &reader->dataset->columns, name, strlen(name));
}

/* options.column, taken apart at its commas. */
static attn_status split_wanted(at_image_reader *reader) {
    const char *text = reader->options->column;
    if (!text || !*text) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ","), kept = length;
        const char *name = text;
        at_trim(&name, &kept);
        if (kept == 0 || at_unicode_check(name, kept) != kept || at_image_wanted(reader, name, kept))
            return at_fail(
                reader->context, ATTN_INVALID_ARGUMENT,
                "reader options: a name among the columns \"%.200s\" is empty, occurs twice, or is not UTF-8",
                reader->options->column);
        attn_status status = at_image_text(reader, &reader->wanted, name, kept);
        if (status != ATTN_OK || text[length] == 0) return status;
        text += length + 1;
    }
}

/* ---- which format ---- */

/* IDX is known by its name: MNIST's files have no ending. */
static int is_idx_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    return strstr(base, "idx3-ubyte") || at_name_ends(path, ".idx3") || at_name_ends(path, ".idx");
}

int at_image_knows(const char *path) {
    if (at_image_named(path) || is_idx_name(path)) return 1;
    return at_image_is_folder(path) && at_image_in_folder(path);
}

/* Lists can be answered line by line; but a path may be that of a folder, so that AUTO reads all of it. */
int at_image_pieces(int format) { return format == AT_IMAGE_LIST ? 2 : -1; }

int at_image_takes_two(const attn_reader_options *options) { return (int)options->format != AT_IMAGE_FILE; }

int at_image_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    (void)options;
    if (count == 0) return at_image_is_folder(name) ? AT_IMAGE_FOLDER : AT_IMAGE_AUTO;
    if (at_is_npy(bytes, count)) return AT_IMAGE_NPY;
    if (at_is_zip(bytes, count)) return AT_IMAGE_NPZ;
    if (at_is_idx(bytes, count)) return AT_IMAGE_IDX;
    /* PNG has a line end within its first eight bytes: they may not have come yet. */
    if (count >= 4 && memcmp(bytes, "\x89PNG", 4) == 0) return AT_IMAGE_FILE;
    if (at_image_type(bytes, count) || at_image_named(name) || at_looks_binary(bytes, count))
        return AT_IMAGE_FILE;
    return AT_IMAGE_LIST;
}

static attn_status choose_format(at_image_reader *reader, const at_image_file *file, int *format) {
    int found = at_image_detect(file->name, file->bytes, file->count, reader->options);
    *format = (int)reader->options->format;
    if (file->count == 0 && reader->options->piece && *format == AT_IMAGE_LIST) return ATTN_OK;
    if (file->count == 0) return at_image_fail(reader, NULL, 0, "is empty");
    if (*format == AT_IMAGE_AUTO) *format = found;
    if (*format == found) return ATTN_OK;
    return at_image_fail(reader, NULL, 0, "is not a %s: it begins like %s", at_image_formats[*format],
                         found == AT_IMAGE_LIST ? "text" : at_image_formats[found]);
}

/* ---- the whole ---- */

static attn_status parse(at_image_reader *reader, const at_image_file *files, int count) {
    int format;
    const at_image_file *labels = count == 2 ? &files[1] : NULL;
    attn_status status = choose_format(reader, &files[0], &format);
    if (status == ATTN_OK) status = split_wanted(reader);
    if (status != ATTN_OK) return status;
    if (reader->options->per_token == 1 && reader->options->labelled)
        return at_image_fail(
            reader, NULL, 0,
            "has labels of whole pictures, and this task needs one for each patch: use classify, "
            "regress or seq2seq");
    if (labels && (format == AT_IMAGE_LIST || format == AT_IMAGE_FILE))
        return at_image_fail(reader, NULL, 0, "is not an array of pictures: %.80s cannot be its labels",
                             files[1].name);
    switch (format) {
    case AT_IMAGE_IDX: return at_image_read_idx(reader, &files[0], labels);
    case AT_IMAGE_NPY:
    case AT_IMAGE_NPZ: return at_image_read_arrays(reader, format, &files[0], labels);
    case AT_IMAGE_FILE: return read_picture(reader, &files[0]);
    default: return at_image_read_list(reader, &files[0]);
    }
}

static attn_status check_any(const at_image_reader *reader) {
    const attn_dataset *dataset = reader->dataset;
    if (dataset->examples > 0 || dataset->stopped != ATTN_OK || reader->options->piece) return ATTN_OK;
    if (dataset->skipped == 0)
        return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%.200s: has no pictures", reader->name);
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                   "%.100s: has no good pictures: all %" PRId64 " were left out, the first because of %.350s",
                   reader->name, dataset->skipped, at_string(&dataset->problems, 0));
}

static attn_status read_folder(at_image_reader *reader) {
    int format = (int)reader->options->format;
    if (format != AT_IMAGE_AUTO && format != AT_IMAGE_FOLDER)
        return at_image_fail(reader, NULL, 0, "is a folder, and no %s", at_image_formats[format]);
    attn_status status = split_wanted(reader);
    if (status == ATTN_OK && reader->options->per_token == 1 && reader->options->labelled)
        status = at_image_fail(
            reader, NULL, 0,
            "has labels of whole pictures, and this task needs one for each patch: use classify, "
            "regress or seq2seq");
    return status == ATTN_OK ? at_image_read_folder(reader, reader->name) : status;
}

static attn_status read_one(attn_context *context, const at_source *source, attn_dataset **dataset) {
    const attn_reader_options *options = source->options;
    at_bytes contents[2] = {{0}, {0}};
    at_image_file files[2];
    int count = source->names[1] ? 2 : 1;
    attn_status status = ATTN_OK;
    at_image_reader reader = {
        .context = context, .name = source->names[0], .options = options, .first_line = source->first_line};
    int folder = !source->bytes[0] && at_image_is_folder(source->names[0]);
    for (int i = 0; i < count && status == ATTN_OK && !folder; i++) {
        files[i] = (at_image_file){source->names[i], source->bytes[i], source->counts[i]};
        if (files[i].bytes) continue;
        const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, NULL, NULL};
        status = at_file_read(context, source->names[i], &allowed, &contents[i]);
        files[i].bytes = contents[i].data ? contents[i].data : "";
        files[i].count = (size_t)contents[i].count;
    }
    if (status == ATTN_OK) status = folder ? read_folder(&reader) : parse(&reader, files, count);
    if (status == ATTN_OK) status = check_any(&reader);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    at_bytes_free(context, &reader.path);
    at_bytes_free(context, &reader.file);
    for (int i = 0; i < 2; i++) at_bytes_free(context, &contents[i]);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}

/* Whether the second of two files has pictures of its own, and is not the labels of the first. */
static int stands_alone(const at_source *source) {
    const char *name = source->names[1];
    if (source->bytes[1]) {
        int found = at_image_detect(name, source->bytes[1], source->counts[1], source->options);
        return found == AT_IMAGE_NPZ || found == AT_IMAGE_FILE;
    }
    return at_image_is_folder(source->names[0]) || at_image_is_folder(name) || is_idx_name(name) ||
           at_image_named(name) || at_name_ends(name, ".npz") || at_name_ends(source->names[0], ".tsv") ||
           at_name_ends(source->names[0], ".csv") || at_name_ends(source->names[0], ".txt");
}

attn_status at_image_read_files(attn_context *context, const at_source *source, attn_dataset **dataset) {
    if (!source->names[1] || !stands_alone(source)) return read_one(context, source, dataset);
    if (!source->apart)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has pictures, and is not the labels of %.200s", source->names[1],
                       source->names[0]);
    attn_dataset *sets[2] = {NULL, NULL};
    attn_status status = ATTN_OK;
    for (int i = 0; i < 2 && status == ATTN_OK; i++) {
        at_source one = {.names = {source->names[i]},
                         .bytes = {source->bytes[i]},
                         .counts = {source->counts[i]},
                         .first_line = source->first_line,
                         .options = source->options};
        status = read_one(context, &one, &sets[i]);
    }
    if (status == ATTN_OK) status = attn_dataset_append(sets[0], sets[1]);
    attn_dataset_destroy(sets[1]);
    if (status == ATTN_OK)
        *dataset = sets[0];
    else
        attn_dataset_destroy(sets[0]);
    return status;
}
