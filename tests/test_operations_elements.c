/* test_operations_elements.c: sums, products, activations, gates, columns side by
 * side and dropout on the tape.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/random.h"
#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

typedef enum element_kind {
    ADD,
    ADD_ROW,
    ADD_SELF,
    MULTIPLY,
    MULTIPLY_ROW,
    MULTIPLY_SELF,
    SCALE,
    ACTIVATION,
    GATE,
    CONCAT,
    KINDS
} element_kind;

static const char *const kind_names[KINDS] = {
    "add",           "add, one row", "add to itself", "multiply", "multiply, one row",
    "multiply self", "scale",        "activation",    "gate",     "concat"};

typedef struct element_case {
    element_kind kind;
    int64_t rows, columns;
    int64_t margin; /* > 0: operands are slices of inputs with so many columns more on either side */
    attn_activation activation;
} element_case;

enum { PARTS = 3 };

static int has_two(element_kind kind) {
    return kind == ADD || kind == ADD_ROW || kind == MULTIPLY || kind == MULTIPLY_ROW || kind == GATE;
}

static attn_variable *operand(attn_tape *tape, const element_case *e, attn_variable *x) {
    return e->margin ? attn_tape_slice(tape, x, e->margin, attn_variable_columns(x) - 2 * e->margin) : x;
}

static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const element_case *e = user;
    (void)parameter;
    attn_variable *a = operand(tape, e, input[0]);
    attn_variable *b = has_two(e->kind) ? operand(tape, e, input[1]) : NULL;
    switch (e->kind) {
    case ADD:
    case ADD_ROW: return attn_tape_add(tape, a, b);
    case ADD_SELF: return attn_tape_add(tape, a, a);
    case MULTIPLY:
    case MULTIPLY_ROW: return attn_tape_multiply(tape, a, b);
    case MULTIPLY_SELF: return attn_tape_multiply(tape, a, a);
    case SCALE: return attn_tape_scale(tape, a, -1.75f);
    case ACTIVATION: return attn_tape_activation(tape, a, e->activation);
    case GATE: return attn_tape_gate(tape, a, b, e->activation);
    default: break;
    }
    attn_variable *parts[PARTS + 1];
    for (int p = 0; p < PARTS; p++) parts[p] = operand(tape, e, input[p]);
    parts[PARTS] = parts[0]; /* a part that comes twice */
    return attn_tape_concat(tape, parts, PARTS + 1);
}

static int64_t columns_of_part(const element_case *e, int p) { return e->columns + 5 * (p % PARTS); }

static void reference_concat(double *const *input, double *result, const element_case *e) {
    int64_t columns = 0, first = 0;
    for (int p = 0; p <= PARTS; p++) columns += columns_of_part(e, p);
    for (int p = 0; p <= PARTS; p++) {
        int64_t width = columns_of_part(e, p), stride = width + 2 * e->margin;
        for (int64_t i = 0; i < e->rows; i++)
            for (int64_t j = 0; j < width; j++)
                result[i * columns + first + j] = input[p % PARTS][i * stride + e->margin + j];
        first += width;
    }
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const element_case *e = user;
    (void)parameter;
    if (e->kind == CONCAT) {
        reference_concat(input, result, e);
        return;
    }
    int64_t stride = e->columns + 2 * e->margin;
    int one_row = e->kind == ADD_ROW || e->kind == MULTIPLY_ROW;
    for (int64_t i = 0; i < e->rows; i++) {
        for (int64_t j = 0; j < e->columns; j++) {
            double a = input[0][i * stride + e->margin + j], b = a, y = 0.0;
            if (has_two(e->kind)) b = input[1][(one_row ? 0 : i) * stride + e->margin + j];
            switch (e->kind) {
            case ADD:
            case ADD_ROW:
            case ADD_SELF: y = a + b; break;
            case MULTIPLY:
            case MULTIPLY_ROW:
            case MULTIPLY_SELF: y = a * b; break;
            case SCALE: y = -1.75 * a; break;
            case ACTIVATION: y = ref_activation(e->activation, a); break;
            default: y = ref_activation(e->activation, a) * b; break;
            }
            result[i * e->columns + j] = y;
        }
    }
}

static void check(element_case e, uint64_t seed, int64_t checked) {
    int64_t width = e.columns + 2 * e.margin;
    operation_case c = {.name = kind_names[e.kind],
                        .inputs = has_two(e.kind) ? 2 : 1,
                        .rows = e.rows,
                        .columns = e.columns,
                        .seed = seed,
                        .user = &e,
                        .run = run,
                        .reference = reference,
                        .checked = checked};
    c.input[0].rows = c.input[1].rows = e.rows;
    c.input[0].columns = c.input[1].columns = width;
    if (e.kind == ADD_ROW || e.kind == MULTIPLY_ROW) c.input[1].rows = 1;
    if (e.kind == CONCAT) {
        c.inputs = PARTS;
        c.columns = columns_of_part(&e, 0);
        for (int p = 0; p < PARTS; p++) {
            c.input[p].rows = e.rows;
            c.input[p].columns = columns_of_part(&e, p) + 2 * e.margin;
            c.columns += columns_of_part(&e, p);
        }
    }
    operation_check(&c);
}

