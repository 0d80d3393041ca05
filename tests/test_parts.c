/* test_parts.c: what of a dataset is for training, validation and testing: words, columns, files, draws, and
 * the sets that are made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/parts.h"
#include "support/check.h"
#include "support/contexts.h"

/* `examples` sequences of two rows each, the targets of rows or examples being their numbers. */
static attn_dataset *make(attn_context *context, int64_t examples, int per_row) {
    attn_dataset *made = NULL;
    float *rows = calloc((size_t)(4 * examples + 1), sizeof *rows);
    int64_t *offsets = calloc((size_t)examples + 1, sizeof *offsets);
    int64_t places = per_row ? 2 * examples : examples;
    double *numbers = calloc((size_t)places + 1, sizeof *numbers);
    assert_true(rows && offsets && numbers);
    for (int64_t i = 0; i < 4 * examples; i++) rows[i] = (float)i;
    for (int64_t e = 0; e <= examples; e++) offsets[e] = 2 * e;
    for (int64_t i = 0; i < places; i++) numbers[i] = (double)i;
    assert_int_equal(attn_dataset_from_rows(context, rows, 2, offsets, examples, &made), ATTN_OK);
    const char *name = "number";
    assert_int_equal(attn_dataset_set_numbers(made, 1, &name, numbers, per_row), ATTN_OK);
    free(rows);
    free(offsets);
    free(numbers);
    return made;
}

static void test_words(void **state) {
    (void)state;
    assert_int_equal(attn_part_find("train"), ATTN_PART_TRAIN);
    assert_int_equal(attn_part_find("Valid"), ATTN_PART_VAL);
    assert_int_equal(attn_part_find("dev"), ATTN_PART_VAL);
    assert_int_equal(attn_part_find("TEST"), ATTN_PART_TEST);
    assert_int_equal(attn_part_find("none"), ATTN_PART_NONE);
    assert_int_equal(attn_part_find(""), ATTN_PART_NONE);
    assert_int_equal(attn_part_find("tests"), -1);
    assert_int_equal(attn_part_find("t"), -1);
    assert_int_equal(attn_part_find(NULL), -1);
    assert_string_equal(attn_part_name(ATTN_PART_VAL), "val");
    assert_null(attn_part_name((attn_part)4));
    assert_null(attn_part_name((attn_part)-1));
}

static void test_columns(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    size_t length;
    int64_t number;
    char reason[200] = "";
    assert_int_equal(at_split_column(context, "splits10:3", &length, &number), ATTN_OK);
    assert_int_equal(length, 8);
    assert_int_equal(number, 3);
    assert_int_equal(at_split_column(context, "split", &length, &number), ATTN_OK);
    assert_int_equal(length, 5);
    assert_int_equal(number, -1);
    assert_int_equal(at_split_column(context, "a:b", &length, &number), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_split_column(context, "a:-1", &length, &number), ATTN_INVALID_ARGUMENT);
    assert_int_equal(at_split_field("tvs", 3, 1, reason), ATTN_PART_VAL);
    assert_int_equal(at_split_field("tvs", 3, 2, reason), ATTN_PART_TEST);
    assert_int_equal(at_split_field("tvs", 3, 3, reason), -1);
    assert_non_null(strstr(reason, "split 3 is requested, but"));
    assert_int_equal(at_split_field("tvs", 3, -1, reason), -1);
    assert_non_null(strstr(reason, "holds 3 splits"));
    assert_int_equal(at_split_field("maybe", 5, -1, reason), -1);
    assert_non_null(strstr(reason, "\"maybe\" is not train, val, test or none"));
}

/* The examples of a part are those, in their order. */
static void test_examples(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 5, 0), *part = NULL;
    const int parts[] = {ATTN_PART_TEST, ATTN_PART_TRAIN, ATTN_PART_NONE, ATTN_PART_TRAIN, ATTN_PART_VAL};
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TRAIN), 0);
    assert_int_equal(attn_dataset_part(all, ATTN_PART_TRAIN, &part), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_set_parts(all, parts), ATTN_OK);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TRAIN), 2);
    assert_int_equal(attn_dataset_part(all, ATTN_PART_TRAIN, &part), ATTN_OK);
    assert_int_equal(attn_dataset_examples(part), 2);
    assert_string_equal(attn_dataset_target(part, 0, 0, 0), "1");
    assert_string_equal(attn_dataset_target(part, 0, 1, 0), "3");
    attn_dataset_destroy(part);
    assert_int_equal(attn_dataset_set_parts(all, NULL), ATTN_OK);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TRAIN), 0);
    const int wrong[] = {0, 1, 2, 3, 4};
    assert_int_equal(attn_dataset_set_parts(all, wrong), ATTN_INVALID_ARGUMENT);
    attn_dataset_destroy(all);
}

