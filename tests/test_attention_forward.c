/* test_attention_forward.c: output, log-sum-exp and weights of attention
 * against the oracle, over the grid of support/attention_grid.h, on every
 * instruction set; a case worked out by hand; and what may be left out.
 */
#include <math.h>
#include <string.h>

#include "support/attention_grid.h"
#include "support/check.h"
#include "support/contexts.h"

static void test_short_lengths(void **state) {
    (void)state;
    grid_short_lengths(RUN_FORWARD);
}

static void test_long_lengths(void **state) {
    (void)state;
    grid_long_lengths(RUN_FORWARD);
}

static void test_channels(void **state) {
    (void)state;
    grid_channels(RUN_FORWARD);
}

static void test_heads_and_layouts(void **state) {
    (void)state;
    grid_heads_and_layouts(RUN_FORWARD);
}

static void test_ragged(void **state) {
    (void)state;
    grid_ragged(RUN_FORWARD);
}

static void test_reach(void **state) {
    (void)state;
    grid_reach(RUN_FORWARD);
}

static void test_masks(void **state) {
    (void)state;
    grid_masks(RUN_FORWARD);
}

static void test_bias(void **state) {
    (void)state;
    grid_bias(RUN_FORWARD);
}

static void test_distance(void **state) {
    (void)state;
    grid_distance(RUN_FORWARD);
}

static void test_scores(void **state) {
    (void)state;
    grid_scores(RUN_FORWARD);
}

static void test_decode(void **state) {
    (void)state;
    grid_decode(RUN_FORWARD);
}

static void test_random_combinations(void **state) {
    (void)state;
    grid_random(RUN_FORWARD, 1, 400, 60);
    grid_random(RUN_FORWARD, 2, 40, 200);
}

/* One query (1, 2) against three keys, causal with end alignment, worked out
 * by hand. With scale 1 the scores are 1, 2, 3; e^1 + e^2 + e^3 = 30.192874...;
 * the weights are 0.09003057, 0.24472847, 0.66524096. */
static void test_worked_example(void **state) {
    (void)state;
    float query[2] = {1.0f, 2.0f}, key[6] = {1.0f, 0.0f, 0.0f, 1.0f, -1.0f, 2.0f};
    float value[3] = {10.0f, 20.0f, -30.0f};
    static const double weight[3] = {0.09003057317038046, 0.24472847105479764, 0.66524095577482178};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        float out[1], lse[1], weights[3];
        int64_t three = 3, row_and_head[2] = {1, 1};
        attn_tensor q = attn_tensor_rows(query, 1, 1, 2), k = attn_tensor_rows(key, 3, 1, 2);
        attn_tensor v = attn_tensor_rows(value, 3, 1, 1), o = attn_tensor_rows(out, 1, 1, 1);
        attn_tensor l = attn_tensor_view(lse, 2, row_and_head), w = attn_tensor_view(weights, 1, &three);
        attn_pattern pattern;
        attn_pattern_init(&pattern);
        pattern.right = 0;
        pattern.align = ATTN_ALIGN_END;
        attn_attention_options options;
        attn_attention_options_init(&options);
        options.scale = 1.0f;
        assert_int_equal(attn_attention_forward(context, &pattern, &options, &q, &k, &v, &o, &l, &w),
                         ATTN_OK);
        for (int j = 0; j < 3; j++) assert_true(fabs((double)weights[j] - weight[j]) <= 1e-7);
        assert_true(fabs((double)out[0] - (10.0 * weight[0] + 20.0 * weight[1] - 30.0 * weight[2])) <= 4e-6);
        assert_true(fabs((double)lse[0] - 3.4076059644443806) <= 1e-6);
        pattern.align = ATTN_ALIGN_START; /* the query is at key 0 and sees it alone */
        assert_int_equal(attn_attention_forward(context, &pattern, &options, &q, &k, &v, &o, &l, &w),
                         ATTN_OK);
        assert_true(out[0] == 10.0f && lse[0] == 1.0f);
        assert_true(weights[0] == 1.0f && weights[1] == 0.0f && weights[2] == 0.0f);
    }
}