static void test_shapes(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 2, 7, 66}, columns[] = {1, 3, 15, 16, 17, 31, 33, 48};
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t seed = 100 * (uint64_t)kind;
        for (int r = 0; r < 5; r++) {
            for (int n = 0; n < 8; n++, seed++) {
                element_case e = {.kind = (element_kind)kind, .rows = rows[r], .columns = columns[n]};
                e.margin = seed % 3;
                e.activation = (attn_activation)(seed % 8);
                check(e, seed, 60);
            }
        }
    }
}

static void test_activations(void **state) {
    (void)state;
    for (int activation = ATTN_IDENTITY; activation <= ATTN_ELU; activation++) {
        for (int64_t columns = 5; columns < 80; columns += 27) {
            element_case e = {
                .kind = ACTIVATION, .rows = 3, .columns = columns, .activation = (attn_activation)activation};
            check(e, 1000 + (uint64_t)columns, 0);
            e.kind = GATE;
            check(e, 2000 + (uint64_t)columns, 0);
        }
    }
}

/* So large that threads are woken, and sums over rows take several chunks. */
static void test_large(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t margin = 0; margin < 4; margin += 3) {
            element_case e = {.kind = (element_kind)kind, .rows = 701, .columns = 257, .margin = margin};
            e.activation = ATTN_SILU;
            check(e, 3000 + (uint64_t)kind, 12);
        }
    }
}

/* Only what is asked for gets a gradient. */
static void test_fixed_inputs(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int fixed = 0; fixed < 2 && has_two((element_kind)kind); fixed++) {
            element_case e = {.kind = (element_kind)kind, .rows = 4, .columns = 19, .activation = ATTN_GELU};
            operation_case c = {.name = kind_names[kind],
                                .inputs = 2,
                                .input = {{.rows = 4, .columns = 19}, {.rows = 4, .columns = 19}},
                                .rows = 4,
                                .columns = 19,
                                .seed = 77,
                                .user = &e,
                                .run = run,
                                .reference = reference};
            if (kind == ADD_ROW || kind == MULTIPLY_ROW) c.input[1].rows = 1;
            c.input[fixed].fixed = 1;
            operation_check(&c);
        }
    }
}

/* ---- dropout ---- */

typedef struct dropped {
    float *y, *dx;
} dropped;

/* Two dropouts of ones, one after the other on a tape of its own: what the
 * `second` (0 or 1) gives, with a gradient of ones. */
static dropped drop(attn_context *context, int64_t rows, int64_t columns, float probability, uint64_t seed,
                    int second, float first_probability) {
    int64_t count = rows * columns;
    dropped out = {calloc((size_t)count, sizeof(float)), calloc((size_t)count, sizeof(float))};
    float *ones = calloc((size_t)count, sizeof(float));
    for (int64_t i = 0; i < count; i++) ones[i] = 1.0f;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, seed);
    attn_variable *x = attn_tape_input(tape, ones, rows, columns, 1);
    if (second) assert_non_null(attn_tape_dropout(tape, x, first_probability));
    attn_variable *y = attn_tape_dropout(tape, x, probability);
    assert_non_null(y);
    memcpy(out.y, host_data(y), (size_t)count * sizeof(float));
    assert_int_equal(attn_tape_backward(tape, y, ones), ATTN_OK);
    assert_non_null(host_gradient(x));
    memcpy(out.dx, host_gradient(x), (size_t)count * sizeof(float));
    attn_tape_destroy(tape);
    free(ones);
    return out;
}

static void free_dropped(dropped *d) {
    free(d->y);
    free(d->dx);
}

static int64_t count_equal(const float *a, const float *b, int64_t count) {
    int64_t equal = 0;
    for (int64_t i = 0; i < count; i++) equal += a[i] == b[i];
    return equal;
}

