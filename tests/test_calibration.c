/* test_calibration.c: the temperature of probabilities against optima that are known, the calibration error
 * against the obvious code, and that temperatures change no label, are stored, and are fitted to the same
 * number however training goes; answers that are unsure.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "heads/metrics/calibration.h"
#include "heads/rows.h"
#include "model/predictor.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/predicting.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_calibration_XXXXXX";
static char *noisy, *noisy_dev, *noisy_test;

/* "label TAB text": the label follows from a word, but for a third of the texts it is any. */
static char *make_noisy(uint64_t seed, int texts) {
    static const char *const labels[] = {"good", "bad", "none"}, *const keys[] = {"fine", "poor", "so"};
    test_random random = {seed * 2 + 1};
    size_t room = (size_t)texts * 32 + 1;
    char *bytes = malloc(room), *at = bytes;
    assert_non_null(bytes);
    for (int i = 0; i < texts; i++) {
        int64_t key = random_between(&random, 0, 2), any = random_between(&random, 0, 8);
        int64_t label = any < 3 ? any : key;
        at += snprintf(at, room - (size_t)(at - bytes), "%s\tit %s w%d\n", labels[label], keys[key],
                       (int)random_between(&random, 0, 60));
    }
    return bytes;
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    noisy = make_noisy(1, 150);
    noisy_dev = make_noisy(2, 120);
    noisy_test = make_noisy(3, 400);
    return 0;
}

static int teardown(void **state) {
    free(noisy);
    free(noisy_dev);
    free(noisy_test);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static void near(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- the temperature ---- */

/* Every example has logit z for class 0 and 0 for the others; a share r of them is of class 0. The loss is
 * least where softmax says r: e^(z/T) = (classes - 1) r / (1 - r). */
static void test_known_optimum(void **state) {
    (void)state;
    static const struct {
        int classes, wrong; /* of 100 */
        float z;
    } cases[] = {{2, 25, 2},  {2, 25, 0.5f},  {2, 1, 3},   {3, 40, 5},
                 {7, 30, -4}, {2, 60, -1.5f}, {3, 10, 50}, {3, 10, 60}};
    float logits[100 * 7];
    int32_t truth[100];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int classes = cases[k].classes, wrong = cases[k].wrong;
        for (int i = 0; i < 100; i++) {
            for (int c = 0; c < classes; c++) /* a shift of all logits of an example changes nothing */
                logits[i * classes + c] = (c == 0 ? cases[k].z : 0) + (float)(i % 5) * 8;
            truth[i] = i < wrong ? 1 + i % (classes - 1) : 0;
        }
        double odds = (classes - 1) * (100.0 - wrong) / wrong;
        double wanted = (double)cases[k].z / log(odds);
        double got = at_fit_temperature(logits, truth, 100, classes);
        /* Below 0 all answers would have to be turned round, and beyond the range it is left alone. */
        near(got, wanted > 0 && wanted <= AT_MOST_TEMPERATURE ? wanted : 1, 1e-9);
    }
}

static double loss_at(const float *logits, const int32_t *truth, int count, int classes, double temperature) {
    double all = 0;
    for (int i = 0; i < count; i++) {
        double sum = 0, of = (double)logits[i * classes + truth[i]] / temperature;
        for (int c = 0; c < classes; c++) sum += exp((double)logits[i * classes + c] / temperature);
        all += log(sum) - of;
    }
    return all / count;
}

/* Of any logits: a step to either side is worse. */
static void test_least_loss(void **state) {
    (void)state;
    enum { COUNT = 300, CLASSES = 5 };
    static const double scales[] = {0.3, 1, 4, 12};
    float logits[COUNT * CLASSES];
    int32_t truth[COUNT];
    test_random random = {5};
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < COUNT; i++) {
            truth[i] = (int32_t)random_between(&random, 0, CLASSES - 1);
            for (int c = 0; c < CLASSES; c++)
                logits[i * CLASSES + c] =
                    (float)(scales[k] *
                            ((double)random_between(&random, -100, 100) / 50 + (c == truth[i] ? 1.0 : 0.0)));
        }
        double best = at_fit_temperature(logits, truth, COUNT, CLASSES);
        assert_true(best > AT_LEAST_TEMPERATURE && best < AT_MOST_TEMPERATURE && best != 1);
        double least = loss_at(logits, truth, COUNT, CLASSES, best);
        assert_true(least < loss_at(logits, truth, COUNT, CLASSES, best * 1.001));
        assert_true(least < loss_at(logits, truth, COUNT, CLASSES, best / 1.001));
        assert_true(least < loss_at(logits, truth, COUNT, CLASSES, 1));
    }
}

