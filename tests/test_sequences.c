/* test_sequences.c: tiny networks learn to answer with sequences and to continue with a text, with every
 * unit, encoder and vocabulary; the answers are the same alone, among others, on any number of threads and
 * after a file; metrics are what a count by hand says.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>
#include <attn/metrics.h>

#include "heads/next.h"
#include "model/model.h"
#include "support/contexts.h"
#include "support/predicting.h"
#include "support/training.h"
#include "train/trainer.h"

static char folder[] = "/tmp/attn_sequences_XXXXXX";
static char output[64], copy[64], vectors[64];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    snprintf(output, sizeof output, "%s/m.safetensors", folder);
    snprintf(copy, sizeof copy, "%s/copy.safetensors", folder);
    snprintf(vectors, sizeof vectors, "%s/words.vec", folder);
    FILE *file = fopen(vectors, "w");
    if (!file || fputs("a 1 0 0\nb 0 1 0\nc 0 0 1\n", file) < 0 || fclose(file) != 0) return -1;
    return 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- models ---- */

typedef struct sequence_case {
    const char *name;
    int spaced; /* the corpus */
    const char *sets[16];
    const char *vectors;
} sequence_case;

static attn_model *train(attn_context *context, const sequence_case *given, const char *epochs,
                         double *score) {
    attn_config *config = tiny_config(context, given->sets);
    static const char *const more[] = {
        "decoder.layers", "1", "output.smoothing", "0", "training.batch_units", "150", NULL};
    for (int i = 0; more[i]; i += 2) expect_ok(context, attn_config_set(config, more[i], more[i + 1]));
    expect_ok(context, attn_config_set(config, "training.epochs", epochs));
    int lm = strcmp(attn_config_get(config, "task"), "lm") == 0;
    char *train_text =
        lm ? corpus_running(1, 60) : corpus_pairs(1, strlen(epochs) > 1 ? 1000 : 150, given->spaced);
    char *dev_text = lm ? corpus_running(2, 10) : corpus_pairs(2, 40, given->spaced);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = output;
    options.force = 1;
    options.vectors = given->vectors;
    attn_status status = train_on(config, train_text, dev_text, &options);
    if (status != ATTN_OK) fail_msg("%s: %s", given->name, attn_context_error(context));
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, output, &model));
    attn_dataset *dev = parse_corpus(attn_model_config(model), "dev", dev_text);
    attn_report *report = NULL;
    expect_ok(context, report_with(model, dev, &report));
    *score = attn_report_metric(report, lm ? "bits_per_byte" : "exact_match");
    attn_report_destroy(report);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
    free(train_text);
    free(dev_text);
    return model;
}

static attn_dataset *pairs_of(attn_model *model, const char *text) {
    return parse_corpus(attn_model_config(model), "pairs", text);
}

static attn_dataset *lines_of(attn_context *context, const char *text) {
    attn_reader_options options;
    attn_dataset *lines = NULL;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_LINES;
    options.labelled = 0;
    expect_ok(context, attn_dataset_parse(context, "lines", 1, text, strlen(text), &options, &lines));
    return lines;
}

static attn_search_options search_of(int64_t beam, int64_t n_best) {
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam;
    options.n_best = n_best;
    return options;
}

/* ---- answers ---- */

/* Whether the answers to examples from .. from + count - 1 of a are those of b. */
static int same(const attn_prediction *a, int64_t from, const attn_prediction *b, int64_t count) {
    if (attn_prediction_examples(b) != count) return 0;
    for (int64_t e = 0; e < count; e++) {
        int64_t answers = attn_prediction_hypotheses(a, from + e), units = attn_prediction_units(a, from + e);
        if (answers != attn_prediction_hypotheses(b, e) || units != attn_prediction_units(b, e)) return 0;
        for (int64_t n = 0; n < answers; n++) {
            double scores[2] = {attn_prediction_log_probability(a, from + e, n),
                                attn_prediction_log_probability(b, e, n)};
            int64_t symbols = attn_prediction_symbols(a, from + e, n);
            const float *rows = attn_prediction_alignment(a, from + e, n),
                        *other = attn_prediction_alignment(b, e, n);
            if (strcmp(attn_prediction_text(a, from + e, n), attn_prediction_text(b, e, n)) != 0 ||
                memcmp(&scores[0], &scores[1], sizeof scores[0]) != 0 ||
                attn_prediction_ended(a, from + e, n) != attn_prediction_ended(b, e, n) ||
                symbols != attn_prediction_symbols(b, e, n) || !rows != !other ||
                (rows && memcmp(rows, other, (size_t)(symbols * units) * sizeof *rows) != 0))
                return 0;
        }
    }
    return 1;
}

