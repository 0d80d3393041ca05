/* test_store.c: training.store: how large model files are, that the scores in a file are those of the weights
 * in it, that training itself is the same, and that nothing is left out that training has touched.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "model/model.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_store_XXXXXX";
static char *train, *dev;
static const char *const stores[] = {"full", "half", "small"};

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

static const char *path_of(const char *name, const char *ending, char *path) {
    snprintf(path, 100, "%s/%s%s.safetensors", folder, name, ending);
    return path;
}

/* Of many buckets training touches few. */
static attn_config *config_with(attn_context *context, const char *store) {
    const char *const sets[] = {
        "task", "tag", "text.buckets", "3000", "training.steps", "25", "training.store", store, NULL};
    return tiny_config(context, sets);
}

typedef struct stop {
    int64_t at; /* step; -1: never */
    double score;
} stop;

static int watch(void *user, const attn_training_state *state) {
    stop *to = user;
    if (state->event == ATTN_TRAINING_DONE) to->score = state->best_value;
    return state->event == ATTN_TRAINING_STEP && state->step == to->at;
}

static double run_with(const char *store, const char *name, int64_t stop_at, int resume, int keep_last) {
    attn_context *context = test_best_context(1);
    attn_config *config = config_with(context, store);
    attn_trainer_options options;
    stop watched = {.at = stop_at};
    char path[100];
    attn_trainer_options_init(&options);
    options.output = path_of(name, "", path);
    options.resume = resume;
    options.keep_last = keep_last;
    options.watch = watch;
    options.user = &watched;
    expect_ok(context, train_on(config, train, dev, &options));
    attn_config_destroy(config);
    return watched.score;
}

static attn_model *load(const char *name, const char *ending) {
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    char path[100];
    expect_ok(context, attn_model_load(context, path_of(name, ending, path), &model));
    return model;
}

static size_t length_of(const char *name) {
    size_t length = 0;
    char path[100];
    free(file_bytes(path_of(name, "", path), &length));
    return length;
}

/* What the file says of itself is what the model that is loaded from it gives. */
static void check_scores(attn_model *model, double told) {
    attn_context *context = test_best_context(1);
    attn_config *config = config_with(context, "full");
    attn_dataset *data = parse_corpus(config, "dev", dev);
    attn_report *report = NULL;
    expect_ok(context, report_with(model, data, &report));
    double accuracy = attn_report_metric(report, "accuracy"), loss = attn_report_metric(report, "log_loss");
    assert_true(fabs(accuracy - told) < 1e-12);
    assert_true(fabs(accuracy - attn_model_metric(model, "score")) < 1e-8);
    assert_true(fabs(loss - attn_model_metric(model, "log_loss")) < 1e-7 * (1 + loss));
    attn_report_destroy(report);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

static void test_files(void **state) {
    (void)state;
    static const char *const storage[] = {"32 bits per number, without empty rows",
                                          "16 bits per number, without empty rows",
                                          "8 bits per number, embeddings 6, without empty rows"};
    size_t lengths[3];
    for (int i = 0; i < 3; i++) {
        char path[100], again[100];
        double score = run_with(stores[i], stores[i], -1, 0, 0);
        attn_model *model = load(stores[i], "");
        assert_string_equal(attn_model_storage(model), storage[i]);
        check_scores(model, score);
        lengths[i] = length_of(stores[i]);
        expect_ok(test_best_context(1), attn_model_save(model, path_of("again", "", again)));
        assert_true(same_files(path_of(stores[i], "", path), again));
        model_destroy(model);
    }
    assert_null(attn_model_storage(NULL));
    assert_true(lengths[1] < lengths[0] && lengths[2] < lengths[1]);
    assert_true(lengths[0] < 3000 * 16 * 4); /* the table alone would be larger */
}

/* Training continues with all bits: its .last file differs in the value of training.store alone. */
static void test_training_is_the_same(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_safetensors *files[3];
    for (int i = 0; i < 3; i++) {
        char name[32], path[100];
        snprintf(name, sizeof name, "same-%s", stores[i]);
        run_with(stores[i], name, -1, 0, 1);
        expect_ok(context, at_safetensors_open(context, path_of(name, ".last", path), &files[i]));
    }
    for (int i = 1; i < 3; i++) {
        assert_int_equal(at_safetensors_count(files[i]), at_safetensors_count(files[0]));
        for (int64_t t = 0; t < at_safetensors_count(files[0]); t++) {
            const at_stored *one = at_safetensors_at(files[0], t), *other = at_safetensors_at(files[i], t);
            size_t bytes = one->dtype == AT_DTYPE_I64 ? 8 : one->dtype == AT_DTYPE_U8 ? 1 : 4;
            assert_string_equal(one->name, other->name);
            assert_int_equal(one->dtype, other->dtype);
            assert_int_equal(one->count, other->count);
            assert_memory_equal(one->data, other->data, (size_t)one->count * bytes);
        }
    }
    assert_non_null(at_safetensors_find(files[0], "features.present"));
    assert_non_null(at_safetensors_find(files[0], "optimizer.features.moment1.present"));
    for (int i = 0; i < 3; i++) at_safetensors_close(files[i]);
}

static void test_resume(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        char whole[32], stopped[32], one[100], other[100];
        snprintf(whole, sizeof whole, "whole-%s", stores[i]);
        snprintf(stopped, sizeof stopped, "stopped-%s", stores[i]);
        run_with(stores[i], whole, -1, 0, 1);
        run_with(stores[i], stopped, 7, 0, 1);
        run_with(stores[i], stopped, 18, 1, 1);
        run_with(stores[i], stopped, -1, 1, 1);
        assert_true(same_files(path_of(whole, "", one), path_of(stopped, "", other)));
        assert_true(same_files(path_of(whole, ".last", one), path_of(stopped, ".last", other)));
    }
}

