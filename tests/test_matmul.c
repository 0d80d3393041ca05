/* test_matmul.c: the linear operator, its backward, and the softmax of rows. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/linear_layer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
static const attn_activation activations[] = {ATTN_IDENTITY, ATTN_RELU, ATTN_GELU,    ATTN_GELU_TANH,
                                              ATTN_SILU,     ATTN_TANH, ATTN_SIGMOID, ATTN_ELU};

static void check_size(int64_t rows, int64_t in, int64_t out, attn_activation activation, memory_kind kind) {
    layer *l = layer_create(rows, in, out, activation, kind, (uint64_t)(rows * 31 + in * 7 + out));
    layer_check(l);
    layer_destroy(l);
}

/* ---- values and gradients -------------------------------------------------------------------------- */

static void test_rows(void **state) {
    (void)state;
    for (int64_t rows = 0; rows <= 50; rows++) check_size(rows, 20, 19, activations[rows % 8], MEMORY_PLAIN);
}

static void test_sizes(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t o = 0; o < COUNT(sizes); o++)
            check_size(1 + (int64_t)((i * 5 + o) % 23), sizes[i], sizes[o], activations[(i + o) % 8],
                       MEMORY_PLAIN);
    check_size(300, 140, 150, ATTN_GELU, MEMORY_PLAIN);
}

static void test_guard_pages(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; n += 3) {
        check_size(n, 41 - n, n + 2, activations[n % 8], MEMORY_GUARD_AFTER);
        check_size(n, n + 5, 43 - n, activations[n % 8], MEMORY_GUARD_BEFORE);
    }
}

/* The weight may lie in any order: out x in with the strides of in x out. */
static void test_transposed_weight(void **state) {
    (void)state;
    layer *l = layer_create(13, 21, 34, ATTN_SILU, MEMORY_PLAIN, 4);
    attn_tensor rows = l->w.view;
    float *columns = malloc((size_t)(21 * 34) * sizeof(float));
    assert_non_null(columns);
    for (int64_t o = 0; o < 34; o++)
        for (int64_t c = 0; c < 21; c++) columns[c * 34 + o] = *matrix_at(&l->w, o, c);
    l->w.view.data = columns;
    l->w.view.stride[0] = 1;
    l->w.view.stride[1] = 34;
    layer_check(l);
    l->w.view = rows;
    free(columns);
    layer_destroy(l);
}

/* Values and slopes of every activation over all of its range, through a
 * layer whose weight is 1. */
static void test_activations(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(activations); k++) {
        layer *l = layer_create(2001, 1, 1, activations[k], MEMORY_PLAIN, 0);
        *matrix_at(&l->w, 0, 0) = 1.0f;
        l->w.exact[0] = 1.0;
        for (int64_t r = 0; r < l->rows; r++) {
            *matrix_at(&l->x, r, 0) = (float)(r - 1000) * 0.1f; /* -100 .. 100 */
            l->x.exact[r] = (double)*matrix_at(&l->x, r, 0);
            *matrix_at(&l->dy, r, 0) = 1.0f;
            l->dy.exact[r] = 1.0;
        }
        layer_check(l);
        for (int64_t r = 0; r < l->rows; r++) { /* element by element: 2^-24 of the argument's size at most */
            double size = fmax(1.0, fabs(l->x.exact[r])), unit = ldexp(size, -24);
            assert_true(fabs((double)*matrix_at(&l->y, r, 0) - l->y.exact[r]) <= 8.0 * unit);
            assert_true(fabs((double)*matrix_at(&l->dx, r, 0) - l->dx.exact[r]) <= 8.0 * unit);
        }
        layer_destroy(l);
    }
}

/* The oracle's slopes are those of its values: signed central differences. */
static void test_oracle_slopes(void **state) {
    (void)state;
    const double h = ldexp(1.0, -10);
    for (size_t k = 0; k < COUNT(activations); k++) {
        for (double x = -8.05; x < 8.0; x += 0.1) {
            double near = ref_activation(activations[k], x + h) - ref_activation(activations[k], x - h);
            double far =
                ref_activation(activations[k], x + 2 * h) - ref_activation(activations[k], x - 2 * h);
            double difference = (8.0 * near - far) / (12.0 * h);
            assert_true(fabs(difference - ref_activation_slope(activations[k], x)) <= 1e-10);
        }
    }
}

