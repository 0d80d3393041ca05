/* spill.c: large blocks of data, in memory up to a bound and beyond it in mapped temporary files.
 *
 * A block in a file grows without being copied: the file gets longer and is mapped anew. It grows by steps
 * that are a small part of the bound, not by half of its size: what is written one after another leaves the
 * page tables with every step, and little of the disk is taken in vain. Room on the disk is reserved before a
 * file is mapped, so that a full disk is an error and not a signal.
 */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp, statfs */

#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/vfs.h>
#endif

#include "base/memory.h"

enum {
    LEAST_BLOCK = 4 << 10, /* of what the store takes */
    MOST_LEAST = 1 << 20,  /* the same where the bound is large */
    LEAST_STEP = 64 << 10, /* by which blocks in files grow */
    MOST_STEP = 64 << 20,
    FOLDER_BYTES = 4096
};

/* In memory, or in a file: with a descriptor as long as it may grow. */
enum { IN_MEMORY = -2, CLOSED = -1 };

typedef struct block {
    unsigned char *memory; /* NULL: a free slot */
    size_t bytes;
    int descriptor;
} block;

struct at_spill {
    size_t least, most_in_memory, window, step, page;
    char folder[FOLDER_BYTES];

    pthread_mutex_t mutex; /* of all below */
    size_t in_memory, in_files;
    block *slots; /* found by address; at most every second is taken */
    size_t slot_count, count;

    pthread_cond_t stopping; /* of the thread that watches the resident size */
    pthread_t watcher;
    int watched, stop;
    size_t others; /* resident pages of files that are not the store's */
};

/* ---- blocks by their address ---- */