/* All rows are there, and the targets of the others are missing. */
static void test_rows(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 1, 1), *part = NULL;
    at_content_kind splits = *all->kind; /* as graphs are */
    splits.rows_split = 1;
    all->kind = &splits;
    const int parts[] = {ATTN_PART_TRAIN, ATTN_PART_TEST};
    assert_int_equal(attn_dataset_set_parts(all, parts), ATTN_OK);
    assert_int_equal(attn_dataset_part(all, ATTN_PART_VAL, &part), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "has nothing for val"));
    assert_int_equal(attn_dataset_part(all, ATTN_PART_TEST, &part), ATTN_OK);
    assert_int_equal(attn_dataset_rows(part, 0), 2);
    assert_string_equal(attn_dataset_target(part, 0, 0, 0), "");
    assert_string_equal(attn_dataset_target(part, 0, 0, 1), "1");
    assert_true(part->content == all->content);
    attn_dataset *more = make(context, 1, 1);
    assert_int_equal(attn_dataset_append(part, more), ATTN_INVALID_ARGUMENT); /* the rows are not its own */
    attn_dataset_destroy(more);
    attn_dataset_destroy(part);
    attn_dataset_destroy(all);
}

/* Sequences whose rows have targets are split as a whole. */
static void test_sequences(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 3, 1), *part = NULL;
    const int parts[] = {ATTN_PART_TRAIN, ATTN_PART_TEST, ATTN_PART_TRAIN};
    assert_int_equal(attn_dataset_set_parts(all, parts), ATTN_OK);
    assert_int_equal(attn_dataset_part(all, ATTN_PART_TEST, &part), ATTN_OK);
    assert_int_equal(attn_dataset_examples(part), 1);
    assert_string_equal(attn_dataset_target(part, 0, 0, 1), "3");
    attn_dataset_destroy(part);
    attn_dataset_destroy(all);
}

static void test_held_rows(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 50, 1), *train = NULL, *dev = NULL;
    assert_int_equal(at_dataset_hold_rows(all, 0.2, &train, &dev), ATTN_OK);
    int64_t held = 0;
    for (int64_t row = 0; row < all->rows; row++) {
        int learned = at_string(&train->targets, row)[0] != 0, kept = at_string(&dev->targets, row)[0] != 0;
        assert_int_equal(learned + kept, 1);
        held += kept;
    }
    assert_int_equal(held, 20);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    attn_dataset_destroy(all);
}

static void test_files(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 3, 0);
    static const char good[] = "train\r\nval \ntest", few[] = "train\nval\n", odd[] = "train\nwhat\ntest\n";
    assert_int_equal(at_parts_from_words(all, "s.txt", good, sizeof good - 1), ATTN_OK);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_VAL), 1);
    assert_int_equal(at_parts_from_words(all, "s.txt", few, sizeof few - 1), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "s.txt: has 2 lines"));
    assert_int_equal(at_parts_from_words(all, "s.txt", odd, sizeof odd - 1), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "s.txt:2: \"what\""));
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TRAIN), 0);

    /* The second of four examples of the file was left out. */
    static const char four[] = "train\ntest\nval\ntrain\n";
    all->examples = 1;
    assert_int_equal(at_dataset_leave_out(all), ATTN_OK);
    all->examples = 3;
    all->skipped = 1;
    assert_int_equal(at_parts_from_words(all, "s.txt", four, sizeof four - 1), ATTN_OK);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TEST), 0);
    assert_int_equal(all->parts[1], ATTN_PART_VAL);
    all->skipped = 2;
    assert_int_equal(at_parts_from_words(all, "s.txt", four, sizeof four - 1), ATTN_INVALID_ARGUMENT);
    attn_dataset_destroy(all);
}

static void test_random(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 100, 0);
    unsigned char before[100];
    assert_int_equal(at_parts_random(all, 0), ATTN_OK);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TRAIN), 80);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_VAL), 10);
    assert_int_equal(attn_dataset_part_size(all, ATTN_PART_TEST), 10);
    memcpy(before, all->parts, sizeof before);
    assert_int_equal(at_parts_random(all, 0), ATTN_OK);
    assert_memory_equal(before, all->parts, sizeof before);
    assert_int_equal(at_parts_random(all, 1), ATTN_OK);
    assert_memory_not_equal(before, all->parts, sizeof before);
    attn_dataset_destroy(all);
}

/* The largest groups are for training; of equal ones those that begin later come first. */
static void test_groups(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *all = make(context, 10, 0);
    static const char *const keys[] = {"a", "b", "a", "a", "c", "d", "a", "e", "a", "a"};
    at_strings groups = {0};
    for (int i = 0; i < 10; i++)
        assert_int_equal(at_strings_add(context, &groups, keys[i], strlen(keys[i])), ATTN_OK);
    assert_int_equal(at_parts_by_group(all, &groups), ATTN_OK);
    static const int expected[] = {1, 3, 1, 1, 2, 1, 1, 1, 1, 1}; /* a, e, d; then c; then b */
    for (int i = 0; i < 10; i++) assert_int_equal(all->parts[i], expected[i]);
    at_strings_free(context, &groups);
    attn_dataset_destroy(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_columns),   cmocka_unit_test(test_examples),
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_sequences), cmocka_unit_test(test_held_rows),
        cmocka_unit_test(test_files), cmocka_unit_test(test_random),    cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
