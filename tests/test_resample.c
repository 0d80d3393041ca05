/* test_resample.c: values of metrics on samples of examples: against the obvious code, the same on any number
 * of threads; intervals that hold what they promise; differences of two reports.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/random.h"
#include "heads/metrics/texts.h"
#include "heads/resample.h"
#include "support/memory.h"
#include "support/predicting.h"

static uint32_t seed = 5;
static int next(int bound) {
    seed = seed * 1664525u + 1013904223u;
    return (int)(seed >> 8) % bound;
}

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- samples ---- */

enum { UNITS = 40, COLUMNS = 3, CLASSES = 4 };

typedef struct example {
    double columns[COLUMNS];
    int counts[CLASSES][3]; /* support, predicted, right */
} example;

static void make_examples(example *list, int64_t count) {
    memset(list, 0, (size_t)count * sizeof *list);
    for (int64_t u = 0; u < count; u++) {
        for (int c = 0; c < COLUMNS; c++) list[u].columns[c] = next(9);
        for (int row = next(6); row > 0; row--) {
            int truth = next(CLASSES), answer = next(2) ? truth : next(CLASSES);
            list[u].counts[truth][0]++;
            list[u].counts[answer][1]++;
            list[u].counts[truth][2] += truth == answer;
        }
    }
}

static at_statistics *collect(attn_context *context, const example *list, int64_t count) {
    at_statistics *statistics = NULL;
    assert_int_equal(at_statistics_create(context, count, COLUMNS, CLASSES, &statistics), ATTN_OK);
    at_statistics_metric(statistics, "ratio", AT_RATIO, 1);
    at_statistics_metric(statistics, "root", AT_ROOT, 0);
    at_statistics_metric(statistics, "f1", AT_F1, 0);
    at_statistics_metric(statistics, "macro", AT_MACRO_F1, 0);
    for (int64_t u = 0; u < count; u++) {
        for (int c = 0; c < COLUMNS; c++) at_statistics_of(statistics, u)[c] += list[u].columns[c];
        for (int c = 0; c < CLASSES; c++) { /* twice, as rows come one by one */
            const int *of = list[u].counts[c];
            assert_int_equal(at_statistics_class(statistics, u, c, of[0], 0, of[2]), ATTN_OK);
            assert_int_equal(at_statistics_class(statistics, u, c, 0, of[1], 0), ATTN_OK);
        }
    }
    return statistics;
}

static const char *const names[] = {"ratio", "root", "f1", "macro"};

/* The metrics of the examples that a sample draws, by their numbers. */
static void by_hand(const example *list, const int64_t *drawn, int64_t count, double *values) {
    example sum = {.columns = {0}};
    for (int64_t j = 0; j < count; j++) {
        for (int c = 0; c < COLUMNS; c++) sum.columns[c] += list[drawn[j]].columns[c];
        for (int c = 0; c < CLASSES; c++)
            for (int i = 0; i < 3; i++) sum.counts[c][i] += list[drawn[j]].counts[c][i];
    }
    values[0] = sum.columns[2] > 0 ? sum.columns[1] / sum.columns[2] : 0;
    values[1] = sum.columns[1] > 0 ? sqrt(sum.columns[0] / sum.columns[1]) : 0;
    values[2] = 2 * sum.columns[0] / (sum.columns[1] + sum.columns[2]);
    double macro = 0, occurring = 0;
    for (int c = 0; c < CLASSES; c++) {
        double both = sum.counts[c][0] + sum.counts[c][1];
        if (both > 0) macro += 2 * sum.counts[c][2] / both, occurring++;
    }
    values[3] = occurring > 0 ? macro / occurring : 0;
}

