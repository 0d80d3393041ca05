/* test_optimizer.c: the optimisers against the same formulas in double, and
 * everything around them: schedules, averages, state, failures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"
#include "tape/parameters.h"

/* ---- a set of parameters, and gradients for them ---- */

enum { PARAMETERS = 6, UNTOUCHED = 4, NUMBERS = 45000 };

static const struct {
    const char *name;
    int rank;
    int64_t shape[2];
    attn_parameter_kind kind;
} shapes[PARAMETERS] = {
    {"weight", 2, {37, 53}, ATTN_PARAMETER_WEIGHT},  {"bias", 1, {53, 1}, ATTN_PARAMETER_BIAS},
    {"large", 2, {203, 199}, ATTN_PARAMETER_WEIGHT}, /* more than one task */
    {"norm", 1, {7, 1}, ATTN_PARAMETER_NORM},        {"untouched", 1, {19, 1}, ATTN_PARAMETER_WEIGHT},
    {"table", 2, {5, 3}, ATTN_PARAMETER_EMBEDDING},
};

static attn_parameters *new_set(attn_context *context) {
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(context, 11, &set), ATTN_OK);
    for (int p = 0; p < PARAMETERS; p++) {
        attn_parameter_options options;
        attn_parameter_options_init(&options);
        options.kind = shapes[p].kind;
        options.initial = ATTN_INITIAL_NORMAL;
        assert_non_null(attn_parameters_add(set, shapes[p].name, shapes[p].rank, shapes[p].shape, &options));
    }
    return set;
}

/* Number i of the gradient of parameter p in a step: of many sizes, some 0. */
static float gradient_number(int p, int64_t step, int64_t i) {
    test_random random = {(uint64_t)(p + 1) * 1000003u + (uint64_t)step * 7919u + (uint64_t)i * 31u + 1};
    float x = random_normal(&random);
    return i % 11 == 0 ? 0.0f : i % 3 == 0 ? 0.01f * x : x;
}

static void write_gradients(attn_parameters *set, int64_t step, float factor) {
    for (int p = 0; p < PARAMETERS; p++) {
        attn_parameter *parameter = attn_parameters_at(set, p);
        if (p == UNTOUCHED || parameter->frozen) continue;
        float *gradient = attn_parameter_gradient(parameter).data;
        for (int64_t i = 0; i < parameter->count; i++) gradient[i] = factor * gradient_number(p, step, i);
    }
}

static attn_optimizer *new_optimizer(attn_parameters *set, const attn_optimizer_options *options) {
    attn_optimizer *optimizer;
    if (attn_optimizer_create(set, options, &optimizer) != ATTN_OK)
        fail_msg("%s", attn_context_error(attn_parameters_context(set)));
    return optimizer;
}

static void step(attn_optimizer *optimizer, attn_parameters *set) {
    if (attn_optimizer_step(optimizer) != ATTN_OK)
        fail_msg("%s", attn_context_error(attn_parameters_context(set)));
}

static void copy_values(attn_parameters *set, float *values) {
    for (int64_t p = 0; p < attn_parameters_count(set); p++) {
        const attn_parameter *parameter = attn_parameters_at(set, p);
        memcpy(values, parameter->value, (size_t)parameter->count * sizeof(float));
        values += parameter->count;
    }
}

/* ---- the oracle ---- */

typedef struct oracle {
    attn_optimizer_options options;
    double value[NUMBERS], first[NUMBERS], second[NUMBERS], average[NUMBERS];
    double norm;
} oracle;

