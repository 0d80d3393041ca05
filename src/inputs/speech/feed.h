/* feed.h: recordings that arrive in pieces: the state of one, and its predictions when they are final. */
#ifndef AT_INPUTS_SPEECH_FEED_H
#define AT_INPUTS_SPEECH_FEED_H

#include "inputs/speech/sound.h"
#include "inputs/speech/speech.h"

/* A run of rows with one label that continues. */
typedef struct at_speech_run {
    int64_t first, rows; /* rows 0: there is none */
    double sum;          /* of probabilities */
    at_writer label;
} at_speech_run;

typedef struct at_speech_feed {
    at_feed feed;
    attn_context *context;
    const at_speech_input *input;
    at_strings name; /* one string */
    int64_t rate;    /* of what is pushed */
    at_sound *sound; /* NULL: samples are pushed */
    float *piece;    /* of `sound` */
    at_resampler *resampler;
    at_frames_stream *stream;    /* NULL: features are pushed */
    int64_t heard, sample_count; /* as they are pushed; at the model's rate */
    float *before;               /* the mean of what was heard: see at_speech_normalize_rows */
    float *frames;               /* normalised */
    int64_t frame_room, frame_count, first_frame;
    at_speech_encoded encoded; /* the last view */
    int64_t row_offsets[2], frame_offsets[2];
    int json;
    at_speech_run *runs; /* [outputs]; NULL: nothing was written yet */
    int run_count;
    at_writer other; /* the label of a row */
} at_speech_feed;

extern const at_feed_kind at_speech_feed_kind;

/* feed_answers.c */
attn_status at_speech_feed_write(at_feed *feed, const void *settings, const at_cells *cells, int64_t from,
                                 int64_t count, int last, at_writer *writer);
void at_speech_feed_free_runs(at_speech_feed *feed);

#endif
