/* similar.c: which examples are held out, and which are left out because they are similar to those.
 *
 * Examples are not clustered: similarity is not transitive, and chains of similar examples would join nearly
 * all of them. The requirement is weaker: no training example is similar to a held-out one. So
 *
 *     1. every example gets a number, from its units alone: the same units, the same number. The candidates
 *        are those with the smallest numbers, twice as many as are needed, or all if there are few;
 *     2. an index has the n-grams of the candidates. All examples are looked up in it, one by one, and each
 *        finds the candidates that it is similar to. Nothing else is kept of them, so that data may have any
 *        size;
 *     3. the candidates are held out in their order, each with all examples of the same units, as long as
 *        those held out and those left out because of them are together no more than was requested.
 *
 * If many examples are parts of others (phrases of sentences), parts are not held out: new data are whole
 * examples. Parts of a few units occur in many wholes; they are left out if no training example contains
 * them, as they would be missing in data without the held-out wholes.
 *
 * The work is a few skips the units: each n-gram lists at most MOST_OWNERS candidates. If the
 * candidates have more than MOST_GRAMS n-grams, only every second, fourth ... of all n-grams is used, chosen
 * by its hash: shares are then estimated, and short examples are similar only to equal ones.
 */
#include "data/similar.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/ranges.h"

enum {
    GRAM = 3,             /* units of an n-gram */
    SHORT = 5,            /* examples of fewer units are related to equal ones alone */
    MOST_OWNERS = 32,     /* candidates that an n-gram lists */
    MOST_GRAMS = 1 << 22, /* of all candidates */
    LEAST_SHARED = 2,     /* n-grams of related examples */
    FEW = 2000,           /* examples that are all candidates */
    LITTLE = 4,           /* examples may go with one that is held out, however few are wanted */
    RANGE = 4096          /* examples that one task takes */
};
static const double contained = 0.8; /* of the n-grams of one are in the other: it is a part of it */
static const double alike = 0.5;     /* of the n-grams of either are in both */
static const double fragmented =
    0.25; /* of the examples are parts of others: they are phrases and their likes */

/* An example and its number, or a candidate: the first of those with the same number. */
typedef struct ranked {
    uint64_t draw;
    int64_t example;
} ranked;

typedef struct candidate {
    int64_t first, end;       /* of `drawn`: the examples with its units */
    int32_t listed, unlisted; /* n-grams that list it, and those that have too many others */
    int part;                 /* of a longer example */
    int64_t relations;        /* where its own begin */
} candidate;

typedef struct relation {
    int64_t example;
    int32_t candidate;
    int32_t part; /* the candidate is a part of the example */
} relation;

typedef struct relation_list {
    relation *list;
    int64_t count, room;
} relation_list;

/* N-grams that an example shares with a candidate, and how many of them have more owners than are listed. */
typedef struct tally {
    int32_t shared, common;
} tally;

typedef struct worker {
    at_unit_hashes units;
    int64_t *hits; /* places of postings */
    int64_t hit_count, hit_room;
    tally *tallies; /* [candidates], 0 between examples */
    int32_t *touched;
    int64_t touched_count;
} worker;

typedef struct search {
    attn_context *context;
    const at_unit_source *source;
    int64_t wanted, sought; /* examples that are not learned from; examples that are candidates */
    unsigned char *sides;
    uint64_t *numbers; /* [examples] the n-gram of all units */
    int32_t *lengths;  /* [examples] units */
    ranked *drawn;     /* examples of candidates */
    int64_t drawn_count, drawn_room;
    candidate *candidates;
    int64_t candidate_count, candidate_room;
    uint64_t thinned; /* an n-gram counts if it has none of these bits */
    at_gram_index index;
    worker *workers;
    relation_list *found;        /* by range */
    relation *relations;         /* by candidate */
    _Atomic unsigned char *seen; /* of postings of the index of short parts: an example learned from has it */
    at_apart *apart;
} search;

