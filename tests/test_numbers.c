/* test_numbers.c: numbers in fewer bits and tables without their empty rows: what comes back, what may not be
 * stored, and every lie that a file can tell of them.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/half.h"
#include "data/numbers.h"
#include "support/contexts.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_numbers_XXXXXX", path[64];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/n.safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- 16 bits ---- */

/* By its definition: sign, exponent, fraction. */
static double half_value(unsigned half) {
    int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 0x3ff);
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -size : size;
}

/* Every finite number there is, and what lies between it and the next: below the middle, in it, above it. */
static void test_halves(void **state) {
    (void)state;
    for (unsigned half = 0; half < 0x7c00; half++) {
        double value = half_value(half), next = half + 1 < 0x7c00 ? half_value(half + 1) : 65536,
               middle = (value + next) / 2;
        unsigned even = half & 1 ? half + 1 : half;
        for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
            double by = sign ? -1 : 1;
            assert_true(at_half_to_float((uint16_t)(sign | half)) == (float)(by * value));
            assert_int_equal(at_half_of((float)(by * value)), sign | half);
            assert_int_equal(at_half_of((float)(by * middle)), sign | even);
            assert_int_equal(at_half_of((float)by * nextafterf((float)middle, 0)), sign | half);
            assert_int_equal(at_half_of((float)by * nextafterf((float)middle, FLT_MAX)), sign | (half + 1));
        }
    }
    assert_int_equal(at_half_of(FLT_MAX), 0x7c00); /* infinite */
    assert_int_equal(at_half_of(-INFINITY), 0xfc00);
    assert_int_equal(at_half_of(FLT_MIN), 0);
    assert_int_equal(at_half_of(-FLT_TRUE_MIN), 0x8000);
    assert_true(isnan(at_half_to_float(at_half_of(NAN))));
    assert_true(isinf(at_half_to_float(0x7c00)));
}

/* ---- there and back ---- */

enum { ROWS = 301, COLUMNS = 37, COUNT = ROWS * COLUMNS };

/* A table of which row r is empty unless r % every is 0. */
static float *make_table(int every) {
    static float table[COUNT];
    test_random random = {7};
    for (int i = 0; i < COUNT; i++) {
        float number = (float)(random_unit(&random) * pow(10, i % 5 - 3));
        table[i] = i / COLUMNS % every ? 0 : number;
    }
    return table;
}

static attn_status write_table(const char *name, const float *table, int bits, int sparse) {
    attn_context *context = test_best_context(1);
    const int64_t shape[2] = {ROWS, COLUMNS};
    at_safetensors_writer *writer = NULL;
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    attn_status status = at_numbers_store(writer, name, 2, shape, table, bits, sparse);
    if (status == ATTN_OK) status = at_safetensors_commit(writer, path);
    at_safetensors_writer_destroy(writer);
    return status;
}

static at_safetensors *open_file(void) {
    at_safetensors *file = NULL;
    expect_ok(test_best_context(1), at_safetensors_open(test_best_context(1), path, &file));
    return file;
}

static const float *read_table(at_safetensors *file) {
    const int64_t shape[2] = {ROWS, COLUMNS};
    char reason[256] = "";
    const float *read = at_numbers_find(file, "t", 2, shape, reason, sizeof reason);
    if (!read) fail_msg("%s", reason);
    assert_null(at_safetensors_unused(file, "none"));
    assert_ptr_equal(at_numbers_find(file, "t", 2, shape, reason, sizeof reason), read); /* expanded once */
    return read;
}

/* How far a number may be from what it was, in a row whose largest is `most`. */
static double allowed(double number, double most, int bits) {
    if (bits == 32) return 0;
    if (bits == 16) return fabs(number) * 0x1p-11 + 0x1p-25;
    return most / ((1 << (bits - 1)) - 1) * 0.501;
}

static void check_table(const float *table, int bits, int sparse) {
    expect_ok(test_best_context(1), write_table("t", table, bits, sparse));
    at_safetensors *file = open_file();
    const float *read = read_table(file);
    float rounded[COUNT];
    memcpy(rounded, table, sizeof rounded);
    expect_ok(test_best_context(1),
              at_numbers_round(test_best_context(1), "t", ROWS, COLUMNS, bits, rounded));
    assert_memory_equal(rounded, read, sizeof rounded); /* what rounding says is what the file gives */
    for (int r = 0; r < ROWS; r++) {
        double most = 0;
        for (int c = 0; c < COLUMNS; c++) most = fmax(most, fabs((double)table[r * COLUMNS + c]));
        for (int c = 0; c < COLUMNS; c++) {
            double was = table[r * COLUMNS + c], is = read[r * COLUMNS + c];
            if (fabs(is - was) > allowed(was, most, bits)) fail_msg("%d bits: %g became %g", bits, was, is);
        }
    }
    size_t length, again;
    char *first = file_bytes(path, &length);
    expect_ok(test_best_context(1), write_table("t", read, bits, sparse));
    char *second = file_bytes(path, &again);
    assert_int_equal(length, again);
    assert_memory_equal(first, second, length); /* stored again it is the same file */
    free(first);
    free(second);
    at_safetensors_close(file);
}

