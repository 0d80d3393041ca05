/* frames_stream.c: the frames of samples that come in pieces, bit for bit those of the whole recording.
 *
 *     samples that a later frame needs stay; rows that a later slope needs stay, slopes of order d behind
 *     those of order d - 1 by the reach of a slope; memory does not grow with the recording
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/frames.h"
#include "inputs/speech/frames_tables.h"

enum { ORDERS = 3 }; /* the numbers themselves, their slopes, and the slopes of those */

struct at_frames_stream {
    attn_context *context;
    const at_frames *frames;
    float *work; /* of the spectrum */
    float *samples;
    int64_t sample_count, sample_room; /* those that are kept, with what is mirrored before the first */
    int64_t next;                      /* where the next frame begins among them, or will begin */
    int64_t taken;                     /* samples that were pushed */
    int started, ended;                /* what is mirrored at the beginning, and at the end, is there */
    float *rows;
    int64_t row_room, row_count; /* those that are kept */
    int64_t ready[ORDERS];       /* so many of them have the columns of each order */
    int64_t given;               /* so many of them were handed out by the call before this one */
    int64_t dropped;             /* rows before those that are kept */
};

attn_status at_frames_stream_create(attn_context *context, const at_frames *frames,
                                    at_frames_stream **stream) {
    at_frames_stream *made = at_allocate(context, 1, sizeof *made, "frames");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->frames = frames;
    made->work =
        at_allocate(context, at_spectrum_room(context, &frames->spectrum), sizeof *made->work, "frames");
    if (!made->work) {
        at_release(context, made);
        return ATTN_OUT_OF_MEMORY;
    }
    *stream = made;
    return ATTN_OK;
}

void at_frames_stream_destroy(at_frames_stream *stream) {
    if (!stream) return;
    at_release(stream->context, stream->work);
    at_release(stream->context, stream->samples);
    at_release(stream->context, stream->rows);
    at_release(stream->context, stream);
}

/* Puts samples behind those that are kept. */
static attn_status keep_samples(at_frames_stream *stream, const float *samples, int64_t count) {
    attn_status status = at_grow(stream->context, &stream->samples, &stream->sample_room,
                                 stream->sample_count + count, sizeof *stream->samples, "samples");
    if (status != ATTN_OK) return status;
    if (count) memcpy(stream->samples + stream->sample_count, samples, (size_t)count * sizeof *samples);
    stream->sample_count += count;
    stream->taken += count;
    return ATTN_OK;
}

/* What is mirrored precedes the first sample as soon as all of it is known. */
static attn_status mirror_beginning(at_frames_stream *stream, int last) {
    const int64_t before = at_frames_before(stream->frames), count = stream->sample_count;
    if (stream->started || (count <= before && !last)) return ATTN_OK;
    if (before && count) {
        attn_status status = at_grow(stream->context, &stream->samples, &stream->sample_room, before + count,
                                     sizeof *stream->samples, "samples");
        if (status != ATTN_OK) return status;
        float *moved = stream->samples + before;
        memmove(moved, stream->samples, (size_t)count * sizeof *moved);
        for (int64_t i = 1; i <= before; i++) moved[-i] = at_frames_mirrored(moved, count, -i);
        stream->sample_count += before;
    }
    stream->started = 1;
    return ATTN_OK;
}

/* And behind the last one, if a frame looks there. What precedes the first one is its mirror, so that
 * the samples to be mirrored are there for the shortest recordings, too. */
static attn_status mirror_end(at_frames_stream *stream) {
    const int64_t before = at_frames_before(stream->frames), after = stream->frames->window - before;
    const int64_t rows = at_frames_count(stream->frames, stream->taken);
    if (!before || stream->dropped + stream->row_count >= rows) return ATTN_OK;
    attn_status status = at_grow(stream->context, &stream->samples, &stream->sample_room,
                                 stream->sample_count + after, sizeof *stream->samples, "samples");
    if (status != ATTN_OK) return status;
    float *end = stream->samples + stream->sample_count;
    for (int64_t i = 0; i < after; i++) end[i] = stream->taken > 1 ? end[-2 - i] : end[-1];
    stream->sample_count += after;
    return ATTN_OK;
}

