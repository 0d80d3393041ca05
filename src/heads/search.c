/* search.c: beam search over all examples of a batch at once.
 *
 * Hypotheses are nodes of a tree (symbol, parent), so that a hypothesis stores only its last symbol. A step
 * takes, for every example, the 2 * beam best of all hypotheses and symbols: enough to fill the beam even if
 * half of them end a hypothesis. An end counts if it is among the `beam` best. An example is done when it has
 * n_best finished hypotheses and no open one can beat them. Once `beam` are finished, an open hypothesis is
 * compared with its current value: unlikely ends alone do not stop a likely hypothesis. After `limit` symbols
 * one more step tests whether a hypothesis ends there; one that does not is cut.
 */
#include "heads/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ops/host.h"

enum { MOST_BEAM = 1024, BLOCK = 64, MOST_BLOCKS = 256, ENDED = -2 };

typedef struct node {
    int32_t symbol, parent; /* parent -1: the first symbol */
} node;

typedef struct row {
    double sum;
    int32_t node; /* -1: nothing was said yet; ENDED: in the last step, it ended */
} row;

typedef struct candidate {
    double sum;
    int64_t row; /* of the step */
    int32_t symbol;
} candidate;

typedef struct beam_state {
    int64_t first_row, rows; /* alive */
    int64_t limit, found_count;
    int done;
} beam_state;

struct at_search {
    attn_context *context;
    int64_t examples, beam, n_best, length; /* symbols that every beginning has */
    double penalty;
    beam_state *states; /* [examples] */
    row *rows, *next;   /* [examples * beam] */
    int32_t *symbols;   /* [examples * beam] of each row */
    int64_t *from;      /* [examples * beam] */
    int64_t row_count;
    candidate *candidates; /* [examples][2 * beam] */
    int64_t *counts;       /* [examples] candidates there are */
    at_found *found;       /* [examples][beam] */
    node *nodes;
    int64_t node_count, node_room;

    const float *logits; /* of the step under way */
    int64_t stride, symbol_count;
    int normalised; /* they are logarithms of probabilities */
};

attn_status at_search_check(attn_context *context, const attn_search_options *options) {
    if (options->beam < 1 || options->beam > MOST_BEAM || options->n_best < 1 ||
        options->n_best > options->beam) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "beam %" PRId64 ", n_best %" PRId64 ": a beam is 1 to %d, and n_best at most the beam",
                       options->beam, options->n_best, MOST_BEAM);
    }
    if (!(options->length_penalty >= 0 && options->length_penalty <= 10)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "length_penalty is %g; it can be from 0 to 10",
                       options->length_penalty);
    }
    return ATTN_OK;
}

attn_status at_search_create(attn_context *context, int64_t examples, const attn_search_options *options,
                             const int64_t *limits, at_search **search) {
    attn_status status = at_search_check(context, options);
    if (status != ATTN_OK) return status;
    at_search *made = at_allocate(context, 1, sizeof *made, "a search");
    if (!made) return ATTN_OUT_OF_MEMORY;
    int64_t rows = examples * options->beam;
    made->context = context;
    made->examples = made->row_count = examples;
    made->beam = options->beam;
    made->n_best = options->n_best;
    made->penalty = options->length_penalty;
    made->states = at_allocate(context, examples, sizeof *made->states, "a search");
    made->rows = at_allocate(context, rows, sizeof *made->rows, "a search");
    made->next = at_allocate(context, rows, sizeof *made->next, "a search");
    made->symbols = at_allocate(context, rows, sizeof *made->symbols, "a search");
    made->from = at_allocate(context, rows, sizeof *made->from, "a search");
    made->candidates = at_allocate(context, 2 * rows, sizeof *made->candidates, "a search");
    made->counts = at_allocate(context, examples, sizeof *made->counts, "a search");
    made->found = at_allocate(context, rows, sizeof *made->found, "a search");
    if (!made->states || !made->rows || !made->next || !made->symbols || !made->from || !made->candidates ||
        !made->counts || !made->found) {
        at_search_destroy(made);
        return ATTN_OUT_OF_MEMORY;
    }
    for (int64_t e = 0; e < examples; e++) {
        made->states[e] = (beam_state){.first_row = e, .rows = 1, .limit = limits[e]};
        made->rows[e] = (row){0, -1};
        made->from[e] = e;
    }
    *search = made;
    return ATTN_OK;
}

