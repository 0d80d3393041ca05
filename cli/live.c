/* live.c: recordings that are answered as they come.
 *
 *     bytes -> a WAV header, or none -> samples of one channel -> attn_stream -> lines, flushed as they come
 */
#define _POSIX_C_SOURCE 200809L

#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "commands.h"
#include "opening.h"
#include "progress.h"

enum { ROOM = 1 << 16, MOST_CHANNELS = 64 };

/* What samples look like. */
typedef struct pcm {
    int64_t rate; /* 0: not said */
    int channels, bits, floats;
    uint64_t left; /* bytes of samples that are still to come; UINT64_MAX: up to the end */
} pcm;

typedef struct live {
    attn_context *context;
    attn_stream *stream;
    int descriptor;
    const char *name;
    unsigned char bytes[ROOM];
    size_t count;
    bool ended;
    float samples[ROOM];
    pcm format;
} live;

/* ---- bytes ---- */

/* Waits for bytes or for an interrupt. One that comes between looking for it and a read that waits would be
 * seen only after the next bytes, which may never come. */
static void wait_for_bytes(const live *from) {
    struct pollfd either[2] = {{.fd = from->descriptor, .events = POLLIN},
                               {.fd = progress_interrupt_descriptor(), .events = POLLIN}};
    poll(either, 2, -1);
}

/* Reads what is there, waiting if there is nothing; an interrupt is the end. */
static bool read_more(live *from) {
    while (!from->ended && from->count < ROOM) {
        wait_for_bytes(from);
        ssize_t got = progress_interrupted()
                          ? 0
                          : read(from->descriptor, from->bytes + from->count, ROOM - from->count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            char reason[160];
            snprintf(reason, sizeof reason, ": %s", strerror(errno));
            fflush(stdout);
            arguments_complain("predict", "cannot read ", from->name, reason, NULL);
            return false;
        }
        from->ended = got == 0;
        from->count += (size_t)got;
        break;
    }
    return true;
}

static bool need(live *from, size_t count) {
    while (from->count < count && !from->ended)
        if (!read_more(from)) return false;
    return true;
}

static void drop(live *from, size_t count) {
    from->count -= count;
    memmove(from->bytes, from->bytes + count, from->count);
}

static uint32_t little(const unsigned char *bytes, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint32_t)bytes[i] << 8 * i;
    return value;
}

/* ---- the header ---- */

static int complain(const live *from, const char *reason) {
    arguments_complain("predict", "", from->name, reason, NULL);
    return EXIT_FAILED;
}

static int read_format(live *from, const unsigned char *bytes, uint32_t size) {
    uint32_t kind = little(bytes, 2);
    if (kind == 0xfffe && size >= 26) kind = little(bytes + 24, 2); /* what comes after says it */
    from->format.channels = (int)little(bytes + 2, 2);
    from->format.rate = little(bytes + 4, 4);
    from->format.bits = (int)little(bytes + 14, 2);
    from->format.floats = kind == 3;
    int bits = from->format.bits;
    bool good = kind == 3 ? bits == 32 : kind == 1 && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    if (!good)
        return complain(from, ": its samples are neither whole numbers nor 32-bit floats: convert them to 16 "
                              "bits (sox - -b 16)");
    if (from->format.channels < 1 || from->format.channels > MOST_CHANNELS)
        return complain(from, ": a WAV header with no channels, or far too many");
    if (from->format.rate < 1) return complain(from, ": a WAV header with 0 samples per second");
    return EXIT_DONE;
}

/* RIFF, size, WAVE; then chunks of name, size and so many bytes, up to that of the samples. */
static int read_header(live *from) {
    bool known = false;
    drop(from, 12);
    for (;;) {
        if (!need(from, 8)) return EXIT_FAILED;
        if (from->count < 8) return complain(from, ": a WAV header that ends before its samples");
        uint32_t size = little(from->bytes + 4, 4);
        if (memcmp(from->bytes, "data", 4) == 0) {
            drop(from, 8);
            if (!known) return complain(from, ": a WAV header that does not say what its samples are");
            /* a pipe does not know how long it will be */
            from->format.left = size == 0 || size >= 0x7ffff000u ? UINT64_MAX : size;
            return EXIT_DONE;
        }
        bool format = memcmp(from->bytes, "fmt ", 4) == 0;
        if (size > ROOM - 16 || (format && size < 16))
            return complain(from, ": a WAV header with an impossible chunk");
        if (!need(from, 8 + (size_t)size + (size & 1))) return EXIT_FAILED;
        if (from->count < 8 + (size_t)size) return complain(from, ": a truncated WAV header");
        int code = format ? read_format(from, from->bytes + 8, size) : EXIT_DONE;
        if (code != EXIT_DONE) return code;
        known = known || format;
        size_t whole = 8 + (size_t)size + (size & 1);
        drop(from, whole < from->count ? whole : from->count);
    }
}

static int find_format(live *from) {
    static const char *const others[] = {"fLaC", "OggS", "ID3", "RIFX", "FORM", "caff", "NIST", "\x93NUMPY"};
    from->format = (pcm){.rate = 0, .channels = 1, .bits = 16, .left = UINT64_MAX};
    if (!need(from, 12)) return EXIT_FAILED;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (from->count >= strlen(others[i]) && memcmp(from->bytes, others[i], strlen(others[i])) == 0)
            return complain(
                from, ": is not a WAV file: give it as a FILE, or pipe it through sox (sox - -t wav -)");
    if (from->count >= 4 && from->count < 12 && memcmp(from->bytes, "RIFF", 4) == 0)
        return complain(from, ": a truncated WAV header");
    if (from->count < 12 || memcmp(from->bytes, "RIFF", 4) != 0 || memcmp(from->bytes + 8, "WAVE", 4) != 0)
        return EXIT_DONE;
    return read_header(from);
}

