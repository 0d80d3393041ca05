/* positions.c: what positions are for, and which kinds do it.
 *
 * Two questions about the same kind of sequences: which of two marks came first (needs the order), and which
 * of two symbols is more frequent (does not). Without positions the answer to the first can only be guessed.
 *
 * Learned against one-hot: W [x; e_t] = W_x x + W_e e_t, so a network that sees one-hot positions beside its
 * input is one that adds column t of W_e. Both are made with the same numbers, and compared.
 */
#include "tasks.h"

#include <math.h>
#include <string.h>

#include "real.h"

enum { SYMBOLS = 8, MOST_SEEDS = 16, GROUPS = 3, KINDS = 8, QUESTIONS = 2, TESTED = 200 };

typedef struct kind {
    const char *name;
    attn_position position;
    bool causal;
} kind;
/* ALiBi subtracts slope * |i - j|: the same on both sides, so that a sequence that is read backwards gets the
 * same answer. A causal mask is no position, but breaks that symmetry. */
enum { NONE = 0, CAUSAL = 1, ALIBI = 7, SINUSOIDAL = 2, LEARNED = 3, ROTARY = 5 };
static const kind kinds[KINDS] = {{"none", ATTN_POSITION_NONE, false},
                                  {"none, causal mask", ATTN_POSITION_NONE, true},
                                  {"sinusoidal", ATTN_POSITION_SINUSOIDAL, false},
                                  {"learned", ATTN_POSITION_LEARNED, false},
                                  {"one-hot, concatenated", ATTN_POSITION_ONE_HOT, false},
                                  {"rotary", ATTN_POSITION_ROTARY, false},
                                  {"relative bias", ATTN_POSITION_RELATIVE, false},
                                  {"ALiBi", ATTN_POSITION_ALIBI, false}};

static const lab_lengths tested[GROUPS] = {{TESTED, 8, 16}, {TESTED, 32, 32}, {TESTED, 64, 64}};

/* Class 1: symbol 0 precedes symbol 1; each is there once. */
static void order_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    (void)of;
    int64_t first = lab_choice(seed, length), second = lab_choice(seed, length - 1);
    second += second >= first;
    for (int64_t i = 0; i < length; i++) ids[i] = (int32_t)(2 + lab_choice(seed, SYMBOLS - 2));
    ids[first] = 0;
    ids[second] = 1;
    labels[0] = first < second;
}

/* Class 1: there are more of symbol 0 than of symbol 1; never as many. */
static void count_rule(const void *of, uint64_t *seed, int64_t length, int32_t *ids, int32_t *labels) {
    (void)of;
    int64_t more = 0;
    while (more == 0) {
        for (int64_t i = 0; i < length; i++) {
            ids[i] = (int32_t)lab_choice(seed, SYMBOLS / 2);
            more += (ids[i] == 0) - (ids[i] == 1);
        }
    }
    labels[0] = more > 0;
}

typedef struct outcome {
    double accuracy[KINDS][QUESTIONS][GROUPS][MOST_SEEDS]; /* in percent */
    int64_t seeds, parameters[KINDS];
    double difference; /* between one-hot and learned */
    double without;    /* and between learned and none */
} outcome;

static bool measure(lab *report, int k, int question, int64_t s, outcome *found) {
    const lab_options *options = lab_options_of(report);
    lab_lengths train = {.sequences = 4000, .shortest = 8, .longest = 16};
    lab_task task = {.problem = {.symbols = SYMBOLS, .classes = 2, .per_sequence = true}};
    lab_network network;
    lab_network_init(&network);
    network.steps = options->quick ? 250 : 400;
    network.batch = 32;
    network.learning_rate = 4e-3;
    network.stop_at = options->quick ? 0.03 : 0.002;
    attn_encoder_options *encoder = &network.encoder;
    encoder->columns = 32;
    encoder->block.inner = 64;
    encoder->longest = 64;
    encoder->position = options->broken ? ATTN_POSITION_NONE : kinds[k].position;
    encoder->block.mixer.causal = kinds[k].causal && !options->broken;
    if (!lab_task_make(report, &task, question == 0 ? order_rule : count_rule, NULL, train, tested, GROUPS,
                       options->seed + (uint64_t)s))
        return false;
    lab_fitted fitted = {.answers = task.answers};
    bool done = lab_fit(report, &task.problem, &network, options->seed + (uint64_t)s, &fitted);
    found->parameters[k] = fitted.parameters;
    for (int g = 0; g < GROUPS && done; g++)
        found->accuracy[k][question][g][s] =
            100 * lab_task_accuracy(&task, g * (int64_t)TESTED, (g + 1) * (int64_t)TESTED);
    lab_task_free(&task);
    return done;
}

