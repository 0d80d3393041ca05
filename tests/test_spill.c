/* test_spill.c: blocks of data beyond a bound: where they are, that they keep their contents, grow, go, and
 * what is said when a folder has no room for them.
 */
#define _GNU_SOURCE /* mkdtemp, setenv */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/parts.h"
#include "base/spill.h"
#include "support/memory.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* ---- a system that refuses threads (the linker sends pthread_create here) ---- */

static int refuses_threads;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
    if (refuses_threads) return 11; /* EAGAIN */
    return __real_pthread_create(thread, attributes, function, argument);
}

/* ---- a context with a bound, whose memory is counted ---- */

typedef struct bounded {
    counting_allocator counter;
    attn_context *context;
} bounded;

static attn_context *begin(bounded *now, size_t bytes, const char *folder, int threads) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = threads;
    memset(now, 0, sizeof *now);
    options.allocator = counting_allocator_functions(&now->counter);
    assert_int_equal(attn_context_create(&options, &now->context), ATTN_OK);
    assert_int_equal(attn_context_set_memory(now->context, bytes, folder), ATTN_OK);
    return now->context;
}

/* Everything that was taken is given back. */
static void end(bounded *now) {
    attn_context_destroy(now->context);
    assert_int_equal(now->counter.live, 0);
}

static size_t in_memory(const attn_context *context) { return attn_context_data(context).in_memory; }
static size_t in_files(const attn_context *context) { return attn_context_data(context).in_files; }

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* ---- blocks ---- */

static void blocks_beyond_the_bound(void **state) {
    bounded now;
    attn_context *context = begin(&now, MIB, NULL, 1);
    (void)state;
    char *small = at_allocate(context, 1000, 1, "a small block");
    assert_non_null(small);
    assert_int_equal(in_memory(context), 0);
    char *held = at_allocate(context, 500 * KIB, 1, "a block");
    assert_int_equal(in_memory(context), 500 * KIB);
    assert_int_equal(in_files(context), 0);
    int before = open_descriptors();
    char *beyond = at_allocate(context, 100 * KIB, 1, "a block");
    assert_int_equal(in_memory(context), 500 * KIB);
    assert_int_equal(in_files(context), 100 * KIB);
    assert_true(open_descriptors() <= before + 1); /* the statistics of the process, not the file's own */
    for (int i = 0; i < 100 * KIB; i++) assert_int_equal(beyond[i], 0);
    memset(held, 1, 500 * KIB);
    memset(beyond, 2, 100 * KIB);
    at_spill_trim(context->spill);
    for (int i = 0; i < 100 * KIB; i++) assert_int_equal(beyond[i], 2);
    at_release(context, held);
    assert_int_equal(in_memory(context), 0);
    char *again = at_allocate(context, 100 * KIB, 1, "a block"); /* there is room in memory now */
    assert_int_equal(in_memory(context), 100 * KIB);
    at_release(context, beyond);
    at_release(context, again);
    at_release(context, small);
    assert_int_equal(in_memory(context) + in_files(context), 0);
    end(&now);
}

/* From some bytes through memory into a file, and on; two blocks in turn, so that each is moved. */
static void growing(void **state) {
    enum { COUNT = 3000000 };
    bounded now;
    attn_context *context = begin(&now, MIB, NULL, 1);
    int64_t *one = NULL, one_room = 0, two_room = 0;
    int32_t *two = NULL;
    (void)state;
    for (int64_t i = 0; i < COUNT; i++) {
        assert_int_equal(at_grow(context, &one, &one_room, i + 1, sizeof *one, "numbers"), ATTN_OK);
        assert_int_equal(at_grow(context, &two, &two_room, i + 1, sizeof *two, "numbers"), ATTN_OK);
        one[i] = 7 * i;
        two[i] = (int32_t)(COUNT - i);
        if (i == COUNT / 2) at_spill_trim(context->spill);
    }
    assert_true(in_files(context) >= COUNT * (sizeof *one + sizeof *two));
    assert_true(in_files(context) <= COUNT * (sizeof *one + sizeof *two) + 256 * KIB);
    assert_true(in_memory(context) <= MIB / 2);
    for (int64_t i = 0; i < COUNT; i++) {
        assert_int_equal(one[i], 7 * i);
        assert_int_equal(two[i], COUNT - i);
    }
    at_release(context, one);
    at_release(context, two);
    assert_int_equal(in_memory(context) + in_files(context), 0);
    end(&now);
}

