/* test_attention_backward.c: all gradients of attention against the oracle,
 * over the grid of support/attention_grid.h, on every instruction set; and
 * what may be left out of a backward call.
 */
#include <string.h>

#include "support/attention_grid.h"
#include "support/check.h"
#include "support/contexts.h"

static void test_short_lengths(void **state) {
    (void)state;
    grid_short_lengths(RUN_BACKWARD);
}

static void test_long_lengths(void **state) {
    (void)state;
    grid_long_lengths(RUN_BACKWARD);
}

static void test_channels(void **state) {
    (void)state;
    grid_channels(RUN_BACKWARD);
}

static void test_heads_and_layouts(void **state) {
    (void)state;
    grid_heads_and_layouts(RUN_BACKWARD);
}

static void test_ragged(void **state) {
    (void)state;
    grid_ragged(RUN_BACKWARD);
}

static void test_reach(void **state) {
    (void)state;
    grid_reach(RUN_BACKWARD);
}

static void test_masks(void **state) {
    (void)state;
    grid_masks(RUN_BACKWARD);
}

static void test_bias(void **state) {
    (void)state;
    grid_bias(RUN_BACKWARD);
}

static void test_distance(void **state) {
    (void)state;
    grid_distance(RUN_BACKWARD);
}

static void test_scores(void **state) {
    (void)state;
    grid_scores(RUN_BACKWARD);
}

static void test_decode(void **state) {
    (void)state;
    grid_decode(RUN_BACKWARD);
}

static void test_random_combinations(void **state) {
    (void)state;
    grid_random(RUN_BACKWARD, 11, 300, 60);
    grid_random(RUN_BACKWARD, 12, 30, 200);
}

/* Any subset of the gradients may be requested; those that are come out with
 * the same bits, and what is not asked for is not written. */
static void test_every_subset_of_gradients(void **state) {
    (void)state;
    static const tensor_id ids[5] = {D_QUERY, D_KEY, D_VALUE, D_BIAS, D_DISTANCE};
    test_case c = case_simple(40, 70);
    c.heads = 4;
    c.kv_heads = 2;
    c.bias = true;
    c.distance_reach = 9;
    c.right = 0;
    c.align = ATTN_ALIGN_END;
    problem *p = problem_create(&c, MEMORY_PLAIN);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 2);
        if (!context) continue;
        values *whole = run_library(context, p, RUN_BOTH);
        attn_tensor kept[TENSORS];
        memcpy(kept, p->tensor, sizeof(kept));
        for (int subset = 0; subset < 32; subset++) {
            for (int k = 0; k < 5; k++) {
                p->tensor[ids[k]] = kept[ids[k]];
                if (!(subset >> k & 1)) p->tensor[ids[k]].data = NULL;
            }
            problem_reset(p);
            assert_int_equal(problem_forward(context, p), ATTN_OK);
            assert_int_equal(problem_backward(context, p), ATTN_OK);
            for (int k = 0; k < 5; k++) {
                for (int64_t e = 0; e < p->count[ids[k]]; e++) {
                    double got = (double)*view_element(&kept[ids[k]], e);
                    assert_true(got == (subset >> k & 1 ? whole->data[ids[k]][e] : (double)CANARY));
                }
            }
        }
        memcpy(p->tensor, kept, sizeof(kept));
        values_destroy(whole);
    }
    problem_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(test_every_subset_of_gradients),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
