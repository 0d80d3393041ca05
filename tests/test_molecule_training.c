/* test_molecule_training.c: networks that learn from molecules: along the bonds and all atoms at once,
 * classes and numbers, several targets and missing ones; the same bits after a stop, with other threads, from
 * the file; an answer that does not depend on the order of writing; and stereo chemistry only where it is
 * wanted.
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
#include "support/random.h"
#include "support/readers.h"
#include "support/training.h"

enum { MOLECULES = 150, LINE = 160 };

static char folder[] = "/tmp/attn_molecules_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static const char *path_of(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    return path;
}

/* ---- a problem ---- */

/* Chains of groups. `amide` is 1 where a nitrogen stands right of a C=O: all of them have C, N, O and double
 * bonds, so that only neighbours tell. `oxygen` is how many oxygens there are, and missing in every third
 * row if `gaps`; `amide` then in every fourth. */
static char *make_table(uint64_t seed, int gaps) {
    static const char *const groups[] = {"C", "C(=O)", "N", "C(C)", "C(O)", "c1ccc(cc1)", "S"};
    test_random random = {seed * 2 + 1};
    char *text = calloc(MOLECULES + 1, LINE), *at = text;
    assert_non_null(text);
    at += sprintf(at, "smiles,amide,oxygen\n");
    for (int m = 0; m < MOLECULES; m++) {
        int64_t count = random_between(&random, 2, 6), before = 0, oxygen = 2;
        int amide = random_between(&random, 0, 1) == 1;
        at += sprintf(at, "C%s", amide ? "C(=O)NC" : "C(=O)CN");
        before = amide ? 0 : 2;
        for (int64_t g = 0; g < count; g++) {
            int64_t next = random_between(&random, 0, 6);
            if (next == 2 && before == 1) next = 0; /* no other amide */
            if (next == 1 && before == 2) next = 0;
            oxygen += next == 1 || next == 4;
            at += sprintf(at, "%s", groups[next]);
            before = next;
        }
        at += sprintf(at, "OC,");
        at += gaps && m % 4 == 0 ? sprintf(at, ",") : sprintf(at, "%d,", amide);
        at += gaps && m % 3 == 0 ? sprintf(at, "\n") : sprintf(at, "%d\n", (int)oxygen);
    }
    return text;
}

static attn_dataset *read_table(attn_context *context, const char *text, const char *column) {
    attn_reader_options options = reader_options();
    options.input = "molecule";
    options.column = column;
    return read_text(context, "molecules.csv", text, &options);
}

static attn_config *config_of(attn_context *context, const char *task, const char *const *sets) {
    attn_config *config = tiny_config_of(context, "molecule", sets);
    expect_ok(context, attn_config_set(config, "task", task));
    return config;
}

static int watch(void *user, const attn_training_state *state) {
    const int64_t *stop = user;
    return *stop > 0 && state->event == ATTN_TRAINING_STEP && state->step == *stop;
}

/* One run; stop 0: to the end. */
static void train(attn_context *context, attn_config *config, const attn_dataset *data,
                  const attn_dataset *dev, const char *name, int64_t stop, int resume) {
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.keep_last = 1;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &stop;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, data, dev, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
}

static attn_model *load(attn_context *context, const char *name) {
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, path_of(name), &model));
    return model;
}

static double metric_of(attn_context *context, const attn_model *model, const attn_dataset *data,
                        const char *name) {
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_report_create(predictor, data, &report));
    double metric = attn_report_metric(report, name);
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    return metric;
}

/* ---- it learns ---- */

static void test_classes(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    char *learned = make_table(1, 0), *other = make_table(2, 0);
    static const char *const patterns[] = {"edges", "all"};
    for (int p = 0; p < 2; p++) {
        attn_dataset *data = read_table(context, learned, "amide"),
                     *dev = read_table(context, other, "amide");
        attn_config *config =
            config_of(context, "classify",
                      (const char *const[]){"molecule.pattern", patterns[p], "encoder.layers", "2",
                                            "training.epochs", "40", NULL});
        train(context, config, data, dev, "classes", 0, 0);
        attn_model *model = load(context, "classes");
        double accuracy = metric_of(context, model, dev, "accuracy");
        if (!(accuracy > 0.95)) fail_msg("pattern %s: accuracy %g", patterns[p], accuracy);
        assert_string_equal(attn_model_input(model), "molecule");
        attn_model_destroy(model);
        attn_config_destroy(config);
        attn_dataset_destroy(data);
        attn_dataset_destroy(dev);
    }
    free(learned);
    free(other);
}

