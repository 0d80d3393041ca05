/* test_tape.c: the tape itself: slices and other ways in which variables share
 * memory, variables that many operations use, errors, memory, modes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/memory.h"
#include "support/operation.h"
#include "support/random.h"

/* ---- programs ----
 *
 * A program is a list of operations on variables of ROWS rows, drawn at random.
 * It runs on a tape and, in double, in the reference: any mixture of slices,
 * uses of the whole, sums (which hand gradients on) and leaves must agree. */

enum { ROWS = 5, LEAVES = 4, STEPS = 14, VARIABLES = LEAVES + STEPS + 1, MAX_COLUMNS = 40, JOINED = 4 };

typedef enum step_kind {
    SLICE,
    ADD,
    ADD_ROW,
    MULTIPLY,
    TANH,
    SCALE,
    CONCAT,
    GATHER,
    GATE,
    STEP_KINDS
} step_kind;

typedef struct program_step {
    step_kind kind;
    int a, b;
    int64_t first, columns;
} program_step;

typedef struct program {
    int64_t columns[VARIABLES];
    program_step steps[STEPS];
    int joined[JOINED]; /* the result: these side by side */
    int64_t gathered[ROWS];
} program;

/* Some variable with as many columns as a, before `end`. */
static int one_like(test_random *random, const program *p, int a, int end) {
    for (int tries = 0; tries < 20; tries++) {
        int b = (int)random_between(random, 0, end - 1);
        if (p->columns[b] == p->columns[a]) return b;
    }
    return a;
}

static program random_program(uint64_t seed) {
    test_random random = {seed * 77 + 3};
    program p;
    memset(&p, 0, sizeof p);
    for (int v = 0; v < LEAVES; v++) p.columns[v] = 6 + 6 * (v % 2);
    for (int i = 0; i < ROWS; i++) p.gathered[i] = random_between(&random, -1, ROWS - 1);
    for (int n = 0; n < STEPS; n++) {
        int end = LEAVES + n;
        program_step s = {.kind = (step_kind)random_between(&random, 0, STEP_KINDS - 1)};
        if (random_chance(&random, 30)) s.kind = SLICE;
        s.a = (int)random_between(&random, random_chance(&random, 50) ? 0 : end / 2, end - 1);
        s.b = one_like(&random, &p, s.a, end);
        if (s.kind == CONCAT) {
            s.b = (int)random_between(&random, 0, end - 1);
            if (p.columns[s.a] + p.columns[s.b] > MAX_COLUMNS) s.kind = TANH;
        }
        s.columns = p.columns[s.a];
        if (s.kind == SLICE) {
            s.first = random_between(&random, 0, p.columns[s.a] - 1);
            s.columns = random_between(&random, 1, p.columns[s.a] - s.first);
            if (random_chance(&random, 50)) { /* halves and thirds meet often */
                int64_t part = p.columns[s.a] >= 3 ? p.columns[s.a] / 3 : 1;
                s.columns = part;
                s.first = part * random_between(&random, 0, p.columns[s.a] / part - 1);
            }
        }
        if (s.kind == CONCAT) s.columns = p.columns[s.a] + p.columns[s.b];
        p.columns[end] = s.columns;
        p.steps[n] = s;
    }
    p.joined[0] = LEAVES + STEPS - 1;
    p.joined[1] = 3; /* which always learns */
    for (int j = 2; j < JOINED; j++) p.joined[j] = (int)random_between(&random, 0, LEAVES + STEPS - 1);
    for (int j = 0; j < JOINED; j++) p.columns[VARIABLES - 1] += p.columns[p.joined[j]];
    return p;
}

static attn_variable *run_step(attn_tape *tape, const program *p, const program_step *s, attn_variable **v) {
    attn_variable *a = v[s->a], *b = v[s->b], *both[2] = {a, b};
    switch (s->kind) {
    case SLICE: return attn_tape_slice(tape, a, s->first, s->columns);
    case ADD: return attn_tape_add(tape, a, b);
    case ADD_ROW: return attn_tape_add(tape, a, attn_tape_gather(tape, b, (int64_t[]){2}, 1));
    case MULTIPLY: return attn_tape_multiply(tape, a, b);
    case TANH: return attn_tape_activation(tape, a, ATTN_TANH);
    case SCALE: return attn_tape_scale(tape, a, 0.75f);
    case CONCAT: return attn_tape_concat(tape, both, 2);
    case GATHER: return attn_tape_gather(tape, a, p->gathered, ROWS);
    default: return attn_tape_gate(tape, a, b, ATTN_SIGMOID);
    }
}

