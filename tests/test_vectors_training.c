/* test_vectors_training.c: networks that learn from plain vectors: every encoder, per row and per sequence,
 * several targets and missing ones; the same bits after a stop, from the file, in pieces; and data that does
 * not fit a model.
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
#include "support/training.h"

enum { SEQUENCES = 120, MOST_ROWS = 6 * SEQUENCES, COLUMNS = 3 };

static char folder[] = "/tmp/attn_vectors_XXXXXX";

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

/* ---- a separable problem ---- */

/* Rows of a number around 1000 that says the class of its row ("low", "high", or "first" for the first row of
 * a sequence with a low one before: what only a network that mixes rows can tell), one that says nothing and
 * is tiny, and one that is constant. A sequence is "many" if most of its rows are high. */
typedef struct problem {
    float rows[MOST_ROWS * COLUMNS];
    int64_t offsets[SEQUENCES + 1];
    const char *row_labels[MOST_ROWS], *labels[SEQUENCES];
    double numbers[MOST_ROWS], sums[SEQUENCES];
} problem;

static problem *make_problem(uint64_t seed) {
    problem *made = calloc(1, sizeof *made);
    assert_non_null(made);
    test_random random = {seed * 2 + 1};
    for (int64_t s = 0; s < SEQUENCES; s++) {
        int64_t count = random_between(&random, 1, 6), highs = 0;
        int before = 0;
        made->offsets[s + 1] = made->offsets[s] + count;
        for (int64_t row = made->offsets[s]; row < made->offsets[s + 1]; row++) {
            int high = random_between(&random, 0, 1) == 1;
            double value = (high ? 1.0 : -1.0) * (double)random_between(&random, 50, 100) / 100;
            made->rows[row * COLUMNS] = (float)(1000 + 20 * value);
            made->rows[row * COLUMNS + 1] = (float)random_between(&random, -100, 100) * 1e-6f;
            made->rows[row * COLUMNS + 2] = 7;
            made->row_labels[row] = !high ? "low" : before ? "again" : "high";
            made->numbers[row] = 3 * value;
            made->sums[s] += value / (double)count;
            before = high;
            highs += high ? 1 : -1;
        }
        made->labels[s] = highs > 0 ? "many" : "few";
    }
    return made;
}

static attn_dataset *dataset_of(attn_context *context, const problem *from) {
    attn_dataset *dataset = NULL;
    expect_ok(context,
              attn_dataset_from_rows(context, from->rows, COLUMNS, from->offsets, SEQUENCES, &dataset));
    return dataset;
}

static attn_dataset *labelled_rows(attn_context *context, const problem *from) {
    attn_dataset *dataset = dataset_of(context, from);
    expect_ok(context,
              attn_dataset_set_targets(dataset, 1, (const char *const[]){"kind"}, from->row_labels, 1));
    return dataset;
}

static attn_dataset *labelled_sequences(attn_context *context, const problem *from) {
    attn_dataset *dataset = dataset_of(context, from);
    expect_ok(context, attn_dataset_set_targets(dataset, 1, (const char *const[]){"size"}, from->labels, 0));
    return dataset;
}

static attn_config *config_of(attn_context *context, const char *task, const char *const *sets) {
    attn_config *config = tiny_config_of(context, "vectors", sets);
    expect_ok(context, attn_config_set(config, "task", task));
    return config;
}

typedef struct stopper {
    int64_t at;
} stopper;

static int watch(void *user, const attn_training_state *state) {
    const stopper *to = user;
    return to->at > 0 && state->event == ATTN_TRAINING_STEP && state->step == to->at;
}

/* One run; stop 0: to the end. */
static void train(attn_config *config, const attn_dataset *data, const attn_dataset *dev, const char *name,
                  int64_t stop, int resume) {
    attn_context *context = test_best_context(1);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    stopper to = {stop};
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.keep_last = 1;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &to;
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

static void test_every_encoder(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1), *other = make_problem(2);
    static const char *const encoders[] = {"attention", "rnn", "cnn", "fc"};
    for (int e = 0; e < 4; e++) {
        for (int per_row = 0; per_row < 2; per_row++) {
            const char *const sets[] = {"encoder.kind", encoders[e], "encoder.layers", "2", "training.epochs",
                                        "30",           NULL};
            attn_dataset *data =
                per_row ? labelled_rows(context, learned) : labelled_sequences(context, learned);
            attn_dataset *dev = per_row ? labelled_rows(context, other) : labelled_sequences(context, other);
            attn_config *config = config_of(context, per_row ? "tag" : "classify", sets);
            train(config, data, dev, "encoder", 0, 0);
            attn_model *model = load(context, "encoder");
            double accuracy = metric_of(context, model, dev, "accuracy");
            if (!(accuracy > 0.95)) fail_msg("%s, per_row %d: accuracy %g", encoders[e], per_row, accuracy);
            assert_string_equal(attn_model_input(model), "vectors");
            assert_int_equal(attn_model_per_token(model), per_row);
            attn_model_destroy(model);
            attn_config_destroy(config);
            attn_dataset_destroy(data);
            attn_dataset_destroy(dev);
        }
    }
    free(learned);
    free(other);
}

