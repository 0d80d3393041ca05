/* test_beam.c: many sources, whose batches threads search for by themselves: the same bits as on one thread,
 * any allocation may fail, and scores are searched as the logarithms of their softmax are.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "base/parts.h"
#include "heads/search.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_beam_XXXXXX";
static char path[64];

/* A tiny model: nearly untrained, so that answers are long and of many lengths. */
static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    attn_context *context = test_best_context(1);
    static const char *const sets[] = {
        "task", "seq2seq", "decoder.layers", "2", "training.epochs", "1", "target.longest", "9", NULL};
    attn_config *config = tiny_config(context, sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path;
    char *train = corpus_pairs(1, 60, 0), *dev = corpus_pairs(2, 10, 0);
    attn_status status = train_on(config, train, dev, &options);
    attn_config_destroy(config);
    free(train);
    free(dev);
    return status == ATTN_OK ? 0 : -1;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* `count` lines of 0 to 12 letters. */
static char *many_lines(int count) {
    char *text = malloc((size_t)count * 14 + 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < count; i++) {
        for (int l = 0; l < (i * 7 + i / 13) % 13; l++) *at++ = (char)('a' + (i * 5 + l * l) % 3);
        *at++ = '\n';
    }
    *at = 0;
    return text;
}

typedef struct answering {
    attn_model *model;
    attn_predictor *predictor;
    attn_prediction *answers;
} answering;

static void forget(answering *what) {
    attn_prediction_destroy(what->answers);
    attn_predictor_destroy(what->predictor);
    attn_model_destroy(what->model);
    *what = (answering){NULL, NULL, NULL};
}

static attn_status answer(attn_context *context, const char *text, answering *into) {
    attn_reader_options reader;
    attn_reader_options_init(&reader);
    reader.format = ATTN_FORMAT_LINES;
    reader.labelled = 0;
    attn_search_options options;
    attn_search_options_init(&options);
    options.n_best = 2;
    attn_dataset *lines = NULL;
    attn_status status = attn_model_load(context, path, &into->model);
    if (status == ATTN_OK) status = attn_predictor_create(into->model, context, &into->predictor);
    if (status == ATTN_OK)
        status = attn_dataset_parse(context, "lines", 1, text, strlen(text), &reader, &lines);
    if (status == ATTN_OK) status = attn_predictor_search(into->predictor, lines, &options, &into->answers);
    attn_dataset_destroy(lines);
    return status;
}

static void test_threads(void **state) {
    (void)state;
    enum { LINES = 400 }; /* 2,400 units: ten batches with a beam of 4 */
    char *text = many_lines(LINES);
    answering all[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    attn_context *context = test_best_context(1);
    expect_ok(context, answer(context, text, &all[0]));
    assert_int_equal(attn_prediction_examples(all[0].answers), LINES);
    for (int threads = 2; threads <= 5; threads += 3) {
        context = test_best_context(threads);
        expect_ok(context, answer(context, text, &all[1]));
        const attn_prediction *answers[2] = {all[0].answers, all[1].answers};
        assert_int_equal(attn_prediction_examples(answers[1]), LINES);
        for (int64_t e = 0; e < LINES; e++) {
            int64_t count = attn_prediction_hypotheses(answers[0], e);
            assert_int_equal(attn_prediction_hypotheses(answers[1], e), count);
            assert_int_equal(count, attn_prediction_units(answers[0], e) ? 2 : 1);
            for (int64_t n = 0; n < count; n++) {
                double scores[2] = {attn_prediction_log_probability(answers[0], e, n),
                                    attn_prediction_log_probability(answers[1], e, n)};
                assert_memory_equal(&scores[0], &scores[1], sizeof scores[0]);
                assert_string_equal(attn_prediction_text(answers[0], e, n),
                                    attn_prediction_text(answers[1], e, n));
            }
        }
        forget(&all[1]);
    }
    forget(&all[0]);
    free(text);
}

static void test_no_memory(void **state) {
    (void)state;
    char *text = many_lines(150);
    for (int threads = 1; threads <= 3; threads += 2) {
        counting_allocator counter = {0};
        attn_context_options options;
        attn_context_options_init(&options);
        options.allocator = counting_allocator_functions(&counter);
        options.threads = threads;
        attn_context *context = NULL;
        assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
        answering all = {NULL, NULL, NULL};
        int64_t before = counter.allocations;
        expect_ok(context, answer(context, text, &all));
        forget(&all);
        int64_t needed = counter.allocations - before, refused = 0;
        size_t held = attn_context_memory(context);
        assert_true(needed > 100);
        for (int64_t n = 1; n <= needed; n += 1 + n / 40) {
            int64_t live = counter.live, failures = counter.failures;
            counter.fail_at = n;
            attn_status status = answer(context, text, &all);
            counter.fail_at = 0;
            if (counter.failures > failures) {
                refused++;
                assert_int_equal(status, ATTN_OUT_OF_MEMORY);
                assert_null(all.answers);
                assert_true(strlen(attn_context_error(context)) > 0);
            } else {
                expect_ok(context, status);
            }
            forget(&all);
            assert_int_equal(counter.live, live);
        }
        assert_true(refused > 20 && attn_context_memory(context) == held);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
    free(text);
}

/* A part has one thread and an error of its own, and its memory is the whole's. */
static void test_parts(void **state) {
    (void)state;
    attn_context *whole = test_best_context(3);
    at_parts *parts = NULL;
    at_fail(whole, ATTN_OVERFLOW, "before");
    expect_ok(whole, at_parts_create(whole, &parts));
    for (int i = 0; i < 3; i++) {
        attn_context *part = at_part(parts, i);
        assert_int_equal(attn_context_threads(part), 1);
        assert_string_equal(attn_context_isa(part), attn_context_isa(whole));
        assert_int_equal(attn_context_reserve(part, 1000), ATTN_OK);
        at_fail(part, ATTN_OVERFLOW, "part %d", i);
    }
    assert_string_equal(attn_context_error(whole), "before");
    assert_string_equal(attn_context_error(at_part(parts, 1)), "part 1");
    at_parts_destroy(parts);
}

/* The search on scores against one on their log-softmax in double; vocabularies of less than a block, of
 * blocks and a rest, and of more blocks than there are at their smallest. */
static void test_scores(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 64, 200, 20000};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        for (size_t v = 0; v < sizeof sizes / sizeof *sizes; v++) {
            int64_t symbols = sizes[v], stride = symbols + 3, limits[2] = {6, 4};
            float *scores = malloc(8 * (size_t)stride * sizeof *scores);
            float *logarithms = malloc(8 * (size_t)stride * sizeof *logarithms);
            assert_true(scores && logarithms);
            test_random random = {v + 1};
            attn_search_options options;
            attn_search_options_init(&options);
            options.n_best = 4;
            at_search *a = NULL, *b = NULL;
            expect_ok(context, at_search_create(context, 2, &options, limits, &a));
            expect_ok(context, at_search_create(context, 2, &options, limits, &b));
            while (at_search_rows(a) > 0) {
                int64_t rows = at_search_rows(a);
                assert_int_equal(at_search_rows(b), rows);
                assert_memory_equal(at_search_symbols(a), at_search_symbols(b),
                                    (size_t)rows * sizeof(int32_t));
                assert_memory_equal(at_search_from(a), at_search_from(b), (size_t)rows * sizeof(int64_t));
                for (int64_t r = 0; r < rows; r++) {
                    double sum = 0;
                    for (int64_t s = 0; s < symbols; s++) {
                        scores[r * stride + s] = 8 * random_normal(&random) + (s == 0 ? 6 : 0);
                        if (s == 2) scores[r * stride + s] = -INFINITY;
                        sum += exp((double)scores[r * stride + s]);
                    }
                    for (int64_t s = 0; s < symbols; s++)
                        logarithms[r * stride + s] = (float)((double)scores[r * stride + s] - log(sum));
                }
                expect_ok(context, at_search_step_logits(a, scores, stride, symbols));
                expect_ok(context, at_search_step(b, logarithms, stride, symbols));
            }
            for (int64_t e = 0; e < 2; e++) {
                const at_found *one, *other;
                int64_t count = at_search_found(a, e, &one);
                assert_int_equal(at_search_found(b, e, &other), count);
                for (int64_t n = 0; n < count; n++) {
                    assert_int_equal(one[n].length, other[n].length);
                    assert_int_equal(one[n].ended, other[n].ended);
                    assert_true(fabs(one[n].sum - other[n].sum) < 1e-4);
                }
            }
            at_search_destroy(a);
            at_search_destroy(b);
            free(scores);
            free(logarithms);
        }
    }
}

/* Rows without a probability: NaN, or nothing that is possible. */
static void test_holes(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    float scores[3][70];
    for (int s = 0; s < 70; s++) {
        scores[0][s] = s == 69 ? NAN : 1.0f;
        scores[1][s] = -INFINITY;
        scores[2][s] = s == 65 ? 3.0f : -INFINITY;
    }
    attn_search_options options;
    attn_search_options_init(&options);
    int64_t limits[3] = {1, 1, 1};
    at_search *search = NULL;
    expect_ok(context, at_search_create(context, 3, &options, limits, &search));
    expect_ok(context, at_search_step_logits(search, scores[0], 70, 70));
    assert_int_equal(at_search_rows(search), 1); /* of the last example */
    assert_int_equal(at_search_symbols(search)[0], 65);
    assert_int_equal(at_search_from(search)[0], 2);
    at_search_destroy(search);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_scores),  cmocka_unit_test(test_holes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
