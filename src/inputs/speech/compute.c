/* compute.c: the frames of recordings, several recordings at a time, and their mean and deviation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parts.h"
#include "inputs/speech/sound.h"
#include "inputs/speech/speech.h"

void at_speech_free_rows(attn_context *context, at_speech_rows *rows) {
    at_release(context, rows->numbers);
    at_release(context, rows->offsets);
    memset(rows, 0, sizeof *rows);
}

/* ---- times ---- */

double at_speech_step(const at_speech_input *input) {
    const at_speech_values *values = &input->values;
    double shift = input->frames ? (double)at_frames_shift(input->frames) / (double)values->rate
                                 : values->shift_ms / 1000;
    return shift * (double)values->stride;
}

double at_speech_center(const at_speech_input *input) {
    const at_speech_values *values = &input->values;
    double shift = at_speech_step(input) / (double)values->stride;
    double window = input->frames ? (double)at_frames_window(input->frames) / (double)values->rate : shift;
    double frame = (double)at_speech_first(values, 0) + (double)(values->stack - 1) / 2;
    return frame * shift + (values->centered && input->frames ? 0 : window / 2);
}

/* ---- one recording ---- */

/* What a worker works with. */
typedef struct worker {
    attn_context *context;
    at_frames_work *work;
    float *samples; /* at the model's rate */
    int64_t room;
    attn_status status;
    int64_t failed; /* the recording */
} worker;

typedef struct job {
    const at_speech_input *input;
    const at_recordings *from;
    at_speech_rows *rows;
    worker *workers;
} job;

/* Samples at the model's rate, at least a window of them. */
static attn_status bring_to_rate(const job *now, worker *by, const at_recording *one, const float **samples,
                                 int64_t *count) {
    const at_speech_input *input = now->input;
    int64_t window = at_frames_window(input->frames), rate = input->values.rate;
    *samples = now->from->numbers + one->first;
    *count = at_resampled_count(one->count, one->rate, rate);
    if (one->rate == rate && *count >= window) return ATTN_OK;
    int64_t needed = *count > window ? *count : window;
    attn_status status = at_grow(by->context, &by->samples, &by->room, needed, sizeof *by->samples,
                                 "the samples of a recording");
    if (status == ATTN_OK)
        status = at_resample(by->context, *samples, one->count, one->rate, rate, by->samples);
    if (status != ATTN_OK) return status;
    if (*count < window) memset(by->samples + *count, 0, (size_t)(window - *count) * sizeof *by->samples);
    *samples = by->samples;
    *count = needed;
    return ATTN_OK;
}

/* Mean 0 of every column of a recording; and deviation 1, if it has one. */
static void normalize_recording(float *numbers, int64_t frames, int64_t columns, int deviation) {
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0, squares = 0;
        for (int64_t t = 0; t < frames; t++) sum += (double)numbers[t * columns + c];
        double mean = sum / (double)frames;
        for (int64_t t = 0; t < frames; t++) {
            double distance = (double)numbers[t * columns + c] - mean;
            squares += distance * distance;
        }
        double scale = sqrt(squares / (double)frames);
        if (!deviation || !(scale > 1e-5)) scale = 1;
        for (int64_t t = 0; t < frames; t++)
            numbers[t * columns + c] = (float)(((double)numbers[t * columns + c] - mean) / scale);
    }
}

static attn_status check_finite(worker *by, const float *numbers, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return at_fail(by->context, ATTN_NOT_FINITE,
                           "its frames are not finite: its samples are probably far too large");
    return ATTN_OK;
}

static attn_status compute_one(const job *now, worker *by, int64_t recording) {
    const at_recording *one = &now->from->list[recording];
    const at_speech_input *input = now->input;
    int64_t first = now->rows->offsets[recording], frames = now->rows->offsets[recording + 1] - first;
    int64_t columns = now->rows->columns, count;
    float *into = now->rows->numbers + first * columns;
    const float *samples;
    attn_status status = ATTN_OK;
    if (input->frames) {
        status = bring_to_rate(now, by, one, &samples, &count);
        if (status == ATTN_OK)
            status = at_frames_compute(input->frames, by->context, &by->work, samples, count, into);
        if (status == ATTN_OK) status = check_finite(by, into, frames * columns);
    } else {
        memcpy(into, now->from->numbers + one->first, (size_t)(frames * columns) * sizeof *into);
    }
    int how = input->values.normalize;
    if (status == ATTN_OK && (how == AT_SPEECH_BY_UTTERANCE || how == AT_SPEECH_BY_BOTH))
        normalize_recording(into, frames, columns, how == AT_SPEECH_BY_UTTERANCE);
    return status;
}

static void run_task(void *argument, int64_t task, int number) {
    const job *now = argument;
    worker *by = &now->workers[number];
    if (by->status != ATTN_OK) return;
    by->status = compute_one(now, by, task);
    by->failed = task;
}

/* ---- all of them ---- */

