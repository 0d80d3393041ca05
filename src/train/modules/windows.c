/* windows.c: see the header. */
#define _GNU_SOURCE /* memfd_create */
#include "train/modules/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/futex.h>

/* The first bytes of a window: a number by which it is known, since a number of a process may mean another
 * process in another container. The caller's bytes begin after it. */
enum { HEAD = 64 };

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *map(int file, size_t bytes) {
    void *memory = mmap(NULL, bytes + HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *at_window_make(size_t bytes, at_window_name *name) {
    static atomic_uint made;
    *name = (at_window_name){.process = getpid(), .file = memfd_create("attn", MFD_CLOEXEC)};
    if (name->file < 0) return NULL;
    /* all pages now: a page that is missing later would be a signal */
    char *memory = posix_fallocate(name->file, 0, (off_t)(bytes + HEAD)) == 0 ? map(name->file, bytes) : NULL;
    if (!memory) {
        at_window_close_file(name);
        return NULL;
    }
    name->token =
        (uint64_t)nanoseconds() * 1000003u + (uint64_t)getpid() * 7919u + atomic_fetch_add(&made, 1);
    *(uint64_t *)(void *)memory = name->token;
    return memory + HEAD;
}

void *at_window_open(const at_window_name *name, size_t bytes) {
    char path[64];
    struct stat status;
    if (name->file < 0) return NULL;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)name->process, (int)name->file);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL; /* in another container: a device? */
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return NULL;
    int fits = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == bytes + HEAD;
    char *memory = fits ? map(file, bytes) : NULL;
    close(file);
    if (memory && *(const uint64_t *)(const void *)memory != name->token) {
        munmap(memory, bytes + HEAD);
        return NULL;
    }
    return memory ? memory + HEAD : NULL;
}

void at_window_close_file(at_window_name *name) {
    if (name->file >= 0) close(name->file);
    name->file = -1;
}

void at_window_free(void *window, size_t bytes) {
    if (window) munmap((char *)window - HEAD, bytes + HEAD);
}

/* 0: nothing has changed for a while. */
static int wait_for_change(atomic_uint *round, unsigned seen) {
    const struct timespec most = {.tv_nsec = 20000000};
    return syscall(SYS_futex, round, FUTEX_WAIT, seen, &most, NULL, 0) == 0 || errno != ETIMEDOUT;
}

void at_gate_pass(at_gate *gate, int count, const atomic_int *computing, void (*idle)(void *user),
                  void *user) {
    enum { AWAKE = 5000000, PAUSES = 64 }; /* nanoseconds; looks between two looks at the clock */
    unsigned seen = atomic_load(&gate->round);
    if (atomic_fetch_add(&gate->arrived, 1) + 1 == (unsigned)count) {
        atomic_store(&gate->arrived, 0);
        atomic_fetch_add(&gate->round, 1);
        syscall(SYS_futex, &gate->round, FUTEX_WAKE, count, NULL, NULL, 0);
        return;
    }
    int64_t limit = nanoseconds() + AWAKE;
    for (int turn = 0; atomic_load(&gate->round) == seen; turn++) {
        int sleeps = atomic_load_explicit(computing, memory_order_relaxed) ||
                     (turn % PAUSES == 0 && nanoseconds() > limit);
        if (sleeps && !wait_for_change(&gate->round, seen))
            idle(user);
        else if (turn % PAUSES == 0)
            syscall(SYS_sched_yield);
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

#else /* no windows: ranks send messages */

void *at_window_make(size_t bytes, at_window_name *name) {
    (void)bytes;
    *name = (at_window_name){.file = -1};
    return NULL;
}
void *at_window_open(const at_window_name *name, size_t bytes) {
    (void)name;
    (void)bytes;
    return NULL;
}
void at_window_close_file(at_window_name *name) { (void)name; }
void at_window_free(void *window, size_t bytes) {
    (void)window;
    (void)bytes;
}
void at_gate_pass(at_gate *gate, int count, const atomic_int *computing, void (*idle)(void *user),
                  void *user) {
    (void)gate;
    (void)count;
    (void)computing;
    (void)idle;
    (void)user;
}

#endif
