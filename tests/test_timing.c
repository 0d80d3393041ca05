/* test_timing.c: runs that are to take so long, on a clock of the test's own: they end in time however the
 * speed changes, the learning rate never goes back, and a run by steps with the timetable gives the same
 * bytes.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/training.h"
#include "train/timetable.h"

static char folder[] = "/tmp/attn_timing_XXXXXX";
static char *train, *dev;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    train = corpus_conllu(1, 60);
    dev = corpus_conllu(2, 15);
    return 0;
}

static int teardown(void **state) {
    free(train);
    free(dev);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- timetables ---- */

static void test_text(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",           "x",          "0",       "-5",       "10,",     "10,5",
        "10,5:",      "10,:7",      "10,5:5",  "10,10:20", "10,0:20", "10,5:7,5:8",
        "10,5:7,7:9", "10,5:7,6:6", "10 ,5:7", "10,5:7 ",  "10,+5:7", "9999999999999999",
        "10,5:7;6:9"};
    at_timetable table;
    char text[AT_FIELD_TEXT_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (at_timetable_read(wrong[i], &table)) fail_msg("\"%s\" was taken", wrong[i]);
    assert_int_equal(at_timetable_read("1200,150:1180,400:1250", &table), 1);
    assert_int_equal(table.first, 1200);
    assert_int_equal(table.count, 2);
    assert_int_equal(at_timetable_write(&table, text), 1);
    assert_string_equal(text, "1200,150:1180,400:1250");
    assert_int_equal(at_timetable_steps(&table, 0), 1200);
    assert_int_equal(at_timetable_steps(&table, 149), 1200);
    assert_int_equal(at_timetable_steps(&table, 150), 1180);
    assert_int_equal(at_timetable_steps(&table, 1249), 1250);
    int changed = 1;
    for (int64_t step = 401; changed; step++)
        changed = at_timetable_change(&table, step, 1000000000000 + step);
    assert_int_equal(at_timetable_write(&table, text), 1); /* what does not fit was not taken */
    assert_true(strlen(text) < AT_FIELD_TEXT_BYTES && table.count > 5);
    at_timetable none = {.first = 7};
    assert_int_equal(at_timetable_write(&none, text), 1);
    assert_string_equal(text, "");
}

/* It continues where it is, never back, and ends with the last step. */
static void test_place(void **state) {
    (void)state;
    static const char *const texts[] = {"1000,100:500", "1000,100:5000,2000:2001",
                                        "10,9:1000,500:510,505:506"};
    for (int i = 0; i < 3; i++) {
        at_timetable table;
        assert_int_equal(at_timetable_read(texts[i], &table), 1);
        double before = -1, all = (double)table.first;
        int64_t last = table.changes[table.count - 1].steps;
        for (int64_t step = 0; step <= last; step++) {
            double here = at_timetable_place(&table, (double)step);
            assert_true(here > before && here <= all * (1 + 1e-12));
            if (step <= table.changes[0].step) assert_true(here == (double)step);
            before = here;
        }
        assert_true(fabs(before - all) < 1e-9 * all);
    }
}

/* ---- runs on a clock of their own ---- */

typedef enum speed { EVEN, SLOWER, FASTER, JUMPS, DEAR_EVALUATIONS, SPEEDS } speed;

typedef struct simulation {
    double now, length; /* seconds */
    speed speed;
    int64_t stop_at; /* step; -1: never */
    int at_most;
    int still;       /* nothing is learned, and not a word about patience */
    double past_warmup, lowest_rate, worst_left;
    double told_left[100000], told_at[100000];
    int64_t told;
    attn_training_state last;
    char timetable[AT_FIELD_TEXT_BYTES];
} simulation;

static simulation simulated;

/* Every look at the clock costs a moment, so that what is measured first is far too fast. */
static double look(void *user) {
    simulation *s = user;
    return s->now += 0.004;
}

