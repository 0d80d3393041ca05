/* test_gradients.c: the oracle's backward pass against differences of its
 * forward pass, and the library's against the same differences.
 *
 * For every element x of every input, with L = sum(output * d_output), the
 * signed five-point central difference in double
 *
 *     (8 (L(x + h) - L(x - h)) - (L(x + 2h) - L(x - 2h))) / 12 h,   h = 2^-10
 *
 * has a truncation error of h^4 / 30 times the fifth derivative (3e-14 times
 * it) and a rounding error of about 2^-53 |L| / h (1e-13 |L|); 1e-9 of the
 * largest gradient plus 1e-10 of |L| covers both and is far below any wrong
 * factor, sign or index.
 */
#include <math.h>
#include <stdlib.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/naive.h"

static const struct {
    tensor_id input, gradient;
} pairs[] = {{QUERY, D_QUERY}, {KEY, D_KEY}, {VALUE, D_VALUE}, {BIAS, D_BIAS}, {DISTANCE, D_DISTANCE}};

/* L, and the size of its terms. */
static double loss(const problem *p, values *scratch, double *size) {
    assert_int_equal(ref_attention_forward(&p->reference, scratch->data[OUTPUT], NULL, NULL), ATTN_OK);
    double sum = 0.0;
    *size = 0.0;
    for (int64_t e = 0; e < p->count[OUTPUT]; e++) {
        if (isnan(p->exact[D_OUTPUT][e])) continue; /* a row of no sequence */
        double term = scratch->data[OUTPUT][e] * p->exact[D_OUTPUT][e];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static double difference(problem *p, values *scratch, tensor_id id, int64_t e, double *size) {
    const double h = ldexp(1.0, -10);
    double *x = &p->exact[id][e], kept = *x, at[5] = {0};
    for (int step = -2; step <= 2; step++) {
        *x = kept + step * h;
        if (step != 0) at[step + 2] = loss(p, scratch, size);
    }
    *x = kept;
    return (8.0 * (at[3] - at[1]) - (at[4] - at[0])) / (12.0 * h);
}

/* All differences of a problem, laid out as gradients. -inf and unused rows
 * cannot be moved: what the oracle says (0, or the canary) is checked there. */
static values *all_differences(problem *p, const values *oracle, double *size) {
    values *result = values_create(p), *scratch = values_create(p);
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        double *gradient = result->data[pairs[k].gradient];
        for (int64_t e = 0; gradient && e < p->count[pairs[k].gradient]; e++) {
            double x = p->exact[pairs[k].input][e];
            if (isfinite(x)) gradient[e] = difference(p, scratch, pairs[k].input, e, size);
            if (isinf(x)) assert_true(oracle->data[pairs[k].gradient][e] == 0.0);
            if (isinf(x)) gradient[e] = 0.0;
            if (isnan(x)) assert_true(oracle->data[pairs[k].gradient][e] == (double)CANARY);
        }
    }
    values_destroy(scratch);
    return result;
}

static void check_oracle(const problem *p, const values *oracle, const values *differences, double size) {
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        tensor_id id = pairs[k].gradient;
        double most = 0.0;
        for (int64_t e = 0; oracle->data[id] && e < p->count[id]; e++)
            if (oracle->data[id][e] != (double)CANARY) most = fmax(most, fabs(oracle->data[id][e]));
        for (int64_t e = 0; oracle->data[id] && e < p->count[id]; e++) {
            double error = fabs(oracle->data[id][e] - differences->data[id][e]);
            if (error <= 1e-9 * most + 1e-10 * size) continue;
            char text[512];
            case_describe(&p->c, text, sizeof(text));
            fail_msg("%s[%lld]: the oracle has %.12g, the difference is %.12g\n  %s", tensor_names[id],
                     (long long)e, oracle->data[id][e], differences->data[id][e], text);
        }
    }
}

