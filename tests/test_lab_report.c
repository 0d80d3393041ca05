/* test_lab_report.c: what the lab computes and writes by itself: numbers, axes, escaping, odd charts,
 * training.
 *
 * The sources of the lab are compiled into this test; the experiments are not.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "../cli/lab/fit.h"
#include "../cli/lab/report.h"

/* ---- numbers ---- */

static void test_numbers(void **state) {
    (void)state;
    const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_true(lab_median(odd, 3) == 2);
    assert_true(lab_median(even, 4) == 2.5);
    assert_true(isnan(lab_median(odd, 0)));
    double many[101];
    for (int i = 0; i < 101; i++) many[i] = (i * 37) % 101;
    assert_true(lab_median(many, 101) == 50);
    double x[5], y[5];
    for (int i = 0; i < 5; i++) {
        x[i] = pow(2, i);
        y[i] = 7 * pow(x[i], 1.5);
    }
    assert_true(fabs(lab_exponent(x, y, 5) - 1.5) < 1e-12);
}

static void test_random(void **state) {
    (void)state;
    uint64_t seed = 5, same = 5;
    double mean = 0, square = 0;
    int counts[6] = {0};
    for (int i = 0; i < 20000; i++) {
        double number = lab_normal(&seed);
        assert_true(number == lab_normal(&same));
        mean += number / 20000;
        square += number * number / 20000;
        int64_t chosen = lab_choice(&seed, 6);
        assert_true(chosen == lab_choice(&same, 6));
        assert_in_range(chosen, 0, 5);
        counts[chosen]++;
    }
    assert_true(fabs(mean) < 0.03 && fabs(square - 1) < 0.05);
    for (int i = 0; i < 6; i++) assert_in_range(counts[i], 3000, 3700);
}

/* ---- reports ---- */

static bool (*content)(lab *report); /* what the experiment of a test does */
static bool run_content(lab *report) { return content(report); }
static const lab_experiment experiment = {
    .name = "name", .claim = "a < b & c", .experiment = "e", .mistake = "m", .run = run_content};
static const lab_options options = {.seed = 1};

static attn_context *context;

static bool make_report(lab *report, bool (*what)(lab *)) {
    content = what;
    return lab_run(report, &experiment, &options, context);
}

typedef void (*printer)(FILE *file, const lab *report);

static char *printed(printer print, const lab *report) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    print(file, report);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void print_page(FILE *file, const lab *report) { lab_print_page(file, report, 1, "a <machine>"); }

static bool hostile(lab *report) {
    static const char name[] = "<script>&\"'\x1b[31m\xff|";
    const float numbers[] = {1, -2, 3, NAN};
    const char *names[] = {name, "plain"};
    lab_table *table = lab_add_table(report, name, name, "other", NULL);
    lab_row(table, name, "1");
    lab_chart *chart = lab_add_chart(report, name, name, LAB_LINEAR, name, LAB_LOGARITHMIC);
    int line = lab_line(chart, name, false);
    lab_point(chart, line, 1, 10);
    lab_point(chart, line, 2, 0); /* has no place on a logarithmic axis */
    lab_point(chart, line, 3, NAN);
    lab_point(chart, line, 4, 1000);
    lab_add_matrix(report, name, numbers, 2, 2, names, names);
    lab_note(report, "%s", name);
    return lab_conclude(report, LAB_HOLDS_WHERE, "%s", name);
}

static void test_hostile_text(void **state) {
    (void)state;
    const printer printers[] = {lab_print_text, lab_print_json, lab_print_markdown, lab_print_svg,
                                print_page};
    lab report;
    assert_true(make_report(&report, hostile));
    for (size_t i = 0; i < sizeof printers / sizeof printers[0]; i++) {
        char *text = printed(printers[i], &report);
        assert_null(strchr(text, '\x1b'));
        assert_null(strchr(text, '\xff'));
        if (printers[i] == lab_print_svg || printers[i] == print_page) {
            assert_null(strstr(text, "<script"));
            assert_non_null(strstr(text, "&lt;script&gt;&amp;&quot;&#39;\\x1b[31m"));
            assert_null(strstr(text, "nan\"")); /* no coordinate is not a number */
            assert_null(strstr(text, "inf"));
        }
        if (printers[i] == lab_print_json) assert_non_null(strstr(text, "<script>&\\\"'\\u001b[31m"));
        if (printers[i] == lab_print_markdown) assert_non_null(strstr(text, "\\<script\\>"));
        free(text);
    }
    lab_report_free(&report);
}

