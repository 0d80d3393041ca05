/* arrays.c: pictures in arrays of numbers (.npy, .npz, IDX), and their labels.
 *
 * Pictures: n x height x width, or n x height x width x channels with 1 or 3 channels; height x width is one
 * picture. Of an .npz that which options.text_column names, or `x` or `images`, or the only one of three or
 * four dimensions. Numbers are used unchanged.
 *
 * Labels: the other arrays of an .npz, or those of them that are requested, or a second file: an array, or
 * lines of text. They have an entry for each picture.
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
#include "inputs/image/reader.h"

enum { MOST_TARGETS = 1000 };

/* ---- pictures ---- */

/* n, height, width and channels. */
static attn_status shape_of(at_image_reader *reader, const char *name, const at_npy *array, int64_t *shape) {
    const int64_t *given = array->shape;
    if (array->type == AT_NPY_BYTES || array->type == AT_NPY_UNICODE)
        return at_image_fail(reader, name, 0, "has strings: pictures must be numbers");
    if (array->rank < 2)
        return at_image_fail(reader, name, 0,
                             "has %d dimension%s: pictures are n x height x width, or n x height x width x "
                             "channels: reshape it",
                             array->rank, array->rank == 1 ? "" : "s");
    shape[0] = array->rank == 2 ? 1 : given[0];
    shape[1] = array->rank == 2 ? given[0] : given[1];
    shape[2] = array->rank == 2 ? given[1] : given[2];
    shape[3] = array->rank == 4 ? given[3] : 1;
    if (array->rank == 4 && shape[3] != 1 && shape[3] != 3)
        return at_image_fail(
            reader, name, 0, "has %" PRId64 " channels (the last dimension): 1 (grey) or 3 are possible%s",
            shape[3], given[1] == 1 || given[1] == 3 ? "; give x.transpose(0, 2, 3, 1)" : "");
    if (shape[0] == 0) return at_image_fail(reader, name, 0, "has no pictures");
    if (shape[1] == 0 || shape[2] == 0 || shape[1] > AT_IMAGE_MOST_PIXELS / shape[2])
        return at_image_fail(reader, name, 0,
                             "has pictures of %" PRId64 " x %" PRId64 " pixels: they can have 1 to %" PRId64,
                             shape[1], shape[2], AT_IMAGE_MOST_PIXELS);
    return ATTN_OK;
}

/* A number that is none; `from` of the array. */
static attn_status check_numbers(at_image_reader *reader, const char *name, const at_npy *array,
                                 const at_picture *picture, int64_t from) {
    int64_t samples = at_picture_samples(picture), row = picture->width * picture->channels;
    for (int64_t i = 0; array->type == AT_NPY_FLOAT && i < samples; i++) {
        double number = at_npy_number(array, from + i);
        if (fabs(number) <= (double)FLT_MAX) continue;
        attn_status status =
            at_image_fail(reader, name, 0, "picture %" PRId64 ", row %" PRId64 ", column %" PRId64 " is %s",
                          from / samples, i / row, i % row / picture->channels,
                          isnan(number)   ? "not a number"
                          : isinf(number) ? "infinite"
                                          : "too large for 32 bits");
        reader->bad = 1;
        return status;
    }
    return ATTN_OK;
}

static attn_status take_picture(at_image_reader *reader, const char *name, const at_npy *array,
                                at_picture picture, int64_t number) {
    at_pictures *pictures = at_pictures_of(reader->dataset);
    int64_t samples = at_picture_samples(&picture), from = number * samples;
    attn_status status = check_numbers(reader, name, array, &picture, from);
    if (status == ATTN_OK)
        status = at_pictures_reserve(reader->context, pictures, reader->options->expanded_limit, &picture);
    if (status != ATTN_OK) return status;
    if (!picture.exact)
        memcpy(pictures->bytes + picture.first, array->data + from, (size_t)samples);
    else
        for (int64_t i = 0; i < samples; i++)
            pictures->numbers[picture.first + i] = at_npy_single(array, from + i);
    status = at_pictures_shrink(reader->context, pictures, &picture);
    return status == ATTN_OK ? at_image_end(reader->dataset, &picture, number + 1, "") : status;
}

