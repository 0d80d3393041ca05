/* folder.c: folders of recordings: a folder for each label, or files of labels and texts beside them. */
#define _POSIX_C_SOURCE 200809L /* opendir, stat */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "inputs/speech/reader.h"
#include "inputs/speech/sound.h"

enum { DEEPEST = 8 };

int at_speech_is_folder(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

int at_speech_is_pipe(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && !S_ISDIR(state.st_mode) && !S_ISREG(state.st_mode);
}

static int is_file(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && S_ISREG(state.st_mode);
}

attn_status at_speech_join(attn_context *context, const char *folder, size_t folder_length, const char *name,
                           size_t length, at_bytes *path) {
    attn_status status = ATTN_OK;
    path->count = 0;
    if (length > 0 && name[0] == '/') folder_length = 0;
    if (folder_length) status = at_bytes_append(context, path, folder, folder_length);
    if (status == ATTN_OK && folder_length && folder[folder_length - 1] != '/')
        status = at_bytes_append(context, path, "/", 1);
    if (status == ATTN_OK) status = at_bytes_append(context, path, name, length);
    return status == ATTN_OK ? at_bytes_append(context, path, "", 1) : status;
}

/* ---- which recordings there are ---- */

typedef struct listing {
    at_speech_reader *reader;
    at_strings paths; /* relative to the folder */
    const char *folder;
} listing;

static int is_recording(const char *name) { return at_sound_named(name) || at_name_ends(name, ".npy"); }

static attn_status list_folder(listing *into, const char *relative, int depth);

static attn_status list_entry(listing *into, const char *relative, const char *name, int depth) {
    attn_context *context = into->reader->context;
    at_bytes inner = {0}, whole = {0};
    if (name[0] == '.') return ATTN_OK;
    attn_status status = at_speech_join(context, relative, strlen(relative), name, strlen(name), &inner);
    if (status == ATTN_OK)
        status = at_speech_join(context, into->folder, strlen(into->folder), inner.data, strlen(inner.data),
                                &whole);
    if (status == ATTN_OK && at_speech_is_folder(whole.data))
        status = list_folder(into, inner.data, depth + 1);
    else if (status == ATTN_OK && is_recording(name) && is_file(whole.data))
        status = at_strings_add(context, &into->paths, inner.data, strlen(inner.data));
    at_bytes_free(context, &inner);
    at_bytes_free(context, &whole);
    return status;
}

static attn_status list_folder(listing *into, const char *relative, int depth) {
    attn_context *context = into->reader->context;
    at_bytes whole = {0};
    if (depth > DEEPEST) /* perhaps a link that leads back */
        return at_speech_fail(into->reader, 0, "has folders in folders, more than %d deep, at %.100s",
                              DEEPEST, relative);
    attn_status status =
        at_speech_join(context, into->folder, strlen(into->folder), relative, strlen(relative), &whole);
    DIR *folder = status == ATTN_OK ? opendir(whole.data) : NULL;
    if (status == ATTN_OK && !folder) status = at_fail_system(context, whole.data, "opened", errno);
    struct dirent *entry;
    while (status == ATTN_OK && (entry = readdir(folder)) != NULL)
        status = list_entry(into, relative, entry->d_name, depth);
    if (folder) closedir(folder);
    at_bytes_free(context, &whole);
    return status;
}

/* Whether there are recordings among the first entries of a folder and of the folders in it. */
static int look(const char *folder, int deep, int *left) {
    enum { LONGEST = 4096 };
    char path[LONGEST];
    int found = 0;
    DIR *opened = opendir(folder);
    struct dirent *entry;
    while (opened && !found && (entry = readdir(opened)) != NULL && (*left)-- > 0) {
        if (entry->d_name[0] == '.') continue;
        found = at_sound_named(entry->d_name);
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!found && deep > 0 && length < LONGEST && at_speech_is_folder(path))
            found = look(path, deep - 1, left);
    }
    if (opened) closedir(opened);
    return found;
}

