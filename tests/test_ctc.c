/* test_ctc.c: connectionist temporal classification, against all paths one by one where they can be
 * counted, and against the recursion in double where not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_SEQUENCES = 200, MOST_ROWS = 4100, MOST_STATES = 1001 };

typedef struct ctc_case {
    int64_t sequences, symbols;
    int64_t offsets[MOST_SEQUENCES + 1], target_offsets[MOST_SEQUENCES + 1];
    int32_t targets[MOST_ROWS];
    int32_t blank;
    int all_paths; /* the oracle counts paths */
    int sliced;
} ctc_case;

typedef struct sequence {
    int64_t rows, symbols, stride;
    const double *scores;
    const int32_t *target;
    int64_t length;
    int32_t blank;
} sequence;

/* ---- the oracles ---- */

static void log_softmax(const sequence *s, int64_t t, double *y) {
    const double *x = s->scores + t * s->stride;
    double highest = -INFINITY, sum = 0.0;
    for (int64_t c = 0; c < s->symbols; c++) highest = fmax(highest, x[c]);
    for (int64_t c = 0; c < s->symbols; c++) sum += exp(x[c] - highest);
    for (int64_t c = 0; c < s->symbols; c++) y[c] = x[c] - highest - log(sum);
}

/* Whether a path means the target. */
static int means(const sequence *s, const int32_t *path) {
    int64_t said = 0;
    for (int64_t t = 0; t < s->rows; t++) {
        if (path[t] == s->blank || (t && path[t] == path[t - 1])) continue;
        if (said == s->length || s->target[said] != path[t]) return 0;
        said++;
    }
    return said == s->length;
}

/* log p(target), by all paths there are. */
static double over_all_paths(const sequence *s) {
    double y[8][8], sum = 0.0;
    int32_t path[8] = {0};
    for (int64_t t = 0; t < s->rows; t++) log_softmax(s, t, y[t]);
    for (;;) {
        double p = means(s, path) ? 1.0 : 0.0;
        for (int64_t t = 0; t < s->rows; t++) p *= exp(y[t][path[t]]);
        sum += p;
        int64_t t = s->rows - 1;
        while (t >= 0 && ++path[t] == s->symbols) path[t--] = 0;
        if (t < 0) return log(sum);
    }
}

static double log_add(double a, double b) {
    double high = fmax(a, b), low = fmin(a, b);
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* The recursion in double. */
static double by_recursion(const sequence *s) {
    static double row[MOST_STATES], next[MOST_STATES], y[64];
    int64_t states = 2 * s->length + 1;
    if (s->rows == 0) return s->length ? -INFINITY : 0.0;
    for (int64_t t = 0; t < s->rows; t++) {
        log_softmax(s, t, y);
        for (int64_t i = 0; i < states; i++) {
            double sum = t ? row[i] : i < 2 ? 0.0 : -INFINITY;
            int symbol = i % 2 == 1;
            if (t && i > 0) sum = log_add(sum, row[i - 1]);
            if (t && symbol && i > 1 && s->target[i / 2] != s->target[i / 2 - 1])
                sum = log_add(sum, row[i - 2]);
            next[i] = sum + y[symbol ? s->target[i / 2] : s->blank];
        }
        memcpy(row, next, (size_t)states * sizeof *row);
    }
    return states > 1 ? log_add(row[states - 1], row[states - 2]) : row[0];
}

/* ---- the loss ---- */

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const ctc_case *k = user;
    (void)parameter;
    ctc_case *gone = malloc(sizeof *gone);
    memcpy(gone, k, sizeof *gone);
    attn_ragged batch = {k->sequences, gone->offsets}, target_batch = {k->sequences, gone->target_offsets};
    attn_variable *x = k->sliced ? attn_tape_slice(tape, input[0], 2, k->symbols) : input[0];
    attn_variable *loss = attn_tape_ctc(tape, x, &batch, gone->targets, &target_batch, k->blank);
    memset(gone, 0x55, sizeof *gone); /* may be gone by the backward pass */
    free(gone);
    return loss;
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const ctc_case *k = user;
    double total = 0.0;
    int64_t rows = k->offsets[k->sequences];
    (void)parameter;
    sequence s = {
        .symbols = k->symbols, .stride = k->sliced ? k->symbols + 3 : k->symbols, .blank = k->blank};
    for (int64_t b = 0; b < k->sequences; b++) {
        s.rows = k->offsets[b + 1] - k->offsets[b];
        s.scores = input[0] + k->offsets[b] * s.stride + (k->sliced ? 2 : 0);
        s.target = k->targets + k->target_offsets[b];
        s.length = k->target_offsets[b + 1] - k->target_offsets[b];
        double log_p = k->all_paths ? over_all_paths(&s) : by_recursion(&s);
        if (log_p != -INFINITY) total -= log_p;
    }
    result[0] = rows ? total / (double)rows : 0.0;
}

