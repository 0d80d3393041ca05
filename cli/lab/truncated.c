/* truncated.c: how far does attention have to reach?
 *
 * Sequences of fillers and, here and there, marks of four classes; the label of every row is the class of the
 * nearest mark, which is never farther than L rows. Attention is truncated to r rows on either side. What it
 * can know at the best follows from the data alone: all rows whose mark is within reach, and a guess in four
 * for the others. Beside it the time of one layer on a long sequence, which a window of r makes n r instead
 * of n n.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "real.h"

enum { CLASSES = 4, FILLERS = 4, ROWS = 64, FAR = 8, MOST_SEEDS = 32, MOST_CASES = 16 };

/* ---- sequences ---- */

typedef struct marked {
    int64_t count;
    int64_t *offsets;
    int32_t *ids, *labels;
    int64_t near[ROWS]; /* rows whose nearest mark is at this distance */
} marked;

static void release(marked *m) {
    free(m->offsets);
    free(m->ids);
    free(m->labels);
}

/* Gaps between marks are odd and at most 2 L + 1: the nearest one is then one, and at most L away. */
static void place_marks(int32_t *ids, uint64_t *seed) {
    int64_t last = 0;
    for (int64_t i = 0; i < ROWS; i++) ids[i] = CLASSES + (int32_t)lab_choice(seed, FILLERS);
    for (int64_t i = lab_choice(seed, FAR + 1); i < ROWS; i += 1 + 2 * lab_choice(seed, FAR + 1)) {
        ids[i] = (int32_t)lab_choice(seed, CLASSES);
        last = i;
    }
    if (last < ROWS - 1 - FAR) ids[ROWS - 2 + (ROWS - 1 - last) % 2] = (int32_t)lab_choice(seed, CLASSES);
}

static int64_t nearest(const int32_t *ids, int64_t row) {
    for (int64_t d = 0; d < ROWS; d++) {
        if (row - d >= 0 && ids[row - d] < CLASSES) return row - d;
        if (row + d < ROWS && ids[row + d] < CLASSES) return row + d;
    }
    return row;
}

static bool make(marked *m, int64_t count, uint64_t seed) {
    *m = (marked){.count = count};
    m->offsets = calloc((size_t)count + 1, sizeof *m->offsets);
    m->ids = calloc((size_t)(count * ROWS), sizeof *m->ids);
    m->labels = calloc((size_t)(count * ROWS), sizeof *m->labels);
    if (m->offsets == NULL || m->ids == NULL || m->labels == NULL) return false;
    for (int64_t s = 0; s < count; s++) {
        int32_t *ids = m->ids + s * ROWS;
        m->offsets[s + 1] = (s + 1) * ROWS;
        place_marks(ids, &seed);
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t mark = nearest(ids, i);
            m->labels[s * ROWS + i] = ids[mark];
            m->near[llabs(mark - i)]++;
        }
    }
    return true;
}

/* What can be known with this reach, percent. */
static double ceiling_of(const marked *m, int64_t reach) {
    int64_t known = 0, all = m->count * ROWS;
    for (int64_t d = 0; d < ROWS && d <= reach; d++) known += m->near[d];
    return 100.0 * ((double)known + (double)(all - known) / CLASSES) / (double)all;
}

static lab_examples examples_of(const marked *m) {
    return (lab_examples){.sequences = m->count, .offsets = m->offsets, .ids = m->ids, .labels = m->labels};
}

/* ---- accuracy ---- */

typedef struct reach_case {
    int64_t layers, reach; /* reach of a layer; ATTN_UNLIMITED */
    double accuracy[MOST_SEEDS], ceiling[MOST_SEEDS];
} reach_case;

/* Broken: the window reaches back and not ahead. */
static bool fit_case(lab *report, reach_case *c, const marked *train, const marked *test, int64_t run) {
    const lab_options *options = lab_options_of(report);
    lab_problem problem = {.symbols = CLASSES + FILLERS, .classes = CLASSES};
    lab_network network;
    lab_fitted fitted = {0};
    lab_network_init(&network);
    network.steps = options->quick ? 100 : 300;
    network.batch = 24;
    network.learning_rate = options->quick ? 1e-2 : 5e-3;
    network.encoder.columns = 32;
    network.encoder.layers = c->layers;
    network.encoder.block.inner = 64;
    network.encoder.position = ATTN_POSITION_RELATIVE;
    network.encoder.block.mixer.attention.buckets = 0;
    network.encoder.block.mixer.attention.farthest = 2 * FAR;
    network.encoder.block.mixer.attention.left = c->reach;
    network.encoder.block.mixer.attention.right = options->broken ? 0 : c->reach;
    problem.train = examples_of(train);
    problem.test = examples_of(test);
    if (!lab_fit(report, &problem, &network, options->seed + (uint64_t)run, &fitted)) return false;
    c->accuracy[run] = 100 * fitted.accuracy;
    c->ceiling[run] = ceiling_of(test, c->reach == ATTN_UNLIMITED ? ROWS : c->layers * c->reach);
    return true;
}