static size_t slot_of(const at_spill *spill, const void *memory) {
    size_t mask = spill->slot_count - 1;
    size_t slot = (size_t)(((uint64_t)(uintptr_t)memory >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (spill->slots[slot].memory && spill->slots[slot].memory != memory) slot = (slot + 1) & mask;
    return slot;
}

/* NULL: it is not the store's. */
static block *find(const at_spill *spill, const void *memory) {
    if (!spill->count || !memory) return NULL;
    block *found = &spill->slots[slot_of(spill, memory)];
    return found->memory ? found : NULL;
}

static int make_slots(attn_context *context, at_spill *spill) {
    const attn_allocator *allocator = &context->allocator;
    if (2 * (spill->count + 1) <= spill->slot_count) return 1;
    block *before = spill->slots;
    size_t slot_count = spill->slot_count;
    size_t more = slot_count ? 2 * slot_count : 64;
    block *slots = allocator->allocate(allocator->user, more * sizeof *slots, AT_ALIGNMENT);
    if (!slots) return 0;
    memset(slots, 0, more * sizeof *slots);
    spill->slots = slots;
    spill->slot_count = more;
    for (size_t i = 0; i < slot_count; i++)
        if (before[i].memory) slots[slot_of(spill, before[i].memory)] = before[i];
    if (before) allocator->release(allocator->user, before);
    return 1;
}

static void put(at_spill *spill, block added) {
    spill->slots[slot_of(spill, added.memory)] = added;
    spill->count++;
    *(added.descriptor == IN_MEMORY ? &spill->in_memory : &spill->in_files) += added.bytes;
}

/* Those behind it that were put off move up, so that they are still found. */
static void forget(at_spill *spill, block *gone) {
    *(gone->descriptor == IN_MEMORY ? &spill->in_memory : &spill->in_files) -= gone->bytes;
    gone->memory = NULL;
    spill->count--;
    size_t mask = spill->slot_count - 1, slot = (size_t)(gone - spill->slots);
    for (slot = (slot + 1) & mask; spill->slots[slot].memory; slot = (slot + 1) & mask) {
        block moved = spill->slots[slot];
        spill->slots[slot].memory = NULL;
        spill->slots[slot_of(spill, moved.memory)] = moved;
    }
}

/* ---- the resident size ---- */

static void trim(at_spill *spill) {
    for (size_t i = 0; i < spill->slot_count; i++) {
        const block *one = &spill->slots[i];
        if (one->memory && one->descriptor != IN_MEMORY) madvise(one->memory, one->bytes, MADV_DONTNEED);
    }
}

void at_spill_trim(at_spill *spill) {
    pthread_mutex_lock(&spill->mutex);
    trim(spill);
    pthread_mutex_unlock(&spill->mutex);
}

/* Bytes of mapped files that are resident, those of the program among them; SIZE_MAX: the system does not
 * say. */
static size_t resident_files(int statistics, size_t page) {
    char text[128];
    ssize_t length = statistics >= 0 ? pread(statistics, text, sizeof text - 1, 0) : -1;
    unsigned long long pages;
    text[length > 0 ? length : 0] = 0;
    return sscanf(text, "%*u %*u %llu", &pages) == 1 ? (size_t)pages * page : SIZE_MAX;
}

/* Looks so often that what can be read from the system's cache in between is a part of the window. */
static struct timespec next_look(const at_spill *spill) {
    const double bytes_a_second = 4e9, least = 1e-3, most = 5e-3;
    double seconds = (double)spill->window / bytes_a_second;
    seconds = seconds < least ? least : seconds > most ? most : seconds;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_nsec += (long)(seconds * 1e9);
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

static void *watch(void *argument) {
    at_spill *spill = argument;
    int statistics = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    pthread_mutex_lock(&spill->mutex);
    while (!spill->stop) {
        size_t resident = spill->in_files ? resident_files(statistics, spill->page) : 0;
        if (resident > spill->window && resident - spill->window > spill->others) {
            trim(spill);
            resident = resident_files(statistics, spill->page);
            spill->others = resident < SIZE_MAX ? resident : 0;
        }
        struct timespec until = next_look(spill);
        while (!spill->stop && pthread_cond_timedwait(&spill->stopping, &spill->mutex, &until) == 0) continue;
    }
    pthread_mutex_unlock(&spill->mutex);
    if (statistics >= 0) close(statistics);
    return NULL;
}

/* Begins with the first file. Signals are for the threads of the program. */
static int start_watching(at_spill *spill) {
    sigset_t all, before;
    if (spill->watched) return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&spill->watcher, NULL, watch, spill);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    spill->watched = error == 0;
    return error;
}

/* ---- files ---- */

static size_t whole_pages(const at_spill *spill, size_t bytes) {
    return (bytes + spill->page - 1) / spill->page * spill->page;
}

/* Not in the place of a standard descriptor that is closed. */
static int above_standard(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(descriptor);
    errno = error;
    return moved;
}

/* A file without a name; -1 with errno. */
static int open_file(const at_spill *spill) {
    char path[FOLDER_BYTES + 32];
#if defined(O_TMPFILE)
    int made = open(spill->folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (made >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
        return above_standard(made);
#endif
    snprintf(path, sizeof path, "%s/attn-data-XXXXXX", spill->folder);
    int named = mkostemp(path, O_CLOEXEC);
    if (named >= 0) unlink(path);
    return above_standard(named);
}

/* Where the file system cannot reserve, zeros take the room. */
static int write_zeros(int descriptor, size_t from, size_t end) {
    static const char zeros[1 << 16];
    while (from < end) {
        size_t part = end - from < sizeof zeros ? end - from : sizeof zeros;
        ssize_t done = pwrite(descriptor, zeros, part, (off_t)from);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        from += (size_t)done;
    }
    return 0;
}

/* 0, or the error: makes a file `end` bytes long, all of which the disk has room for. A file larger than the
 * process may write would be a signal. */
static int reserve(int descriptor, size_t from, size_t end) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && end > most.rlim_cur)
        return EFBIG;
    int error;
    do error = posix_fallocate(descriptor, (off_t)from, (off_t)(end - from));
    while (error == EINTR);
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS) error = write_zeros(descriptor, from, end);
    return error;
}

/* NULL, always. */
static void *no_file(attn_context *context, const at_spill *spill, size_t bytes, const char *what,
                     int error) {
    size_t length = strlen(spill->folder);
    const char *folder = length > 160 ? spill->folder + length - 160 : spill->folder;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        at_fail(context, ATTN_OUT_OF_MEMORY,
                "%s: no room for %zu bytes of data beyond the bound of attn_context_set_memory (%s)%s; make "
                "room, name another folder in TMPDIR, or allow more memory",
                folder, bytes, what, error == EFBIG ? ": files may not be that large" : "");
    else if (error == EMFILE || error == ENFILE)
        at_fail(
            context, ATTN_SYSTEM_ERROR,
            "%s: too many open files for data beyond the bound of attn_context_set_memory (%s); raise the "
            "limit (ulimit -n), use fewer threads, or allow more memory",
            folder, what);
    else
        at_fail_system(context, spill->folder, "used for data beyond the bound of attn_context_set_memory",
                       error);
    return NULL;
}

/* A mapping of a file that has `from` bytes and gets `end`; NULL with errno. */
static unsigned char *map(int descriptor, size_t from, size_t end) {
    int error = reserve(descriptor, from, end);
    void *memory = error ? MAP_FAILED : mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (error) errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

/* A new block in a file. */
static attn_status take_file(attn_context *context, size_t bytes, block *taken, const char *what) {
    at_spill *spill = context->spill;
    taken->bytes = whole_pages(spill, bytes);
    taken->descriptor = open_file(spill);
    taken->memory = taken->descriptor >= 0 ? map(taken->descriptor, 0, taken->bytes) : NULL;
    if (taken->memory) return ATTN_OK;
    int error = errno;
    if (taken->descriptor >= 0) close(taken->descriptor);
    no_file(context, spill, taken->bytes, what, error);
    return ATTN_OUT_OF_MEMORY;
}

/* A copy of what is in memory: written, not copied into the mapping, so that it is not resident twice. */
static int fill_file(const block *taken, const unsigned char *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t part = pwrite(taken->descriptor, from + done, bytes - done, (off_t)done);
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return errno;
        done += (size_t)part;
    }
    return 0;
}

static void let_go(attn_context *context, const block *gone) {
    if (gone->descriptor == IN_MEMORY) {
        context->allocator.release(context->allocator.user, gone->memory);
        return;
    }
    munmap(gone->memory, gone->bytes);
    if (gone->descriptor >= 0) close(gone->descriptor);
}

/* ---- taking, growing, releasing ---- */

static attn_status no_memory(attn_context *context, size_t bytes, const char *what) {
    return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
}

/* Adds what was taken to the store, or lets go of it. */
static attn_status keep(attn_context *context, const block *taken, const char *what) {
    at_spill *spill = context->spill;
    pthread_mutex_lock(&spill->mutex);
    int error = taken->descriptor == IN_MEMORY ? 0 : start_watching(spill);
    int kept = !error && make_slots(context, spill);
    if (kept) put(spill, *taken);
    pthread_mutex_unlock(&spill->mutex);
    if (kept) return ATTN_OK;
    let_go(context, taken);
    if (!error) return no_memory(context, taken->bytes, what);
    no_file(context, spill, taken->bytes, what, error);
    return ATTN_OUT_OF_MEMORY;
}

/* Whether a block of so many bytes may be in memory. It is taken outside of the lock: threads that take
 * blocks at the same time may pass the bound together, by less than a block each. */
static int fits_memory(at_spill *spill, size_t bytes) {
    pthread_mutex_lock(&spill->mutex);
    int fits = bytes <= spill->most_in_memory && spill->in_memory <= spill->most_in_memory - bytes;
    pthread_mutex_unlock(&spill->mutex);
    return fits;
}

static attn_status take_memory(attn_context *context, size_t bytes, block *taken, const char *what) {
    *taken =
        (block){context->allocator.allocate(context->allocator.user, bytes, AT_ALIGNMENT), bytes, IN_MEMORY};
    return taken->memory ? ATTN_OK : no_memory(context, bytes, what);
}

void *at_spill_take(attn_context *context, size_t bytes, int *cleared, const char *what) {
    block taken;
    *cleared = !fits_memory(context->spill, bytes);
    attn_status status =
        *cleared ? take_file(context, bytes, &taken, what) : take_memory(context, bytes, &taken, what);
    if (status == ATTN_OK && *cleared) { /* it does not grow: descriptors are few */
        close(taken.descriptor);
        taken.descriptor = CLOSED;
    }
    if (status == ATTN_OK) status = keep(context, &taken, what);
    return status == ATTN_OK ? taken.memory : NULL;
}

int at_spill_release(attn_context *context, void *memory) {
    at_spill *spill = context->spill;
    pthread_mutex_lock(&spill->mutex);
    block *found = find(spill, memory), gone = {NULL, 0, IN_MEMORY};
    if (found) {
        gone = *found;
        forget(spill, found);
        if (gone.descriptor != IN_MEMORY) let_go(context, &gone);
    }
    pthread_mutex_unlock(&spill->mutex);
    if (found && gone.descriptor == IN_MEMORY) let_go(context, &gone);
    return found != NULL;
}

/* A longer mapping of the same file. */
static void *extend(attn_context *context, const block *old, size_t needed, size_t *bytes, const char *what) {
    at_spill *spill = context->spill;
    size_t wanted = old->bytes + spill->step;
    block grown = {NULL, whole_pages(spill, wanted > needed ? wanted : needed), old->descriptor};
    grown.memory = map(old->descriptor, old->bytes, grown.bytes);
    if (!grown.memory) return no_file(context, spill, grown.bytes - old->bytes, what, errno);
    pthread_mutex_lock(&spill->mutex);
    forget(spill, find(spill, old->memory));
    munmap(old->memory, old->bytes);
    put(spill, grown); /* in the slot that has become free */
    pthread_mutex_unlock(&spill->mutex);
    *bytes = grown.bytes;
    return grown.memory;
}

void *at_spill_grow(attn_context *context, void *old, size_t used, size_t needed, size_t larger,
                    size_t *bytes, const char *what) {
    at_spill *spill = context->spill;
    block before = {NULL, 0, IN_MEMORY}, taken;
    pthread_mutex_lock(&spill->mutex);
    const block *found = find(spill, old);
    if (found) before = *found;
    pthread_mutex_unlock(&spill->mutex);
    if (before.descriptor >= 0) return extend(context, &before, needed, bytes, what);

    int memory = before.descriptor == IN_MEMORY && fits_memory(spill, larger);
    attn_status status = memory ? take_memory(context, larger, &taken, what)
                                : take_file(context, needed + spill->step, &taken, what);
    if (status != ATTN_OK) return NULL;
    int error = 0;
    if (memory && used)
        memcpy(taken.memory, old, used);
    else if (!memory)
        error = fill_file(&taken, old, used);
    if (error) {
        let_go(context, &taken);
        return no_file(context, spill, taken.bytes, what, error);
    }
    if (keep(context, &taken, what) != ATTN_OK) return NULL;
    at_release(context, old);
    *bytes = taken.bytes;
    return taken.memory;
}

/* ---- the store ---- */

/* Whether files of a folder are in memory themselves. */
static int is_memory(const char *folder) {
#if defined(__linux__)
    const uint32_t tmpfs = 0x01021994u, ramfs = 0x858458f6u;
    struct statfs found;
    return statfs(folder, &found) == 0 &&
           ((uint32_t)found.f_type == tmpfs || (uint32_t)found.f_type == ramfs);
#else
    (void)folder;
    return 0;
#endif
}

static const char *usual_folder(void) {
    const char *named = getenv("TMPDIR");
    if (named && *named) return named;
    return access("/var/tmp", W_OK) == 0 && !is_memory("/var/tmp") ? "/var/tmp" : "/tmp";
}

static size_t within(size_t value, size_t least, size_t most) {
    return value < least ? least : value > most ? most : value;
}

size_t at_spill_least(const at_spill *spill) { return spill->least; }

static int make_locks(at_spill *spill) {
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&spill->mutex, NULL) != 0) return 0;
    if (pthread_condattr_init(&monotonic) == 0) {
        int made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(&spill->stopping, &monotonic) == 0;
        pthread_condattr_destroy(&monotonic);
        if (made) return 1;
    }
    pthread_mutex_destroy(&spill->mutex);
    return 0;
}

