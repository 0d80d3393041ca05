/* sound.c: files of sound through libsndfile. */
#define _POSIX_C_SOURCE 200809L /* fstat, fseeko */

#include "inputs/speech/sound.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "inputs/speech/recordings.h"

/* ---- which files ---- */

int at_is_sound(const char *bytes, size_t count) {
    static const struct {
        size_t place;
        const char *text;
    } marks[] = {{0, "RIFF"}, {0, "RIFX"}, {0, "RF64"}, {0, "fLaC"}, {0, "OggS"},
                 {0, "FORM"}, {0, ".snd"}, {0, "ID3"},  {0, "caff"}, {0, "NIST_1A"}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t length = strlen(marks[i].text);
        if (count >= marks[i].place + length && memcmp(bytes + marks[i].place, marks[i].text, length) == 0)
            return 1;
    }
    /* A frame of MPEG without a tag before it. */
    return count >= 2 && (unsigned char)bytes[0] == 0xff && ((unsigned char)bytes[1] & 0xe6) == 0xe2;
}

int at_sound_named(const char *path) {
    static const char *const endings[] = {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3",  ".aiff",
                                          ".aif", ".au",   ".snd", ".caf", ".w64",  ".rf64", ".sph"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && at_same_name(path + length - ending, ending, endings[i], ending)) return 1;
    }
    return 0;
}

#ifdef AT_HAVE_SNDFILE

#include <sndfile.h>

enum { PIECE = 1 << 16 }; /* numbers of all channels that are read at once */

/* The end of a path that is long, in errors: it tells files apart. */
#define SHOWN(name, before) const char *before, *shown = at_name_end(name, &before)

struct at_sound {
    attn_context *context;
    char *name;
    FILE *stream; /* NULL: bytes */
    const char *bytes;
    int64_t size, place; /* of the file or of the bytes; in the bytes */
    SNDFILE *file;
    SF_INFO info;
    float *piece; /* of several channels */
    int64_t taken;
};

/* ---- what libsndfile reads from ---- */

static sf_count_t file_length(void *user) { return ((const at_sound *)user)->size; }

static sf_count_t file_seek(sf_count_t offset, int from, void *user) {
    at_sound *sound = user;
    if (sound->stream) {
        if (fseeko(sound->stream, (off_t)offset, from) != 0) return -1;
        return (sf_count_t)ftello(sound->stream);
    }
    int64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? sound->place : sound->size;
    if (offset < -base || offset > sound->size - base) return -1;
    return sound->place = base + offset;
}

static sf_count_t file_read(void *into, sf_count_t count, void *user) {
    at_sound *sound = user;
    if (count <= 0) return 0;
    if (sound->stream) return (sf_count_t)fread(into, 1, (size_t)count, sound->stream);
    if (count > sound->size - sound->place) count = sound->size - sound->place;
    memcpy(into, sound->bytes + sound->place, (size_t)count);
    sound->place += count;
    return count;
}

static sf_count_t file_write(const void *from, sf_count_t count, void *user) {
    (void)from;
    (void)count;
    (void)user;
    return 0;
}

static sf_count_t file_tell(void *user) {
    at_sound *sound = user;
    return sound->stream ? (sf_count_t)ftello(sound->stream) : sound->place;
}

static SF_VIRTUAL_IO callbacks = {file_length, file_seek, file_read, file_write, file_tell};

/* ---- opening ---- */

void at_sound_close(at_sound *sound) {
    if (!sound) return;
    attn_context *context = sound->context;
    if (sound->file) sf_close(sound->file);
    if (sound->stream) fclose(sound->stream);
    at_release(context, sound->piece);
    at_release(context, sound->name);
    at_release(context, sound);
}

static attn_status create(attn_context *context, const char *name, at_sound **sound) {
    at_sound *made = at_allocate(context, 1, sizeof *made, "a recording");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->name = at_allocate(context, (int64_t)strlen(name) + 1, 1, "a recording");
    if (!made->name) {
        at_sound_close(made);
        return ATTN_OUT_OF_MEMORY;
    }
    strcpy(made->name, name);
    *sound = made;
    return ATTN_OK;
}

/* What libsndfile says of a file, without the full stop and the line ends. */
static void take_reason(const at_sound *sound, char *reason, size_t room) {
    snprintf(reason, room, "%s", sf_strerror(sound->file));
    size_t length = strlen(reason);
    for (char *p = reason; *p; p++)
        if ((unsigned char)*p < 0x20) *p = ' ';
    while (length > 0 && (reason[length - 1] == '.' || reason[length - 1] == ' ')) reason[--length] = 0;
}

