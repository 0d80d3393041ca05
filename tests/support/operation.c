/* operation.c: results and gradients of an operation against the oracle. */
#include "support/operation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/random.h"

typedef struct numbers {
    int64_t count;
    float *f;
    double *d;
} numbers;

typedef struct workbench {
    const operation_case *c;
    numbers tensor[2 * OPERATION_TENSORS]; /* inputs, then parameters */
    int tensors;
    int64_t count; /* of the result */
    double *result, *moved;
    float *weights; /* the gradient that arrives at the result */
} workbench;

static void *allocate(int64_t count, size_t bytes) {
    void *memory = calloc((size_t)(count > 0 ? count : 1), bytes);
    assert_non_null(memory);
    return memory;
}

static const operation_tensor *tensor_of(const operation_case *c, int t) {
    return t < c->inputs ? &c->input[t] : &c->parameter[t - c->inputs];
}

static int64_t count_of(const operation_tensor *t) {
    return (t->rows ? t->rows : 1) * (t->depth ? t->depth : 1) * t->columns;
}

/* A layer's parameters: shapes, and its own starting values, moved a little so
 * that no bias is 0 and no gain 1. */
static void add_layer(workbench *b, operation_case *c, test_random *random) {
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_context(0, 1), c->seed, &set), ATTN_OK);
    c->build(set, c->user);
    if (attn_parameters_status(set) != ATTN_OK) fail_msg("%s: %s", c->name, attn_parameters_error(set));
    c->parameters = (int)attn_parameters_count(set);
    assert_in_range(c->parameters, 1, OPERATION_TENSORS);
    for (int p = 0; p < c->parameters; p++) {
        attn_parameter *parameter = attn_parameters_at(set, p);
        attn_tensor value = attn_parameter_value(parameter);
        operation_tensor shape = {.rows = value.rank == 1 ? 0 : value.shape[0],
                                  .depth = value.rank == 3 ? value.shape[1] : 0,
                                  .columns = value.shape[value.rank - 1],
                                  .fixed = attn_parameter_frozen(parameter)};
        c->parameter[p] = shape;
        numbers *n = &b->tensor[c->inputs + p];
        n->count = count_of(&shape);
        n->f = allocate(n->count, sizeof(float));
        n->d = allocate(n->count, sizeof(double));
        const float *start = host_value(parameter);
        for (int64_t i = 0; i < n->count; i++) {
            n->d[i] = n->f[i] = start[i] + 0.2f * random_normal(random);
        }
    }
    attn_parameters_destroy(set);
}

static workbench *bench_create(operation_case *c) {
    workbench *b = allocate(1, sizeof *b);
    test_random random = {c->seed * 2654435761u + 12345};
    b->c = c;
    if (c->build) add_layer(b, c, &random);
    b->tensors = c->inputs + c->parameters;
    for (int t = 0; t < b->tensors; t++) {
        const operation_tensor *shape = tensor_of(c, t);
        numbers *n = &b->tensor[t];
        if (n->f) continue; /* a layer's */
        n->count = t < c->inputs ? shape->rows * shape->columns : count_of(shape);
        n->f = allocate(n->count, sizeof(float));
        n->d = allocate(n->count, sizeof(double));
        float amplitude = shape->amplitude != 0.0f ? shape->amplitude : 1.0f;
        for (int64_t i = 0; i < n->count; i++) n->d[i] = n->f[i] = amplitude * random_normal(&random);
    }
    b->count = c->rows * c->columns;
    b->result = allocate(b->count, sizeof(double));
    b->moved = allocate(b->count, sizeof(double));
    b->weights = allocate(b->count, sizeof(float));
    for (int64_t i = 0; i < b->count; i++) b->weights[i] = random_normal(&random);
    return b;
}

static void bench_destroy(workbench *b) {
    for (int t = 0; t < b->tensors; t++) {
        free(b->tensor[t].f);
        free(b->tensor[t].d);
    }
    free(b->result);
    free(b->moved);
    free(b->weights);
    free(b);
}

static void oracle(const workbench *b, double *result) {
    double *input[OPERATION_TENSORS], *parameter[OPERATION_TENSORS];
    for (int t = 0; t < b->c->inputs; t++) input[t] = b->tensor[t].d;
    for (int t = 0; t < b->c->parameters; t++) parameter[t] = b->tensor[b->c->inputs + t].d;
    b->c->reference(input, parameter, result, b->c->user);
}

static double oracle_loss(const workbench *b) {
    double loss = 0.0;
    oracle(b, b->moved);
    for (int64_t i = 0; i < b->count; i++) loss += b->moved[i] * b->weights[i];
    return loss;
}

