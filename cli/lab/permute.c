/* permute.c: whether an encoder knows the order of its rows.
 *
 * With P a permutation of rows, self-attention without positions has encoder(P x) = P encoder(x): its scores
 * and sums are over sets. Whatever makes an encoder see order breaks that: positions, a causal mask, a
 * window, a convolution, a recurrence. Compared are encoder(P x) and P encoder(x), by their largest
 * difference in units of the largest number of encoder(x).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

enum { ROWS = 24, COLUMNS = 32, SEEDS = 32, SWAPPED = 9 };

/* Rounding leaves about 1e-6; an encoder that sees order differs by 1e-2 and more. */
static const double rounding = 1e-5, seen = 1e-3;

typedef struct order_case {
    const char *name;
    attn_mixer_kind kind;
    attn_position position;
    int64_t left, right;
    bool blind; /* what the claim says: it does not see order */
} order_case;

static const order_case cases[] = {
    {"attention, no positions", ATTN_MIXER_ATTENTION, ATTN_POSITION_NONE, -1, -1, true},
    {"mean of all rows", ATTN_MIXER_MEAN, ATTN_POSITION_NONE, -1, -1, true},
    {"sinusoidal positions", ATTN_MIXER_ATTENTION, ATTN_POSITION_SINUSOIDAL, -1, -1, false},
    {"learned positions", ATTN_MIXER_ATTENTION, ATTN_POSITION_LEARNED, -1, -1, false},
    {"one-hot positions", ATTN_MIXER_ATTENTION, ATTN_POSITION_ONE_HOT, -1, -1, false},
    {"rotary positions", ATTN_MIXER_ATTENTION, ATTN_POSITION_ROTARY, -1, -1, false},
    {"ALiBi", ATTN_MIXER_ATTENTION, ATTN_POSITION_ALIBI, -1, -1, false},
    {"relative bias", ATTN_MIXER_ATTENTION, ATTN_POSITION_RELATIVE, -1, -1, false},
    {"causal mask alone", ATTN_MIXER_ATTENTION, ATTN_POSITION_NONE, -1, 0, false},
    {"window of 3 alone", ATTN_MIXER_ATTENTION, ATTN_POSITION_NONE, 1, 1, false},
    {"CNN, width 3", ATTN_MIXER_CNN, ATTN_POSITION_NONE, -1, -1, false},
    {"RNN, two directions", ATTN_MIXER_RNN, ATTN_POSITION_NONE, -1, -1, false},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Every number moves a little from where it starts, as in a network that has learned: biases and tables of
 * positions that start at 0 would hide that they are there. */
static void disturb(attn_parameters *parameters, uint64_t seed) {
    for (int64_t i = 0; i < attn_parameters_count(parameters); i++) {
        attn_parameter *parameter = attn_parameters_at(parameters, i);
        attn_tensor value = attn_parameter_value(parameter);
        int64_t count = 1;
        for (int r = 0; r < value.rank; r++) count *= value.shape[r];
        for (int64_t j = 0; j < count; j++) ((float *)value.data)[j] += (float)(0.1 * lab_normal(&seed));
        attn_parameter_changed(parameter);
    }
}

static attn_encoder *make_encoder(attn_parameters *parameters, const order_case *which, bool broken) {
    attn_encoder_options options;
    attn_encoder_options_init(&options);
    options.columns = COLUMNS;
    options.longest = ROWS;
    options.position = broken && which->blind ? ATTN_POSITION_SINUSOIDAL : which->position;
    options.block.inner = 2 * COLUMNS;
    options.block.mixer.kind = which->kind;
    options.block.mixer.width = 3;
    options.block.mixer.attention.left = which->left;
    options.block.mixer.attention.right = which->right;
    return attn_encoder_create(parameters, "encoder", &options);
}

static bool apply(lab *report, attn_tape *tape, const attn_encoder *encoder, const float *x, float *y) {
    const int64_t offsets[] = {0, ROWS};
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){.sequences = 1, .offsets = offsets};
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *result =
        attn_encoder_apply(tape, encoder, attn_tape_constant(tape, x, ROWS, COLUMNS), &places);
    if (attn_tape_status(tape) != ATTN_OK) return lab_fail(report, "%s", attn_tape_error(tape));
    return lab_ok(report, attn_variable_read(result, y));
}

static void permute_rows(const float *from, const int *order, float *to) {
    for (int i = 0; i < ROWS; i++) memcpy(to + i * COLUMNS, from + order[i] * COLUMNS, COLUMNS * sizeof *to);
}

/* How far encoder(P x) is from P encoder(x). */
typedef struct order_found {
    double most;       /* the largest difference, relative */
    double equal;      /* the part of the numbers that are the same bits */
    double rows[ROWS]; /* the largest difference of each row */
} order_found;

static bool compare(lab *report, attn_tape *tape, const attn_encoder *encoder, const float *x,
                    const int *order, order_found *found) {
    static float permuted[ROWS * COLUMNS], straight[ROWS * COLUMNS], expected[ROWS * COLUMNS],
        got[ROWS * COLUMNS];
    double largest = 0;
    int equal = 0;
    *found = (order_found){0};
    permute_rows(x, order, permuted);
    if (!apply(report, tape, encoder, x, straight) || !apply(report, tape, encoder, permuted, got))
        return false;
    permute_rows(straight, order, expected);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double difference = fabs((double)got[i] - expected[i]);
        largest = fmax(largest, fabs(straight[i]));
        equal += memcmp(&got[i], &expected[i], sizeof got[i]) == 0;
        found->rows[i / COLUMNS] = fmax(found->rows[i / COLUMNS], difference);
    }
    for (int i = 0; i < ROWS; i++) {
        found->rows[i] /= largest;
        found->most = fmax(found->most, found->rows[i]);
    }
    found->equal = (double)equal / (ROWS * COLUMNS);
    return true;
}

