/* feed.c: a recording that arrives in pieces: samples to frames to rows, of which those still needed are
 * kept.
 *
 *     samples -> (rate) -> at_frames_stream -> by the corpus -> frames from that of the first row of the view
 *
 * A row is complete when all its frames are there; the rows at the end, whose last frame is repeated, when
 * the input has ended. The rows are those of the whole recording (encode.c), bit for bit if its rate is that
 * of the model.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/feed.h"

enum { PIECE = 1 << 14 }; /* samples that are read from a file at once */

/* ---- who can ---- */

static const char *refuses(const at_input *input) {
    switch ((at_speech_normalize)at_speech_input_of(input)->values.normalize) {
    case AT_SPEECH_NO_NORM:
    case AT_SPEECH_RUNNING:
    case AT_SPEECH_BY_CORPUS: return NULL;
    case AT_SPEECH_BY_UTTERANCE:
    case AT_SPEECH_BY_BOTH: break;
    }
    return "speech.normalize utterance needs the whole recording before its first row: train with "
           "one that does not (speech.normalize running or corpus)";
}

static int knows(const at_input *input, const char *path) {
    return at_speech_input_of(input)->frames && at_sound_named(path);
}

static void shape(const at_input *input, at_feed_shape *found) {
    const at_speech_input *speech = at_speech_input_of(input);
    const at_speech_values *values = &speech->values;
    int64_t before = -at_speech_first(values, 0); /* frames of the first row that are not there */
    *found = (at_feed_shape){.edge = before > 0 ? (before + values->stride - 1) / values->stride : 0,
                             .step = at_speech_step(speech)};
    double frame = found->step / (double)values->stride, window = frame;
    int64_t last = at_speech_first(values, 0) + values->stack - 1;
    if (speech->frames) {
        found->rate = values->rate;
        window = (double)at_frames_window(speech->frames) / (double)values->rate;
        last += values->deltas * values->delta_reach;
    }
    if (values->centered && speech->frames) window /= 2;
    found->delay = (double)last * frame + window - at_speech_center(speech);
}

/* ---- making ---- */

static void close_feed(at_feed *feed) {
    at_speech_feed *own = (at_speech_feed *)(void *)feed;
    if (!own) return;
    attn_context *context = own->context;
    at_frames_stream_destroy(own->stream);
    at_resampler_destroy(own->resampler);
    at_sound_close(own->sound);
    at_release(context, own->piece);
    at_release(context, own->before);
    at_release(context, own->frames);
    at_strings_free(context, &own->encoded.names);
    at_strings_free(context, &own->name);
    at_speech_feed_free_runs(own);
    at_release(context, own);
}

static attn_status open_sound(at_speech_feed *own, const char *path) {
    attn_status status = at_sound_open(own->context, path, &own->sound);
    if (status != ATTN_OK) return status;
    own->rate = at_sound_rate(own->sound);
    own->piece = at_allocate(own->context, PIECE, sizeof *own->piece, "samples");
    return own->piece ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static attn_status open_samples(at_speech_feed *own) {
    int64_t rate = own->input->values.rate;
    if (own->rate == 0) own->rate = rate;
    if (own->rate < AT_SPEECH_SLOWEST || own->rate > AT_SPEECH_FASTEST)
        return at_fail(own->context, ATTN_INVALID_ARGUMENT,
                       "the rate is %" PRId64 " samples per second: it can be %d to %d", own->rate,
                       AT_SPEECH_SLOWEST, AT_SPEECH_FASTEST);
    attn_status status = ATTN_OK;
    if (own->rate != rate) status = at_resampler_create(own->context, own->rate, rate, &own->resampler);
    if (status == ATTN_OK) status = at_frames_stream_create(own->context, own->input->frames, &own->stream);
    return status;
}

static attn_status open_feed(const at_input *input, attn_context *context, const at_feed_options *options,
                             at_feed **feed) {
    const at_speech_input *speech = at_speech_input_of(input);
    if (!speech->frames && (options->path || options->rate))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the model was trained on features: it reads no samples, and has no rate");
    at_speech_feed *made = at_allocate(context, 1, sizeof *made, "a stream");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->input = speech;
    made->rate = options->rate;
    made->json = options->json;
    at_encoded *encoded = &made->encoded.encoded;
    encoded->context = context;
    encoded->examples = 1;
    encoded->offsets = made->row_offsets;
    made->encoded.rows.offsets = made->frame_offsets;
    made->encoded.rows.examples = 1;
    made->encoded.rows.columns = speech->columns;
    made->encoded.step = at_speech_step(speech);
    made->encoded.center = at_speech_center(speech);
    made->feed.encoded = encoded;
    made->before = at_allocate(context, speech->columns + 1, sizeof *made->before, "a mean");
    attn_status status = made->before ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        status = at_strings_add(context, &made->name, options->name, strlen(options->name));
    if (status == ATTN_OK && options->path) status = open_sound(made, options->path);
    if (status == ATTN_OK && speech->frames) status = open_samples(made);
    if (status == ATTN_OK)
        *feed = &made->feed;
    else
        close_feed(&made->feed);
    return status;
}

/* ---- samples in ---- */

/* Rows whose frames are all there. */
static void count_rows(at_speech_feed *own) {
    const at_speech_values *values = &own->input->values;
    int64_t frames = own->first_frame + own->frame_count;
    if (own->feed.ended) {
        own->feed.rows = at_speech_row_count(values, frames);
        return;
    }
    while (at_speech_first(values, own->feed.rows) + values->stack <= frames) own->feed.rows++;
}

static attn_status keep_frames(at_speech_feed *own, const float *numbers, int64_t count) {
    int64_t columns = own->input->columns, used = own->frame_count * columns;
    attn_status status = at_grow(own->context, &own->frames, &own->frame_room, used + count * columns,
                                 sizeof *own->frames, "the frames of a stream");
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < count * columns; i++)
        if (!isfinite(numbers[i]))
            return at_fail(own->context, ATTN_NOT_FINITE,
                           "%.200s: frames are not finite: samples are not numbers, or far too large",
                           at_string(&own->name, 0));
    if (count) memcpy(own->frames + used, numbers, (size_t)(count * columns) * sizeof *numbers);
    at_speech_normalize_rows(own->input, own->before, own->frames + used, count);
    own->frame_count += count;
    return ATTN_OK;
}

