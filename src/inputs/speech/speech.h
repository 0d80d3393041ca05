/* speech.h: speech as rows: frames of a recording, computed once, normalised, some of them side by side.
 *
 *     samples -> (rate) -> frames (frames.h), or features as they are
 *             -> normalised: by the recording, by the training data (stored in the model), or not
 *             -> in training: times and frequencies hidden (SpecAugment)
 *             -> a row every `stride` frames: `stack` frames side by side -> linear map -> norm
 *
 * Row r is frames first .. first + stack - 1 with first = r * stride - (stack - stride) / 2; those before the
 * first and after the last frame are like it. The label of a row is that of the segment at its centre.
 */
#ifndef AT_INPUTS_SPEECH_SPEECH_H
#define AT_INPUTS_SPEECH_SPEECH_H

#include "inputs/input.h"
#include "inputs/speech/frames.h"
#include "inputs/speech/recordings.h"

typedef enum at_speech_features {
    AT_SPEECH_LOG_MEL,
    AT_SPEECH_MFCC,
    AT_SPEECH_GIVEN /* the data has them */
} at_speech_features;

typedef enum at_speech_normalize {
    AT_SPEECH_NO_NORM,
    AT_SPEECH_BY_UTTERANCE, /* mean and deviation of the recording */
    AT_SPEECH_BY_CORPUS,    /* those of the training data */
    AT_SPEECH_BY_BOTH,      /* the mean of the recording; then those of the training data */
    AT_SPEECH_RUNNING       /* those of the training data; then the mean of what was heard so far */
} at_speech_normalize;

/* Its part of a configuration (fields.c). */
typedef struct at_speech_values {
    int64_t longest, stem;
    int64_t rate; /* 0: to be found from the data */
    int features, normalize;
    double window_ms, shift_ms, preemphasis;
    int remove_mean, window, periodic;
    int64_t bins;
    double low_hz, high_hz;
    int scale, ramps_in_hz, area, magnitude;
    double floor;
    int64_t cepstra;
    double lifter;
    int64_t deltas, delta_reach;
    int centered;
    double scale_samples;
    int64_t stack, stride;
    int64_t time_masks, time_mask_frames;
    double time_mask_share;
    int64_t frequency_masks, frequency_mask_bins, frequency_shift;
    double dropout;
} at_speech_values;

/* Of a prediction. */
typedef struct at_speech_settings {
    int frames; /* a line per row, not a segment */
} at_speech_settings;

enum {
    AT_SPEECH_FIELDS = 34,
    AT_SPEECH_FLAGS = 6,
    AT_SPEECH_DEFAULTS = 46,
    AT_SPEECH_SETTINGS = 1
}; /* checked against the tables */
extern const at_field at_speech_fields[AT_SPEECH_FIELDS];
extern const at_flag at_speech_flags[AT_SPEECH_FLAGS];
extern const at_default at_speech_defaults[AT_SPEECH_DEFAULTS];
extern const at_field at_speech_setting_list[AT_SPEECH_SETTINGS];
attn_status at_speech_check(attn_context *context, const void *values, const at_input_use *use);
/* What the configuration says of frames. */
void at_speech_frames_options(const at_speech_values *values, at_frames_options *options);

/* Frames of all recordings of a dataset. */
typedef struct at_speech_rows {
    float *numbers;   /* [frames][columns] */
    int64_t *offsets; /* [examples + 1], in frames */
    int64_t examples, columns;
} at_speech_rows;

/* Frames that were computed to learn from, until they are encoded. */
typedef struct at_speech_kept {
    const attn_dataset *dataset; /* NULL: there are none */
    at_speech_rows rows;
} at_speech_kept;

typedef struct at_speech_input {
    at_input input;
    at_speech_values values;
    at_frames *frames;       /* NULL: features are given */
    int64_t columns;         /* of a frame; 0: not known yet */
    float *mean, *deviation; /* [columns] */
    at_speech_kept *kept;
} at_speech_input;

static inline const at_speech_input *at_speech_input_of(const at_input *input) {
    return (const at_speech_input *)(const void *)input;
}

typedef struct at_speech_encoded {
    at_encoded encoded;
    at_speech_rows rows; /* normalised */
    at_strings names;    /* the times of rows, up to the longest recording */
    at_strings labels;   /* where rows have targets */
    int64_t *lines;
    int32_t *files;
    double step, center; /* seconds between rows, and to the centre of the first */
} at_speech_encoded;

static inline const at_speech_encoded *at_speech_encoded_of(const at_encoded *encoded) {
    return (const at_speech_encoded *)(const void *)encoded;
}

typedef struct at_speech_batch {
    at_batch batch;
    float *numbers; /* [rows][stack * columns] */
    int64_t room;
    float *frames; /* of a sequence, with what is hidden of them */
    int64_t frame_room;
} at_speech_batch;

/* The first of the frames of row r of a recording; how many rows so many frames make. */
static inline int64_t at_speech_first(const at_speech_values *values, int64_t row) {
    return row * values->stride - (values->stack - values->stride) / 2;
}
static inline int64_t at_speech_row_count(const at_speech_values *values, int64_t frames) {
    return (frames + values->stride - 1) / values->stride;
}
/* Seconds between rows; from the beginning of a recording to the centre of its first row. */
double at_speech_step(const at_speech_input *input);
double at_speech_center(const at_speech_input *input);

/* compute.c: frames, not normalised by the corpus; the caller frees them with the same context. */
attn_status at_speech_compute(const at_speech_input *input, attn_context *context,
                              const attn_dataset *dataset, at_speech_rows *rows);
/* Whether a recording makes more than `most` rows. */
attn_status at_speech_is_longer(const at_input *input, const attn_dataset *dataset, int64_t example,
                                int64_t most, int *longer);
void at_speech_free_rows(attn_context *context, at_speech_rows *rows);
/* By the corpus and, with AT_SPEECH_RUNNING, by what was heard so far, in place. heard: [columns] and one
 * more; all 0 where a recording begins. */
void at_speech_normalize_rows(const at_speech_input *input, float *heard, float *numbers, int64_t frames);

/* encode.c */
attn_status at_speech_encode(const at_input *input, attn_context *context, void **memo,
                             const attn_dataset *dataset, const at_encode_options *options,
                             at_encoded **encoded);
void at_speech_free_encoded(at_encoded *encoded);
const char *at_speech_row_name(const at_encoded *encoded, int64_t row);

/* scene.c */
attn_status at_speech_scene(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                            int64_t count, at_scene *scene);

/* batch.c */
attn_status at_speech_create_batch(attn_context *context, at_batch **batch);
attn_status at_speech_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                           const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
void at_speech_free_batch(at_batch *batch);

/* describe.c: what is in a dataset; answers.c: predictions as lines and as JSON. */
attn_status at_speech_describe(const attn_dataset *dataset, const attn_describe_options *options,
                               at_writer *writer);
void at_speech_note(const attn_dataset *dataset, at_writer *writer);
attn_status at_speech_fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                              size_t length, const at_cells *cells, at_writer *writer, int *filled);

#endif