static void draw_order(int *order, uint64_t *seed) {
    for (int i = 0; i < ROWS; i++) order[i] = i;
    for (int i = ROWS - 1; i > 0; i--) {
        int other = (int)lab_choice(seed, i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* One network of a case: a random permutation, and two neighbours that change places. */
static bool look_at(lab *report, const order_case *which, uint64_t seed, order_found *any, order_found *two) {
    attn_parameters *parameters = NULL;
    attn_tape *tape = NULL;
    float x[ROWS * COLUMNS];
    int order[ROWS], swapped[ROWS];
    uint64_t random = seed * 7919;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)lab_normal(&random);
    draw_order(order, &random);
    for (int i = 0; i < ROWS; i++) swapped[i] = i;
    swapped[SWAPPED] = SWAPPED + 1;
    swapped[SWAPPED + 1] = SWAPPED;
    attn_context *context = lab_context_of(report);
    bool done = lab_ok(report, attn_parameters_create(context, seed, &parameters)) &&
                lab_ok(report, attn_tape_create(context, &tape));
    if (done) {
        attn_encoder *encoder = make_encoder(parameters, which, lab_options_of(report)->broken);
        if (attn_parameters_status(parameters) != ATTN_OK)
            done = lab_fail(report, "%s: %s", which->name, attn_parameters_error(parameters));
        if (done) disturb(parameters, seed);
        done = done && compare(report, tape, encoder, x, order, any) &&
               compare(report, tape, encoder, x, swapped, two);
    }
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
    return done;
}

static void draw_swap(lab *report, const float *powers) {
    const char *names[CASES], *numbers[ROWS];
    static char room[ROWS][8];
    for (int c = 0; c < CASES; c++) names[c] = cases[c].name;
    for (int i = 0; i < ROWS; i++) {
        snprintf(room[i], sizeof room[i], "%d", i + 1);
        numbers[i] = room[i];
    }
    lab_add_matrix(
        report,
        "Whose output notices that rows 10 and 11 changed places (0: rounding, 6: by its own size; "
        "steps are powers of ten)",
        powers, CASES, ROWS, names, numbers);
}

static bool run(lab *report) {
    int64_t seeds = lab_seeds(report, 20, 3);
    if (seeds > SEEDS) seeds = SEEDS;
    lab_table *table = lab_add_table(report, "encoder(P x) against P encoder(x): median (lowest to highest)",
                                     "encoder", "largest difference", "the same bits, %", "sees order", NULL);
    static float powers[CASES * ROWS];
    double worst_blind = 0, least_seeing = INFINITY, bits = 0;
    const char *worst_name = "", *least_name = "";
    for (int c = 0; c < CASES; c++) {
        double most[SEEDS], equal[SEEDS];
        for (int64_t s = 0; s < seeds; s++) {
            order_found any, two;
            if (!look_at(report, &cases[c], lab_options_of(report)->seed + (uint64_t)s, &any, &two))
                return false;
            most[s] = any.most;
            equal[s] = 100 * any.equal;
            for (int i = 0; i < ROWS; i++) {
                double power = two.rows[i] > 0 ? fmin(fmax(6 + log10(two.rows[i]), 0), 6) : 0;
                powers[c * ROWS + i] += (float)(power / (double)seeds);
            }
            if (cases[c].blind && most[s] > worst_blind) {
                worst_blind = most[s];
                worst_name = cases[c].name;
            }
            if (!cases[c].blind && most[s] < least_seeing) {
                least_seeing = most[s];
                least_name = cases[c].name;
            }
        }
        if (c == 0) bits = lab_median(equal, seeds);
        double middle = lab_median(most, seeds);
        lab_row(table, cases[c].name, lab_cell_spread(report, most, seeds, "%.1e"),
                lab_cell(report, "%.0f", lab_median(equal, seeds)),
                middle < rounding ? "no"
                : middle > seen   ? "yes"
                                  : "hardly");
    }
    draw_swap(report, powers);
    lab_note(
        report,
        "Less well known: positions are not the only source of order. With a causal mask alone each row sees "
        "only the rows before it, so a language model without positions still knows the order; a window has "
        "the same effect. And the outputs are equal only up to rounding: permuted rows are summed in another "
        "order, and only %.0f %% of the numbers have the same bits.",
        bits);
    if (worst_blind > rounding)
        return lab_conclude(report, LAB_DOES_NOT_HOLD, "%s differs by %.1e, more than rounding (%.0e)",
                            worst_name, worst_blind, rounding);
    if (least_seeing < seen)
        return lab_conclude(report, LAB_DOES_NOT_HOLD, "%s differs by %.1e only, less than %.0e", least_name,
                            least_seeing, seen);
    return lab_conclude(report, LAB_HOLDS,
                        "in %lld networks of each kind the largest difference without positions is %.1e "
                        "(limit for rounding: %.0e); with every source of order it is at least %.1e (%s)",
                        (long long)seeds, worst_blind, rounding, least_seeing, least_name);
}

const lab_experiment lab_permute = {
    .name = "permute",
    .claim =
        "Without positions self-attention sees a set: if its input is permuted, its output is permuted in "
        "the same way and not changed otherwise. With positions it changes.",
    .experiment =
        "Encoders of two layers with random parameters get 24 random rows, then the same rows permuted. The "
        "outputs are compared row by row: their bits, and their largest difference relative to the largest "
        "output.",
    .mistake = "sinusoidal positions are left on where there should be none",
    .run = run,
};
