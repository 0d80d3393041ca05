/* heads.c: one head against several, at equal parameters.
 *
 * Rows are bits. For each row its neighbours 1, 2 and 3 rows away are requested, on both sides, in two ways:
 *
 *     apart       all of them, each at its place: one of 2^6 classes
 *     together    how many of them are 1
 *
 * A head gives one weighted mean of what it sees. That is enough for the second question, whatever the number
 * of neighbours; for the first one, things have to be kept apart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "tasks.h"

enum { LENGTH = 16, TESTED = 200, MOST_SEEDS = 16, NEIGHBOURS = 6, VARIANTS = 6, QUESTIONS = 2 };
enum { APART = 0, TOGETHER = 1, FARTHEST = 5, PROFILE = 2 * FARTHEST + 1, MOST_HEADS = 8 };
static const int64_t places[NEIGHBOURS] = {-1, 1, -2, 2, -3, 3};

typedef struct variant {
    const char *name;
    attn_heads_form form;
    int64_t heads;
} variant;
enum { ONE = 0, TWO = 1, FOUR = 2, EIGHT = 3, NARROW = 4, WIDE = 5 };
static const variant variants[VARIANTS] = {
    {"standard, 1 head", ATTN_HEADS_STANDARD, 1},  {"standard, 2 heads", ATTN_HEADS_STANDARD, 2},
    {"standard, 4 heads", ATTN_HEADS_STANDARD, 4}, {"standard, 8 heads", ATTN_HEADS_STANDARD, 8},
    {"narrow, 4 heads", ATTN_HEADS_NARROW, 4},     {"wide, 4 heads", ATTN_HEADS_WIDE, 4}};

/* Whether there is no time for it. */
static bool left_out(const lab_options *options, int v) { return options->quick && (v == TWO || v == EIGHT); }

/* `of`: how many neighbours are requested. */
static void apart_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    int64_t asked = *(const int64_t *)of;
    for (int64_t i = 0; i < length; i++) ids[i] = (int32_t)lab_choice(seed, 2);
    for (int64_t i = asked / 2; i < length - asked / 2; i++) {
        labels[i] = 0;
        for (int64_t n = 0; n < asked; n++) labels[i] = 2 * labels[i] + ids[i + places[n]];
    }
}

static void together_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    int64_t asked = *(const int64_t *)of;
    for (int64_t i = 0; i < length; i++) ids[i] = (int32_t)lab_choice(seed, 2);
    for (int64_t i = asked / 2; i < length - asked / 2; i++) {
        labels[i] = 0;
        for (int64_t n = 0; n < asked; n++) labels[i] += ids[i + places[n]];
    }
}

typedef struct outcome {
    double accuracy[VARIANTS][QUESTIONS][MOST_SEEDS], seconds[VARIANTS][MOST_SEEDS];
    int64_t seeds, neighbours, columns[VARIANTS], parameters[VARIANTS];
    /* Mean weight by distance of one head (row 0) and of each of four, for the question `apart`. */
    float profile[1 + 4][PROFILE];
} outcome;

static void make_encoder(const lab_options *options, int v, int64_t columns, attn_encoder_options *encoder) {
    encoder->columns = columns;
    encoder->layers = 1;
    encoder->position = ATTN_POSITION_ROTARY;
    encoder->block.inner = 64;
    encoder->block.mixer.attention.heads = options->broken ? 1 : variants[v].heads;
    encoder->block.mixer.attention.form = options->broken ? ATTN_HEADS_STANDARD : variants[v].form;
}

/* The width at which a variant has about as many parameters as the standard one with 48 columns. */
static bool choose_columns(lab *report, const lab_problem *problem, int v, int64_t *columns) {
    const lab_options *options = lab_options_of(report);
    attn_encoder_options encoder;
    int64_t nearest = INT64_MAX;
    attn_encoder_options_init(&encoder);
    make_encoder(options, ONE, 48, &encoder);
    int64_t wanted = lab_task_parameters(report, problem, &encoder);
    /* Rotary heads have even widths. */
    int64_t step =
        variants[v].form == ATTN_HEADS_WIDE ? 4 : 2 * (variants[v].heads > 4 ? variants[v].heads : 4);
    for (int64_t c = 16; c <= 96 && wanted > 0; c += step) {
        make_encoder(options, v, c, &encoder);
        int64_t count = lab_task_parameters(report, problem, &encoder);
        if (count == 0) return false;
        if (llabs(count - wanted) >= nearest) continue;
        nearest = llabs(count - wanted);
        *columns = c;
    }
    return wanted > 0;
}