static void test_against_by_hand(void **state) {
    (void)state;
    example list[UNITS];
    make_examples(list, UNITS);
    at_statistics *statistics = collect(group_context, list, UNITS);
    int64_t drawn[UNITS], times[UNITS] = {0};
    for (int64_t b = 0; b < ATTN_RESAMPLES; b++) {
        at_row_key key = at_random_row(20181118, b, 0, 0);
        for (int64_t j = 0; j < UNITS; j++) {
            drawn[j] = (int64_t)(((uint64_t)at_random_word(key, (uint32_t)j) * UNITS) >> 32);
            times[drawn[j]]++;
        }
        double wanted[4];
        by_hand(list, drawn, UNITS, wanted);
        for (int m = 0; m < 4; m++) {
            const double *values;
            assert_int_equal(at_statistics_values(statistics, names[m], &values), ATTN_OK);
            near(values[b], wanted[m]);
        }
    }
    for (int u = 0; u < UNITS; u++) /* each once a sample: 1,000, give or take five deviations */
        assert_true(llabs((long long)times[u] - ATTN_RESAMPLES) < 160);
    const double *none;
    assert_int_equal(at_statistics_values(statistics, "accuracy", &none), ATTN_OK);
    assert_null(none);
    at_statistics_free(statistics);
}

/* Neighbours share a block, and nothing is lost: the sums of all blocks are those of all examples. */
static void test_many_examples(void **state) {
    (void)state;
    enum { MANY = 35000 };
    at_statistics *statistics = NULL;
    assert_int_equal(at_statistics_create(group_context, MANY, 2, 1, &statistics), ATTN_OK);
    at_statistics_metric(statistics, "ratio", AT_RATIO, 0);
    at_statistics_metric(statistics, "macro", AT_MACRO_F1, 0);
    for (int64_t u = 0; u < MANY; u++) {
        at_statistics_of(statistics, u)[0] += u % 4 == 0;
        at_statistics_of(statistics, u)[1] += 1;
        assert_int_equal(at_statistics_class(statistics, u, 0, 1, 1, u % 4 == 0), ATTN_OK);
    }
    assert_int_equal(at_statistics_units(statistics), MANY);
    const double *values, *macro;
    double low, high, mean = 0;
    assert_int_equal(at_statistics_values(statistics, "ratio", &values), ATTN_OK);
    assert_int_equal(at_statistics_values(statistics, "macro", &macro), ATTN_OK);
    for (int b = 0; b < ATTN_RESAMPLES; b++) {
        mean += values[b] / ATTN_RESAMPLES;
        near(values[b], macro[b]); /* of one class both are the share of right ones */
    }
    assert_true(fabs(mean - 0.25) < 0.001);
    attn_resamples_interval(values, &low, &high);
    assert_true(low < 0.25 && 0.25 < high && high - low < 0.01);
    at_statistics_free(statistics);
}

static void test_any_number_of_threads(void **state) {
    (void)state;
    example list[300];
    make_examples(list, 300);
    double *kept = malloc(4 * ATTN_RESAMPLES * sizeof *kept);
    assert_non_null(kept);
    for (int threads = 1; threads <= 4; threads++) {
        attn_context_options options;
        attn_context *context;
        attn_context_options_init(&options);
        options.threads = threads;
        assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
        at_statistics *statistics = collect(context, list, 300);
        for (int m = 0; m < 4; m++) {
            const double *values;
            assert_int_equal(at_statistics_values(statistics, names[m], &values), ATTN_OK);
            if (threads == 1) memcpy(kept + m * ATTN_RESAMPLES, values, ATTN_RESAMPLES * sizeof *values);
            assert_memory_equal(kept + m * ATTN_RESAMPLES, values, ATTN_RESAMPLES * sizeof *values);
        }
        at_statistics_free(statistics);
        attn_context_destroy(context);
    }
    free(kept);
}

/* The interval of a share is that of the normal distribution, or nearly: 400 examples, of which 80 % are
 * right. And it holds the truth about as often as it says. */
static void test_coverage(void **state) {
    (void)state;
    enum { EXAMPLES = 400, TRIALS = 200 };
    int held = 0;
    double width = 0;
    for (int t = 0; t < TRIALS; t++) {
        at_statistics *statistics = NULL;
        assert_int_equal(at_statistics_create(group_context, EXAMPLES, 2, 0, &statistics), ATTN_OK);
        at_statistics_metric(statistics, "accuracy", AT_RATIO, 0);
        for (int64_t u = 0; u < EXAMPLES; u++) {
            at_statistics_of(statistics, u)[0] += next(1000) < 800;
            at_statistics_of(statistics, u)[1] += 1;
        }
        const double *values;
        double low, high;
        assert_int_equal(at_statistics_values(statistics, "accuracy", &values), ATTN_OK);
        attn_resamples_interval(values, &low, &high);
        held += low <= 0.8 && 0.8 <= high;
        width += (high - low) / TRIALS;
        at_statistics_free(statistics);
    }
    assert_true(held >= 180 && held <= 199);                        /* 190 are expected */
    assert_true(fabs(width - 2 * 1.96 * sqrt(0.16 / 400)) < 0.004); /* 0.078 */
}