/* Few examples, or none that is wrong, say nothing. */
static void test_left_alone(void **state) {
    (void)state;
    enum { MANY = 60 };
    float logits[2 * MANY];
    int32_t truth[MANY];
    for (int i = 0; i < MANY; i++) {
        logits[2 * i] = 4;
        logits[2 * i + 1] = 0;
        truth[i] = i % 4 == 0;
    }
    near(at_fit_temperature(logits, truth, AT_LEAST_CALIBRATED - 1, 2), 1, 0);
    assert_true(at_fit_temperature(logits, truth, MANY, 2) > 2);
    for (int i = 0; i < MANY; i++) truth[i] = 0;
    near(at_fit_temperature(logits, truth, MANY, 2), 1, 0);
    for (int i = 0; i < MANY; i++) logits[2 * i] = 0; /* no temperature changes anything */
    near(at_fit_temperature(logits, truth, MANY, 2), 1, 0);
}

/* ---- the error ---- */

/* By the definition: the bin of an example follows from how many are less sure than it. */
static double plain_error(const int32_t *truth, const double *probabilities, int count, int classes) {
    double right[15] = {0}, sure[15] = {0}, error = 0;
    int used = 0;
    double *most = malloc((size_t)count * sizeof *most);
    int *answer = calloc((size_t)count, sizeof *answer);
    assert_true(most && answer);
    for (int i = 0; i < count; i++) {
        for (int c = 1; c < classes; c++)
            if (probabilities[i * classes + c] > probabilities[i * classes + answer[i]]) answer[i] = c;
        most[i] = probabilities[i * classes + answer[i]];
        used += truth[i] >= 0;
    }
    for (int i = 0; i < count; i++) {
        int below = 0;
        if (truth[i] < 0) continue;
        for (int j = 0; j < count; j++) below += truth[j] >= 0 && most[j] < most[i];
        right[below * 15 / used] += truth[i] == answer[i];
        sure[below * 15 / used] += most[i];
    }
    for (int b = 0; b < 15; b++) error += fabs(right[b] - sure[b]);
    free(most);
    free(answer);
    return error / used;
}

static void test_error(void **state) {
    (void)state;
    enum { COUNT = 200, CLASSES = 3 };
    attn_context *context = test_best_context(1);
    test_random random = {11};
    double probabilities[COUNT * CLASSES], error;
    int32_t truth[COUNT];
    for (int round = 0; round < 60; round++) {
        int count = (int)random_between(&random, 1, COUNT), steps = round % 3 == 0 ? 4 : 1000;
        for (int i = 0; i < count; i++) {
            double sum = 0, *row = probabilities + i * CLASSES;
            for (int c = 0; c < CLASSES; c++) sum += row[c] = (double)random_between(&random, 1, steps);
            for (int c = 0; c < CLASSES; c++) row[c] /= sum;
            truth[i] = (int32_t)random_between(&random, i == 0 ? 0 : -1, CLASSES);
        }
        expect_ok(context,
                  attn_metric_calibration_error(context, truth, probabilities, count, CLASSES, &error));
        near(error, plain_error(truth, probabilities, count, CLASSES), 1e-12);
    }
    /* By hand: sure to 0.9 and right every second time; sure to 0.6 and always right. */
    for (int i = 0; i < 60; i++) {
        probabilities[2 * i] = i < 30 ? 0.9 : 0.6;
        probabilities[2 * i + 1] = i < 30 ? 0.1 : 0.4;
        truth[i] = i < 30 ? i % 2 : 0;
    }
    expect_ok(context, attn_metric_calibration_error(context, truth, probabilities, 60, 2, &error));
    near(error, 0.4, 1e-12);
    truth[0] = -1;
    expect_ok(context, attn_metric_calibration_error(context, truth, probabilities, 1, 2, &error));
    assert_true(isnan(error));
    truth[0] = 0;
    static const double none[][2] = {{1.5, 0}, {-0.1, 1}, {NAN, 0.5}};
    for (int i = 0; i < 3; i++)
        expect_refused(context, attn_metric_calibration_error(context, truth, none[i], 1, 2, &error),
                       ATTN_INVALID_ARGUMENT, "which is not a probability");
    expect_refused(context, attn_metric_calibration_error(context, NULL, none[0], 1, 2, &error),
                   ATTN_INVALID_ARGUMENT, "NULL");
    expect_refused(context, attn_metric_calibration_error(context, truth, none[0], 1, 2, NULL),
                   ATTN_INVALID_ARGUMENT, "NULL");
    assert_int_equal(attn_metric_calibration_error(NULL, truth, none[0], 1, 2, &error),
                     ATTN_INVALID_ARGUMENT);
}

