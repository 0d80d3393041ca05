/* test_full_grid.c: long runs of random combinations of everything, forward
 * and backward, with sequences of up to 3000 rows. Not part of the quick tests.
 */
#include "support/attention_grid.h"
#include "support/check.h"
#include "support/contexts.h"

static void test_thousands_of_short_ones(void **state) {
    (void)state;
    grid_random(RUN_BOTH, 101, 4000, 50);
}

static void test_hundreds_of_middle_ones(void **state) {
    (void)state;
    grid_random(RUN_BOTH, 102, 300, 300);
}

/* One head and few channels, so that the oracle is done within a minute. */
static void test_long_ones(void **state) {
    (void)state;
    test_random random = {103};
    for (int k = 0; k < 12; k++) {
        test_case c = case_random(&random, 3000);
        c.sequences = 1;
        c.heads = c.kv_heads = 1;
        c.d_k = random_between(&random, 1, 32);
        c.d_v = random_between(&random, 1, 32);
        c.queries[0] = random_between(&random, 500, 3000);
        c.keys[0] = random_between(&random, 500, 3000);
        check_case(&c, RUN_BOTH);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousands_of_short_ones),
        cmocka_unit_test(test_hundreds_of_middle_ones),
        cmocka_unit_test(test_long_ones),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
