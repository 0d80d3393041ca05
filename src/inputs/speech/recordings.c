/* recordings.c: the recordings of a dataset in memory: how readers and programs add them, and how they are
 * selected. */
#include "inputs/speech/recordings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/vocabulary.h"

/* ---- the content of a dataset ---- */

static void destroy(attn_context *context, void *content) {
    at_recordings *recordings = content;
    if (!recordings) return;
    at_release(context, recordings->numbers);
    at_release(context, recordings->list);
    at_release(context, recordings->spans);
    at_strings_free(context, &recordings->speakers);
    at_strings_free(context, &recordings->label_files);
    at_release(context, recordings);
}

static attn_status create(attn_context *context, const void *like, void **content) {
    at_recordings *made = at_allocate(context, 1, sizeof *made, "recordings");
    if (!made) return ATTN_OUT_OF_MEMORY;
    if (like) made->columns = ((const at_recordings *)like)->columns;
    *content = made;
    return ATTN_OK;
}

static attn_status grow(attn_context *context, at_recordings *recordings, int64_t count) {
    if (count > INT64_MAX / 8 - recordings->used)
        return at_fail(context, ATTN_OVERFLOW, "%" PRId64 " more samples", count);
    return at_grow(context, &recordings->numbers, &recordings->room, recordings->used + count + 1,
                   sizeof *recordings->numbers, "the samples of recordings");
}

static int64_t width_of(const at_recordings *recordings) {
    return recordings->columns ? recordings->columns : 1;
}

static attn_status add_span(attn_context *context, at_recordings *to, at_span span) {
    attn_status status = at_grow(context, &to->spans, &to->span_room, to->rows + 1, sizeof *to->spans,
                                 "the segments of recordings");
    if (status == ATTN_OK) to->spans[to->rows++] = span;
    return status;
}

/* Strings of which there is one for each recording, or none at all. */
static attn_status copy_string(attn_context *context, const at_strings *from, int64_t recording,
                               at_strings *to, int64_t count) {
    if (from->count == 0 && to->count == 0) return ATTN_OK;
    attn_status status = ATTN_OK;
    while (to->count < count && status == ATTN_OK) status = at_strings_add(context, to, "", 0);
    if (status != ATTN_OK || recording >= from->count) return status;
    return at_strings_add(context, to, at_string(from, recording), at_string_length(from, recording));
}

static attn_status append(attn_context *context, void *content, const void *from, int64_t example,
                          int64_t first, int64_t end) {
    at_recordings *to = content;
    const at_recordings *source = from;
    const at_recording *one = &source->list[example];
    int64_t numbers = one->count * width_of(source);
    if (to->columns != source->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "recordings and features cannot be combined, nor features with different columns");
    attn_status status = grow(context, to, numbers);
    if (status == ATTN_OK)
        status = at_grow(context, &to->list, &to->list_room, to->count + 1, sizeof *to->list, "recordings");
    if (status == ATTN_OK)
        status = copy_string(context, &source->speakers, example, &to->speakers, to->count);
    if (status == ATTN_OK)
        status = copy_string(context, &source->label_files, example, &to->label_files, to->count);
    for (int64_t row = first; row < end && status == ATTN_OK; row++)
        status =
            add_span(context, to, (at_span){to->count, source->spans[row].start, source->spans[row].end});
    if (status != ATTN_OK) return status;
    memcpy(to->numbers + to->used, source->numbers + one->first, (size_t)numbers * sizeof *to->numbers);
    to->list[to->count] = *one;
    to->list[to->count++].first = to->used;
    to->used += numbers;
    return ATTN_OK;
}

static uint64_t hash(const void *content, int64_t first, int64_t end, uint64_t seed) {
    const at_recordings *recordings = content;
    int64_t before = -1;
    for (int64_t row = first; row < end; row++) {
        const at_span *span = &recordings->spans[row];
        const at_recording *one = &recordings->list[span->recording];
        seed = at_hash((const char *)&span->start, sizeof span->start, seed);
        seed = at_hash((const char *)&span->end, sizeof span->end, seed);
        if (span->recording == before) continue;
        before = span->recording;
        seed = at_hash((const char *)&one->rate, sizeof one->rate, seed);
        seed = at_hash((const char *)(recordings->numbers + one->first),
                       (size_t)(one->count * width_of(recordings)) * sizeof *recordings->numbers, seed);
    }
    return seed;
}

const at_content_kind at_speech_content = {"speech", destroy, create, append, hash, NULL, NULL, 0, 0};

/* ---- reading ---- */