static double seconds_of_step(const simulation *s, int64_t step) {
    double base = 0.15, part = s->now / s->length;
    switch (s->speed) {
    case SLOWER: return part > 0.35 ? 2 * base : base;
    case FASTER: return part > 0.5 ? base / 3 : base;
    case JUMPS: return base * (0.5 + (double)(step * 7919 % 13) / 13);
    default: return base;
    }
}

static int watch(void *user, const attn_training_state *state) {
    simulation *s = user;
    s->last = *state;
    snprintf(s->timetable, sizeof s->timetable, "%s", state->timetable);
    if (state->event == ATTN_TRAINING_DEV) s->now += s->speed == DEAR_EVALUATIONS ? 1.5 : 0.3;
    if (state->event != ATTN_TRAINING_STEP) return 0;
    if (s->now > 10 && s->told < 100000) {
        s->told_left[s->told] = state->seconds_left;
        s->told_at[s->told++] = s->now;
    }
    s->now += seconds_of_step(s, state->step);
    if (state->learning_rate > s->past_warmup)
        s->past_warmup = state->learning_rate;
    else if (state->learning_rate > s->lowest_rate && s->lowest_rate > 0)
        fail_msg("the learning rate rises again");
    else
        s->lowest_rate = state->learning_rate;
    return state->step == s->stop_at;
}

static const char *path_of(const char *name, const char *ending, char *path) {
    snprintf(path, 100, "%s/%s%s.safetensors", folder, name, ending);
    return path;
}

/* As tiny_config, which says how long to wait: here scores never get better. */
static attn_config *still_config(attn_context *context, const char *const *sets) {
    static const char *const own[] = {"encoder.heads",        "2",    "encoder.layers",         "1",
                                      "text.splitter",        "none", "text.buckets",           "64",
                                      "training.batch_units", "60",   "training.learning_rate", "1e-12"};
    attn_config *config;
    expect_ok(context, attn_config_create(context, &config));
    for (int i = 0; sets[i]; i += 2) expect_ok(context, attn_config_set(config, sets[i], sets[i + 1]));
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i += 2)
        expect_ok(context, attn_config_set(config, own[i], own[i + 1]));
    return config;
}

static void run(const char *name, const char *steps, const char *timetable, int resume, simulation *s) {
    const char *const sets[] = {
        "task",    "tag", "encoder.columns", "8", "training.steps", steps, "training.timetable",
        timetable, NULL};
    attn_context *context = test_best_context(1);
    attn_config *config = simulated.still ? still_config(context, sets) : tiny_config(context, sets);
    attn_trainer_options options;
    char path[100];
    if (simulated.still && !s) expect_ok(context, attn_config_set(config, "training.patience", "0"));
    attn_trainer_options_init(&options);
    options.output = path_of(name, "", path);
    options.keep_last = 1;
    options.force = !resume;
    options.resume = resume;
    options.save_seconds = 1e9;
    if (s) {
        options.seconds = s->length;
        options.at_most = s->at_most;
        options.clock = look;
        options.clock_user = s;
        options.watch = watch;
        options.user = s;
    }
    expect_ok(context, train_on(config, train, dev, &options));
    attn_config_destroy(config);
}

static void repeat(const char *name) {
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    char path[100], other[100], steps[32], timetable[AT_FIELD_TEXT_BYTES];
    expect_ok(context, attn_model_load(context, path_of(name, "", path), &model));
    snprintf(steps, sizeof steps, "%s", attn_config_get(attn_model_config(model), "training.steps"));
    snprintf(timetable, sizeof timetable, "%s",
             attn_config_get(attn_model_config(model), "training.timetable"));
    attn_model_destroy(model);
    assert_string_equal(timetable, simulated.timetable);
    assert_true(strchr(timetable, ':') != NULL);
    run("again", steps, timetable, 0, NULL);
    assert_true(same_files(path, path_of("again", "", other)));
    assert_true(same_files(path_of(name, ".last", path), path_of("again", ".last", other)));
}

static void begin(speed how, int64_t stop_at) {
    memset(&simulated, 0, sizeof simulated);
    simulated.length = 60;
    simulated.speed = how;
    simulated.stop_at = stop_at;
}

