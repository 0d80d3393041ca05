/* path.c: how far a dependency reaches.
 *
 *     letter filler filler ... filler ?      the answer to ? is the letter, L rows before it
 *
 * Attention sees every row in one step, a recurrent network in L steps, a convolution in as many layers as
 * the distance has reaches of one, and a window of a fully connected layer likewise. Letters are symbols of
 * their own, so that it is clear to all of them what is to be kept.
 */
#include "tasks.h"

enum { LETTERS = 8, FILLERS = 8, QUESTION = LETTERS + FILLERS, MOST_SEEDS = 16, KINDS = 4, NEAR = 16 };
enum { CNN_WIDTH = 5, FC_WIDTH = 9, LAYERS = 2 };

typedef struct kind {
    const char *name;
    attn_mixer_kind mixer;
    int64_t width, reach; /* reach 0: no limit that is known before */
} kind;
static const kind kinds[KINDS] = {{"attention", ATTN_MIXER_ATTENTION, 1, 0},
                                  {"LSTM", ATTN_MIXER_RNN, 1, 0},
                                  {"CNN, width 5", ATTN_MIXER_CNN, CNN_WIDTH, LAYERS *(CNN_WIDTH / 2)},
                                  {"FC, window 9", ATTN_MIXER_FC, FC_WIDTH, LAYERS *(FC_WIDTH / 2)}};
enum { ATTENTION = 0, LSTM = 1, CNN = 2 };

static const int64_t all_distances[] = {1, 2, 4, 8, 16, 32, 64, 128}, few_distances[] = {1, 4, 8, 32};

static void copy_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    (void)of;
    ids[0] = (int32_t)lab_choice(seed, LETTERS);
    for (int64_t i = 1; i < length - 1; i++) ids[i] = (int32_t)(LETTERS + lab_choice(seed, FILLERS));
    ids[length - 1] = QUESTION;
    labels[length - 1] = ids[0];
}

static void make_network(const lab_options *options, const kind *of, lab_network *network) {
    lab_network_init(network);
    network->steps = options->quick ? 150 : 160;
    network->batch = 32;
    network->stop_at = 0.01;
    attn_encoder_options *encoder = &network->encoder;
    encoder->columns = 32;
    encoder->layers = LAYERS;
    encoder->block.inner = 64;
    attn_mixer_options *mixer = &encoder->block.mixer;
    mixer->kind = of->mixer;
    mixer->width = of->width;
    mixer->directions = 1; /* all of its width for the direction that is requested */
    if (options->broken) mixer->attention.left = mixer->attention.right = 2;
}

/* Accuracy of one network that learns from distances shortest .. longest, at those of `test`. */
static bool measure(lab *report, const kind *of, lab_lengths train, const lab_lengths *test, int groups,
                    uint64_t seed, double *accuracy, int64_t *parameters) {
    lab_task task = {.problem = {.symbols = QUESTION + 1, .classes = LETTERS}};
    lab_network network;
    make_network(lab_options_of(report), of, &network);
    if (!lab_task_make(report, &task, copy_rule, NULL, train, test, groups, seed)) return false;
    lab_fitted fitted = {.answers = task.answers};
    bool done = lab_fit(report, &task.problem, &network, seed, &fitted);
    *parameters = fitted.parameters;
    for (int64_t g = 0, first = 0; done && g < groups; first += test[g++].sequences)
        accuracy[g] = lab_task_accuracy(&task, first, first + test[g].sequences);
    lab_task_free(&task);
    return done;
}

typedef struct outcome {
    double median[KINDS][8]; /* accuracy by distance */
    double lowest_attention;
    int64_t seeds, distances;
    const int64_t *distance;
} outcome;

