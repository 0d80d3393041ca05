/* test_vectors_input.c: files of vectors: every type and byte order of .npy, archives, tables, where
 * sequences end and where targets stand, and what each mistake is told.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/attn.h>

#include "inputs/vectors/rows.h"
#include "support/memory.h"
#include "support/training.h"

/* ---- files, made byte by byte ---- */

typedef struct bytes {
    char data[8192];
    size_t count;
} bytes;

static void put(bytes *to, const void *data, size_t count) {
    assert_true(to->count + count <= sizeof to->data);
    memcpy(to->data + to->count, data, count);
    to->count += count;
}

static void put_little(bytes *to, uint64_t value, int size) {
    for (int i = 0; i < size; i++) put(to, &(char){(char)(value >> 8 * i)}, 1);
}

static void put_big(bytes *to, uint64_t value, int size) {
    for (int i = size; i-- > 0;) put(to, &(char){(char)(value >> 8 * i)}, 1);
}

/* An .npy with this dict, and elements that follow. */
static bytes npy_begin(int version, const char *dict) {
    bytes made = {.count = 0};
    char head[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', (char)version, 0};
    put(&made, head, 8);
    put_little(&made, strlen(dict), version == 1 ? 2 : 4);
    put(&made, dict, strlen(dict));
    return made;
}

static bytes npy_of(const char *descr, const char *shape) {
    char dict[200];
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }     \n", descr,
             shape);
    return npy_begin(1, dict);
}

static bytes npy_floats(const char *shape, const float *numbers, int count) {
    bytes made = npy_of("<f4", shape);
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], 4);
        put_little(&made, bits, 4);
    }
    return made;
}

/* Rows 0, 1, 2, ... of one or more columns. */
static bytes npy_counting(const char *shape, int count) {
    float numbers[64];
    for (int i = 0; i < count; i++) numbers[i] = (float)i;
    return npy_floats(shape, numbers, count);
}

static bytes npy_integers(const char *shape, const int64_t *values, int count) {
    bytes made = npy_of("<i8", shape);
    for (int i = 0; i < count; i++) put_little(&made, (uint64_t)values[i], 8);
    return made;
}

static bytes npy_strings(int width, const char *shape, const char *const *texts, int count) {
    char descr[16];
    snprintf(descr, sizeof descr, "|S%d", width);
    bytes made = npy_of(descr, shape);
    for (int i = 0; i < count; i++) {
        char padded[64] = "";
        memcpy(padded, texts[i], strlen(texts[i]));
        put(&made, padded, (size_t)width);
    }
    return made;
}

/* An archive: members are added one by one, then it is ended. */
typedef struct archive {
    bytes file, directory;
    int members;
} archive;

static void zip_add_as(archive *to, const char *name, const bytes *content, int method, uint32_t flags,
                       uint32_t check, uint32_t size) {
    char packed[4096];
    size_t count = content->count, offset = to->file.count;
    const char *data = content->data;
    if (method == 8) {
        z_stream stream;
        memset(&stream, 0, sizeof stream);
        assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = (Bytef *)(uintptr_t)content->data;
        stream.avail_in = (uInt)content->count;
        stream.next_out = (Bytef *)packed;
        stream.avail_out = sizeof packed;
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        count = sizeof packed - stream.avail_out;
        deflateEnd(&stream);
        data = packed;
    }
    bytes *parts[2] = {&to->file, &to->directory};
    for (int p = 0; p < 2; p++) {
        put(parts[p], p ? "PK\1\2\24\0" : "PK\3\4", p ? 6 : 4);
        put_little(parts[p], 20, 2);
        put_little(parts[p], flags, 2);
        put_little(parts[p], (uint64_t)method, 2);
        put_little(parts[p], 0, 4);
        put_little(parts[p], check, 4);
        put_little(parts[p], count, 4);
        put_little(parts[p], size, 4);
        put_little(parts[p], strlen(name), 2);
        put_little(parts[p], p ? 0 : 3, 2); /* numpy.savez has extra fields in the local header only */
        if (p) put(parts[p], "\0\0\0\0\0\0\0\0\0", 10);
        if (p) put_little(parts[p], offset, 4);
        put(parts[p], name, strlen(name));
    }
    put(&to->file, "xyz", 3);
    put(&to->file, data, count);
    to->members++;
}

static void zip_add(archive *to, const char *name, bytes content, int method) {
    uint32_t check = (uint32_t)crc32(0, (const Bytef *)content.data, (uInt)content.count);
    zip_add_as(to, name, &content, method, 0, check, (uint32_t)content.count);
}

static bytes zip_end(archive *to) {
    bytes all = to->file;
    put(&all, to->directory.data, to->directory.count);
    put(&all, "PK\5\6\0\0\0\0", 8);
    put_little(&all, (uint64_t)to->members, 2);
    put_little(&all, (uint64_t)to->members, 2);
    put_little(&all, to->directory.count, 4);
    put_little(&all, to->file.count, 4);
    put_little(&all, 0, 2);
    return all;
}

/* ---- reading ---- */

static attn_reader_options options_of(int labelled, int per_token) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = "vectors";
    options.labelled = labelled;
    options.per_token = per_token;
    return options;
}

static attn_dataset *read_as(const char *name, const bytes *file, attn_reader_options options) {
    attn_dataset *dataset = NULL;
    expect_ok(group_context,
              attn_dataset_parse(group_context, name, 1, file->data, file->count, &options, &dataset));
    return dataset;
}

static void refuse_as(const char *name, const bytes *file, attn_reader_options options, const char *error) {
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(group_context, name, 1, file->data, file->count, &options, &dataset);
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    assert_null(dataset);
    assert_string_equal(attn_context_error(group_context), error);
}

static attn_dataset *read_table(const char *text, attn_reader_options options) {
    attn_dataset *dataset = NULL;
    expect_ok(group_context,
              attn_dataset_parse(group_context, "a.csv", 1, text, strlen(text), &options, &dataset));
    return dataset;
}

static void refuse_table(const char *text, attn_reader_options options, const char *error) {
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(group_context, "a.csv", 1, text, strlen(text), &options, &dataset);
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    assert_null(dataset);
    assert_string_equal(attn_context_error(group_context), error);
}

/* The whole dataset as text: numbers of a row with ',' between, rows end with ' ', examples with ';', targets
 * of rows follow them after '/', those of examples after the last row. */