/* Numbers per row and per sequence; development data is held out of the training data. */
static void test_numbers(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    problem *learned = make_problem(1);
    for (int per_row = 0; per_row < 2; per_row++) {
        attn_dataset *data = dataset_of(context, learned);
        const char *const names[] = {"y"};
        expect_ok(context, attn_dataset_set_numbers(data, 1, names,
                                                    per_row ? learned->numbers : learned->sums, per_row));
        attn_config *config =
            config_of(context, "regress", (const char *const[]){"training.epochs", "40", NULL});
        train(config, data, NULL, "number", 0, 0);
        attn_model *model = load(context, "number");
        assert_int_equal(attn_model_per_token(model), per_row);
        double correlation = metric_of(context, model, data, "correlation");
        if (!(correlation > 0.95)) fail_msg("per_row %d: correlation %g", per_row, correlation);
        attn_model_destroy(model);
        attn_config_destroy(config);
        attn_dataset_destroy(data);
    }
    free(learned);
}

static void test_several_and_missing(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = dataset_of(context, learned), *whole = dataset_of(context, learned);
    static const char *values[SEQUENCES * 2], *all[SEQUENCES * 2];
    for (int s = 0; s < SEQUENCES; s++) {
        all[2 * s] = learned->labels[s];
        all[2 * s + 1] = "0"; /* whether any row is high */
        for (int64_t row = learned->offsets[s]; row < learned->offsets[s + 1]; row++)
            if (learned->numbers[row] > 0) all[2 * s + 1] = "1";
        values[2 * s] = s % 3 == 0 ? "" : all[2 * s];
        values[2 * s + 1] = s % 3 == 1 ? NULL : all[2 * s + 1];
    }
    const char *const names[] = {"size", "any"};
    expect_ok(context, attn_dataset_set_targets(data, 2, names, values, 0));
    expect_ok(context, attn_dataset_set_targets(whole, 2, names, all, 0));
    attn_config *config =
        config_of(context, "classify", (const char *const[]){"training.epochs", "40", NULL});
    train(config, data, NULL, "several", 0, 0);
    attn_model *model = load(context, "several");
    assert_int_equal(attn_model_outputs(model), 2);
    assert_string_equal(attn_model_output_name(model, 1), "any");
    assert_true(metric_of(context, model, whole, "accuracy") > 0.95);
    assert_true(metric_of(context, model, whole, "any.accuracy") > 0.95);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    attn_dataset_destroy(whole);
    free(learned);
}

/* What was learned of the columns is used: the same data in other units gives the same training. */
static void test_units_do_not_matter(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_config *config = config_of(context, "classify", (const char *const[]){"training.steps", "20", NULL});
    attn_dataset *data = labelled_sequences(context, learned);
    train(config, data, data, "units", 0, 0);
    attn_model *model = load(context, "units");
    double error = metric_of(context, model, data, "accuracy");
    attn_model_destroy(model);
    attn_dataset_destroy(data);
    for (int64_t row = 0; row < learned->offsets[SEQUENCES]; row++)
        for (int c = 0; c < COLUMNS; c++) learned->rows[row * COLUMNS + c] *= 8; /* exact */
    data = labelled_sequences(context, learned);
    train(config, data, data, "units2", 0, 0);
    model = load(context, "units2");
    assert_true(metric_of(context, model, data, "accuracy") == error);
    attn_model_destroy(model);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    free(learned);
}

