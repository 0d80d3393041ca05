/* test_operations_sequences.c: pooling, windows and convolutions against plain
 * loops in double. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_SEQUENCES = 40 };

static const int64_t nothing[] = {0}, empty[] = {0, 0, 0}, one_row[] = {0, 1}, one[] = {0, 6},
                     few[] = {0, 2, 2, 7, 8, 12, 12}, leading[] = {0, 0, 0, 5}, long_ones[] = {0, 35, 36, 70};
static const attn_ragged batches[] = {{0, nothing}, {2, empty},   {1, one_row},  {1, one},
                                      {6, few},     {3, leading}, {3, long_ones}};
enum { BATCHES = 7 };

static int64_t rows_of(const attn_ragged *batch) { return batch->offsets[batch->sequences]; }

typedef struct sequence_case {
    attn_ragged batch;
    int64_t columns, heads;
    attn_pool kind;
    int64_t left, right;
    int64_t out;
    int bias;
    attn_convolution_options options;
} sequence_case;

/* The batch in memory that is gone after the operation. */
typedef struct passing_batch {
    int64_t offsets[MOST_SEQUENCES + 1];
    attn_ragged batch;
} passing_batch;

static const attn_ragged *pass(passing_batch *p, const attn_ragged *batch) {
    memcpy(p->offsets, batch->offsets, (size_t)(batch->sequences + 1) * sizeof *p->offsets);
    p->batch.sequences = batch->sequences;
    p->batch.offsets = p->offsets;
    return &p->batch;
}
static void forget(passing_batch *p) { memset(p, 0x55, sizeof *p); }

/* ---- pool ---- */

static attn_variable *run_pool(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                               void *user) {
    const sequence_case *s = user;
    passing_batch p;
    (void)parameter;
    attn_variable *y = attn_tape_pool(tape, input[0], pass(&p, &s->batch), s->kind);
    forget(&p);
    return y;
}

static void reference_pool(double *const *input, double *const *parameter, double *result, void *user) {
    const sequence_case *s = user;
    (void)parameter;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        int64_t first = s->batch.offsets[b], rows = s->batch.offsets[b + 1] - first;
        for (int64_t c = 0; c < s->columns; c++) {
            double value = 0.0;
            for (int64_t i = 0; i < rows; i++) {
                double x = input[0][(first + i) * s->columns + c];
                if (s->kind == ATTN_POOL_MEAN) value += x / (double)rows;
                if (s->kind == ATTN_POOL_SUM) value += x;
                if (s->kind == ATTN_POOL_MAX) value = i == 0 ? x : fmax(value, x);
                if (s->kind == ATTN_POOL_FIRST && i == 0) value = x;
            }
            result[b * s->columns + c] = value;
        }
    }
}

static void test_pool(void **state) {
    (void)state;
    static const int64_t columns[] = {1, 7, 16, 33, 48, 257, 300};
    for (int kind = ATTN_POOL_MEAN; kind <= ATTN_POOL_SUM; kind++) {
        for (int b = 0; b < BATCHES; b++) {
            sequence_case s = {
                .batch = batches[b], .columns = columns[(b + kind) % 7], .kind = (attn_pool)kind};
            operation_case c = {.name = "pool",
                                .inputs = 1,
                                .input = {{.rows = rows_of(&s.batch), .columns = s.columns}},
                                .rows = s.batch.sequences,
                                .columns = s.columns,
                                .seed = (uint64_t)(10 * kind + b),
                                .user = &s,
                                .run = run_pool,
                                .reference = reference_pool,
                                .checked = 500};
            operation_check(&c);
        }
    }
}

/* Of equal maxima the first gets the gradient; a NaN is a maximum. */
static void test_pool_ties(void **state) {
    (void)state;
    const float x[] = {1, 5, -2, 3, 5, -2, 3, 4, -2, 3, NAN, -2, NAN, 7, -3};
    const int64_t offsets[] = {0, 3, 5};
    const float g[] = {10, 20, 30, 40, 50, 60};
    const float expected[] = {0, 20, 30, 10, 0, 0, 0, 0, 0, 0, 50, 60, 40, 0, 0};
    attn_ragged batch = {2, offsets};
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 1)) continue;
        attn_tape *tape;
        assert_int_equal(attn_tape_create(test_context(isa, 1), &tape), ATTN_OK);
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
        attn_variable *input = attn_tape_input(tape, x, 5, 3, 1);
        attn_variable *y = attn_tape_pool(tape, input, &batch, ATTN_POOL_MAX);
        assert_non_null(y);
        assert_true(host_data(y)[0] == 3.0f && host_data(y)[1] == 5.0f);
        assert_true(isnan(host_data(y)[3]) && isnan(host_data(y)[4]));
        assert_int_equal(attn_tape_backward(tape, y, g), ATTN_OK);
        assert_memory_equal(host_gradient(input), expected, sizeof expected);
        attn_tape_destroy(tape);
    }
}

