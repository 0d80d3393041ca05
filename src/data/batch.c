/* batch.c: segments of examples, the plan of an epoch, and the input of a batch. */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/unicode.h"

enum { BATCHES_A_BUCKET = 16 };

/* ---- segments ---- */

attn_status at_segments_make(attn_context *context, const at_units *units, int64_t longest, int in_pieces,
                             at_segments *segments) {
    segments->count = 0;
    for (int64_t example = 0; example < units->examples; example++) {
        int64_t first = units->offsets[example], left = units->offsets[example + 1] - first;
        if (!in_pieces && left > longest) left = longest;
        if (in_pieces && left == 0) continue;
        do {
            at_segment segment = {example, first, left < longest ? left : longest, 0};
            attn_status status = at_grow(context, &segments->list, &segments->room, segments->count + 1,
                                         sizeof *segments->list, "a list of sequences");
            if (status != ATTN_OK) return status;
            segments->list[segments->count++] = segment;
            first += segment.count;
            left -= segment.count;
        } while (left > 0);
    }
    return ATTN_OK;
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

/* Sorts runs of segments that together have about `units` units. */
static void sort_buckets(const at_segments *segments, int64_t *order, int64_t units, sortable *scratch) {
    int64_t begin = 0, held = 0;
    for (int64_t i = 0; i < segments->count; i++) {
        held += length_of(&segments->list[order[i]]);
        if (held < units && i + 1 < segments->count) continue;
        sort_by_length(segments, order + begin, i + 1 - begin, scratch);
        begin = i + 1;
        held = 0;
    }
}

/* Cuts `order` into batches that do not go over the budget, unless one segment alone does. */
static int64_t cut(const at_segments *segments, const int64_t *order, int64_t budget, int64_t *first) {
    int64_t batches = 0, held = 0;
    first[0] = 0;
    for (int64_t i = 0; i < segments->count; i++) {
        int64_t count = length_of(&segments->list[order[i]]);
        count = count ? count : 1;
        if (i > first[batches] && held + count > budget) {
            first[++batches] = i;
            held = 0;
        }
        held += count;
    }
    first[++batches] = segments->count;
    return batches;
}

static attn_status shuffle_batches(attn_context *context, at_plan *plan, uint64_t key) {
    int64_t count = plan->first[plan->batches];
    int64_t *numbers = at_allocate(context, plan->batches, sizeof *numbers, "the order of batches");
    int64_t *order = at_allocate(context, count, sizeof *order, "the order of sequences");
    int64_t *first = at_allocate(context, plan->batches + 1, sizeof *first, "the order of batches");
    attn_status status = numbers && order && first ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        for (int64_t b = 0; b < plan->batches; b++) numbers[b] = b;
        shuffle(numbers, plan->batches, key);
        for (int64_t b = 0; b < plan->batches; b++) {
            int64_t from = plan->first[numbers[b]], length = plan->first[numbers[b] + 1] - from;
            memcpy(order + first[b], plan->order + from, (size_t)length * sizeof *order);
            first[b + 1] = first[b] + length;
        }
        memcpy(plan->order, order, (size_t)count * sizeof *order);
        memcpy(plan->first, first, (size_t)(plan->batches + 1) * sizeof *first);
    }
    at_release(context, numbers);
    at_release(context, order);
    at_release(context, first);
    return status;
}

attn_status at_plan_make(attn_context *context, const at_segments *segments, int64_t units_a_batch,
                         int shuffled, uint64_t seed, at_plan *plan) {
    int64_t count = segments->count;
    plan->batches = 0;
    if (count == 0) return ATTN_OK;
    attn_status status = at_grow(context, &plan->order, &plan->order_room, count, sizeof *plan->order,
                                 "the order of sequences");
    if (status == ATTN_OK) {
        status = at_grow(context, &plan->first, &plan->first_room, count + 1, sizeof *plan->first,
                         "the order of batches");
    }
    if (status != ATTN_OK) return status;
    sortable *scratch = at_allocate(context, count, sizeof *scratch, "sorting sequences");
    if (!scratch) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++) plan->order[i] = i;
    if (shuffled) {
        shuffle(plan->order, count, at_splitmix64(seed));
        sort_buckets(segments, plan->order, BATCHES_A_BUCKET * units_a_batch, scratch);
    } else {
        sort_by_length(segments, plan->order, count, scratch);
    }
    at_release(context, scratch);
    plan->batches = cut(segments, plan->order, units_a_batch, plan->first);
    return shuffled ? shuffle_batches(context, plan, at_splitmix64(~seed)) : ATTN_OK;
}

