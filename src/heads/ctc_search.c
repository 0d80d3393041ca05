/* ctc_search.c: prefix beam search over rows of probabilities with a blank, and the probability of a
 * hypothesis.
 *
 * A prefix has two probabilities: of paths that end in the blank, and of those that end in its last symbol.
 * After a row it is the same prefix (the blank, or its last symbol again), or one symbol longer. Prefixes are
 * nodes of a tree and found again by parent and symbol, so that all paths with the same sequence are summed.
 * Only the beam + 1 likeliest symbols of a row can lead to a new prefix that is kept: any other has `beam`
 * better ones before it.
 */
#include "heads/ctc_search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

typedef struct at_ctc_node {
    int32_t symbol, parent; /* parent -1: nothing was said */
    int32_t length;
    int32_t place; /* in the beam, -1: not there */
} at_ctc_node;

typedef struct at_ctc_beginning {
    int32_t node;
    double blank, symbol, all; /* logarithms of probabilities: by what its paths end in */
} at_ctc_beginning;

typedef struct at_ctc_choice {
    double log_probability;
    int32_t from;   /* a beginning of the beam */
    int32_t symbol; /* that it continues with, -1: it stays */
} at_ctc_choice;

static int64_t slots_for(int64_t nodes) {
    int64_t count = 64;
    while (count < 2 * nodes) count *= 2;
    return count;
}

attn_status at_ctc_prepare(attn_context *context, at_ctc_memory *memory, int64_t rows, int64_t symbols,
                           const attn_search_options *options) {
    int64_t beam = options->beam, likely = beam + 1 < symbols ? beam + 1 : symbols, nodes = 1 + rows * beam;
    attn_status status =
        at_grow(context, &memory->sums, &memory->sum_room, 4 * rows + 2, sizeof *memory->sums, "a search");
    if (status != ATTN_OK || beam == 1) return status;
    if (nodes > INT32_MAX)
        return at_fail(context, ATTN_OVERFLOW,
                       "a beam of %" PRId64 " over %" PRId64 " rows: take a smaller beam", beam, rows);
    status = at_grow(context, &memory->nodes, &memory->node_room, nodes, sizeof *memory->nodes, "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &memory->slots, &memory->slot_room, slots_for(nodes), sizeof *memory->slots,
                         "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &memory->beam, &memory->beam_room, beam, sizeof *memory->beam, "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &memory->next, &memory->next_room, beam, sizeof *memory->next, "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &memory->choices, &memory->choice_room, beam + 1, sizeof *memory->choices,
                         "a search");
    if (status == ATTN_OK)
        status = at_grow(context, &memory->likely, &memory->likely_room, likely + 1, sizeof *memory->likely,
                         "a search");
    return status;
}

void at_ctc_release(attn_context *context, at_ctc_memory *memory) {
    at_release(context, memory->nodes);
    at_release(context, memory->slots);
    at_release(context, memory->beam);
    at_release(context, memory->next);
    at_release(context, memory->choices);
    at_release(context, memory->likely);
    at_release(context, memory->sums);
    memset(memory, 0, sizeof *memory);
}

static double log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -INFINITY || high - low > 40 ? high : high + log1p(exp(low - high)); /* e^-40 < 2^-53 */
}

/* ---- the probability of a prediction ---- */

static int symbol_of(const int32_t *answer, int64_t state) { return state % 2 ? answer[state / 2] : 0; }

/* Whether a path may go from state - 2 to state. */
static int skips(const int32_t *answer, int64_t state) {
    return state % 2 == 1 && state > 1 && answer[state / 2] != answer[state / 2 - 1];
}

/* The paths that are in `state` at row t, by what was at the row before it; without what row t says. */
static double arriving(const double *before, const int32_t *answer, int64_t t, int64_t state, int staying) {
    if (t == 0) return state < 2 ? 0 : -INFINITY;
    double sum = staying ? before[state] : -INFINITY;
    if (state > 0) sum = log_add(sum, before[state - 1]);
    return skips(answer, state) ? log_add(sum, before[state - 2]) : sum;
}