/* A product too large for the oracle, checked by projection on random
 * vectors: u^T y v is (u^T x) (W^T v) in double, in n^2 operations. */
static void test_large_product(void **state) {
    (void)state;
    const int64_t rows = 700, in = 520, out = 610;
    layer *l = layer_create(rows, in, out, ATTN_IDENTITY, MEMORY_PLAIN, 3); /* without bias */
    assert_false(l->with_bias);
    test_random random = {17};
    double *u = calloc((size_t)(rows + in + out), sizeof(double)), *v = u + rows, *t = v + out;
    assert_non_null(u);
    for (int64_t e = 0; e < rows + out; e++) u[e] = random_chance(&random, 50) ? 1.0 : -1.0;
    double expected = 0.0;
    for (int64_t c = 0; c < in; c++) {
        for (int64_t r = 0; r < rows; r++) t[c] += u[r] * l->x.exact[r * in + c];
        double wv = 0.0;
        for (int64_t o = 0; o < out; o++) wv += l->w.exact[o * in + c] * v[o];
        expected += t[c] * wv;
    }
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        layer_pack(test_context(isa, 2), l);
        layer_run(test_context(isa, 2), l);
        double sum = 0.0, squares = 0.0;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t o = 0; o < out; o++) {
                sum += u[r] * v[o] * (double)*matrix_at(&l->y, r, o);
                squares += (double)*matrix_at(&l->y, r, o) * (double)*matrix_at(&l->y, r, o);
            }
        }
        /* Each y is a chain of 520 roundings, together sqrt(520) = 23 units. */
        assert_true(fabs(sum - expected) <= 6.0 * 23.0 * ldexp(sqrt(squares), -24));
    }
    free(u);
    layer_destroy(l);
}

/* ---- determinism ----------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        layer *one = layer_create(203, 170, 190, ATTN_GELU, MEMORY_PLAIN, 5);
        layer_pack(test_context(isa, 1), one);
        layer_run(test_context(isa, 1), one);
        for (int threads = 2; threads <= 7; threads += 5) {
            layer *many = layer_create(203, 170, 190, ATTN_GELU, MEMORY_PLAIN, 5);
            layer_pack(test_context(isa, threads), many);
            layer_run(test_context(isa, threads), many);
            assert_true(matrix_same_bits(&one->y, &many->y, 203) &&
                        matrix_same_bits(&one->pre, &many->pre, 203));
            assert_true(matrix_same_bits(&one->dx, &many->dx, 203) &&
                        matrix_same_bits(&one->dw, &many->dw, 190));
            assert_true(matrix_same_bits(&one->db, &many->db, 1));
            layer_destroy(many);
        }
        layer_destroy(one);
    }
}

/* A row of y or dx is the same bits alone, first, last, or among others. */
static void test_rows_are_independent(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 2);
        if (!context) continue;
        layer *all = layer_create(67, 45, 52, ATTN_TANH, MEMORY_PLAIN, 7);
        layer_pack(context, all);
        layer_run(context, all);
        for (int64_t first = 0; first < 67; first += 5) {
            for (int64_t rows = 1; rows <= 67 - first; rows += 9) {
                layer *part = layer_create(rows, 45, 52, ATTN_TANH, MEMORY_PLAIN, 7);
                attn_tensor x = all->x.view, dy = all->dy.view;
                x.data = matrix_at(&all->x, first, 0);
                dy.data = matrix_at(&all->dy, first, 0);
                x.shape[0] = dy.shape[0] = rows;
                assert_int_equal(attn_matmul_forward(context, &x, &all->packed[0], &all->bias, ATTN_TANH,
                                                     &part->y.view, &part->pre.view),
                                 ATTN_OK);
                assert_int_equal(attn_matmul_backward(context, &dy, &part->pre.view, ATTN_TANH, NULL,
                                                      &all->packed[1], &part->dx.view, NULL, NULL),
                                 ATTN_OK);
                for (int64_t r = 0; r < rows; r++) {
                    assert_memory_equal(matrix_at(&part->y, r, 0), matrix_at(&all->y, first + r, 0),
                                        52 * sizeof(float));
                    assert_memory_equal(matrix_at(&part->dx, r, 0), matrix_at(&all->dx, first + r, 0),
                                        45 * sizeof(float));
                }
                layer_destroy(part);
            }
        }
        layer_destroy(all);
    }
}