static void oracle_step(oracle *o, attn_parameters *set, int64_t t, float factor) {
    const attn_optimizer_options *s = &o->options;
    double square = 0.0, share = 1.0;
    for (int p = 0; p < PARAMETERS; p++) {
        if (p == UNTOUCHED) continue;
        for (int64_t i = 0; i < attn_parameters_at(set, p)->count; i++)
            square += pow((double)(factor * gradient_number(p, t, i)) / (double)s->accumulate, 2.0);
    }
    o->norm = sqrt(square);
    if (s->clip_norm > 0.0) share = fmin(1.0, s->clip_norm / (o->norm + 1e-6));
    double rate = s->learning_rate * (double)attn_schedule_factor(s, t);
    int64_t at = 0;
    for (int p = 0; p < PARAMETERS; p++) {
        double decay = s->decay_all || shapes[p].kind == ATTN_PARAMETER_WEIGHT ? s->weight_decay : 0.0;
        for (int64_t i = 0; i < attn_parameters_at(set, p)->count; i++, at++) {
            double g = p == UNTOUCHED ? 0.0 : (double)(factor * gradient_number(p, t, i));
            g *= share / (double)s->accumulate;
            if (s->kind == ATTN_SGD) {
                g += decay * o->value[at];
                o->first[at] = t == 0 ? g : s->momentum * o->first[at] + g;
                o->value[at] -= rate * (s->nesterov ? g + s->momentum * o->first[at] : o->first[at]);
            } else {
                o->value[at] *= 1.0 - rate * decay;
                o->first[at] = s->beta1 * o->first[at] + (1.0 - s->beta1) * g;
                o->second[at] = s->beta2 * o->second[at] + (1.0 - s->beta2) * g * g;
                double denominator =
                    sqrt(o->second[at]) / sqrt(1.0 - pow(s->beta2, (double)(t + 1))) + s->epsilon;
                o->value[at] -= rate / (1.0 - pow(s->beta1, (double)(t + 1))) * o->first[at] / denominator;
            }
            o->average[at] = s->average * o->average[at] + (1.0 - s->average) * o->value[at];
        }
    }
}

/* 20 steps. Each rounds a value a few times and its change, which is no larger
 * than the value's range here, by a few units in the last place. */
static void check_steps(const attn_optimizer_options *options, float factor) {
    enum { STEPS = 20 };
    oracle *o = malloc(sizeof *o);
    float *values = malloc(NUMBERS * sizeof(float)), *first = malloc(NUMBERS * sizeof(float));
    static const int threads[] = {1, 2, 7};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (int n = 0; test_context(isa, 1) && n < 3; n++) {
            attn_parameters *set = new_set(test_context(isa, threads[n]));
            attn_optimizer *optimizer = new_optimizer(set, options);
            int64_t numbers = attn_parameters_size(set);
            assert_true(numbers <= NUMBERS);
            copy_values(set, values);
            o->options = *options;
            for (int64_t i = 0; i < numbers; i++) {
                o->value[i] = o->average[i] = (double)values[i];
                o->first[i] = o->second[i] = 0.0;
            }
            for (int64_t t = 0; t < STEPS; t++) {
                assert_int_equal(attn_optimizer_steps(optimizer), t);
                double rate = options->learning_rate * (double)attn_schedule_factor(options, t);
                assert_true(fabs(attn_optimizer_learning_rate(optimizer) - rate) <= 1e-7 * rate);
                write_gradients(set, t, factor);
                step(optimizer, set);
                if (n == 0) oracle_step(o, set, t, factor);
                if (n == 0)
                    assert_true(fabs(attn_optimizer_gradient_norm(optimizer) - o->norm) <= 1e-6 * o->norm);
                for (int p = 0; p < PARAMETERS; p++)
                    assert_false(attn_parameters_at(set, p)->gradient.touched);
            }
            copy_values(set, values);
            if (n == 0) {
                memcpy(first, values, (size_t)numbers * sizeof(float));
                for (int64_t i = 0; i < numbers; i++) {
                    if (!(fabs((double)values[i] - o->value[i]) <= 2e-6 * fmax(1.0, fabs(o->value[i]))))
                        fail_msg("%s: number %lld is %.9g, not %.9g", test_isa_names[isa], (long long)i,
                                 values[i], o->value[i]);
                }
            } else if (memcmp(first, values, (size_t)numbers * sizeof(float)) != 0) {
                fail_msg("%s: %d threads change the result", test_isa_names[isa], threads[n]);
            }
            attn_optimizer_destroy(optimizer);
            attn_parameters_destroy(set);
        }
    }
    free(o);
    free(values);
    free(first);
}

static void test_sgd(void **state) {
    (void)state;
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.kind = ATTN_SGD;
    options.learning_rate = 0.05;
    options.weight_decay = 0.0;
    check_steps(&options, 1.0f);
    options.weight_decay = 0.1;
    check_steps(&options, 1.0f);
    options.momentum = 0.9;
    check_steps(&options, 1.0f);
    options.nesterov = 1;
    options.clip_norm = 20.0;
    check_steps(&options, 1.0f);
}

static void test_adamw(void **state) {
    (void)state;
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    check_steps(&options, 1.0f);
    options.learning_rate = 0.02;
    options.weight_decay = 0.3;
    options.beta1 = 0.8;
    options.beta2 = 0.95;
    check_steps(&options, 1.0f);
    options.decay_all = 1;
    check_steps(&options, 1.0f);
    options.clip_norm = 0.5;
    options.epsilon = 1e-3; /* so that clipping is seen */
    check_steps(&options, 1.0f);
    options.accumulate = 3;
    check_steps(&options, 3.0f);
    options.schedule = ATTN_SCHEDULE_COSINE;
    options.warmup_steps = 5;
    options.total_steps = 17;
    options.average = 0.9;
    check_steps(&options, 3.0f);
}

