/* test_vectors.c: files of word vectors, and what is wrong with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "inputs/text/pretrained.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"

typedef struct vectors {
    at_strings words;
    float *numbers;
    int64_t columns;
} vectors;

static void release(attn_context *context, vectors *read) {
    at_strings_free(context, &read->words);
    at_release(context, read->numbers);
}

static void check_good(const char *text, int64_t limit, const char *words, const float *numbers,
                       int64_t columns) {
    attn_context *context = test_best_context(1);
    vectors read = {.numbers = NULL};
    if (at_vectors_parse(context, "v.txt", text, strlen(text), limit, &read.words, &read.numbers,
                         &read.columns) != ATTN_OK) {
        fail_msg("%s", attn_context_error(context));
    }
    char joined[256] = "";
    for (int64_t i = 0; i < read.words.count; i++) {
        if (i) strcat(joined, "|");
        strcat(joined, at_string(&read.words, i));
    }
    assert_string_equal(joined, words);
    assert_int_equal(read.columns, columns);
    for (int64_t i = 0; i < read.words.count * columns; i++) {
        if (read.numbers[i] != numbers[i])
            fail_msg("number %d is %.9g, not %.9g", (int)i, read.numbers[i], numbers[i]);
    }
    release(context, &read);
}

static void test_good(void **state) {
    (void)state;
    static const float six[] = {1, -2.5f, 3e-3f, 0.1f, 0, 7};
    check_good("2 3\nword 1 -2.5 3e-3\nother 0.1 0 7\n", 0, "word|other", six, 3);
    check_good("word 1 -2.5 3e-3\nother 0.1 0 7", 0, "word|other", six, 3);
    check_good("\xEF\xBB\xBF"
               "2\t3 \r\nword\t1\t-2.5\t3e-3 \r\n\r\nother  +.1 -0. 7.0E0\t\r\n",
               0, "word|other", six, 3);
    check_good("2 3\nword 1 -2.5 3e-3\nother 0.1 0 7\n", 1, "word", six, 3);
    check_good("word 1 -2.5 3e-3\nthis is not read", 1, "word", six, 3);
    check_good("100 3\nword 1 -2.5 3e-3\n", 1, "word", six, 3); /* nor what would be missing */
    check_good("3 2\n1 1 -2.5\n. 3e-3 .1\n1 0 7\n", 0, "1|.|1", six, 2);
    check_good("e\xCC\x81 1\n\xE6\x88\x91\xC2\xA0 -2.5", 0, "\xC3\xA9|\xE6\x88\x91\xC2\xA0", six, 1);
}

static void test_numbers(void **state) {
    (void)state;
    static const float numbers[] = {0.1f,
                                    123456789012345678901234567890.0f,
                                    1.17549435e-38f,
                                    3.4028235e38f,
                                    1e-45f,
                                    0,
                                    -16777217.0f,
                                    0.3333333333333333333333f,
                                    -1.5e-10f,
                                    1,
                                    1e10f,
                                    9007199254740993.0f};
    check_good("w 0.1 123456789012345678901234567890 1.17549435e-38 3.4028235e38 1e-45 1e-400 -16777217 "
               "0.3333333333333333333333333333 -1.5E-10 "
               "0.00000000000000000000000000000000000000000000000001e50 1e+10 9007199254740993",
               0, "w", numbers, 12);
    /* The C library's opinion, in the locale "C" of a test. */
    attn_context *context = test_best_context(1);
    for (int i = -4500; i <= 3800; i++) {
        char text[64];
        snprintf(text, sizeof text, "w %d.%de%d", i % 10, (i * i) % 100003, i / 100);
        vectors read = {.numbers = NULL};
        assert_int_equal(
            at_vectors_parse(context, "v", text, strlen(text), 0, &read.words, &read.numbers, &read.columns),
            ATTN_OK);
        float expected = strtof(text + 2, NULL);
        if (read.numbers[0] != expected) fail_msg("%s is %.9g", text, read.numbers[0]);
        release(context, &read);
    }
}

static void check_bad(const char *text, size_t length, const char *error) {
    attn_context *context = test_best_context(1);
    vectors read = {.columns = -7};
    assert_int_equal(
        at_vectors_parse(context, "v.txt", text, length, 0, &read.words, &read.numbers, &read.columns),
        ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context), error);
    assert_null(read.numbers);
    assert_null(read.words.bytes);
    assert_int_equal(read.columns, -7);
}

static void test_bad(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "v.txt: has no vectors"},
        {"\n \n", "v.txt: has no vectors"},
        {"0 3\n", "v.txt: has no vectors"},
        {"3 0\n", "v.txt:1: vectors of 0 numbers"},
        {"word\n", "v.txt:1: a word without numbers"},
        {"a 1 2\nb 1\n", "v.txt:2: 1 numbers after the word, where the lines before have 2"},
        {"1 2\n\nb 1 2 3\n", "v.txt:3: 3 numbers after the word, where the lines before have 2"},
        {"a 1\n b 1\n", "v.txt:2: begins with a separator, and so has no word"},
        {"a 1\nb\xFF 1\n", "v.txt:2: the word is not UTF-8"},
        {"2 1\na 1\n", "v.txt: has 1 vectors, but its first line says 2"},
        {"1 1\na 1\nb 1\n", "v.txt: has 2 or more vectors, but its first line says 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_bad(cases[i].text, strlen(cases[i].text), cases[i].error);
    }
    check_bad("a 1\nb\0c 1\n", 10, "v.txt:2: the word is not UTF-8");
    static const char *const numbers[] = {"nan", "inf", "-Infinity", "1e39", "x",    "-",  ".",   "1e",
                                          "1e+", "e5",  "1..2",      "1,5",  "0x10", "1f", "--1", "1e5.0"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[64], error[128];
        snprintf(text, sizeof text, "a 1 2\nb 1 %s\n", numbers[i]);
        snprintf(error, sizeof error, "v.txt:2: column 3, \"%s\", is not a finite number of single precision",
                 numbers[i]);
        check_bad(text, strlen(text), error);
    }
    check_bad("a \xFF\xFE\n", 5, "v.txt:1: column 2, \"??\", is not a finite number of single precision");
}