/* Sorted, each another one, alignments that are shares. */
static void check_answers(const attn_prediction *answers, int64_t n_best) {
    for (int64_t e = 0; e < attn_prediction_examples(answers); e++) {
        int64_t count = attn_prediction_hypotheses(answers, e), units = attn_prediction_units(answers, e);
        assert_true(count >= 1 && count <= n_best);
        for (int64_t n = 0; n < count; n++) {
            int64_t symbols = attn_prediction_symbols(answers, e, n);
            if (n > 0) {
                int ended[2] = {attn_prediction_ended(answers, e, n - 1),
                                attn_prediction_ended(answers, e, n)};
                assert_true(ended[0] >= ended[1]);
                if (ended[0] == ended[1])
                    assert_true(attn_prediction_log_probability(answers, e, n - 1) >=
                                attn_prediction_log_probability(answers, e, n));
            }
            assert_true(attn_prediction_log_probability(answers, e, n) <= 0);
            for (int64_t m = 0; m < n; m++) {
                int differs = attn_prediction_symbols(answers, e, m) != symbols;
                for (int64_t s = 0; s < symbols && !differs; s++)
                    differs = strcmp(attn_prediction_symbol(answers, e, m, s),
                                     attn_prediction_symbol(answers, e, n, s)) != 0;
                assert_true(differs);
            }
            const float *rows = attn_prediction_alignment(answers, e, n);
            assert_true(rows || symbols == 0 || units == 0);
            for (int64_t s = 0; rows && s < symbols; s++) {
                double sum = 0;
                for (int64_t u = 0; u < units; u++) {
                    assert_true(rows[s * units + u] >= 0);
                    sum += (double)rows[s * units + u];
                }
                assert_true(fabs(sum - 1) < 1e-4);
            }
        }
    }
}

/* The same alone, on two threads, and of a file that was written again. */
static void check_invariance(const char *name, attn_model *model, const char *text) {
    attn_context *context = test_best_context(1), *two = test_best_context(2);
    attn_search_options options = search_of(3, 3);
    options.alignment = 1;
    attn_dataset *lines = lines_of(context, text), *same_lines = lines_of(two, text);
    attn_prediction *all = NULL, *other = NULL;
    attn_model *loaded = NULL;
    expect_ok(context, search_with(model, lines, &options, &all));
    check_answers(all, 3);
    expect_ok(context, attn_model_save(model, copy));
    expect_ok(two, attn_model_load(two, copy, &loaded));
    expect_ok(two, search_with(loaded, same_lines, &options, &other));
    if (!same(all, 0, other, attn_prediction_examples(all)))
        fail_msg("%s: another answer on two threads", name);
    attn_prediction_destroy(other);
    model_destroy(loaded);
    for (int64_t e = 0; e < attn_dataset_examples(lines); e++) {
        attn_dataset *one = NULL;
        expect_ok(context, attn_dataset_select(lines, &e, 1, &one));
        expect_ok(context, search_with(model, one, &options, &other));
        if (!same(all, e, other, 1)) fail_msg("%s: example %d alone is not the same", name, (int)e);
        attn_prediction_destroy(other);
        attn_dataset_destroy(one);
    }
    attn_prediction_destroy(all);
    attn_dataset_destroy(lines);
    attn_dataset_destroy(same_lines);
}

static const char sources[] = "abc\n\na\ncba\nb c a\n zzz \xe6\x88\x91\ncccc\nab\nabcabcabcabcabcabc\naabb\n";

static void test_seq2seq_learns(void **state) {
    (void)state;
/* Encoders that see a window learn it more slowly. */
#define WIDER "encoder.columns", "32", "training.learning_rate", "0.005"
    static const sequence_case cases[] = {
        {"attention", 0, {"task", "seq2seq", WIDER}, NULL},
        {"rnn", 0, {"task", "seq2seq", WIDER, "encoder.kind", "rnn"}, NULL},
        {"cnn", 0, {"task", "seq2seq", WIDER, "encoder.kind", "cnn"}, NULL},
        {"fc", 0, {"task", "seq2seq", WIDER, "encoder.kind", "fc"}, NULL},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double exact;
        attn_model *model = train(context, &cases[i], "20", &exact);
        if (!(exact > (i < 2 ? 0.9 : 0.7))) fail_msg("%s: exact_match is %g", cases[i].name, exact);
        assert_string_equal(attn_config_get(attn_model_config(model), "text.unit"), "chars");
        assert_string_equal(attn_config_get(attn_model_config(model), "target.unit"), "symbols");
        assert_string_equal(attn_config_get(attn_model_config(model), "target.longest"), "10");
        assert_string_equal(attn_config_get(attn_model_config(model), "training.examples"), "1000");
        check_invariance(cases[i].name, model, sources);
        model_destroy(model);
    }
}

/* Units of each kind, vocabularies together and apart, tables tied and not, features, positions: a few steps
 * each. */