/* Without a norm to clip by there is nothing that instruction sets could do differently. */
static void test_instruction_sets_agree(void **state) {
    (void)state;
    float *values[2] = {malloc(NUMBERS * sizeof(float)), malloc(NUMBERS * sizeof(float))};
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_parameters *set = new_set(test_context(isa, 1));
        attn_optimizer *optimizer = new_optimizer(set, &options);
        for (int64_t t = 0; t < 10; t++) {
            write_gradients(set, t, 1.0f);
            step(optimizer, set);
        }
        copy_values(set, values[isa > 0]);
        if (isa) assert_memory_equal(values[0], values[1], (size_t)attn_parameters_size(set) * sizeof(float));
        attn_optimizer_destroy(optimizer);
        attn_parameters_destroy(set);
    }
    free(values[0]);
    free(values[1]);
}

/* ---- schedules ---- */

static void expect_factor(const attn_optimizer_options *options, int64_t step_number, double expected) {
    double got = (double)attn_schedule_factor(options, step_number);
    if (!(fabs(got - expected) <= 1e-6))
        fail_msg("schedule %d, step %lld: %g, not %g", (int)options->schedule, (long long)step_number, got,
                 expected);
}

static void test_schedules(void **state) {
    (void)state;
    attn_optimizer_options o;
    attn_optimizer_options_init(&o);
    assert_true(attn_schedule_factor(NULL, 3) == 0.0f);
    expect_factor(&o, 0, 1.0);
    expect_factor(&o, 1000000, 1.0);
    o.warmup_steps = 4;
    for (int schedule = ATTN_SCHEDULE_CONSTANT; schedule <= ATTN_SCHEDULE_INVERSE_ROOT; schedule++) {
        o.schedule = (attn_schedule)schedule;
        o.total_steps = 14;
        for (int64_t t = 0; t < 4; t++) expect_factor(&o, t, (double)(t + 1) / 4.0); /* all the same */
        expect_factor(&o, -3, 0.25);
    }
    o.schedule = ATTN_SCHEDULE_CONSTANT;
    expect_factor(&o, 4, 1.0);
    expect_factor(&o, 99, 1.0);
    o.schedule = ATTN_SCHEDULE_LINEAR;
    expect_factor(&o, 4, 1.0);
    expect_factor(&o, 9, 0.5);
    expect_factor(&o, 13, 0.1);
    expect_factor(&o, 14, 0.0);
    expect_factor(&o, 15, 0.0);
    o.floor = 0.2;
    expect_factor(&o, 9, 0.6);
    expect_factor(&o, 14, 0.2);
    expect_factor(&o, 1000, 0.2);
    o.schedule = ATTN_SCHEDULE_COSINE;
    expect_factor(&o, 4, 1.0);
    expect_factor(&o, 9, 0.6);
    expect_factor(&o, 6, 0.2 + 0.8 * 0.5 * (1.0 + cos(0.2 * 3.14159265358979)));
    expect_factor(&o, 14, 0.2);
    expect_factor(&o, 1000, 0.2);
    o.schedule = ATTN_SCHEDULE_INVERSE_ROOT;
    expect_factor(&o, 4, sqrt(4.0 / 5.0));
    expect_factor(&o, 15, 0.5);
    expect_factor(&o, 99, 0.2);
    expect_factor(&o, 399, 0.2); /* 0.1, but for the floor */
    o.floor = 0.0;
    expect_factor(&o, 399, 0.1);
    o.warmup_steps = 0;
    expect_factor(&o, 0, 1.0);
    expect_factor(&o, 3, 0.5);
    o.schedule = ATTN_SCHEDULE_LINEAR;
    o.total_steps = 10;
    expect_factor(&o, 0, 1.0);
    expect_factor(&o, 5, 0.5);
}

/* ---- the average ---- */

