/* autotune_space.c: what --autotune tries: changes of the default configuration, one at a time and together.
 *
 * Nothing here depends on the kind of input or the task: a change that the library refuses for them is left
 * out, and so is one of a value that the user has set. Single changes come in the order of the list below:
 * first what changes most (the wide path, other encoders, units), then sizes and rates. Combinations are
 * drawn from the seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autotune.h"

enum { WIDE, ENCODER, UNIT, RATE, DROPOUT, COLUMNS, LAYERS, STEPS, MEMBERS };

/* ---- single changes ---- */

bool autotune_given(const attn_config *config, const char *name) {
    for (int i = 0; attn_config_name(i) != NULL; i++)
        if (strcmp(attn_config_name(i), name) == 0) return attn_config_given(config, i) != 0;
    return false;
}

static double number_of(attn_config *config, const char *name) {
    return strtod(attn_config_get(config, name), NULL);
}

static attn_status copy_given(const autotune_space *space, attn_config **config) {
    attn_status status = attn_config_create(space->context, config);
    for (int i = 0; i < attn_config_count() && status == ATTN_OK; i++) {
        const char *name = attn_config_name(i);
        if (attn_config_given(space->base, i))
            status = attn_config_set(*config, name, attn_config_get(space->base, name));
    }
    return status;
}

attn_status autotune_configure(const autotune_space *space, int candidate, bool single,
                               attn_config **config) {
    const autotune_candidate *of = &space->candidate[candidate];
    *config = NULL;
    attn_status status = copy_given(space, config);
    for (int m = 0; m < of->count && status == ATTN_OK; m++) {
        const autotune_move *move = &space->move[of->moves[m]];
        for (int i = 0; i < move->count && status == ATTN_OK; i++)
            status = attn_config_set(*config, move->name[i], move->value[i]);
    }
    if (status == ATTN_OK && single && number_of(*config, "output.members") > 1)
        status = attn_config_set(*config, "output.members", "1");
    if (status == ATTN_OK) return ATTN_OK;
    attn_config_destroy(*config);
    *config = NULL;
    return status;
}

/* Whether the values of a candidate go together. */
static bool is_taken(const autotune_space *space, int candidate) {
    attn_config *config;
    attn_reader_options options;
    bool taken = autotune_configure(space, candidate, true, &config) == ATTN_OK &&
                 attn_config_reader(config, &options) == ATTN_OK;
    attn_config_destroy(config);
    return taken;
}

/* name2 NULL: one value. Left out if it is the default, set by the user, or refused. */
static void add_move(autotune_space *space, int subject, const char *name, const char *value,
                     const char *name2, const char *value2) {
    if (space->moves == AUTOTUNE_MOVES) return;
    autotune_move *move = &space->move[space->moves];
    *move = (autotune_move){.subject = subject, .count = name2 != NULL ? 2 : 1};
    const char *names[] = {name, name2}, *values[] = {value, value2};
    for (int i = 0; i < move->count; i++) {
        if (autotune_given(space->base, names[i])) return;
        if (i == 0 && strcmp(attn_config_get(space->base, names[i]), values[i]) == 0) return;
        snprintf(move->name[i], sizeof move->name[i], "%s", names[i]);
        snprintf(move->value[i], sizeof move->value[i], "%s", values[i]);
    }
    space->candidate[space->candidates] = (autotune_candidate){.count = 1, .moves = {space->moves}};
    if (is_taken(space, space->candidates)) space->moves++;
}

static void add_number(autotune_space *space, int subject, const char *name, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.4g", value);
    add_move(space, subject, name, text, NULL, NULL);
}

static void add_encoder(autotune_space *space, const char *kind) {
    if (*attn_config_get(space->base, "encoder.mix") == '\0')
        add_move(space, ENCODER, "encoder.kind", kind, NULL, NULL);
}

/* One encoder a layer: where the kind is set, that is what is wanted. */
static void add_mix(autotune_space *space, const char *mix, const char *layers) {
    if (!autotune_given(space->base, "encoder.kind"))
        add_move(space, ENCODER, "encoder.mix", mix, "encoder.layers", layers);
}

/* A value of the kind of input that is configured. */
static const char *own_name(attn_config *config, const char *name, char *room, size_t size) {
    snprintf(room, size, "%s.%s", attn_config_get(config, "input"), name);
    return room;
}

/* With one answer for a whole text, what its units are is ours to choose: elsewhere metric_values of
 * different units cannot be compared. That is where there can be n-grams of the whole text. */
static void add_texts(autotune_space *space) {
    static const char *const units[] = {"chars", "subwords", "words"};
    char wide[64], unit[64];
    own_name(space->base, "wide_buckets", wide, sizeof wide);
    own_name(space->base, "unit", unit, sizeof unit);
    bool has = number_of(space->base, wide) > 0;
    int before = space->moves;
    add_move(space, WIDE, wide, has ? "0" : "262144", NULL, NULL);
    if (space->moves == before) return;
    for (int i = 0; i < 3; i++) add_move(space, UNIT, unit, units[i], NULL, NULL);
}