static bool empty_parts(lab *report) {
    lab_chart *chart = lab_add_chart(report, "no point", "x", LAB_LINEAR, "y", LAB_LINEAR);
    lab_line(chart, "a line", false);
    chart = lab_add_chart(report, "one point", "x", LAB_LOGARITHMIC, "y", LAB_LOGARITHMIC);
    lab_point(chart, lab_line(chart, "a line", false), 5, 5);
    chart = lab_add_chart(report, "all alike", "x", LAB_LINEAR, "y", LAB_LINEAR);
    int line = lab_line(chart, "zero", false);
    lab_point(chart, line, 0, 0);
    lab_point(chart, line, 1, 0);
    lab_point(chart, 7, 1, 0); /* there is no such line */
    lab_add_table(report, "no rows", "a", "b", NULL);
    return lab_conclude(report, LAB_HOLDS, "fine");
}

static void test_empty_parts(void **state) {
    (void)state;
    lab report;
    assert_true(make_report(&report, empty_parts));
    char *text = printed(lab_print_svg, &report);
    assert_null(strstr(text, "nan"));
    free(text);
    free(printed(lab_print_text, &report));
    free(printed(lab_print_json, &report));
    lab_report_free(&report);
}

static bool spread(lab *report) {
    const double numbers[] = {3, 1, 2};
    lab_chart *chart = lab_add_chart(report, "c", "x", LAB_LOGARITHMIC, "y", LAB_LINEAR);
    int line = lab_line(chart, "measured", false), theory = lab_line_theory(chart, "theory", line);
    for (int i = 0; i < 4; i++) lab_point_spread(chart, line, pow(4, i), numbers, 3);
    lab_point(chart, theory, 1, 2);
    assert_string_equal(lab_cell_spread(report, numbers, 3, "%.1f"), "2.0 (1.0 to 3.0)");
    assert_string_equal(lab_cell_spread(report, numbers, 1, "%.0f"), "3");
    return lab_conclude(report, LAB_DOES_NOT_HOLD, "%d", 5);
}

static void test_spread_and_axes(void **state) {
    (void)state;
    lab report;
    lab_ruler x, y;
    assert_true(make_report(&report, spread));
    const lab_chart *chart = report.item[0].chart;
    assert_true(chart->line[0].point[0].y == 2 && chart->line[0].point[0].low == 1);
    assert_int_equal(chart->line[1].color, chart->line[0].color);
    assert_true(lab_chart_rulers(chart, &x, &y));
    assert_int_equal(x.ticks, 4); /* where the points stand */
    assert_true(x.tick[3] == 64);
    assert_true(lab_ruler_place(&x, 8) > 0.49 && lab_ruler_place(&x, 8) < 0.51);
    assert_true(isnan(lab_ruler_place(&x, 0)));
    assert_true(y.low == 0 && y.high >= 3);
    char *text = printed(lab_print_text, &report);
    assert_non_null(strstr(text, "verdict: does not hold: 5\n"));
    free(text);
    lab_report_free(&report);
}

static bool fails(lab *report) {
    lab_fail(report, "the first reason");
    return lab_fail(report, "the second");
}
static bool gives_no_verdict(lab *report) { return report != NULL; }

static void test_failures(void **state) {
    (void)state;
    lab report;
    assert_false(make_report(&report, fails));
    assert_string_equal(report.error, "the first reason");
    lab_report_free(&report);
    assert_false(make_report(&report, gives_no_verdict));
    assert_string_equal(report.error, "it came to no verdict");
    lab_report_free(&report);
}

/* ---- training ---- */

enum { SEQUENCES = 64, LENGTH = 4 };
static int64_t offsets[SEQUENCES + 1];
static int32_t ids[SEQUENCES * LENGTH], row_labels[SEQUENCES * LENGTH], sequence_labels[SEQUENCES];
static float vectors[SEQUENCES * LENGTH * 2];

/* Symbols 0 .. 3; a row's class is its symbol's parity, a sequence's that of the first one. Vectors say the
 * same. */
