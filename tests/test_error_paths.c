/* test_error_paths.c: errors that no other test meets: data of another kind of input than the model's, caches
 * and archives that are not what they say, files that are shorter than the system says.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/attn.h>

#include "data/file.h"
#include "data/safetensors.h"
#include "support/contexts.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_error_paths_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- data of another kind ---- */

/* Floats at an odd address are refused before a kernel reads them. */
static void test_misaligned(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    float numbers[3][9] = {{0}};
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    for (int which = 0; which < 3; which++) {
        attn_tensor views[3];
        for (int i = 0; i < 3; i++)
            views[i] = attn_tensor_rows((float *)(void *)((char *)numbers[i] + (i == which)), 2, 1, 4);
        attn_tensor *of_output = &views[2], query = views[0], key = views[1];
        expect_refused(
            context,
            attn_attention_forward(context, &pattern, NULL, &query, &key, &key, of_output, NULL, NULL),
            ATTN_INVALID_ARGUMENT, "not a multiple of 4");
    }
}

static attn_dataset *two_rows(int64_t columns) {
    attn_context *context = test_best_context(1);
    static const float numbers[] = {1, 2, 3, 4, 5, 6};
    static const char *const names[] = {"label"}, *const values[] = {"a", "b"};
    attn_dataset *made = NULL;
    expect_ok(context, attn_dataset_from_rows(context, numbers, columns, NULL, 2, &made));
    expect_ok(context, attn_dataset_set_targets(made, 1, names, values, 0));
    return made;
}

static attn_model *vectors_model(void) {
    attn_context *context = test_best_context(1);
    static const char *const sets[] = {"task", "classify", "training.steps", "1", NULL};
    char path[80];
    attn_config *config = tiny_config_of(context, "vectors", sets);
    attn_dataset *data = two_rows(2);
    attn_trainer *trainer = NULL;
    attn_model *model = NULL;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    snprintf(path, sizeof path, "%s/vectors.safetensors", folder);
    options.output = path;
    options.force = 1;
    expect_ok(context, attn_trainer_create(config, data, data, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    expect_ok(context, attn_model_load(context, path, &model));
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    return model;
}

static void test_other_kinds_of_input(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const text = "ab x", *const classify[] = {"task", "classify", NULL};
    attn_model *model = vectors_model();
    attn_predictor *predictor = NULL;
    attn_dataset *texts = NULL, *rows = two_rows(2), *wide = two_rows(3);
    attn_prediction *prediction = NULL;
    attn_trainer *trainer = NULL;
    const char *written;
    size_t length;
    expect_ok(context, attn_dataset_from_texts(context, &text, NULL, 1, &texts));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_refused(context, attn_predictor_text(predictor, text, &prediction), ATTN_UNSUPPORTED,
                   "a model of input vectors does not read text");
    expect_refused(context, attn_predictor_predict(predictor, texts, &prediction), ATTN_INVALID_ARGUMENT,
                   "is of input text, the model reads vectors");
    expect_refused(context, attn_predictor_write(predictor, NULL, NULL, &written, &length),
                   ATTN_INVALID_ARGUMENT, "dataset, text or length is NULL");
    expect_ok(context, attn_predictor_push(predictor, rows));
    expect_refused(context, attn_predictor_push(predictor, wide), ATTN_INVALID_ARGUMENT, "3");
    assert_null(prediction);
    attn_config *config = tiny_config(context, classify);
    expect_refused(context, attn_trainer_create(config, rows, NULL, NULL, &trainer), ATTN_INVALID_ARGUMENT,
                   "is of input vectors, the configuration says text");
    expect_refused(context, attn_trainer_create(config, texts, NULL, NULL, &trainer), ATTN_INVALID_ARGUMENT,
                   "no column of labels");
    assert_null(trainer);
    attn_config_destroy(config);
    attn_predictor_destroy(predictor);
    attn_dataset_destroy(texts);
    attn_dataset_destroy(rows);
    attn_dataset_destroy(wide);
    attn_model_destroy(model);
}

/* ---- caches ---- */

static void test_caches(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *parameters = NULL;
    attn_tape *tape = NULL;
    attn_cache *cache = NULL;
    attn_decoder_options options;
    attn_decoder_options_init(&options);
    options.columns = 8;
    options.heads = 2;
    options.layers = 1;
    options.inner = 8;
    options.source_columns = 0;
    expect_ok(context, attn_parameters_create(context, 1, &parameters));
    attn_decoder *decoder = attn_decoder_create(parameters, "d", &options);
    assert_non_null(decoder);
    expect_ok(context, attn_tape_create(context, &tape));
    expect_refused(context, attn_cache_create(decoder, 0, 4, &cache), ATTN_INVALID_ARGUMENT,
                   "a cache of 0 sequences of 4 rows: at least 1 is needed");
    assert_null(cache);
    expect_ok(context, attn_cache_create(decoder, 2, 4, &cache));
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 1);
    assert_int_equal(attn_cache_begin(tape, cache, 3, NULL, NULL), ATTN_INVALID_ARGUMENT);
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 1);
    expect_ok(context, attn_cache_begin(tape, cache, 2, NULL, NULL));
    const int64_t beyond[] = {0, 2}, good[] = {1, 1};
    expect_refused(context, attn_cache_reorder(cache, 3, good), ATTN_INVALID_ARGUMENT,
                   "reorder to 3 sequences in a cache of 2");
    expect_refused(context, attn_cache_reorder(cache, 2, beyond), ATTN_INVALID_ARGUMENT,
                   "from[1] is 2, there are 2 sequences");
    expect_ok(context, attn_cache_reorder(cache, 2, good));
    assert_int_equal(attn_cache_length(cache), 0);
    assert_null(attn_decoder_step(tape, decoder, NULL, NULL, NULL));
    attn_cache_destroy(cache);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
}

