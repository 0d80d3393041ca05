/* test_predictors.c: predictors: threads that share a model, calls one after another, failures between them,
 * sequences that come in pieces, vectors, settings, and memory that runs out.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

typedef enum kind { TAGS, CRF, CRFS, WORDS, CLASSES, LABELS, NUMBERS, PAIRS, RUNNING, KINDS } kind;
static const char *const kind_sets[KINDS][12] = {
    {"task", "tag", "reader.column", "UPOS,XPOS"},
    {"task", "tag", "output.crf", "true"},
    {"task", "tag", "output.crf", "true", "output.members", "3"},
    {"task", "tag", "text.unit", "chars", "text.scheme", "bmes"},
    {"task", "classify", "output.members", "3", "text.unit", "subwords", "output.pool", "attention"},
    {"task", "classify", "encoder.kind", "rnn", "text.longest", "5", "encoder.pieces", "1"},
    {"task", "regress", "encoder.kind", "cnn"},
    {"task", "seq2seq", "output.members", "2", "target.longest", "9"},
    {"task", "lm", "text.longest", "30", "text.stem", "3", "output.members", "2"},
};
static char folder[] = "/tmp/attn_predictors_XXXXXX";
static char paths[KINDS][80];
static attn_model *models[KINDS];

static char *kind_corpus(int which, uint64_t seed, int examples) {
    switch ((kind)which) {
    case CLASSES: return corpus_classes(seed, examples, 0);
    case LABELS: return corpus_labels(seed, examples);
    case NUMBERS: return corpus_numbers(seed, examples);
    case PAIRS: return corpus_pairs(seed, examples, 0);
    case RUNNING: return corpus_running(seed, examples);
    default: return corpus_conllu(seed, examples);
    }
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        snprintf(paths[k], sizeof paths[k], "%s/%d.safetensors", folder, k);
        attn_config *config = tiny_config(context, kind_sets[k]);
        expect_ok(context, attn_config_set(config, "training.epochs", "2"));
        char *train = kind_corpus(k, 1, 60), *dev = kind_corpus(k, 2, 10);
        models[k] = train_model(config, train, dev, paths[k]);
        free(train);
        free(dev);
    }
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static attn_dataset *data_of(int which, uint64_t seed, int examples) {
    char *text = kind_corpus(which, seed, examples);
    attn_dataset *dataset = parse_corpus(attn_model_config(models[which]), "data", text);
    free(text);
    return dataset;
}

/* ---- answers ---- */

