/* test_ctc_head.c: answers without a decoder: prefix beam search and alignments against all paths one by one;
 * tiny networks that learn to spell what noisy rows say, the same bits after a stop, from the file and on any
 * number of threads; and what does not fit.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "heads/ctc_search.h"
#include "support/contexts.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_ctc_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- search, against all paths ---- */

enum { MOST_ROWS = 12, MOST_SYMBOLS = 6, MOST_ANSWERS = 4096 };

typedef struct answer {
    int32_t symbols[MOST_ROWS];
    int64_t count;
    double p;
} answer;

typedef struct counted {
    answer list[MOST_ANSWERS];
    int64_t count;
} counted;

static int64_t collapse(const int32_t *path, int64_t rows, int32_t *symbols, int64_t *begins) {
    int64_t count = 0;
    for (int64_t t = 0; t < rows; t++) {
        if (path[t] == 0 || (t && path[t] == path[t - 1])) continue;
        if (begins) begins[count] = t;
        symbols[count++] = path[t];
    }
    return count;
}

static int same_answer(const answer *a, const int32_t *symbols, int64_t count) {
    return a->count == count && (!count || memcmp(a->symbols, symbols, (size_t)count * sizeof *symbols) == 0);
}

/* The next path; 0 after the last. */
static int next_path(const at_ctc_rows *rows, int32_t *path, double *p) {
    int64_t t = rows->rows - 1;
    while (t >= 0 && ++path[t] == rows->symbols) path[t--] = 0;
    *p = 0;
    for (int64_t i = 0; i < rows->rows; i++) *p += (double)rows->data[i * rows->stride + path[i]];
    *p = exp(*p);
    return t >= 0;
}

static int by_probability(const void *a, const void *b) {
    double p = ((const answer *)a)->p, q = ((const answer *)b)->p;
    return p > q ? -1 : p < q;
}

/* Every answer with its probability, likeliest first. */
static counted *count_all(const at_ctc_rows *rows) {
    counted *all = calloc(1, sizeof *all);
    int32_t path[MOST_ROWS] = {0}, symbols[MOST_ROWS];
    double p = 0;
    for (int64_t i = 0; i < rows->rows; i++) p += (double)rows->data[i * rows->stride];
    p = exp(p);
    do {
        int64_t count = collapse(path, rows->rows, symbols, NULL), a = 0;
        while (a < all->count && !same_answer(&all->list[a], symbols, count)) a++;
        assert_true(a < MOST_ANSWERS);
        if (a == all->count) {
            memcpy(all->list[a].symbols, symbols, sizeof symbols);
            all->list[all->count++].count = count;
        }
        all->list[a].p += p;
    } while (next_path(rows, path, &p));
    qsort(all->list, (size_t)all->count, sizeof *all->list, by_probability);
    return all;
}

typedef struct found_answers {
    at_ctc_found found[64];
    int32_t symbols[64 * MOST_ROWS];
    int64_t count;
} found_answers;

static found_answers *search(const at_ctc_rows *rows, int64_t beam, int64_t n_best, int64_t longest) {
    attn_context *context = test_best_context(1);
    found_answers *made = calloc(1, sizeof *made);
    at_ctc_memory memory = {0};
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam;
    options.n_best = n_best;
    options.longest = longest;
    expect_ok(context, at_ctc_prepare(context, &memory, rows->rows, rows->symbols, &options));
    made->count = at_ctc_search_rows(&memory, rows, &options, made->found, made->symbols);
    assert_true(made->count >= 1 && made->count <= n_best);
    at_ctc_release(context, &memory);
    return made;
}

static at_ctc_rows random_rows(test_random *random, int64_t rows, int64_t symbols, float *data) {
    for (int64_t t = 0; t < rows; t++) {
        double sum = 0;
        float *row = data + t * (symbols + 1);
        for (int64_t s = 0; s < symbols; s++) sum += exp((double)(row[s] = 2.0f * random_normal(random)));
        for (int64_t s = 0; s < symbols; s++) row[s] -= (float)log(sum);
    }
    return (at_ctc_rows){data, rows, symbols, symbols + 1};
}

