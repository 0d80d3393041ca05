/* test_safetensors.c: files of named tensors: round trips, every way in which a header can lie, files cut
 * anywhere, memory that runs out, a disk that is full.
 */
#define _GNU_SOURCE /* mkdtemp, setrlimit */

#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "support/memory.h"

static counting_allocator counter;
static attn_context *context;
static char folder[] = "/tmp/attn_safetensors_XXXXXX";
static char path[128];

static int setup(void **state) {
    (void)state;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&counter);
    if (attn_context_create(&options, &context) != ATTN_OK || !mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    attn_context_destroy(context);
    unlink(path);
    return rmdir(folder) == 0 && counter.live == 0 ? 0 : -1;
}

static void write_file(const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *name, size_t *length) {
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

/* How many files the test's folder has. */
static int count_files(void) {
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    int count = 0;
    for (struct dirent *one; (one = readdir(opened));) count += one->d_name[0] != '.';
    closedir(opened);
    return count;
}

/* ---- round trips ---- */

static const float floats[6] = {1.5f, -2, 3, 4, 5, 6};
static const int64_t longs[3] = {-1, 1, INT64_MAX};
static const int32_t ints[2] = {7, INT32_MIN};
static const double doubles[1] = {0.1};
static const unsigned char bytes_given[3] = {0, 200, 255};

/* The error of the first call that fails. */
static attn_status fill(at_safetensors_writer *writer) {
    const struct {
        const char *name;
        at_dtype dtype;
        int rank;
        int64_t shape[4];
        const void *data;
    } tensors[] = {
        {"bytes", AT_DTYPE_U8, 1, {3}, bytes_given},   {"weight", AT_DTYPE_F32, 2, {2, 3}, floats},
        {"empty", AT_DTYPE_F32, 3, {5, 0, 2}, NULL},   {"longs", AT_DTYPE_I64, 1, {3}, longs},
        {"ints", AT_DTYPE_I32, 4, {1, 2, 1, 1}, ints}, {"scalar", AT_DTYPE_F64, 0, {0}, doubles},
    };
    attn_status status = at_safetensors_put(writer, "one", "1");
    if (status == ATTN_OK)
        status = at_safetensors_put(writer, "\"two\"\n",
                                    "Gr\xc3\xb6\xc3\x9f"
                                    "e \\ \x1b");
    for (size_t i = 0; status == ATTN_OK && i < sizeof tensors / sizeof tensors[0]; i++)
        status = at_safetensors_add(writer, tensors[i].name, tensors[i].dtype, tensors[i].rank,
                                    tensors[i].shape, tensors[i].data);
    return status;
}

static attn_status write_model(const char *to) {
    at_safetensors_writer *writer = NULL;
    attn_status status = at_safetensors_writer_create(context, &writer);
    if (status == ATTN_OK) status = fill(writer);
    if (status == ATTN_OK) status = at_safetensors_commit(writer, to);
    at_safetensors_writer_destroy(writer);
    return status;
}

static void check_tensor(const at_safetensors *file, const char *name, at_dtype dtype, int rank,
                         int64_t count, const void *data, size_t bytes) {
    const at_stored *stored = at_safetensors_find(file, name);
    assert_non_null(stored);
    assert_string_equal(stored->name, name);
    assert_int_equal(stored->dtype, dtype);
    assert_int_equal(stored->rank, rank);
    assert_int_equal(stored->count, count);
    if (bytes) assert_memory_equal(stored->data, data, bytes);
}

static void check_model(const at_safetensors *file) {
    assert_int_equal(at_safetensors_count(file), 6);
    check_tensor(file, "bytes", AT_DTYPE_U8, 1, 3, bytes_given, sizeof bytes_given);
    check_tensor(file, "weight", AT_DTYPE_F32, 2, 6, floats, sizeof floats);
    check_tensor(file, "empty", AT_DTYPE_F32, 3, 0, NULL, 0);
    check_tensor(file, "longs", AT_DTYPE_I64, 1, 3, longs, sizeof longs);
    check_tensor(file, "ints", AT_DTYPE_I32, 4, 2, ints, sizeof ints);
    check_tensor(file, "scalar", AT_DTYPE_F64, 0, 1, doubles, sizeof doubles);
    assert_int_equal(at_safetensors_find(file, "weight")->shape[1], 3);
    assert_int_equal(at_safetensors_find(file, "empty")->shape[0], 5);
    assert_string_equal(at_safetensors_metadata(file, "one"), "1");
    assert_string_equal(at_safetensors_metadata(file, "\"two\"\n"), "Gr\xc3\xb6\xc3\x9f"
                                                                    "e \\ \x1b");
    assert_null(at_safetensors_metadata(file, "three"));
    assert_null(at_safetensors_find(file, "weigh"));
    assert_null(at_safetensors_find(file, "__metadata__"));
    assert_null(at_safetensors_at(file, 6));
    assert_null(at_safetensors_at(file, -1));
}

static void test_round_trip(void **state) {
    (void)state;
    at_safetensors *file = NULL;
    assert_int_equal(write_model(path), ATTN_OK);
    assert_int_equal(count_files(), 1);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_OK);
    assert_string_equal(at_safetensors_name(file), path);
    check_model(file);
    /* Larger elements first, otherwise in the order of their addition; data at multiples of 64. */
    const char *const order[] = {"longs", "scalar", "weight", "empty", "ints", "bytes"};
    for (int i = 0; i < 6; i++) assert_string_equal(at_safetensors_at(file, i)->name, order[i]);
    assert_int_equal((uintptr_t)at_safetensors_at(file, 0)->data % 64, 0);

    /* Writing to the mapping leaves the file as it is. */
    ((float *)at_safetensors_find(file, "weight")->data)[0] = 9;
    at_safetensors_close(file);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_OK);
    check_model(file);
    at_safetensors_close(file);
}