/* What is left out changes nothing in the rest. */
static void test_optional_results(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        layer *whole = layer_create(19, 23, 31, ATTN_GELU_TANH, MEMORY_PLAIN, 8);
        layer_pack(context, whole);
        layer_run(context, whole);
        for (int subset = 0; subset < 8; subset++) {
            layer *l = layer_create(19, 23, 31, ATTN_GELU_TANH, MEMORY_PLAIN, 8);
            assert_int_equal(attn_matmul_forward(context, &l->x.view, &whole->packed[0],
                                                 l->with_bias ? &l->bias : NULL, l->activation, &l->y.view,
                                                 NULL),
                             ATTN_OK);
            assert_int_equal(
                attn_matmul_backward(context, &l->dy.view, &whole->pre.view, l->activation,
                                     subset & 2 ? &l->x.view : NULL, subset & 1 ? &whole->packed[1] : NULL,
                                     subset & 1 ? &l->dx.view : NULL, subset & 2 ? &l->dw.view : NULL,
                                     subset & 4 ? &l->d_bias : NULL),
                ATTN_OK);
            assert_true(matrix_same_bits(&l->y, &whole->y, 19));
            assert_true(matrix_same_bits(&l->dx, &whole->dx, 19) == (subset & 1));
            assert_true(matrix_same_bits(&l->dw, &whole->dw, 31) == (subset >> 1 & 1));
            assert_true(matrix_same_bits(&l->db, &whole->db, 1) == (subset >> 2 & 1));
            layer_destroy(l);
        }
        layer_destroy(whole);
    }
}

/* ---- softmax --------------------------------------------------------------------------------------- */

static void check_softmax(attn_context *context, matrix *in, matrix *out) {
    assert_int_equal(attn_softmax_forward(context, &in->view, &out->view), ATTN_OK);
    for (int64_t r = 0; r < in->rows; r++) {
        const double *x = in->exact + r * in->columns;
        double maximum = -INFINITY, sum = 0.0;
        for (int64_t c = 0; c < in->columns; c++) maximum = fmax(maximum, x[c]);
        for (int64_t c = 0; c < in->columns; c++) sum += maximum == -INFINITY ? 0.0 : exp(x[c] - maximum);
        for (int64_t c = 0; c < in->columns; c++) {
            double expected = sum == 0.0 ? 0.0 : exp(x[c] - maximum) / sum;
            /* x - max has an error of 2^-24 |x - max|; exponential, sum and quotient of a few units */
            double distance = expected > 0.0 ? fmin(maximum - x[c], 110.0) : 0.0;
            double allowed = ldexp(expected * (8.0 + 2.0 * distance), -24) + (double)FLT_MIN;
            if (!(fabs((double)*matrix_at(out, r, c) - expected) <= allowed))
                fail_msg("%s: softmax(%d, %d) of %d columns is %.9g, not %.9g (%.3g allowed)",
                         attn_context_isa(context), (int)r, (int)c, (int)in->columns,
                         (double)*matrix_at(out, r, c), expected, allowed);
            if (sum == 0.0) assert_true(*matrix_at(out, r, c) == 0.0f);
        }
    }
    assert_gaps_untouched(out);
}