attn_status at_image_take_array(at_image_reader *reader, const char *name, int format, const at_npy *array) {
    int64_t shape[4] = {0};
    int stop = 0;
    attn_status status = shape_of(reader, name, array, shape);
    if (status == ATTN_OK) status = at_image_dataset(reader->context, reader->name, format, &reader->dataset);
    at_picture picture = {.height = shape[1],
                          .width = shape[2],
                          .channels = (uint8_t)shape[3],
                          .exact = !(array->type == AT_NPY_UNSIGNED && array->size == 1)};
    for (int64_t i = 0; status == ATTN_OK && i < shape[0] && !stop; i++)
        status = at_image_settle(reader, take_picture(reader, name, array, picture, i), &stop);
    return status;
}

/* ---- labels ---- */

/* Pictures that were left out have no labels either: whether picture i of the array was. */
static int is_left_out(const attn_dataset *dataset, int64_t picture, int64_t *next) {
    if (*next >= dataset->left_out_count || dataset->left_out[*next] != picture) return 0;
    ++*next;
    return 1;
}

/* Columns of labels that were found, each with an entry for every picture of the file. */
typedef struct labels {
    at_image_reader *reader;
    at_strings names;
    at_strings *values; /* [names.count] */
    int64_t room;
    int64_t pictures; /* of the file, those left out among them */
    at_bytes text;    /* an entry of an array */
} labels;

static attn_status add_column(labels *all, const char *name) {
    attn_context *context = all->reader->context;
    attn_status status = at_grow(context, &all->values, &all->room, all->names.count + 1, sizeof *all->values,
                                 "the labels of a file");
    if (status != ATTN_OK) return status;
    memset(&all->values[all->names.count], 0, sizeof *all->values);
    return at_strings_add(context, &all->names, name, strlen(name));
}

static attn_status fail_to_fit(const labels *all, const char *name, int64_t entries) {
    return at_image_fail(all->reader, name, 0, "has %" PRId64 " entries, and there are %" PRId64 " pictures",
                         entries, all->pictures);
}

/* Every stride-th entry from `first` on. */
static attn_status take_entries(labels *all, const char *name, const at_npy *array, int64_t first,
                                int64_t stride) {
    at_origin origin = at_image_origin(all->reader);
    at_strings *values = &all->values[all->names.count - 1];
    attn_status status = ATTN_OK;
    for (int64_t i = first; i < array->count && status == ATTN_OK; i += stride) {
        status = at_npy_text(&origin, name, array, i, &all->text);
        if (status == ATTN_OK)
            status = at_image_target(all->reader, values, all->text.data, (size_t)all->text.count - 1);
    }
    return status;
}

/* name NULL: of a second file. */
static attn_status take_column(labels *all, const char *name, const at_npy *array) {
    int64_t width = array->rank == 2 ? array->shape[1] : 1;
    if (array->rank < 1 || array->rank > 2 || width < 1 || width > MOST_TARGETS || (name && array->rank != 1))
        return at_image_fail(all->reader, name, 0,
                             "has %d dimensions: labels are a list with an entry for each picture",
                             array->rank);
    if (array->shape[0] != all->pictures) return fail_to_fit(all, name, array->shape[0]);
    attn_status status = ATTN_OK;
    for (int64_t c = 0; c < width && status == ATTN_OK; c++) {
        char own[32] = "label";
        if (width > 1) snprintf(own, sizeof own, "label%" PRId64, c);
        status = add_column(all, name ? name : own);
        if (status == ATTN_OK) status = take_entries(all, name, array, c, width);
    }
    return status;
}