attn_status at_recordings_dataset(attn_context *context, const char *name, int format,
                                  attn_dataset **dataset) {
    void *content;
    attn_dataset *made;
    attn_status status = create(context, NULL, &content);
    if (status != ATTN_OK) return status;
    status = at_dataset_create(context, name, &at_speech_content, content, &made);
    if (status != ATTN_OK) return status;
    made->format = (attn_format)format;
    *dataset = made;
    return ATTN_OK;
}

static int64_t begin_of_pending(const at_recordings *recordings) {
    if (recordings->count == 0) return 0;
    const at_recording *last = &recordings->list[recordings->count - 1];
    return last->first + last->count * width_of(recordings);
}

float *at_recordings_room(attn_dataset *dataset, int64_t count) {
    at_recordings *recordings = at_recordings_of(dataset);
    if (grow(dataset->context, recordings, count) != ATTN_OK) return NULL;
    return recordings->numbers + recordings->used;
}

int64_t at_recordings_pending(const attn_dataset *dataset) {
    const at_recordings *recordings = at_recordings_of(dataset);
    return (recordings->used - begin_of_pending(recordings)) / width_of(recordings);
}

attn_status at_recordings_span(attn_dataset *dataset, int64_t start, int64_t end, int64_t line) {
    at_recordings *recordings = at_recordings_of(dataset);
    attn_status status = add_span(dataset->context, recordings, (at_span){recordings->count, start, end});
    return status == ATTN_OK ? at_dataset_row(dataset, line) : status;
}

attn_status at_recordings_end(attn_dataset *dataset, int64_t rate, int64_t channels) {
    at_recordings *recordings = at_recordings_of(dataset);
    attn_status status = at_grow(dataset->context, &recordings->list, &recordings->list_room,
                                 recordings->count + 1, sizeof *recordings->list, "recordings");
    if (status == ATTN_OK) status = at_dataset_end(dataset);
    if (status != ATTN_OK) return status;
    int64_t count = at_recordings_pending(dataset);
    recordings->list[recordings->count] =
        (at_recording){.first = recordings->used - count * width_of(recordings),
                       .count = count,
                       .rate = rate,
                       .channels = channels};
    recordings->count++;
    return ATTN_OK;
}

/* Strings that stand behind those of the recordings are of one that was taken back. */
static void cut_strings(at_strings *list, int64_t count) {
    if (list->count > count) list->count = count;
}

void at_recordings_undo(attn_dataset *dataset) {
    at_recordings *recordings = at_recordings_of(dataset);
    recordings->used = begin_of_pending(recordings);
    dataset->rows = recordings->rows = dataset->offsets[dataset->examples];
    cut_strings(&recordings->speakers, recordings->count);
    cut_strings(&recordings->label_files, recordings->count);
    cut_strings(&dataset->ids, dataset->examples);
    int64_t places = dataset->per_row ? dataset->rows : dataset->examples;
    cut_strings(&dataset->targets, places * dataset->columns.count);
    if (recordings->count == 0 && recordings->used == 0) recordings->columns = 0;
}

/* ---- from memory ---- */

static attn_status check_samples(attn_context *context, const float *samples, const int64_t *offsets,
                                 int64_t examples) {
    for (int64_t e = 0; e < examples; e++) {
        if ((e == 0 && offsets[0] != 0) || offsets[e] >= offsets[e + 1])
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "offsets must increase from 0, because no recording is empty: offsets[%" PRId64
                           "] is %" PRId64 ", the next %" PRId64,
                           e, offsets[e], offsets[e + 1]);
    }
    int64_t count = examples ? offsets[examples] : 0;
    if (!samples && count) return at_fail(context, ATTN_INVALID_ARGUMENT, "samples is NULL");
    for (int64_t i = 0; i < count; i++) {
        if (!(fabsf(samples[i]) <= 1e6f))
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "samples[%" PRId64 "] is %s: samples are finite, full scale is 1", i,
                           isnan(samples[i])   ? "not a number"
                           : isinf(samples[i]) ? "infinite"
                                               : "more than a million");
    }
    return ATTN_OK;
}