static int same_double(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* Whether all that can be asked of two predictions is the same, bit for bit; no assertions: threads ask this.
 */
static int same_all(const attn_model *model, const attn_prediction *a, const attn_prediction *b) {
    int64_t examples = attn_prediction_examples(a);
    if (examples != attn_prediction_examples(b)) return 0;
    if (attn_model_symbols(model) == 0) {
        for (int64_t e = 0; e < examples; e++) {
            int64_t words = attn_prediction_words(a, e);
            if (words != attn_prediction_words(b, e)) return 0;
            for (int64_t w = 0; w < words; w++)
                if (strcmp(attn_prediction_word(a, e, w), attn_prediction_word(b, e, w)) != 0) return 0;
        }
        return same_answers(model, a, 0, examples, b);
    }
    for (int64_t e = 0; e < examples; e++) {
        int64_t count = attn_prediction_hypotheses(a, e);
        if (count != attn_prediction_hypotheses(b, e) || count < 1) return 0;
        for (int64_t n = 0; n < count; n++) {
            int64_t symbols = attn_prediction_symbols(a, e, n);
            if (strcmp(attn_prediction_text(a, e, n), attn_prediction_text(b, e, n)) != 0 ||
                !same_double(attn_prediction_log_probability(a, e, n),
                             attn_prediction_log_probability(b, e, n)) ||
                attn_prediction_ended(a, e, n) != attn_prediction_ended(b, e, n) ||
                symbols != attn_prediction_symbols(b, e, n))
                return 0;
            const float *rows = attn_prediction_alignment(a, e, n),
                        *others = attn_prediction_alignment(b, e, n);
            size_t bytes = (size_t)(symbols * attn_prediction_units(a, e)) * sizeof *rows;
            if ((rows != NULL) != (others != NULL) || (rows && memcmp(rows, others, bytes) != 0)) return 0;
        }
    }
    return 1;
}

/* What makes the predictor say as much as it can. */
static attn_status ask_for_all(attn_predictor *predictor) {
    static const char *const settings[][2] = {
        {"probs", "true"}, {"n-best", "3"}, {"alignment", "true"}, {"tokens", "40"}, {"seed", "5"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (!attn_predictor_has(predictor, settings[i][0])) continue;
        attn_status status = attn_predictor_set(predictor, settings[i][0], settings[i][1]);
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

static attn_predictor *new_predictor(int which) {
    attn_predictor *predictor = NULL;
    attn_context *context = test_best_context(1);
    expect_ok(context, attn_predictor_create(models[which], context, &predictor));
    expect_ok(context, ask_for_all(predictor));
    return predictor;
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 3 };

typedef struct shared {
    int which;
    const attn_dataset *dataset;
    const attn_prediction *expected;
    const double *next; /* of a language model, after "the c" */
    const float *vectors;
    int64_t numbers;
    pthread_barrier_t begin;
} shared;

typedef struct worker {
    shared *all;
    int bad;         /* where something was not so */
    char error[300]; /* of a call that failed */
} worker;

static int failed(worker *own, attn_predictor *predictor, int place, attn_status status) {
    if (status == ATTN_OK) return 0;
    snprintf(own->error, sizeof own->error, "%s", attn_predictor_error(predictor));
    own->bad = place;
    return 1;
}

static void work_once(worker *own, attn_predictor *predictor) {
    const shared *all = own->all;
    const attn_model *model = models[all->which];
    attn_prediction *prediction = NULL;
    attn_vectors vectors = {.size = sizeof vectors};
    if (failed(own, predictor, __LINE__, attn_predictor_predict(predictor, all->dataset, &prediction)))
        return;
    if (!same_all(model, prediction, all->expected)) own->bad = __LINE__;
    attn_prediction_destroy(prediction);
    if (failed(own, predictor, __LINE__, attn_predictor_embed(predictor, all->dataset, 0, &vectors))) return;
    if (vectors.rows * vectors.columns != all->numbers ||
        memcmp(vectors.numbers, all->vectors, (size_t)all->numbers * sizeof *vectors.numbers) != 0)
        own->bad = __LINE__;
    if (!all->next) return;
    const double *next = NULL;
    if (failed(own, predictor, __LINE__, attn_predictor_push_text(predictor, "the c")) ||
        failed(own, predictor, __LINE__, attn_predictor_next(predictor, &next)))
        return;
    if (memcmp(next, all->next, (size_t)attn_model_symbols(model) * sizeof *next) != 0) own->bad = __LINE__;
    if (failed(own, predictor, __LINE__, attn_predictor_finish(predictor, NULL))) return;
}

static void *work(void *user) {
    worker *own = user;
    attn_predictor *predictor = NULL;
    pthread_barrier_wait(&own->all->begin);
    attn_status status = attn_predictor_create(models[own->all->which], NULL, &predictor);
    if (status != ATTN_OK || ask_for_all(predictor) != ATTN_OK) own->bad = __LINE__;
    for (int round = 0; round < ROUNDS && !own->bad; round++) work_once(own, predictor);
    /* an error is the predictor's own */
    attn_prediction *prediction = NULL;
    if (!own->bad && attn_predictor_text(predictor, "a\nb", &prediction) != ATTN_INVALID_ARGUMENT)
        own->bad = __LINE__;
    if (!own->bad && !strstr(attn_predictor_error(predictor), "byte 1")) own->bad = __LINE__;
    attn_predictor_destroy(predictor);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        attn_context *context = test_best_context(1);
        attn_predictor *predictor = new_predictor(k);
        shared all = {.which = k};
        attn_dataset *dataset = data_of(k, 3, 30);
        attn_prediction *expected = NULL;
        attn_vectors vectors = {.size = sizeof vectors};
        const double *next = NULL;
        double *kept_next = NULL;
        expect_ok(context, attn_predictor_predict(predictor, dataset, &expected));
        expect_ok(context, attn_predictor_embed(predictor, dataset, 0, &vectors));
        all.dataset = dataset;
        all.expected = expected;
        all.numbers = vectors.rows * vectors.columns;
        float *kept_vectors = malloc((size_t)all.numbers * sizeof *kept_vectors);
        assert_non_null(kept_vectors);
        memcpy(kept_vectors, vectors.numbers, (size_t)all.numbers * sizeof *kept_vectors);
        all.vectors = kept_vectors;
        if (k == RUNNING) {
            size_t bytes = (size_t)attn_model_symbols(models[k]) * sizeof *next;
            expect_ok(context, attn_predictor_push_text(predictor, "the c"));
            expect_ok(context, attn_predictor_next(predictor, &next));
            kept_next = malloc(bytes);
            assert_non_null(kept_next);
            memcpy(kept_next, next, bytes);
            all.next = kept_next;
        }
        /* a model that nobody has predicted with yet */
        attn_model *untouched = NULL;
        attn_model *used = models[k];
        expect_ok(context, attn_model_load(context, paths[k], &untouched));
        models[k] = untouched;
        pthread_t threads[THREADS];
        worker workers[THREADS];
        assert_int_equal(pthread_barrier_init(&all.begin, NULL, THREADS), 0);
        for (int t = 0; t < THREADS; t++) {
            workers[t] = (worker){.all = &all};
            assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (int t = 0; t < THREADS; t++)
            if (workers[t].bad)
                fail_msg("model %d, thread %d, line %d: %s", k, t, workers[t].bad, workers[t].error);
        pthread_barrier_destroy(&all.begin);
        models[k] = used;
        attn_model_destroy(untouched);
        attn_prediction_destroy(expected);
        attn_predictor_destroy(predictor);
        attn_dataset_destroy(dataset);
        free(kept_vectors);
        free(kept_next);
    }
}

/* A context of several threads, which is not the model's; one that computes with other instructions is
 * refused. */
static void test_other_contexts(void **state) {
    (void)state;
    attn_context *context = test_best_context(1), *three = test_best_context(3), *scalar = test_context(0, 1);
    for (int k = 0; k < KINDS; k++) {
        attn_predictor *one = new_predictor(k), *other = NULL;
        attn_dataset *dataset = data_of(k, 3, 80);
        attn_prediction *here = NULL, *there = NULL;
        expect_ok(three, attn_predictor_create(models[k], three, &other));
        expect_ok(three, ask_for_all(other));
        expect_ok(context, attn_predictor_predict(one, dataset, &here));
        expect_ok(three, attn_predictor_predict(other, dataset, &there));
        assert_true(same_all(models[k], here, there));
        attn_prediction_destroy(here);
        attn_prediction_destroy(there);
        attn_predictor_destroy(one);
        attn_predictor_destroy(other);
        attn_dataset_destroy(dataset);
        other = NULL;
        if (strcmp(attn_context_isa(scalar), attn_context_isa(context)) == 0) continue;
        expect_refused(scalar, attn_predictor_create(models[k], scalar, &other), ATTN_INVALID_ARGUMENT,
                       "scalar");
        assert_null(other);
    }
}

/* ---- again and again ---- */

/* Large and small inputs in turn, predictions, reports and vectors among each other: always the same answers.
 */
static void test_again(void **state) {
    (void)state;
    enum { SIZES = 5 };
    static const int sizes[SIZES] = {50, 1, 7, 50, 2};
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        attn_predictor *predictor = new_predictor(k);
        double scores[SIZES];
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < SIZES; i++) {
                attn_dataset *dataset = data_of(k, 3, sizes[i]);
                attn_prediction *prediction = NULL, *fresh = NULL;
                attn_predictor *other = new_predictor(k);
                expect_ok(context, attn_predictor_predict(predictor, dataset, &prediction));
                expect_ok(context, attn_predictor_predict(other, dataset, &fresh));
                assert_true(same_all(models[k], prediction, fresh));
                attn_report *report = NULL;
                attn_status status = attn_report_create(predictor, dataset, &report);
                expect_ok(context, status);
                double score = attn_report_metric(report, attn_report_metric_name(report, 0));
                if (round) assert_true(same_double(score, scores[i]));
                scores[i] = score;
                attn_report_destroy(report);
                /* what was predicted is there as long as it is wanted */
                assert_true(same_all(models[k], prediction, fresh));
                attn_prediction_destroy(prediction);
                attn_prediction_destroy(fresh);
                attn_predictor_destroy(other);
                attn_dataset_destroy(dataset);
            }
        }
        attn_predictor_destroy(predictor);
    }
}

/* Calls that fail leave nothing behind. */
static void test_after_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        attn_predictor *predictor = new_predictor(k);
        attn_dataset *dataset = data_of(k, 4, 9), *empty = NULL;
        attn_prediction *before = NULL, *after = NULL, *none = NULL;
        expect_ok(context, attn_dataset_select(dataset, NULL, 0, &empty));
        expect_ok(context, attn_predictor_predict(predictor, dataset, &before));
        expect_refused(context, attn_predictor_text(predictor, "a\nb", &none), ATTN_INVALID_ARGUMENT,
                       "byte 1");
        expect_refused(context, attn_predictor_text(predictor, "a\xff", &none), ATTN_INVALID_ARGUMENT,
                       "UTF-8");
        expect_refused(context, attn_predictor_set(predictor, "nothing", "1"), ATTN_INVALID_ARGUMENT,
                       "nothing");
        expect_refused(context, attn_predictor_finish(predictor, &none), ATTN_INVALID_ARGUMENT, "pushed");
        assert_int_equal(attn_predictor_predict(predictor, NULL, &none), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_predictor_predict(predictor, dataset, NULL), ATTN_INVALID_ARGUMENT);
        attn_report *report = NULL;
        expect_refused(context, attn_report_create(predictor, empty, &report), ATTN_INVALID_ARGUMENT, "data");
        assert_null(none);
        assert_null(report);
        expect_ok(context, attn_predictor_predict(predictor, empty, &none));
        assert_int_equal(attn_prediction_examples(none), 0);
        attn_prediction_destroy(none);
        expect_ok(context, attn_predictor_predict(predictor, dataset, &after));
        assert_true(same_all(models[k], before, after));
        attn_prediction_destroy(before);
        attn_prediction_destroy(after);
        attn_predictor_destroy(predictor);
        attn_dataset_destroy(empty);
        attn_dataset_destroy(dataset);
    }
}

