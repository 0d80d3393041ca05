/* take.c: one recording, or one file of features, added to a dataset. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/npy.h"
#include "inputs/speech/reader.h"
#include "inputs/speech/sound.h"

enum { PIECE = 1 << 16 };

/* The error of a recording gets the place in the list before it, and may be left out as one. */
static attn_status name_place(at_speech_reader *reader, const at_speech_item *item, attn_status status) {
    char reason[400];
    if (status == ATTN_OUT_OF_MEMORY || status == ATTN_UNSUPPORTED) return status;
    snprintf(reason, sizeof reason, "%s", attn_context_error(reader->context));
    if (item->line > 0) return at_speech_bad(reader, item->line, "%s", reason);
    for (char *p = reason; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    reader->bad = 1;
    return at_fail(reader->context, status, "%s", reason);
}

/* ---- sound ---- */

/* All recordings together may have so many bytes; each may not be too much for its file. */
static attn_status check_size(at_speech_reader *reader, const at_speech_item *item, int64_t file_bytes) {
    const attn_reader_options *options = reader->options;
    int64_t bytes = at_recordings_of(reader->dataset)->used * (int64_t)sizeof(float);
    int64_t own = at_recordings_pending(reader->dataset) * (int64_t)sizeof(float);
    const at_expansion allowed = {INT64_MAX, options->expanded_ratio, NULL, NULL};
    if (bytes > options->expanded_limit) {
        reader->bad = 0;
        at_speech_fail(reader, item->line,
                       "the recordings up to here have more than %" PRId64
                       " bytes in memory (expanded_limit of the reader options)",
                       options->expanded_limit);
        return ATTN_OVERFLOW;
    }
    attn_status status = at_check_expansion(reader->context, item->path, &allowed, file_bytes, own);
    return status == ATTN_OK ? status : name_place(reader, item, status);
}

static attn_status take_samples(at_speech_reader *reader, const at_speech_item *item, at_sound *sound) {
    attn_status status = ATTN_OK;
    int64_t count = 1;
    while (status == ATTN_OK && count > 0) {
        float *into = at_recordings_room(reader->dataset, PIECE);
        if (!into) return ATTN_OUT_OF_MEMORY;
        status = at_sound_next(sound, into, PIECE, &count);
        if (status != ATTN_OK) return name_place(reader, item, status);
        at_recordings_of(reader->dataset)->used += count;
        status = check_size(reader, item, at_sound_bytes(sound));
    }
    return status;
}

static attn_status take_sound(at_speech_reader *reader, const at_speech_item *item) {
    at_recordings *recordings = at_recordings_of(reader->dataset);
    at_sound *sound = NULL;
    const char *before, *shown = at_name_end(item->path, &before);
    if (recordings->columns)
        return at_speech_bad(reader, item->line,
                             "%s%s: is a recording, those before it are features: give one or the other",
                             before, shown);
    attn_status status =
        item->bytes ? at_sound_open_bytes(reader->context, item->path, item->bytes, item->count, &sound)
                    : at_sound_open(reader->context, item->path, &sound);
    if (status != ATTN_OK) return name_place(reader, item, status);
    status = take_samples(reader, item, sound);
    reader->rate = at_sound_rate(sound);
    reader->channels = at_sound_channels(sound);
    at_sound_close(sound);
    if (status == ATTN_OK && at_recordings_pending(reader->dataset) == 0)
        status = at_speech_bad(reader, item->line, "%s%s: has no samples", before, shown);
    return status;
}

/* ---- features ---- */

static attn_status take_numbers(at_speech_reader *reader, const at_speech_item *item, const at_npy *array) {
    at_recordings *recordings = at_recordings_of(reader->dataset);
    const char *before, *shown = at_name_end(item->path, &before);
    if (array->type == AT_NPY_BYTES || array->type == AT_NPY_UNICODE || array->rank != 2 || array->count == 0)
        return at_speech_bad(reader, item->line, "%s%s: is not an array of features, frames x columns",
                             before, shown);
    int first = recordings->count == 0 && recordings->used == 0;
    if (first) recordings->columns = array->shape[1];
    if (recordings->columns != array->shape[1])
        return at_speech_bad(
            reader, item->line,
            recordings->columns ? "%s%s: has features of %" PRId64 " columns, those before it are of others"
                                : "%s%s: has features of %" PRId64 " columns, those before it are recordings",
            before, shown, array->shape[1]);
    float *into = at_recordings_room(reader->dataset, array->count);
    if (!into) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < array->count; i++) {
        double number = at_npy_number(array, i);
        if (!(fabs(number) <= (double)FLT_MAX))
            return at_speech_bad(reader, item->line, "%s%s: row %" PRId64 ", column %" PRId64 " is %s",
                                 before, shown, i / array->shape[1], i % array->shape[1],
                                 isnan(number)   ? "not a number"
                                 : isinf(number) ? "infinite"
                                                 : "too large for 32 bits");
        into[i] = at_npy_single(array, i);
    }
    recordings->used += array->count;
    reader->rate = reader->channels = 0;
    return check_size(reader, item, array->count * array->size);
}