static void make_examples(lab_problem *problem, bool per_sequence, bool with_vectors) {
    uint64_t seed = 3;
    for (int s = 0; s < SEQUENCES; s++) {
        offsets[s + 1] = (s + 1) * LENGTH;
        int32_t parity = (int32_t)lab_choice(&seed, 2);
        sequence_labels[s] = parity;
        for (int i = s * LENGTH; i < (s + 1) * LENGTH; i++) {
            ids[i] = (int32_t)(2 * lab_choice(&seed, 2) + (per_sequence ? parity : lab_choice(&seed, 2)));
            row_labels[i] = i % LENGTH == 1 ? -1 : ids[i] % 2;
            vectors[2 * i] = (float)(ids[i] % 2);
            vectors[2 * i + 1] = 1 - vectors[2 * i];
        }
    }
    *problem = (lab_problem){.symbols = with_vectors ? 0 : 4, .classes = 2, .per_sequence = per_sequence};
    problem->columns = with_vectors ? 2 : 0;
    problem->train = (lab_examples){.sequences = SEQUENCES,
                                    .offsets = offsets,
                                    .ids = with_vectors ? NULL : ids,
                                    .vectors = with_vectors ? vectors : NULL,
                                    .labels = per_sequence ? sequence_labels : row_labels};
    problem->test = problem->train;
}

static bool train_small(lab *report) {
    for (int kind = 0; kind < 4; kind++) {
        lab_problem problem;
        lab_network network;
        int32_t answers[SEQUENCES * LENGTH], again[SEQUENCES * LENGTH];
        make_examples(&problem, kind % 2 == 1, kind / 2 == 1);
        lab_network_init(&network);
        network.encoder.columns = 8;
        network.encoder.layers = 1;
        network.encoder.block.inner = 8;
        network.encoder.block.mixer.attention.heads = 2;
        network.steps = 150;
        network.batch = 16;
        network.learning_rate = 0.02;
        lab_fitted fitted = {.answers = answers}, same = {.answers = again};
        assert_true(lab_fit(report, &problem, &network, 1, &fitted));
        assert_true(fitted.accuracy == 1 && fitted.train_accuracy == 1);
        assert_true(fitted.loss < 0.1 && fitted.steps == 150 && !fitted.diverged && fitted.parameters > 100);
        const int32_t *expected = kind % 2 == 1 ? sequence_labels : row_labels;
        for (int i = 0; i < (kind % 2 == 1 ? SEQUENCES : SEQUENCES * LENGTH); i++)
            if (expected[i] >= 0) assert_int_equal(answers[i], expected[i]);
        network.stop_at = 0.3;
        assert_true(lab_fit(report, &problem, &network, 1, &same));
        assert_true(same.steps < 150);
    }
    return lab_conclude(report, LAB_HOLDS, "learned");
}

static bool train_wrong(lab *report) {
    lab_problem problem;
    lab_network network;
    lab_fitted fitted = {0};
    make_examples(&problem, false, false);
    problem.symbols = 2; /* fewer than there are */
    lab_network_init(&network);
    network.steps = 2;
    return lab_fit(report, &problem, &network, 1, &fitted);
}

static bool train_diverging(lab *report) {
    lab_problem problem;
    lab_network network;
    lab_fitted fitted = {0};
    make_examples(&problem, false, true);
    vectors[5] = INFINITY;
    lab_network_init(&network);
    network.encoder.columns = 8;
    network.encoder.block.mixer.attention.heads = 2;
    network.steps = 50;
    bool done = lab_fit(report, &problem, &network, 1, &fitted);
    assert_true(done && fitted.diverged && isnan(fitted.loss) && fitted.steps < 50);
    return lab_conclude(report, LAB_HOLDS, "diverged");
}

static void test_fit(void **state) {
    (void)state;
    lab report;
    assert_true(make_report(&report, train_small));
    lab_report_free(&report);
    assert_false(make_report(&report, train_wrong));
    assert_non_null(strstr(report.error, "a training step: "));
    lab_report_free(&report);
    assert_true(make_report(&report, train_diverging));
    lab_report_free(&report);
}

static int set_up(void **state) {
    (void)state;
    return attn_context_create(NULL, &context) == ATTN_OK ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    attn_context_destroy(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_spread_and_axes),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
