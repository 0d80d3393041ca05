/* safetensors.c: reading files of named tensors, of which nothing is trusted unchecked.
 *
 * A file is read into memory, or, if it is very large, mapped. Its header is parsed to JSON, whose strings
 * serve as names and metadata as long as the file is open. Every tensor becomes an entry; the entries, sorted
 * by their position, must cover the data from the first byte to the last, each byte once. Memory is allocated
 * for the entries that the header really has, never for a size that it only states.
 *
 * The data is checked while it is read, piece by piece while it is in the cache: against the checksums that
 * the metadata may have, and for numbers that are not finite.
 *
 * Memory and mapping are writable: weights can be changed in place, and the file does not change.
 */
#define _DEFAULT_SOURCE /* open, mmap, madvise */

#include "data/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/checksum.h"
#include "base/context.h"
#include "base/memory.h"
#include "data/safetensors_checksum.h"
#include "data/symbols/vocabulary.h"

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER = 100000000,
    MAX_READ = 256 << 20, /* files beyond it are mapped */
    LARGE = 4 << 20,      /* bytes for which large pages are requested */
    PIECE = 1 << 18       /* bytes that are read and checked at a time: they are in the cache then */
};

typedef struct entry {
    at_stored stored; /* first, so that a pointer to it is one to the entry */
    int64_t begin, end;
    float *expanded;    /* NULL, or what it is in full */
    uint32_t checksum;  /* of what has been checked */
    int64_t not_finite; /* the first such number + 1; 0: none */
} entry;

struct at_safetensors {
    attn_context *context;
    char *name;
    unsigned char *memory; /* NULL: the bytes are mapped, or the caller's */
    void *mapping;
    size_t mapping_length;
    json_t *header, *checksums; /* NULL: the file has none */
    uint32_t header_checksum;
    const unsigned char *data;      /* of the tensors */
    int64_t start;                  /* where it begins in the file */
    int64_t checked, checked_count; /* how much of the data, and how many entries, have been checked */
    entry *entries;                 /* in the order of their data */
    int64_t count;
    const at_stored **by_name;
};

/* ---- dtypes ---- */

/* All that the format has; sizes in bits, since some are smaller than a byte. */
static const struct {
    const char *name;
    int bits;
    at_dtype dtype;
} dtypes[] = {{"F32", 32, AT_DTYPE_F32},      {"F64", 64, AT_DTYPE_F64},      {"I32", 32, AT_DTYPE_I32},
              {"I64", 64, AT_DTYPE_I64},      {"U8", 8, AT_DTYPE_U8},         {"BOOL", 8, AT_DTYPE_OTHER},
              {"I8", 8, AT_DTYPE_OTHER},      {"I16", 16, AT_DTYPE_OTHER},    {"U16", 16, AT_DTYPE_OTHER},
              {"U32", 32, AT_DTYPE_OTHER},    {"U64", 64, AT_DTYPE_OTHER},    {"F16", 16, AT_DTYPE_F16},
              {"BF16", 16, AT_DTYPE_OTHER},   {"C64", 64, AT_DTYPE_OTHER},    {"F8_E5M2", 8, AT_DTYPE_OTHER},
              {"F8_E4M3", 8, AT_DTYPE_OTHER}, {"F8_E8M0", 8, AT_DTYPE_OTHER}, {"F6_E2M3", 6, AT_DTYPE_OTHER},
              {"F6_E3M2", 6, AT_DTYPE_OTHER}, {"F4", 4, AT_DTYPE_OTHER}};

/* The number of a dtype in the table, -1 if there is none. */
static int find_dtype(const char *name) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0) return (int)i;
    return -1;
}

/* ---- one tensor of the header ---- */

/* Long names are cut: the error must have room for what is wrong. */
#define TENSOR "%s: tensor \"%.80s\": "

