/* test_broken.c: what must not be answered: weights that are not numbers, rows that do not continue with
 * others, and sequences of which memory has kept only a part.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_broken_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* The corpus is freed. */
static attn_model *train(attn_context *context, const char *const *sets, char *corpus) {
    char path[80];
    attn_model *model = NULL;
    attn_config *config = tiny_config(context, sets);
    expect_ok(context, attn_config_set(config, "training.epochs", "1"));
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    options.output = path;
    options.force = 1;
    expect_ok(context, train_on(config, corpus, NULL, &options));
    expect_ok(context, attn_model_load(context, path, &model));
    attn_config_destroy(config);
    free(corpus);
    return model;
}

static void expect_no_answers(attn_context *context, attn_model *model) {
    const float broken[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        attn_parameter *bias = attn_parameters_find(attn_model_parameters(model), "output.0.bias");
        assert_non_null(bias);
        ((float *)attn_parameter_value(bias).data)[0] = broken[i];
        attn_parameter_changed(bias);
        attn_prediction *prediction = NULL;
        expect_refused(context, predict_text_with(model, "ab x", 0, &prediction), ATTN_NOT_FINITE,
                       "not a number");
        assert_null(prediction);
    }
    model_destroy(model);
}

static void test_broken_weights(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const tag[] = {"task", "tag", NULL},
                             *const crf[] = {"task", "tag", "output.crf", "true", NULL},
                             *const several[] = {"task", "tag", "output.members", "2", NULL},
                             *const classify[] = {"task", "classify", NULL},
                             *const regress[] = {"task", "regress", NULL};
    expect_no_answers(context, train(context, tag, corpus_conllu(1, 20)));
    expect_no_answers(context, train(context, crf, corpus_conllu(1, 20)));
    expect_no_answers(context, train(context, several, corpus_conllu(1, 20)));
    expect_no_answers(context, train(context, classify, corpus_classes(1, 20, 0)));
    expect_no_answers(context, train(context, classify, corpus_labels(1, 20)));
    expect_no_answers(context, train(context, regress, corpus_numbers(1, 20)));
}

/* Tokens do not continue with whole texts; what was pushed before is still there. */
static void test_mixed_pieces(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const sets[] = {"task", "tag", NULL}, *const words[] = {"ab", "x"};
    const int64_t offsets[] = {0, 2};
    attn_model *model = train(context, sets, corpus_conllu(1, 20));
    attn_predictor *predictor = predictor_of(model);
    attn_dataset *tokens = NULL, *texts = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_dataset_from_texts(context, words, offsets, 1, &tokens));
    expect_ok(context, attn_dataset_from_texts(context, words, NULL, 2, &texts));
    expect_ok(context, attn_predictor_push(predictor, tokens));
    expect_refused(context, attn_predictor_push(predictor, texts), ATTN_INVALID_ARGUMENT, "do not go on");
    expect_ok(context, attn_predictor_finish(predictor, &prediction));
    assert_int_equal(attn_prediction_units(prediction, 0), 2);
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(tokens);
    attn_dataset_destroy(texts);
    model_destroy(model);
}

/* Memory runs out at every place of a push: the sequence is forgotten then, and never half of it is answered.
 */
static void test_half_pushed(void **state) {
    (void)state;
    attn_context *trained = test_best_context(1);
    static const char *const sets[] = {"task", "tag", NULL};
    enum { WORDS = 3000 };
    static const char *words[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = i % 3 ? "ab" : "x";
    const int64_t offsets[] = {0, WORDS};
    attn_model *model = train(trained, sets, corpus_conllu(1, 20));
    attn_predictor *predictor = NULL;
    attn_dataset *tokens = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(trained, attn_dataset_from_texts(trained, words, offsets, 1, &tokens));
    counting_allocator counter = {0};
    attn_context *context = NULL;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&counter);
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    int failed = 0;
    for (int64_t n = 1; n < 200; n++) {
        counter.fail_at = n;
        attn_status status = attn_predictor_push(predictor, tokens);
        counter.fail_at = 0;
        attn_status finished = attn_predictor_finish(predictor, &prediction);
        if (status == ATTN_OK) {
            expect_ok(context, finished);
            assert_int_equal(attn_prediction_units(prediction, 0), WORDS);
            attn_prediction_destroy(prediction);
            break;
        }
        failed++;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_int_equal(finished, ATTN_INVALID_ARGUMENT);
    }
    assert_true(failed > 3);
    attn_predictor_destroy(predictor);
    attn_context_destroy(context);
    attn_dataset_destroy(tokens);
    model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_weights),
        cmocka_unit_test(test_mixed_pieces),
        cmocka_unit_test(test_half_pushed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