static void test_seq2seq_kinds(void **state) {
    (void)state;
    static const sequence_case cases[] = {
        {"symbols, shared",
         1,
         {"task", "seq2seq", "text.unit", "symbols", "target.shared", "true", "text.buckets", "0"},
         NULL},
        {"symbols, shared, not tied",
         1,
         {"task", "seq2seq", "text.unit", "symbols", "target.shared", "true", "text.buckets", "0",
          "target.tied", "false"},
         NULL},
        {"symbols, shared, with features",
         1,
         {"task", "seq2seq", "text.unit", "symbols", "target.shared", "true", "text.context", "2"},
         NULL},
        {"chars, shared",
         0,
         {"task", "seq2seq", "text.unit", "chars", "target.unit", "chars", "target.shared", "true",
          "text.buckets", "0"},
         NULL},
        {"bytes", 0, {"task", "seq2seq", "text.unit", "bytes"}, NULL},
        {"subwords", 1, {"task", "seq2seq", "text.unit", "subwords"}, NULL},
        {"subwords apart",
         1,
         {"task", "seq2seq", "text.unit", "subwords", "target.shared", "false", "target.subwords", "9"},
         NULL},
        {"words", 1, {"task", "seq2seq", "text.unit", "words", "target.tied", "false"}, NULL},
        {"words and vectors", 1, {"task", "seq2seq", "text.unit", "words"}, vectors},
        {"lower case, two networks",
         0,
         {"task", "seq2seq", "text.lowercase", "true", "output.members", "2"},
         NULL},
        {"rare ones unknown", 0, {"task", "seq2seq", "target.min_count", "250"}, NULL},
        {"learned", 0, {"task", "seq2seq", "encoder.position", "learned", "encoder.longest", "6"}, NULL},
        {"rotary, one key head",
         0,
         {"task", "seq2seq", "encoder.position", "rotary", "encoder.kv_heads", "1"},
         NULL},
        {"relative", 0, {"task", "seq2seq", "encoder.position", "relative"}, NULL},
        {"alibi, stem", 0, {"task", "seq2seq", "encoder.position", "alibi", "text.stem", "3"}, NULL},
        {"rms, gated, post-norm",
         0,
         {"task", "seq2seq", "encoder.norm", "rms", "encoder.gated", "true", "encoder.norm_first", "false"},
         NULL},
        {"embedding rate, wide rnn",
         0,
         {"task", "seq2seq", "text.embedding_rate", "3", "encoder.kind", "rnn", "encoder.hidden", "12",
          "encoder.residual", "false"},
         NULL},
        {"mix",
         0,
         {"task", "seq2seq", "encoder.layers", "3", "encoder.mix", "rnn,cnn,attention", "text.longest", "5"},
         NULL},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double exact;
        attn_model *model = train(context, &cases[i], "1", &exact);
        assert_true(exact >= 0 && exact <= 1);
        check_invariance(cases[i].name, model, sources);
        model_destroy(model);
    }
}

/* ---- odd sources and limits ---- */

static void test_odd_sources(void **state) {
    (void)state;
    static const sequence_case one = {"odd", 0, {"task", "seq2seq"}, NULL};
    attn_context *context = test_best_context(1);
    double exact;
    attn_model *model = train(context, &one, "20", &exact);
    attn_search_options options = search_of(4, 1);
    attn_prediction *answers = NULL;
    options.alignment = 1;

    attn_dataset *lines = lines_of(context, "\nab\n");
    expect_ok(context, search_with(model, lines, &options, &answers));
    assert_string_equal(attn_prediction_text(answers, 0, 0), ""); /* nothing is answered to nothing */
    assert_true(attn_prediction_ended(answers, 0, 0) && attn_prediction_symbols(answers, 0, 0) == 0);
    assert_string_equal(attn_prediction_text(answers, 1, 0), "B A");
    assert_int_equal(attn_prediction_symbols(answers, 1, 0), 2);
    assert_string_equal(attn_prediction_symbol(answers, 1, 0, 1), "A");
    assert_string_equal(attn_prediction_unit(answers, 1, 0), "a");
    assert_true(attn_prediction_log_probability(answers, 1, 0) > log(0.5));
    /* out of range */
    assert_null(attn_prediction_text(answers, 2, 0));
    assert_null(attn_prediction_text(answers, 0, 1));
    assert_null(attn_prediction_text(answers, -1, 0));
    assert_null(attn_prediction_symbol(answers, 1, 0, 2));
    assert_null(attn_prediction_unit(answers, 1, 2));
    assert_null(attn_prediction_alignment(answers, 1, 1));
    assert_int_equal(attn_prediction_hypotheses(answers, 2), 0);
    assert_true(isnan(attn_prediction_log_probability(answers, 5, 0)));
    attn_prediction_destroy(answers);
    attn_dataset_destroy(lines);

    char *text = calloc(30000, 1); /* 5,000 symbols; 12,000, of which text.longest are seen; unknown ones */
    assert_non_null(text);
    for (int i = 0; i < 5000; i++) strcat(text + i, "a");
    strcat(text, "\n");
    for (int i = 0; i < 12000; i++) strcat(text + 5001 + i, "b");
    strcat(text, "\n\xf0\x9f\x98\x80\xe6\x88\x91?\n");
    lines = lines_of(context, text);
    expect_ok(context, search_with(model, lines, &options, &answers));
    assert_int_equal(attn_prediction_units(answers, 0), 5000);
    assert_int_equal(attn_prediction_units(answers, 1), 12000);
    assert_int_equal(attn_prediction_units(answers, 2), 3);
    check_answers(answers, 1);
    const float *rows = attn_prediction_alignment(answers, 1, 0);
    if (rows) assert_true(rows[10000] == 0 && rows[9999] > 0); /* beyond text.longest nothing was seen */
    attn_prediction_destroy(answers);
    attn_dataset_destroy(lines);
    free(text);

    /* the limit: what would continue is cut and says so; what ends there has ended */
    lines = lines_of(context, "abca\ncb\n");
    for (int64_t longest = 1; longest <= 4; longest++) {
        options = search_of(longest % 2 ? 1 : 4, 1);
        options.longest = longest;
        expect_ok(context, search_with(model, lines, &options, &answers));
        for (int64_t e = 0; e < 2; e++) assert_true(attn_prediction_symbols(answers, e, 0) <= longest);
        if (longest == 2 || longest == 4) assert_string_equal(attn_prediction_text(answers, 1, 0), "B C");
        if (longest == 4) {
            assert_string_equal(attn_prediction_text(answers, 0, 0), "A C B A");
            assert_true(attn_prediction_ended(answers, 0, 0));
        }
        if (longest == 1) {
            assert_false(attn_prediction_ended(answers, 0, 0));
            assert_int_equal(attn_prediction_symbols(answers, 0, 0), 1);
        }
        attn_prediction_destroy(answers);
    }
    attn_dataset_destroy(lines);

    /* a network that never ends: its end is made impossible */
    attn_parameter *bias = attn_parameters_find(attn_model_parameters(model), "symbols.bias");
    attn_tensor value = attn_parameter_value(bias);
    ((float *)value.data)[0] = -1000;
    attn_parameter_changed(bias);
    lines = lines_of(context, "abca\ncb\n");
    options = search_of(3, 3);
    expect_ok(context, search_with(model, lines, &options, &answers));
    for (int64_t e = 0; e < 2; e++) {
        for (int64_t n = 0; n < attn_prediction_hypotheses(answers, e); n++) {
            assert_int_equal(attn_prediction_symbols(answers, e, n), 10); /* target.longest */
            assert_false(attn_prediction_ended(answers, e, n));
        }
    }
    attn_prediction_destroy(answers);
    /* and one whose numbers are none */
    ((float *)value.data)[0] = NAN;
    attn_parameter_changed(bias);
    answers = NULL;
    expect_refused(context, search_with(model, lines, &options, &answers), ATTN_NOT_FINITE, "not a number");
    assert_null(answers);
    attn_dataset_destroy(lines);
    model_destroy(model);
}