static void shows(const attn_dataset *dataset, const char *expected) {
    char all[4000] = "";
    const at_vectors *vectors = at_vectors_of(dataset);
    size_t used = 0;
    assert_string_equal(attn_dataset_input(dataset), "vectors");
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        int64_t first = dataset->offsets[e], end = dataset->offsets[e + 1];
        for (int64_t row = first; row <= end; row++) {
            for (int64_t c = 0; c < vectors->columns && row < end; c++)
                used += (size_t)snprintf(all + used, sizeof all - used, "%s%g", c ? "," : "",
                                         (double)vectors->numbers[row * vectors->columns + c]);
            int there = dataset->per_row ? row < end : row == end;
            for (int c = 0; c < attn_dataset_columns(dataset) && there; c++) {
                int64_t place = dataset->per_row ? row : e;
                used += (size_t)snprintf(all + used, sizeof all - used, "/%s",
                                         at_string(&dataset->targets, place * dataset->columns.count + c));
            }
            if (row < end) used += (size_t)snprintf(all + used, sizeof all - used, " ");
        }
        used += (size_t)snprintf(all + used, sizeof all - used, ";");
        assert_true(used < sizeof all - 200);
    }
    assert_string_equal(all, expected);
}

static void reads_as(const bytes *file, attn_reader_options options, const char *expected) {
    attn_dataset *dataset = read_as("a.npy", file, options);
    shows(dataset, expected);
    attn_dataset_destroy(dataset);
}

static void table_reads_as(const char *text, attn_reader_options options, const char *expected) {
    attn_dataset *dataset = read_table(text, options);
    shows(dataset, expected);
    attn_dataset_destroy(dataset);
}

/* ---- .npy ---- */

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int size;
        uint64_t values[3];
        const char *expected;
    } types[] = {
        {"f2", 2, {0x3e00, 0xc000, 0x0001}, "1.5,-2,5.96046e-08 ;"},
        {"f2", 2, {0x7bff, 0x0400, 0x8000}, "65504,6.10352e-05,-0 ;"},
        {"f4", 4, {0x3fc00000, 0xc0000000, 0x00000001}, "1.5,-2,1.4013e-45 ;"},
        {"f8", 8, {0x3ff8000000000000, 0xc000000000000000, 0x3e10000000000000}, "1.5,-2,9.31323e-10 ;"},
        {"i1", 1, {0x7f, 0x80, 0xff}, "127,-128,-1 ;"},
        {"i2", 2, {0x7fff, 0x8000, 0xffff}, "32767,-32768,-1 ;"},
        {"i4", 4, {0x7fffffff, 0x80000000, 0xffffffff}, "2.14748e+09,-2.14748e+09,-1 ;"},
        {"i8", 8, {1000000, 0x8000000000000000, 0xffffffffffffffff}, "1e+06,-9.22337e+18,-1 ;"},
        {"u1", 1, {0x7f, 0x80, 0xff}, "127,128,255 ;"},
        {"u2", 2, {0x7fff, 0x8000, 0xffff}, "32767,32768,65535 ;"},
        {"u4", 4, {7, 0x80000000, 0xffffffff}, "7,2.14748e+09,4.29497e+09 ;"},
        {"u8", 8, {7, 0x8000000000000000, 0xffffffffffffffff}, "7,9.22337e+18,1.84467e+19 ;"},
        {"b1", 1, {0, 1, 1}, "0,1,1 ;"},
    };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int order = 0; order < 3; order++) {
            char descr[8];
            if (order == 2 && types[t].size > 1) continue;
            snprintf(descr, sizeof descr, "%c%s", "<>|"[order], types[t].type);
            bytes file = npy_of(descr, "(1, 3)");
            for (int i = 0; i < 3; i++)
                (order == 1 ? put_big : put_little)(&file, types[t].values[i], types[t].size);
            reads_as(&file, options_of(0, -1), types[t].expected);
        }
    }
}

static void test_headers(void **state) {
    (void)state;
    static const char *const dicts[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2), }\n",
        "{'shape':(1,2),'fortran_order':False,'descr':'<i2'}",
        "  {\"descr\" : \"<i2\" ,\t\"shape\" : ( 1 , 2 , ) , \"fortran_order\" : False , }   \n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (1L, 2L)}",
    };
    for (int version = 1; version <= 3; version++) {
        for (size_t d = 0; d < sizeof dicts / sizeof dicts[0]; d++) {
            bytes file = npy_begin(version, dicts[d]);
            put(&file, "\1\0\2\0", 4);
            reads_as(&file, options_of(0, -1), "1,2 ;");
        }
    }
}

#define DAMAGED(what) "a.npy: its .npy header is damaged: " what ": save the array again with numpy.save"

static void test_bad_headers(void **state) {
    (void)state;
    static const struct {
        const char *dict, *error;
    } cases[] = {
        {"", DAMAGED("it is no dict")},
        {"{", DAMAGED("a key is not understood")},
        {"{}", DAMAGED("descr, fortran_order or shape is missing")},
        {"{'descr': '<i2', 'fortran_order': False}", DAMAGED("descr, fortran_order or shape is missing")},
        {"{'descr': '<i2' 'fortran_order': False}", DAMAGED("the dict does not end")},
        {"{'descr': '<i2', 'descr': '<i2'}", DAMAGED("a key occurs twice")},
        {"{'descr': '<i2', 'order': 1}", DAMAGED("it has an unknown key")},
        {"{'descr': __import__('os'), }", DAMAGED("descr is not a string")},
        {"{'descr': '<i2\\x00', }", DAMAGED("descr is not a string")},
        {"{'fortran_order': 0}", DAMAGED("fortran_order is not True or False")},
        {"{'shape': 3}", DAMAGED("its shape is not a tuple")},
        {"{'shape': (3)}", DAMAGED("its shape is not a tuple")},
        {"{'shape': (3, 4}", DAMAGED("its shape does not end")},
        {"{'shape': (a,)}", DAMAGED("its shape is not a tuple of numbers")},
        {"{'shape': (-1, 2)}", DAMAGED("a dimension is negative")},
        {"{'shape': (99999999999999999999, 2)}",
         "a.npy: a dimension of its shape does not fit 64 bits: it is damaged"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2)} x",
         DAMAGED("there is text after the dict")},
        {"{'shape': (1, 2, 3, 4, 5)}", "a.npy: has more than 4 dimensions: reshape it"},
        {"{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,)}",
         "a.npy: is a structured array: save its fields as arrays of their own (numpy.savez)"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}",
         "a.npy: is in Fortran order (column by column): save numpy.ascontiguousarray(x) instead"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
         "a.npy: its shape has more elements than memory can hold: it is damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}",
         "a.npy: has 0 bytes of elements, but shape and type '<f4' need 48: the file is incomplete"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        bytes file = npy_begin(1, cases[c].dict);
        refuse_as("a.npy", &file, options_of(0, -1), cases[c].error);
    }
    bytes file = npy_of("<i2", "(1, 2)");
    put(&file, "12345", 5);
    refuse_as("a.npy", &file, options_of(0, -1),
              "a.npy: has 5 bytes of elements, but shape and type '<i2' need 4: the file is damaged");
    for (size_t count = 6; count < file.count - 1; count++) { /* cut off anywhere: refused */
        attn_dataset *dataset = NULL;
        attn_reader_options options = options_of(0, -1);
        attn_status status =
            attn_dataset_parse(group_context, "a.npy", 1, file.data, count, &options, &dataset);
        assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    }
    file.data[6] = 4;
    refuse_as("a.npy", &file, options_of(0, -1), "a.npy: is of .npy version 4.0; versions 1 to 3 are read");
    refuse_as("a.npy", &(bytes){.data = "hello", .count = 5}, options_of(0, -1),
              "a.npy: is named like a NumPy array but is not one: save it with numpy.save");
    refuse_as("a.npy", &(bytes){.count = 0}, options_of(0, -1), "a.npy: is empty");
}