static void test_average(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    attn_parameters *set = new_set(context);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.learning_rate = 0.1;
    options.average = 0.75;
    attn_optimizer *optimizer = new_optimizer(set, &options);
    int64_t numbers = attn_parameters_size(set);
    float *values = malloc((size_t)numbers * sizeof(float)),
          *swapped = malloc((size_t)numbers * sizeof(float));
    double *average = malloc((size_t)numbers * sizeof(double));
    /* values that come after the optimiser was made, as from a file: the average starts with them */
    for (int p = 0; p < PARAMETERS; p++) {
        attn_parameter *parameter = attn_parameters_at(set, p);
        for (int64_t i = 0; i < parameter->count; i++) parameter->value[i] += 3.0f;
    }
    copy_values(set, values);
    attn_optimizer *early = new_optimizer(set, &options);
    assert_int_equal(attn_optimizer_swap_average(early), ATTN_OK); /* nothing to see before a step */
    copy_values(set, swapped);
    assert_memory_equal(values, swapped, (size_t)numbers * sizeof(float));
    attn_optimizer_destroy(early);
    for (int64_t i = 0; i < numbers; i++) average[i] = (double)values[i];
    for (int64_t t = 0; t < 8; t++) {
        write_gradients(set, t, 1.0f);
        step(optimizer, set);
        copy_values(set, values);
        for (int64_t i = 0; i < numbers; i++) average[i] = 0.75 * average[i] + 0.25 * (double)values[i];
    }
    attn_parameters_at(set, 0)->packed_valid[0] = 1;
    assert_int_equal(attn_optimizer_swap_average(optimizer), ATTN_OK);
    assert_false(attn_parameters_at(set, 0)->packed_valid[0]);
    copy_values(set, swapped);
    double moved = 0.0;
    for (int64_t i = 0; i < numbers; i++) {
        assert_true(fabs((double)swapped[i] - average[i]) <= 4e-6);
        moved = fmax(moved, fabs((double)(swapped[i] - values[i])));
    }
    assert_true(moved > 0.01);
    assert_int_equal(attn_optimizer_step(optimizer), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "swap them back before a step"));
    assert_int_equal(attn_optimizer_swap_average(optimizer), ATTN_OK);
    copy_values(set, swapped);
    assert_memory_equal(values, swapped, (size_t)numbers * sizeof(float));
    step(optimizer, set);
    attn_optimizer_destroy(optimizer);

    options.average = 0.0;
    optimizer = new_optimizer(set, &options);
    assert_int_equal(attn_optimizer_swap_average(optimizer), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "it keeps no average"));
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
    free(values);
    free(swapped);
    free(average);
}

/* ---- gradients that are not finite, too large, too small ---- */

static void test_not_finite(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        for (size_t b = 0; context && b < sizeof bad / sizeof *bad; b++) {
            attn_parameters *set = new_set(context);
            attn_optimizer_options options;
            attn_optimizer_options_init(&options);
            options.average = 0.9;
            attn_optimizer *optimizer = new_optimizer(set, &options);
            size_t bytes = (size_t)attn_parameters_size(set) * sizeof(float);
            float *before = malloc(bytes), *after = malloc(bytes);
            write_gradients(set, 0, 1.0f);
            step(optimizer, set);
            copy_values(set, before);
            attn_tensor moment;
            assert_int_equal(attn_optimizer_state(optimizer, 0, NULL, &moment), ATTN_OK);
            float kept = ((float *)moment.data)[5];
            write_gradients(set, 1, 1.0f);
            attn_parameter *large = attn_parameters_find(set, "large");
            ((float *)attn_parameter_gradient(large).data)[40396] = bad[b]; /* the last */
            assert_int_equal(attn_optimizer_step(optimizer), ATTN_NOT_FINITE);
            assert_non_null(
                strstr(attn_context_error(context), "step 1: number 40396 of the gradient of large"));
            copy_values(set, after);
            assert_memory_equal(before, after, bytes);
            assert_true(((float *)moment.data)[5] == kept);
            assert_int_equal(attn_optimizer_steps(optimizer), 1);
            assert_true(large->gradient.touched); /* the gradients are still there to be looked at */
            attn_parameters_clear_gradients(set);
            step(optimizer, set);
            attn_optimizer_destroy(optimizer);
            attn_parameters_destroy(set);
            free(before);
            free(after);
        }
    }
}