/* A beam that nothing falls out of finds the likeliest answers of all. */
static void test_wide_beam(void **state) {
    (void)state;
    test_random random = {5};
    float data[MOST_ROWS * (MOST_SYMBOLS + 1)];
    for (int round = 0; round < 60; round++) {
        int64_t symbols = random_between(&random, 2, 4), length = random_between(&random, 1, 5);
        at_ctc_rows rows = random_rows(&random, length, symbols, data);
        counted *all = count_all(&rows);
        found_answers *found = search(&rows, 1024, 20, 0);
        assert_int_equal(found->count, all->count < 20 ? all->count : 20);
        for (int64_t a = 0; a < found->count; a++) {
            assert_true(fabs(found->found[a].log_probability - log(all->list[a].p)) < 1e-9);
            assert_true(same_answer(&all->list[a], found->symbols + a * length, found->found[a].count));
            assert_true(found->found[a].ended);
        }
        free(found);
        free(all);
    }
}

/* Narrow beams: sorted, each another one, probabilities that are those of all paths. */
static void test_narrow_beam(void **state) {
    (void)state;
    test_random random = {6};
    float data[MOST_ROWS * (MOST_SYMBOLS + 1)];
    int better = 0;
    for (int round = 0; round < 200; round++) {
        int64_t symbols = random_between(&random, 2, 3), length = random_between(&random, 1, 8);
        at_ctc_rows rows = random_rows(&random, length, symbols, data);
        counted *all = count_all(&rows);
        int64_t longest = round % 4 == 3 ? 2 : 0;
        for (int64_t beam = 1; beam <= 5; beam++) {
            found_answers *found = search(&rows, beam, beam, longest);
            for (int64_t a = 0; a < found->count; a++) {
                const int32_t *said = found->symbols + a * length;
                int64_t k = 0;
                while (k < all->count && !same_answer(&all->list[k], said, found->found[a].count)) k++;
                assert_true(k < all->count);
                assert_true(fabs(found->found[a].log_probability - log(all->list[k].p)) < 1e-9);
                assert_true(a == 0 || found->found[a].log_probability <= found->found[a - 1].log_probability);
                assert_true(!longest || found->found[a].count <= longest);
                for (int64_t b = 0; b < a; b++)
                    assert_false(found->found[b].count == found->found[a].count &&
                                 memcmp(found->symbols + b * length, said,
                                        (size_t)found->found[a].count * sizeof *said) == 0);
            }
            free(found);
        }
        if (!longest) {
            found_answers *one = search(&rows, 1, 1, 0), *four = search(&rows, 4, 1, 0);
            int32_t path[MOST_ROWS], symbols_of_path[MOST_ROWS];
            for (int64_t t = 0; t < length; t++) {
                const float *row = rows.data + t * rows.stride;
                path[t] = 0;
                for (int32_t s = 1; s < symbols; s++)
                    if (row[s] > row[path[t]]) path[t] = s;
            }
            answer greedy = {.count = collapse(path, length, symbols_of_path, NULL)};
            memcpy(greedy.symbols, symbols_of_path, sizeof greedy.symbols);
            assert_true(same_answer(&greedy, one->symbols, one->found[0].count));
            better += four->found[0].log_probability > one->found[0].log_probability;
            free(one);
            free(four);
        }
        free(all);
    }
    assert_true(better > 5);
}

/* The likeliest path says nothing, but most paths say "a". */
static void test_sum_of_paths(void **state) {
    (void)state;
    const float data[] = {logf(0.6f), logf(0.4f), logf(0.6f), logf(0.4f)};
    at_ctc_rows rows = {data, 2, 2, 2};
    found_answers *greedy = search(&rows, 1, 1, 0), *beam = search(&rows, 2, 2, 0);
    assert_int_equal(greedy->found[0].count, 0);
    assert_true(fabs(greedy->found[0].log_probability - log(0.36)) < 1e-6);
    assert_int_equal(beam->found[0].count, 1);
    assert_int_equal(beam->symbols[0], 1);
    assert_true(fabs(beam->found[0].log_probability - log(0.64)) < 1e-6);
    assert_int_equal(beam->count, 2);
    assert_int_equal(beam->found[1].count, 0);
    free(greedy);
    free(beam);
}