static void step_forward(const at_ctc_rows *rows, const int32_t *answer, int64_t count, int64_t t,
                         const double *before, double *now) {
    const float *row = rows->data + t * rows->stride;
    for (int64_t state = 0; state < 2 * count + 1; state++)
        now[state] = arriving(before, answer, t, state, 1) + (double)row[symbol_of(answer, state)];
}

double at_ctc_log_probability(const at_ctc_rows *rows, const int32_t *answer, int64_t count, double *sums) {
    int64_t states = 2 * count + 1;
    double *before = sums, *now = sums + states;
    if (rows->rows == 0) return count ? -INFINITY : 0;
    for (int64_t t = 0; t < rows->rows; t++) {
        step_forward(rows, answer, count, t, before, now);
        double *other = before;
        before = now;
        now = other;
    }
    return states > 1 ? log_add(before[states - 1], before[states - 2]) : before[0];
}

void at_ctc_align(const at_ctc_rows *rows, const int32_t *answer, int64_t count, double *sums, float *begins,
                  int64_t stride) {
    int64_t states = 2 * count + 1, last = rows->rows - 1;
    double *after = sums + rows->rows * states, *now = after + states;
    for (int64_t t = 0; t <= last; t++)
        step_forward(rows, answer, count, t, sums + (t - (t > 0)) * states, sums + t * states);
    const double *end = sums + last * states;
    double all = states > 1 ? log_add(end[states - 1], end[states - 2]) : end[0];
    for (int64_t t = last; t >= 0; t--) {
        const float *row = rows->data + t * rows->stride;
        for (int64_t state = states - 1; state >= 0; state--) { /* what follows, row t included */
            double sum = t == last ? (state + 2 < states ? -INFINITY : 0) : after[state];
            if (t < last && state + 1 < states) sum = log_add(sum, after[state + 1]);
            if (t < last && state + 2 < states && skips(answer, state + 2))
                sum = log_add(sum, after[state + 2]);
            now[state] = sum + (double)row[symbol_of(answer, state)];
        }
        const double *before = sums + (t - (t > 0)) * states;
        for (int64_t i = 0; i < count; i++)
            begins[i * stride + t] =
                (float)exp(arriving(before, answer, t, 2 * i + 1, 0) + now[2 * i + 1] - all);
        double *other = after;
        after = now;
        now = other;
    }
}

/* ---- the likeliest symbol of every row ---- */

static int64_t greedy(const at_ctc_rows *rows, int64_t longest, int32_t *symbols, int *ended) {
    int64_t count = 0, last = 0;
    *ended = 1;
    for (int64_t t = 0; t < rows->rows; t++) {
        const float *row = rows->data + t * rows->stride;
        int64_t best = 0;
        for (int64_t s = 1; s < rows->symbols; s++)
            if (row[s] > row[best]) best = s;
        if (best != 0 && best != last) {
            if (longest > 0 && count == longest) {
                *ended = 0;
                break;
            }
            symbols[count++] = (int32_t)best;
        }
        last = best;
    }
    return count;
}

/* ---- the tree of beginnings ---- */

typedef struct searching {
    at_ctc_memory *memory;
    const at_ctc_rows *rows;
    int64_t beam, longest;
    int64_t count, node_count, likely_count, choice_count;
} searching;

/* Where the child of a node is in the table, or would be. */
static int32_t *slot_of(const searching *now, int32_t parent, int32_t symbol) {
    const at_ctc_memory *memory = now->memory;
    uint64_t key = (uint64_t)(uint32_t)parent << 32 | (uint32_t)symbol;
    uint64_t mask = (uint64_t)memory->slot_count - 1, at = (key * 0x9e3779b97f4a7c15u >> 20) & mask;
    for (;; at = (at + 1) & mask) {
        int32_t node = memory->slots[at];
        if (node < 0 || (memory->nodes[node].parent == parent && memory->nodes[node].symbol == symbol))
            return &memory->slots[at];
    }
}

