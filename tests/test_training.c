/* test_training.c: tiny networks learn tiny tasks, of every kind of output, unit and encoder; what they
 * learned is the same after a file, alone or among others, and on any number of threads.
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
#include "train/trainer.h"

static char folder[] = "/tmp/attn_training_XXXXXX";
static char output[64], copy[64], vectors[64];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    snprintf(output, sizeof output, "%s/m.safetensors", folder);
    snprintf(copy, sizeof copy, "%s/copy.safetensors", folder);
    snprintf(vectors, sizeof vectors, "%s/words.vec", folder);
    char *text = corpus_vectors();
    FILE *file = fopen(vectors, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) return -1;
    free(text);
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

typedef enum corpus { CONLLU, CLASSES, UNSEEN_CLASSES, NUMBERS, LABELS } corpus;

static char *corpus_text(corpus kind, uint64_t seed, int dev) {
    int examples = dev ? 40 : 150;
    switch (kind) {
    case CONLLU: return corpus_conllu(seed, examples);
    case CLASSES: return corpus_classes(seed, examples, 0);
    case UNSEEN_CLASSES: return corpus_classes(seed, examples, dev);
    case NUMBERS: return corpus_numbers(seed, examples);
    case LABELS: return corpus_labels(seed, examples);
    }
    return NULL;
}

typedef struct learned {
    attn_training_state state; /* of the last event */
    int64_t steps, evaluations;
} learned;

static int watch(void *user, const attn_training_state *state) {
    learned *into = user;
    into->state = *state;
    into->steps += state->event == ATTN_TRAINING_STEP;
    into->evaluations += state->event == ATTN_TRAINING_DEV;
    return 0;
}

/* The model answers the same for an example whatever else is there. */
static void check_alone(attn_model *model, const attn_dataset *dataset) {
    attn_context *context = test_best_context(1);
    attn_prediction *all = NULL, *one = NULL;
    expect_ok(context, predict_with(model, dataset, WITH_PROBABILITIES, &all));
    assert_int_equal(attn_prediction_examples(all), attn_dataset_examples(dataset));
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e += 7) {
        attn_dataset *alone = NULL;
        expect_ok(context, attn_dataset_select(dataset, &e, 1, &alone));
        expect_ok(context, predict_with(model, alone, WITH_PROBABILITIES, &one));
        if (!same_answers(model, all, e, 1, one)) fail_msg("example %d alone is not the same", (int)e);
        attn_prediction_destroy(one);
        if (!attn_dataset_tokenized(dataset)) {
            expect_ok(context,
                      predict_text_with(model, attn_dataset_token(dataset, e, 0), WITH_PROBABILITIES, &one));
            assert_true(same_answers(model, all, e, 1, one));
            attn_prediction_destroy(one);
        }
        attn_dataset_destroy(alone);
    }
    attn_prediction_destroy(all);
}

/* A file gives the same answers as the model that it was written from, on any number of threads. */
static void check_file(const char *name, attn_model *model, const attn_dataset *dev, const char *dev_text) {
    attn_context *context = test_best_context(1), *other_context = test_best_context(3);
    attn_prediction *before = NULL, *after = NULL;
    expect_ok(context, predict_with(model, dev, WITH_PROBABILITIES, &before));
    expect_ok(context, attn_model_save(model, copy));
    attn_model *loaded = NULL;
    expect_ok(other_context, attn_model_load(other_context, copy, &loaded));
    attn_dataset *same = parse_corpus(attn_model_config(loaded), "dev", dev_text);
    expect_ok(other_context, predict_with(loaded, same, WITH_PROBABILITIES, &after));
    if (!same_answers(model, before, 0, attn_prediction_examples(before), after))
        fail_msg("%s: the file's answers are not the model's", name);
    assert_int_equal(attn_model_outputs(loaded), attn_model_outputs(model));
    for (int o = 0; o < attn_model_outputs(model); o++) {
        assert_string_equal(attn_model_output_name(loaded, o), attn_model_output_name(model, o));
        assert_string_equal(attn_model_output_kind(loaded, o), attn_model_output_kind(model, o));
        assert_int_equal(attn_model_labels(loaded, o), attn_model_labels(model, o));
        for (int64_t l = 0; l < attn_model_labels(model, o); l++)
            assert_string_equal(attn_model_label(loaded, o, l), attn_model_label(model, o, l));
    }
    assert_int_equal(attn_model_vocabulary(loaded), attn_model_vocabulary(model));
    assert_string_equal(attn_model_metrics(loaded), attn_model_metrics(model));
    char again[80];
    snprintf(again, sizeof again, "%s.again", copy);
    expect_ok(other_context, attn_model_save(loaded, again));
    assert_true(same_files(copy, again));
    attn_prediction_destroy(before);
    attn_prediction_destroy(after);
    attn_dataset_destroy(same);
    model_destroy(loaded);
}

