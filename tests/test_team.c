/* test_team.c: threads that work at the same time and meet (base/team.h). */
#define _GNU_SOURCE /* nanosleep */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pthread.h>

#include "base/arithmetic.h"
#include "base/team.h"
#include "support/check.h"
#include "support/memory.h"

enum { MOST = 7, TURNS = 50 };

static void rest(long microseconds) {
    const struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

/* ---- a machine with so many cores, and a system that starts threads late (the linker sends these here) ----
 */

static int cores = MOST;
static int start_late;

int __wrap_at_cpu_count(void);
int __wrap_at_cpu_count(void) { return cores; }

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

typedef struct late_start {
    void *(*function)(void *);
    void *argument;
} late_start;

static void *start_after_a_while(void *argument) {
    late_start start = *(late_start *)argument;
    free(argument);
    rest(100000);
    return start.function(start.argument);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
    if (!start_late) return __real_pthread_create(thread, attributes, function, argument);
    late_start *start = malloc(sizeof *start);
    if (!start) return 11; /* EAGAIN */
    *start = (late_start){function, argument};
    return __real_pthread_create(thread, attributes, start_after_a_while, start);
}

static at_pool *make_pool(counting_allocator *counter, int threads) {
    *counter = (counting_allocator){0};
    const attn_allocator allocator = counting_allocator_functions(counter);
    at_pool *pool = NULL;
    assert_int_equal(at_pool_create(&allocator, threads, &pool), ATTN_OK);
    return pool;
}

static void free_pool(counting_allocator *counter, at_pool *pool) {
    at_pool_destroy(pool);
    assert_int_equal(counter->live, 0);
}

/* ---- what members do ---- */

typedef struct work {
    at_meeting meetings[MOST];
    int written[2][MOST]; /* by turns: plain memory that others read after a meeting */
    int members[MOST];    /* what each was told; 0: it did not run */
    int turns[MOST];      /* meetings until they parted, or all */
    uint64_t mode[MOST];
    int slow; /* member 1 comes late to every meeting */
    int stay; /* as long as they are, losses do not count */
    _Atomic int runs, faults;
} work;

static void meet_often(void *argument, int member, int members) {
    work *w = argument;
    atomic_fetch_add(&w->runs, 1);
    w->members[member] = members;
    w->mode[member] = at_arithmetic_get() & ~UINT64_C(0x3f); /* without what has been rounded so far */
    for (int turn = 1; turn <= TURNS; turn++) {
        w->written[turn % 2][member] = 100 * turn + member;
        if (w->slow && member == 1) rest(3000);
        if (w->stay) w->meetings[member].lost = 0.0;
        w->turns[member] = turn;
        int together = at_meet(w->meetings, member, members);
        for (int other = 0; other < members; other++) {
            if (w->written[turn % 2][other] != 100 * turn + other) atomic_fetch_add(&w->faults, 1);
        }
        if (!together) return;
    }
}

/* Member 0's number of members; all were told the same and ran once. */
static int run_work(at_pool *pool, int threads, work *w) {
    at_run_team(pool, threads, meet_often, w);
    int members = w->members[0];
    assert_in_range(members, 1, threads);
    assert_int_equal(w->runs, members);
    assert_int_equal(w->faults, 0);
    for (int m = 0; m < MOST; m++) {
        assert_int_equal(w->members[m], m < members ? members : 0);
        if (m >= members) continue;
        assert_int_equal(w->turns[m], w->turns[0]);
        assert_int_equal(w->mode[m], AT_ARITHMETIC_OF_KERNELS);
    }
    return members;
}

/* Awake or asleep before; a thread may be late on a busy machine, but not every time. */
static void members_see_what_others_wrote(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 7};
    cores = MOST;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, threads[i]);
        uint64_t before = at_arithmetic_get();
        int most = 0;
        for (int repeat = 0; repeat < 20 || (most < threads[i] && repeat < 2000); repeat++) {
            work w = {.stay = 1};
            if (repeat % 4 == 3) rest(500);
            int members = run_work(pool, threads[i], &w);
            if (members > most) most = members;
            assert_int_equal(w.turns[0], TURNS);
        }
        assert_int_equal(most, threads[i]);
        assert_true(at_arithmetic_get() == before);
        free_pool(&counter, pool);
    }
}

static void fewer_than_the_pool_has(void **state) {
    (void)state;
    counting_allocator counter;
    cores = MOST;
    at_pool *pool = make_pool(&counter, MOST);
    for (int threads = 1; threads <= MOST; threads++) {
        work w = {.stay = 1};
        run_work(pool, threads, &w);
    }
    free_pool(&counter, pool);
}

static void without_a_core_for_each_the_caller_is_alone(void **state) {
    (void)state;
    counting_allocator counter;
    cores = 2;
    at_pool *pool = make_pool(&counter, 3);
    work w = {.stay = 1};
    assert_int_equal(run_work(pool, 2, &w), 1);
    assert_int_equal(w.turns[0], TURNS);
    free_pool(&counter, pool);
}

/* Nobody waits for a thread that does not run, and when it comes there is nothing to do for it. */
static void a_late_thread_is_no_member(void **state) {
    (void)state;
    counting_allocator counter;
    cores = MOST;
    start_late = 1;
    at_pool *pool = make_pool(&counter, 2);
    start_late = 0;
    for (int repeat = 0; repeat < 20; repeat++) {
        work w = {.stay = 1};
        assert_int_equal(run_work(pool, 2, &w), 1);
    }
    rest(200000);
    int came = 0;
    for (int repeat = 0; repeat < 2000 && !came; repeat++) {
        work w = {.stay = 1};
        came = run_work(pool, 2, &w) == 2;
    }
    assert_true(came);
    free_pool(&counter, pool);
}

/* Who waits more than they work parts, all at the same meeting. */
static void who_loses_time_parts(void **state) {
    (void)state;
    cores = MOST;
    for (int threads = 2; threads <= 3; threads++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, threads);
        int parted = 0;
        for (int repeat = 0; repeat < 2000 && parted < 3; repeat++) {
            work w = {.slow = 1};
            /* Where the caller itself is kept from its core, the time together grows as its losses do. */
            if (run_work(pool, threads, &w) == 1 || w.turns[0] == TURNS) continue;
            assert_in_range(w.turns[0], 2, TURNS - 1);
            parted++;
        }
        assert_int_equal(parted, 3);
        free_pool(&counter, pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_see_what_others_wrote),
        cmocka_unit_test(fewer_than_the_pool_has),
        cmocka_unit_test(without_a_core_for_each_the_caller_is_alone),
        cmocka_unit_test(a_late_thread_is_no_member),
        cmocka_unit_test(who_loses_time_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