/* `share`: symbols of a target per row, in percent; some targets do not fit. */
static ctc_case *new_case(int64_t sequences, int64_t symbols, int64_t longest, int64_t share, int variant) {
    ctc_case *k = calloc(1, sizeof *k);
    test_random random = {(uint64_t)(sequences * 100 + symbols * 10 + longest + variant)};
    k->sequences = sequences;
    k->symbols = symbols;
    k->sliced = variant & 1;
    k->blank = (int32_t)(variant % symbols);
    for (int64_t b = 0; b < sequences; b++) {
        int64_t rows = random_between(&random, 0, longest);
        int64_t length = symbols > 1 ? random_between(&random, 0, rows * share / 100) : 0;
        k->offsets[b + 1] = k->offsets[b] + rows;
        k->target_offsets[b + 1] = k->target_offsets[b] + length;
    }
    assert_true(k->offsets[sequences] <= MOST_ROWS);
    for (int64_t i = 0; i < k->target_offsets[sequences]; i++) {
        int32_t symbol = (int32_t)random_between(&random, 0, symbols - 2);
        k->targets[i] = symbol >= k->blank ? symbol + 1 : symbol;
    }
    return k;
}

static void check_loss(ctc_case *k, float amplitude, uint64_t seed) {
    operation_case c = {.name = "ctc",
                        .inputs = 1,
                        .input = {{.rows = k->offsets[k->sequences],
                                   .columns = k->sliced ? k->symbols + 3 : k->symbols,
                                   .amplitude = amplitude}},
                        .rows = 1,
                        .columns = 1,
                        .seed = seed,
                        .user = k,
                        .run = run,
                        .reference = reference,
                        .checked = k->offsets[k->sequences] > 1000 ? 12 : 60};
    operation_check(&c);
}

static void test_all_paths(void **state) {
    (void)state;
    for (int64_t symbols = 2; symbols <= 4; symbols++) {
        for (int64_t longest = 1; longest <= 6; longest++) {
            for (int variant = 0; variant < 4; variant++) {
                ctc_case *k = new_case(6, symbols, longest, 100, variant);
                k->all_paths = 1;
                check_loss(k, 1.0f, (uint64_t)(longest * 10 + variant));
                free(k);
            }
        }
    }
}

/* Against hand-made cases: repeated symbols need a blank between them; no rows; no symbols. */
static void test_repeats(void **state) {
    (void)state;
    static const struct {
        int64_t rows, length;
        int32_t target[4];
    } cases[] = {{3, 2, {1, 1}}, {2, 2, {1, 1}}, {5, 3, {2, 2, 2}}, {4, 3, {2, 2, 2}}, {6, 4, {1, 1, 2, 1}},
                 {3, 0, {0}},    {0, 0, {0}},    {0, 1, {1}},       {1, 1, {2}},       {1, 2, {1, 2}}};
    ctc_case *k = calloc(1, sizeof *k);
    k->symbols = 3;
    k->all_paths = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t b = k->sequences++;
        k->offsets[b + 1] = k->offsets[b] + cases[i].rows;
        k->target_offsets[b + 1] = k->target_offsets[b] + cases[i].length;
        memcpy(k->targets + k->target_offsets[b], cases[i].target,
               (size_t)cases[i].length * sizeof *k->targets);
    }
    check_loss(k, 1.5f, 5);
    k->all_paths = 0;
    check_loss(k, 1.5f, 6);
    free(k);
}

