/* test_wide.c: features of whole texts: which they are, what training hides of them, that they reach the
 * answer, alone and beside a network, and where they are refused.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/plan.h"
#include "model/config.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/predicting.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_wide_XXXXXX";
static char output[64], other[64];
static attn_context *context;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    context = test_best_context(1);
    snprintf(output, sizeof output, "%s/m.safetensors", folder);
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- the bag ---- */

enum { BUCKETS = 1 << 20 }; /* so many that no two features of these texts share one */

typedef struct bags {
    attn_dataset *dataset;
    at_text_input *text;
    at_text_encoded *encoded;
    at_segments segments;
    at_text_batch *batch;
} bags;

static void bags_create(bags *made, const at_text_values *values, const char *const *texts, int64_t count,
                        int64_t longest) {
    memset(made, 0, sizeof *made);
    made->dataset = examples_create(context, 0, texts, count);
    made->text = text_create(context, values, (text_use){0});
    expect_ok(context, text_learn(made->text, made->dataset));
    expect_ok(context, text_encode(made->text, made->dataset, &made->encoded));
    expect_ok(context,
              at_segments_make(context, count, made->encoded->encoded.offsets, longest, 0, &made->segments));
    at_batch *batch = NULL;
    expect_ok(context, at_text_create_batch(context, &batch));
    made->batch = (at_text_batch *)(void *)batch;
}

static void bags_fill(bags *made, const int64_t *order, int64_t count, const uint64_t *seed) {
    expect_ok(context, at_text_fill(&made->text->input, &made->encoded->encoded, &made->segments, order,
                                    count, seed, &made->batch->batch));
}

static void bags_destroy(bags *made) {
    text_batch_free(made->batch);
    at_segments_free(context, &made->segments);
    text_free(made->encoded);
    text_destroy(made->text);
    attn_dataset_destroy(made->dataset);
}

static int64_t count_of(const at_text_wide *wide, int64_t text) {
    return wide->offsets[text + 1] - wide->offsets[text];
}

/* How many different features two texts have in common. */
static int64_t common(const at_text_wide *wide, int64_t a, int64_t b) {
    int64_t count = 0;
    for (int64_t i = wide->offsets[a]; i < wide->offsets[a + 1]; i++) {
        int seen = 0, there = 0;
        for (int64_t k = wide->offsets[a]; k < i; k++) seen |= wide->ids[k] == wide->ids[i];
        for (int64_t k = wide->offsets[b]; k < wide->offsets[b + 1]; k++)
            there |= wide->ids[k] == wide->ids[i];
        count += there && !seen;
    }
    return count;
}

static void test_words(void **state) {
    (void)state;
    static const char *const texts[] = {"ab cde", "cde ab", "", "CDE Ab", "cde cde"};
    static const int64_t order[] = {0, 1, 2, 3, 4};
    at_text_values values = {.unit = AT_UNIT_WORDS,
                             .min_count = 1,
                             .wide_buckets = BUCKETS,
                             .wide_units = 2,
                             .wide_letters_min = 2,
                             .wide_letters_max = 3};
    bags made;
    bags_create(&made, &values, texts, 5, 100);
    assert_true(made.text->input.wide);
    bags_fill(&made, order, 5, NULL);
    const at_text_wide *wide = &made.batch->wide;
    /* <ab>: 3 + 2 n-grams of letters, <cde>: 4 + 3; two words, one pair; the bias */
    assert_int_equal(count_of(wide, 0), 12 + 3 + 1);
    assert_int_equal(count_of(wide, 2), 1); /* the bias of the empty text */
    for (int64_t t = 0; t < 5; t++) {
        double letters = 0, all = 0;
        assert_int_equal(wide->ids[wide->offsets[t + 1] - 1], BUCKETS);
        assert_true(wide->weights[wide->offsets[t + 1] - 1] == 1.0f);
        for (int64_t i = wide->offsets[t]; i < wide->offsets[t + 1] - 1; i++) {
            double square = (double)wide->weights[i] * (double)wide->weights[i];
            assert_in_range(wide->ids[i], 0, BUCKETS - 1);
            all += square;
            if (i < wide->offsets[t] + (t == 4 ? 14 : 12)) letters += square;
        }
        assert_true(t == 2 ? all == 0 : fabs(all - 2) < 1e-5 && fabs(letters - 1) < 1e-5);
    }
    assert_int_equal(common(wide, 0, 1), 15);        /* all but the pair */
    assert_int_equal(common(wide, 1, 3), 16);        /* case does not matter */
    assert_int_equal(common(wide, 0, 4), 7 + 1 + 1); /* letters of cde, cde, the bias */
    bags_destroy(&made);
}

