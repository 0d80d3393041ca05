/* test_math.c: the polynomials of the kernels against double precision.
 *
 * The error bounds stated at the top of kernels/impl/math.h, in units of the
 * last place of the true value, over their whole range on every instruction
 * set; and the special values.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/table.h"

enum { SAMPLES = 1 << 16 };

typedef struct function_case {
    const char *name;
    double (*exact)(double);
    float from, to;
    double ulps;     /* of the true value */
    double absolute; /* what is added to the bound: a smallest normal number, say */
} function_case;

static double exact_normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* The distance of two neighbouring floats at x. */
static double ulp_of(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static void check_function(const at_kernels *kernels, const function_case *f,
                           void (*run)(int64_t, const float *, float *)) {
    float *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    double worst = 0.0;
    for (int part = 0; part < 16; part++) {
        for (int i = 0; i < SAMPLES; i++) { /* evenly, at other places in each part */
            double t = ((double)i + (double)part / 16.0) / SAMPLES;
            x[i] = (float)(f->from + t * ((double)f->to - f->from));
        }
        run(SAMPLES, x, y);
        for (int i = 0; i < SAMPLES; i++) {
            double want = f->exact((double)x[i]);
            double error = (fabs((double)y[i] - want) - f->absolute) / ulp_of(want);
            if (error > worst) worst = error;
        }
    }
    if (worst > f->ulps) {
        fail_msg("%s on %s: %.3f ulp, %.3f are stated", f->name, at_isa_name(kernels->isa), worst, f->ulps);
    }
    free(x);
    free(y);
}

static void check_isa(const at_kernels *kernels) {
    /* 2^x flushes to 0 below the normal numbers on some instruction sets */
    const function_case exp2_case = {"exp2", exp2, -140.0f, 126.9f, 1.5, 0x1p-126};
    const function_case exp2_near = {"exp2", exp2, -2.0f, 2.0f, 1.5, 0.0};
    const function_case tanh_wide = {"tanh", tanh, -12.0f, 12.0f, 3.0, 0.0};
    const function_case tanh_near = {"tanh", tanh, -0.7f, 0.7f, 3.0, 0.0};
    const function_case cdf_right = {"normal cdf", exact_normal_cdf, 0.0f, 8.0f, 4.0, 0.0};
    const function_case cdf_left = {"normal cdf", exact_normal_cdf, -12.0f, 0.0f, 4.0, 0x1p-24};
    check_function(kernels, &exp2_case, kernels->exp2_all);
    check_function(kernels, &exp2_near, kernels->exp2_all);
    check_function(kernels, &tanh_wide, kernels->tanh_all);
    check_function(kernels, &tanh_near, kernels->tanh_all);
    check_function(kernels, &cdf_right, kernels->normal_cdf_all);
    check_function(kernels, &cdf_left, kernels->normal_cdf_all);
}

static void check_special_values(const at_kernels *kernels) {
    float x[8] = {-INFINITY, -1e30f, -200.0f, 0.0f, NAN, 1.0f, -1.0f, 10.0f}, y[8];
    kernels->exp2_all(8, x, y);
    assert_true(y[0] == 0.0f && y[1] == 0.0f && y[2] == 0.0f);
    assert_true(y[3] == 1.0f && isnan(y[4]) && y[5] == 2.0f && y[6] == 0.5f && y[7] == 1024.0f);
    float t[6] = {-INFINITY, INFINITY, 0.0f, NAN, 50.0f, -50.0f}, u[6];
    kernels->tanh_all(6, t, u);
    assert_true(u[0] == -1.0f && u[1] == 1.0f && u[2] == 0.0f && isnan(u[3]) && u[4] == 1.0f &&
                u[5] == -1.0f);
    kernels->normal_cdf_all(6, t, u);
    assert_true(u[0] == 0.0f && u[1] == 1.0f && u[2] == 0.5f && isnan(u[3]) && u[4] == 1.0f && u[5] == 0.0f);
}

static void test_polynomials(void **state) {
    (void)state;
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (at_isa_available((at_isa)isa)) check_isa(at_kernels_for((at_isa)isa));
    }
}

static void test_special_values(void **state) {
    (void)state;
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (at_isa_available((at_isa)isa)) check_special_values(at_kernels_for((at_isa)isa));
    }
}

/* A tail of any length is computed as the same numbers inside a long array are. */
static void test_tails(void **state) {
    (void)state;
    float x[64], whole[64], part[65];
    for (int i = 0; i < 64; i++) x[i] = (float)i * 0.37f - 9.0f;
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (!at_isa_available((at_isa)isa)) continue;
        const at_kernels *kernels = at_kernels_for((at_isa)isa);
        kernels->exp2_all(64, x, whole);
        for (int n = 0; n < 64; n++) {
            part[n] = -7.0f;
            kernels->exp2_all(n, x, part);
            for (int i = 0; i < n; i++) assert_true(part[i] == whole[i]);
            assert_true(part[n] == -7.0f);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomials),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