static attn_status take_lines(labels *all, const at_image_file *file) {
    at_image_reader *reader = all->reader;
    const char *at = file->bytes, *end = at + file->count;
    if (file->count >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    attn_status status = add_column(all, "label");
    for (int64_t line = 1; at < end && status == ATTN_OK; line++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        size_t length = (size_t)(stop - at);
        if (length > 0 && at[length - 1] == '\r') length--;
        if (at_unicode_check(at, length) != length) {
            status =
                at_image_fail(reader, NULL, line,
                              "is not UTF-8: labels must be an array (.npy, IDX), or text with one per line");
            reader->bad = 0;
            return status;
        }
        status = at_image_target(reader, &all->values[0], at, length);
        at = feed ? feed + 1 : end;
    }
    if (status == ATTN_OK && all->values[0].count != all->pictures)
        return fail_to_fit(all, NULL, all->values[0].count);
    return status;
}

static attn_status check_columns(const labels *all) {
    at_image_reader *reader = all->reader;
    const at_strings *wanted = &reader->wanted;
    if (!reader->options->labelled) return ATTN_OK;
    for (int64_t i = 0; i < wanted->count; i++)
        if (at_find_column(&all->names, at_string(wanted, i), at_string_length(wanted, i)) < 0)
            return at_image_fail(reader, NULL, 0, "has no array %.80s", at_string(wanted, i));
    if (all->names.count == 0)
        return at_image_fail(
            reader, NULL, 0,
            "has no targets: give labels as a second file, or pictures and labels in an .npz");
    if (reader->options->pairs == 1 && all->names.count > 1)
        return at_image_fail(reader, NULL, 0,
                             "has %" PRId64
                             " labels for each picture, this task learns one: name it (column)",
                             all->names.count);
    return ATTN_OK;
}

/* Into the dataset, and the memory is released. */
static attn_status put_labels(labels *all, attn_status status) {
    attn_context *context = all->reader->context;
    attn_dataset *dataset = all->reader->dataset;
    int64_t next = 0;
    if (status == ATTN_OK) status = check_columns(all);
    for (int64_t c = 0; c < all->names.count && status == ATTN_OK; c++)
        status = at_strings_add(context, &dataset->columns, at_string(&all->names, c),
                                at_string_length(&all->names, c));
    for (int64_t i = 0; i < all->pictures && status == ATTN_OK; i++) {
        if (is_left_out(dataset, i, &next)) continue;
        if (dataset->targets.count == dataset->examples * all->names.count) break; /* reading ended early */
        for (int64_t c = 0; c < all->names.count && status == ATTN_OK; c++)
            status = at_strings_add(context, &dataset->targets, at_string(&all->values[c], i),
                                    at_string_length(&all->values[c], i));
    }
    for (int64_t c = 0; c < all->names.count; c++) at_strings_free(context, &all->values[c]);
    at_release(context, all->values);
    at_strings_free(context, &all->names);
    at_bytes_free(context, &all->text);
    return status;
}

static labels begin_labels(at_image_reader *reader, int64_t pictures) {
    return (labels){.reader = reader, .pictures = pictures};
}

/* How many pictures the file has. */
static int64_t all_pictures(const attn_dataset *dataset) {
    return dataset->examples + dataset->left_out_count;
}

attn_status at_image_take_labels(at_image_reader *reader, const at_image_file *file) {
    const char *name = reader->name;
    labels all = begin_labels(reader, all_pictures(reader->dataset));
    at_npy array;
    attn_status status;
    reader->name = file->name; /* errors are about that file now, and its columns have no names */
    at_strings_clear(&reader->wanted);
    at_origin origin = at_image_origin(reader);
    int idx = at_is_idx(file->bytes, file->count);
    if (!idx && !at_is_npy(file->bytes, file->count)) {
        status = take_lines(&all, file);
    } else {
        status = idx ? at_idx_parse(&origin, file->bytes, file->count, &array)
                     : at_npy_parse(&origin, NULL, file->bytes, file->count, &array);
        if (status == ATTN_OK) status = take_column(&all, NULL, &array);
    }
    status = put_labels(&all, status);
    reader->name = name;
    return status;
}

/* ---- archives ---- */

static attn_status with_member(at_image_reader *reader, const at_zip_member *member, at_bytes *expanded,
                               at_npy *array) {
    const char *bytes;
    at_origin origin = at_image_origin(reader);
    at_bytes_free(reader->context, expanded);
    attn_status status = at_zip_read(&origin, member, expanded, &bytes);
    return status == ATTN_OK ? at_npy_parse(&origin, member->name, bytes, member->size, array) : status;
}

static const at_zip_member *find_member(const at_zip *archive, const char *name) {
    for (int64_t i = 0; i < archive->count; i++)
        if (strcmp(archive->members[i].name, name) == 0) return &archive->members[i];
    return NULL;
}

/* The array of pictures: see above. */
static attn_status find_pictures(at_image_reader *reader, const at_zip *archive, at_bytes *expanded,
                                 const at_zip_member **pictures) {
    const char *asked = reader->options->text_column;
    int named = asked && *asked;
    *pictures = find_member(archive, named ? asked : "x");
    if (!*pictures && !named) *pictures = find_member(archive, "images");
    if (*pictures) return ATTN_OK;
    if (named) return at_image_fail(reader, NULL, 0, "has no array %.80s", asked);
    for (int64_t i = 0; i < archive->count; i++) {
        at_npy array;
        attn_status status = with_member(reader, &archive->members[i], expanded, &array);
        if (status != ATTN_OK) return status;
        if (array.rank < 3) continue;
        if (*pictures)
            return at_image_fail(
                reader, NULL, 0,
                "has several arrays of three or more dimensions: name the one with the pictures x");
        *pictures = &archive->members[i];
    }
    if (*pictures) return ATTN_OK;
    return at_image_fail(reader, NULL, 0, "has no array of pictures: save it as x, n x height x width");
}

static attn_status read_archive(at_image_reader *reader, const at_image_file *file, int with_labels) {
    at_zip archive = {0};
    at_bytes expanded = {0};
    at_npy array;
    const at_zip_member *pictures = NULL;
    at_origin origin = at_image_origin(reader);
    attn_status status = at_zip_open(&origin, file->bytes, file->count, &archive);
    if (status == ATTN_OK) status = find_pictures(reader, &archive, &expanded, &pictures);
    if (status == ATTN_OK) status = with_member(reader, pictures, &expanded, &array);
    if (status == ATTN_OK) status = at_image_take_array(reader, pictures->name, AT_IMAGE_NPZ, &array);
    if (status == ATTN_OK && with_labels) {
        labels all = begin_labels(reader, all_pictures(reader->dataset));
        for (int64_t i = 0; i < archive.count && status == ATTN_OK; i++) {
            const at_zip_member *member = &archive.members[i];
            int asked = !reader->wanted.count || at_image_wanted(reader, member->name, strlen(member->name));
            if (member == pictures || !asked) continue;
            status = with_member(reader, member, &expanded, &array);
            if (status == ATTN_OK) status = take_column(&all, member->name, &array);
        }
        status = put_labels(&all, status);
    }
    at_bytes_free(reader->context, &expanded);
    at_zip_free(reader->context, &archive);
    return status;
}

attn_status at_image_read_arrays(at_image_reader *reader, int format, const at_image_file *pictures,
                                 const at_image_file *file) {
    at_origin origin = at_image_origin(reader);
    at_npy array;
    attn_status status;
    if (format == AT_IMAGE_NPZ) {
        status = read_archive(reader, pictures, !file);
    } else {
        status = at_npy_parse(&origin, NULL, pictures->bytes, pictures->count, &array);
        if (status == ATTN_OK) status = at_image_take_array(reader, NULL, format, &array);
        if (status == ATTN_OK && !file && reader->options->labelled)
            status = at_image_fail(
                reader, NULL, 0,
                "has no targets: give labels as a second file, or pictures and labels in an .npz");
    }
    return status == ATTN_OK && file ? at_image_take_labels(reader, file) : status;
}