static attn_status check_rate(const at_sound *sound, int64_t rate) {
    if (rate >= AT_SPEECH_SLOWEST && rate <= AT_SPEECH_FASTEST) return ATTN_OK;
    SHOWN(sound->name, before);
    return at_fail(sound->context, ATTN_INVALID_ARGUMENT,
                   "%s%s: has a rate of %" PRId64 " samples per second: it can be %d to %d", before, shown,
                   rate, AT_SPEECH_SLOWEST, AT_SPEECH_FASTEST);
}

static int64_t number_of(const unsigned char *bytes, int high_first) {
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) number = number << 8 | bytes[high_first ? i : 3 - i];
    return number;
}

/* The samples are as many bytes as is promised. 0 and about 2 GB or more are in headers that were written
 * before the end was known. */
static attn_status check_length(const at_sound *sound, int64_t promised, int64_t there) {
    enum { OPEN_END = 0x7fff0000 };
    if (promised <= there || promised >= OPEN_END) return ATTN_OK;
    SHOWN(sound->name, before);
    return at_fail(sound->context, ATTN_INVALID_ARGUMENT,
                   "%s%s: has a header with %" PRId64 " bytes of samples, and %" PRId64
                   " follow it: it is cut off",
                   before, shown, promised, there);
}

/* libsndfile takes a file that is cut for a short one, and has no words for a rate of 0. So the parts of WAV
 * and AIFF are looked at up to the samples; what is wrong otherwise is for libsndfile to say. */
static attn_status check_parts(at_sound *sound) {
    unsigned char head[16];
    int64_t place = 12;
    attn_status status = ATTN_OK;
    if (file_seek(0, SEEK_SET, sound) != 0 || file_read(head, 12, sound) != 12) return ATTN_OK;
    int wave = memcmp(head + 8, "WAVE", 4) == 0, high_first = memcmp(head, "RIFF", 4) != 0;
    if (!(wave && (!high_first || memcmp(head, "RIFX", 4) == 0)) &&
        !(memcmp(head, "FORM", 4) == 0 && memcmp(head + 8, "AIF", 3) == 0))
        return ATTN_OK;
    while (status == ATTN_OK && sound->size - place >= 8) {
        if (file_seek(place, SEEK_SET, sound) != place || file_read(head, 8, sound) != 8) break;
        int64_t count = number_of(head + 4, high_first);
        place += 8;
        if (memcmp(head, wave ? "data" : "SSND", 4) == 0)
            return check_length(sound, count, sound->size - place);
        if (wave && memcmp(head, "fmt ", 4) == 0 && file_read(head, 8, sound) == 8)
            status = check_rate(sound, number_of(head + 4, high_first));
        place += count + count % 2;
    }
    return status;
}

/* The stream or the bytes are there. */
static attn_status begin(at_sound *sound) {
    attn_context *context = sound->context;
    SHOWN(sound->name, before);
    if (sound->size == 0) return at_fail(context, ATTN_INVALID_ARGUMENT, "%s%s: is empty", before, shown);
    attn_status status = check_parts(sound);
    if (status != ATTN_OK) return status;
    file_seek(0, SEEK_SET, sound);
    sound->file = sf_open_virtual(&callbacks, SFM_READ, &sound->info, sound);
    if (!sound->file) {
        char reason[160];
        take_reason(sound, reason, sizeof reason);
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s%s: cannot be read as a recording (libsndfile: %s)",
                       before, shown, reason);
    }
    status = check_rate(sound, sound->info.samplerate);
    if (status != ATTN_OK) return status;
    if (sound->info.channels < 1 || sound->info.channels > PIECE)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s%s: has %d channels", before, shown,
                       sound->info.channels);
    if (sound->info.channels == 1) return ATTN_OK;
    sound->piece = at_allocate(context, PIECE, sizeof *sound->piece, "a piece of a recording");
    return sound->piece ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

static attn_status open_stream(at_sound *sound) {
    struct stat state;
    SHOWN(sound->name, before);
    if (stat(sound->name, &state) != 0) return at_fail_system(sound->context, sound->name, "opened", errno);
    if (!S_ISREG(state.st_mode)) /* a pipe would be waited for */
        return at_fail(sound->context, ATTN_INVALID_ARGUMENT, "%s%s: is %s, not a sound file", before, shown,
                       S_ISDIR(state.st_mode) ? "a folder" : "a pipe or a device");
    sound->stream = fopen(sound->name, "rb");
    if (!sound->stream) return at_fail_system(sound->context, sound->name, "opened", errno);
    sound->size = (int64_t)state.st_size;
    return ATTN_OK;
}

