/* test_operations_recurrent.c: recurrent networks against plain loops in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_SEQUENCES = 40 };

typedef struct recurrent_case {
    attn_recurrence kind;
    int directions;
    int biases; /* bit 0: of the input, bit 1: of the hidden state */
    int64_t in, hidden;
    attn_ragged batch;
} recurrent_case;

static int64_t gates_of(attn_recurrence kind) {
    return kind == ATTN_RNN_LSTM ? 4 : kind == ATTN_RNN_GRU ? 3 : 1;
}

/* The parameters of a direction: input, hidden, and the biases that there are. */
static int per_direction(const recurrent_case *r) { return 2 + (r->biases & 1) + (r->biases >> 1); }

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const recurrent_case *r = user;
    attn_recurrent_weights weights[2];
    int64_t offsets[MOST_SEQUENCES + 1];
    memcpy(offsets, r->batch.offsets, (size_t)(r->batch.sequences + 1) * sizeof *offsets);
    for (int d = 0; d < r->directions; d++) {
        attn_parameter **p = parameter + d * per_direction(r);
        weights[d].input = p[0];
        weights[d].hidden = p[1];
        weights[d].input_bias = r->biases & 1 ? p[2] : NULL;
        weights[d].hidden_bias = r->biases & 2 ? p[2 + (r->biases & 1)] : NULL;
    }
    attn_ragged batch = {r->batch.sequences, offsets};
    attn_variable *y = attn_tape_recurrent(tape, input[0], &batch, r->kind, weights, r->directions);
    memset(offsets, 0x55, sizeof offsets); /* the operation must not need them any more */
    memset(weights, 0, sizeof weights);
    return y;
}

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* One step: h and c in place. */
static void step(const recurrent_case *r, const double *x, double *const *p, double *h, double *c) {
    int64_t hidden = r->hidden, gates = gates_of(r->kind) * hidden;
    double *u = calloc((size_t)gates, sizeof *u), *v = calloc((size_t)gates, sizeof *v);
    assert_true(u && v);
    for (int64_t g = 0; g < gates; g++) {
        if (r->biases & 1) u[g] = p[2][g];
        if (r->biases & 2) v[g] = p[2 + (r->biases & 1)][g];
        for (int64_t k = 0; k < r->in; k++) u[g] += p[0][g * r->in + k] * x[k];
        for (int64_t k = 0; k < hidden; k++) v[g] += p[1][g * hidden + k] * h[k];
    }
    for (int64_t j = 0; j < hidden; j++) {
        if (r->kind == ATTN_RNN_TANH) {
            h[j] = tanh(u[j] + v[j]);
        } else if (r->kind == ATTN_RNN_GRU) {
            double reset = sigmoid(u[j] + v[j]), update = sigmoid(u[hidden + j] + v[hidden + j]);
            double n = tanh(u[2 * hidden + j] + reset * v[2 * hidden + j]);
            h[j] = (1.0 - update) * n + update * h[j];
        } else {
            double gate[4];
            for (int g = 0; g < 4; g++) gate[g] = u[g * hidden + j] + v[g * hidden + j];
            c[j] = sigmoid(gate[1]) * c[j] + sigmoid(gate[0]) * tanh(gate[2]);
            h[j] = sigmoid(gate[3]) * tanh(c[j]);
        }
    }
    free(u);
    free(v);
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const recurrent_case *r = user;
    double *h = calloc((size_t)r->hidden, sizeof *h), *c = calloc((size_t)r->hidden, sizeof *c);
    assert_true(h && c);
    for (int d = 0; d < r->directions; d++) {
        for (int64_t b = 0; b < r->batch.sequences; b++) {
            int64_t first = r->batch.offsets[b], length = r->batch.offsets[b + 1] - first;
            memset(h, 0, (size_t)r->hidden * sizeof *h);
            memset(c, 0, (size_t)r->hidden * sizeof *c);
            for (int64_t t = 0; t < length; t++) {
                int64_t row = first + (d ? length - 1 - t : t);
                step(r, input[0] + row * r->in, parameter + d * per_direction(r), h, c);
                memcpy(result + (row * r->directions + d) * r->hidden, h, (size_t)r->hidden * sizeof *h);
            }
        }
    }
    free(h);
    free(c);
}

