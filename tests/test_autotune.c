/* test_autotune.c: how attn train --autotune divides its time, when it stops a run, and what it tries.
 *
 * Two sources of the program are compiled into this test; tests/test_autotune_cli.sh has the runs.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "../cli/autotune.h"
#include "support/contexts.h"

/* ---- the schedule ---- */

static double searched(const autotune_schedule *plan, double left) { return left - plan->last; }

static void test_rounds(void **state) {
    (void)state;
    autotune_schedule plan = autotune_plan(500, 100, 25, 100);
    assert_true(fabs(plan.last - 500.0 / 3) < 1e-9);
    assert_int_equal(plan.rounds, 2);
    assert_int_equal(plan.runs[0], 13); /* half of the rest, in runs of 12.5 seconds */
    assert_int_equal(plan.runs[1], 4);
    plan = autotune_plan(200, 100, 100, 100);
    assert_true(plan.last == 100); /* a whole run */
    assert_int_equal(plan.rounds, 1);
    assert_int_equal(plan.runs[0], 2);
    plan = autotune_plan(100, 100, 100, 100);
    assert_true(plan.last == 50); /* no more than half */
    plan = autotune_plan(3600, 1, 1, 1000);
    assert_int_equal(plan.rounds, AUTOTUNE_ROUNDS);
    assert_int_equal(plan.runs[0], AUTOTUNE_MOST_RUNS);
    assert_int_equal(plan.runs[1], 9);
    assert_int_equal(plan.runs[2], 3);
    assert_int_equal(autotune_plan(3600, 1, 1, 0).rounds, 0);
    plan = autotune_plan(3600, 1, 1, 1);
    assert_int_equal(plan.rounds, 1);
    assert_int_equal(plan.runs[0], 1);
}

/* Of any lengths: the time is divided, a round has a third of the one before, and none is empty. */
static void test_any_schedule(void **state) {
    (void)state;
    for (double left = 0.1; left < 1e5; left *= 1.7)
        for (double whole = 0.01; whole < 1e5; whole *= 2.3)
            for (int networks = 1; networks <= 4; networks++)
                for (int candidates = 0; candidates < 40; candidates += 3) {
                    autotune_schedule plan = autotune_plan(left, whole, whole / networks, candidates);
                    assert_true(plan.last > 0 && plan.last <= left / 2 && searched(&plan, left) > 0);
                    assert_int_equal(plan.rounds > 0, candidates > 0);
                    for (int r = 0; r < plan.rounds; r++) {
                        assert_true(plan.runs[r] >= 1 && plan.runs[r] <= candidates);
                        if (r > 0) assert_int_equal(plan.runs[r], plan.runs[r - 1] / AUTOTUNE_KEPT);
                    }
                }
}

/* As many networks as fit, more than there were, at most AUTOTUNE_MEMBERS. */
static void test_members(void **state) {
    (void)state;
    assert_int_equal(autotune_members(100, 2, 20, 2), AUTOTUNE_MEMBERS); /* 10 seconds a network */
    assert_int_equal(autotune_members(43, 2, 20, 2), 4);
    assert_int_equal(autotune_members(41, 2, 20, 2), 3);
    assert_int_equal(autotune_members(31, 2, 20, 2), 0); /* no more than there were */
    assert_int_equal(autotune_members(1, 2, 20, 2), 0);
    assert_int_equal(autotune_members(1e9, 2, 20, AUTOTUNE_MEMBERS), 0);
    assert_int_equal(autotune_members(100, 2, 0, 1), 0);
}

/* ---- stopping ---- */

static autotune_curve curve_of(int count, const double *metric_values) { /* evenly, to the end */
    autotune_curve curve = {.count = 0};
    for (int i = 0; i < count; i++) autotune_curve_add(&curve, (i + 1) / 10.0, metric_values[i]);
    return curve;
}

static void test_hopeless(void **state) {
    (void)state;
    static const double other[] = {0.5, 0.6, 0.7, 0.7, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9},
                        bad[] = {0.1, 0.2, 0.3, 0.4, 0.59, 0.65, 0.65, 0.65, 0.65, 0.65},
                        good[] = {0.1, 0.2, 0.3, 0.4, 0.61, 0.72, 0.72, 0.72, 0.72, 0.95};
    const autotune_curve leader = curve_of(10, other), none = {.count = 0};
    for (int count = 0; count <= 10; count++) {
        autotune_curve run = curve_of(count, bad);
        /* worse than 0.6 after 0.2, than 0.7 after 0.3 and later; never before half, nor at the end */
        assert_int_equal(autotune_hopeless(&run, &leader, true), count >= 5 && count < 10);
        assert_false(autotune_hopeless(&run, &none, true));
        run = curve_of(count, good);
        assert_int_equal(autotune_hopeless(&run, &leader, true), false);
        /* of errors, less is better */
        assert_int_equal(autotune_hopeless(&leader, &run, false), false);
    }
    autotune_curve half = curve_of(5, other), low = curve_of(5, bad);
    assert_true(autotune_hopeless(&half, &low, false));
    assert_false(autotune_hopeless(&low, &half, false));
}