static bool measure_distance(lab *report, int d, lab_chart *chart, lab_table *table, outcome *found) {
    double accuracy[KINDS][MOST_SEEDS];
    int64_t length = found->distance[d] + 1, seeds = found->seeds, parameters[KINDS];
    lab_lengths train = {.sequences = 2000, .shortest = length, .longest = length};
    lab_lengths test = {.sequences = 200, .shortest = length, .longest = length};
    uint64_t seed = lab_options_of(report)->seed;
    for (int k = 0; k < KINDS; k++) {
        for (int64_t s = 0; s < seeds; s++) {
            lab_progress(report,
                         ((double)d + (double)(k * seeds + s) / (double)(KINDS * seeds)) /
                             (double)(found->distances + 2),
                         kinds[k].name);
            if (!measure(report, &kinds[k], train, &test, 1, seed + (uint64_t)s, &accuracy[k][s],
                         &parameters[k]))
                return false;
            accuracy[k][s] *= 100;
        }
        found->median[k][d] = lab_median(accuracy[k], seeds);
        lab_point_spread(chart, k, (double)(length - 1), accuracy[k], seeds);
    }
    double lowest = lab_lowest(accuracy[ATTENTION], seeds);
    if (d == 0 || lowest < found->lowest_attention) found->lowest_attention = lowest;
    lab_row(table, lab_cell(report, "%lld", (long long)(length - 1)),
            lab_cell_spread(report, accuracy[0], seeds, "%.0f"),
            lab_cell_spread(report, accuracy[1], seeds, "%.0f"),
            lab_cell_spread(report, accuracy[2], seeds, "%.0f"),
            lab_cell_spread(report, accuracy[3], seeds, "%.0f"));
    if (d + 1 == found->distances)
        lab_row(table, "parameters", lab_cell(report, "%lld", (long long)parameters[0]),
                lab_cell(report, "%lld", (long long)parameters[1]),
                lab_cell(report, "%lld", (long long)parameters[2]),
                lab_cell(report, "%lld", (long long)parameters[3]));
    return true;
}

/* Whether an LSTM forgets over a long way, or only cannot learn over it: it learns from near letters, and is
 * asked for far ones. */
static bool near_to_far(lab *report, const outcome *found) {
    enum { GROUPS = 4 };
    static const int64_t far[GROUPS] = {NEAR, 64, 128, 256};
    lab_lengths train = {.sequences = 2000, .shortest = 2, .longest = NEAR + 1}, test[GROUPS];
    double accuracy[2][GROUPS][MOST_SEEDS], once[GROUPS];
    int64_t parameters;
    for (int g = 0; g < GROUPS; g++)
        test[g] = (lab_lengths){.sequences = 150, .shortest = far[g] + 1, .longest = far[g] + 1};
    lab_table *table =
        lab_add_table(report, "trained on distances 1 to 16, tested at others: accuracy in percent",
                      "network", "16", "64", "128", "256", NULL);
    for (int k = ATTENTION; k <= LSTM; k++) {
        for (int64_t s = 0; s < found->seeds; s++) {
            lab_progress(report, (double)(found->distances + k) / (double)(found->distances + 2),
                         "from near to far");
            if (!measure(report, &kinds[k], train, test, GROUPS, lab_options_of(report)->seed + (uint64_t)s,
                         once, &parameters))
                return false;
            for (int g = 0; g < GROUPS; g++) accuracy[k][g][s] = 100 * once[g];
        }
        lab_row(table, kinds[k].name, lab_cell_spread(report, accuracy[k][0], found->seeds, "%.0f"),
                lab_cell_spread(report, accuracy[k][1], found->seeds, "%.0f"),
                lab_cell_spread(report, accuracy[k][2], found->seeds, "%.0f"),
                lab_cell_spread(report, accuracy[k][3], found->seeds, "%.0f"));
    }
    double kept = lab_median(accuracy[LSTM][1], found->seeds);
    double direct = found->median[LSTM][found->distances - 2]; /* 64, too */
    if (kept > direct + 20)
        lab_note(
            report,
            "At distance 64 the difficulty of the LSTM is to learn the task, not to remember the letter: "
            "trained on distances up to "
            "%d, it has an accuracy of %.0f %% at 64; trained at distance 64, it has %.0f %% (chance: %.0f). "
            "All networks had the same small number of steps; more were not tried.",
            NEAR, kept, direct, 100.0 / LETTERS);
    else
        lab_note(
            report,
            "Trained on distances up to %d, the LSTM has an accuracy of %.0f %% at 64; trained at distance "
            "64, it has %.0f %% (chance: %.0f): what it learned on short distances does not help on long "
            "ones.",
            NEAR, kept, direct, 100.0 / LETTERS);
    return true;
}