static bool fit_cases(lab *report, reach_case *cases, int count, int64_t seeds) {
    bool quick = lab_options_of(report)->quick, done = true;
    for (int64_t run = 0; run < seeds && done; run++) {
        uint64_t seed = (lab_options_of(report)->seed + (uint64_t)run) * 1000;
        marked train = {0}, test = {0};
        done = make(&train, quick ? 800 : 2000, seed) && make(&test, 200, seed + 1);
        if (!done) lab_fail(report, "there is not enough memory for the sequences");
        for (int c = 0; c < count && done; c++) {
            lab_progress(report, ((double)run + (double)c / count) / (double)seeds, "reach");
            done = fit_case(report, &cases[c], &train, &test, run);
        }
        release(&train);
        release(&test);
    }
    return done;
}

/* ---- time ---- */

enum { LONG = 4096, QUICK_LONG = 1024, HEADS = 4, CHANNELS = 16, TIMES = 7 };

/* Milliseconds of the operator, forward and with one thread: the best of several. */
static bool time_reach(lab *report, attn_context *context, int64_t rows, int64_t reach, float *memory,
                       double *milliseconds) {
    size_t size = (size_t)(rows * HEADS * CHANNELS);
    attn_tensor part[4];
    for (int i = 0; i < 4; i++) part[i] = attn_tensor_rows(memory + (size_t)i * size, rows, HEADS, CHANNELS);
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.left = pattern.right = reach;
    *milliseconds = 1e9;
    for (int i = 0; i < TIMES; i++) {
        double begin = lab_seconds();
        if (attn_attention_forward(context, &pattern, NULL, &part[0], &part[1], &part[2], &part[3], NULL,
                                   NULL) != ATTN_OK)
            return lab_fail(report, "%s", attn_context_error(context));
        *milliseconds = fmin(*milliseconds, 1e3 * (lab_seconds() - begin));
    }
    return true;
}

typedef struct timing {
    int64_t rows, count, reach[MOST_CASES];
    double milliseconds[MOST_CASES];
} timing;

static bool measure_time(lab *report, timing *t) {
    static const int64_t reaches[] = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, ATTN_UNLIMITED};
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = 1;
    if (attn_context_create(&options, &context) != ATTN_OK)
        return lab_fail(report, "%s", attn_last_create_error());
    t->rows = lab_options_of(report)->quick ? QUICK_LONG : LONG;
    float *memory = calloc((size_t)(4 * t->rows * HEADS * CHANNELS), sizeof *memory);
    bool done = memory != NULL || lab_fail(report, "there is not enough memory");
    uint64_t seed = 1;
    for (int64_t i = 0; done && i < 3 * t->rows * HEADS * CHANNELS; i++) memory[i] = (float)lab_normal(&seed);
    for (size_t i = 0; i < sizeof reaches / sizeof *reaches && done; i++) {
        if (reaches[i] >= t->rows) continue;
        t->reach[t->count] = reaches[i];
        done = time_reach(report, context, t->rows, reaches[i], memory, &t->milliseconds[t->count++]);
    }
    free(memory);
    attn_context_destroy(context);
    return done;
}

/* ---- the report ---- */

static const char *reach_text(lab *report, int64_t reach) {
    return reach == ATTN_UNLIMITED ? "all" : lab_cell(report, "%lld", (long long)reach);
}

