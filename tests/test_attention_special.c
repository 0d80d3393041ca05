/* test_attention_special.c: rows that see nothing, large logits, and numbers
 * that are none.
 *
 * The rule for a NaN or an infinity in an input: what it may reach shows what
 * the arithmetic of attn/attention.h makes of it (the oracle does that
 * arithmetic), and everything else has the same bits as without it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- rows that see nothing ---------------------------------------------------------------------- */

static void assert_blind_row(const problem *p, const values *v, int64_t b, int64_t h, int64_t i) {
    const test_case *c = &p->c;
    int64_t out = problem_index(p, OUTPUT, b, i, h, 0), dq = problem_index(p, D_QUERY, b, i, h, 0);
    for (int64_t e = 0; e < c->d_v; e++) assert_true(v->data[OUTPUT][out + e] == 0.0);
    for (int64_t e = 0; e < c->d_k; e++) assert_true(v->data[D_QUERY][dq + e] == 0.0);
    assert_true(v->data[LOG_SUM_EXP][out / c->d_v] == -INFINITY);
}

static void assert_lonely_key(const problem *p, const values *v, int64_t b, int64_t kv, int64_t j) {
    const test_case *c = &p->c;
    int64_t dk = problem_index(p, D_KEY, b, j, kv, 0), dv = problem_index(p, D_VALUE, b, j, kv, 0);
    for (int64_t e = 0; e < c->d_k; e++) assert_true(v->data[D_KEY][dk + e] == 0.0);
    for (int64_t e = 0; e < c->d_v; e++) assert_true(v->data[D_VALUE][dv + e] == 0.0);
}

/* Queries without a key and keys without a query: exactly 0. Returns how many
 * there were, so that a test can insist on having met some. */
static int check_blind(const problem *p, const values *v) {
    const test_case *c = &p->c;
    int found = 0;
    for (int b = 0; b < c->sequences; b++) {
        for (int64_t h = 0; h < c->heads; h++) {
            for (int64_t i = 0; i < c->queries[b]; i++) {
                bool blind = true;
                for (int64_t j = 0; j < c->keys[b]; j++) blind = blind && !problem_sees(p, b, h, i, j);
                if (blind) assert_blind_row(p, v, b, h, i);
                found += blind;
            }
        }
        for (int64_t kv = 0; kv < c->kv_heads; kv++) {
            for (int64_t j = 0; j < c->keys[b]; j++) {
                bool lonely = true;
                int64_t group = c->heads / c->kv_heads;
                for (int64_t h = kv * group; h < (kv + 1) * group; h++)
                    for (int64_t i = 0; i < c->queries[b]; i++)
                        lonely = lonely && !problem_sees(p, b, h, i, j);
                if (lonely) assert_lonely_key(p, v, b, kv, j);
                found += lonely;
            }
        }
    }
    return found;
}

static void expect_blind(const test_case *c) {
    problem *p = problem_create(c, MEMORY_PLAIN);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        values *v = run_library(context, p, RUN_BOTH);
        assert_true(check_blind(p, v) > 0);
        values_destroy(v);
    }
    check_problem(p, RUN_BOTH);
    problem_destroy(p);
}

static void test_no_keys(void **state) {
    (void)state;
    test_case c = case_simple(37, 0);
    c.weights = true;
    expect_blind(&c);
    c.layout = LAYOUT_ROOM;
    c.sequences = 2;
    c.queries[1] = 3;
    c.keys[1] = 9;
    expect_blind(&c);
}

static void test_no_queries(void **state) {
    (void)state;
    test_case c = case_simple(0, 37);
    c.bias = true;
    c.distance_reach = 3;
    expect_blind(&c);
}

static void test_out_of_reach(void **state) {
    (void)state;
    test_case c = case_simple(90, 40); /* causal at the end: the first 50 queries precede key 0 */
    c.right = 0;
    c.align = ATTN_ALIGN_END;
    c.weights = true;
    expect_blind(&c);
    c = case_simple(200, 30); /* a window: the last queries have passed the last key */
    c.left = c.right = 5;
    c.weights = true;
    expect_blind(&c);
    c = case_simple(30, 200); /* and here the last keys are out of every reach */
    c.left = c.right = 5;
    expect_blind(&c);
}