static void test_same_bytes(void **state) {
    (void)state;
    size_t length, again_length;
    assert_int_equal(write_model(path), ATTN_OK);
    char *bytes = read_file(path, &length);
    assert_int_equal(write_model(path), ATTN_OK);
    char *again = read_file(path, &again_length);
    assert_int_equal(length, again_length);
    assert_memory_equal(bytes, again, length);
    assert_int_equal(count_files(), 1);
    uint64_t header = (unsigned char)bytes[0] + 256u * (unsigned char)bytes[1];
    assert_int_equal((header + 8) % 64, 0);
    assert_int_equal(length, 8 + header + sizeof longs + sizeof doubles + sizeof floats + sizeof ints +
                                 sizeof bytes_given);
    free(again);
    free(bytes);
}

static void test_nothing_in_it(void **state) {
    (void)state;
    at_safetensors_writer *writer = NULL;
    at_safetensors *file = NULL;
    assert_int_equal(at_safetensors_writer_create(context, &writer), ATTN_OK);
    assert_int_equal(at_safetensors_commit(writer, path), ATTN_OK);
    at_safetensors_writer_destroy(writer);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_OK);
    assert_int_equal(at_safetensors_count(file), 0);
    assert_null(at_safetensors_metadata(file, "a"));
    assert_null(at_safetensors_find(file, "a"));
    at_safetensors_close(file);
}

static void test_writer_refuses(void **state) {
    (void)state;
    at_safetensors_writer *writer = NULL;
    const int64_t shape[4] = {2, 3, 1, 1}, negative[1] = {-1}, huge[2] = {INT64_MAX / 8, 16};
    const int64_t huge_empty[3] = {0, INT64_MAX / 8, 16};
    assert_int_equal(at_safetensors_writer_create(context, &writer), ATTN_OK);
    assert_int_equal(fill(writer), ATTN_OK);
    assert_int_equal(at_safetensors_add(writer, "weight", AT_DTYPE_F32, 2, shape, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "\"weight\""));
    assert_int_equal(at_safetensors_add(writer, "", AT_DTYPE_F32, 2, shape, floats), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "__metadata__", AT_DTYPE_F32, 2, shape, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_OTHER, 2, shape, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_F32, 5, shape, floats), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_F32, 1, negative, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_F32, 2, huge, floats), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_F32, 3, huge_empty, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "a", AT_DTYPE_F32, 1, shape, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_add(writer, "\xff", AT_DTYPE_F32, 1, shape, floats),
                     ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "not UTF-8"));
    assert_int_equal(at_safetensors_put(writer, "one", "2"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_put(writer, "x", "\xc3"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_safetensors_put(writer, "\xc3", "x"), ATTN_INVALID_ARGUMENT);
    /* None of that has left a trace. */
    at_safetensors *file = NULL;
    assert_int_equal(at_safetensors_commit(writer, path), ATTN_OK);
    at_safetensors_writer_destroy(writer);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_OK);
    check_model(file);
    at_safetensors_close(file);
}