/* A model that knows no capitals is right where it says the small letters. */
static void test_lower_case(void **state) {
    (void)state;
    static const sequence_case one = {"lower", 0, {"task", "seq2seq", "text.lowercase", "true"}, NULL};
    attn_context *context = test_best_context(1);
    double exact;
    attn_model *model = train(context, &one, "40", &exact);
    assert_true(exact > 0.5);
    attn_dataset *pairs = pairs_of(model, "Ab\tB A\nAB\tb a\nab\tA B\n");
    attn_report *report = NULL;
    expect_ok(context, report_with(model, pairs, &report));
    assert_float_equal(attn_report_metric(report, "exact_match"), 2.0 / 3, 1e-9);
    attn_report_destroy(report);
    attn_dataset_destroy(pairs);
    model_destroy(model);
}

/* Rows with the same source are held out together: what a model is chosen by, it has not learned. */
static void test_hold_out(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "seq2seq", NULL};
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, sets);
    char *text = calloc(300, 16);
    assert_non_null(text);
    for (int i = 0; i < 300; i++) sprintf(text + strlen(text), "w%d\t%c %d\n", i % 100, 'a' + i % 7, i / 100);
    attn_dataset *pairs = parse_corpus(config, "train", text);
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, pairs, NULL, NULL, &trainer));
    const attn_dataset *dev = trainer->courses[0].dev.dataset, *train_set = trainer->courses[0].train.dataset;
    int64_t out = attn_dataset_examples(dev), in = attn_dataset_examples(train_set);
    assert_int_equal(out + in, 300);
    assert_true(out >= 9 && out <= 75 && out % 3 == 0);
    for (int64_t d = 0; d < out; d++)
        for (int64_t t = 0; t < in; t++)
            assert_string_not_equal(attn_dataset_token(dev, d, 0), attn_dataset_token(train_set, t, 0));
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(pairs);
    attn_config_destroy(config);
    free(text);
}

static int count_evaluations(void *user, const attn_training_state *state) {
    if (state->event == ATTN_TRAINING_DEV) ++*(int *)user;
    return 0;
}

/* A run does not end for want of a better score while no answer is right yet; and one long target among those
 * that are learned from does not make development answers as long. */
static void test_nothing_right_yet(void **state) {
    (void)state;
    static const char *const sets[] = {"task",
                                       "seq2seq",
                                       "training.steps",
                                       "24",
                                       "training.patience",
                                       "2",
                                       "training.batch_units",
                                       "20",
                                       "training.learning_rate",
                                       "1e-9",
                                       NULL};
    attn_context *context = test_best_context(1);
    attn_config *config = tiny_config(context, sets);
    char *text = calloc(1, 4000);
    assert_non_null(text);
    strcpy(text, "ab\tx y\nba\ty x\nbb\ty y\naa\tx x\nabab\t");
    for (int i = 0; i < 700; i++) strcat(text, "x y ");
    strcat(text, "\n");
    attn_dataset *pairs = parse_corpus(config, "train", text);
    attn_dataset *dev = parse_corpus(config, "dev", "ab\tx y x y x y\n");
    int seen = 0;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.watch = count_evaluations;
    options.user = &seen;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, pairs, dev, &options, &trainer));
    /* answers of an evaluation have twice as many symbols as the longest right one, and 10, at most */
    assert_int_equal(((const at_sequence_targets *)(const void *)trainer->courses[0].dev.targets[0])->longest,
                     6);
    expect_ok(context, attn_trainer_run(trainer));
    assert_true(seen > 4);
    assert_int_equal(trainer->made.step, 24);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(pairs);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
    free(text);
}