/* A block that was taken as it is can grow, too; and one of before the bound. */
static void growing_what_was_taken(void **state) {
    bounded now;
    attn_context_options options;
    (void)state;
    attn_context_options_init(&options);
    memset(&now, 0, sizeof now);
    options.allocator = counting_allocator_functions(&now.counter);
    assert_int_equal(attn_context_create(&options, &now.context), ATTN_OK);
    attn_context *context = now.context;
    char *early = at_allocate(context, 2 * MIB, 1, "a block");
    memset(early, 3, 2 * MIB);
    assert_int_equal(attn_context_set_memory(context, MIB, NULL), ATTN_OK);
    int64_t early_room = 2 * MIB, late_room = 2 * MIB;
    char *late = at_allocate(context, late_room, 1, "a block");
    memset(late, 4, (size_t)late_room);
    assert_int_equal(at_grow(context, &early, &early_room, 3 * MIB, 1, "a block"), ATTN_OK);
    assert_int_equal(at_grow(context, &late, &late_room, 3 * MIB, 1, "a block"), ATTN_OK);
    assert_true(early_room >= 3 * MIB && late_room >= 3 * MIB);
    for (int i = 0; i < 2 * MIB; i++) {
        assert_int_equal(early[i], 3);
        assert_int_equal(late[i], 4);
    }
    memset(early, 5, (size_t)early_room);
    memset(late, 5, (size_t)late_room);
    at_release(context, early);
    end(&now); /* `late` goes with the context: it is in a file */
}

static long most_resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss; /* in KiB */
}

/* What is written in order leaves the page tables with every step of its growth. */
static void resident_size(void **state) {
    enum { BYTES = 256 * MIB };
    bounded now;
    attn_context *context = begin(&now, 16 * MIB, NULL, 1);
    char *data = NULL;
    int64_t room = 0, sum = 0;
    long before = most_resident();
    (void)state;
    for (int64_t i = 0; i < BYTES; i += 4 * KIB) {
        assert_int_equal(at_grow(context, &data, &room, i + 4 * KIB, 1, "bytes"), ATTN_OK);
        memset(data + i, (int)(i >> 12) & 0xff, 4 * KIB);
    }
    assert_true(most_resident() - before < 64 * KIB);
    for (int64_t i = 0; i < BYTES; i += 4 * KIB) sum += (unsigned char)data[i] == (unsigned char)(i >> 12);
    assert_int_equal(sum, BYTES / (4 * KIB));
    at_release(context, data);
    end(&now);
}

/* ---- threads ---- */

enum { TASKS = 64, TURNS = 40 };

typedef struct shared {
    at_parts *parts;
    unsigned char *blocks[TASKS];
    int failed[TASKS];
} shared;

static void fill_block(void *argument, int64_t task, int worker) {
    shared *work = argument;
    attn_context *part = at_part(work->parts, worker);
    int64_t room = 0, kept_room = 0;
    unsigned char *kept = NULL;
    for (int64_t turn = 1; turn <= TURNS; turn++) {
        int64_t *numbers = NULL;
        work->failed[task] |=
            at_grow(part, &numbers, &room, turn * 3000, sizeof *numbers, "numbers") != ATTN_OK;
        work->failed[task] |= at_grow(part, &kept, &kept_room, turn * 5000, 1, "bytes") != ATTN_OK;
        if (work->failed[task]) return;
        for (int64_t i = 0; i < room; i++) numbers[i] = task * i;
        memset(kept + (turn - 1) * 5000, (int)(task + turn), 5000);
        for (int64_t i = 0; i < room; i++) work->failed[task] |= numbers[i] != task * i;
        at_release(part, numbers);
        room = 0;
    }
    work->blocks[task] = kept;
}

static void threads_share_a_store(void **state) {
    bounded now;
    attn_context *context = begin(&now, 512 * KIB, NULL, 4);
    shared work = {.parts = NULL};
    (void)state;
    assert_int_equal(at_parts_create(context, &work.parts), ATTN_OK);
    at_parallel(context->pool, 4, TASKS, fill_block, &work);
    assert_true(in_files(context) > 0);
    for (int64_t task = 0; task < TASKS; task++) {
        assert_false(work.failed[task]);
        for (int64_t i = 0; i < TURNS * 5000; i++)
            assert_int_equal(work.blocks[task][i], (task + 1 + i / 5000) & 0xff);
        at_release(context, work.blocks[task]); /* made by a part */
    }
    at_parts_destroy(work.parts);
    assert_int_equal(in_memory(context) + in_files(context), 0);
    end(&now);
}

/* ---- what can be wrong ---- */

