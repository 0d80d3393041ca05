/* scores.c: what makes weights of queries and keys, and whether it matters.
 *
 *     a4 c1 b7 d2 ? c      rows say a key and its value, a question says a key: the answer is its value
 *
 * One layer of attention can look it up: the question's query fits one key. What differs is how a score is
 * made (dot product, scaled or not, additive) and how weights are made of scores (softmax, or ReLU, sigmoid
 * and the scores themselves, added up without being divided).
 */
#include <math.h>
#include <string.h>

#include "real.h"
#include "tasks.h"

enum { GROUPS = 4, USUAL = 1, ALL = 3 };
enum {
    VALUES = 8,
    MOST_SEEDS = 16,
    VARIANTS = 7,
    TESTED = 200,
    SCALED = 0,
    ADDITIVE = 2,
    RAW = 5,
    UNIFORM = 6
};

typedef struct variant {
    const char *name;
    attn_score score;
    attn_weighting weighting;
    float scale;
} variant;
static const variant variants[VARIANTS] = {
    {"scaled dot, softmax", ATTN_SCORE_DOT, ATTN_WEIGHTS_SOFTMAX, 0},
    {"dot, softmax", ATTN_SCORE_DOT, ATTN_WEIGHTS_SOFTMAX, 1},
    {"additive, softmax", ATTN_SCORE_ADDITIVE, ATTN_WEIGHTS_SOFTMAX, 0},
    {"scaled dot, ReLU", ATTN_SCORE_DOT, ATTN_WEIGHTS_RELU, 0},
    {"scaled dot, sigmoid", ATTN_SCORE_DOT, ATTN_WEIGHTS_SIGMOID, 0},
    {"scaled dot, raw", ATTN_SCORE_DOT, ATTN_WEIGHTS_RAW, 0},
    {"uniform weights", ATTN_SCORE_NONE, ATTN_WEIGHTS_SOFTMAX, 0}, /* for comparison: not a choice */
};

typedef struct outcome {
    double accuracy[VARIANTS][GROUPS]
                   [MOST_SEEDS]; /* in percent, on lists of 1/4, 2/4, 3/4 and all of the keys */
    double loss[VARIANTS][MOST_SEEDS], seconds[VARIANTS][MOST_SEEDS];
    int64_t seeds, keys;
} outcome;

static void make_network(const lab_options *options, int v, lab_network *network) {
    lab_network_init(network);
    network->steps = options->quick ? 300 : 400;
    network->learning_rate = 6e-3;
    attn_encoder_options *encoder = &network->encoder;
    encoder->columns = 32;
    encoder->layers = 1;
    encoder->position = ATTN_POSITION_NONE; /* where a pair stands says nothing */
    encoder->block.inner = 64;
    attn_multihead_options *attention = &encoder->block.mixer.attention;
    attention->heads = 2;
    attention->score = variants[v].score;
    attention->weighting = variants[v].weighting;
    attention->scale = variants[v].scale;
    if (v == UNIFORM || (options->broken && v == SCALED)) encoder->block.mixer.kind = ATTN_MIXER_MEAN;
}

/* Learned from a quarter to a half of the keys a list, asked for lists up to all of them. */
static bool measure(lab *report, int v, int64_t s, outcome *found) {
    const lab_options *options = lab_options_of(report);
    uint64_t seed = options->seed + (uint64_t)s;
    int64_t quarter = found->keys / GROUPS;
    lab_lookup lookup = {.keys = found->keys, .values = VALUES};
    lab_lengths train = {
        .sequences = 6000, .shortest = quarter + LAB_LOOKUPS, .longest = 2 * quarter + LAB_LOOKUPS};
    lab_lengths test[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        int64_t length = (g + 1) * quarter + LAB_LOOKUPS;
        test[g] = (lab_lengths){.sequences = TESTED, .shortest = length, .longest = length};
    }
    lab_task task = {.problem = {.symbols = found->keys * (VALUES + 1), .classes = VALUES}};
    lab_network network;
    make_network(options, v, &network);
    if (!lab_task_make(report, &task, lab_lookup_rule, &lookup, train, test, GROUPS, seed)) return false;
    lab_fitted fitted = {.answers = task.answers};
    bool done = lab_fit(report, &task.problem, &network, seed, &fitted);
    for (int64_t g = 0; g < GROUPS; g++)
        found->accuracy[v][g][s] = 100 * lab_task_accuracy(&task, g * TESTED, (g + 1) * TESTED);
    found->loss[v][s] = fitted.loss;
    found->seconds[v][s] = fitted.seconds;
    lab_task_free(&task);
    return done;
}

