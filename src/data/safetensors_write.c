/* safetensors_write.c: writes files of named tensors, as a whole (data/replace.h).
 *
 * The bytes depend only on names, shapes, data and the order in which they were added.
 */
#include "data/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/checksum.h"
#include "base/context.h"
#include "base/memory.h"
#include "data/json.h"
#include "data/replace.h"
#include "data/safetensors_checksum.h"

enum { LENGTH_BYTES = 8, MAX_HEADER = 100000000, DATA_ALIGNMENT = 64 };

typedef struct addition {
    const char *dtype;
    int64_t element_bytes;
    int rank;
    int64_t shape[ATTN_MAX_RANK];
    int64_t bytes;
    const void *data;
} addition;

struct at_safetensors_writer {
    attn_context *context;
    json_t *metadata;
    json_t *names; /* name -> number of the addition, in their order */
    addition *additions;
    int64_t count, room;
    void **kept; /* memory that goes with the writer */
    int64_t kept_count, kept_room;
};

/* ---- collecting ---- */

static attn_status no_memory(attn_context *context) {
    return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for the header of a file of tensors");
}

attn_status at_safetensors_writer_create(attn_context *context, at_safetensors_writer **writer) {
    at_safetensors_writer *made = at_allocate(context, 1, sizeof *made, "a writer of tensors");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->metadata = json_object();
    made->names = json_object();
    if (!made->metadata || !made->names) {
        at_safetensors_writer_destroy(made);
        return no_memory(context);
    }
    *writer = made;
    return ATTN_OK;
}

void at_safetensors_writer_destroy(at_safetensors_writer *writer) {
    if (!writer) return;
    json_decref(writer->metadata);
    json_decref(writer->names);
    for (int64_t i = 0; i < writer->kept_count; i++) at_release(writer->context, writer->kept[i]);
    at_release(writer->context, writer->kept);
    at_release(writer->context, writer->additions);
    at_release(writer->context, writer);
}

attn_context *at_safetensors_writer_context(const at_safetensors_writer *writer) { return writer->context; }

attn_status at_safetensors_keep(at_safetensors_writer *writer, void *memory) {
    attn_status status = at_grow(writer->context, &writer->kept, &writer->kept_room, writer->kept_count + 1,
                                 sizeof *writer->kept, "what is to be written");
    if (status == ATTN_OK)
        writer->kept[writer->kept_count++] = memory;
    else
        at_release(writer->context, memory);
    return status;
}

/* Sets `key` in an object of jansson's to `value`, which is given away. jansson says NULL both for text that
 * is not UTF-8 and for lack of memory; making it without that check tells the two apart. */
static attn_status set(attn_context *context, json_t *object, const char *key, const char *text,
                       json_t *value) {
    if (value && json_object_set_new(object, key, value) == 0) return ATTN_OK;
    json_t *key_alone = json_string(key), *text_alone = json_string(text ? text : "");
    int valid = key_alone && text_alone;
    json_decref(key_alone);
    json_decref(text_alone);
    if (valid) return no_memory(context);
    return at_fail(context, ATTN_INVALID_ARGUMENT, "\"%.80s\" or its value is not UTF-8", key);
}

attn_status at_safetensors_put(at_safetensors_writer *writer, const char *key, const char *value) {
    if (json_object_get(writer->metadata, key))
        return at_fail(writer->context, ATTN_INVALID_ARGUMENT, "metadata \"%.80s\" is there already", key);
    return set(writer->context, writer->metadata, key, value, json_string(value));
}

static int describe(at_dtype dtype, addition *made) {
    switch (dtype) {
    case AT_DTYPE_F32: made->dtype = "F32", made->element_bytes = 4; return 1;
    case AT_DTYPE_F64: made->dtype = "F64", made->element_bytes = 8; return 1;
    case AT_DTYPE_I32: made->dtype = "I32", made->element_bytes = 4; return 1;
    case AT_DTYPE_I64: made->dtype = "I64", made->element_bytes = 8; return 1;
    case AT_DTYPE_U8: made->dtype = "U8", made->element_bytes = 1; return 1;
    case AT_DTYPE_F16: made->dtype = "F16", made->element_bytes = 2; return 1;
    case AT_DTYPE_OTHER: break;
    }
    return 0;
}

attn_status at_safetensors_add(at_safetensors_writer *writer, const char *name, at_dtype dtype, int rank,
                               const int64_t *shape, const void *data) {
    attn_context *context = writer->context;
    addition made = {.rank = rank, .data = data};
    if (!name[0] || strcmp(name, AT_METADATA) == 0 || json_object_get(writer->names, name))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "tensor \"%.80s\": the name is empty, reserved or there already", name);
    if (!describe(dtype, &made) || rank < 0 || rank > ATTN_MAX_RANK)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "tensor \"%.80s\": dtype %d or rank %d is not known",
                       name, (int)dtype, rank);
    int64_t product = made.element_bytes; /* of extents that are not 0: no part of the shape may overflow */
    int empty = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || (shape[i] > 0 && product > INT64_MAX / 64 / shape[i]))
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "tensor \"%.80s\": its shape is negative or too large", name);
        made.shape[i] = shape[i];
        if (shape[i] == 0)
            empty = 1;
        else
            product *= shape[i];
    }
    made.bytes = empty ? 0 : product;
    if (made.bytes > 0 && !data)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "tensor \"%.80s\": its data is NULL", name);
    attn_status status = at_grow(context, &writer->additions, &writer->room, writer->count + 1,
                                 sizeof *writer->additions, "the tensors of a file");
    if (status == ATTN_OK) status = set(context, writer->names, name, NULL, json_integer(writer->count));
    if (status == ATTN_OK) writer->additions[writer->count++] = made;
    return status;
}

