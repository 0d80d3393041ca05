/* sounds.h: recordings made on the spot: tones, files of WAV byte by byte, lists that name them. */
#ifndef TEST_SUPPORT_SOUNDS_H
#define TEST_SUPPORT_SOUNDS_H

#include <stddef.h>
#include <stdint.h>

/* samples[i] = loudness * sin(2 pi hz i / rate), with a little noise made from the seed. */
void sound_tone(float *samples, int64_t count, double rate, double hz, double loudness, uint64_t seed);

/* A WAV file, byte by byte. */
typedef struct sound_format {
    int bits;     /* 8, 16, 24, 32; of floats 32 or 64 */
    int floats;   /* IEEE floats, not integers */
    int channels; /* every one has the same samples, but that the second and later ones are half as loud */
    uint32_t rate;
    uint32_t promised; /* bytes of samples that the header promises; 0: those that there are */
} sound_format;

/* The caller frees it. */
char *sound_wav(const sound_format *format, const float *samples, int64_t count, size_t *length);

/* Writes FOLDER/NAME; its path, in memory that the next call but one reuses. */
const char *sound_write(const char *folder, const char *name, const char *bytes, size_t count);
const char *sound_write_text(const char *folder, const char *name, const char *text);
/* A mono file of 16 bits. */
const char *sound_write_wav(const char *folder, const char *name, const float *samples, int64_t count,
                            uint32_t rate);

/* Removes a folder with all that is in it. */
void sound_remove_all(const char *folder);

#endif