int at_speech_in_folder(const char *folder) {
    int left = 1000;
    return at_speech_is_folder(folder) && look(folder, 1, &left);
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* ---- what there is to learn ---- */

/* PATH without its ending, and another. */
static attn_status name_beside(at_speech_reader *reader, const char *ending) {
    const char *path = reader->path.data, *dot = strrchr(path, '.');
    reader->beside.count = 0;
    attn_status status = at_bytes_append(reader->context, &reader->beside, path, (size_t)(dot - path));
    return status == ATTN_OK ? at_bytes_append(reader->context, &reader->beside, ending, strlen(ending) + 1)
                             : status;
}

/* .phn or .PHN. */
static attn_status find_beside(at_speech_reader *reader, const char *small, const char *large, int *found) {
    attn_status status = name_beside(reader, large);
    *found = status == ATTN_OK && is_file(reader->beside.data);
    if (status != ATTN_OK || *found) return status;
    status = name_beside(reader, small);
    *found = status == ATTN_OK && is_file(reader->beside.data);
    return status;
}

/* By what is beside the first recording, where the task does not say it. */
static attn_status decide(at_speech_reader *reader, const char *folder, const char *first) {
    const attn_reader_options *options = reader->options;
    int found = 0;
    reader->targets = options->pairs == 1       ? AT_SPEECH_TEXTS
                      : options->per_token == 1 ? AT_SPEECH_SEGMENTS
                                                : AT_SPEECH_VALUES;
    if (!options->labelled) reader->targets = AT_SPEECH_NOTHING;
    attn_status status = ATTN_OK;
    if (options->labelled && options->per_token < 0 && options->pairs < 0) {
        status = at_speech_join(reader->context, folder, strlen(folder), first, strlen(first), &reader->path);
        if (status == ATTN_OK) status = find_beside(reader, ".phn", ".PHN", &found);
        if (found) reader->targets = AT_SPEECH_SEGMENTS;
        if (status == ATTN_OK && !found) status = find_beside(reader, ".txt", ".TXT", &found);
        if (found && reader->targets == AT_SPEECH_VALUES) reader->targets = AT_SPEECH_TEXTS;
    }
    reader->dataset->per_row = reader->targets == AT_SPEECH_SEGMENTS;
    reader->dataset->pairs = options->pairs == 1;
    if (status != ATTN_OK || reader->targets == AT_SPEECH_NOTHING) return status;
    const char *name = reader->targets == AT_SPEECH_TEXTS ? "text" : "label";
    if (reader->wanted.count > 1)
        return at_speech_fail(reader, 0, "a folder has one target, not several columns");
    if (reader->wanted.count == 1) name = at_string(&reader->wanted, 0);
    return at_strings_add(reader->context, &reader->dataset->columns, name, strlen(name));
}

static attn_status add_recording(at_speech_reader *reader, const char *folder, const char *relative) {
    const char *slash = strchr(relative, '/');
    int found = 0, segments = reader->targets == AT_SPEECH_SEGMENTS;
    attn_status status =
        at_speech_join(reader->context, folder, strlen(folder), relative, strlen(relative), &reader->path);
    at_speech_item item = {.path = reader->path.data, .shown = reader->path.data};
    if (status != ATTN_OK) return status;
    item.shown_length = strlen(item.shown);
    if (segments || reader->targets == AT_SPEECH_TEXTS) {
        status = segments ? find_beside(reader, ".phn", ".PHN", &found)
                          : find_beside(reader, ".txt", ".TXT", &found);
        if (status == ATTN_OK && !found)
            status =
                at_speech_bad(reader, 0, "there is no %s beside %s", segments ? ".phn" : ".txt", relative);
        item.labels = reader->beside.data;
    } else if (reader->targets == AT_SPEECH_VALUES && !slash) {
        status = at_speech_bad(reader, 0,
                               "%s is in no folder of a label: recordings must be in a folder for each label",
                               relative);
    }
    if (status == ATTN_OK) status = at_speech_take(reader, &item);
    if (status == ATTN_OK && reader->targets == AT_SPEECH_VALUES)
        status = at_speech_value(reader, relative, (size_t)(slash - relative));
    return status == ATTN_OK ? at_speech_end(reader, &item) : status;
}

attn_status at_speech_read_folder(at_speech_reader *reader, const char *folder) {
    listing found = {.reader = reader, .folder = folder};
    attn_context *context = reader->context;
    attn_status status = list_folder(&found, "", 0);
    int64_t count = found.paths.count;
    if (status == ATTN_OK && count == 0)
        status = at_speech_fail(reader, 0, "has no recordings in it (.wav, .flac, .ogg, .mp3, ..., or .npy)");
    const char **order = NULL;
    if (status == ATTN_OK) {
        order = at_allocate(context, count, sizeof *order, "the files of a folder");
        if (!order) status = ATTN_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; status == ATTN_OK && i < count; i++) order[i] = at_string(&found.paths, i);
    if (status == ATTN_OK) {
        qsort(order, (size_t)count, sizeof *order, by_name);
        status = decide(reader, folder, order[0]);
    }
    for (int64_t i = 0; status == ATTN_OK && i < count && reader->dataset->stopped == ATTN_OK; i++)
        status = at_speech_settle(reader, add_recording(reader, folder, order[i]));
    at_release(context, (void *)(uintptr_t)order);
    at_strings_free(context, &found.paths);
    return status;
}
