/* cnn.c: is a convolution a special case of self-attention?
 *
 * First by formula. A k x k convolution of c channels is multi-head self-attention with k * k heads: W_q and
 * W_k are 0, so that scores are the relative positions' alone; head h has the bias -a |d - d_h|^2 at the
 * offset d, with d_h its own offset of the k * k, and for a large `a` looks there and nowhere else; W_v hands
 * on the row as it is; and W_o holds, side by side, the k * k matrices of the kernel. Pictures have k / 2
 * rows of 0 around them, as a convolution supposes.
 *
 * Then the other way round: attention with learned relative positions is trained on letters, and what its
 * heads look at is measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures.h"

/* ---- by formula ---- */

enum { CHANNELS = 8, HEIGHT = 11, WIDTH = 13, SIZES = 3, SLOPES = 5 };
static const int64_t sizes[SIZES] = {1, 3, 5};
static const double slopes[SLOPES] = {1, 5, 10, 20, 40};

typedef struct built {
    attn_parameters *parameters;
    attn_tape *tape;
    attn_parameter *kernel, *bias;
    attn_multihead *layer;
    float *picture, *result, *compared; /* padded picture; of attention, of the convolution */
    int64_t size, height, width;        /* of the kernel; of the padded picture */
} built;

static float *values(const attn_parameters *parameters, const char *name) {
    attn_parameter *parameter = attn_parameters_find(parameters, name);
    return parameter != NULL ? attn_parameter_value(parameter).data : NULL;
}

/* The weights of the heads, from those of the kernel. Broken: the last head looks one pixel too far left. */
static bool construct(const built *b, double slope, bool broken) {
    int64_t heads = b->size * b->size, half = b->size / 2, farthest = half + 1, side = 2 * farthest + 1;
    int64_t wide = heads * CHANNELS;
    float *input = values(b->parameters, "layer.input.weight"), *output;
    float *relative = values(b->parameters, "layer.relative");
    output = values(b->parameters, "layer.output.weight");
    const float *kernel = attn_parameter_value(b->kernel).data;
    if (input == NULL || output == NULL || relative == NULL) return false;
    memset(input, 0, (size_t)(3 * wide * CHANNELS) * sizeof *input);
    for (int64_t h = 0; h < heads; h++) {
        int64_t down = h / b->size - half, along = h % b->size - half - (broken && h == heads - 1 ? 1 : 0);
        for (int64_t c = 0; c < CHANNELS; c++) input[(2 * wide + h * CHANNELS + c) * CHANNELS + c] = 1;
        for (int64_t y = -farthest; y <= farthest; y++)
            for (int64_t x = -farthest; x <= farthest; x++) {
                double far = (double)((y - down) * (y - down) + (x - along) * (x - along));
                relative[h * side * side + (y + farthest) * side + x + farthest] = (float)(-slope * far);
            }
        for (int64_t o = 0; o < CHANNELS; o++)
            for (int64_t c = 0; c < CHANNELS; c++)
                output[o * wide + h * CHANNELS + c] = kernel[(o * heads + h) * CHANNELS + c];
    }
    for (int64_t i = 0; i < attn_parameters_count(b->parameters); i++)
        attn_parameter_changed(attn_parameters_at(b->parameters, i));
    return true;
}

static bool build(lab *report, built *b, uint64_t seed) {
    int64_t heads = b->size * b->size, shape[3] = {CHANNELS, heads, CHANNELS};
    attn_context *context = lab_context_of(report);
    if (!lab_ok(report, attn_parameters_create(context, seed, &b->parameters)) ||
        !lab_ok(report, attn_tape_create(context, &b->tape)))
        return false;
    attn_multihead_options options;
    attn_multihead_options_init(&options);
    options.columns = CHANNELS;
    options.heads = heads;
    options.head_width = CHANNELS;
    options.with_bias = 0;
    options.position = ATTN_POSITION_GRID_RELATIVE;
    options.farthest = b->size / 2 + 1;
    b->layer = attn_multihead_create(b->parameters, "layer", &options);
    b->kernel = attn_parameters_add(b->parameters, "kernel", 3, shape, NULL);
    if (attn_parameters_status(b->parameters) != ATTN_OK)
        return lab_fail(report, "%s", attn_parameters_error(b->parameters));
    b->height = HEIGHT + 2 * (b->size / 2);
    b->width = WIDTH + 2 * (b->size / 2);
    size_t count = (size_t)(b->height * b->width * CHANNELS);
    b->picture = calloc(count, sizeof(float));
    b->result = calloc(count, sizeof(float));
    b->compared = calloc(count, sizeof(float));
    if (b->picture == NULL || b->result == NULL || b->compared == NULL)
        return lab_fail(report, "there is not enough memory");
    for (int64_t y = 0; y < HEIGHT; y++)
        for (int64_t x = 0; x < WIDTH * CHANNELS; x++)
            b->picture[((y + b->size / 2) * b->width + b->size / 2) * CHANNELS + x] =
                (float)lab_normal(&seed);
    return true;
}

