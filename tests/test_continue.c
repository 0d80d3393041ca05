/* test_continue.c: how language models continue with a text: always the same with temperature 0 or the same
 * seed, in UTF-8 whatever is said, from prompts of every kind.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/symbols/unicode.h"
#include "support/contexts.h"
#include "support/predicting.h"
#include "support/random.h"
#include "support/training.h"

typedef enum kind { CHARS, BYTES, SUBWORDS, RNN, KINDS } kind;
static const char *const kind_sets[KINDS][12] = {
    {"task", "lm", "text.longest", "40"},
    {"task", "lm", "text.unit", "bytes"},
    {"task", "lm", "text.unit", "subwords", "text.subwords", "60"},
    {"task", "lm", "encoder.kind", "rnn", "output.members", "2", "text.lowercase", "true"},
};
static char folder[] = "/tmp/attn_continue_XXXXXX";
static char paths[KINDS][80];
static attn_model *models[KINDS];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    char *text = corpus_running(1, 120), *dev = corpus_running(2, 10);
    for (int k = 0; k < KINDS; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/%d.safetensors", folder, k);
        attn_config *config = tiny_config(context, kind_sets[k]);
        expect_ok(context, attn_config_set(config, "training.batch_units", "200"));
        models[k] = train_model(config, text, dev, paths[k]);
    }
    free(text);
    free(dev);
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static attn_sampling_options sampling(int64_t tokens, double temperature, int64_t top_k, uint64_t seed) {
    attn_sampling_options options;
    attn_sampling_options_init(&options);
    options.tokens = tokens;
    options.temperature = temperature;
    options.top_k = top_k;
    options.seed = seed;
    return options;
}

/* To be freed. */
static char *go_on(attn_model *model, const char *prompt, attn_sampling_options options) {
    char *text = NULL;
    attn_status status = continue_with(model, prompt, &options, &text);
    if (status != ATTN_OK) fail_msg("\"%s\": %s", prompt, attn_context_error(test_best_context(1)));
    assert_non_null(text);
    assert_int_equal(at_unicode_check(text, strlen(text)), strlen(text));
    return text;
}

static const char *const prompts[] = {"",           "the c",    "the cat\n",
                                      "a dog\nthe", "\n\n",     " ",
                                      "  two",      "\xc3\xa9", "zebra \xe2\x82\xac\xf0\x9f\x98\x80",
                                      "tab\there"};
enum { PROMPTS = sizeof prompts / sizeof *prompts };

static void test_same_again(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        int different = 0;
        for (int p = 0; p < PROMPTS; p++) {
            char *likeliest = go_on(models[k], prompts[p], sampling(30, 0, 0, 1));
            char *again = go_on(models[k], prompts[p], sampling(30, 0, 0, 2)); /* seeds do not count */
            char *top = go_on(models[k], prompts[p], sampling(30, 1, 1, 3));
            assert_string_equal(likeliest, again);
            assert_string_equal(likeliest, top);
            char *cold = go_on(models[k], prompts[p], sampling(30, 1e-300, 0, 3));
            assert_string_equal(likeliest, cold);
            char *drawn = go_on(models[k], prompts[p], sampling(30, 1, 0, 7));
            char *drawn_again = go_on(models[k], prompts[p], sampling(30, 1, 0, 7));
            char *all = go_on(models[k], prompts[p], sampling(30, 1, 1000000, 7));
            char *other = go_on(models[k], prompts[p], sampling(30, 1, 0, 8));
            assert_string_equal(drawn, drawn_again);
            assert_string_equal(drawn, all);
            different += strcmp(drawn, other) != 0;
            char *shorter = go_on(models[k], prompts[p], sampling(12, 1, 0, 7)); /* a longer text begins so */
            if (k != BYTES) assert_memory_equal(shorter, drawn, strlen(shorter));
            char *texts[] = {likeliest, again, top, cold, drawn, drawn_again, all, other, shorter};
            for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
        }
        assert_true(different > PROMPTS / 2); /* another seed, another text */
    }
}