static void test_softmax(void **state) {
    (void)state;
    static const float amplitudes[] = {1.0f, 30.0f};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 2);
        if (!context) continue;
        for (int64_t columns = 0; columns <= 70; columns += columns < 50 ? 1 : 20) {
            test_random random = {(uint64_t)columns + 3};
            matrix in = matrix_create(MEMORY_PLAIN, 4, columns, 2),
                   out = matrix_create(MEMORY_PLAIN, 4, columns, 5);
            matrix_fill(&in, &random, amplitudes[columns % 2]);
            for (int64_t c = 0; c < columns; c++) { /* row 1 sees nothing, row 2 half */
                *matrix_at(&in, 1, c) = -INFINITY;
                if (c % 2) *matrix_at(&in, 2, c) = -INFINITY;
                in.exact[columns + c] = in.exact[2 * columns + c] = -INFINITY;
                in.exact[2 * columns + c] = (double)*matrix_at(&in, 2, c);
            }
            check_softmax(context, &in, &out);
            assert_int_equal(attn_softmax_forward(context, &in.view, &in.view), ATTN_OK); /* in place */
            assert_true(matrix_same_bits(&in, &out, 4));
            matrix_destroy(&in);
            matrix_destroy(&out);
        }
    }
}

/* ---- arguments ------------------------------------------------------------------------------------- */

static void expect(attn_context *context, attn_status status, attn_status expected, const char *word) {
    const char *text = attn_context_error(context);
    if (status != expected || !strstr(text, word))
        fail_msg("%s instead of %s, with '%s': %s", attn_status_name(status), attn_status_name(expected),
                 word, text);
}

static void test_arguments(void **state) {
    (void)state;
    attn_context *c = test_best_context(1);
    layer *l = layer_create(5, 6, 7, ATTN_TANH, MEMORY_PLAIN, 2),
          *bad = layer_create(4, 9, 11, ATTN_TANH, MEMORY_PLAIN, 2);
    layer_pack(c, l);
    const attn_tensor *x = &l->x.view, *y = &l->y.view, *pre = &l->pre.view, *dy = &l->dy.view;
    const attn_packed_weight *w = &l->packed[0], *wt = &l->packed[1];
    const attn_status invalid = ATTN_INVALID_ARGUMENT, shape = ATTN_SHAPE_MISMATCH;
    attn_packed_weight other_isa = *w;
    other_isa.isa = "another";
    assert_int_equal(attn_matmul_forward(NULL, x, w, NULL, ATTN_TANH, y, NULL), invalid);
    expect(c, attn_matmul_forward(c, NULL, w, NULL, ATTN_TANH, y, NULL), invalid, "input");
    expect(c, attn_matmul_forward(c, x, NULL, NULL, ATTN_TANH, y, NULL), invalid, "weight");
    expect(c, attn_matmul_forward(c, x, wt, NULL, ATTN_TANH, y, NULL), invalid, "weight");
    expect(c, attn_matmul_forward(c, x, &other_isa, NULL, ATTN_TANH, y, NULL), invalid, "weight");
    expect(c, attn_matmul_forward(c, x, w, NULL, (attn_activation)99, y, NULL), invalid, "activation");
    expect(c, attn_matmul_forward(c, x, w, NULL, ATTN_TANH, NULL, NULL), invalid, "output");
    expect(c, attn_matmul_forward(c, &bad->x.view, w, NULL, ATTN_TANH, y, NULL), shape, "input");
    expect(c, attn_matmul_forward(c, x, w, NULL, ATTN_TANH, &bad->y.view, NULL), shape, "output");
    expect(c, attn_matmul_forward(c, x, w, &bad->bias, ATTN_TANH, y, NULL), shape, "bias");
    expect(c, attn_matmul_forward(c, x, w, NULL, ATTN_TANH, y, &bad->pre.view), shape, "pre_activation");
    expect(c, attn_matmul_backward(c, NULL, pre, ATTN_TANH, x, wt, NULL, NULL, &l->d_bias), invalid,
           "d_output");
    expect(c, attn_matmul_backward(c, dy, NULL, ATTN_TANH, x, wt, NULL, NULL, &l->d_bias), invalid,
           "pre_activation");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, x, NULL, &l->dx.view, NULL, NULL), invalid,
           "weight");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, x, w, &l->dx.view, NULL, NULL), invalid, "weight");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, NULL, wt, NULL, &l->dw.view, NULL), invalid,
           "input");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, x, wt, &bad->dx.view, NULL, NULL), shape,
           "d_input");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, x, wt, NULL, &bad->dw.view, NULL), shape,
           "d_weight");
    expect(c, attn_matmul_backward(c, dy, pre, ATTN_TANH, x, wt, NULL, NULL, &bad->d_bias), shape, "d_bias");
    expect(c, attn_softmax_forward(c, NULL, y), invalid, "input");
    expect(c, attn_softmax_forward(c, x, y), shape, "output");
    for (int64_t r = 0; r < 5; r++)
        for (int64_t o = 0; o < 7; o++) assert_true(*matrix_at(&l->y, r, o) == MATRIX_CANARY);
    layer_destroy(l);
    layer_destroy(bad);
}