static void test_better(void **state) {
    (void)state;
    assert_true(autotune_better(2, 1, true) && autotune_better(1, 2, false));
    assert_false(autotune_better(1, 1, true) || autotune_better(1, 1, false));
    assert_true(autotune_better(0, NAN, true) && autotune_better(0, NAN, false));
    assert_false(autotune_better(NAN, 0, true) || autotune_better(NAN, NAN, true));
}

static void test_full_curve(void **state) {
    (void)state;
    autotune_curve curve = {.count = 0};
    for (int i = 0; i < 2 * AUTOTUNE_POINTS; i++) autotune_curve_add(&curve, i, i);
    assert_int_equal(curve.count, AUTOTUNE_POINTS);
}

/* ---- what is tried ---- */

static attn_config *config_of(const char *const *sets) {
    attn_config *config;
    assert_int_equal(attn_config_create(test_best_context(1), &config), ATTN_OK);
    for (; *sets != NULL; sets += 2) assert_int_equal(attn_config_set(config, sets[0], sets[1]), ATTN_OK);
    return config;
}

/* All that is drawn, a line each; from malloc. */
static char *drawn(attn_config *config, int count) {
    autotune_space *space = malloc(sizeof *space);
    char *text = calloc((size_t)count + 1, 256);
    assert_non_null(space);
    assert_non_null(text);
    assert_int_equal(autotune_space_fill(space, test_best_context(1), config, 100), ATTN_OK);
    assert_int_equal(space->candidates, 1); /* the default */
    for (int i = 0; i < count; i++) {
        int candidate = autotune_draw(space, i % 5 == 0 ? -1 : i / 2);
        if (candidate < 0) break;
        assert_int_equal(candidate, i + 1);
        size_t length = strlen(text);
        autotune_flags(space, candidate, text + length, 250);
        strcat(text, "\n");
        assert_true(strlen(text + length) > 1);
        char line[256]; /* no other is the same */
        snprintf(line, sizeof line, "\n%s", text + length);
        char *before = strstr(text, line);
        assert_true(before == NULL || before + 1 == text + length);
        attn_config *made = NULL;
        attn_reader_options options;
        assert_int_equal(autotune_configure(space, candidate, false, &made), ATTN_OK);
        assert_int_equal(attn_config_reader(made, &options), ATTN_OK);
        attn_config_destroy(made);
    }
    free(space);
    attn_config_destroy(config);
    return text;
}

static void expect(const char *text, const char *line, bool there) {
    if ((strstr(text, line) != NULL) != there) fail_msg("%s%s in:\n%s", line, there ? " is not" : "", text);
}

