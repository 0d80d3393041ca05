/* parallel.c: what a layer gains from cores, and what sequential steps cost.
 *
 * Rows of attention and of a convolution do not wait for each other: one step, whatever n is. Step t of a
 * recurrence waits for step t - 1: n steps. Threads can share the units of a step, if a step is large enough.
 * Measured is the time of a layer on one sequence with one thread and with all, and, on one thread, the time
 * of the same number of rows as one sequence and as several: the vector units of one core are parallel
 * hardware, too, and rows that wait for each other cannot fill them.
 */
#include <math.h>
#include <stdio.h>

#include "layer.h"

enum { MIXERS = 4, ATTENTION = 0, CNN, RNN, LSTM, LENGTHS = 4, SPLITS = 4, REPEATS = 32, COLUMNS = 256 };
static const char *const names[MIXERS] = {"attention", "CNN of 5", "RNN", "LSTM"};
static const int64_t splits[SPLITS] = {1, 2, 4, 16};

/* How much more attention and CNN must gain than RNNs, in both parts. */
static const double from_threads = 1.3, from_sequences = 1.25;

typedef struct parallel_sizes {
    int64_t lengths[LENGTHS], rows, repeats;
    int length_count;
    double budget;
} parallel_sizes;

typedef struct parallel_found {
    double one[MIXERS][LENGTHS][REPEATS], all[MIXERS][LENGTHS][REPEATS]; /* milliseconds */
    double split[MIXERS][SPLITS][REPEATS];
} parallel_found;

static parallel_sizes choose_sizes(const lab *report) {
    parallel_sizes sizes = {
        .lengths = {64, 256, 1024, 4096}, .rows = 2048, .length_count = LENGTHS, .budget = 0.02};
    sizes.repeats = lab_seeds(report, 7, 3);
    if (sizes.repeats > REPEATS) sizes.repeats = REPEATS;
    if (!lab_options_of(report)->quick) return sizes;
    sizes.length_count = 2;
    sizes.rows = 256;
    sizes.budget = 0.01;
    return sizes;
}

/* The window keeps the work of attention proportional to its rows, however they are split. */
static attn_mixer_options mixer_of(const lab *report, int which, bool window) {
    attn_mixer_options options;
    attn_mixer_options_init(&options);
    options.columns = COLUMNS;
    options.width = 5;
    options.directions = 1;
    if (window) options.attention.left = options.attention.right = 32;
    if (which == CNN) options.kind = ATTN_MIXER_CNN;
    if (which == RNN || which == LSTM) {
        options.kind = lab_options_of(report)->broken ? ATTN_MIXER_CNN : ATTN_MIXER_RNN;
        options.recurrence = which == RNN ? ATTN_RNN_TANH : ATTN_RNN_LSTM;
    }
    return options;
}

/* One thread, then all of them: what disturbs one disturbs the other. */
static bool measure_threads(lab *report, const parallel_sizes *sizes, int which, int64_t length, double *one,
                            double *all) {
    attn_mixer_options options = mixer_of(report, which, false);
    lab_layer alone = {0}, together = {0};
    bool done = lab_layer_open(report, &alone, &options, 1, 1, length) &&
                lab_layer_open(report, &together, &options, 0, 1, length);
    if (done) {
        *one = 1e3 * lab_layer_seconds(&alone, sizes->budget, false);
        *all = 1e3 * lab_layer_seconds(&together, sizes->budget, false);
        done = !isnan(*one) && !isnan(*all);
    }
    lab_layer_close(&alone);
    lab_layer_close(&together);
    return done;
}

static bool measure_split(lab *report, const parallel_sizes *sizes, int which, int64_t sequences,
                          double *time) {
    attn_mixer_options options = mixer_of(report, which, true);
    lab_layer layer = {0};
    bool done = lab_layer_open(report, &layer, &options, 1, sequences, sizes->rows / sequences);
    if (done) {
        *time = 1e3 * lab_layer_seconds(&layer, sizes->budget, true);
        done = !isnan(*time);
    }
    lab_layer_close(&layer);
    return done;
}

