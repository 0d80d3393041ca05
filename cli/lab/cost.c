/* cost.c: what one layer costs against the length n and the width d: exponents, crossings, memory.
 *
 * In multiplications, with r the rows that a window sees and k those of a convolution:
 *
 *     full attention   2 n^2 d     q.k and the weighted sum of values
 *     window           2 n r d     the same for r keys
 *     RNN              2 n d^2     W x_t and R h_(t-1)
 *     CNN              k n d^2
 *
 * Attention is measured without its four projections, as the formula counts it (RAW heads), and once with
 * them. One thread; time is the processor's, the best of several, so that other programs matter little.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layer.h"

enum {
    MIXERS = 5,
    FULL = 0,
    WINDOW,
    RNN,
    CNN,
    LAYER,
    LENGTHS = 9,
    WIDTHS = 4,
    REPEATS = 32,
    REACH = 32,
    TAPS = 5
};

typedef struct mixer_theory {
    const char *name, *formula;
    double n, d; /* exponents of the formula; NaN: none */
} mixer_theory;

static const mixer_theory theory[MIXERS] = {
    {"full attention", "n² d", 2, 1},
    {"window of 65", "n r d", 1, 1},
    {"RNN", "n d²", 1, 2},
    {"CNN of 5", "k n d²", 1, 2},
    {"attention with projections", "n² d + 2 n d²", NAN, NAN},
};

typedef struct cost_sizes {
    int64_t lengths[LENGTHS], widths[WIDTHS], width, length; /* width while n grows, length while d grows */
    int length_count, width_count, fitted_lengths, fitted_widths; /* the last so many are fitted */
    int64_t repeats;
    double budget, tolerance;
} cost_sizes;

typedef struct cost_found {
    double by_length[MIXERS][LENGTHS][REPEATS], by_width[MIXERS][WIDTHS][REPEATS]; /* milliseconds */
    double memory[MIXERS][LENGTHS];                                                /* bytes, training */
} cost_found;

static cost_sizes choose_sizes(const lab *report) {
    cost_sizes sizes = {.lengths = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192},
                        .widths = {64, 128, 256, 512},
                        .width = 64,
                        .length = 2048,
                        .length_count = LENGTHS,
                        .width_count = WIDTHS,
                        .fitted_lengths = 4,
                        .fitted_widths = 3,
                        .budget = 0.03,
                        .tolerance = 0.3};
    sizes.repeats = lab_seeds(report, 5, 2);
    if (sizes.repeats > REPEATS) sizes.repeats = REPEATS;
    if (!lab_options_of(report)->quick) return sizes;
    sizes.length_count = 7; /* up to 2048 */
    sizes.width_count = 3;  /* up to 256 */
    sizes.fitted_lengths = 3;
    sizes.length = 512;
    sizes.budget = 0.004;
    sizes.tolerance = 0.45;
    return sizes;
}

static attn_mixer_options mixer_of(const lab *report, int which, int64_t columns) {
    attn_mixer_options options;
    attn_mixer_options_init(&options);
    options.columns = columns;
    options.attention.heads = 1;
    options.attention.form = which == LAYER ? ATTN_HEADS_STANDARD : ATTN_HEADS_RAW;
    if (which == WINDOW && !lab_options_of(report)->broken)
        options.attention.left = options.attention.right = REACH;
    if (which == RNN) {
        options.kind = ATTN_MIXER_RNN;
        options.recurrence = ATTN_RNN_TANH;
        options.directions = 1;
    }
    if (which == CNN) {
        options.kind = ATTN_MIXER_CNN;
        options.width = TAPS;
    }
    return options;
}

/* Milliseconds of one layer and, if asked, the bytes that a pass forwards and backwards holds. */
static bool measure(lab *report, int which, int64_t length, int64_t width, double budget, double *time,
                    double *memory) {
    attn_mixer_options options = mixer_of(report, which, width);
    lab_layer layer;
    bool done = lab_layer_open(report, &layer, &options, 1, 1, length);
    if (done) {
        *time = 1e3 * lab_layer_seconds(&layer, budget, true);
        done = !isnan(*time);
        if (done && memory != NULL) {
            done = lab_layer_run(&layer, true);
            *memory = lab_layer_memory(&layer);
        }
    }
    lab_layer_close(&layer);
    return done;
}

/* All sizes once, then all again: what disturbs the machine for a moment does not hit one size alone. */
static bool measure_all(lab *report, const cost_sizes *sizes, cost_found *found) {
    for (int64_t s = 0; s < sizes->repeats; s++) {
        for (int m = 0; m < MIXERS; m++) {
            lab_progress(report, (double)(s * MIXERS + m) / (double)(sizes->repeats * MIXERS),
                         theory[m].name);
            for (int i = 0; i < sizes->length_count; i++)
                if (!measure(report, m, sizes->lengths[i], sizes->width, sizes->budget,
                             &found->by_length[m][i][s], s == 0 ? &found->memory[m][i] : NULL))
                    return false;
            for (int i = 0; i < sizes->width_count; i++)
                if (!measure(report, m, sizes->length, sizes->widths[i], sizes->budget,
                             &found->by_width[m][i][s], NULL))
                    return false;
        }
    }
    return true;
}

