/* plan.c: segments of examples, and the plan of an epoch. */
#include "data/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

enum { BATCHES_A_BUCKET = 16, WINDOW_SEGMENTS = 1 << 18 };

/* ---- segments ---- */

attn_status at_segments_add(attn_context *context, at_segments *segments, at_segment segment) {
    attn_status status = at_grow(context, &segments->list, &segments->room, segments->count + 1,
                                 sizeof *segments->list, "a list of sequences");
    if (status == ATTN_OK) segments->list[segments->count++] = segment;
    return status;
}

attn_status at_segments_make(attn_context *context, int64_t examples, const int64_t *offsets, int64_t longest,
                             int in_pieces, at_segments *segments) {
    segments->count = 0;
    for (int64_t example = 0; example < examples; example++) {
        int64_t first = offsets[example], left = offsets[example + 1] - first;
        if (!in_pieces && left > longest) left = longest;
        if (in_pieces && left == 0) continue;
        do {
            at_segment segment = {example, first, left < longest ? left : longest, 0};
            attn_status status = at_segments_add(context, segments, segment);
            if (status != ATTN_OK) return status;
            first += segment.count;
            left -= segment.count;
        } while (left > 0);
    }
    return ATTN_OK;
}

static int64_t overlap(int64_t longest) { return longest / 8; }

int64_t at_windows(int64_t rows, int64_t longest) {
    int64_t both = overlap(longest);
    if (rows <= longest) return 1;
    return (rows - both + longest - both - 1) / (longest - both);
}

int64_t at_window_first(int64_t rows, int64_t longest, int64_t windows, int64_t w) {
    if (windows == 1) return 0;
    int64_t way = rows - longest,
            steps = windows - 1; /* in this order: the product of two such numbers fits */
    return way / steps * w + way % steps * w / steps;
}

int64_t at_windows_rows(int64_t longest, int64_t windows) {
    return longest + (windows - 1) * (longest - overlap(longest));
}

int64_t at_segments_rows(const at_segments *segments, const int64_t *order, int64_t count) {
    int64_t rows = 0;
    for (int64_t s = 0; s < count; s++) rows += segments->list[order[s]].count;
    return rows;
}

void at_segments_free(attn_context *context, at_segments *segments) {
    at_release(context, segments->list);
    memset(segments, 0, sizeof *segments);
}

/* ---- the plan ---- */

/* 0 .. below - 1, from a counter. The bias of the remainder is below 2^-32 for any list that fits memory. */
static int64_t draw(uint64_t key, uint64_t counter, int64_t below) {
    return (int64_t)(at_splitmix64(key ^ at_splitmix64(counter)) % (uint64_t)below);
}