static void check_end(double spent, speed how) {
    assert_int_equal(simulated.last.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(simulated.last.step, simulated.last.steps_total);
    if (fabs(spent - simulated.length) > 0.05 * simulated.length)
        fail_msg("speed %d: %.1f seconds of %.1f: %s", (int)how, spent, simulated.length,
                 simulated.timetable);
    assert_true(simulated.lowest_rate < 0.05 * simulated.past_warmup); /* the schedule came to its end */
}

static void test_ends_in_time(void **state) {
    (void)state;
    for (int i = 0; i < SPEEDS; i++) {
        begin((speed)i, -1);
        run("timed", "0", "", 0, &simulated);
        check_end(simulated.now, (speed)i);
        for (int64_t t = 0; t < simulated.told; t++) { /* the time left is no more than a factor of two off */
            double left = simulated.now - simulated.told_at[t], told = simulated.told_left[t];
            if (left < 3) continue; /* 5 % of a minute */
            if (told > 2 * left || left > 2 * told) fail_msg("%.1f s left, not %.1f", left, told);
        }
        repeat("timed");
    }
}

/* Stopped and resumed it keeps to what is left of the time, and to its timetable. */
static void test_resumed(void **state) {
    (void)state;
    begin(SLOWER, 100);
    run("resumed", "0", "", 0, &simulated);
    assert_int_equal(simulated.last.end, ATTN_TRAINING_STOPPED);
    double used = simulated.now;
    char timetable[AT_FIELD_TEXT_BYTES];
    snprintf(timetable, sizeof timetable, "%s", simulated.timetable);
    assert_true(strchr(timetable, ':') != NULL && used < 40);
    simulated.now = 5000; /* another day */
    simulated.length = 60;
    simulated.speed = EVEN;
    simulated.stop_at = -1;
    simulated.told = 0;
    run("resumed", "0", "", 1, &simulated);
    check_end(used + simulated.now - 5000, SLOWER);
    assert_int_equal(strncmp(timetable, simulated.timetable, strlen(timetable)), 0);
    repeat("resumed");
}

/* A time that is more than enough changes nothing; of one that is not, all of it is used. */
static void test_at_most(void **state) {
    (void)state;
    char path[100], other[100];
    begin(EVEN, -1);
    simulated.at_most = 1;
    run("bounded", "100", "", 0, &simulated);
    assert_int_equal(simulated.last.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(simulated.last.step, 100);
    assert_int_equal(simulated.last.shortened, 0);
    assert_true(simulated.now < 40);
    assert_string_equal(simulated.timetable, "");
    run("again", "100", "", 0, NULL);
    assert_true(same_files(path_of("bounded", "", path), path_of("again", "", other)));
    begin(SLOWER, -1);
    simulated.at_most = 1;
    run("bounded", "100000", "", 0, &simulated);
    check_end(simulated.now, SLOWER);
    assert_int_equal(simulated.last.shortened, 1);
    repeat("bounded");
}

/* It does not end sooner because the score does not get better, unless that is asked for. The run by steps
 * needs to be told so. */
static void test_no_patience(void **state) {
    (void)state;
    begin(SLOWER, -1);
    simulated.still = 1;
    run("patient", "0", "", 0, &simulated);
    check_end(simulated.now, SLOWER);
    repeat("patient");
}

static void test_refused(void **state) {
    (void)state;
    static const char *const cases[][3] = {{"20", "12,5:30", "ends with the second"},
                                           {"12", "12", "the first has changes"},
                                           {"12", "12,x", "training.timetable is \"12,x\"; it must be like"},
                                           {"0", "12,5:30", "and training.steps 0"}};
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const sets[] = {"task",      "tag", "training.steps", cases[i][0], "training.timetable",
                                    cases[i][1], NULL};
        attn_config *config = tiny_config(context, sets);
        expect_refused(context, train_on(config, train, dev, NULL), ATTN_INVALID_ARGUMENT, cases[i][2]);
        attn_config_destroy(config);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_place),   cmocka_unit_test(test_ends_in_time),
        cmocka_unit_test(test_resumed), cmocka_unit_test(test_at_most), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_patience),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