static void take_apart(built *b) {
    attn_tape_destroy(b->tape);
    attn_parameters_destroy(b->parameters);
    free(b->picture);
    free(b->result);
    free(b->compared);
}

/* The largest difference at a pixel of the picture (its padding left out), in units of the convolution's
 * standard deviation. */
static double difference(const built *b) {
    double largest = 0, square = 0;
    int64_t half = b->size / 2;
    for (int64_t y = half; y < half + HEIGHT; y++)
        for (int64_t x = half * CHANNELS; x < (half + WIDTH) * CHANNELS; x++) {
            int64_t i = y * b->width * CHANNELS + x;
            largest = fmax(largest, fabs((double)b->result[i] - b->compared[i]));
            square += (double)b->compared[i] * b->compared[i];
        }
    return largest / sqrt(square / (HEIGHT * WIDTH * CHANNELS));
}

/* The same from plain sums in double: that the library's convolution is one is not taken for granted. */
static double difference_from_sums(const built *b) {
    const float *kernel = attn_parameter_value(b->kernel).data;
    int64_t half = b->size / 2, squares = b->size * b->size;
    double largest = 0, square = 0;
    for (int64_t y = half; y < half + HEIGHT; y++)
        for (int64_t x = half; x < half + WIDTH; x++)
            for (int64_t o = 0; o < CHANNELS; o++) {
                double sum = 0;
                for (int64_t t = 0; t < squares; t++) {
                    int64_t row = (y + t / b->size - half) * b->width + x + t % b->size - half;
                    for (int64_t c = 0; c < CHANNELS; c++)
                        sum +=
                            (double)kernel[(o * squares + t) * CHANNELS + c] * b->picture[row * CHANNELS + c];
                }
                largest = fmax(largest, fabs(sum - b->result[(y * b->width + x) * CHANNELS + o]));
                square += sum * sum;
            }
    return largest / sqrt(square / (HEIGHT * WIDTH * CHANNELS));
}

static bool compare(lab *report, built *b, double *largest) {
    int64_t rows = b->height * b->width, offsets[2] = {0, rows};
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){.sequences = 1, .offsets = offsets};
    places.heights = &b->height;
    places.widths = &b->width;
    attn_grids grids = {.batch = places.batch, .heights = &b->height, .widths = &b->width};
    attn_convolution_options options;
    attn_convolution_options_init(&options);
    options.width = b->size;
    attn_tape_begin(b->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_constant(b->tape, b->picture, rows, CHANNELS);
    attn_variable *attention = attn_multihead_apply(b->tape, b->layer, x, &places);
    attn_variable *convolution = attn_tape_convolution_grid(b->tape, x, &grids, b->kernel, NULL, &options);
    if (attn_tape_status(b->tape) != ATTN_OK) return lab_fail(report, "%s", attn_tape_error(b->tape));
    attn_variable_read(attention, b->result);
    attn_variable_read(convolution, b->compared);
    *largest = difference(b);
    return true;
}

typedef struct formula {
    double differences[SIZES][SLOPES], sums[SIZES]; /* the largest of all seeds; sums: at the last slope */
} formula;

