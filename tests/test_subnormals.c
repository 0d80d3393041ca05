/* test_subnormals.c: numbers too small for a full significand count as 0, and the mode of arithmetic is a
 * matter of the library while it computes, and of the caller before and after.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/arithmetic.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/random.h"

enum { ROWS = 150, HEADS = 2, CHANNELS = 64, NUMBERS = ROWS * HEADS * CHANNELS, WIDTH = HEADS * CHANNELS };
enum { QUERY, KEY, VALUE, D_OUTPUT, INPUTS };
enum { OUTPUT, D_QUERY, D_KEY, D_VALUE, LINEAR, SOFTMAX, RESULTS };

static float inputs[INPUTS][NUMBERS], results[2][RESULTS][NUMBERS];
static float square[WIDTH * WIDTH];

static int is_subnormal(float x) { return x != 0.0f && fabsf(x) < 0x1p-126f; }

/* Numbers of which a part is subnormal, and another so small that products are. */
static void fill(float *x, int count, test_random *random) {
    for (int i = 0; i < count; i++) {
        float unit = random_unit(random);
        x[i] = i % 7 == 0 ? unit * 0x1p-130f : i % 7 == 1 ? unit * 0x1p-70f : unit;
    }
}

/* Attention with weights that underflow, there and back; a linear layer likewise; a softmax of rows. */
static void compute(attn_context *context, float result[RESULTS][NUMBERS]) {
    float level[ROWS * HEADS];
    attn_tensor t[INPUTS], r[RESULTS], log_sum_exp = attn_tensor_matrix(level, ROWS, HEADS);
    for (int i = 0; i < INPUTS; i++) t[i] = attn_tensor_rows(inputs[i], ROWS, HEADS, CHANNELS);
    for (int i = 0; i < RESULTS; i++) r[i] = attn_tensor_rows(result[i], ROWS, HEADS, CHANNELS);
    attn_pattern pattern;
    attn_attention_options options;
    attn_attention_gradients gradients;
    attn_pattern_init(&pattern);
    attn_attention_options_init(&options);
    attn_attention_gradients_init(&gradients);
    options.scale = 16.0f;
    gradients.query = r[D_QUERY];
    gradients.key = r[D_KEY];
    gradients.value = r[D_VALUE];
    assert_int_equal(attn_attention_forward(context, &pattern, &options, &t[QUERY], &t[KEY], &t[VALUE],
                                            &r[OUTPUT], &log_sum_exp, NULL),
                     ATTN_OK);
    assert_int_equal(attn_attention_backward(context, &pattern, &options, &t[QUERY], &t[KEY], &t[VALUE],
                                             &r[OUTPUT], &log_sum_exp, &t[D_OUTPUT], &gradients),
                     ATTN_OK);
    attn_tensor weight = attn_tensor_matrix(square, WIDTH, WIDTH);
    attn_tensor x = attn_tensor_matrix(inputs[QUERY], ROWS, WIDTH);
    attn_tensor y = attn_tensor_matrix(result[LINEAR], ROWS, WIDTH);
    attn_tensor p = attn_tensor_matrix(result[SOFTMAX], ROWS, WIDTH);
    size_t bytes;
    attn_packed_weight packed;
    assert_int_equal(attn_weight_packed_size(context, WIDTH, WIDTH, &bytes), ATTN_OK);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    assert_int_equal(attn_weight_pack(context, &weight, 0, memory, bytes, &packed), ATTN_OK);
    assert_int_equal(attn_matmul_forward(context, &x, &packed, NULL, ATTN_SILU, &y, NULL), ATTN_OK);
    assert_int_equal(attn_softmax_forward(context, &x, &p), ATTN_OK);
    free(memory);
}

static void test_no_result_is_subnormal(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (int threads = 1; threads <= 2; threads++) {
            attn_context *context = test_context(isa, threads);
            if (!context) continue;
            compute(context, results[0]);
            for (int r = 0; r < RESULTS; r++) {
                for (int i = 0; i < NUMBERS; i++) {
                    if (is_subnormal(results[0][r][i]))
                        fail_msg("%s: number %d of result %d is %g", test_isa_names[isa], i, r,
                                 (double)results[0][r][i]);
                }
            }
        }
    }
}

/* What an operand that is subnormal would have added, had it been multiplied. */
static void test_operands_count_as_0(void **state) {
    (void)state;
    enum { IN = 20, OUT = 30 };
    static float x[3 * IN], w[OUT * IN], y[3 * OUT];
    for (int i = 0; i < 3 * IN; i++) x[i] = 0x1p-127f;
    for (int i = 0; i < OUT * IN; i++) w[i] = 0x1p100f;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        attn_tensor input = attn_tensor_matrix(x, 3, IN), weight = attn_tensor_matrix(w, OUT, IN),
                    output = attn_tensor_matrix(y, 3, OUT);
        size_t bytes;
        attn_packed_weight packed;
        assert_int_equal(attn_weight_packed_size(context, OUT, IN, &bytes), ATTN_OK);
        void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
        assert_non_null(memory);
        assert_int_equal(attn_weight_pack(context, &weight, 0, memory, bytes, &packed), ATTN_OK);
        assert_int_equal(attn_matmul_forward(context, &input, &packed, NULL, ATTN_IDENTITY, &output, NULL),
                         ATTN_OK);
        for (int i = 0; i < 3 * OUT; i++) assert_true(y[i] == 0.0f);
        x[0] = 0x1p-126f; /* the smallest number that counts */
        assert_int_equal(attn_matmul_forward(context, &input, &packed, NULL, ATTN_IDENTITY, &output, NULL),
                         ATTN_OK);
        for (int i = 0; i < OUT; i++) assert_true(y[i] == 0x1p-26f);
        x[0] = 0x1p-127f;
        free(memory);
    }
}

/* The caller's modes: as a program begins, with subnormals flushed, with numbers rounded up. */
static void test_the_callers_mode(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const uint64_t modes[] = {0x1f80, 0x9fc0, 0x5f80};
#elif defined(__aarch64__)
    static const uint64_t modes[] = {0, UINT64_C(1) << 24, UINT64_C(1) << 22};
#else
    static const uint64_t modes[] = {0};
#endif
    const uint64_t before = at_arithmetic_get();
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (int threads = 1; threads <= 2; threads++) {
            attn_context *context = test_context(isa, threads);
            if (!context) continue;
            for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
                at_arithmetic_set(modes[m]);
                compute(context, results[m > 0]);
                uint64_t after = at_arithmetic_get();
                at_arithmetic_set(before);
#if defined(__x86_64__)
                after &= ~UINT64_C(0x3f); /* flags of what the caller's own code has met */
#endif
                assert_true(after == modes[m]);
                assert_memory_equal(results[0], results[m > 0], sizeof results[0]);
            }
        }
    }
}

int main(void) {
    test_random random = {5};
    for (int i = 0; i < INPUTS; i++) fill(inputs[i], NUMBERS, &random);
    fill(square, WIDTH * WIDTH, &random);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_result_is_subnormal),
                                       cmocka_unit_test(test_operands_count_as_0),
                                       cmocka_unit_test(test_the_callers_mode)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
