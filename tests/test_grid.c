/* test_grid.c: positions in a grid, for images.
 *
 *   - the codes are what attn/layers.h says, in every sequence of a batch, past the table too; learned ones
 * and relative ones against plain loops in double, with their gradients
 *   - a network learns where in an image something is, whatever the image's size; positions along the rows
 *     alone do not tell
 *   - the gradient of x passes through unchanged
 *   - errors name the sequence and its grid; what takes rows one by one refuses grids
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

typedef struct network {
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
} network;

static network network_create(void) {
    network n = {.context = test_best_context(2)};
    assert_int_equal(attn_parameters_create(n.context, 1, &n.parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(n.context, &n.tape), ATTN_OK);
    return n;
}

static void network_destroy(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->parameters);
}

/* ---- the codes ---- */

static void test_codes(void **state) {
    (void)state;
    enum { COLUMNS = 12, HALF = COLUMNS / 2, SEQUENCES = 5 };
    static const int64_t heights[SEQUENCES] = {2, 0, 300, 1, 3}, widths[SEQUENCES] = {3, 7, 1, 400, 3};
    int64_t offsets[SEQUENCES + 1] = {0};
    for (int b = 0; b < SEQUENCES; b++) offsets[b + 1] = offsets[b] + heights[b] * widths[b];
    int64_t rows = offsets[SEQUENCES];
    network n = network_create();
    attn_positions *layer = attn_positions_create(n.parameters, "position", ATTN_POSITION_GRID, COLUMNS, 0);
    assert_int_equal(attn_parameters_count(n.parameters), 0);
    float *x = malloc((size_t)(rows * COLUMNS) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < rows * COLUMNS; i++) x[i] = (float)(i % 5);
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){SEQUENCES, offsets};
    places.heights = heights;
    places.widths = widths;
    attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
    attn_variable *input = attn_tape_input(n.tape, x, rows, COLUMNS, 1);
    attn_variable *y = attn_positions_apply(n.tape, layer, input, &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    const float *coded = host_data(y);
    for (int b = 0; b < SEQUENCES; b++) {
        for (int64_t t = 0; t < heights[b] * widths[b]; t++) {
            for (int c = 0; c < COLUMNS; c++) {
                int64_t at = (offsets[b] + t) * COLUMNS + c;
                double place = (double)(c < HALF ? t / widths[b] : t % widths[b]);
                double angle = place * pow(10000.0, -(double)(c % HALF / 2 * 2) / HALF);
                double code = c % HALF % 2 ? cos(angle) : sin(angle);
                assert_float_equal(coded[at], x[at] + code, 1e-6);
            }
        }
    }
    assert_int_equal(attn_tape_backward(n.tape, y, x), ATTN_OK);
    assert_memory_equal(host_gradient(input), x, (size_t)(rows * COLUMNS) * sizeof *x);
    free(x);
    network_destroy(&n);
}

/* ---- learned codes, relative positions ---- */

enum { GRIDS = 7, GRID_ROWS = 37, WIDTH = 6, HEADS = 2, CHANNEL = WIDTH / HEADS };
/* two widths come twice, one grid is empty */
static const int64_t grid_heights[GRIDS] = {2, 0, 1, 4, 5, 3, 1}, grid_widths[GRIDS] = {3, 9, 1, 2, 1, 3, 8};

typedef struct placed {
    attn_positions *positions;
    attn_multihead *attention;
    attn_score score;
    int64_t farthest, kv_heads;
} placed;

static attn_variable *run_placed(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                 void *user) {
    const placed *s = user;
    int64_t sides[2][GRIDS], offsets[GRIDS + 1] = {0};
    attn_places places;
    (void)parameter;
    memcpy(sides[0], grid_heights, sizeof sides[0]);
    memcpy(sides[1], grid_widths, sizeof sides[1]);
    for (int b = 0; b < GRIDS; b++) offsets[b + 1] = offsets[b] + sides[0][b] * sides[1][b];
    assert_int_equal(offsets[GRIDS], GRID_ROWS);
    attn_places_init(&places);
    places.batch = (attn_ragged){GRIDS, offsets};
    places.heights = sides[0];
    places.widths = sides[1];
    attn_variable *y = s->attention ? attn_multihead_apply(tape, s->attention, input[0], &places)
                                    : attn_positions_apply(tape, s->positions, input[0], &places);
    memset(sides, 0x55, sizeof sides);
    memset(offsets, 0x55, sizeof offsets);
    return y;
}

static void build_learned(attn_parameters *set, void *user) {
    ((placed *)user)->positions =
        attn_positions_create(set, "position", ATTN_POSITION_GRID_LEARNED, WIDTH, 8);
}

