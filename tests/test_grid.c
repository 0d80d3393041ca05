/* test_grid.c: positions in a grid, for images.
 *
 *   - the codes are what attn/layers.h says, in every sequence of a batch, past the table too
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
static void train(attn_position position, double *before, double *after) {
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
    enum { STEPS = 90 };
    *after = 0.0;
    for (uint64_t step = 1; step <= STEPS; step++) {
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
        if (step > STEPS - 5) *after += now / 5.0;
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    }
    attn_optimizer_destroy(optimizer);
    network_destroy(&n);
}

static void test_learning(void **state) {
    (void)state;
    const double guessing = log(QUARTERS);
    double before, after, before_in_line, after_in_line;
    train(ATTN_POSITION_GRID, &before, &after);
    train(ATTN_POSITION_SINUSOIDAL, &before_in_line, &after_in_line);
    assert_true(before > 0.8 * guessing && before_in_line > 0.8 * guessing);
    if (!(after < 0.15 * guessing && after_in_line > 2.0 * after)) {
        fail_msg("the loss is %g with positions in the grid, %g in line", after, after_in_line);
    }
}

/* ---- errors ---- */

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
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.position = ATTN_POSITION_GRID;
    o.block.mixer.causal = 1;
    attn_encoder *encoder = attn_encoder_create(n.parameters, "encoder", &o);
    attn_encoder_state *kept = NULL;
    assert_int_equal(attn_encoder_state_create(n.context, encoder, 8, &kept), ATTN_UNSUPPORTED);
    assert_non_null(strstr(attn_context_error(n.context), "positions in a grid"));
    network_destroy(&n);

    n = network_create();
    assert_null(attn_positions_create(n.parameters, "odd", ATTN_POSITION_GRID, 5, 0));
    assert_non_null(strstr(attn_parameters_error(n.parameters), "an even number of columns, not 5"));
    network_destroy(&n);
    n = network_create();
    attn_decoder_options d;
    attn_decoder_options_init(&d);
    d.position = ATTN_POSITION_GRID;
    assert_null(attn_decoder_create(n.parameters, "decoder", &d));
    assert_int_equal(attn_parameters_status(n.parameters), ATTN_UNSUPPORTED);
    network_destroy(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes), cmocka_unit_test(test_learning),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
