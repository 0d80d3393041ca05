/* stream.h: a recording that comes in pieces, answered as it comes.
 *
 *     attn_stream_create(predictor, NULL, &stream);
 *     while (there are samples) {
 *         attn_stream_push(stream, samples, count);
 *         while (attn_stream_next(stream, &answers) == ATTN_OK && answers.count > 0) use(&answers);
 *     }
 *     attn_stream_end(stream), and attn_stream_next until there are no more answers
 *
 * A row is answered as soon as all rows that its answer depends on are there, `chunk` rows at a time. The
 * answers are those of attn_predictor_predict for the whole recording, up to rounding (a recording of more
 * rows than the model's longest is cut there by attn_predictor_predict; a stream cuts nothing). Memory does
 * not grow with the recording.
 *
 * Plain vectors come in the same way: a row a line.
 *
 * Models can do it that answer for each row and look only so far: attention with a window (encoder.left and
 * encoder.right), cnn and fc, with positions that are distances, or none; and whose rows do not depend on the
 * whole recording (normalisation by the corpus, or by what was heard so far). Others are refused with the
 * reason, ATTN_UNSUPPORTED.
 */
#ifndef ATTN_STREAM_H
#define ATTN_STREAM_H

#include <attn/predictor.h>

ATTN_BEGIN_DECLS

typedef struct attn_stream attn_stream;

typedef struct attn_stream_options {
    size_t size;      /* sizeof(attn_stream_options), set by the init function */
    const char *path; /* NULL, or a file that is read piece by piece: nothing is pushed then */
    const char *name; /* of the recording, in the text of answers; NULL: the path, or "-" */
    int64_t rate;     /* of the samples that are pushed, a second; 0 after init: the model's */
    int64_t chunk;    /* rows that are answered together; 0 after init: chosen. Fewer: sooner, at more work */
    int json;         /* the text of an answer is an object of JSON, one a line */
    int terminal;     /* what a terminal might obey is escaped in it */
} attn_stream_options;
ATTN_API void attn_stream_options_init(attn_stream_options *options);

/* How long an answer takes. */
typedef struct attn_stream_delay {
    int64_t left, right;  /* rows before and after a row that its answer depends on */
    int64_t chunk;        /* rows that are answered together */
    int64_t rate;         /* numbers that are pushed a second; 0: they are rows */
    double row_seconds;   /* from a row to the next; 0, as those below: rows have no times */
    double seconds;       /* from when a row is heard (its centre) to its answer, at most */
    double ahead_seconds; /* the part of that which the model looks ahead: no chunk makes it shorter */
} attn_stream_delay;

/* The rows that are answered now. */
typedef struct attn_stream_answers {
    int64_t row, count; /* rows row .. row + count - 1 of the recording; count 0: none yet, or no more */
    const attn_prediction *prediction; /* of example 0, units unit .. unit + count - 1; NULL if count is 0 */
    int64_t unit;
    const char *text; /* what they decide, as attn_predictor_write has it: lines, `length` bytes and a 0 */
    size_t length;
    int ended; /* all of the recording is answered */
} attn_stream_answers;

/* Whether a file of this name is one recording that the predictor's model can take piece by piece. */
ATTN_API int attn_stream_takes(attn_predictor *predictor, const char *path);

/* options NULL: the defaults. The settings of the predictor are used as they are; it outlives the stream, and
 * may do other things in between. *stream is untouched on failure. Errors: UNSUPPORTED (the model cannot: the
 * text says what to train with), INVALID_ARGUMENT (options), those of reading a file, OUT_OF_MEMORY. */
ATTN_API attn_status attn_stream_create(attn_predictor *predictor, const attn_stream_options *options,
                                        attn_stream **stream);
ATTN_API void attn_stream_destroy(attn_stream *stream); /* NULL is allowed */
ATTN_API attn_status attn_stream_delay_of(const attn_stream *stream, attn_stream_delay *delay);

/* `count` more numbers: samples of one channel, full scale being 1, or rows of features one after another.
 * Errors: INVALID_ARGUMENT (after the end; no whole rows), NOT_FINITE, OUT_OF_MEMORY. */
ATTN_API attn_status attn_stream_push(attn_stream *stream, const float *numbers, int64_t count);
/* No more will come. */
ATTN_API attn_status attn_stream_end(attn_stream *stream);
/* The next answers, good until the next call of the stream. Of a file it reads as much as is needed. Errors:
 * those of attn_predictor_predict and of push; of a file also those of reading. */
ATTN_API attn_status attn_stream_next(attn_stream *stream, attn_stream_answers *answers);

ATTN_END_DECLS

#endif