/* Gradients whose squares f32 cannot hold are finite all the same. */
static void test_extreme_gradients(void **state) {
    (void)state;
    static const float sizes[] = {1e25f, 1e-25f, 0.0f};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        for (size_t k = 0; k < 3; k++) {
            attn_parameters *set;
            assert_int_equal(attn_parameters_create(test_context(isa, 1), 1, &set), ATTN_OK);
            int64_t four = 4;
            attn_parameter *p = attn_parameters_add(set, "p", 1, &four, NULL);
            attn_optimizer_options options;
            attn_optimizer_options_init(&options);
            options.kind = ATTN_SGD;
            options.weight_decay = 0.0;
            options.clip_norm = 1.0;
            options.learning_rate = 1.0;
            attn_optimizer *optimizer = new_optimizer(set, &options);
            float start = p->value[2], *gradient = attn_parameter_gradient(p).data;
            gradient[2] = sizes[k];
            step(optimizer, set);
            double norm = (double)sizes[k];
            assert_true(fabs(attn_optimizer_gradient_norm(optimizer) - norm) <= 1e-7 * norm);
            float expected = sizes[k] > 1.0f ? start - 1.0f : start;
            assert_true(fabsf(p->value[2] - expected) <= 1e-6f);
            attn_optimizer_destroy(optimizer);
            attn_parameters_destroy(set);
        }
    }
}

/* Moments of rows that are never seen again must not end as subnormal numbers. */
static void test_moments_vanish(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_parameters *set = new_set(test_context(isa, 1));
        attn_optimizer *optimizer = new_optimizer(set, NULL);
        attn_tensor moment;
        write_gradients(set, 0, 1e-6f);
        for (int t = 0; t < 1200; t++) step(optimizer, set);
        for (int64_t s = 0; s < attn_optimizer_state_count(optimizer); s += 3) { /* every moment1 */
            assert_int_equal(attn_optimizer_state(optimizer, s, NULL, &moment), ATTN_OK);
            assert_true(((float *)moment.data)[1] == 0.0f);
        }
        attn_optimizer_destroy(optimizer);
        attn_parameters_destroy(set);
    }
}

/* ---- parameters that are frozen, thawed, added ---- */

static void test_frozen_and_new(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set = new_set(context);
    attn_parameter *weight = attn_parameters_find(set, "weight"), *bias = attn_parameters_find(set, "bias");
    attn_parameter_set_frozen(weight, 1);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.weight_decay = 0.0;
    options.learning_rate = 0.01;
    attn_optimizer *optimizer = new_optimizer(set, &options);
    assert_int_equal(attn_optimizer_state_count(optimizer), 3 * (PARAMETERS - 1));
    float frozen = weight->value[1], moving = bias->value[1];
    for (int64_t t = 0; t < 50; t++) {
        write_gradients(set, t, 1.0f);
        step(optimizer, set);
    }
    assert_true(weight->value[1] == frozen && bias->value[1] != moving);

    /* Thawed: its first steps are as long as first steps are, the learning rate. */
    attn_parameter_set_frozen(weight, 0);
    for (int64_t t = 1; t <= 3; t++) {
        write_gradients(set, 50, 1.0f);
        step(optimizer, set);
        assert_true(fabsf(fabsf(weight->value[1] - frozen) - 0.01f * (float)t) < 1e-5f);
    }
    assert_int_equal(attn_optimizer_state_count(optimizer), 3 * PARAMETERS);

    /* Frozen again: not even its moments move it. What was written to its gradient is gone. */
    attn_parameter_set_frozen(weight, 1);
    frozen = weight->value[1];
    weight->gradient.touched = 1;
    step(optimizer, set);
    assert_true(weight->value[1] == frozen && !weight->gradient.touched);

    /* New ones join. */
    int64_t five = 5;
    attn_parameter *late = attn_parameters_add(set, "late", 1, &five, NULL);
    float start = late->value[3];
    ((float *)attn_parameter_gradient(late).data)[3] = -2.0f;
    step(optimizer, set);
    assert_true(fabsf(late->value[3] - start - 0.01f) < 1e-5f);
    assert_int_equal(attn_optimizer_state_count(optimizer), 3 * (PARAMETERS + 1));

    /* A set of frozen parameters only, and an empty one. */
    attn_optimizer_destroy(optimizer);
    for (int64_t p = 0; p < attn_parameters_count(set); p++)
        attn_parameter_set_frozen(attn_parameters_at(set, p), 1);
    optimizer = new_optimizer(set, &options);
    assert_int_equal(attn_optimizer_state_count(optimizer), 0);
    step(optimizer, set);
    assert_true(attn_optimizer_gradient_norm(optimizer) == 0.0);
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    optimizer = new_optimizer(set, &options);
    step(optimizer, set);
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
}