static attn_status read_shape(attn_context *context, const char *file, const json_t *shape,
                              at_stored *stored) {
    if (!json_is_array(shape))
        return at_fail(context, ATTN_INVALID_ARGUMENT, TENSOR "its shape is not a list", file, stored->name);
    size_t rank = json_array_size(shape);
    if (rank > ATTN_MAX_RANK)
        return at_fail(context, ATTN_INVALID_ARGUMENT, TENSOR "its shape has %zu extents, more than %d", file,
                       stored->name, rank, ATTN_MAX_RANK);
    stored->rank = (int)rank;
    int64_t product = 1; /* of those that are not 0, so that no part of the shape overflows either */
    int empty = 0;
    for (size_t i = 0; i < rank; i++) {
        const json_t *value = json_array_get(shape, i);
        int64_t extent = json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
        if (extent < 0)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           TENSOR "extent %zu of its shape is not a number 0, 1, 2 ...", file, stored->name,
                           i);
        if (extent > 0 && product > INT64_MAX / 64 / extent)
            return at_fail(context, ATTN_INVALID_ARGUMENT, TENSOR "its shape has too many elements", file,
                           stored->name);
        stored->shape[i] = extent;
        if (extent == 0)
            empty = 1;
        else
            product *= extent;
    }
    stored->count = empty ? 0 : product;
    return ATTN_OK;
}

static attn_status read_offsets(attn_context *context, const char *file, const json_t *offsets,
                                int64_t length, entry *made) {
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return at_fail(context, ATTN_INVALID_ARGUMENT, TENSOR "its data_offsets are not two whole numbers",
                       file, made->stored.name);
    made->begin = (int64_t)json_integer_value(begin);
    made->end = (int64_t)json_integer_value(end);
    if (made->begin < 0 || made->end < made->begin || made->end > length)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       TENSOR "its data_offsets are %" PRId64 " and %" PRId64
                              ", but the file has data from 0 to"
                              " %" PRId64,
                       file, made->stored.name, made->begin, made->end, length);
    return ATTN_OK;
}

/* `start` is where data begins in the file, `length` how much of it there is. */
static attn_status read_entry(attn_context *context, const char *file, const char *name, const json_t *object,
                              const unsigned char *bytes, int64_t start, int64_t length, entry *made) {
    at_stored *stored = &made->stored;
    stored->name = name;
    const char *dtype = json_string_value(json_object_get(object, "dtype"));
    const json_t *shape = json_object_get(object, "shape"),
                 *offsets = json_object_get(object, "data_offsets");
    if (!dtype || !shape || !offsets || json_object_size(object) != 3)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       TENSOR "it does not have dtype, shape and data_offsets", file, name);
    int type = find_dtype(dtype);
    if (type < 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, TENSOR "there is no dtype \"%.20s\"", file, name,
                       dtype);
    stored->dtype = dtypes[type].dtype;
    attn_status status = read_shape(context, file, shape, stored);
    if (status == ATTN_OK) status = read_offsets(context, file, offsets, length, made);
    if (status != ATTN_OK) return status;
    int64_t bits = stored->count * dtypes[type].bits; /* read_shape left room for this */
    if (bits % 8 || bits / 8 != made->end - made->begin)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       TENSOR "%" PRId64 " elements of %s are %" PRId64
                              " bytes, but its data_offsets say %" PRId64,
                       file, name, stored->count, dtype, bits / 8, made->end - made->begin);
    int64_t place = start + made->begin, alignment = dtypes[type].bits / 8;
    int used = stored->dtype != AT_DTYPE_OTHER && stored->dtype != AT_DTYPE_F16; /* where it lies */
    if (used && stored->count > 0 && place % alignment)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       TENSOR "its data begin at byte %" PRId64
                              " of the file, which is not a multiple of %" PRId64
                              ": write the file anew with aligned data",
                       file, name, place, alignment);
    stored->data = bytes + place;
    return ATTN_OK;
}

/* ---- the whole header ---- */

static int by_place(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return strcmp(a->stored.name, b->stored.name);
}

static int by_name(const void *left, const void *right) {
    return strcmp((*(const at_stored *const *)left)->name, (*(const at_stored *const *)right)->name);
}