/* What roundings of the inputs alone do to the result, at the most. */
static double format_error(workbench *b) {
    test_random random = {99};
    double worst = 0.0;
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < b->tensors; t++)
            for (int64_t i = 0; i < b->tensor[t].count; i++)
                b->tensor[t].d[i] *= 1.0 + ldexp(random_unit(&random), -24);
        oracle(b, b->moved);
        for (int t = 0; t < b->tensors; t++)
            for (int64_t i = 0; i < b->tensor[t].count; i++) b->tensor[t].d[i] = b->tensor[t].f[i];
        for (int64_t i = 0; i < b->count; i++) {
            if (isfinite(b->result[i])) worst = fmax(worst, fabs(b->moved[i] - b->result[i]));
        }
    }
    return worst;
}

/* ---- one run on a tape ---- */

typedef struct outcome {
    float *result;
    float *gradient[2 * OPERATION_TENSORS]; /* NULL: none */
} outcome;

static attn_parameter *fill_parameter(attn_parameter *parameter, const numbers *n) {
    host_set_value(parameter, n->f);
    return parameter;
}

static attn_parameter *add_parameter(attn_parameters *set, const workbench *b, int p) {
    const operation_tensor *shape = &b->c->parameter[p];
    const numbers *n = &b->tensor[b->c->inputs + p];
    char name[32];
    snprintf(name, sizeof name, "parameter.%d", p);
    int64_t three[3] = {shape->rows, shape->depth, shape->columns}, two[2] = {shape->rows, shape->columns};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.frozen = shape->fixed;
    attn_parameter *parameter = shape->rows == 0
                                    ? attn_parameters_add(set, name, 1, &shape->columns, &options)
                                : shape->depth > 0 ? attn_parameters_add(set, name, 3, three, &options)
                                                   : attn_parameters_add(set, name, 2, two, &options);
    if (!parameter) fail_msg("%s: %s", b->c->name, attn_parameters_error(set));
    return fill_parameter(parameter, n);
}

static attn_variable *run_case(const workbench *b, attn_tape *tape, attn_tape_mode mode,
                               attn_parameter **parameter, attn_variable **input) {
    const operation_case *c = b->c;
    attn_tape_begin(tape, mode, 7);
    for (int t = 0; t < c->inputs; t++) {
        input[t] =
            attn_tape_input(tape, b->tensor[t].f, c->input[t].rows, c->input[t].columns, !c->input[t].fixed);
    }
    attn_variable *y = c->run(tape, input, parameter, c->user);
    if (!y) fail_msg("%s: %s", c->name, attn_tape_error(tape));
    if (attn_variable_rows(y) != c->rows || attn_variable_columns(y) != c->columns) {
        fail_msg("%s: the result is %lld x %lld, not %lld x %lld", c->name, (long long)attn_variable_rows(y),
                 (long long)attn_variable_columns(y), (long long)c->rows, (long long)c->columns);
    }
    return y;
}

static outcome run_once(const workbench *b, attn_context *context) {
    const operation_case *c = b->c;
    outcome o = {.result = allocate(b->count, sizeof(float))};
    attn_parameters *set;
    attn_tape *tape;
    attn_parameter *parameter[OPERATION_TENSORS];
    attn_variable *input[OPERATION_TENSORS];
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    if (c->build) c->build(set, c->user);
    for (int p = 0; p < c->parameters; p++) {
        parameter[p] = c->build ? fill_parameter(attn_parameters_at(set, p), &b->tensor[c->inputs + p])
                                : add_parameter(set, b, p);
    }

    attn_variable *y = run_case(b, tape, ATTN_TAPE_PREDICT, parameter, input);
    assert_int_equal(attn_variable_read(y, o.result), ATTN_OK);
    float *again = allocate(b->count, sizeof(float));
    for (int pass = 0; pass < 2;
         pass++) { /* the second on top of the first: gradients of parameters double */
        y = run_case(b, tape, ATTN_TAPE_GRADIENT, parameter, input);
        assert_int_equal(attn_variable_read(y, again), ATTN_OK);
        if (b->count && memcmp(again, o.result, (size_t)b->count * sizeof(float)) != 0) {
            fail_msg("%s: recording changes the result", c->name);
        }
        if (attn_tape_backward(tape, y, b->weights) != ATTN_OK)
            fail_msg("%s: %s", c->name, attn_tape_error(tape));
        for (int p = 0; p < c->parameters; p++) {
            const float *g = host_parameter_gradient(parameter[p]);
            if (!g) continue;
            int64_t count = b->tensor[c->inputs + p].count;
            float **kept = &o.gradient[c->inputs + p];
            if (pass == 0) {
                *kept = allocate(count, sizeof(float));
                memcpy(*kept, g, (size_t)count * sizeof(float));
            }
            float largest = 0.0f;
            for (int64_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf((*kept)[i]));
            for (int64_t i = 0; pass == 1 && i < count; i++) {
                float twice = 2.0f * (*kept)[i], got = g[i];
                if (!(fabsf(got - twice) <= 1e-5f * largest + 1e-6f)) {
                    fail_msg("%s: parameter %d: two passes give %g, one gives %g", c->name, p, got,
                             (*kept)[i]);
                }
            }
        }
    }
    for (int t = 0; t < c->inputs; t++) {
        if (c->input[t].fixed) continue;
        o.gradient[t] = allocate(b->tensor[t].count, sizeof(float));
        assert_int_equal(attn_variable_read_gradient(input[t], o.gradient[t]), ATTN_OK);
    }
    free(again);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
    return o;
}