static void test_numbers(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    char *learned = make_table(1, 0), *other = make_table(2, 0);
    attn_dataset *data = read_table(context, learned, "oxygen"), *dev = read_table(context, other, "oxygen");
    attn_config *config = config_of(context, "regress", (const char *const[]){"training.epochs", "60", NULL});
    train(context, config, data, dev, "numbers", 0, 0);
    attn_model *model = load(context, "numbers");
    double correlation = metric_of(context, model, dev, "correlation");
    if (!(correlation > 0.9)) fail_msg("correlation %g", correlation);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    attn_dataset_destroy(dev);
    free(learned);
    free(other);
}

/* All columns of numbers at once, though every row misses one or the other now and then. */
static void test_several_and_missing(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    char *learned = make_table(1, 1), *other = make_table(2, 0);
    attn_dataset *data = read_table(context, learned, NULL), *dev = read_table(context, other, NULL);
    assert_int_equal(attn_dataset_columns(data), 2);
    attn_config *config = config_of(
        context, "classify", (const char *const[]){"training.epochs", "60", "encoder.layers", "2", NULL});
    train(context, config, data, NULL, "several", 0, 0);
    attn_model *model = load(context, "several");
    assert_int_equal(attn_model_outputs(model), 2);
    assert_string_equal(attn_model_output_name(model, 1), "oxygen");
    double accuracy = metric_of(context, model, dev, "amide.accuracy");
    if (isnan(accuracy)) accuracy = metric_of(context, model, dev, "accuracy");
    if (!(accuracy > 0.9)) fail_msg("accuracy %g", accuracy);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    attn_dataset_destroy(dev);
    free(learned);
    free(other);
}

/* ---- the same bits ---- */

static void expect_same_files(const char *one, const char *two) {
    static const char *const files[] = {"%s/%s.safetensors", "%s/%s.last.safetensors"};
    for (int f = 0; f < 2; f++) {
        char first[100], second[100];
        snprintf(first, sizeof first, files[f], folder, one);
        snprintf(second, sizeof second, files[f], folder, two);
        assert_true(same_files(first, second));
    }
}

static void test_resume_and_threads(void **state) {
    (void)state;
    attn_context *context = test_best_context(1), *more = test_best_context(3);
    char *learned = make_table(1, 1);
    static const char *const patterns[] = {"edges", "all"};
    for (int p = 0; p < 2; p++) {
        const char *const sets[] = {
            "training.steps", "24", "molecule.dropout", "0.2", "encoder.dropout", "0.1", "molecule.pattern",
            patterns[p],      NULL};
        attn_dataset *data = read_table(context, learned, NULL), *again = read_table(more, learned, NULL);
        attn_config *config = config_of(context, "classify", sets),
                    *other = config_of(more, "classify", sets);
        train(context, config, data, NULL, "whole", 0, 0);
        train(context, config, data, NULL, "parts", 7, 0);
        train(context, config, data, NULL, "parts", 16, 1);
        train(context, config, data, NULL, "parts", 0, 1);
        expect_same_files("whole", "parts");
        train(more, other, again, NULL, "threads", 0, 0);
        expect_same_files("whole", "threads");
        attn_config_destroy(config);
        attn_config_destroy(other);
        attn_dataset_destroy(data);
        attn_dataset_destroy(again);
    }
    free(learned);
}