/* Entries in order must touch each other. */
static attn_status check_cover(const at_safetensors *file, int64_t length) {
    int64_t covered = 0;
    for (int64_t i = 0; i < file->count; i++) {
        const entry *one = &file->entries[i];
        if (one->begin != covered)
            return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                           TENSOR "its data begin at %" PRId64 ", %s (%" PRId64 ")", file->name,
                           one->stored.name, one->begin,
                           one->begin < covered ? "before those of the tensor before it end"
                                                : "and the bytes before belong to no tensor",
                           covered);
        covered = one->end;
    }
    if (covered != length)
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: %" PRId64 " bytes after the last tensor belong to none", file->name,
                       length - covered);
    return ATTN_OK;
}

static attn_status check_metadata(const at_safetensors *file) {
    json_t *metadata = json_object_get(file->header, AT_METADATA);
    if (!metadata) return ATTN_OK;
    if (!json_is_object(metadata))
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: " AT_METADATA " is not an object of strings", file->name);
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                           "%s: " AT_METADATA " \"%.80s\" is not a string", file->name, key);
    }
    return ATTN_OK;
}

/* ---- checksums and numbers ---- */

static attn_status damaged(const at_safetensors *file, const char *what) {
    return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                   "%.300s: %s: the file is damaged, or a program has changed it without its checksums"
                   " (metadata " AT_CHECKSUMS "); take another copy of it",
                   file->name, what);
}

/* What the file says is the checksum of a tensor or of the header is `checksum`. */
static int agrees(const at_safetensors *file, const char *name, uint32_t checksum) {
    char text[AT_CHECKSUM_TEXT];
    const char *stored = json_string_value(json_object_get(file->checksums, name));
    at_checksum_text(checksum, text);
    return stored && strcmp(stored, text) == 0;
}

/* Finds the checksums and checks that of the header itself. */
static attn_status check_header(at_safetensors *file) {
    const char *text = at_safetensors_metadata(file, AT_CHECKSUMS);
    json_error_t error;
    if (at_header_checksum(file->header, &file->header_checksum) != 0)
        return at_fail(file->context, ATTN_OUT_OF_MEMORY, "%s: no memory to check its header", file->name);
    if (!text) return ATTN_OK;
    file->checksums = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!file->checksums && json_error_code(&error) == json_error_out_of_memory)
        return at_fail(file->context, ATTN_OUT_OF_MEMORY, "%s: no memory for its checksums", file->name);
    if (!json_is_object(file->checksums) ||
        (int64_t)json_object_size(file->checksums) != file->count + 1) /* and one of the header */
        return damaged(file, "the checksums are not one for each tensor and one for the header");
    return agrees(file, AT_METADATA, file->header_checksum)
               ? ATTN_OK
               : damaged(file, "the checksum of the header is wrong");
}

/* The first element whose exponent has all bits set + 1; 0: all are finite. Bits are compared, as the
 * compiler makes vectors of that; where the element is, is asked only if there is one. */
static int64_t find_not_finite(const void *data, int64_t count, at_dtype dtype) {
    const uint32_t *words = data;
    const uint64_t *longs = data;
    const uint32_t exponent = 0x7f800000;
    const uint64_t long_exponent = 0x7ff0000000000000;
    uint32_t found = 0;
    if (dtype == AT_DTYPE_F32)
        for (int64_t i = 0; i < count; i++) found |= (words[i] & exponent) == exponent;
    if (dtype == AT_DTYPE_F64)
        for (int64_t i = 0; i < count; i++) found |= (longs[i] & long_exponent) == long_exponent;
    for (int64_t i = 0; found && i < count; i++) {
        if (dtype == AT_DTYPE_F32 ? (words[i] & exponent) == exponent
                                  : (longs[i] & long_exponent) == long_exponent)
            return i + 1;
    }
    return 0;
}

/* Bytes `begin` to `end` of the data, all of one tensor; no element is cut. */
static void check_piece(const at_safetensors *file, entry *one, int64_t begin, int64_t end) {
    int64_t bytes = one->stored.dtype == AT_DTYPE_F64 ? 8 : 4;
    one->checksum = at_crc32c(one->checksum, file->data + begin, (size_t)(end - begin));
    int64_t found = find_not_finite(file->data + begin, (end - begin) / bytes, one->stored.dtype);
    if (found && !one->not_finite) one->not_finite = (begin - one->begin) / bytes + found;
}

