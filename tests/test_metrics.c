/* test_metrics.c: counts and ratios against values worked out by hand and against the obvious code. */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/memory.h"
#include "heads/metrics/classes.h"
#include "heads/rows.h"
#include "support/examples.h"
#include "support/memory.h"
#include "train/trainer.h"

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
    attn_class_metrics scores[CLASSES];
    assert_int_equal(at_confusion_make(group_context, truth, answers, 7, CLASSES, &confusion), ATTN_OK);
    assert_int_equal(confusion.count, 5);
    assert_int_equal(at_confusion_get(&confusion, CAT, CAT), 2);
    assert_int_equal(at_confusion_get(&confusion, CAT, DOG), 1);
    assert_int_equal(at_confusion_get(&confusion, FISH, DOG), 1);
    assert_int_equal(at_confusion_get(&confusion, DOG, CAT), 0);
    assert_int_equal(at_confusion_get(&confusion, NEVER, 99), 0);
    at_confusion_count(&confusion, scores);
    at_metric_summary summary = at_metrics_finish(scores, CLASSES);
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
    attn_class_metrics scores[2];
    assert_int_equal(at_confusion_make(group_context, truth, answers, 2, 2, &confusion), ATTN_OK);
    at_confusion_count(&confusion, scores);
    at_metric_summary summary = at_metrics_finish(scores, 2);
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
        attn_class_metrics scores[MOST];
        assert_int_equal(at_confusion_make(group_context, truth, answers, rows, classes, &confusion),
                         ATTN_OK);
        at_confusion_count(&confusion, scores);
        at_metric_summary summary = at_metrics_finish(scores, classes);
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
    attn_class_metrics scores[3] = {{0}};
    int exact = 0;
    for (int i = 0; i < 3; i++) exact += at_labels_count(truth[i], said[i], 3, scores);
    at_metric_summary summary = at_metrics_finish(scores, 3);
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
    attn_number_metrics errors = at_numbers_compare(truth, answers, 5);
    assert_int_equal(errors.compared, 4);
    near(errors.mean_squared_error, (0.25 + 0 + 1 + 1) / 4);
    near(errors.mean_absolute_error, 2.5 / 4);
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
    assert_true(errors.mean_squared_error == 0 && errors.mean_absolute_error == 0 && errors.correlation == 0);
    errors = at_numbers_compare(truth + 2, answers, 1);
    assert_true(errors.compared == 0 && errors.mean_squared_error == 0);
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

static void test_root_and_r2(void **state) {
    (void)state;
    const double truth[] = {1, 2, NAN, 3, 4}, answers[] = {1.5, 2, 100, 2, 5};
    attn_number_metrics scores = {.size = sizeof scores};
    assert_int_equal(attn_metric_numbers(group_context, truth, answers, 5, &scores), ATTN_OK);
    assert_int_equal(scores.compared, 4);
    near(scores.rmse, 0.75); /* of 2.25 / 4 */
    near(scores.r2, 1 - 2.25 / 5);
    const double constant[] = {3, 3, 3}, off[] = {3, 3, 4};
    assert_int_equal(attn_metric_numbers(group_context, constant, constant, 3, &scores), ATTN_OK);
    assert_true(scores.r2 == 1 && scores.rmse == 0);
    assert_int_equal(attn_metric_numbers(group_context, constant, off, 3, &scores), ATTN_OK);
    assert_true(scores.r2 == 0);
    assert_int_equal(attn_metric_numbers(group_context, truth + 2, answers, 2, &scores), ATTN_OK);
    assert_true(isnan(scores.r2) && scores.compared == 1); /* one number has no spread */
    assert_int_equal(attn_metric_numbers(group_context, NULL, NULL, 0, &scores), ATTN_OK);
    assert_true(isnan(scores.r2) && scores.rmse == 0);
    assert_int_equal(attn_metric_numbers(group_context, truth, NULL, 5, &scores), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_numbers(group_context, truth, answers, -1, &scores), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_numbers(NULL, truth, answers, 5, &scores), ATTN_INVALID_ARGUMENT);
}

/* ---- probabilities ---- */

static attn_ranking ranking_of(const int32_t *truth, const double *scores, int64_t count) {
    attn_ranking ranking = {.size = sizeof ranking};
    assert_int_equal(attn_metric_ranking(group_context, truth, scores, count, &ranking), ATTN_OK);
    return ranking;
}