static void test_bad_types(void **state) {
    (void)state;
    static const struct {
        const char *descr, *error;
    } cases[] = {
        {"|O", "a.npy: is of type '|O', holds Python objects: convert them with astype (numbers, or str)"},
        {"<c8", "a.npy: is of type '<c8', holds complex numbers: save real and imaginary part as columns"},
        {"<f16",
         "a.npy: is of type '<f16', holds floats of that size: convert them with astype(numpy.float32)"},
        {"<M8[s]", "a.npy: is of type '<M8[s]', holds times: convert them to numbers with astype"},
        {"|V8", "a.npy: is of type '|V8', holds raw bytes: save its fields as arrays of their own"},
        {"f4", "a.npy: is of type 'f4', holds elements that are neither numbers nor strings"},
        {"|i4", "a.npy: is of type '|i4', holds elements that are neither numbers nor strings"},
        {"<i3", "a.npy: is of type '<i3', holds elements that are neither numbers nor strings"},
        {"<i", "a.npy: is of type '<i', holds elements that are neither numbers nor strings"},
        {"<U0", "a.npy: is of type '<U0', holds elements that are neither numbers nor strings"},
        {"<i4x", "a.npy: is of type '<i4x', holds elements that are neither numbers nor strings"},
        {"", "a.npy: is of type '', holds elements that are neither numbers nor strings"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        bytes file = npy_of(cases[c].descr, "(1, 2)");
        refuse_as("a.npy", &file, options_of(0, -1), cases[c].error);
    }
    bytes strings = npy_strings(2, "(1, 2)", (const char *const[]){"a", "b"}, 2);
    refuse_as("a.npy", &strings, options_of(0, -1), "a.npy: has strings: rows must be numbers");
}

static void test_bad_numbers(void **state) {
    (void)state;
    bytes file = npy_floats("(2, 2)", (const float[]){1, 2, 3, NAN}, 4);
    refuse_as("a.npy", &file, options_of(0, -1),
              "a.npy: row 1, column 1 is not a number: replace it (numpy.nan_to_num), or leave the row out");
    file = npy_floats("(2, 2)", (const float[]){1, -INFINITY, 3, 4}, 4);
    refuse_as("a.npy", &file, options_of(0, -1),
              "a.npy: row 0, column 1 is infinite: replace it (numpy.nan_to_num), or leave the row out");
    file = npy_of("<f8", "(1, 1)");
    put_little(&file, 0x7fe0000000000000, 8); /* 2^1023 */
    refuse_as("a.npy", &file, options_of(0, -1), "a.npy: row 0, column 0 is too large for 32 bits: scale it");
}

/* ---- where sequences end ---- */

static void test_splits(void **state) {
    (void)state;
    bytes flat = npy_counting("(3, 2)", 6), deep = npy_counting("(2, 3, 1)", 6);
    reads_as(&flat, options_of(0, -1), "0,1 ;2,3 ;4,5 ;");
    reads_as(&flat, options_of(0, 0), "0,1 ;2,3 ;4,5 ;");
    reads_as(&flat, options_of(0, 1), "0,1 2,3 4,5 ;");
    for (int per_token = -1; per_token <= 1; per_token++)
        reads_as(&deep, options_of(0, per_token), "0 1 2 ;3 4 5 ;");
    static const struct {
        const char *shape, *error;
        int count;
    } bad[] = {
        {"()", "a.npy: has 0 dimensions: rows are rows x columns, or sequences x rows x columns: reshape it",
         1},
        {"(6,)", "a.npy: has 1 dimension: rows are rows x columns, or sequences x rows x columns: reshape it",
         6},
        {"(1, 1, 1, 1)",
         "a.npy: has more than 3 dimensions: rows are sequences x rows x columns at most: reshape it", 1},
        {"(0, 3)", "a.npy: has no rows", 0},
        {"(1152921504606846976, 0)", "a.npy: has no columns", 0},
        {"(1152921504606846976, 0, 2)", "a.npy: has no rows", 0},
    };
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        bytes file = npy_counting(bad[b].shape, bad[b].count);
        refuse_as("a.npy", &file, options_of(0, -1), bad[b].error);
    }
    refuse_as("a.npy", &flat, options_of(1, 0),
              "a.npy: has no targets: give targets as a second file, or rows and targets in an .npz");
    attn_dataset *dataset = read_as("a.npy", &deep, options_of(0, -1));
    assert_int_equal(attn_dataset_line(dataset, 1, 2), 6);
    assert_int_equal(attn_dataset_rows(dataset, 1), 3);
    assert_int_equal(attn_dataset_tokens(dataset, 1), 0); /* rows are no tokens */
    attn_dataset_destroy(dataset);
}

/* ---- archives ---- */

static bytes archive_of(const char *shape, int count, const int64_t *offsets, int offset_count,
                        const char *target, bytes values, int method) {
    archive made = {.members = 0};
    zip_add(&made, "rows.npy", npy_counting(shape, count), method);
    char length[16];
    snprintf(length, sizeof length, "(%d,)", offset_count);
    if (offset_count) zip_add(&made, "offsets.npy", npy_integers(length, offsets, offset_count), method);
    if (target) zip_add(&made, target, values, method);
    return zip_end(&made);
}