static void test_texts(void **state) {
    (void)state;
    const char *const sets[] = {"task", "classify", NULL};
    char *text = drawn(config_of(sets), 100), *again = drawn(config_of(sets), 100);
    static const char *const parts[] = {"--wide 0\n",
                                        "--unit chars\n",
                                        "--encoder attention\n",
                                        "--encoder none\n",
                                        "--mix rnn,attention",
                                        "--learning-rate ",
                                        "--dropout ",
                                        "--width ",
                                        "--steps 200\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) expect(text, parts[i], true);
    expect(text, "--encoder rnn\n", false); /* it is the default */
    assert_string_equal(text, again);
    const char *const seed[] = {"task", "classify", "training.seed", "2", NULL};
    char *other = drawn(config_of(seed), 100);
    assert_true(strcmp(text, other) != 0); /* combinations are drawn from the seed */
    assert_true(strncmp(text, other, (size_t)(strstr(text, "--steps 200") - text)) == 0);
    free(text);
    free(again);
    free(other);
}

/* What is set stays; what does not go with a task or a kind of input is not tried. */
static void test_left_out(void **state) {
    (void)state;
    static const struct {
        const char *sets[7], *without[5], *with;
    } cases[] = {
        {{"task", "tag"}, {"--unit", "--wide", "--encoder none"}, "--encoder rnn\n"},
        {{"task", "lm"}, {"--unit", "--wide", "--encoder none"}, "--dropout"},
        {{"task", "seq2seq"}, {"--unit", "--wide", "--encoder none"}, "--learning-rate"},
        {{"task", "classify", "input", "vectors"}, {"--unit", "--wide", "--encoder none"}, "--mix"},
        {{"task", "classify", "input", "graph"}, {"--encoder rnn", "--mix", "--encoder cnn"}, "--dropout"},
        {{"task", "classify", "encoder.kind", "cnn"}, {"--encoder", "--mix"}, "--wide"},
        {{"task", "classify", "training.learning_rate", "0.1", "encoder.columns", "64"},
         {"--learning-rate", "--width"},
         "--encoder attention\n"},
        {{"task", "classify", "text.unit", "chars", "text.wide_buckets", "0"},
         {"--unit", "--wide"},
         "--encoder rnn\n"},
        {{"task", "classify", "training.steps", "10"}, {"--steps"}, "--encoder attention\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = drawn(config_of(cases[i].sets), 100);
        for (int w = 0; cases[i].without[w] != NULL; w++) expect(text, cases[i].without[w], false);
        expect(text, cases[i].with, true);
        free(text);
    }
}

static void test_join(void **state) {
    (void)state;
    const char *const sets[] = {"task", "tag", NULL};
    attn_config *config = config_of(sets), *made;
    autotune_space *space = malloc(sizeof *space);
    assert_non_null(space);
    assert_int_equal(autotune_space_fill(space, test_best_context(1), config, 100), ATTN_OK);
    int encoder = autotune_draw(space, -1), mix = autotune_draw(space, -1), rate = autotune_draw(space, -1);
    char text[256];
    autotune_flags(space, mix, text, sizeof text);
    assert_string_equal(text, "--mix rnn,attention --layers 2");
    assert_int_equal(autotune_join(space, encoder, mix), -1); /* both are encoders */
    int both = autotune_join(space, rate, encoder);
    assert_int_equal(both, 4);
    assert_int_equal(autotune_join(space, encoder, rate), -1); /* it is there */
    assert_int_equal(autotune_configure(space, both, false, &made), ATTN_OK);
    assert_string_equal(attn_config_get(made, "encoder.kind"), "rnn");
    assert_string_equal(attn_config_get(made, "training.learning_rate"), "0.002");
    attn_config_destroy(made);
    attn_config_destroy(config);
    free(space);
}

/* The best with more networks: one more change, which no other candidate gets. */
static void test_ensemble(void **state) {
    (void)state;
    const char *const sets[] = {"task", "tag", NULL}, *const fixed[] = {"task", "tag", "output.members", "2",
                                                                        NULL};
    attn_config *config = config_of(sets), *made;
    autotune_space *space = malloc(sizeof *space);
    char text[256];
    assert_non_null(space);
    assert_int_equal(autotune_space_fill(space, test_best_context(1), config, 100), ATTN_OK);
    int encoder = autotune_draw(space, -1), mix = autotune_draw(space, -1), rate = autotune_draw(space, -1);
    int both = autotune_join(space, rate, encoder);
    assert_int_equal(mix + 2, both);
    int ensemble = autotune_ensemble(space, both, 5);
    assert_true(ensemble > both);
    autotune_flags(space, ensemble, text, sizeof text);
    assert_string_equal(text, "--encoder rnn --learning-rate 0.002 --members 5");
    assert_int_equal(autotune_configure(space, ensemble, false, &made), ATTN_OK);
    assert_string_equal(attn_config_get(made, "output.members"), "5");
    attn_config_destroy(made);
    assert_int_equal(autotune_ensemble(space, ensemble, 6), -1); /* it is one */
    ensemble = autotune_ensemble(space, 0, 4);
    autotune_flags(space, ensemble, text, sizeof text);
    assert_string_equal(text, "--members 4");
    attn_config_destroy(config);
    config = config_of(fixed);
    assert_true(autotune_given(config, "output.members"));
    assert_false(autotune_given(config, "output.kind"));
    assert_int_equal(autotune_space_fill(space, test_best_context(1), config, 100), ATTN_OK);
    assert_int_equal(autotune_ensemble(space, 0, 4), -1); /* the user has said how many */
    attn_config_destroy(config);
    free(space);
}

/* One network where the default has several, and only where that is asked for. */
static void test_single(void **state) {
    (void)state;
    const char *const sets[] = {"task", "tag", "output.members", "3", NULL};
    attn_config *config = config_of(sets), *made;
    autotune_space *space = malloc(sizeof *space);
    assert_non_null(space);
    assert_int_equal(autotune_space_fill(space, test_best_context(1), config, 100), ATTN_OK);
    for (int single = 0; single < 2; single++) {
        assert_int_equal(autotune_configure(space, 0, single, &made), ATTN_OK);
        assert_string_equal(attn_config_get(made, "output.members"), single ? "1" : "3");
        attn_config_destroy(made);
    }
    attn_config_destroy(config);
    free(space);
}

/* ---- what is more than chance ---- */

static autotune_run *make_run(double value, int64_t compared) {
    autotune_run *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->metric_value = value;
    made->compared = compared;
    strcpy(made->metric, "accuracy");
    return made;
}

/* Without samples: sqrt(p (1 - p) / n) of the defaults, of metrics that are shares. */
static void test_share_error(void **state) {
    autotune_run *first = make_run(0.8, 400), *run = make_run(0.815, 400);
    (void)state;
    double error = autotune_standard_error(run, first);
    assert_true(fabs(error - 0.02) < 1e-12);
    assert_false(autotune_clearly_better(0.815, 0.8, error, true));
    assert_true(autotune_clearly_better(0.821, 0.8, error, true));
    assert_false(autotune_clearly_better(0.7, 0.8, error, true));
    strcpy(first->metric, "upos.macro_f1,log_loss");
    assert_true(fabs(autotune_standard_error(run, first) - 0.02) < 1e-12);
    run->sampled = true; /* the other has none */
    assert_true(fabs(autotune_standard_error(run, first) - 0.02) < 1e-12);
    static const char *const others[] = {"rmse", "log_loss", "correlation", "r2", "character_error_rate"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        strcpy(first->metric, others[i]);
        assert_true(isnan(autotune_standard_error(run, first)));
    }
    strcpy(first->metric, "accuracy");
    first->compared = 0;
    assert_true(isnan(autotune_standard_error(run, first)));
    free(first);
    free(run);
}

/* With samples: the deviation of the differences, whatever that of the values is. */
static void test_paired_error(void **state) {
    autotune_run *first = make_run(0.8, 400), *run = make_run(0.81, 400);
    (void)state;
    for (int i = 0; i < ATTN_RESAMPLES; i++) {
        first->sample[i] = 0.8 + (i % 10 - 4.5) / 100;
        run->sample[i] = first->sample[i] + (i % 2 ? 0.015 : 0.005);
    }
    first->sampled = run->sampled = true;
    double error = autotune_standard_error(run, first);
    assert_true(fabs(error - 0.005) < 1e-5);
    assert_true(autotune_clearly_better(0.81, 0.8, error, true));
    assert_false(autotune_clearly_better(0.804, 0.8, error, true));
    memcpy(run->sample, first->sample, sizeof run->sample); /* the same predictions */
    error = autotune_standard_error(run, first);
    assert_true(error == 0);
    assert_false(autotune_clearly_better(0.8, 0.8, error, true));
    free(first);
    free(run);
}

/* The normal distribution's quantiles, of tables; and drawn: the best of twenty equals passes once in twenty.
 */
static void test_margin(void **state) {
    (void)state;
    assert_true(fabs(autotune_margin(1) - 1.644854) < 1e-5);
    assert_true(fabs(autotune_margin(2) - 1.959964) < 1e-5);
    assert_true(fabs(autotune_margin(10) - 2.575829) < 1e-5);
    assert_true(fabs(autotune_margin(50) - 3.090232) < 1e-5);
    assert_true(autotune_margin(0) == autotune_margin(1));
    uint64_t seed = 1;
    int passed = 0, searches = 20000;
    double margin = autotune_margin(20);
    for (int s = 0; s < searches; s++) {
        double best = -10;
        for (int c = 0; c < 20; c++) {
            double sum = -6; /* of twelve uniform numbers: nearly normal */
            for (int i = 0; i < 12; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                sum += (double)(seed >> 11) / 9007199254740992.0;
            }
            best = fmax(best, sum);
        }
        passed += best > margin;
    }
    assert_true(passed > 0.02 * searches && passed < 0.06 * searches);
}

/* Errors fall; where nothing is known of the error, any difference counts, and NaN is worse than everything.
 */
static void test_clearly(void **state) {
    (void)state;
    assert_true(autotune_clearly_better(0.5, 0.6, 0.05, false));
    assert_false(autotune_clearly_better(0.57, 0.6, 0.05, false));
    assert_false(autotune_clearly_better(0.7, 0.6, 0.05, false));
    assert_true(autotune_clearly_better(0.6001, 0.6, NAN, true));
    assert_false(autotune_clearly_better(0.6, 0.6, NAN, true));
    assert_false(autotune_clearly_better(NAN, 0.6, NAN, true));
    assert_true(autotune_clearly_better(0.6, NAN, 0.1, true));
    assert_true(autotune_rises("accuracy") && autotune_rises("a.accuracy") &&
                autotune_rises("macro_f1|accuracy"));
    assert_false(autotune_rises("rmse") || autotune_rises("a.log_loss,accuracy"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_error),  cmocka_unit_test(test_paired_error),
        cmocka_unit_test(test_clearly),      cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_any_schedule), cmocka_unit_test(test_hopeless),
        cmocka_unit_test(test_better),       cmocka_unit_test(test_full_curve),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_join),         cmocka_unit_test(test_single),
        cmocka_unit_test(test_members),      cmocka_unit_test(test_ensemble),
        cmocka_unit_test(test_margin),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