static attn_variable *run_program(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                  void *user) {
    const program *p = user;
    attn_variable *v[VARIABLES], *joined[JOINED];
    v[0] = input[0];
    v[1] = input[1];
    v[2] = attn_tape_parameter(tape, parameter[0]);
    v[3] = attn_tape_linear(tape, input[0], parameter[1], NULL, ATTN_IDENTITY);
    for (int n = 0; n < STEPS; n++) v[LEAVES + n] = run_step(tape, p, &p->steps[n], v);
    for (int j = 0; j < JOINED; j++) joined[j] = v[p->joined[j]];
    return attn_tape_concat(tape, joined, JOINED);
}

static double number(const program *p, double (*v)[ROWS * MAX_COLUMNS], const program_step *s, int64_t i,
                     int64_t j) {
    int64_t wide_a = p->columns[s->a], wide_b = p->columns[s->b];
    const double *a = v[s->a], *b = v[s->b];
    switch (s->kind) {
    case SLICE: return a[i * wide_a + s->first + j];
    case ADD: return a[i * wide_a + j] + b[i * wide_b + j];
    case ADD_ROW: return a[i * wide_a + j] + b[2 * wide_b + j];
    case MULTIPLY: return a[i * wide_a + j] * b[i * wide_b + j];
    case TANH: return tanh(a[i * wide_a + j]);
    case SCALE: return 0.75 * a[i * wide_a + j];
    case CONCAT: return j < wide_a ? a[i * wide_a + j] : b[i * wide_b + j - wide_a];
    case GATHER: return p->gathered[i] < 0 ? 0.0 : a[p->gathered[i] * wide_a + j];
    default: return b[i * wide_b + j] / (1.0 + exp(-a[i * wide_a + j]));
    }
}

static void reference_program(double *const *input, double *const *parameter, double *result, void *user) {
    const program *p = user;
    static double v[VARIABLES][ROWS * MAX_COLUMNS];
    memcpy(v[0], input[0], (size_t)(ROWS * p->columns[0]) * sizeof(double));
    memcpy(v[1], input[1], (size_t)(ROWS * p->columns[1]) * sizeof(double));
    memcpy(v[2], parameter[0], (size_t)(ROWS * p->columns[2]) * sizeof(double));
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t o = 0; o < p->columns[3]; o++) {
            double sum = 0.0;
            for (int64_t k = 0; k < p->columns[0]; k++)
                sum += v[0][i * p->columns[0] + k] * parameter[1][o * p->columns[0] + k];
            v[3][i * p->columns[3] + o] = sum;
        }
    }
    for (int n = 0; n < STEPS; n++) {
        const program_step *s = &p->steps[n];
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < s->columns; j++)
                v[LEAVES + n][i * s->columns + j] = number(p, v, s, i, j);
    }
    int64_t columns = p->columns[VARIABLES - 1], first = 0;
    for (int k = 0; k < JOINED; k++) {
        int64_t width = p->columns[p->joined[k]];
        for (int64_t i = 0; i < ROWS; i++)
            memcpy(result + i * columns + first, v[p->joined[k]] + i * width, (size_t)width * sizeof(double));
        first += width;
    }
}

static void test_programs(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        program p = random_program(seed);
        char name[32];
        snprintf(name, sizeof name, "program %d", (int)seed);
        operation_case c = {.name = name,
                            .inputs = 2,
                            .parameters = 2,
                            .input = {{.rows = ROWS, .columns = p.columns[0]},
                                      {.rows = ROWS, .columns = p.columns[1], .fixed = seed % 5 == 0}},
                            .parameter = {{.rows = ROWS, .columns = p.columns[2], .fixed = seed % 7 == 0},
                                          {.rows = p.columns[3], .columns = p.columns[0]}},
                            .rows = ROWS,
                            .columns = p.columns[VARIABLES - 1],
                            .seed = seed,
                            .user = &p,
                            .run = run_program,
                            .reference = reference_program};
        operation_check(&c);
    }
}

