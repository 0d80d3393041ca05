/* fixed.c: weights that depend on the input against weights that do not.
 *
 * Self-attention makes its weights from the rows. Here a layer learns one weight for each pair of positions
 * instead, the same for every input, or takes the plain mean. Three tasks: look up the value of a key, where
 * it depends on the input where to look; say the sequence backwards, and say what stood three rows before,
 * where it depends on the position alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "tasks.h"

enum { SYMBOLS = 8, BACK = 3, LENGTH = 12, LONGER = 24, TESTED = 300, MOST_SEEDS = 16 };
enum { HEADS = 2 };
enum { SELF = 0, ROTARY = 1, FIXED = 2, UNIFORM = 3, NETWORKS = 4 };
enum { LOOKUP = 0, BACKWARDS = 1, BEFORE = 2, BEFORE_LONGER = 3, COLUMNS = 4, TASKS = 3 };

static const char *const network_names[NETWORKS] = {"self-attention", "self-attention, rotary",
                                                    "fixed weights, learned", "uniform weights"};
static const lab_lookup lookup = {.keys = 16, .values = SYMBOLS}, few_keys = {.keys = 8, .values = SYMBOLS};

static void draw(uint64_t *seed, int64_t length, int32_t *ids) {
    for (int64_t i = 0; i < length; i++) ids[i] = (int32_t)lab_choice(seed, SYMBOLS);
}

static void backwards_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    (void)of;
    draw(seed, length, ids);
    for (int64_t i = 0; i < length; i++) labels[i] = ids[length - 1 - i];
}

static void before_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    (void)of;
    draw(seed, length, ids);
    for (int64_t i = BACK; i < length; i++) labels[i] = ids[i - BACK];
}

typedef struct task_kind {
    lab_rule rule;
    int64_t symbols, shortest, longest;
} task_kind;
static const task_kind task_kinds[TASKS] = {
    {lab_lookup_rule, 16 * (SYMBOLS + 1), 6 + LAB_LOOKUPS, 8 + LAB_LOOKUPS} /* quick: half the keys */,
    {backwards_rule, SYMBOLS, LENGTH, LENGTH},
    {before_rule, SYMBOLS, LENGTH / 2, LENGTH}};

typedef struct outcome {
    double accuracy[NETWORKS][COLUMNS][MOST_SEEDS]; /* in percent */
    int64_t seeds, parameters[NETWORKS];
} outcome;

static void make_network(const lab_options *options, int which, lab_network *network) {
    lab_network_init(network);
    network->steps = options->quick ? 220 : 400;
    network->learning_rate = 6e-3;
    network->stop_at = options->quick ? 0.02 : 0.003;
    attn_encoder_options *encoder = &network->encoder;
    encoder->columns = 32;
    encoder->layers = 1;
    encoder->longest = LONGER;
    encoder->position = which == ROTARY && !options->broken ? ATTN_POSITION_ROTARY : ATTN_POSITION_SINUSOIDAL;
    encoder->block.inner = 64;
    attn_multihead_options *attention = &encoder->block.mixer.attention;
    attention->heads = HEADS;
    if (which == FIXED || (options->broken && which <= ROTARY)) attention->score = ATTN_SCORE_NONE;
    if (which == UNIFORM) encoder->block.mixer.kind = ATTN_MIXER_MEAN;
}

/* The weights of the first test sequence, mean of the heads, as a picture with names. */
static void show_weights(lab *report, const lab_task *task, int which, const float *weights) {
    float mean[LONGER * LONGER];
    char text[LONGER][12];
    const char *names[LONGER];
    const lab_examples *test = &task->problem.test;
    int32_t pairs = (int32_t)(task->problem.symbols - task->problem.symbols / (SYMBOLS + 1));
    int64_t length = test->offsets[1];
    for (int64_t i = 0; i < length * length; i++)
        mean[i] = (weights[i] + weights[length * length + i]) / HEADS;
    for (int64_t i = 0; i < length; i++) {
        int32_t id = test->ids[i];
        if (which == FIXED)
            snprintf(text[i], sizeof text[i], "%c", 'a' + id % SYMBOLS);
        else if (id < pairs)
            snprintf(text[i], sizeof text[i], "%c=%d", 'a' + id / SYMBOLS % 26, id % SYMBOLS);
        else
            snprintf(text[i], sizeof text[i], "%c=?", 'a' + (id - pairs) % 26);
        names[i] = text[i];
    }
    lab_add_matrix(report,
                   which == FIXED ? "fixed weights, reversal: the same for every sequence"
                                  : "self-attention, look-up: a question (row) finds its key (column)",
                   mean, length, length, names, names);
}