static void test_dropout_rate(void **state) {
    (void)state;
    enum { ROWS = 400, COLUMNS = 131, COUNT = ROWS * COLUMNS };
    static const float rates[] = {0.0f, 0.1f, 0.5f, 0.9f};
    for (int r = 0; r < 4; r++) {
        double p = rates[r];
        dropped d = drop(test_best_context(1), ROWS, COLUMNS, rates[r], 5, 0, 0.0f);
        int64_t zeros = 0, in_column[COLUMNS] = {0};
        for (int64_t i = 0; i < COUNT; i++) {
            assert_true(d.y[i] == 0.0f || fabs(d.y[i] * (1.0 - p) - 1.0) < 1e-6);
            assert_true(d.dx[i] == d.y[i]); /* the same mask, on a gradient of ones */
            zeros += d.y[i] == 0.0f;
            in_column[i % COLUMNS] += d.y[i] == 0.0f;
        }
        double deviation = sqrt(COUNT * p * (1.0 - p));
        assert_true(fabs(zeros - COUNT * p) <= 4.0 * deviation);
        for (int c = 0; c < COLUMNS; c++)
            assert_true(fabs(in_column[c] - ROWS * p) <= 5.0 * sqrt(ROWS * p * (1.0 - p)));
        free_dropped(&d);
    }
}

/* Neighbours are independent: as many pairs of zeros as chance gives. */
static void test_dropout_pairs(void **state) {
    (void)state;
    enum { ROWS = 500, COLUMNS = 200 };
    dropped d = drop(test_best_context(1), ROWS, COLUMNS, 0.5f, 9, 0, 0.0f);
    int64_t across = 0, down = 0, pairs = (ROWS - 1) * (COLUMNS - 1);
    for (int64_t i = 0; i + 1 < ROWS; i++) {
        for (int64_t j = 0; j + 1 < COLUMNS; j++) {
            const float *y = d.y + i * COLUMNS + j;
            across += y[0] == 0.0f && y[1] == 0.0f;
            down += y[0] == 0.0f && y[COLUMNS] == 0.0f;
        }
    }
    double deviation = sqrt((double)pairs * 0.25 * 0.75) * 1.5; /* overlapping pairs vary more */
    assert_true(fabs((double)across - (double)pairs * 0.25) < 4.0 * deviation);
    assert_true(fabs((double)down - (double)pairs * 0.25) < 4.0 * deviation);
    free_dropped(&d);
}

/* The mask is what base/random.h says, on every instruction set and with any number of threads. */
static void test_dropout_mask(void **state) {
    (void)state;
    enum { ROWS = 300 };
    static const int64_t widths[] = {1, 15, 16, 33, 200};
    for (int w = 0; w < 5; w++) {
        int64_t columns = widths[w];
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            if (!test_context(isa, 1)) continue;
            for (int threads = 1; threads <= 7; threads += 3) {
                dropped d = drop(test_context(isa, threads), ROWS, columns, 0.3f, 1234, 0, 0.0f);
                for (int64_t i = 0; i < ROWS; i++) {
                    at_row_key key = at_random_row(1234, 1, 0, i);
                    for (int64_t j = 0; j < columns; j++) {
                        int kept = at_random_word(key, (uint32_t)j) >= at_random_threshold(0.3f);
                        assert_true((d.y[i * columns + j] != 0.0f) == kept);
                        assert_true((d.dx[i * columns + j] != 0.0f) == kept);
                    }
                }
                free_dropped(&d);
            }
        }
    }
}

static void test_dropout_differs(void **state) {
    (void)state;
    enum { ROWS = 64, COLUMNS = 64, COUNT = ROWS * COLUMNS };
    attn_context *context = test_best_context(1);
    dropped a = drop(context, ROWS, COLUMNS, 0.5f, 1, 0, 0.0f),
            b = drop(context, ROWS, COLUMNS, 0.5f, 2, 0, 0.0f);
    dropped c = drop(context, ROWS, COLUMNS, 0.5f, 1, 1, 0.5f),
            d = drop(context, ROWS, COLUMNS, 0.5f, 1, 1, 0.0f);
    dropped e = drop(context, ROWS, COLUMNS, 0.5f, 1, 0, 0.0f);
    double half = COUNT / 2.0, allowed = 5.0 * sqrt(COUNT) / 2.0;
    assert_true(fabs((double)count_equal(a.y, b.y, COUNT) - half) < allowed); /* another seed */
    assert_true(fabs((double)count_equal(a.y, c.y, COUNT) - half) < allowed); /* another operation */
    assert_memory_equal(c.y, d.y, COUNT * sizeof(float)); /* whatever the first one's probability */
    assert_memory_equal(a.y, e.y, COUNT * sizeof(float)); /* the same again */
    free_dropped(&a);
    free_dropped(&b);
    free_dropped(&c);
    free_dropped(&d);
    free_dropped(&e);
}