static void shuffle(int64_t *list, int64_t count, uint64_t key) {
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = draw(key, (uint64_t)i, i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* Where number `at` of 0 .. count - 1 goes when all of them are shuffled, without a list of them: a Feistel
 * network permutes the numbers of 2 * bits bits; a result that is not below the count is permuted again.
 * Shuffling a list that is larger than memory would read and write a page of a file for every number. */
static int64_t shuffled_place(int64_t at, int64_t count, uint64_t key) {
    enum { ROUNDS = 6 };
    int bits = 1;
    while (bits < 31 && ((int64_t)1 << (2 * bits)) < count) bits++;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t place = (uint64_t)at;
    do {
        uint64_t left = place >> bits, right = place & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint64_t mixed = left ^ (at_splitmix64(key ^ at_splitmix64(right * ROUNDS + round)) & mask);
            left = right;
            right = mixed;
        }
        place = left << bits | right;
    } while (place >= (uint64_t)count);
    return (int64_t)place;
}

typedef struct sortable {
    int64_t count, segment;
} sortable;

/* Longest first; equal ones by their numbers, so that the order is the same with every qsort. */
static int compare(const void *a, const void *b) {
    const sortable *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static int64_t length_of(const at_segment *segment) { return segment->count + segment->answer; }

static void sort_by_length(const at_segments *segments, int64_t *order, int64_t count, sortable *scratch) {
    for (int64_t i = 0; i < count; i++) {
        scratch[i].segment = order[i];
        scratch[i].count = length_of(&segments->list[order[i]]);
    }
    qsort(scratch, (size_t)count, sizeof *scratch, compare);
    for (int64_t i = 0; i < count; i++) order[i] = scratch[i].segment;
}

/* All segments in order of length, equal ones by their numbers, without comparing them: there may be many,
 * and qsort may take as much memory again. places: room for a number for each length. */
static void order_by_length(const at_segments *segments, int64_t longest, int64_t *order, int64_t *places) {
    memset(places, 0, (size_t)(longest + 1) * sizeof *places);
    for (int64_t i = 0; i < segments->count; i++) places[length_of(&segments->list[i])]++;
    for (int64_t length = longest, before = 0; length >= 0; length--) {
        int64_t count = places[length];
        places[length] = before;
        before += count;
    }
    for (int64_t i = 0; i < segments->count; i++) order[places[length_of(&segments->list[i])]++] = i;
}

static int64_t longest_of(const at_segments *segments) {
    int64_t longest = 0;
    for (int64_t i = 0; i < segments->count; i++)
        if (length_of(&segments->list[i]) > longest) longest = length_of(&segments->list[i]);
    return longest;
}

/* Sorts runs of segments that together have about `units` units. */
static void sort_buckets(const at_segments *segments, int64_t *order, int64_t count, int64_t units,
                         sortable *scratch) {
    int64_t begin = 0, held = 0;
    for (int64_t i = 0; i < count; i++) {
        held += length_of(&segments->list[order[i]]);
        if (held < units && i + 1 < count) continue;
        sort_by_length(segments, order + begin, i + 1 - begin, scratch);
        begin = i + 1;
        held = 0;
    }
}

/* Cuts `order` into batches that do not go over the budget, unless one segment alone does. */
static int64_t cut(const at_segments *segments, const int64_t *order, int64_t count, int64_t budget,
                   int64_t *first) {
    int64_t batches = 0, held = 0;
    first[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = length_of(&segments->list[order[i]]);
        length = length ? length : 1;
        if (i > first[batches] && held + length > budget) {
            first[++batches] = i;
            held = 0;
        }
        held += length;
    }
    first[++batches] = count;
    return batches;
}

/* scratch: room for the numbers of the batches, the order and the beginnings. */
static void shuffle_batches(at_plan *plan, uint64_t key, int64_t *scratch) {
    int64_t count = plan->first[plan->batches];
    int64_t *numbers = scratch, *order = numbers + plan->batches, *first = order + count;
    for (int64_t b = 0; b < plan->batches; b++) numbers[b] = b;
    shuffle(numbers, plan->batches, key);
    first[0] = 0;
    for (int64_t b = 0; b < plan->batches; b++) {
        int64_t from = plan->first[numbers[b]], length = plan->first[numbers[b] + 1] - from;
        memcpy(order + first[b], plan->order + from, (size_t)length * sizeof *order);
        first[b + 1] = first[b] + length;
    }
    memcpy(plan->order, order, (size_t)count * sizeof *order);
    memcpy(plan->first, first, (size_t)(plan->batches + 1) * sizeof *first);
}

static attn_status make_room(attn_context *context, int64_t count, at_plan *plan) {
    attn_status status = at_grow(context, &plan->order, &plan->order_room, count, sizeof *plan->order,
                                 "the order of sequences");
    if (status == ATTN_OK)
        status = at_grow(context, &plan->first, &plan->first_room, count + 1, sizeof *plan->first,
                         "the order of batches");
    if (status == ATTN_OK) /* sorting takes two numbers a segment, shuffling batches three and one */
        status = at_grow(context, &plan->scratch, &plan->scratch_room, 3 * count + 1, sizeof(int64_t),
                         "sorting sequences");
    return status;
}

int64_t at_plan_windows(int64_t segments) {
    return segments > WINDOW_SEGMENTS ? (segments + WINDOW_SEGMENTS - 1) / WINDOW_SEGMENTS : 1;
}

attn_status at_plan_shuffled(attn_context *context, const at_segments *segments, int64_t rows_per_batch,
                             uint64_t seed, int64_t window, at_plan *plan) {
    int64_t windows = at_plan_windows(segments->count), all = segments->count;
    /* in this order: the product of two such numbers fits */
    int64_t first = all / windows * window + all % windows * window / windows;
    int64_t end = all / windows * (window + 1) + all % windows * (window + 1) / windows, count = end - first;
    plan->batches = 0;
    if (count == 0) return ATTN_OK;
    attn_status status = make_room(context, count, plan);
    if (status != ATTN_OK) return status;
    uint64_t key = at_splitmix64(seed);
    if (windows == 1) {
        for (int64_t i = 0; i < count; i++) plan->order[i] = i;
        shuffle(plan->order, count, key);
    } else {
        for (int64_t i = 0; i < count; i++) plan->order[i] = shuffled_place(first + i, all, key);
    }
    sort_buckets(segments, plan->order, count, BATCHES_A_BUCKET * rows_per_batch, plan->scratch);
    plan->batches = cut(segments, plan->order, count, rows_per_batch, plan->first);
    shuffle_batches(plan, at_splitmix64(~seed ^ (uint64_t)window), plan->scratch);
    return ATTN_OK;
}

attn_status at_plan_sorted(attn_context *context, const at_segments *segments, int64_t rows_per_batch,
                           at_plan *plan) {
    int64_t count = segments->count, longest = longest_of(segments);
    plan->batches = 0;
    if (count == 0) return ATTN_OK;
    attn_status status = make_room(context, count, plan);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < count; i++) plan->order[i] = i;
    if (longest < 3 * count)
        order_by_length(segments, longest, plan->order, plan->scratch);
    else
        sort_by_length(segments, plan->order, count, plan->scratch);
    plan->batches = cut(segments, plan->order, count, rows_per_batch, plan->first);
    return ATTN_OK;
}

int64_t at_segments_units(const at_segments *segments, const int64_t *order, int64_t count) {
    int64_t units = 0;
    for (int64_t i = 0; i < count; i++) units += length_of(&segments->list[order[i]]);
    return units;
}

/* Deals out to `bins` parts that have at least `least` segments each; ends[b]: where part b ends. scratch:
 * room for 2 (bins + count). */
static void deal(const at_segments *segments, int64_t *order, int64_t count, int64_t bins, int64_t least,
                 int64_t *ends, int64_t *scratch) {
    int64_t *held = scratch, *have = held + bins, *bin = have + bins, *dealt = bin + count;
    int64_t missing = bins * least; /* segments that parts still have to get */
    memset(held, 0, 2 * (size_t)bins * sizeof *held);
    for (int64_t i = 0; i < count; i++) {
        int64_t chosen = -1;
        for (int64_t b = 0; b < bins; b++) {
            if (count - i == missing && have[b] >= least) continue;
            if (chosen < 0 || held[b] < held[chosen]) chosen = b;
        }
        missing -= have[chosen]++ < least;
        held[chosen] += length_of(&segments->list[order[i]]);
        bin[i] = chosen;
    }
    for (int64_t b = 0, at = 0; b < bins; b++) {
        held[b] = at;
        ends[b] = at += have[b];
    }
    for (int64_t i = 0; i < count; i++) dealt[held[bin[i]]++] = order[i];
    memcpy(order, dealt, (size_t)count * sizeof *order);
}

void at_plan_deal(const at_segments *segments, int64_t *order, int64_t count, int64_t pieces, int64_t *first,
                  int64_t *scratch) {
    int64_t parts = 1; /* so far; part p begins at first[p * pieces / parts] */
    first[0] = 0;
    first[pieces] = count;
    while (parts < pieces) {
        int64_t left = pieces / parts, bins = left % 2 ? left : 2, step = left / bins;
        for (int64_t p = 0; p < parts; p++) {
            int64_t *part = first + p * left, begin = part[0], length = part[left] - begin;
            int64_t *ends = scratch, *rest = scratch + bins;
            deal(segments, order + begin, length, bins, step, ends, rest);
            for (int64_t b = 0; b + 1 < bins; b++) part[(b + 1) * step] = begin + ends[b];
        }
        parts *= bins;
    }
}

void at_plan_free(attn_context *context, at_plan *plan) {
    at_release(context, plan->order);
    at_release(context, plan->first);
    at_release(context, plan->scratch);
    memset(plan, 0, sizeof *plan);
}