static void test_masked_out(void **state) {
    (void)state;
    test_case c = case_simple(60, 20);
    c.mask = MASK_SPARSE;
    c.heads = c.kv_heads = 2;
    c.weights = true;
    expect_blind(&c);
    c.right = 0;
    c.dropout = 0.3f;
    expect_blind(&c);
}

static void test_bias_hides_all(void **state) {
    (void)state;
    test_case c = case_simple(50, 2);
    c.bias = true;
    c.bias_infinities = true;
    expect_blind(&c);
    problem *p = problem_create(&c, MEMORY_PLAIN);
    for (int64_t e = 0; e < p->count[BIAS]; e++) problem_set(p, BIAS, e, -INFINITY);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        values *v = run_library(test_context(isa, 1), p, RUN_BOTH);
        assert_int_equal(check_blind(p, v), 50 + 2);
        for (int64_t e = 0; e < p->count[D_BIAS]; e++) assert_true(v->data[D_BIAS][e] == 0.0);
        values_destroy(v);
    }
    problem_destroy(p);
}

static void test_distance_hides_all(void **state) {
    (void)state;
    test_case c = case_simple(40, 40);
    c.distance_reach = 1;
    c.right = 0;
    problem *p = problem_create(&c, MEMORY_PLAIN);
    problem_set(p, DISTANCE, 1, -INFINITY); /* itself: query 0 sees nothing else */
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        values *v = run_library(test_context(isa, 1), p, RUN_BOTH);
        assert_int_equal(check_blind(p, v), 2); /* query 0, and the last key */
        values_destroy(v);
    }
    check_problem(p, RUN_BOTH);
    problem_destroy(p);
}

/* ---- large logits --------------------------------------------------------------------------------- */

static void test_large_logits(void **state) {
    (void)state;
    static const float amplitudes[] = {2.0f, 4.5f, 16.0f}; /* scores of size 16, 80 and 1000 */
    for (size_t k = 0; k < COUNT(amplitudes); k++) {
        for (int causal = 0; causal < 2; causal++) {
            test_case c = case_simple(70, 150);
            c.scale = 1.0f;
            c.amplitude = amplitudes[k];
            c.right = causal ? 0 : ATTN_UNLIMITED;
            c.weights = true;
            c.seed = k + 3;
            check_case(&c, RUN_BOTH);
        }
    }
}

/* Scores of exactly +-80 in ascending and descending order: the running
 * maximum of an online softmax moves at every key, or never. */
static void test_plus_minus_80(void **state) {
    (void)state;
    for (int falling = 0; falling < 2; falling++) {
        test_case c = case_simple(3, 161);
        c.d_k = 1;
        c.scale = 1.0f;
        c.weights = true;
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int64_t i = 0; i < 3; i++) problem_set(p, QUERY, i, falling ? -1.0f : 1.0f);
        for (int64_t j = 0; j < 161; j++) problem_set(p, KEY, j, (float)(j - 80));
        check_problem(p, RUN_BOTH);
        problem_destroy(p);
    }
}

/* A shift of all scores by the same large amount changes nothing but the
 * log-sum-exp: no exponential of an unshifted score overflows. */
static void test_shifted_scores(void **state) {
    (void)state;
    static const float shifts[] = {1000.0f, -1000.0f, 65536.0f, -65536.0f};
    for (size_t k = 0; k < COUNT(shifts); k++) {
        test_case c = case_simple(20, 40);
        c.bias = true;
        c.bias_shared = SHARE_SEQUENCE | SHARE_HEAD | SHARE_QUERY | SHARE_KEY;
        problem *p = problem_create(&c, MEMORY_PLAIN);
        problem_set(p, BIAS, 0, shifts[k]);
        check_problem(p, RUN_BOTH);
        problem_destroy(p);
    }
}

/* ---- NaN and infinities --------------------------------------------------------------------------- */

/* One bad number, and in place. */
typedef struct blemish {
    tensor_id id;
    int64_t sequence, row, head, channel;
    float value;
} blemish;