static void test_packed_forms_are_made_anew(void **state) {
    (void)state;
    attn_parameters *set = new_set(test_best_context(1));
    attn_optimizer *optimizer = new_optimizer(set, NULL);
    attn_parameter *weight = attn_parameters_find(set, "weight");
    const attn_packed_weight *packed;
    assert_int_equal(at_parameter_packed(attn_parameters_context(weight->set), weight, 0, &packed), ATTN_OK);
    assert_int_equal(at_parameter_packed(attn_parameters_context(weight->set), weight, 1, &packed), ATTN_OK);
    assert_true(weight->packed_valid[0] && weight->packed_valid[1]);
    write_gradients(set, 0, 1.0f);
    step(optimizer, set);
    assert_false(weight->packed_valid[0] || weight->packed_valid[1]);
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
}

/* ---- the state, saved and restored ---- */

static void check_round_trip(const attn_optimizer_options *options, const char *const *suffixes) {
    attn_context *context = test_best_context(1);
    attn_parameters *set = new_set(context), *other = new_set(context);
    attn_optimizer *optimizer = new_optimizer(set, options);
    size_t bytes = (size_t)attn_parameters_size(set) * sizeof(float);
    float *end = malloc(bytes), *again = malloc(bytes);
    for (int64_t t = 0; t < 7; t++) {
        write_gradients(set, t, 1.0f);
        step(optimizer, set);
    }
    /* values, state and the number of steps go to another optimiser */
    for (int p = 0; p < PARAMETERS; p++) {
        attn_parameter *to = attn_parameters_at(other, p);
        memcpy(to->value, attn_parameters_at(set, p)->value, (size_t)to->count * sizeof(float));
        attn_parameter_changed(to);
    }
    attn_optimizer *restored = new_optimizer(other, options);
    int64_t count = attn_optimizer_state_count(optimizer);
    int kinds = 0;
    while (suffixes[kinds]) kinds++;
    assert_int_equal(count, kinds * PARAMETERS);
    assert_int_equal(attn_optimizer_state_count(restored), count);
    for (int64_t i = 0; i < count; i++) {
        const char *name, *same;
        char expected[64];
        attn_tensor from, to;
        assert_int_equal(attn_optimizer_state(optimizer, i, &name, &from), ATTN_OK);
        assert_int_equal(attn_optimizer_state(restored, i, &same, &to), ATTN_OK);
        snprintf(expected, sizeof expected, "%s%s", shapes[i / kinds].name, suffixes[i % kinds]);
        assert_string_equal(name, expected);
        assert_string_equal(same, expected);
        assert_int_equal(from.rank, to.rank);
        int64_t numbers = 1;
        for (int r = 0; r < from.rank; r++) {
            assert_int_equal(from.shape[r], to.shape[r]);
            numbers *= from.shape[r];
        }
        memcpy(to.data, from.data, (size_t)numbers * sizeof(float));
    }
    assert_int_equal(attn_optimizer_set_steps(restored, attn_optimizer_steps(optimizer)), ATTN_OK);
    for (int64_t t = 7; t < 14; t++) {
        write_gradients(set, t, 1.0f);
        write_gradients(other, t, 1.0f);
        step(optimizer, set);
        step(restored, other);
        assert_true(attn_optimizer_learning_rate(optimizer) == attn_optimizer_learning_rate(restored));
    }
    copy_values(set, end);
    copy_values(other, again);
    assert_memory_equal(end, again, bytes);
    if (options->average > 0.0) {
        assert_int_equal(attn_optimizer_swap_average(optimizer), ATTN_OK);
        assert_int_equal(attn_optimizer_swap_average(restored), ATTN_OK);
        copy_values(set, end);
        copy_values(other, again);
        assert_memory_equal(end, again, bytes);
    }
    attn_optimizer_destroy(restored);
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
    attn_parameters_destroy(other);
    free(end);
    free(again);
}

static void test_round_trip(void **state) {
    (void)state;
    static const char *const adamw[] = {".moment1", ".moment2", ".steps", NULL};
    static const char *const adamw_average[] = {".moment1", ".moment2", ".steps", ".average", NULL};
    static const char *const sgd[] = {NULL}, *const sgd_both[] = {".momentum", ".average", NULL};
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.schedule = ATTN_SCHEDULE_COSINE;
    options.total_steps = 20;
    check_round_trip(&options, adamw);
    options.average = 0.9;
    check_round_trip(&options, adamw_average);
    options.kind = ATTN_SGD;
    options.momentum = 0.5;
    check_round_trip(&options, sgd_both);
    options.momentum = options.average = 0.0;
    check_round_trip(&options, sgd);
}

/* ---- failures ---- */

