/* replace.c: replaces a file so that it is always complete, old or new, even after a loss of power. */
#define _POSIX_C_SOURCE 200809L /* open, fsync, lstat */
#include "data/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"

enum { MOST_LINKS = 40, NAME_ROOM = 64, MOST_NAMES = 1000 };

/* ---- where it goes ---- */

/* The length of the part of a path that names its folder, with the slash. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* What the link at `path` points to, seen from where we are. */
static attn_status follow(attn_context *context, const char *path, char **target) {
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) return at_fail_system(context, path, "followed", errno);
    link[length] = 0;
    size_t folder = link[0] == '/' ? 0 : folder_length(path);
    *target = at_allocate(context, (int64_t)folder + length + 1, 1, "a file's name");
    if (!*target) return ATTN_OUT_OF_MEMORY;
    memcpy(*target, path, folder);
    memcpy(*target + folder, link, (size_t)length + 1);
    return ATTN_OK;
}

attn_status at_replace_target(attn_context *context, const char *path, char **target) {
    struct stat found;
    size_t length = strlen(path);
    char *now = at_allocate(context, (int64_t)length + 1, 1, "a file's name");
    if (!now) return ATTN_OUT_OF_MEMORY;
    memcpy(now, path, length + 1);
    for (int links = 0; lstat(now, &found) == 0 && S_ISLNK(found.st_mode); links++) {
        char *next = NULL;
        attn_status status = links < MOST_LINKS ? follow(context, now, &next)
                                                : at_fail_system(context, path, "written", ELOOP);
        at_release(context, now);
        if (status != ATTN_OK) return status;
        now = next;
    }
    *target = now;
    return ATTN_OK;
}

attn_status at_replace_check(attn_context *context, const char *path) {
    struct stat found;
    if (stat(path, &found) != 0 || S_ISREG(found.st_mode)) return ATTN_OK;
    mode_t mode = found.st_mode;
    const char *kind = S_ISDIR(mode)                    ? "a directory"
                       : S_ISFIFO(mode)                 ? "a pipe"
                       : S_ISSOCK(mode)                 ? "a socket"
                       : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                        : "not a file";
    return at_fail(context, ATTN_SYSTEM_ERROR,
                   "%.300s: cannot be written: it is %s, which a file would replace", path, kind);
}

/* ---- the temporary file ---- */

static const char ending[] = ".tmp";

/* Creates a file that nobody else has, and puts its name into `temporary`. */
static int create(const char *target, char *temporary, size_t room) {
    static atomic_uint count;
    for (int i = 0; i < MOST_NAMES; i++) {
        snprintf(temporary, room, "%s.%ld-%u%s", target, (long)getpid(), atomic_fetch_add(&count, 1), ending);
        int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor; /* EEXIST: a process of that number left it */
    }
    return -1;
}

attn_status at_replace_begin(attn_context *context, const char *path, at_replacement *begun) {
    *begun = (at_replacement){.context = context, .path = path, .descriptor = -1};
    attn_status status = at_replace_check(context, path); /* a rename would put a file in a device's place */
    if (status == ATTN_OK) status = at_replace_target(context, path, &begun->target);
    if (status != ATTN_OK) return status;
    size_t room = strlen(begun->target) + NAME_ROOM;
    begun->temporary = at_allocate(context, (int64_t)room, 1, "a file's name");
    if (begun->temporary) {
        begun->descriptor = create(begun->target, begun->temporary, room);
        if (begun->descriptor >= 0) return ATTN_OK;
        status = at_fail_system(context, path, "written", errno);
    } else {
        status = ATTN_OUT_OF_MEMORY;
    }
    at_release(context, begun->temporary);
    at_release(context, begun->target);
    return status;
}

void at_replace_write(at_replacement *begun, const void *data, size_t bytes) {
    const char *next = data;
    while (bytes > 0 && !begun->error) {
        size_t part = bytes < (size_t)1 << 30 ? bytes : (size_t)1 << 30;
        ssize_t written = write(begun->descriptor, next, part);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            begun->error = written < 0 ? errno : EIO;
            return;
        }
        next += written;
        bytes -= (size_t)written;
    }
}

static int sync_descriptor(int descriptor) {
    while (fsync(descriptor) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

/* A rename is on the disk when the folder is; 0, or the system's error. Folders that cannot be opened or
 * synced (there are such file systems) are no failure: the file has its new content. */
static int sync_folder(const char *path) {
    char folder[PATH_MAX];
    size_t length = folder_length(path);
    if (length >= sizeof folder) return 0;
    memcpy(folder, length ? path : ".", length ? length : 1);
    folder[length ? length : 1] = 0;
    int descriptor = open(folder, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    int error = sync_descriptor(descriptor);
    close(descriptor);
    return error == EIO || error == ENOSPC ? error : 0;
}

attn_status at_replace_end(at_replacement *begun) {
    int error = begun->error;
    if (!error) error = sync_descriptor(begun->descriptor);
    if (close(begun->descriptor) != 0 && !error && errno != EINTR) error = errno;
    if (!error && rename(begun->temporary, begun->target) != 0) error = errno;
    if (error)
        unlink(begun->temporary);
    else
        error = sync_folder(begun->target);
    attn_status status = error ? at_fail_system(begun->context, begun->path, "written", error) : ATTN_OK;
    at_release(begun->context, begun->temporary);
    at_release(begun->context, begun->target);
    return status;
}

/* ---- what goes away ---- */

attn_status at_replace_remove(attn_context *context, const char *path) {
    char *target;
    attn_status status = at_replace_target(context, path, &target);
    if (status != ATTN_OK) return status;
    int error = unlink(target) != 0 ? errno : sync_folder(target);
    if (error && error != ENOENT) status = at_fail_system(context, path, "removed", error);
    at_release(context, target);
    return status;
}

/* "NAME.PID-NUMBER.tmp": the process, if there is none of that number any more; else 0. */
static long dead_owner(const char *entry, const char *name) {
    size_t length = strlen(name);
    char *end;
    if (strncmp(entry, name, length) != 0 || entry[length] != '.') return 0;
    long owner = strtol(entry + length + 1, &end, 10);
    if (owner <= 0 || *end != '-') return 0;
    end += 1 + strspn(end + 1, "0123456789");
    if (strcmp(end, ending) != 0) return 0;
    return kill((pid_t)owner, 0) != 0 && errno == ESRCH ? owner : 0;
}

void at_replace_tidy(const char *target) {
    char path[PATH_MAX];
    size_t folder = folder_length(target);
    if (folder >= sizeof path) return;
    memcpy(path, folder ? target : ".", folder ? folder : 1);
    path[folder ? folder : 1] = 0;
    DIR *entries = opendir(path);
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (!dead_owner(entry->d_name, target + folder)) continue;
        int length = snprintf(path, sizeof path, "%.*s%s", (int)folder, target, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path) unlink(path);
    }
    closedir(entries);
}