attn_status at_sound_open(attn_context *context, const char *path, at_sound **sound) {
    at_sound *made;
    attn_status status = create(context, path, &made);
    if (status != ATTN_OK) return status;
    status = open_stream(made);
    if (status == ATTN_OK) status = begin(made);
    if (status == ATTN_OK)
        *sound = made;
    else
        at_sound_close(made);
    return status;
}

attn_status at_sound_open_bytes(attn_context *context, const char *name, const char *bytes, size_t count,
                                at_sound **sound) {
    at_sound *made;
    attn_status status = create(context, name, &made);
    if (status != ATTN_OK) return status;
    made->bytes = bytes;
    made->size = (int64_t)count;
    status = begin(made);
    if (status == ATTN_OK)
        *sound = made;
    else
        at_sound_close(made);
    return status;
}

int64_t at_sound_rate(const at_sound *sound) { return sound->info.samplerate; }
int64_t at_sound_channels(const at_sound *sound) { return sound->info.channels; }
int64_t at_sound_bytes(const at_sound *sound) { return sound->size; }

/* ---- samples ---- */

static attn_status check_samples(const at_sound *sound, const float *samples, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (fabsf(samples[i]) <= 1e6f) continue;
        SHOWN(sound->name, before);
        return at_fail(sound->context, ATTN_INVALID_ARGUMENT, "%s%s: sample %" PRId64 " is %s", before, shown,
                       sound->taken + i,
                       isnan(samples[i])   ? "not a number"
                       : isinf(samples[i]) ? "infinite"
                                           : "more than a million times full scale");
    }
    return ATTN_OK;
}

attn_status at_sound_next(at_sound *sound, float *samples, int64_t room, int64_t *count) {
    int channels = sound->info.channels;
    int64_t most = PIECE / channels, got;
    *count = 0;
    if (room > most) room = most;
    if (room <= 0) return ATTN_OK;
    if (channels == 1) {
        got = sf_readf_float(sound->file, samples, room);
    } else {
        got = sf_readf_float(sound->file, sound->piece, room);
        for (int64_t i = 0; i < got; i++) {
            double sum = 0;
            for (int c = 0; c < channels; c++) sum += (double)sound->piece[i * channels + c];
            samples[i] = (float)(sum / channels);
        }
    }
    if (sf_error(sound->file) != SF_ERR_NO_ERROR) {
        char reason[160];
        SHOWN(sound->name, before);
        take_reason(sound, reason, sizeof reason);
        return at_fail(sound->context, ATTN_INVALID_ARGUMENT,
                       "%s%s: cannot be read after sample %" PRId64 " (libsndfile: %s)", before, shown,
                       sound->taken, reason);
    }
    if (got <= 0) return ATTN_OK;
    attn_status status = check_samples(sound, samples, got);
    sound->taken += got;
    *count = got;
    return status;
}

#else

static attn_status fail_without(attn_context *context, const char *name) {
    const char *before, *shown = at_name_end(name, &before);
    return at_fail(context, ATTN_UNSUPPORTED,
                   "%s%s: this attn was built without libsndfile, which reads recordings (Debian: "
                   "libsndfile1-dev); it can only read features (.npy)",
                   before, shown);
}

attn_status at_sound_open(attn_context *context, const char *path, at_sound **sound) {
    (void)sound;
    return fail_without(context, path);
}

attn_status at_sound_open_bytes(attn_context *context, const char *name, const char *bytes, size_t count,
                                at_sound **sound) {
    (void)bytes;
    (void)count;
    (void)sound;
    return fail_without(context, name);
}

void at_sound_close(at_sound *sound) { (void)sound; }
int64_t at_sound_rate(const at_sound *sound) { return sound ? 1 : 0; }
int64_t at_sound_channels(const at_sound *sound) { return sound ? 1 : 0; }
int64_t at_sound_bytes(const at_sound *sound) { return sound ? 1 : 0; }

attn_status at_sound_next(at_sound *sound, float *samples, int64_t room, int64_t *count) {
    (void)sound;
    (void)samples;
    (void)room;
    *count = 0;
    return ATTN_OK;
}

#endif