static void test_archives(void **state) {
    (void)state;
    const int64_t offsets[] = {0, 2, 2, 4};
    for (int method = 0; method <= 8; method += 8) {
        bytes of_rows = npy_strings(3, "(4,)", (const char *const[]){"a", "b", "", "d"}, 4);
        bytes of_sequences = npy_integers("(3,)", (const int64_t[]){7, -8, 9}, 3);
        bytes file = archive_of("(4, 1)", 4, offsets, 4, "label.npy", of_rows, method);
        reads_as(&file, options_of(1, -1), "0/a 1/b ;;2/ 3/d ;");
        reads_as(&file, options_of(1, 1), "0/a 1/b ;;2/ 3/d ;");
        reads_as(&file, options_of(0, 0),
                 "0 1 ;;2 3 ;"); /* predicting: targets that do not fit are left out */
        refuse_as("a.npz", &file, options_of(1, 0),
                  "a.npz: array label: has an entry per row, but this task needs one per sequence");
        file = archive_of("(4, 1)", 4, offsets, 4, "y.npy", of_sequences, method);
        reads_as(&file, options_of(1, -1), "0 1 /7;/-8;2 3 /9;");
        reads_as(&file, options_of(1, 0), "0 1 /7;/-8;2 3 /9;");
        refuse_as("a.npz", &file, options_of(1, 1),
                  "a.npz: array y: has an entry per sequence, but this task needs one per row");
        attn_dataset *dataset = read_as("a.npz", &file, options_of(1, 0));
        assert_string_equal(attn_dataset_column(dataset, 0), "y");
        assert_string_equal(attn_input_format("vectors", (int)attn_dataset_format(dataset)), "npz");
        attn_dataset_destroy(dataset);
    }
    bytes values = npy_strings(1, "(4,)", (const char *const[]){"a", "b", "c", "d"}, 4);
    bytes file = archive_of("(4, 1)", 4, NULL, 0, "y.npy", values, 8);
    reads_as(&file, options_of(1, -1), "0 /a;1 /b;2 /c;3 /d;");
    reads_as(&file, options_of(1, 0), "0 /a;1 /b;2 /c;3 /d;");
    reads_as(&file, options_of(1, 1), "0/a 1/b 2/c 3/d ;");
    values = npy_strings(1, "(2, 2)", (const char *const[]){"a", "b", "c", "d"}, 4);
    file = archive_of("(2, 2, 1)", 4, NULL, 0, "y.npy", values, 8);
    reads_as(&file, options_of(1, -1), "0/a 1/b ;2/c 3/d ;");
    values = npy_strings(1, "(2,)", (const char *const[]){"a", "b"}, 2);
    file = archive_of("(2, 2, 1)", 4, NULL, 0, "y.npy", values, 8);
    reads_as(&file, options_of(1, -1), "0 1 /a;2 3 /b;");
}

static void test_target_values(void **state) {
    (void)state;
    const int64_t offsets[] = {0, 1, 2, 3};
    bytes file, values = npy_of("<f4", "(3,)");
    put_little(&values, 0x3dcccccd, 4); /* 0.1f */
    put_little(&values, 0x7fc00000, 4); /* NaN: missing */
    put_little(&values, 0xc0400000, 4);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 0);
    reads_as(&file, options_of(1, 0), "0 /0.1;1 /;2 /-3;");
    values = npy_of(">f8", "(3,)");
    put_big(&values, 0x3fb999999999999a, 8); /* 0.1 */
    put_big(&values, 0x3fd5555555555555, 8); /* 1 / 3 */
    put_big(&values, 0x4072c00000000000, 8);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 0);
    reads_as(&file, options_of(1, 0), "0 /0.1;1 /0.3333333333333333;2 /300;");
    for (int big = 0; big < 2; big++) { /* strings of code points; e and an accent become one */
        values = npy_of(big ? ">U2" : "<U2", "(3,)");
        const uint32_t points[] = {'e', 0x301, 0x6211, 0, 0x1f600, ' '};
        for (int i = 0; i < 6; i++) (big ? put_big : put_little)(&values, points[i], 4);
        file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 8);
        reads_as(&file, options_of(1, 0), "0 /\xc3\xa9;1 /\xe6\x88\x91;2 /\xf0\x9f\x98\x80;");
    }
    values = npy_of("<U1", "(3,)");
    for (int i = 0; i < 3; i++) put_little(&values, i == 1 ? 0xd800 : 'a', 4);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 8);
    refuse_as("a.npz", &file, options_of(1, 0),
              "a.npz: array y: string 1 has U+D800, which is not a character");
    values = npy_strings(2, "(3,)", (const char *const[]){"a", "\xff", "c"}, 3);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 8);
    refuse_as("a.npz", &file, options_of(1, 0),
              "a.npz: array y: string 1 is not UTF-8, or has a 0 byte in it");
    values = npy_floats("(3,)", (const float[]){1, INFINITY, 2}, 3);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 8);
    refuse_as("a.npz", &file, options_of(1, 0),
              "a.npz: array y: entry 1 is infinite: give finite numbers, NaN for missing");
    attn_reader_options several = options_of(1, 0);
    several.label_separator = '|';
    values = npy_strings(5, "(3,)", (const char *const[]){"a| b", "", "c"}, 3);
    file = archive_of("(3, 1)", 3, offsets, 4, "y.npy", values, 8);
    reads_as(&file, several, "0 /a\nb;1 /;2 /c;");
}

