/* test_parameters.c: sets of parameters: names, shapes, how they start, gradients. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"

static attn_parameters *create(attn_context *context, uint64_t seed) {
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(context, seed, &set), ATTN_OK);
    return set;
}

static attn_parameter *add(attn_parameters *set, const char *name, int64_t rows, int64_t columns,
                           attn_initial initial, float scale) {
    attn_parameter_options options;
    int64_t shape[2] = {rows, columns};
    attn_parameter_options_init(&options);
    options.initial = initial;
    options.scale = scale;
    return attn_parameters_add(set, name, 2, shape, &options);
}

static const float *value(const attn_parameter *p) { return attn_parameter_value(p).data; }

static void test_set(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set = create(context, 1);
    int64_t shape[3] = {4, 5, 6};
    attn_parameter *a = attn_parameters_add(set, "a", 3, shape, NULL);
    attn_parameter *b = attn_parameters_add(set, "b", 1, shape, NULL);
    char name[32];
    for (int i = 0; i < 100; i++) { /* more than the list first has room for */
        snprintf(name, sizeof name, "more.%d", i);
        assert_non_null(attn_parameters_add(set, name, 1, shape, NULL));
    }
    assert_int_equal(attn_parameters_count(set), 102);
    assert_int_equal(attn_parameters_size(set), 120 + 4 + 400);
    assert_ptr_equal(attn_parameters_at(set, 0), a);
    assert_ptr_equal(attn_parameters_at(set, 1), b);
    assert_null(attn_parameters_at(set, 102));
    assert_null(attn_parameters_at(set, -1));
    assert_ptr_equal(attn_parameters_find(set, "b"), b);
    assert_string_equal(attn_parameter_name(attn_parameters_find(set, "more.99")), "more.99");
    assert_null(attn_parameters_find(set, "c"));
    assert_null(attn_parameters_find(set, NULL));
    attn_tensor t = attn_parameter_value(a);
    assert_int_equal(t.rank, 3);
    for (int d = 0; d < 3; d++) assert_int_equal(t.shape[d], shape[d]);
    assert_int_equal(attn_parameter_kind_of(a), ATTN_PARAMETER_WEIGHT);
    assert_false(attn_parameter_frozen(a));
    assert_ptr_equal(attn_parameters_context(set), context);
    const float *g = attn_parameter_gradient(a).data; /* 0 before any pass */
    for (int i = 0; i < 120; i++) assert_true(g[i] == 0.0f);
    attn_parameters_destroy(set);
    attn_parameters_destroy(NULL);
}

static void expect_error(const char *name, int rank, const int64_t *shape,
                         const attn_parameter_options *options, attn_status status, const char *text) {
    attn_parameters *set = create(test_best_context(1), 1);
    int64_t two = 2;
    assert_non_null(attn_parameters_add(set, "taken", 1, &two, NULL));
    assert_null(attn_parameters_add(set, name, rank, shape, options));
    assert_int_equal(attn_parameters_status(set), status);
    if (!strstr(attn_parameters_error(set), text))
        fail_msg("\"%s\" is not \"%s\"", attn_parameters_error(set), text);
    assert_null(attn_parameters_add(set, "fine", 1, &two, NULL)); /* sticky */
    assert_non_null(strstr(attn_parameters_error(set), text));
    assert_int_equal(attn_parameters_count(set), 1);
    attn_parameters_destroy(set);
}

