/* test_memory_safety.c: what attention reads, writes and allocates.
 *
 * Buffers stand against forbidden pages, gaps between rows hold canaries
 * (run_library checks them in every test), and the context's memory comes from
 * an allocator that counts and fails on demand.
 */
#include <stdlib.h>
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

static const memory_kind guards[2] = {MEMORY_GUARD_AFTER, MEMORY_GUARD_BEFORE};

static void check_guarded(const test_case *c) {
    for (int k = 0; k < 2; k++) {
        problem *p = problem_create(c, guards[k]);
        check_problem(p, RUN_BOTH);
        problem_destroy(p);
    }
}

/* ---- guard pages --------------------------------------------------------------------------------- */

static void test_guarded_lengths(void **state) {
    (void)state;
    for (int64_t n = 0; n <= 49; n++) {
        test_case c = case_simple(n, (n * 3 + 1) % 50);
        c.d_k = 1 + n % 19;
        c.d_v = 1 + n * 7 % 23;
        c.heads = c.kv_heads = 1 + n % 2;
        c.right = n % 3 ? ATTN_UNLIMITED : 0;
        c.left = n % 4 ? ATTN_UNLIMITED : 3;
        c.seed = (uint64_t)n;
        check_guarded(&c);
    }
}

static void test_guarded_layouts(void **state) {
    (void)state;
    for (int layout = 0; layout < LAYOUTS; layout++) {
        for (int64_t n = 15; n <= 17; n++) {
            test_case c = case_simple(n, 2 * n + 1);
            c.sequences = 2;
            c.queries[1] = 5;
            c.keys[1] = n;
            c.heads = 4;
            c.kv_heads = 2;
            c.d_k = n;
            c.d_v = n + 2;
            c.layout = (case_layout)layout;
            c.weights = true;
            check_guarded(&c);
        }
    }
}

/* The last byte of a mask, the last entry of a bias or a table, slopes and
 * offsets stand against the guard as well. */
static void test_guarded_masks_and_biases(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; n += 3) {
        test_case c = case_simple(n, n + 5);
        c.sequences = 2;
        c.queries[1] = 2 * n;
        c.keys[1] = n;
        c.heads = c.kv_heads = 2;
        c.mask = (case_mask)(1 + n % (MASKS - 1));
        c.bias = true;
        c.bias_shared = (int)(n % 16);
        c.bias_order = (case_order)(n % ORDERS);
        c.distance_reach = n / 2;
        c.alibi = true;
        c.weights = true;
        c.seed = (uint64_t)n;
        check_guarded(&c);
    }
}

static void test_guarded_long_rows(void **state) {
    (void)state;
    static const int64_t lengths[][2] = {{130, 257}, {3, 1100}, {261, 67}};
    for (size_t k = 0; k < 3; k++) {
        test_case c = case_simple(lengths[k][0], lengths[k][1]);
        c.right = 0;
        c.align = ATTN_ALIGN_END;
        c.mask = MASK_BLOCKS;
        c.bias = k == 0;
        check_guarded(&c);
    }
}

static void test_guarded_random(void **state) {
    (void)state;
    test_random random = {31};
    for (int k = 0; k < 100; k++) {
        test_case c = case_random(&random, 40);
        check_guarded(&c);
    }
}

/* ---- the allocator ------------------------------------------------------------------------------- */

static test_case busy_case(int number) {
    test_case c = case_simple(number == 1 ? 2 : 150, number == 1 ? 3000 : 170);
    c.heads = 4;
    c.kv_heads = 2;
    c.layout = number == 2 ? LAYOUT_CHANNEL_STRIDE : LAYOUT_ROWS;
    c.bias = true;
    c.bias_shared = SHARE_HEAD | SHARE_QUERY;
    c.distance_reach = 5;
    c.weights = true;
    c.right = number == 1 ? ATTN_UNLIMITED : 0;
    return c;
}
#define BUSY_CASES 3

static attn_context *counted_context(counting_allocator *counter, int threads) {
    attn_context *context = NULL;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = threads;
    options.allocator = counting_allocator_functions(counter);
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    return context;
}

static bool is_untouched(const problem *p, tensor_id first, tensor_id last) {
    for (int id = first; id <= (int)last; id++) {
        const float *memory = p->memory[id].data;
        for (size_t e = 0; e < p->memory[id].bytes / sizeof(float); e++)
            if (memory[e] != CANARY) return false;
    }
    return true;
}

/* Lets the n-th allocation of a pass fail, for every n that there is. Returns
 * how many there were. */