/* ---- settings ---- */

static void test_settings(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_setting_text setting;
    int count = 0;
    while (attn_setting(count, &setting)) {
        assert_true(setting.name && setting.initial && setting.help && setting.models);
        int had = 0;
        for (int k = 0; k < KINDS; k++) {
            attn_predictor *predictor = predictor_of(models[k]);
            int has = attn_predictor_has(predictor, setting.name);
            had |= has;
            if (!has) {
                expect_refused(context, attn_predictor_set(predictor, setting.name, setting.initial),
                               ATTN_UNSUPPORTED, setting.name);
                continue;
            }
            expect_ok(context, attn_predictor_set(predictor, setting.name, setting.initial));
            expect_refused(context, attn_predictor_set(predictor, setting.name, "no such value"),
                           ATTN_INVALID_ARGUMENT, setting.name);
            if (setting.is_switch) continue;
            char text[40];
            snprintf(text, sizeof text, "%.17g", setting.maximum);
            expect_ok(context, attn_predictor_set(predictor, setting.name, text));
            snprintf(text, sizeof text, "%.17g", setting.minimum - 1);
            expect_refused(context, attn_predictor_set(predictor, setting.name, text), ATTN_INVALID_ARGUMENT,
                           setting.name);
            if (setting.whole)
                expect_refused(context, attn_predictor_set(predictor, setting.name, "0.5"),
                               ATTN_INVALID_ARGUMENT, setting.name);
        }
        assert_true(had || strstr(setting.models, "speech")); /* tests of speech have such models */
        count++;
    }
    assert_true(count >= 10);
    assert_int_equal(attn_setting(-1, &setting), 0);
    for (int k = 0; k < KINDS; k++) predictor_drop(models[k]); /* those have other settings now */
    attn_predictor *predictor = NULL;
    assert_int_equal(attn_predictor_set(NULL, "probs", "true"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_has(NULL, "probs"), 0);
    assert_int_equal(attn_predictor_create(NULL, context, &predictor), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_create(models[TAGS], context, NULL), ATTN_INVALID_ARGUMENT);
    assert_null(predictor);
    attn_predictor_destroy(NULL);
    assert_null(attn_predictor_context(NULL));
    expect_ok(context, attn_predictor_create(models[TAGS], NULL, &predictor));
    assert_true(attn_predictor_context(predictor) != context);
    assert_int_equal(attn_context_threads(attn_predictor_context(predictor)), 1);
    assert_string_equal(attn_context_isa(attn_predictor_context(predictor)), attn_context_isa(context));
    assert_int_equal(attn_predictor_set(predictor, NULL, "true"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_set(predictor, "probs", NULL), ATTN_INVALID_ARGUMENT);
    attn_predictor_destroy(predictor);
}

/* Without "probs" there are none but those that are the answer. */
static void test_probabilities(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const int asked[] = {TAGS, CRF, CRFS, WORDS, CLASSES, LABELS};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int k = asked[i];
        attn_dataset *dataset = data_of(k, 5, 12);
        attn_prediction *with = NULL, *without = NULL;
        expect_ok(context, predict_with(models[k], dataset, WITH_PROBABILITIES, &with));
        expect_ok(context, predict_with(models[k], dataset, 0, &without));
        for (int64_t e = 0; e < attn_prediction_examples(with); e++) {
            int64_t rows = attn_model_per_token(models[k]) ? attn_prediction_units(with, e) : 1;
            for (int o = 0; o < attn_model_outputs(models[k]); o++) {
                for (int64_t r = 0; r < rows; r++) {
                    int64_t class = attn_prediction_class(with, o, e, r),
                            labels = attn_model_labels(models[k], o);
                    double sum = 0, likeliest = -1;
                    assert_int_equal(attn_prediction_class(without, o, e, r), class);
                    assert_true(class >= 0 && class < labels);
                    assert_string_equal(attn_prediction_label(with, o, e, r),
                                        attn_model_label(models[k], o, class));
                    for (int64_t l = 0; l < labels; l++) {
                        double p = attn_prediction_probability(with, o, e, r, l);
                        assert_true(p >= 0 && p <= 1 + 1e-6);
                        assert_true(isnan(attn_prediction_probability(without, o, e, r, l)) || k == LABELS);
                        sum += p;
                        likeliest = p > likeliest ? p : likeliest;
                    }
                    /* marginals and softmax are computed in float: a rounding for each of the labels' sums */
                    if (k != LABELS) assert_true(fabs(sum - 1) < 1e-5);
                    /* one network's path may be another than its likeliest labels; the mean of several has
                     * none */
                    if (k != CRF && k != WORDS && k != LABELS)
                        assert_true(attn_prediction_probability(with, o, e, r, class) == likeliest);
                }
            }
        }
        attn_prediction_destroy(with);
        attn_prediction_destroy(without);
        attn_dataset_destroy(dataset);
    }
}

/* ---- ensembles of conditional random fields ---- */

/* The values of every parameter of member 0 (or, for members, of "member.M.") become those of another model.
 */
static void copy_network(attn_model *from, int from_member, attn_model *to, int member) {
    attn_parameters *source = attn_model_parameters(from), *target = attn_model_parameters(to);
    char prefix[2][32] = {"", ""};
    if (from_member) snprintf(prefix[0], sizeof prefix[0], "member.%d.", from_member);
    if (member) snprintf(prefix[1], sizeof prefix[1], "member.%d.", member);
    int copied = 0;
    for (int64_t i = 0; i < attn_parameters_count(target); i++) {
        attn_parameter *one = attn_parameters_at(target, i);
        const char *name = attn_parameter_name(one);
        char whole[256];
        size_t length = strlen(prefix[1]);
        if (strncmp(name, prefix[1], length) != 0 || (!member && strncmp(name, "member.", 7) == 0)) continue;
        snprintf(whole, sizeof whole, "%s%s", prefix[0], name + length);
        attn_parameter *other = attn_parameters_find(source, whole);
        assert_non_null(other);
        attn_tensor a = attn_parameter_value(other), b = attn_parameter_value(one);
        int64_t count = 1;
        assert_int_equal(a.rank, b.rank);
        for (int d = 0; d < a.rank; d++) {
            assert_int_equal(a.shape[d], b.shape[d]);
            count *= a.shape[d];
        }
        memcpy(b.data, a.data, (size_t)count * sizeof(float));
        attn_parameter_changed(one);
        copied++;
    }
    assert_true(copied > 5);
}

/* Of equal members the mean of the marginals is that of one of them; the answer is its likeliest label. */
static void test_crf_members(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *dataset = data_of(CRFS, 6, 25);
    attn_model *equal = NULL, *single = NULL;
    attn_prediction *of_three = NULL, *of_one = NULL;
    expect_ok(context, attn_model_load(context, paths[CRFS], &equal));
    expect_ok(context, attn_model_load(context, paths[CRF], &single));
    assert_int_equal(attn_model_networks(equal), 3);
    assert_string_equal(attn_model_output_kind(equal, 0), "crf");
    copy_network(equal, 0, single, 0);
    for (int member = 1; member < 3; member++) copy_network(equal, 0, equal, member);
    expect_ok(context, predict_with(equal, dataset, WITH_PROBABILITIES, &of_three));
    expect_ok(context, predict_with(single, dataset, WITH_PROBABILITIES, &of_one));
    int64_t rows = 0, other_paths = 0;
    for (int64_t e = 0; e < attn_prediction_examples(of_one); e++) {
        for (int64_t r = 0; r < attn_prediction_units(of_one, e); r++, rows++) {
            int64_t labels = attn_model_labels(single, 0), likeliest = 0;
            for (int64_t l = 0; l < labels; l++) {
                double p = attn_prediction_probability(of_one, 0, e, r, l);
                double q = attn_prediction_probability(of_three, 0, e, r, l);
                /* (p + p + p) / 3 in float: three roundings, each of at most 2^-24 of about 1 */
                assert_true(fabs(p - q) <= 4 * 0x1p-24);
                if (p > attn_prediction_probability(of_one, 0, e, r, likeliest)) likeliest = l;
            }
            assert_int_equal(attn_prediction_class(of_three, 0, e, r), likeliest);
            other_paths += attn_prediction_class(of_one, 0, e, r) != likeliest;
        }
    }
    assert_true(rows > 50 && other_paths <= rows / 2);
    attn_prediction_destroy(of_three);
    attn_prediction_destroy(of_one);
    model_destroy(equal);
    model_destroy(single);
    /* members that differ: the mean of their marginals, each by itself */
    attn_prediction *together = NULL;
    attn_model *alone[3] = {NULL, NULL, NULL};
    attn_prediction *parts[3] = {NULL, NULL, NULL};
    expect_ok(context, predict_with(models[CRFS], dataset, WITH_PROBABILITIES, &together));
    for (int m = 0; m < 3; m++) {
        expect_ok(context, attn_model_load(context, paths[CRF], &alone[m]));
        copy_network(models[CRFS], m, alone[m], 0);
        expect_ok(context, predict_with(alone[m], dataset, WITH_PROBABILITIES, &parts[m]));
    }
    int differ = 0;
    for (int64_t e = 0; e < attn_prediction_examples(together); e++) {
        for (int64_t r = 0; r < attn_prediction_units(together, e); r++) {
            for (int64_t l = 0; l < attn_model_labels(models[CRFS], 0); l++) {
                double mean = 0, p[3];
                for (int m = 0; m < 3; m++)
                    mean += (p[m] = attn_prediction_probability(parts[m], 0, e, r, l)) / 3;
                assert_true(fabs(attn_prediction_probability(together, 0, e, r, l) - mean) <= 4 * 0x1p-24);
                differ |= p[0] != p[1] && p[1] != p[2];
            }
        }
    }
    assert_true(differ);
    attn_prediction_destroy(together);
    for (int m = 0; m < 3; m++) {
        attn_prediction_destroy(parts[m]);
        model_destroy(alone[m]);
    }
    attn_dataset_destroy(dataset);
}

/* ---- pieces of a sequence ---- */

static void test_pieces(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const texts[] = {"ab", "x", "c", "ab", "d", "x", "x", "ab"};
    for (int k = TAGS; k <= WORDS; k++) {
        attn_predictor *predictor = new_predictor(k);
        for (int round = 0; round < 2; round++) {
            int64_t whole_offsets[] = {0, 8}, pieces[] = {0, 1, 4, 4, 8};
            attn_dataset *whole = NULL;
            attn_prediction *at_once = NULL, *in_pieces = NULL;
            expect_ok(context, attn_dataset_from_texts(context, texts, whole_offsets, 1, &whole));
            for (int p = 0; p < 4; p++) {
                attn_dataset *piece = NULL;
                int64_t offsets[] = {0, pieces[p + 1] - pieces[p]};
                expect_ok(context, attn_dataset_from_texts(context, texts + pieces[p], offsets, 1, &piece));
                expect_ok(context, attn_predictor_push(predictor, piece));
                attn_dataset_destroy(piece);
                if (p != 1) continue; /* other calls do not disturb it */
                attn_prediction *other = NULL;
                expect_ok(context, attn_predictor_text(predictor, "ab x", &other));
                attn_prediction_destroy(other);
            }
            expect_ok(context, attn_predictor_finish(predictor, &in_pieces));
            expect_ok(context, attn_predictor_predict(predictor, whole, &at_once));
            assert_int_equal(attn_prediction_examples(in_pieces), 1);
            assert_true(same_all(models[k], at_once, in_pieces));
            attn_prediction_destroy(at_once);
            attn_prediction_destroy(in_pieces);
            /* what is forgotten is not there afterwards */
            expect_ok(context, attn_predictor_push(predictor, whole));
            expect_ok(context, attn_predictor_finish(predictor, NULL));
            expect_refused(context, attn_predictor_finish(predictor, &in_pieces), ATTN_INVALID_ARGUMENT,
                           "pushed");
            attn_dataset_destroy(whole);
        }
        assert_int_equal(attn_predictor_push(predictor, NULL), ATTN_INVALID_ARGUMENT);
        attn_predictor_destroy(predictor);
    }
    assert_int_equal(attn_predictor_push(NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_finish(NULL, NULL), ATTN_INVALID_ARGUMENT);
}

/* Pieces of a sentence whose spaces are marked, in the first of them or later. */
static void test_pieces_with_spaces(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const pieces[] = {"ab x", "cd+ x ab"}; /* no space after cd */
    for (int order = 0; order < 2; order++) {
        attn_predictor *predictor = new_predictor(WORDS);
        char text[40];
        const char *all = text;
        snprintf(text, sizeof text, "%s %s", pieces[order], pieces[!order]);
        attn_dataset *whole = examples_create(context, 1, &all, 1);
        attn_prediction *at_once = NULL, *in_pieces = NULL;
        for (int p = 0; p < 2; p++) {
            attn_dataset *piece = examples_create(context, 1, &pieces[p ^ order], 1);
            expect_ok(context, attn_predictor_push(predictor, piece));
            attn_dataset_destroy(piece);
        }
        expect_ok(context, attn_predictor_predict(predictor, whole, &at_once));
        expect_ok(context, attn_predictor_finish(predictor, &in_pieces));
        assert_int_equal(attn_prediction_units(at_once, 0), 8 + 3);
        assert_true(same_all(models[WORDS], at_once, in_pieces));
        attn_prediction_destroy(at_once);
        attn_prediction_destroy(in_pieces);
        attn_dataset_destroy(whole);
        attn_predictor_destroy(predictor);
    }
}

/* ---- vectors ---- */

static void test_vectors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        attn_predictor *predictor = new_predictor(k);
        attn_dataset *dataset = data_of(k, 7, 14);
        attn_vectors rows = {.size = sizeof rows}, pooled = {.size = sizeof pooled};
        attn_prediction *prediction = NULL;
        expect_ok(context, attn_predictor_predict(predictor, dataset, &prediction));
        expect_ok(context, attn_predictor_embed(predictor, dataset, 0, &rows));
        int64_t examples = attn_dataset_examples(dataset), columns = rows.columns, longest = 0;
        assert_int_equal(columns, 16);
        assert_int_equal(rows.examples, examples);
        assert_int_equal(rows.offsets[0], 0);
        assert_int_equal(rows.offsets[examples], rows.rows);
        for (int64_t e = 0; e < examples; e++) {
            assert_int_equal(rows.offsets[e + 1] - rows.offsets[e], attn_prediction_units(prediction, e));
            int64_t length = rows.offsets[e + 1] - rows.offsets[e];
            longest = length > longest ? length : longest;
        }
        size_t count = (size_t)(rows.rows * columns);
        float *kept = malloc(count * sizeof *kept);
        int64_t *offsets = malloc((size_t)(examples + 1) * sizeof *offsets);
        assert_true(kept && offsets);
        memcpy(kept, rows.numbers, count * sizeof *kept);
        memcpy(offsets, rows.offsets, (size_t)(examples + 1) * sizeof *offsets);
        expect_ok(context, attn_predictor_embed(predictor, dataset, 1, &pooled));
        assert_int_equal(pooled.rows, examples);
        assert_int_equal(pooled.columns, columns);
        for (int64_t e = 0; e < examples; e++) {
            assert_int_equal(pooled.offsets[e], e);
            int64_t length = offsets[e + 1] - offsets[e];
            if (length == 0 || (k == LABELS && length > 5)) continue; /* those are cut: text.longest is 5 */
            for (int64_t c = 0; c < columns; c++) {
                double sum = 0, size = 0;
                for (int64_t r = offsets[e]; r < offsets[e + 1]; r++) {
                    sum += (double)kept[r * columns + c];
                    size += fabs((double)kept[r * columns + c]);
                }
                /* a float sum of `length` numbers and of three networks, a product and a quotient: so many
                 * roundings of at most 2^-24 of what was added up */
                double most = (double)(length + 8) * 0x1p-24 * (size / (double)length + 1);
                assert_true(fabs((double)pooled.numbers[e * columns + c] - sum / (double)length) <= most);
            }
        }
        /* an example alone has the same rows */
        attn_dataset *alone = NULL;
        int64_t last = examples - 1;
        if (k != RUNNING) { /* lines of running text begin with the end of the line before */
            expect_ok(context, attn_dataset_select(dataset, &last, 1, &alone));
            expect_ok(context, attn_predictor_embed(predictor, alone, 0, &rows));
            assert_int_equal(rows.rows, offsets[examples] - offsets[last]);
            assert_memory_equal(rows.numbers, kept + offsets[last] * columns,
                                (size_t)(rows.rows * columns) * sizeof *kept);
            attn_dataset_destroy(alone);
        }
        assert_int_equal(attn_predictor_embed(predictor, NULL, 0, &rows), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_predictor_embed(predictor, dataset, 0, NULL), ATTN_INVALID_ARGUMENT);
        free(kept);
        free(offsets);
        attn_prediction_destroy(prediction);
        attn_dataset_destroy(dataset);
        attn_predictor_destroy(predictor);
    }
}