/* May query i of head h be reached by the blemish? */
static bool is_reached(const problem *p, const blemish *bad, int64_t b, int64_t h, int64_t i) {
    int64_t group = p->c.heads / p->c.kv_heads;
    if (b != bad->sequence) return false;
    if (bad->id == QUERY || bad->id == D_OUTPUT) return h == bad->head && i == bad->row;
    return h / group == bad->head && problem_sees(p, b, h, i, bad->row);
}

/* Is key j of a key/value head seen by a query that the blemish reaches? */
static bool key_is_reached(const problem *p, const blemish *bad, int64_t b, int64_t kv, int64_t j) {
    int64_t group = p->c.heads / p->c.kv_heads;
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < p->c.queries[b]; i++)
            if (is_reached(p, bad, b, h, i) && problem_sees(p, b, h, i, j)) return true;
    return false;
}

static void assert_same_row(const char *isa, const blemish *bad, tensor_id id, const values *clean,
                            const values *dirty, int64_t first, int64_t count) {
    if (memcmp(clean->data[id] + first, dirty->data[id] + first, (size_t)count * sizeof(double)) != 0)
        fail_msg(
            "%s: %s[%lld ..] changed by %g in %s (sequence %d, row %d, head %d), which cannot be seen there",
            isa, tensor_names[id], (long long)first, (double)bad->value, tensor_names[bad->id],
            (int)bad->sequence, (int)bad->row, (int)bad->head);
}

/* Rows and keys that cannot be reached keep their bits. Returns their number. */
static int check_untouched(const problem *p, const char *isa, const blemish *bad, const values *clean,
                           const values *dirty) {
    const test_case *c = &p->c;
    int untouched = 0;
    for (int b = 0; b < c->sequences; b++) {
        for (int64_t h = 0; h < c->heads; h++) {
            for (int64_t i = 0; i < c->queries[b]; i++) {
                if (is_reached(p, bad, b, h, i)) continue;
                int64_t out = problem_index(p, OUTPUT, b, i, h, 0);
                assert_same_row(isa, bad, OUTPUT, clean, dirty, out, c->d_v);
                assert_same_row(isa, bad, LOG_SUM_EXP, clean, dirty, out / c->d_v, 1);
                assert_same_row(isa, bad, D_QUERY, clean, dirty, problem_index(p, D_QUERY, b, i, h, 0),
                                c->d_k);
                untouched++;
            }
        }
        for (int64_t kv = 0; kv < c->kv_heads; kv++) {
            for (int64_t j = 0; j < c->keys[b]; j++) {
                if (key_is_reached(p, bad, b, kv, j)) continue;
                assert_same_row(isa, bad, D_KEY, clean, dirty, problem_index(p, D_KEY, b, j, kv, 0), c->d_k);
                assert_same_row(isa, bad, D_VALUE, clean, dirty, problem_index(p, D_VALUE, b, j, kv, 0),
                                c->d_v);
            }
        }
    }
    return untouched;
}

/* Is `a` what the arithmetic makes of a blemish, if the oracle has `b`? The
 * class (finite, NaN, which infinity) is the oracle's, with two liberties that
 * the order of operations takes after an infinity: a log-sum-exp may be any of
 * the numbers that are not finite, and a gradient that the oracle has not
 * finite may be anything (a weight of exp(-inf - inf) is 0 or NaN). */
static bool is_shown(const blemish *bad, tensor_id id, double a, double b) {
    if (isfinite(b)) return isfinite(a);
    if (isinf(bad->value) && id == LOG_SUM_EXP) return !isfinite(a);
    if (isinf(bad->value) && id >= D_QUERY) return true;
    return isnan(b) ? isnan(a) : a == b;
}