/* ---- archives ---- */

static void put(unsigned char *at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* An archive of one member that is stored, "rows.npy"; its length. Where the parts begin: 0 the member,
 * `entry` its line of the directory, `end` the record at the end. */
static size_t make_archive(unsigned char *bytes, size_t *entry, size_t *end) {
    static const char array[] = "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
    enum { HEADER = 128, DATA = 8, LENGTH = HEADER + DATA, NAME = 8 };
    unsigned char content[LENGTH];
    memset(content, ' ', HEADER);
    memcpy(content, array, 10);
    memcpy(content + 10, array + 10, sizeof array - 11);
    content[HEADER - 1] = '\n';
    memset(content + HEADER, 0, DATA);
    uint32_t check = (uint32_t)crc32(0, content, LENGTH);
    memset(bytes, 0, 30);
    memcpy(bytes, "PK\3\4", 4);
    put(bytes + 14, check, 4);
    put(bytes + 18, LENGTH, 4);
    put(bytes + 22, LENGTH, 4);
    put(bytes + 26, NAME, 2);
    memcpy(bytes + 30, "rows.npy", NAME);
    memcpy(bytes + 30 + NAME, content, LENGTH);
    unsigned char *line = bytes + 30 + NAME + LENGTH;
    memset(line, 0, 46);
    memcpy(line, "PK\1\2", 4);
    put(line + 16, check, 4);
    put(line + 20, LENGTH, 4);
    put(line + 24, LENGTH, 4);
    put(line + 28, NAME, 2);
    memcpy(line + 46, "rows.npy", NAME);
    unsigned char *record = line + 46 + NAME;
    memset(record, 0, 22);
    memcpy(record, "PK\5\6", 4);
    put(record + 8, 1, 2);
    put(record + 10, 1, 2);
    put(record + 12, 46 + NAME, 4);
    put(record + 16, (uint32_t)(line - bytes), 4);
    *entry = (size_t)(line - bytes);
    *end = (size_t)(record - bytes);
    return *end + 22;
}

static void test_archives(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    enum { IN_MEMBER, IN_ENTRY, IN_END };
    static const struct {
        int part, place, bytes;
        uint32_t value;
        const char *error;
    } lies[] = {
        {IN_END, 10, 2, 0xffff, "is a zip64 archive"},
        {IN_END, 16, 4, 0xffffffff, "is a zip64 archive"},
        {IN_END, 16, 4, 100000, "its directory is not where it says"},
        {IN_END, 12, 4, 40, "its directory ends early"},
        {IN_END, 10, 2, 2, "its directory ends early"},
        {IN_ENTRY, 20, 4, 0xffffffff, "has 4 GB or more (zip64)"},
        {IN_ENTRY, 42, 4, 1000000, "the directory has the wrong position of a member"},
        {IN_ENTRY, 42, 4, 4, "the directory has the wrong position of a member"},
        {IN_MEMBER, 28, 2, 0xfff0, "a member goes beyond the end"},
        {IN_ENTRY, 16, 4, 1, "its checksum is wrong"},
    };
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = "vectors";
    options.labelled = 0;
    unsigned char bytes[600];
    size_t parts[3] = {0}, length = make_archive(bytes, &parts[IN_ENTRY], &parts[IN_END]);
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_dataset_parse(context, "a.npz", 1, (char *)bytes, length, &options, &dataset));
    assert_int_equal(attn_dataset_examples(dataset), 2);
    attn_dataset_destroy(dataset);
    dataset = NULL;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_archive(bytes, &parts[IN_ENTRY], &parts[IN_END]);
        put(bytes + parts[lies[i].part] + lies[i].place, lies[i].value, lies[i].bytes);
        expect_refused(context,
                       attn_dataset_parse(context, "a.npz", 1, (char *)bytes, length, &options, &dataset),
                       ATTN_INVALID_ARGUMENT, lies[i].error);
        assert_null(dataset);
    }
}

