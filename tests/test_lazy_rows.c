/* test_lazy_rows.c: AdamW that leaves rows without a gradient alone, against AdamW in double that does not.
 *
 * The gradients are given, so they do not depend on when a row moves: after attn_optimizer_settle the two
 * agree but for rounding.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/random.h"
#include "tape/gradients.h"
#include "tape/parameters.h"

enum { ROWS = 300, COLUMNS = 67, NUMBERS = ROWS * COLUMNS, STEPS = 600, WEIGHTS = 40 };

/* Row 0 is there in every step, the others more and more seldom, the last hundred never. */
static int comes_to(int64_t row, int64_t step) {
    if (row == 0) return 1;
    if (row >= ROWS - 100) return 0;
    test_random random = {(uint64_t)row * 7919u + (uint64_t)step * 104729u + 5};
    return random_between(&random, 0, 2 * row) == 0;
}

/* Of one size about: where it is not far above epsilon, waiting rows and others differ a little. */
static float gradient_number(int64_t step, int64_t i) {
    test_random random = {(uint64_t)step * 31337u + (uint64_t)i * 17u + 3};
    float x = 0.1f * random_normal(&random);
    return x < 0 ? x - 0.01f : x + 0.01f;
}

typedef struct run {
    attn_parameters *set;
    attn_parameter *table, *weight;
    attn_optimizer *optimizer;
    int64_t steps;
} run;

static attn_optimizer_options options_of(void) {
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.learning_rate = 0.01;
    options.schedule = ATTN_SCHEDULE_LINEAR;
    options.warmup_steps = 30;
    options.total_steps = 2 * STEPS;
    options.average = 0.99;
    options.lazy_rows = 1;
    return options;
}

static run new_run(attn_context *context) {
    run r = {.steps = 0};
    attn_parameter_options kind;
    attn_optimizer_options options = options_of();
    int64_t shape[2] = {ROWS, COLUMNS}, weight_shape[1] = {WEIGHTS};
    attn_parameter_options_init(&kind);
    kind.initial = ATTN_INITIAL_NORMAL;
    assert_int_equal(attn_parameters_create(context, 11, &r.set), ATTN_OK);
    r.weight = attn_parameters_add(r.set, "weight", 1, weight_shape, &kind);
    kind.kind = ATTN_PARAMETER_EMBEDDING;
    r.table = attn_parameters_add(r.set, "table", 2, shape, &kind);
    assert_non_null(r.weight);
    assert_non_null(r.table);
    assert_int_equal(attn_optimizer_create(r.set, &options, &r.optimizer), ATTN_OK);
    return r;
}

static void end_run(run *r) {
    attn_optimizer_destroy(r->optimizer);
    attn_parameters_destroy(r->set);
}

static void step_run(attn_context *context, run *r) {
    int64_t rows[ROWS], count = 0;
    for (int64_t row = 0; row < ROWS; row++)
        if (comes_to(row, r->steps)) rows[count++] = row;
    float *gradient = at_slot_for_rows(context, r->table, &r->table->gradient, rows, count);
    assert_non_null(gradient);
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = rows[i] * COLUMNS; c < (rows[i] + 1) * COLUMNS; c++)
            gradient[c] = gradient_number(r->steps, c);
    float *other = attn_parameter_gradient(r->weight).data;
    for (int64_t i = 0; i < WEIGHTS; i++) other[i] = gradient_number(r->steps, NUMBERS + i);
    if (attn_optimizer_step(r->optimizer) != ATTN_OK) fail_msg("%s", attn_context_error(context));
    r->steps++;
}

/* ---- against double ---- */

typedef struct oracle {
    double value[NUMBERS], moment1[NUMBERS], moment2[NUMBERS], average[NUMBERS];
} oracle;

static void oracle_step(oracle *o, int64_t step) {
    attn_optimizer_options s = options_of();
    double rate = s.learning_rate * (double)attn_schedule_factor(&s, step), t = (double)step + 1;
    for (int64_t i = 0; i < NUMBERS; i++) {
        double g = comes_to(i / COLUMNS, step) ? (double)gradient_number(step, i) : 0.0;
        o->moment1[i] = s.beta1 * o->moment1[i] + (1 - s.beta1) * g;
        o->moment2[i] = s.beta2 * o->moment2[i] + (1 - s.beta2) * g * g;
        o->value[i] -= rate / (1 - pow(s.beta1, t)) * o->moment1[i] /
                       (sqrt(o->moment2[i] / (1 - pow(s.beta2, t))) + s.epsilon);
        o->average[i] += (1 - s.average) * (o->value[i] - o->average[i]);
    }
}

/* Each of up to STEPS steps rounds a value of about 1 once or twice, by half a unit in the last place. */
static void check_against(const oracle *o, const float *values, const float *averages) {
    for (int64_t i = 0; i < NUMBERS; i++) {
        if (!(fabs((double)values[i] - o->value[i]) <= 1e-5 * fmax(1.0, fabs(o->value[i]))))
            fail_msg("row %lld: %.9g, not %.9g", (long long)(i / COLUMNS), (double)values[i], o->value[i]);
        if (!(fabs((double)averages[i] - o->average[i]) <= 1e-5 * fmax(1.0, fabs(o->average[i]))))
            fail_msg("average of row %lld: %.9g, not %.9g", (long long)(i / COLUMNS), (double)averages[i],
                     o->average[i]);
    }
}