static operation_case case_of(recurrent_case *r, const char *name, uint64_t seed) {
    int64_t rows = r->batch.offsets[r->batch.sequences], gates = gates_of(r->kind) * r->hidden;
    operation_case c = {.name = name,
                        .inputs = 1,
                        .parameters = r->directions * per_direction(r),
                        .input = {{.rows = rows, .columns = r->in}},
                        .rows = rows,
                        .columns = r->directions * r->hidden,
                        .seed = seed,
                        .user = r,
                        .run = run,
                        .reference = reference};
    for (int d = 0; d < r->directions; d++) {
        operation_tensor *p = c.parameter + d * per_direction(r);
        operation_tensor input = {.rows = gates, .columns = r->in, .amplitude = 0.5f};
        operation_tensor hidden = {.rows = gates, .columns = r->hidden, .amplitude = 0.5f};
        operation_tensor bias = {.columns = gates, .amplitude = 0.5f};
        *p++ = input;
        *p++ = hidden;
        if (r->biases & 1) *p++ = bias;
        if (r->biases & 2) *p++ = bias;
    }
    return c;
}

static const int64_t nothing[] = {0}, empty[] = {0, 0, 0}, one_row[] = {0, 1}, one[] = {0, 6},
                     few[] = {0, 2, 2, 7, 8, 12, 12}, equal[] = {0, 3, 6, 9};
static const attn_ragged batches[] = {{0, nothing}, {2, empty}, {1, one_row}, {1, one}, {6, few}, {3, equal}};

static void test_kinds(void **state) {
    (void)state;
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int directions = 1; directions <= 2; directions++) {
            for (int b = 0; b < 6; b++) {
                recurrent_case r = {(attn_recurrence)kind, directions, (b + kind + directions) % 4,
                                    1 + (b + kind) % 4,    1 + b,      batches[b]};
                char name[80];
                snprintf(name, sizeof name, "recurrent %d, %d directions, batch %d", kind, directions, b);
                operation_case c = case_of(&r, name, (uint64_t)(100 * kind + 10 * directions + b));
                operation_check(&c);
            }
        }
    }
}

static void test_biases(void **state) {
    (void)state;
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int biases = 0; biases < 4; biases++) {
            recurrent_case r = {(attn_recurrence)kind, 2, biases, 3, 2, {6, few}};
            operation_case c = case_of(&r, "biases", (uint64_t)(10 * kind + biases));
            operation_check(&c);
        }
    }
}

/* Around the widths of vectors and panels; the weights are smaller, so that the
 * gates are not all shut. */
static void test_sizes(void **state) {
    (void)state;
    static const int64_t hidden[] = {15, 16, 17, 33, 48, 50};
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int n = 0; n < 6; n++) {
            recurrent_case r = {(attn_recurrence)kind, 1 + n % 2, 3, 5 + n, hidden[n], {6, few}};
            operation_case c = case_of(&r, "sizes", (uint64_t)(10 * kind + n));
            for (int p = 0; p < c.parameters; p++) c.parameter[p].amplitude = 0.2f;
            c.checked = 12;
            operation_check(&c);
        }
    }
}

/* Many sequences: dealt out to several tasks where there are several threads. */
static void test_many_sequences(void **state) {
    (void)state;
    int64_t offsets[MOST_SEQUENCES + 1] = {0};
    test_random random = {5};
    for (int b = 0; b < MOST_SEQUENCES; b++) {
        offsets[b + 1] = offsets[b] + random_between(&random, 0, 8);
    }
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int directions = 1; directions <= 2; directions++) {
            recurrent_case r = {(attn_recurrence)kind, directions, 3, 4, 33, {MOST_SEQUENCES, offsets}};
            operation_case c = case_of(&r, "many sequences", (uint64_t)kind);
            for (int p = 0; p < c.parameters; p++) c.parameter[p].amplitude = 0.2f;
            c.checked = 5;
            operation_check(&c);
        }
    }
}

/* Some parameters learn, some do not, and the input does not. */
static void test_frozen(void **state) {
    (void)state;
    for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
        for (int fixed = 0; fixed < 4; fixed++) {
            recurrent_case r = {(attn_recurrence)kind, 1, 3, 3, 4, {6, few}};
            operation_case c = case_of(&r, "frozen", 1);
            c.input[0].fixed = fixed != 0;
            for (int p = 0; p < 4; p++) c.parameter[p].fixed = p != fixed;
            operation_check(&c);
        }
    }
}