static void folders(void **state) {
    bounded now;
    char made[] = "/tmp/attn-spill-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(made));
    attn_context *context = begin(&now, 64 * KIB, made, 1);
    assert_string_equal(attn_context_data(context).folder, made);
    char *block = at_allocate(context, MIB, 1, "a block");
    assert_non_null(block);
    assert_int_equal(rmdir(made), 0); /* nothing in it has a name */
    memset(block, 1, MIB);
    assert_null(at_allocate(context, MIB, 1, "a block"));
    assert_non_null(strstr(attn_context_error(context), made));
    assert_non_null(
        strstr(attn_context_error(context), "beyond the bound of attn_context_set_memory: No such file"));
    at_release(context, block);
    end(&now);

    setenv("TMPDIR", "/nowhere/at/all", 1);
    context = begin(&now, 64 * KIB, NULL, 1); /* no error before a file is needed */
    unsetenv("TMPDIR");
    assert_string_equal(attn_context_data(context).folder, "/nowhere/at/all");
    assert_null(at_allocate(context, MIB, 1, "a block"));
    assert_non_null(strstr(attn_context_error(context), "/nowhere/at/all"));
    end(&now);
    context = begin(&now, 64 * KIB, NULL, 1);
    assert_true(!strcmp(attn_context_data(context).folder, "/var/tmp") ||
                !strcmp(attn_context_data(context).folder, "/tmp"));
    end(&now);
}

/* A file that cannot become so large is an error, not a signal; a block that cannot grow is as it was. */
static void no_room(void **state) {
    bounded now;
    attn_context *context = begin(&now, 64 * KIB, NULL, 1);
    struct rlimit before, small;
    char *block = NULL;
    int64_t room = 0;
    (void)state;
    assert_int_equal(at_grow(context, &block, &room, MIB, 1, "bytes"), ATTN_OK);
    memset(block, 6, (size_t)room);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2 * MIB;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int64_t room_before = room;
    size_t held = in_files(context);
    assert_null(at_allocate(context, 3 * MIB, 1, "a block"));
    assert_non_null(strstr(attn_context_error(context),
                           "no room for 3145728 bytes of data beyond the bound of attn_context_set_memory"));
    assert_int_equal(at_grow(context, &block, &room, 3 * MIB, 1, "bytes"), ATTN_OUT_OF_MEMORY);
    assert_non_null(
        strstr(attn_context_error(context), "of data beyond the bound of attn_context_set_memory (bytes)"));
    assert_int_equal(room, room_before);
    assert_int_equal(in_files(context), held);
    for (int64_t i = 0; i < room; i++) assert_int_equal(block[i], 6);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(at_grow(context, &block, &room, 3 * MIB, 1, "bytes"), ATTN_OK);
    assert_int_equal(block[MIB - 1], 6);
    at_release(context, block);
    end(&now);
}

/* At every place that memory can run out, what was there stays. */
static void memory_runs_out(void **state) {
    (void)state;
    for (int fail_at = 1;; fail_at++) {
        bounded now;
        attn_context *context = begin(&now, 256 * KIB, NULL, 1);
        int64_t room = 0, written = 0;
        int32_t *numbers = NULL;
        attn_status status = ATTN_OK;
        now.counter.fail_at = fail_at;
        while (status == ATTN_OK && written < 500000) {
            status = at_grow(context, &numbers, &room, written + 1, sizeof *numbers, "numbers");
            if (status == ATTN_OK) numbers[written] = (int32_t)written;
            written += status == ATTN_OK;
        }
        for (int64_t i = 0; i < written; i++) assert_int_equal(numbers[i], i);
        now.counter.fail_at = 0;
        at_release(context, numbers);
        assert_int_equal(in_memory(context) + in_files(context), 0);
        end(&now);
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
    }
}

static void refused_thread(void **state) {
    bounded now;
    attn_context *context = begin(&now, 64 * KIB, NULL, 1);
    (void)state;
    refuses_threads = 1;
    assert_null(at_allocate(context, MIB, 1, "a block"));
    assert_non_null(strstr(attn_context_error(context),
                           "beyond the bound of attn_context_set_memory: Resource temporarily unavailable"));
    refuses_threads = 0;
    char *block = at_allocate(context, MIB, 1, "a block");
    assert_non_null(block);
    at_release(context, block);
    end(&now);
}

static void arguments(void **state) {
    bounded now;
    static char longest[6000];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    attn_context *context = begin(&now, 0, NULL, 1); /* no bound */
    assert_int_equal(in_memory(context) + in_files(context), 0);
    assert_string_equal(attn_context_data(context).folder, "");
    assert_int_equal(attn_context_set_memory(context, MIB, longest), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "5999 bytes"));
    assert_int_equal(attn_context_set_memory(context, SIZE_MAX, NULL), ATTN_OK);
    assert_int_equal(attn_context_set_memory(context, MIB, NULL), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context), "already has a bound"));
    assert_null(at_allocate(context, INT64_MAX / 2, 8, "too much"));
    end(&now);
    assert_int_equal(attn_context_set_memory(NULL, MIB, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_context_data(NULL).in_files, 0);
    assert_true(attn_machine_memory() > 16 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_beyond_the_bound),
        cmocka_unit_test(growing),
        cmocka_unit_test(growing_what_was_taken),
        cmocka_unit_test(resident_size),
        cmocka_unit_test(threads_share_a_store),
        cmocka_unit_test(folders),
        cmocka_unit_test(no_room),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(refused_thread),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