static void check_shown(const problem *p, const char *isa, const blemish *bad, const values *dirty,
                        const values *oracle) {
    for (int id = OUTPUT; id < TENSORS; id++) {
        for (int64_t e = 0; dirty->data[id] && e < p->count[id]; e++) {
            if (is_shown(bad, (tensor_id)id, dirty->data[id][e], oracle->data[id][e])) continue;
            char text[512];
            case_describe(&p->c, text, sizeof(text));
            fail_msg(
                "%s: %s[%lld] is %g, the arithmetic gives %g, for %g in %s (sequence %d, row %d, head %d, "
                "channel %d)\n  %s",
                isa, tensor_names[id], (long long)e, dirty->data[id][e], oracle->data[id][e],
                (double)bad->value, tensor_names[bad->id], (int)bad->sequence, (int)bad->row, (int)bad->head,
                (int)bad->channel, text);
        }
    }
    for (int64_t row = 0; row < p->count[D_QUERY] / p->c.d_k; row++) { /* a gradient shows it somewhere */
        bool in_oracle = false, in_library = false;
        for (int64_t e = row * p->c.d_k; e < (row + 1) * p->c.d_k; e++) {
            in_oracle = in_oracle || !isfinite(oracle->data[D_QUERY][e]);
            in_library = in_library || !isfinite(dirty->data[D_QUERY][e]);
        }
        if (in_oracle != in_library)
            fail_msg("%s: d_query of row %lld hides %g in %s (row %d)", isa, (long long)row,
                     (double)bad->value, tensor_names[bad->id], (int)bad->row);
    }
}

/* Returns how many rows the blemish cannot reach, over all instruction sets. */
static int check_blemish(const test_case *c, const blemish *bad) {
    int untouched = 0;
    problem *p = problem_create(c, MEMORY_PLAIN), *q = problem_create(c, MEMORY_PLAIN);
    problem_set(q, bad->id, problem_index(q, bad->id, bad->sequence, bad->row, bad->head, bad->channel),
                bad->value);
    values *oracle = run_oracle(q, RUN_BOTH);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        values *clean = run_library(context, p, RUN_BOTH), *dirty = run_library(context, q, RUN_BOTH);
        untouched += check_untouched(p, test_isa_names[isa], bad, clean, dirty);
        check_shown(q, test_isa_names[isa], bad, dirty, oracle);
        values_destroy(clean);
        values_destroy(dirty);
    }
    values_destroy(oracle);
    problem_destroy(p);
    problem_destroy(q);
    return untouched;
}

/* Every kind of bad number in every input, at several places of the last
 * sequence. */
static void check_blemishes(const test_case *c) {
    static const tensor_id ids[] = {QUERY, KEY, VALUE, D_OUTPUT};
    const float numbers[] = {NAN, INFINITY, -INFINITY};
    int64_t b = c->sequences - 1;
    for (size_t t = 0; t < COUNT(ids); t++) {
        bool keys = ids[t] == KEY || ids[t] == VALUE;
        int64_t rows = keys ? c->keys[b] : c->queries[b];
        int untouched = 0;
        for (size_t k = 0; k < COUNT(numbers); k++) {
            for (int place = 0; place < 4; place++) {
                blemish bad = {ids[t], b, place * (rows - 1) / 3, 0, 0, numbers[k]};
                bad.head = (keys ? c->kv_heads : c->heads) - 1;
                bad.channel = place % 2 ? 0 : (ids[t] == QUERY || ids[t] == KEY ? c->d_k : c->d_v) - 1;
                untouched += check_blemish(c, &bad);
            }
        }
        assert_true(untouched > 0); /* the case is one in which something must stay */
    }
}

static void test_blemish_full(void **state) {
    (void)state;
    test_case c = case_simple(20, 35); /* the other sequence and the other head are untouched */
    c.sequences = 2;
    c.queries[1] = 17;
    c.keys[1] = 19;
    c.heads = 4;
    c.kv_heads = 2;
    c.d_k = 9;
    check_blemishes(&c);
    c.layout = LAYOUT_ROOM;
    check_blemishes(&c);
}

static void test_blemish_causal(void **state) {
    (void)state;
    test_case c = case_simple(45, 45);
    c.right = 0;
    check_blemishes(&c);
    c = case_simple(150, 200); /* over several tiles */
    c.right = 0;
    c.align = ATTN_ALIGN_END;
    check_blemishes(&c);
}

static void test_blemish_window(void **state) {
    (void)state;
    test_case c = case_simple(50, 50);
    c.left = c.right = 4;
    check_blemishes(&c);
    c = case_simple(260, 260);
    c.left = 30;
    c.right = 3;
    check_blemishes(&c);
}