static void outcome_destroy(outcome *o) {
    free(o->result);
    for (int t = 0; t < 2 * OPERATION_TENSORS; t++) free(o->gradient[t]);
}

static void check_equal(const workbench *b, const outcome *a, const outcome *z, const char *what) {
    if (b->count && memcmp(a->result, z->result, (size_t)b->count * sizeof(float)) != 0) {
        fail_msg("%s: the result changes with %s", b->c->name, what);
    }
    for (int t = 0; t < b->tensors; t++) {
        if (a->gradient[t] && b->tensor[t].count &&
            memcmp(a->gradient[t], z->gradient[t], (size_t)b->tensor[t].count * sizeof(float)) != 0) {
            fail_msg("%s: gradient %d changes with %s", b->c->name, t, what);
        }
    }
}

/* ---- against the oracle ---- */

static void check_result(const workbench *b, const outcome *o, double format, const char *isa) {
    double largest = 0.0;
    for (int64_t i = 0; i < b->count; i++) {
        if (isfinite(b->result[i])) largest = fmax(largest, fabs(b->result[i]));
    }
    double allowed = OPERATION_FACTOR * (format + largest * ldexp(1.0, -24)) + 1e-30;
    for (int64_t i = 0; i < b->count; i++) {
        if (b->result[i] == o->result[i]) continue; /* infinities, too */
        if (!(fabs(b->result[i] - o->result[i]) <= allowed)) {
            fail_msg("%s, %s: result %lld is %.9g, not %.9g (%.3g allowed)", b->c->name, isa, (long long)i,
                     o->result[i], b->result[i], allowed);
        }
    }
}

/* Central differences of the oracle, for the numbers that are checked. */
static void differences(workbench *b, int t, int64_t step, double *gradient) {
    numbers *n = &b->tensor[t];
    for (int64_t i = 0; i < n->count; i += step) {
        double x = n->d[i], h = 1e-5 * fmax(1.0, fabs(x));
        n->d[i] = x + h;
        double above = oracle_loss(b);
        n->d[i] = x - h;
        double below = oracle_loss(b);
        n->d[i] = x;
        gradient[i] = (above - below) / (2.0 * h);
    }
}

static void check_gradient(const workbench *b, int t, int64_t step, const double *exact, const outcome *o,
                           const char *isa) {
    double largest = 0.0, tolerance = b->c->gradient_tolerance > 0.0 ? b->c->gradient_tolerance : 1e-5;
    for (int64_t i = 0; i < b->tensor[t].count; i += step) largest = fmax(largest, fabs(exact[i]));
    if (largest < 1e-7) largest = 1.0; /* the true gradient is 0 */
    for (int64_t i = 0; i < b->tensor[t].count; i += step) {
        if (!(fabs(exact[i] - o->gradient[t][i]) <= tolerance * largest)) {
            fail_msg("%s, %s: gradient of %s %d at %lld is %.9g, not %.9g (largest %.3g)", b->c->name, isa,
                     t < b->c->inputs ? "input" : "parameter", t < b->c->inputs ? t : t - b->c->inputs,
                     (long long)i, o->gradient[t][i], exact[i], largest);
        }
    }
}

void operation_check(const operation_case *given) {
    operation_case own = *given, *c = &own;
    workbench *b = bench_create(c);
    oracle(b, b->result);
    double format = format_error(b);
    double *exact[2 * OPERATION_TENSORS] = {NULL};
    int64_t step[2 * OPERATION_TENSORS];
    for (int t = 0; t < b->tensors; t++) {
        int64_t count = b->tensor[t].count;
        step[t] = c->checked && count > c->checked ? count / c->checked : 1;
        if (tensor_of(c, t)->fixed) continue;
        exact[t] = allocate(count, sizeof(double));
        differences(b, t, step[t], exact[t]);
    }
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1);
        if (!context) continue;
        outcome o = run_once(b, context);
        check_result(b, &o, format, test_isa_names[isa]);
        for (int t = 0; t < b->tensors; t++) {
            if (exact[t]) check_gradient(b, t, step[t], exact[t], &o, test_isa_names[isa]);
        }
        static const int threads[] = {2, 7};
        for (int n = 0; n < 2; n++) {
            outcome other = run_once(b, test_context(isa, threads[n]));
            check_equal(b, &o, &other, "the number of threads");
            outcome_destroy(&other);
        }
        outcome_destroy(&o);
    }
    for (int t = 0; t < b->tensors; t++) free(exact[t]);
    bench_destroy(b);
}