/* Characters have no letters; all of a text counts, also where the network sees only its beginning. */
static void test_whole(void **state) {
    (void)state;
    static const char *const texts[] = {"abcdefgh", "abcdefgz"};
    static const int64_t order[] = {1, 0};
    at_text_values values = {.unit = AT_UNIT_CHARS,
                             .min_count = 1,
                             .wide_buckets = BUCKETS,
                             .wide_units = 3,
                             .wide_letters_min = 1,
                             .wide_letters_max = 4};
    bags made;
    bags_create(&made, &values, texts, 2, 4);
    bags_fill(&made, order, 2, NULL);
    const at_text_wide *wide = &made.batch->wide;
    assert_int_equal(made.batch->batch.rows, 8); /* two times four */
    assert_int_equal(count_of(wide, 0), 8 + 7 + 6 + 1);
    assert_int_equal(common(wide, 0, 1), 7 + 6 + 5 + 1); /* all but those with the last character */
    bags_destroy(&made);
}

static void test_hiding(void **state) {
    (void)state;
    static const char *const texts[] = {"one two three four", "five six seven"};
    static const int64_t order[] = {0, 1};
    at_text_values values = {.unit = AT_UNIT_WORDS,
                             .min_count = 1,
                             .wide_buckets = BUCKETS,
                             .wide_units = 2,
                             .wide_letters_min = 2,
                             .wide_letters_max = 5,
                             .wide_dropout = 0.25};
    bags plain, hidden;
    bags_create(&plain, &values, texts, 2, 100);
    bags_create(&hidden, &values, texts, 2, 100);
    bags_fill(&plain, order, 2, NULL);
    int64_t all = 0, gone = 0;
    uint64_t seed;
    for (seed = 1; seed <= 200; seed++) {
        bags_fill(&hidden, order, 2, &seed);
        const at_text_wide *was = &plain.batch->wide, *is = &hidden.batch->wide;
        assert_int_equal(is->used, was->used);
        for (int64_t t = 0; t < 2; t++) {
            int64_t bias = was->offsets[t + 1] - 1;
            assert_int_equal(is->ids[bias], BUCKETS);
            assert_true(is->weights[bias] == 1.0f);
            for (int64_t i = was->offsets[t]; i < bias; i++) {
                assert_true(is->ids[i] == was->ids[i] || is->ids[i] == -1);
                assert_true(fabs((double)is->weights[i] * 0.75 - (double)was->weights[i]) < 1e-6);
                all++;
                gone += is->ids[i] == -1;
            }
        }
    }
    assert_in_range(gone * 1000 / all, 235, 265);
    seed = 200;
    int64_t used = hidden.batch->wide.used;
    int32_t *ids = malloc((size_t)used * sizeof *ids);
    assert_non_null(ids);
    memcpy(ids, hidden.batch->wide.ids, (size_t)used * sizeof *ids);
    bags_fill(&hidden, order, 2, &seed); /* the same seed, the same places */
    assert_memory_equal(ids, hidden.batch->wide.ids, (size_t)used * sizeof *ids);
    free(ids);
    bags_destroy(&plain);
    bags_destroy(&hidden);
}

/* ---- models ---- */

static attn_model *trained(const char *const *sets) {
    char *train = corpus_classes(1, 150, 0), *dev = corpus_classes(2, 40, 0);
    attn_model *model = train_model(tiny_config(context, sets), train, dev, output);
    free(train);
    free(dev);
    return model;
}

/* The label that a number at the bias of the table makes the answer to every text. */
static void push(attn_model *model, int64_t label) {
    attn_parameter *table = attn_parameters_find(attn_model_parameters(model), "output.0.wide");
    assert_non_null(table);
    attn_tensor value = attn_parameter_value(table);
    float *bias = (float *)value.data + (value.shape[0] - 1) * value.shape[1];
    bias[label] += 1000;
    attn_parameter_changed(table);
    attn_prediction *answers = NULL;
    expect_ok(context, predict_text_with(model, "anything", 0, &answers));
    assert_string_equal(attn_prediction_label(answers, 0, 0, 0), attn_model_label(model, 0, label));
    attn_prediction_destroy(answers);
    bias[label] -= 1000;
}

