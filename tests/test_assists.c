/* test_assists.c: no kind of numbers and no pattern is slow.
 *
 * CPUs hand some arithmetic to microcode: on subnormal numbers, or where a result is one, an instruction may
 * take a hundred times as long. Masked pairs, scores far below the largest one of their row, tiny inputs and
 * dropout all come near that. Each such case is timed in turns with a plain one of the same size; the best of
 * many turns counts, and more turns are taken while the machine seems to be disturbed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attention.h>

#include "base/clock.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/random.h"

enum { ROWS = 256, HEADS = 2, CHANNELS = 64, NUMBERS = ROWS * HEADS * CHANNELS };
enum { QUERY, KEY, VALUE, OUTPUT, D_OUTPUT, D_QUERY, D_KEY, D_VALUE, TENSORS };

typedef struct setting {
    const char *name;
    int against;                /* the number of the one that it is compared with */
    float query_factor, factor; /* what queries, and all inputs, are multiplied with */
    int64_t left, right;
    int masked;
    float dropout;
} setting;

typedef struct timed_case {
    const setting *set;
    float *memory[TENSORS], *log_sum_exp;
    uint8_t *mask;
    double seconds[2]; /* forward and backward, the best so far */
} timed_case;

enum { MASK_BYTES = ROWS * ROWS / 8 };

static float *numbers(size_t count) {
    float *made = aligned_alloc(64, count * sizeof *made);
    assert_non_null(made);
    return made;
}

static void open_case(timed_case *c) {
    test_random random = {77};
    c->log_sum_exp = numbers(ROWS * HEADS);
    for (int t = 0; t < TENSORS; t++) {
        float factor = c->set->factor * (t == QUERY ? c->set->query_factor : 1.0F);
        c->memory[t] = numbers(NUMBERS);
        for (int i = 0; i < NUMBERS; i++) c->memory[t][i] = random_unit(&random) * factor;
    }
    c->mask = malloc(MASK_BYTES);
    assert_non_null(c->mask);
    for (int i = 0; i < MASK_BYTES; i++) c->mask[i] = (uint8_t)random_bits(&random);
}

static void close_case(timed_case *c) {
    for (int t = 0; t < TENSORS; t++) free(c->memory[t]);
    free(c->log_sum_exp);
    free(c->mask);
}

/* One pass there and back; the best times are kept. */
static void take_turn(attn_context *context, timed_case *c) {
    attn_tensor t[TENSORS], log_sum_exp = attn_tensor_matrix(c->log_sum_exp, ROWS, HEADS);
    for (int i = 0; i < TENSORS; i++) t[i] = attn_tensor_rows(c->memory[i], ROWS, HEADS, CHANNELS);
    attn_pattern pattern;
    attn_attention_options options;
    attn_attention_gradients gradients;
    attn_pattern_init(&pattern);
    attn_attention_options_init(&options);
    attn_attention_gradients_init(&gradients);
    pattern.left = c->set->left;
    pattern.right = c->set->right;
    if (c->set->masked) pattern.mask = (attn_mask){c->mask, ROWS, ROWS, 0, 0, ROWS / 8};
    options.dropout = c->set->dropout;
    gradients.query = t[D_QUERY];
    gradients.key = t[D_KEY];
    gradients.value = t[D_VALUE];
    double began = at_seconds();
    assert_int_equal(attn_attention_forward(context, &pattern, &options, &t[QUERY], &t[KEY], &t[VALUE],
                                            &t[OUTPUT], &log_sum_exp, NULL),
                     ATTN_OK);
    double middle = at_seconds();
    assert_int_equal(attn_attention_backward(context, &pattern, &options, &t[QUERY], &t[KEY], &t[VALUE],
                                             &t[OUTPUT], &log_sum_exp, &t[D_OUTPUT], &gradients),
                     ATTN_OK);
    c->seconds[0] = fmin(c->seconds[0], middle - began);
    c->seconds[1] = fmin(c->seconds[1], at_seconds() - middle);
}

/* The largest ratio of a case to the one that it is compared with, and which case that is. */
static double worst(const timed_case *cases, int count, int *which, int *direction) {
    double most = 0;
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < 2; d++) {
            double ratio = cases[i].seconds[d] / cases[cases[i].set->against].seconds[d];
            if (ratio <= most) continue;
            most = ratio;
            *which = i;
            *direction = d;
        }
    }
    return most;
}

static void time_cases(attn_context *context, const char *isa) {
    enum { PLAIN, DROPOUT, CASES = 10, TURNS = 30, MOST_TURNS = 600 };
    const double limit = 1.5;
    static const setting settings[CASES] = {
        {"plain", PLAIN, 1, 1, -1, -1, 0, 0},
        {"dropout", DROPOUT, 1, 1, -1, -1, 0, 0.1F},
        {"causal", PLAIN, 1, 1, -1, 0, 0, 0},
        {"a window", PLAIN, 1, 1, 40, 40, 0, 0},
        {"masked", PLAIN, 1, 1, -1, -1, 1, 0},
        {"weights that underflow", PLAIN, 120, 1, -1, -1, 0, 0},
        {"scores far below the largest", PLAIN, 3000, 1, -1, -1, 0, 0},
        {"causal, weights that underflow", PLAIN, 120, 1, -1, 0, 0, 0},
        {"subnormal inputs", PLAIN, 1, 1e-39F, -1, -1, 0, 0},
        {"dropout, weights that underflow", DROPOUT, 120, 1, -1, -1, 0, 0.1F}};
    timed_case cases[CASES];
    int which = 0, direction = 0;
    for (int i = 0; i < CASES; i++) {
        cases[i].set = &settings[i];
        open_case(&cases[i]);
        cases[i].seconds[0] = cases[i].seconds[1] = INFINITY;
    }
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        if (turn >= TURNS && worst(cases, CASES, &which, &direction) < limit) break;
        for (int i = 0; i < CASES; i++) take_turn(context, &cases[i]);
    }
    double most = worst(cases, CASES, &which, &direction);
    print_message("%s: at most %.2f x (%s, %s)\n", isa, most, cases[which].set->name,
                  direction ? "backward" : "forward");
    if (most >= limit)
        fail_msg("%s: %s takes %.2f x as long %s as %s", isa, cases[which].set->name, most,
                 direction ? "backward" : "forward", cases[cases[which].set->against].set->name);
    for (int i = 0; i < CASES; i++) close_case(&cases[i]);
}

static void test_times(void **state) {
    (void)state;
    for (int isa = 1; isa < TEST_ISAS; isa++) { /* scalar code is slow anyway */
        attn_context *context = test_context(isa, 1);
        if (context) time_cases(context, test_isa_names[isa]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