static void test_blemish_mask(void **state) {
    (void)state;
    test_case c = case_simple(40, 48);
    c.mask = MASK_RANDOM;
    check_blemishes(&c);
    c.mask = MASK_SPARSE;
    c.heads = 2;
    check_blemishes(&c);
    c = case_simple(30, 200); /* the mask empties whole tiles */
    c.mask = MASK_BLOCKS;
    check_blemishes(&c);
    c = case_simple(150, 9); /* more queries in a tile than keys in a block */
    c.mask = MASK_RANDOM;
    c.softcap = 5.0f;
    c.distance_reach = 4;
    check_blemishes(&c);
}

static void test_blemish_bias(void **state) {
    (void)state;
    test_case c = case_simple(33, 47);
    c.bias = true;
    c.bias_infinities = true;
    check_blemishes(&c);
    c.bias_shared = SHARE_QUERY;
    c.heads = 2;
    check_blemishes(&c);
    c = case_simple(33, 47);
    c.distance_reach = 12;
    c.distance_infinities = true;
    check_blemishes(&c);
}

static void test_blemish_in_decode(void **state) {
    (void)state;
    test_case c = case_simple(4, 1100);
    c.heads = c.kv_heads = 2;
    c.right = 0;
    c.align = ATTN_ALIGN_END;
    check_blemishes(&c);
}

/* A NaN in the bias reaches exactly the query that reads it. */
static void test_nan_in_bias(void **state) {
    (void)state;
    test_case c = case_simple(40, 50);
    c.bias = true;
    c.right = 0;
    problem *p = problem_create(&c, MEMORY_PLAIN), *q = problem_create(&c, MEMORY_PLAIN);
    int64_t keys = p->tensor[BIAS].shape[3];
    problem_set(q, BIAS, 21 * keys + 20, NAN);
    problem_set(q, BIAS, 12 * keys + 30, NAN); /* after query 12: not in reach, so never read into anything */
    const blemish nan = {BIAS, 0, 21, 0, 20, NAN}, *bad = &nan;
    for (int k = 0; k < TEST_ISAS; k++) {
        const char *isa = test_isa_names[k];
        if (!test_context(k, 1)) continue;
        values *clean = run_library(test_context(k, 1), p, RUN_BOTH);
        values *dirty = run_library(test_context(k, 1), q, RUN_BOTH);
        for (int64_t i = 0; i < 40; i++) {
            if (i == 21) assert_true(isnan(dirty->data[OUTPUT][i * c.d_v]));
            if (i == 21) continue;
            assert_same_row(isa, bad, OUTPUT, clean, dirty, i * c.d_v, c.d_v);
            assert_same_row(isa, bad, D_QUERY, clean, dirty, i * c.d_k, c.d_k);
            assert_same_row(isa, bad, D_BIAS, clean, dirty, i * keys, keys);
        }
        assert_same_row(isa, bad, D_KEY, clean, dirty, 22 * c.d_k, (50 - 22) * c.d_k);
        assert_same_row(isa, bad, D_VALUE, clean, dirty, 22 * c.d_v, (50 - 22) * c.d_v);
        values_destroy(clean);
        values_destroy(dirty);
    }
    problem_destroy(p);
    problem_destroy(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_keys),           cmocka_unit_test(test_no_queries),
        cmocka_unit_test(test_out_of_reach),      cmocka_unit_test(test_masked_out),
        cmocka_unit_test(test_bias_hides_all),    cmocka_unit_test(test_distance_hides_all),
        cmocka_unit_test(test_large_logits),      cmocka_unit_test(test_plus_minus_80),
        cmocka_unit_test(test_shifted_scores),    cmocka_unit_test(test_blemish_full),
        cmocka_unit_test(test_blemish_causal),    cmocka_unit_test(test_blemish_window),
        cmocka_unit_test(test_blemish_mask),      cmocka_unit_test(test_blemish_bias),
        cmocka_unit_test(test_blemish_in_decode), cmocka_unit_test(test_nan_in_bias),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