/* Where symbols begin, by all paths that mean the answer. */
static void test_alignment(void **state) {
    (void)state;
    test_random random = {7};
    float data[MOST_ROWS * (MOST_SYMBOLS + 1)], begins[MOST_ROWS * MOST_ROWS];
    double sums[(MOST_ROWS + 2) * (2 * MOST_ROWS + 1)];
    for (int round = 0; round < 40; round++) {
        int64_t length = random_between(&random, 2, 6);
        at_ctc_rows rows = random_rows(&random, length, 3, data);
        counted *all = count_all(&rows);
        const answer *of = &all->list[random_between(&random, 0, all->count - 1)];
        double exact[MOST_ROWS][MOST_ROWS] = {{0}}, p = 0;
        int32_t path[MOST_ROWS] = {0}, symbols[MOST_ROWS];
        for (int64_t i = 0; i < length; i++) p += (double)rows.data[i * rows.stride];
        p = exp(p);
        do {
            int64_t first[MOST_ROWS], count = collapse(path, length, symbols, first);
            for (int64_t i = 0; i < count && same_answer(of, symbols, count); i++)
                exact[i][first[i]] += p / of->p;
        } while (next_path(&rows, path, &p));
        at_ctc_align(&rows, of->symbols, of->count, sums, begins, MOST_ROWS);
        for (int64_t i = 0; i < of->count; i++)
            for (int64_t t = 0; t < length; t++)
                assert_true(fabs((double)begins[i * MOST_ROWS + t] - exact[i][t]) < 1e-6);
        free(all);
    }
}

/* ---- networks that spell what rows say ---- */

enum { SEQUENCES = 500, COLUMNS = 5, MOST_LETTERS = 5, ROOM = SEQUENCES * MOST_LETTERS * 6 };

/* A letter is one to three rows of a noisy one-hot vector; a gap of one or two noisy rows follows it, or
 * nothing, if the next letter is another. */
typedef struct spelling {
    float rows[ROOM * COLUMNS];
    int64_t offsets[SEQUENCES + 1];
    char texts[SEQUENCES][MOST_LETTERS + 1];
    const char *targets[SEQUENCES];
} spelling;

static void add_rows(spelling *into, test_random *random, int64_t count, int letter, int64_t *row) {
    for (int64_t i = 0; i < count; i++, (*row)++)
        for (int c = 0; c < COLUMNS; c++)
            into->rows[*row * COLUMNS + c] = 0.15f * random_normal(random) + (c == letter ? 1.0f : 0.0f);
}

static spelling *make_spelling(uint64_t seed) {
    spelling *made = calloc(1, sizeof *made);
    test_random random = {seed};
    int64_t row = 0;
    for (int64_t e = 0; e < SEQUENCES; e++) {
        int64_t letters = random_between(&random, 1, MOST_LETTERS);
        int last = -1;
        for (int64_t i = 0; i < letters; i++) {
            int letter = (int)random_between(&random, 0, COLUMNS - 1);
            if (i) add_rows(made, &random, random_between(&random, letter == last, 2), -1, &row);
            add_rows(made, &random, random_between(&random, 1, 3), letter, &row);
            made->texts[e][i] = (char)('a' + letter);
            last = letter;
        }
        made->targets[e] = made->texts[e];
        made->offsets[e + 1] = row;
    }
    return made;
}

static attn_dataset *dataset_of(attn_context *context, const spelling *from, int64_t count) {
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_dataset_from_rows(context, from->rows, COLUMNS, from->offsets, count, &dataset));
    expect_ok(context, attn_dataset_set_targets(dataset, 1, (const char *const[]){"text"}, from->targets, 0));
    return dataset;
}

static const char *path_of(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    return path;
}

static attn_config *config_of(attn_context *context, const char *steps, const char *members) {
    const char *const sets[] = {"task",
                                "seq2seq",
                                "output.kind",
                                "ctc",
                                "training.steps",
                                steps,
                                "training.batch_units",
                                "300",
                                "output.members",
                                members,
                                "target.unit",
                                "chars",
                                NULL};
    return tiny_config_of(context, "vectors", sets);
}

static int watch(void *user, const attn_training_state *state) {
    return *(const int64_t *)user > 0 && state->event == ATTN_TRAINING_STEP &&
           state->step == *(const int64_t *)user;
}