/* ---- one-hot is learned ---- */

enum { INPUT = 24, COLUMNS = 32, POSITIONS = 16, ROWS = POSITIONS + 9 };

static attn_encoder *make_encoder(attn_parameters *parameters, attn_position position) {
    attn_encoder_options options;
    attn_encoder_options_init(&options);
    options.columns = COLUMNS;
    options.input_columns = INPUT;
    options.longest = POSITIONS;
    options.position = position;
    options.block.inner = 2 * COLUMNS;
    return attn_encoder_create(parameters, "encoder", &options);
}

static float *numbers_of(const attn_parameter *parameter) { return attn_parameter_value(parameter).data; }

/* The one-hot network gets [W | table^T] in place of W and the table. Of all else both have the same numbers
 * already: those are a function of seed and name. */
static bool carry_over(lab *report, attn_parameters *learned, attn_parameters *one_hot) {
    const attn_parameter *added = attn_parameters_find(learned, "encoder.position.table");
    const attn_parameter *map = attn_parameters_find(learned, "encoder.input.weight");
    attn_parameter *both = attn_parameters_find(one_hot, "encoder.input.weight");
    if (added == NULL || map == NULL || both == NULL)
        return lab_fail(report, "a network cannot be made: %s%s", attn_parameters_error(learned),
                        attn_parameters_error(one_hot));
    const float *table = numbers_of(added), *narrow = numbers_of(map);
    float *wide = numbers_of(both);
    for (int64_t c = 0; c < COLUMNS; c++, wide += INPUT + POSITIONS) {
        memcpy(wide, narrow + c * INPUT, INPUT * sizeof *wide);
        for (int64_t t = 0; t < POSITIONS; t++) wide[INPUT + t] = table[t * COLUMNS + c];
    }
    attn_parameter_changed(both);
    return true;
}

/* What an encoder gives for two sequences of random rows, the same at every call. */
static bool give(lab *report, const attn_encoder *encoder, float *result) {
    static const int64_t offsets[] = {0, POSITIONS, ROWS};
    float rows[ROWS * INPUT];
    uint64_t seed = lab_options_of(report)->seed;
    attn_places places;
    attn_tape *tape;
    for (int64_t i = 0; i < ROWS * INPUT; i++) rows[i] = (float)lab_normal(&seed);
    if (!lab_ok(report, attn_tape_create(lab_context_of(report), &tape))) return false;
    attn_places_init(&places);
    places.batch = (attn_ragged){.sequences = 2, .offsets = offsets};
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_input(tape, rows, ROWS, INPUT, 0);
    x = attn_encoder_apply(tape, encoder, x, &places);
    bool done = x != NULL && attn_variable_read(x, result) == ATTN_OK;
    if (!done) lab_fail(report, "a prediction: %s", attn_tape_error(tape));
    attn_tape_destroy(tape);
    return done;
}

static double largest_difference(const float *a, const float *b) {
    double largest = 0;
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}