/* The same on more threads, and what it was trained on is what it says. */
static void test_threads(void **state) {
    (void)state;
    attn_context *context = test_best_context(3);
    for (int k = 0; k < KINDS; k++) {
        attn_model *other = NULL;
        expect_ok(context, attn_model_load(context, paths[k], &other));
        for (int p = 0; p < PROMPTS; p++) {
            char *one = go_on(models[k], prompts[p], sampling(25, 0.8, 5, 4));
            char *three = go_on(other, prompts[p], sampling(25, 0.8, 5, 4));
            assert_string_equal(one, three);
            free(one);
            free(three);
        }
        model_destroy(other);
        char *known = go_on(models[k], "the cat sat on", sampling(k == SUBWORDS ? 6 : 9, 0, 0, 1));
        if (strncmp(known, " the mat.", 9) != 0) fail_msg("model %d says \"%s\"", k, known);
        free(known);
    }
}

/* Longer than what a network sees at once: only its end counts. */
static void test_long_prompts(void **state) {
    (void)state;
    char *prompt = calloc(20000, 1);
    assert_non_null(prompt);
    size_t used = 0;
    for (int i = 0; i < 800; i++)
        used += (size_t)sprintf(prompt + used, "%s",
                                i % 2 ? "the cat sat on the mat.\n" : "a dog ran, and ran.\n");
    for (int k = 0; k < KINDS; k++) {
        char *whole = go_on(models[k], prompt, sampling(15, 1, 0, 5));
        char *again = go_on(models[k], prompt, sampling(15, 1, 0, 5));
        assert_string_equal(whole, again);
        if (k == CHARS) { /* text.longest 40, and n-grams within it */
            char *end = go_on(models[k], prompt + used - 60, sampling(15, 1, 0, 5));
            assert_string_equal(whole, end);
            free(end);
        }
        free(whole);
        free(again);
    }
    free(prompt);
}

/* ---- pieces as they come ---- */

typedef struct listener {
    char text[4096];
    int64_t pieces, stop_after;
} listener;

static int listen_to(void *user, const char *piece) {
    listener *to = user;
    assert_true(*piece != 0);
    assert_int_equal(at_unicode_check(piece, strlen(piece)), strlen(piece)); /* whole characters */
    strcat(to->text, piece);
    return ++to->pieces == to->stop_after;
}

static void test_watch(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        for (int p = 0; p < PROMPTS; p++) {
            for (int hot = 0; hot < 2; hot++) { /* a hot model of bytes says what is no text */
                attn_sampling_options options = sampling(60, hot ? 50 : 1, 0, 9);
                char *plain = go_on(models[k], prompts[p], options);
                listener heard = {.stop_after = -1}, stopped = {.stop_after = 3};
                options.watch = listen_to;
                options.user = &heard;
                char *watched = go_on(models[k], prompts[p], options);
                assert_string_equal(watched, plain);
                assert_string_equal(heard.text, plain);
                options.user = &stopped;
                char *cut = go_on(models[k], prompts[p], options);
                assert_true(stopped.pieces <= 3);
                assert_memory_equal(stopped.text, plain, strlen(stopped.text));
                assert_memory_equal(stopped.text, cut, strlen(stopped.text));
                assert_true(strlen(cut) <= strlen(stopped.text) + 3);
                free(plain);
                free(watched);
                free(cut);
            }
        }
    }
    char *hot = go_on(models[BYTES], "", sampling(200, 1000, 0, 1));
    assert_non_null(strchr(hot, '?'));
    free(hot);
}

/* ---- draws ---- */

/* With temperature 1 a unit is drawn as often as it is likely; what comes after a line does not depend on
 * whether it would have fitted into a chunk of the training text. */
static void test_draws(void **state) {
    (void)state;
    int64_t first[256] = {0}, top[256] = {0};
    for (uint64_t seed = 0; seed < 300; seed++) {
        char *text = go_on(models[CHARS], "\nthe cat sat on the mat.\n", sampling(1, 1, 0, seed));
        first[(unsigned char)*text]++;
        free(text);
        text = go_on(models[CHARS], "\nthe cat sat on the mat.\n",
                     sampling(1, 1000, 2, seed)); /* two, as likely */
        top[(unsigned char)*text]++;
        free(text);
    }
    /* four beginnings, in the corpus about as often as each other */
    static const unsigned char begins[] = {'t', 'a', ' ', 0xc3};
    int64_t seen = 0;
    for (int i = 0; i < 4; i++) {
        assert_true(first[begins[i]] > 10 && first[begins[i]] < 220);
        seen += first[begins[i]];
    }
    assert_true(seen > 270);
    int kinds = 0;
    for (int i = 0; i < 256; i++) {
        kinds += top[i] > 0;
        if (top[i]) assert_true(top[i] > 100);
    }
    assert_int_equal(kinds, 2);
}

