/* test_windows.c: texts that are longer than an encoder sees at once: the windows they are read in, that an
 * answer follows from all of them, and that nothing else changes.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/plan.h"
#include "model/config.h"
#include "model/windows.h"
#include "support/contexts.h"
#include "support/predicting.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_windows_XXXXXX";
static char output[64], other[64];
static attn_context *context;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    context = test_best_context(1);
    snprintf(output, sizeof output, "%s/m.safetensors", folder);
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- where they begin ---- */

static void expect_windows(int64_t rows, int64_t longest) {
    int64_t windows = at_windows(rows, longest), least = longest / 8;
    if (rows <= longest) {
        assert_int_equal(windows, 1);
        return;
    }
    assert_int_equal(at_window_first(rows, longest, windows, 0), 0);
    assert_int_equal(at_window_first(rows, longest, windows, windows - 1), rows - longest);
    for (int64_t w = 1; w < windows; w++) {
        int64_t step =
            at_window_first(rows, longest, windows, w) - at_window_first(rows, longest, windows, w - 1);
        assert_in_range(step, 1, longest - least);
    }
    assert_true(at_windows_rows(longest, windows) >= rows); /* so many are enough, and one fewer is not */
    assert_true(at_windows_rows(longest, windows - 1) < rows);
}

static void test_places(void **state) {
    (void)state;
    for (int64_t longest = 1; longest < 40; longest++)
        for (int64_t rows = 0; rows < 300; rows++) expect_windows(rows, longest);
    expect_windows(28250, 2000);
    assert_int_equal(at_windows(28250, 2000), 16);
    assert_int_equal(at_windows(28251, 2000), 17);
    expect_windows((int64_t)1 << 50, 1000000000); /* no product is too large */
}

/* Every row of a window is a row of its sequence, one after another; every row of the batch is taken from one
 * of its own copies, and from no place with a copy farther from the ends of its window. */
static void expect_rows(const int64_t *lengths, int64_t count, int64_t longest) {
    int64_t offsets[9] = {0}, total = 0, window = 0;
    for (int64_t s = 0; s < count; s++) offsets[s + 1] = total += lengths[s];
    at_batch batch = {.context = context, .sequences = count, .rows = total, .offsets = offsets};
    at_window_rows made;
    attn_tape *tape = NULL;
    expect_ok(context, attn_tape_create(context, &tape));
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    int any = 0;
    for (int64_t s = 0; s < count; s++) any |= lengths[s] > longest;
    assert_int_equal(at_window_rows_make(tape, &batch, longest, &made), any);
    for (int64_t s = 0; s < count && any; s++) {
        int64_t windows = at_windows(lengths[s], longest);
        for (int64_t w = 0; w < windows; w++, window++) {
            int64_t first = made.offsets[window], length = made.offsets[window + 1] - first;
            assert_int_equal(length, lengths[s] < longest ? lengths[s] : longest);
            for (int64_t r = 0; r < length; r++)
                assert_int_equal(made.source[first + r],
                                 offsets[s] + at_window_first(lengths[s], longest, windows, w) + r);
        }
    }
    if (any) {
        assert_int_equal(window, made.sequences);
        assert_int_equal(made.offsets[window], made.count);
        for (int64_t row = 0; row < total; row++) assert_int_equal(made.source[made.place[row]], row);
    }
    attn_tape_destroy(tape);
}

static void test_rows(void **state) {
    (void)state;
    test_random random = {7};
    for (int run = 0; run < 300; run++) {
        int64_t lengths[8], count = random_between(&random, 1, 8);
        for (int64_t s = 0; s < count; s++) lengths[s] = random_between(&random, 0, 40);
        expect_rows(lengths, count, random_between(&random, 1, 20));
    }
    static const int64_t two[] = {3, 12};
    int64_t offsets[] = {0, 3, 15};
    at_batch batch = {.context = context, .sequences = 2, .rows = 15, .offsets = offsets};
    at_window_rows made;
    attn_tape *tape = NULL;
    expect_rows(two, 2, 8);
    expect_ok(context, attn_tape_create(context, &tape));
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    /* 12 rows, 8 at once: windows 0 .. 7 and 4 .. 11, which meet in the middle of rows 4 .. 7 */
    assert_int_equal(at_window_rows_make(tape, &batch, 8, &made), 1);
    assert_int_equal(made.sequences, 3);
    assert_int_equal(made.place[3 + 5], 3 + 5);
    assert_int_equal(made.place[3 + 6], 3 + 8 + 2);
    attn_tape_destroy(tape);
}