/* Weight decay and averages leave rows that training never came to as they began: all bits 0. */
static void test_untouched_rows(void **state) {
    (void)state;
    static const char *const sets[][4] = {{"training.lazy_rows", "true", "training.decay_all", "false"},
                                          {"training.lazy_rows", "false", "training.decay_all", "true"},
                                          {"training.optimizer", "sgd", "training.momentum", "0.9"}};
    attn_context *context = test_best_context(1);
    int64_t counts[3];
    for (int i = 0; i < 3; i++) {
        char path[100];
        attn_config *config = config_with(context, "full");
        for (int s = 0; s < 4; s += 2)
            expect_ok(context, attn_config_set(config, sets[i][s], sets[i][s + 1]));
        attn_model *model = train_model(config, train, dev, path_of("untouched", "", path));
        at_safetensors *file = NULL;
        expect_ok(context, at_safetensors_open(context, path, &file));
        const at_stored *rows = at_safetensors_find(file, "features.rows");
        assert_non_null(rows);
        counts[i] = rows->shape[0];
        const float *expanded =
            attn_parameter_value(attn_parameters_find(attn_model_parameters(model), "features")).data;
        int64_t all = attn_parameter_value(attn_parameters_find(attn_model_parameters(model), "features"))
                          .shape[0],
                kept = 0;
        for (int64_t r = 0; r < all; r++) {
            int any = 0;
            for (int64_t c = 0; c < rows->shape[1]; c++) any |= expanded[r * rows->shape[1] + c] != 0;
            kept += any;
        }
        assert_int_equal(kept, counts[i]);
        assert_in_range(kept, 20, 600);
        at_safetensors_close(file);
        model_destroy(model);
    }
    assert_int_equal(counts[0], counts[1]);
    assert_int_equal(counts[0], counts[2]);
}

/* What does not fit 16 bits is named, and nothing is written. */
static void test_too_large(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char path[100];
    attn_model *model = train_model(config_with(context, "half"), train, dev, path_of("large", "", path));
    attn_parameter *weight = attn_parameters_find(attn_model_parameters(model), "features");
    ((float *)attn_parameter_value(weight).data)[3] = 1e6f;
    expect_refused(context, attn_model_save(model, path_of("none", "", path)), ATTN_INVALID_ARGUMENT,
                   "tensor features: the number 1e+06 cannot be stored in 16 bits");
    assert_int_equal(access(path, F_OK), -1);
    model_destroy(model);
}

/* A model of any form can be trained further, and starts with its own score. */
static void test_more(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        attn_context *context = test_best_context(1);
        attn_config *config = config_with(context, stores[i]);
        attn_trainer_options options;
        char path[100], name[32];
        snprintf(name, sizeof name, "more-%s", stores[i]);
        double before = run_with(stores[i], name, -1, 0, 0);
        stop watched = {.at = -1};
        attn_trainer_options_init(&options);
        options.output = path_of(name, "", path);
        options.more = 1;
        options.watch = watch;
        options.user = &watched;
        expect_ok(context, attn_config_set(config, "training.steps", "5"));
        expect_ok(context, train_on(config, train, dev, &options));
        assert_true(watched.score >= before);
        attn_config_destroy(config);
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[100];
        path_of(stores[i], "", path); /* of test_files */
        for (int64_t n = 1, failures = 0;; n += 1 + n / 40) {
            counting_allocator counter = {0};
            attn_context *context = NULL;
            attn_context_options options;
            attn_context_options_init(&options);
            options.threads = 1;
            options.allocator = counting_allocator_functions(&counter);
            assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
            attn_model *model = NULL;
            counter.fail_at = n;
            attn_status status = attn_model_load(context, path, &model);
            counter.fail_at = 0;
            if (status != ATTN_OK) expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory"), failures++;
            attn_model_destroy(model);
            attn_context_destroy(context);
            assert_int_equal(counter.live, 0);
            if (status == ATTN_OK) {
                assert_true(failures > 20);
                break;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),           cmocka_unit_test(test_training_is_the_same),
        cmocka_unit_test(test_resume),          cmocka_unit_test(test_untouched_rows),
        cmocka_unit_test(test_too_large),       cmocka_unit_test(test_more),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