static void reference_learned(double *const *input, double *const *parameter, double *result, void *user) {
    int64_t at = 0;
    (void)user;
    for (int b = 0; b < GRIDS; b++) {
        for (int64_t t = 0; t < grid_heights[b] * grid_widths[b]; t++) {
            for (int c = 0; c < WIDTH; c++, at++)
                result[at] = input[0][at] + parameter[0][t / grid_widths[b] * WIDTH + c] +
                             parameter[1][t % grid_widths[b] * WIDTH + c];
        }
    }
}

static void build_relative(attn_parameters *set, void *user) {
    placed *s = user;
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.columns = WIDTH;
    o.heads = HEADS;
    o.kv_heads = s->kv_heads;
    o.position = ATTN_POSITION_GRID_RELATIVE;
    o.farthest = s->farthest;
    o.score = s->score;
    s->attention = attn_multihead_create(set, "attention", &o);
}

/* y = x W^T + b, rows x out. */
static void map(const double *x, int64_t rows, int64_t in, const double *weight, const double *bias,
                int64_t out, double *y) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < out; k++) {
            double sum = bias[k];
            for (int64_t c = 0; c < in; c++) sum += weight[k * in + c] * x[i * in + c];
            y[i * out + k] = sum;
        }
    }
}

static int64_t clamped(int64_t distance, int64_t farthest) {
    return distance < -farthest ? 0 : distance > farthest ? 2 * farthest : distance + farthest;
}

/* One head of one query i among the rows 0 .. rows - 1 of its grid; all: rows of q, k and v side by side. */
static void attend(const placed *s, const double *all, int64_t rows, int64_t width, const double *table,
                   const double *vector, int64_t i, int64_t h, double *y) {
    int64_t kv = s->kv_heads, stride = (HEADS + 2 * kv) * CHANNEL, side = 2 * s->farthest + 1;
    const double *q = all + i * stride + h * CHANNEL;
    int64_t group = h / (HEADS / kv);
    double sums[CHANNEL] = {0}, weights = 0.0;
    for (int64_t j = 0; j < rows; j++) {
        const double *k = all + j * stride + (HEADS + group) * CHANNEL, *v = k + kv * CHANNEL;
        double score = 0.0;
        for (int c = 0; c < CHANNEL; c++)
            score += vector ? vector[h * CHANNEL + c] * tanh(q[c] + k[c]) : q[c] * k[c] / sqrt(CHANNEL);
        int64_t down = clamped(j / width - i / width, s->farthest),
                along = clamped(j % width - i % width, s->farthest);
        double weight = exp(score + table[(h * side + down) * side + along]);
        weights += weight;
        for (int c = 0; c < CHANNEL; c++) sums[c] += weight * v[c];
    }
    for (int c = 0; c < CHANNEL; c++) y[i * WIDTH + h * CHANNEL + c] = sums[c] / weights;
}

static void reference_relative(double *const *input, double *const *parameter, double *result, void *user) {
    const placed *s = user;
    int scored = s->score == ATTN_SCORE_ADDITIVE;
    const double *table = parameter[4 + scored], *vector = scored ? parameter[4] : NULL;
    const double *x = input[0];
    double all[GRID_ROWS * 3 * WIDTH], heads[GRID_ROWS * WIDTH];
    for (int b = 0; b < GRIDS; b++) {
        int64_t rows = grid_heights[b] * grid_widths[b];
        map(x, rows, WIDTH, parameter[0], parameter[1], (HEADS + 2 * s->kv_heads) * CHANNEL, all);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t h = 0; h < HEADS; h++)
                attend(s, all, rows, grid_widths[b], table, vector, i, h, heads);
        map(heads, rows, WIDTH, parameter[2], parameter[3], WIDTH, result);
        x += rows * WIDTH;
        result += rows * WIDTH;
    }
}

static void test_learned_and_relative(void **state) {
    (void)state;
    placed s = {.kv_heads = HEADS};
    operation_case c = {.name = "learned",
                        .inputs = 1,
                        .input = {{.rows = GRID_ROWS, .columns = WIDTH}},
                        .rows = GRID_ROWS,
                        .columns = WIDTH,
                        .seed = 3,
                        .user = &s,
                        .build = build_learned,
                        .run = run_placed,
                        .reference = reference_learned};
    operation_check(&c);
    c.name = "relative";
    c.build = build_relative;
    c.reference = reference_relative;
    for (s.farthest = 1; s.farthest <= 8; s.farthest += s.farthest == 1 ? 1 : 6) {
        for (int kind = 0; kind < 3; kind++) {
            s.score = kind == 1 ? ATTN_SCORE_ADDITIVE : ATTN_SCORE_DOT;
            s.kv_heads = kind == 2 ? 1 : HEADS;
            operation_check(&c);
        }
    }
}