/* ---- a tape of small whole numbers, to look at exactly ---- */

typedef struct bench {
    attn_tape *tape;
    attn_parameters *set;
} bench;

static bench bench_create(attn_context *context) {
    bench b;
    assert_int_equal(attn_tape_create(context, &b.tape), ATTN_OK);
    assert_int_equal(attn_parameters_create(context, 1, &b.set), ATTN_OK);
    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0);
    return b;
}

static void bench_destroy(bench *b) {
    attn_tape_destroy(b->tape);
    attn_parameters_destroy(b->set);
}

static attn_variable *ones(attn_tape *tape, int64_t rows, int64_t columns) {
    float data[256];
    for (int i = 0; i < 256; i++) data[i] = 1.0f;
    return attn_tape_input(tape, data, rows, columns, 1);
}

static void assert_gradient(const attn_variable *x, const float *expected, int count) {
    const float *g = host_gradient(x);
    assert_non_null(g);
    for (int i = 0; i < count; i++)
        if (g[i] != expected[i]) fail_msg("gradient %d is %g, not %g", i, g[i], expected[i]);
}

static void test_fan_out(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(2));
    attn_variable *x = ones(b.tape, 2, 3), *sum = NULL;
    for (int n = 1; n <= 20; n++) {
        attn_variable *part = attn_tape_scale(b.tape, x, (float)n);
        sum = sum ? attn_tape_add(b.tape, sum, part) : part;
    }
    assert_int_equal(attn_tape_backward(b.tape, sum, NULL), ATTN_OK);
    assert_gradient(x, (float[]){210, 210, 210, 210, 210, 210}, 6);
    bench_destroy(&b);
}

/* Sums hand the memory of a gradient on; whoever asked to keep one still has it. */
static void test_handed_on(void **state) {
    (void)state;
    float weights[] = {1, 2, 3, 4}, thrice[] = {3, 6, 9, 12}, five[] = {5, 10, 15, 20};
    for (int kept = 0; kept < 16; kept++) {
        bench b = bench_create(test_best_context(1));
        attn_variable *x = ones(b.tape, 2, 2), *y = ones(b.tape, 2, 2);
        attn_variable *a = attn_tape_add(b.tape, x, y);      /* handed to x, copied to y */
        attn_variable *c = attn_tape_add(b.tape, a, a);      /* both to a */
        attn_variable *d = attn_tape_add(b.tape, c, a);      /* c fresh, a twice used */
        attn_variable *e = attn_tape_scale(b.tape, x, 2.0f); /* x has a gradient already when a's comes */
        attn_variable *f = attn_tape_add(b.tape, d, e);
        attn_variable *all[] = {a, c, d, f};
        for (int k = 0; k < 4; k++)
            if (kept >> k & 1) attn_variable_keep_gradient(all[k]);
        assert_int_equal(attn_tape_backward(b.tape, f, weights), ATTN_OK);
        assert_gradient(x, five, 4);
        assert_gradient(y, thrice, 4);
        const float *expected[] = {thrice, weights, weights, weights};
        for (int k = 0; k < 4; k++) {
            if (kept >> k & 1)
                assert_gradient(all[k], expected[k], 4);
            else
                assert_null(attn_variable_gradient(all[k]));
        }
        bench_destroy(&b);
    }
}

/* A variable whose gradient was handed to it, and then sliced and added to. */
static void test_handed_on_slices(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    attn_variable *x = ones(b.tape, 1, 4);
    attn_variable *a = attn_tape_scale(b.tape, x, 1.0f);
    attn_variable *left = attn_tape_slice(b.tape, a, 0, 2), *right = attn_tape_slice(b.tape, a, 2, 2);
    attn_variable *parts[2] = {right, left};
    attn_variable *turned = attn_tape_concat(b.tape, parts, 2);
    attn_variable *y = attn_tape_add(b.tape, a, turned); /* a first, then its slices */
    attn_variable *z = attn_tape_concat(b.tape, (attn_variable *[]){y, left, y}, 3); /* and before */
    float weights[] = {1, 2, 3, 4, 10, 20, 100, 200, 300, 400};
    assert_int_equal(attn_tape_backward(b.tape, z, weights), ATTN_OK);
    /* dy = 101, 202, 303, 404; da = dy + left 10, 20 + turned back */
    assert_gradient(x, (float[]){101 + 10 + 303, 202 + 20 + 404, 303 + 101, 404 + 202}, 4);
    bench_destroy(&b);
}