/* ---- models ---- */

/* "label TAB text" with texts of up to `most` words, of which one, anywhere, says the label: as a class, or
 * as a number. */
static char *corpus_long(uint64_t seed, int texts, int most, int numbers) {
    static const char *const rest[] = {"the", "film", "was", "a", "story", "of", "it"};
    test_random random = {seed * 2 + 1};
    size_t room = (size_t)texts * ((size_t)most * 6 + 16);
    char *bytes = malloc(room), *to = bytes;
    assert_non_null(bytes);
    for (int i = 0; i < texts; i++) {
        int good = random_between(&random, 0, 1) > 0;
        int64_t count = random_between(&random, 1, most), at = random_between(&random, 0, count - 1);
        to += sprintf(to, "%s\t", numbers ? (good ? "3.5" : "-1.5") : (good ? "good" : "bad"));
        for (int64_t w = 0; w < count; w++)
            to +=
                sprintf(to, "%s ", w == at ? (good ? "fine" : "dull") : rest[random_between(&random, 0, 6)]);
        to[-1] = '\n';
    }
    *to = '\0';
    return bytes;
}

static attn_model *trained(const char *const *sets, int most, const char *path) {
    int numbers = strcmp(sets[1], "regress") == 0;
    char *train = corpus_long(1, 150, most, numbers), *dev = corpus_long(2, 60, most, numbers);
    attn_model *model = train_model(tiny_config(context, sets), train, dev, path);
    free(train);
    free(dev);
    return model;
}

/* What stands anywhere in a text decides, where its beginning alone does not. */
static void test_classes(void **state) {
    (void)state;
    static const char *const whole[] = {"task", "classify", "text.longest", "6", NULL};
    static const char *const begin[] = {"task", "classify", "text.longest", "6", "encoder.pieces", "1", NULL};
    attn_model *model = trained(whole, 40, output);
    assert_int_equal(attn_model_longest(model), 6);
    assert_int_equal(attn_model_most(model), 6 + 15 * 6);
    assert_true(attn_model_metric(model, "accuracy") > 0.97);
    model_destroy(model);
    model = trained(begin, 40, output);
    assert_int_equal(attn_model_most(model), 6);
    assert_true(attn_model_metric(model, "accuracy") < 0.9);
    model_destroy(model);
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "regress", "text.longest", "6", "encoder.kind", "rnn", NULL};
    attn_model *model = trained(sets, 40, output);
    assert_true(attn_model_metric(model, "mean_squared_error") < 0.5); /* of the mean alone: 6.25 */
    model_destroy(model);
}

/* Where no row sees another, windows change nothing: the same bits come of training and of predicting. */
static void test_rows_apart(void **state) {
    (void)state;
    static const char *const at_once[] = {"task", "classify", "encoder.layers", "0", "text.stem", "0", NULL};
    static const char *const windows[] = {
        "task", "classify", "encoder.layers", "0", "text.stem", "0", "text.longest", "16", NULL};
    char *text = corpus_long(3, 40, 90, 0);
    attn_model *a = trained(at_once, 60, output), *b = trained(windows, 60, other);
    attn_dataset *dataset = parse_corpus(attn_model_config(a), "long", text);
    attn_prediction *first = NULL, *second = NULL;
    expect_ok(context, predict_with(a, dataset, WITH_PROBABILITIES, &first));
    expect_ok(context, predict_with(b, dataset, WITH_PROBABILITIES, &second));
    assert_true(same_answers(a, first, 0, attn_dataset_examples(dataset), second));
    assert_int_equal(attn_predictor_in_pieces(predictor_of(a)), 0);
    assert_true(attn_predictor_in_pieces(predictor_of(b)) > 20);
    assert_int_equal(attn_predictor_cut(predictor_of(b)), 0);
    attn_prediction_destroy(first);
    attn_prediction_destroy(second);
    attn_dataset_destroy(dataset);
    model_destroy(a);
    model_destroy(b);
    free(text);
}

