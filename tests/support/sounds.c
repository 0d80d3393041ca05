/* sounds.c: recordings made on the spot. */
#define _XOPEN_SOURCE 700 /* nftw */

#include "support/sounds.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

void sound_tone(float *samples, int64_t count, double rate, double hz, double loudness, uint64_t seed) {
    uint64_t noise = seed * 2 + 1;
    for (int64_t i = 0; i < count; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        double hiss = ((double)(noise >> 40) / 16777216.0 - 0.5) * 0.01;
        samples[i] = (float)(loudness * sin(6.283185307179586 * hz * (double)i / rate) + hiss);
    }
}

/* ---- WAV ---- */

static void put_number(char **at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *(*at)++ = (char)(value >> 8 * i);
}

static void put_text(char **at, const char *text) {
    memcpy(*at, text, 4);
    *at += 4;
}

static void put_sample(char **at, const sound_format *format, double value) {
    if (format->floats && format->bits == 64) {
        uint64_t bits;
        memcpy(&bits, &value, 8);
        put_number(at, bits, 8);
    } else if (format->floats) {
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, 4);
        put_number(at, bits, 4);
    } else if (format->bits == 8) {
        put_number(at, (uint64_t)(int64_t)lrint(value * 127 + 128), 1);
    } else {
        double scale = ldexp(1, format->bits - 1) - 1;
        put_number(at, (uint64_t)(int64_t)llrint(value * scale), format->bits / 8);
    }
}

char *sound_wav(const sound_format *format, const float *samples, int64_t count, size_t *length) {
    size_t frame = (size_t)(format->bits / 8 * format->channels), data = frame * (size_t)count;
    uint32_t promised = format->promised ? format->promised : (uint32_t)data;
    char *file = malloc(44 + data), *at = file;
    assert_non_null(file);
    put_text(&at, "RIFF");
    put_number(&at, 36 + promised, 4);
    put_text(&at, "WAVE");
    put_text(&at, "fmt ");
    put_number(&at, 16, 4);
    put_number(&at, format->floats ? 3 : 1, 2);
    put_number(&at, (uint64_t)format->channels, 2);
    put_number(&at, format->rate, 4);
    put_number(&at, format->rate * frame, 4);
    put_number(&at, frame, 2);
    put_number(&at, (uint64_t)format->bits, 2);
    put_text(&at, "data");
    put_number(&at, promised, 4);
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < format->channels; c++)
            put_sample(&at, format, (double)samples[i] / (c > 0 ? 2 : 1));
    *length = (size_t)(at - file);
    return file;
}

/* ---- files ---- */

const char *sound_write(const char *folder, const char *name, const char *bytes, size_t count) {
    static char paths[2][300];
    static int next;
    char *path = paths[next ^= 1];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *sound_write_text(const char *folder, const char *name, const char *text) {
    return sound_write(folder, name, text, strlen(text));
}

const char *sound_write_wav(const char *folder, const char *name, const float *samples, int64_t count,
                            uint32_t rate) {
    sound_format format = {.bits = 16, .channels = 1, .rate = rate};
    size_t length;
    char *bytes = sound_wav(&format, samples, count, &length);
    const char *path = sound_write(folder, name, bytes, length);
    free(bytes);
    return path;
}

static int remove_one(const char *path, const struct stat *state, int type, struct FTW *place) {
    (void)state;
    (void)type;
    (void)place;
    return remove(path);
}

void sound_remove_all(const char *folder) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }
