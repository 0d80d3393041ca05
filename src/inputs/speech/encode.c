/* encode.c: recordings as rows: frames, the names of rows, and the label of each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/speech/speech.h"

void at_speech_free_encoded(at_encoded *encoded) {
    at_speech_encoded *made = (at_speech_encoded *)(void *)encoded;
    attn_context *context = encoded->context;
    at_speech_free_rows(context, &made->rows);
    at_release(context, encoded->offsets);
    at_strings_free(context, &made->names);
    at_strings_free(context, &made->labels);
    at_release(context, made->lines);
    at_release(context, made->files);
    at_release(context, made);
}

/* Those that learning computed, or new ones; normalised. */
static attn_status take_frames(const at_speech_input *input, attn_context *context,
                               const attn_dataset *dataset, at_speech_rows *rows) {
    at_speech_kept *kept = input->kept;
    attn_status status = ATTN_OK;
    if (kept->dataset == dataset && context == input->input.context) {
        *rows = kept->rows;
        memset(kept, 0, sizeof *kept);
    } else {
        status = at_speech_compute(input, context, dataset, rows);
    }
    size_t heard_bytes = (size_t)(rows->columns + 1) * sizeof(float);
    float *heard =
        status == ATTN_OK ? at_allocate(context, rows->columns + 1, sizeof *heard, "a mean") : NULL;
    if (status == ATTN_OK && !heard) {
        at_speech_free_rows(context, rows);
        status = ATTN_OUT_OF_MEMORY;
    }
    for (int64_t e = 0; heard && e < rows->examples; e++) {
        int64_t first = rows->offsets[e];
        memset(heard, 0, heard_bytes);
        at_speech_normalize_rows(input, heard, rows->numbers + first * rows->columns,
                                 rows->offsets[e + 1] - first);
    }
    at_release(context, heard);
    return status;
}

static attn_status lay_out_rows(const at_speech_input *input, at_speech_encoded *made) {
    at_encoded *encoded = &made->encoded;
    const at_speech_rows *frames = &made->rows;
    attn_status status = at_grow(encoded->context, &encoded->offsets, &encoded->offset_room,
                                 frames->examples + 1, sizeof *encoded->offsets, "the rows of recordings");
    if (status != ATTN_OK) return status;
    encoded->examples = frames->examples;
    encoded->offsets[0] = 0;
    for (int64_t e = 0; e < frames->examples; e++)
        encoded->offsets[e + 1] =
            encoded->offsets[e] +
            at_speech_row_count(&input->values, frames->offsets[e + 1] - frames->offsets[e]);
    encoded->rows = encoded->offsets[encoded->examples];
    return ATTN_OK;
}

/* The times of the centres of rows, in seconds. */
static attn_status name_rows(at_speech_encoded *made) {
    const at_encoded *encoded = &made->encoded;
    int64_t longest = 0;
    attn_status status = ATTN_OK;
    for (int64_t e = 0; e < encoded->examples; e++) {
        int64_t rows = encoded->offsets[e + 1] - encoded->offsets[e];
        if (rows > longest) longest = rows;
    }
    for (int64_t i = 0; i < longest && status == ATTN_OK; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "%.4f", made->center + (double)i * made->step);
        status = at_strings_add(encoded->context, &made->names, name, (size_t)length);
    }
    return status;
}

