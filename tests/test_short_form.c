/* test_short_form.c: attn_self_attention is the operator with these shapes: the oracle holds the operator to
 * a tolerance, and the short form gives the same bits, full and causal, on every instruction set. Its
 * mistakes are named by its own arguments, and nothing is written then.
 */
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

static test_case ragged_case(int64_t heads, int64_t d, int causal, uint64_t seed) {
    static const int64_t lengths[] = {3, 0, 1, 33, 70, 2};
    test_case c = case_simple(0, 0);
    c.sequences = 6;
    for (int b = 0; b < c.sequences; b++) c.queries[b] = c.keys[b] = lengths[b];
    c.heads = c.kv_heads = heads;
    c.d_k = c.d_v = d;
    if (causal) c.right = 0;
    c.seed = seed;
    return c;
}

static void test_against_the_oracle(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {1, 64}, {4, 16}, {3, 7}, {2, 40}};
    static const int64_t offsets[] = {0, 3, 3, 4, 37, 107, 109};
    for (int shape = 0; shape < 5; shape++) {
        for (int causal = 0; causal < 2; causal++) {
            int64_t heads = shapes[shape][0], d = shapes[shape][1];
            test_case c = ragged_case(heads, d, causal, (uint64_t)(7 + shape));
            check_case(&c, RUN_FORWARD);
            problem *p = problem_create(&c, MEMORY_PLAIN);
            for (int isa = 0; isa < TEST_ISAS; isa++) {
                attn_context *context = test_context(isa, 2);
                if (!context) continue;
                values *full = run_library(context, p, RUN_FORWARD);
                problem_reset(p);
                assert_int_equal(attn_self_attention(context, p->tensor[QUERY].data, p->tensor[KEY].data,
                                                     p->tensor[VALUE].data, p->tensor[OUTPUT].data, offsets,
                                                     6, heads, d, causal ? ATTN_CAUSAL : ATTN_FULL),
                                 ATTN_OK);
                for (int64_t e = 0; e < p->count[OUTPUT]; e++)
                    assert_true((double)*view_element(&p->tensor[OUTPUT], e) == full->data[OUTPUT][e]);
                values_destroy(full);
            }
            problem_destroy(p);
        }
    }
}

enum { ROWS = 5, HEADS = 2, D = 4, COUNT = ROWS * HEADS * D };

typedef struct arguments {
    const float *query, *key, *value;
    float *output;
    const int64_t *offsets;
    int64_t sequences, heads, d;
    int reach;
} arguments;

static attn_status call(attn_context *context, const arguments *with) {
    return attn_self_attention(context, with->query, with->key, with->value, with->output, with->offsets,
                               with->sequences, with->heads, with->d, (attn_reach)with->reach);
}

static void expect(attn_context *context, const arguments *with, attn_status status, const char *text) {
    assert_int_equal(call(context, with), status);
    if (!strstr(attn_context_error(context), text))
        fail_msg("\"%s\" does not say \"%s\"", attn_context_error(context), text);
}

static void test_mistakes(void **state) {
    (void)state;
    static float q[COUNT], k[COUNT], v[COUNT], o[COUNT + 1];
    static const int64_t offsets[] = {0, 3, ROWS}, late[] = {1, 3, ROWS}, falling[] = {0, 3, 2};
    attn_context *context = test_best_context(1);
    const arguments right = {q, k, v, o, offsets, 2, HEADS, D, ATTN_CAUSAL};
    arguments wrong = right;
    assert_int_equal(call(context, &right), ATTN_OK);
    assert_int_equal(call(NULL, &right), ATTN_INVALID_ARGUMENT);
    for (int i = 0; i <= COUNT; i++) o[i] = CANARY;
    wrong.query = NULL, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "query"), wrong = right;
    wrong.value = NULL, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "value"), wrong = right;
    wrong.output = NULL, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "output"), wrong = right;
    wrong.offsets = NULL, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "offsets is NULL"), wrong = right;
    wrong.offsets = late, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "offsets[0] is 1"), wrong = right;
    wrong.offsets = falling, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "falls"), wrong = right;
    wrong.sequences = -1, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "sequences is -1"), wrong = right;
    wrong.heads = 0, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "heads is 0"), wrong = right;
    wrong.d = 513, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "d is 513"), wrong = right;
    wrong.reach = 2, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "reach is 2"), wrong = right;
    wrong.query = (const float *)(const void *)((const char *)q + 1),
    wrong.offsets = (const int64_t[]){0, 3, 4};
    expect(context, &wrong, ATTN_INVALID_ARGUMENT, "floats are aligned"), wrong = right;
    wrong.key = o + 1, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "output overlaps key"), wrong = right;
    wrong.query = o, expect(context, &wrong, ATTN_INVALID_ARGUMENT, "output overlaps query");
    for (int i = 0; i <= COUNT; i++) assert_true(o[i] == CANARY);
}

