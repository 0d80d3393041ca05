/* stream.h: predictions for a recording while it arrives.
 *
 *     attn_stream_create(predictor, NULL, &stream);
 *     while ((count = more_samples(samples)) > 0) {
 *         attn_stream_push(stream, samples, count);
 *         while (attn_stream_next(stream, &answers) == ATTN_OK && answers.count > 0) puts(answers.text);
 *     }
 *     attn_stream_end(stream);                  then attn_stream_next until there are no more answers
 *
 * A row is predicted as soon as all rows that its prediction depends on have arrived, `chunk` rows at a time.
 * The predictions are those of attn_predictor_predict for the whole recording, up to rounding.
 * (attn_predictor_predict divides a recording at the model's longest sequence; a stream does not.) Memory
 * does not grow with the recording.
 *
 * Plain vectors can be streamed too: whole rows of numbers are pushed, and the text of the predictions has
 * one line per row. options.path and options.rate are for recordings only.
 *
 * A model can be used if it predicts for each row, has a bounded reach (attention with a window (encoder.left
 * and encoder.right), cnn, fc), has relative positions or none, and does not normalise by the whole recording
 * (but by the corpus, or by what arrived so far). Other models are refused with ATTN_UNSUPPORTED and the
 * reason.
 *
 * A stream and its predictor are used by one thread at a time.
 */
#ifndef ATTN_STREAM_H
#define ATTN_STREAM_H

#include <attn/predictor.h>

ATTN_BEGIN_DECLS

typedef struct attn_stream attn_stream;

typedef struct attn_stream_options {
    size_t size;      /* sizeof(attn_stream_options), set by the init function */
    const char *path; /* NULL, or a file to read piece by piece; then nothing is pushed */
    const char *name; /* the name of the recording in the text of predictions; NULL: the path, or "-" */
    int64_t rate;     /* samples per second that are pushed; 0 after init: the model's rate */
    int64_t chunk;    /* rows that are predicted together; 0 after init: chosen automatically. Fewer rows mean
                         less delay and more work */
    int json;         /* not 0: the text of predictions is one JSON object per line */
    int terminal;     /* not 0: control characters are escaped for a terminal */
} attn_stream_options;
ATTN_INIT(attn_stream_options)

/* The delay of predictions. */
typedef struct attn_stream_delay {
    size_t size;          /* sizeof(attn_stream_delay), set by the init function */
    int64_t left, right;  /* rows before and after a row that its prediction depends on */
    int64_t chunk;        /* rows that are predicted together */
    int64_t rate;         /* numbers that are pushed per second; 0: rows are pushed */
    double row_seconds;   /* from one row to the next. 0, like the members below, if rows have no times */
    double seconds;       /* the longest delay from the centre of a row to its prediction */
    double ahead_seconds; /* the part of it that the model's look-ahead causes, whatever the chunk */
} attn_stream_delay;
ATTN_INIT(attn_stream_delay)

/* The rows predicted by one call. */
typedef struct attn_stream_answers {
    size_t size;        /* sizeof(attn_stream_answers), set by the init function */
    int64_t row, count; /* rows row .. row + count - 1 of the recording; count 0: none yet, or the end */
    const attn_prediction *prediction; /* example 0, units unit .. unit + count - 1; NULL if count is 0 */
    int64_t unit;
    const char *text; /* the predictions as attn_predictor_write writes them: `length` bytes and a 0 */
    size_t length;
    int ended; /* 1: the whole recording has been predicted */
} attn_stream_answers;
ATTN_INIT(attn_stream_answers)

/* 1 if a file of this name is a recording that the predictor's model can process piece by piece, else 0. */
ATTN_API int attn_stream_takes(attn_predictor *predictor, const char *path);

/* options NULL: the defaults. The predictor's settings apply. The predictor must outlive the stream, and may
 * be used for other calls in between. *stream is untouched on failure. Errors: UNSUPPORTED (the model cannot
 * stream: the message says how to train one that can), INVALID_ARGUMENT (NULL, an option out of range), those
 * of reading a file, OUT_OF_MEMORY. */
ATTN_API attn_status attn_stream_create(attn_predictor *predictor, const attn_stream_options *options,
                                        attn_stream **stream);
ATTN_API void attn_stream_destroy(attn_stream *stream); /* NULL is allowed */
/* Errors: INVALID_ARGUMENT (NULL, delay without init). */
ATTN_API attn_status attn_stream_delay_of(const attn_stream *stream, attn_stream_delay *delay);

/* Pushes `count` numbers: samples of one channel with full scale 1, or rows of features. Errors:
 * INVALID_ARGUMENT (NULL, count below 0, after the end, a stream that reads a file, incomplete rows),
 * NOT_FINITE, OUT_OF_MEMORY.
 */
ATTN_API attn_status attn_stream_push(attn_stream *stream, const float *numbers, int64_t count);
/* Marks the end of the input; nothing can be pushed afterwards. Errors: INVALID_ARGUMENT (NULL, a second end,
 * a stream that reads a file), OUT_OF_MEMORY. */
ATTN_API attn_status attn_stream_end(attn_stream *stream);
/* The next predictions, valid until the next call of the stream. If the stream has a file, the call reads as
 * much of it as it needs. Errors: INVALID_ARGUMENT (NULL, answers without init), and those of
 * attn_predictor_predict, of attn_stream_push, and of reading the file. */
ATTN_API attn_status attn_stream_next(attn_stream *stream, attn_stream_answers *answers);

ATTN_END_DECLS

#endif
