/* folder.c: a folder of pictures: it has a folder per label, or folders train, val and test that have such
 * folders; pictures directly in it have no label.
 *
 * Pictures are read in the order of their paths, byte by byte. Files that are not named like pictures and
 * names that begin with a dot are ignored; deeper folders belong to the label above them.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/parts.h"
#include "inputs/image/reader.h"

enum { DEEPEST = 8, LOOKED_AT = 1000 };

int at_image_is_folder(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

int at_image_named(const char *name) {
    static const char *const endings[] = {".png", ".jpg",  ".jpeg", ".jpe", ".jfif", ".gif",  ".bmp", ".webp",
                                          ".tif", ".tiff", ".ppm",  ".pgm", ".pbm",  ".heic", ".avif"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && at_same_name(name + length - ending, ending, endings[i], ending)) return 1;
    }
    return 0;
}

/* A picture that was found: its path, and of which label and part it is. */
typedef struct found {
    int64_t path;  /* in the list of paths */
    int64_t label; /* in the list of labels; -1: none */
    int part;      /* attn_part; -1: the folders do not say it */
} found;

typedef struct walk {
    at_image_reader *reader;
    at_strings paths, labels;
    found *list;
    int64_t count, room;
    int64_t plain, labelled, parted; /* pictures without a label, with one, in folders of parts */
} walk;

static attn_status note_picture(walk *now, const char *path, int64_t label, int part) {
    attn_context *context = now->reader->context;
    attn_status status = at_grow(context, &now->list, &now->room, now->count + 1, sizeof *now->list,
                                 "the pictures of a folder");
    if (status == ATTN_OK) status = at_strings_add(context, &now->paths, path, strlen(path));
    if (status != ATTN_OK) return status;
    now->list[now->count++] = (found){now->paths.count - 1, label, part};
    now->plain += label < 0;
    now->labelled += label >= 0;
    now->parted += part >= 0;
    return ATTN_OK;
}