static attn_status read_units(const search *work, attn_context *context, int64_t example,
                              at_unit_hashes *units) {
    units->count = 0;
    return work->source->read(work->source->user, context, example, units);
}

/* ---- candidates ---- */

static attn_status number_range(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    search *work = user;
    at_unit_hashes *units = &work->workers[number].units;
    attn_status status = ATTN_OK;
    for (int64_t e = first; e < end && status == ATTN_OK; e++) {
        status = read_units(work, part, e, units);
        work->numbers[e] = at_gram(units->list, units->count);
        work->lengths[e] = (int32_t)(units->count < INT32_MAX ? units->count : INT32_MAX);
    }
    return status;
}

static int by_draw(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->draw != y->draw) return x->draw < y->draw ? -1 : 1;
    return (x->example > y->example) - (x->example < y->example);
}

/* The examples whose number is below a bound, sorted by it. */
static attn_status collect(search *work, uint64_t bound) {
    attn_status status = ATTN_OK;
    work->drawn_count = 0;
    for (int64_t e = 0; e < work->source->examples && status == ATTN_OK; e++) {
        uint64_t draw = at_splitmix64(work->numbers[e] ^ 0x686f6c64u);
        if (draw > bound) continue;
        if (work->drawn_count == work->drawn_room)
            status = at_grow(work->context, &work->drawn, &work->drawn_room, work->drawn_count + 1,
                             sizeof *work->drawn, "the examples held out");
        if (status == ATTN_OK) work->drawn[work->drawn_count++] = (ranked){draw, e};
    }
    if (status == ATTN_OK && work->drawn_count)
        qsort(work->drawn, (size_t)work->drawn_count, sizeof *work->drawn, by_draw);
    return status;
}

/* Those with the same units are one candidate; more of them than are wanted can never be held out. */
static attn_status list_candidates(search *work) {
    attn_status status = ATTN_OK;
    int64_t examples = 0;
    work->candidate_count = 0;
    for (int64_t first = 0, end; first < work->drawn_count && status == ATTN_OK; first = end) {
        for (end = first + 1; end < work->drawn_count && work->drawn[end].draw == work->drawn[first].draw;)
            end++;
        if (end - first > work->wanted) continue;
        if (examples >= work->sought) break;
        examples += end - first;
        status = at_grow(work->context, &work->candidates, &work->candidate_room, work->candidate_count + 1,
                         sizeof *work->candidates, "the examples held out");
        if (status == ATTN_OK)
            work->candidates[work->candidate_count++] = (candidate){.first = first, .end = end};
    }
    return status;
}

/* First among a part of the examples that should be enough: not all of very many have to be sorted. */
static attn_status draw_candidates(search *work) {
    work->sought = 2 * work->wanted > FEW ? 2 * work->wanted : FEW;
    double part = 1.5 * (double)work->sought / (double)work->source->examples;
    attn_status status = collect(work, part < 1 ? (uint64_t)(part * 18446744073709549568.0) : UINT64_MAX);
    if (status == ATTN_OK) status = list_candidates(work);
    if (status != ATTN_OK || part >= 1 || work->candidate_count > work->wanted / 4) return status;
    status = collect(work, UINT64_MAX);
    return status == ATTN_OK ? list_candidates(work) : status;
}

static int64_t example_of(const search *work, int64_t c) {
    return work->drawn[work->candidates[c].first].example;
}