/* ---- exponents ---- */

static double fit_exponent(const int64_t *sizes, const double numbers[][REPEATS], int count, int fitted,
                           int64_t repeat) {
    double x[LENGTHS], y[LENGTHS];
    for (int i = 0; i < fitted; i++) {
        x[i] = (double)sizes[count - fitted + i];
        y[i] = numbers[count - fitted + i][repeat];
    }
    return lab_exponent(x, y, fitted);
}

typedef struct exponents {
    double n[MIXERS], d[MIXERS], memory[MIXERS];
} exponents;

static void show_exponents(lab *report, const cost_sizes *sizes, const cost_found *found, exponents *fitted) {
    lab_table *table = lab_add_table(
        report, "Exponents, fitted over the largest sizes, median of all repeats (lowest to highest)",
        "layer", "theory", "time ~ n^", "time ~ d^", "memory ~ n^", NULL);
    for (int m = 0; m < MIXERS; m++) {
        double n[REPEATS], d[REPEATS], memory[LENGTHS][REPEATS];
        for (int64_t s = 0; s < sizes->repeats; s++) {
            n[s] = fit_exponent(sizes->lengths, found->by_length[m], sizes->length_count,
                                sizes->fitted_lengths, s);
            d[s] =
                fit_exponent(sizes->widths, found->by_width[m], sizes->width_count, sizes->fitted_widths, s);
        }
        for (int i = 0; i < sizes->length_count; i++) memory[i][0] = found->memory[m][i];
        fitted->n[m] = lab_median(n, sizes->repeats);
        fitted->d[m] = lab_median(d, sizes->repeats);
        fitted->memory[m] = fit_exponent(sizes->lengths, memory, sizes->length_count, 3, 0);
        lab_row(table, theory[m].name, theory[m].formula, lab_cell_spread(report, n, sizes->repeats, "%.2f"),
                lab_cell_spread(report, d, sizes->repeats, "%.2f"),
                lab_cell(report, "%.2f", fitted->memory[m]));
    }
}

/* ---- curves and where they cross ---- */

static void draw_times(lab *report, const cost_sizes *sizes, const cost_found *found) {
    char title[128];
    snprintf(title, sizeof title, "Time of one layer, d = %lld", (long long)sizes->width);
    lab_chart *length =
        lab_add_chart(report, title, "rows n", LAB_LOGARITHMIC, "milliseconds", LAB_LOGARITHMIC);
    snprintf(title, sizeof title, "Time of one layer, n = %lld", (long long)sizes->length);
    lab_chart *width =
        lab_add_chart(report, title, "columns d", LAB_LOGARITHMIC, "milliseconds", LAB_LOGARITHMIC);
    for (int m = 0; m < MIXERS; m++) {
        int by_length = lab_line(length, theory[m].name, false);
        int by_width = lab_line(width, theory[m].name, false);
        for (int i = 0; i < sizes->length_count; i++)
            lab_point_spread(length, by_length, (double)sizes->lengths[i], found->by_length[m][i],
                             sizes->repeats);
        for (int i = 0; i < sizes->width_count; i++)
            lab_point_spread(width, by_width, (double)sizes->widths[i], found->by_width[m][i],
                             sizes->repeats);
        if (isnan(theory[m].n)) continue;
        int last = sizes->length_count - 1, n_line = lab_line_theory(length, theory[m].formula, by_length);
        for (int i = 0; i <= last; i++)
            lab_point(length, n_line, (double)sizes->lengths[i],
                      lab_median(found->by_length[m][last], sizes->repeats) *
                          pow((double)sizes->lengths[i] / (double)sizes->lengths[last], theory[m].n));
    }
}

static void draw_memory(lab *report, const cost_sizes *sizes, const cost_found *found) {
    lab_chart *chart = lab_add_chart(report, "Memory of a forward and backward pass, d = 64", "rows n",
                                     LAB_LOGARITHMIC, "megabytes", LAB_LOGARITHMIC);
    for (int m = 0; m < MIXERS; m++) {
        int line = lab_line(chart, theory[m].name, false);
        for (int i = 0; i < sizes->length_count; i++)
            lab_point(chart, line, (double)sizes->lengths[i], 1e-6 * found->memory[m][i]);
    }
    int line = lab_line(chart, "n² weights of one head", true);
    for (int i = 0; i < sizes->length_count; i++)
        lab_point(chart, line, (double)sizes->lengths[i], 4e-6 * pow((double)sizes->lengths[i], 2));
}