static int64_t ending_in(const attn_model *model, const char *end) {
    attn_parameters *set = attn_model_parameters(model);
    int64_t count = 0;
    for (int64_t i = 0; i < attn_parameters_count(set); i++) {
        const char *name = attn_parameter_name(attn_parameters_at(set, i));
        count += strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
    }
    return count;
}

static void test_alone(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "encoder.kind", "none", "text.wide_buckets",
                                       "500",  NULL};
    attn_model *model = trained(sets);
    assert_true(attn_model_metric(model, "accuracy") > 0.99);
    assert_int_equal(attn_parameters_count(attn_model_parameters(model)),
                     1); /* the table, and nothing else */
    assert_int_equal(attn_parameters_size(attn_model_parameters(model)), 501 * attn_model_labels(model, 0));
    push(model, 0);
    push(model, 1);
    /* There are no rows to look at. */
    attn_dataset *dataset = parse_corpus(attn_model_config(model), "text", "A\tanything\n");
    attn_vectors vectors = {.size = sizeof vectors};
    attn_explanation *explanation = NULL;
    expect_refused(context, attn_predictor_embed(predictor_of(model), dataset, 1, &vectors), ATTN_UNSUPPORTED,
                   "encoder.kind none");
    expect_refused(context, attn_predictor_explain(predictor_of(model), dataset, NULL, &explanation),
                   ATTN_UNSUPPORTED, "encoder.kind none");
    attn_dataset_destroy(dataset);
    model_destroy(model);
}

/* The networks of an ensemble share one table; an explanation leaves it out, and works. */
static void test_beside(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "output.members", "2", "text.wide_buckets",
                                       "500",  NULL};
    attn_model *model = trained(sets);
    assert_true(attn_model_metric(model, "accuracy") > 0.99);
    assert_int_equal(ending_in(model, ".wide"), 1);
    assert_int_equal(ending_in(model, "features"), 2);
    push(model, 0);
    push(model, 1);
    attn_dataset *dataset = parse_corpus(attn_model_config(model), "text", "A\tanything\n");
    attn_explanation *explanation = NULL;
    expect_ok(context, attn_predictor_explain(predictor_of(model), dataset, NULL, &explanation));
    attn_explanation_destroy(explanation);
    attn_dataset_destroy(dataset);
    model_destroy(model);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const rows[] = {
        "task", "regress", "reader.column", "FEATS:Weight", "text.wide_buckets", "500", NULL};
    static const char *const none[] = {"task", "classify", "encoder.kind", "none", "text.wide_buckets",
                                       "500",  NULL};
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = other;
    char *tags = corpus_conllu(1, 30), *classes = corpus_classes(1, 30, 0);
    attn_config *config = tiny_config(context, rows);
    expect_refused(
        context, train_on(config, tags, NULL, &options), ATTN_INVALID_ARGUMENT,
        "has a target for each unit; features of a whole text (text.wide_buckets, encoder.kind none)");
    attn_config_destroy(config);
    config = tiny_config(context, none);
    options.vectors = "words.vec";
    expect_refused(context, train_on(config, classes, NULL, &options), ATTN_INVALID_ARGUMENT,
                   "pretrained vectors are for rows");
    attn_config_destroy(config);
    free(tags);
    free(classes);
}

/* A model file from before there was such a table says nothing of it, and has none, whatever new models have.
 */
static void test_older_files(void **state) {
    (void)state;
    attn_config *made = NULL, *stored = NULL;
    static const char json[] = "{\"task\": \"classify\", \"encoder\": {\"kind\": \"none\"}}";
    expect_ok(context, attn_config_create(context, &made));
    expect_ok(context, attn_config_parse(made, "json", json, strlen(json)));
    assert_string_not_equal(attn_config_get(made, "text.wide_buckets"), "0");
    expect_ok(context, at_config_stored(context, "json", json, &stored));
    assert_string_equal(attn_config_get(stored, "text.wide_buckets"), "0");
    attn_config_destroy(stored);
    static const char images[] =
        "{\"task\": \"classify\", \"input\": \"vectors\"}"; /* of another kind of input */
    at_config values;
    expect_ok(context, at_config_stored(context, "json", images, &stored));
    expect_ok(context, at_config_values(stored, &values));
    attn_config_destroy(stored);
    attn_config_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_whole),  cmocka_unit_test(test_hiding),
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_beside), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_older_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