void at_plan_free(attn_context *context, at_plan *plan) {
    at_release(context, plan->order);
    at_release(context, plan->first);
    memset(plan, 0, sizeof *plan);
}

/* ---- the input of a batch ---- */

static void hide(at_features *features, const at_hiding *hiding) {
    uint32_t unit = at_random_threshold((float)hiding->unit);
    uint32_t feature = at_random_threshold((float)hiding->feature);
    for (int64_t row = 0; row < features->rows; row++) {
        at_row_key key = at_random_row(hiding->seed, row, 0, 0);
        int64_t begin = features->offsets[row], end = features->offsets[row + 1];
        if (begin < end && at_random_word(key, 0) < unit) features->ids[begin] = 0;
        for (int64_t i = begin + 1; i < end; i++) {
            if (at_random_word(key, (uint32_t)(i - begin)) < feature) features->ids[i] = -1;
        }
    }
}

/* An empty text is one unknown unit, so that every sequence has a row. */
static attn_status add_unknown(attn_context *context, at_features *features) {
    attn_status status = at_grow(context, &features->ids, &features->room, features->used + 1,
                                 sizeof *features->ids, "the features of a batch");
    if (status == ATTN_OK) {
        status = at_grow(context, &features->offsets, &features->row_room, features->rows + 2,
                         sizeof *features->offsets, "the rows of a batch");
    }
    if (status != ATTN_OK) return status;
    features->offsets[features->rows++] = features->used;
    features->ids[features->used++] = 0;
    features->offsets[features->rows] = features->used;
    return ATTN_OK;
}

static int32_t find_vector(const at_vocabulary *vectors, const char *unit, size_t length) {
    char lower[1024];
    int64_t found = at_vocabulary_find(vectors, unit, length);
    if (found < 0 && 4 * length + 1 <= sizeof lower)
        found = at_vocabulary_find(vectors, lower, at_unicode_lower(unit, length, lower));
    return found < 0 ? 0 : (int32_t)found;
}

static attn_status find_vectors(const at_text *text, const at_vocabulary *vectors, const at_units *units,
                                const at_segments *segments, const int64_t *order, int64_t count,
                                at_batch *batch) {
    attn_status status = at_grow(text->context, &batch->vector_ids, &batch->vector_room, batch->features.rows,
                                 sizeof *batch->vector_ids, "the vectors of a batch");
    if (status != ATTN_OK) return status;
    int64_t row = 0;
    for (int64_t i = 0; i < count; i++) {
        const at_segment *segment = &segments->list[order[i]];
        if (segment->count == 0) batch->vector_ids[row++] = 0;
        for (int64_t u = segment->first; u < segment->first + segment->count; u++) {
            batch->vector_ids[row++] =
                find_vector(vectors, at_string(&units->units, u), at_string_length(&units->units, u));
        }
    }
    return ATTN_OK;
}

attn_status at_batch_make(const at_text *text, const at_vocabulary *vectors, const at_units *units,
                          const at_segments *segments, const int64_t *order, int64_t count,
                          const at_hiding *hiding, at_batch *batch) {
    attn_status status = at_grow(text->context, &batch->offsets, &batch->offset_room, count + 1,
                                 sizeof *batch->offsets, "a batch");
    at_features_clear(&batch->features);
    batch->sequences = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        batch->offsets[i] = batch->features.rows;
        if (segment->count == 0) {
            status = add_unknown(text->context, &batch->features);
        } else {
            status = at_text_features(text, units, segment->first, segment->count, &batch->features);
        }
    }
    if (status != ATTN_OK) return status;
    batch->offsets[count] = batch->features.rows;
    batch->sequences = count;
    if (hiding && (hiding->unit > 0 || hiding->feature > 0)) hide(&batch->features, hiding);
    return vectors ? find_vectors(text, vectors, units, segments, order, count, batch) : ATTN_OK;
}

void at_batch_free(attn_context *context, at_batch *batch) {
    at_release(context, batch->vector_ids);
    at_release(context, batch->offsets);
    at_features_free(context, &batch->features);
    memset(batch, 0, sizeof *batch);
}
