/* test_checksums.c: files that change on the disk: flipped bits, files that are overwritten while they are in
 * use, weights that are not numbers.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "base/checksum.h"
#include "data/safetensors.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_checksums_XXXXXX";
static char path[80], last[80], other[80];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static void write_bytes(const char *to, const void *bytes, size_t length) {
    FILE *file = fopen(to, "wb"); /* in place, as cp does it */
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* ---- the checksum itself ---- */

static uint32_t bit_by_bit(const unsigned char *bytes, size_t count) {
    uint32_t sum = 0xffffffffu;
    for (size_t i = 0; i < count; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0);
    }
    return ~sum;
}

static void test_known_values(void **state) {
    (void)state;
    unsigned char zeros[32] = {0}, ones[32], rising[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++) rising[i] = (unsigned char)i;
    assert_int_equal(at_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(at_crc32c(0, zeros, 32), 0x8a9136aau); /* RFC 3720 */
    assert_int_equal(at_crc32c(0, ones, 32), 0x62a8ab43u);
    assert_int_equal(at_crc32c(0, rising, 32), 0x46dd794eu);
    assert_int_equal(at_crc32c(7, NULL, 0), 7);
    assert_int_equal(at_crc32c_portable(7, NULL, 0), 7);
}

/* All lengths around those of the blocks, at all alignments, and cut in two anywhere. */
static void test_lengths_and_parts(void **state) {
    (void)state;
    enum { MOST = 40000 };
    memory_block block = memory_create(MEMORY_GUARD_AFTER, MOST);
    unsigned char *bytes = block.data;
    for (uint32_t i = 0, random = 1; i < MOST; i++)
        bytes[i] = (unsigned char)((random = random * 1664525u + 1013904223u) >> 24);
    for (size_t count = 0; count <= MOST; count += count < 900 ? 1 : 769) {
        const unsigned char *from = bytes + MOST - count; /* up to the guard */
        uint32_t expected = bit_by_bit(from, count), half = at_crc32c(0, from, count / 3);
        assert_int_equal(at_crc32c(0, from, count), expected);
        assert_int_equal(at_crc32c_portable(0, from, count), expected);
        assert_int_equal(at_crc32c(half, from + count / 3, count - count / 3), expected);
    }
    memory_destroy(&block);
}

/* ---- flipped bits ---- */

static void write_two_tensors(const char *to) {
    attn_context *context = test_best_context(1);
    static const float numbers[] = {1, -2.5f, 3e-9f, 0};
    static const int64_t longs[] = {1, -1};
    static const unsigned char bytes[] = {0, 200, 255};
    const int64_t shape[] = {2, 2}, two[] = {2}, three[] = {3};
    at_safetensors_writer *writer = NULL;
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    expect_ok(context, at_safetensors_put(writer, "attn.format", "1"));
    expect_ok(context, at_safetensors_put(writer, "one", "value"));
    expect_ok(context, at_safetensors_add(writer, "bytes", AT_DTYPE_U8, 1, three, bytes));
    expect_ok(context, at_safetensors_add(writer, "weight", AT_DTYPE_F32, 2, shape, numbers));
    expect_ok(context, at_safetensors_add(writer, "longs", AT_DTYPE_I64, 1, two, longs));
    expect_ok(context, at_safetensors_commit(writer, to));
    at_safetensors_writer_destroy(writer);
}

/* Every single bit of a file, header included. What may go unseen is only a bit of the key itself, which says
 * that there are checksums. */
static void test_every_bit(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    size_t length, key = 0;
    write_two_tensors(path);
    char *bytes = file_bytes(path, &length);
    while (memcmp(bytes + key, "attn.checksums", 14) != 0) key++;
    for (size_t i = 0; i < 8 * length; i++) {
        if (i / 8 >= key && i / 8 < key + 14) continue;
        at_safetensors *file = NULL;
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        attn_status status = at_safetensors_parse(context, "f", bytes, length, &file);
        if (status != ATTN_INVALID_ARGUMENT)
            fail_msg("bit %zu of byte %zu was changed, and nobody saw it", i % 8, i / 8);
        assert_null(file);
        if (i / 8 >= length - 3) assert_non_null(strstr(attn_context_error(context), "tensor \"bytes\""));
        if (i / 8 >= length - 19 && i / 8 < length - 3)
            assert_non_null(strstr(attn_context_error(context), "tensor \"weight\": its checksum is wrong"));
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    free(bytes);
}

static void test_checksums_that_lie(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\\\"__metadata__\\\":\\\"00000000\\\"}",
                                        "{\\\"__metadata__\\\":\\\"00000000\\\",\\\"a\\\":\\\"00000000\\\"}",
                                        "{\\\"__metadata__\\\":1,\\\"a\\\":2}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        _Alignas(64) char bytes[400] = {0};
        int length = snprintf(bytes + 8, sizeof bytes - 8,
                              "{\"__metadata__\":{\"attn.checksums\":\"%s\"},"
                              "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
                              texts[i]);
        at_safetensors *file = NULL;
        bytes[0] = (char)(length & 0xff);
        bytes[1] = (char)(length >> 8);
        expect_refused(context, at_safetensors_parse(context, "f", bytes, (size_t)length + 9, &file),
                       ATTN_INVALID_ARGUMENT, "checksum");
        assert_null(file);
    }
}

/* ---- models ---- */

typedef char *corpus_maker(uint64_t seed, int examples);
static char *classes(uint64_t seed, int examples) { return corpus_classes(seed, examples, 0); }
static char *pairs(uint64_t seed, int examples) { return corpus_pairs(seed, examples, 0); }

static const struct {
    const char *sets[7];
    corpus_maker *corpus;
} tasks[] = {
    {{"task", "tag", NULL}, corpus_conllu},
    {{"task", "tag", "output.crf", "true", "output.members", "2", NULL}, corpus_conllu},
    {{"task", "classify", "output.pool", "attention", NULL}, classes},
    {{"task", "classify", NULL}, corpus_labels},
    {{"task", "regress", NULL}, corpus_numbers},
    {{"task", "seq2seq", NULL}, pairs},
    {{"task", "lm", NULL}, corpus_running},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

static attn_status train(int task, int resume) {
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, tasks[task].sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    expect_ok(context, attn_config_set(config, "training.steps", "2"));
    options.output = path;
    options.force = !resume;
    options.keep_last = 1;
    options.resume = resume;
    char *corpus = tasks[task].corpus(1, 20);
    attn_status status = train_on(config, corpus, NULL, &options);
    free(corpus);
    attn_config_destroy(config);
    return status;
}

static attn_model *load(const char *from) {
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, from, &model));
    return model;
}