/* ---- samples ---- */

static float sample_at(const pcm *format, const unsigned char *bytes) {
    uint32_t word = little(bytes, format->bits / 8);
    float number;
    if (format->floats) {
        memcpy(&number, &word, sizeof number);
        return number;
    }
    if (format->bits == 8) return ((float)word - 128.0f) / 128.0f;
    word <<= 32 - format->bits; /* the sign to the top */
    return (float)(int32_t)word / 2147483648.0f;
}

/* The samples of what was read, several channels as their mean; a part of one stays. */
static size_t take_samples(live *from) {
    const pcm *format = &from->format;
    size_t width = (size_t)(format->bits / 8), whole = width * (size_t)format->channels, count;
    uint64_t bytes = from->count < format->left ? from->count : format->left;
    count = (size_t)bytes / whole;
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int c = 0; c < format->channels; c++)
            sum += sample_at(format, from->bytes + i * whole + (size_t)c * width);
        from->samples[i] = sum / (float)format->channels;
    }
    drop(from, count * whole);
    if (format->left != UINT64_MAX) from->format.left -= count * whole;
    if (format->left < whole) from->ended = true;
    return count;
}

/* ---- answers ---- */

static void say_delay(const attn_stream *stream) {
    attn_stream_delay delay = {.size = sizeof delay};
    if (attn_stream_delay_of(stream, &delay) != ATTN_OK) return;
    fprintf(stderr,
            "attn predict: predictions are up to %.2f s late: the model looks %.2f s ahead (%" PRId64
            " rows), and %.2f s are predicted together (%" PRId64 " rows)\n",
            delay.seconds, delay.ahead_seconds, delay.right, delay.seconds - delay.ahead_seconds,
            delay.chunk);
}

/* Prints what can be told now; false, when it has said why not. */
static bool print_answers(attn_context *context, attn_stream *stream, bool flushes) {
    attn_stream_answers answers = {.size = sizeof answers};
    do {
        if (attn_stream_next(stream, &answers) != ATTN_OK) {
            fflush(stdout);
            opening_fail("predict", context);
            return false;
        }
        fwrite(answers.text, 1, answers.length, stdout);
        if (flushes && answers.length > 0) fflush(stdout);
        if (ferror(stdout)) return false; /* main says why */
    } while (answers.count > 0 && !answers.ended);
    return true;
}

/* The samples become rows in the model, which may also have learned from rows that were made elsewhere. */
static bool takes_samples(const attn_stream *stream) {
    attn_stream_delay delay = {.size = sizeof delay};
    if (attn_stream_delay_of(stream, &delay) == ATTN_OK && delay.rate > 0) return true;
    fputs("attn predict: --live reads samples, but the model reads rows of numbers: use attn/stream.h in a "
          "program\n",
          stderr);
    return false;
}

static int answer_pipe(live *from, attn_predictor *predictor, const live_options *given) {
    attn_stream_options options;
    int code = find_format(from);
    if (code != EXIT_DONE) return code;
    attn_stream_options_init(&options);
    options.rate = given->rate > 0 ? given->rate : from->format.rate;
    options.chunk = given->chunk;
    options.json = given->json;
    options.terminal = given->terminal;
    if (attn_stream_create(predictor, &options, &from->stream) != ATTN_OK)
        return opening_fail("predict", from->context);
    if (!takes_samples(from->stream)) return EXIT_FAILED;
    say_delay(from->stream);
    for (;;) {
        size_t count = take_samples(from);
        attn_status status = attn_stream_push(from->stream, from->samples, (int64_t)count);
        if (status == ATTN_OK && from->ended) status = attn_stream_end(from->stream);
        if (status != ATTN_OK) return opening_fail("predict", from->context);
        if (!print_answers(from->context, from->stream, true)) return EXIT_FAILED;
        if (from->ended) return EXIT_DONE;
        if (!read_more(from)) return EXIT_FAILED;
    }
}

int live_pipe(attn_context *context, attn_predictor *predictor, const live_options *options) {
    static live from; /* its buffers are large for a stack */
    bool input = options->path == NULL || strcmp(options->path, "-") == 0;
    from.context = context;
    from.name = input ? "standard input" : options->path;
    from.descriptor = input ? STDIN_FILENO : open(options->path, O_RDONLY);
    if (from.descriptor < 0) {
        char reason[160];
        snprintf(reason, sizeof reason, ": %s", strerror(errno));
        arguments_complain("predict", "cannot open ", from.name, reason, NULL);
        return EXIT_FAILED;
    }
    progress_interrupt_descriptor(); /* before a signal can come */
    progress_catch_interrupts();
    int code = answer_pipe(&from, predictor, options);
    attn_stream_destroy(from.stream);
    if (!input) close(from.descriptor);
    return code;
}

int live_file(attn_context *context, attn_predictor *predictor, const live_options *given) {
    attn_stream *stream;
    attn_stream_options options;
    attn_stream_options_init(&options);
    options.path = given->path;
    options.chunk = given->chunk;
    options.terminal = given->terminal;
    if (attn_stream_create(predictor, &options, &stream) != ATTN_OK) return opening_fail("predict", context);
    bool good = print_answers(context, stream, false);
    attn_stream_destroy(stream);
    return good ? EXIT_DONE : EXIT_FAILED;
}