static void test_several_targets(void **state) {
    (void)state;
    archive made = {.members = 0};
    zip_add(&made, "phone.npy", npy_strings(1, "(3,)", (const char *const[]){"p", "q", "r"}, 3), 0);
    zip_add(&made, "word.npy", npy_strings(1, "(2,)", (const char *const[]){"v", "w"}, 2), 0);
    zip_add(&made, "age.npy", npy_integers("(2,)", (const int64_t[]){30, 40}, 2), 8);
    zip_add(&made, "offsets.npy", npy_integers("(3,)", (const int64_t[]){0, 1, 3}, 3), 0);
    zip_add(&made, "rows.npy", npy_counting("(3, 1)", 3), 0);
    bytes file = zip_end(&made);
    reads_as(&file, options_of(1, 1), "0/p ;1/q 2/r ;");
    reads_as(&file, options_of(1, 0), "0 /v/30;1 2 /w/40;");
    refuse_as("a.npz", &file, options_of(1, -1),
              "a.npz: has targets of rows and targets of sequences: name those to learn (column)");
    attn_reader_options asked = options_of(1, -1);
    asked.column = " age";
    reads_as(&file, asked, "0 /30;1 2 /40;");
    asked.column = "age,phone";
    asked.per_token = 1;
    refuse_as("a.npz", &file, asked,
              "a.npz: array age: has an entry per sequence, but this task needs one per row");
    asked.column = "age,none";
    refuse_as("a.npz", &file, asked, "a.npz: has no array none");
    asked.labelled = 0;
    asked.per_token = 0;
    reads_as(&file, asked, "0 /30;1 2 /40;");
    asked.column = "age,age";
    refuse_as("a.npz", &file, asked, "reader options: a name occurs twice among the columns \"age,age\"");
    attn_reader_options pairs = options_of(1, -1);
    pairs.pairs = 1;
    pairs.column = "word,age";
    refuse_as("a.npz", &file, pairs, "a.npz: has 2 targets, but this task learns one: name it (column)");
    pairs.column = "word";
    reads_as(&file, pairs, "0 /v;1 2 /w;");
    const int64_t uneven[] = {0, 2, 2};
    bytes values = npy_integers("(2,)", (const int64_t[]){5, 6}, 2);
    file = archive_of("(2, 1)", 2, uneven, 3, "y.npy", values,
                      0); /* as many sequences as rows, and not the same */
    refuse_as("a.npz", &file, options_of(1, -1),
              "a.npz: has as many sequences as rows, 2: state whether targets are of rows (per_token 1, task "
              "tag) or of sequences");
    reads_as(&file, options_of(1, 0), "0 1 /5;/6;");
    reads_as(&file, options_of(1, 1), "0/5 1/6 ;;");
}

static void test_names_of_rows(void **state) {
    (void)state;
    archive made = {.members = 0};
    zip_add(&made, "X.npy", npy_counting("(2, 2)", 4), 0);
    bytes file = zip_end(&made);
    reads_as(&file, options_of(0, -1), "0,1 ;2,3 ;"); /* the only one of two dimensions */
    zip_add(&made, "Z.npy", npy_counting("(2, 1)", 2), 0);
    file = zip_end(&made);
    refuse_as("a.npz", &file, options_of(0, -1),
              "a.npz: has several arrays of two or more dimensions: name the one with the rows `rows`");
    attn_reader_options named = options_of(0, -1);
    named.text_column = "X";
    refuse_as("a.npz", &file, named,
              "a.npz: array Z: has 2 dimensions: targets are lists, one entry per row or sequence");
    named.column = "y";
    reads_as(&file, named, "0,1 ;2,3 ;");
    named.text_column = "W";
    refuse_as("a.npz", &file, named, "a.npz: has no array W");
    archive flat = {.members = 0};
    zip_add(&flat, "y.npy", npy_counting("(2,)", 2), 0);
    file = zip_end(&flat);
    refuse_as("a.npz", &file, options_of(0, -1),
              "a.npz: has no array of rows: save it as `rows`, rows x columns");
}