/* A file is overwritten by a shorter one, then cut to nothing, while its model predicts. */
static void test_overwritten_in_place(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    expect_ok(context, train(0, 0));
    attn_model *model = load(path);
    attn_prediction *before = NULL, *after = NULL;
    expect_ok(context, predict_text_with(model, "ab x, c", WITH_PROBABILITIES, &before));
    write_two_tensors(other);
    size_t length;
    char *small = file_bytes(other, &length);
    write_bytes(path, small, length);
    free(small);
    expect_ok(context, predict_text_with(model, "ab x, c", WITH_PROBABILITIES, &after));
    assert_true(same_answers(model, before, 0, 1, after));
    attn_prediction_destroy(after);
    assert_int_equal(truncate(path, 0), 0);
    expect_ok(context, predict_text_with(model, "ab x, c", WITH_PROBABILITIES, &after));
    assert_true(same_answers(model, before, 0, 1, after));
    attn_prediction_destroy(after);
    attn_prediction_destroy(before);
    model_destroy(model);
}

/* What is above 256 MB is not copied. The file has a hole: it needs no room on the disk. */
static void test_large_files_are_mapped(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const int64_t sizes[] = {(256 << 20) - 128, 256 << 20};
    for (int i = 0; i < 2; i++) {
        char bytes[128];
        int length =
            snprintf(bytes + 8, sizeof bytes - 8,
                     "{\"a\":{\"dtype\":\"U8\",\"shape\":[%" PRId64 "],\"data_offsets\":[0,%" PRId64 "]}}",
                     sizes[i], sizes[i]);
        memset(bytes + 8 + length, ' ', sizeof bytes - 8 - (size_t)length);
        memset(bytes, 0, 8);
        bytes[0] = sizeof bytes - 8;
        write_bytes(other, bytes, sizeof bytes);
        assert_int_equal(truncate(other, sizes[i] + (int64_t)sizeof bytes), 0);
        at_safetensors *file = NULL;
        expect_ok(context, at_safetensors_open(context, other, &file));
        const unsigned char *data = at_safetensors_find(file, "a")->data;
        assert_int_equal(data[sizes[i] - 1], 0);
        /* A mapping that was not written to shows what the file has become. */
        int descriptor = open(other, O_WRONLY);
        assert_int_equal(pwrite(descriptor, "x", 1, sizes[i] + (int64_t)sizeof bytes - 1), 1);
        close(descriptor);
        assert_int_equal(data[sizes[i] - 1], i == 0 ? 0 : 'x');
        at_safetensors_close(file);
        unlink(other);
    }
}

/* A file without checksums, as version 0.2 and other tools write it. */
static void test_without_checksums(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    expect_ok(context, train(0, 0));
    size_t length;
    char *bytes = file_bytes(path, &length), *key = bytes;
    while (memcmp(key, "attn.checksums", 14) != 0) key++;
    key[0] = 'x';
    bytes[length - 1] ^= 1;
    write_bytes(path, bytes, length);
    attn_model *model = load(path);
    model_destroy(model);
    key[0] = 'a';
    write_bytes(path, bytes, length);
    free(bytes);
    expect_refused(context, attn_model_load(context, path, &model), ATTN_INVALID_ARGUMENT,
                   "its checksum is wrong");
}