static bool fit_and_show(lab *report, lab_task *task, const lab_network *network, int which, bool shown,
                         uint64_t seed, lab_fitted *fitted) {
    const lab_examples *test = &task->problem.test;
    int64_t count = 0;
    for (int64_t i = 0; i < test->sequences; i++) {
        int64_t length = test->offsets[i + 1] - test->offsets[i];
        count += HEADS * length * length;
    }
    float *weights = shown ? malloc((size_t)count * sizeof *weights) : NULL;
    if (shown && weights == NULL) return lab_fail(report, "out of memory for the weights");
    *fitted = (lab_fitted){.answers = task->answers, .weights = shown ? &weights : NULL};
    bool done = lab_fit(report, &task->problem, network, seed, fitted);
    if (done && shown) show_weights(report, task, which, weights);
    free(weights);
    return done;
}

static bool measure(lab *report, int which, int t, int64_t s, outcome *found) {
    const lab_options *options = lab_options_of(report);
    const task_kind *kind = &task_kinds[t];
    uint64_t seed = options->seed + (uint64_t)s;
    int64_t less = t == LOOKUP && options->quick ? 2 : 0; /* rows */
    lab_lengths train = {6000, kind->shortest - less, kind->longest - less};
    lab_lengths test[2] = {{TESTED, train.shortest, train.longest}, {TESTED, LONGER, LONGER}};
    lab_task task = {
        .problem = {.symbols = less > 0 ? kind->symbols / 2 : kind->symbols, .classes = SYMBOLS}};
    lab_network network;
    make_network(options, which, &network);
    if (!lab_task_make(report, &task, kind->rule, less > 0 ? &few_keys : &lookup, train, test,
                       t == BEFORE ? 2 : 1, seed))
        return false;
    bool shown = s == 0 && ((which == SELF && t == LOOKUP) || (which == FIXED && t == BACKWARDS));
    lab_fitted fitted;
    bool done = fit_and_show(report, &task, &network, which, shown, seed, &fitted);
    found->parameters[which] = fitted.parameters;
    found->accuracy[which][t][s] = 100 * lab_task_accuracy(&task, 0, TESTED);
    if (t == BEFORE)
        found->accuracy[which][BEFORE_LONGER][s] =
            100 * lab_task_accuracy(&task, TESTED, 2 * (int64_t)TESTED);
    lab_task_free(&task);
    return done;
}

static double median_of(const outcome *found, int which, int column) {
    return lab_median(found->accuracy[which][column], found->seeds);
}

static void tell(lab *report, const outcome *found) {
    lab_table *table = lab_add_table(report, "accuracy in percent", "weights", "look-up", "reversal, 12 rows",
                                     "3 before, 6-12 rows", "3 before, 24 rows", "parameters", NULL);
    for (int w = 0; w < NETWORKS; w++)
        lab_row(table, network_names[w], lab_cell_spread(report, found->accuracy[w][0], found->seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[w][1], found->seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[w][2], found->seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[w][3], found->seeds, "%.0f"),
                lab_cell(report, "%lld", (long long)found->parameters[w]));
    lab_note(report,
             "Weights that do not depend on the input are enough to reverse sequences: accuracy is %.0f %%, "
             "as with self-attention (%.0f %%). But fixed weights depend on absolute positions, not on "
             "distances: trained on at most 12 rows, accuracy on 24 rows is %.0f %%, and %.0f %% with rotary "
             "self-attention. Rotary self-attention in turn cannot reverse a sequence (%.0f %%), because the "
             "distance to the row to attend to differs for each row.",
             median_of(found, FIXED, BACKWARDS), median_of(found, SELF, BACKWARDS),
             median_of(found, FIXED, BEFORE_LONGER), median_of(found, ROTARY, BEFORE_LONGER),
             median_of(found, ROTARY, BACKWARDS));
}