static void test_ranking_by_hand(void **state) {
    (void)state;
    /* By falling score: 1 0 1 0, of which 3 of 4 pairs are in order; precision 1, then 2/3. */
    const int32_t truth[] = {0, 1, -1, 0, 1};
    const double scores[] = {0.1, 0.35, 0.2, 0.4, 0.8};
    attn_ranking ranking = ranking_of(truth, scores, 5);
    near(ranking.roc_auc, 0.75);
    near(ranking.pr_auc, (1 + 2.0 / 3) / 2);
    assert_int_equal(ranking.positives, 2);
    assert_int_equal(ranking.negatives, 2);
    /* All equal: half of all pairs, and the precision of calling everything positive. */
    const double same[] = {0.5, 0.5, 0.5, 0.5, 0.5};
    ranking = ranking_of(truth, same, 5);
    near(ranking.roc_auc, 0.5);
    near(ranking.pr_auc, 0.5);
    /* A tie of one of each, a positive one below them: (0.5 + 0) of 2 pairs; 1/2 x 1/2 + 1/2 x 2/3. */
    const int32_t tied_truth[] = {1, 0, 1};
    const double tied[] = {2, 2, 1};
    ranking = ranking_of(tied_truth, tied, 3);
    near(ranking.roc_auc, 0.25);
    near(ranking.pr_auc, 0.25 + 1.0 / 3);
}

static void test_ranking_of_one_class(void **state) {
    (void)state;
    const int32_t truth[] = {1, 1, -1};
    const double scores[] = {0.1, 0.2, 0.3}, bad[] = {0.1, NAN, 0.3};
    attn_ranking ranking = ranking_of(truth, scores, 3);
    assert_true(isnan(ranking.roc_auc) && isnan(ranking.pr_auc));
    assert_int_equal(ranking.positives, 2);
    assert_true(isnan(ranking_of(truth + 2, scores, 1).roc_auc));
    assert_true(isnan(ranking_of(NULL, NULL, 0).pr_auc));
    assert_int_equal(attn_metric_ranking(group_context, truth, bad, 3, &ranking), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_ranking(group_context, truth, NULL, 3, &ranking), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_ranking(group_context, truth, scores, -3, &ranking), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_ranking(NULL, truth, scores, 3, &ranking), ATTN_INVALID_ARGUMENT);
    group_counter.fail_at = 1;
    assert_int_equal(attn_metric_ranking(group_context, truth, scores, 3, &ranking), ATTN_OUT_OF_MEMORY);
    group_counter.fail_at = 0;
}

static void test_log_loss(void **state) {
    (void)state;
    const int32_t truth[] = {0, 2, -1, 1}, wrong[] = {3};
    const double probabilities[] = {0.5, 0.25, 0.25, 0, 0.75, 0.25, 1, 0, 0, 1, 0, 0};
    double loss;
    assert_int_equal(attn_metric_log_loss(group_context, truth, probabilities, 4, 3, &loss), ATTN_OK);
    near(loss, (log(2) + log(4) + 52 * log(2)) / 3); /* what was impossible counts as 2^-52 */
    assert_int_equal(attn_metric_log_loss(group_context, truth + 2, probabilities, 1, 3, &loss), ATTN_OK);
    assert_true(isnan(loss));
    assert_int_equal(attn_metric_log_loss(group_context, wrong, probabilities, 1, 3, &loss),
                     ATTN_INVALID_ARGUMENT);
    const double none[] = {1.5, -0.5};
    for (int32_t c = 0; c < 2; c++)
        assert_int_equal(attn_metric_log_loss(group_context, &c, none, 1, 2, &loss), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_log_loss(group_context, truth, NULL, 1, 2, &loss), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_log_loss(NULL, truth, none, 1, 2, &loss), ATTN_INVALID_ARGUMENT);
}