/* ---- models ---- */

static const char *path_of(const char *name) {
    static char paths[4][80];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s.safetensors", folder, name);
    return path;
}

/* What differs is only said: labels are those of temperature 1, probabilities softmax(ln p / T). */
static void check_tempered(attn_model *model, const attn_dataset *dataset, double temperature) {
    attn_context *context = test_best_context(1);
    at_row_head *head = at_row_head_of(at_main_stage(model)->heads[0]);
    attn_prediction *plain = NULL, *tempered = NULL;
    int64_t labels = attn_model_labels(model, 0);
    int several = attn_model_output_several(model, 0), differs = 0;
    head->temperature = 1;
    expect_ok(context, predict_with(model, dataset, WITH_PROBABILITIES, &plain));
    head->temperature = temperature;
    near(attn_model_temperature(model, 0), temperature, 0);
    expect_ok(context, predict_with(model, dataset, WITH_PROBABILITIES, &tempered));
    for (int64_t e = 0; e < attn_prediction_examples(plain); e++) {
        int64_t rows = attn_model_per_token(model) ? attn_prediction_units(plain, e) : 1;
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            assert_int_equal(attn_prediction_class(tempered, 0, e, r), attn_prediction_class(plain, 0, e, r));
            for (int64_t l = 0; l < labels; l++)
                sum += pow(attn_prediction_probability(plain, 0, e, r, l), 1 / temperature);
            for (int64_t l = 0; l < labels; l++) {
                double p = attn_prediction_probability(plain, 0, e, r, l);
                double got = attn_prediction_probability(tempered, 0, e, r, l);
                double up = pow(p, 1 / temperature), down = pow(1 - p, 1 / temperature);
                near(got, several ? up / (up + down) : up / sum, 2e-6);
                if (several) assert_int_equal(got >= 0.5, p >= 0.5);
                differs += got != p;
            }
        }
    }
    assert_int_equal(differs > 0, temperature != 1);
    attn_prediction_destroy(plain);
    attn_prediction_destroy(tempered);
    head->temperature = 1;
}

static void test_labels_stay(void **state) {
    (void)state;
    static const char *const one[] = {"task", "classify", "output.members", "1", "training.epochs",
                                      "3",    NULL},
                             *const several[] = {"task", "classify", "output.members", "3", "training.epochs",
                                                 "3",    NULL},
                             *const tags[] = {"task", "tag", "training.epochs", "2", NULL},
                             *const crf[] = {"task", "tag", "output.crf", "true", "training.epochs",
                                             "2",    NULL};
    attn_context *context = test_best_context(1);
    char *conllu = corpus_conllu(1, 40), *labels = corpus_labels(1, 60);
    const struct {
        const char *const *sets;
        const char *text;
    } cases[] = {{one, noisy},  {several, noisy}, {tags, conllu},
                 {crf, conllu}, {one, labels},    {several, labels}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attn_config *config = tiny_config(context, cases[k].sets);
        attn_dataset *dataset = parse_corpus(config, "data", cases[k].text);
        attn_model *model = train_model(config, cases[k].text, cases[k].text, path_of("labels"));
        near(attn_model_temperature(model, 0), 1, 0); /* what was learned says nothing */
        check_tempered(model, dataset, 1);
        check_tempered(model, dataset, 2.5);
        check_tempered(model, dataset, 0.4);
        attn_dataset_destroy(dataset);
        model_destroy(model);
    }
    assert_true(isnan(attn_model_temperature(NULL, 0)));
    free(conllu);
    free(labels);
}

