/* test_operations_norms.c: norms, softmax and rotary positions on the tape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

typedef enum norm_kind { LAYER, RMS, SOFTMAX, LOG_SOFTMAX, NORM_KINDS } norm_kind;
static const char *const kind_names[NORM_KINDS] = {"layer_norm", "rms_norm", "softmax", "log_softmax"};

typedef struct norm_case {
    norm_kind kind;
    int64_t rows, columns;
    int64_t margin; /* > 0: x is a slice, with so many columns on either side */
    int gain, bias;
    float epsilon;
} norm_case;

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const norm_case *n = user;
    attn_variable *x = n->margin ? attn_tape_slice(tape, input[0], n->margin, n->columns) : input[0];
    attn_parameter *gain = n->gain ? parameter[0] : NULL, *bias = n->bias ? parameter[n->gain] : NULL;
    switch (n->kind) {
    case LAYER: return attn_tape_layer_norm(tape, x, gain, bias, n->epsilon);
    case RMS: return attn_tape_rms_norm(tape, x, gain, n->epsilon);
    case SOFTMAX: return attn_tape_softmax(tape, x);
    default: return attn_tape_log_softmax(tape, x);
    }
}

static void reference_norm(const norm_case *n, const double *x, const double *gain, const double *bias,
                           double *y) {
    double mean = 0.0, squares = 0.0;
    for (int64_t j = 0; n->kind == LAYER && j < n->columns; j++) mean += x[j] / (double)n->columns;
    for (int64_t j = 0; j < n->columns; j++) squares += (x[j] - mean) * (x[j] - mean) / (double)n->columns;
    double inverse = 1.0 / sqrt(squares + (double)n->epsilon);
    for (int64_t j = 0; j < n->columns; j++)
        y[j] = (x[j] - mean) * inverse * (gain ? gain[j] : 1.0) + (bias ? bias[j] : 0.0);
}

static void reference_softmax(const norm_case *n, const double *x, double *y) {
    double maximum = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < n->columns; j++) maximum = fmax(maximum, x[j]);
    for (int64_t j = 0; j < n->columns; j++) sum += exp(x[j] - maximum);
    for (int64_t j = 0; j < n->columns; j++)
        y[j] = n->kind == SOFTMAX ? exp(x[j] - maximum) / sum : x[j] - maximum - log(sum);
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const norm_case *n = user;
    const double *gain = n->gain ? parameter[0] : NULL, *bias = n->bias ? parameter[n->gain] : NULL;
    for (int64_t i = 0; i < n->rows; i++) {
        const double *x = input[0] + i * (n->columns + 2 * n->margin) + n->margin;
        if (n->kind == LAYER || n->kind == RMS) {
            reference_norm(n, x, gain, bias, result + i * n->columns);
        } else {
            reference_softmax(n, x, result + i * n->columns);
        }
    }
}

static operation_case case_of(norm_case *n, uint64_t seed, int64_t checked) {
    operation_case c = {.name = kind_names[n->kind],
                        .inputs = 1,
                        .parameters = n->gain + n->bias,
                        .input = {{.rows = n->rows, .columns = n->columns + 2 * n->margin}},
                        .parameter = {{.columns = n->columns}, {.columns = n->columns}},
                        .rows = n->rows,
                        .columns = n->columns,
                        .seed = seed,
                        .user = n,
                        .run = run,
                        .reference = reference,
                        .checked = checked};
    return c;
}

static void check(norm_case n, uint64_t seed, int64_t checked) {
    if (n.kind != LAYER) n.bias = 0;
    if (n.kind != LAYER && n.kind != RMS) n.gain = 0;
    operation_case c = case_of(&n, seed, checked);
    operation_check(&c);
}

static void test_shapes(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 2, 7, 66};
    static const int64_t columns[] = {1, 2, 3, 15, 16, 17, 33, 48, 64, 67, 129};
    for (int kind = 0; kind < NORM_KINDS; kind++) {
        uint64_t seed = 100 * (uint64_t)kind;
        for (int r = 0; r < 5; r++) {
            for (int k = 0; k < 11; k++, seed++) {
                norm_case n = {.kind = (norm_kind)kind,
                               .rows = rows[r],
                               .columns = columns[k],
                               .margin = (int64_t)(seed % 3),
                               .gain = seed / 3 % 2,
                               .bias = seed / 6 % 2,
                               .epsilon = 1e-5f};
                /* Of one or two numbers the norm is a sign, unless epsilon counts: the gradient
                 * would be a difference of equal numbers. */
                if (columns[k] < 3) n.epsilon = 0.5f;
                check(n, seed, 60);
            }
        }
    }
}