static void test_there_and_back(void **state) {
    (void)state;
    static const int all_bits[] = {32, 16, 8, 6};
    for (int b = 0; b < 4; b++)
        for (int every = 1; every <= 7; every += 3)
            for (int sparse = 0; sparse < 2; sparse++) check_table(make_table(every), all_bits[b], sparse);
}

/* Rows are left out where that pays, and only where all bits are 0. */
static void test_empty_rows(void **state) {
    (void)state;
    static const struct {
        int every, bits, sparse, left_out;
    } cases[] = {{7, 32, 1, 1}, {7, 16, 1, 1}, {7, 6, 1, 1}, {1, 32, 1, 0}, {7, 32, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_ok(test_best_context(1),
                  write_table("t", make_table(cases[i].every), cases[i].bits, cases[i].sparse));
        at_safetensors *file = open_file();
        char text[96];
        at_numbers_describe(file, text, sizeof text);
        assert_int_equal(at_safetensors_find(file, "t.present") != NULL, cases[i].left_out);
        assert_int_equal(strstr(text, "without empty rows") != NULL, cases[i].left_out);
        assert_non_null(strstr(text, cases[i].bits == 32   ? "32 bits"
                                     : cases[i].bits == 16 ? "16 bits"
                                                           : "8 bits per number, embeddings 6"));
        if (cases[i].left_out && cases[i].bits >= 16)
            assert_int_equal(at_safetensors_find(file, "t.rows")->shape[0], (ROWS + 6) / 7);
        at_safetensors_close(file);
    }
    float *table = make_table(7);
    table[COLUMNS] = -0.0f;
    check_table(table, 32, 1);
    at_safetensors *file = open_file();
    assert_int_equal(at_safetensors_find(file, "t.rows")->shape[0], (ROWS + 6) / 7 + 1);
    at_safetensors_close(file);
    memset(table, 0, COUNT * sizeof *table); /* nothing says how large it may become */
    check_table(table, 32, 1);
    file = open_file();
    assert_null(at_safetensors_find(file, "t.present"));
    at_safetensors_close(file);
}

static void test_refused_numbers(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const struct {
        float number;
        int bits;
        const char *part; /* NULL: it can be stored */
    } cases[] = {{65519, 16, NULL},      {65520, 16, "the number 65520 cannot be stored in 16 bits"},
                 {-1e30f, 16, "-1e+30"}, {INFINITY, 8, "tensor t: the number inf"},
                 {NAN, 6, "nan"},        {FLT_MAX, 6, NULL},
                 {1e-38f, 8, NULL},      {FLT_MAX, 32, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float *table = make_table(1);
        table[40] = cases[i].number;
        attn_status status = write_table("t", table, cases[i].bits, 1);
        if (!cases[i].part) {
            expect_ok(context, status);
            continue;
        }
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, cases[i].part);
        status = at_numbers_round(context, "t", ROWS, COLUMNS, cases[i].bits, table);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, cases[i].part);
    }
}

/* ---- lies ---- */

typedef struct lie {
    const char *tensor; /* that is changed */
    int drop;           /* or left out */
    int shorter;        /* by so many of its first dimension */
    int flat;           /* of one dimension */
    at_dtype dtype;     /* AT_DTYPE_OTHER: as it was */
    int64_t place;      /* of a byte that becomes `byte`; -1: none */
    unsigned char byte;
    const char *part; /* of the reason */
} lie;

static void check_lie(const char *stored_as, const lie *l) {
    attn_context *context = test_best_context(1);
    const int64_t shape[2] = {ROWS, COLUMNS};
    char reason[256] = "", *bytes = calloc(1, COUNT * sizeof(float));
    at_safetensors *from = open_file(), *file = NULL;
    at_safetensors_writer *writer = NULL;
    assert_non_null(bytes);
    assert_non_null(at_safetensors_find(from, l->tensor));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    for (int64_t i = 0; i < at_safetensors_count(from); i++) {
        const at_stored *one = at_safetensors_at(from, i);
        int changed = strcmp(one->name, l->tensor) == 0;
        if (changed && l->drop) continue;
        int64_t other[ATTN_MAX_RANK];
        memcpy(other, one->shape, sizeof other);
        if (changed) other[0] -= l->shorter;
        if (changed && l->flat) other[0] = one->count;
        int bytes_each = one->dtype == AT_DTYPE_U8 ? 1 : one->dtype == AT_DTYPE_F16 ? 2 : 4;
        if (changed) memcpy(bytes, one->data, (size_t)one->count * (size_t)bytes_each);
        if (changed && l->place >= 0) bytes[l->place] = (char)l->byte;
        expect_ok(context,
                  at_safetensors_add(writer, one->name,
                                     changed && l->dtype != AT_DTYPE_OTHER ? l->dtype : one->dtype,
                                     changed && l->flat ? 1 : one->rank, other, changed ? bytes : one->data));
    }
    char lying[80];
    snprintf(lying, sizeof lying, "%s/lying", folder);
    expect_ok(context, at_safetensors_commit(writer, lying));
    expect_ok(context, at_safetensors_open(context, lying, &file));
    assert_null(at_numbers_find(file, "t", 2, shape, reason, sizeof reason));
    if (!strstr(reason, l->part))
        fail_msg("%s: %s: \"%s\", not \"%s\"", stored_as, l->tensor, reason, l->part);
    at_safetensors_close(file);
    at_safetensors_close(from);
    at_safetensors_writer_destroy(writer);
    free(bytes);
}