static int by_string(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder, sorted, into *names; their text is in *list. */
static attn_status list_names(at_image_reader *reader, const char *folder, at_strings *list,
                              const char ***names) {
    attn_status status = ATTN_OK;
    DIR *directory = opendir(folder);
    if (!directory) return at_fail_system(reader->context, folder, "opened", errno);
    for (struct dirent *entry; status == ATTN_OK && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            status = at_strings_add(reader->context, list, entry->d_name, strlen(entry->d_name));
    closedir(directory);
    if (status != ATTN_OK) return status;
    *names = at_allocate(reader->context, list->count + 1, sizeof **names, "the names in a folder");
    if (!*names) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < list->count; i++) (*names)[i] = at_string(list, i);
    qsort(*names, (size_t)list->count, sizeof **names, by_string);
    return ATTN_OK;
}

static attn_status join(attn_context *context, const char *folder, const char *name, at_bytes *path) {
    size_t length = strlen(folder);
    path->count = 0;
    attn_status status = at_bytes_append(context, path, folder, length);
    if (status == ATTN_OK && length && folder[length - 1] != '/')
        status = at_bytes_append(context, path, "/", 1);
    return status == ATTN_OK ? at_bytes_append(context, path, name, strlen(name) + 1) : status;
}

/* What folders a folder lies in: depth, label and part. */
typedef struct level {
    int depth, part;
    int64_t label;
} level;

static attn_status walk_folder(walk *now, const char *folder, level at);

static attn_status enter(walk *now, const char *path, const char *name, level at) {
    int part = at.depth == 0 ? at_part_of(name, strlen(name), 0) : -1;
    level below = {at.depth + 1, at.part, at.label};
    attn_status status = ATTN_OK;
    if (at.depth >= DEEPEST)
        return at_image_fail(now->reader, NULL, 0, "has folders in folders, more than %d deep, at %.100s",
                             DEEPEST, path);
    if (part > 0) {
        below.part = part;
    } else if (at.label < 0) {
        status = at_image_text(now->reader, &now->labels, name, strlen(name));
        below.label = now->labels.count - 1;
    }
    return status == ATTN_OK ? walk_folder(now, path, below) : status;
}

static attn_status walk_folder(walk *now, const char *folder, level at) {
    at_image_reader *reader = now->reader;
    at_strings list = {0};
    const char **names = NULL;
    at_bytes path = {0};
    attn_status status = list_names(reader, folder, &list, &names);
    for (int64_t i = 0; i < list.count && status == ATTN_OK; i++) {
        char reason[160];
        int64_t line = 0;
        status = join(reader->context, folder, names[i], &path);
        if (status != ATTN_OK) break;
        int is_folder = at_image_is_folder(path.data);
        if (!is_folder && !at_image_named(names[i])) continue;
        if (!at_is_text(names[i], strlen(names[i]), &line, reason))
            status = at_image_fail(reader, NULL, 0, "has a file whose name is not UTF-8: %.100s", path.data);
        else
            status = is_folder ? enter(now, path.data, names[i], at)
                               : note_picture(now, path.data, at.label, at.part);
    }
    at_bytes_free(reader->context, &path);
    at_release(reader->context, names);
    at_strings_free(reader->context, &list);
    return status;
}

/* ---- reading ---- */

static attn_status check_walk(walk *now) {
    at_image_reader *reader = now->reader;
    int labelled = reader->options->labelled;
    if (now->count == 0)
        return at_image_fail(reader, NULL, 0,
                             "has no pictures (.png, .jpg), neither in it nor in its folders");
    if (labelled && now->labelled == 0)
        return at_image_fail(reader, NULL, 0,
                             "has pictures but no folders: for training, the pictures of each label must be "
                             "in a folder with its name");
    if (labelled && now->plain > 0)
        return at_image_fail(
            reader, NULL, 0,
            "has pictures in it (%" PRId64 ") beside the folders of labels: these have no label", now->plain);
    if (labelled && now->parted > 0 && now->parted < now->count)
        return at_image_fail(
            reader, NULL, 0,
            "has folders of parts (train, val, test) beside folders of labels: use one or the other");
    return ATTN_OK;
}

static attn_status take_pictures(walk *now) {
    at_image_reader *reader = now->reader;
    attn_dataset *dataset = reader->dataset;
    int labels = now->plain == 0, stop = 0;
    attn_status status = labels ? at_image_only_target(reader) : ATTN_OK;
    for (int64_t i = 0; i < now->count && status == ATTN_OK && !stop; i++) {
        const found *one = &now->list[i];
        const char *path = at_string(&now->paths, one->path);
        int64_t before = dataset->examples;
        status = at_image_settle(reader, at_image_take_path(reader, path, path, i + 1, 0), &stop);
        if (status != ATTN_OK || dataset->examples == before) continue; /* it was left out */
        if (labels)
            status = at_strings_add(reader->context, &dataset->targets, at_string(&now->labels, one->label),
                                    at_string_length(&now->labels, one->label));
        if (status == ATTN_OK && now->parted == now->count) status = at_dataset_add_part(dataset, one->part);
    }
    return status;
}

attn_status at_image_read_folder(at_image_reader *reader, const char *folder) {
    walk now = {.reader = reader};
    level top = {0, -1, -1};
    attn_status status = walk_folder(&now, folder, top);
    if (status == ATTN_OK) status = check_walk(&now);
    if (status == ATTN_OK)
        status = at_image_dataset(reader->context, reader->name, AT_IMAGE_FOLDER, &reader->dataset);
    if (status == ATTN_OK) status = take_pictures(&now);
    at_strings_free(reader->context, &now.paths);
    at_strings_free(reader->context, &now.labels);
    at_release(reader->context, now.list);
    return status;
}

/* ---- whether there are any ---- */

static int look(const char *folder, int depth, int *left) {
    char path[4096];
    DIR *directory = opendir(folder);
    int any = 0;
    if (!directory) return 0;
    for (struct dirent *entry; !any && (entry = readdir(directory)) != NULL && (*left)-- > 0;) {
        if (entry->d_name[0] == '.') continue;
        any = at_image_named(entry->d_name);
        if (any || depth == 0 || strlen(folder) + strlen(entry->d_name) + 2 > sizeof path) continue;
        strcpy(path, folder);
        strcat(path, "/");
        strcat(path, entry->d_name);
        if (at_image_is_folder(path)) any = look(path, depth - 1, left);
    }
    closedir(directory);
    return any;
}

int at_image_in_folder(const char *folder) {
    int left = LOOKED_AT;
    return look(folder, 2, &left);
}