static void test_settled(void **state) {
    (void)state;
    oracle *o = malloc(sizeof *o);
    float *values = malloc(NUMBERS * sizeof(float)), *averages = malloc(NUMBERS * sizeof(float));
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        run r = new_run(context);
        memset(o, 0, sizeof *o);
        for (int64_t i = 0; i < NUMBERS; i++) o->value[i] = o->average[i] = (double)r.table->value[i];
        while (r.steps < STEPS) {
            oracle_step(o, r.steps);
            step_run(context, &r);
            if (r.steps % 150 != 0 && r.steps != 7) continue; /* settled in between, too */
            assert_int_equal(attn_optimizer_settle(r.optimizer), ATTN_OK);
            memcpy(values, r.table->value, NUMBERS * sizeof(float));
            assert_int_equal(attn_optimizer_swap_average(r.optimizer), ATTN_OK);
            memcpy(averages, r.table->value, NUMBERS * sizeof(float));
            assert_int_equal(attn_optimizer_swap_average(r.optimizer), ATTN_OK);
            assert_memory_equal(values, r.table->value, NUMBERS * sizeof(float));
            check_against(o, values, averages);
        }
        end_run(&r);
    }
    free(o);
    free(values);
    free(averages);
}

/* ---- what does not move, and what does not matter ---- */

static void test_waiting(void **state) {
    (void)state;
    attn_context *context = test_context(0, 1);
    run r = new_run(context);
    float *before = malloc(NUMBERS * sizeof(float));
    int64_t moved = 0;
    for (int i = 0; i < 40; i++) {
        int64_t now = r.steps;
        memcpy(before, r.table->value, NUMBERS * sizeof(float));
        step_run(context, &r);
        for (int64_t row = 0; row < ROWS; row++) {
            int same = memcmp(before + row * COLUMNS, r.table->value + row * COLUMNS, COLUMNS * 4) == 0;
            assert_int_equal(!same, comes_to(row, now));
            moved += !same;
        }
    }
    assert_true(moved > 40);
    free(before);
    end_run(&r);
}

/* Tensor `index` of the optimiser's state; returns how many numbers it has. */
static int64_t state_at(const run *r, int64_t index, attn_tensor *tensor) {
    int64_t size = 1;
    assert_int_equal(attn_optimizer_state(r->optimizer, index, NULL, tensor), ATTN_OK);
    for (int d = 0; d < tensor->rank; d++) size *= tensor->shape[d];
    return size;
}

/* Everything of a run that counts for what follows. */
static float *copy_state(const run *r, int64_t *count) {
    attn_tensor tensor;
    int64_t states = attn_optimizer_state_count(r->optimizer), size;
    *count = NUMBERS + WEIGHTS;
    for (int64_t i = 0; i < states; i++) *count += state_at(r, i, &tensor);
    float *copy = malloc((size_t)*count * sizeof(float)), *at = copy + NUMBERS + WEIGHTS;
    memcpy(copy, r->table->value, NUMBERS * sizeof(float));
    memcpy(copy + NUMBERS, r->weight->value, WEIGHTS * sizeof(float));
    for (int64_t i = 0; i < states; i++, at += size) {
        size = state_at(r, i, &tensor);
        memcpy(at, tensor.data, (size_t)size * sizeof(float));
    }
    return copy;
}

static void put_state(const run *r, const float *from) {
    attn_tensor tensor;
    int64_t size;
    memcpy(r->table->value, from, NUMBERS * sizeof(float));
    memcpy(r->weight->value, from + NUMBERS, WEIGHTS * sizeof(float));
    from += NUMBERS + WEIGHTS;
    for (int64_t i = 0; i < attn_optimizer_state_count(r->optimizer); i++, from += size) {
        size = state_at(r, i, &tensor);
        memcpy(tensor.data, from, (size_t)size * sizeof(float));
    }
    attn_parameter_changed(r->table);
    attn_parameter_changed(r->weight);
}

/* The same bits for any number of threads, and for a run that is taken up again. */
static void test_same_bits(void **state) {
    (void)state;
    static const int threads[] = {2, 7};
    int64_t count, other;
    run one = new_run(test_context(0, 1));
    while (one.steps < STEPS) step_run(test_context(0, 1), &one);
    float *expected = copy_state(&one, &count);
    end_run(&one);
    for (int n = 0; n < 2; n++) {
        attn_context *context = test_context(0, threads[n]);
        run first = new_run(context), second = new_run(context);
        while (first.steps < STEPS / 2 + 11) step_run(context, &first);
        float *kept = copy_state(&first, &other);
        assert_int_equal(count, other);
        put_state(&second, kept);
        second.steps = first.steps;
        assert_int_equal(attn_optimizer_set_steps(second.optimizer, first.steps), ATTN_OK);
        assert_int_equal(attn_optimizer_settle(first.optimizer), ATTN_OK); /* of no matter for the second */
        while (second.steps < STEPS) step_run(context, &second);
        float *got = copy_state(&second, &other);
        assert_memory_equal(got, expected, (size_t)count * sizeof(float));
        free(kept);
        free(got);
        end_run(&first);
        end_run(&second);
    }
    free(expected);
}

static void test_refused(void **state) {
    (void)state;
    attn_context *context = test_context(0, 1);
    attn_optimizer_options options = options_of();
    attn_optimizer *optimizer = NULL;
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    options.decay_all = 1;
    assert_int_equal(attn_optimizer_create(set, &options, &optimizer), ATTN_UNSUPPORTED);
    assert_non_null(
        strstr(attn_context_error(context), "lazy_rows and decay_all exclude each other: skipped"));
    assert_null(optimizer);
    attn_parameters_destroy(set);
    assert_int_equal(attn_optimizer_settle(NULL), ATTN_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settled), cmocka_unit_test(test_waiting),
                                       cmocka_unit_test(test_same_bits), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