attn_status autotune_space_fill(autotune_space *space, attn_context *context, attn_config *base,
                                int64_t steps) {
    memset(space, 0, sizeof *space);
    space->context = context;
    space->base = base;
    space->state = (uint64_t)strtoll(attn_config_get(base, "training.seed"), NULL, 10);
    double rate = number_of(base, "training.learning_rate"), dropout = number_of(base, "encoder.dropout"),
           columns = number_of(base, "encoder.columns"), layers = number_of(base, "encoder.layers");
    space->candidate[0] = (autotune_candidate){.metric_value = NAN};
    space->candidates = 1;
    add_encoder(space, "rnn");
    add_texts(space);
    add_mix(space, "rnn,attention", "2");
    add_number(space, RATE, "training.learning_rate", 2 * rate);
    add_encoder(space, "none");
    add_encoder(space, "cnn");
    add_number(space, DROPOUT, "encoder.dropout", fmin(dropout + 0.1, 0.9));
    add_number(space, COLUMNS, "encoder.columns", 2 * columns);
    add_number(space, LAYERS, "encoder.layers", layers + 1);
    add_mix(space, "cnn,attention", "2");
    add_encoder(space, "attention");
    add_number(space, RATE, "training.learning_rate", rate / 2);
    add_number(space, DROPOUT, "encoder.dropout", fmax(dropout - 0.1, 0));
    add_number(space, COLUMNS, "encoder.columns", 0.5 * columns);
    add_encoder(space, "mean");
    add_number(space, STEPS, "training.steps", 2.0 * (double)steps);
    add_number(space, RATE, "training.learning_rate", 4 * rate);
    add_mix(space, "attention,rnn", "2");
    add_number(space, DROPOUT, "encoder.dropout", fmin(dropout + 0.2, 0.9));
    add_encoder(space, "fc");
    return ATTN_OK;
}

/* ---- combinations ---- */

static bool conflict(const autotune_move *a, const autotune_move *b) {
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++)
            if (strcmp(a->name[i], b->name[j]) == 0) return true;
    return a->subject == b->subject;
}

/* Rising, so that the same changes are the same candidate. False: it conflicts, or is too much. */
static bool include(const autotune_space *space, autotune_candidate *to, int move) {
    int at = to->count;
    if (at == AUTOTUNE_COMBINED) return false;
    for (int i = 0; i < to->count; i++)
        if (conflict(&space->move[to->moves[i]], &space->move[move])) return false;
    for (; at > 0 && to->moves[at - 1] > move; at--) to->moves[at] = to->moves[at - 1];
    to->moves[at] = move;
    to->count++;
    return true;
}

/* Its number; -1: it is there already, or refused. */
static int add(autotune_space *space, autotune_candidate made) {
    if (space->candidates == AUTOTUNE_CANDIDATES) return -1;
    for (int c = 0; c < space->candidates; c++) {
        const autotune_candidate *other = &space->candidate[c];
        if (other->count == made.count &&
            memcmp(other->moves, made.moves, (size_t)made.count * sizeof made.moves[0]) == 0)
            return -1;
    }
    made.metric_value = NAN;
    made.settled = false;
    space->candidate[space->candidates] = made;
    return is_taken(space, space->candidates) ? space->candidates++ : -1;
}

static uint64_t draw(autotune_space *space, int below) { /* splitmix64 */
    uint64_t x = space->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % (uint64_t)below;
}

int autotune_draw(autotune_space *space, int best) {
    enum { ATTEMPTS = 200 };
    for (int m = 0; m < space->moves; m++) {
        int drawn = add(space, (autotune_candidate){.count = 1, .moves = {m}});
        if (drawn >= 0) return drawn;
    }
    for (int i = 0; i < ATTEMPTS && space->moves > 0; i++) {
        autotune_candidate made = {.count = 0};
        if (best >= 0 && i % 2 == 0) made = space->candidate[best];
        int wanted = made.count > 0 ? 1 : 2 + (int)draw(space, 2);
        for (int m = 0; m < wanted; m++) include(space, &made, (int)draw(space, space->moves));
        int drawn = made.count > 1 ? add(space, made) : -1;
        if (drawn >= 0) return drawn;
    }
    return -1;
}

int autotune_join(autotune_space *space, int one, int other) {
    autotune_candidate made = space->candidate[one];
    const autotune_candidate *with = &space->candidate[other];
    for (int m = 0; m < with->count; m++)
        if (!include(space, &made, with->moves[m])) return -1;
    return add(space, made);
}

int autotune_ensemble(autotune_space *space, int candidate, int members) {
    autotune_candidate made = space->candidate[candidate];
    char number[16];
    int move = space->moves;
    if (made.count > 0 && space->move[made.moves[made.count - 1]].subject == MEMBERS) return -1;
    snprintf(number, sizeof number, "%d", members);
    add_move(space, MEMBERS, "output.members", number, NULL, NULL);
    if (space->moves == move) return -1;
    made.moves[made.count++] = move;
    int added = add(space, made);
    if (added < 0) space->moves--;
    return added;
}

int autotune_candidates_left(const autotune_space *space) {
    if (space->moves == 0) return 0;
    int left = space->moves > 3 ? AUTOTUNE_MOST_RUNS : space->moves + 1 - space->candidates;
    return left > 0 ? left : 0;
}

/* ---- as flags ---- */

static const char *flag_of(const char *name) {
    attn_config_flag_text flag;
    for (int i = 0; attn_config_flag(i, &flag); i++)
        if (flag.value != NULL && strcmp(flag.name, name) == 0) return flag.flag;
    return "encoder"; /* the program's own */
}

void autotune_flags(const autotune_space *space, int candidate, char *text, size_t room) {
    const autotune_candidate *of = &space->candidate[candidate];
    size_t used = 0;
    *text = '\0';
    for (int m = 0; m < of->count; m++) {
        const autotune_move *move = &space->move[of->moves[m]];
        for (int i = 0; i < move->count && used < room; i++)
            used += (size_t)snprintf(text + used, room - used, "%s--%s %s", used > 0 ? " " : "",
                                     flag_of(move->name[i]), move->value[i]);
    }
}