/* A slice, a NaN that is dropped, and modes in which nothing happens. */
static void test_dropout_special(void **state) {
    (void)state;
    attn_tape *tape;
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    float x[4 * 40];
    for (int i = 0; i < 160; i++) x[i] = i % 40 < 7 ? NAN : (float)i;
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 3);
    attn_variable *whole = attn_tape_input(tape, x, 4, 40, 1);
    attn_variable *y = attn_tape_dropout(tape, attn_tape_slice(tape, whole, 7, 33), 0.5f);
    for (int i = 0; i < 4; i++) {
        at_row_key key = at_random_row(3, 1, 0, i);
        for (uint32_t j = 0; j < 33; j++) {
            float kept =
                at_random_word(key, j) >= at_random_threshold(0.5f) ? 2.0f * x[i * 40 + 7 + (int)j] : 0.0f;
            assert_true(host_data(y)[i * 33 + (int)j] == kept);
        }
    }
    attn_variable *nan = attn_tape_dropout(tape, attn_tape_slice(tape, whole, 0, 7), 0.9f);
    int zeros = 0;
    for (int i = 0; i < 28; i++) {
        assert_true(isnan(host_data(nan)[i]) || host_data(nan)[i] == 0.0f);
        zeros += host_data(nan)[i] == 0.0f;
    }
    assert_true(zeros > 10);
    attn_tape_mode modes[] = {ATTN_TAPE_PREDICT, ATTN_TAPE_GRADIENT};
    for (int m = 0; m < 2; m++) {
        attn_tape_begin(tape, modes[m], 3);
        attn_variable *v = attn_tape_input(tape, x, 4, 40, 1);
        assert_ptr_equal(attn_tape_dropout(tape, v, 0.5f), v);
    }
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 3);
    assert_non_null(attn_tape_dropout(tape, attn_tape_input(tape, x, 0, 40, 1), 0.5f));
    attn_tape_destroy(tape);
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
    attn_tape *tape;
    float x[64] = {0};
    assert_int_equal(attn_tape_create(test_best_context(1), &tape), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
#define INPUT(rows, columns) attn_tape_input(tape, x, rows, columns, 1)
    expect(tape, attn_tape_add(tape, INPUT(3, 4), INPUT(2, 4)), ATTN_SHAPE_MISMATCH,
           "add: a is 3 x 4, b is 2 x 4");
    expect(tape, attn_tape_add(tape, INPUT(1, 4), INPUT(2, 4)), ATTN_SHAPE_MISMATCH,
           "add: a is 1 x 4, b is 2 x 4");
    expect(tape, attn_tape_add(tape, INPUT(1, 4), NULL), ATTN_INVALID_ARGUMENT, "add: b is NULL");
    expect(tape, attn_tape_multiply(tape, INPUT(3, 4), INPUT(3, 5)), ATTN_SHAPE_MISMATCH,
           "multiply: a is 3 x 4, b is 3 x 5");
    expect(tape, attn_tape_scale(tape, NULL, 1.0f), ATTN_INVALID_ARGUMENT, "scale: x is NULL");
    expect(tape, attn_tape_gate(tape, INPUT(3, 4), INPUT(1, 4), ATTN_SILU), ATTN_SHAPE_MISMATCH,
           "gate: gate is 3 x 4, value is 1 x 4");
    expect(tape, attn_tape_gate(tape, INPUT(3, 4), INPUT(3, 4), (attn_activation)8), ATTN_INVALID_ARGUMENT,
           "gate: there is no activation 8");
    expect(tape, attn_tape_activation(tape, INPUT(3, 4), (attn_activation)-1), ATTN_INVALID_ARGUMENT,
           "activation: there is no activation -1");
    attn_variable *parts[2] = {INPUT(3, 4), INPUT(2, 4)};
    expect(tape, attn_tape_concat(tape, parts, 2), ATTN_SHAPE_MISMATCH,
           "concat: part 1 is 2 x 4, part 0 is 3 x 4");
    expect(tape, attn_tape_concat(tape, parts, 0), ATTN_INVALID_ARGUMENT, "concat: at least one part");
    expect(tape, attn_tape_concat(tape, NULL, 1), ATTN_INVALID_ARGUMENT, "concat: parts is NULL");
    expect(tape, attn_tape_slice(tape, INPUT(2, 5), 3, 3), ATTN_SHAPE_MISMATCH,
           "slice: 3 columns from 3 on are not in x, which is 2 x 5");
    expect(tape, attn_tape_dropout(tape, INPUT(2, 5), 1.0f), ATTN_INVALID_ARGUMENT, "a probability of 1");
    expect(tape, attn_tape_dropout(tape, INPUT(2, 5), NAN), ATTN_INVALID_ARGUMENT, "a probability of");
#undef INPUT
    attn_tape_destroy(tape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_activations),
        cmocka_unit_test(test_large),           cmocka_unit_test(test_fixed_inputs),
        cmocka_unit_test(test_dropout_rate),    cmocka_unit_test(test_dropout_pairs),
        cmocka_unit_test(test_dropout_mask),    cmocka_unit_test(test_dropout_differs),
        cmocka_unit_test(test_dropout_special), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