/* A model predicts the same bits for a set, a part of it, and after it was saved again. */
static void test_predictions(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char *learned = make_table(1, 0);
    attn_dataset *data = read_table(context, learned, "amide"), *part = NULL;
    attn_config *config = config_of(context, "classify", (const char *const[]){"training.steps", "30", NULL});
    train(context, config, data, data, "predict", 0, 0);
    attn_model *model = load(context, "predict"), *again;
    expect_ok(context, attn_model_save(model, path_of("again")));
    again = load(context, "again");
    attn_predictor *first = NULL, *second = NULL;
    attn_prediction *all = NULL, *some = NULL;
    expect_ok(context, attn_predictor_create(model, context, &first));
    expect_ok(context, attn_predictor_create(again, NULL, &second));
    expect_ok(context, attn_predictor_predict(first, data, &all));
    const int64_t chosen[] = {5, 6, 7};
    expect_ok(context, attn_dataset_select(data, chosen, 3, &part));
    if (attn_predictor_predict(second, part, &some) != ATTN_OK) fail_msg("%s", attn_predictor_error(second));
    assert_true(same_answers(model, all, 5, 3, some));
    attn_prediction_destroy(some);
    attn_prediction_destroy(all);
    attn_predictor_destroy(first);
    attn_predictor_destroy(second);
    attn_model_destroy(model);
    attn_model_destroy(again);
    attn_config_destroy(config);
    attn_dataset_destroy(part);
    attn_dataset_destroy(data);
    free(learned);
}

/* ---- what a molecule is ---- */

/* The probability of class 0 for every line of SMILES. */
static void probabilities(attn_context *context, const attn_model *model, const char *lines, double *found) {
    attn_reader_options options = reader_options_unlabelled();
    options.input = "molecule";
    attn_dataset *data = read_text(context, "-", lines, &options);
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_set(predictor, "probs", "true"));
    expect_ok(context, attn_predictor_predict(predictor, data, &prediction));
    for (int64_t e = 0; e < attn_dataset_examples(data); e++)
        found[e] = attn_prediction_probability(prediction, 0, e, 0, 0);
    attn_prediction_destroy(prediction);
    attn_predictor_destroy(predictor);
    attn_dataset_destroy(data);
}

/* The same molecule in other orders and forms has the same answer; its mirror image and its cis form have it
 * unless stereo chemistry counts. */
static void test_forms(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char *learned = make_table(1, 0);
    static const char lines[] = "CC(=O)Oc1ccccc1C(=O)O\nOC(=O)c1ccccc1OC(C)=O\nCC(=O)OC1=CC=CC=C1C(=O)O\n"
                                "F/C=C/Cl\nF/C=C\\Cl\nN[C@H](C)O\nN[C@@H](C)O\n";
    for (int stereo = 0; stereo < 2; stereo++) {
        double found[7];
        attn_dataset *data = read_table(context, learned, "amide");
        attn_config *config = config_of(context, "classify",
                                        (const char *const[]){"training.steps", "20", "molecule.stereo",
                                                              stereo ? "true" : "false", NULL});
        train(context, config, data, data, "forms", 0, 0);
        attn_model *model = load(context, "forms");
        probabilities(context, model, lines, found);
        /* Sums in another order differ in the last bits: 24 of a float, a few layers. */
        if (!(fabs(found[0] - found[1]) < 1e-5)) fail_msg("%.9g and %.9g", found[0], found[1]);
        assert_true(found[0] == found[2]);
        assert_true((found[3] == found[4]) == !stereo);
        assert_true((found[5] == found[6]) == !stereo);
        attn_model_destroy(model);
        attn_config_destroy(config);
        attn_dataset_destroy(data);
    }
    free(learned);
}

static void test_refusals(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char *learned = make_table(1, 0);
    attn_dataset *data = read_table(context, learned, "amide");
    static const char *const tasks[] = {"lm", "seq2seq"};
    for (int t = 0; t < 2; t++) {
        attn_config *config = config_of(context, tasks[t], (const char *const[]){NULL});
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        options.output = path_of("refused");
        attn_trainer *trainer = NULL;
        expect_refused(context, attn_trainer_create(config, data, data, &options, &trainer),
                       ATTN_INVALID_ARGUMENT, "have no order");
        attn_config_destroy(config);
    }
    attn_dataset_destroy(data);
    free(learned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_several_and_missing),
        cmocka_unit_test(test_resume_and_threads),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
