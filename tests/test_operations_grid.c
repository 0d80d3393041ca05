/* test_operations_grid.c: convolutions over grids, and the mixers that are made of them, against plain loops
 * in double.
 *
 *   - grids of all sizes in one batch: none, 1 x 1, one line, one column, windows larger than the grid
 *   - a row sees its square and nothing else, its own grid and no other
 *   - on a grid of one line, a convolution along the sequence
 *   - what is unfolded is read and written within its bounds (guard pages)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "ops/window.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/memory.h"
#include "support/operation.h"
#include "support/random.h"

enum { MOST_GRIDS = 8 };

typedef struct grid_batch {
    int count;
    int64_t heights[MOST_GRIDS], widths[MOST_GRIDS];
} grid_batch;

static const grid_batch batches[] = {
    {0, {0}, {0}},
    {2, {0, 3}, {7, 0}},
    {1, {1}, {1}},
    {1, {1}, {6}},
    {1, {6}, {1}},
    {1, {3}, {4}},
    {6, {2, 0, 1, 4, 5, 3}, {3, 0, 1, 2, 1, 5}},
    {4, {5, 1, 9, 7}, {7, 40, 4, 5}}, /* more rows than a task has */
};
enum { BATCHES = sizeof batches / sizeof batches[0] };

typedef struct grid_case {
    const grid_batch *grids;
    int64_t columns, out;
    int bias;
    attn_convolution_options options;
    attn_mixer_kind kind; /* of a mixer */
    attn_mixer *mixer;
} grid_case;

/* The grids in memory that is gone after the operation. */
typedef struct passing_grids {
    int64_t offsets[MOST_GRIDS + 1], heights[MOST_GRIDS], widths[MOST_GRIDS];
    attn_grids grids;
} passing_grids;

static const attn_grids *pass(passing_grids *p, const grid_batch *batch) {
    memset(p, 0, sizeof *p);
    for (int b = 0; b < batch->count; b++) {
        p->heights[b] = batch->heights[b];
        p->widths[b] = batch->widths[b];
        p->offsets[b + 1] = p->offsets[b] + p->heights[b] * p->widths[b];
    }
    p->grids = (attn_grids){{batch->count, p->offsets}, p->heights, p->widths};
    return &p->grids;
}

static int64_t rows_of(const grid_batch *batch) {
    passing_grids p;
    return pass(&p, batch)->batch.offsets[batch->count];
}

/* ---- the operation ---- */