/* The walk may start at a slice, at an input, or at a parameter. */
static void test_start(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    attn_variable *x = ones(b.tape, 2, 3), *y = attn_tape_scale(b.tape, x, 3.0f);
    float weights[] = {1, 2};
    assert_int_equal(attn_tape_backward(b.tape, attn_tape_slice(b.tape, y, 1, 1), weights), ATTN_OK);
    assert_gradient(x, (float[]){0, 3, 0, 0, 6, 0}, 6);
    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0);
    x = ones(b.tape, 2, 1);
    assert_int_equal(attn_tape_backward(b.tape, x, weights), ATTN_OK);
    assert_gradient(x, weights, 2);
    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0);
    int64_t shape[] = {2, 2};
    attn_parameter *p = attn_parameters_add(b.set, "p", 2, shape, NULL);
    attn_variable *v = attn_tape_slice(b.tape, attn_tape_parameter(b.tape, p), 1, 1);
    assert_int_equal(attn_tape_backward(b.tape, v, weights), ATTN_OK);
    const float *g = host_parameter_gradient(p);
    assert_true(g[0] == 0 && g[1] == 1 && g[2] == 0 && g[3] == 2);
    bench_destroy(&b);
}

/* One parameter as a weight, as a variable, as a slice and as a vector, in two passes. */
static void test_parameter_many_ways(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    int64_t shape[] = {2, 2}, two = 2;
    attn_parameter *w = attn_parameters_add(b.set, "w", 2, shape, NULL);
    attn_parameter *v = attn_parameters_add(b.set, "v", 1, &two, NULL);
    for (int pass = 1; pass <= 2; pass++) {
        attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0);
        attn_variable *x = ones(b.tape, 2, 2), *p = attn_tape_parameter(b.tape, w);
        attn_variable *y = attn_tape_linear(b.tape, x, w, v, ATTN_IDENTITY); /* dw = 2, dv = 2 */
        y = attn_tape_add(b.tape, y, p);                                     /* dw += 1 */
        y = attn_tape_add(b.tape, y, attn_tape_parameter(b.tape, v));        /* dv += 2 */
        attn_variable *right = attn_tape_slice(b.tape, p, 1, 1);
        attn_variable *joined = attn_tape_concat(b.tape, (attn_variable *[]){y, right, right}, 3);
        assert_int_equal(attn_tape_backward(b.tape, joined, NULL), ATTN_OK);
        const float *gw = host_parameter_gradient(w), *gv = host_parameter_gradient(v);
        for (int i = 0; i < 4; i++) assert_true(gw[i] == (float)(pass * (i % 2 ? 5 : 3)));
        for (int i = 0; i < 2; i++) assert_true(gv[i] == (float)(pass * 4));
    }
    attn_parameters_clear_gradients(b.set);
    const float *gw = host_parameter_gradient(w);
    for (int i = 0; i < 4; i++) assert_true(gw[i] == 0.0f);
    bench_destroy(&b);
}

/* ---- modes, errors ---- */