/* All of it has been looked at. */
static attn_status judge(const at_safetensors *file, const entry *one) {
    char what[160];
    if (file->checksums && !agrees(file, one->stored.name, one->checksum)) {
        snprintf(what, sizeof what, "tensor \"%.80s\": its checksum is wrong", one->stored.name);
        return damaged(file, what);
    }
    if (!one->not_finite) return ATTN_OK;
    return at_fail(file->context, ATTN_NOT_FINITE,
                   TENSOR "number %" PRId64
                          " of it is NaN or infinite: such a model cannot predict; use an earlier one, or "
                          "train again with a smaller training.learning_rate",
                   file->name, one->stored.name, one->not_finite - 1);
}

/* Goes on to `end`, counted from the beginning of the file. */
static attn_status check_data(at_safetensors *file, int64_t end) {
    attn_status status = ATTN_OK;
    end -= file->start;
    while (status == ATTN_OK && file->checked_count < file->count) {
        entry *one = &file->entries[file->checked_count];
        int64_t stop = one->end < end ? one->end : end;
        if (stop > file->checked) check_piece(file, one, file->checked, stop);
        if (stop > file->checked) file->checked = stop;
        if (one->end > end) break;
        status = judge(file, one);
        file->checked_count++;
    }
    return status;
}

/* ---- the header as JSON ---- */

static attn_status parse_json(at_safetensors *file, const char *text, size_t length) {
    json_error_t error;
    if (text[0] != '{')
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: not a safetensors file, or a damaged one: the header does not begin with {",
                       file->name);
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (file->header) return ATTN_OK;
    switch (json_error_code(&error)) {
    case json_error_out_of_memory:
        return at_fail(file->context, ATTN_OUT_OF_MEMORY, "%s: no memory for its header (%zu bytes)",
                       file->name, length);
    case json_error_duplicate_key:
        return at_fail(file->context, ATTN_INVALID_ARGUMENT, "%s: a name occurs twice in the header: %.120s",
                       file->name, error.text);
    default:
        return at_fail(file->context, ATTN_INVALID_ARGUMENT, "%s: the header is not JSON (byte %d): %.120s",
                       file->name, error.position, error.text);
    }
}

static attn_status read_header(at_safetensors *file, const unsigned char *bytes, int64_t header,
                               int64_t total) {
    int64_t start = LENGTH_BYTES + header, length = total - start;
    attn_status status = parse_json(file, (const char *)bytes + LENGTH_BYTES, (size_t)header);
    if (status == ATTN_OK) status = check_metadata(file);
    if (status != ATTN_OK) return status;
    int64_t room = (int64_t)json_object_size(file->header);
    file->entries = at_allocate(file->context, room, sizeof *file->entries, "the tensors of a file");
    if (!file->entries) return ATTN_OUT_OF_MEMORY;
    file->by_name = at_allocate(file->context, room, sizeof *file->by_name, "the names of a file");
    if (!file->by_name) return ATTN_OUT_OF_MEMORY;
    const char *name;
    json_t *object;
    json_object_foreach(file->header, name, object) {
        if (strcmp(name, AT_METADATA) == 0) continue;
        status = read_entry(file->context, file->name, name, object, bytes, start, length,
                            &file->entries[file->count]);
        if (status != ATTN_OK) return status;
        file->count++;
    }
    qsort(file->entries, (size_t)file->count, sizeof *file->entries, by_place);
    for (int64_t i = 0; i < file->count; i++) file->by_name[i] = &file->entries[i].stored;
    qsort(file->by_name, (size_t)file->count, sizeof *file->by_name, by_name);
    file->data = bytes + start;
    file->start = start;
    status = check_cover(file, length);
    return status == ATTN_OK ? check_header(file) : status;
}

static uint64_t header_length(const unsigned char *bytes) {
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) length |= (uint64_t)bytes[i] << 8 * i;
    return length;
}