static void test_arguments(void **state) {
    (void)state;
    static const sequence_case one = {"arguments", 0, {"task", "seq2seq"}, NULL};
    attn_context *context = test_best_context(1);
    double exact;
    attn_model *model = train(context, &one, "1", &exact);
    attn_dataset *lines = lines_of(context, "ab\n"), *nothing = NULL;
    attn_prediction *answers = NULL;
    attn_search_options options = search_of(4, 1);
    assert_int_equal(search_with(NULL, lines, NULL, &answers), ATTN_INVALID_ARGUMENT);
    assert_int_equal(search_with(model, NULL, NULL, &answers), ATTN_INVALID_ARGUMENT);
    assert_int_equal(search_with(model, lines, NULL, NULL), ATTN_INVALID_ARGUMENT);
    options.size = 3;
    expect_refused(context, search_with(model, lines, &options, &answers), ATTN_INVALID_ARGUMENT, "init");
    static const int64_t wrong[][3] = {{0, 1, 0},         {4, 5, 0},  {4, 0, 0},         {4, INT64_MAX, 0},
                                       {INT64_MAX, 1, 0}, {4, 1, -1}, {4, 1, INT64_MAX}, {4, 1, 1000001}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options = search_of(wrong[i][0], wrong[i][1]);
        options.longest = wrong[i][2];
        expect_refused(context, search_with(model, lines, &options, &answers), ATTN_INVALID_ARGUMENT,
                       wrong[i][2] ? "longest" : "beam");
        assert_null(answers);
    }
    expect_ok(context, attn_dataset_select(lines, NULL, 0, &nothing));
    expect_ok(context, search_with(model, nothing, NULL, &answers));
    assert_int_equal(attn_prediction_examples(answers), 0);
    attn_prediction_destroy(answers);
    attn_prediction_destroy(NULL);
    answers = NULL;
    char *said = NULL;
    expect_refused(context, continue_with(model, "a", NULL, &said), ATTN_UNSUPPORTED, "does not continue");
    /* predicting is searching with the settings */
    attn_prediction *prediction[3] = {NULL, NULL, NULL};
    expect_ok(context, predict_with(model, lines, 0, &prediction[0]));
    expect_ok(context, predict_text_with(model, "ab", 0, &prediction[1]));
    expect_ok(context, search_with(model, lines, NULL, &prediction[2]));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attn_prediction_hypotheses(prediction[i], 0), 1);
        assert_string_equal(attn_prediction_text(prediction[i], 0, 0),
                            attn_prediction_text(prediction[0], 0, 0));
        assert_true(attn_prediction_log_probability(prediction[i], 0, 0) ==
                    attn_prediction_log_probability(prediction[0], 0, 0));
    }
    for (int i = 0; i < 3; i++) attn_prediction_destroy(prediction[i]);
    attn_report *report = NULL;
    expect_refused(context, report_with(model, lines, &report), ATTN_INVALID_ARGUMENT, "has no targets");
    attn_dataset *pairs = pairs_of(model, "a\tA\n"), *no_pairs = NULL;
    expect_ok(context, attn_dataset_select(pairs, NULL, 0, &no_pairs));
    expect_refused(context, report_with(model, no_pairs, &report), ATTN_INVALID_ARGUMENT,
                   "has no targets to compare with");
    /* tokens */
    attn_reader_options reader;
    attn_dataset *tokens = NULL;
    static const char tagged[] = "a\tX\nb\tY\n\n";
    attn_reader_options_init(&reader);
    reader.format = ATTN_FORMAT_COLUMNS;
    expect_ok(context, attn_dataset_parse(context, "tokens", 1, tagged, strlen(tagged), &reader, &tokens));
    expect_refused(context, search_with(model, tokens, NULL, &answers), ATTN_UNSUPPORTED, "tokens");
    expect_refused(context, report_with(model, tokens, &report), ATTN_INVALID_ARGUMENT, "has no targets");
    static const char *const tasks[] = {"seq2seq", "lm"};
    for (int t = 0; t < 2; t++) {
        const char *sets[] = {"task", tasks[t], NULL};
        attn_config *config = tiny_config(context, sets);
        attn_trainer *trainer = NULL;
        expect_refused(context, attn_trainer_create(config, tokens, NULL, NULL, &trainer),
                       ATTN_INVALID_ARGUMENT, t ? "lines of text" : "pairs");
        assert_null(trainer);
        attn_config_destroy(config);
    }
    assert_null(report);
    attn_dataset_destroy(tokens);
    attn_dataset_destroy(pairs);
    attn_dataset_destroy(no_pairs);
    attn_dataset_destroy(nothing);
    attn_dataset_destroy(lines);
    model_destroy(model);
}

/* ---- metrics of pairs ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Edits between two rows of pieces. */
static int64_t edits(char (*a)[16], int64_t m, char (*b)[16], int64_t n) {
    int64_t table[64][64];
    for (int64_t i = 0; i <= m; i++) {
        for (int64_t j = 0; j <= n; j++) {
            if (!i || !j) {
                table[i][j] = i + j;
                continue;
            }
            int64_t changed = table[i - 1][j - 1] + (strcmp(a[i - 1], b[j - 1]) != 0);
            table[i][j] = least(changed, 1 + least(table[i - 1][j], table[i][j - 1]));
        }
    }
    return table[m][n];
}

/* Between spaces, or byte by byte (texts here are ASCII). */
static int64_t pieces(const char *text, int spaced, char (*into)[16]) {
    int64_t count = 0;
    for (const char *at = text; *at;) {
        size_t length = spaced ? strcspn(at, " ") : 1;
        if (length) {
            assert_true(length < 16 && count < 63);
            memset(into[count], 0, 16);
            memcpy(into[count++], at, length);
        }
        at += length;
        if (spaced && *at) at++;
    }
    return count;
}

