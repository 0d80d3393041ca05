/* live.h: recordings that are answered as they come: a pipe of samples, or a file of any length. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

typedef struct live_options {
    const char *path;    /* NULL or "-": standard input */
    int64_t rate, chunk; /* 0: not given */
    bool json, terminal;
} live_options;

/* Samples through a pipe: those of a WAV file, or 16 bits of one channel, little-endian, as they are. Ends
 * with the input or with an interrupt, after the last answer. */
int live_pipe(attn_context *context, attn_predictor *predictor, const live_options *options);
/* A file that the library reads piece by piece (attn_stream_takes). */
int live_file(attn_context *context, attn_predictor *predictor, const live_options *options);

#endif
