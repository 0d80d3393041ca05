/* test_positions_drawn.c: the positions of small models as tables and drawings: the numbers of their
 * parameters, angles and biases. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "model/model.h"
#include "support/contexts.h"
#include "support/markup.h"
#include "support/training.h"
#include "tape/parameters.h"

typedef enum kind { LEARNED, ROTARY, ALIBI, RELATIVE, SINUSOIDAL, ONE_HOT, NONE, KINDS } kind;
static const char *const names[KINDS] = {"learned",    "rotary",  "alibi", "relative",
                                         "sinusoidal", "one-hot", "none"};
static char folder[] = "/tmp/attn_positions_XXXXXX";
static attn_model *models[KINDS];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    char *train = corpus_classes(1, 40, 0), *dev = corpus_classes(2, 10, 0);
    for (int k = 0; k < KINDS; k++) {
        const char *sets[] = {"task",
                              "classify",
                              "encoder.position",
                              names[k],
                              "encoder.layers",
                              "2",
                              "encoder.heads",
                              "2",
                              "encoder.farthest",
                              "20",
                              "encoder.position_buckets",
                              "16",
                              "output.members",
                              "1",
                              "encoder.longest",
                              "24",
                              NULL};
        char path[80];
        snprintf(path, sizeof path, "%s/%d.safetensors", folder, k);
        models[k] = train_model(tiny_config(test_best_context(1), sets), train, dev, path);
    }
    free(train);
    free(dev);
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) attn_model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static char *write_as(const attn_model *model, attn_drawing_format format, int64_t positions, int64_t columns,
                      int64_t layer) {
    attn_drawing_options options;
    attn_drawing_options_init(&options);
    options.format = format;
    options.layer = layer;
    static char *bytes;
    size_t length = 0;
    attn_context *context = test_best_context(1);
    expect_ok(context, attn_positions_write(context, model, positions, columns, &options, &bytes, &length));
    assert_int_equal(strlen(bytes), length);
    return bytes;
}

static void release(char *bytes) { attn_explain_release(test_best_context(1), bytes); }

/* The number of a line "row TAB column TAB number" of a table, behind `before`. */
static double number_at(const char *table, const char *before, int row, int column) {
    char line[64];
    snprintf(line, sizeof line, "\n%s%d\t%d\t", before, row, column);
    const char *at = strstr(table, line);
    if (!at) fail_msg("no line %s", line + 1);
    return atof(at + strlen(line));
}

static void test_learned(void **state) {
    (void)state;
    const attn_parameter *parameter =
        attn_parameters_find(at_main_stage(models[LEARNED])->parameters, "encoder.position.table");
    assert_non_null(parameter);
    char *table = write_as(models[LEARNED], ATTN_DRAWING_TSV, 5, 0, -1);
    assert_memory_equal(table, "position\tcolumn\tnumber\n", 23);
    int64_t lines = 0;
    for (const char *at = table; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, 1 + 5 * parameter->columns);
    for (int t = 0; t < 5; t++) {
        float value;
        assert_int_equal(at_parameter_host_read(parameter, t * parameter->columns + 3, 1, &value), ATTN_OK);
        assert_true((float)number_at(table, "", t, 3) == value);
    }
    release(table);
}