/* ---- memory ---- */

typedef struct asked {
    attn_predictor *predictor;
    attn_prediction *prediction;
    attn_report *report;
} asked;

static attn_status ask(attn_context *context, const attn_model *model, const attn_dataset *dataset,
                       asked *into) {
    attn_vectors vectors = {.size = sizeof vectors};
    attn_status status = attn_predictor_create(model, context, &into->predictor);
    if (status == ATTN_OK) status = ask_for_all(into->predictor);
    if (status == ATTN_OK) status = attn_predictor_predict(into->predictor, dataset, &into->prediction);
    if (status == ATTN_OK) status = attn_report_create(into->predictor, dataset, &into->report);
    if (status == ATTN_OK) status = attn_predictor_embed(into->predictor, dataset, 1, &vectors);
    if (status == ATTN_OK && strcmp(attn_model_task(model), "lm") != 0) {
        attn_prediction *pushed = NULL;
        status = attn_predictor_push(into->predictor, dataset);
        if (status == ATTN_OK) status = attn_predictor_push(into->predictor, dataset);
        if (status == ATTN_OK) status = attn_predictor_finish(into->predictor, &pushed);
        attn_prediction_destroy(pushed);
    }
    return status;
}

static void forget(asked *what) {
    attn_prediction_destroy(what->prediction);
    attn_report_destroy(what->report);
    attn_predictor_destroy(what->predictor);
    *what = (asked){NULL, NULL, NULL};
}