static bool compare_one_hot(lab *report, outcome *found) {
    static const attn_position made[3] = {ATTN_POSITION_LEARNED, ATTN_POSITION_ONE_HOT, ATTN_POSITION_NONE};
    attn_parameters *parameters[3] = {NULL, NULL, NULL};
    attn_encoder *encoder[3] = {NULL, NULL, NULL};
    float given[3][ROWS * COLUMNS];
    bool done = true;
    for (int i = 0; i < 3 && done; i++) {
        done = lab_ok(report, attn_parameters_create(lab_context_of(report), lab_options_of(report)->seed,
                                                     &parameters[i]));
        encoder[i] = make_encoder(parameters[i], made[i]);
    }
    done = done && carry_over(report, parameters[0], parameters[1]);
    for (int i = 0; i < 3 && done; i++) done = give(report, encoder[i], given[i]);
    for (int i = 0; i < 3; i++) attn_parameters_destroy(parameters[i]);
    if (!done) return false;
    found->difference = largest_difference(given[0], given[1]);
    found->without = largest_difference(given[0], given[2]);
    lab_note(report,
             "One-hot positions are equivalent to learned ones: two networks of two layers, one with learned "
             "vectors p_t added, one with one-hot positions concatenated to the input and W_e = [p_0 p_1 "
             "...], differ by at most %.1e in %d results; without the positions they would differ by %.2f.",
             found->difference, ROWS * COLUMNS, found->without);
    return true;
}

/* ---- what is told of it ---- */

static void tell(lab *report, const outcome *found) {
    lab_table *table =
        lab_add_table(report, "accuracy in percent; trained on lengths 8 to 16", "positions", "order, 8-16",
                      "order, 32", "order, 64", "counting, 8-16", "counting, 64", "parameters", NULL);
    lab_chart *chart = lab_add_chart(report, "which came first, on sequences longer than in training",
                                     "length", LAB_LOGARITHMIC, "right, %", LAB_LINEAR);
    int64_t seeds = found->seeds;
    for (int k = 0; k < KINDS; k++) {
        int line = lab_line(chart, kinds[k].name, false);
        for (int g = 0; g < GROUPS; g++)
            lab_point_spread(chart, line, (double)tested[g].longest, found->accuracy[k][0][g], seeds);
        lab_row(table, kinds[k].name, lab_cell_spread(report, found->accuracy[k][0][0], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[k][0][1], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[k][0][2], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[k][1][0], seeds, "%.0f"),
                lab_cell_spread(report, found->accuracy[k][1][2], seeds, "%.0f"),
                lab_cell(report, "%lld", (long long)found->parameters[k]));
    }
}

static double median_of(const outcome *found, int k, int question, int group) {
    return lab_median(found->accuracy[k][question][group], found->seeds);
}

static void surprise(lab *report, const outcome *found) {
    lab_note(
        report,
        "ALiBi subtracts the same from a score on both sides, so in an encoder it distinguishes near from "
        "far, but not before from after: accuracy is %.0f %%. A causal mask alone, without positions, is "
        "enough: %.0f %%, and %.0f %% at four times the trained length.",
        median_of(found, ALIBI, 0, 0), median_of(found, CAUSAL, 0, 0), median_of(found, CAUSAL, 0, 2));
    lab_note(report,
             "Sinusoidal positions exist for every length, but a network does not generalise to lengths that "
             "it was not trained on: at four times the longest trained length accuracy is %.0f %% with them, "
             "%.0f %% with learned and %.0f %% with rotary positions (chance: 50). At twice the length: "
             "%.0f, %.0f and %.0f %%.",
             median_of(found, SINUSOIDAL, 0, 2), median_of(found, LEARNED, 0, 2),
             median_of(found, ROTARY, 0, 2), median_of(found, SINUSOIDAL, 0, 1),
             median_of(found, LEARNED, 0, 1), median_of(found, ROTARY, 0, 1));
}