/* Samples that no later frame needs go; centred, some that were needed may be mirrored at the end. */
static void forget_samples(at_frames_stream *stream) {
    int64_t unneeded = stream->next - (at_frames_before(stream->frames) ? stream->frames->window + 1 : 0);
    if (unneeded > stream->sample_count) unneeded = stream->sample_count;
    if (unneeded <= 0) return;
    stream->sample_count -= unneeded;
    stream->next -= unneeded;
    memmove(stream->samples, stream->samples + unneeded,
            (size_t)stream->sample_count * sizeof *stream->samples);
}

/* Rows that no later slope looks at go. */
static void forget_rows(at_frames_stream *stream) {
    const at_frames *frames = stream->frames;
    const int64_t deltas = frames->options.deltas, columns = frames->columns;
    int64_t unneeded = stream->given - deltas * frames->options.delta_reach;
    if (unneeded <= 0) return;
    memmove(stream->rows, stream->rows + unneeded * columns,
            (size_t)((stream->row_count - unneeded) * columns) * sizeof *stream->rows);
    stream->row_count -= unneeded;
    stream->given -= unneeded;
    stream->dropped += unneeded;
    for (int64_t d = 0; d <= deltas; d++) stream->ready[d] -= unneeded;
}

static attn_status new_rows(at_frames_stream *stream) {
    const at_frames *frames = stream->frames;
    const int64_t columns = frames->columns, count = stream->sample_count - stream->next;
    int64_t rows = count < frames->window ? 0 : 1 + (count - frames->window) / frames->shift;
    if (stream->ended) { /* what is mirrored may be enough for one more */
        int64_t all = at_frames_count(frames, stream->taken) - stream->dropped - stream->row_count;
        if (rows > all) rows = all;
    }
    if (rows <= 0) return ATTN_OK;
    attn_status status = at_grow(stream->context, &stream->rows, &stream->row_room,
                                 (stream->row_count + rows) * columns, sizeof *stream->rows, "frames");
    if (status != ATTN_OK) return status;
    at_spectrum_frames(stream->context, &frames->spectrum, stream->samples + stream->next, frames->shift,
                       rows, stream->work, stream->rows + stream->row_count * columns, columns);
    stream->row_count += rows;
    stream->next += rows * frames->shift;
    forget_samples(stream);
    return ATTN_OK;
}

static void new_slopes(at_frames_stream *stream) {
    const at_frames *frames = stream->frames;
    const int64_t reach = frames->options.delta_reach;
    stream->ready[0] = stream->row_count;
    for (int64_t d = 1; d <= frames->options.deltas; d++) {
        int64_t end = stream->ended ? stream->row_count : stream->ready[d - 1] - reach;
        for (int64_t t = stream->ready[d]; t < end; t++)
            at_frames_slope(frames, stream->rows, t, stream->ready[d - 1] - 1, (d - 1) * frames->base,
                            d * frames->base);
        if (end > stream->ready[d]) stream->ready[d] = end;
    }
}

attn_status at_frames_stream_push(at_frames_stream *stream, const float *samples, int64_t count, int last,
                                  const float **numbers, int64_t *rows) {
    const at_frames *frames = stream->frames;
    if (stream->ended)
        return at_fail(stream->context, ATTN_INVALID_ARGUMENT, "frames: samples after the last piece");
    attn_status status = keep_samples(stream, samples, count);
    if (status == ATTN_OK) status = mirror_beginning(stream, last);
    if (status == ATTN_OK && last) status = mirror_end(stream);
    if (status != ATTN_OK) return status;
    stream->ended = last != 0;
    forget_rows(stream);
    if (stream->started) status = new_rows(stream);
    if (status != ATTN_OK) return status;
    new_slopes(stream);
    *numbers = stream->rows ? stream->rows + stream->given * frames->columns : NULL;
    *rows = stream->ready[frames->options.deltas] - stream->given;
    stream->given += *rows;
    return ATTN_OK;
}