static void test_sizes(void **state) {
    (void)state;
    static const int64_t symbols[] = {2, 7, 8, 9, 16, 17, 33, 60};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        ctc_case *k = new_case(5, symbols[i], 40, 60, (int)i);
        check_loss(k, 1.0f, i);
        free(k);
    }
    ctc_case *k = new_case(150, 4, 9, 50, 3); /* more sequences than tasks */
    check_loss(k, 1.0f, 4);
    free(k);
    k = new_case(0, 5, 1, 50, 3); /* no sequence at all */
    check_loss(k, 1.0f, 5);
    free(k);
    k = new_case(3, 5, 0, 50, 3); /* empty ones only */
    check_loss(k, 1.0f, 6);
    free(k);
    k = new_case(4, 1, 5, 50, 0); /* nothing but the blank: p is 1 */
    check_loss(k, 1.0f, 7);
    free(k);
}

/* Scores of -100 .. 100 and sequences of 2,000 rows: p is far below what a double holds. */
static void test_extremes(void **state) {
    (void)state;
    ctc_case *k = new_case(4, 6, 12, 60, 2);
    check_loss(k, 30.0f, 8);
    free(k);
    k = new_case(1, 5, 0, 0, 1);
    k->offsets[1] = 2000;
    static const int64_t lengths[] = {0, 150, 400};
    for (int i = 0; i < 3; i++) {
        k->target_offsets[1] = lengths[i];
        for (int64_t t = 0; t < lengths[i]; t++) {
            k->targets[t] = (int32_t)(t * t % 4);
            if (k->targets[t] >= k->blank) k->targets[t]++;
        }
        check_loss(k, 1.0f, 9);
        check_loss(k, 20.0f, 10);
    }
    free(k);
    k = new_case(1, 9, 0, 0, 1); /* one path only: every row is a symbol */
    k->offsets[1] = k->target_offsets[1] = 300;
    for (int64_t t = 0; t < 300; t++) k->targets[t] = (int32_t)(2 + t % 7);
    check_loss(k, 5.0f, 11);
    free(k);
}

/* ---- by itself ---- */

typedef struct outcome {
    float loss, *gradient;
} outcome;

static outcome run_plain(attn_context *context, const ctc_case *k, const float *x) {
    attn_tape *tape;
    outcome o = {0, calloc((size_t)(k->offsets[k->sequences] * k->symbols + 1), sizeof(float))};
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_ragged batch = {k->sequences, k->offsets}, target_batch = {k->sequences, k->target_offsets};
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *scores = attn_tape_input(tape, x, k->offsets[k->sequences], k->symbols, 1);
    attn_variable *loss = attn_tape_ctc(tape, scores, &batch, k->targets, &target_batch, k->blank);
    if (!loss) fail_msg("%s", attn_tape_error(tape));
    o.loss = host_data(loss)[0];
    assert_int_equal(attn_tape_backward(tape, loss, NULL), ATTN_OK);
    assert_int_equal(attn_variable_read_gradient(scores, o.gradient), ATTN_OK);
    attn_tape_destroy(tape);
    return o;
}

static float *random_scores(const ctc_case *k, uint64_t seed) {
    test_random random = {seed};
    int64_t count = k->offsets[k->sequences] * k->symbols;
    float *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = random_normal(&random);
    return x;
}

/* A sequence alone has the bits that it has among others, whose rows the mean is over too. */
static void test_same_bits(void **state) {
    (void)state;
    ctc_case *k = new_case(16, 7, 30, 50, 2);
    for (int64_t b = 0; b < k->sequences; b++) { /* 4, 8, 12, ... rows: scaled by powers of 2 below */
        k->offsets[b + 1] = 32 * (b + 1);
        k->target_offsets[b + 1] = 8 * (b + 1);
    }
    for (int64_t i = 0; i < 128; i++) k->targets[i] = (int32_t)(i * i % 6 + (i * i % 6 >= 2));
    float *x = random_scores(k, 3);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        outcome all = run_plain(test_context(isa, 7), k, x);
        for (int64_t b = 0; b < k->sequences; b++) {
            ctc_case one = *k;
            one.sequences = 1;
            memcpy(one.targets, k->targets + 8 * b, 8 * sizeof *one.targets);
            outcome alone = run_plain(test_context(isa, 1), &one, x + 32 * b * 7);
            for (int i = 0; i < 32 * 7; i++) /* 16 sequences of equal length: exactly 1 / 16 */
                assert_true(all.gradient[32 * b * 7 + i] * 16.0f == alone.gradient[i]);
            free(alone.gradient);
        }
        free(all.gradient);
    }
    free(x);
    free(k);
}