/* The length at which full attention becomes slower than another layer; NaN if it does not here. */
static double crossing(const cost_sizes *sizes, const cost_found *found, int other) {
    double before = 0;
    for (int i = 0; i < sizes->length_count; i++) {
        double ratio = log(lab_median(found->by_length[FULL][i], sizes->repeats) /
                           lab_median(found->by_length[other][i], sizes->repeats));
        if (i > 0 && before <= 0 && ratio > 0)
            return (double)sizes->lengths[i - 1] *
                   pow((double)sizes->lengths[i] / (double)sizes->lengths[i - 1], -before / (ratio - before));
        before = ratio;
    }
    return NAN;
}

static void show_crossings(lab *report, const cost_sizes *sizes, const cost_found *found) {
    const double counted[MIXERS] = {
        [WINDOW] = 2 * REACH + 1, [RNN] = (double)sizes->width, [CNN] = TAPS * (double)sizes->width / 2};
    lab_table *table = lab_add_table(report, "Length n from which on full attention is slower, d = 64",
                                     "slower than", "by counting multiplications", "measured", NULL);
    for (int m = WINDOW; m <= CNN; m++) {
        double at = crossing(sizes, found, m);
        double first = lab_median(found->by_length[FULL][0], sizes->repeats) /
                       lab_median(found->by_length[m][0], sizes->repeats);
        lab_row(table, theory[m].name, lab_cell(report, "n = %.0f", counted[m]),
                !isnan(at)  ? lab_cell(report, "n = %.0f", at)
                : first > 1 ? lab_cell(report, "n < %lld", (long long)sizes->lengths[0])
                            : "not in this range");
    }
}

static bool run(lab *report) {
    static cost_found found;
    cost_sizes sizes = choose_sizes(report);
    exponents fitted;
    if (!measure_all(report, &sizes, &found)) return false;
    show_exponents(report, &sizes, &found, &fitted);
    draw_times(report, &sizes, &found);
    draw_memory(report, &sizes, &found);
    show_crossings(report, &sizes, &found);
    const int last = sizes.length_count - 1, wide = sizes.width_count - 1;
    double megabytes = 1e-6 * found.memory[FULL][last], square = 4e-6 * pow((double)sizes.lengths[last], 2);
    lab_note(
        report,
        "Less well known: memory does not grow with n². The weights of a row are used at once and not "
        "stored, neither forward nor backward: at n = %lld a pass of full attention takes %.0f MB, but its "
        "weights would take %.0f MB per head. And projections take time: they need 4 n d² multiplications, "
        "more than the 2 n² d of the scores up to n = 2 d, and at n = %lld, d = %lld they still take %.0f %% "
        "of an attention layer.",
        (long long)sizes.lengths[last], megabytes, square, (long long)sizes.length,
        (long long)sizes.widths[wide],
        100 - 100 * lab_median(found.by_width[FULL][wide], sizes.repeats) /
                  lab_median(found.by_width[LAYER][wide], sizes.repeats));
    for (int m = FULL; m <= CNN; m++)
        if (!(fabs(fitted.n[m] - theory[m].n) < sizes.tolerance &&
              fabs(fitted.d[m] - theory[m].d) < sizes.tolerance))
            return lab_conclude(
                report, LAB_DOES_NOT_HOLD,
                "the time of %s grows as n^%.2f d^%.2f, theory says n^%.0f d^%.0f (within %.2f)",
                theory[m].name, fitted.n[m], fitted.d[m], theory[m].n, theory[m].d, sizes.tolerance);
    if (fitted.memory[FULL] > 1.5)
        return lab_conclude(report, LAB_HOLDS,
                            "all exponents are within %.2f of theory, and memory grows as n^%.2f",
                            sizes.tolerance, fitted.memory[FULL]);
    double crossed = crossing(&sizes, &found, RNN);
    return lab_conclude(
        report, LAB_HOLDS_WHERE,
        "time is concerned: full attention takes n^%.2f d^%.2f, a window n^%.2f d^%.2f, an RNN n^%.2f "
        "d^%.2f, "
        "a CNN n^%.2f d^%.2f, all within %.2f of theory, and attention is cheaper than the RNN up to %s = "
        "%.0f at d = %lld. But its memory grows as n^%.2f, not n²",
        fitted.n[FULL], fitted.d[FULL], fitted.n[WINDOW], fitted.d[WINDOW], fitted.n[RNN], fitted.d[RNN],
        fitted.n[CNN], fitted.d[CNN], sizes.tolerance, isnan(crossed) ? "no measured n, from n" : "n",
        isnan(crossed) ? (double)sizes.lengths[0] : crossed, (long long)sizes.width, fitted.memory[FULL]);
}

const lab_experiment lab_cost = {
    .name = "cost",
    .claim = "A layer of full attention takes time n² d and memory n²; a window of r rows takes time n r d, "
             "an RNN n d², a CNN of k rows k n d². Attention is cheaper while n < d.",
    .experiment =
        "Each layer runs alone on one thread, for growing n and for growing d. Exponents are fitted over the "
        "largest sizes, where the leading term dominates. Time is processor time, the best of at least three "
        "runs; memory is all that a forward and backward pass takes from its allocator.",
    .mistake = "the window is unlimited, so it is full attention",
    .run = run,
};