/* ---- files ---- */

/* Files of the kernel say a length of a page, and have less. */
static void test_shorter_than_said(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    if (access(path, R_OK) != 0) path = "/proc/version"; /* says 0 */
    at_safetensors *file = NULL;
    attn_status status = at_safetensors_open(context, path, &file);
    assert_null(file);
    assert_true(status == ATTN_SYSTEM_ERROR || status == ATTN_INVALID_ARGUMENT);
    assert_int_equal(strncmp(attn_context_error(context), path, strlen(path)), 0);
}

/* From memory, in members that end anywhere in a piece. */
static void test_gzip_in_memory(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    enum { ROOM = 1 << 20, MEMBERS = 3000 };
    unsigned char *bytes = malloc(ROOM);
    char line[200];
    size_t used = 0, expected = 0;
    for (int m = 0; m < MEMBERS; m++) {
        z_stream stream = {0};
        int length = snprintf(line, sizeof line, "member %d%*s\n", m, m % 150, "");
        assert_int_equal(deflateInit2(&stream, m % 10, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = (Bytef *)line;
        stream.avail_in = (uInt)length;
        stream.next_out = bytes + used;
        stream.avail_out = (uInt)(ROOM - used);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        used = ROOM - stream.avail_out;
        deflateEnd(&stream);
        expected += (size_t)length;
    }
    assert_true(used > 1 << 16);
    const at_expansion allowed = {.limit = ROOM}, tight = {.limit = (int64_t)expected - 1};
    at_bytes expanded = {0};
    expect_ok(context, at_gzip_expand(context, "a.gz", (char *)bytes, used, &allowed, &expanded));
    assert_int_equal(expanded.count, expected);
    assert_memory_equal(expanded.data, "member 0\nmember 1 \nmember 2  \n", 30);
    at_bytes_free(context, &expanded);
    expect_refused(context, at_gzip_expand(context, "a.gz", (char *)bytes, used, &tight, &expanded),
                   ATTN_OVERFLOW, "a.gz: has more than");
    assert_null(expanded.data);
    expect_refused(context, at_gzip_expand(context, "a.gz", (char *)bytes, used - 1, &allowed, &expanded),
                   ATTN_INVALID_ARGUMENT, "is cut off");
    assert_null(expanded.data);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_other_kinds_of_input),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_shorter_than_said),
        cmocka_unit_test(test_gzip_in_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
