/* idx.c: IDX, the format of MNIST: arrays of numbers, images in one file and labels in another.
 *
 *     0, 0, type, rank (a byte each); rank dimensions (4 bytes each, the highest first); the elements
 *
 * Types: 8 unsigned bytes, 9 signed bytes, 11 and 12 integers of 2 and 4 bytes, 13 and 14 floats of 4 and 8
 * bytes; all with the highest byte first.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/image/reader.h"

int at_is_idx(const char *bytes, size_t count) {
    return count >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14 &&
           bytes[2] != 10 && bytes[3] >= 1 && bytes[3] <= AT_NPY_RANK;
}

static int is_little(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

attn_status at_idx_parse(const at_origin *origin, const char *bytes, size_t count, at_npy *array) {
    static const struct {
        at_npy_type type;
        int size;
    } types[] = {{AT_NPY_UNSIGNED, 1}, {AT_NPY_SIGNED, 1}, {AT_NPY_SIGNED, 0}, {AT_NPY_SIGNED, 2},
                 {AT_NPY_SIGNED, 4},   {AT_NPY_FLOAT, 4},  {AT_NPY_FLOAT, 8}};
    const unsigned char *head = (const unsigned char *)bytes;
    memset(array, 0, sizeof *array);
    if (!at_is_idx(bytes, count)) return at_origin_fail(origin, NULL, 0, "is no IDX");
    array->type = types[head[2] - 8].type;
    array->size = types[head[2] - 8].size;
    array->swapped = is_little();
    array->rank = head[3];
    size_t begin = 4 + 4 * (size_t)array->rank;
    if (count < begin) return at_origin_fail(origin, NULL, 0, "is cut off within its header");
    array->count = 1;
    for (int d = 0; d < array->rank; d++) {
        const unsigned char *at = head + 4 + 4 * d;
        array->shape[d] = (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | at[3];
        if (array->shape[d] > 0 && array->count > INT64_MAX / 16 / array->shape[d])
            return at_origin_fail(origin, NULL, 0, "has an impossible shape: its header is damaged");
        array->count *= array->shape[d];
    }
    array->data = bytes + begin;
    if ((uint64_t)array->count * (uint64_t)array->size != count - begin)
        return at_origin_fail(
            origin, NULL, 0, "has a header with %" PRId64 " bytes of numbers, and %zu follow it: %s",
            array->count * array->size, count - begin,
            (uint64_t)array->count * (uint64_t)array->size > count - begin ? "it is cut off"
                                                                           : "it is damaged");
    return ATTN_OK;
}

/* ---- labels beside the images ---- */

/* Replaces the last `from` of the file's own name by `to`, which is as long or shorter. */
static void replace(char *path, const char *from, const char *to) {
    char *base = strrchr(path, '/'), *last = NULL;
    for (char *at = base ? base : path; (at = strstr(at, from)) != NULL; at++) last = at;
    if (last) memcpy(last, to, strlen(to));
}

/* train-images-idx3-ubyte -> train-labels-idx1-ubyte, perhaps with .gz; 0: there is none. */
static int find_labels(at_image_reader *reader, const char *images, at_bytes *path, attn_status *status) {
    size_t length = strlen(images);
    path->count = 0;
    *status = at_bytes_append(reader->context, path, images, length + 1);
    if (*status == ATTN_OK) *status = at_bytes_append(reader->context, path, "   ", 3);
    if (*status != ATTN_OK) return 0;
    replace(path->data, "images", "labels");
    replace(path->data, "idx3", "idx1");
    if (strcmp(path->data, images) == 0) return 0;
    if (access(path->data, R_OK) == 0) return 1;
    if (length > 3 && strcmp(images + length - 3, ".gz") == 0)
        path->data[length - 3] = 0;
    else
        strcpy(path->data + length, ".gz");
    return access(path->data, R_OK) == 0;
}

static attn_status read_beside(at_image_reader *reader, const at_image_file *pictures) {
    at_bytes path = {0}, file = {0};
    attn_status status;
    const at_expansion allowed = {reader->options->expanded_limit, reader->options->expanded_ratio, NULL,
                                  NULL};
    if (find_labels(reader, pictures->name, &path, &status)) {
        status = at_file_read(reader->context, path.data, &allowed, &file);
        at_image_file labels = {path.data, file.data ? file.data : "", (size_t)file.count};
        if (status == ATTN_OK) status = at_image_take_labels(reader, &labels);
    } else if (status == ATTN_OK) {
        status =
            at_image_fail(reader, NULL, 0,
                          "has no labels beside it (train-images-idx3-ubyte has train-labels-idx1-ubyte): "
                          "give them as a second file");
    }
    at_bytes_free(reader->context, &path);
    at_bytes_free(reader->context, &file);
    return status;
}

attn_status at_image_read_idx(at_image_reader *reader, const at_image_file *pictures,
                              const at_image_file *labels) {
    at_npy array;
    at_origin origin = at_image_origin(reader);
    attn_status status = at_idx_parse(&origin, pictures->bytes, pictures->count, &array);
    if (status == ATTN_OK && array.rank == 1)
        return at_image_fail(reader, NULL, 0,
                             "is a list of labels: give the images, and this as the second file");
    if (status == ATTN_OK) status = at_image_take_array(reader, NULL, AT_IMAGE_IDX, &array);
    if (status != ATTN_OK) return status;
    if (labels) return at_image_take_labels(reader, labels);
    return reader->options->labelled ? read_beside(reader, pictures) : ATTN_OK;
}