/* ---- what is refused, and networks that are broken ---- */

static void test_arguments(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = models[CHARS];
    char *text = NULL;
    assert_int_equal(continue_with(NULL, "a", NULL, &text), ATTN_INVALID_ARGUMENT);
    assert_int_equal(continue_with(model, NULL, NULL, &text), ATTN_INVALID_ARGUMENT);
    assert_int_equal(continue_with(model, "a", NULL, NULL), ATTN_INVALID_ARGUMENT);
    attn_sampling_options options = sampling(5, 1, 0, 1);
    options.size = 1;
    expect_refused(context, continue_with(model, "a", &options, &text), ATTN_INVALID_ARGUMENT, "init");
    const attn_sampling_options wrong[] = {sampling(-1, 1, 0, 1),  sampling(5, -1, 0, 1),
                                           sampling(5, NAN, 0, 1), sampling(5, 1001, 0, 1),
                                           sampling(5, 1, -1, 1),  sampling(5, INFINITY, 0, 1)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused(context, continue_with(model, "a", &wrong[i], &text), ATTN_INVALID_ARGUMENT,
                       "temperature");
    expect_refused(context, continue_with(model, "a\n\xff", NULL, &text), ATTN_INVALID_ARGUMENT,
                   "the prompt:2");
    assert_null(text);
    text = go_on(model, "a", sampling(0, 1, 0, 1));
    assert_string_equal(text, "");
    free(text);
    attn_dataset *lines = parse_corpus(attn_model_config(model), "lines", "a\n");
    attn_prediction *prediction = NULL;
    expect_refused(context, search_with(model, lines, NULL, &prediction), ATTN_UNSUPPORTED, "task lm");
    assert_null(prediction);
    attn_dataset_destroy(lines);
    expect_ok(context, continue_with(model, "a", NULL, &text)); /* the defaults */
    free(text);
}

/* Predicting on a dataset continues its lines, each alone, as the settings say. */
static void test_predict(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const values[][2] = {
        {"tokens", "21"}, {"temperature", "0.75"}, {"top-k", "4"}, {"seed", "11"}};
    for (int k = 0; k < KINDS; k++) {
        attn_predictor *predictor = NULL;
        expect_ok(context, attn_predictor_create(models[k], context, &predictor));
        for (int i = 0; i < 4; i++)
            expect_ok(context, attn_predictor_set(predictor, values[i][0], values[i][1]));
        attn_dataset *lines =
            parse_corpus(attn_model_config(models[k]), "lines", "the c\n\na dog ran\n  two\n");
        attn_prediction *prediction = NULL;
        expect_ok(context, attn_predictor_predict(predictor, lines, &prediction));
        assert_int_equal(attn_prediction_examples(prediction), 4);
        for (int64_t e = 0; e < 4; e++) {
            char *alone = go_on(models[k], attn_dataset_token(lines, e, 0), sampling(21, 0.75, 4, 11));
            assert_int_equal(attn_prediction_hypotheses(prediction, e), 1);
            assert_string_equal(attn_prediction_text(prediction, e, 0), alone);
            const char *text = NULL;
            expect_ok(context,
                      attn_predictor_continue(predictor, attn_dataset_token(lines, e, 0), NULL, &text));
            assert_string_equal(text, alone);
            free(alone);
        }
        attn_prediction_destroy(prediction);
        attn_dataset_destroy(lines);
        attn_predictor_destroy(predictor);
    }
}

static void test_no_numbers(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, paths[CHARS], &model));
    attn_parameter *bias = attn_parameters_find(attn_model_parameters(model), "symbols.bias");
    attn_tensor value = attn_parameter_value(bias);
    for (int64_t i = 0; i < value.shape[0]; i++) ((float *)value.data)[i] = i == 2 ? NAN : INFINITY;
    attn_parameter_changed(bias);
    for (int temperature = 0; temperature < 2; temperature++) {
        char *text = NULL;
        attn_sampling_options options = sampling(5, temperature, 3 * temperature, 1);
        assert_int_equal(continue_with(model, "the", &options, &text), ATTN_NOT_FINITE);
        assert_non_null(strstr(attn_context_error(context), "not a number"));
        assert_null(text);
    }
    model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_again),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_long_prompts), cmocka_unit_test(test_watch),
        cmocka_unit_test(test_draws),        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_predict),      cmocka_unit_test(test_no_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
