/* test_monotone.c: hard monotone attention: the probabilities that search is told of, step by step, are those
 * of the lattice; alignments; tiny networks learn to spell, the same bits after a stop, from the file, alone
 * and on any number of threads.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "heads/monotone.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/random.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_monotone_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- the arithmetic of search, against the lattice ---- */

enum { COLUMNS = 8, SYMBOLS = 5, SEQUENCES = 3, MOST_LENGTH = 4 };

typedef struct bench {
    attn_context *context;
    attn_parameters *set;
    attn_tape *tape;
    at_head head;
    at_symbol_layer layer;
    at_batch batch;
    int64_t offsets[SEQUENCES + 1];
    float rows[9 * COLUMNS];
} bench;

static void make_bench(bench *made, int crosses) {
    memset(made, 0, sizeof *made);
    test_random random = {11};
    made->context = test_best_context(1);
    made->head.rate = 1;
    made->head.config.sequence.cross = crosses;
    made->head.config.sequence.monotone = 1;
    assert_int_equal(attn_parameters_create(made->context, 3, &made->set), ATTN_OK);
    assert_int_equal(attn_tape_create(made->context, &made->tape), ATTN_OK);
    attn_decoder_options options;
    attn_decoder_options_init(&options);
    options.columns = COLUMNS;
    options.heads = 2;
    options.inner = 16;
    options.source_columns = crosses ? COLUMNS : 0;
    at_symbol_layer *layer = &made->layer;
    layer->table = layer->output = at_symbol_table(made->set, "", "symbols", SYMBOLS, COLUMNS, 0.05);
    layer->norm = attn_norm_create(made->set, "norm", ATTN_NORM_LAYER, COLUMNS);
    layer->decoder = attn_decoder_create(made->set, "decoder", &options);
    layer->bias = at_symbol_bias(made->set, "", SYMBOLS);
    layer->source_map = attn_linear_create(made->set, "source", COLUMNS, COLUMNS, 1, ATTN_IDENTITY);
    layer->symbol_map = attn_linear_create(made->set, "map", COLUMNS, COLUMNS, 0, ATTN_IDENTITY);
    assert_int_equal(attn_parameters_status(made->set), ATTN_OK);
    static const int64_t lengths[SEQUENCES] = {4, 4, 1};
    for (int b = 0; b < SEQUENCES; b++) made->offsets[b + 1] = made->offsets[b] + lengths[b];
    for (int i = 0; i < 9 * COLUMNS; i++) made->rows[i] = 2.0f * random_normal(&random);
    made->batch =
        (at_batch){.context = made->context, .sequences = SEQUENCES, .rows = 9, .offsets = made->offsets};
}

static void free_bench(bench *made) {
    attn_tape_destroy(made->tape);
    attn_parameters_destroy(made->set);
}