/* With and without each vector; learned and frozen; x fixed. */
static void test_vectors(void **state) {
    (void)state;
    for (int which = 0; which < 32; which++) {
        norm_case n = {.kind = LAYER, .rows = 9, .columns = 35, .gain = which & 1, .bias = which >> 1 & 1};
        n.epsilon = 1e-6f;
        operation_case c = case_of(&n, (uint64_t)which, 0);
        c.input[0].fixed = which >> 2 & 1;
        c.parameter[0].fixed = which >> 3 & 1;
        c.parameter[1].fixed = which >> 4 & 1;
        int learns = !c.input[0].fixed;
        for (int p = 0; p < c.parameters; p++) learns += !c.parameter[p].fixed;
        if (learns) operation_check(&c);
    }
}

static void test_large(void **state) {
    (void)state;
    for (int kind = 0; kind < NORM_KINDS; kind++) {
        norm_case n = {
            .kind = (norm_kind)kind, .rows = 523, .columns = 300, .margin = 4, .gain = 1, .bias = 1};
        n.epsilon = 1e-5f;
        check(n, 700 + (uint64_t)kind, 12);
        norm_case wide = {.kind = (norm_kind)kind, .rows = 3, .columns = 20011, .gain = 1, .bias = 1};
        wide.epsilon = 1e-5f;
        check(wide, 800 + (uint64_t)kind, 12);
    }
}

/* A mean a thousand times the deviation: a difference of sums of squares would have lost it. */
static void test_large_mean(void **state) {
    (void)state;
    norm_case n = {.kind = LAYER, .columns = 99, .epsilon = 1e-5f};
    float x[99];
    double exact[99], y[99];
    test_random random = {8};
    for (int j = 0; j < 99; j++) exact[j] = x[j] = 1000.0f + random_normal(&random);
    reference_norm(&n, exact, NULL, NULL, y);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 1), &tape), ATTN_OK);
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *v = attn_tape_layer_norm(tape, attn_tape_input(tape, x, 1, 99, 0), NULL, NULL, 1e-5f);
        /* an error of the mean of half a unit in its last place is 3e-5 deviations */
        for (int j = 0; j < 99; j++) assert_true(fabs(host_data(v)[j] - y[j]) < 6e-5);
        attn_tape_destroy(tape);
    }
}

static void test_softmax_special(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 1), &tape), ATTN_OK);
        float x[4 * 19];
        for (int j = 0; j < 19; j++) {
            x[j] = -INFINITY;                         /* nothing at all */
            x[19 + j] = j == 17 ? 3.0f : -INFINITY;   /* one */
            x[38 + j] = j % 2 ? 3e38f : -3e38f;       /* far apart */
            x[57 + j] = j < 3 ? -INFINITY : (float)j; /* some are missing */
        }
        attn_tape_begin(tape, ATTN_TAPE_GRADIENT, 0);
        attn_variable *v = attn_tape_input(tape, x, 4, 19, 1);
        const float *p = host_data(attn_tape_softmax(tape, v));
        attn_variable *logs = attn_tape_log_softmax(tape, v);
        const float *l = host_data(logs);
        double sum = 0.0;
        for (int j = 0; j < 19; j++) {
            assert_true(p[j] == 0.0f && l[j] == -INFINITY);
            assert_true(p[19 + j] == (j == 17) && l[19 + j] == (j == 17 ? 0.0f : -INFINITY));
            assert_true(fabsf(p[38 + j] - (j % 2 ? 1.0f / 9.0f : 0.0f)) < 1e-7f);
            assert_true(j % 2 == 0 || fabsf(l[38 + j] - logf(1.0f / 9.0f)) < 1e-6f);
            assert_true(j >= 3 || (p[57 + j] == 0.0f && l[57 + j] == -INFINITY));
            sum += p[57 + j];
        }
        assert_true(fabs(sum - 1.0) < 1e-6);
        assert_int_equal(attn_tape_backward(tape, logs, NULL), ATTN_OK);
        const float *d = host_gradient(v);
        for (int i = 0; i < 4 * 19; i++) assert_true(isfinite(d[i]));
        attn_tape_destroy(tape);
    }
}

/* ---- rotary positions ---- */

enum { SEQUENCES = 6 };

typedef struct rotary_case {
    int64_t heads, width, margin;
    int64_t offsets[SEQUENCES + 1], sequences, first[SEQUENCES];
    int has_first;
    float base;
} rotary_case;

static int64_t rows_of(const rotary_case *r) { return r->offsets[r->sequences]; }

static attn_variable *run_rotary(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                 void *user) {
    const rotary_case *r = user;
    rotary_case gone = *r; /* offsets and positions that do not last */
    attn_ragged batch = {gone.sequences, gone.offsets};
    (void)parameter;
    attn_variable *x = r->margin ? attn_tape_slice(tape, input[0], r->margin, r->heads * r->width) : input[0];
    attn_variable *y = attn_tape_rotary(tape, x, r->heads, &batch, r->has_first ? gone.first : NULL, r->base);
    memset(&gone, 0xff, sizeof gone);
    return y;
}