typedef struct hand_count {
    double exact, word_errors, piece_errors;
} hand_count;

static hand_count count_by_hand(const attn_dataset *pairs, const attn_prediction *answers, int symbols) {
    int64_t examples = attn_dataset_examples(pairs), questions = 0, exact = 0, wrong = 0, length = 0,
            word_wrong = 0, words = 0;
    for (int64_t i = 0; i < examples; i++) {
        const char *source = attn_dataset_token(pairs, i, 0), *answer = attn_prediction_text(answers, i, 0);
        int before = 0;
        for (int64_t j = 0; j < i; j++) before |= strcmp(source, attn_dataset_token(pairs, j, 0)) == 0;
        if (before) continue;
        char said[64][16], right[64][16];
        int64_t best = -1, best_length = 0, best_row = 0, hit = 0, said_count = pieces(answer, symbols, said);
        for (int64_t j = i; j < examples; j++) {
            if (strcmp(source, attn_dataset_token(pairs, j, 0)) != 0) continue;
            const char *target = attn_dataset_target(pairs, 0, j, 0);
            int64_t count = pieces(target, symbols, right), distance = edits(said, said_count, right, count);
            hit |= strcmp(target, answer) == 0;
            if (best >= 0 && distance >= best) continue;
            best = distance;
            best_length = count;
            best_row = j;
        }
        questions++;
        exact += hit;
        wrong += best;
        length += best_length;
        if (symbols) {
            word_wrong += !hit;
            words++;
        } else {
            int64_t a = pieces(answer, 1, said),
                    b = pieces(attn_dataset_target(pairs, 0, best_row, 0), 1, right);
            word_wrong += edits(said, a, right, b);
            words += b;
        }
    }
    return (hand_count){(double)exact / (double)questions, (double)word_wrong / (double)words,
                        (double)wrong / (double)length};
}

static void test_report(void **state) {
    (void)state;
    static const sequence_case kinds[] = {
        {"symbols", 0, {"task", "seq2seq"}, NULL},
        {"chars", 0, {"task", "seq2seq", "target.unit", "chars"}, NULL},
        {"subwords", 1, {"task", "seq2seq", "text.unit", "subwords"}, NULL}};
    /* several right answers, one of them found, none of them, sources that stand apart */
    static const char *const texts[2] = {
        "ab\tX Y\nabc\tC B A\nab\tB A\nab\tB\nc\tA A\nca\tC\nc\tB C A\nba\tA B\nc\tB B\n",
        "a b\tX Y\na b c\tC B A\na b\tB A\na b\tB\nc\tA A\nc a\tC\nc\tB C A\n"};
    attn_context *context = test_best_context(1);
    for (int k = 0; k < 3; k++) {
        double exact;
        attn_model *model = train(context, &kinds[k], k ? "5" : "20", &exact);
        attn_dataset *pairs = pairs_of(model, texts[kinds[k].spaced]);
        for (int64_t beam = 1; beam <= 5; beam += 4) {
            attn_search_options options = search_of(beam, 1);
            attn_report *report = NULL;
            attn_prediction *answers = NULL;
            expect_ok(context, report_search(model, pairs, &options, 0, &report));
            expect_ok(context, search_with(model, pairs, &options, &answers));
            hand_count by_hand = count_by_hand(pairs, answers, k == 0);
            assert_true(attn_report_metric(report, "exact_match") == by_hand.exact);
            assert_true(attn_report_metric(report, "word_error_rate") == by_hand.word_errors);
            assert_true(attn_report_metric(report, k ? "character_error_rate" : "symbol_error_rate") ==
                        by_hand.piece_errors);
            assert_true(isnan(attn_report_metric(report, k ? "symbol_error_rate" : "character_error_rate")));
            if (k == 0) assert_true(by_hand.exact >= 0.5 && by_hand.exact < 1); /* both happen */
            int64_t examples = attn_dataset_examples(pairs);
            const char *said[16], *right[16];
            for (int64_t e = 0; e < examples; e++) {
                said[e] = attn_prediction_text(answers, e, 0);
                right[e] = attn_dataset_target(pairs, 0, e, 0);
            }
            attn_bleu bleu = {.size = sizeof bleu};
            double chrf;
            expect_ok(context, attn_metric_bleu(context, said, right, examples, 0, &bleu));
            expect_ok(context, attn_metric_chrf(context, said, right, examples, 0, &chrf));
            assert_true(attn_report_metric(report, "bleu") == bleu.score);
            assert_true(attn_report_metric(report, "chrf") == chrf);
            assert_non_null(strstr(attn_report_json(report), "\"exact_match\""));
            assert_int_equal(attn_report_metrics(report), 5);
            attn_report_destroy(report);
            attn_prediction_destroy(answers);
        }
        attn_dataset_destroy(pairs);
        if (k == 0) { /* more spaces are no other symbols */
            attn_report *report = NULL;
            pairs = pairs_of(model, "ab\tB  A\n");
            expect_ok(context, report_with(model, pairs, &report));
            assert_true(attn_report_metric(report, "exact_match") == 1);
            assert_true(attn_report_metric(report, "word_error_rate") == 0);
            attn_report_destroy(report);
            attn_dataset_destroy(pairs);
        }
        model_destroy(model);
    }
}