static void test_bad_offsets(void **state) {
    (void)state;
    static const struct {
        int64_t offsets[4];
        int count;
        const char *error;
    } cases[] = {
        {{1, 2, 4}, 3, "entry 0 is out of order: offsets increase from 0 to the number of rows, 4"},
        {{0, 3, 2, 4}, 4, "entry 2 is out of order: offsets increase from 0 to the number of rows, 4"},
        {{0, -1, 4}, 3, "entry 1 is out of order: offsets increase from 0 to the number of rows, 4"},
        {{0, 2, 5}, 3, "entry 2 is out of order: offsets increase from 0 to the number of rows, 4"},
        {{0, 2, 3}, 3, "ends at 3, there are 4 rows"},
        {{0}, 1, "is not a list of integers: sequences + 1 of them, from 0 to the number of rows"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char error[200];
        bytes file = archive_of("(4, 1)", 4, cases[c].offsets, cases[c].count, NULL, (bytes){.count = 0}, 0);
        snprintf(error, sizeof error, "a.npz: array offsets: %s", cases[c].error);
        refuse_as("a.npz", &file, options_of(0, -1), error);
    }
    bytes file = archive_of("(2, 2, 1)", 4, cases[0].offsets, 3, NULL, (bytes){.count = 0}, 0);
    refuse_as(
        "a.npz", &file, options_of(0, -1),
        "a.npz: array offsets: cannot be used with rows of three dimensions, which already are sequences");
    archive floats = {.members = 0};
    zip_add(&floats, "rows.npy", npy_counting("(2, 1)", 2), 0);
    zip_add(&floats, "offsets.npy", npy_counting("(2,)", 2), 0);
    file = zip_end(&floats);
    refuse_as("a.npz", &file, options_of(0, -1),
              "a.npz: array offsets: is not a list of integers: sequences + 1 of them, from 0 to the number "
              "of rows");
    archive large = {.members = 0};
    bytes huge = npy_of("<u8", "(2,)");
    put_little(&huge, 0, 8);
    put_little(&huge, UINT64_MAX, 8);
    zip_add(&large, "rows.npy", npy_counting("(2, 1)", 2), 0);
    zip_add(&large, "offsets.npy", huge, 0);
    file = zip_end(&large);
    refuse_as(
        "a.npz", &file, options_of(0, -1),
        "a.npz: array offsets: entry 1 is out of order: offsets increase from 0 to the number of rows, 2");
    bytes values = npy_integers("(3,)", (const int64_t[]){1, 2, 3}, 3);
    file = archive_of("(4, 1)", 4, NULL, 0, "y.npy", values, 0);
    refuse_as("a.npz", &file, options_of(1, 0),
              "a.npz: array y: has 3 entries; there are 4 rows in 4 sequences (each row is one, as there are "
              "no sequence boundaries)");
}

static void refuse_member(const char *name, int method, uint32_t flags, uint32_t check_change,
                          uint32_t size_change, const char *error) {
    archive made = {.members = 0};
    bytes rows = npy_counting("(2, 1)", 2);
    uint32_t check = (uint32_t)crc32(0, (const Bytef *)rows.data, (uInt)rows.count);
    zip_add_as(&made, name, &rows, method, flags, check + check_change, (uint32_t)rows.count + size_change);
    bytes file = zip_end(&made);
    refuse_as("a.npz", &file, options_of(0, -1), error);
}

static void test_bad_archives(void **state) {
    (void)state;
    refuse_member("rows.npy", 0, 1, 0, 0, "a.npz: array rows: is encrypted: save it without a password");
    refuse_member("rows.npy", 12, 0, 0, 0,
                  "a.npz: array rows: is compressed by method 12; stored and deflated ones are read: use "
                  "numpy.savez_compressed");
    refuse_member("rows.npy", 0, 0, 1, 0, "a.npz: array rows: its checksum is wrong: the file is damaged");
    refuse_member("rows.npy", 8, 0, 1, 0, "a.npz: array rows: its checksum is wrong: the file is damaged");
    refuse_member("rows.npy", 0, 0, 0, 1,
                  "a.npz: the zip archive is damaged or cut off: the sizes of a member do not agree");
    refuse_member("rows.npy", 8, 0, 0, 1,
                  "a.npz: array rows: its compressed data is damaged: save the file again");
    refuse_member("rows.npy", 8, 0, 0, 1u << 30,
                  "a.npz: the zip archive is damaged or cut off: the size of a member is too large");
    refuse_member("read.me", 0, 0, 0, 0,
                  "a.npz: has a member read.me that is not an array (NAME.npy, at most 127 bytes): write the "
                  "file with numpy.savez");
    refuse_member(".npy", 0, 0, 0, 0,
                  "a.npz: has a member .npy that is not an array (NAME.npy, at most 127 bytes): write the "
                  "file with numpy.savez");
    archive twice = {.members = 0};
    for (int i = 0; i < 2; i++) zip_add(&twice, "rows.npy", npy_counting("(2, 1)", 2), 0);
    bytes file = zip_end(&twice);
    refuse_as("a.npz", &file, options_of(0, -1), "a.npz: array rows: occurs twice: remove one of them");
    archive whole = {.members = 0};
    zip_add(&whole, "rows.npy", npy_counting("(2, 1)", 2), 8);
    file = zip_end(&whole);
    for (size_t count = 4; count < file.count; count++) {
        attn_dataset *dataset = NULL;
        attn_reader_options options = options_of(0, -1);
        attn_status status =
            attn_dataset_parse(group_context, "a.npz", 1, file.data, count, &options, &dataset);
        expect_refused(group_context, status, ATTN_INVALID_ARGUMENT, "has no directory");
    }
    attn_reader_options small = options_of(0, -1);
    attn_dataset *dataset = NULL;
    archive zeros = {.members = 0};
    bytes many = npy_of("<f4", "(900, 1)");
    for (int i = 0; i < 900; i++) put_little(&many, 0, 4);
    zip_add(&zeros, "rows.npy", many, 8);
    file = zip_end(&zeros);
    small.expanded_limit = 3000;
    attn_status status =
        attn_dataset_parse(group_context, "a.npz", 1, file.data, file.count, &small, &dataset);
    expect_refused(group_context, status, ATTN_OVERFLOW, "a.npz: has more than 3000 bytes (expanded_limit");
}

/* ---- tables ---- */

static void test_tables(void **state) {
    (void)state;
    const char *text = "\xef\xbb\xbfid,x,y,label\r\n"
                       "a,1,2.5,left\r\n"
                       "a,-1,3,left\r\n"
                       "\r\n"
                       "b,1e2, 4 ,\"right, \"\"far\"\"\"\r\n";
    table_reads_as(text, options_of(1, -1), "1,2.5 -1,3 /left;100,4 /right, \"far\";");
    table_reads_as(text, options_of(1, 0), "1,2.5 -1,3 /left;100,4 /right, \"far\";");
    table_reads_as(text, options_of(1, 1), "1,2.5/left -1,3/left ;100,4/right, \"far\" ;");
    attn_dataset *dataset = read_table(text, options_of(1, 1));
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 5);
    assert_string_equal(attn_dataset_column(dataset, 0), "label");
    assert_string_equal(at_string(&at_vectors_of(dataset)->names, 1), "y");
    attn_dataset_destroy(dataset);
    /* Values that differ within a sequence stand with rows; missing ones contradict nothing. */
    const char *differs = "seq;x;tag\na;1;p\na;2;q\nb;3;\n";
    table_reads_as(differs, options_of(1, -1), "1/p 2/q ;3/ ;");
    refuse_table(
        differs, options_of(1, 0),
        "a.csv:3: column tag is not the same as in line 2, but this task needs one target per sequence");
    table_reads_as("seq\tx\ttag\na\t1\t\na\t2\tq\nb\t3\t\n", options_of(1, -1), "1 2 /q;3 /;");
    /* Without a column of sequences, each line is one. */
    table_reads_as("x,Class\n1,a\n2,\n", options_of(1, 0), "1 /a;2 /;");
    table_reads_as("x,class\n1,a\n2,\n", options_of(1, 1), "1/a ;2/ ;");
    table_reads_as("x,y\n1,5\n2,6", options_of(0, -1), "1,5 ;2,6 ;");
    attn_reader_options asked = options_of(1, 0);
    asked.column = "u,V";
    asked.text_column = "who";
    table_reads_as("who,id,u,v\nme,1,5,a\nme,2,,a\nyou,3,6,b\n", asked, "1 2 /5/a;3 /6/b;");
    asked.column = "w";
    refuse_table("who,id,u,v\nme,1,5,a\n", asked,
                 "a.csv: has no column w; its first line names the columns who, id, u, v");
    asked.column = "who";
    refuse_table("who,id\nme,1\n", asked,
                 "a.csv: has one column for two things: who; its first line names the columns who, id");
}

static void test_bad_tables(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"x,label\n1\n", "a.csv:2: 1 columns, the first line has 2"},
        {"x,label\n,a\n", "a.csv:2: column x is empty: every number of a vector is given"},
        {"x,label\n1,a\nnan,a\n", "a.csv:3: column x is \"nan\", which is not a finite number"},
        {"x,label\ninf,a\n", "a.csv:2: column x is \"inf\", which is not a finite number"},
        {"x,label\n0x10,a\n", "a.csv:2: column x is \"0x10\", which is not a finite number"},
        {"x,label\n1e400,a\n", "a.csv:2: column x is too large for 32 bits: scale it"},
        {"x,label\n\"1,a\n", "a.csv:2: a quoted field that does not end on its line"},
        {"x,label\n\"1\"2,a\n", "a.csv:2: there is text between a quoted field and the next column"},
        {"x,label\n1,\xff\n", "a.csv:2: byte 3 is not UTF-8: convert the file with iconv"},
        {"id,x,label\n,1,a\n", "a.csv:2: no sequence in column 1"},
        {"id,x,label\na,1,a\nb,2,b\na,3,a\n",
         "a.csv:4: sequence a began in line 2 and had ended: its lines must be consecutive"},
        {"x,label\n", "a.csv: has no rows after the line of names"},
        {"1,2\n3,4\n", "a.csv:1: the first line of a table names its columns, and these are numbers"},
        {"x,,label\n1,2,3\n", "a.csv:1: column 2 has no name"},
        {"x,x\n1,2\n", "a.csv:1: two columns are called x"},
        {"x,y\n1,2\n",
         "a.csv: the column of the target is ambiguous: name it; its first line names the columns x, y"},
        {"id,label\n1,2\n", "a.csv: has no column of numbers; its first line names the columns id, label"},
        {"\n \n", "a.csv: has no lines"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        refuse_table(cases[c].text, options_of(1, -1), cases[c].error);
}

