/* data.c: does a CNN win with little data, and attention with much?
 *
 * Letters, drawn anew for each seed, 10 to 3,000 of them. Two encoders of equally many parameters: a 3 x 3
 * convolution over the grid of patches, which knows that neighbours belong together, and self-attention with
 * one learned position vector a patch, which has to learn even that. Then the same with the patches of all
 * pictures shuffled in one fixed order: for attention nothing has changed but the names of its positions, for
 * the convolution what it knows is now wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures.h"
#include "real.h"

enum { LETTERS = 8, SIDE = 10, PATCH = 2, GRID = SIDE / PATCH, MOST_SIZES = 6, MOST_SEEDS = 32 };
enum { DRAWN_CNN, DRAWN_ATTENTION, SHUFFLED_CNN, SHUFFLED_ATTENTION, CURVES };
static const char *const curve_names[CURVES] = {"CNN", "attention", "CNN, patches shuffled",
                                                "attention, patches shuffled"};

typedef struct measurement {
    int64_t sizes[MOST_SIZES], count, seeds, test;
    double accuracy[CURVES][MOST_SIZES][MOST_SEEDS]; /* percent */
    double trained[CURVES][MOST_SEEDS]; /* of training pictures, with the most of them, percent */
    int64_t parameters[2];              /* CNN, attention */
} measurement;

/* Moves the patches of all pictures to the places that one random order gives them; not `same`: of each
 * picture to places of its own. */