static bool conclude(lab *report, const outcome *found) {
    double guessed = median_of(found, NONE, 0, 0), worst = 100, counted = 100;
    int which = NONE;
    for (int k = 0; k < KINDS; k++) {
        double order = median_of(found, k, 0, 0);
        counted = fmin(counted, median_of(found, k, 1, 0));
        if (k == NONE || k == ALIBI || order >= worst) continue;
        worst = order;
        which = k;
    }
    if (guessed > 60 || worst < 90 || counted < 90 || found->difference > 1e-4 || found->without < 0.01)
        return lab_conclude(report, LAB_DOES_NOT_HOLD,
                            "accuracy on order is %.0f %% without positions (at most 60 allowed) and %.0f %% "
                            "with %s (90 required); on counting at least %.0f %% (90 required)",
                            guessed, worst, kinds[which].name, counted);
    double alibi = median_of(found, ALIBI, 0, 0);
    if (alibi < 90)
        return lab_conclude(
            report, LAB_HOLDS_WHERE,
            "positions distinguish before from after: accuracy on order is %.0f %% without positions, "
            "%.0f %% with ALiBi and %s with all other kinds; on counting it is %s with any kind and with "
            "none",
            guessed, alibi, lab_cell_least(report, worst), lab_cell_least(report, counted));
    return lab_conclude(
        report, LAB_HOLDS,
        "accuracy on order is %.0f %% without positions and %s with all kinds; on counting it is %s with any "
        "kind and with none",
        guessed, lab_cell_least(report, worst), lab_cell_least(report, counted));
}

/* ---- tags of English words ---- */

static bool run_real(lab *report) {
    static const lab_variant variants[] = {
        {"none", {"encoder.position", "none"}},
        {"none, causal mask", {"encoder.position", "none", "encoder.causal", "true"}},
        {"sinusoidal", {"encoder.position", "sinusoidal"}},
        {"learned", {"encoder.position", "learned"}},
        {"one-hot, concatenated", {"encoder.position", "one-hot"}},
        {"rotary", {"encoder.position", "rotary"}},
        {"relative bias", {"encoder.position", "relative"}},
        {"ALiBi", {"encoder.position", "alibi"}}};
    static const lab_variant deaf[] = {{"none", {"encoder.position", "none"}},
                                       {"rotary", {"encoder.position", "none"}}};
    bool broken = lab_options_of(report)->broken;
    int count = broken ? 2 : KINDS, best = 1;
    lab_compared found[KINDS];
    if (!lab_tags_compare(report, broken ? deaf : variants, count, 1000, found)) return false;
    for (int k = 2; k < count; k++)
        if (found[k].median > found[best].median) best = k;
    bool apart = found[best].lowest > found[0].highest + 0.3;
    return lab_conclude(
        report, apart ? LAB_HOLDS : LAB_DOES_NOT_HOLD,
        "accuracy of tags is %.2f %% without positions and %.2f %% with the best of them, %s%s",
        found[0].median, found[best].median, (broken ? deaf : variants)[best].name,
        apart ? ""
              : ". The claim requires that the lowest accuracy with them is more than 0.3 points above the "
                "highest without");
}

static bool run(lab *report) {
    static outcome found;
    found = (outcome){.seeds = lab_seeds(report, 5, 1)};
    if (found.seeds > MOST_SEEDS) found.seeds = MOST_SEEDS;
    if (lab_options_of(report)->data != NULL) return run_real(report);
    for (int64_t s = 0, done = 0; s < found.seeds; s++)
        for (int k = 0; k < KINDS; k++)
            for (int question = 0; question < QUESTIONS; question++, done++) {
                lab_progress(report, (double)done / (double)(found.seeds * KINDS * QUESTIONS), kinds[k].name);
                if (!measure(report, k, question, s, &found)) return false;
            }
    tell(report, &found);
    surprise(report, &found);
    return compare_one_hot(report, &found) && conclude(report, &found);
}

const lab_experiment lab_positions = {
    .name = "positions",
    .claim = "Self-attention without positions does not know the order of its input; with positions of any "
             "kind it does. If order does not matter, no positions are needed. One-hot positions "
             "concatenated to the input are equivalent to learned vectors added to it.",
    .experiment =
        "There are two tasks on sequences of 8 to 16 symbols: which of two marks came first, and which of "
        "two symbols is more frequent. The same network of two layers learns each task with each kind of "
        "position, and is also tested on sequences of 32 and 64 symbols. A network with one-hot positions is "
        "made from the parameters of one with learned positions, and the two are compared.",
    .mistake = "positions are never added",
    .data = "ud-english-ewt: part-of-speech tags of English sentences, from whole words alone",
    .run = run,
};