static void test_skipping(void **state) {
    (void)state;
    const char *text = "id,x,label\na,1,p\na,zz,p\na,2,p\nb,3,q\nb,4\nc,5,r\na,6,p\na,7,p\nd,8,s\n";
    attn_reader_options options = options_of(1, 0);
    options.skip_bad = 1;
    attn_dataset *dataset = read_table(text, options);
    shows(dataset, "5 /r;8 /s;");
    assert_int_equal(attn_dataset_skipped(dataset), 3);
    assert_string_equal(attn_dataset_problem(dataset, 0),
                        "a.csv:3: column x is \"zz\", which is not a finite number");
    assert_string_equal(attn_dataset_problem(dataset, 1), "a.csv:6: 2 columns, the first line has 3");
    attn_dataset_destroy(dataset);
    options.skip_bad = 0;
    options.stop_at_bad = 1;
    dataset = read_table("x,label\n1,p\nzz,p\n2,p\n", options);
    shows(dataset, "1 /p;");
    assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
    attn_dataset_destroy(dataset);
    options = options_of(1, 0);
    options.skip_bad = 1;
    refuse_table("x,label\nzz,p\n", options,
                 "a.csv: has no good rows: 1 sequences were left out, the first because of a.csv:2: column x "
                 "is \"zz\", "
                 "which is not a finite number");
}

/* ---- two files, gzip, names ---- */

static void write_file(const char *path, const bytes *content, int gzip) {
    gzFile file = gzopen(path, gzip ? "wb" : "wbT");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, content->data, (unsigned)content->count), (int)content->count);
    assert_int_equal(gzclose(file), Z_OK);
}

static void test_two_files(void **state) {
    (void)state;
    char folder[] = "/tmp/attn_vectors_XXXXXX", rows[64], targets[64];
    assert_non_null(mkdtemp(folder));
    snprintf(rows, sizeof rows, "%s/rows.npy.gz", folder);
    snprintf(targets, sizeof targets, "%s/targets", folder);
    bytes array = npy_counting("(2, 2, 1)", 4);
    write_file(rows, &array, 1);
    static const struct {
        const char *shape;
        int count, per_token, pairs;
        const char *expected;
    } arrays[] = {
        {"(2,)", 2, -1, -1, "0 1 /0;2 3 /1;"},      {"(2, 1)", 2, -1, -1, "0 1 /0;2 3 /1;"},
        {"(4,)", 4, -1, -1, "0/0 1/1 ;2/2 3/3 ;"},  {"(2, 2)", 4, 1, 0, "0/0 1/1 ;2/2 3/3 ;"},
        {"(2, 2)", 4, -1, 0, "0/0 1/1 ;2/2 3/3 ;"}, {"(2, 2)", 4, 0, 0, "0 1 /0/1;2 3 /2/3;"},
    };
    attn_dataset *dataset = NULL;
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++) {
        attn_reader_options options = options_of(1, arrays[a].per_token);
        options.pairs = arrays[a].pairs;
        options.column = "not looked at";
        bytes values = npy_counting(arrays[a].shape, arrays[a].count);
        write_file(targets, &values, 0);
        expect_ok(group_context,
                  attn_dataset_read_parallel(group_context, rows, targets, &options, &dataset));
        shows(dataset, arrays[a].expected);
        attn_dataset_destroy(dataset);
    }
    bytes lines = {.data = "one line\r\n\n", .count = 11};
    attn_reader_options options = options_of(1, -1);
    options.pairs = 1;
    write_file(targets, &lines, 0);
    expect_ok(group_context, attn_dataset_read_parallel(group_context, rows, targets, &options, &dataset));
    shows(dataset, "0 1 /one line;2 3 /;");
    assert_string_equal(attn_dataset_column(dataset, 0), "target");
    attn_dataset_destroy(dataset);
    bytes three = npy_counting("(3,)", 3);
    write_file(targets, &three, 0);
    expect_refused(group_context,
                   attn_dataset_read_parallel(group_context, rows, targets, &options, &dataset),
                   ATTN_INVALID_ARGUMENT, "targets: has 3 entries; there are 4 rows in 2 sequences");
    remove_folder(folder);
    assert_string_equal(attn_input_of_file("a/B.NPY"), "vectors");
    assert_string_equal(attn_input_of_file("a.npz"), "vectors");
    assert_string_equal(attn_input_of_file("a.npy.gz"), "vectors");
    assert_string_equal(attn_input_of_file("a.csv"), "text");
    attn_reader_options pieces = options_of(0, -1);
    assert_int_equal(attn_reader_pieces(&pieces), -1);
    assert_int_equal(attn_dataset_detect("a.csv", "x,y\n", 4, &pieces), AT_VECTORS_CSV);
    assert_int_equal(attn_dataset_detect("a", "\x93NUMPY", 6, &pieces), AT_VECTORS_NPY);
    assert_int_equal(attn_dataset_detect("a", "PK\3\4", 4, &pieces), AT_VECTORS_NPZ);
    assert_int_equal(attn_dataset_detect("a", "", 0, &pieces), AT_VECTORS_AUTO);
    bytes rest = npy_counting("(1, 1)", 1);
    pieces.format = (attn_format)AT_VECTORS_NPZ;
    refuse_as("a.npy", &rest, pieces, "a.npy: is not a npz: it begins like npy");
}

/* ---- from memory ---- */