/* ---- learning where something is ---- */

enum { IMAGES = 24, SIDE = 7, MOST = IMAGES * SIDE * SIDE, CHANNELS = 3, QUARTERS = 4 };

/* Images of random sizes and noise; one pixel is marked in channel 0, and all rows of an image are to say in
 * which quarter of the SIDE x SIDE corner it stands. */
typedef struct images {
    float pixels[MOST * CHANNELS];
    int64_t offsets[IMAGES + 1], heights[IMAGES], widths[IMAGES];
    int32_t labels[MOST];
} images;

static void make_images(uint64_t seed, images *m) {
    test_random random = {seed};
    memset(m, 0, sizeof *m);
    for (int b = 0; b < IMAGES; b++) {
        int64_t height = m->heights[b] = random_between(&random, 4, SIDE);
        int64_t width = m->widths[b] = random_between(&random, 4, SIDE);
        int64_t first = m->offsets[b], i = random_between(&random, 0, height - 1),
                j = random_between(&random, 0, width - 1);
        m->offsets[b + 1] = first + height * width;
        for (int64_t t = first; t < m->offsets[b + 1]; t++) {
            m->labels[t] = (i >= 3) * 2 + (j >= 3);
            for (int c = 1; c < CHANNELS; c++) m->pixels[t * CHANNELS + c] = random_unit(&random);
        }
        m->pixels[(first + i * width + j) * CHANNELS] = 4.0f;
    }
}

/* Trains; the loss of the first step and the mean of the last five. */
static void train(attn_position position, uint64_t steps, double *before, double *after) {
    static images m;
    network n = network_create();
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = 32;
    o.input_columns = CHANNELS;
    o.layers = 1;
    o.position = position;
    o.block.inner = 64;
    attn_encoder *encoder = attn_encoder_create(n.parameters, "encoder", &o);
    attn_linear *output = attn_linear_create(n.parameters, "output", 32, QUARTERS, 1, ATTN_IDENTITY);
    if (!output) fail_msg("%s", attn_parameters_error(n.parameters));
    attn_optimizer_options learning;
    attn_optimizer *optimizer;
    attn_optimizer_options_init(&learning);
    learning.learning_rate = 0.01f;
    assert_int_equal(attn_optimizer_create(n.parameters, &learning, &optimizer), ATTN_OK);
    *after = 0.0;
    for (uint64_t step = 1; step <= steps; step++) {
        make_images(step, &m);
        int64_t rows = m.offsets[IMAGES];
        attn_tape_begin(n.tape, ATTN_TAPE_TRAIN, step);
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){IMAGES, m.offsets};
        places.heights = m.heights;
        places.widths = m.widths;
        attn_variable *x = attn_encoder_apply(n.tape, encoder,
                                              attn_tape_input(n.tape, m.pixels, rows, CHANNELS, 0), &places);
        attn_variable *loss =
            attn_tape_cross_entropy(n.tape, attn_linear_apply(n.tape, output, x), m.labels, NULL);
        if (attn_tape_backward(n.tape, loss, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(n.tape));
        double now = host_data(loss)[0];
        if (step == 1) *before = now;
        if (step > steps - 5) *after += now / 5.0;
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    }
    attn_optimizer_destroy(optimizer);
    network_destroy(&n);
}

static void test_learning(void **state) {
    (void)state;
    const double guessing = log(QUARTERS);
    double before, after, before_in_line, after_in_line;
    train(ATTN_POSITION_SINUSOIDAL, 90, &before_in_line, &after_in_line);
    for (int kind = ATTN_POSITION_GRID; kind <= ATTN_POSITION_GRID_LEARNED; kind++) {
        /* learned codes begin as noise, and have to grow out of it first */
        train((attn_position)kind, kind == ATTN_POSITION_GRID ? 90 : 400, &before, &after);
        assert_true(before > 0.8 * guessing && before_in_line > 0.8 * guessing);
        if (!(after < 0.15 * guessing && after_in_line > 2.0 * after)) {
            fail_msg("the loss is %g with positions %d, %g in line", after, kind, after_in_line);
        }
    }
}

/* ---- errors ---- */

/* What takes rows one after another refuses grids. */
static void check_refused(int kind) {
    network n = network_create();
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.position = (attn_position)kind;
    o.block.mixer.causal = 1;
    attn_encoder *encoder = attn_encoder_create(n.parameters, "encoder", &o);
    attn_encoder_state *kept = NULL;
    assert_int_equal(attn_encoder_state_create(n.context, encoder, 8, &kept), ATTN_UNSUPPORTED);
    assert_non_null(strstr(attn_context_error(n.context), "positions in a grid"));
    attn_mixer_options m;
    attn_mixer_options_init(&m);
    m.attention.position = ATTN_POSITION_GRID_RELATIVE;
    m.causal = 1;
    attn_mixer *mixer = attn_mixer_create(n.parameters, "mixer", &m);
    attn_mixer_state *mixed = NULL;
    assert_int_equal(attn_mixer_state_create(n.context, mixer, 8, &mixed), ATTN_UNSUPPORTED);
    assert_non_null(strstr(attn_context_error(n.context), "places of a grid"));
    network_destroy(&n);
}