/* Without rows there is nothing to point to. */
static void test_no_rows(void **state) {
    (void)state;
    static const int64_t none[] = {0, 0};
    const arguments empty = {NULL, NULL, NULL, NULL, none, 1, 1, 8, ATTN_FULL};
    assert_int_equal(call(test_best_context(1), &empty), ATTN_OK);
}

/* Heads that are woven into one array overlap by their ranges and not by an element: that is no mistake. What
 * is one array is. */
static void test_overlaps(void **state) {
    (void)state;
    static float woven[ROWS * 4 * D], d_woven[ROWS * 3 * D], lse[ROWS];
    attn_context *context = test_best_context(1);
    attn_tensor view[4], d_view[3];
    for (int i = 0; i < ROWS * 4 * D; i++) woven[i] = (float)(i % 7) / 8;
    for (int t = 0; t < 4; t++) { /* query, key, value, output side by side in every row */
        view[t] = attn_tensor_rows(woven + t * D, ROWS, 1, D);
        view[t].stride[0] = (int64_t)4 * D;
    }
    for (int t = 0; t < 3; t++) {
        d_view[t] = attn_tensor_rows(d_woven + t * D, ROWS, 1, D);
        d_view[t].stride[0] = (int64_t)3 * D;
    }
    attn_tensor l = attn_tensor_matrix(lse, ROWS, 1);
    assert_int_equal(
        attn_attention_forward(context, NULL, NULL, &view[0], &view[1], &view[2], &view[3], &l, NULL),
        ATTN_OK);
    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    gradients.query = d_view[0];
    gradients.key = d_view[1];
    gradients.value = d_view[2];
    assert_int_equal(attn_attention_backward(context, NULL, NULL, &view[0], &view[1], &view[2], &view[3], &l,
                                             &view[3], &gradients),
                     ATTN_OK);
    gradients.query = attn_tensor_rows(d_woven, ROWS, 1, D);
    gradients.key = attn_tensor_rows(d_woven + D, ROWS, 1, D);
    assert_int_equal(attn_attention_backward(context, NULL, NULL, &view[0], &view[1], &view[2], &view[3], &l,
                                             &view[3], &gradients),
                     ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "gradients.query overlaps gradients.key"));
    attn_tensor backward = attn_tensor_rows(woven + (ROWS - 1) * D, ROWS, 1, D); /* the last row first */
    backward.stride[0] = -D;
    attn_tensor after = attn_tensor_rows(woven + ROWS * D, ROWS, 1, D);
    attn_tensor inside = attn_tensor_rows(woven + (ROWS - 1) * D, ROWS, 1, D);
    attn_tensor key = attn_tensor_rows(d_woven, ROWS, 1, D);
    assert_int_equal(attn_attention_forward(context, NULL, NULL, &backward, &key, &key, &after, NULL, NULL),
                     ATTN_OK);
    assert_int_equal(attn_attention_forward(context, NULL, NULL, &backward, &key, &key, &inside, NULL, NULL),
                     ATTN_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_oracle),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_overlaps),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