/* ---- properties ---- */

typedef struct network {
    attn_parameters *set;
    attn_tape *tape;
    attn_recurrent_weights weights[2];
} network;

static network network_create(attn_context *context, attn_recurrence kind, int64_t in, int64_t hidden) {
    network n;
    assert_int_equal(attn_parameters_create(context, 3, &n.set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &n.tape), ATTN_OK);
    int64_t gates = gates_of(kind) * hidden, input[2] = {gates, in}, square[2] = {gates, hidden};
    for (int d = 0; d < 2; d++) {
        char name[4][8];
        for (int p = 0; p < 4; p++) snprintf(name[p], sizeof name[p], "%d.%d", d, p);
        n.weights[d].input = attn_parameters_add(n.set, name[0], 2, input, NULL);
        n.weights[d].hidden = attn_parameters_add(n.set, name[1], 2, square, NULL);
        attn_parameter_options options;
        attn_parameter_options_init(&options);
        options.initial = ATTN_INITIAL_NORMAL;
        options.scale = 0.3f;
        n.weights[d].input_bias = attn_parameters_add(n.set, name[2], 1, &gates, &options);
        n.weights[d].hidden_bias = attn_parameters_add(n.set, name[3], 1, &gates, &options);
    }
    assert_int_equal(attn_parameters_status(n.set), ATTN_OK);
    return n;
}

static void network_destroy(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->set);
}

/* A sequence alone gives the bits that it gives in a batch, and so does its
 * gradient. The input is a slice, too. */
static void test_alone(void **state) {
    (void)state;
    enum { IN = 5, HIDDEN = 50, ROWS = 12, WIDE = 9 };
    float x[ROWS * WIDE], g[ROWS * 2 * HIDDEN], whole[ROWS * 2 * HIDDEN], dx[ROWS * WIDE];
    test_random random = {17};
    for (int i = 0; i < ROWS * WIDE; i++) x[i] = random_normal(&random);
    for (int i = 0; i < ROWS * 2 * HIDDEN; i++) g[i] = random_normal(&random);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        for (int kind = ATTN_RNN_TANH; kind <= ATTN_RNN_LSTM; kind++) {
            network n = network_create(test_context(isa, 2), (attn_recurrence)kind, IN, HIDDEN);
            for (int b = -1; b < 6; b++) { /* first all of them */
                int64_t first = b < 0 ? 0 : few[b], rows = b < 0 ? ROWS : few[b + 1] - few[b];
                int64_t alone[2] = {0, rows};
                attn_ragged batch = {b < 0 ? 6 : 1, b < 0 ? few : alone};
                attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
                attn_variable *wide = attn_tape_input(n.tape, x + first * WIDE, rows, WIDE, 1);
                attn_variable *y = attn_tape_recurrent(n.tape, attn_tape_slice(n.tape, wide, 2, IN), &batch,
                                                       (attn_recurrence)kind, n.weights, 2);
                assert_non_null(y);
                assert_int_equal(attn_tape_backward(n.tape, y, g + first * 2 * HIDDEN), ATTN_OK);
                if (b < 0) {
                    memcpy(whole, host_data(y), sizeof whole);
                    memcpy(dx, host_gradient(wide), sizeof dx);
                } else if (rows > 0) {
                    assert_memory_equal(whole + first * 2 * HIDDEN, host_data(y),
                                        (size_t)(rows * 2 * HIDDEN) * sizeof(float));
                    assert_memory_equal(dx + first * WIDE, host_gradient(wide),
                                        (size_t)(rows * WIDE) * sizeof(float));
                }
            }
            network_destroy(&n);
        }
    }
}