attn_status at_spill_create(attn_context *context, size_t bound, const char *folder) {
    const char *chosen = folder && *folder ? folder : usual_folder();
    if (strlen(chosen) >= FOLDER_BYTES)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the folder for data beyond the memory has a name of %zu bytes", strlen(chosen));
    at_spill *made = at_allocate(context, 1, sizeof *made, "the store of data");
    if (!made) return ATTN_OUT_OF_MEMORY;
    strcpy(made->folder, chosen);
    made->page = (size_t)sysconf(_SC_PAGESIZE);
    made->window = bound / 8;
    made->most_in_memory = bound / 2;
    made->least = within(bound / 64, LEAST_BLOCK, MOST_LEAST);
    made->step = within(bound / 16, LEAST_STEP, MOST_STEP);
    if (!make_locks(made)) {
        at_release(context, made);
        return at_fail(context, ATTN_SYSTEM_ERROR, "the system refused a lock");
    }
    context->spill = made;
    return ATTN_OK;
}

void at_spill_destroy(attn_context *context) {
    at_spill *spill = context->spill;
    if (!spill) return;
    pthread_mutex_lock(&spill->mutex);
    spill->stop = 1;
    pthread_cond_signal(&spill->stopping);
    pthread_mutex_unlock(&spill->mutex);
    if (spill->watched) pthread_join(spill->watcher, NULL);
    for (size_t i = 0; i < spill->slot_count; i++)
        if (spill->slots[i].memory && spill->slots[i].descriptor != IN_MEMORY)
            let_go(context, &spill->slots[i]);
    pthread_cond_destroy(&spill->stopping);
    pthread_mutex_destroy(&spill->mutex);
    context->spill = NULL;
    at_release(context, spill->slots);
    at_release(context, spill);
}

/* ---- what a program asks ---- */

attn_status attn_context_set_memory(attn_context *context, size_t bytes, const char *folder) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (context->spill || context->whole)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_context_set_memory: the context already has a bound");
    return bytes ? at_spill_create(context, bytes, folder) : ATTN_OK;
}

attn_data_use attn_context_data(const attn_context *context) {
    attn_data_use use = {.folder = ""};
    if (!context || !context->spill) return use;
    at_spill *spill = context->spill;
    pthread_mutex_lock(&spill->mutex);
    use = (attn_data_use){spill->in_memory, spill->in_files, spill->folder};
    pthread_mutex_unlock(&spill->mutex);
    return use;
}