/* Any allocation may fail: nothing leaks, and what comes after is as if nothing had been. */
static void test_no_memory(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_model *model = NULL;
        asked right = {NULL, NULL, NULL}, now = {NULL, NULL, NULL};
        expect_ok(context, attn_model_load(context, paths[k], &model));
        char *text = kind_corpus(k, 8, 6);
        attn_dataset *dataset = parse_corpus(attn_model_config(model), "data", text);
        free(text);
        expect_ok(context, ask(context, model, dataset, &right));
        int64_t live = counter.live, refused = 0;
        for (int64_t n = 1;; n += 1 + n / 60) {
            counter.fail_at = n;
            int64_t failures = counter.failures;
            attn_status status = ask(context, model, dataset, &now);
            counter.fail_at = 0;
            int denied = counter.failures > failures;
            assert_int_equal(denied, status != ATTN_OK);
            if (denied) {
                expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory");
                refused++;
                if (now.predictor && !now.prediction) { /* it continues with the same predictor */
                    expect_ok(context, ask_for_all(now.predictor));
                    expect_ok(context, attn_predictor_predict(now.predictor, dataset, &now.prediction));
                    assert_true(same_all(model, now.prediction, right.prediction));
                }
            } else {
                assert_true(same_all(model, now.prediction, right.prediction));
            }
            forget(&now);
            assert_int_equal(counter.live, live);
            if (!denied) break;
        }
        assert_true(refused > 20);
        forget(&right);
        attn_dataset_destroy(dataset);
        attn_model_destroy(model);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

/* With a context of its own, too. */
static void test_no_memory_of_its_own(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context *context = counting_context(&counter);
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, paths[TAGS], &model));
    int64_t live = counter.live, n = 1;
    for (;; n++) {
        attn_predictor *predictor = NULL;
        counter.fail_at = n;
        attn_status status = attn_predictor_create(model, NULL, &predictor);
        counter.fail_at = 0;
        assert_int_equal(predictor != NULL, status == ATTN_OK);
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        attn_predictor_destroy(predictor);
        assert_int_equal(counter.live, live);
        if (status == ATTN_OK) break;
    }
    assert_true(n > 3);
    attn_model_destroy(model);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_other_contexts),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_after_errors),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_crf_members),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_with_spaces),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_of_its_own),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