/* Everything once, then everything again: a moment's disturbance does not hit one layer alone. */
static bool measure_all(lab *report, const parallel_sizes *sizes, parallel_found *found) {
    for (int64_t s = 0; s < sizes->repeats; s++) {
        for (int m = 0; m < MIXERS; m++) {
            lab_progress(report, (double)(s * MIXERS + m) / (double)(sizes->repeats * MIXERS), names[m]);
            for (int i = 0; i < sizes->length_count; i++)
                if (!measure_threads(report, sizes, m, sizes->lengths[i], &found->one[m][i][s],
                                     &found->all[m][i][s]))
                    return false;
            for (int i = 0; i < SPLITS; i++)
                if (!measure_split(report, sizes, m, splits[i], &found->split[m][i][s])) return false;
        }
    }
    return true;
}

/* ---- what comes of it ---- */

static double least(const double *numbers, int64_t count) {
    double lowest = numbers[0];
    for (int64_t i = 1; i < count; i++) lowest = fmin(lowest, numbers[i]);
    return lowest;
}

static void ratios(const double *above, const double *below, int64_t count, double *into) {
    for (int64_t i = 0; i < count; i++) into[i] = above[i] / below[i];
}

static void show_threads(lab *report, const parallel_sizes *sizes, const parallel_found *found, int threads) {
    char title[128], heading[64];
    double ratio[REPEATS];
    snprintf(heading, sizeof heading, "%d threads, ms", threads);
    snprintf(title, sizeof title,
             "One sequence of n rows, d = %d: best time, and speed-up (median, lowest to highest)", COLUMNS);
    lab_table *table = lab_add_table(report, title, "layer", "n", "sequential steps", "1 thread, ms", heading,
                                     "speed-up", NULL);
    snprintf(title, sizeof title, "Speed-up from 1 to %d threads", threads);
    lab_chart *chart =
        lab_add_chart(report, title, "rows n of one sequence", LAB_LOGARITHMIC, "times faster", LAB_LINEAR);
    for (int m = 0; m < MIXERS; m++) {
        int line = lab_line(chart, names[m], false);
        for (int i = 0; i < sizes->length_count; i++) {
            const double *one = found->one[m][i], *all = found->all[m][i];
            ratios(one, all, sizes->repeats, ratio);
            lab_row(table, names[m], lab_cell(report, "%lld", (long long)sizes->lengths[i]),
                    lab_cell(report, "%lld", m >= RNN ? (long long)sizes->lengths[i] : 1LL),
                    lab_cell(report, "%.3f", least(one, sizes->repeats)),
                    lab_cell(report, "%.3f", least(all, sizes->repeats)),
                    lab_cell_spread(report, ratio, sizes->repeats, "%.2f"));
            lab_point_spread(chart, line, (double)sizes->lengths[i], ratio, sizes->repeats);
        }
    }
    int perfect = lab_line(chart, "perfect", true);
    for (int i = 0; i < sizes->length_count; i++)
        lab_point(chart, perfect, (double)sizes->lengths[i], threads);
}

static void show_splits(lab *report, const parallel_sizes *sizes, const parallel_found *found) {
    char title[160];
    double ratio[REPEATS];
    snprintf(title, sizeof title,
             "The same %lld rows as several sequences, one thread: speed relative to one sequence",
             (long long)sizes->rows);
    lab_chart *chart = lab_add_chart(report, title, "sequences", LAB_LOGARITHMIC, "times faster", LAB_LINEAR);
    lab_table *table =
        lab_add_table(report, title, "layer", "2 sequences", "4 sequences", "16 sequences", NULL);
    for (int m = 0; m < MIXERS; m++) {
        const char *name = m == ATTENTION ? "attention, window of 65" : names[m], *cells[SPLITS];
        int line = lab_line(chart, name, false);
        for (int i = 0; i < SPLITS; i++) {
            ratios(found->split[m][0], found->split[m][i], sizes->repeats, ratio);
            cells[i] = lab_cell_spread(report, ratio, sizes->repeats, "%.2f");
            lab_point_spread(chart, line, (double)splits[i], ratio, sizes->repeats);
        }
        lab_row(table, name, cells[1], cells[2], cells[3]);
    }
}