static void test_modes(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    int64_t shape[] = {3, 2};
    attn_parameter *w = attn_parameters_add(b.set, "w", 2, shape, NULL);
    attn_tape_begin(b.tape, ATTN_TAPE_PREDICT, 0);
    assert_int_equal(attn_tape_mode_of(b.tape), ATTN_TAPE_PREDICT);
    attn_variable *x = ones(b.tape, 4, 2), *y = attn_tape_linear(b.tape, x, w, NULL, ATTN_GELU);
    assert_non_null(y);
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_tape_error(b.tape), "nothing that learns was recorded"));
    assert_null(attn_variable_gradient(x));

    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0); /* nothing that learns */
    float data[2] = {0};
    y = attn_tape_scale(b.tape, attn_tape_input(b.tape, data, 1, 2, 0), 2.0f);
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_INVALID_ARGUMENT);

    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0); /* twice */
    x = ones(b.tape, 1, 2);
    y = attn_tape_scale(b.tape, x, 2.0f);
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_OK);
    assert_gradient(x, (float[]){2, 2}, 2);
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_tape_error(b.tape), "walked back once"));

    attn_tape_begin(b.tape, ATTN_TAPE_GRADIENT, 0); /* an input that nothing comes back to */
    x = ones(b.tape, 1, 2);
    attn_variable *unused = ones(b.tape, 1, 2);
    attn_tape_scale(b.tape, unused, 2.0f);
    assert_int_equal(attn_tape_backward(b.tape, attn_tape_scale(b.tape, x, 2.0f), NULL), ATTN_OK);
    assert_null(attn_variable_gradient(unused));
    bench_destroy(&b);
}

static void test_frozen(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    int64_t shape[] = {2, 2}, two = 2;
    attn_parameter *w = attn_parameters_add(b.set, "w", 2, shape, NULL);
    attn_parameter *gain = attn_parameters_add(b.set, "gain", 1, &two, NULL);
    attn_parameter_set_frozen(w, 1);
    assert_true(attn_parameter_frozen(w));
    attn_variable *x = ones(b.tape, 3, 2), *p = attn_tape_parameter(b.tape, w);
    assert_null(attn_variable_gradient(p));
    attn_variable *y = attn_tape_linear(b.tape, x, w, NULL, ATTN_IDENTITY);
    y = attn_tape_multiply(b.tape, y, attn_tape_parameter(b.tape, gain));
    y = attn_tape_add(b.tape, y, attn_tape_gather(b.tape, p, (int64_t[]){0, 1, 1}, 3));
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_OK);
    assert_null(attn_parameter_gradient(w).data);
    assert_non_null(host_parameter_gradient(gain));
    assert_non_null(host_gradient(x));
    bench_destroy(&b);
}