/* ---- numbers that are none ---- */

/* Every parameter of every task, by turns NaN and infinite: the file is not opened, and the tensor is named.
 */
static void test_broken_weights(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const float broken[] = {NAN, INFINITY, -INFINITY};
    int64_t tried = 0;
    for (int t = 0; t < TASKS; t++) {
        expect_ok(context, train(t, 0));
        attn_model *model = load(path);
        attn_parameters *parameters = attn_model_parameters(model);
        for (int64_t i = 0; i < attn_parameters_count(parameters); i++) {
            attn_parameter *parameter = attn_parameters_at(parameters, i);
            attn_tensor value = attn_parameter_value(parameter);
            int64_t count = 1;
            char expected[200];
            for (int d = 0; d < value.rank; d++) count *= value.shape[d];
            if (count == 0) continue;
            float *last_number = (float *)value.data + count - 1, before = *last_number;
            *last_number = broken[tried++ % 3];
            expect_ok(context, attn_model_save(model, other));
            *last_number = before;
            attn_model *loaded = NULL;
            snprintf(expected, sizeof expected, "%s: tensor \"%s\": number %" PRId64 " ", other,
                     attn_parameter_name(parameter), count - 1);
            expect_refused(context, attn_model_load(context, other, &loaded), ATTN_NOT_FINITE, expected);
            assert_null(loaded);
        }
        model_destroy(model);
    }
    assert_true(tried > 100);
}

static void test_doubles(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    double numbers[] = {1, 2, 3};
    const int64_t shape[] = {3};
    for (int i = 0; i < 3; i++) {
        at_safetensors_writer *writer = NULL;
        at_safetensors *file = NULL;
        numbers[1] = i == 0 ? 2 : i == 1 ? (double)NAN : -(double)INFINITY;
        expect_ok(context, at_safetensors_writer_create(context, &writer));
        expect_ok(context, at_safetensors_add(writer, "d", AT_DTYPE_F64, 1, shape, numbers));
        expect_ok(context, at_safetensors_commit(writer, other));
        at_safetensors_writer_destroy(writer);
        attn_status status = at_safetensors_open(context, other, &file);
        if (i == 0)
            expect_ok(context, status);
        else
            expect_refused(context, status, ATTN_NOT_FINITE, "tensor \"d\": number 1 ");
        at_safetensors_close(file);
    }
}

/* Writes the .last file again, with the first number of a tensor replaced. */
static void rewrite_last(const char *name, float number) {
    attn_context *context = test_best_context(1);
    static const char *const keys[] = {"attn.format", "attn.config", "attn.outputs", "attn.scores",
                                       "attn.training"};
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    expect_ok(context, at_safetensors_open(context, last, &file));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    for (int i = 0; i < 5; i++)
        expect_ok(context, at_safetensors_put(writer, keys[i], at_safetensors_metadata(file, keys[i])));
    const at_stored *found = at_safetensors_find(file, name);
    assert_non_null(found);
    *(float *)(uintptr_t)found->data = number;
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        expect_ok(context, at_safetensors_add(writer, stored->name, stored->dtype, stored->rank,
                                              stored->shape, stored->data));
    }
    expect_ok(context, at_safetensors_commit(writer, last));
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
}

/* The name of the first tensor that the optimiser keeps. */
static void optimizer_tensor(char *name, size_t room) {
    attn_context *context = test_best_context(1);
    at_safetensors *file = NULL;
    expect_ok(context, at_safetensors_open(context, last, &file));
    name[0] = 0;
    for (int64_t i = 0; i < at_safetensors_count(file) && !name[0]; i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        if (strncmp(stored->name, "optimizer.", 10) == 0) snprintf(name, room, "%s", stored->name);
    }
    assert_true(name[0] != 0);
    at_safetensors_close(file);
}

static void test_resume(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char name[200], expected[300];
    expect_ok(context, train(0, 0));
    optimizer_tensor(name, sizeof name);
    rewrite_last(name, 0.5f);
    expect_ok(context, train(0, 1)); /* another number is no damage */
    rewrite_last(name, NAN);
    snprintf(expected, sizeof expected, "%s: tensor \"%s\": number 0 ", last, name);
    expect_refused(context, train(0, 1), ATTN_NOT_FINITE, expected);
    expect_ok(context, train(0, 0));
    size_t length;
    char *bytes = file_bytes(last, &length);
    bytes[length / 2] ^= 4;
    write_bytes(last, bytes, length);
    free(bytes);
    expect_refused(context, train(0, 1), ATTN_INVALID_ARGUMENT, "its checksum is wrong");
    assert_non_null(strstr(attn_context_error(context), last));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_lengths_and_parts),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_checksums_that_lie),
        cmocka_unit_test(test_overwritten_in_place),
        cmocka_unit_test(test_large_files_are_mapped),
        cmocka_unit_test(test_without_checksums),
        cmocka_unit_test(test_broken_weights),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_resume),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
