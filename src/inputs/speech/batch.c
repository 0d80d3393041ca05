/* batch.c: the input of a batch of recordings: concatenated frames, and augmentation in training
 * (SpecAugment: masked ranges of frames and of frequencies; shifts of the filters).
 */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "inputs/speech/speech.h"

attn_status at_speech_create_batch(attn_context *context, at_batch **batch) {
    at_speech_batch *made = at_allocate(context, 1, sizeof *made, "a batch");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->batch.context = context;
    *batch = &made->batch;
    return ATTN_OK;
}

void at_speech_free_batch(at_batch *batch) {
    at_speech_batch *own = (at_speech_batch *)(void *)batch;
    if (!own) return;
    attn_context *context = batch->context;
    at_release(context, own->numbers);
    at_release(context, own->frames);
    at_release(context, batch->offsets);
    at_release(context, own);
}

/* ---- what training hides ---- */

/* A number from 0 to `most`. */
static int64_t draw(at_row_key key, uint32_t *count, int64_t most) {
    return (int64_t)(((uint64_t)at_random_word(key, (*count)++) * (uint64_t)(most + 1)) >> 32);
}

/* The number that stands for what is hidden: the mean. */
static float hidden(const at_speech_input *input, int64_t column) {
    return input->values.normalize == AT_SPEECH_NO_NORM ? input->mean[column] : 0;
}

static void hide_times(const at_speech_input *input, at_row_key key, uint32_t *words, float *frames,
                       int64_t count) {
    const at_speech_values *values = &input->values;
    int64_t longest = (int64_t)(values->time_mask_share * (double)count);
    if (longest > values->time_mask_frames) longest = values->time_mask_frames;
    for (int64_t m = 0; m < values->time_masks && longest > 0; m++) {
        int64_t length = draw(key, words, longest), first = draw(key, words, count - length);
        for (int64_t t = first; t < first + length; t++)
            for (int64_t c = 0; c < input->columns; c++) frames[t * input->columns + c] = hidden(input, c);
    }
}

/* Slopes of a hidden filter are hidden with it. */
static void hide_frequencies(const at_speech_input *input, at_row_key key, uint32_t *words, float *frames,
                             int64_t count) {
    const at_speech_values *values = &input->values;
    int64_t groups = input->frames ? values->deltas + 1 : 1, bins = input->columns / groups;
    int64_t widest = values->frequency_mask_bins < bins ? values->frequency_mask_bins : bins;
    for (int64_t m = 0; m < values->frequency_masks; m++) {
        int64_t width = draw(key, words, widest), first = draw(key, words, bins - width);
        for (int64_t t = 0; t < count; t++)
            for (int64_t g = 0; g < groups; g++)
                for (int64_t c = g * bins + first; c < g * bins + first + width; c++)
                    frames[t * input->columns + c] = hidden(input, c);
    }
}

/* Filters -n .. n up: a shorter or longer vocal tract. Those at the ends continue. */
static void shift_frequencies(const at_speech_input *input, at_row_key key, uint32_t *words, float *frames,
                              int64_t count) {
    const at_speech_values *values = &input->values;
    int64_t groups = input->frames ? values->deltas + 1 : 1, bins = input->columns / groups;
    int64_t most = values->frequency_shift < bins ? values->frequency_shift : bins - 1;
    int64_t shift = draw(key, words, 2 * most) - most;
    for (float *row = frames; row < frames + count * input->columns && shift; row += bins) {
        if (shift > 0) {
            memmove(row + shift, row, (size_t)(bins - shift) * sizeof *row);
            for (int64_t c = 0; c < shift; c++) row[c] = row[shift];
        } else {
            memmove(row, row - shift, (size_t)(bins + shift) * sizeof *row);
            for (int64_t c = bins + shift; c < bins; c++) row[c] = row[bins + shift - 1];
        }
    }
}