/* ---- headers that lie ---- */

/* A file in memory that ends at a forbidden page. */
static memory_block make(const char *header, size_t header_length, uint64_t said, size_t data) {
    memory_block block = memory_create(MEMORY_GUARD_AFTER, 8 + header_length + data);
    unsigned char *bytes = block.data;
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(said >> 8 * i);
    memcpy(bytes + 8, header, header_length);
    memset(bytes + 8 + header_length, 1, data);
    return block;
}

/* Parsing it gives `status` and an error "NAME: ... part ...". */
static void expect(const char *header, size_t length, uint64_t said, size_t data, attn_status status,
                   const char *part) {
    memory_block block = make(header, length, said, data);
    at_safetensors *file = NULL;
    int64_t live = counter.live;
    attn_status got = at_safetensors_parse(context, "f.st", block.data, block.bytes, &file);
    if (got != status) print_message("%s: %s\n", header, attn_context_error(context));
    assert_int_equal(got, status);
    if (status == ATTN_OK) {
        at_safetensors_close(file);
    } else {
        const char *error = attn_context_error(context);
        assert_null(file);
        if (strncmp(error, "f.st: ", 6) != 0 || !strstr(error, part))
            fail_msg("%s\n  gives  %s\n  not    %s", header, error, part);
    }
    assert_int_equal(counter.live, live);
    memory_destroy(&block);
}

/* The header is padded with spaces, so that data are aligned. */
static void lie(const char *json, size_t data, const char *part) {
    char header[1024];
    size_t length = (strlen(json) + 7) / 8 * 8;
    assert_true(length <= sizeof header);
    memset(header, ' ', sizeof header);
    memcpy(header, json, strlen(json));
    expect(header, length, length, data, part ? ATTN_INVALID_ARGUMENT : ATTN_OK, part);
}

#define ONE(dtype, shape, offsets)                                                                           \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define A(shape, offsets) "\"a\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define B(shape, offsets) "\"b\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_lengths(void **state) {
    (void)state;
    at_safetensors *file = NULL;
    const uint64_t eight_bytes = 0; /* a length of 0 and nothing more */
    for (size_t i = 0; i <= 8; i++)
        assert_int_equal(at_safetensors_parse(context, "f", &eight_bytes, i, &file), ATTN_INVALID_ARGUMENT);
    expect("{}", 2, 2, 0, ATTN_OK, NULL);
    expect("{}", 2, 3, 0, ATTN_INVALID_ARGUMENT, "should have 3 bytes, but the file has 2");
    expect("{}", 2, 0, 0, ATTN_INVALID_ARGUMENT, "should have 0 bytes");
    expect("{}", 2, 1, 0, ATTN_INVALID_ARGUMENT, "not JSON");
    expect("{}", 2, UINT64_MAX, 0, ATTN_INVALID_ARGUMENT, "should have 18446744073709551615 bytes");
    expect("{}", 2, INT64_MAX, 0, ATTN_INVALID_ARGUMENT, "should have 9223372036854775807 bytes");
    expect("{}", 2, 2, 1, ATTN_INVALID_ARGUMENT, "1 bytes after the last tensor belong to none");
    /* A header that is as long as it says, but too long; its pages are never touched. */
    memory_block block = memory_create(MEMORY_PLAIN, 8 + 100000001);
    memcpy(block.data, (const unsigned char[8]){0x01, 0xe1, 0xf5, 0x05}, 8);
    assert_int_equal(at_safetensors_parse(context, "f", block.data, block.bytes, &file),
                     ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context),
                        "f: the header has 100000001 bytes, more than 100000000 are not allowed");
    memory_destroy(&block);
}

