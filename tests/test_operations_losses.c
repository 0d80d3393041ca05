/* test_operations_losses.c: cross-entropy and the losses number by number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/context.h"
#include "kernels/rows.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_ROWS = 320, MOST_CLASSES = 4100, MOST_NUMBERS = 9000 };

/* ---- the logarithm that they are made of ---- */

static void test_logarithm(void **state) {
    (void)state;
    enum { COUNT = 4001 };
    static float x[COUNT], y[COUNT];
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        const at_row_kernels *kernels = at_row_kernels_for(test_context(isa, 1)->isa);
        double worst = 0.0;
        for (int round = 0; round < 40; round++) {
            test_random random = {(uint64_t)(round + 1) * 7919};
            for (int i = 0; i < COUNT; i++) {
                x[i] = round < 20 ? (float)exp(80.0 * (double)random_unit(&random))
                                  : 1.0f + 0.6f * random_unit(&random); /* around 1, where log crosses 0 */
            }
            kernels->logarithm(COUNT, x, y);
            for (int i = 0; i < COUNT; i++) {
                double exact = log((double)x[i]);
                double ulp = ldexp(1.0, (exact == 0.0 ? -126 : ilogb(exact)) - 23);
                worst = fmax(worst, fabs((double)y[i] - exact) / ulp);
            }
        }
        if (!(worst < 1.5)) fail_msg("%s: log is off by %g ulp", test_isa_names[isa], worst);
        float special[4] = {0.0f, INFINITY, NAN, 1.0f};
        kernels->logarithm(4, special, special);
        assert_true(special[0] == -INFINITY && special[1] == INFINITY);
        assert_true(isnan(special[2]) && special[3] == 0.0f);
    }
}

/* ---- cross-entropy ---- */

typedef struct entropy_case {
    int64_t rows, classes;
    int sliced; /* the logits are the middle columns of a wider input */
    int32_t labels[MOST_ROWS];
    float weights[MOST_CLASSES];
    attn_cross_entropy_options options;
} entropy_case;

static attn_variable *entropy_run(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                  void *user) {
    entropy_case *e = user;
    (void)parameter;
    attn_variable *x = e->sliced ? attn_tape_slice(tape, input[0], 2, e->classes) : input[0];
    /* what the caller gives may be gone by the backward pass */
    int32_t *labels = malloc(sizeof e->labels);
    float *weights = malloc(sizeof e->weights);
    memcpy(labels, e->labels, sizeof e->labels);
    memcpy(weights, e->weights, sizeof e->weights);
    attn_cross_entropy_options options = e->options;
    if (options.class_weights) options.class_weights = weights;
    attn_variable *loss = attn_tape_cross_entropy(tape, x, labels, &options);
    memset(labels, 0x55, sizeof e->labels);
    memset(weights, 0x55, sizeof e->weights);
    free(labels);
    free(weights);
    return loss;
}

static void entropy_reference(double *const *input, double *const *parameter, double *result, void *user) {
    const entropy_case *e = user;
    (void)parameter;
    double total = 0.0, counted = 0.0;
    for (int64_t i = 0; i < e->rows; i++) {
        if (e->labels[i] == e->options.ignored) continue;
        const double *x = input[0] + (e->sliced ? i * (e->classes + 5) + 2 : i * e->classes);
        double maximum = -INFINITY, sum = 0.0;
        for (int64_t c = 0; c < e->classes; c++) maximum = fmax(maximum, x[c]);
        for (int64_t c = 0; c < e->classes; c++) sum += exp(x[c] - maximum);
        double whole = maximum + log(sum), smoothing = (double)e->options.smoothing;
        double own = e->options.class_weights ? (double)e->weights[e->labels[i]] : 1.0;
        counted += own;
        total += (1.0 - smoothing) * own * (whole - x[e->labels[i]]);
        for (int64_t c = 0; c < e->classes; c++) {
            double weight = e->options.class_weights ? (double)e->weights[c] : 1.0;
            total += smoothing / (double)e->classes * weight * (whole - x[c]);
        }
    }
    result[0] = counted > 0.0 ? total / counted : 0.0;
}