/* The same model and the same answers with any number of threads, and whatever else is in a batch. */
static void test_same(void **state) {
    (void)state;
    static const char *const sets[] = {"task",
                                       "classify",
                                       "text.longest",
                                       "6",
                                       "output.members",
                                       "2",
                                       "text.wide_buckets",
                                       "500",
                                       "training.shards",
                                       "4",
                                       NULL};
    attn_context *one = context;
    model_destroy(trained(sets, 40, output));
    context = test_best_context(7);
    attn_model *model = trained(sets, 40, other);
    context = one;
    assert_true(same_files(output, other));
    model_destroy(model);
    expect_ok(context, attn_model_load(context, output, &model));
    char *text = corpus_long(3, 30, 120, 0);
    attn_dataset *dataset = parse_corpus(attn_model_config(model), "long", text), *alone = NULL;
    attn_prediction *all = NULL, *single = NULL;
    expect_ok(context, predict_with(model, dataset, WITH_PROBABILITIES, &all));
    assert_true(attn_predictor_cut(predictor_of(model)) > 0); /* of those of more than 96 words */
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        expect_ok(context, attn_dataset_select(dataset, &e, 1, &alone));
        expect_ok(context, predict_with(model, alone, WITH_PROBABILITIES, &single));
        assert_true(same_answers(model, all, e, 1, single));
        attn_prediction_destroy(single);
        attn_dataset_destroy(alone);
    }
    attn_prediction_destroy(all);
    attn_dataset_destroy(dataset);
    model_destroy(model);
    free(text);
}

/* An explanation is of one piece; what is beyond all of them is said. */
static void test_explained(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "text.longest", "8", "encoder.pieces", "3", NULL};
    attn_model *model = trained(sets, 20, output);
    attn_dataset *dataset = parse_corpus(attn_model_config(model), "text",
                                         "good\ta b c d e f g h i j k l m n o p q r s t u v w x y\n");
    attn_explain_options options;
    attn_explain_options_init(&options);
    static const int64_t first[] = {0, 7, 14}; /* of 22 rows that are read */
    for (int p = 0; p < 3; p++) {
        attn_explanation *made = NULL;
        options.piece = p;
        expect_ok(context, attn_predictor_explain(predictor_of(model), dataset, &options, &made));
        assert_int_equal(attn_explanation_pieces(made), 3);
        assert_int_equal(attn_explanation_rows(made), 8);
        assert_int_equal(attn_explanation_first_row(made), first[p]);
        assert_int_equal(attn_explanation_unseen(made), 3);
        attn_explanation_destroy(made);
    }
    attn_explanation *made = NULL;
    options.piece = 3;
    expect_refused(context, attn_predictor_explain(predictor_of(model), dataset, &options, &made),
                   ATTN_INVALID_ARGUMENT, "no piece 4");
    attn_vectors rows = {.size = sizeof rows}, pooled = {.size = sizeof pooled};
    expect_ok(context, attn_predictor_embed(predictor_of(model), dataset, 0, &rows));
    assert_int_equal(rows.rows, 25);
    expect_ok(context, attn_predictor_embed(predictor_of(model), dataset, 1, &pooled));
    assert_int_equal(pooled.rows, 1);
    attn_dataset_destroy(dataset);
    model_destroy(model);
}

/* A model from before goes on to read the beginning. */
static void test_older_files(void **state) {
    (void)state;
    static const char json[] = "{\"task\": \"classify\"}";
    attn_config *stored = NULL;
    expect_ok(context, at_config_stored(context, "json", json, &stored));
    assert_string_equal(attn_config_get(stored, "encoder.pieces"), "1");
    attn_config_destroy(stored);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),    cmocka_unit_test(test_rows),        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_rows_apart),  cmocka_unit_test(test_same),
        cmocka_unit_test(test_explained), cmocka_unit_test(test_older_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