static bool measure_formula(lab *report, formula *f, int64_t seeds) {
    const lab_options *options = lab_options_of(report);
    bool done = true;
    for (int64_t s = 0; s < SIZES && done; s++)
        for (int64_t run = 0; run < seeds && done; run++) {
            built b = {.size = sizes[s]};
            done = build(report, &b, options->seed + (uint64_t)run);
            for (int a = 0; a < SLOPES && done; a++) {
                double one = 0;
                done = construct(&b, slopes[a], options->broken) && compare(report, &b, &one);
                f->differences[s][a] = fmax(f->differences[s][a], one);
            }
            if (done) f->sums[s] = fmax(f->sums[s], difference_from_sums(&b));
            take_apart(&b);
        }
    return done;
}

/* Returns the largest difference where the softmax is sharpest. */
static double show_formula(lab *report, const formula *f, int64_t seeds) {
    lab_table *table = lab_add_table(report,
                                     "By formula: largest difference from the convolution, in its standard "
                                     "deviations",
                                     "kernel", "heads", "a = 1", "a = 5", "a = 10", "a = 20", "a = 40",
                                     "a = 40, from sums in double", NULL);
    double worst = 0, soft = 0, exact = 0;
    for (int s = 0; s < SIZES; s++) {
        const char *cell[SLOPES];
        for (int a = 0; a < SLOPES; a++) cell[a] = lab_cell(report, "%.1e", f->differences[s][a]);
        lab_row(table, lab_cell(report, "%lld x %lld", (long long)sizes[s], (long long)sizes[s]),
                lab_cell(report, "%lld", (long long)(sizes[s] * sizes[s])), cell[0], cell[1], cell[2],
                cell[3], cell[4], lab_cell(report, "%.1e", f->sums[s]));
        soft = fmax(soft, f->differences[s][3]);
        exact = fmax(exact, f->differences[s][SLOPES - 1]);
        worst = fmax(worst, fmax(exact, f->sums[s]));
    }
    lab_note(report,
             "On %lld random pictures of %d x %d pixels and %d channels each. With a difference of a = 20 "
             "between the scores of neighbouring offsets the error is %.0e; at 40 the softmax is 1 and 0 in "
             "single precision, and %s.",
             (long long)seeds, HEIGHT, WIDTH, CHANNELS, soft,
             exact == 0 ? "attention and convolution have the same bits: the concatenated heads are the rows "
                          "that a convolution gathers, and W_o is the kernel"
                        : lab_cell(report, "the error is %.1e", exact));
    return worst;
}

/* ---- learned ---- */

enum { LETTERS = 8, SIDE = 10, PATCH = 2, GRID = SIDE / PATCH, ROWS = GRID * GRID };
enum { MOST_SEEDS = 32, LAYERS = 2, HEADS = 4, SHOWN = LAYERS * HEADS, AROUND = 2 * GRID - 1 };

typedef struct looks {
    double distance, entropy, near;   /* means over heads, queries and pictures: patches; bits; the weight on
                                         the 3 x 3 patches around */
    int64_t local;                    /* heads whose strongest offset is one of the 3 x 3 */
    float map[SHOWN][AROUND][AROUND]; /* mean weight by offset */
    double accuracy;
} looks;

static void look(const float *weights, int64_t pictures, int head, looks *l) {
    double seen[AROUND][AROUND] = {{0}}, sum[AROUND][AROUND] = {{0}};
    double each = 1.0 / (double)(pictures * ROWS * SHOWN), strongest = -1;
    int64_t row = -1, column = -1;
    for (int64_t p = 0; p < pictures; p++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++) {
                double w = weights[((p * HEADS + head % HEADS) * ROWS + i) * ROWS + j];
                int down = j / GRID - i / GRID, along = j % GRID - i % GRID;
                l->distance += each * w * hypot(down, along);
                l->entropy -= w > 0 ? each * w * log2(w) : 0;
                if (abs(down) <= 1 && abs(along) <= 1) l->near += each * w;
                seen[down + GRID - 1][along + GRID - 1] += 1;
                sum[down + GRID - 1][along + GRID - 1] += w;
            }
    for (int y = 0; y < AROUND; y++)
        for (int x = 0; x < AROUND; x++) {
            double mean = sum[y][x] / fmax(1, seen[y][x]);
            l->map[head][y][x] = (float)mean;
            if (mean > strongest) {
                strongest = mean;
                row = y;
                column = x;
            }
        }
    l->local += llabs(row - (GRID - 1)) <= 1 && llabs(column - (GRID - 1)) <= 1;
}