static void test_positive_label(void **state) {
    (void)state;
    /* Labels stand by frequency; the positive one is: */
    static const char *const cases[][3] = {{"0", "1", "1"},
                                           {"1", "0", "1"},
                                           {"1.0", "0.0", "1.0"},
                                           {"-1", "1", "1"},
                                           {"1", "1.0", "1.0"},
                                           {"10", "9", "10"},
                                           {"yes", "no", "yes"},
                                           {"No", "Yes", "Yes"},
                                           {"TRUE", "FALSE", "TRUE"},
                                           {"neg", "pos", "pos"},
                                           {"pos", "neg", "pos"},
                                           {"often", "rare", "rare"},
                                           {"active", "inactive", "active"},
                                           {"Negative", "Positive", "Positive"},
                                           {"yes", "maybe", "maybe"},
                                           {"yesterday", "no", "no"},
                                           {"1", "none", "none"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        at_strings labels = {0};
        for (int l = 0; l < 2; l++)
            assert_int_equal(at_strings_add(group_context, &labels, cases[i][l], strlen(cases[i][l])),
                             ATTN_OK);
        assert_string_equal(at_string(&labels, at_positive_label(&labels)), cases[i][2]);
        assert_int_equal(at_strings_add(group_context, &labels, "third", 5), ATTN_OK);
        assert_int_equal(at_positive_label(&labels), -1);
        at_strings_free(group_context, &labels);
    }
}

/* ---- words ---- */

/* What a report says about words, from the labels of characters. */
typedef struct word_metrics {
    double precision, recall, f1;
} word_metrics;

static attn_status take_metric(void *user, const char *name, double value) {
    word_metrics *into = user;
    if (strcmp(name, "word_precision") == 0)
        into->precision = value;
    else if (strcmp(name, "word_recall") == 0)
        into->recall = value;
    else if (strcmp(name, "word_f1") == 0)
        into->f1 = value;
    else
        fail_msg("there is a metric %s", name);
    return ATTN_OK;
}

/* Labels as letters, a space where there is a space (its label is S, or what `of_spaces` says). Several
 * examples. */
static word_metrics measure(int64_t examples, const char *const *truth, const char *const *answers,
                            char of_spaces) {
    static at_text_values values = {.unit = AT_UNIT_CHARS, .scheme = AT_SCHEME_BMES, .min_count = 1};
    at_text_input *text = text_create(group_context, &values, (text_use){.exact = 1});
    at_strings labels = {0};
    int32_t classes[2][200];
    int64_t rows = 0;
    char *texts[10] = {NULL};
    for (int l = 0; l < AT_BMES_LABELS; l++)
        assert_int_equal(at_strings_add(group_context, &labels, at_bmes_labels[l], 1), ATTN_OK);
    for (int64_t e = 0; e < examples; e++) {
        size_t length = strlen(truth[e]);
        assert_int_equal(strlen(answers[e]), length);
        texts[e] = calloc(length + 1, 1);
        for (size_t i = 0; i < length; i++, rows++) {
            texts[e][i] = truth[e][i] == ' ' ? ' ' : 'x';
            const char *both[2] = {truth[e], answers[e]};
            for (int k = 0; k < 2; k++) {
                char label = both[k][i] == ' ' ? of_spaces : both[k][i];
                classes[k][rows] = -1;
                for (int32_t l = 0; l < AT_BMES_LABELS; l++)
                    if (at_bmes_labels[l][0] == label) classes[k][rows] = l;
                assert_true(classes[k][rows] >= 0);
            }
        }
    }
    attn_dataset *dataset = examples_create(group_context, 0, (const char *const *)texts, examples);
    at_text_encoded *encoded = NULL;
    assert_int_equal(text_encode(text, dataset, &encoded), ATTN_OK);
    assert_int_equal(encoded->encoded.rows, rows);
    word_metrics metrics = {-1, -1, -1};
    assert_int_equal(at_bmes_measure(encoded, &labels, classes[0], classes[1], take_metric, &metrics),
                     ATTN_OK);
    /* the words that a prediction joins are as many as are counted */
    at_strings words = {0};
    int64_t *offsets = NULL;
    assert_int_equal(
        at_bmes_join(&text->input, group_context, &encoded->encoded, &labels, classes[1], &words, &offsets),
        ATTN_OK);
    assert_int_equal(offsets[examples], words.count);
    at_strings_free(group_context, &words);
    at_release(group_context, offsets);
    text_free(encoded);
    attn_dataset_destroy(dataset);
    text_destroy(text);
    at_strings_free(group_context, &labels);
    for (int64_t e = 0; e < examples; e++) free(texts[e]);
    return metrics;
}

static void check_metrics(word_metrics found, int in_truth, int in_answers, int right) {
    near(found.precision, in_answers ? (double)right / in_answers : 0);
    near(found.recall, in_truth ? (double)right / in_truth : 0);
    near(found.f1, in_truth + in_answers ? 2.0 * right / (in_truth + in_answers) : 0);
}

/* Cuts as text: | before a word, - where it continues, space where there is none: as labels, B or S, and M.
 */
static void check_words(const char *truth, const char *answers, int in_truth, int in_answers, int right) {
    char labels[2][64];
    const char *given[2] = {truth, answers}, *both[2] = {labels[0], labels[1]};
    for (int k = 0; k < 2; k++) {
        size_t length = strlen(given[k]);
        for (size_t i = 0; i < length; i++)
            labels[k][i] = given[k][i] == '|' ? 'B' : given[k][i] == '-' ? 'M' : ' ';
        labels[k][length] = 0;
    }
    check_metrics(measure(1, &both[0], &both[1], 'S'), in_truth, in_answers, right);
    check_metrics(measure(1, &both[0], &both[1], 'M'), in_truth, in_answers, right);
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

/* All words as pairs of first and last. A word begins at a B or an S, after an E or an S, at the start and
 * after a space. */
static int spans(const char *labels, char of_spaces, int from, int (*span)[2]) {
    int words_found = 0;
    for (int i = 0; labels[i]; i++) {
        if (labels[i] == ' ') continue;
        char before = i == 0 ? 'E' : labels[i - 1] == ' ' ? of_spaces : labels[i - 1];
        int begins = i == 0 || labels[i - 1] == ' ' || strchr("BS", labels[i]) || strchr("ES", before);
        if (begins) span[words_found++][0] = from + i;
        span[words_found - 1][1] = from + i;
    }
    return words_found;
}

static void test_words_by_brute_force(void **state) {
    (void)state;
    uint32_t seed = 5;
    for (int round = 0; round < 2000; round++) {
        char truth[3][20], answers[3][20];
        const char *both[2][3];
        int a[60][2], b[60][2], in_truth = 0, in_answers = 0, right = 0, examples = 1 + next(&seed, 3);
        for (int e = 0; e < examples; e++) {
            int count = next(&seed, 20);
            for (int i = 0; i < count; i++) {
                int space = next(&seed, 6) == 0;
                truth[e][i] = space ? ' ' : "SBME"[next(&seed, 4)];
                answers[e][i] = space ? ' ' : next(&seed, 3) ? truth[e][i] : "SBME"[next(&seed, 4)];
            }
            truth[e][count] = answers[e][count] = 0;
            both[0][e] = truth[e];
            both[1][e] = answers[e];
            in_truth += spans(truth[e], 'S', 100 * e, a + in_truth);
            in_answers += spans(answers[e], 'S', 100 * e, b + in_answers);
        }
        for (int i = 0; i < in_truth; i++)
            for (int j = 0; j < in_answers; j++) right += a[i][0] == b[j][0] && a[i][1] == b[j][1];
        check_metrics(measure(examples, both[0], both[1], 'S'), in_truth, in_answers, right);
    }
}

/* ---- the spread of an ensemble ---- */

static int64_t one_column(const at_row_head *head) {
    (void)head;
    return 1;
}

static void test_spread_by_hand(void **state) {
    (void)state;
    static const at_row_kind rows = {.width = one_column};
    static const at_head_kind kind = {.rows = &rows};
    at_row_head head = {.head = {.kind = &kind}, .deviation = 10};
    at_row_answers into = {.places = 2};
    static const float answers[3][2] = {{1, 7}, {2, 7}, {6, 7}};
    assert_int_equal(at_spread_create(group_context, &rows, &into), ATTN_OK);
    for (int network = 0; network < 3; network++)
        for (int64_t row = 0; row < 2; row++)
            assert_int_equal(
                at_spread_add(group_context, &into.spread, network, 2, row, &answers[network][row], 1),
                ATTN_OK);
    for (int64_t row = 0; row < 2; row++) at_spread_put(&head, &into, 3, row, 1 - row);
    near(into.spread.values[1], 10 * sqrt((4 + 1 + 9) / 3.0)); /* of 1, 2 and 6, whose mean is 3 */
    assert_true(into.spread.values[0] == 0);
    at_spread_free(group_context, &into.spread);
}

/* ---- choosing a model ---- */

/* Evaluations one after another, of accuracy and log loss: which are kept, and which are better in any way.
 */
static void test_choices(void **state) {
    (void)state;
    static const struct {
        double accuracy, loss;
        int as_good, improved;
    } runs[] = {{0.5, 0.9, 1, 1},                    /* the first */
                {0.5, 0.95, 0, 0},                   /* a tie, which the loss decides */
                {0.5, 0.8, 1, 1},  {0.4, 0.7, 0, 1}, /* a better loss, for patience alone */
                {0.5, 0.75, 1, 0},                   /* better than what is kept, but 0.7 has been there */
                {0.5, 0.75, 1, 0},                   /* of equal ones the later */
                {0.6, 2.0, 1, 1},  {0.6, 0.7, 1, 0}, {0.6, 0.69, 1, 1}, {0.59, 0.69, 0, 0}};
    attn_trainer *trainer = calloc(1, sizeof *trainer);
    assert_non_null(trainer);
    trainer->choice_count = 2;
    trainer->choices[0].rises = 1;
    at_metric_none(&trainer->made);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        double scores[AT_MOST_METRICS] = {runs[i].accuracy, runs[i].loss};
        assert_int_equal(at_metric_as_good(trainer, scores), runs[i].as_good);
        assert_int_equal(at_metric_improved(trainer, scores), runs[i].improved);
        at_metric_keep(trainer, scores, runs[i].as_good);
    }
    assert_true(trainer->made.best_value == 0.6 && trainer->made.kept[1] == 0.69);
    free(trainer);
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
        cmocka_unit_test(test_root_and_r2),
        cmocka_unit_test(test_ranking_by_hand),
        cmocka_unit_test(test_ranking_of_one_class),
        cmocka_unit_test(test_log_loss),
        cmocka_unit_test(test_positive_label),
        cmocka_unit_test(test_spread_by_hand),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_words_by_hand),
        cmocka_unit_test(test_words_by_brute_force),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