/* The backward direction is the forward one over reversed sequences. */
static void test_reversed(void **state) {
    (void)state;
    enum { IN = 3, HIDDEN = 20, ROWS = 12 };
    float x[ROWS * IN], turned[ROWS * IN];
    test_random random = {23};
    for (int i = 0; i < ROWS * IN; i++) x[i] = random_normal(&random);
    for (int b = 0; b < 6; b++) {
        for (int64_t i = few[b]; i < few[b + 1]; i++) {
            memcpy(turned + i * IN, x + (few[b] + few[b + 1] - 1 - i) * IN, IN * sizeof(float));
        }
    }
    attn_ragged batch = {6, few};
    network n = network_create(test_best_context(1), ATTN_RNN_LSTM, IN, HIDDEN);
    attn_recurrent_weights same[2] = {n.weights[0], n.weights[0]};
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y =
        attn_tape_recurrent(n.tape, attn_tape_input(n.tape, x, ROWS, IN, 0), &batch, ATTN_RNN_LSTM, same, 2);
    attn_variable *z = attn_tape_recurrent(n.tape, attn_tape_input(n.tape, turned, ROWS, IN, 0), &batch,
                                           ATTN_RNN_LSTM, same, 1);
    assert_true(y && z);
    for (int b = 0; b < 6; b++) {
        for (int64_t i = few[b]; i < few[b + 1]; i++) {
            assert_memory_equal(host_data(y) + i * 2 * HIDDEN + HIDDEN,
                                host_data(z) + (few[b] + few[b + 1] - 1 - i) * HIDDEN,
                                HIDDEN * sizeof(float));
        }
    }
    network_destroy(&n);
}

static void test_errors(void **state) {
    (void)state;
    network n = network_create(test_best_context(1), ATTN_RNN_GRU, 3, 2);
    float x[12] = {0};
    int64_t offsets[] = {0, 4}, falling[] = {0, 3, 2, 4};
    attn_ragged batch = {1, offsets}, bad = {3, falling};
    attn_recurrent_weights w[2] = {n.weights[0], n.weights[1]};
    struct {
        attn_recurrence kind;
        int directions;
        const attn_recurrent_weights *weights;
        const attn_ragged *batch;
        attn_parameter *input, *hidden_bias;
        const char *text;
    } wrong[] = {
        {(attn_recurrence)7, 1, w, &batch, w[1].input, NULL, "recurrent: kind is 7"},
        {ATTN_RNN_GRU, 3, w, &batch, w[1].input, NULL, "recurrent: directions is 3, not 1 or 2"},
        {ATTN_RNN_GRU, 2, NULL, &batch, w[1].input, NULL, "recurrent: weights is NULL"},
        {ATTN_RNN_LSTM, 1, w, &batch, w[1].input, NULL, "weights[0].hidden (0.1) is 6 x 2, 8 x 2 is needed"},
        {ATTN_RNN_GRU, 2, w, &batch, NULL, NULL, "recurrent: weights[1].input is NULL"},
        {ATTN_RNN_GRU, 2, w, &batch, w[1].hidden, NULL, "weights[1].input (1.1) is 6 x 2, 6 x 3 is needed"},
        {ATTN_RNN_GRU, 2, w, &batch, w[1].input, w[0].hidden,
         "weights[1].hidden_bias (0.1) has 12 numbers, 6 are needed"},
        {ATTN_RNN_GRU, 2, w, NULL, w[1].input, NULL, "recurrent: batch is NULL"},
        {ATTN_RNN_GRU, 2, w, &bad, w[1].input, NULL, "recurrent: the offsets of the batch must rise"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        w[1].input = wrong[i].input;
        w[1].hidden_bias = wrong[i].hidden_bias;
        attn_tape_begin(n.tape, ATTN_TAPE_TRAIN, 0);
        assert_null(attn_tape_recurrent(n.tape, attn_tape_input(n.tape, x, 4, 3, 0), wrong[i].batch,
                                        wrong[i].kind, wrong[i].weights, wrong[i].directions));
        if (!strstr(attn_tape_error(n.tape), wrong[i].text)) {
            fail_msg("\"%s\" does not say \"%s\"", attn_tape_error(n.tape), wrong[i].text);
        }
    }
    attn_tape_begin(n.tape, ATTN_TAPE_TRAIN, 0);
    assert_null(attn_tape_recurrent(n.tape, NULL, &batch, ATTN_RNN_GRU, n.weights, 1));
    assert_non_null(strstr(attn_tape_error(n.tape), "recurrent: x is NULL"));
    network_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),          cmocka_unit_test(test_biases), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_many_sequences), cmocka_unit_test(test_frozen), cmocka_unit_test(test_alone),
        cmocka_unit_test(test_reversed),       cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