/* Vectors as the source of a sequence of its own length. */
static void test_sequences(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    problem *learned = make_problem(1);
    attn_dataset *data = dataset_of(context, learned);
    static char texts[SEQUENCES][16];
    const char *values[SEQUENCES];
    for (int s = 0; s < SEQUENCES; s++) {
        int64_t count = learned->offsets[s + 1] - learned->offsets[s];
        for (int64_t r = 0; r < count; r++)
            memcpy(texts[s] + 2 * r, learned->numbers[learned->offsets[s] + r] > 0 ? "p " : "n ", 2);
        texts[s][2 * count - 1] = 0;
        values[s] = texts[s];
    }
    expect_ok(context, attn_dataset_set_targets(data, 1, (const char *const[]){"target"}, values, 0));
    attn_config *config =
        config_of(context, "seq2seq",
                  (const char *const[]){"training.steps", "300", "output.smoothing", "0", "decoder.layers",
                                        "1", "encoder.position", "sinusoidal", NULL});
    train(config, data, data, "sequences", 0, 0);
    attn_model *model = load(context, "sequences");
    double wrong = metric_of(context, model, data, "symbol_error_rate");
    if (!(wrong < 0.2)) fail_msg("symbol error rate %g", wrong);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

/* ---- the same bits ---- */

static void test_resume(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    for (int per_row = 0; per_row < 2; per_row++) {
        attn_dataset *data = per_row ? labelled_rows(context, learned) : labelled_sequences(context, learned);
        const char *const sets[] = {
            "training.steps", "24", "vectors.dropout", "0.2", "encoder.dropout", "0.1", NULL};
        attn_config *config = config_of(context, per_row ? "tag" : "classify", sets);
        train(config, data, NULL, "whole", 0, 0);
        train(config, data, NULL, "parts", 7, 0);
        train(config, data, NULL, "parts", 16, 1);
        train(config, data, NULL, "parts", 0, 1);
        char whole[100], parts[100];
        static const char *const files[] = {"%s/%s.safetensors", "%s/%s.last.safetensors"};
        for (int f = 0; f < 2; f++) {
            snprintf(whole, sizeof whole, files[f], folder, "whole");
            snprintf(parts, sizeof parts, files[f], folder, "parts");
            assert_true(same_files(whole, parts));
            unlink(parts);
            unlink(whole);
        }
        attn_config_destroy(config);
        attn_dataset_destroy(data);
    }
    free(learned);
}

static void test_other_data_is_no_resume(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled_sequences(context, learned);
    attn_config *config = config_of(context, "classify", (const char *const[]){"training.steps", "9", NULL});
    train(config, data, data, "other", 3, 0);
    attn_dataset_destroy(data);
    learned->rows[4 * COLUMNS] += 1;
    data = labelled_sequences(context, learned);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of("other");
    options.resume = 1;
    attn_trainer *trainer = NULL;
    attn_status status = attn_trainer_create(config, data, data, &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    expect_refused(context, status, ATTN_INVALID_ARGUMENT, "it was made from other training data");
    attn_trainer_destroy(trainer);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

/* A model predicts the same bits for a set, a part of it and what is pushed in pieces; saved again, it is the
 * same. */
static void test_predictions(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled_rows(context, learned), *part = NULL, *piece = NULL;
    attn_config *config = config_of(context, "tag", (const char *const[]){"training.steps", "30", NULL});
    train(config, data, data, "predict", 0, 0);
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
    assert_string_equal(attn_prediction_unit(some, 0, 0), "0");
    attn_prediction_destroy(some);
    for (int64_t row = learned->offsets[5]; row < learned->offsets[6]; row++) {
        expect_ok(context,
                  attn_dataset_from_rows(context, learned->rows + row * COLUMNS, COLUMNS, NULL, 1, &piece));
        expect_ok(context, attn_predictor_push(first, piece));
        attn_dataset_destroy(piece);
    }
    expect_ok(context, attn_predictor_finish(first, &some));
    assert_true(same_answers(model, all, 5, 1, some));
    attn_prediction_destroy(some);
    const char *text;
    size_t length;
    expect_ok(context, attn_predictor_write(second, part, NULL, &text, &length));
    assert_true(strncmp(text, "0\t", 2) == 0);
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

static void test_empty_sequences(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled_sequences(context, learned), *empty = NULL;
    attn_config *config = config_of(context, "classify", (const char *const[]){"training.steps", "10", NULL});
    train(config, data, data, "empty", 0, 0);
    attn_model *model = load(context, "empty");
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    const int64_t offsets[] = {0, 0, 1, 1};
    expect_ok(context, attn_dataset_from_rows(context, learned->rows, COLUMNS, offsets, 3, &empty));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_predict(predictor, empty, &prediction));
    assert_int_equal(attn_prediction_units(prediction, 0), 0);
    assert_non_null(attn_prediction_label(prediction, 0, 0, 0));
    assert_string_equal(attn_prediction_label(prediction, 0, 0, 0),
                        attn_prediction_label(prediction, 0, 2, 0));
    attn_prediction_destroy(prediction);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    attn_dataset_destroy(empty);
    free(learned);
}

/* ---- what does not fit ---- */

static void refuse_training(const char *task, const attn_dataset *data, const char *part) {
    attn_context *context = test_best_context(1);
    attn_config *config = config_of(context, task, NULL);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    attn_trainer *trainer = NULL;
    expect_refused(context, attn_trainer_create(config, data, data, &options, &trainer),
                   ATTN_INVALID_ARGUMENT, part);
    attn_config_destroy(config);
}

static void refuse_prediction(attn_predictor *predictor, attn_dataset *data, const char *part) {
    attn_context *context = test_best_context(1);
    attn_prediction *prediction = NULL;
    expect_refused(context, attn_predictor_predict(predictor, data, &prediction), ATTN_INVALID_ARGUMENT,
                   part);
    attn_dataset_destroy(data);
}

static attn_dataset *table_of(const char *text) {
    attn_context *context = test_best_context(1);
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.input = "vectors";
    options.labelled = 0;
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_dataset_parse(context, "t.csv", 1, text, strlen(text), &options, &dataset));
    return dataset;
}

static void test_refusals(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *rows = labelled_rows(context, learned), *sequences = labelled_sequences(context, learned);
    attn_dataset *texts = NULL, *none = NULL;
    refuse_training("lm", rows, "rows of input vectors are no symbols");
    refuse_training("tag", sequences,
                    "memory: has a target for each sequence, task tag learns one for each row");
    refuse_training("classify", rows,
                    "memory: has a target for each row, task classify learns one for each sequence");
    expect_ok(context, attn_dataset_from_texts(context, (const char *const[]){"a"}, NULL, 1, &texts));
    refuse_training("classify", texts, "memory: is of input text, the configuration says vectors");
    attn_dataset_destroy(texts);
    const int64_t empty[] = {0, 0};
    expect_ok(context, attn_dataset_from_rows(context, NULL, 2, empty, 1, &none));
    expect_ok(context,
              attn_dataset_set_targets(none, 1, (const char *const[]){"y"}, (const char *const[]){"a"}, 0));
    refuse_training("classify", none, "memory: has no rows to learn from");
    attn_dataset_destroy(none);
    attn_dataset_destroy(rows);
    attn_dataset_destroy(sequences);
    free(learned);
}

/* A model knows the names of its columns, how many there are, and that sequences have several rows. */
static void test_other_columns(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *data = table_of("id,x,y,label\na,1,2,p\na,3,4,p\nb,5,6,q\nb,0,1,q\nc,2,2,p\n");
    attn_config *config = config_of(context, "classify", (const char *const[]){"training.steps", "5", NULL});
    train(config, data, data, "columns", 0, 0);
    attn_dataset_destroy(data);
    attn_model *model = load(context, "columns");
    assert_string_equal(attn_config_get(attn_model_config(model), "vectors.single"), "false");
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    refuse_prediction(predictor, table_of("id,y,x\na,1,2\n"),
                      "t.csv: number 1 of a row is y, the model learned from x there");
    refuse_prediction(predictor, table_of("id,x\na,1\n"),
                      "t.csv: has rows of 1 numbers, the model was trained on rows of 2");
    char npy[200] = "\x93NUMPY\1\0";
    const char *dict = "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2), }";
    npy[8] = (char)strlen(dict);
    memcpy(npy + 10, dict, strlen(dict));
    attn_reader_options options;
    attn_model_reader_options(model, &options);
    options.labelled = 0;
    expect_ok(context, attn_dataset_parse(context, "x.npy", 1, npy, 10 + strlen(dict) + 4, &options, &data));
    refuse_prediction(predictor, data, "x.npy: has no sequence boundaries, but");
    data = table_of("id,x,y\nz,1,2\nz,3,4\n");
    expect_ok(context, attn_predictor_predict(predictor, data, &prediction));
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(data);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_config_destroy(config);
    /* A file whose statistics are gone, or cannot be. */
    size_t length = 0;
    char *bytes = file_bytes(path_of("columns"), &length);
    for (size_t i = 0; i + 14 < length; i++) {
        if (memcmp(bytes + i, "vectors.mean", 12) == 0) bytes[i + 11] = 'x';
        if (memcmp(bytes + i, "attn.checksums", 14) == 0) bytes[i] = 'x'; /* they would tell */
    }
    FILE *file = fopen(path_of("damaged"), "wb");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    free(bytes);
    expect_refused(context, attn_model_load(context, path_of("damaged"), &model), ATTN_INVALID_ARGUMENT,
                   "vectors.mean and vectors.deviation are missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_encoder),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_several_and_missing),
        cmocka_unit_test(test_units_do_not_matter),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_other_data_is_no_resume),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_empty_sequences),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_columns),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