static int fail_every_step(problem *p, int threads, bool backward) {
    for (int n = 1;; n++) {
        counting_allocator counter = {0};
        attn_context *context = counted_context(&counter, threads);
        problem_reset(p);
        if (backward) assert_int_equal(problem_forward(test_best_context(1), p), ATTN_OK);
        int64_t live = counter.live;
        counter.fail_at = n;
        attn_status status = backward ? problem_backward(context, p) : problem_forward(context, p);
        bool done = counter.failures == 0; /* the n-th was never asked for */
        if (!done) {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_true(strlen(attn_context_error(context)) > 0);
            assert_true(is_untouched(p, backward ? D_QUERY : OUTPUT, D_DISTANCE));
            assert_true(counter.live <= live); /* nothing of the failed call stays */
            counter.fail_at = 0;
            values *after = run_library(context, p, RUN_BOTH),
                   *expected = run_library(test_best_context(1), p, RUN_BOTH);
            assert_same_bits(p, "after a failed allocation", expected, after);
            values_destroy(after);
            values_destroy(expected);
        } else {
            assert_int_equal(status, ATTN_OK);
        }
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        if (done) return n - 1;
    }
}

static void test_every_allocation_fails(void **state) {
    (void)state;
    int met = 0;
    for (int number = 0; number < BUSY_CASES; number++) {
        test_case c = busy_case(number);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int threads = 1; threads <= 2; threads++) {
            met += fail_every_step(p, threads, false);
            met += fail_every_step(p, threads, true);
        }
        problem_destroy(p);
    }
    assert_true(met > 0);
}

static void test_second_call_allocates_nothing(void **state) {
    (void)state;
    for (int number = 0; number < BUSY_CASES; number++) {
        test_case c = busy_case(number);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        counting_allocator counter = {0};
        attn_context *context = counted_context(&counter, 2);
        values_destroy(run_library(context, p, RUN_BOTH));
        int64_t allocations = counter.allocations;
        size_t memory = attn_context_memory(context);
        for (int k = 0; k < 3; k++) values_destroy(run_library(context, p, RUN_BOTH));
        assert_int_equal(counter.allocations, allocations);
        assert_int_equal(attn_context_memory(context), memory);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        problem_destroy(p);
    }
}

/* What the size queries say is enough, once reserved. */
static void test_reserved_memory_is_enough(void **state) {
    (void)state;
    for (int number = 0; number < BUSY_CASES; number++) {
        for (int backward = 0; backward < 2; backward++) {
            test_case c = busy_case(number);
            problem *p = problem_create(&c, MEMORY_PLAIN);
            counting_allocator counter = {0};
            attn_context *context = counted_context(&counter, 2);
            size_t bytes = 0;
            problem_reset(p);
            if (backward) assert_int_equal(problem_forward(test_best_context(1), p), ATTN_OK);
            assert_int_equal((backward ? attn_attention_backward_memory : attn_attention_forward_memory)(
                                 context, &p->pattern, &p->options, &p->tensor[QUERY], &p->tensor[KEY],
                                 &p->tensor[VALUE], &bytes),
                             ATTN_OK);
            assert_int_equal(attn_context_reserve(context, bytes), ATTN_OK);
            assert_true(attn_context_memory(context) >= bytes);
            int64_t allocations = counter.allocations;
            assert_int_equal(backward ? problem_backward(context, p) : problem_forward(context, p), ATTN_OK);
            assert_int_equal(counter.allocations, allocations);
            attn_context_destroy(context);
            problem_destroy(p);
        }
    }
}

/* A reserve that fails keeps the memory that there was. */
static void test_failed_reserve(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context *context = counted_context(&counter, 1);
    assert_int_equal(attn_context_reserve(context, 100000), ATTN_OK);
    size_t before = attn_context_memory(context);
    assert_true(before >= 100000);
    counter.fail_at = 1;
    assert_int_equal(attn_context_reserve(context, 10 * before), ATTN_OUT_OF_MEMORY);
    assert_int_equal(attn_context_memory(context), before);
    assert_int_equal(attn_context_reserve(context, before), ATTN_OK); /* needs nothing new */
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

/* n x n never exists: the memory of 8 heads of 8192 x 64 is at most one head's
 * keys and values and 1 MB a thread, and the backward pass is linear too. */
static void test_memory_is_linear(void **state) {
    (void)state;
    float number = 0.0f;
    attn_context *context = test_best_context(2);
    size_t forward[2], backward[2];
    for (int k = 0; k < 2; k++) {
        attn_tensor rows = attn_tensor_rows(&number, k ? 16384 : 8192, 8, 64); /* sizes only: never read */
        assert_int_equal(attn_attention_forward_memory(context, NULL, NULL, &rows, &rows, &rows, &forward[k]),
                         ATTN_OK);
        assert_int_equal(
            attn_attention_backward_memory(context, NULL, NULL, &rows, &rows, &rows, &backward[k]), ATTN_OK);
    }
    assert_true(forward[0] <= 2u * 8192 * 64 * sizeof(float) + 2u * (1 << 20));
    assert_true(forward[1] <= 2 * forward[0] + (1 << 16));
    assert_true(backward[1] <= 2 * backward[0] + (1 << 16));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guarded_lengths),
        cmocka_unit_test(test_guarded_layouts),
        cmocka_unit_test(test_guarded_masks_and_biases),
        cmocka_unit_test(test_guarded_long_rows),
        cmocka_unit_test(test_guarded_random),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_second_call_allocates_nothing),
        cmocka_unit_test(test_reserved_memory_is_enough),
        cmocka_unit_test(test_failed_reserve),
        cmocka_unit_test(test_memory_is_linear),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