void at_search_destroy(at_search *search) {
    if (!search) return;
    attn_context *context = search->context;
    at_release(context, search->states);
    at_release(context, search->rows);
    at_release(context, search->next);
    at_release(context, search->symbols);
    at_release(context, search->from);
    at_release(context, search->candidates);
    at_release(context, search->counts);
    at_release(context, search->found);
    at_release(context, search->nodes);
    at_release(context, search);
}

int64_t at_search_rows(const at_search *search) { return search->row_count; }
const int32_t *at_search_symbols(const at_search *search) { return search->symbols; }
const int64_t *at_search_from(const at_search *search) { return search->from; }

/* ---- the best continuations of one example ---- */

/* Puts one into a list that is sorted, best first, and has room for `most`. */
static void insert(candidate *list, int64_t *count, int64_t most, candidate one) {
    int64_t place = *count < most ? (*count)++ : most - 1;
    for (; place > 0 && list[place - 1].sum < one.sum; place--) list[place] = list[place - 1];
    list[place] = one;
}

/* The symbols of one row, logarithms being logits less `shift`. Most are worse than the worst that is kept:
 * blocks without a better one are skipped. Of equal ones the earlier row, then the smaller symbol stays
 * first. */
static void scan_block(const float *logits, int64_t first, int64_t end, double shift, double sum,
                       int64_t number, int64_t most, candidate *list, int64_t *count) {
    float least = *count < most ? -INFINITY : (float)(list[most - 1].sum - sum + shift);
    int better = 0;
    for (int64_t s = first; s < end; s++) better |= logits[s] >= least;
    if (!better) return;
    for (int64_t s = first; s < end; s++) {
        double total = sum + ((double)logits[s] - shift);
        if (!(total > -INFINITY)) continue; /* NaN, too */
        if (*count == most && !(total > list[most - 1].sum)) continue;
        insert(list, count, most, (candidate){total, number, (int32_t)s});
    }
}

static void scan_row(const at_search *search, int64_t number, candidate *list, int64_t *count) {
    const float *logits = search->logits + number * search->stride;
    int64_t symbols = search->symbol_count, most = 2 * search->beam, block = BLOCK;
    double sum = search->rows[number].sum, shift = 0;
    float maxima[MOST_BLOCKS];
    while (block * MOST_BLOCKS < symbols) block *= 2;
    if (!search->normalised) {
        float maximum, total;
        at_host_exponential_sum(search->context, symbols, block, logits, maxima, &maximum, &total);
        shift = (double)maximum + log((double)total);
    }
    for (int64_t first = 0; first < symbols; first += block) {
        int64_t end = first + block < symbols ? first + block : symbols;
        float least = *count < most ? -INFINITY : (float)(list[most - 1].sum - sum + shift);
        if (!search->normalised && maxima[first / block] < least) continue;
        scan_block(logits, first, end, shift, sum, number, most, list, count);
    }
}

static void scan_example(void *argument, int64_t example, int worker) {
    (void)worker;
    at_search *search = argument;
    const beam_state *state = &search->states[example];
    candidate *list = search->candidates + 2 * search->beam * example;
    search->counts[example] = 0;
    for (int64_t r = state->first_row; r < state->first_row + state->rows; r++) {
        scan_row(search, r, list, &search->counts[example]);
    }
}

/* ---- answers ---- */

static double penalized(const at_search *search, double sum, int64_t length) {
    return sum / pow((double)(length > 0 ? length : 1), search->penalty);
}

static int stands_before(const at_found *a, const at_found *b) {
    return a->ended != b->ended ? a->ended : a->value > b->value;
}

static void add_found(at_search *search, int64_t example, double sum, int64_t symbols, int ended,
                      int32_t last) {
    beam_state *state = &search->states[example];
    at_found *list = search->found + example * search->beam;
    at_found one = {penalized(search, sum, symbols + ended), sum, symbols, ended, last};
    if (state->found_count == search->beam && !stands_before(&one, &list[search->beam - 1])) return;
    int64_t place = state->found_count < search->beam ? state->found_count++ : search->beam - 1;
    for (; place > 0 && stands_before(&one, &list[place - 1]); place--) list[place] = list[place - 1];
    list[place] = one;
}

/* Whether the best beginning, of `length` symbols, should all that it has still to say be certain, would come
 * too late. */