/* Adds up how much each head looks at each distance. */
static void take_profile(const float *weights, int64_t heads, float (*profile)[PROFILE]) {
    for (int64_t at = 0; at < TESTED * heads; at++) {
        const float *head = weights + at * LENGTH * LENGTH;
        for (int64_t i = FARTHEST; i < LENGTH - FARTHEST; i++)
            for (int64_t d = -FARTHEST; d <= FARTHEST; d++)
                profile[at % heads][FARTHEST + d] +=
                    head[i * LENGTH + i + d] / (float)(TESTED * (LENGTH - 2 * FARTHEST));
    }
}

static bool measure(lab *report, int v, int question, int64_t s, outcome *found) {
    const lab_options *options = lab_options_of(report);
    uint64_t seed = options->seed + (uint64_t)s;
    int64_t asked = found->neighbours;
    lab_lengths train = {.sequences = 4000, .shortest = LENGTH, .longest = LENGTH};
    lab_lengths test = {.sequences = TESTED, .shortest = LENGTH, .longest = LENGTH};
    lab_task task = {.problem = {.symbols = 2, .classes = question == APART ? 1 << asked : asked + 1}};
    lab_network network;
    lab_network_init(&network);
    network.steps = options->quick ? 250 : 350;
    network.batch = 32;
    network.learning_rate = 4e-3;
    if (!choose_columns(report, &task.problem, v, &found->columns[v])) return false;
    make_encoder(options, v, found->columns[v], &network.encoder);
    int64_t heads = network.encoder.block.mixer.attention.heads;
    bool shown = question == APART && s == 0 && (v == ONE || v == FOUR) && !options->broken;
    float *weights = malloc((size_t)(TESTED * MOST_HEADS * LENGTH * LENGTH) * sizeof *weights);
    if (weights == NULL) return lab_fail(report, "out of memory for the weights");
    bool done = lab_task_make(report, &task, question == APART ? apart_rule : together_rule, &asked, train,
                              &test, 1, seed);
    lab_fitted fitted = {.answers = task.answers, .weights = shown ? &weights : NULL};
    done = done && lab_fit(report, &task.problem, &network, seed, &fitted);
    found->accuracy[v][question][s] = 100 * fitted.accuracy;
    if (question == APART) {
        found->seconds[v][s] = fitted.seconds;
        found->parameters[v] = fitted.parameters;
    }
    if (done && shown) take_profile(weights, heads, &found->profile[v == ONE ? 0 : 1]);
    free(weights);
    lab_task_free(&task);
    return done;
}

static double median_of(const outcome *found, int v, int question) {
    return lab_median(found->accuracy[v][question], found->seeds);
}

static void tell(lab *report, const outcome *found) {
    static const char *const rows[] = {"the one", "1 of 4", "2 of 4", "3 of 4", "4 of 4"};
    static const char *const columns[PROFILE] = {"-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3", "4", "5"};
    int64_t seeds = found->seeds;
    lab_table *table = lab_add_table(
        report, lab_cell(report, "%lld neighbours: accuracy in percent", (long long)found->neighbours),
        "heads", "each neighbour separately", "how many are 1", "columns", "parameters", "seconds", NULL);
    lab_chart *chart =
        lab_add_chart(report, "heads of the standard form", "heads", LAB_LOGARITHMIC, "right, %", LAB_LINEAR);
    int apart = lab_line(chart, "each neighbour separately", false),
        together = lab_line(chart, "how many are 1", false);
    for (int v = 0; v < VARIANTS; v++) {
        if (left_out(lab_options_of(report), v)) continue;
        lab_row(table, variants[v].name, lab_cell_spread(report, found->accuracy[v][APART], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[v][TOGETHER], seeds, "%.0f"),
                lab_cell(report, "%lld", (long long)found->columns[v]),
                lab_cell(report, "%lld", (long long)found->parameters[v]),
                lab_cell_spread(report, found->seconds[v], seeds, "%.1f"));
        if (variants[v].form != ATTN_HEADS_STANDARD) continue;
        lab_point_spread(chart, apart, (double)variants[v].heads, found->accuracy[v][APART], seeds);
        lab_point_spread(chart, together, (double)variants[v].heads, found->accuracy[v][TOGETHER], seeds);
    }
    if (!lab_options_of(report)->broken)
        lab_add_matrix(report, "mean weight of each head by distance, each neighbour separately",
                       &found->profile[0][0], 1 + 4, PROFILE, rows, columns);
    lab_note(
        report,
        "A head can attend to more than one row: with four heads the accuracy on %lld separate neighbours is "
        "%.0f %%. In the picture of the weights a head attends to two rows, to one of them more, so that "
        "both can be computed from their weighted sum. With one head accuracy is %.0f %%, with as many "
        "parameters.",
        (long long)found->neighbours, median_of(found, FOUR, APART), median_of(found, ONE, APART));
}