/* ---- running text ---- */

static void test_lm_learns(void **state) {
    (void)state;
    static const sequence_case cases[] = {
        {"attention", 0, {"task", "lm"}, NULL},
        {"rnn", 0, {"task", "lm", "encoder.kind", "rnn"}, NULL},
        {"cnn", 0, {"task", "lm", "encoder.kind", "cnn"}, NULL},
        {"fc", 0, {"task", "lm", "encoder.kind", "fc"}, NULL},
        {"bytes", 0, {"task", "lm", "text.unit", "bytes"}, NULL},
        {"subwords",
         0,
         {"task", "lm", "text.unit", "subwords", "text.subwords", "60", "text.buckets", "0"},
         NULL},
        {"two networks", 0, {"task", "lm", "output.members", "2"}, NULL},
        {"tied", 0, {"task", "lm", "text.buckets", "0", "text.longest", "24"}, NULL},
        {"learned", 0, {"task", "lm", "encoder.position", "learned", "encoder.longest", "16"}, NULL},
        {"vectors", 0, {"task", "lm"}, vectors},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bits;
        attn_model *model = train(context, &cases[i], "15", &bits);
        if (!(bits > 0 && bits < 1)) fail_msg("%s: %g bits per byte", cases[i].name, bits); /* of bytes 8 */
        assert_string_equal(attn_model_task(model), "lm");
        assert_int_equal(attn_model_outputs(model), 1);
        assert_string_equal(attn_model_output_kind(model, 0), "next");
        assert_true(attn_predictor_has(predictor_of(model), "temperature") &&
                    !attn_predictor_has(predictor_of(model), "beam"));
        model_destroy(model);
    }
}

/* Scores of what comes after each unit of a text, as one chunk. rows x symbols. */
static double *scores_of(attn_model *model, const char *text, int64_t *rows, int32_t **said) {
    attn_context *context = model->context;
    const at_stage *stage = at_main_stage(model);
    const at_head *head = stage->heads[0];
    attn_dataset *lines = lines_of(context, text);
    at_encoded *encoded = NULL;
    at_targets **targets = NULL;
    at_batch *batch = NULL;
    attn_tape *tape = NULL;
    expect_ok(context, at_stage_encode(stage, context, NULL, lines, NULL, &encoded));
    expect_ok(context, at_stage_targets(stage, context, encoded, &targets));
    *rows = encoded->rows - 1;
    *said = calloc((size_t)*rows + 1, sizeof **said);
    assert_non_null(*said);
    at_segment whole = {0, 0, *rows, 0};
    at_segments segments = {&whole, 1, 1};
    int64_t zero = 0, symbols = attn_model_symbols(model);
    expect_ok(context, stage->forward.create_batch(&stage->forward, context, &batch));
    expect_ok(context, stage->forward.fill(&stage->forward, encoded, &segments, &zero, 1, batch));
    expect_ok(context, head->kind->gather(head, targets[0], &segments, &zero, 1, batch));
    memcpy(*said, ((const at_next_targets *)(const void *)targets[0])->batch_symbols,
           (size_t)*rows * sizeof **said);
    (*said)[*rows] = -1; /* nothing comes after the last */
    expect_ok(context, attn_tape_create(context, &tape));
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = at_sequence_logits(head, head->layers[0], tape, at_stage_rows(stage, 0, tape, batch));
    expect_ok(context, attn_tape_status(tape));
    double *scores = calloc((size_t)(*rows * symbols), sizeof *scores);
    assert_non_null(scores);
    for (int64_t r = 0; r < *rows; r++)
        for (int64_t s = 0; s < symbols; s++)
            scores[r * symbols + s] = (double)attn_variable_data(x)[r * attn_variable_stride(x) + s];
    attn_tape_destroy(tape);
    stage->forward.free_batch(&stage->forward, batch);
    at_stage_free_targets(stage, context, targets);
    stage->input->kind->free_encoded(encoded);
    attn_dataset_destroy(lines);
    return scores;
}

static double loss_by_hand(attn_model *model, const char *text, int64_t *unknown) {
    int64_t rows, symbols = attn_model_symbols(model);
    int32_t *said = NULL;
    double *scores = scores_of(model, text, &rows, &said), loss = 0;
    *unknown = 0;
    for (int64_t r = 0; r < rows; r++) {
        double highest = -INFINITY, sum = 0;
        const double *row = scores + r * symbols;
        for (int64_t s = 0; s < symbols; s++) highest = row[s] > highest ? row[s] : highest;
        for (int64_t s = 0; s < symbols; s++) sum += exp(row[s] - highest);
        loss += highest + log(sum) - row[said[r]];
        *unknown += said[r] == 0;
    }
    free(scores);
    free(said);
    return loss;
}