static void show_accuracy(lab *report, const reach_case *cases, int count, int64_t seeds) {
    lab_table *table =
        lab_add_table(report, lab_cell(report, "Accuracy, labels that depend on rows up to L = %d away", FAR),
                      "layers", "reach r of a layer", "accuracy, %", "possible, %", NULL);
    lab_chart *chart = lab_add_chart(report, lab_cell(report, "Accuracy against the reach, L = %d", FAR),
                                     "rows in reach, 2 r + 1, of all layers together", LAB_LOGARITHMIC,
                                     "accuracy, %", LAB_LINEAR);
    int line = lab_line(chart, "one layer", false), deep = -1;
    int theory = lab_line_theory(chart, "possible accuracy", line);
    for (int c = 0; c < count; c++) {
        const reach_case *one = &cases[c];
        double ceiling = lab_median(one->ceiling, seeds);
        lab_row(table, lab_cell(report, "%lld", (long long)one->layers), reach_text(report, one->reach),
                lab_cell_spread(report, one->accuracy, seeds, "%.1f"), lab_cell(report, "%.1f", ceiling));
        double x = one->reach == ATTN_UNLIMITED ? 2 * ROWS - 1 : (double)(2 * one->layers * one->reach + 1);
        if (one->layers == 1) {
            lab_point_spread(chart, line, x, one->accuracy, seeds);
            lab_point(chart, theory, x, ceiling);
        } else {
            if (deep < 0) deep = lab_line(chart, "two layers", false);
            if (one->layers == 2) lab_point_spread(chart, deep, x, one->accuracy, seeds);
        }
    }
}

static void show_time(lab *report, const timing *t) {
    lab_table *table =
        lab_add_table(report,
                      lab_cell(report, "Time of attention on %lld rows (%d heads of %d, one thread)",
                               (long long)t->rows, HEADS, CHANNELS),
                      "reach r", "rows seen", "milliseconds", "of full attention", NULL);
    lab_chart *chart = lab_add_chart(report, "Time of one layer against its reach", "rows seen",
                                     LAB_LOGARITHMIC, "milliseconds", LAB_LOGARITHMIC);
    int line = lab_line(chart, "measured", false), theory = lab_line_theory(chart, "n (2 r + 1)", line);
    double full = t->milliseconds[t->count - 1];
    for (int64_t i = 0; i < t->count; i++) {
        int64_t seen = t->reach[i] == ATTN_UNLIMITED ? t->rows : 2 * t->reach[i] + 1;
        lab_row(table, reach_text(report, t->reach[i]), lab_cell(report, "%lld", (long long)seen),
                lab_cell(report, "%.2f", t->milliseconds[i]),
                lab_cell(report, "1/%.1f", full / t->milliseconds[i]));
        lab_point(chart, line, (double)seen, t->milliseconds[i]);
        lab_point(chart, theory, (double)seen, full * (double)seen / (double)t->rows);
    }
}

static const reach_case *find(const reach_case *cases, int count, int64_t layers, int64_t reach) {
    for (int c = 0; c < count; c++)
        if (cases[c].layers == layers && cases[c].reach == reach) return &cases[c];
    return NULL;
}

static double accuracy_of(const reach_case *cases, int count, int64_t layers, int64_t reach, int64_t seeds) {
    const reach_case *one = find(cases, count, layers, reach);
    return one != NULL ? lab_median(one->accuracy, seeds) : NAN;
}

static bool conclude(lab *report, const reach_case *cases, int count, const timing *t, int64_t seeds) {
    double half = accuracy_of(cases, count, 1, FAR / 2, seeds), at = accuracy_of(cases, count, 1, FAR, seeds);
    double all = accuracy_of(cases, count, 1, ATTN_UNLIMITED, seeds), beyond = all;
    double stacked = accuracy_of(cases, count, 2, FAR / 2, seeds);
    for (int c = 0; c < count; c++)
        if (cases[c].layers == 1 && (cases[c].reach > FAR || cases[c].reach == ATTN_UNLIMITED))
            beyond = fmax(beyond, lab_median(cases[c].accuracy, seeds));
    double window = NAN, full = t->milliseconds[t->count - 1];
    for (int64_t i = 0; i < t->count; i++)
        if (t->reach[i] == FAR) window = t->milliseconds[i];
    lab_note(
        report,
        "The reach of layers adds up: two layers of r = %d have an accuracy of %.1f %%, one of r = %d has "
        "%.1f %%. And a longer reach is not better: without a limit accuracy is %.1f %% after the same "
        "training.",
        FAR / 2, stacked, FAR, at, all);
    lab_note(
        report,
        "A very short reach saves little time: r = 1 takes %.2f ms and r = %d takes %.2f ms, because rows "
        "are computed in tiles.",
        t->milliseconds[0], FAR, window);
    bool rises = at >= half + 8, enough = at >= 90, flat = beyond <= at + 2, faster = full >= 4 * window;
    if (rises && enough && flat && faster)
        return lab_conclude(report, LAB_HOLDS,
                            "accuracy rises to %.1f %% at r = L = %d (%.1f %% at r = %d) and no further "
                            "(at most %.1f %% beyond), at 1/%.0f of the time of full attention on %lld rows",
                            at, FAR, half, FAR / 2, beyond, full / window, (long long)t->rows);
    return lab_conclude(
        report, LAB_DOES_NOT_HOLD,
        "at r = L = %d accuracy is %.1f %% (90 required), at r = %d %.1f %% (8 less required), beyond L up "
        "to %.1f %% (2 more allowed); the time is 1/%.1f of full attention's (1/4 required)",
        FAR, at, FAR / 2, half, beyond, full / window);
}