static void test_packing_arguments(void **state) {
    (void)state;
    attn_context *c = test_best_context(1);
    layer *l = layer_create(1, 6, 7, ATTN_TANH, MEMORY_PLAIN, 2);
    attn_packed_weight packed;
    size_t bytes = 0;
    layer_pack(c, l);
    assert_int_equal(attn_weight_packed_size(c, 7, 6, &bytes), ATTN_OK);
    char *memory = l->packed_memory[0];
    expect(c, attn_weight_packed_size(c, 7, 0, &bytes), ATTN_INVALID_ARGUMENT, "0");
    expect(c, attn_weight_packed_size(c, 7, 6, NULL), ATTN_INVALID_ARGUMENT, "bytes");
    expect(c, attn_weight_packed_size(c, INT64_MAX, INT64_MAX, &bytes), ATTN_OVERFLOW, "weight");
    expect(c, attn_weight_pack(c, NULL, 0, memory, bytes, &packed), ATTN_INVALID_ARGUMENT, "weight");
    expect(c, attn_weight_pack(c, &l->w.view, 0, NULL, bytes, &packed), ATTN_INVALID_ARGUMENT, "memory");
    expect(c, attn_weight_pack(c, &l->w.view, 0, memory + 4, bytes, &packed), ATTN_INVALID_ARGUMENT,
           "memory");
    expect(c, attn_weight_pack(c, &l->w.view, 0, memory, bytes - 1, &packed), ATTN_INVALID_ARGUMENT,
           "memory");
    expect(c, attn_weight_pack(c, &l->w.view, 0, memory, bytes, NULL), ATTN_INVALID_ARGUMENT, "packed");
    layer_destroy(l);
}

/* Allocation failure in both passes: a status, and the context works after. */
static void test_allocation_failure(void **state) {
    (void)state;
    layer *l = layer_create(40, 50, 60, ATTN_GELU, MEMORY_PLAIN, 2);
    int failed = 0;
    for (int n = 1; n <= 4; n++) {
        counting_allocator counter = {0};
        attn_context_options options;
        attn_context_options_init(&options);
        options.threads = 2;
        options.allocator = counting_allocator_functions(&counter);
        attn_context *context = NULL;
        assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
        layer_pack(context, l);
        counter.fail_at = n;
        attn_status status = attn_matmul_backward(context, &l->dy.view, &l->y.view, l->activation, &l->x.view,
                                                  &l->packed[1], &l->dx.view, &l->dw.view, &l->d_bias);
        assert_int_equal(status, counter.failures ? ATTN_OUT_OF_MEMORY : ATTN_OK);
        if (counter.failures)
            assert_true(*matrix_at(&l->dx, 0, 0) == MATRIX_CANARY &&
                        *matrix_at(&l->dw, 0, 0) == MATRIX_CANARY);
        failed += counter.failures > 0;
        counter.fail_at = 0;
        layer_run(context, l);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        *matrix_at(&l->dx, 0, 0) = *matrix_at(&l->dw, 0, 0) = MATRIX_CANARY;
    }
    assert_true(failed > 0);
    layer_destroy(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle_slopes),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_guard_pages),
        cmocka_unit_test(test_transposed_weight),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_large_product),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_rows_are_independent),
        cmocka_unit_test(test_optional_results),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_packing_arguments),
        cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