static void test_lm_report(void **state) {
    (void)state;
    static const char text[] = "the cat ran.\n\n a dog \xe2\x82\xacZ\n";
    static const sequence_case cases[] = {{"chars", 0, {"task", "lm"}, NULL},
                                          {"bytes", 0, {"task", "lm", "text.unit", "bytes"}, NULL}};
    attn_context *context = test_best_context(1);
    for (int k = 0; k < 2; k++) {
        double bits;
        attn_model *model = train(context, &cases[k], "5", &bits);
        attn_dataset *lines = pairs_of(model, text);
        attn_report *report = NULL;
        expect_ok(context, report_with(model, lines, &report));
        int64_t unknown, units = k ? (int64_t)strlen(text) : (int64_t)strlen(text) - 2;
        double loss = loss_by_hand(model, text, &unknown) + (k ? 0 : 21 * log(2.0) * (double)unknown);
        assert_int_equal(unknown, k ? 0 : 2);
        assert_true(attn_report_metric(report, "unknown_units") == (double)unknown);
        assert_true(fabs(attn_report_metric(report, "loss") / (loss / (double)units) - 1) < 1e-5);
        assert_true(fabs(attn_report_metric(report, "perplexity") / exp(loss / (double)units) - 1) < 1e-4);
        assert_true(
            fabs(attn_report_metric(report, "bits_per_byte") / (loss / log(2.0) / (double)strlen(text)) - 1) <
            1e-5);
        attn_report_destroy(report);
        attn_dataset_destroy(lines);
        model_destroy(model);
    }
}

/* In pieces, too: every unit is said once, whatever the length of chunks. */
static void test_lm_chunks(void **state) {
    (void)state;
    static const char *const lengths[] = {"1", "2", "5", "24", "25", "1000"};
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        sequence_case one = {"chunks", 0, {"task", "lm", "text.longest", lengths[i]}, NULL};
        double bits;
        attn_model *model = train(context, &one, "1", &bits);
        assert_true(isfinite(bits) && bits > 0);
        char *text = corpus_running(5, 30);
        attn_dataset *lines = pairs_of(model, text);
        const at_stage *stage = at_main_stage(model);
        at_segments segments = {.count = 0};
        at_encoded *encoded = NULL;
        at_targets **targets = NULL;
        expect_ok(context, at_stage_encode(stage, context, NULL, lines, NULL, &encoded));
        expect_ok(context, at_stage_targets(stage, context, encoded, &targets));
        int64_t longest = atoi(lengths[i]), next = 0;
        expect_ok(context,
                  at_next_segments(stage->heads[0], &stage->forward, encoded, targets[0], &segments));
        for (int64_t s = 0; s < segments.count; s++) {
            const at_segment *chunk = &segments.list[s];
            assert_true(chunk->first == next && chunk->count >= 1 && chunk->count <= longest);
            next += chunk->count;
        }
        assert_int_equal(next, encoded->rows - 1);
        at_segments_free(context, &segments);
        at_stage_free_targets(stage, context, targets);
        stage->input->kind->free_encoded(encoded);
        attn_dataset_destroy(lines);
        model_destroy(model);
        free(text);
    }
}

/* No row knows what comes after it: with another ending, what was said before is the same bits. */
static void test_lm_looks_back(void **state) {
    (void)state;
    static const sequence_case cases[] = {
        {"attention", 0, {"task", "lm", "text.neighbours", "2"}, NULL},
        {"rnn", 0, {"task", "lm", "encoder.kind", "rnn"}, NULL},
        {"cnn", 0, {"task", "lm", "encoder.kind", "cnn", "encoder.dilation", "2"}, NULL},
        {"fc", 0, {"task", "lm", "encoder.kind", "fc"}, NULL},
        {"mix",
         0,
         {"task", "lm", "encoder.layers", "4", "encoder.mix", "rnn,cnn,attention,fc", "text.stem", "5"},
         NULL},
        {"relative", 0, {"task", "lm", "encoder.position", "relative", "encoder.right", "3"}, NULL},
        {"alibi", 0, {"task", "lm", "encoder.position", "alibi", "encoder.weights", "sigmoid"}, NULL},
        {"additive", 0, {"task", "lm", "encoder.score", "additive", "encoder.position", "sinusoidal"}, NULL},
        {"fixed", 0, {"task", "lm", "encoder.score", "fixed", "encoder.longest", "40"}, NULL},
        {"average", 0, {"task", "lm", "encoder.average_weights", "true", "encoder.weights", "relu"}, NULL},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bits;
        attn_model *model = train(context, &cases[i], "1", &bits);
        int64_t rows[2], symbols = attn_model_symbols(model), same_rows = 0;
        int32_t *said[2] = {NULL, NULL};
        double *a = scores_of(model, "the cat sat\n", &rows[0], &said[0]);
        double *b = scores_of(model, "the cat ran.\n", &rows[1], &said[1]);
        assert_true(rows[0] == 12 && rows[1] == 13);
        while (same_rows < rows[0] &&
               memcmp(a + same_rows * symbols, b + same_rows * symbols, (size_t)symbols * sizeof *a) == 0)
            same_rows++;
        if (same_rows != 9) fail_msg("%s: %d rows are the same, not 9", cases[i].name, (int)same_rows);
        for (int k = 0; k < 2; k++) free(said[k]);
        free(a);
        free(b);
        model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seq2seq_learns), cmocka_unit_test(test_seq2seq_kinds),
        cmocka_unit_test(test_odd_sources),    cmocka_unit_test(test_lower_case),
        cmocka_unit_test(test_hold_out),       cmocka_unit_test(test_nothing_right_yet),
        cmocka_unit_test(test_arguments),      cmocka_unit_test(test_report),
        cmocka_unit_test(test_lm_learns),      cmocka_unit_test(test_lm_report),
        cmocka_unit_test(test_lm_chunks),      cmocka_unit_test(test_lm_looks_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