/* ---- attention pooling ---- */

static attn_variable *run_attention(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                    void *user) {
    const sequence_case *s = user;
    passing_batch p;
    (void)parameter;
    attn_variable *y = attn_tape_pool_attention(tape, input[0], input[1], pass(&p, &s->batch));
    forget(&p);
    return y;
}

static void reference_attention(double *const *input, double *const *parameter, double *result, void *user) {
    const sequence_case *s = user;
    int64_t width = s->columns / s->heads;
    (void)parameter;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        for (int64_t c = 0; c < s->columns; c++) {
            double sum = 0.0, weights = 0.0;
            for (int64_t i = s->batch.offsets[b]; i < s->batch.offsets[b + 1]; i++) {
                double weight = exp(input[1][i * s->heads + c / width]);
                sum += weight * input[0][i * s->columns + c];
                weights += weight;
            }
            result[b * s->columns + c] = weights > 0.0 ? sum / weights : 0.0;
        }
    }
}

static void test_pool_attention(void **state) {
    (void)state;
    static const int64_t heads[] = {1, 2, 3, 4, 16, 1, 2}, widths[] = {1, 5, 16, 17, 3, 70, 33};
    for (int b = 0; b < BATCHES; b++) {
        for (int n = 0; n < 7; n++) {
            sequence_case s = {.batch = batches[b], .columns = heads[n] * widths[n], .heads = heads[n]};
            operation_case c = {.name = "pool_attention",
                                .inputs = 2,
                                .input = {{.rows = rows_of(&s.batch), .columns = s.columns, .fixed = n == 4},
                                          {.rows = rows_of(&s.batch), .columns = s.heads, .fixed = n == 5}},
                                .rows = s.batch.sequences,
                                .columns = s.columns,
                                .seed = (uint64_t)(10 * b + n),
                                .user = &s,
                                .run = run_attention,
                                .reference = reference_attention,
                                .checked = 100};
            operation_check(&c);
        }
    }
}

/* ---- window ---- */

static attn_variable *run_window(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                 void *user) {
    const sequence_case *s = user;
    passing_batch p;
    (void)parameter;
    attn_variable *y = attn_tape_window(tape, input[0], pass(&p, &s->batch), s->left, s->right);
    forget(&p);
    return y;
}

static void reference_window(double *const *input, double *const *parameter, double *result, void *user) {
    const sequence_case *s = user;
    (void)parameter;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        for (int64_t i = s->batch.offsets[b]; i < s->batch.offsets[b + 1]; i++) {
            for (int64_t j = i - s->left; j <= i + s->right; j++) {
                for (int64_t c = 0; c < s->columns; c++) {
                    int inside = j >= s->batch.offsets[b] && j < s->batch.offsets[b + 1];
                    *result++ = inside ? input[0][j * s->columns + c] : 0.0;
                }
            }
        }
    }
}

static void test_window(void **state) {
    (void)state;
    static const int64_t reach[][2] = {{0, 0}, {1, 1}, {2, 0}, {0, 3}, {4, 5}, {9, 1}};
    for (int b = 0; b < BATCHES; b++) {
        for (int n = 0; n < 6; n++) {
            sequence_case s = {
                .batch = batches[b], .columns = 1 + 6 * n % 19, .left = reach[n][0], .right = reach[n][1]};
            operation_case c = {.name = "window",
                                .inputs = 1,
                                .input = {{.rows = rows_of(&s.batch), .columns = s.columns}},
                                .rows = rows_of(&s.batch),
                                .columns = s.columns * (s.left + s.right + 1),
                                .seed = (uint64_t)(10 * b + n),
                                .user = &s,
                                .run = run_window,
                                .reference = reference_window,
                                .checked = 100};
            operation_check(&c);
        }
    }
}

/* ---- convolution ---- */

