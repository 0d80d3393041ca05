/* test_determinism.c: the same bits, whatever the threads, the batch, the
 * place in it, and what else was requested; the same dropout everywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_run.h"
#include "support/check.h"
#include "support/contexts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Cases in which there is something to split: several sequences, one long
 * one, one query, groups of heads, gradients that are summed over all. */
static test_case case_number(int number) {
    test_case c = case_simple(60, 75);
    c.heads = 4;
    c.kv_heads = 2;
    c.seed = (uint64_t)number + 5;
    c.weights = true;
    switch (number) {
    case 0: /* ragged batch with everything that is shared */
        c.sequences = 5;
        for (int b = 1; b < 5; b++) {
            c.queries[b] = 13 * b;
            c.keys[b] = 70 - 11 * b;
        }
        c.bias = true;
        c.bias_shared = SHARE_SEQUENCE | SHARE_HEAD;
        c.distance_reach = 10;
        c.distance_shared = true;
        c.dropout = 0.2f;
        return c;
    case 1: /* one long sequence, one head */
        c = case_simple(700, 900);
        c.weights = true;
        return c;
    case 2: /* the same, causal, with a bias shared over queries */
        c = case_simple(600, 600);
        c.right = 0;
        c.bias = true;
        c.bias_shared = SHARE_QUERY;
        c.distance_reach = 40;
        return c;
    case 3: /* decoding */
        c = case_simple(2, 4000);
        c.heads = 4;
        c.right = 0;
        c.align = ATTN_ALIGN_END;
        return c;
    case 4: /* multi-query over a batch, bias shared over all but the keys */
        c.sequences = 3;
        c.queries[1] = c.keys[1] = 1;
        c.queries[2] = 130;
        c.keys[2] = 260;
        c.kv_heads = 1;
        c.left = 20;
        c.right = 20;
        c.bias = true;
        c.bias_shared = SHARE_SEQUENCE | SHARE_HEAD | SHARE_QUERY;
        return c;
    case 5: /* a ragged batch whose sequences take turns with three biases */
        c.sequences = 6;
        for (int b = 1; b < 6; b++) c.queries[b] = c.keys[b] = 20 + 9 * b;
        c.bias = c.bias_groups = true;
        return c;
    default: /* everything */
        c.layout = LAYOUT_ROOM;
        c.sequences = 2;
        c.queries[1] = 200;
        c.keys[1] = 140;
        c.mask = MASK_RANDOM;
        c.bias = true;
        c.alibi = true;
        c.softcap = 5.0f;
        c.dropout = 0.5f;
        c.distance_reach = 3;
        return c;
    }
}
#define CASES 7

static void test_threads(void **state) {
    (void)state;
    for (int number = 0; number < CASES; number++) {
        test_case c = case_number(number);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            if (!test_context(isa, 1)) continue;
            values *one = run_library(test_context(isa, 1), p, RUN_BOTH);
            values *two = run_library(test_context(isa, 2), p, RUN_BOTH);
            values *seven = run_library(test_context(isa, 7), p, RUN_BOTH);
            assert_same_bits(p, "1 and 2 threads", one, two);
            assert_same_bits(p, "1 and 7 threads", one, seven);
            values_destroy(one);
            values_destroy(two);
            values_destroy(seven);
        }
        problem_destroy(p);
    }
}

static void test_random_cases_on_threads(void **state) {
    (void)state;
    test_random random = {21};
    for (int k = 0; k < 60; k++) {
        test_case c = case_random(&random, 120);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            if (!test_context(isa, 1)) continue;
            values *one = run_library(test_context(isa, 1), p, RUN_BOTH);
            values *seven = run_library(test_context(isa, 7), p, RUN_BOTH);
            assert_same_bits(p, "1 and 7 threads", one, seven);
            values_destroy(one);
            values_destroy(seven);
        }
        problem_destroy(p);
    }
}

/* A race would show in one of many repeats. */
static void test_repeats(void **state) {
    (void)state;
    static const int numbers[] = {0, 2, 3};
    for (size_t k = 0; k < COUNT(numbers); k++) {
        test_case c = case_number(numbers[k]);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        values *first = run_library(test_best_context(7), p, RUN_BOTH);
        for (int repeat = 0; repeat < 50; repeat++) {
            values *again = run_library(test_best_context(7), p, RUN_BOTH);
            assert_same_bits(p, "a repeat", first, again);
            values_destroy(again);
        }
        values_destroy(first);
        problem_destroy(p);
    }
}

/* ---- alone and in a batch ------------------------------------------------------------------------ */

/* Copies sequence `from` of a tensor of rows to sequence `to` of another. */
static void copy_rows(const problem *a, int from, problem *b, int to, tensor_id id) {
    bool keys = id == KEY || id == VALUE;
    int64_t rows = keys ? a->c.keys[from] : a->c.queries[from];
    const int64_t *shape = a->tensor[id].shape + a->tensor[id].rank - 2;
    int64_t source = problem_index(a, id, from, 0, 0, 0), target = problem_index(b, id, to, 0, 0, 0);
    for (int64_t e = 0; e < rows * shape[0] * shape[1]; e++)
        problem_set(b, id, target + e, (float)a->exact[id][source + e]);
}

