/* stream.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_STREAM_H
#define ATTN_STREAM_H

#include <attn/predictor.h>

ATTN_BEGIN_DECLS

typedef struct attn_stream attn_stream;

typedef struct attn_stream_options {
    size_t size;
    const char *path;
    const char *name;
    int64_t rate;
    int64_t chunk;
    int json;
    int terminal;
} attn_stream_options;
ATTN_INIT(attn_stream_options)

typedef struct attn_stream_delay {
    size_t size;
    int64_t left, right;
    int64_t chunk;
    int64_t rate;
    double row_seconds;
    double seconds;
    double ahead_seconds;
} attn_stream_delay;
ATTN_INIT(attn_stream_delay)

typedef struct attn_stream_answers {
    size_t size;
    int64_t row, count;
    const attn_prediction *prediction;
    int64_t unit;
    const char *text;
    size_t length;
    int ended;
} attn_stream_answers;
ATTN_INIT(attn_stream_answers)

ATTN_API int attn_stream_takes(attn_predictor *predictor, const char *path);

ATTN_API attn_status attn_stream_create(attn_predictor *predictor, const attn_stream_options *options,
                                        attn_stream **stream);
ATTN_API void attn_stream_destroy(attn_stream *stream);
ATTN_API attn_status attn_stream_delay_of(const attn_stream *stream, attn_stream_delay *delay);

ATTN_API attn_status attn_stream_push(attn_stream *stream, const float *numbers, int64_t count);

ATTN_API attn_status attn_stream_end(attn_stream *stream);

ATTN_API attn_status attn_stream_next(attn_stream *stream, attn_stream_answers *answers);

ATTN_END_DECLS

#endif