static void tell(lab *report, const outcome *found) {
    int64_t seeds = found->seeds, keys = found->keys;
    lab_chart *chart = lab_add_chart(report, "looking up a key among more and more pairs", "pairs",
                                     LAB_LINEAR, "right, %", LAB_LINEAR);
    lab_table *table =
        lab_add_table(report, "look-up: accuracy in percent", "score and weights",
                      lab_cell(report, "%lld pairs, the most in training", (long long)keys / 2),
                      lab_cell(report, "%lld pairs", (long long)keys), "training loss", "seconds", NULL);
    for (int v = 0; v < VARIANTS; v++) {
        int line = lab_line(chart, variants[v].name, false);
        for (int g = 0; g < GROUPS; g++)
            lab_point_spread(chart, line, (double)((g + 1) * keys / GROUPS), found->accuracy[v][g], seeds);
        lab_row(table, variants[v].name, lab_cell_spread(report, found->accuracy[v][USUAL], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[v][ALL], seeds, "%.0f"),
                lab_cell_spread(report, found->loss[v], seeds, "%.3f"),
                lab_cell_spread(report, found->seconds[v], seeds, "%.1f"));
    }
}

static double median_of(const outcome *found, int v, int group) {
    return lab_median(found->accuracy[v][group], found->seeds);
}

static void surprise(lab *report, const outcome *found) {
    lab_note(report,
             "The softmax helps on lists longer than in training: with it accuracy changes by %+.0f points, "
             "with raw scores by %+.0f, because every pair with another key adds noise.",
             median_of(found, SCALED, ALL) - median_of(found, SCALED, USUAL),
             median_of(found, RAW, ALL) - median_of(found, RAW, USUAL));
    lab_note(report,
             "The additive score, which the dot product replaced, has an accuracy of %.0f %% after the same "
             "steps, the scaled dot product of %.0f %%; training takes %.1f times as long with it.",
             median_of(found, ADDITIVE, USUAL), median_of(found, SCALED, USUAL),
             lab_median(found->seconds[ADDITIVE], found->seeds) /
                 lab_median(found->seconds[SCALED], found->seeds));
}

/* Those within five points of scaled dot with softmax, by name ("SCORE, WEIGHTS"); how many. */
static int as_good(const double *median, char *names, size_t room, bool wanted) {
    int count = 0;
    size_t used = 0;
    names[0] = '\0';
    for (int v = 1; v < UNIFORM; v++) {
        if ((median[v] >= median[SCALED] - 5) != wanted) continue;
        const char *comma = strchr(variants[v].name, ','), *weights = comma + 2;
        int length = snprintf(names + used, room - used, "%s%.*s with %s%s (%.0f %%)", count > 0 ? ", " : "",
                              (int)(comma - variants[v].name), variants[v].name, weights,
                              strcmp(weights, "raw") == 0 ? " weights" : "", median[v]);
        if (length > 0 && (size_t)length < room - used) used += (size_t)length;
        count++;
    }
    return count;
}