typedef struct learning_case {
    const char *name;
    corpus kind;
    double enough; /* the score that must be reached; of errors the most that may be left */
    const char *sets[16];
    const char *vectors;
} learning_case;

static void learn(const learning_case *given) {
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, given->sets);
    char *train_text = corpus_text(given->kind, 1, 0), *dev_text = corpus_text(given->kind, 2, 1);
    attn_dataset *train = parse_corpus(config, "train", train_text);
    attn_dataset *dev = parse_corpus(config, "dev", dev_text);
    learned result = {0};
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = output;
    options.force = 1;
    options.watch = watch;
    options.user = &result;
    options.vectors = given->vectors ? vectors : NULL;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, train, dev, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    assert_int_equal(result.state.event, ATTN_TRAINING_DONE);
    assert_int_equal(result.state.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(result.steps, result.state.steps_total);
    assert_true(result.evaluations > 1);
    double best = result.state.best_value;
    int rises = attn_metric_rises(result.state.metric);
    if (rises ? best < given->enough : best > given->enough)
        fail_msg("%s: %s is %g", given->name, result.state.metric, best);
    check_file(given->name, trainer->model, dev, dev_text);
    predictor_drop(trainer->model);

    attn_model *model = NULL; /* the best, with its averaged weights */
    attn_report *report = NULL;
    expect_ok(context, attn_model_load(context, output, &model));
    expect_ok(context, report_with(model, dev, &report));
    assert_true(attn_report_metric(report, result.state.metric) == best);
    check_alone(model, dev);
    attn_report_destroy(report);
    model_destroy(model);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
    free(train_text);
    free(dev_text);
}

static void learn_all(const learning_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) learn(&cases[i]);
}
#define LEARN(cases) learn_all(cases, sizeof(cases) / sizeof(cases)[0])

/* ---- outputs ---- */

static void test_tags(void **state) {
    (void)state;
    static const learning_case cases[] = {
        {"tags", CONLLU, 0.99, {"task", "tag"}, NULL},
        {"crf", CONLLU, 0.99, {"task", "tag", "output.crf", "true"}, NULL},
        {"two columns",
         CONLLU,
         0.99,
         {"task", "tag", "reader.column", "UPOS,XPOS", "training.epochs", "25"},
         NULL},
        {"two columns, crf",
         CONLLU,
         0.99,
         {"task", "tag", "reader.column", "XPOS,UPOS", "output.crf", "true", "training.epochs", "25"},
         NULL},
        {"words", CONLLU, 0.99, {"task", "tag", "text.unit", "chars", "text.scheme", "bmes"}, NULL},
        {"words, crf",
         CONLLU,
         0.99,
         {"task", "tag", "text.unit", "chars", "text.scheme", "bmes", "output.crf", "true"},
         NULL},
        {"one-hot", CONLLU, 0.99, {"task", "tag", "text.one_hot", "true"}, NULL},
        {"three networks", CONLLU, 0.99, {"task", "tag", "output.members", "3"}, NULL},
        {"balanced, smoothed",
         CONLLU,
         0.99,
         {"task", "tag", "output.balance", "true", "output.smoothing", "0.1"},
         NULL},
        {"in pieces", CONLLU, 0.8, {"task", "tag", "text.longest", "3"}, NULL},
        {"numbers", CONLLU, 0.05, {"task", "regress", "reader.column", "FEATS:Weight"}, NULL},
    };
    LEARN(cases);
}

static void test_texts(void **state) {
    (void)state;
    static const learning_case cases[] = {
        {"classes", CLASSES, 0.99, {"task", "classify"}, NULL},
        {"classes, two networks", CLASSES, 0.99, {"task", "classify", "output.members", "2"}, NULL},
        {"numbers, two networks",
         NUMBERS,
         0.5,
         {"task", "regress", "output.members", "2", "training.epochs", "40"},
         NULL},
        {"numbers", NUMBERS, 0.5, {"task", "regress", "training.epochs", "40"}, NULL},
        {"labels", LABELS, 0.99, {"task", "classify"}, NULL},
        {"one label at most", CLASSES, 0.99, {"task", "classify", "output.kind", "labels"}, NULL},
        {"cut", CLASSES, 0.5, {"task", "classify", "text.longest", "4"}, NULL},
    };
    LEARN(cases);
}

/* ---- input ---- */

