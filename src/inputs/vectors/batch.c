/* batch.c: the input of a batch of vectors: its rows with mean 0 and deviation 1, and what training hides of
 * them. */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "inputs/vectors/vectors.h"

attn_status at_vectors_create_batch(attn_context *context, at_batch **batch) {
    at_vectors_batch *made = at_allocate(context, 1, sizeof *made, "a batch");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->batch.context = context;
    *batch = &made->batch;
    return ATTN_OK;
}

void at_vectors_free_batch(at_batch *batch) {
    at_vectors_batch *own = (at_vectors_batch *)(void *)batch;
    if (!own) return;
    attn_context *context = batch->context;
    at_release(context, own->numbers);
    at_release(context, batch->offsets);
    at_release(context, own);
}

/* A hidden number becomes the mean of its column, which is 0 here. */
static void hide(const at_vectors_input *input, uint64_t seed, at_vectors_batch *batch) {
    uint32_t threshold = at_random_threshold((float)input->values.dropout);
    if (!(input->values.dropout > 0)) return;
    for (int64_t row = 0; row < batch->batch.rows; row++) {
        at_row_key key = at_random_row(seed, row, 0, 0);
        float *numbers = batch->numbers + row * input->columns;
        for (int64_t c = 0; c < input->columns; c++)
            if (at_random_word(key, (uint32_t)c) < threshold) numbers[c] = 0;
    }
}

static void put_row(const at_vectors_input *input, const float *from, float *to) {
    for (int64_t c = 0; c < input->columns; c++) to[c] = (from[c] - input->mean[c]) / input->deviation[c];
}

attn_status at_vectors_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                            const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch) {
    const at_vectors_input *own = at_vectors_input_of(input);
    at_vectors_batch *into = (at_vectors_batch *)(void *)batch;
    attn_status status = at_grow(batch->context, &batch->offsets, &batch->offset_room, count + 1,
                                 sizeof *batch->offsets, "a batch");
    if (status != ATTN_OK) return status;
    batch->rows = 0;
    batch->sequences = count;
    for (int64_t i = 0; i < count; i++) {
        int64_t rows = segments->list[order[i]].count;
        batch->offsets[i] = batch->rows;
        batch->rows += rows ? rows : 1; /* every sequence has a row */
    }
    batch->offsets[count] = batch->rows;
    status = at_grow(batch->context, &into->numbers, &into->room, batch->rows * own->columns,
                     sizeof *into->numbers, "the rows of a batch");
    if (status != ATTN_OK) return status;
    float *to = into->numbers;
    for (int64_t i = 0; i < count; i++) {
        const at_segment *segment = &segments->list[order[i]];
        if (segment->count == 0) {
            memset(to, 0, (size_t)own->columns * sizeof *to);
            to += own->columns;
            continue; /* there may be no encoded examples at all */
        }
        const float *from = ((const at_vectors_encoded *)(const void *)encoded)->vectors->numbers;
        for (int64_t row = segment->first; row < segment->first + segment->count; row++, to += own->columns)
            put_row(own, from + row * own->columns, to);
    }
    if (seed) hide(own, *seed, into);
    return ATTN_OK;
}
