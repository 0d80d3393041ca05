/* test_operations_linear.c: the linear layer on the tape, against the oracle. */
#include <math.h>
#include <string.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/operation.h"

typedef struct linear_case {
    int64_t rows, in, out;
    int bias;
    attn_activation activation;
} linear_case;

static double activate(attn_activation activation, double x) {
    switch (activation) {
    case ATTN_RELU: return x > 0.0 ? x : 0.0;
    case ATTN_GELU: return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    case ATTN_GELU_TANH: return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case ATTN_SILU: return x / (1.0 + exp(-x));
    case ATTN_TANH: return tanh(x);
    case ATTN_SIGMOID: return 1.0 / (1.0 + exp(-x));
    default: return x;
    }
}

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const linear_case *l = user;
    return attn_tape_linear(tape, input[0], parameter[0], l->bias ? parameter[1] : NULL, l->activation);
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const linear_case *l = user;
    for (int64_t i = 0; i < l->rows; i++) {
        for (int64_t o = 0; o < l->out; o++) {
            double sum = l->bias ? parameter[1][o] : 0.0;
            for (int64_t c = 0; c < l->in; c++) sum += input[0][i * l->in + c] * parameter[0][o * l->in + c];
            result[i * l->out + o] = activate(l->activation, sum);
        }
    }
}

static void test_linear(void **state) {
    (void)state;
    for (int activation = ATTN_IDENTITY; activation <= ATTN_SIGMOID; activation++) {
        for (int64_t rows = 0; rows < 20; rows += 6) {
            linear_case l = {rows, 5 + rows, 3 + 4 * activation, activation % 2, (attn_activation)activation};
            operation_case c = {.name = "linear",
                                .inputs = 1,
                                .parameters = 1 + l.bias,
                                .input = {{.rows = l.rows, .columns = l.in}},
                                .parameter = {{.rows = l.out, .columns = l.in}, {.columns = l.out}},
                                .rows = l.rows,
                                .columns = l.out,
                                .seed = (uint64_t)(10 * activation + rows),
                                .user = &l,
                                .run = run,
                                .reference = reference};
            if (activation == ATTN_RELU) c.seed = 3; /* none of whose sums is near the kink */
            operation_check(&c);
        }
    }
}

static void test_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    int64_t shape[2] = {4, 3}, five = 5;
    attn_parameter *weight = attn_parameters_add(set, "w", 2, shape, NULL);
    attn_parameter *bias = attn_parameters_add(set, "b", 1, &five, NULL);
    float x[6] = {0};
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_linear(tape, attn_tape_input(tape, x, 3, 2, 0), weight, NULL, ATTN_IDENTITY));
    assert_int_equal(attn_tape_status(tape), ATTN_SHAPE_MISMATCH);
    assert_non_null(strstr(attn_tape_error(tape), "linear: weight (w) is 4 x 3, any x 2 is needed"));
    /* sticky: the first error stays, and what follows is quiet */
    assert_null(attn_tape_linear(tape, NULL, weight, bias, ATTN_IDENTITY));
    assert_non_null(strstr(attn_tape_error(tape), "4 x 3"));
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    assert_int_equal(attn_tape_status(tape), ATTN_OK);
    assert_null(attn_tape_linear(tape, attn_tape_input(tape, x, 2, 3, 0), weight, bias, ATTN_IDENTITY));
    assert_non_null(strstr(attn_tape_error(tape), "bias (b) has 5 numbers, weight (w) has 4 rows"));
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