static attn_variable *run_convolution(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                      void *user) {
    const grid_case *s = user;
    passing_grids p;
    attn_variable *y = attn_tape_convolution_grid(tape, input[0], pass(&p, s->grids), parameter[0],
                                                  s->bias ? parameter[1] : NULL, &s->options);
    memset(&p, 0x55, sizeof p);
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

/* Result k of the row in line i, column j of a grid. */
static double reference_number(const grid_case *s, const double *x, double *const *parameter, int64_t height,
                               int64_t width, int64_t i, int64_t j, int64_t k) {
    const attn_convolution_options *o = &s->options;
    double sum = s->bias ? parameter[1][k] : 0.0;
    for (int64_t v = 0; v < o->width; v++) {
        for (int64_t u = 0; u < o->width; u++) {
            int64_t line = i + (v - o->width / 2) * o->dilation, place = j + (u - o->width / 2) * o->dilation;
            if (line < 0 || line >= height || place < 0 || place >= width) continue;
            const double *row = x + (line * width + place) * s->columns;
            const double *weight = parameter[0] + ((k * o->width + v) * o->width + u) * s->columns;
            for (int64_t c = 0; c < s->columns; c++) sum += weight[c] * row[c];
        }
    }
    return activate(o->activation, sum);
}

static void reference_convolution(double *const *input, double *const *parameter, double *result,
                                  void *user) {
    const grid_case *s = user;
    const double *x = input[0];
    for (int b = 0; b < s->grids->count; b++) {
        int64_t height = s->grids->heights[b], width = s->grids->widths[b];
        for (int64_t t = 0; t < height * width; t++) {
            for (int64_t k = 0; k < s->out; k++)
                *result++ = reference_number(s, x, parameter, height, width, t / width, t % width, k);
        }
        x += height * width * s->columns;
    }
}

static operation_case convolution_case(grid_case *s, uint64_t seed) {
    int64_t width = s->options.width;
    operation_case c = {
        .name = "convolution_grid",
        .inputs = 1,
        .parameters = 1 + s->bias,
        .input = {{.rows = rows_of(s->grids), .columns = s->columns}},
        .parameter = {{.rows = s->out, .depth = width * width, .columns = s->columns}, {.columns = s->out}},
        .rows = rows_of(s->grids),
        .columns = s->out,
        .seed = seed,
        .user = s,
        .run = run_convolution,
        .reference = reference_convolution,
        .checked = 30};
    return c;
}

static void test_convolution(void **state) {
    (void)state;
    static const int64_t dilations[] = {1, 1, 2, 3};
    static const attn_activation activations[] = {ATTN_IDENTITY, ATTN_GELU, ATTN_TANH};
    int n = 0;
    for (int b = 0; b < BATCHES; b++) {
        for (int64_t width = 1; width <= 5; width++, n++) {
            grid_case s = {
                .grids = &batches[b], .columns = 1 + 5 * n % 23, .out = 1 + 7 * n % 50, .bias = n % 2};
            attn_convolution_options_init(&s.options);
            s.options.width = width;
            s.options.dilation = dilations[(n + b) % 4];
            s.options.activation = activations[n % 3];
            operation_case c = convolution_case(&s, (uint64_t)n);
            operation_check(&c);
        }
    }
}

static void test_convolution_relu(void **state) {
    (void)state;
    grid_case s = {.grids = &batches[6], .columns = 4, .out = 5, .bias = 1};
    attn_convolution_options_init(&s.options);
    s.options.activation = ATTN_RELU;
    operation_case c = convolution_case(&s, 2);
    operation_check(&c);
}

/* More columns than a panel and more outputs than a task; frozen ones, too. */
static void test_convolution_sizes(void **state) {
    (void)state;
    for (int n = 0; n < 3; n++) {
        grid_case s = {.grids = &batches[7], .columns = 32 + n, .out = 127 + 5 * n, .bias = 1};
        attn_convolution_options_init(&s.options);
        operation_case c = convolution_case(&s, (uint64_t)n);
        c.checked = 8;
        c.input[0].fixed = n == 1;
        c.parameter[0].fixed = n == 2;
        operation_check(&c);
    }
}

/* More rows than a part of the depth: the gradient of the weight comes in parts. */
static void test_convolution_many_rows(void **state) {
    (void)state;
    static const grid_batch large = {3, {40, 0, 33}, {37, 5, 21}};
    grid_case s = {.grids = &large, .columns = 3, .out = 2, .bias = 1};
    assert_true(rows_of(&large) > 2048);
    attn_convolution_options_init(&s.options);
    operation_case c = convolution_case(&s, 1);
    operation_check(&c);
}

/* ---- mixers ---- */

static void build_mixer(attn_parameters *set, void *user) {
    grid_case *s = user;
    attn_mixer_options o;
    attn_mixer_options_init(&o);
    o.kind = s->kind;
    o.columns = s->columns;
    o.width = s->options.width;
    o.dilation = 2; /* of cnn alone */
    o.activation = s->options.activation;
    o.grid = 1;
    s->mixer = attn_mixer_create(set, "mixer", &o);
    if (!s->mixer) fail_msg("%s", attn_parameters_error(set));
}

static attn_variable *run_mixer(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                void *user) {
    const grid_case *s = user;
    passing_grids p;
    attn_places places;
    (void)parameter;
    attn_places_init(&places);
    pass(&p, s->grids);
    places.batch = p.grids.batch;
    places.heights = p.heights;
    places.widths = p.widths;
    attn_variable *y = attn_mixer_apply(tape, s->mixer, input[0], &places);
    memset(&p, 0x55, sizeof p);
    return y;
}

static void test_mixers(void **state) {
    (void)state;
    for (int kind = ATTN_MIXER_CNN; kind <= ATTN_MIXER_FC; kind++) {
        grid_case s = {
            .grids = &batches[6], .columns = 9, .out = 9, .bias = 1, .kind = (attn_mixer_kind)kind};
        attn_convolution_options_init(&s.options);
        s.options.dilation = kind == ATTN_MIXER_CNN ? 2 : 1;
        s.options.activation = ATTN_GELU;
        operation_case c = convolution_case(&s, (uint64_t)kind);
        c.parameters = 0;
        c.build = build_mixer;
        c.run = run_mixer;
        operation_check(&c);
    }
}

static void test_mixer_errors(void **state) {
    (void)state;
    static const struct {
        int causal;
        int64_t width;
        attn_status status;
        const char *text;
    } wrong[] = {{1, 3, ATTN_UNSUPPORTED, "the rows of a grid have no order"},
                 {0, 32768, ATTN_INVALID_ARGUMENT, "at most 32767"}};
    attn_mixer_options o;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    for (int kind = ATTN_MIXER_CNN; kind <= ATTN_MIXER_FC; kind++) {
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
            attn_mixer_options_init(&o);
            o.kind = (attn_mixer_kind)kind;
            o.grid = 1;
            o.causal = wrong[w].causal;
            o.width = wrong[w].width;
            assert_null(attn_mixer_create(set, "mixer", &o));
            assert_int_equal(attn_parameters_status(set), wrong[w].status);
            assert_non_null(strstr(attn_parameters_error(set), wrong[w].text));
            attn_parameters_destroy(set);
        }
        assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
        attn_mixer_options_init(&o);
        o.kind = (attn_mixer_kind)kind;
        o.grid = 1;
        o.width = 1; /* even so */
        attn_mixer *mixer = attn_mixer_create(set, "mixer", &o);
        attn_mixer_state *kept = NULL;
        assert_int_equal(attn_mixer_state_create(context, mixer, 8, &kept), ATTN_UNSUPPORTED);
        assert_non_null(strstr(attn_context_error(context), "square of a grid"));
        attn_tape *tape;
        static const int64_t offsets[] = {0, 1};
        static const float x[64] = {0};
        assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){1, offsets};
        assert_null(attn_mixer_apply(tape, mixer, attn_tape_input(tape, x, 1, 64, 0), &places));
        assert_int_equal(attn_tape_status(tape), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_tape_error(tape), "mixer: places.heights is NULL"));
        attn_tape_destroy(tape);
        attn_parameters_destroy(set);
    }
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