static int32_t child_of(searching *now, int32_t parent, int32_t symbol) {
    int32_t *slot = slot_of(now, parent, symbol);
    if (*slot >= 0) return *slot;
    at_ctc_node *nodes = now->memory->nodes;
    nodes[now->node_count] = (at_ctc_node){symbol, parent, nodes[parent].length + 1, -1};
    *slot = (int32_t)now->node_count++;
    return *slot;
}

static void begin(searching *now) {
    at_ctc_memory *memory = now->memory;
    memory->slot_count = slots_for(1 + now->rows->rows * now->beam);
    for (int64_t i = 0; i < memory->slot_count; i++) memory->slots[i] = -1;
    memory->nodes[0] = (at_ctc_node){0, -1, 0, 0};
    memory->beam[0] = (at_ctc_beginning){0, 0, -INFINITY, 0};
    now->node_count = now->count = 1;
}

/* ---- one row ---- */

/* The likeliest symbols, best first; of equal ones the smaller. */
static void find_likely(searching *now, const float *row) {
    int32_t *likely = now->memory->likely;
    now->likely_count = 0;
    for (int64_t s = 1; s < now->rows->symbols; s++) {
        int64_t at = now->likely_count;
        if (at == now->beam + 1 && !(row[s] > row[likely[at - 1]])) continue;
        if (at == now->beam + 1) at--;
        for (; at > 0 && row[s] > row[likely[at - 1]]; at--) likely[at] = likely[at - 1];
        likely[at] = (int32_t)s;
        if (now->likely_count <= now->beam) now->likely_count++;
    }
}

/* Among the best, of equal ones the earlier. */
static void choose(searching *now, double log_probability, int32_t from, int32_t symbol) {
    at_ctc_choice *choices = now->memory->choices;
    int64_t at = now->choice_count;
    if (!(log_probability > -INFINITY) ||
        (at == now->beam && !(log_probability > choices[at - 1].log_probability)))
        return;
    if (at == now->beam)
        at--;
    else
        now->choice_count++;
    for (; at > 0 && log_probability > choices[at - 1].log_probability; at--) choices[at] = choices[at - 1];
    choices[at] = (at_ctc_choice){log_probability, from, symbol};
}

/* A beginning that continues with `symbol`: a repetition of its last one needs a blank between them. */
static double longer(const at_ctc_beginning *from, const at_ctc_node *node, int32_t symbol) {
    return node->length > 0 && node->symbol == symbol ? from->blank : from->all;
}

/* What beginning i is after the row: by paths that mean it already, and by those of its parent that now do.
 */
static at_ctc_beginning stay(const searching *now, const float *row, int64_t i) {
    const at_ctc_memory *memory = now->memory;
    const at_ctc_beginning *from = &memory->beam[i];
    const at_ctc_node *node = &memory->nodes[from->node];
    at_ctc_beginning made = {from->node, from->all + (double)row[0], -INFINITY, 0};
    if (node->length > 0) {
        const at_ctc_node *parent = &memory->nodes[node->parent];
        double before = from->symbol;
        if (parent->place >= 0)
            before = log_add(before, longer(&memory->beam[parent->place], parent, node->symbol));
        made.symbol = before + (double)row[node->symbol];
    }
    made.all = log_add(made.blank, made.symbol);
    return made;
}