static void check_entropy(int64_t rows, int64_t classes, int variant, float amplitude) {
    entropy_case *e = calloc(1, sizeof *e);
    test_random random = {(uint64_t)(rows * 1000 + classes * 10 + variant + 1)};
    e->rows = rows;
    e->classes = classes;
    e->sliced = variant & 1;
    attn_cross_entropy_options_init(&e->options);
    if (variant & 2) e->options.smoothing = 0.1f;
    if (variant & 4) e->options.class_weights = e->weights;
    if (variant & 8) e->options.ignored = (int32_t)(classes / 2);
    for (int64_t i = 0; i < rows; i++) {
        e->labels[i] = (int32_t)random_between(&random, 0, classes - 1);
        if (random_chance(&random, 20)) e->labels[i] = e->options.ignored;
    }
    for (int64_t c = 0; c < classes; c++) e->weights[c] = 1.5f + random_unit(&random);
    operation_case c = {
        .name = "cross_entropy",
        .inputs = 1,
        .input = {{.rows = rows, .columns = e->sliced ? classes + 5 : classes, .amplitude = amplitude}},
        .rows = 1,
        .columns = 1,
        .seed = (uint64_t)(100 * rows + classes),
        .user = e,
        .run = entropy_run,
        .reference = entropy_reference,
        .checked = 60};
    operation_check(&c);
    free(e);
}

static void test_cross_entropy(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 2, 5, 17, 65};
    static const int64_t classes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 67, 129};
    int variant = 0;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof classes / sizeof *classes; c++, variant++)
            check_entropy(rows[r], classes[c], variant % 16, 1.0f);
    for (variant = 0; variant < 16; variant++) check_entropy(13, 17, variant, 2.0f);
    check_entropy(310, 17, 0, 1.0f); /* more than one task */
    check_entropy(310, 17, 15, 1.0f);
    check_entropy(3, 4099, 2, 1.0f); /* more than one run of sums, on every instruction set */
    check_entropy(3, 4099, 5, 1.0f);
}

static void test_large_logits(void **state) {
    (void)state;
    for (int variant = 0; variant < 4; variant++) check_entropy(9, 19, variant, 80.0f);
}

/* One loss and its gradient, on the best instruction set. */
static float loss_of(attn_tape *tape, const float *logits, int64_t rows, int64_t classes,
                     const int32_t *labels, const attn_cross_entropy_options *options, float *gradient) {
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *x = attn_tape_input(tape, logits, rows, classes, 1);
    attn_variable *loss = attn_tape_cross_entropy(tape, x, labels, options);
    if (!loss) fail_msg("%s", attn_tape_error(tape));
    assert_int_equal(attn_tape_backward(tape, loss, NULL), ATTN_OK);
    memcpy(gradient, host_gradient(x), (size_t)(rows * classes) * sizeof(float));
    return host_data(loss)[0];
}

/* A class at -inf is as good as not there, and its gradient is 0. */
static void test_minus_infinity(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 1), &tape), ATTN_OK);
        enum { ROWS = 5, CLASSES = 21 };
        float x[ROWS * CLASSES], cut[ROWS * (CLASSES - 1)], dx[ROWS * CLASSES], d_cut[ROWS * (CLASSES - 1)];
        int32_t labels[ROWS], cut_labels[ROWS];
        test_random random = {5};
        for (int i = 0; i < ROWS; i++) {
            int gone = 4 * i + 1;
            labels[i] = gone + 1 < CLASSES ? gone + 1 : 0;
            cut_labels[i] = labels[i] > gone ? labels[i] - 1 : labels[i];
            for (int c = 0, k = 0; c < CLASSES; c++) {
                x[i * CLASSES + c] = c == gone ? -INFINITY : random_normal(&random);
                if (c != gone) cut[i * (CLASSES - 1) + k++] = x[i * CLASSES + c];
            }
        }
        float loss = loss_of(tape, x, ROWS, CLASSES, labels, NULL, dx);
        float expected = loss_of(tape, cut, ROWS, CLASSES - 1, cut_labels, NULL, d_cut);
        assert_true(fabsf(loss - expected) <= 1e-6f);
        for (int i = 0; i < ROWS; i++) {
            assert_true(dx[i * CLASSES + 4 * i + 1] == 0.0f);
            for (int c = 0; c < CLASSES; c++) assert_true(isfinite(dx[i * CLASSES + c]));
        }
        /* with smoothing the class counts, unless its weight is 0 */
        attn_cross_entropy_options options;
        attn_cross_entropy_options_init(&options);
        options.smoothing = 0.1f;
        assert_true(loss_of(tape, x, ROWS, CLASSES, labels, &options, dx) == INFINITY);
        float weights[CLASSES];
        for (int c = 0; c < CLASSES; c++) weights[c] = c % 4 == 1 ? 0.0f : 1.0f;
        options.class_weights = weights;
        assert_true(isfinite(loss_of(tape, x, ROWS, CLASSES, labels, &options, dx)));
        /* NaN and a row without any finite logit are not hidden */
        x[3] = NAN;
        assert_true(isnan(loss_of(tape, x, ROWS, CLASSES, labels, NULL, dx)));
        for (int c = 0; c < CLASSES; c++) x[c] = -INFINITY;
        assert_true(isnan(loss_of(tape, x, ROWS, CLASSES, labels, NULL, dx)));
        attn_tape_destroy(tape);
    }
}