/* Whether the windows reach exactly as far as counted: right within, guessing beyond. */
static bool windows_as_counted(const outcome *found) {
    for (int k = CNN; k < KINDS; k++) {
        for (int64_t d = 0; d < found->distances; d++) {
            bool within = found->distance[d] <= kinds[k].reach;
            if (within ? found->median[k][d] < 95 : found->median[k][d] > 100.0 / LETTERS + 10) return false;
        }
    }
    return true;
}

static bool conclude(lab *report, const outcome *found) {
    int64_t last = found->distances - 1, lost = -1;
    for (int64_t d = last; d >= 0 && found->median[LSTM][d] < 95; d--) lost = found->distance[d];
    if (found->lowest_attention < 95)
        return lab_conclude(report, LAB_DOES_NOT_HOLD,
                            "attention has an accuracy of only %.0f %% at one of the distances (required: 95 "
                            "%%)",
                            found->lowest_attention);
    if (!windows_as_counted(found))
        return lab_conclude(report, LAB_HOLDS_WHERE,
                            "attention reaches every distance up to %lld, but the CNN or the window reach "
                            "other distances than calculated",
                            (long long)found->distance[last]);
    if (lost < 0)
        return lab_conclude(report, LAB_HOLDS_WHERE,
                            "attention reaches %lld, the CNN %lld and the window %lld rows, as calculated; "
                            "the LSTM reaches all distances here, too",
                            (long long)found->distance[last], (long long)kinds[CNN].reach,
                            (long long)kinds[CNN + 1].reach);
    return lab_conclude(
        report, LAB_HOLDS,
        "attention has an accuracy of %s at every distance up to %lld; the CNN reaches %lld and the window "
        "%lld rows, as calculated; the LSTM does not learn it from %lld on",
        lab_cell_least(report, found->lowest_attention), (long long)found->distance[last],
        (long long)kinds[CNN].reach, (long long)kinds[CNN + 1].reach, (long long)lost);
}

static bool run(lab *report) {
    bool quick = lab_options_of(report)->quick;
    outcome found = {.seeds = lab_seeds(report, 3, 1),
                     .distance = quick ? few_distances : all_distances,
                     .distances = quick ? 4 : 8};
    if (found.seeds > MOST_SEEDS) found.seeds = MOST_SEEDS;
    lab_chart *chart = lab_add_chart(report, "recalling the letter of L rows before", "distance L",
                                     LAB_LOGARITHMIC, "right, %", LAB_LINEAR);
    for (int k = 0; k < KINDS; k++) lab_line(chart, kinds[k].name, false);
    int chance = lab_line(chart, "guessing", true);
    lab_point(chart, chance, 1, 100.0 / LETTERS);
    lab_point(chart, chance, (double)found.distance[found.distances - 1], 100.0 / LETTERS);
    lab_table *table = lab_add_table(report, "accuracy in percent, by distance", "distance", kinds[0].name,
                                     kinds[1].name, kinds[2].name, kinds[3].name, NULL);
    for (int d = 0; d < found.distances; d++)
        if (!measure_distance(report, d, chart, table, &found)) return false;
    if (!quick && !near_to_far(report, &found)) return false;
    return conclude(report, &found);
}

const lab_experiment lab_path = {
    .name = "path",
    .claim = "Self-attention reaches any distance in one step. A recurrent network has to carry information "
             "row by row, and a convolution or a window reaches only as far as its layers together.",
    .experiment = "The first row of a sequence is a letter, then come fillers, and the last row, L rows "
                  "later, has to output the letter. Attention, an LSTM, a convolution of width 5 and a fully "
                  "connected window of 9 rows, two layers of 32 columns each, learn this for the same number "
                  "of steps at each L. In two layers the convolution reaches 4 rows and the window 8.",
    .mistake = "attention sees only two rows to each side",
    .run = run,
};