/* ---- files ---- */

static const char file_name[] = "test_vectors.tmp";

static void write_file(const char *bytes, size_t count) {
    FILE *file = fopen(file_name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* 3000 vectors of 50, more than is read at once, plain and gzip. */
static char *make_vectors(size_t *length) {
    size_t room = 3000 * 50 * 12, used = 0;
    char *text = malloc(room);
    assert_non_null(text);
    used += (size_t)snprintf(text, room, "3000 50\n");
    for (int i = 0; i < 3000; i++) {
        used += (size_t)snprintf(text + used, room - used, "w%d", i);
        for (int j = 0; j < 50; j++) used += (size_t)snprintf(text + used, room - used, " %d.5", i - 30 * j);
        used += (size_t)snprintf(text + used, room - used, "\n");
    }
    *length = used;
    return text;
}

static void check_file(int64_t limit, int64_t count) {
    attn_context *context = test_best_context(1);
    vectors read = {.numbers = NULL};
    assert_int_equal(at_vectors_read(context, file_name, limit, &read.words, &read.numbers, &read.columns),
                     ATTN_OK);
    assert_int_equal(read.words.count, count);
    assert_int_equal(read.columns, 50);
    for (int64_t i = 0; i < count; i++) {
        char word[16];
        snprintf(word, sizeof word, "w%d", (int)i);
        assert_string_equal(at_string(&read.words, i), word);
        for (int64_t j = 0; j < 50; j++) {
            float expected = (float)(i - 30 * j) + (i - 30 * j < 0 ? -0.5f : 0.5f);
            assert_true(read.numbers[50 * i + j] == expected);
        }
    }
    release(context, &read);
}

static void check_bad_file(attn_status status, const char *error) {
    attn_context *context = test_best_context(1);
    vectors read = {.columns = -7};
    assert_int_equal(at_vectors_read(context, file_name, 0, &read.words, &read.numbers, &read.columns),
                     status);
    assert_non_null(strstr(attn_context_error(context), error));
    assert_int_equal(strncmp(attn_context_error(context), file_name, strlen(file_name)), 0);
    assert_null(read.numbers);
}

static void test_files(void **state) {
    (void)state;
    size_t length;
    char *text = make_vectors(&length);
    write_file(text, length);
    check_file(0, 3000);
    check_file(10, 10);
    write_file(text, length - 2000);
    check_bad_file(ATTN_INVALID_ARGUMENT, " numbers after the word, where the lines before have 50");

    gzFile packed = gzopen(file_name, "wb");
    assert_non_null(packed);
    assert_int_equal(gzwrite(packed, text, (unsigned)length), (int)length);
    assert_int_equal(gzclose(packed), Z_OK);
    check_file(0, 3000);
    check_file(2999, 2999);
    FILE *file = fopen(file_name, "rb");
    assert_non_null(file);
    size_t packed_length = fread(text, 1, length, file);
    fclose(file);
    write_file(text, packed_length - 30);
    check_bad_file(ATTN_INVALID_ARGUMENT, "damaged or cut off after line ");
    text[packed_length / 2] ^= 1;
    write_file(text, packed_length);
    check_bad_file(ATTN_INVALID_ARGUMENT, ""); /* what it expands to may be no vectors before it is no gzip */

    memset(text, 'a', length);
    file = fopen(file_name, "wb"); /* a line without end */
    assert_non_null(file);
    for (size_t i = 0; i < (9u << 20) / length + 1; i++)
        assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    check_bad_file(ATTN_INVALID_ARGUMENT, ":1: a line of more than 8 MiB");
    free(text);
    assert_int_equal(remove(file_name), 0);
    check_bad_file(ATTN_SYSTEM_ERROR, "cannot be read");
}

static void test_folder(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    vectors read = {.numbers = NULL};
    assert_int_equal(at_vectors_read(context, ".", 0, &read.words, &read.numbers, &read.columns),
                     ATTN_SYSTEM_ERROR);
    assert_int_equal(strncmp(attn_context_error(context), ".: cannot be read", 17), 0);
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {.fail_at = 0};
    attn_context *context = counting_context(&counter);
    int64_t live = counter.live;
    size_t length;
    char *text = make_vectors(&length);
    write_file(text, length);
    free(text);
    int done = 0;
    for (int64_t fail_at = 1; !done; fail_at++) {
        vectors read = {.columns = -7};
        counter = (counting_allocator){.live = live, .fail_at = fail_at};
        attn_status status =
            at_vectors_read(context, file_name, 100, &read.words, &read.numbers, &read.columns);
        if (status != ATTN_OK) {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_int_equal(read.columns, -7);
        }
        done = status == ATTN_OK;
        if (done) assert_int_equal(counter.failures, 0);
        release(context, &read);
        assert_int_equal(counter.live, live);
    }
    counter.fail_at = 0;
    attn_context_destroy(context);
    assert_int_equal(remove(file_name), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),  cmocka_unit_test(test_numbers), cmocka_unit_test(test_bad),
        cmocka_unit_test(test_files), cmocka_unit_test(test_folder),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