static attn_variable *run_convolution(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                      void *user) {
    const sequence_case *s = user;
    passing_batch p;
    attn_variable *y = attn_tape_convolution(tape, input[0], pass(&p, &s->batch), parameter[0],
                                             s->bias ? parameter[1] : NULL, &s->options);
    forget(&p);
    return y;
}

static double activate(attn_activation activation, double x) {
    switch (activation) {
    case ATTN_RELU: return x > 0.0 ? x : 0.0;
    case ATTN_GELU: return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    case ATTN_TANH: return tanh(x);
    default: return x;
    }
}

static void reference_convolution(double *const *input, double *const *parameter, double *result,
                                  void *user) {
    const sequence_case *s = user;
    const attn_convolution_options *o = &s->options;
    int64_t before = o->causal ? o->width - 1 : o->width / 2;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        for (int64_t i = s->batch.offsets[b]; i < s->batch.offsets[b + 1]; i++) {
            for (int64_t k = 0; k < s->out; k++) {
                double sum = s->bias ? parameter[1][k] : 0.0;
                for (int64_t t = 0; t < o->width; t++) {
                    int64_t j = i + (t - before) * o->dilation;
                    if (j < s->batch.offsets[b] || j >= s->batch.offsets[b + 1]) continue;
                    for (int64_t c = 0; c < s->columns; c++) {
                        sum +=
                            parameter[0][(k * o->width + t) * s->columns + c] * input[0][j * s->columns + c];
                    }
                }
                result[i * s->out + k] = activate(o->activation, sum);
            }
        }
    }
}

static operation_case convolution_case(sequence_case *s, uint64_t seed) {
    operation_case c = {.name = "convolution",
                        .inputs = 1,
                        .parameters = 1 + s->bias,
                        .input = {{.rows = rows_of(&s->batch), .columns = s->columns}},
                        .parameter = {{.rows = s->out, .depth = s->options.width, .columns = s->columns},
                                      {.columns = s->out}},
                        .rows = rows_of(&s->batch),
                        .columns = s->out,
                        .seed = seed,
                        .user = s,
                        .run = run_convolution,
                        .reference = reference_convolution,
                        .checked = 40};
    return c;
}

static void test_convolution(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7}, dilations[] = {1, 1, 2, 3};
    static const attn_activation activations[] = {ATTN_IDENTITY, ATTN_GELU, ATTN_TANH};
    int n = 0;
    for (int b = 0; b < BATCHES; b++) {
        for (int w = 0; w < 6; w++) {
            for (int causal = 0; causal < 2; causal++, n++) {
                sequence_case s = {
                    .batch = batches[b], .columns = 1 + 5 * n % 23, .out = 1 + 7 * n % 50, .bias = n % 2};
                attn_convolution_options_init(&s.options);
                s.options.width = widths[w];
                s.options.dilation = dilations[(n + b) % 4];
                s.options.causal = causal;
                s.options.activation = activations[n % 3];
                operation_case c = convolution_case(&s, (uint64_t)n);
                operation_check(&c);
            }
        }
    }
}

static void test_convolution_relu(void **state) {
    (void)state;
    sequence_case s = {.batch = {6, few}, .columns = 4, .out = 5, .bias = 1};
    attn_convolution_options_init(&s.options);
    s.options.activation = ATTN_RELU;
    operation_case c = convolution_case(&s, 2);
    operation_check(&c);
}

/* More columns than a panel and more outputs than a task; frozen ones, too. */
static void test_convolution_sizes(void **state) {
    (void)state;
    for (int n = 0; n < 3; n++) {
        sequence_case s = {.batch = {3, long_ones}, .columns = 32 + n, .out = 127 + 5 * n, .bias = 1};
        attn_convolution_options_init(&s.options);
        s.options.width = 5;
        operation_case c = convolution_case(&s, (uint64_t)n);
        c.checked = 10;
        c.input[0].fixed = n == 1;
        c.parameter[0].fixed = n == 2;
        operation_check(&c);
    }
}

/* More rows than a part of the depth: the gradient of the weight comes in parts. */
static void test_convolution_many_rows(void **state) {
    (void)state;
    int64_t offsets[MOST_SEQUENCES + 1] = {0};
    for (int b = 0; b < MOST_SEQUENCES; b++) offsets[b + 1] = offsets[b] + 57 * (b % 3);
    sequence_case s = {.batch = {MOST_SEQUENCES, offsets}, .columns = 3, .out = 2, .bias = 1};
    assert_true(offsets[MOST_SEQUENCES] > 2048);
    attn_convolution_options_init(&s.options);
    operation_case c = convolution_case(&s, 1);
    operation_check(&c);
}