static void test_sticky_errors(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    int64_t four = 4;
    attn_parameter *gain = attn_parameters_add(b.set, "gain", 1, &four, NULL);
    attn_variable *x = ones(b.tape, 3, 2), *good = attn_tape_scale(b.tape, x, 1.0f);
    attn_variable *y = attn_tape_add(b.tape, x, ones(b.tape, 2, 2));
    assert_null(y);
    const char *first = "add: a is 3 x 2, b is 2 x 2";
    assert_non_null(strstr(attn_tape_error(b.tape), first));
    /* everything after it is quiet, with NULL and with good variables */
    attn_variable *parts[2] = {y, good};
    int64_t offsets[] = {0, 3};
    attn_ragged batch = {1, offsets};
    assert_null(attn_tape_add(b.tape, y, y));
    assert_null(attn_tape_multiply(b.tape, good, good));
    assert_null(attn_tape_scale(b.tape, good, 2.0f));
    assert_null(attn_tape_concat(b.tape, parts, 2));
    assert_null(attn_tape_slice(b.tape, y, 0, 1));
    assert_null(attn_tape_gather(b.tape, good, offsets, 1));
    assert_null(attn_tape_scatter(b.tape, y, offsets, 1));
    assert_null(attn_tape_activation(b.tape, y, ATTN_RELU));
    assert_null(attn_tape_gate(b.tape, y, y, ATTN_SILU));
    assert_null(attn_tape_dropout(b.tape, y, 0.5f));
    assert_null(attn_tape_softmax(b.tape, y));
    assert_null(attn_tape_log_softmax(b.tape, y));
    assert_null(attn_tape_layer_norm(b.tape, y, gain, NULL, 1e-5f));
    assert_null(attn_tape_rms_norm(b.tape, y, gain, 1e-5f));
    assert_null(attn_tape_rotary(b.tape, y, 1, &batch, NULL, 1e4f));
    assert_null(attn_tape_embedding(b.tape, gain, NULL, 0));
    assert_null(attn_tape_embedding_bag(b.tape, gain, NULL, offsets, 0, ATTN_BAG_SUM));
    assert_null(attn_tape_linear(b.tape, y, gain, NULL, ATTN_IDENTITY));
    assert_null(attn_tape_input(b.tape, NULL, 1, 1, 0));
    assert_null(attn_tape_constant(b.tape, NULL, 1, 1));
    assert_null(attn_tape_parameter(b.tape, gain));
    assert_int_equal(attn_tape_backward(b.tape, good, NULL), ATTN_SHAPE_MISMATCH);
    assert_non_null(strstr(attn_tape_error(b.tape), first));
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_int_equal(attn_tape_status(b.tape), ATTN_OK);
    assert_string_equal(attn_tape_error(b.tape), "");
    assert_int_equal(attn_tape_backward(b.tape, NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_tape_error(b.tape), "backward: variable is NULL"));
    /* no tape at all */
    assert_null(attn_tape_add(NULL, NULL, NULL));
    assert_null(attn_tape_input(NULL, NULL, 0, 1, 0));
    assert_int_equal(attn_tape_status(NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_tape_backward(NULL, NULL, NULL), ATTN_INVALID_ARGUMENT);
    attn_tape_begin(NULL, ATTN_TAPE_TRAIN, 0);
    attn_tape_destroy(NULL);
    assert_int_equal(attn_variable_rows(NULL), 0);
    assert_null(attn_variable_data(NULL));
    bench_destroy(&b);
}

/* Numbers that are not copied give what copied ones give, and get no gradient. */
static void test_constant(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    float data[] = {1.0f, -2.0f, 3.0f, 4.0f, 5.0f, -6.0f}, same[6], result[6];
    attn_variable *x = attn_tape_constant(b.tape, data, 3, 2);
    attn_variable *input = attn_tape_input(b.tape, data, 3, 2, 1);
    assert_true(attn_variable_data(x) == NULL || attn_variable_data(x) == data);
    attn_variable *y = attn_tape_multiply(b.tape, attn_tape_scale(b.tape, x, 2.0f), input);
    assert_int_equal(attn_tape_backward(b.tape, y, NULL), ATTN_OK);
    assert_int_equal(attn_variable_read(x, same), ATTN_OK);
    assert_memory_equal(same, data, sizeof data);
    assert_int_equal(attn_variable_read_gradient(x, result), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_variable_read_gradient(input, result), ATTN_OK);
    for (int i = 0; i < 6; i++) assert_true(result[i] == 2.0f * data[i]);
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_constant(b.tape, NULL, 3, 2));
    assert_non_null(strstr(attn_tape_error(b.tape), "data is NULL"));
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_constant(b.tape, data, 3, 0));
    assert_null(attn_tape_constant(NULL, data, 3, 2));
    bench_destroy(&b);
}

static void test_inputs(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(1));
    float x[4] = {1, 2, 3, 4};
    assert_null(attn_tape_input(b.tape, x, 2, 0, 0));
    assert_int_equal(attn_tape_status(b.tape), ATTN_INVALID_ARGUMENT);
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_input(b.tape, x, -1, 2, 0));
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_input(b.tape, NULL, 1, 2, 0));
    assert_non_null(strstr(attn_tape_error(b.tape), "data is NULL"));
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *v = attn_tape_input(b.tape, x, 2, 2, 1);
    x[0] = 9.0f; /* copied */
    assert_true(host_data(v)[0] == 1.0f && attn_variable_stride(v) == 2);
    attn_variable *slice = attn_tape_slice(b.tape, v, 1, 1);
    assert_int_equal(attn_variable_columns(slice), 1);
    assert_int_equal(attn_variable_stride(slice), 2);
    assert_true(host_data(slice)[1] == 4.0f);
    assert_null(attn_tape_slice(b.tape, slice, 1, 1));
    attn_tape_begin(b.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_slice(b.tape, attn_tape_input(b.tape, x, 2, 2, 1), 1, INT64_MAX));
    bench_destroy(&b);
}

/* ---- memory ---- */

enum { BATCH_ROWS = 300, WORDS = 50, WIDTH = 64 };

typedef struct network {
    attn_parameter *table, *gain, *bias, *up, *down, *scale;
} network;