/* Next to one half, rounding decides nothing. */
static void test_one_half(void **state) {
    (void)state;
    float just_below = nextafterf(0.5f, 0), at = 0.5f, ends[2] = {0, 1};
    at_temper_labels(20, &just_below, 1);
    at_temper_labels(20, &at, 1);
    assert_true(just_below < 0.5f && at >= 0.5f);
    at_temper_labels(3, ends, 2);
    assert_true(ends[0] == 0 && ends[1] == 1);
    float sure[3] = {0, 1, 0}, *row = sure;
    at_temper_class(3, row, 3);
    assert_true(sure[0] == 0 && sure[1] == 1 && sure[2] == 0);
}

static int has_text(const char *path, const char *text) {
    size_t length, wanted = strlen(text);
    char *bytes = file_bytes(path, &length);
    assert_non_null(bytes);
    int found = 0;
    for (size_t i = 0; !found && i + wanted <= length; i++) found = memcmp(bytes + i, text, wanted) == 0;
    free(bytes);
    return found;
}

/* A file without a temperature, as older ones are, has 1; others come back to the bit; what is none is
 * refused.
 */
static void test_files(void **state) {
    (void)state;
    static const char *const sets[] = {"task",  "classify", "training.steps", "2", "output.calibrate",
                                       "false", NULL};
    static const double none[] = {0, -1, 0.001, 1000};
    attn_context *context = test_best_context(1);
    const char *path = path_of("file");
    attn_model *model = train_model(tiny_config(context, sets), noisy, noisy_dev, path), *again = NULL;
    assert_false(has_text(path, "temperature"));
    near(attn_model_temperature(model, 0), 1, 0);
    at_row_head *head = at_row_head_of(at_main_stage(model)->heads[0]);
    head->temperature = 1.2345678901234567;
    expect_ok(context, attn_model_save(model, path));
    assert_true(has_text(path, "temperature"));
    expect_ok(context, attn_model_load(context, path, &again));
    near(attn_model_temperature(again, 0), 1.2345678901234567, 0);
    model_destroy(again);
    for (int i = 0; i < 4; i++) {
        head->temperature = none[i];
        expect_ok(context, attn_model_save(model, path));
        expect_refused(context, attn_model_load(context, path, &again), ATTN_INVALID_ARGUMENT, "temperature");
    }
    model_destroy(model);
}

/* ---- training ---- */

static const char *const long_sets[] = {
    "task", "classify", "training.epochs", "60", "output.members", "1", "training.learning_rate",
    "0.02", NULL};

static double metric_of(attn_model *model, const char *text, const char *metric) {
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, long_sets);
    attn_dataset *dataset = parse_corpus(config, "data", text);
    attn_report *report = NULL;
    expect_ok(context, report_with(model, dataset, &report));
    double value = attn_report_metric(report, metric);
    assert_int_equal(attn_report_metric_rises(report, "calibration_error"), 0);
    attn_report_destroy(report);
    attn_dataset_destroy(dataset);
    attn_config_destroy(config);
    return value;
}

/* A network that has memorised noise is overconfident: with its temperature it is less so, on data that
 * neither was fitted to; and the metrics in the file are those with the temperature. */
