/* machine_memory.c: how much memory this process may use: that of the machine, or of its control group. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/context.h>

/* The number in a file; UINT64_MAX: there is none ("max"), or no file. */
static uint64_t number_in(const char *path) {
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "r");
    if (!file) return number;
    if (fscanf(file, "%" SCNu64, &number) != 1) number = UINT64_MAX;
    fclose(file);
    return number;
}

/* The least limit of a group and of those that it is in. `group` is a path that begins with a slash; it is
 * shortened. In a container the groups above it may not be there to be seen. */
static uint64_t least_limit(const char *root, char *group, const char *file) {
    char path[4096 + 64];
    uint64_t least = UINT64_MAX;
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        uint64_t limit = number_in(path);
        if (limit < least) least = limit;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

/* UINT64_MAX: the process is in no group with a limit. */
static uint64_t group_limit(void) {
    char line[4096];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) { /* number:controllers:path */
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        uint64_t limit = UINT64_MAX;
        if (names[1] == 0)
            limit = least_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strcmp(names + 1, "memory") == 0)
            limit = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        if (limit < least) least = limit;
    }
    if (file) fclose(file);
    return least;
}

size_t attn_machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0, limit = group_limit();
    if (bytes == 0 || limit < bytes) bytes = limit == UINT64_MAX ? 0 : limit;
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}