attn_status attn_dataset_from_samples(attn_context *context, const float *samples, const int64_t *offsets,
                                      int64_t examples, int64_t rate, attn_dataset **dataset) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!dataset || examples < 0 || (!offsets && examples))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "dataset or offsets is NULL, or examples is %" PRId64,
                       examples);
    if (rate < AT_SPEECH_SLOWEST || rate > AT_SPEECH_FASTEST)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "rate is %" PRId64 " samples per second: it can be %d to %d", rate, AT_SPEECH_SLOWEST,
                       AT_SPEECH_FASTEST);
    attn_dataset *made;
    attn_status status = check_samples(context, samples, offsets, examples);
    if (status == ATTN_OK) status = at_recordings_dataset(context, "memory", AT_SPEECH_RECORDING, &made);
    if (status != ATTN_OK) return status;
    for (int64_t e = 0; e < examples && status == ATTN_OK; e++) {
        int64_t count = offsets[e + 1] - offsets[e];
        float *into = at_recordings_room(made, count);
        if (into) memcpy(into, samples + offsets[e], (size_t)count * sizeof *samples);
        if (into) at_recordings_of(made)->used += count;
        status = into ? at_recordings_span(made, 0, count, e + 1) : ATTN_OUT_OF_MEMORY;
        if (status == ATTN_OK) status = at_recordings_end(made, rate, 1);
    }
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}

/* ---- segments from memory ---- */

static attn_status check_segments(const attn_dataset *dataset, const int64_t *offsets, const int64_t *starts,
                                  const int64_t *ends) {
    const at_recordings *recordings = at_recordings_of(dataset);
    for (int64_t e = 0; e < dataset->examples; e++) {
        if ((e == 0 && offsets[0] != 0) || offsets[e] >= offsets[e + 1])
            return at_fail(
                dataset->context, ATTN_INVALID_ARGUMENT,
                "offsets must increase from 0, because every recording has a segment: offsets[%" PRId64
                "] is %" PRId64 ", the next %" PRId64,
                e, offsets[e], offsets[e + 1]);
        int64_t before = 0;
        for (int64_t i = offsets[e]; i < offsets[e + 1]; before = ends[i++]) {
            if (starts[i] >= before && ends[i] >= starts[i] && ends[i] <= recordings->list[e].count) continue;
            return at_fail(dataset->context, ATTN_INVALID_ARGUMENT,
                           "segment %" PRId64 " goes from %" PRId64 " to %" PRId64
                           ": segments of a recording follow each other from 0 to its end, %" PRId64,
                           i, starts[i], ends[i], recordings->list[e].count);
        }
    }
    return ATTN_OK;
}

/* New rows; the old ones stay until these are whole. */
static attn_status set_rows(attn_dataset *dataset, const int64_t *offsets, const int64_t *starts,
                            const int64_t *ends) {
    at_recordings *recordings = at_recordings_of(dataset);
    int64_t examples = dataset->examples, rows = examples ? offsets[examples] : 0;
    attn_status status = at_grow(dataset->context, &recordings->spans, &recordings->span_room, rows + 1,
                                 sizeof *recordings->spans, "the segments of recordings");
    if (status == ATTN_OK)
        status = at_grow(dataset->context, &dataset->lines, &dataset->line_room, rows + 1,
                         sizeof *dataset->lines, "the lines of rows");
    if (status == ATTN_OK && dataset->files)
        status = at_grow(dataset->context, &dataset->files, &dataset->file_room, rows + 1,
                         sizeof *dataset->files, "the files of rows");
    if (status != ATTN_OK) return status;
    for (int64_t e = 0; e < examples; e++) {
        dataset->offsets[e] = offsets[e];
        for (int64_t i = offsets[e]; i < offsets[e + 1]; i++) {
            recordings->spans[i] = (at_span){e, starts[i], ends[i]};
            dataset->lines[i] = e + 1;
            if (dataset->files) dataset->files[i] = 0;
        }
    }
    dataset->offsets[examples] = dataset->rows = recordings->rows = rows;
    return ATTN_OK;
}

attn_status attn_dataset_set_segments(attn_dataset *dataset, const int64_t *offsets, const int64_t *starts,
                                      const int64_t *ends) {
    if (!dataset) return ATTN_INVALID_ARGUMENT;
    attn_context *context = dataset->context;
    if (dataset->kind != &at_speech_content || dataset->borrowed)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "segments are of recordings, and this dataset is of input %s", dataset->kind->input);
    if (!offsets || ((!starts || !ends) && dataset->examples && offsets[dataset->examples] > 0))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "offsets, starts or ends is NULL");
    attn_status status = check_segments(dataset, offsets, starts, ends);
    if (status == ATTN_OK) status = set_rows(dataset, offsets, starts, ends);
    if (status != ATTN_OK) return status;
    dataset->columns.count = dataset->targets.count = 0; /* they were of other rows */
    dataset->per_row = 0;
    return ATTN_OK;
}