/* NaN stays in its sequence; -inf that shuts all paths takes the sequence out; gradients of rows add to 0. */
static void test_not_numbers(void **state) {
    (void)state;
    ctc_case *k = calloc(1, sizeof *k);
    k->sequences = 3;
    k->symbols = 4;
    for (int b = 0; b < 3; b++) {
        k->offsets[b + 1] = 6 * (b + 1);
        k->target_offsets[b + 1] = 2 * (b + 1);
        k->targets[2 * b] = 1;
        k->targets[2 * b + 1] = 1 + b;
    }
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        float *x = random_scores(k, 4);
        outcome good = run_plain(test_context(isa, 1), k, x);
        for (int t = 0; t < 18; t++) {
            double sum = 0.0;
            for (int c = 0; c < 4; c++) sum += (double)good.gradient[t * 4 + c];
            assert_true(fabs(sum) < 1e-7);
        }
        for (int symbol = 0; symbol < 4; symbol++) {
            float kept = x[8 * 4 + symbol];
            x[8 * 4 + symbol] = NAN;
            outcome bad = run_plain(test_context(isa, 1), k, x);
            assert_true(isnan(bad.loss));
            assert_memory_equal(good.gradient, bad.gradient, 24 * sizeof(float));
            assert_memory_equal(good.gradient + 48, bad.gradient + 48, 24 * sizeof(float));
            for (int i = 32; i < 36; i++) assert_true(isnan(bad.gradient[i]));
            x[8 * 4 + symbol] = kept;
            free(bad.gradient);
        }
        for (int t = 6; t < 12; t++) x[t * 4 + 2] = -INFINITY; /* the second sequence cannot say 2 */
        outcome shut = run_plain(test_context(isa, 1), k, x);
        assert_true(isfinite(shut.loss) && shut.loss > 0.0f && shut.loss < good.loss);
        for (int i = 24; i < 48; i++) assert_true(shut.gradient[i] == 0.0f);
        assert_memory_equal(good.gradient, shut.gradient, 24 * sizeof(float));
        for (int t = 6; t < 12; t++) x[t * 4 + 2] = t == 9 ? 1.0f : -INFINITY; /* in one row only */
        outcome narrow = run_plain(test_context(isa, 1), k, x);
        assert_true(isfinite(narrow.loss));
        for (int i = 24; i < 48; i++) assert_true(isfinite(narrow.gradient[i]));
        free(shut.gradient);
        free(narrow.gradient);
        free(good.gradient);
        free(x);
    }
    free(k);
}

static void test_errors(void **state) {
    (void)state;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    const float x[12] = {0};
    const int32_t targets[3] = {1, 2, 1}, high[3] = {1, 3, 1}, blank[3] = {1, 0, 1};
    const int64_t offsets[3] = {0, 1, 4}, wrong[3] = {0, 3, 3}, target_offsets[3] = {0, 1, 3};
    attn_ragged batch = {2, offsets}, wrong_batch = {2, wrong}, target_batch = {2, target_offsets},
                one = {1, target_offsets}, falling = {2, (const int64_t[]){0, 3, 1}};
    static const char *const texts[] = {"ctc: the offsets of the batch must rise from 0 to the 4 rows",
                                        "ctc: target 1 is 3, but logits has 3 columns",
                                        "ctc: target 1 is 0, the blank",
                                        "ctc: blank is 3, but logits has 3 columns",
                                        "ctc: target_batch has 1 sequences, the batch has 2",
                                        "ctc: targets: the offsets of the batch must rise from 0",
                                        "ctc: targets is NULL",
                                        "ctc: batch is NULL"};
    for (int i = 0; i < 8; i++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
        attn_variable *e = attn_tape_input(tape, x, 4, 3, 1);
        assert_null(attn_tape_ctc(tape, e,
                                  i == 0   ? &wrong_batch
                                  : i == 7 ? NULL
                                           : &batch,
                                  i == 1   ? high
                                  : i == 2 ? blank
                                  : i == 6 ? NULL
                                           : targets,
                                  i == 4   ? &one
                                  : i == 5 ? &falling
                                           : &target_batch,
                                  i == 3 ? 3 : 0));
        if (!strstr(attn_tape_error(tape), texts[i])) fail_msg("%s, not %s", attn_tape_error(tape), texts[i]);
    }
    attn_tape_destroy(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_paths), cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