/* The grid of a row, and its line and column there. */
static void find(const grid_batch *grids, int64_t row, int64_t place[3]) {
    place[0] = 0;
    while (row >= grids->heights[place[0]] * grids->widths[place[0]]) {
        row -= grids->heights[place[0]] * grids->widths[place[0]];
        place[0]++;
    }
    place[1] = row / grids->widths[place[0]];
    place[2] = row % grids->widths[place[0]];
}

/* A gradient that arrives at one row comes to the square around it, and is exactly 0 elsewhere. */
static void test_square(void **state) {
    (void)state;
    enum { IN = 6, OUT = 20, ROWS = 35, WIDTH = 3 };
    const grid_batch *grids = &batches[6];
    assert_int_equal(rows_of(grids), ROWS);
    float x[ROWS * IN];
    test_random random = {17};
    for (int i = 0; i < ROWS * IN; i++) x[i] = random_normal(&random);
    passing_grids p;
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    options.activation = ATTN_TANH;
    convolution n = convolution_create(test_best_context(2), OUT, WIDTH * WIDTH, IN);
    for (int64_t row = 0; row < ROWS; row++) {
        float g[ROWS * OUT] = {0};
        int64_t own[3], other[3];
        find(grids, row, own);
        for (int c = 0; c < OUT; c++) g[row * OUT + c] = 1.0f;
        attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
        attn_variable *input = attn_tape_input(n.tape, x, ROWS, IN, 1);
        attn_variable *y =
            attn_tape_convolution_grid(n.tape, input, pass(&p, grids), n.weight, n.bias, &options);
        assert_int_equal(attn_tape_backward(n.tape, y, g), ATTN_OK);
        for (int64_t i = 0; i < ROWS; i++) {
            find(grids, i, other);
            int sees = own[0] == other[0] && llabs(own[1] - other[1]) <= 1 && llabs(own[2] - other[2]) <= 1;
            for (int c = 0; c < IN; c++) assert_true((host_gradient(input)[i * IN + c] != 0.0f) == sees);
        }
    }
    convolution_destroy(&n);
}