static void test_percentiles(void **state) {
    (void)state;
    double values[ATTN_RESAMPLES], low, high;
    for (int i = 0; i < ATTN_RESAMPLES; i++) values[i] = (i * 7) % ATTN_RESAMPLES; /* 0 .. 999, mixed */
    attn_resamples_interval(values, &low, &high);
    near(low, 24.975); /* numpy.percentile(values, [2.5, 97.5]) */
    near(high, 974.025);
    attn_resamples_interval(NULL, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* ---- differences ---- */

static void test_differences(void **state) {
    (void)state;
    double a[ATTN_RESAMPLES], b[ATTN_RESAMPLES];
    attn_difference difference;
    for (int i = 0; i < ATTN_RESAMPLES; i++) {
        b[i] = i % 10;
        a[i] = b[i] + 1;
    }
    attn_resamples_difference(a, b, &difference); /* always more, whatever the sample */
    near(difference.low, 1);
    near(difference.high, 1);
    near(difference.p, 2.0 / 1001);
    attn_resamples_difference(b, a, &difference);
    near(difference.low, -1);
    near(difference.p, 2.0 / 1001);
    attn_resamples_difference(a, a, &difference);
    near(difference.p, 1);
    for (int i = 0; i < 100; i++) a[i] = b[i] - 1; /* less on 100 of 1,000 */
    attn_resamples_difference(a, b, &difference);
    near(difference.low, -1);
    near(difference.high, 1);
    near(difference.p, 2 * 101.0 / 1001);
    attn_resamples_difference(NULL, a, &difference);
    assert_true(isnan(difference.p));
}

/* ---- BLEU ---- */

static void test_bleu(void **state) {
    (void)state;
    static const char *const said[] = {"the cat sat on the mat .", "a b c d", "", "it is so , really"};
    static const char *const right[] = {"the cat sat on a mat .", "a b c d e", "nothing",
                                        "It is so, really!"};
    double counts[AT_BLEU_COUNTS] = {0};
    at_bleu_memory memory = {.points = {.count = 0}};
    attn_bleu whole = {.size = sizeof whole};
    for (int i = 0; i < 4; i++)
        assert_int_equal(at_bleu_add(group_context, said[i], right[i], 0, &memory, counts), ATTN_OK);
    at_bleu_memory_free(group_context, &memory);
    assert_int_equal(attn_metric_bleu(group_context, said, right, 4, 0, &whole), ATTN_OK);
    assert_true(whole.score > 1);
    near(at_bleu_value(counts), whole.score);
}

static void test_no_memory(void **state) {
    (void)state;
    example list[UNITS];
    make_examples(list, UNITS);
    at_statistics *statistics = NULL;
    for (int64_t at = 1; at <= 4; at++) {
        group_counter.fail_at = at;
        assert_int_equal(at_statistics_create(group_context, UNITS, COLUMNS, CLASSES, &statistics),
                         ATTN_OUT_OF_MEMORY);
        group_counter.fail_at = 0;
    }
    statistics = collect(group_context, list, UNITS);
    const double *values = NULL;
    for (int64_t at = 1; at <= 2; at++) {
        group_counter.fail_at = at;
        assert_int_equal(at_statistics_values(statistics, "ratio", &values), ATTN_OUT_OF_MEMORY);
        assert_null(values);
        group_counter.fail_at = 0;
    }
    assert_int_equal(at_statistics_values(statistics, "ratio", &values), ATTN_OK);
    assert_non_null(values);
    at_statistics_free(statistics);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_by_hand),
        cmocka_unit_test(test_many_examples),
        cmocka_unit_test(test_any_number_of_threads),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_bleu),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("resample", tests, group_setup, group_teardown);
}