static void test_header_text(void **state) {
    (void)state;
    lie("{}", 0, NULL);
    lie("{\"__metadata__\":{}}", 0, NULL);
    lie("[]", 0, "does not begin with {");
    lie(" {}", 0, "does not begin with {");
    lie("{", 0, "not JSON");
    lie("{} x", 0, "not JSON");
    lie("{\"a\":\"\xff\"}", 0, "not JSON");
    lie("{\"a\\u0000b\":1}", 0, "not JSON");
    lie("{" A("[1]", "[0,1]") "," A("[1]", "[1,2]") "}", 2, "occurs twice in the header");
    lie("{\"__metadata__\":{\"k\":\"v\",\"k\":\"w\"}}", 0, "occurs twice in the header");
    lie("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "occurs twice in the header");
    lie("{\"__metadata__\":[]}", 0, "__metadata__ is not an object of strings");
    lie("{\"__metadata__\":{\"k\":1}}", 0, "__metadata__ \"k\" is not a string");
    lie("{\"__metadata__\":{\"k\":null}}", 0, "__metadata__ \"k\" is not a string");
    lie("{\"__metadata__\":{\"k\":{\"l\":\"m\"}}}", 0, "__metadata__ \"k\" is not a string");
    char deep[4000];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    expect(deep, sizeof deep, sizeof deep, 0, ATTN_INVALID_ARGUMENT, "not JSON");
}

static void test_tensors_of_the_header(void **state) {
    (void)state;
    const char *const three = "tensor \"a\": it does not have dtype, shape and data_offsets";
    lie(ONE("\"U8\"", "[1]", "[0,1]"), 1, NULL);
    lie("{\"a\":1}", 0, three);
    lie("{\"a\":[]}", 0, three);
    lie("{\"a\":{}}", 0, three);
    lie("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, three);
    lie("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, three);
    lie("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, three);
    lie("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, three);
    lie(ONE("7", "[1]", "[0,1]"), 1, three);

    lie(ONE("\"U9\"", "[1]", "[0,1]"), 1, "there is no dtype \"U9\"");
    lie(ONE("\"\"", "[1]", "[0,1]"), 1, "there is no dtype \"\"");
    lie(ONE("\"F32 \"", "[1]", "[0,4]"), 4, "there is no dtype \"F32 \"");

    lie(ONE("\"U8\"", "1", "[0,1]"), 1, "its shape is not a list");
    lie(ONE("\"U8\"", "[1,1,1,1,1]", "[0,1]"), 1, "its shape has 5 extents, more than 4");
    lie(ONE("\"U8\"", "[-1]", "[0,1]"), 1, "extent 0 of its shape is not a number");
    lie(ONE("\"U8\"", "[1,1.0]", "[0,1]"), 1, "extent 1 of its shape is not a number");
    lie(ONE("\"U8\"", "[\"1\"]", "[0,1]"), 1, "extent 0 of its shape is not a number");
    lie(ONE("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, "too many elements");
    lie(ONE("\"U8\"", "[4611686018427387904,4]", "[0,0]"), 0, "too many elements");
    lie(ONE("\"F64\"", "[2305843009213693952]", "[0,0]"), 0, "too many elements");
    lie(ONE("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), 0, "too many elements");
    lie(ONE("\"U8\"", "[9223372036854775808]", "[0,0]"), 0, "not JSON"); /* more than 64 bits */
    lie(ONE("\"U8\"", "[0,4294967296]", "[0,0]"), 0, NULL);

    lie(ONE("\"U8\"", "[1]", "{}"), 1, "data_offsets are not two whole numbers");
    lie(ONE("\"U8\"", "[1]", "[0]"), 1, "data_offsets are not two whole numbers");
    lie(ONE("\"U8\"", "[1]", "[0,1,2]"), 1, "data_offsets are not two whole numbers");
    lie(ONE("\"U8\"", "[1]", "[0,1.0]"), 1, "data_offsets are not two whole numbers");
    lie(ONE("\"U8\"", "[1]", "[null,1]"), 1, "data_offsets are not two whole numbers");
    lie(ONE("\"U8\"", "[1]", "[-1,0]"), 1, "data_offsets are -1 and 0, but the file has data from 0 to 1");
    lie(ONE("\"U8\"", "[1]", "[1,0]"), 1, "data_offsets are 1 and 0, but");
    lie(ONE("\"U8\"", "[2]", "[0,2]"), 1, "data_offsets are 0 and 2, but the file has data from 0 to 1");
    lie(ONE("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]"), 1,
        "but the file has data from 0 to 1");

    lie(ONE("\"U8\"", "[2]", "[0,1]"), 1, "2 elements of U8 are 2 bytes, but its data_offsets say 1");
    lie(ONE("\"F32\"", "[2,3]", "[0,20]"), 20, "6 elements of F32 are 24 bytes, but its data_offsets say 20");
    lie(ONE("\"F32\"", "[0]", "[0,4]"), 4, "0 elements of F32 are 0 bytes, but its data_offsets say 4");
    lie(ONE("\"F32\"", "[]", "[0,0]"), 0, "1 elements of F32 are 4 bytes, but its data_offsets say 0");
    lie(ONE("\"F4\"", "[3]", "[0,1]"), 1, "3 elements of F4 are");
}

static void test_places(void **state) {
    (void)state;
    lie("{" A("[1]", "[0,1]") "," B("[2]", "[1,3]") "}", 3, NULL);
    lie("{" B("[2]", "[1,3]") "," A("[1]", "[0,1]") "}", 3, NULL); /* any order in the header */
    lie("{" A("[0]", "[1,1]") "," B("[1]", "[0,1]") "}", 1, NULL);
    lie("{" A("[0]", "[0,0]") "," B("[1]", "[0,1]") "}", 1, NULL);
    lie("{" A("[2]", "[0,2]") "," B("[2]", "[1,3]") "}", 3, "\"b\": its data begin at 1, before those");
    lie("{" A("[2]", "[0,2]") "," B("[2]", "[0,2]") "}", 2, "\"b\": its data begin at 0, before those");
    lie("{" A("[4]", "[0,4]") "," B("[1]", "[1,2]") "}", 4, "\"b\": its data begin at 1, before those");
    lie("{" A("[4]", "[0,4]") "," B("[0]", "[2,2]") "}", 4, "\"b\": its data begin at 2, before those");
    lie("{" A("[1]", "[0,1]") "," B("[1]", "[2,3]") "}", 3,
        "\"b\": its data begin at 2, and the bytes before");
    lie("{" A("[1]", "[1,2]") "}", 2,
        "\"a\": its data begin at 1, and the bytes before belong to no tensor (0)");
    lie("{" A("[1]", "[0,1]") "}", 2, "1 bytes after the last tensor belong to none");
    lie("{" A("[3]", "[0,3]") ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[3,7]}}", 7,
        "which is not a multiple of 4");
    lie("{" A("[3]", "[0,3]") ",\"b\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[3,5]}}", 5, NULL);
}

static void test_dtypes_of_others(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int bits;
    } dtypes[] = {{"BOOL", 8},    {"I8", 8},    {"U8", 8},      {"I16", 16},    {"U16", 16},
                  {"F16", 16},    {"BF16", 16}, {"I32", 32},    {"U32", 32},    {"F32", 32},
                  {"I64", 64},    {"U64", 64},  {"F64", 64},    {"C64", 64},    {"F8_E4M3", 8},
                  {"F8_E5M2", 8}, {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E8M0", 8}};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        char json[128];
        snprintf(json, sizeof json, ONE("\"%s\"", "[4]", "[0,%d]"), dtypes[i].name, dtypes[i].bits / 2);
        lie(json, (size_t)dtypes[i].bits / 2, NULL);
        snprintf(json, sizeof json, ONE("\"%s\"", "[8]", "[0,%d]"), dtypes[i].name, dtypes[i].bits / 2);
        lie(json, (size_t)dtypes[i].bits / 2, "8 elements");
    }
}

/* A file cut anywhere, or with any byte of its header changed, is refused or read without harm. */
static void test_damage(void **state) {
    (void)state;
    size_t length;
    assert_int_equal(write_model(path), ATTN_OK);
    char *bytes = read_file(path, &length);
    at_safetensors *file = NULL;
    for (size_t cut = 0; cut < length; cut++) {
        memory_block block = memory_create(MEMORY_GUARD_AFTER, cut);
        memcpy(block.data, bytes, cut);
        assert_int_equal(at_safetensors_parse(context, "f", block.data, cut, &file), ATTN_INVALID_ARGUMENT);
        assert_null(file);
        memory_destroy(&block);
    }
    write_file(path, bytes, length - 1);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_INVALID_ARGUMENT);
    assert_int_equal(strncmp(attn_context_error(context), path, strlen(path)), 0);

    int64_t refused = 0, live = counter.live;
    for (size_t i = 0; i < length; i++) {
        for (int value = 0; value < 256; value += 15) {
            memory_block block = memory_create(MEMORY_PLAIN, length);
            memcpy(block.data, bytes, length);
            ((unsigned char *)block.data)[i] = (unsigned char)value;
            if (at_safetensors_parse(context, "f", block.data, length, &file) == ATTN_OK) {
                for (int64_t t = 0; t < at_safetensors_count(file); t++)
                    assert_ptr_equal(at_safetensors_find(file, at_safetensors_at(file, t)->name),
                                     at_safetensors_at(file, t));
                at_safetensors_close(file);
            } else {
                refused++;
            }
            memory_destroy(&block);
        }
    }
    assert_true(refused > 1000);
    assert_int_equal(counter.live, live);
    free(bytes);
}

/* ---- the system says no ---- */

static void test_files_that_cannot_be(void **state) {
    (void)state;
    at_safetensors *file = NULL;
    char other[200];
    snprintf(other, sizeof other, "%s/none", folder);
    assert_int_equal(at_safetensors_open(context, other, &file), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "/none: cannot be opened: No such file"));
    assert_int_equal(at_safetensors_open(context, folder, &file), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "not a regular file"));
    write_file(path, "", 0);
    assert_int_equal(at_safetensors_open(context, path, &file), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "0 bytes are too few"));
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_int_equal(at_safetensors_open(context, other, &file), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "not a regular file"));
    assert_int_equal(write_model(other), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "it is a pipe"));
    unlink(other);
    assert_null(file);

    snprintf(other, sizeof other, "%s/none/x", folder);
    assert_int_equal(write_model(other), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "/none/x: cannot be written: No such file"));
    assert_int_equal(write_model(folder), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "it is a directory"));
    assert_int_equal(write_model("/dev/null"), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "it is a device"));
    struct stat null_device;
    assert_true(stat("/dev/null", &null_device) == 0 && S_ISCHR(null_device.st_mode));
    assert_int_equal(count_files(), 1);
}