static attn_status index_candidates(search *work) {
    attn_status status = ATTN_OK;
    at_unit_hashes *units = &work->workers[0].units;
    int64_t grams = 0;
    for (int64_t c = 0; c < work->candidate_count; c++) grams += work->lengths[example_of(work, c)];
    for (; grams > MOST_GRAMS; grams /= 2) work->thinned = work->thinned >> 1 | (uint64_t)1 << 63;
    for (int64_t c = 0; c < work->candidate_count && status == ATTN_OK; c++) {
        if (work->lengths[example_of(work, c)] < SHORT) continue;
        status = read_units(work, work->context, example_of(work, c), units);
        for (int64_t i = 0; i + GRAM <= units->count && status == ATTN_OK; i++) {
            uint64_t gram = at_gram(units->list + i, GRAM);
            if (!(gram & work->thinned))
                status = at_gram_index_add(work->context, &work->index, gram, (int32_t)c);
        }
    }
    if (status != ATTN_OK) return status;
    int32_t *unlisted = at_allocate(work->context, work->candidate_count, sizeof *unlisted, "candidates");
    status = unlisted ? at_gram_index_close(work->context, &work->index, MOST_OWNERS, unlisted)
                      : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < work->index.count && status == ATTN_OK; i++)
        work->candidates[work->index.postings[i].owner].listed++;
    for (int64_t c = 0; c < work->candidate_count && status == ATTN_OK; c++)
        work->candidates[c].unlisted = unlisted[c];
    at_release(work->context, unlisted);
    return status;
}

/* ---- relations ---- */