/* What a head that looks everywhere alike would have. */
static looks everywhere(void) {
    looks l = {.entropy = log2(ROWS)};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            int down = j / GRID - i / GRID, along = j % GRID - i % GRID;
            l.distance += hypot(down, along) / (ROWS * ROWS);
            l.near += abs(down) <= 1 && abs(along) <= 1 ? 1.0 / (ROWS * ROWS) : 0;
        }
    return l;
}

/* content false: the scores are those of the positions alone, as in the formula. */
static bool learn(lab *report, uint64_t seed, bool content, looks *l) {
    bool quick = lab_options_of(report)->quick;
    int64_t test = quick ? 100 : 200;
    lab_pictures pictures = {0}, asked = {0};
    size_t count = (size_t)(test * HEADS * ROWS * ROWS);
    float *weights[LAYERS] = {calloc(count, sizeof(float)), calloc(count, sizeof(float))};
    bool done = weights[0] != NULL && weights[1] != NULL &&
                lab_pictures_draw(&pictures, quick ? 1000 : 3000, LETTERS, SIDE, PATCH, 0.1, seed * 1000) &&
                lab_pictures_draw(&asked, test, LETTERS, SIDE, PATCH, 0.1, seed * 1000 + 1);
    if (!done) lab_fail(report, "there is not enough memory for the pictures");
    lab_problem problem = {.columns = PATCH * PATCH, .classes = LETTERS, .per_sequence = true};
    lab_network network;
    lab_network_init(&network);
    network.steps = quick ? 80 : 600;
    network.batch = 50;
    network.learning_rate = 7e-3;
    network.encoder.columns = 32;
    network.encoder.block.inner = 64;
    network.encoder.position = ATTN_POSITION_GRID_RELATIVE;
    network.encoder.block.mixer.attention.heads = HEADS;
    network.encoder.block.mixer.attention.farthest = GRID - 1;
    if (!content) network.encoder.block.mixer.attention.scale = 1e-6f;
    lab_fitted fitted = {.weights = weights};
    if (done) {
        problem.train = lab_pictures_examples(&pictures, pictures.count);
        problem.test = lab_pictures_examples(&asked, asked.count);
        done = lab_fit(report, &problem, &network, seed, &fitted);
    }
    for (int h = 0; h < SHOWN && done; h++) look(weights[h / HEADS], test, h, l);
    l->accuracy = fitted.accuracy;
    lab_pictures_release(&pictures);
    lab_pictures_release(&asked);
    free(weights[0]);
    free(weights[1]);
    return done;
}

/* All heads side by side, layer below layer, an empty line between them. */
static void draw_heads(lab *report, const looks *l, const char *title) {
    enum { HIGH = LAYERS * (AROUND + 1) - 1, WIDE = HEADS * (AROUND + 1) - 1 };
    static float cells[HIGH * WIDE];
    memset(cells, 0, sizeof cells);
    for (int h = 0; h < SHOWN; h++)
        for (int y = 0; y < AROUND; y++)
            for (int x = 0; x < AROUND; x++)
                cells[(h / HEADS * (AROUND + 1) + y) * WIDE + h % HEADS * (AROUND + 1) + x] = l->map[h][y][x];
    lab_add_matrix(report, title, cells, HIGH, WIDE, NULL, NULL);
}

typedef struct learned {
    double accuracy[MOST_SEEDS], distance[MOST_SEEDS], entropy[MOST_SEEDS], near[MOST_SEEDS];
    int64_t local, heads;
} learned;

static bool measure_learned(lab *report, int64_t seeds, bool content, learned *all) {
    const char *what = content ? "content and positions" : "positions alone";
    for (int64_t run = 0; run < seeds; run++) {
        looks *l = calloc(1, sizeof *l);
        lab_progress(report, ((double)run / (double)seeds + (content ? 0 : 1)) / 2, what);
        bool done = l != NULL && learn(report, lab_options_of(report)->seed + (uint64_t)run, content, l);
        if (done) {
            all->accuracy[run] = 100 * l->accuracy;
            all->distance[run] = l->distance;
            all->entropy[run] = l->entropy;
            all->near[run] = 100 * l->near;
            all->local += l->local;
            all->heads += SHOWN;
            if (run == 0)
                draw_heads(report, l,
                           lab_cell(report,
                                    "Heads that learned from letters, %s: mean weight by offset from the "
                                    "patch in the middle of each square (layers downwards, heads along)",
                                    what));
        }
        free(l);
        if (!done) return l == NULL ? lab_fail(report, "there is not enough memory") : false;
    }
    return true;
}