static int decided(const at_search *search, int64_t example, double best_sum, int64_t length) {
    const beam_state *state = &search->states[example];
    if (state->found_count < search->n_best) return 0;
    double hope = penalized(search, best_sum, state->found_count < search->beam ? state->limit + 1 : length);
    return hope <= search->found[example * search->beam + search->n_best - 1].value;
}

static void finish_example(at_search *search, int64_t example) {
    beam_state *state = &search->states[example];
    if (state->found_count == 0) add_found(search, example, -INFINITY, 0, 0, -1);
    state->rows = 0;
    state->done = 1;
}

/* The step after the last symbol that a prediction may have: a beginning ends, or it is cut. */
static void settle_last(at_search *search, int64_t example) {
    beam_state *state = &search->states[example];
    const candidate *list = search->candidates + 2 * search->beam * example;
    for (int64_t c = 0; c < search->counts[example] && c < search->beam; c++) {
        row *one = &search->rows[list[c].row];
        if (list[c].symbol != 0) continue;
        add_found(search, example, list[c].sum, search->length, 1, one->node);
        one->node = ENDED;
    }
    for (int64_t r = state->first_row; r < state->first_row + state->rows; r++) {
        const row *one = &search->rows[r];
        if (one->node != ENDED) add_found(search, example, one->sum, search->length, 0, one->node);
    }
    finish_example(search, example);
}

static attn_status settle_example(at_search *search, int64_t example, int64_t *row_count) {
    beam_state *state = &search->states[example];
    const candidate *list = search->candidates + 2 * search->beam * example;
    int64_t first = *row_count;
    if (search->length >= state->limit) {
        settle_last(search, example);
        return ATTN_OK;
    }
    for (int64_t c = 0; c < search->counts[example] && *row_count - first < search->beam; c++) {
        int32_t parent = search->rows[list[c].row].node;
        if (list[c].symbol == 0) {
            if (c < search->beam) add_found(search, example, list[c].sum, search->length, 1, parent);
            continue;
        }
        if (search->node_count >= INT32_MAX)
            return at_fail(search->context, ATTN_OVERFLOW, "a search has over 2^31 hypotheses");
        attn_status status = at_grow(search->context, &search->nodes, &search->node_room,
                                     search->node_count + 1, sizeof *search->nodes, "a search");
        if (status != ATTN_OK) return status;
        search->nodes[search->node_count] = (node){list[c].symbol, parent};
        search->next[*row_count] = (row){list[c].sum, (int32_t)search->node_count++};
        search->symbols[*row_count] = list[c].symbol;
        search->from[(*row_count)++] = list[c].row;
    }
    int64_t alive = *row_count - first;
    if (alive > 0 && !decided(search, example, search->next[first].sum, search->length + 1)) {
        state->first_row = first;
        state->rows = alive;
        return ATTN_OK;
    }
    *row_count = first;
    finish_example(search, example);
    return ATTN_OK;
}

static attn_status take_step(at_search *search, const float *logits, int64_t stride, int64_t symbols,
                             int normalised) {
    search->logits = logits;
    search->normalised = normalised;
    search->stride = stride;
    search->symbol_count = symbols;
    double work = 16.0 * (double)search->row_count * (double)symbols;
    at_parallel(search->context->pool, at_threads_for(search->context, work), search->examples, scan_example,
                search);
    int64_t rows = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < search->examples && status == ATTN_OK; e++) {
        if (!search->states[e].done) status = settle_example(search, e, &rows);
    }
    row *now = search->rows;
    search->rows = search->next;
    search->next = now;
    search->row_count = status == ATTN_OK ? rows : 0;
    search->length++;
    return status;
}

attn_status at_search_step(at_search *search, const float *logarithms, int64_t stride, int64_t symbols) {
    return take_step(search, logarithms, stride, symbols, 1);
}

attn_status at_search_step_logits(at_search *search, const float *logits, int64_t stride, int64_t symbols) {
    return take_step(search, logits, stride, symbols, 0);
}

int64_t at_search_found(const at_search *search, int64_t example, const at_found **found) {
    *found = search->found + example * search->beam;
    int64_t count = search->states[example].found_count;
    return count < search->n_best ? count : search->n_best;
}

void at_search_spell(const at_search *search, const at_found *found, int32_t *symbols) {
    int32_t at = found->node;
    for (int64_t i = found->length; i > 0 && at >= 0; i--) {
        symbols[i - 1] = search->nodes[at].symbol;
        at = search->nodes[at].parent;
    }
}