static attn_status take_features(at_speech_reader *reader, const at_speech_item *item) {
    const at_expansion allowed = {reader->options->expanded_limit, reader->options->expanded_ratio, NULL,
                                  NULL};
    at_origin origin = {reader->context, item->path, allowed.limit, allowed.ratio};
    at_bytes file = {0};
    const char *bytes = item->bytes;
    size_t count = item->count;
    at_npy array;
    attn_status status = ATTN_OK;
    if (!bytes) {
        status = at_file_read(reader->context, item->path, &allowed, &file);
        bytes = file.data ? file.data : "";
        count = (size_t)file.count;
    }
    if (status == ATTN_OK) status = at_npy_parse(&origin, NULL, bytes, count, &array);
    status = status == ATTN_OK ? take_numbers(reader, item, &array) : name_place(reader, item, status);
    at_bytes_free(reader->context, &file);
    return status;
}

/* ---- one of either ---- */

static int is_features(const at_speech_item *item) {
    if (item->bytes) return at_is_npy(item->bytes, item->count);
    return at_name_ends(item->path, ".npy");
}

/* A text that is in a file of its own: its lines with spaces between. */
static attn_status read_text(at_speech_reader *reader, const at_speech_item *item) {
    const at_expansion allowed = {reader->options->expanded_limit, reader->options->expanded_ratio, NULL,
                                  NULL};
    at_bytes file = {0};
    char reason[160];
    int64_t line = 1;
    attn_status status = at_file_read(reader->context, item->labels, &allowed, &file);
    if (status != ATTN_OK) return name_place(reader, item, status);
    const char *before, *shown = at_name_end(item->labels, &before), *text = file.data ? file.data : "";
    size_t length = (size_t)file.count;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (!at_is_text(text, length, &line, reason))
        status = at_speech_bad(reader, item->line, "%s%s:%" PRId64 ": %s", before, shown, line, reason);
    for (int64_t i = 0; i < file.count; i++)
        if (file.data[i] == '\n' || file.data[i] == '\r' || file.data[i] == '\t') file.data[i] = ' ';
    at_trim(&text, &length);
    if (status == ATTN_OK && length == 0)
        status = at_speech_bad(reader, item->line, "%s%s: is empty", before, shown);
    if (status == ATTN_OK) status = at_speech_text(reader, &reader->dataset->targets, text, length);
    at_bytes_free(reader->context, &file);
    return status;
}

attn_status at_speech_take(at_speech_reader *reader, const at_speech_item *item) {
    attn_dataset *dataset = reader->dataset;
    attn_status status = is_features(item) ? take_features(reader, item) : take_sound(reader, item);
    if (status != ATTN_OK) return status;
    if (item->labels && dataset->per_row) return at_speech_read_segments(reader, item);
    status = at_recordings_span(dataset, 0, at_recordings_pending(dataset), item->line ? item->line : 1);
    if (status == ATTN_OK && item->labels) status = read_text(reader, item);
    return status;
}

attn_status at_speech_end(at_speech_reader *reader, const at_speech_item *item) {
    attn_dataset *dataset = reader->dataset;
    at_recordings *recordings = at_recordings_of(dataset);
    attn_status status = at_strings_add(reader->context, &dataset->ids, item->shown, item->shown_length);
    if (status == ATTN_OK && dataset->per_row)
        status = at_strings_add(reader->context, &recordings->label_files, item->labels ? item->labels : "",
                                item->labels ? strlen(item->labels) : 0);
    return status == ATTN_OK ? at_recordings_end(dataset, reader->rate, reader->channels) : status;
}