static void choose_all(searching *now, const float *row, at_ctc_beginning *same) {
    at_ctc_memory *memory = now->memory;
    now->choice_count = 0;
    for (int64_t i = 0; i < now->count; i++) {
        same[i] = stay(now, row, i);
        choose(now, same[i].all, (int32_t)i, -1);
    }
    for (int64_t i = 0; i < now->count; i++) {
        const at_ctc_beginning *from = &memory->beam[i];
        const at_ctc_node *node = &memory->nodes[from->node];
        if (now->longest > 0 && node->length == now->longest) continue;
        for (int64_t k = 0; k < now->likely_count; k++) {
            int32_t symbol = memory->likely[k];
            double log_probability = longer(from, node, symbol) + (double)row[symbol];
            if (now->choice_count == now->beam &&
                !(log_probability > memory->choices[now->beam - 1].log_probability)) {
                if (node->length > 0 && node->symbol == symbol) continue;
                break; /* those that follow are no likelier */
            }
            int32_t child = *slot_of(now, from->node, symbol);
            if (child < 0 || memory->nodes[child].place < 0) choose(now, log_probability, (int32_t)i, symbol);
        }
    }
}

/* memory->next has what the beginnings are if they stay. The choices become the beam. */
static void take_choices(searching *now) {
    at_ctc_memory *memory = now->memory;
    at_ctc_beginning *same = memory->next, *beam = memory->beam;
    for (int64_t i = 0; i < now->count; i++) memory->nodes[beam[i].node].place = -1;
    for (int64_t k = 0; k < now->choice_count; k++) { /* before `beam` changes */
        at_ctc_choice *choice = &memory->choices[k];
        if (choice->symbol < 0) continue;
        choice->from = child_of(now, beam[choice->from].node, choice->symbol);
    }
    for (int64_t k = 0; k < now->choice_count; k++) {
        const at_ctc_choice *choice = &memory->choices[k];
        beam[k] = choice->symbol < 0 ? same[choice->from]
                                     : (at_ctc_beginning){choice->from, -INFINITY, choice->log_probability,
                                                          choice->log_probability};
        memory->nodes[beam[k].node].place = (int32_t)k;
    }
    now->count = now->choice_count;
}

/* ---- a sequence ---- */

static void spell(const at_ctc_memory *memory, int32_t node, int32_t *symbols) {
    for (; memory->nodes[node].length > 0; node = memory->nodes[node].parent)
        symbols[memory->nodes[node].length - 1] = memory->nodes[node].symbol;
}

/* Best first; of equal ones as they were found. */
static void sort_found(at_ctc_found *found, int64_t count, int32_t *symbols, int64_t rows) {
    for (int64_t a = 1; a < count; a++) {
        for (int64_t b = a; b > 0 && found[b].log_probability > found[b - 1].log_probability; b--) {
            at_ctc_found one = found[b];
            found[b] = found[b - 1];
            found[b - 1] = one;
            for (int64_t i = 0; i < rows; i++) {
                int32_t symbol = symbols[b * rows + i];
                symbols[b * rows + i] = symbols[(b - 1) * rows + i];
                symbols[(b - 1) * rows + i] = symbol;
            }
        }
    }
}

int64_t at_ctc_search_rows(at_ctc_memory *memory, const at_ctc_rows *rows, const attn_search_options *options,
                           at_ctc_found *found, int32_t *symbols) {
    searching now = {memory, rows, options->beam, options->longest, 0, 0, 0, 0};
    int64_t count = 1;
    if (options->beam == 1) {
        found->count = greedy(rows, options->longest, symbols, &found->ended);
    } else {
        begin(&now);
        for (int64_t t = 0; t < rows->rows; t++) {
            const float *row = rows->data + t * rows->stride;
            find_likely(&now, row);
            choose_all(&now, row, memory->next);
            take_choices(&now);
        }
        count = now.count < options->n_best ? now.count : options->n_best;
        for (int64_t a = 0; a < count; a++) {
            const at_ctc_node *node = &memory->nodes[memory->beam[a].node];
            found[a].count = node->length;
            found[a].ended = options->longest == 0 || node->length < options->longest;
            if (node->length) spell(memory, memory->beam[a].node, symbols + a * rows->rows);
        }
    }
    for (int64_t a = 0; a < count; a++)
        found[a].log_probability =
            at_ctc_log_probability(rows, symbols + a * rows->rows, found[a].count, memory->sums);
    sort_found(found, count, symbols, rows->rows);
    return count;
}
