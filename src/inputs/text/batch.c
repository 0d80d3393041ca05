/* batch.c: the input of a batch of text: the features of its rows, and what training hides of them. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "inputs/text/text.h"

attn_status at_text_create_batch(attn_context *context, at_batch **batch) {
    at_text_batch *made = at_allocate(context, 1, sizeof *made, "a batch");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->batch.context = context;
    *batch = &made->batch;
    return ATTN_OK;
}

void at_text_free_batch(at_batch *batch) {
    at_text_batch *text = (at_text_batch *)(void *)batch;
    if (!text) return;
    attn_context *context = batch->context;
    at_release(context, text->ids);
    at_release(context, text->offsets);
    at_release(context, text->vectors);
    at_release(context, text->wide.ids);
    at_release(context, text->wide.weights);
    at_release(context, text->wide.offsets);
    at_release(context, batch->offsets);
    at_release(context, text);
}

/* How often the unit itself (its id becomes 0) and a hashed feature are hidden; -1 is no feature. */
static void hide(const at_text_values *values, uint64_t seed, at_text_batch *batch) {
    uint32_t unit = at_random_threshold((float)values->unit_dropout);
    uint32_t feature = at_random_threshold((float)values->feature_dropout);
    if (!(values->unit_dropout > 0 || values->feature_dropout > 0)) return;
    for (int64_t row = 0; row < batch->batch.rows; row++) {
        at_row_key key = at_random_row(seed, row, 0, 0);
        int64_t begin = batch->offsets[row], end = batch->offsets[row + 1];
        if (begin < end && at_random_word(key, 0) < unit) batch->ids[begin] = 0;
        for (int64_t i = begin + 1; i < end; i++) {
            if (at_random_word(key, (uint32_t)(i - begin)) < feature) batch->ids[i] = -1;
        }
    }
}

/* An empty text is one unknown unit, so that every sequence has a row. */
static attn_status add_unknown(at_text_batch *batch) {
    attn_context *context = batch->batch.context;
    attn_status status =
        at_grow(context, &batch->ids, &batch->room, batch->used + 1, sizeof *batch->ids, "features");
    if (status == ATTN_OK)
        status = at_grow(context, &batch->offsets, &batch->offset_room, batch->batch.rows + 2,
                         sizeof *batch->offsets, "features");
    if (status != ATTN_OK) return status;
    batch->offsets[batch->batch.rows++] = batch->used;
    batch->ids[batch->used++] = 0;
    batch->offsets[batch->batch.rows] = batch->used;
    return ATTN_OK;
}

attn_status at_text_put_vectors(const at_text_encoded *encoded, const at_segments *segments,
                                const int64_t *order, int64_t count, at_text_batch *batch) {
    attn_status status = at_grow(batch->batch.context, &batch->vectors, &batch->vector_room,
                                 batch->batch.rows, sizeof *batch->vectors, "the vectors of a batch");
    if (status != ATTN_OK) return status;
    int32_t *vector = batch->vectors;
    for (int64_t i = 0; i < count; i++) {
        const at_segment *segment = &segments->list[order[i]];
        if (segment->count == 0) *vector++ = 0;
        for (int64_t row = segment->first; row < segment->first + segment->count; row++)
            *vector++ = encoded->lexicon->entries[encoded->units[row]].vector;
    }
    return ATTN_OK;
}

/* The texts as wholes; an empty one has a bias alone. */
static attn_status fill_wide(const at_text_input *text, const at_text_encoded *rows,
                             const at_segments *segments, const int64_t *order, int64_t count,
                             const uint64_t *seed, at_text_batch *into) {
    at_text_wide *wide = &into->wide;
    attn_status status = at_grow(into->batch.context, &wide->offsets, &wide->offset_room, count + 1,
                                 sizeof *wide->offsets, "features of texts");
    wide->used = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        const int64_t *whole = segment->count ? rows->encoded.offsets + segment->example : NULL;
        wide->offsets[i] = wide->used;
        status = at_text_put_wide(text, rows, whole ? whole[0] : 0, whole ? whole[1] - whole[0] : 0, into);
    }
    if (status != ATTN_OK) return status;
    wide->offsets[count] = wide->used;
    if (seed) at_text_hide_wide(&text->values, *seed, count, wide);
    return ATTN_OK;
}

attn_status at_text_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                         const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch) {
    const at_text_input *text = at_text_of(input);
    const at_text_encoded *rows = (const at_text_encoded *)(const void *)encoded;
    at_text_batch *into = (at_text_batch *)(void *)batch;
    attn_status status = at_grow(batch->context, &batch->offsets, &batch->offset_room, count + 1,
                                 sizeof *batch->offsets, "a batch");
    batch->rows = batch->sequences = into->used = 0;
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        batch->offsets[i] = batch->rows;
        if (input->use.wide_only)
            batch->rows += segment->count ? segment->count : 1;
        else if (segment->count == 0)
            status = add_unknown(into);
        else
            status = at_text_put_rows(text, rows, segment->first, segment->first, segment->count, into);
    }
    if (status != ATTN_OK) return status;
    batch->offsets[count] = batch->rows;
    batch->sequences = count;
    if (input->wide) status = fill_wide(text, rows, segments, order, count, seed, into);
    if (status != ATTN_OK || input->use.wide_only) return status;
    if (seed) hide(&text->values, *seed, into);
    return text->pretrained.columns ? at_text_put_vectors(rows, segments, order, count, into) : ATTN_OK;
}