/* One run; stop 0: to the end. */
static void train(attn_context *context, const char *members, const char *steps, const char *name,
                  int64_t stop, int resume) {
    spelling *train_rows = make_spelling(1), *dev_rows = make_spelling(2);
    attn_dataset *data = dataset_of(context, train_rows, SEQUENCES), *dev = dataset_of(context, dev_rows, 60);
    attn_config *config = config_of(context, steps, members);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &stop;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, data, dev, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    attn_dataset_destroy(dev);
    free(train_rows);
    free(dev_rows);
}

static attn_prediction *predict(attn_context *context, const attn_model *model, const attn_dataset *data,
                                int64_t beam, int64_t n_best, int alignment) {
    attn_predictor *predictor = NULL;
    attn_prediction *made = NULL;
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam;
    options.n_best = n_best;
    options.alignment = alignment;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_search(predictor, data, &options, &made));
    attn_predictor_destroy(predictor);
    return made;
}

/* Whether example e of a has the answers of example f of b. */
static void check_same(const attn_prediction *a, int64_t e, const attn_prediction *b, int64_t f) {
    assert_int_equal(attn_prediction_hypotheses(a, e), attn_prediction_hypotheses(b, f));
    for (int64_t n = 0; n < attn_prediction_hypotheses(a, e); n++) {
        double p = attn_prediction_log_probability(a, e, n), q = attn_prediction_log_probability(b, f, n);
        assert_string_equal(attn_prediction_text(a, e, n), attn_prediction_text(b, f, n));
        assert_memory_equal(&p, &q, sizeof p);
        const float *x = attn_prediction_alignment(a, e, n), *y = attn_prediction_alignment(b, f, n);
        assert_true(!x == !y);
        if (x)
            assert_memory_equal(
                x, y, (size_t)(attn_prediction_symbols(a, e, n) * attn_prediction_units(a, e)) * sizeof *x);
    }
}

static void check_ranked(const attn_prediction *made, int64_t n_best) {
    for (int64_t e = 0; e < attn_prediction_examples(made); e++) {
        int64_t count = attn_prediction_hypotheses(made, e), units = attn_prediction_units(made, e);
        assert_true(count >= 1 && count <= n_best);
        for (int64_t n = 0; n < count; n++) {
            assert_true(attn_prediction_log_probability(made, e, n) <= 1e-5);
            for (int64_t m = 0; m < n; m++)
                assert_string_not_equal(attn_prediction_text(made, e, m), attn_prediction_text(made, e, n));
            if (n)
                assert_true(attn_prediction_log_probability(made, e, n - 1) >=
                            attn_prediction_log_probability(made, e, n));
            const float *begins = attn_prediction_alignment(made, e, n);
            for (int64_t s = 0; begins && s < attn_prediction_symbols(made, e, n); s++) {
                double sum = 0;
                for (int64_t u = 0; u < units; u++) sum += (double)begins[s * units + u];
                assert_true(fabs(sum - 1) < 1e-4);
            }
        }
    }
}

/* One network, and two that answer together. */
static void test_learns(void **state) {
    (void)state;
    static const char *const members[] = {"1", "2"};
    attn_context *context = test_best_context(1), *threads = test_best_context(2);
    spelling *rows = make_spelling(3);
    attn_dataset *test = dataset_of(context, rows, SEQUENCES);
    for (int i = 0; i < 2; i++) {
        train(context, members[i], "300", "learned", 0, 0);
        attn_model *model = NULL;
        expect_ok(context, attn_model_load(context, path_of("learned"), &model));
        assert_string_equal(attn_model_output_kind(model, 0), "ctc");
        assert_int_equal(attn_model_symbols(model), COLUMNS + 1);
        attn_predictor *predictor = NULL;
        attn_report *report = NULL;
        expect_ok(context, attn_predictor_create(model, context, &predictor));
        expect_ok(context, attn_report_create(predictor, test, &report));
        double exact = attn_report_metric(report, "exact_match"),
               errors = attn_report_metric(report, "character_error_rate");
        if (!(exact > 0.95) || !(errors < 0.02)) fail_msg("exact_match is %g, errors %g", exact, errors);
        attn_report_destroy(report);
        attn_predictor_destroy(predictor);
        attn_prediction *one = predict(context, model, test, 6, 4, 1),
                        *two = predict(threads, model, test, 6, 4, 1),
                        *greedy = predict(context, model, test, 1, 1, 0);
        check_ranked(one, 4);
        int64_t right = 0;
        for (int64_t e = 0; e < SEQUENCES; e++) {
            check_same(one, e, two, e);
            right += strcmp(attn_prediction_text(greedy, e, 0), rows->texts[e]) == 0;
            assert_true(attn_prediction_log_probability(one, e, 0) >=
                        attn_prediction_log_probability(greedy, e, 0) - 1e-9);
        }
        assert_true(right > SEQUENCES * 95 / 100);
        attn_dataset *few = dataset_of(context, rows, 5);
        attn_prediction *alone = predict(context, model, few, 6, 4, 1);
        for (int64_t e = 0; e < 5; e++) check_same(one, e, alone, e);
        attn_prediction_destroy(alone);
        attn_dataset_destroy(few);
        attn_prediction_destroy(one);
        attn_prediction_destroy(two);
        attn_prediction_destroy(greedy);
        attn_model_destroy(model);
    }
    attn_dataset_destroy(test);
    free(rows);
}