/* Learned positions have a limit per side; relative ones want grids, too. */
static void check_sizes(void) {
    static const int64_t offsets[] = {0, 4, 10}, heights[] = {2, 1}, widths[] = {2, 6};
    static const float x[10 * 64] = {0};
    network n = network_create();
    attn_positions *layer = attn_positions_create(n.parameters, "position", ATTN_POSITION_GRID_LEARNED, 4, 5);
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.position = ATTN_POSITION_GRID_RELATIVE;
    o.farthest = 3;
    attn_multihead *attention = attn_multihead_create(n.parameters, "attention", &o);
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){2, offsets};
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    assert_null(attn_multihead_apply(n.tape, attention, attn_tape_input(n.tape, x, 10, 64, 0), &places));
    assert_non_null(strstr(attn_tape_error(n.tape), "multihead: places.heights is NULL"));
    places.heights = heights;
    places.widths = widths;
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    assert_null(attn_positions_apply(n.tape, layer, attn_tape_input(n.tape, x, 10, 4, 0), &places));
    assert_int_equal(attn_tape_status(n.tape), ATTN_SHAPE_MISMATCH);
    assert_non_null(strstr(attn_tape_error(n.tape), "the grid of sequence 1 is 1 x 6"));
    o.score = ATTN_SCORE_NONE;
    assert_null(attn_multihead_create(n.parameters, "fixed", &o));
    assert_non_null(strstr(attn_parameters_error(n.parameters), "GRID_RELATIVE wants"));
    network_destroy(&n);
}

static void test_errors(void **state) {
    (void)state;
    enum { COLUMNS = 4, ROWS = 10 };
    static const int64_t offsets[] = {0, 6, ROWS};
    static const float x[ROWS * COLUMNS] = {0};
    static const struct {
        int64_t heights[2], widths[2];
        const char *text;
    } wrong[] = {{{2, 2}, {3, 3}, "sequence 1 has 4 rows, and its grid is 2 x 3"},
                 {{2, 1}, {3, 3}, "sequence 1 has 4 rows, and its grid is 1 x 3"},
                 {{0, 2}, {3, 2}, "sequence 0 has 6 rows, and its grid is 0 x 3"},
                 {{-2, 2}, {-3, 2}, "its grid is -2 x -3"},
                 {{(int64_t)1 << 62, 2}, {4, 2}, "sequence 0 has 6 rows"}};
    network n = network_create();
    attn_positions *layer = attn_positions_create(n.parameters, "position", ATTN_POSITION_GRID, COLUMNS, 0);
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){2, offsets};
        places.heights = wrong[w].heights;
        places.widths = wrong[w].widths;
        attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *input = attn_tape_input(n.tape, x, ROWS, COLUMNS, 0);
        assert_null(attn_positions_apply(n.tape, layer, input, &places));
        assert_int_equal(attn_tape_status(n.tape), ATTN_SHAPE_MISMATCH);
        if (!strstr(attn_tape_error(n.tape), wrong[w].text)) fail_msg("%s", attn_tape_error(n.tape));
        places.widths = NULL;
        attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
        input = attn_tape_input(n.tape, x, ROWS, COLUMNS, 0);
        assert_null(attn_positions_apply(n.tape, layer, input, &places));
        assert_int_equal(attn_tape_status(n.tape), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_tape_error(n.tape), "places.widths is NULL"));
    }
    network_destroy(&n);
    for (int kind = ATTN_POSITION_GRID; kind <= ATTN_POSITION_GRID_RELATIVE; kind++) check_refused(kind);
    check_sizes();

    n = network_create();
    assert_null(attn_positions_create(n.parameters, "odd", ATTN_POSITION_GRID, 5, 0));
    assert_non_null(strstr(attn_parameters_error(n.parameters), "an even number of columns, not 5"));
    network_destroy(&n);
    n = network_create();
    attn_decoder_options d;
    attn_decoder_options_init(&d);
    d.position = ATTN_POSITION_GRID_RELATIVE;
    assert_null(attn_decoder_create(n.parameters, "decoder", &d));
    assert_int_equal(attn_parameters_status(n.parameters), ATTN_UNSUPPORTED);
    network_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes),
                                       cmocka_unit_test(test_learned_and_relative),
                                       cmocka_unit_test(test_learning), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
