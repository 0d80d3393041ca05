/* test_metrics.c: counts and ratios against values worked out by hand and against the obvious code. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/memory.h"
#include "train/metrics.h"

/* The next of a fixed sequence of random numbers, 0 .. bound - 1. */
static int next(uint32_t *seed, int bound) {
    *seed = *seed * 1664525u + 1013904223u;
    return (int)(*seed >> 8) % bound;
}

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- classes ---- */

/* cats and dogs: 3 cats, of which 2 were called cat, 1 dog; 2 dogs, called dog and bird; 1 fish called dog; a
 * row without truth. */
static void test_classes_by_hand(void **state) {
    (void)state;
    enum { CAT, DOG, BIRD, FISH, NEVER, CLASSES };
    const int32_t truth[] = {CAT, CAT, CAT, DOG, DOG, FISH, -1};
    const int32_t answers[] = {CAT, DOG, CAT, DOG, BIRD, DOG, CAT};
    at_confusion confusion;
    attn_class_scores scores[CLASSES];
    assert_int_equal(at_confusion_make(group_context, truth, answers, 7, CLASSES, &confusion), ATTN_OK);
    assert_int_equal(confusion.count, 5);
    assert_int_equal(at_confusion_get(&confusion, CAT, CAT), 2);
    assert_int_equal(at_confusion_get(&confusion, CAT, DOG), 1);
    assert_int_equal(at_confusion_get(&confusion, FISH, DOG), 1);
    assert_int_equal(at_confusion_get(&confusion, DOG, CAT), 0);
    assert_int_equal(at_confusion_get(&confusion, NEVER, 99), 0);
    at_confusion_count(&confusion, scores);
    at_score_summary summary = at_scores_finish(scores, CLASSES);
    at_confusion_free(group_context, &confusion);

    assert_int_equal(scores[CAT].support, 3);
    assert_int_equal(scores[CAT].predicted, 2);
    assert_int_equal(scores[CAT].right, 2);
    near(scores[CAT].precision, 1);
    near(scores[CAT].recall, 2.0 / 3);
    near(scores[CAT].f1, 0.8);
    near(scores[DOG].precision, 1.0 / 3);
    near(scores[DOG].recall, 0.5);
    near(scores[DOG].f1, 0.4);
    assert_int_equal(scores[BIRD].support, 0);
    near(scores[BIRD].precision, 0);
    near(scores[BIRD].recall, 0);
    near(scores[FISH].f1, 0);
    near(scores[NEVER].f1, 0);
    near(summary.macro_precision, (1 + 1.0 / 3) / 4); /* NEVER does not occur */
    near(summary.macro_recall, (2.0 / 3 + 0.5) / 4);
    near(summary.macro_f1, 1.2 / 4);
    near(summary.micro_precision, 0.5);
    near(summary.micro_recall, 0.5);
    near(summary.micro_f1, 0.5);
}

static void test_nothing_to_count(void **state) {
    (void)state;
    const int32_t truth[] = {-1, -1}, answers[] = {0, 1};
    at_confusion confusion;
    attn_class_scores scores[2];
    assert_int_equal(at_confusion_make(group_context, truth, answers, 2, 2, &confusion), ATTN_OK);
    at_confusion_count(&confusion, scores);
    at_score_summary summary = at_scores_finish(scores, 2);
    assert_int_equal(at_confusion_get(&confusion, 0, 0), 0);
    at_confusion_free(group_context, &confusion);
    near(summary.macro_f1, 0);
    near(summary.micro_f1, 0);
    assert_int_equal(scores[0].predicted, 0);
}