/* The same bytes on two threads, and after a stop. */
static void test_resumes(void **state) {
    (void)state;
    train(test_best_context(1), "1", "40", "whole", 0, 0);
    train(test_best_context(2), "1", "40", "threads", 0, 0);
    train(test_best_context(1), "1", "40", "stopped", 23, 0);
    train(test_best_context(1), "1", "40", "stopped", 0, 1);
    char whole[100];
    snprintf(whole, sizeof whole, "%s", path_of("whole"));
    assert_true(same_files(whole, path_of("threads")));
    assert_true(same_files(whole, path_of("stopped")));
}

/* ---- texts ---- */

/* Every letter three times; the targets are the letters. */
static char *repeated(uint64_t seed, int pairs, int spaced) {
    test_random random = {seed};
    char *text = calloc((size_t)pairs, 64), *to = text;
    for (int i = 0; i < pairs; i++) {
        char word[8];
        int64_t count = random_between(&random, 2, 4);
        for (int64_t k = 0; k < count; k++) word[k] = (char)('a' + random_between(&random, 0, 2));
        for (int64_t k = 0; k < count; k++)
            to += sprintf(to, spaced ? " %c %c %c" : "%c%c%c", word[k], word[k], word[k]);
        *to++ = '\t';
        for (int64_t k = 0; k < count; k++) to += sprintf(to, "%s%c", spaced && k ? " " : "", word[k]);
        *to++ = '\n';
    }
    return text;
}

static void test_texts(void **state) {
    (void)state;
    static const struct {
        const char *unit;
        int spaced;
        const char *sets[6];
    } cases[] = {{"chars", 0, {"encoder.kind", "rnn", NULL}},
                 {"symbols", 1, {"encoder.kind", "cnn", NULL}},
                 {"words", 1, {"encoder.inner", "-1", NULL}},
                 {"subwords", 0, {"text.subwords", "6", "target.shared", "true", NULL}}};
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *sets[24] = {"task",           "seq2seq",     "output.kind", "ctc",
                                "text.unit",      cases[i].unit, "target.unit", cases[i].unit,
                                "training.steps", "150"};
        for (int k = 0; cases[i].sets[k]; k++) sets[10 + k] = cases[i].sets[k];
        char *train_text = repeated(1, 300, cases[i].spaced), *dev_text = repeated(2, 40, cases[i].spaced);
        attn_model *model = train_model(tiny_config(context, sets), train_text, dev_text, path_of("text"));
        attn_dataset *dev = parse_corpus(attn_model_config(model), "dev", dev_text);
        attn_prediction *made = predict(context, model, dev, 4, 3, 1);
        assert_int_equal(attn_prediction_examples(made), 40);
        check_ranked(made, 3);
        int right = 0;
        for (int64_t e = 0; e < 40; e++)
            right += strcmp(attn_prediction_text(made, e, 0), attn_dataset_target(dev, 0, e, 0)) == 0;
        if (right < 20) fail_msg("%s: %d of 40 are right", cases[i].unit, right);
        attn_prediction_destroy(made);
        attn_dataset_destroy(dev);
        attn_model_destroy(model);
        free(train_text);
        free(dev_text);
    }
}

/* ---- answers that are longer than the source ---- */

/* What a letter becomes: up to three symbols, two of them equal, which need a blank between them. */
static const char *const spelled[] = {"xy", "z", "xxz"};