/* A file that may not grow stands for a full disk: every size up to the whole. */
static void test_full_disk(void **state) {
    (void)state;
    size_t length, again_length;
    struct rlimit before, limit;
    assert_int_equal(write_model(path), ATTN_OK);
    char *bytes = read_file(path, &length);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t room = 0; room <= length; room += room + 13 < length ? 13 : 1) {
        limit = (struct rlimit){room, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        attn_status status = write_model(path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, room < length ? ATTN_SYSTEM_ERROR : ATTN_OK);
        if (room < length)
            assert_non_null(strstr(attn_context_error(context), "cannot be written: File too large"));
        assert_int_equal(count_files(), 1);
        char *again = read_file(path, &again_length);
        assert_int_equal(again_length, length);
        assert_memory_equal(again, bytes, length);
        free(again);
    }
    signal(SIGXFSZ, SIG_DFL);
    free(bytes);
}

static void test_no_memory(void **state) {
    (void)state;
    at_safetensors *file = NULL;
    int64_t live = counter.live, denied = 0;
    assert_int_equal(write_model(path), ATTN_OK);
    for (int64_t at = 1;; at++) {
        counter.fail_at = at;
        attn_status status = at_safetensors_open(context, path, &file);
        counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(file);
        assert_int_equal(counter.live, live);
        denied++;
    }
    check_model(file);
    at_safetensors_close(file);
    assert_true(denied >= 4);

    denied = 0;
    unlink(path);
    for (int64_t at = 1;; at++) {
        counter.fail_at = at;
        attn_status status = write_model(path);
        counter.fail_at = 0;
        assert_int_equal(counter.live, live);
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_int_equal(count_files(), 0);
        denied++;
    }
    assert_true(denied >= 3);
    assert_int_equal(count_files(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_nothing_in_it),
        cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_header_text),
        cmocka_unit_test(test_tensors_of_the_header),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_dtypes_of_others),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_files_that_cannot_be),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