static void hide_numbers(const at_speech_input *input, uint64_t seed, at_speech_batch *batch) {
    int64_t columns = input->columns * input->values.stack;
    uint32_t threshold = at_random_threshold((float)input->values.dropout);
    if (!(input->values.dropout > 0)) return;
    for (int64_t row = 0; row < batch->batch.rows; row++) {
        at_row_key key = at_random_row(seed, row, 0, 0);
        float *numbers = batch->numbers + row * columns;
        for (int64_t c = 0; c < columns; c++)
            if (at_random_word(key, (uint32_t)c) < threshold) numbers[c] = hidden(input, c % input->columns);
    }
}

/* ---- rows ---- */

/* The frames that the rows of a segment are made of: first .. end - 1 of the recording. */
typedef struct range {
    int64_t first, end;
} range;

static range frames_of(const at_speech_values *values, int64_t first_row, int64_t rows, int64_t frames) {
    range found = {at_speech_first(values, first_row),
                   at_speech_first(values, first_row + rows - 1) + values->stack};
    if (found.first < 0) found.first = 0;
    if (found.first > frames - 1) found.first = frames - 1;
    if (found.end > frames) found.end = frames;
    if (found.end <= found.first) found.end = found.first + 1;
    return found;
}

static attn_status put_segment(const at_speech_input *input, const at_speech_encoded *encoded,
                               const at_segment *segment, const uint64_t *seed, int64_t sequence,
                               at_speech_batch *batch, float *to) {
    const at_speech_values *values = &input->values;
    int64_t columns = input->columns, e = segment->example;
    int64_t begin = encoded->rows.offsets[e], frames = encoded->rows.offsets[e + 1] - begin;
    int64_t row = segment->first - encoded->encoded.offsets[e];
    range used = frames_of(values, row, segment->count, frames);
    const float *from = encoded->rows.numbers + (begin + used.first) * columns;
    if (seed && (values->time_masks || values->frequency_masks || values->frequency_shift)) {
        int64_t count = used.end - used.first;
        attn_status status = at_grow(batch->batch.context, &batch->frames, &batch->frame_room,
                                     count * columns, sizeof *batch->frames, "the frames of a batch");
        if (status != ATTN_OK) return status;
        at_row_key key = at_random_row(*seed, sequence, 1, 0);
        uint32_t words = 0;
        memcpy(batch->frames, from, (size_t)(count * columns) * sizeof *from);
        if (values->frequency_shift) shift_frequencies(input, key, &words, batch->frames, count);
        hide_times(input, key, &words, batch->frames, count);
        hide_frequencies(input, key, &words, batch->frames, count);
        from = batch->frames;
    }
    for (int64_t r = row; r < row + segment->count; r++) {
        for (int64_t s = 0; s < values->stack; s++, to += columns) {
            int64_t t = at_speech_first(values, r) + s;
            if (t < used.first) t = used.first; /* the ends of the recording continue */
            if (t > used.end - 1) t = used.end - 1;
            memcpy(to, from + (t - used.first) * columns, (size_t)columns * sizeof *to);
        }
    }
    return ATTN_OK;
}

static attn_status lay_out(const at_segments *segments, const int64_t *order, int64_t count,
                           at_batch *batch) {
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
    return ATTN_OK;
}

attn_status at_speech_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                           const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch) {
    const at_speech_input *own = at_speech_input_of(input);
    at_speech_batch *into = (at_speech_batch *)(void *)batch;
    int64_t columns = own->columns * own->values.stack;
    attn_status status = lay_out(segments, order, count, batch);
    if (status == ATTN_OK)
        status = at_grow(batch->context, &into->numbers, &into->room, batch->rows * columns,
                         sizeof *into->numbers, "the rows of a batch");
    for (int64_t i = 0; i < count && status == ATTN_OK; i++) {
        const at_segment *segment = &segments->list[order[i]];
        float *to = into->numbers + batch->offsets[i] * columns;
        if (segment->count == 0) /* there may be no encoded examples at all */
            memset(to, 0, (size_t)columns * sizeof *to);
        else
            status = put_segment(own, at_speech_encoded_of(encoded), segment, seed, i, into, to);
    }
    if (status == ATTN_OK && seed) hide_numbers(own, *seed, into);
    return status;
}