static void test_errors(void **state) {
    (void)state;
    int64_t fine[] = {2, 3}, empty[] = {2, 0}, huge[] = {INT64_MAX, INT64_MAX};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    expect_error("taken", 1, fine, NULL, ATTN_INVALID_ARGUMENT, "there is a parameter taken already");
    expect_error("", 1, fine, NULL, ATTN_INVALID_ARGUMENT, "needs a name");
    expect_error(NULL, 1, fine, NULL, ATTN_INVALID_ARGUMENT, "needs a name");
    expect_error("p", 0, fine, NULL, ATTN_INVALID_ARGUMENT, "parameter p: a rank of 1 to");
    expect_error("p", 99, fine, NULL, ATTN_INVALID_ARGUMENT, "not 99");
    expect_error("p", 2, NULL, NULL, ATTN_INVALID_ARGUMENT, "parameter p");
    expect_error("p", 2, empty, NULL, ATTN_INVALID_ARGUMENT, "parameter p: extent 1 is 0");
    expect_error("p", 2, huge, NULL, ATTN_OVERFLOW, "parameter p has more numbers");
    options.initial = (attn_initial)9;
    expect_error("p", 2, fine, &options, ATTN_INVALID_ARGUMENT, "parameter p: unknown kind or initial");
    options.size = 1;
    expect_error("p", 2, fine, &options, ATTN_INVALID_ARGUMENT, "call attn_parameter_options_init");
    assert_int_equal(attn_parameters_create(NULL, 1, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_parameters_create(test_best_context(1), 1, NULL), ATTN_INVALID_ARGUMENT);
    assert_null(attn_parameters_add(NULL, "p", 1, fine, NULL));
    assert_int_equal(attn_parameters_status(NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_parameters_count(NULL), 0);
    assert_null(attn_parameter_value(NULL).data);
    assert_null(attn_parameter_gradient(NULL).data);
    attn_parameter_changed(NULL);
    attn_parameters_clear_gradients(NULL);
}

/* ---- how they start ---- */

typedef struct moments {
    double mean, deviation, smallest, largest, neighbours;
} moments;

static moments moments_of(const float *x, int64_t count) {
    moments m = {0.0, 0.0, INFINITY, -INFINITY, 0.0};
    for (int64_t i = 0; i < count; i++) {
        m.mean += x[i] / (double)count;
        m.smallest = fmin(m.smallest, x[i]);
        m.largest = fmax(m.largest, x[i]);
    }
    for (int64_t i = 0; i < count; i++) m.deviation += (x[i] - m.mean) * (x[i] - m.mean) / (double)count;
    for (int64_t i = 1; i < count; i++)
        m.neighbours += (x[i] - m.mean) * (x[i - 1] - m.mean) / (double)count / m.deviation;
    m.deviation = sqrt(m.deviation);
    return m;
}

static void test_initial(void **state) {
    (void)state;
    enum { MANY = 200, WIDE = 300, COUNT = MANY * WIDE };
    attn_parameters *set = create(test_best_context(1), 7);
    static const struct {
        attn_initial initial;
        float scale;
        double deviation, bound;
    } cases[] = {
        {ATTN_INITIAL_NORMAL, 0.02f, 0.02, 0.1},
        {ATTN_INITIAL_UNIFORM, 0.5f, 0.5 / 1.7320508, 0.5},
        {ATTN_INITIAL_XAVIER, 2.0f, 2.0 * 0.1095445 / 1.7320508, 2.0 * 0.1095445 + 1e-6}, /* sqrt(6 / 500) */
        {ATTN_INITIAL_KAIMING, 1.0f, 0.0577350, 0.1 + 1e-7},                              /* 1 / sqrt(300) */
    };
    for (int k = 0; k < 4; k++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", k);
        const float *x = value(add(set, name, MANY, WIDE, cases[k].initial, cases[k].scale));
        moments m = moments_of(x, COUNT);
        double allowed = 4.0 / sqrt(COUNT);
        assert_true(fabs(m.mean) < allowed * cases[k].deviation);
        assert_true(fabs(m.deviation / cases[k].deviation - 1.0) < allowed);
        assert_true(fabs(m.neighbours) < allowed);
        assert_true(m.smallest >= -cases[k].bound && m.largest <= cases[k].bound);
        double fullness = cases[k].initial == ATTN_INITIAL_NORMAL ? 0.7 : 0.999;
        assert_true(m.largest > fullness * cases[k].bound && m.smallest < -fullness * cases[k].bound);
    }
    const float *x = value(add(set, "constant", 3, 4, ATTN_INITIAL_CONSTANT, 1.5f));
    for (int i = 0; i < 12; i++) assert_true(x[i] == 1.5f);
    x = value(add(set, "zero", 3, 4, ATTN_INITIAL_ZERO, 1.5f));
    for (int i = 0; i < 12; i++) assert_true(x[i] == 0.0f);
    attn_parameters_destroy(set);
}

/* A parameter's numbers follow from seed, name and index: not from the order of
 * adding, the number of threads or the instruction set. */
static void test_initial_is_a_function(void **state) {
    (void)state;
    enum { COUNT = 35 };
    attn_parameters *a = create(test_best_context(1), 3), *c = create(test_best_context(1), 4);
    const float *first = value(add(a, "first", 5, 7, ATTN_INITIAL_NORMAL, 1.0f));
    const float *second = value(add(a, "second", 5, 7, ATTN_INITIAL_XAVIER, 1.0f));
    assert_memory_not_equal(first, value(add(a, "third", 5, 7, ATTN_INITIAL_NORMAL, 1.0f)),
                            COUNT * sizeof(float));
    assert_memory_not_equal(first, value(add(c, "first", 5, 7, ATTN_INITIAL_NORMAL, 1.0f)),
                            COUNT * sizeof(float));
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (int threads = 1; threads < 8 && test_context(isa, 1); threads += 3) {
            attn_parameters *b = create(test_context(isa, threads), 3);
            add(b, "other", 9, 9, ATTN_INITIAL_NORMAL, 1.0f);
            const float *second_again = value(add(b, "second", 5, 7, ATTN_INITIAL_XAVIER, 1.0f));
            const float *first_again = value(add(b, "first", 5, 7, ATTN_INITIAL_NORMAL, 1.0f));
            assert_memory_equal(first, first_again, COUNT * sizeof(float));
            assert_memory_equal(second, second_again, COUNT * sizeof(float));
            attn_parameters_destroy(b);
        }
    }
    attn_parameters_destroy(a);
    attn_parameters_destroy(c);
}

/* ---- changes ---- */

static float predict(attn_tape *tape, attn_parameter *weight) {
    float x[2] = {1.0f, 1.0f};
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y = attn_tape_linear(tape, attn_tape_input(tape, x, 1, 2, 0), weight, NULL, ATTN_IDENTITY);
    assert_non_null(y);
    return attn_variable_data(y)[0];
}

/* The form kept for inference is made anew when told. */
static void test_changed(void **state) {
    (void)state;
    attn_tape *tape;
    attn_parameters *set = create(test_best_context(1), 1);
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    attn_parameter *w = add(set, "w", 3, 2, ATTN_INITIAL_CONSTANT, 1.0f);
    assert_true(predict(tape, w) == 2.0f);
    ((float *)attn_parameter_value(w).data)[0] = 5.0f;
    attn_parameter_changed(w);
    assert_true(predict(tape, w) == 6.0f);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

static void test_memory(void **state) {
    (void)state;
    int failed = 1;
    for (int64_t n = 1; failed; n++) {
        counting_allocator counter = {0};
        attn_context_options options;
        attn_context *context;
        attn_parameters *set = NULL;
        attn_context_options_init(&options);
        options.threads = 1;
        options.allocator = counting_allocator_functions(&counter);
        assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
        counter.fail_at = n;
        attn_status status = attn_parameters_create(context, 1, &set);
        char name[8];
        for (int p = 0; set && p < 70; p++) {
            snprintf(name, sizeof name, "p%d", p);
            add(set, name, 2, 2, ATTN_INITIAL_NORMAL, 1.0f);
        }
        if (set) status = attn_parameters_status(set);
        failed = counter.failures > 0;
        assert_int_equal(status, failed ? ATTN_OUT_OF_MEMORY : ATTN_OK);
        attn_parameters_destroy(set);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_initial), cmocka_unit_test(test_initial_is_a_function),
        cmocka_unit_test(test_changed), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
