/* test_operations_linear.c: linear maps, the feed-forward and residuals on the
 * tape, against the oracle.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/network.h"
#include "support/operation.h"
#include "tape/residual.h"

typedef struct linear_case {
    int64_t rows, in, out;
    int bias;
    attn_activation activation;
} linear_case;

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
            result[i * l->out + o] = ref_activation(l->activation, sum);
        }
    }
}

static void test_linear(void **state) {
    (void)state;
    for (int activation = ATTN_IDENTITY; activation <= ATTN_ELU; activation++) {
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

/* ---- feed-forward ---- */

typedef struct feed_case {
    int64_t rows, in, inner, out;
    attn_activation activation;
    int with_bias;
} feed_case;

static attn_variable *run_feed(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                               void *user) {
    const feed_case *f = user;
    return attn_tape_feedforward(tape, input[0], parameter[0], f->with_bias ? parameter[2] : NULL,
                                 f->activation, parameter[1], f->with_bias ? parameter[3] : NULL);
}

static void feed_reference(double *const *input, double *const *parameter, double *result, void *user) {
    const feed_case *f = user;
    double *inner = oracle_numbers(f->rows * f->inner);
    oracle_linear(f->rows, f->in, f->inner, input[0], parameter[0], f->with_bias ? parameter[2] : NULL,
                  f->activation, inner);
    oracle_linear(f->rows, f->inner, f->out, inner, parameter[1], f->with_bias ? parameter[3] : NULL,
                  ATTN_IDENTITY, result);
    free(inner);
}

static void test_feedforward(void **state) {
    (void)state;
    for (int activation = ATTN_IDENTITY; activation <= ATTN_ELU; activation++) {
        feed_case f = {activation == 3 ? 0 : 5 + 7 * activation,
                       6 + activation,
                       16 + activation,
                       9,
                       (attn_activation)activation,
                       activation % 2};
        operation_case c = {.name = "feed-forward",
                            .inputs = 1,
                            .parameters = f.with_bias ? 4 : 2,
                            .input = {{.rows = f.rows, .columns = f.in}},
                            .parameter = {{.rows = f.inner, .columns = f.in},
                                          {.rows = f.out, .columns = f.inner},
                                          {.columns = f.inner},
                                          {.columns = f.out}},
                            .rows = f.rows,
                            .columns = f.out,
                            .seed = activation == ATTN_RELU ? 4 : 50 + (uint64_t)activation,
                            .user = &f,
                            .run = run_feed,
                            .reference = feed_reference,
                            .checked = f.out > 100 ? 40 : 0};
        operation_check(&c);
    }
}

/* More rows than weight gradients take at a time, and layers that are packed and not. */
static void test_many_rows(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{3, 5}, {16, 16}, {100, 65}};
    for (int s = 0; s < 3; s++) {
        linear_case l = {2100, sizes[s][0], sizes[s][1], 1, ATTN_TANH};
        operation_case c = {
            .name = "linear, many rows",
            .inputs = 1,
            .parameters = 2,
            .input = {{.rows = l.rows, .columns = l.in}},
            .parameter = {{.rows = l.out, .columns = l.in, .amplitude = 0.3f}, {.columns = l.out}},
            .rows = l.rows,
            .columns = l.out,
            .seed = 60 + (uint64_t)s,
            .user = &l,
            .run = run,
            .reference = reference,
            .checked = 6};
        operation_check(&c);
    }
}

/* ---- residuals ---- */

/* x + (W x) + 2 x + (W x + x) in this order: branches that are walked next and
 * ones that are not, an x whose gradient is there already and one whose is not. */
static attn_variable *run_residuals(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                    void *user) {
    attn_variable *x = input[0];
    (void)user;
    attn_variable *early = attn_tape_linear(tape, x, parameter[0], NULL, ATTN_IDENTITY);
    attn_variable *y =
        at_tape_residual(tape, x, attn_tape_linear(tape, x, parameter[0], NULL, ATTN_IDENTITY), 0.0f);
    y = at_tape_residual(tape, y, attn_tape_scale(tape, x, 2.0f), 0.0f);
    y = at_tape_residual(tape, y, early, 0.0f);
    return at_tape_residual(tape, y, x, 0.0f);
}

static void residuals_reference(double *const *input, double *const *parameter, double *result, void *user) {
    const linear_case *l = user;
    oracle_linear(l->rows, l->in, l->in, input[0], parameter[0], NULL, ATTN_IDENTITY, result);
    for (int64_t i = 0; i < l->rows * l->in; i++) result[i] = 4.0 * input[0][i] + 2.0 * result[i];
}

static void test_residuals(void **state) {
    (void)state;
    for (int64_t rows = 0; rows < 200; rows += 66) {
        linear_case l = {rows, 21, 21, 0, ATTN_IDENTITY};
        operation_case c = {.name = "residuals",
                            .inputs = 1,
                            .parameters = 1,
                            .input = {{.rows = rows, .columns = 21}},
                            .parameter = {{.rows = 21, .columns = 21}},
                            .rows = rows,
                            .columns = 21,
                            .seed = 70 + (uint64_t)rows,
                            .user = &l,
                            .run = run_residuals,
                            .reference = residuals_reference,
                            .checked = 300};
        operation_check(&c);
    }
}

/* With dropout it is the sum with attn_tape_dropout: same bits, same gradients. */
static void test_residual_dropout(void **state) {
    (void)state;
    enum { ROWS = 70, COLUMNS = 33 };
    attn_tape *tape;
    attn_parameters *set;
    int64_t shape[2] = {COLUMNS, COLUMNS};
    assert_int_equal(attn_tape_create(test_best_context(2), &tape), ATTN_OK);
    assert_int_equal(attn_parameters_create(test_best_context(2), 5, &set), ATTN_OK);
    attn_parameter *weight = attn_parameters_add(set, "w", 2, shape, NULL);
    float x[ROWS * COLUMNS], result[2][ROWS * COLUMNS], gradient[2][ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 17) - 8.0f;
    for (int way = 0; way < 2; way++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 3);
        attn_variable *input = attn_tape_input(tape, x, ROWS, COLUMNS, 1);
        attn_variable *branch = attn_tape_linear(tape, input, weight, NULL, ATTN_IDENTITY);
        attn_variable *y = way ? at_tape_residual(tape, input, branch, 0.3f)
                               : attn_tape_add(tape, input, attn_tape_dropout(tape, branch, 0.3f));
        assert_non_null(y);
        memcpy(result[way], host_data(y), sizeof result[way]);
        assert_int_equal(attn_tape_backward(tape, y, x), ATTN_OK);
        memcpy(gradient[way], host_gradient(input), sizeof gradient[way]);
    }
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),           cmocka_unit_test(test_feedforward),
        cmocka_unit_test(test_many_rows),        cmocka_unit_test(test_residuals),
        cmocka_unit_test(test_residual_dropout), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