/* ---- the header ---- */

static const int element_sizes[] = {8, 4, 2, 1}; /* larger ones first: then all are aligned */
enum { SIZES = sizeof element_sizes / sizeof element_sizes[0] };

/* {"dtype": ..., "shape": [...], "data_offsets": [offset, end]}; NULL without memory. */
static json_t *describe_json(const addition *one, int64_t offset) {
    json_t *shape = json_array();
    for (int i = 0; shape && i < one->rank; i++) {
        if (json_array_append_new(shape, json_integer(one->shape[i])) != 0) {
            json_decref(shape);
            shape = NULL;
        }
    }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", one->dtype, "shape", shape, "data_offsets",
                     (json_int_t)offset, (json_int_t)(offset + one->bytes));
}

/* Adds the tensors whose elements have `element_bytes`; -1 without memory (or if offsets overflow, which data
 * that is in memory cannot make them). */
static int header_tensors(const at_safetensors_writer *writer, json_t *header, int element_bytes,
                          int64_t *offset) {
    const char *name;
    json_t *number;
    json_object_foreach(writer->names, name, number) {
        const addition *one = &writer->additions[json_integer_value(number)];
        if (one->element_bytes != element_bytes) continue;
        if (one->bytes > INT64_MAX / 2 - *offset) return -1;
        if (json_object_set_new(header, name, describe_json(one, *offset)) != 0) return -1;
        *offset += one->bytes;
    }
    return 0;
}

/* Adds the checksums, which are of the data as it is now, to the metadata of a header that has all else. -1
 * without memory. */
static int header_checksums(const at_safetensors_writer *writer, json_t *header) {
    uint32_t checksum;
    char text[AT_CHECKSUM_TEXT];
    json_t *made = json_object(), *tensor;
    const char *name;
    int bad = !made || at_header_checksum(header, &checksum) != 0;
    if (!bad) {
        at_checksum_text(checksum, text);
        bad = json_object_set_new(made, AT_METADATA, json_string(text)) != 0;
    }
    json_object_foreach(header, name, tensor) {
        if (bad || strcmp(name, AT_METADATA) == 0) continue;
        const addition *one = &writer->additions[json_integer_value(json_object_get(writer->names, name))];
        at_checksum_text(at_crc32c(0, one->data, (size_t)one->bytes), text);
        bad = json_object_set_new(made, name, json_string(text)) != 0;
    }
    char *all = bad ? NULL : at_json_text(made, JSON_COMPACT);
    bad = !all || json_object_set_new(json_object_get(header, AT_METADATA), AT_CHECKSUMS, json_string(all));
    free(all);
    json_decref(made);
    return bad ? -1 : 0;
}

/* *text = length, JSON and spaces up to where data begins, from malloc; 0 without memory. */
static size_t write_header(const at_safetensors_writer *writer, char **text) {
    json_t *header = json_object(), *metadata = json_object(); /* json_copy would not say what it left out */
    int64_t offset = 0;
    int bad = json_object_set_new(header, AT_METADATA, metadata) != 0 ||
              json_object_update(metadata, writer->metadata) != 0;
    for (int i = 0; !bad && i < SIZES; i++)
        bad = header_tensors(writer, header, element_sizes[i], &offset) != 0;
    if (!bad) bad = header_checksums(writer, header) != 0;
    char *json = bad ? NULL : at_json_text(header, JSON_COMPACT);
    json_decref(header);
    if (!json) return 0;
    size_t length = strlen(json);
    size_t total = (LENGTH_BYTES + length + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    char *made = malloc(total);
    if (made) {
        for (int i = 0; i < LENGTH_BYTES; i++) made[i] = (char)((total - LENGTH_BYTES) >> 8 * i & 0xff);
        memcpy(made + LENGTH_BYTES, json, length);
        memset(made + LENGTH_BYTES + length, ' ', total - LENGTH_BYTES - length);
    }
    free(json);
    *text = made;
    return made ? total : 0;
}

/* ---- the file ---- */

static void write_tensors(const at_safetensors_writer *writer, at_replacement *into) {
    for (int i = 0; i < SIZES; i++) {
        for (int64_t j = 0; j < writer->count; j++) {
            const addition *one = &writer->additions[j];
            if (one->element_bytes == element_sizes[i]) at_replace_write(into, one->data, (size_t)one->bytes);
        }
    }
}

attn_status at_safetensors_commit(at_safetensors_writer *writer, const char *path) {
    attn_context *context = writer->context;
    char *header = NULL;
    size_t header_bytes = write_header(writer, &header);
    at_replacement file;
    attn_status status = ATTN_OK;
    if (!header_bytes) {
        status = no_memory(context);
    } else if (header_bytes - LENGTH_BYTES > MAX_HEADER) {
        status = at_fail(context, ATTN_OVERFLOW, "%s: the header would have %zu bytes, more than %d", path,
                         header_bytes - LENGTH_BYTES, MAX_HEADER);
    } else {
        status = at_replace_begin(context, path, &file);
    }
    if (status == ATTN_OK) {
        at_replace_write(&file, header, header_bytes);
        write_tensors(writer, &file);
        status = at_replace_end(&file);
    }
    free(header);
    return status;
}