/* ---- properties ---- */

typedef struct convolution {
    attn_parameters *set;
    attn_tape *tape;
    attn_parameter *weight, *bias;
} convolution;

static convolution convolution_create(attn_context *context, int64_t out, int64_t width, int64_t in) {
    convolution n;
    int64_t shape[3] = {out, width, in};
    assert_int_equal(attn_parameters_create(context, 3, &n.set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &n.tape), ATTN_OK);
    n.weight = attn_parameters_add(n.set, "w", 3, shape, NULL);
    n.bias = attn_parameters_add(n.set, "b", 1, &out, NULL);
    assert_int_equal(attn_parameters_status(n.set), ATTN_OK);
    return n;
}

static void convolution_destroy(convolution *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->set);
}

/* A gradient that arrives at one row of a causal convolution comes to that row
 * and rows before it in its sequence, and is exactly 0 elsewhere. */
static void test_causal(void **state) {
    (void)state;
    enum { IN = 6, OUT = 20, ROWS = 12, WIDTH = 3 };
    float x[ROWS * IN];
    test_random random = {17};
    for (int i = 0; i < ROWS * IN; i++) x[i] = random_normal(&random);
    attn_ragged batch = {6, few};
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    options.width = WIDTH;
    options.causal = 1;
    options.activation = ATTN_TANH;
    convolution n = convolution_create(test_best_context(2), OUT, WIDTH, IN);
    for (int64_t row = 0; row < ROWS; row++) {
        float g[ROWS * OUT] = {0};
        for (int c = 0; c < OUT; c++) g[row * OUT + c] = 1.0f;
        attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
        attn_variable *input = attn_tape_input(n.tape, x, ROWS, IN, 1);
        attn_variable *y = attn_tape_convolution(n.tape, input, &batch, n.weight, n.bias, &options);
        assert_int_equal(attn_tape_backward(n.tape, y, g), ATTN_OK);
        int64_t first = 0;
        for (int b = 0; b < 6; b++) {
            if (few[b] <= row && row < few[b + 1]) first = few[b];
        }
        for (int64_t i = 0; i < ROWS; i++) {
            int sees = i >= first && i <= row && i > row - WIDTH;
            for (int c = 0; c < IN; c++) {
                assert_true((host_gradient(input)[i * IN + c] != 0.0f) == sees);
            }
        }
    }
    convolution_destroy(&n);
}

/* A sequence alone gives the bits that it gives in a batch; x is a slice. */
static void test_alone(void **state) {
    (void)state;
    enum { IN = 8, OUT = 50, ROWS = 12, WIDE = 11, KINDS = 4 };
    float x[ROWS * WIDE], whole[KINDS][ROWS * OUT];
    test_random random = {29};
    for (int i = 0; i < ROWS * WIDE; i++) x[i] = random_normal(&random);
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        convolution n = convolution_create(test_context(isa, 2), OUT, 3, IN);
        for (int b = -1; b < 6; b++) { /* first all of them */
            int64_t first = b < 0 ? 0 : few[b], rows = b < 0 ? ROWS : few[b + 1] - few[b];
            int64_t alone[2] = {0, rows};
            attn_ragged batch = {b < 0 ? 6 : 1, b < 0 ? few : alone};
            attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
            attn_variable *wide = attn_tape_input(n.tape, x + first * WIDE, rows, WIDE, 1);
            attn_variable *part = attn_tape_slice(n.tape, wide, 1, IN);
            attn_variable *scores = attn_tape_slice(n.tape, wide, 9, 2);
            attn_variable *y[KINDS] = {
                attn_tape_convolution(n.tape, part, &batch, n.weight, n.bias, &options),
                attn_tape_window(n.tape, part, &batch, 1, 2),
                attn_tape_pool_attention(n.tape, part, scores, &batch),
                attn_tape_pool(n.tape, part, &batch, ATTN_POOL_MEAN),
            };
            assert_int_equal(attn_tape_status(n.tape), ATTN_OK);
            for (int k = 0; k < KINDS; k++) {
                int64_t columns = attn_variable_columns(y[k]), count = attn_variable_rows(y[k]) * columns;
                const float *data = host_data(y[k]);
                if (b < 0) {
                    memcpy(whole[k], data, (size_t)count * sizeof(float));
                } else if (count > 0) {
                    assert_memory_equal(whole[k] + (k < 2 ? first : b) * columns, data,
                                        (size_t)count * sizeof(float));
                }
            }
        }
        convolution_destroy(&n);
    }
}