/* Numbers that PyTorch's CrossEntropyLoss gives by its documented formula. */
static void test_known_values(void **state) {
    (void)state;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    const float x[6] = {1.0f, 2.0f, 3.0f, 0.0f, 0.0f, 0.0f};
    const int32_t labels[2] = {2, 0};
    float dx[6];
    /* row 0: log(1 + e^-1 + e^-2) = 0.407606; row 1: log 3 = 1.098612 */
    assert_true(fabsf(loss_of(tape, x, 2, 3, labels, NULL, dx) - 0.753109f) < 1e-6f);
    assert_true(fabsf(dx[2] - (0.665241f - 1.0f) / 2.0f) < 1e-6f);
    assert_true(fabsf(dx[4] - 1.0f / 6.0f) < 1e-6f);
    const float weights[3] = {3.0f, 1.0f, 1.0f};
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
    options.class_weights = weights; /* (1 * 0.407606 + 3 * 1.098612) / 4 */
    assert_true(fabsf(loss_of(tape, x, 2, 3, labels, &options, dx) - 0.925861f) < 1e-6f);
    const int32_t none[2] = {-1, -1};
    assert_true(loss_of(tape, x, 2, 3, none, NULL, dx) == 0.0f);
    for (int i = 0; i < 6; i++) assert_true(dx[i] == 0.0f);
    const float nothing[3] = {0.0f, 1.0f, 0.0f}; /* labels of weight 0 only */
    options.class_weights = nothing;
    assert_true(loss_of(tape, x, 2, 3, labels, &options, dx) == 0.0f);
    for (int i = 0; i < 6; i++) assert_true(dx[i] == 0.0f);
    attn_tape_destroy(tape);
}

/* ---- number by number ---- */

typedef attn_variable *(*element_function)(attn_tape *tape, attn_variable *x, const float *targets);

typedef struct element_case {
    int kind, sliced;
    int64_t rows, columns;
    float targets[MOST_NUMBERS];
} element_case;

static const element_function element_functions[] = {attn_tape_binary_cross_entropy, attn_tape_squared_error,
                                                     attn_tape_absolute_error};

static attn_variable *element_run(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                  void *user) {
    const element_case *e = user;
    (void)parameter;
    attn_variable *x = e->sliced ? attn_tape_slice(tape, input[0], 1, e->columns) : input[0];
    float *targets = malloc(sizeof e->targets);
    memcpy(targets, e->targets, sizeof e->targets);
    attn_variable *loss = element_functions[e->kind](tape, x, targets);
    memset(targets, 0x55, sizeof e->targets);
    free(targets);
    return loss;
}

static void element_reference(double *const *input, double *const *parameter, double *result, void *user) {
    const element_case *e = user;
    (void)parameter;
    double total = 0.0, counted = 0.0;
    for (int64_t i = 0; i < e->rows; i++) {
        for (int64_t c = 0; c < e->columns; c++) {
            double x = input[0][e->sliced ? i * (e->columns + 4) + 1 + c : i * e->columns + c];
            double t = (double)e->targets[i * e->columns + c];
            if (isnan(t)) continue;
            counted += 1.0;
            if (e->kind == 0) total += fmax(x, 0.0) - x * t + log1p(exp(-fabs(x)));
            if (e->kind == 1) total += (x - t) * (x - t);
            if (e->kind == 2) total += fabs(x - t);
        }
    }
    result[0] = counted > 0.0 ? total / counted : 0.0;
}

static void check_element(int kind, int64_t rows, int64_t columns, int sliced, int missing, float amplitude) {
    element_case *e = calloc(1, sizeof *e);
    test_random random = {(uint64_t)(kind + 10 * rows + 1000 * columns + 3)};
    e->kind = kind;
    e->rows = rows;
    e->columns = columns;
    e->sliced = sliced;
    assert_true(rows * columns <= MOST_NUMBERS);
    for (int64_t i = 0; i < rows * columns; i++) {
        e->targets[i] = kind == 0 ? 0.5f + 0.5f * random_unit(&random) : random_normal(&random);
        if (kind == 0 && random_chance(&random, 50)) e->targets[i] = e->targets[i] > 0.5f ? 1.0f : 0.0f;
        if (kind == 2) e->targets[i] += e->targets[i] > 0.0f ? 4.0f : -4.0f; /* nothing near the kink */
        if (random_chance(&random, missing)) e->targets[i] = NAN;
    }
    operation_case c = {
        .name = kind == 0   ? "binary_cross_entropy"
                : kind == 1 ? "squared_error"
                            : "absolute_error",
        .inputs = 1,
        .input = {{.rows = rows, .columns = sliced ? columns + 4 : columns, .amplitude = amplitude}},
        .rows = 1,
        .columns = 1,
        .seed = (uint64_t)(rows + columns),
        .user = e,
        .run = element_run,
        .reference = element_reference,
        .checked = 60};
    operation_check(&c);
    free(e);
}

