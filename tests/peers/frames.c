/* frames.c: frames of speech for test_frames.py and bench/speech.py.
 *
 *     frames NAME=VALUE... SAMPLES [pieces N]     raw float32 in, raw float32 rows out (standard output)
 *     frames NAME=VALUE... SAMPLES speed [N]      for every line of the input: the seconds of one computation
 *
 * A name is a member of at_frames_options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inputs/speech/frames.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what) {
    fprintf(stderr, "frames: %s\n", what);
    exit(1);
}

static int set_whole(at_frames_options *o, const char *name, int64_t value) {
    const struct {
        const char *name;
        int *place;
    } switches[] = {{"remove_mean", &o->remove_mean}, {"periodic", &o->periodic},
                    {"ramps_in_hz", &o->ramps_in_hz}, {"area", &o->area},
                    {"magnitude", &o->magnitude},     {"centered", &o->centered}};
    const struct {
        const char *name;
        int64_t *place;
    } counts[] = {{"bins", &o->bins},
                  {"cepstra", &o->cepstra},
                  {"deltas", &o->deltas},
                  {"delta_reach", &o->delta_reach}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (!strcmp(name, switches[i].name)) return *switches[i].place = (int)value, 1;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (!strcmp(name, counts[i].name)) return *counts[i].place = value, 1;
    if (!strcmp(name, "window")) return o->window = (at_window_function)value, 1;
    if (!strcmp(name, "features")) return o->features = (at_frame_features)value, 1;
    if (!strcmp(name, "scale")) return o->scale = (at_mel_scale)value, 1;
    return 0;
}

static int set_number(at_frames_options *o, const char *name, double value) {
    const struct {
        const char *name;
        double *place;
    } numbers[] = {{"rate", &o->rate},
                   {"window_ms", &o->window_ms},
                   {"shift_ms", &o->shift_ms},
                   {"preemphasis", &o->preemphasis},
                   {"low_hz", &o->low_hz},
                   {"high_hz", &o->high_hz},
                   {"floor", &o->floor},
                   {"lifter", &o->lifter},
                   {"scale_samples", &o->scale_samples}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(name, numbers[i].name)) return *numbers[i].place = value, 1;
    return 0;
}

static float *read_samples(const char *path, int64_t *count) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) stop("the samples cannot be read");
    *count = ftell(file) / (long)sizeof(float);
    rewind(file);
    float *samples = malloc((size_t)*count * sizeof *samples + 1);
    if (!samples || fread(samples, sizeof *samples, (size_t)*count, file) != (size_t)*count)
        stop("the samples cannot be read");
    fclose(file);
    return samples;
}

static void write_rows(const float *numbers, int64_t count) {
    if (fwrite(numbers, sizeof *numbers, (size_t)count, stdout) != (size_t)count) stop("cannot write");
}

static void in_pieces(attn_context *context, const at_frames *frames, const float *samples, int64_t count,
                      int64_t piece, int writes) {
    at_frames_stream *stream;
    if (at_frames_stream_create(context, frames, &stream)) stop(attn_context_error(context));
    for (int64_t i = 0; i < count || i == 0; i += piece) {
        const float *numbers;
        int64_t rows, left = count - i < piece ? count - i : piece;
        if (at_frames_stream_push(stream, samples + i, left, i + piece >= count, &numbers, &rows))
            stop(attn_context_error(context));
        if (rows && writes) write_rows(numbers, rows * at_frames_columns(frames));
    }
    at_frames_stream_destroy(stream);
}

int main(int argc, char **argv) {
    at_frames_options options;
    at_frames_defaults(&options);
    int at = 1;
    for (; at < argc && strchr(argv[at], '='); at++) {
        char *value = strchr(argv[at], '=');
        *value++ = 0;
        if (!set_whole(&options, argv[at], strtoll(value, NULL, 10)) &&
            !set_number(&options, argv[at], strtod(value, NULL)))
            stop(argv[at]);
    }
    if (at >= argc) stop("no samples");
    attn_context *context;
    attn_context_options settings;
    attn_context_options_init(&settings);
    settings.threads = 1;
    if (attn_context_create(&settings, &context)) stop(attn_last_create_error());
    at_frames *frames;
    if (at_frames_create(context, &options, &frames)) stop(attn_context_error(context));
    int64_t count, rows;
    float *samples = read_samples(argv[at], &count);
    rows = at_frames_count(frames, count);
    float *numbers = malloc((size_t)(rows * at_frames_columns(frames)) * sizeof *numbers + 1);
    at_frames_work *work = NULL;
    int speed = at + 1 < argc && !strcmp(argv[at + 1], "speed");
    int64_t piece = at + 2 < argc ? strtoll(argv[at + 2], NULL, 10) : 0;
    if (!numbers) stop("no memory");
    if (!speed && piece) {
        in_pieces(context, frames, samples, count, piece, 1);
    } else if (!speed) {
        if (at_frames_compute(frames, context, &work, samples, count, numbers))
            stop(attn_context_error(context));
        write_rows(numbers, rows * at_frames_columns(frames));
    }
    for (char line[16]; speed && fgets(line, sizeof line, stdin); fflush(stdout)) {
        double start = now();
        if (piece)
            in_pieces(context, frames, samples, count, piece, 0);
        else if (at_frames_compute(frames, context, &work, samples, count, numbers))
            stop(attn_context_error(context));
        printf("%.9f\n", now() - start);
    }
    at_frames_work_destroy(context, work);
    at_frames_destroy(frames);
    attn_context_destroy(context);
    free(samples);
    free(numbers);
    return 0;
}