static network build(attn_parameters *set) {
    int64_t table[] = {WORDS, WIDTH}, vector = WIDTH, up[] = {4 * WIDTH, WIDTH}, down[] = {WIDTH, 2 * WIDTH};
    network n = {.table = attn_parameters_add(set, "table", 2, table, NULL),
                 .gain = attn_parameters_add(set, "gain", 1, &vector, NULL),
                 .bias = attn_parameters_add(set, "bias", 1, &vector, NULL),
                 .up = attn_parameters_add(set, "up", 2, up, NULL),
                 .down = attn_parameters_add(set, "down", 2, down, NULL),
                 .scale = attn_parameters_add(set, "scale", 1, &vector, NULL)};
    return n;
}

/* A forward and backward pass through one of every operation here. */
static attn_status run_network(attn_tape *tape, const network *n, attn_tape_mode mode, int64_t rows,
                               uint64_t seed) {
    int32_t ids[BATCH_ROWS];
    int64_t places[BATCH_ROWS], offsets[] = {0, rows / 3, rows / 3, rows};
    attn_ragged batch = {3, offsets};
    test_random random = {seed + 1};
    for (int64_t i = 0; i < rows; i++) {
        ids[i] = (int32_t)random_between(&random, -1, WORDS - 1);
        places[i] = random_between(&random, -1, rows - 1);
    }
    attn_tape_begin(tape, mode, seed);
    attn_variable *x = attn_tape_embedding(tape, n->table, ids, rows);
    attn_variable *bags = attn_tape_embedding_bag(tape, n->table, ids, offsets, 3, ATTN_BAG_MEAN);
    attn_variable *y = attn_tape_layer_norm(tape, x, n->gain, n->bias, 1e-5f);
    y = attn_tape_rotary(tape, y, 2, &batch, NULL, 1e4f);
    y = attn_tape_linear(tape, y, n->up, NULL, ATTN_IDENTITY);
    y = attn_tape_gate(tape, attn_tape_slice(tape, y, 0, 2 * WIDTH),
                       attn_tape_slice(tape, y, 2 * WIDTH, 2 * WIDTH), ATTN_SILU);
    y = attn_tape_linear(tape, attn_tape_dropout(tape, y, 0.1f), n->down, n->bias, ATTN_TANH);
    x = attn_tape_add(tape, x, attn_tape_multiply(tape, y, attn_tape_parameter(tape, n->scale)));
    x = attn_tape_rms_norm(tape, x, n->gain, 1e-5f);
    x = attn_tape_add(tape, attn_tape_gather(tape, x, places, rows),
                      attn_tape_scatter(tape, x, places, rows));
    x = attn_tape_add(tape, x, attn_tape_gather(tape, bags, (int64_t[]){1}, 1));
    x = attn_tape_activation(tape, attn_tape_scale(tape, x, 0.5f), ATTN_GELU);
    attn_variable *parts[2] = {attn_tape_softmax(tape, x), attn_tape_log_softmax(tape, x)};
    x = attn_tape_concat(tape, parts, 2);
    if (mode == ATTN_TAPE_PREDICT) return attn_tape_status(tape);
    return attn_tape_backward(tape, x, NULL);
}

static attn_context *counted_context(counting_allocator *counter, int threads) {
    attn_context_options options;
    attn_context *context;
    attn_context_options_init(&options);
    options.threads = threads;
    options.allocator = counting_allocator_functions(counter);
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    return context;
}

/* After the first steps, and with batches no larger than they had, nothing is
 * asked of the allocator. */