/* NULL pattern and options mean what the init functions write. */
static void test_defaults(void **state) {
    (void)state;
    test_case c = case_simple(20, 30);
    problem *p = problem_create(&c, MEMORY_PLAIN);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        values *full = run_library(context, p, RUN_FORWARD);
        problem_reset(p);
        assert_int_equal(attn_attention_forward(context, NULL, NULL, &p->tensor[QUERY], &p->tensor[KEY],
                                                &p->tensor[VALUE], &p->tensor[OUTPUT], NULL, NULL),
                         ATTN_OK);
        for (int64_t e = 0; e < p->count[OUTPUT]; e++)
            assert_true((double)*view_element(&p->tensor[OUTPUT], e) == full->data[OUTPUT][e]);
        for (int64_t e = 0; e < p->count[LOG_SUM_EXP]; e++)
            assert_true(*view_element(&p->tensor[LOG_SUM_EXP], e) == CANARY);
        values_destroy(full);
    }
    problem_destroy(p);
}

/* The weights sum the values to the output, row by row, where
 * attn_attention_weights_layout says that they lie. */
static void check_weights_sum(attn_context *context, problem *p) {
    const test_case *c = &p->c;
    values *result = run_library(context, p, RUN_FORWARD);
    int64_t count = -1, end = 0;
    assert_int_equal(
        attn_attention_weights_count(context, &p->pattern, &p->tensor[QUERY], &p->tensor[KEY], &count),
        ATTN_OK);
    assert_int_equal(count, p->count[WEIGHTS]);
    for (int b = 0; b < c->sequences; b++) {
        attn_weights_layout at = {.size = sizeof at};
        assert_int_equal(
            attn_attention_weights_layout(context, &p->pattern, &p->tensor[QUERY], &p->tensor[KEY], b, &at),
            ATTN_OK);
        assert_int_equal(at.offset, end);
        assert_true(at.heads == c->heads && at.queries == c->queries[b] && at.keys == c->keys[b]);
        end += at.heads * at.queries * at.width;
        for (int64_t h = 0; h < c->heads; h++) {
            for (int64_t i = 0; i < c->queries[b]; i++) {
                const double *w = result->data[WEIGHTS] + at.offset + (h * at.queries + i) * at.width;
                double sum = 0.0;
                for (int64_t e = 0; e < at.width; e++) {
                    int64_t j = at.first_key + i * at.key_step + e;
                    bool seen = j >= 0 && j < at.keys && problem_sees(p, b, h, i, j);
                    if (!seen) assert_true(w[e] == 0.0);
                    if (seen) sum += w[e] * p->exact[VALUE][problem_index(p, VALUE, b, j, h, 0)];
                }
                double out = result->data[OUTPUT][problem_index(p, OUTPUT, b, i, h, 0)];
                assert_true(fabs(out - sum) <= 1e-5);
            }
        }
    }
    assert_int_equal(end, count);
    values_destroy(result);
}

static void test_weights_layout(void **state) {
    (void)state;
    static const int64_t reaches[][2] = {{-1, -1}, {-1, 0}, {2, 3}, {0, 0}, {40, 40}, {9, 0}};
    for (size_t k = 0; k < sizeof(reaches) / sizeof(reaches[0]); k++) {
        test_case c = case_simple(30, 30);
        c.sequences = 3;
        c.queries[1] = 7;
        c.keys[1] = 50;
        c.queries[2] = 20;
        c.keys[2] = 4;
        c.heads = c.kv_heads = 2;
        c.left = reaches[k][0];
        c.right = reaches[k][1];
        c.align = k % 2 ? ATTN_ALIGN_END : ATTN_ALIGN_START;
        c.weights = true;
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int isa = 0; isa < TEST_ISAS; isa++)
            if (test_context(isa, 1)) check_weights_sum(test_context(isa, 1), p);
        problem_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_weights_layout),
        cmocka_unit_test(test_short_lengths),
        cmocka_unit_test(test_long_lengths),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_heads_and_layouts),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_random_combinations),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