static void reference_rotary(double *const *input, double *const *parameter, double *result, void *user) {
    const rotary_case *r = user;
    int64_t columns = r->heads * r->width, stride = columns + 2 * r->margin, half = r->width / 2;
    (void)parameter;
    for (int64_t b = 0; b < r->sequences; b++) {
        for (int64_t i = r->offsets[b]; i < r->offsets[b + 1]; i++) {
            double position = (double)(i - r->offsets[b] + (r->has_first ? r->first[b] : 0));
            for (int64_t h = 0; h < r->heads; h++) {
                const double *x = input[0] + i * stride + r->margin + h * r->width;
                double *y = result + i * columns + h * r->width;
                for (int64_t c = 0; c < half; c++) {
                    double angle = position * pow((double)r->base, -2.0 * (double)c / (double)r->width);
                    y[c] = x[c] * cos(angle) - x[half + c] * sin(angle);
                    y[half + c] = x[half + c] * cos(angle) + x[c] * sin(angle);
                }
            }
        }
    }
}

static void check_rotary(rotary_case r, uint64_t seed, int64_t checked) {
    operation_case c = {.name = "rotary",
                        .inputs = 1,
                        .input = {{.rows = rows_of(&r), .columns = r.heads * r.width + 2 * r.margin}},
                        .rows = rows_of(&r),
                        .columns = r.heads * r.width,
                        .seed = seed,
                        .user = &r,
                        .run = run_rotary,
                        .reference = reference_rotary,
                        .checked = checked};
    operation_check(&c);
}

static void test_rotary(void **state) {
    (void)state;
    static const int64_t widths[] = {2, 6, 16, 30, 32, 34, 64};
    for (int w = 0; w < 7; w++) {
        rotary_case r = {.heads = 1 + w % 3,
                         .width = widths[w],
                         .margin = w % 2 * 3,
                         .offsets = {0, 0, 1, 8, 8, 20, 25},
                         .sequences = SEQUENCES,
                         .first = {3, 70, 0, 5, 61, 2},
                         .base = w % 2 ? 10000.0f : 500.0f};
        check_rotary(r, (uint64_t)w, 80);
        r.has_first = 1;
        check_rotary(r, (uint64_t)w, 80);
        r.first[1] = 1000000; /* so far apart that no table is shared */
        r.first[2] = -67;     /* and before the start, over the edge of a block */
        check_rotary(r, (uint64_t)w, 80);
    }
    rotary_case large = {
        .heads = 4, .width = 64, .offsets = {0, 300, 301, 301, 520}, .sequences = 4, .base = 1e4f};
    check_rotary(large, 5, 10);
    large.has_first = 1;
    large.first[1] = 123456;
    check_rotary(large, 6, 10);
    rotary_case empty = {.heads = 2, .width = 4, .offsets = {0}, .sequences = 0, .base = 1e4f};
    check_rotary(empty, 7, 0);
    empty.sequences = 2;
    check_rotary(empty, 8, 0);
}

/* Far from the start the angle is still right, and the same bits whatever else is in the batch. */
static void test_rotary_alone(void **state) {
    (void)state;
    enum { ROWS = 200, COLUMNS = 128 };
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    static float x[ROWS * COLUMNS], together[ROWS * COLUMNS];
    test_random random = {5};
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = random_normal(&random);
    for (int far = 0; far < 2; far++) {
        int64_t offsets[] = {0, 5, 100, 200}, first[] = {0, far ? 99999 : 33, 64};
        attn_ragged batch = {3, offsets};
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *y =
            attn_tape_rotary(tape, attn_tape_input(tape, x, ROWS, COLUMNS, 0), 2, &batch, first, 10000.0f);
        memcpy(together, host_data(y), sizeof together);
        for (int b = 0; b < 3; b++) {
            int64_t alone[] = {0, offsets[b + 1] - offsets[b]};
            attn_ragged one = {1, alone};
            attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
            attn_variable *v = attn_tape_input(tape, x + offsets[b] * COLUMNS, alone[1], COLUMNS, 0);
            y = attn_tape_rotary(tape, v, 2, &one, first + b, 10000.0f);
            assert_memory_equal(host_data(y), together + offsets[b] * COLUMNS,
                                (size_t)(alone[1] * COLUMNS) * sizeof(float));
        }
    }
    attn_tape_destroy(tape);
}

/* ---- rows of a batch do not see each other ---- */