static bool conclude(lab *report, const outcome *found) {
    double self = median_of(found, SELF, LOOKUP), fixed = median_of(found, FIXED, LOOKUP);
    double uniform = median_of(found, UNIFORM, LOOKUP);
    double places = fmin(median_of(found, FIXED, BACKWARDS), median_of(found, FIXED, BEFORE));
    if (self < 85 || self < fixed + 20 || self < uniform + 20)
        return lab_conclude(report, LAB_DOES_NOT_HOLD,
                            "accuracy on look-up is %.0f %% with self-attention, %.0f %% with fixed weights "
                            "and %.0f %% with uniform ones (required: 85, and 20 more than those)",
                            self, fixed, uniform);
    if (places >= 95)
        return lab_conclude(
            report, LAB_HOLDS_WHERE,
            "the row to attend to depends on the input: accuracy on look-up is %.0f %% with self-attention, "
            "%.0f %% with fixed weights, %.0f %% with uniform ones. Where it depends only on the position, "
            "fixed weights also have %s",
            self, fixed, uniform, lab_cell_least(report, places));
    return lab_conclude(
        report, LAB_HOLDS,
        "accuracy on look-up is %.0f %% with self-attention, %.0f %% with fixed weights, %.0f %% with "
        "uniform ones; where the position decides, fixed weights have only %.0f %%",
        self, fixed, uniform, places);
}

/* ---- tags of English words ---- */

#define FIXED_WEIGHTS "encoder.score", "fixed", "encoder.longest", "256", "encoder.position", "sinusoidal"

static bool run_real(lab *report) {
    enum { KINDS = 4 };
    static const lab_variant rows[KINDS] = {
        {"self-attention", {"encoder.position", "sinusoidal"}},
        {"self-attention, rotary", {"encoder.position", "rotary"}},
        {"fixed weights, learned", {FIXED_WEIGHTS}},
        {"uniform weights", {"encoder.kind", "mean", "encoder.position", "sinusoidal"}}};
    lab_variant made[KINDS];
    lab_compared found[KINDS];
    memcpy(made, rows, sizeof made);
    if (lab_options_of(report)->broken)
        for (int k = SELF; k <= ROTARY; k++) made[k] = (lab_variant){rows[k].name, {FIXED_WEIGHTS}};
    if (!lab_tags_compare(report, made, KINDS, 1500, found)) return false;
    const lab_compared *self = found[ROTARY].median > found[SELF].median ? &found[ROTARY] : &found[SELF];
    bool apart = self->lowest > found[FIXED].highest + 0.3 && self->lowest > found[UNIFORM].highest + 0.3;
    return lab_conclude(
        report, apart ? LAB_HOLDS : LAB_DOES_NOT_HOLD,
        "accuracy of tags is %.2f %% with self-attention, %.2f %% with fixed and %.2f %% with uniform "
        "weights%s",
        self->median, found[FIXED].median, found[UNIFORM].median,
        apart ? ""
              : ". The claim requires that the lowest accuracy with self-attention is more than 0.3 points "
                "above the highest of the others");
}

static bool run(lab *report) {
    static outcome found;
    if (lab_options_of(report)->data != NULL) return run_real(report);
    found = (outcome){.seeds = lab_seeds(report, 5, 1)};
    if (found.seeds > MOST_SEEDS) found.seeds = MOST_SEEDS;
    for (int64_t s = 0, done = 0; s < found.seeds; s++)
        for (int which = 0; which < NETWORKS; which++)
            for (int t = 0; t < TASKS; t++, done++) {
                lab_progress(report, (double)done / (double)(found.seeds * NETWORKS * TASKS),
                             network_names[which]);
                if (!measure(report, which, t, s, &found)) return false;
            }
    tell(report, &found);
    return conclude(report, &found);
}

const lab_experiment lab_fixed = {
    .name = "fixed",
    .claim = "Self-attention is strong because its weights are computed from the input: weights that are the "
             "same for every input cannot replace them.",
    .experiment =
        "One layer with self-attention, with one learned weight for each pair of positions, and with the "
        "plain mean learns three tasks: to look up the value of a key, to reverse a sequence, and to output "
        "the symbol of three rows before. In the first task the row to attend to depends on the input, in "
        "the others only on the position. The last is also tested on longer sequences.",
    .mistake = "self-attention has the fixed weights instead of its own",
    .data = "ud-english-ewt: part-of-speech tags of English sentences, from whole words alone",
    .run = run,
};