static void test_units(void **state) {
    (void)state;
    static const learning_case cases[] = {
        {"chars", CLASSES, 0.97, {"task", "classify", "text.unit", "chars"}, NULL},
        {"bytes", CLASSES, 0.97, {"task", "classify", "text.unit", "bytes"}, NULL},
        {"subwords", CLASSES, 0.97, {"task", "classify", "text.unit", "subwords"}, NULL},
        {"one-hot", CLASSES, 0.99, {"task", "classify", "text.one_hot", "true"}, NULL},
        {"one-hot bytes",
         CLASSES,
         0.8,
         {"task", "classify", "text.one_hot", "true", "text.unit", "bytes"},
         NULL},
        {"lower case",
         CLASSES,
         0.99,
         {"task", "classify", "text.lowercase", "true", "text.neighbours", "1"},
         NULL},
        /* the words of the development data are not in the training data */
        {"vectors", UNSEEN_CLASSES, 0.95, {"task", "classify", "text.buckets", "0"}, "vectors"},
        {"vectors, lower case",
         UNSEEN_CLASSES,
         0.95,
         {"task", "classify", "text.buckets", "0", "text.lowercase", "true"},
         "vectors"},
    };
    LEARN(cases);
}

/* ---- networks ---- */

static void test_encoders(void **state) {
    (void)state;
    static const learning_case cases[] = {
        {"lstm", CONLLU, 0.99, {"task", "tag", "encoder.kind", "rnn"}, NULL},
        {"gru", CONLLU, 0.99, {"task", "tag", "encoder.kind", "rnn", "encoder.recurrence", "gru"}, NULL},
        {"tanh", CONLLU, 0.99, {"task", "tag", "encoder.kind", "rnn", "encoder.recurrence", "tanh"}, NULL},
        {"cnn", CONLLU, 0.99, {"task", "tag", "encoder.kind", "cnn"}, NULL},
        {"fc", CONLLU, 0.99, {"task", "tag", "encoder.kind", "fc"}, NULL},
        {"mix",
         CONLLU,
         0.99,
         {"task", "tag", "encoder.layers", "3", "encoder.mix", "attention,rnn,cnn"},
         NULL},
        {"no layers", CLASSES, 0.99, {"task", "classify", "encoder.layers", "0"}, NULL},
        {"no encoder",
         CLASSES,
         0.99,
         {"task", "classify", "encoder.kind", "none", "text.wide_buckets", "5000"},
         NULL},
        {"no encoder, labels, characters",
         LABELS,
         0.99,
         {"task", "classify", "encoder.kind", "none", "text.wide_buckets", "5000", "text.unit", "chars"},
         NULL},
        {"no encoder, numbers",
         NUMBERS,
         0.5,
         {"task", "regress", "encoder.kind", "none", "text.wide_buckets", "5000", "training.epochs", "40"},
         NULL},
        {"wide, two networks",
         CLASSES,
         0.99,
         {"task", "classify", "text.wide_buckets", "500", "output.members", "2"},
         NULL},
        {"causal", CONLLU, 0.99, {"task", "tag", "encoder.causal", "true"}, NULL},
        {"post-norm, gated",
         CLASSES,
         0.99,
         {"task", "classify", "encoder.norm_first", "false", "encoder.gated", "true"},
         NULL},
        {"rnn for texts",
         CLASSES,
         0.95,
         {"task", "classify", "encoder.kind", "rnn", "encoder.columns", "18"},
         NULL},
    };
    LEARN(cases);
}

static void test_positions(void **state) {
    (void)state;
    static const char *const kinds[] = {"none", "sinusoidal", "learned", "one-hot", "alibi", "relative"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        learning_case one = {kinds[i],
                             CONLLU,
                             i == 0 ? 0.6 : 0.9,
                             {"task", "tag", "encoder.position", kinds[i], "encoder.longest", "6"},
                             NULL};
        learn(&one); /* sentences of 7 and 8 words go in pieces where there is a table */
    }
    learning_case fixed = {
        "fixed", CONLLU, 0.8, {"task", "tag", "encoder.score", "fixed", "encoder.longest", "5"}, NULL};
    learn(&fixed);
}

static void test_pools(void **state) {
    (void)state;
    static const char *const kinds[] = {"mean", "max", "mean-max", "first", "attention", "sum", "sum-max"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        learning_case one = {kinds[i], CLASSES, 0.95, {"task", "classify", "output.pool", kinds[i]}, NULL};
        learn(&one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),     cmocka_unit_test(test_texts),     cmocka_unit_test(test_units),
        cmocka_unit_test(test_encoders), cmocka_unit_test(test_positions), cmocka_unit_test(test_pools),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