static void test_classes_by_brute_force(void **state) {
    (void)state;
    enum { ROWS = 500, MOST = 12 };
    uint32_t seed = 1;
    for (int round = 0; round < 50; round++) {
        int classes = 1 + next(&seed, MOST), rows = next(&seed, ROWS), right_rows = 0, rows_counted = 0;
        int32_t truth[ROWS], answers[ROWS];
        int64_t matrix[MOST][MOST] = {{0}};
        for (int i = 0; i < rows; i++) {
            truth[i] = next(&seed, classes + 1) - 1;
            answers[i] = next(&seed, 3) ? (truth[i] < 0 ? 0 : truth[i]) : next(&seed, classes);
            if (truth[i] < 0) continue;
            matrix[truth[i]][answers[i]]++;
            rows_counted++;
            right_rows += truth[i] == answers[i];
        }
        at_confusion confusion;
        attn_class_scores scores[MOST];
        assert_int_equal(at_confusion_make(group_context, truth, answers, rows, classes, &confusion),
                         ATTN_OK);
        at_confusion_count(&confusion, scores);
        at_score_summary summary = at_scores_finish(scores, classes);
        for (int c = 0; c < classes; c++) {
            int64_t support = 0, predicted = 0;
            for (int d = 0; d < classes; d++) {
                assert_int_equal(at_confusion_get(&confusion, c, d), matrix[c][d]);
                support += matrix[c][d];
                predicted += matrix[d][c];
            }
            assert_int_equal(scores[c].support, support);
            assert_int_equal(scores[c].predicted, predicted);
            assert_int_equal(scores[c].right, matrix[c][c]);
            double p = scores[c].precision, r = scores[c].recall;
            near(scores[c].f1, p + r > 0 ? 2 * p * r / (p + r) : 0);
        }
        near(summary.micro_f1, rows_counted ? (double)right_rows / rows_counted : 0);
        at_confusion_free(group_context, &confusion);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    const int32_t truth[] = {0, 1}, answers[] = {0, 0};
    at_confusion confusion = {.classes = 77};
    int64_t live = group_counter.live;
    for (int64_t at = 1; at <= 2; at++) {
        group_counter.fail_at = at;
        assert_int_equal(at_confusion_make(group_context, truth, answers, 2, 2, &confusion),
                         ATTN_OUT_OF_MEMORY);
        group_counter.fail_at = 0;
        assert_int_equal(group_counter.live, live);
        assert_int_equal(confusion.classes, 77);
    }
}

static void test_labels(void **state) {
    (void)state;
    const float truth[3][3] = {{1, 0, 1}, {0, 0, 0}, {1, 1, 0}};
    const float said[3][3] = {{0.9f, 0.1f, 0.5f}, {0.2f, 0.7f, 0}, {0.49f, 0.8f, 0.1f}};
    attn_class_scores scores[3] = {{0}};
    int exact = 0;
    for (int i = 0; i < 3; i++) exact += at_labels_count(truth[i], said[i], 3, scores);
    at_score_summary summary = at_scores_finish(scores, 3);
    assert_int_equal(exact, 1);
    assert_int_equal(scores[0].support, 2);
    assert_int_equal(scores[0].predicted, 1);
    assert_int_equal(scores[0].right, 1);
    assert_int_equal(scores[1].support, 1);
    assert_int_equal(scores[1].predicted, 2);
    assert_int_equal(scores[2].right, 1);
    near(scores[0].f1, 2.0 / 3);
    near(summary.micro_precision, 3.0 / 4);
    near(summary.micro_recall, 3.0 / 4);
    near(summary.macro_precision, (1 + 0.5 + 1) / 3);
    near(summary.macro_recall, (0.5 + 1 + 1) / 3);
}

/* ---- numbers ---- */

static void test_numbers(void **state) {
    (void)state;
    const float truth[] = {1, 2, NAN, 3, 4};
    const double answers[] = {1.5, 2, 100, 2, 5};
    at_number_errors errors = at_numbers_compare(truth, answers, 5);
    assert_int_equal(errors.rows, 4);
    near(errors.mean_squared, (0.25 + 0 + 1 + 1) / 4);
    near(errors.mean_absolute, 2.5 / 4);
    /* truth around 2.5: -1.5 -.5 .5 1.5; answers around 2.625: -1.125 -.625 -.625 2.375 */
    near(errors.correlation,
         (1.6875 + 0.3125 - 0.3125 + 3.5625) / sqrt(5 * (1.265625 + 2 * 0.390625 + 5.640625)));

    const double up[] = {10, 20, 0, 30, 40}, down[] = {-1, -2, 0, -3, -4},
                 constant[] = {0.1, 0.1, 0.1, 0.1, 0.1};
    near(at_numbers_compare(truth, up, 5).correlation, 1);
    near(at_numbers_compare(truth, down, 5).correlation, -1);
    assert_true(at_numbers_compare(truth, constant, 5).correlation == 0);
    const float same[] = {0.3f, 0.3f, 0.3f};
    assert_true(at_numbers_compare(same, answers, 3).correlation == 0);
    assert_true(at_numbers_compare(truth, answers, 1).correlation == 0);
    errors = at_numbers_compare(truth, answers, 0);
    assert_true(errors.mean_squared == 0 && errors.mean_absolute == 0 && errors.correlation == 0);
    errors = at_numbers_compare(truth + 2, answers, 1);
    assert_true(errors.rows == 0 && errors.mean_squared == 0);
}

/* A large mean takes no digits away: the numbers are 2^23 + 0 .. 7 and back. */
static void test_numbers_far_from_zero(void **state) {
    (void)state;
    float truth[64];
    double answers[64];
    for (int i = 0; i < 64; i++) {
        truth[i] = 8388608.0f + (float)(i % 8);
        answers[i] = 1e12 + (i % 8 == 3 ? 4 : i % 8);
    }
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0; /* the same without the offsets */
    for (int i = 0; i < 8; i++) {
        double b = i == 3 ? 4 : i;
        x += i, y += b, xx += i * i, yy += b * b, xy += i * b;
    }
    near(at_numbers_compare(truth, answers, 64).correlation,
         (xy - x * y / 8) / sqrt((xx - x * x / 8) * (yy - y * y / 8)));
}

/* ---- words ---- */

/* Cuts as text: | before a word, - where it goes on, space where there is none. */
static at_word_counts words(const char *truth, const char *answers) {
    unsigned char cuts[2][64];
    at_word_counts counts = {0};
    int64_t length = (int64_t)strlen(truth);
    assert_int_equal(strlen(answers), length);
    for (int64_t i = 0; i < length; i++) {
        cuts[0][i] = truth[i] == '|' ? AT_WORD_BEGINS : truth[i] == '-' ? AT_WORD_GOES_ON : AT_WORD_NONE;
        cuts[1][i] = answers[i] == '|' ? AT_WORD_BEGINS : answers[i] == '-' ? AT_WORD_GOES_ON : AT_WORD_NONE;
    }
    at_words_count(cuts[0], cuts[1], length, &counts);
    return counts;
}

static void check_words(const char *truth, const char *answers, int in_truth, int in_answers, int right) {
    at_word_counts counts = words(truth, answers);
    assert_int_equal(counts.truth, in_truth);
    assert_int_equal(counts.answers, in_answers);
    assert_int_equal(counts.right, right);
}

static void test_words_by_hand(void **state) {
    (void)state;
    check_words("", "", 0, 0, 0);
    check_words("|", "|", 1, 1, 1);
    check_words("|", "-", 1, 1, 1); /* a text begins with a word whatever its label says */
    check_words("|-|--|", "|-|--|", 3, 3, 3);
    check_words("|-|--|", "|||--|", 3, 4, 2);
    check_words("|-|--|", "|----|", 3, 2, 1);
    check_words("|-|-", "|--|", 2, 2, 0);
    check_words("|-- |-", "|-- |-", 2, 2, 2);
    check_words("|-- |-", "|-- --", 2, 2, 2); /* after a space a word begins */
    check_words("|-- |-", "||- |-", 2, 3, 1);
    check_words("  |  ", "  -  ", 1, 1, 1);
    check_words("   ", "   ", 0, 0, 0);
}

/* All words as pairs of first and last, compared one with each other. */
static int spans(const unsigned char *cut, int count, int (*span)[2]) {
    int words_found = 0;
    for (int i = 0; i < count; i++) {
        if (cut[i] == AT_WORD_NONE) continue;
        int begins = cut[i] == AT_WORD_BEGINS || i == 0 || cut[i - 1] == AT_WORD_NONE;
        if (begins) span[words_found++][0] = i;
        span[words_found - 1][1] = i;
    }
    return words_found;
}

static void test_words_by_brute_force(void **state) {
    (void)state;
    uint32_t seed = 5;
    for (int round = 0; round < 2000; round++) {
        unsigned char truth[20], answers[20];
        int count = next(&seed, 20), a[20][2], b[20][2], right = 0;
        for (int i = 0; i < count; i++) {
            int space = next(&seed, 6) == 0;
            truth[i] = space ? AT_WORD_NONE : (unsigned char)next(&seed, 2);
            answers[i] = space ? AT_WORD_NONE : next(&seed, 3) ? truth[i] : (unsigned char)next(&seed, 2);
        }
        int in_truth = spans(truth, count, a), in_answers = spans(answers, count, b);
        for (int i = 0; i < in_truth; i++)
            for (int j = 0; j < in_answers; j++) right += a[i][0] == b[j][0] && a[i][1] == b[j][1];
        at_word_counts counts = {1, 2, 3}; /* it adds */
        at_words_count(truth, answers, count, &counts);
        assert_int_equal(counts.truth, 1 + in_truth);
        assert_int_equal(counts.answers, 2 + in_answers);
        assert_int_equal(counts.right, 3 + right);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_by_hand),
        cmocka_unit_test(test_nothing_to_count),
        cmocka_unit_test(test_classes_by_brute_force),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_numbers_far_from_zero),
        cmocka_unit_test(test_words_by_hand),
        cmocka_unit_test(test_words_by_brute_force),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