static attn_status read_bytes(at_safetensors *file, const unsigned char *bytes, size_t length) {
    if (length < LENGTH_BYTES)
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: %zu bytes are too few for a safetensors file", file->name, length);
    uint64_t header = header_length(bytes);
    if (header == 0 || header > length - LENGTH_BYTES)
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: not a safetensors file, or a damaged one: its header should have %" PRIu64
                       " bytes, but the file has %zu",
                       file->name, header, length - LENGTH_BYTES);
    if (header > MAX_HEADER)
        return at_fail(file->context, ATTN_INVALID_ARGUMENT,
                       "%s: the header has %" PRIu64 " bytes, more than %d are not allowed", file->name,
                       header, MAX_HEADER);
    return read_header(file, bytes, (int64_t)header, (int64_t)length);
}

/* ---- opening and closing ---- */

static attn_status create(attn_context *context, const char *name, at_safetensors **file) {
    at_safetensors *made = at_allocate(context, 1, sizeof *made, "a file of tensors");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    size_t length = strlen(name) + 1;
    made->name = at_allocate(context, (int64_t)length, 1, "a file's name");
    if (!made->name) {
        at_release(context, made);
        return ATTN_OUT_OF_MEMORY;
    }
    memcpy(made->name, name, length);
    *file = made;
    return ATTN_OK;
}

/* From *have up to `wanted` bytes of a file whose length is known. */
static attn_status read_up_to(at_safetensors *file, int descriptor, int64_t wanted, int64_t *have) {
    while (*have < wanted) {
        ssize_t got = read(descriptor, file->memory + *have, (size_t)(wanted - *have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return at_fail_system(file->context, file->name, "read", errno);
        if (got == 0)
            return at_fail(file->context, ATTN_SYSTEM_ERROR,
                           "%s: the file became shorter while it was read; try again", file->name);
        *have += got;
    }
    return ATTN_OK;
}

/* The header, and then the data piece by piece. Bytes that are not in memory yet (descriptor not -1) are read
 * before they are looked at. */
static attn_status read_all(at_safetensors *file, int descriptor, const unsigned char *bytes,
                            int64_t length) {
    int64_t have = descriptor >= 0 ? 0 : length, header = length < LENGTH_BYTES ? length : LENGTH_BYTES;
    attn_status status = read_up_to(file, descriptor, header, &have);
    if (status == ATTN_OK && length > LENGTH_BYTES) {
        uint64_t said = header_length(bytes), room = (uint64_t)length - LENGTH_BYTES;
        header += (int64_t)(said < room ? said : room);
        if (header <= MAX_HEADER + LENGTH_BYTES) status = read_up_to(file, descriptor, header, &have);
    }
    if (status == ATTN_OK) status = read_bytes(file, bytes, (size_t)length);
    for (int64_t at = header; status == ATTN_OK && at < length;) {
        at = (at / PIECE + 1) * PIECE; /* a multiple of every element's size */
        if (at > length) at = length;
        status = read_up_to(file, descriptor, at, &have);
        if (status == ATTN_OK) status = check_data(file, at);
    }
    return status == ATTN_OK ? check_data(file, length) : status; /* of no data: empty tensors */
}

attn_status at_safetensors_parse(attn_context *context, const char *name, const void *bytes, size_t length,
                                 at_safetensors **file) {
    at_safetensors *made = NULL;
    if (length > INT64_MAX / 2)
        return at_fail(context, ATTN_OVERFLOW, "%s: too large (%zu bytes)", name, length);
    attn_status status = create(context, name, &made);
    if (status != ATTN_OK) return status;
    status = read_all(made, -1, bytes, (int64_t)length);
    if (status == ATTN_OK)
        *file = made;
    else
        at_safetensors_close(made);
    return status;
}

/* Most of the time goes to the first touch of every page: large ones are requested. A system that has none
 * says so, and nothing is lost. */
static void want_large_pages(unsigned char *memory, int64_t length) {
#if defined(MADV_HUGEPAGE)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page - 1) & ~(page - 1),
              end = ((uintptr_t)memory + (size_t)length) & ~(page - 1);
    if (end > begin && end - begin >= LARGE) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)length;
#endif
}

static attn_status read_file(at_safetensors *file, int descriptor, int64_t length) {
    int64_t room = 0;
    attn_status status =
        at_grow(file->context, &file->memory, &room, length, 1, "the tensors of a file"); /* not cleared */
    if (status != ATTN_OK) return status;
    want_large_pages(file->memory, length);
    return read_all(file, descriptor, file->memory, length);
}

static attn_status map_file(at_safetensors *file, int descriptor, int64_t length) {
    void *mapping = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) return at_fail_system(file->context, file->name, "mapped", errno);
    file->mapping = mapping;
    file->mapping_length = (size_t)length;
    return read_all(file, -1, mapping, length);
}