/* ---- errors ---- */

static void expect(attn_tape *tape, const attn_variable *y, attn_status status, const char *text) {
    assert_null(y);
    assert_int_equal(attn_tape_status(tape), status);
    if (!strstr(attn_tape_error(tape), text))
        fail_msg("\"%s\" does not say \"%s\"", attn_tape_error(tape), text);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
}

static void test_errors(void **state) {
    (void)state;
    float numbers[12] = {0};
    int64_t offsets[] = {0, 4}, short_offsets[] = {0, 3};
    attn_ragged batch = {1, offsets}, bad = {1, short_offsets};
    convolution n = convolution_create(test_best_context(1), 2, 3, 3);
    attn_tape *t = n.tape;
    attn_tape_begin(t, ATTN_TAPE_TRAIN, 0);
#define X attn_tape_input(t, numbers, 4, 3, 0)
    expect(t, attn_tape_pool(t, NULL, &batch, ATTN_POOL_MEAN), ATTN_INVALID_ARGUMENT, "pool: x is NULL");
    expect(t, attn_tape_pool(t, X, NULL, ATTN_POOL_MEAN), ATTN_INVALID_ARGUMENT, "pool: batch is NULL");
    expect(t, attn_tape_pool(t, X, &bad, ATTN_POOL_MEAN), ATTN_SHAPE_MISMATCH, "pool: the offsets");
    expect(t, attn_tape_pool(t, X, &batch, (attn_pool)9), ATTN_INVALID_ARGUMENT, "pool: kind is 9");
    expect(t, attn_tape_pool_attention(t, X, NULL, &batch), ATTN_INVALID_ARGUMENT,
           "pool_attention: scores is NULL");
    expect(t, attn_tape_pool_attention(t, X, attn_tape_input(t, numbers, 4, 2, 0), &batch),
           ATTN_SHAPE_MISMATCH, "pool_attention: scores is 4 x 2, x 4 x 3");
    expect(t, attn_tape_pool_attention(t, X, attn_tape_input(t, numbers, 3, 1, 0), &batch),
           ATTN_SHAPE_MISMATCH, "pool_attention: scores is 3 x 1, x 4 x 3");
    expect(t, attn_tape_window(t, X, &batch, -1, 2), ATTN_INVALID_ARGUMENT, "window: left is -1 and right 2");
    expect(t, attn_tape_window(t, X, &batch, INT64_MAX, 2), ATTN_OVERFLOW, "are too many");
    expect(t, attn_tape_window(t, X, &bad, 1, 1), ATTN_SHAPE_MISMATCH, "window: the offsets");

    attn_convolution_options options;
    attn_convolution_options_init(&options);
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, NULL, NULL), ATTN_INVALID_ARGUMENT,
           "convolution: options is NULL");
    options.size = 1;
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, NULL, &options), ATTN_INVALID_ARGUMENT,
           "attn_convolution_options_init");
    attn_convolution_options_init(&options);
    options.dilation = 0;
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, NULL, &options), ATTN_INVALID_ARGUMENT,
           "width is 3 and dilation 0");
    options.dilation = 1;
    options.width = 5;
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, NULL, &options), ATTN_SHAPE_MISMATCH,
           "weight (w) is 2 x 3 x 3, out x 5 x 3 is needed");
    options.width = 3;
    expect(t, attn_tape_convolution(t, X, &batch, n.bias, NULL, &options), ATTN_SHAPE_MISMATCH,
           "weight (b) is 2, out x 3 x 3 is needed");
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, n.weight, &options), ATTN_SHAPE_MISMATCH,
           "bias (w) has 18 numbers, weight (w) has 2 rows");
    expect(t, attn_tape_convolution(t, X, &batch, NULL, NULL, &options), ATTN_INVALID_ARGUMENT,
           "convolution: weight is NULL");
    options.activation = (attn_activation)99;
    expect(t, attn_tape_convolution(t, X, &batch, n.weight, NULL, &options), ATTN_INVALID_ARGUMENT,
           "activation is 99");
#undef X
    convolution_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_ties),
        cmocka_unit_test(test_pool_attention),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_convolution_relu),
        cmocka_unit_test(test_convolution_sizes),
        cmocka_unit_test(test_convolution_many_rows),
        cmocka_unit_test(test_causal),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