/* A grid alone gives the bits that it gives in a batch; x is a slice. */
static void test_alone(void **state) {
    (void)state;
    enum { IN = 8, OUT = 50, ROWS = 35, WIDE = 11 };
    const grid_batch *grids = &batches[6];
    float x[ROWS * WIDE], whole[ROWS * OUT];
    test_random random = {29};
    for (int i = 0; i < ROWS * WIDE; i++) x[i] = random_normal(&random);
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (!test_context(isa, 2)) continue;
        convolution n = convolution_create(test_context(isa, 2), OUT, 9, IN);
        int64_t first = 0;
        for (int b = -1; b < grids->count; b++) { /* first all of them */
            grid_batch one = {1, {b < 0 ? 0 : grids->heights[b]}, {b < 0 ? 0 : grids->widths[b]}};
            passing_grids p;
            int64_t rows = b < 0 ? ROWS : rows_of(&one);
            attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
            attn_variable *wide = attn_tape_input(n.tape, x + first * WIDE, rows, WIDE, 1);
            attn_variable *y =
                attn_tape_convolution_grid(n.tape, attn_tape_slice(n.tape, wide, 1, IN),
                                           pass(&p, b < 0 ? grids : &one), n.weight, n.bias, &options);
            if (!y) fail_msg("%s", attn_tape_error(n.tape));
            if (b < 0) {
                memcpy(whole, host_data(y), sizeof whole);
            } else if (rows > 0) {
                assert_memory_equal(whole + first * OUT, host_data(y), (size_t)(rows * OUT) * sizeof(float));
            }
            first += b < 0 ? 0 : rows;
        }
        convolution_destroy(&n);
    }
}

/* On grids of one line only the middle line of the square counts, and it is a convolution along the sequence.
 */
static void test_one_line(void **state) {
    (void)state;
    enum { IN = 5, OUT = 7, ROWS = 13, WIDTH = 3 };
    static const grid_batch lines = {3, {1, 1, 1}, {5, 1, 7}};
    float x[ROWS * IN], weight[OUT * WIDTH * WIDTH * IN], line[OUT * WIDTH * IN];
    test_random random = {31};
    for (int i = 0; i < ROWS * IN; i++) x[i] = random_normal(&random);
    for (int i = 0; i < OUT * WIDTH * WIDTH * IN; i++) weight[i] = random_normal(&random);
    for (int k = 0; k < OUT; k++)
        memcpy(line + k * WIDTH * IN, weight + (k * WIDTH + 1) * WIDTH * IN, WIDTH * IN * sizeof *line);
    convolution flat = convolution_create(test_best_context(1), OUT, WIDTH, IN);
    convolution square = convolution_create(test_best_context(1), OUT, WIDTH * WIDTH, IN);
    host_set_value(flat.weight, line);
    host_set_value(square.weight, weight);
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    passing_grids p;
    pass(&p, &lines);
    attn_tape_begin(flat.tape, ATTN_TAPE_PREDICT, 0);
    attn_tape_begin(square.tape, ATTN_TAPE_PREDICT, 0);
    const float *along = host_data(attn_tape_convolution(
        flat.tape, attn_tape_input(flat.tape, x, ROWS, IN, 0), &p.grids.batch, flat.weight, NULL, &options));
    const float *around = host_data(attn_tape_convolution_grid(
        square.tape, attn_tape_input(square.tape, x, ROWS, IN, 0), &p.grids, square.weight, NULL, &options));
    for (int i = 0; i < ROWS * OUT; i++) assert_float_equal(along[i], around[i], 1e-5);
    convolution_destroy(&flat);
    convolution_destroy(&square);
}

/* ---- bounds ---- */

/* Columns from .. of the unfolded rows row .. row_end - 1, against the definition. */
static void check_unfolded(const at_window *window, const grid_batch *grids, const float *x, int64_t columns,
                           int64_t row, int64_t row_end, int64_t from, int64_t count, const float *y) {
    int64_t first[MOST_GRIDS + 1] = {0}, place[3];
    for (int b = 0; b < grids->count; b++) first[b + 1] = first[b] + grids->heights[b] * grids->widths[b];
    for (int64_t i = row; i < row_end; i++) {
        find(grids, i, place);
        for (int64_t c = from; c < from + count; c++) {
            int64_t t = c / columns, height = grids->heights[place[0]], width = grids->widths[place[0]];
            int64_t line = place[1] + window->first + t / window->side * window->step;
            int64_t along = place[2] + window->first + t % window->side * window->step;
            int inside = line >= 0 && line < height && along >= 0 && along < width;
            float expected =
                inside ? x[(first[place[0]] + line * width + along) * columns + c % columns] : 0.0f;
            assert_true(*y++ == expected);
        }
    }
}