/* Sequence `b` of a batch's case, alone; its place is kept for dropout. */
static test_case alone(const test_case *batch, int b) {
    test_case c = *batch;
    c.sequences = 1;
    c.queries[0] = batch->queries[b];
    c.keys[0] = batch->keys[b];
    c.first_sequence = batch->first_sequence + b;
    return c;
}

static void assert_same_sequence(const problem *batch, int b, const values *all, const problem *p,
                                 const values *one) {
    static const tensor_id ids[] = {OUTPUT, D_QUERY, D_KEY, D_VALUE};
    for (size_t k = 0; k < COUNT(ids); k++) {
        int64_t first = problem_index(batch, ids[k], b, 0, 0, 0);
        if (memcmp(all->data[ids[k]] + first, one->data[ids[k]], (size_t)p->count[ids[k]] * sizeof(double)) !=
            0)
            fail_msg("%s of sequence %d differs between the batch and alone", tensor_names[ids[k]], b);
    }
    int64_t row = problem_index(batch, OUTPUT, b, 0, 0, 0) / batch->c.d_v;
    assert_memory_equal(all->data[LOG_SUM_EXP] + row, one->data[LOG_SUM_EXP],
                        (size_t)p->count[LOG_SUM_EXP] * sizeof(double));
    attn_weights_layout at = {.size = sizeof at};
    assert_int_equal(attn_attention_weights_layout(test_context(0, 1), &batch->pattern, &batch->tensor[QUERY],
                                                   &batch->tensor[KEY], b, &at),
                     ATTN_OK);
    assert_memory_equal(all->data[WEIGHTS] + at.offset, one->data[WEIGHTS],
                        (size_t)p->count[WEIGHTS] * sizeof(double));
}

static void check_batch(const test_case *c) {
    problem *batch = problem_create(c, MEMORY_PLAIN);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        values *all = run_library(test_context(isa, 2), batch, RUN_BOTH);
        for (int b = 0; b < c->sequences; b++) {
            test_case single = alone(c, b);
            problem *p = problem_create(&single, MEMORY_PLAIN);
            copy_rows(batch, b, p, 0, QUERY);
            copy_rows(batch, b, p, 0, KEY);
            copy_rows(batch, b, p, 0, VALUE);
            copy_rows(batch, b, p, 0, D_OUTPUT);
            for (int64_t e = 0; c->distance_reach >= 0 && e < p->count[DISTANCE]; e++)
                problem_set(p, DISTANCE, e, (float)batch->exact[DISTANCE][e]);
            values *one = run_library(test_context(isa, 1), p, RUN_BOTH);
            assert_same_sequence(batch, b, all, p, one);
            values_destroy(one);
            problem_destroy(p);
        }
        values_destroy(all);
    }
    problem_destroy(batch);
}

static void test_alone_and_in_a_batch(void **state) {
    (void)state;
    static const int64_t lengths[][5] = {{5, 33, 1, 0, 48}, {64, 3, 130, 17, 2}, {300, 1, 2, 70, 16}};
    for (size_t k = 0; k < COUNT(lengths); k++) {
        for (int variant = 0; variant < 6; variant++) {
            test_case c = case_simple(0, 0);
            c.sequences = 5;
            for (int b = 0; b < 5; b++) {
                c.queries[b] = lengths[k][b];
                c.keys[b] = lengths[k][variant % 2 ? 4 - b : b];
            }
            c.heads = 4;
            c.kv_heads = variant % 3 ? 4 : 2;
            c.d_k = variant == 5 ? 20 : 16;
            c.right = variant % 2 ? ATTN_UNLIMITED : 0;
            c.left = variant == 4 ? 12 : ATTN_UNLIMITED;
            c.align = ATTN_ALIGN_END;
            c.dropout = variant == 3 ? 0.3f : 0.0f;
            c.first_sequence = 7;
            c.distance_reach = variant == 1 ? 6 : -1;
            c.alibi = variant == 2;
            c.weights = true;
            check_batch(&c);
        }
    }
}

/* The memory order of the inputs does not change the bits: a batch x heads x
 * n x d array gives what the interleaved rows give. */
static void test_layouts(void **state) {
    (void)state;
    test_case c = case_simple(45, 83);
    c.heads = 4;
    c.kv_heads = 2;
    c.d_k = 24;
    c.right = 3;
    problem *rows = problem_create(&c, MEMORY_PLAIN);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        values *expected = run_library(test_context(isa, 1), rows, RUN_BOTH);
        for (int layout = LAYOUT_HEAD_MAJOR; layout <= LAYOUT_BHND; layout++) {
            c.layout = (case_layout)layout;
            problem *p = problem_create(&c, MEMORY_PLAIN);
            values *got = run_library(test_context(isa, 1), p, RUN_BOTH);
            assert_same_bits(p, "two layouts", expected, got);
            values_destroy(got);
            problem_destroy(p);
        }
        values_destroy(expected);
    }
    problem_destroy(rows);
}