static attn_status open_file(at_safetensors *file) {
    /* O_NONBLOCK: a named pipe without a writer would keep us waiting. */
    int descriptor = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return at_fail_system(file->context, file->name, "opened", errno);
    struct stat state;
    attn_status status;
    if (fstat(descriptor, &state) != 0) {
        status = at_fail_system(file->context, file->name, "looked at", errno);
    } else if (!S_ISREG(state.st_mode)) {
        status = at_fail(file->context, ATTN_SYSTEM_ERROR, "%s: not a regular file", file->name);
    } else if ((uint64_t)state.st_size > SIZE_MAX / 2) {
        status = at_fail(file->context, ATTN_OVERFLOW, "%s: too large (%" PRId64 " bytes)", file->name,
                         (int64_t)state.st_size);
    } else if (state.st_size <= MAX_READ) {
        status = read_file(file, descriptor, (int64_t)state.st_size);
    } else {
        status = map_file(file, descriptor, (int64_t)state.st_size);
    }
    close(descriptor);
    return status;
}

attn_status at_safetensors_open(attn_context *context, const char *path, at_safetensors **file) {
    at_safetensors *made = NULL;
    attn_status status = create(context, path, &made);
    if (status != ATTN_OK) return status;
    status = open_file(made);
    if (status == ATTN_OK)
        *file = made;
    else
        at_safetensors_close(made);
    return status;
}

void at_safetensors_close(at_safetensors *file) {
    if (!file) return;
    if (file->mapping) munmap(file->mapping, file->mapping_length);
    json_decref(file->header);
    json_decref(file->checksums);
    at_release(file->context, file->memory);
    at_release(file->context, file->by_name);
    for (int64_t i = 0; i < file->count; i++) at_release(file->context, file->entries[i].expanded);
    at_release(file->context, file->entries);
    at_release(file->context, file->name);
    at_release(file->context, file);
}

/* ---- asking ---- */

const char *at_safetensors_name(const at_safetensors *file) { return file->name; }
attn_context *at_safetensors_context(const at_safetensors *file) { return file->context; }

float **at_safetensors_expanded(const at_stored *stored) { return &((entry *)(uintptr_t)stored)->expanded; }

const char *at_safetensors_metadata(const at_safetensors *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, AT_METADATA), key));
}

int64_t at_safetensors_count(const at_safetensors *file) { return file->count; }

const at_stored *at_safetensors_at(const at_safetensors *file, int64_t index) {
    return index >= 0 && index < file->count ? &file->entries[index].stored : NULL;
}

const at_stored *at_safetensors_find(const at_safetensors *file, const char *name) {
    const at_stored wanted = {.name = name}, *key = &wanted;
    const at_stored **found =
        bsearch(&key, file->by_name, (size_t)file->count, sizeof *file->by_name, by_name);
    if (!found) return NULL;
    ((at_stored *)(uintptr_t)*found)->used = 1; /* the entry is ours: see at_safetensors_unused */
    return *found;
}

const char *at_safetensors_unused(const at_safetensors *file, const char *prefix) {
    for (int64_t i = 0; i < file->count; i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        if (!stored->used && strncmp(stored->name, prefix, strlen(prefix)) != 0) return stored->name;
    }
    return NULL;
}

uint64_t at_safetensors_fingerprint(const at_safetensors *file) {
    uint64_t made = at_hash((const char *)&file->header_checksum, sizeof file->header_checksum, 0);
    for (int64_t i = 0; i < file->count; i++) { /* by name, as in the checksum of the header */
        const entry *one = (const entry *)(const void *)file->by_name[i];
        made = at_hash((const char *)&one->checksum, sizeof one->checksum, made);
    }
    return made;
}