/* ---- real speech ---- */

static bool run_speech(lab *report) {
    enum { COUNT = 6 };
    static const char *const reading[] = {"input", "speech", NULL};
    static const lab_files files = {.task = "tag",
                                    .train = "speechocean762-adults/train.tsv",
                                    .dev = "speechocean762-adults/dev.tsv",
                                    .values = reading};
    static const char *const common[] = {"encoder.columns",
                                         "64",
                                         "encoder.heads",
                                         "4",
                                         "encoder.layers",
                                         "1",
                                         "training.steps",
                                         "800",
                                         "encoder.dropout",
                                         "0.1",
                                         NULL};
    static const lab_variant variants[COUNT] = {
        {"r = 0", {"encoder.left", "0", "encoder.right", "0"}},
        {"r = 2", {"encoder.left", "2", "encoder.right", "2"}},
        {"r = 5", {"encoder.left", "5", "encoder.right", "5"}},
        {"r = 15", {"encoder.left", "15", "encoder.right", "15"}},
        {"r = 50", {"encoder.left", "50", "encoder.right", "50"}},
        {"all", {"encoder.left", "-1", "encoder.right", "-1"}},
    };
    lab_compared found[COUNT];
    if (!lab_real_compare(report, &files, common, variants, COUNT, lab_seeds(report, 2, 1), found))
        return false;
    double best = found[0].median;
    int first = 0;
    for (int i = 1; i < COUNT; i++) best = fmax(best, found[i].median);
    double percent = best <= 1 ? 100 : 1; /* scores are shares of 1, or percent */
    while (percent * found[first].median < percent * best - 1) first++;
    bool holds = first > 0 && first < COUNT - 1;
    return lab_conclude(
        report, holds ? LAB_HOLDS : LAB_DOES_NOT_HOLD,
        "phones of speech: %s is the shortest reach within a point of the best (%.1f %%); %.1f %% "
        "at r = 0, %.1f %% with the whole recording",
        variants[first].name, percent * best, percent * found[0].median, percent * found[COUNT - 1].median);
}

static bool run(lab *report) {
    static const int64_t usual[][2] = {{1, 0},  {1, 1},  {1, 2},  {1, 4}, {1, 8}, {1, 12},
                                       {1, 16}, {1, 32}, {1, -1}, {2, 2}, {2, 4}};
    static const int64_t quick[][2] = {{1, 4}, {1, 8}, {1, -1}, {2, 4}};
    if (lab_options_of(report)->data != NULL) return run_speech(report);
    bool fast = lab_options_of(report)->quick;
    int count = fast ? 4 : 11;
    int64_t seeds = lab_seeds(report, 3, 1);
    if (seeds > MOST_SEEDS) seeds = MOST_SEEDS;
    reach_case *cases = calloc((size_t)count, sizeof *cases);
    timing t = {0};
    if (cases == NULL) return lab_fail(report, "there is not enough memory");
    for (int c = 0; c < count; c++) {
        cases[c].layers = fast ? quick[c][0] : usual[c][0];
        cases[c].reach = fast ? quick[c][1] : usual[c][1];
    }
    bool done = fit_cases(report, cases, count, seeds) && measure_time(report, &t);
    if (done) {
        show_accuracy(report, cases, count, seeds);
        show_time(report, &t);
        done = conclude(report, cases, count, &t, seeds);
    }
    free(cases);
    return done;
}

const lab_experiment lab_truncated = {
    .name = "truncated",
    .claim =
        "Where labels depend on neighbours up to distance L, attention that reaches r = L is enough, and "
        "costs n r instead of n n.",
    .experiment =
        "Every row has to output the class of the nearest mark, which is at most L = 8 rows away. Attention "
        "is truncated to r rows on either side, from none to all; its accuracy is compared with the highest "
        "accuracy that is possible with that reach. The operator is timed on a long sequence. The claim "
        "holds if accuracy is 90 % or more at r = L, at least 8 points less at L / 2, no more than 2 points "
        "better with any longer reach, and the window takes a quarter of the time of full attention or less.",
    .mistake = "the window reaches only back",
    .data = "speechocean762-adults/train.tsv and dev.tsv: a line per recording, its path, TAB, the path of "
            "its segments",
    .run = run,
};