static void test_training(void **state) {
    (void)state;
    static const char *const off[] = {
        "task", "classify",         "training.epochs", "60", "output.members", "1", "training.learning_rate",
        "0.02", "output.calibrate", "false",           NULL};
    attn_context *context = test_best_context(1);
    attn_model *plain = train_model(tiny_config(context, off), noisy, noisy_dev, path_of("plain"));
    attn_model *model = train_model(tiny_config(context, long_sets), noisy, noisy_dev, path_of("fitted"));
    near(attn_model_temperature(plain, 0), 1, 0);
    assert_true(attn_model_temperature(model, 0) > 1.1);
    assert_true(metric_of(model, noisy_dev, "log_loss") < metric_of(plain, noisy_dev, "log_loss"));
    assert_true(metric_of(model, noisy_test, "log_loss") < metric_of(plain, noisy_test, "log_loss"));
    assert_true(metric_of(model, noisy_test, "calibration_error") <
                metric_of(plain, noisy_test, "calibration_error"));
    near(metric_of(model, noisy_test, "accuracy"), metric_of(plain, noisy_test, "accuracy"), 0);
    near(attn_model_metric(model, "log_loss"), metric_of(model, noisy_dev, "log_loss"), 1e-8);
    near(attn_model_metric(model, "calibration_error"), metric_of(model, noisy_dev, "calibration_error"),
         1e-8);
    near(attn_model_metric(model, "score"), attn_model_metric(plain, "score"), 0);
    model_destroy(plain);
    model_destroy(model);
    char *few = make_noisy(2, AT_LEAST_CALIBRATED - 1);
    model = train_model(tiny_config(context, long_sets), noisy, few, path_of("few"));
    near(attn_model_temperature(model, 0), 1, 0);
    model_destroy(model);
    free(few);
}

typedef struct watcher {
    int64_t stop_at;
    double macro_f1, best_macro_f1;
} watcher;

static int watch(void *user, const attn_training_state *state) {
    watcher *to = user;
    if (state->event == ATTN_TRAINING_DEV) to->macro_f1 = state->macro_f1;
    to->best_macro_f1 = state->best_macro_f1;
    return state->event == ATTN_TRAINING_STEP && state->step == to->stop_at;
}

static void train_as(const char *path, int threads, int resume, watcher *seen, int *reported) {
    attn_context *context = test_best_context(threads);
    attn_config *config = tiny_config(context, long_sets);
    attn_dataset *train = parse_corpus(config, "train", noisy), *dev = parse_corpus(config, "dev", noisy_dev);
    attn_trainer_options options;
    attn_trainer *trainer = NULL;
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = !resume;
    options.resume = resume;
    options.watch = watch;
    options.user = seen;
    expect_ok(context, attn_trainer_create(config, train, dev, &options, &trainer));
    assert_null(attn_trainer_report(trainer));
    expect_ok(context, attn_trainer_run(trainer));
    const attn_report *report = attn_trainer_report(trainer);
    *reported = report != NULL;
    if (report) near(attn_report_metric(report, "macro_f1"), seen->best_macro_f1, 0);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
}

/* Threads, and a run that is stopped and continues; a finished one has nothing to do. */
static void test_same_bytes(void **state) {
    (void)state;
    const char *whole = path_of("whole"), *other = path_of("other");
    watcher seen = {.stop_at = -1};
    int reported;
    train_as(whole, 1, 0, &seen, &reported);
    assert_true(reported && seen.macro_f1 > 0 && seen.best_macro_f1 > 0);
    assert_true(has_text(whole, "temperature"));
    train_as(other, 3, 0, &seen, &reported);
    assert_true(same_files(whole, other));
    seen.stop_at = 40;
    train_as(other, 1, 0, &seen, &reported);
    assert_false(reported);
    assert_false(has_text(other, "temperature"));
    seen.stop_at = -1;
    train_as(other, 1, 1, &seen, &reported);
    assert_true(reported);
    assert_true(same_files(whole, other));
    train_as(other, 1, 1, &seen, &reported);
    assert_false(reported);
    assert_true(same_files(whole, other));
    assert_null(attn_trainer_report(NULL));
}