static char *spelled_out(uint64_t seed, int pairs) {
    test_random random = {seed};
    char *text = calloc((size_t)pairs, 64), *to = text;
    for (int i = 0; i < pairs; i++) {
        char word[8] = "";
        int64_t count = random_between(&random, 2, 5);
        for (int64_t k = 0; k < count; k++) word[k] = (char)('a' + random_between(&random, 0, 2));
        to += sprintf(to, "%s\t", word);
        for (int64_t k = 0; k < count; k++) to += sprintf(to, "%s", spelled[word[k] - 'a']);
        *to++ = '\n';
    }
    return text;
}

/* Every symbol begins at the letter that it is spelled from. */
static int all_begin_there(const attn_prediction *made, int64_t e) {
    const float *begins = attn_prediction_alignment(made, e, 0);
    int64_t symbol = 0, units = attn_prediction_units(made, e), right = 0;
    for (int64_t u = 0; u < units; u++)
        for (const char *k = spelled[*attn_prediction_unit(made, e, u) - 'a']; *k; k++, symbol++)
            right += begins[symbol * units + u] > 0.5f;
    assert_int_equal(symbol, attn_prediction_symbols(made, e, 0));
    return right == symbol;
}

static void test_upsampled(void **state) {
    (void)state;
    static const char *const sets[] = {
        "task",      "seq2seq", "output.kind",     "ctc", "text.unit",      "chars", "target.unit", "chars",
        "text.stem", "1",       "target.upsample", "4",   "training.steps", "300",   NULL};
    attn_context *context = test_best_context(1), *threads = test_best_context(2);
    char *train_text = spelled_out(1, 300), *dev_text = spelled_out(2, 40);
    attn_model *model = train_model(tiny_config(context, sets), train_text, dev_text, path_of("upsampled"));
    attn_dataset *dev = parse_corpus(attn_model_config(model), "dev", dev_text);
    attn_prediction *made = predict(context, model, dev, 4, 3, 1),
                    *again = predict(threads, model, dev, 4, 3, 1);
    check_ranked(made, 3);
    int right = 0, aligned = 0;
    for (int64_t e = 0; e < 40; e++) {
        check_same(made, e, again, e);
        if (strcmp(attn_prediction_text(made, e, 0), attn_dataset_target(dev, 0, e, 0)) != 0) continue;
        right++;
        aligned += all_begin_there(made, e);
    }
    if (right < 36 || aligned < 30) fail_msg("%d of 40 are right, %d of them aligned", right, aligned);
    attn_prediction_destroy(made);
    attn_prediction_destroy(again);
    attn_dataset_destroy(dev);
    attn_model_destroy(model);
    free(train_text);
    free(dev_text);
}

/* ---- what does not fit ---- */

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *task, *kind, *part;
    } cases[] = {{"classify", "ctc", "output.kind ctc is for task seq2seq"},
                 {"tag", "ctc", "output.kind ctc is for task seq2seq"},
                 {"regress", "ctc", "output.kind ctc is for task seq2seq"},
                 {"lm", "ctc", "output.kind ctc is for task seq2seq"},
                 {"seq2seq", "labels", "output.kind labels is for tag, classify and regress"},
                 {"lm", "class", "output.kind class is for tag, classify and regress"}};
    static const char *const ctc[] = {"task",  "seq2seq",     "output.kind", "ctc", "text.unit",
                                      "chars", "target.unit", "chars",       NULL};
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, ctc);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of("refused");
    expect_refused(context, train_on(config, "abc\tab\nabcd\tabb\nabcd\taab\nabc\taab\n", "a\ta\n", &options),
                   ATTN_INVALID_ARGUMENT,
                   "train:4: the target of 3 symbols needs 4 rows (one for each, one between equal "
                   "neighbours), the source has 3: make rows shorter");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_reader_options reading;
        attn_config *other = tiny_config(
            context, (const char *const[]){"task", cases[i].task, "output.kind", cases[i].kind, NULL});
        expect_refused(context, attn_config_reader(other, &reading), ATTN_INVALID_ARGUMENT, cases[i].part);
        attn_config_destroy(other);
    }
    attn_config_destroy(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_beam),    cmocka_unit_test(test_narrow_beam),
        cmocka_unit_test(test_sum_of_paths), cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_learns),       cmocka_unit_test(test_resumes),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_upsampled),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