static void check_gradients(const test_case *c) {
    problem *p = problem_create(c, MEMORY_PLAIN);
    values *oracle = run_oracle(p, RUN_BOTH);
    double size = 0.0;
    values *differences = all_differences(p, oracle, &size);
    check_oracle(p, oracle, differences, size);
    for (int id = OUTPUT; id < D_QUERY; id++)
        for (int64_t e = 0; differences->data[id] && e < p->count[id]; e++)
            differences->data[id][e] = oracle->data[id][e];
    values *naive = values_create(p), *rounding = values_create(p);
    naive_attention(p, RUN_BOTH, naive, rounding);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        values *library = run_library(test_context(isa, 1), p, RUN_BOTH);
        assert_close(p, test_isa_names[isa], library, differences, naive, rounding);
        values_destroy(library);
    }
    values_destroy(oracle);
    values_destroy(differences);
    values_destroy(naive);
    values_destroy(rounding);
    problem_destroy(p);
}

/* Two small sequences, cross-attention, two heads: the ground that the
 * options are tried on. */
static test_case small_case(void) {
    test_case c = case_simple(4, 5);
    c.sequences = 2;
    c.queries[1] = 3;
    c.keys[1] = 2;
    c.heads = c.kv_heads = 2;
    c.d_k = 3;
    c.d_v = 2;
    return c;
}

static void test_plain(void **state) {
    (void)state;
    test_case c = small_case();
    check_gradients(&c);
    c.scale = 1.0f;
    check_gradients(&c);
    c.kv_heads = 1;
    check_gradients(&c);
    c.heads = 4;
    c.kv_heads = 2;
    check_gradients(&c);
}

static void test_layouts(void **state) {
    (void)state;
    for (int layout = 0; layout < LAYOUTS; layout++) {
        test_case c = small_case();
        c.layout = (case_layout)layout;
        check_gradients(&c);
    }
}

static void test_reach(void **state) {
    (void)state;
    static const int64_t reaches[][2] = {{-1, 0}, {0, -1}, {1, 1}, {0, 0}, {2, 0}, {0, 1}, {-1, 2}};
    for (size_t k = 0; k < sizeof(reaches) / sizeof(reaches[0]); k++) {
        for (int align = 0; align < 2; align++) {
            test_case c = small_case();
            c.left = reaches[k][0];
            c.right = reaches[k][1];
            c.align = (attn_align)align;
            check_gradients(&c);
        }
    }
}

static void test_masks(void **state) {
    (void)state;
    for (int mask = 1; mask < MASKS; mask++) {
        test_case c = small_case();
        c.mask = (case_mask)mask;
        check_gradients(&c);
    }
}

static void test_every_bias_broadcast(void **state) {
    (void)state;
    for (int shared = 0; shared < 16; shared++) {
        for (int order = 0; order < ORDERS; order++) {
            test_case c = small_case();
            c.bias = true;
            c.bias_shared = shared;
            c.bias_order = (case_order)order;
            c.bias_infinities = order == 1;
            c.seed = (uint64_t)(shared + 1);
            check_gradients(&c);
        }
    }
}

static void test_distance_bias(void **state) {
    (void)state;
    for (int64_t reach = 0; reach < 6; reach++) {
        for (int variant = 0; variant < 8; variant++) {
            test_case c = small_case();
            c.distance_reach = reach;
            c.distance_shared = variant & 1;
            c.distance_infinities = variant & 2;
            c.align = variant & 4 ? ATTN_ALIGN_END : ATTN_ALIGN_START;
            check_gradients(&c);
        }
    }
}

static void test_alibi_softcap_dropout(void **state) {
    (void)state;
    for (int options = 1; options < 8; options++) {
        test_case c = small_case();
        c.alibi = options & 1;
        c.softcap = options & 2 ? 1.5f : 0.0f;
        c.dropout = options & 4 ? 0.4f : 0.0f;
        c.weights = true;
        check_gradients(&c);
    }
}

static void test_everything_at_once(void **state) {
    (void)state;
    test_random random = {7};
    for (int k = 0; k < 60; k++) {
        test_case c = case_random(&random, 6);
        c.d_k = random_between(&random, 1, 4);
        c.d_v = random_between(&random, 1, 4);
        c.sequences = c.sequences > 2 ? 2 : c.sequences;
        c.amplitude = 1.0f;
        check_gradients(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_every_bias_broadcast),
        cmocka_unit_test(test_distance_bias),
        cmocka_unit_test(test_alibi_softcap_dropout),
        cmocka_unit_test(test_everything_at_once),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