/* Trained further from a model with a temperature, it gets one of its own, that of its new weights. */
static void test_more(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const char *path = path_of("more"), *fresh = path_of("fresh");
    attn_model *model = train_model(tiny_config(context, long_sets), noisy, noisy_dev, path), *again = NULL;
    double before = attn_model_temperature(model, 0);
    model_destroy(model);
    attn_config *config = tiny_config(context, long_sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = fresh;
    options.start = path;
    expect_ok(context, attn_config_set(config, "output.calibrate", "false"));
    expect_ok(context, train_on(config, noisy, noisy_dev, &options));
    attn_config_destroy(config);
    expect_ok(context, attn_model_load(context, fresh, &again));
    assert_true(before != 1);
    near(attn_model_temperature(again, 0), 1, 0);
    model_destroy(again);
}

/* ---- memory ---- */

static void test_no_memory(void **state) {
    (void)state;
    const char *path = path_of("memory");
    attn_config *config = tiny_config(test_best_context(1), long_sets);
    model_destroy(train_model(config, noisy, noisy_dev, path));
    counting_allocator counter = {0};
    attn_context *context = counting_context(&counter);
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    attn_status status = ATTN_OUT_OF_MEMORY;
    expect_ok(context, attn_model_load(context, path, &model));
    double wanted = attn_model_temperature(model, 0);
    config = tiny_config(context, long_sets);
    attn_dataset *dev = parse_corpus(config, "dev", noisy_dev);
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    int64_t denied = 0;
    for (int64_t at = 1; status != ATTN_OK; at++) {
        counter.fail_at = at;
        status = at_predictor_calibrate(predictor, dev);
        counter.fail_at = 0;
        if (status != ATTN_OK) expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory");
        denied += status != ATTN_OK;
        assert_true(at < 100000);
    }
    assert_true(denied > 10);
    near(attn_model_temperature(model, 0), wanted, 0);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

/* ---- unsure ---- */

static void test_unsure(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, long_sets);
    attn_dataset *dataset = parse_corpus(config, "test", noisy_test);
    attn_model *model = train_model(config, noisy, noisy_dev, path_of("unsure"));
    attn_predictor *predictor = predictor_of(model);
    attn_prediction *all = NULL, *some = NULL;
    static const char *const none[] = {"0", "-0.5", "1.01", "nan", "much"};
    for (int i = 0; i < 5; i++)
        expect_refused(context, attn_predictor_set(predictor, "unsure", none[i]), ATTN_INVALID_ARGUMENT,
                       "unsure");
    expect_ok(context, predict_with(model, dataset, WITH_PROBABILITIES, &all));
    expect_ok(context, attn_predictor_set(predictor, "unsure", "0.7"));
    expect_ok(context, predict_with(model, dataset, 0, &some));
    int64_t unsure = 0, examples = attn_prediction_examples(all);
    for (int64_t e = 0; e < examples; e++) {
        int64_t label = attn_prediction_class(all, 0, e, 0);
        int below = attn_prediction_probability(all, 0, e, 0, label) < 0.7;
        assert_int_equal(attn_prediction_unsure(all, 0, e, 0), 0);
        assert_int_equal(attn_prediction_unsure(some, 0, e, 0), below);
        assert_int_equal(attn_prediction_class(some, 0, e, 0), label);
        assert_string_equal(attn_prediction_label(some, 0, e, 0),
                            below ? "unknown" : attn_model_label(model, 0, label));
        unsure += below;
    }
    assert_true(unsure > 0 && unsure < examples);
    assert_int_equal(attn_prediction_unsure(some, 1, 0, 0), 0);
    assert_int_equal(attn_prediction_unsure(some, 0, examples, 0), 0);
    assert_int_equal(attn_prediction_unsure(NULL, 0, 0, 0), 0);
    attn_prediction_destroy(all);
    attn_prediction_destroy(some);
    attn_dataset_destroy(dataset);
    model_destroy(model);
    static const char *const sets[] = {"task", "regress", "training.steps", "2", NULL};
    char *numbers = corpus_numbers(1, 20);
    model = train_model(tiny_config(context, sets), numbers, NULL, path_of("numbers"));
    predictor = predictor_of(model);
    expect_ok(context, attn_predictor_set(predictor, "unsure", "0.7"));
    expect_refused(context, attn_predictor_text(predictor, "one two", &some), ATTN_UNSUPPORTED, "number");
    assert_true(isnan(attn_model_temperature(model, 0)));
    model_destroy(model);
    free(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_optimum), cmocka_unit_test(test_least_loss),
        cmocka_unit_test(test_left_alone),    cmocka_unit_test(test_error),
        cmocka_unit_test(test_labels_stay),   cmocka_unit_test(test_one_half),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_training),
        cmocka_unit_test(test_same_bytes),    cmocka_unit_test(test_more),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_unsure),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
