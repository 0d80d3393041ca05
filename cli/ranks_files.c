/* ranks_files.c: --scatter: files that rank 0 reads and the other ranks receive, in temporary files without a
 * name (see ranks.h). */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"

enum { FILES = 160, AT_ONCE = 1 << 22 };

typedef struct received {
    const char *name; /* as the user gave it */
    char path[64];    /* under which this process can open it */
    int descriptor;
    const char *bytes;
    size_t count;
} received;

static received all[FILES];
static int received_count;
static bool scattered;

void ranks_scatter(bool on) { scattered = on; }

static int refuse(const char *before, const char *name, const char *after) {
    arguments_complain(ranks_command(), before, name, after, NULL);
    return EXIT_FAILED;
}

/* Rank 0's file: its size; -1, when it has said why not. */
static int64_t open_file(const char *path, int *descriptor) {
    struct stat state;
    char reason[160];
    *descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (*descriptor < 0 || fstat(*descriptor, &state) != 0) {
        snprintf(reason, sizeof reason, ": %s", strerror(errno));
        refuse("cannot open ", path, reason);
        return -1;
    }
    if (S_ISREG(state.st_mode)) return (int64_t)state.st_size;
    if (S_ISDIR(state.st_mode))
        refuse("", path,
               " is a folder, and --scatter sends files: leave it out, and have the folder on every "
               "host");
    else
        refuse("", path, " is not a file that --scatter could send");
    return -1;
}

/* The other ranks': a file that nobody else can open, and that goes with the process. */
static int make_file(int *descriptor) {
    const char *folder = getenv("TMPDIR");
    char path[4096], reason[160];
    if (folder == NULL || *folder == '\0') folder = "/tmp";
    snprintf(path, sizeof path, "%s/attn-XXXXXX", folder);
    *descriptor = mkstemp(path);
    if (*descriptor >= 0) {
        unlink(path);
        return EXIT_DONE;
    }
    snprintf(reason, sizeof reason, ": %s", strerror(errno));
    return refuse("cannot make a temporary file in ", folder, reason);
}

static bool read_block(int descriptor, char *block, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t got = read(descriptor, block + done, count - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool write_block(int descriptor, const char *block, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t put = write(descriptor, block + done, count - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

/* All blocks travel, whatever happens to one of them: who waits for them is not to wait for ever. */
static int send_blocks(int descriptor, const char *name, int64_t size, char *block) {
    char reason[200];
    int code = EXIT_DONE;
    for (int64_t at = 0; at < size; at += AT_ONCE) {
        size_t count = size - at < AT_ONCE ? (size_t)(size - at) : AT_ONCE;
        bool good = true;
        errno = 0;
        if (ranks_rank() == 0 && code == EXIT_DONE) good = read_block(descriptor, block, count);
        if (!good) {
            snprintf(reason, sizeof reason, ": %s", errno != 0 ? strerror(errno) : "it has become shorter");
            code = refuse("cannot read ", name, reason);
        }
        if (ranks_broadcast(block, count) != EXIT_DONE) return EXIT_FAILED;
        if (ranks_rank() > 0 && code == EXIT_DONE && !write_block(descriptor, block, count)) {
            snprintf(reason, sizeof reason, " in a temporary file (TMPDIR): %s", strerror(errno));
            code = refuse("cannot keep ", name, reason);
        }
    }
    return code;
}

static int keep_file(const char **path, int descriptor, int64_t size) {
    if (received_count == FILES) return refuse("", "too many files for --scatter", "");
    received *made = &all[received_count];
    *made = (received){.name = *path, .descriptor = descriptor, .bytes = "", .count = (size_t)size};
    if (size > 0) {
        void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes == MAP_FAILED) return refuse("cannot map ", *path, " that was received");
        made->bytes = bytes;
    }
    snprintf(made->path, sizeof made->path, "/proc/self/fd/%d", descriptor);
    *path = made->path;
    received_count++;
    return EXIT_DONE;
}

int ranks_file(const char **path) {
    if (!scattered || ranks_count() < 2 || *path == NULL || strcmp(*path, "-") == 0) return EXIT_DONE;
    int descriptor = -1;
    int64_t size = ranks_rank() == 0 ? open_file(*path, &descriptor) : 0;
    if (ranks_broadcast(&size, sizeof size) != EXIT_DONE) return EXIT_FAILED;
    int code = size < 0 ? EXIT_FAILED : EXIT_DONE;
    if (code == EXIT_DONE && ranks_rank() > 0) code = make_file(&descriptor);
    char *block = code == EXIT_DONE ? malloc(AT_ONCE) : NULL;
    if (code == EXIT_DONE && block == NULL) code = refuse("", "out of memory", "");
    code = ranks_settle(code, NULL);
    if (code == EXIT_DONE) code = ranks_settle(send_blocks(descriptor, *path, size, block), NULL);
    free(block);
    if (code == EXIT_DONE && ranks_rank() > 0) {
        code = keep_file(path, descriptor, size);
        descriptor = -1;
    }
    if (descriptor >= 0) close(descriptor);
    return size < 0 ? EXIT_FAILED : ranks_settle(code, NULL);
}

const char *ranks_bytes(const char *path, size_t *count, const char **name) {
    for (int i = 0; i < received_count; i++) {
        if (path != all[i].path) continue;
        *count = all[i].count;
        *name = all[i].name;
        return all[i].bytes;
    }
    return NULL;
}