static void test_elements(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 3, 33}, columns[] = {1, 2, 15, 16, 17, 47, 50};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                check_element(kind, rows[r], columns[c], (int)(r + c) % 2, (int)c % 3 * 20, 1.0f);
        check_element(kind, 170, 50, 0, 10, 1.0f); /* more than one task; rows across their borders */
        check_element(kind, 170, 50, 1, 10, 1.0f);
        check_element(kind, 3, 7, 0, 100, 1.0f); /* all missing */
    }
    check_element(0, 12, 12, 0, 0, 60.0f); /* logits far out */
}

/* A confident logit has a small loss with all its digits, and a row is the same as a slice. */
static void test_binary_tails(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 1), &tape), ATTN_OK);
        static const float logits[] = {-80.0f, -30.0f, -8.0f, -0.5f, 0.0f, 0.3f, 2.0f, 20.0f, 85.0f};
        for (size_t i = 0; i < sizeof logits / sizeof *logits; i++) {
            for (int one = 0; one < 2; one++) {
                float target = (float)one;
                attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
                attn_variable *x = attn_tape_input(tape, &logits[i], 1, 1, 1);
                attn_variable *loss = attn_tape_binary_cross_entropy(tape, x, &target);
                double z = one ? -(double)logits[i] : (double)logits[i];
                double exact = z > 30.0 ? z : log1p(exp(z));
                assert_true(fabs((double)host_data(loss)[0] - exact) <= 8e-6 * exact);
                assert_int_equal(attn_tape_backward(tape, loss, NULL), ATTN_OK);
                double slope = (one ? -1.0 : 1.0) / (1.0 + exp(-z));
                assert_true(fabs((double)host_gradient(x)[0] - slope) <= 1e-6);
            }
        }
        attn_tape_destroy(tape);
    }
}

static void expect_error(attn_tape *tape, attn_variable *result, const char *text) {
    assert_null(result);
    if (!strstr(attn_tape_error(tape), text)) fail_msg("\"%s\" is not \"%s\"", attn_tape_error(tape), text);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
}

static void test_errors(void **state) {
    (void)state;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    const float x[6] = {0};
    float weights[3] = {1.0f, -1.0f, 1.0f};
    int32_t labels[2] = {0, 3};
    attn_cross_entropy_options options;
    attn_cross_entropy_options_init(&options);
#define LOGITS attn_tape_input(tape, x, 2, 3, 1)
    expect_error(tape, attn_tape_cross_entropy(tape, NULL, labels, NULL), "cross_entropy: logits is NULL");
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, NULL, NULL), "cross_entropy: labels is NULL");
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, NULL),
                 "cross_entropy: label 1 is 3, but there are 3 classes");
    labels[1] = -2;
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, NULL), "label 1 is -2");
    labels[1] = 1;
    options.smoothing = 1.0f;
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, &options), "smoothing is 1, but");
    options.smoothing = NAN;
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, &options), "smoothing is");
    options.smoothing = 0.0f;
    options.class_weights = weights;
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, &options), "weight of class 1 is -1");
    options.size = 3;
    expect_error(tape, attn_tape_cross_entropy(tape, LOGITS, labels, &options),
                 "attn_cross_entropy_options_init");
    expect_error(tape, attn_tape_binary_cross_entropy(tape, NULL, x), "binary_cross_entropy: logits is NULL");
    expect_error(tape, attn_tape_squared_error(tape, NULL, x), "squared_error: x is NULL");
    expect_error(tape, attn_tape_absolute_error(tape, LOGITS, NULL), "absolute_error: targets is NULL");
#undef LOGITS
    attn_tape_destroy(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logarithm),    cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_large_logits), cmocka_unit_test(test_minus_infinity),
        cmocka_unit_test(test_known_values), cmocka_unit_test(test_elements),
        cmocka_unit_test(test_binary_tails), cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