static void test_rows_alone(void **state) {
    (void)state;
    enum { ROWS = 130, COLUMNS = 77 };
    static float x[ROWS * COLUMNS], together[ROWS * COLUMNS];
    test_random random = {15};
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = random_normal(&random);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 2), &tape), ATTN_OK);
        for (int kind = 0; kind < NORM_KINDS; kind++) {
            norm_case n = {.kind = (norm_kind)kind, .columns = COLUMNS, .epsilon = 1e-5f};
            attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
            attn_variable *v = attn_tape_input(tape, x, ROWS, COLUMNS, 0);
            memcpy(together, host_data(run(tape, &v, NULL, &n)), sizeof together);
            for (int i = 0; i < ROWS; i += 43) {
                attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
                v = attn_tape_input(tape, x + i * COLUMNS, 1, COLUMNS, 0);
                assert_memory_equal(host_data(run(tape, &v, NULL, &n)), together + i * COLUMNS,
                                    COLUMNS * sizeof(float));
            }
        }
        attn_tape_destroy(tape);
    }
}

/* ---- errors ---- */

static void expect(attn_tape *tape, const attn_variable *result, attn_status status, const char *text) {
    assert_null(result);
    if (attn_tape_status(tape) != status || !strstr(attn_tape_error(tape), text))
        fail_msg("\"%s\" is not \"%s\"", attn_tape_error(tape), text);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
}

static void test_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set, *other;
    attn_tape *tape;
    float x[64] = {0};
    int64_t five = 5, six = 6, offsets[] = {0, 1, 4}, falling[] = {0, 5, 4}, far[] = {0, INT64_MAX};
    attn_ragged batch = {2, offsets}, wrong = {2, falling};
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_parameters_create(test_best_context(2), 1, &other), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_parameter *p5 = attn_parameters_add(set, "five", 1, &five, NULL);
    attn_parameter *p6 = attn_parameters_add(set, "six", 1, &six, NULL);
    attn_parameter *foreign = attn_parameters_add(other, "far", 1, &six, NULL);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
#define INPUT(rows, columns) attn_tape_input(tape, x, rows, columns, 1)
    expect(tape, attn_tape_layer_norm(tape, INPUT(4, 6), p5, p6, 1e-5f), ATTN_SHAPE_MISMATCH,
           "layer_norm: gain (five) has 5 numbers, x is 4 x 6");
    expect(tape, attn_tape_layer_norm(tape, INPUT(4, 6), p6, p5, 1e-5f), ATTN_SHAPE_MISMATCH,
           "layer_norm: bias (five) has 5 numbers, x is 4 x 6");
    expect(tape, attn_tape_layer_norm(tape, INPUT(4, 6), foreign, NULL, 1e-5f), ATTN_INVALID_ARGUMENT,
           "layer_norm: gain (far) belongs to another context");
    expect(tape, attn_tape_layer_norm(tape, INPUT(4, 6), p6, p6, -1.0f), ATTN_INVALID_ARGUMENT,
           "epsilon of -1");
    expect(tape, attn_tape_rms_norm(tape, INPUT(4, 6), p5, 1e-5f), ATTN_SHAPE_MISMATCH,
           "rms_norm: gain (five) has 5 numbers, x is 4 x 6");
    expect(tape, attn_tape_rms_norm(tape, NULL, p5, 1e-5f), ATTN_INVALID_ARGUMENT, "rms_norm: x is NULL");
    expect(tape, attn_tape_softmax(tape, NULL), ATTN_INVALID_ARGUMENT, "softmax: x is NULL");
    expect(tape, attn_tape_log_softmax(tape, NULL), ATTN_INVALID_ARGUMENT, "log_softmax: x is NULL");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 4, &batch, NULL, 1e4f), ATTN_SHAPE_MISMATCH,
           "rotary: x is 4 x 6, which is not 4 heads");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 2, &batch, NULL, 1e4f), ATTN_SHAPE_MISMATCH,
           "rotary: x is 4 x 6, which is not 2 heads of an even number");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 1, &batch, NULL, 0.0f), ATTN_INVALID_ARGUMENT,
           "a base of 0");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 1, &wrong, NULL, 1e4f), ATTN_SHAPE_MISMATCH,
           "rotary: the offsets of the batch");
    expect(tape, attn_tape_rotary(tape, INPUT(5, 6), 1, &batch, NULL, 1e4f), ATTN_SHAPE_MISMATCH, "5 rows");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 1, NULL, NULL, 1e4f), ATTN_INVALID_ARGUMENT,
           "batch is NULL");
    expect(tape, attn_tape_rotary(tape, INPUT(4, 6), 1, &batch, far, 1e4f), ATTN_INVALID_ARGUMENT,
           "first_position[1] is 9223372036854775807");
#undef INPUT
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    attn_parameters_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_large),           cmocka_unit_test(test_large_mean),
        cmocka_unit_test(test_softmax_special), cmocka_unit_test(test_rotary),
        cmocka_unit_test(test_rotary_alone),    cmocka_unit_test(test_rows_alone),
        cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