static bool conclude(lab *report, const double *median, double least) {
    char good[256], bad[256];
    int count = as_good(median, good, sizeof good, true);
    as_good(median, bad, sizeof bad, false);
    if (median[SCALED] < least || median[SCALED] < median[UNIFORM] + 1 || count == 0)
        return lab_conclude(
            report, LAB_DOES_NOT_HOLD,
            "scaled dot with softmax has an accuracy of %.0f %% (at least %.0f required), uniform weights of "
            "%.0f %%; within 5 points of it: %d of %d others",
            median[SCALED], least, median[UNIFORM], count, UNIFORM - 1);
    if (count == UNIFORM - 1)
        return lab_conclude(report, LAB_HOLDS,
                            "all are within 5 points of scaled dot with softmax (%.0f %%): %s; %s (%.0f %%)",
                            median[SCALED], good,
                            median[UNIFORM] >= median[SCALED] - 5
                                ? "but so are uniform weights, which attend to no row in particular"
                                : "uniform weights are not",
                            median[UNIFORM]);
    return lab_conclude(
        report, LAB_HOLDS_WHERE,
        "the choice is one of the following: %s. None is more than 5 points below scaled dot with "
        "softmax (%.0f %%). More than 5 points below it: %s",
        good, median[SCALED], bad);
}

/* ---- tags of English words ---- */

static bool run_real(lab *report) {
    static const lab_variant rows[VARIANTS] = {
        {"scaled dot, softmax", {"encoder.score", "dot"}},
        {"dot, softmax", {"encoder.scale", "1"}},
        {"additive, softmax", {"encoder.score", "additive"}},
        {"scaled dot, ReLU", {"encoder.weights", "relu", "encoder.average_weights", "true"}},
        {"scaled dot, sigmoid", {"encoder.weights", "sigmoid", "encoder.average_weights", "true"}},
        {"scaled dot, raw", {"encoder.weights", "raw", "encoder.average_weights", "true"}},
        {"uniform weights", {"encoder.kind", "mean"}}};
    lab_variant made[VARIANTS];
    lab_compared found[VARIANTS];
    double median[VARIANTS];
    memcpy(made, rows, sizeof made);
    if (lab_options_of(report)->broken)
        made[SCALED] = (lab_variant){rows[SCALED].name, {"encoder.kind", "mean"}};
    if (!lab_tags_compare(report, made, VARIANTS, 1000, found)) return false;
    for (int v = 0; v < VARIANTS; v++) median[v] = found[v].median;
    return conclude(report, median, 80);
}

static bool run(lab *report) {
    static outcome found;
    const lab_options *options = lab_options_of(report);
    if (options->data != NULL) return run_real(report);
    found = (outcome){.seeds = lab_seeds(report, 5, 1), .keys = options->quick ? 12 : 16};
    if (found.seeds > MOST_SEEDS) found.seeds = MOST_SEEDS;
    for (int64_t s = 0; s < found.seeds; s++)
        for (int v = 0; v < VARIANTS; v++) {
            lab_progress(report, (double)(s * VARIANTS + v) / (double)(found.seeds * VARIANTS),
                         variants[v].name);
            if (!measure(report, v, s, &found)) return false;
        }
    tell(report, &found);
    surprise(report, &found);
    double median[VARIANTS];
    for (int v = 0; v < VARIANTS; v++) median[v] = median_of(&found, v, USUAL);
    return conclude(report, median, 85);
}

const lab_experiment lab_scores = {
    .name = "scores",
    .claim = "There is a choice of scores (dot product, additive) and of how they become weights (softmax, "
             "ReLU, none): several work as well as the scaled dot product with softmax.",
    .experiment = "Rows have a key and its value. Two more rows have a key, and have to output its value, "
                  "which one layer of attention can look up. The same network learns this with each score "
                  "and each weighting, for the same steps, and is tested on lists as long as in training and "
                  "twice as long. Uniform weights show what is possible without attending to any row.",
    .mistake = "the weights of the scaled dot product are uniform",
    .data = "ud-english-ewt: part-of-speech tags of English sentences, from whole words alone",
    .run = run,
};