static void test_guarded(void **state) {
    (void)state;
    enum { COLUMNS = 3 };
    static const memory_kind guards[2] = {MEMORY_GUARD_AFTER, MEMORY_GUARD_BEFORE};
    test_random random = {5};
    for (int n = 0; n < 300; n++) {
        const grid_batch *grids = &batches[2 + n % (BATCHES - 2)];
        int64_t rows = rows_of(grids), side = random_between(&random, 1, 4);
        int64_t all = side * side * COLUMNS, row = random_between(&random, 0, rows - 1);
        int64_t end = random_between(&random, row, rows), from = random_between(&random, 0, all - 1);
        int64_t count = random_between(&random, 1, all - from);
        passing_grids p;
        pass(&p, grids);
        memory_block x = memory_create(guards[n % 2], (size_t)(rows * COLUMNS) * sizeof(float));
        memory_block y = memory_create(guards[n % 2], (size_t)((end - row) * count) * sizeof(float));
        memory_block widths = memory_create(guards[n % 2], (size_t)grids->count * sizeof(int64_t));
        memcpy(widths.data, p.widths, widths.bytes);
        float *numbers = x.data;
        for (int64_t i = 0; i < rows * COLUMNS; i++) numbers[i] = (float)(i + 1);
        at_window window = {.batch = p.grids.batch,
                            .width = side * side,
                            .first = random_between(&random, -9, 3),
                            .step = random_between(&random, 1, 3),
                            .widths = widths.data,
                            .side = side};
        if (n % 3 == 0) window = at_window_mirror(&window);
        at_unfold(&window, numbers, COLUMNS, COLUMNS, row, end, from, count, y.data, count);
        check_unfolded(&window, grids, numbers, COLUMNS, row, end, from, count, y.data);
        memory_destroy(&x);
        memory_destroy(&y);
        memory_destroy(&widths);
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
    int64_t offsets[] = {0, 4}, short_offsets[] = {0, 3}, two[] = {2}, three[] = {3}, zero[] = {0},
            negative[] = {-2};
    attn_grids right = {{1, offsets}, two, two}, none = {{1, offsets}, NULL, two},
               lacks = {{1, offsets}, two, NULL};
    attn_grids bad = {{1, short_offsets}, two, two}, wide = {{1, offsets}, two, three},
               empty = {{1, offsets}, zero, two}, minus = {{1, offsets}, negative, negative};
    convolution n = convolution_create(test_best_context(1), 2, 9, 3);
    attn_tape *t = n.tape;
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    attn_tape_begin(t, ATTN_TAPE_TRAIN, 0);
#define RUN(grids, weight)                                                                                   \
    attn_tape_convolution_grid(t, attn_tape_input(t, numbers, 4, 3, 0), grids, weight, NULL, &options)
    assert_non_null(RUN(&right, n.weight));
    expect(t, RUN(NULL, n.weight), ATTN_INVALID_ARGUMENT, "convolution: grids is NULL");
    expect(t, RUN(&none, n.weight), ATTN_INVALID_ARGUMENT, "convolution: the heights of the grids are NULL");
    expect(t, RUN(&lacks, n.weight), ATTN_INVALID_ARGUMENT, "convolution: the widths of the grids are NULL");
    expect(t, RUN(&bad, n.weight), ATTN_SHAPE_MISMATCH, "convolution: the offsets");
    expect(t, RUN(&wide, n.weight), ATTN_SHAPE_MISMATCH, "sequence 0 has 4 rows, and its grid is 2 x 3");
    expect(t, RUN(&empty, n.weight), ATTN_SHAPE_MISMATCH, "sequence 0 has 4 rows, and its grid is 0 x 2");
    expect(t, RUN(&minus, n.weight), ATTN_SHAPE_MISMATCH, "its grid is -2 x -2");
    expect(t, RUN(&right, n.bias), ATTN_SHAPE_MISMATCH, "weight (b) is 2, out x 9 x 3 is needed");
    options.causal = 1;
    expect(t, RUN(&right, n.weight), ATTN_UNSUPPORTED, "causal is for sequences");
    options.causal = 0;
    options.width = 2;
    expect(t, RUN(&right, n.weight), ATTN_SHAPE_MISMATCH, "weight (w) is 2 x 9 x 3, out x 4 x 3 is needed");
    options.width = 32768;
    expect(t, RUN(&right, n.weight), ATTN_INVALID_ARGUMENT, "width is 32768");
    options.width = 0;
    expect(t, RUN(&right, n.weight), ATTN_INVALID_ARGUMENT, "width is 0");
#undef RUN
    convolution_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_convolution_relu),
        cmocka_unit_test(test_convolution_sizes),
        cmocka_unit_test(test_convolution_many_rows),
        cmocka_unit_test(test_mixers),
        cmocka_unit_test(test_mixer_errors),
        cmocka_unit_test(test_square),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_guarded),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