static int by_place(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The n-grams of an example that candidates have, each once; how many different ones it has in all. */
static attn_status find_hits(const search *work, attn_context *context, worker *own, int64_t *grams) {
    int64_t kept = 0, repeated;
    own->hit_count = *grams = 0;
    for (int64_t i = 0; i + GRAM <= own->units.count; i++) {
        uint64_t gram = at_gram(own->units.list + i, GRAM);
        if (gram & work->thinned) continue;
        ++*grams;
        const at_posting *found = at_gram_index_find(&work->index, gram);
        if (!found) continue;
        if (own->hit_count == own->hit_room) {
            attn_status status = at_grow(context, &own->hits, &own->hit_room, own->hit_count + 1,
                                         sizeof *own->hits, "the n-grams of an example");
            if (status != ATTN_OK) return status;
        }
        own->hits[own->hit_count++] = found - work->index.postings;
    }
    if (own->hit_count > 1) qsort(own->hits, (size_t)own->hit_count, sizeof *own->hits, by_place);
    for (int64_t i = 0; i < own->hit_count; i++)
        if (i == 0 || own->hits[i] != own->hits[kept - 1]) own->hits[kept++] = own->hits[i];
    repeated = own->hit_count - kept;
    own->hit_count = kept;
    *grams -= repeated;
    return ATTN_OK;
}

/* Counts for each candidate what the example shares with it; how many n-grams have more owners than listed.
 */
static int64_t count_shared(const search *work, worker *own) {
    int64_t common = 0;
    own->touched_count = 0;
    for (int64_t i = 0; i < own->hit_count; i++) {
        const at_posting *first = &work->index.postings[own->hits[i]];
        int more = first->owners < 0, owners = more ? -first->owners : first->owners;
        common += more;
        for (int o = 0; o < owners; o++) {
            tally *count = &own->tallies[first[o].owner];
            if (count->shared++ == 0) own->touched[own->touched_count++] = first[o].owner;
            count->common += more;
        }
    }
    return common;
}

/* What is known of an n-gram with more owners than listed is only that of the listed ones: for the others it
 * does not count. */
static int are_related(const candidate *one, tally count, int64_t grams, int64_t common, int *part) {
    double known = (double)(grams - (common - count.common)), shared = count.shared,
           listed = (double)one->listed;
    *part = shared >= contained * listed;
    if (count.shared < LEAST_SHARED || 2 * known < (double)grams) return 0;
    return *part || shared >= contained * known || shared >= alike * (known + listed - shared);
}

static attn_status relate(search *work, attn_context *context, worker *own, int64_t example,
                          relation_list *into) {
    int64_t grams;
    attn_status status = find_hits(work, context, own, &grams);
    if (status != ATTN_OK) return status;
    int64_t common = count_shared(work, own);
    for (int64_t i = 0; i < own->touched_count; i++) {
        int32_t c = own->touched[i];
        int part;
        const candidate *one = &work->candidates[c];
        int64_t same = example_of(work, c);
        int related = are_related(one, own->tallies[c], grams, common, &part);
        own->tallies[c] = (tally){0, 0};
        if (!related || work->numbers[same] == work->numbers[example] || status != ATTN_OK) continue;
        status = at_grow(context, &into->list, &into->room, into->count + 1, sizeof *into->list,
                         "examples that are related");
        part = part && work->lengths[example] > work->lengths[same];
        if (status == ATTN_OK) into->list[into->count++] = (relation){example, c, part};
    }
    return status;
}

static attn_status relate_range(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    search *work = user;
    worker *own = &work->workers[number];
    relation_list *into = &work->found[first / RANGE];
    attn_status status = ATTN_OK;
    if (!own->tallies)
        own->tallies = at_allocate(part, work->candidate_count, sizeof *own->tallies, "a search");
    if (!own->touched)
        own->touched = at_allocate(part, work->candidate_count, sizeof *own->touched, "a search");
    if (!own->tallies || !own->touched) return ATTN_OUT_OF_MEMORY;
    for (int64_t e = first; e < end && status == ATTN_OK; e++) {
        if (work->lengths[e] < SHORT) continue;
        status = read_units(work, part, e, &own->units);
        if (status == ATTN_OK) status = relate(work, part, own, e, into);
    }
    return status;
}

/* The relations of all ranges, by candidate: the order of the ranges is that of the examples. */
static attn_status sort_relations(search *work) {
    int64_t ranges = (work->source->examples + RANGE - 1) / RANGE, total = 0;
    for (int64_t r = 0; r < ranges; r++)
        for (int64_t i = 0; i < work->found[r].count; i++) {
            candidate *one = &work->candidates[work->found[r].list[i].candidate];
            one->relations++;
            one->part |= work->found[r].list[i].part;
        }
    for (int64_t c = 0; c < work->candidate_count; c++) {
        total += work->candidates[c].relations;
        work->candidates[c].relations = total - work->candidates[c].relations;
    }
    work->relations = at_allocate(work->context, total + 1, sizeof *work->relations, "related examples");
    if (!work->relations) return ATTN_OUT_OF_MEMORY;
    work->relations[total].candidate = -1; /* the end */
    for (int64_t r = 0; r < ranges; r++)
        for (int64_t i = 0; i < work->found[r].count; i++) {
            const relation *one = &work->found[r].list[i];
            work->relations[work->candidates[one->candidate].relations++] = *one;
        }
    for (int64_t c = work->candidate_count - 1; c > 0; c--)
        work->candidates[c].relations = work->candidates[c - 1].relations;
    if (work->candidate_count) work->candidates[0].relations = 0;
    return ATTN_OK;
}

/* ---- choosing ---- */

/* Whether parts of others are so many that the data is made of wholes and their parts. */
static int is_fragmented(const search *work) {
    int64_t parts = 0, all = 0;
    for (int64_t c = 0; c < work->candidate_count; c++) {
        if (work->lengths[example_of(work, c)] < SHORT) continue;
        all++;
        parts += work->candidates[c].part;
    }
    return all > 0 && (double)parts >= fragmented * (double)all;
}

/* Short parts are left out afterwards, about as large a part of them as of the others. */
static int64_t wanted_long(const search *work) {
    int64_t examples = work->source->examples, all = 0;
    for (int64_t e = 0; e < examples; e++) all += work->lengths[e] >= SHORT;
    int64_t wanted = (int64_t)((double)work->wanted * (double)all / (double)examples);
    return wanted > 1 ? wanted : 1;
}

/* Whether it may be held out: all that is related to it is known, and it is whole. */
static int is_eligible(const search *work, int64_t c) {
    const candidate *one = &work->candidates[c];
    int64_t length = work->lengths[example_of(work, c)];
    if (one->listed < one->unlisted) return 0;
    return !work->apart->fragments || (length >= SHORT && !one->part);
}

/* How many examples would no longer be learned from. */
static int64_t cost_of(const search *work, int64_t c) {
    const candidate *one = &work->candidates[c];
    int64_t cost = 0;
    for (int64_t i = one->first; i < one->end; i++)
        cost += work->sides[work->drawn[i].example] == AT_SIDE_LEARNED;
    for (const relation *r = &work->relations[one->relations]; r->candidate == c; r++)
        cost += work->sides[r->example] == AT_SIDE_LEARNED;
    return cost;
}

static void hold(search *work, int64_t c) {
    const candidate *one = &work->candidates[c];
    at_apart *apart = work->apart;
    for (int64_t i = one->first; i < one->end; i++) {
        unsigned char *side = &work->sides[work->drawn[i].example];
        apart->left -= *side == AT_SIDE_LEFT;
        apart->held += *side != AT_SIDE_HELD;
        *side = AT_SIDE_HELD;
    }
    for (const relation *r = &work->relations[one->relations]; r->candidate == c; r++)
        if (work->sides[r->example] == AT_SIDE_LEARNED) {
            work->sides[r->example] = AT_SIDE_LEFT;
            apart->left++;
        }
}

/* One whole with very many relatives is not to be all that is held out: first come those that cost little. If
 * there are none, the data is small, or in few clusters. */
static void choose(search *work) {
    int64_t examples = work->source->examples;
    int64_t limits[] = {work->wanted / 8 > LITTLE ? work->wanted / 8 : LITTLE, work->wanted, examples / 2};
    at_apart *apart = work->apart;
    for (int i = 0; i < 3 && apart->held == 0; i++) {
        int64_t room = i < 2 ? work->wanted : limits[i];
        for (int64_t c = 0; c < work->candidate_count; c++) {
            if (!is_eligible(work, c)) continue;
            int64_t cost = cost_of(work, c);
            if (cost <= limits[i] && apart->held + apart->left + cost <= room) hold(work, c);
        }
    }
}

/* ---- short parts ---- */

/* Of examples so long that there would be too many n-grams, none. */
static attn_status index_short(search *work) {
    attn_status status = ATTN_OK;
    at_unit_hashes *units = &work->workers[0].units;
    int64_t held = 0;
    at_gram_index_free(work->context, &work->index);
    for (int64_t e = 0; e < work->source->examples; e++)
        if (work->sides[e] == AT_SIDE_HELD) held += work->lengths[e];
    for (int64_t e = 0; e < work->source->examples && status == ATTN_OK; e++) {
        if (work->sides[e] != AT_SIDE_HELD || held > MOST_GRAMS / 2) continue;
        status = read_units(work, work->context, e, units);
        for (int64_t i = 0; i < units->count; i++)
            for (int64_t n = 1; n < SHORT && i + n <= units->count && status == ATTN_OK; n++)
                status = at_gram_index_add(work->context, &work->index, at_gram(units->list + i, n), 0);
    }
    if (status == ATTN_OK) status = at_gram_index_close(work->context, &work->index, 1, NULL);
    if (status != ATTN_OK) return status;
    work->seen = at_allocate(work->context, work->index.count, sizeof *work->seen, "parts of examples");
    return work->seen ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* All set the same mark: it does not matter who comes first. */
static attn_status see_range(void *user, attn_context *part, int number, int64_t first, int64_t end) {
    search *work = user;
    at_unit_hashes *units = &work->workers[number].units;
    attn_status status = ATTN_OK;
    for (int64_t e = first; e < end && status == ATTN_OK; e++) {
        if (work->lengths[e] < SHORT || work->sides[e] != AT_SIDE_LEARNED) continue;
        status = read_units(work, part, e, units);
        for (int64_t i = 0; i < units->count && status == ATTN_OK; i++)
            for (int64_t n = 1; n < SHORT && i + n <= units->count; n++) {
                const at_posting *found = at_gram_index_find(&work->index, at_gram(units->list + i, n));
                if (!found) continue;
                atomic_store_explicit(&work->seen[found - work->index.postings], 1, memory_order_relaxed);
            }
    }
    return status;
}

static attn_status leave_short(search *work) {
    attn_status status = index_short(work);
    if (status == ATTN_OK)
        status = at_for_ranges(work->context, work->source->examples, RANGE, see_range, work);
    for (int64_t e = 0; e < work->source->examples && status == ATTN_OK; e++) {
        if (work->lengths[e] == 0 || work->lengths[e] >= SHORT || work->sides[e] != AT_SIDE_LEARNED) continue;
        const at_posting *found = at_gram_index_find(&work->index, work->numbers[e]);
        if (!found || atomic_load_explicit(&work->seen[found - work->index.postings], memory_order_relaxed))
            continue;
        work->sides[e] = AT_SIDE_LEFT;
        work->apart->left++;
    }
    return status;
}

/* ---- all of it ---- */

static attn_status prepare(search *work) {
    attn_context *context = work->context;
    int64_t examples = work->source->examples;
    work->numbers = at_allocate(context, examples, sizeof *work->numbers, "the numbers of examples");
    work->lengths = at_allocate(context, examples, sizeof *work->lengths, "the lengths of examples");
    work->workers = at_allocate(context, context->threads, sizeof *work->workers, "the workers of a loop");
    work->found =
        at_allocate(context, (examples + RANGE - 1) / RANGE, sizeof *work->found, "related examples");
    return work->numbers && work->lengths && work->workers && work->found ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static void release(search *work) {
    attn_context *context = work->context;
    for (int i = 0; work->workers && i < context->threads; i++) {
        at_release(context, work->workers[i].units.list);
        at_release(context, work->workers[i].hits);
        at_release(context, work->workers[i].tallies);
        at_release(context, work->workers[i].touched);
    }
    for (int64_t r = 0; work->found && r < (work->source->examples + RANGE - 1) / RANGE; r++)
        at_release(context, work->found[r].list);
    at_gram_index_free(context, &work->index);
    at_release(context, work->numbers);
    at_release(context, work->lengths);
    at_release(context, work->drawn);
    at_release(context, work->candidates);
    at_release(context, work->workers);
    at_release(context, work->found);
    at_release(context, work->relations);
    at_release(context, (void *)work->seen);
}

attn_status at_hold_apart(attn_context *context, const at_unit_source *source, int64_t wanted,
                          unsigned char *sides, at_apart *apart) {
    search work = {.context = context, .source = source, .wanted = wanted, .sides = sides, .apart = apart};
    int64_t examples = source->examples;
    *apart = (at_apart){0, 0, 0};
    attn_status status = prepare(&work);
    if (status == ATTN_OK) status = at_for_ranges(context, examples, RANGE, number_range, &work);
    if (status == ATTN_OK) status = draw_candidates(&work);
    if (status == ATTN_OK) status = index_candidates(&work);
    if (status == ATTN_OK) status = at_for_ranges(context, examples, RANGE, relate_range, &work);
    if (status == ATTN_OK) status = sort_relations(&work);
    if (status == ATTN_OK) {
        apart->fragments = is_fragmented(&work);
        if (apart->fragments) work.wanted = wanted_long(&work);
        choose(&work);
        if (apart->fragments && apart->held) status = leave_short(&work);
    }
    if (status == ATTN_OK &&
        apart->held + apart->left >= examples) { /* nothing would be left to learn from */
        memset(sides, AT_SIDE_LEARNED, (size_t)examples);
        apart->held = apart->left = 0;
    }
    release(&work);
    return status;
}