static void test_formulas(void **state) {
    (void)state;
    const at_encoder_values *values = at_main_stage(models[ROTARY])->values.encoder;
    double width = (double)(values->columns / values->heads), columns = (double)values->columns;
    char *table = write_as(models[ROTARY], ATTN_DRAWING_TSV, 8, 0, -1);
    assert_true(fabs(number_at(table, "cos\t", 5, 1) - cos(5 * pow(10000, -2 / width))) < 1e-6);
    assert_true(fabs(number_at(table, "sin\t", 5, 1) - sin(5 * pow(10000, -2 / width))) < 1e-6);
    release(table);
    table = write_as(models[ALIBI], ATTN_DRAWING_TSV, 6, 0, -1);
    assert_true(fabs(number_at(table, "", 1, -6) + 6 * exp2(-4)) < 1e-6);
    assert_true(fabs(number_at(table, "", 2, 3) + 3 * exp2(-8)) < 1e-6);
    release(table);
    table = write_as(models[SINUSOIDAL], ATTN_DRAWING_TSV, 6, 0, -1);
    assert_true(fabs(number_at(table, "", 5, 3) - cos(5 * pow(10000, -2 / columns))) < 1e-6);
    release(table);
    table = write_as(NULL, ATTN_DRAWING_TSV, 6, 8, -1);
    assert_true(fabs(number_at(table, "", 5, 4) - sin(5 * pow(10000, -4 / 8.0))) < 1e-6);
    release(table);
    table = write_as(models[ONE_HOT], ATTN_DRAWING_TSV, 6, 0, -1);
    assert_true(number_at(table, "", 4, 4) == 1 && number_at(table, "", 4, 3) == 0);
    release(table);
}

/* The last bucket of a side counts for all distances from there on. */
static void test_relative(void **state) {
    (void)state;
    char *first = write_as(models[RELATIVE], ATTN_DRAWING_TSV, 30, 0, 0);
    char *last = write_as(models[RELATIVE], ATTN_DRAWING_TSV, 30, 0, -1);
    assert_string_not_equal(first, last);
    assert_true(number_at(first, "", 1, 20) == number_at(first, "", 1, 30));
    const attn_parameters *set = at_main_stage(models[RELATIVE])->parameters;
    const attn_parameter *table = NULL;
    for (int64_t i = 0; i < attn_parameters_count(set) && !table; i++)
        if (strstr(attn_parameter_name(attn_parameters_at(set, i)), ".relative"))
            table = attn_parameters_at(set, i);
    assert_non_null(table);
    float value;
    assert_int_equal(at_parameter_host_read(table, 16 + 8 + 2, 1, &value), ATTN_OK); /* head 2, distance 2 */
    assert_true((float)number_at(first, "", 2, 2) == value);
    assert_int_equal(at_parameter_host_read(table, 3, 1, &value), ATTN_OK);
    assert_true((float)number_at(first, "", 1, -3) == value);
    release(first);
    release(last);
}

static void test_drawings(void **state) {
    (void)state;
    for (int k = 0; k < NONE; k++) {
        char *svg = write_as(models[k], ATTN_DRAWING_SVG, 16, 0, -1);
        if (markup_fault(svg)) fail_msg("%s: %s", names[k], markup_fault(svg));
        release(svg);
        char *json = write_as(models[k], ATTN_DRAWING_JSON, 4, 0, -1);
        assert_memory_equal(json, "{\"kind\": \"", 10);
        assert_memory_equal(json + 10, names[k], strlen(names[k]));
        release(json);
    }
}

static void test_refusals(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_drawing_options options;
    attn_drawing_options_init(&options);
    char *bytes;
    size_t length;
    expect_refused(context, attn_positions_write(context, models[NONE], 8, 8, &options, &bytes, &length),
                   ATTN_UNSUPPORTED, "no positions");
    options.layer = 7;
    expect_refused(context, attn_positions_write(context, models[RELATIVE], 8, 8, &options, &bytes, &length),
                   ATTN_INVALID_ARGUMENT, "layer 8");
    options.format = ATTN_DRAWING_HTML;
    expect_refused(context, attn_positions_write(context, NULL, 8, 8, &options, &bytes, &length),
                   ATTN_UNSUPPORTED, "SVG");
    expect_refused(context, attn_positions_write(context, NULL, 1 << 20, 8, &options, &bytes, &length),
                   ATTN_INVALID_ARGUMENT, "at most");
    assert_int_equal(attn_positions_write(NULL, NULL, 8, 8, &options, &bytes, &length),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_positions_write(context, NULL, 8, 8, NULL, NULL, &length), ATTN_INVALID_ARGUMENT);
    attn_explain_release(context, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learned), cmocka_unit_test(test_formulas),
                                       cmocka_unit_test(test_relative), cmocka_unit_test(test_drawings),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