static void test_no_allocation(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context *context = counted_context(&counter, 2);
    bench b = bench_create(context);
    network n = build(b.set);
    for (int step = 0; step < 3; step++)
        assert_int_equal(run_network(b.tape, &n, ATTN_TAPE_TRAIN, BATCH_ROWS, 1), ATTN_OK);
    assert_int_equal(run_network(b.tape, &n, ATTN_TAPE_PREDICT, BATCH_ROWS, 1), ATTN_OK);
    int64_t before = counter.allocations;
    size_t bytes = attn_tape_memory(b.tape);
    assert_true(bytes > 0);
    for (int step = 0; step < 20; step++) {
        attn_tape_mode mode = step % 4 == 3 ? ATTN_TAPE_PREDICT : ATTN_TAPE_TRAIN;
        attn_parameters_clear_gradients(b.set);
        assert_int_equal(run_network(b.tape, &n, mode, BATCH_ROWS - 13 * step, (uint64_t)step), ATTN_OK);
    }
    assert_int_equal(counter.allocations, before);
    assert_int_equal(attn_tape_memory(b.tape), bytes);
    bench_destroy(&b);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

/* The n-th allocation fails, for every n: the status says so, nothing leaks, and
 * the same tape works again when there is memory. */
static void test_out_of_memory(void **state) {
    (void)state;
    int failed = 1;
    for (int64_t n = 1; failed; n++) {
        assert_true(n < 500);
        counting_allocator counter = {0};
        attn_context *context = counted_context(&counter, 1);
        attn_tape *tape = NULL;
        attn_parameters *set = NULL;
        counter.fail_at = n;
        attn_status status = attn_tape_create(context, &tape);
        if (status == ATTN_OK) status = attn_parameters_create(context, 1, &set);
        if (status == ATTN_OK) {
            network net = build(set);
            status = attn_parameters_status(set);
            for (int step = 0; step < 2 && status == ATTN_OK; step++)
                status = run_network(tape, &net, ATTN_TAPE_TRAIN, BATCH_ROWS, 1);
            if (status == ATTN_OK) status = run_network(tape, &net, ATTN_TAPE_PREDICT, BATCH_ROWS, 1);
            failed = counter.failures > 0;
            counter.fail_at = 0;
            if (failed && net.scale) {
                attn_parameters_clear_gradients(set);
                assert_int_equal(run_network(tape, &net, ATTN_TAPE_TRAIN, BATCH_ROWS, 1), ATTN_OK);
            }
        }
        assert_int_equal(status, failed ? ATTN_OUT_OF_MEMORY : ATTN_OK);
        attn_tape_destroy(tape);
        attn_parameters_destroy(set);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

/* Gradients are the same bits for any number of threads, also through one of everything. */
static void test_network_threads(void **state) {
    (void)state;
    static float gradients[3][6][4 * WIDTH * WIDTH];
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        for (int t = 0; t < 3; t++) {
            bench b = bench_create(test_context(isa, 1 + 3 * t));
            network n = build(b.set);
            assert_int_equal(run_network(b.tape, &n, ATTN_TAPE_TRAIN, BATCH_ROWS, 3), ATTN_OK);
            for (int64_t p = 0; p < 6; p++) {
                attn_parameter *parameter = attn_parameters_at(b.set, p);
                attn_tensor v = attn_parameter_value(parameter);
                int64_t count = v.shape[0] * (v.rank > 1 ? v.shape[1] : 1);
                memcpy(gradients[t][p], host_parameter_gradient(parameter), (size_t)count * sizeof(float));
            }
            bench_destroy(&b);
        }
        assert_memory_equal(gradients[0], gradients[1], sizeof gradients[0]);
        assert_memory_equal(gradients[0], gradients[2], sizeof gradients[0]);
    }
}

static void test_no_rows(void **state) {
    (void)state;
    bench b = bench_create(test_best_context(2));
    network n = build(b.set);
    assert_int_equal(run_network(b.tape, &n, ATTN_TAPE_TRAIN, 0, 1), ATTN_OK);
    for (int64_t p = 0; p < attn_parameters_count(b.set); p++) {
        attn_parameter *parameter = attn_parameters_at(b.set, p);
        attn_tensor v = attn_parameter_value(parameter);
        int64_t count = v.shape[0] * (v.rank > 1 ? v.shape[1] : 1);
        const float *g = host_parameter_gradient(parameter);
        for (int64_t i = 0; i < count; i++) assert_true(g[i] == 0.0f);
    }
    bench_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),      cmocka_unit_test(test_fan_out),
        cmocka_unit_test(test_handed_on),     cmocka_unit_test(test_handed_on_slices),
        cmocka_unit_test(test_start),         cmocka_unit_test(test_parameter_many_ways),
        cmocka_unit_test(test_modes),         cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_sticky_errors), cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_constant),      cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_network_threads),
        cmocka_unit_test(test_no_rows)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