/* log p(answer) of source b, by the loss. */
static double by_lattice(bench *on, int64_t b, const int32_t *answer, int64_t count) {
    at_decoding decoding = {0};
    int64_t offsets[2] = {0, count}, zero = 0, rows[2] = {0, on->offsets[b + 1] - on->offsets[b]};
    at_batch batch = {.context = on->context, .sequences = 1, .rows = rows[1], .offsets = rows};
    assert_int_equal(at_decoding_make(on->context, answer, offsets, &zero, 1, &decoding), ATTN_OK);
    attn_tape_begin(on->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_constant(on->tape, on->rows + on->offsets[b] * COLUMNS, rows[1], COLUMNS);
    attn_variable *loss = at_monotone_loss(&on->head, &on->layer, on->tape, x, &batch, &decoding);
    if (!loss) fail_msg("%s", attn_tape_error(on->tape));
    double log_p = -(double)host_data(loss)[0] * (double)(count + 1);
    at_decoding_free(on->context, &decoding);
    return log_p;
}

/* The decoder's rows after the last symbols of `count` answers of `length` symbols each. */
static attn_variable *last_rows(bench *on, attn_variable *source, const int32_t answers[][MOST_LENGTH],
                                const int64_t *sequence, int64_t count, int64_t length) {
    attn_variable *rows[SEQUENCES * 2];
    int64_t last[SEQUENCES * 2];
    static float values[SEQUENCES * 2 * COLUMNS]; /* the tape does not copy them */
    for (int64_t r = 0; r < count; r++) {
        at_decoding decoding = {0};
        int64_t offsets[2] = {0, length}, zero = 0, begin = on->offsets[sequence[r]];
        int64_t own[2] = {0, on->offsets[sequence[r] + 1] - begin}, pick[9];
        at_batch batch = {.context = on->context, .sequences = 1, .rows = own[1], .offsets = own};
        for (int64_t t = 0; t < own[1]; t++) pick[t] = begin + t;
        assert_int_equal(at_decoding_make(on->context, answers[r], offsets, &zero, 1, &decoding), ATTN_OK);
        rows[r] =
            at_sequence_decode(&on->head, &on->layer, on->tape,
                               attn_tape_gather(on->tape, source, pick, own[1]), &batch, &decoding, NULL);
        last[r] = length;
        rows[r] = attn_tape_gather(on->tape, rows[r], &last[r], 1);
        assert_non_null(rows[r]);
        assert_int_equal(attn_variable_read(rows[r], values + r * COLUMNS), ATTN_OK);
        at_decoding_free(on->context, &decoding);
    }
    return attn_tape_constant(on->tape, values, count, COLUMNS);
}

/* Two hypotheses for each source, in an order that changes: the sum of the logarithms of q, and that of the
 * end, is the log-probability by the lattice; q is a distribution. */
static void check_steps(int crosses) {
    bench on;
    make_bench(&on, crosses);
    at_monotone_search search = {0};
    enum { MOST = SEQUENCES * 2 };
    int32_t answers[MOST][MOST_LENGTH] = {{0}}, last[MOST];
    int64_t sequence[MOST], from[MOST];
    double sums[MOST] = {0};
    attn_tape_begin(on.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *source = attn_tape_constant(on.tape, on.rows, 9, COLUMNS);
    assert_int_equal(
        at_monotone_begin(on.context, &search, MOST, &on.layer, on.tape, source, &on.batch, SYMBOLS),
        ATTN_OK);
    int64_t count = SEQUENCES;
    for (int64_t r = 0; r < count; r++) sequence[r] = r;
    for (int64_t length = 0; length <= MOST_LENGTH; length++) {
        attn_tape_begin(on.tape, ATTN_TAPE_PREDICT, 0);
        source = attn_tape_constant(on.tape, on.rows, 9, COLUMNS);
        attn_variable *x =
            last_rows(&on, source, (const int32_t(*)[MOST_LENGTH])answers, sequence, count, length);
        assert_int_equal(at_monotone_step(&search, &on.head, &on.layer, on.tape, x, &on.batch), ATTN_OK);
        double told[MOST][SYMBOLS];
        for (int64_t r = 0; r < count; r++) {
            double all = 0;
            for (int s = 0; s < SYMBOLS; s++) {
                told[r][s] = (double)search.logarithms[r * SYMBOLS + s];
                all += exp(told[r][s]);
            }
            assert_true(fabs(all - 1) < 1e-5);
        }
        int32_t before[MOST][MOST_LENGTH];
        double sums_before[MOST];
        int64_t sequence_before[MOST];
        memcpy(before, answers, sizeof before);
        memcpy(sums_before, sums, sizeof sums);
        memcpy(sequence_before, sequence, sizeof sequence);
        for (int64_t r = 0; r < MOST; r++) { /* hypothesis r goes on from one of the same source */
            int64_t b = r / 2, own = count == SEQUENCES ? b : 2 * b + (r + length) % 2;
            last[r] = (int32_t)(1 + (3 * r + length) % (SYMBOLS - 1));
            from[r] = own;
            memcpy(answers[r], before[own], sizeof before[own]);
            if (length < MOST_LENGTH) answers[r][length] = last[r];
            sums[r] = sums_before[own] + told[own][last[r]];
            sequence[r] = sequence_before[own];
            double ended = sums_before[own] + told[own][0];
            double exact = by_lattice(&on, b, before[own], length);
            if (!(fabs(exact - ended) < 1e-4))
                fail_msg("crosses %d, length %d, r %d: %g, %g", crosses, (int)length, (int)r, exact, ended);
        }
        /* by_lattice used the tape: the step is taken once more before the next one reads it */
        attn_tape_begin(on.tape, ATTN_TAPE_PREDICT, 0);
        source = attn_tape_constant(on.tape, on.rows, 9, COLUMNS);
        x = last_rows(&on, source, (const int32_t(*)[MOST_LENGTH])before, sequence_before, count, length);
        assert_int_equal(at_monotone_step(&search, &on.head, &on.layer, on.tape, x, &on.batch), ATTN_OK);
        at_monotone_take(&search, MOST, from, last);
        count = MOST;
    }
    at_monotone_free(on.context, &search);
    free_bench(&on);
}

static void test_steps(void **state) {
    (void)state;
    check_steps(0);
    check_steps(1);
}

/* ---- networks that spell ---- */

/* What a letter becomes: none to three symbols; b is another symbol after a. */
static char *spelled_out(uint64_t seed, int pairs) {
    test_random random = {seed};
    char *text = calloc((size_t)pairs, 64), *to = text;
    for (int i = 0; i < pairs; i++) {
        int64_t count = random_between(&random, 1, 5), written = 0;
        char word[8] = "";
        for (int64_t k = 0; k < count; k++)
            word[k] = k + 1 == count ? 'a' : (char)('a' + random_between(&random, 0, 3));
        to += sprintf(to, "%s\t", word);
        for (int64_t k = 0; k < count; k++) {
            const char *says = word[k] == 'a'   ? "X Y"
                               : word[k] == 'b' ? (k && word[k - 1] == 'a' ? "V" : "W")
                               : word[k] == 'c' ? "X X Z"
                                                : "";
            if (*says) to += sprintf(to, "%s%s", written++ ? " " : "", says);
        }
        *to++ = '\n';
    }
    return text;
}

static const char *path_of(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    return path;
}

static attn_config *config_of(attn_context *context, const char *cross, const char *members,
                              const char *steps) {
    const char *const sets[] = {"task",
                                "seq2seq",
                                "decoder.monotone",
                                "true",
                                "decoder.cross",
                                cross,
                                "decoder.layers",
                                "1",
                                "output.members",
                                members,
                                "encoder.kind",
                                "rnn",
                                "training.steps",
                                steps,
                                "text.unit",
                                "chars",
                                "target.unit",
                                "symbols",
                                "training.batch_units",
                                "150",
                                "training.learning_rate",
                                "0.01",
                                NULL};
    return tiny_config(context, sets);
}

static int watch(void *user, const attn_training_state *state) {
    return *(const int64_t *)user > 0 && state->event == ATTN_TRAINING_STEP &&
           state->step == *(const int64_t *)user;
}

static void train(attn_context *context, attn_config *config, const char *name, int64_t stop, int resume) {
    char *train_text = spelled_out(1, 400), *dev_text = spelled_out(2, 40);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &stop;
    expect_ok(context, train_on(config, train_text, dev_text, &options));
    attn_config_destroy(config);
    free(train_text);
    free(dev_text);
}

static attn_prediction *predict(attn_context *context, const attn_model *model, const attn_dataset *data,
                                int64_t beam, int64_t n_best) {
    attn_predictor *predictor = NULL;
    attn_prediction *made = NULL;
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam;
    options.n_best = n_best;
    options.length_penalty = 0;
    options.alignment = 1;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_search(predictor, data, &options, &made));
    attn_predictor_destroy(predictor);
    return made;
}

static int64_t count_right(const attn_prediction *made, const attn_dataset *data) {
    int64_t right = 0;
    for (int64_t e = 0; e < attn_prediction_examples(made); e++)
        right += strcmp(attn_prediction_text(made, e, 0), attn_dataset_target(data, 0, e, 0)) == 0;
    return right;
}

/* Scores are sorted; each symbol is written at one row or another, and no earlier than the one before. */
static void check_answers(const attn_prediction *made) {
    for (int64_t e = 0; e < attn_prediction_examples(made); e++) {
        int64_t units = attn_prediction_units(made, e);
        for (int64_t n = 0; n < attn_prediction_hypotheses(made, e); n++) {
            assert_true(attn_prediction_log_probability(made, e, n) <= 1e-5);
            assert_true(!n || attn_prediction_log_probability(made, e, n - 1) >=
                                  attn_prediction_log_probability(made, e, n));
            const float *at = attn_prediction_alignment(made, e, n);
            double before = -1e-3;
            for (int64_t s = 0; s < attn_prediction_symbols(made, e, n); s++) {
                double sum = 0, place = 0;
                for (int64_t u = 0; u < units; u++) {
                    sum += (double)at[s * units + u];
                    place += (double)(at[s * units + u] * (float)u);
                }
                assert_true(fabs(sum - 1) < 1e-4);
                assert_true(place >= before - 1e-4);
                before = place;
            }
        }
    }
}

static void check_same(const attn_prediction *a, const attn_prediction *b, int64_t count) {
    for (int64_t e = 0; e < count; e++) {
        assert_int_equal(attn_prediction_hypotheses(a, e), attn_prediction_hypotheses(b, e));
        for (int64_t n = 0; n < attn_prediction_hypotheses(a, e); n++) {
            double p = attn_prediction_log_probability(a, e, n), q = attn_prediction_log_probability(b, e, n);
            assert_string_equal(attn_prediction_text(a, e, n), attn_prediction_text(b, e, n));
            assert_memory_equal(&p, &q, sizeof p);
            assert_memory_equal(attn_prediction_alignment(a, e, n), attn_prediction_alignment(b, e, n),
                                (size_t)(attn_prediction_symbols(a, e, n) * attn_prediction_units(a, e)) *
                                    sizeof(float));
        }
    }
}

static void test_learns(void **state) {
    (void)state;
    static const struct {
        const char *cross, *members;
    } cases[] = {{"false", "1"}, {"true", "1"}, {"false", "2"}};
    attn_context *context = test_best_context(1), *threads = test_best_context(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train(context, config_of(context, cases[i].cross, cases[i].members, "600"), "learned", 0, 0);
        attn_model *model = NULL;
        expect_ok(context, attn_model_load(context, path_of("learned"), &model));
        char *text = spelled_out(3, 100), *few_text = spelled_out(3, 5);
        attn_dataset *test = parse_corpus(attn_model_config(model), "test", text);
        attn_dataset *few = parse_corpus(attn_model_config(model), "few", few_text);
        attn_prediction *one = predict(context, model, test, 4, 3),
                        *two = predict(threads, model, test, 4, 3),
                        *alone = predict(context, model, few, 4, 3);
        check_answers(one);
        check_same(one, two, 100);
        check_same(one, alone, 5);
        int64_t right = count_right(one, test);
        if (right < 90) fail_msg("case %d: %d of 100 are right", (int)i, (int)right);
        attn_prediction_destroy(one);
        attn_prediction_destroy(two);
        attn_prediction_destroy(alone);
        attn_dataset_destroy(test);
        attn_dataset_destroy(few);
        attn_model_destroy(model);
        free(text);
        free(few_text);
    }
}

/* The same bytes on two threads, and after a stop. */
static void test_resumes(void **state) {
    (void)state;
    attn_context *context = test_best_context(1), *threads = test_best_context(2);
    train(context, config_of(context, "false", "2", "40"), "whole", 0, 0);
    train(threads, config_of(threads, "false", "2", "40"), "threads", 0, 0);
    train(context, config_of(context, "false", "2", "40"), "stopped", 23, 0);
    train(context, config_of(context, "false", "2", "40"), "stopped", 0, 1);
    char whole[100];
    snprintf(whole, sizeof whole, "%s", path_of("whole"));
    assert_true(same_files(whole, path_of("threads")));
    assert_true(same_files(whole, path_of("stopped")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_learns),
                                       cmocka_unit_test(test_resumes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