#define AS_IT_WAS .dtype = AT_DTYPE_OTHER, .place = -1
static void test_lies(void **state) {
    (void)state;
    static const lie present[] = {
        {"t.present", .drop = 1, AS_IT_WAS, .part = ""},
        {"t.present", .shorter = 1, AS_IT_WAS, .part = "t.present does not have a bit (U8) for each row"},
        {"t.present", .dtype = AT_DTYPE_OTHER, .place = ROWS / 8, .byte = 0x80,
         .part = "t.present names a row that does not exist"},
        {"t.present", .dtype = AT_DTYPE_OTHER, .place = 3, .byte = 0xff, .part = ""},
    };
    static const lie rows[] = {
        {"t.rows", .drop = 1, AS_IT_WAS, .part = "the tensor t is missing"},
        {"t.rows", .shorter = 1, AS_IT_WAS, .part = "t.rows has another shape"},
        {"t.rows", .flat = 1, AS_IT_WAS, .part = "t.rows has another shape"},
        {"t.rows", .dtype = AT_DTYPE_I32, .place = -1, .part = "t.rows is not aligned F32 or F16"},
    };
    static const lie infinite = {"t.rows", .dtype = AT_DTYPE_OTHER, .place = 1, .byte = 0x7c,
                                 .part = "t.rows has a number that is NaN or infinite"};
    static const lie packed[] = {
        {"t.bits6", .drop = 1, AS_IT_WAS, .part = "the tensor t is missing"},
        {"t.bits6", .shorter = 1, AS_IT_WAS, .part = "in 6 or 8 bits has another dtype or shape"},
        {"t.bits6", .flat = 1, AS_IT_WAS, .part = "in 6 or 8 bits has another dtype or shape"},
        {"t.scale", .drop = 1, AS_IT_WAS, .part = "t.scale is missing, or is not one valid scale"},
        {"t.scale", .shorter = 1, AS_IT_WAS, .part = "t.scale is missing, or is not one valid scale"},
        {"t.scale", .dtype = AT_DTYPE_I32, .place = -1,
         .part = "t.scale is missing, or is not one valid scale"},
        {"t.scale", .dtype = AT_DTYPE_OTHER, .place = 3, .byte = 0x80, .part = "t.scale is missing"},
        {"t.scale", .dtype = AT_DTYPE_OTHER, .place = 3, .byte = 0x7e, .part = "t.scale is missing"},
    };
    static const int all_bits[] = {32, 16, 6};
    for (int b = 0; b < 3; b++) {
        expect_ok(test_best_context(1), write_table("t", make_table(7), all_bits[b], 1));
        for (size_t i = 0; i < sizeof present / sizeof present[0]; i++) check_lie("empty rows", &present[i]);
        for (size_t i = 0; b < 2 && i < sizeof rows / sizeof rows[0]; i++) check_lie("rows", &rows[i]);
        for (size_t i = 0; b == 2 && i < sizeof packed / sizeof packed[0]; i++) check_lie("bits", &packed[i]);
        if (b == 1) check_lie("halves", &infinite);
    }
    expect_ok(test_best_context(1), write_table("t", make_table(1), 6, 0)); /* no row is left out */
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) check_lie("bits, all rows", &packed[i]);
}

/* A few bytes may not ask for much memory: too many rows are left out. */
static void test_too_few_rows(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const int64_t table[2] = {100000, 60000}, one[2] = {1, 60000}, bytes = 100000 / 8;
    float *row = calloc((size_t)one[1], sizeof *row);
    unsigned char *present = calloc((size_t)bytes, 1);
    char reason[256] = "";
    at_safetensors_writer *writer = NULL;
    at_safetensors *file = NULL;
    assert_true(row && present);
    present[7] = 1;
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    expect_ok(context, at_safetensors_add(writer, "t.rows", AT_DTYPE_F32, 2, one, row));
    expect_ok(context, at_safetensors_add(writer, "t.present", AT_DTYPE_U8, 1, &bytes, present));
    expect_ok(context, at_safetensors_commit(writer, path));
    at_safetensors_writer_destroy(writer);
    file = open_file();
    assert_null(at_numbers_find(file, "t", 2, table, reason, sizeof reason));
    assert_non_null(strstr(reason, "t.present leaves out more rows than is allowed"));
    at_safetensors_close(file);
    free(row);
    free(present);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),     cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_empty_rows), cmocka_unit_test(test_refused_numbers),
        cmocka_unit_test(test_lies),       cmocka_unit_test(test_too_few_rows),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