static void test_out_of_memory(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context_options context_options;
    attn_context_options_init(&context_options);
    context_options.threads = 1;
    context_options.allocator = counting_allocator_functions(&counter);
    attn_context *context;
    assert_int_equal(attn_context_create(&context_options, &context), ATTN_OK);
    attn_parameters *set = new_set(context);
    write_gradients(set, 0, 1.0f);
    int64_t live = counter.live;
    attn_optimizer *const untouched = (attn_optimizer *)(void *)&counter;
    attn_optimizer *optimizer = untouched;
    for (int fail_at = 1;; fail_at++) {
        counter.fail_at = fail_at;
        attn_status status = attn_optimizer_create(set, NULL, &optimizer);
        counter.fail_at = 0;
        if (status == ATTN_OK) {
            assert_int_equal(fail_at - 1,
                             4 + 2 * PARAMETERS); /* itself, entries, updates, lists, names and states */
            break;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_ptr_equal(optimizer, untouched);
        assert_int_equal(counter.live, live);
        assert_non_null(strstr(attn_context_error(context), "no memory for"));
    }
    int64_t allocations = counter.allocations;
    step(optimizer, set);
    step(optimizer, set);
    assert_int_equal(counter.allocations, allocations); /* a step asks for nothing */

    /* A parameter that joins later: a step that cannot have its memory changes nothing. */
    int64_t five = 5;
    attn_parameter *late = attn_parameters_add(set, "late", 1, &five, NULL);
    assert_non_null(attn_parameter_gradient(late).data);
    float value = attn_parameters_at(set, 0)->value[1];
    static const int fail_at[] = {
        1, 3, 3}; /* the entries; then they are there, with the updates: the state; the lists */
    for (int i = 0; i < 3; i++) {
        write_gradients(set, 1, 1.0f);
        counter.fail_at = fail_at[i];
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OUT_OF_MEMORY);
        counter.fail_at = 0;
        assert_true(attn_parameters_at(set, 0)->value[1] == value);
        assert_int_equal(attn_optimizer_steps(optimizer), 2);
        assert_int_equal(attn_optimizer_state_count(optimizer), 3 * PARAMETERS);
    }
    step(optimizer, set);
    assert_int_equal(attn_optimizer_state_count(optimizer), 3 * (PARAMETERS + 1));
    assert_true(attn_parameters_at(set, 0)->value[1] != value);
    attn_optimizer_destroy(optimizer);
    attn_parameters_destroy(set);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

static void expect_refused(const attn_optimizer_options *options, const char *text) {
    attn_context *context = test_best_context(1);
    attn_parameters *set = new_set(context);
    attn_optimizer *optimizer = NULL;
    assert_int_equal(attn_optimizer_create(set, options, &optimizer), ATTN_INVALID_ARGUMENT);
    assert_null(optimizer);
    if (!strstr(attn_context_error(context), text))
        fail_msg("\"%s\" is not \"%s\"", attn_context_error(context), text);
    attn_parameters_destroy(set);
}

static void test_errors(void **state) {
    (void)state;
    attn_optimizer_options options;
#define REFUSED(change, text)                                                                                \
    attn_optimizer_options_init(&options);                                                                   \
    change;                                                                                                  \
    expect_refused(&options, text)
    REFUSED(options.size = 8, "attn_optimizer_options_init");
    REFUSED(options.kind = (attn_optimizer_kind)5, "unknown kind 5");
    REFUSED(options.schedule = (attn_schedule)9, "schedule 9");
    REFUSED(options.learning_rate = -1.0, "learning_rate is -1, but must be");
    REFUSED(options.learning_rate = NAN, "learning_rate is");
    REFUSED(options.beta1 = 1.0, "beta1 is 1, but must be at least 0 and less than 1");
    REFUSED(options.beta2 = -0.1, "beta2 is -0.1");
    REFUSED(options.epsilon = 0.0, "epsilon is 0");
    REFUSED(options.weight_decay = INFINITY, "weight_decay is inf");
    REFUSED(options.momentum = 1.5, "momentum is 1.5");
    REFUSED(options.clip_norm = -2.0, "clip_norm is -2");
    REFUSED(options.floor = 1.5, "floor is 1.5");
    REFUSED(options.average = 1.0, "average is 1");
    REFUSED(options.nesterov = 1, "nesterov needs a momentum");
    REFUSED(options.accumulate = 0, "accumulate is 0, but must be at least 1");
    REFUSED(options.warmup_steps = -1, "warmup_steps is -1");
    REFUSED(options.schedule = ATTN_SCHEDULE_LINEAR, "warmup_steps is 0 and total_steps 0");
#undef REFUSED
    attn_context *context = test_best_context(1);
    attn_parameters *set = new_set(context);
    attn_optimizer *optimizer = new_optimizer(set, NULL);
    attn_tensor tensor;
    assert_int_equal(attn_optimizer_state(optimizer, -1, NULL, &tensor), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_state(optimizer, 3 * PARAMETERS, NULL, &tensor), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "state 18 is not one of its 18"));
    assert_int_equal(attn_optimizer_state(optimizer, 0, NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_set_steps(optimizer, -1), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_create(set, NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_create(NULL, NULL, &optimizer), ATTN_INVALID_ARGUMENT);
    attn_optimizer_destroy(optimizer);
    attn_parameters_add(set, "weight", 1, shapes[1].shape, NULL); /* a second time: the set has failed */
    assert_int_equal(attn_optimizer_create(set, NULL, &optimizer), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "there is a parameter weight already"));
    attn_parameters_destroy(set);
    assert_int_equal(attn_optimizer_step(NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_swap_average(NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_state(NULL, 0, NULL, &tensor), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_set_steps(NULL, 0), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_optimizer_steps(NULL), 0);
    assert_int_equal(attn_optimizer_state_count(NULL), 0);
    assert_true(attn_optimizer_learning_rate(NULL) == 0.0 && attn_optimizer_gradient_norm(NULL) == 0.0);
    attn_optimizer_destroy(NULL);
}

/* ---- all of it together: a classifier learns ---- */

/* Two layers on points of three spirals' arms; the labels are a function of the points. */
static double train(attn_context *context, attn_optimizer_kind kind, float *values) {
    enum { ROWS = 96, HIDDEN = 24, CLASSES = 3 };
    float x[ROWS * 2];
    int32_t labels[ROWS];
    test_random random = {9};
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = random_normal(&random);
        x[2 * i + 1] = random_normal(&random);
        labels[i] = x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1] < 0.8f ? 0 : x[2 * i] < 0.0f ? 1 : 2;
    }
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 3, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    int64_t first[2] = {HIDDEN, 2}, second[2] = {CLASSES, HIDDEN};
    attn_parameter *w1 = attn_parameters_add(set, "w1", 2, first, NULL);
    attn_parameter *b1 = attn_parameters_add(set, "b1", 1, first, NULL);
    attn_parameter *w2 = attn_parameters_add(set, "w2", 2, second, NULL);
    attn_parameter *b2 = attn_parameters_add(set, "b2", 1, second, NULL);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.kind = kind;
    options.learning_rate = kind == ATTN_SGD ? 0.2 : 0.03;
    options.momentum = kind == ATTN_SGD ? 0.9 : 0.0;
    options.weight_decay = 1e-4;
    options.clip_norm = 1.0;
    options.accumulate = 2; /* two halves of the batch */
    options.schedule = ATTN_SCHEDULE_COSINE;
    options.warmup_steps = 10;
    options.total_steps = 200;
    attn_optimizer *optimizer = new_optimizer(set, &options);
    double loss = 0.0;
    for (int t = 0; t < 200; t++) {
        loss = 0.0;
        for (int half = 0; half < 2; half++) {
            attn_tape_begin(tape, ATTN_TAPE_TRAIN, (uint64_t)t);
            attn_variable *v = attn_tape_input(tape, x + half * ROWS, ROWS / 2, 2, 0);
            v = attn_tape_linear(tape, v, w1, b1, ATTN_TANH);
            v = attn_tape_linear(tape, v, w2, b2, ATTN_IDENTITY);
            v = attn_tape_cross_entropy(tape, v, labels + half * ROWS / 2, NULL);
            if (attn_tape_backward(tape, v, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(tape));
            loss += 0.5 * (double)attn_variable_data(v)[0];
        }
        step(optimizer, set);
    }
    copy_values(set, values);
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    return loss;
}

static void test_a_network_learns(void **state) {
    (void)state;
    for (int kind = ATTN_SGD; kind <= ATTN_ADAMW; kind++) {
        float values[2][256];
        memset(values, 0, sizeof values);
        double loss = train(test_best_context(1), (attn_optimizer_kind)kind, values[0]);
        if (!(loss < 0.1)) fail_msg("kind %d: the loss is still %g", kind, loss);
        train(test_best_context(2), (attn_optimizer_kind)kind, values[1]);
        assert_memory_equal(values[0], values[1], sizeof values[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_instruction_sets_agree),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_extreme_gradients),
        cmocka_unit_test(test_moments_vanish),
        cmocka_unit_test(test_frozen_and_new),
        cmocka_unit_test(test_packed_forms_are_made_anew),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_a_network_learns),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