static attn_status check_dataset(const at_speech_input *input, attn_context *context,
                                 const attn_dataset *dataset) {
    const at_recordings *from = at_recordings_of(dataset);
    const char *name = attn_dataset_name(dataset);
    if (input->frames && from->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has features, the model learned from recordings", name);
    if (!input->frames && from->count && !from->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has recordings, the model learned from features (speech.features given)",
                       name);
    if (!input->frames && from->count && from->columns != input->columns)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has features of %" PRId64 " columns, the model learned from %" PRId64, name,
                       from->columns, input->columns);
    for (int64_t i = 0; input->frames && i < from->count; i++) {
        double ratio = (double)from->list[i].rate / (double)input->values.rate;
        if (ratio < 256 && ratio > 1.0 / 256) continue;
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: recording %" PRId64 " has %" PRId64
                       " samples per second, which is too far from the model's %" PRId64,
                       name, i + 1, from->list[i].rate, input->values.rate);
    }
    return ATTN_OK;
}

static int64_t count_frames(const at_speech_input *input, const at_recording *one) {
    if (!input->frames) return one->count;
    int64_t count = at_resampled_count(one->count, one->rate, input->values.rate);
    int64_t window = at_frames_window(input->frames);
    return at_frames_count(input->frames, count > window ? count : window);
}

attn_status at_speech_is_longer(const at_input *input, const attn_dataset *dataset, int64_t example,
                                int64_t most, int *longer) {
    const at_speech_input *own = at_speech_input_of(input);
    int64_t frames = count_frames(own, &at_recordings_of(dataset)->list[example]);
    *longer = at_speech_row_count(&own->values, frames) > most;
    return ATTN_OK;
}

/* How many frames each recording has, and room for all of them. */
static attn_status lay_out(const at_speech_input *input, attn_context *context, const at_recordings *from,
                           at_speech_rows *rows) {
    rows->examples = from->count;
    rows->columns = input->columns;
    rows->offsets = at_allocate(context, from->count + 1, sizeof *rows->offsets, "the frames of recordings");
    if (!rows->offsets) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < from->count; i++) {
        rows->offsets[i + 1] = rows->offsets[i] + count_frames(input, &from->list[i]);
    }
    int64_t room = 0;
    return at_grow(context, &rows->numbers, &room, rows->offsets[from->count] * rows->columns + 1,
                   sizeof *rows->numbers, "the frames of recordings");
}

/* The error of the first recording that failed. */
static attn_status first_failure(attn_context *context, const attn_dataset *dataset, const worker *workers,
                                 int count) {
    const worker *first = NULL;
    for (int w = 0; w < count; w++)
        if (workers[w].status != ATTN_OK && (!first || workers[w].failed < first->failed))
            first = &workers[w];
    if (!first) return ATTN_OK;
    char reason[300];
    snprintf(reason, sizeof reason, "%s", attn_context_error(first->context));
    return at_fail(context, first->status, "%.150s: recording %" PRId64 " (%.100s): %s",
                   attn_dataset_name(dataset), first->failed + 1, attn_dataset_id(dataset, first->failed),
                   reason);
}

static attn_status run(const at_speech_input *input, attn_context *context, const attn_dataset *dataset,
                       at_speech_rows *rows) {
    const at_recordings *from = at_recordings_of(dataset);
    int count = context->threads < 1 ? 1 : context->threads;
    at_parts *parts = NULL;
    worker *workers = at_allocate(context, count, sizeof *workers, "the frames of recordings");
    attn_status status = workers ? at_parts_create(context, &parts) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        job now = {input, from, rows, workers};
        for (int w = 0; w < count; w++) workers[w].context = at_part(parts, w);
        at_parallel(context->pool, count, from->count, run_task, &now);
        status = first_failure(context, dataset, workers, count);
        for (int w = 0; w < count; w++) {
            at_frames_work_destroy(workers[w].context, workers[w].work);
            at_release(workers[w].context, workers[w].samples);
        }
    }
    at_parts_destroy(parts);
    at_release(context, workers);
    return status;
}

attn_status at_speech_compute(const at_speech_input *input, attn_context *context,
                              const attn_dataset *dataset, at_speech_rows *rows) {
    attn_status status = check_dataset(input, context, dataset);
    memset(rows, 0, sizeof *rows);
    if (status == ATTN_OK) status = lay_out(input, context, at_recordings_of(dataset), rows);
    if (status == ATTN_OK) status = run(input, context, dataset, rows);
    if (status != ATTN_OK) at_speech_free_rows(context, rows);
    return status;
}

/* The mean of the training data, which is 0 here, counts as half a second before the first frame; what was
 * heard fades over three. */
enum { FRAMES_BEFORE = 50, FRAMES_HEARD = 300 };

/* m += (x - m) / w;  x - m,  w being how many frames m stands for: heard[0] after those of `before`, then m.
 */
static void take_running_mean(float *heard, float *numbers, int64_t columns) {
    float weight = FRAMES_BEFORE + heard[0] + 1;
    if (weight < FRAMES_HEARD) heard[0]++;
    for (int64_t c = 0; c < columns; c++) {
        heard[1 + c] += (numbers[c] - heard[1 + c]) / weight;
        numbers[c] -= heard[1 + c];
    }
}

void at_speech_normalize_rows(const at_speech_input *input, float *heard, float *numbers, int64_t frames) {
    int how = input->values.normalize;
    if (how == AT_SPEECH_NO_NORM || how == AT_SPEECH_BY_UTTERANCE) return;
    for (int64_t t = 0; t < frames; t++, numbers += input->columns) {
        for (int64_t c = 0; c < input->columns; c++)
            numbers[c] = (numbers[c] - input->mean[c]) / input->deviation[c];
        if (how == AT_SPEECH_RUNNING) take_running_mean(heard, numbers, input->columns);
    }
}