/* ---- dropout ------------------------------------------------------------------------------------- */

/* Which weights are dropped is the same on every instruction set, and what
 * the oracle says; about as many as asked for. */
static void test_dropout_mask(void **state) {
    (void)state;
    static const float rates[] = {0.05f, 0.5f, 0.95f};
    for (size_t k = 0; k < COUNT(rates); k++) {
        test_case c = case_simple(70, 333);
        c.heads = c.kv_heads = 3;
        c.dropout = rates[k];
        c.first_sequence = 3;
        c.weights = true;
        c.seed = 99 + k;
        problem *p = problem_create(&c, MEMORY_PLAIN);
        values *oracle = run_oracle(p, RUN_FORWARD);
        int64_t dropped = 0;
        for (int64_t e = 0; e < p->count[WEIGHTS]; e++) dropped += oracle->data[WEIGHTS][e] == 0.0;
        double share = (double)dropped / (double)p->count[WEIGHTS];
        assert_true(share > (double)rates[k] - 0.01 && share < (double)rates[k] + 0.01);
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            if (!test_context(isa, 2)) continue;
            values *v = run_library(test_context(isa, 2), p, RUN_FORWARD);
            for (int64_t e = 0; e < p->count[WEIGHTS]; e++)
                assert_true((v->data[WEIGHTS][e] == 0.0) == (oracle->data[WEIGHTS][e] == 0.0));
            values_destroy(v);
        }
        values_destroy(oracle);
        problem_destroy(p);
    }
}

/* Another seed, sequence or head drops other weights. */
static void test_dropout_keys(void **state) {
    (void)state;
    test_case c = case_simple(20, 100);
    c.heads = c.kv_heads = 2;
    c.dropout = 0.5f;
    c.weights = true;
    problem *p = problem_create(&c, MEMORY_PLAIN);
    attn_context *context = test_best_context(1);
    values *v = run_library(context, p, RUN_FORWARD);
    p->options.first_sequence = 1;
    values *other_sequence = run_library(context, p, RUN_FORWARD);
    p->options.first_sequence = 0;
    p->options.seed++;
    values *other_seed = run_library(context, p, RUN_FORWARD);
    int64_t half = p->count[WEIGHTS] / 2, sequence = 0, seed = 0, head = 0;
    for (int64_t e = 0; e < half; e++) {
        bool zero = v->data[WEIGHTS][e] == 0.0;
        sequence += zero != (other_sequence->data[WEIGHTS][e] == 0.0);
        seed += zero != (other_seed->data[WEIGHTS][e] == 0.0);
        head += zero != (v->data[WEIGHTS][half + e] == 0.0);
    }
    assert_true(sequence > half / 3 && seed > half / 3 && head > half / 3);
    values_destroy(v);
    values_destroy(other_sequence);
    values_destroy(other_seed);
    problem_destroy(p);
}

/* ---- what is asked for beside the output --------------------------------------------------------- */

static void test_optional_outputs(void **state) {
    (void)state;
    for (int number = 0; number < CASES; number++) {
        test_case c = case_number(number);
        problem *p = problem_create(&c, MEMORY_PLAIN);
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            attn_context *context = test_context(isa, 2);
            if (!context) continue;
            values *whole = run_library(context, p, RUN_FORWARD);
            for (int wanted = 0; wanted < 4; wanted++) {
                problem_reset(p);
                const attn_tensor *weights =
                    p->tensor[WEIGHTS].data && wanted & 2 ? &p->tensor[WEIGHTS] : NULL;
                assert_int_equal(attn_attention_forward(context, &p->pattern, &p->options, &p->tensor[QUERY],
                                                        &p->tensor[KEY], &p->tensor[VALUE],
                                                        &p->tensor[OUTPUT],
                                                        wanted & 1 ? &p->tensor[LOG_SUM_EXP] : NULL, weights),
                                 ATTN_OK);
                for (int64_t e = 0; e < p->count[OUTPUT]; e++) {
                    double got = (double)*view_element(&p->tensor[OUTPUT], e);
                    assert_memory_equal(&got, &whole->data[OUTPUT][e], sizeof(double));
                }
                for (int64_t e = 0; wanted & 1 && e < p->count[LOG_SUM_EXP]; e++) {
                    double got = (double)*view_element(&p->tensor[LOG_SUM_EXP], e);
                    assert_memory_equal(&got, &whole->data[LOG_SUM_EXP][e], sizeof(double));
                }
            }
            values_destroy(whole);
        }
        problem_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_random_cases_on_threads),
        cmocka_unit_test(test_repeats),      cmocka_unit_test(test_alone_and_in_a_batch),
        cmocka_unit_test(test_layouts),      cmocka_unit_test(test_dropout_mask),
        cmocka_unit_test(test_dropout_keys), cmocka_unit_test(test_optional_outputs),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