static void show_learned(lab *report, int64_t seeds, const learned all[2]) {
    lab_table *table = lab_add_table(report, "Trained on letters: where the 8 heads attend", "scores",
                                     "accuracy, %", "mean distance, patches", "entropy, bits",
                                     "weight on 3 x 3 around, %", "strongest offset in 3 x 3", NULL);
    looks even = everywhere();
    for (int i = 0; i < 2; i++)
        lab_row(table, i == 0 ? "content and positions" : "positions alone",
                lab_cell_spread(report, all[i].accuracy, seeds, "%.1f"),
                lab_cell_spread(report, all[i].distance, seeds, "%.2f"),
                lab_cell_spread(report, all[i].entropy, seeds, "%.1f"),
                lab_cell_spread(report, all[i].near, seeds, "%.0f"),
                lab_cell(report, "%lld of %lld heads", (long long)all[i].local, (long long)all[i].heads));
    lab_row(table, "uniform (before training)", "", lab_cell(report, "%.2f", even.distance),
            lab_cell(report, "%.1f", even.entropy), lab_cell(report, "%.0f", 100 * even.near),
            "by chance 1 in 9");
    double with = lab_median(all[0].accuracy, seeds), without = lab_median(all[1].accuracy, seeds);
    lab_note(
        report,
        "Nothing makes the heads attend to near patches. Still the offset with the highest weight is a "
        "neighbouring patch (or the patch itself) in %lld of %lld heads; by chance it would be 1 in 9. But "
        "no head becomes a single pixel of a kernel: the weights are spread over many patches.",
        (long long)(all[0].local + all[1].local), (long long)(all[0].heads + all[1].heads));
    if (without > with)
        lab_note(report,
                 "Scores that depend on the content do not help on these pictures: with positions alone, as "
                 "in a convolution, accuracy is %.1f %% instead of %.1f %%.",
                 without, with);
}

static bool run(lab *report) {
    formula f = {{{0}}, {0}};
    learned all[2];
    memset(all, 0, sizeof all);
    int64_t pictures = lab_seeds(report, 5, 2), seeds = lab_seeds(report, 3, 1);
    if (seeds > MOST_SEEDS) seeds = MOST_SEEDS;
    if (!measure_formula(report, &f, pictures)) return false;
    double worst = show_formula(report, &f, pictures);
    if (!measure_learned(report, seeds, true, &all[0]) || !measure_learned(report, seeds, false, &all[1]))
        return false;
    show_learned(report, seeds, all);
    if (worst <= 1e-5)
        return lab_conclude(report, LAB_HOLDS,
                            "the constructed heads equal the convolution within %.1e of its standard "
                            "deviation (allowed: 1e-5) at every pixel, also at the borders",
                            worst);
    return lab_conclude(report, LAB_DOES_NOT_HOLD,
                        "the constructed heads differ from the convolution by up to %.1e of its standard "
                        "deviation (allowed for rounding: 1e-5)",
                        worst);
}

const lab_experiment lab_cnn = {
    .name = "cnn",
    .claim = "A convolution is a special case of self-attention: k x k heads with relative positions can be "
             "a k x k convolution.",
    .experiment =
        "The weights of k * k heads are set by formula: no content in the scores, relative positions -a |d - "
        "d_h|^2 that make head h attend only to its offset d_h, the kernel in W_o. On random pictures with a "
        "border of zeros the result is compared with the library's convolution, and with sums in double, for "
        "k = 1, 3, 5. The claim holds if the largest difference is rounding: 1e-5 of the standard deviation. "
        "Then attention with learned relative positions is trained on generated letters, with and without "
        "content in its scores, and the weights of its heads are measured.",
    .mistake = "the offset of the last head is one pixel too far to the left",
    .run = run,
};