static bool shuffle_patches(lab_pictures *pictures, bool same, uint64_t seed) {
    int64_t rows = pictures->grid * pictures->grid, columns = pictures->patch * pictures->patch;
    int64_t order[GRID * GRID];
    size_t bytes = (size_t)(rows * columns) * sizeof(float);
    float *before = malloc(bytes);
    if (before == NULL) return false;
    for (int64_t i = 0; i < rows; i++) order[i] = i;
    for (int64_t p = 0; p < pictures->count; p++) {
        float *vectors = pictures->vectors + p * rows * columns;
        for (int64_t i = rows - 1; i > 0 && (p == 0 || !same); i--) {
            int64_t j = lab_choice(&seed, i + 1), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        memcpy(before, vectors, bytes);
        for (int64_t i = 0; i < rows; i++)
            memcpy(vectors + i * columns, before + order[i] * columns, (size_t)columns * sizeof(float));
    }
    free(before);
    return true;
}

/* Both have 13,300 weights a layer: 9 c^2 + 2 * 64 c and 4 c^2 + 2 * 144 c with c = 32 columns. */
static lab_network network_of(bool attention, bool quick) {
    lab_network network;
    lab_network_init(&network);
    network.steps = quick ? 70 : 300;
    network.batch = 50;
    network.learning_rate = 5e-3;
    network.stop_at = 0.02;
    network.encoder.columns = 32;
    network.encoder.longest = GRID * GRID;
    network.encoder.position = attention ? ATTN_POSITION_LEARNED : ATTN_POSITION_NONE;
    network.encoder.block.inner = attention ? 144 : 64;
    if (!attention) {
        network.encoder.block.mixer.kind = ATTN_MIXER_CNN;
        network.encoder.block.mixer.grid = 1;
        network.encoder.block.mixer.width = 3;
    }
    return network;
}

static bool measure_pictures(lab *report, measurement *m, const lab_pictures *train, const lab_pictures *test,
                             int64_t run, int curve) {
    bool attention = curve % 2 == 1, quick = lab_options_of(report)->quick;
    lab_problem problem = {.columns = PATCH * PATCH, .classes = LETTERS, .per_sequence = true};
    lab_network network = network_of(attention, quick);
    problem.test = lab_pictures_examples(test, test->count);
    for (int64_t i = 0; i < m->count; i++) {
        lab_fitted fitted = {0};
        problem.train = lab_pictures_examples(train, m->sizes[i]);
        lab_progress(report,
                     ((double)(run * CURVES + curve) + (double)i / (double)m->count) /
                         (double)(m->seeds * CURVES),
                     curve_names[curve]);
        if (!lab_fit(report, &problem, &network, lab_options_of(report)->seed + (uint64_t)run, &fitted))
            return false;
        m->accuracy[curve][i][run] = 100 * fitted.accuracy;
        m->trained[curve][run] = 100 * fitted.train_accuracy;
        m->parameters[attention] = fitted.parameters;
    }
    return true;
}

/* Training and test pictures; how: 0 as drawn, 1 shuffled in one order, 2 each in an order of its own. */
static bool draw(lab *report, const measurement *m, uint64_t seed, int how, lab_pictures pictures[2]) {
    bool done = lab_pictures_draw(&pictures[0], m->sizes[m->count - 1], LETTERS, SIDE, PATCH, 0.1, seed) &&
                lab_pictures_draw(&pictures[1], m->test, LETTERS, SIDE, PATCH, 0.1, seed + 1);
    for (int i = 0; i < 2 && how > 0; i++)
        done = done && shuffle_patches(&pictures[i], how == 1, how == 1 ? seed + 2 : seed + 3 + (uint64_t)i);
    return done || lab_fail(report, "there is not enough memory for the pictures");
}

/* All four curves of one seed. Broken: the CNN gets pictures whose patches are shuffled, each anew. */
static bool measure_seed(lab *report, measurement *m, int64_t run) {
    uint64_t seed = (lab_options_of(report)->seed + (uint64_t)run) * 1000;
    bool done = true;
    for (int curve = 0; curve < CURVES && done; curve++) {
        lab_pictures pictures[2] = {{0}, {0}};
        int how = curve >= SHUFFLED_CNN ? 1 : lab_options_of(report)->broken && curve == DRAWN_CNN ? 2 : 0;
        done = draw(report, m, seed, how, pictures) &&
               measure_pictures(report, m, &pictures[0], &pictures[1], run, curve);
        lab_pictures_release(&pictures[0]);
        lab_pictures_release(&pictures[1]);
    }
    return done;
}

static double at(const measurement *m, int curve, int64_t size) {
    return lab_median(m->accuracy[curve][size], m->seeds);
}

/* The first size from which on `curve` is `points` better than `other` by the medians; -1: none. */
static int64_t ahead_from(const measurement *m, int curve, int other, double points) {
    int64_t from = m->count;
    while (from > 0 && at(m, curve, from - 1) >= at(m, other, from - 1) + points) from--;
    return from < m->count ? from : -1;
}

static void show(lab *report, const measurement *m) {
    lab_table *table =
        lab_add_table(report, "Accuracy on new pictures, %: median (lowest to highest)", "training pictures",
                      curve_names[0], curve_names[1], curve_names[2], curve_names[3], NULL);
    lab_chart *chart = lab_add_chart(report, "Letters: accuracy against the number of training pictures",
                                     "training pictures", LAB_LOGARITHMIC, "accuracy, %", LAB_LINEAR);
    int line[CURVES];
    for (int c = 0; c < CURVES; c++) line[c] = lab_line(chart, curve_names[c], false);
    for (int64_t i = 0; i < m->count; i++) {
        const char *cell[CURVES];
        for (int c = 0; c < CURVES; c++) {
            cell[c] = lab_cell_spread(report, m->accuracy[c][i], m->seeds, "%.1f");
            lab_point_spread(chart, line[c], (double)m->sizes[i], m->accuracy[c][i], m->seeds);
        }
        lab_row(table, lab_cell(report, "%lld", (long long)m->sizes[i]), cell[0], cell[1], cell[2], cell[3]);
    }
}

/* The CNN wins with little data if it is clearly ahead at every size from 100 to 1,000: below that both
 * hardly do more than guess. */
static bool conclude(lab *report, const measurement *m) {
    int64_t last = m->count - 1, ahead = 0, little = 0;
    double gap = at(m, DRAWN_CNN, last) - at(m, DRAWN_ATTENTION, last), widest = -100;
    for (int64_t i = 0; i < m->count; i++) {
        if (m->sizes[i] < 100 || m->sizes[i] > 1000) continue;
        double here = at(m, DRAWN_CNN, i) - at(m, DRAWN_ATTENTION, i);
        little++;
        ahead += here >= 5;
        widest = fmax(widest, here);
    }
    int64_t crossing = ahead_from(m, DRAWN_ATTENTION, DRAWN_CNN, 0);
    long long all = (long long)m->sizes[last];
    lab_note(
        report,
        "Attention does not know which patches are neighbours: with the patches of all pictures shuffled in "
        "the same order its accuracy is %.1f %% instead of %.1f %% after %lld pictures; for attention the "
        "problem is the same. The accuracy of the CNN is %.1f %% instead of %.1f %%%s",
        at(m, SHUFFLED_ATTENTION, last), at(m, DRAWN_ATTENTION, last), all, at(m, SHUFFLED_CNN, last),
        at(m, DRAWN_CNN, last),
        at(m, SHUFFLED_CNN, last) > at(m, SHUFFLED_ATTENTION, last)
            ? ": it can no longer use neighbours, and is still ahead."
            : ", lower than that of attention: it was ahead only because it knows neighbours.");
    lab_note(report,
             "After the same %lld steps the accuracy of the CNN on its training pictures is %.1f %% (of "
             "%lld), that of attention %.1f %%: attention not only needs more pictures, it also learns more "
             "slowly.",
             (long long)network_of(true, lab_options_of(report)->quick).steps,
             lab_median(m->trained[DRAWN_CNN], m->seeds), all,
             lab_median(m->trained[DRAWN_ATTENTION], m->seeds));
    if (ahead < little)
        return lab_conclude(report, LAB_DOES_NOT_HOLD,
                            "the CNN is 5 points or more ahead at %lld of the %lld sizes from 100 to 1,000 "
                            "pictures (required: at all)",
                            (long long)ahead, (long long)little);
    if (crossing >= 0)
        return lab_conclude(report, LAB_HOLDS,
                            "the CNN is ahead by up to %.1f points with little data, attention from %lld "
                            "pictures on",
                            widest, (long long)m->sizes[crossing]);
    return lab_conclude(
        report, LAB_HOLDS_WHERE,
        "there is little data: the CNN is ahead by up to %.1f points. That attention wins with much data is "
        "not shown: the curves do not cross up to %lld pictures, where the CNN is still %.1f points ahead",
        widest, all, gap);
}

/* ---- sentiment of sentences ---- */

/* The CNN is the one that loses the order of its words: not possible on text, so it learns nothing instead.
 */
static bool run_real(lab *report) {
    enum { SIZES = 4, NETWORKS = 2 };
    static const int64_t sizes[SIZES] = {100, 1000, 10000, 0};
    static const char *const common[] = {
        "encoder.columns", "64", "encoder.layers", "2", ".stem", "0", "training.steps", "600", NULL};
    static const lab_variant usual[NETWORKS] = {{"CNN", {"encoder.kind", "cnn"}},
                                                {"attention", {"encoder.kind", "attention"}}};
    static const lab_variant wrong[NETWORKS] = {
        {"CNN", {"encoder.kind", "cnn", "training.learning_rate", "1e-9"}},
        {"attention", {"encoder.kind", "attention"}}};
    lab_compared found[SIZES][NETWORKS];
    for (int i = 0; i < SIZES; i++) {
        lab_files files = {.task = "classify",
                           .train = "sst2/train.tsv.gz",
                           .dev = "sst2/dev.tsv",
                           .train_examples = sizes[i]};
        if (!lab_real_compare(report, &files, common, lab_options_of(report)->broken ? wrong : usual,
                              NETWORKS, lab_seeds(report, 2, 1), found[i]))
            return false;
    }
    double little = found[0][0].median - found[0][1].median;
    double much = found[SIZES - 1][1].median - found[SIZES - 1][0].median;
    lab_verdict verdict = little < 0.3 ? LAB_DOES_NOT_HOLD : much < 0.3 ? LAB_HOLDS_WHERE : LAB_HOLDS;
    return lab_conclude(report, verdict,
                        "%swith 100 sentences the accuracy of the CNN is %.1f %% and that of attention %.1f "
                        "%%, with all sentences %.1f %% and %.1f %%",
                        verdict == LAB_HOLDS_WHERE ? "there is little data: " : "", found[0][0].median,
                        found[0][1].median, found[SIZES - 1][0].median, found[SIZES - 1][1].median);
}

static bool run(lab *report) {
    if (lab_options_of(report)->data != NULL) return run_real(report);
    static const int64_t usual[] = {10, 30, 100, 300, 1000, 3000}, quick[] = {10, 100, 300};
    bool fast = lab_options_of(report)->quick;
    measurement *m = calloc(1, sizeof *m);
    if (m == NULL) return lab_fail(report, "there is not enough memory");
    m->count = fast ? 3 : MOST_SIZES;
    memcpy(m->sizes, fast ? quick : usual, (size_t)m->count * sizeof m->sizes[0]);
    m->seeds = lab_seeds(report, 3, 1);
    if (m->seeds > MOST_SEEDS) m->seeds = MOST_SEEDS;
    m->test = fast ? 200 : 500;
    bool done = true;
    for (int64_t i = 0; i < m->seeds && done; i++) done = measure_seed(report, m, i);
    if (done) {
        show(report, m);
        lab_note(report,
                 "%lld parameters (CNN) and %lld (attention), 2 layers, %d letters of %d x %d pixels.",
                 (long long)m->parameters[0], (long long)m->parameters[1], LETTERS, SIDE, SIDE);
        done = conclude(report, m);
    }
    free(m);
    return done;
}

const lab_experiment lab_data = {
    .name = "data",
    .claim = "A CNN wins with little data, self-attention with much, because it has to learn what is built "
             "into a CNN.",
    .experiment =
        "A CNN and self-attention with learned positions, with about the same number of parameters, are "
        "trained on 10 to 3,000 generated letters (shifted, slanted, thick and thin, with noise) and tested "
        "on 500 others; then again with the patches of every picture shuffled in the same order, so that a "
        "CNN cannot use neighbours. The CNN wins with little data if it is 5 points ahead at every size from "
        "100 to 1,000; attention wins with much if it is ahead at the last sizes.",
    .mistake = "the patches of the CNN's pictures are shuffled, for each picture in another order",
    .data = "sst2/train.tsv.gz and dev.tsv: the sentiment of 100 to all sentences",
    .run = run,
};