const char *at_speech_row_name(const at_encoded *encoded, int64_t row) {
    int64_t low = 0, high = encoded->examples; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (encoded->offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return at_string(&at_speech_encoded_of(encoded)->names, row - encoded->offsets[low]);
}

/* ---- labels ---- */

/* Where the centre of a row is, in samples of the recording, or in rows of features; exact where the rate is
 * that of the model. */
static double place_of(const at_speech_input *input, const at_recording *one, int64_t row) {
    const at_speech_values *values = &input->values;
    double frame = (double)at_speech_first(values, row) + (double)(values->stack - 1) / 2;
    if (!input->frames) return frame;
    double place = frame * (double)at_frames_shift(input->frames);
    if (!values->centered) place += (double)at_frames_window(input->frames) / 2;
    return one->rate == values->rate ? place : place * (double)one->rate / (double)values->rate;
}

/* The rows of one recording: the segment at the centre of each. */
static attn_status label_rows(const at_speech_input *input, const attn_dataset *dataset, int64_t example,
                              at_speech_encoded *made) {
    const at_recordings *from = at_recordings_of(dataset);
    attn_context *context = made->encoded.context;
    int64_t segment = dataset->offsets[example], last = dataset->offsets[example + 1];
    int64_t columns = dataset->columns.count, first = made->encoded.offsets[example];
    attn_status status = ATTN_OK;
    for (int64_t row = first; row < made->encoded.offsets[example + 1]; row++) {
        double place = place_of(input, &from->list[example], row - first);
        while (segment < last && (double)from->spans[segment].end <= place) segment++;
        int in = segment < last && (double)from->spans[segment].start <= place;
        made->lines[row] = in ? dataset->lines[segment] : 0;
        if (made->files) made->files[row] = (int32_t)example;
        for (int64_t c = 0; c < columns && status == ATTN_OK; c++) {
            int64_t at = segment * columns + c;
            status = in ? at_strings_add(context, &made->labels, at_string(&dataset->targets, at),
                                         at_string_length(&dataset->targets, at))
                        : at_strings_add(context, &made->labels, "", 0);
        }
    }
    return status;
}

static attn_status label_all(const at_speech_input *input, const attn_dataset *dataset,
                             at_speech_encoded *made) {
    const at_recordings *from = at_recordings_of(dataset);
    attn_context *context = made->encoded.context;
    int64_t rows = made->encoded.rows;
    attn_status status = ATTN_OK;
    made->lines = at_allocate(context, rows, sizeof *made->lines, "the labels of rows");
    if (!made->lines) return ATTN_OUT_OF_MEMORY;
    if (from->label_files.count == dataset->examples && dataset->examples) {
        made->files = at_allocate(context, rows, sizeof *made->files, "the labels of rows");
        if (!made->files) return ATTN_OUT_OF_MEMORY;
    }
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++)
        status = label_rows(input, dataset, e, made);
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &made->labels,
                                       .lines = made->lines,
                                       .files = made->files,
                                       .names = &from->label_files,
                                       .places = rows,
                                       .per_row = 1};
    return status;
}

static attn_status label(const at_speech_input *input, const attn_dataset *dataset, at_speech_encoded *made) {
    if (dataset->per_row && dataset->columns.count) return label_all(input, dataset, made);
    made->encoded.labels = (at_labels){.name = attn_dataset_name(dataset),
                                       .columns = &dataset->columns,
                                       .values = &dataset->targets,
                                       .lines = dataset->lines,
                                       .first = dataset->offsets,
                                       .places = dataset->examples,
                                       .per_row = 0};
    return ATTN_OK;
}

attn_status at_speech_encode(const at_input *input, attn_context *context, void **memo,
                             const attn_dataset *dataset, const at_encode_options *options,
                             at_encoded **encoded) {
    const at_speech_input *speech = at_speech_input_of(input);
    (void)memo;
    (void)options;
    at_speech_encoded *made = at_allocate(context, 1, sizeof *made, "encoded examples");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->encoded.context = context;
    made->step = at_speech_step(speech);
    made->center = at_speech_center(speech);
    attn_status status = take_frames(speech, context, dataset, &made->rows);
    if (status == ATTN_OK) status = lay_out_rows(speech, made);
    if (status == ATTN_OK) status = name_rows(made);
    if (status == ATTN_OK) status = label(speech, dataset, made);
    if (status == ATTN_OK)
        *encoded = &made->encoded;
    else
        at_speech_free_encoded(&made->encoded);
    return status;
}