static bool conclude(lab *report, const outcome *found) {
    double one = median_of(found, ONE, APART), four = median_of(found, FOUR, APART);
    double sum = median_of(found, ONE, TOGETHER), four_sum = median_of(found, FOUR, TOGETHER);
    if (four < one + 20)
        return lab_conclude(report, LAB_DOES_NOT_HOLD,
                            "accuracy on separate neighbours is %.0f %% with one head and %.0f %% with four "
                            "(required: 20 more)",
                            one, four);
    if (sum >= four_sum - 5)
        return lab_conclude(
            report, LAB_HOLDS_WHERE,
            "several rows have to be kept apart: accuracy is %.0f %% with one head, %.0f %% with four "
            "(narrow %.0f %%, wide %.0f %%) at equal parameters; where rows may be added up, it is %.0f %% "
            "with one head, %.0f %% with four",
            one, four, median_of(found, NARROW, APART), median_of(found, WIDE, APART), sum, four_sum);
    return lab_conclude(
        report, LAB_HOLDS,
        "accuracy on separate neighbours is %.0f %% with one head and %.0f %% with four; on their sum %.0f "
        "%% and %.0f %%",
        one, four, sum, four_sum);
}

/* ---- tags of English words ---- */

static bool run_real(lab *report) {
    enum { KINDS = 5 };
    static const lab_variant rows[KINDS] = {
        {"standard, 1 head", {"encoder.heads", "1"}},
        {"standard, 4 heads", {"encoder.heads", "4"}},
        {"standard, 8 heads", {"encoder.heads", "8"}},
        {"narrow, 4 heads", {"encoder.heads", "4", "encoder.form", "narrow"}},
        {"wide, 4 heads", {"encoder.heads", "4", "encoder.form", "wide"}}};
    lab_variant made[KINDS];
    lab_compared found[KINDS];
    memcpy(made, rows, sizeof made);
    if (lab_options_of(report)->broken)
        for (int k = 1; k < KINDS; k++) made[k] = (lab_variant){rows[k].name, {"encoder.heads", "1"}};
    if (!lab_tags_compare(report, made, KINDS, 1500, found)) return false;
    int best = found[2].median > found[1].median ? 2 : 1;
    bool apart = found[best].lowest > found[0].highest + 0.3;
    return lab_conclude(report, apart ? LAB_HOLDS : LAB_DOES_NOT_HOLD,
                        "accuracy of tags is %.2f %% with one head and %.2f %% with %s%s", found[0].median,
                        found[best].median, best == 1 ? "four" : "eight",
                        apart ? ""
                              : ". The claim requires that the lowest accuracy with several heads is more "
                                "than 0.3 points above the highest with one");
}

static bool run(lab *report) {
    static outcome found;
    const lab_options *options = lab_options_of(report);
    if (options->data != NULL) return run_real(report);
    found = (outcome){.seeds = lab_seeds(report, 5, 1), .neighbours = NEIGHBOURS};
    if (found.seeds > MOST_SEEDS) found.seeds = MOST_SEEDS;
    for (int64_t s = 0, done = 0; s < found.seeds; s++)
        for (int v = 0; v < VARIANTS; v++)
            for (int question = 0; question < QUESTIONS; question++, done++) {
                if (left_out(options, v)) continue;
                lab_progress(report, (double)done / (double)(found.seeds * VARIANTS * QUESTIONS),
                             variants[v].name);
                if (!measure(report, v, question, s, &found)) return false;
            }
    tell(report, &found);
    return conclude(report, &found);
}

const lab_experiment lab_heads = {
    .name = "heads",
    .claim = "Several heads are better than one at equal parameters, because each can attend to something "
             "else.",
    .experiment =
        "Rows are bits. Each row has to output its six nearest neighbours, each separately, or, in a second "
        "task, only how many of them are 1. One layer learns both tasks with 1, 2, 4 and 8 heads that share "
        "its width, with narrow heads (the row is split before it is projected) and with wide ones (each as "
        "wide as the row). The width of each layer is chosen so that all have about the same number of "
        "parameters.",
    .mistake = "every network has one head",
    .data =
        "ud-english-ewt: part-of-speech tags of English sentences, from whole words alone, at equal width",
    .run = run,
};