static bool conclude(lab *report, const parallel_sizes *sizes, const parallel_found *found, int threads) {
    double gained[MIXERS], split[MIXERS];
    for (int m = 0; m < MIXERS; m++) {
        double by_length[LENGTHS];
        for (int i = 0; i < sizes->length_count; i++)
            by_length[i] = least(found->one[m][i], sizes->repeats) / least(found->all[m][i], sizes->repeats);
        gained[m] = lab_median(by_length, sizes->length_count);
        split[m] =
            least(found->split[m][0], sizes->repeats) / least(found->split[m][SPLITS - 1], sizes->repeats);
    }
    double few = fmin(gained[ATTENTION], gained[CNN]), many = fmax(gained[RNN], gained[LSTM]);
    bool cores = threads > 1 && few >= from_threads * many;
    bool units = fmin(split[RNN], split[LSTM]) >= from_sequences * fmax(split[CNN], split[ATTENTION]);
    lab_note(
        report,
        "Less well known: sequential steps take time on a single core, too. As 16 sequences instead of one, "
        "one thread computes the same rows %.1f times faster with an RNN, %.1f times with an LSTM, %.1f "
        "times with a CNN. One row at a time is a product of a matrix and a vector; many rows at once are a "
        "product of two matrices. An RNN is parallel over sequences and over the units of a step, but not "
        "over the rows of a sequence.",
        split[RNN], split[LSTM], split[CNN]);
    if (!units)
        return lab_conclude(
            report, LAB_DOES_NOT_HOLD,
            "on one thread 16 sequences instead of one make RNN and LSTM %.2f and %.2f times as fast, the "
            "CNN %.2f times (required: %.2f times as much for RNNs); %d threads make attention %.2f, the CNN "
            "%.2f, the RNN %.2f and the LSTM %.2f times as fast",
            split[RNN], split[LSTM], split[CNN], from_sequences, threads, gained[ATTENTION], gained[CNN],
            gained[RNN], gained[LSTM]);
    if (threads == 1)
        return lab_conclude(
            report, LAB_HOLDS_WHERE,
            "there is only one core: on one thread the same rows are %.2f times faster as 16 sequences with "
            "an RNN, %.2f times with a CNN",
            split[RNN], split[CNN]);
    return lab_conclude(
        report, cores ? LAB_HOLDS : LAB_HOLDS_WHERE,
        "%s%d threads make attention %.2f, the CNN %.2f, the RNN %.2f and the LSTM %.2f times as fast (best "
        "times, median over n; required of attention and CNN: %.2f times the speed-up of RNN and LSTM); on "
        "one thread 16 sequences instead of one make the RNN %.2f times as fast, the CNN %.2f times",
        cores ? ""
              : "one core is used (threads share the units of a step of the RNN, or none was "
                "free): ",
        threads, gained[ATTENTION], gained[CNN], gained[RNN], gained[LSTM], from_threads, split[RNN],
        split[CNN]);
}

static bool run(lab *report) {
    static parallel_found found;
    parallel_sizes sizes = choose_sizes(report);
    int threads = attn_context_threads(lab_context_of(report));
    if (!measure_all(report, &sizes, &found)) return false;
    show_threads(report, &sizes, &found, threads);
    show_splits(report, &sizes, &found);
    return conclude(report, &sizes, &found, threads);
}

const lab_experiment lab_parallel = {
    .name = "parallel",
    .claim =
        "Attention and CNN compute all rows at once, an RNN computes one after another. So attention and CNN "
        "gain from parallel hardware, and an RNN does not.",
    .experiment =
        "One layer runs on one sequence of n rows, with one thread and with all threads in turns. Then one "
        "thread computes the same rows as one sequence and as 2, 4 and 16, because vector units are parallel "
        "hardware, too.",
    .mistake = "the RNNs are CNNs",
    .run = run,
};