static void test_from_memory(void **state) {
    (void)state;
    float numbers[] = {1, 2, 3, 4, 5, 6};
    const int64_t offsets[] = {0, 1, 1, 3}, falls[] = {0, 2, 1}, late[] = {1, 2};
    attn_dataset *dataset = NULL, *part = NULL, *same = NULL;
    expect_ok(group_context, attn_dataset_from_rows(group_context, numbers, 2, offsets, 3, &dataset));
    numbers[0] = 9; /* they were copied */
    shows(dataset, "1,2 ;;3,4 5,6 ;");
    const char *const names[] = {"a", "b"}, *const values[] = {"x", "1", "y", NULL, "", "3"};
    expect_ok(group_context, attn_dataset_set_targets(dataset, 2, names, values, 0));
    shows(dataset, "1,2 /x/1;/y/;3,4 5,6 //3;");
    const int64_t chosen[] = {2, 0, 2};
    expect_ok(group_context, attn_dataset_select(dataset, chosen, 3, &part));
    shows(part, "3,4 5,6 //3;1,2 /x/1;3,4 5,6 //3;");
    assert_int_equal(attn_dataset_line(part, 0, 1), 3);
    const int64_t all[] = {0, 1, 2};
    expect_ok(group_context, attn_dataset_select(dataset, all, 3, &same));
    assert_true(at_dataset_fingerprint(same, 1) == at_dataset_fingerprint(dataset, 1));
    assert_true(at_dataset_fingerprint(part, 1) != at_dataset_fingerprint(dataset, 1));
    attn_dataset_destroy(same);
    attn_dataset_destroy(part);
    attn_dataset_destroy(dataset);
    expect_ok(group_context, attn_dataset_from_rows(group_context, numbers, 3, NULL, 2, &dataset));
    shows(dataset, "9,2,3 ;4,5,6 ;");
    attn_dataset_destroy(dataset);
    expect_ok(group_context, attn_dataset_from_rows(group_context, NULL, 3, NULL, 0, &dataset));
    attn_dataset_destroy(dataset);
    numbers[3] = NAN;
    dataset = NULL;
    expect_refused(group_context, attn_dataset_from_rows(group_context, numbers, 2, NULL, 3, &dataset),
                   ATTN_INVALID_ARGUMENT, "rows: row 1, column 1 is not a number: give finite numbers");
    numbers[3] = -INFINITY;
    expect_refused(group_context, attn_dataset_from_rows(group_context, numbers, 3, NULL, 2, &dataset),
                   ATTN_INVALID_ARGUMENT, "rows: row 1, column 0 is infinite: give finite numbers");
    expect_refused(group_context, attn_dataset_from_rows(group_context, numbers, 1, falls, 2, &dataset),
                   ATTN_INVALID_ARGUMENT, "offsets must not decrease from 0: offsets[1] is 2, the next 1");
    expect_refused(group_context, attn_dataset_from_rows(group_context, numbers, 1, late, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "offsets must not decrease from 0: offsets[0] is 1");
    expect_refused(group_context, attn_dataset_from_rows(group_context, numbers, 0, NULL, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "columns is 0");
    expect_refused(group_context, attn_dataset_from_rows(group_context, NULL, 1, NULL, 1, &dataset),
                   ATTN_INVALID_ARGUMENT, "rows is NULL");
    assert_int_equal(attn_dataset_from_rows(NULL, numbers, 1, NULL, 1, &dataset), ATTN_INVALID_ARGUMENT);
    assert_null(dataset);
}

static void test_described(void **state) {
    (void)state;
    attn_dataset *dataset = read_table("id,x,y,label\na,1,7,p\na,2,7,p\nb,6,7,\n", options_of(1, 0));
    attn_describe_options options;
    attn_describe_options_init(&options);
    char *text = NULL;
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    static const char *const parts[] = {
        "a.csv: a table, 2 sequences, 3 rows of 2 numbers\n",
        "x                             1            3            6\n",
        "y                             7            7            7  constant\n", "1 column is constant\n",
        "label"};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        if (!strstr(text, parts[p])) fail_msg("\"%s\" lacks \"%s\"", text, parts[p]);
    attn_text_release(group_context, text);
    options.json = 1;
    expect_ok(group_context, attn_dataset_describe(dataset, &options, &text));
    const char *json =
        "\"examples\":2,\"rows\":3,\"width\":2,\"lengths\":{\"rows\":{\"least\":1,\"median\":1.5,\"mean\":1."
        "5,"
        "\"most\":2}},\"vector\":[{\"name\":\"x\",\"least\":1,\"mean\":3,\"most\":6},{\"name\":\"y\","
        "\"least\":7,\"mean\":7,\"most\":7}],\"columns\":[";
    if (!strstr(text, json)) fail_msg("\"%s\" lacks \"%s\"", text, json);
    attn_text_release(group_context, text);
    attn_dataset_destroy(dataset);
}

/* ---- without memory ---- */

static void fail_everywhere(const char *name, const char *data, size_t count, attn_reader_options options) {
    for (int64_t n = 1;; n++) {
        attn_dataset *dataset = NULL;
        int64_t live = group_counter.live, failures = group_counter.failures;
        group_counter.fail_at = n;
        attn_status status = attn_dataset_parse(group_context, name, 1, data, count, &options, &dataset);
        group_counter.fail_at = 0;
        if (group_counter.failures == failures) { /* it needed fewer */
            expect_ok(group_context, status);
            attn_dataset_destroy(dataset);
            return;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(dataset);
        assert_int_equal(group_counter.live, live);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    const int64_t offsets[] = {0, 2, 2, 4};
    bytes values = npy_strings(3, "(3,)", (const char *const[]){"a", "b", ""}, 3);
    bytes file = archive_of("(4, 1)", 4, offsets, 4, "label.npy", values, 8);
    fail_everywhere("a.npz", file.data, file.count, options_of(1, 0));
    const char *table = "id,x,label\na,1,\"p\"\nb,2,q\n";
    fail_everywhere("a.csv", table, strlen(table), options_of(1, 0));
    file = npy_counting("(2, 2, 1)", 4);
    fail_everywhere("a.npy", file.data, file.count, options_of(0, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),           cmocka_unit_test(test_headers),
        cmocka_unit_test(test_bad_headers),     cmocka_unit_test(test_bad_types),
        cmocka_unit_test(test_bad_numbers),     cmocka_unit_test(test_splits),
        cmocka_unit_test(test_archives),        cmocka_unit_test(test_target_values),
        cmocka_unit_test(test_several_targets), cmocka_unit_test(test_names_of_rows),
        cmocka_unit_test(test_bad_offsets),     cmocka_unit_test(test_bad_archives),
        cmocka_unit_test(test_tables),          cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_skipping),        cmocka_unit_test(test_two_files),
        cmocka_unit_test(test_from_memory),     cmocka_unit_test(test_described),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