static attn_status push_piece(at_speech_feed *own, const float *samples, int64_t count, int last) {
    const float *numbers = NULL;
    int64_t rows = 0;
    own->sample_count += count;
    attn_status status = at_frames_stream_push(own->stream, samples, count, last, &numbers, &rows);
    return status == ATTN_OK ? keep_frames(own, numbers, rows) : status;
}

/* Samples at the model's rate; at the end at least a window of them. */
static attn_status push_samples(at_speech_feed *own, const float *samples, int64_t count, int last) {
    static const float silence[1024];
    int64_t window = at_frames_window(own->input->frames);
    attn_status status = push_piece(own, samples, count, last && own->sample_count + count >= window);
    while (status == ATTN_OK && last && own->sample_count < window) {
        int64_t lacking = window - own->sample_count, more = lacking < 1024 ? lacking : 1024;
        status = push_piece(own, silence, more, more == lacking);
    }
    return status;
}

static attn_status push_numbers(at_speech_feed *own, const float *numbers, int64_t count, int last) {
    int64_t columns = own->input->columns;
    if (own->input->frames) {
        const float *samples = numbers;
        attn_status status = ATTN_OK;
        own->heard += count;
        if (own->resampler) status = at_resampler_push(own->resampler, &samples, &count, last);
        return status == ATTN_OK ? push_samples(own, samples, count, last) : status;
    }
    if (count % columns)
        return at_fail(own->context, ATTN_INVALID_ARGUMENT,
                       "%" PRId64 " numbers are not whole rows of %" PRId64 " features", count, columns);
    return keep_frames(own, numbers, count / columns);
}

static attn_status push(at_feed *feed, const float *numbers, int64_t count, int last) {
    at_speech_feed *own = (at_speech_feed *)(void *)feed;
    attn_status status = ATTN_OK;
    if (last && own->input->frames && own->heard + count == 0) { /* nothing is no recording */
        feed->ended = 1;
        return ATTN_OK;
    }
    status = push_numbers(own, numbers, count, last);
    if (status != ATTN_OK) return status;
    feed->ended = last;
    count_rows(own);
    return ATTN_OK;
}

static attn_status pull(at_feed *feed) {
    at_speech_feed *own = (at_speech_feed *)(void *)feed;
    int64_t count = 0;
    attn_status status = at_sound_next(own->sound, own->piece, PIECE, &count);
    if (status != ATTN_OK) return status;
    if (count == 0 && own->heard == 0)
        return at_fail(own->context, ATTN_INVALID_ARGUMENT, "%.200s: has no samples",
                       at_string(&own->name, 0));
    return push(feed, own->piece, count, count == 0);
}

/* ---- rows out ---- */

static attn_status view(at_feed *feed, int64_t first, int64_t end) {
    at_speech_feed *own = (at_speech_feed *)(void *)feed;
    at_speech_encoded *encoded = &own->encoded;
    int64_t columns = own->input->columns, frame = first * own->input->values.stride;
    int64_t drop = frame - own->first_frame;
    if (drop > 0) {
        own->frame_count -= drop;
        own->first_frame = frame;
        memmove(own->frames, own->frames + drop * columns,
                (size_t)(own->frame_count * columns) * sizeof *own->frames);
    }
    feed->first = first;
    encoded->rows.numbers = own->frames;
    own->frame_offsets[1] = own->frame_count;
    own->row_offsets[1] = encoded->encoded.rows = end - first;
    at_strings_clear(&encoded->names);
    return ATTN_OK;
}

/* The time of the centre of a row, made when it is requested. */
static const char *row_name(const at_encoded *encoded, int64_t row) {
    at_speech_encoded *made = (at_speech_encoded *)(uintptr_t)encoded;
    const at_speech_feed *own =
        (const at_speech_feed *)((const char *)made - offsetof(at_speech_feed, encoded));
    for (int64_t i = made->names.count; i <= row; i++) {
        char name[32];
        int length =
            snprintf(name, sizeof name, "%.4f", made->center + (double)(own->feed.first + i) * made->step);
        if (at_strings_add(own->context, &made->names, name, (size_t)length) != ATTN_OK) return "";
    }
    return at_string(&made->names, row);
}

const at_feed_kind at_speech_feed_kind = {
    .refuses = refuses,
    .knows = knows,
    .shape = shape,
    .open = open_feed,
    .close = close_feed,
    .push = push,
    .pull = pull,
    .view = view,
    .row_name = row_name,
    .write = at_speech_feed_write,
};
