/* sound.h: files of sound as samples of one channel, read piece by piece; and samples at another rate.
 *
 * Whatever libsndfile reads: WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF, AU, ...: 8 to 32 bits and floats;
 * several channels become their mean. What a header says of the length is not trusted: memory grows with
 * what is read. Errors are INVALID_ARGUMENT or SYSTEM_ERROR with "FILE: reason", UNSUPPORTED in a build
 * without libsndfile.
 */
#ifndef AT_INPUTS_SPEECH_SOUND_H
#define AT_INPUTS_SPEECH_SOUND_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

typedef struct at_sound at_sound;

/* *sound is untouched on failure. The bytes stay the caller's. */
attn_status at_sound_open(attn_context *context, const char *path, at_sound **sound);
attn_status at_sound_open_bytes(attn_context *context, const char *name, const char *bytes, size_t count,
                                at_sound **sound);
void at_sound_close(at_sound *sound); /* NULL is allowed */

int64_t at_sound_rate(const at_sound *sound);     /* samples per second */
int64_t at_sound_channels(const at_sound *sound); /* of the file */
int64_t at_sound_bytes(const at_sound *sound);    /* that the file has */
/* The next samples, at most `room`; *count 0: there are no more. Samples are finite, full scale is 1. */
attn_status at_sound_next(at_sound *sound, float *samples, int64_t room, int64_t *count);

/* Whether bytes begin like a file of sound that is usual; by its name: whether a file is one. */
int at_is_sound(const char *bytes, size_t count);
int at_sound_named(const char *path);

/* How many samples there are at another rate; that many, made with libsamplerate. UNSUPPORTED in a build
 * without it. */
int64_t at_resampled_count(int64_t count, int64_t from, int64_t to);
attn_status at_resample(attn_context *context, const float *samples, int64_t count, int64_t from, int64_t to,
                        float *resampled);

/* The same for samples that come in pieces. push: *samples and *count become those at the other rate that can
 * be told now, good until the next call; with the last piece there are at_resampled_count of them in all. */
typedef struct at_resampler at_resampler;
attn_status at_resampler_create(attn_context *context, int64_t from, int64_t to, at_resampler **resampler);
attn_status at_resampler_push(at_resampler *resampler, const float **samples, int64_t *count, int last);
void at_resampler_destroy(at_resampler *resampler); /* NULL is allowed */

#endif
