/* test_base.c: the thread pool, the context, the working memory, the
 * instruction sets, the names.
 */
#define _GNU_SOURCE /* setenv, nanosleep, sched_setaffinity */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include <attn/attn.h>

#include "base/context.h"
#include "base/cpu.h"
#include "base/options.h"
#include "base/parallel.h"
#include "base/random.h"
#include "support/memory.h"

static attn_context_options counting_options(counting_allocator *counter, int threads) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = threads;
    options.allocator = counting_allocator_functions(counter);
    return options;
}

/* ---- a system that refuses threads (the linker sends pthread_create here) ---- */

static int refuse_thread = -1; /* the thread to refuse, from 0; -1: none */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
    if (refuse_thread >= 0 && refuse_thread-- == 0) return 11; /* EAGAIN */
    return __real_pthread_create(thread, attributes, function, argument);
}

static int clear_environment(void **state) {
    (void)state;
    unsetenv("ATTN_THREADS");
    unsetenv("ATTN_ISA");
    refuse_thread = -1;
    return 0;
}

static void rest(long microseconds) {
    const struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

/* ---- the pool ---- */

static const int thread_counts[] = {1, 2, 7};
#define THREAD_COUNTS (sizeof thread_counts / sizeof thread_counts[0])

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

typedef struct count_runs {
    _Atomic unsigned char *runs; /* [tasks] */
    int threads;
    _Atomic int busy[8]; /* workers inside a task */
    _Atomic int faults;  /* a worker out of range, or in two tasks at once */
} count_runs;

static void count_run(void *argument, int64_t task, int worker) {
    count_runs *state = argument;
    if (worker < 0 || worker >= state->threads) {
        atomic_fetch_add(&state->faults, 1);
        return;
    }
    if (atomic_fetch_add(&state->busy[worker], 1) != 0) atomic_fetch_add(&state->faults, 1);
    atomic_fetch_add(&state->runs[task], 1);
    atomic_fetch_sub(&state->busy[worker], 1);
}

static void check_every_task_once(at_pool *pool, int threads, int64_t tasks) {
    count_runs state = {.threads = threads};
    state.runs = calloc((size_t)tasks + 1, sizeof *state.runs);
    assert_non_null(state.runs);
    at_parallel(pool, threads, tasks, count_run, &state);
    assert_int_equal(state.faults, 0);
    for (int64_t task = 0; task < tasks; task++) assert_int_equal(state.runs[task], 1);
    assert_int_equal(state.runs[tasks], 0);
    free((void *)state.runs);
}

static void every_task_runs_once(void **state) {
    (void)state;
    static const int64_t task_counts[] = {0, 1, 2, 3, 6, 7, 8, 100, 10007, 300000};
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, thread_counts[i]);
        for (size_t j = 0; j < sizeof task_counts / sizeof task_counts[0]; j++)
            check_every_task_once(pool, thread_counts[i], task_counts[j]);
        free_pool(&counter, pool);
    }
}

static void fewer_threads_than_the_pool_has(void **state) {
    (void)state;
    counting_allocator counter;
    at_pool *pool = make_pool(&counter, 7);
    for (int repeat = 0; repeat < 200; repeat++)
        for (int threads = 1; threads <= 7; threads++) check_every_task_once(pool, threads, 5 + repeat % 40);
    free_pool(&counter, pool);
}

/* More are asked for than there are: worker numbers stay below the pool's. */
static void more_threads_than_the_pool_has(void **state) {
    (void)state;
    counting_allocator counter;
    at_pool *pool = make_pool(&counter, 2);
    count_runs runs = {.threads = 2};
    runs.runs = calloc(1000, sizeof *runs.runs);
    assert_non_null(runs.runs);
    at_parallel(pool, 100, 1000, count_run, &runs);
    assert_int_equal(runs.faults, 0);
    for (int task = 0; task < 1000; task++) assert_int_equal(runs.runs[task], 1);
    free((void *)runs.runs);
    free_pool(&counter, pool);
}

typedef struct caller_check {
    pthread_t caller;
    bool all_in_caller;
} caller_check;

static void check_caller(void *argument, int64_t task, int worker) {
    (void)task;
    caller_check *check = argument;
    if (!pthread_equal(pthread_self(), check->caller) || worker != 0) check->all_in_caller = false;
}

static void one_task_or_one_thread_stays_in_the_caller(void **state) {
    (void)state;
    counting_allocator counter;
    at_pool *pool = make_pool(&counter, 7);
    caller_check check = {pthread_self(), true};
    for (int repeat = 0; repeat < 100; repeat++) {
        at_parallel(pool, 7, 1, check_caller, &check);
        at_parallel(pool, 1, 50, check_caller, &check);
    }
    assert_true(check.all_in_caller);
    free_pool(&counter, pool);
}

/* Task 0 holds the caller (or whoever has it) until some other thread has run
 * a task: passes only if the work is really shared, from the spinning state
 * and from the sleeping one. */
typedef struct sharing {
    _Atomic int first_worker;
    _Atomic bool shared;
} sharing;

static void wait_for_another(void *argument, int64_t task, int worker) {
    sharing *state = argument;
    if (task > 0) {
        if (worker != atomic_load(&state->first_worker)) atomic_store(&state->shared, true);
        return;
    }
    atomic_store(&state->first_worker, worker);
    for (int turn = 0; turn < 20000 && !atomic_load(&state->shared); turn++) rest(100);
}

static void the_workers_do_work(void **state) {
    (void)state;
    for (size_t i = 1; i < THREAD_COUNTS; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, thread_counts[i]);
        for (int repeat = 0; repeat < 20; repeat++) {
            sharing share = {-1, false};
            if (repeat % 2) rest(500); /* long enough for all workers to fall asleep */
            at_parallel(pool, thread_counts[i], 1000, wait_for_another, &share);
            assert_true(share.shared);
        }
        free_pool(&counter, pool);
    }
}

/* Each task waits for the one before: a chain through all tasks, which only
 * ends if they are handed out in order. */
typedef struct chain {
    at_progress done; /* tasks that are finished */
    int64_t log[2000];
} chain;

static void chain_link(void *argument, int64_t task, int worker) {
    chain *state = argument;
    (void)worker;
    at_progress_wait(&state->done, task);
    state->log[task] = task > 0 ? state->log[task - 1] + task : 0; /* ordered by `done` alone */
    at_progress_raise(&state->done, task + 1);
}

static void tasks_may_wait_for_earlier_ones(void **state) {
    (void)state;
    static chain links;
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, thread_counts[i]);
        for (int repeat = 0; repeat < 20; repeat++) {
            memset(links.log, 0, sizeof links.log);
            at_progress_raise(&links.done, 0);
            at_parallel(pool, thread_counts[i], 2000, chain_link, &links);
            assert_int_equal(links.log[1999], 1999 * 2000 / 2);
        }
        free_pool(&counter, pool);
    }
}

/* Plain memory, written by tasks and read by the caller after the loop, and
 * the other way round before it: ThreadSanitizer watches this one. */
typedef struct squares {
    int64_t factor;
    int64_t result[16];
} squares;

static void square(void *argument, int64_t task, int worker) {
    squares *state = argument;
    (void)worker;
    state->result[task] = state->factor * task;
}

static void thousands_of_small_loops(void **state) {
    (void)state;
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, thread_counts[i]);
        for (int64_t repeat = 0; repeat < 20000; repeat++) {
            squares work = {.factor = repeat};
            int64_t tasks = 2 + repeat % 15;
            if (repeat % 1000 == 0) rest(200);
            at_parallel(pool, thread_counts[i], tasks, square, &work);
            for (int64_t task = 0; task < tasks; task++) assert_int_equal(work.result[task], repeat * task);
        }
        free_pool(&counter, pool);
    }
}

static void dawdle(void *argument, int64_t task, int worker) {
    (void)task;
    if (worker != 0) rest(1000);
    atomic_fetch_add((_Atomic int64_t *)argument, 1);
}

/* The caller is done long before the workers: it has to sleep, and be woken. */
static void the_caller_waits_for_slow_workers(void **state) {
    (void)state;
    for (size_t i = 1; i < THREAD_COUNTS; i++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, thread_counts[i]);
        for (int repeat = 0; repeat < 50; repeat++) {
            _Atomic int64_t finished = 0;
            at_parallel(pool, thread_counts[i], 50, dawdle, (void *)&finished);
            assert_int_equal(finished, 50);
        }
        free_pool(&counter, pool);
    }
}

/* With a core for every thread, no worker runs on the caller's core. The
 * caller is bound to one core after another, so that which one is known. */
typedef struct core_check {
    int caller_core;
    _Atomic int workers_seen;
    _Atomic int workers_on_it;
} core_check;

static void check_core(void *argument, int64_t task, int worker) {
    core_check *check = argument;
    cpu_set_t cores;
    (void)task;
    if (worker == 0) {
        for (int turn = 0; turn < 20000 && atomic_load(&check->workers_seen) == 0; turn++) rest(100);
        return;
    }
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_ISSET(check->caller_core, &cores) ||
        sched_getcpu() == check->caller_core)
        atomic_fetch_add(&check->workers_on_it, 1);
    atomic_fetch_add(&check->workers_seen, 1);
}

static void workers_leave_the_caller_its_core(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    const int threads = CPU_COUNT(&all) < 2 ? 1 : 2; /* one core alone: no worker, nothing to leave */
    counting_allocator counter;
    at_pool *pool = make_pool(&counter, threads);
    for (int core = 0, bound = 0; core < CPU_SETSIZE && bound < 8; core++) {
        if (!CPU_ISSET(core, &all)) continue;
        bound++;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        core_check check = {.caller_core = core};
        at_parallel(pool, threads, 100, check_core, &check);
        assert_int_equal(check.workers_on_it, 0);
        assert_int_equal(check.workers_seen > 0, threads > 1);
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    free_pool(&counter, pool);
}

static void pools_come_and_go(void **state) {
    (void)state;
    for (int repeat = 0; repeat < 200; repeat++) {
        counting_allocator counter;
        at_pool *pool = make_pool(&counter, 1 + repeat % 7);
        if (repeat % 3) check_every_task_once(pool, 1 + repeat % 7, repeat);
        if (repeat % 50 == 0) rest(500);
        free_pool(&counter, pool);
    }
}

/* ---- making a context ---- */

static void expect_failure(const attn_context_options *options, attn_status status, const char *text) {
    attn_context *const untouched = (attn_context *)(void *)&status;
    attn_context *context = untouched;
    assert_int_equal(attn_context_create(options, &context), status);
    assert_ptr_equal(context, untouched);
    assert_string_equal(attn_last_create_error(), text);
}

static void expect_threads(const attn_context_options *options, int threads) {
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(options, &context), ATTN_OK);
    assert_int_equal(attn_context_threads(context), threads);
    attn_context_destroy(context);
}

static void a_context_has_defaults(void **state) {
    (void)state;
    attn_context_options options;
    attn_context_options_init(&options);
    assert_int_equal(options.size, sizeof options);
    assert_int_equal(options.threads, 0);
    assert_null(options.isa);
    assert_null(options.allocator.allocate);

    attn_context *context = NULL;
    assert_int_equal(attn_context_create(NULL, &context), ATTN_OK);
    assert_int_equal(attn_context_threads(context), at_cpu_count());
    assert_string_equal(attn_context_isa(context), at_isa_name(at_isa_best()));
    assert_string_equal(attn_context_error(context), "");
    assert_int_equal(attn_context_memory(context), 0);
    attn_context_destroy(context);
    attn_context_destroy(NULL);
}

static void wrong_options_are_named(void **state) {
    (void)state;
    assert_int_equal(attn_context_create(NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_last_create_error(), "context is NULL: there is nowhere to put the new context");

    counting_allocator counter = {0};
    attn_context_options options;
    attn_context_options_init(&options);
    char expected[128];
    options.size = 8;
    snprintf(expected, sizeof expected, "options.size is 8, not %zu: call attn_context_options_init() first",
             sizeof options);
    expect_failure(&options, ATTN_INVALID_ARGUMENT, expected);

    attn_context_options_init(&options);
    options.threads = -1;
    expect_failure(&options, ATTN_INVALID_ARGUMENT, "threads is -1, but must be 0 (choose) or in 1..1024");
    options.threads = 1025;
    expect_failure(&options, ATTN_INVALID_ARGUMENT, "threads is 1025, but must be 0 (choose) or in 1..1024");

    attn_context_options_init(&options);
    options.allocator.allocate = counting_allocator_functions(&counter).allocate;
    expect_failure(&options, ATTN_INVALID_ARGUMENT,
                   "allocator.release is NULL, but allocator.allocate is not");
}

static void threads_come_from_the_environment(void **state) {
    (void)state;
    static const char *const refused[] = {"0",  "1025", "abc", "3x",
                                          "-1", " 3",   "1e2", "99999999999999999999"};
    attn_context_options options;
    attn_context_options_init(&options);
    setenv("ATTN_THREADS", "3", 1);
    expect_threads(NULL, 3);
    expect_threads(&options, 3);
    options.threads = 2;
    expect_threads(&options, 2);
    setenv("ATTN_THREADS", "", 1);
    expect_threads(NULL, at_cpu_count());
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char expected[128];
        setenv("ATTN_THREADS", refused[i], 1);
        snprintf(expected, sizeof expected, "ATTN_THREADS=%s is not a number in 1..1024", refused[i]);
        expect_failure(NULL, ATTN_INVALID_ARGUMENT, expected);
        expect_threads(&options, 2); /* the option makes the variable irrelevant */
    }
}

static void expect_isa(const attn_context_options *options, const char *name) {
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(options, &context), ATTN_OK);
    assert_string_equal(attn_context_isa(context), name);
    attn_context_destroy(context);
}

/* "scalar, avx2, ...": the available ones, as messages list them. */
static void list_available(char *text, size_t bytes) {
    text[0] = '\0';
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (at_isa_available((at_isa)isa)) {
            if (text[0]) strncat(text, ", ", bytes - strlen(text) - 1);
            strncat(text, at_isa_name((at_isa)isa), bytes - strlen(text) - 1);
        }
    }
}

static void the_instruction_set_can_be_chosen(void **state) {
    (void)state;
    char available[64], expected[160];
    list_available(available, sizeof available);
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        const char *name = at_isa_name((at_isa)isa);
        attn_context_options options;
        attn_context_options_init(&options);
        options.isa = name;
        setenv("ATTN_ISA", name, 1);
        if (at_isa_available((at_isa)isa)) {
            expect_isa(NULL, name);
            expect_isa(&options, name);
            continue;
        }
        snprintf(expected, sizeof expected,
                 "ATTN_ISA=%s: not available in this build or on this machine; available: %s", name,
                 available);
        expect_failure(NULL, ATTN_UNSUPPORTED, expected);
        snprintf(expected, sizeof expected,
                 "isa %s: not available in this build or on this machine; available: %s", name, available);
        expect_failure(&options, ATTN_UNSUPPORTED, expected);
    }
    setenv("ATTN_ISA", "avx9", 1);
    snprintf(expected, sizeof expected, "ATTN_ISA=avx9 is not one of %s", available);
    expect_failure(NULL, ATTN_UNSUPPORTED, expected);
    attn_context_options options;
    attn_context_options_init(&options);
    options.isa = "scalar";
    expect_isa(&options, "scalar"); /* the option makes the variable irrelevant */
    setenv("ATTN_ISA", "", 1);
    expect_isa(NULL, at_isa_name(at_isa_best()));
}

static void the_machine_has_what_it_should(void **state) {
    (void)state;
    assert_true(at_isa_available(AT_ISA_SCALAR));
    assert_true(at_isa_available(at_isa_best()));
    assert_false(at_isa_available(AT_ISA_COUNT));
    assert_false(at_isa_available(AT_ISA_NEON) && at_isa_available(AT_ISA_AVX2));
    if (at_isa_available(AT_ISA_AVX512)) assert_true(at_isa_available(AT_ISA_AVX2));
    assert_int_equal(at_isa_available(AT_ISA_AVX512), at_isa_available(AT_ISA_AVX512X2));
#if defined(__aarch64__)
    assert_int_equal(at_isa_best(), AT_ISA_NEON);
#elif defined(__x86_64__)
    /* A second opinion: the compiler's own detection (of the CPU and the operating system). */
    assert_int_equal(at_isa_available(AT_ISA_AVX2),
                     __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
    assert_true(at_cpu_count() >= 1);
}

/* EAX of CPUID leaf 1. */
static unsigned cpu_version(unsigned family, unsigned model, unsigned stepping) {
    unsigned low_family = family < 0xf ? family : 0xf;
    return stepping | (model & 0xf) << 4 | low_family << 8 | model >> 4 << 16 | (family - low_family) << 20;
}

static void the_table_of_avx512_follows_the_cpu(void **state) {
    (void)state;
    static const struct {
        const char *vendor, *brand;
        unsigned family, model;
        bool wants;
    } cpus[] = {
        {"GenuineIntel", "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", 6, 0x55, true},
        {"GenuineIntel", "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", 6, 0x55, true},
        {"GenuineIntel", "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 6, 0x55, true},
        {"GenuineIntel", "Intel(R) Xeon(R) Gold 5222 CPU @ 3.80GHz", 6, 0x55, true},
        {"GenuineIntel", "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz", 6, 0x55, false},
        {"GenuineIntel", "Intel(R) Xeon(R) Silver 4210 CPU @ 2.20GHz", 6, 0x55, false},
        {"GenuineIntel", "Intel(R) Xeon(R) Bronze 3204 CPU @ 1.90GHz", 6, 0x55, false},
        {"GenuineIntel", "Intel(R) Xeon(R) CPU @ 2.00GHz", 6, 0x55, true}, /* a name that a host hides */
        {"GenuineIntel", "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", 6, 0x6a, true},
        {"GenuineIntel", "Intel(R) Xeon(R) Platinum 8488C", 6, 0x8f, true},
        {"GenuineIntel", "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.60GHz", 6, 0xcf, true},
        {"GenuineIntel", "Intel(R) Xeon(R) 6975P-C", 6, 0xad, true},
        {"GenuineIntel", "Intel(R) Core(TM) i7-1065G7 CPU @ 1.30GHz", 6, 0x7e, false},
        {"GenuineIntel", "11th Gen Intel(R) Core(TM) i7-1185G7 @ 3.00GHz", 6, 0x8c, false},
        {"GenuineIntel", "11th Gen Intel(R) Core(TM) i9-11900K @ 3.50GHz", 6, 0xa7, false},
        {"GenuineIntel", "a later family", 19, 0x01, false},
        {"AuthenticAMD", "AMD EPYC 9354 32-Core Processor", 25, 0x11, false},
        {"AuthenticAMD", "AMD EPYC 9755 128-Core Processor", 26, 0x02, true},
        {"AuthenticAMD", "AMD EPYC 9965 192-Core Processor", 26, 0x11, true},
        {"AuthenticAMD", "AMD Ryzen 9 9950X 16-Core Processor", 26, 0x44, true},
        {"AuthenticAMD", "AMD Ryzen AI 9 HX 370", 26, 0x24, false},
        {"AuthenticAMD", "a later family", 27, 0x02, false},
        {"AuthenticAMD", "", 6, 0x6a, false},
        {"", "", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        unsigned version = cpu_version(cpus[i].family, cpus[i].model, 4);
        if (at_cpu_wants_avx512x2(cpus[i].vendor, version, cpus[i].brand, false) != cpus[i].wants)
            fail_msg("the other table for %s, model %#x", cpus[i].brand, cpus[i].model);
    }
    const char *hidden = "Intel(R) Xeon(R) Processor"; /* of a host that hides the model, but not AMX */
    assert_true(at_cpu_wants_avx512x2("GenuineIntel", cpu_version(6, 0xa7, 1), hidden, true));
    assert_true(at_cpu_wants_avx512x2("GenuineIntel", cpu_version(19, 0x01, 0), "a later family", true));
    assert_false(at_cpu_wants_avx512x2("AuthenticAMD", cpu_version(25, 0x11, 1), "not Intel", true));
}

static void create_survives_every_refused_allocation(void **state) {
    (void)state;
    for (int fail_at = 1;; fail_at++) {
        counting_allocator counter = {.fail_at = fail_at};
        attn_context_options options = counting_options(&counter, 3);
        attn_context *const untouched = (attn_context *)(void *)&counter;
        attn_context *context = untouched;
        attn_status status = attn_context_create(&options, &context);
        if (status == ATTN_OK) {
            assert_int_equal(counter.allocations, fail_at - 1); /* every one of them was refused once */
            assert_true(counter.allocations >= 2);              /* the context and the pool at least */
            attn_context_destroy(context);
            assert_int_equal(counter.live, 0);
            return;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_ptr_equal(context, untouched);
        assert_int_equal(counter.live, 0);
        assert_int_equal(strncmp(attn_last_create_error(), "no memory for a ", 16), 0);
    }
}

static void create_survives_every_refused_thread(void **state) {
    (void)state;
    for (int refused = 0; refused < 6; refused++) {
        counting_allocator counter = {0};
        attn_context_options options = counting_options(&counter, 7);
        refuse_thread = refused;
        expect_failure(&options, ATTN_SYSTEM_ERROR, "the system refused a pool of 7 threads");
        assert_int_equal(counter.live, 0);
    }
    refuse_thread = -1;
}

/* ---- the working memory and the error text ---- */

static void working_memory_grows_and_stays(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context_options options = counting_options(&counter, 1);
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    int64_t allocations = counter.allocations;

    assert_int_equal(attn_context_reserve(context, 0), ATTN_OK);
    assert_int_equal(counter.allocations, allocations);
    assert_int_equal(attn_context_reserve(context, 1000), ATTN_OK);
    assert_int_equal(attn_context_memory(context), 1000);
    assert_int_equal(counter.allocations, allocations + 1);
    assert_int_equal(attn_context_reserve(context, 1000), ATTN_OK); /* what is there is enough */
    assert_int_equal(attn_context_reserve(context, 10), ATTN_OK);
    assert_int_equal(counter.allocations, allocations + 1);
    assert_int_equal(attn_context_memory(context), 1000);

    memset(context->memory, 7, 1000);
    counter.fail_at = 1;
    assert_int_equal(attn_context_reserve(context, 5000), ATTN_OUT_OF_MEMORY);
    assert_string_equal(attn_context_error(context), "no memory for 5000 bytes of working memory");
    assert_int_equal(attn_context_memory(context), 1000);
    assert_int_equal(context->memory[999], 7);

    counter.fail_at = 0;
    assert_int_equal(attn_context_reserve(context, 5000), ATTN_OK);
    assert_int_equal(attn_context_memory(context), 5000);
    assert_int_equal(counter.live, 3); /* context, pool, one block */
    assert_string_equal(attn_context_error(context), "no memory for 5000 bytes of working memory");
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
    assert_int_equal(attn_context_reserve(NULL, 1), ATTN_INVALID_ARGUMENT);
}

static void the_default_allocator_refuses_the_impossible(void **state) {
    (void)state;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(NULL, &context), ATTN_OK);
    assert_int_equal(attn_context_reserve(context, 12345), ATTN_OK);
    assert_int_equal((uintptr_t)context->memory % AT_ALIGNMENT, 0);
    assert_int_equal(attn_context_reserve(context, SIZE_MAX - 5), ATTN_OUT_OF_MEMORY);
    assert_int_equal(attn_context_memory(context), 12345);
    attn_context_destroy(context);
}

static void a_layout_is_aligned_and_overflow_sticks(void **state) {
    (void)state;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(NULL, &context), ATTN_OK);
    at_layout layout = {0};
    assert_int_equal(at_layout_add(&layout, 3, 4), 0);
    assert_int_equal(at_layout_add(&layout, 0, 4), 64);
    assert_int_equal(at_layout_add(&layout, 16, 4), 64);
    assert_int_equal(at_layout_add(&layout, 17, 4), 128);
    assert_int_equal(layout.bytes, 256);
    unsigned char *memory = NULL;
    assert_int_equal(at_context_memory(context, &layout, &memory), ATTN_OK);
    assert_ptr_equal(memory, context->memory);
    memset(memory, 1, layout.bytes);

    static const struct {
        int64_t count;
        size_t element_bytes;
    } too_much[] = {{INT64_MAX, 4}, {-1, 1}, {INT64_MAX / 2 + 1, 4}, {1, SIZE_MAX}, {4, SIZE_MAX / 4}};
    for (size_t i = 0; i < sizeof too_much / sizeof too_much[0]; i++) {
        at_layout huge = {0};
        at_layout_add(&huge, 1, 4);
        at_layout_add(&huge, too_much[i].count, too_much[i].element_bytes);
        at_layout_add(&huge, 1, 4);
        assert_true(huge.overflow);
        unsigned char *untouched = memory;
        assert_int_equal(at_context_memory(context, &huge, &untouched), ATTN_OVERFLOW);
        assert_ptr_equal(untouched, memory);
        assert_string_equal(attn_context_error(context),
                            "the working memory of this call does not fit a size_t");
    }
    at_layout brim = {0}; /* the last whole block before the end */
    at_layout_add(&brim, 1, SIZE_MAX - 63);
    assert_false(brim.overflow);
    at_layout_add(&brim, 1, 1);
    assert_true(brim.overflow);
    attn_context_destroy(context);
}

static void an_error_text_is_kept_and_cut(void **state) {
    (void)state;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(NULL, &context), ATTN_OK);
    assert_int_equal(at_fail(context, ATTN_SHAPE_MISMATCH, "query has %d rows, key %d", 3, 4),
                     ATTN_SHAPE_MISMATCH);
    assert_string_equal(attn_context_error(context), "query has 3 rows, key 4");
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(at_fail(context, ATTN_UNSUPPORTED, "%s", text), ATTN_UNSUPPORTED);
    assert_int_equal(strlen(attn_context_error(context)), sizeof context->error - 1);
    assert_int_equal(at_fail(NULL, ATTN_INVALID_ARGUMENT, "context is NULL"), ATTN_INVALID_ARGUMENT);
    attn_context_destroy(context);
}

static void *failing_create(void *argument) {
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = -7;
    bool empty_before = attn_last_create_error()[0] == '\0';
    bool failed = attn_context_create(&options, &context) == ATTN_INVALID_ARGUMENT;
    *(bool *)argument = empty_before && failed && strstr(attn_last_create_error(), "-7");
    return NULL;
}

static void create_errors_are_one_a_thread(void **state) {
    (void)state;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = -1;
    expect_failure(&options, ATTN_INVALID_ARGUMENT, "threads is -1, but must be 0 (choose) or in 1..1024");
    pthread_t thread;
    bool as_expected = false;
    assert_int_equal(pthread_create(&thread, NULL, failing_create, &as_expected), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(as_expected);
    assert_string_equal(attn_last_create_error(), "threads is -1, but must be 0 (choose) or in 1..1024");
}

/* ---- names and numbers ---- */

static void statuses_have_pinned_numbers_and_names(void **state) {
    (void)state;
    static const char *const names[] = {
        "ATTN_OK",       "ATTN_INVALID_ARGUMENT", "ATTN_SHAPE_MISMATCH", "ATTN_OUT_OF_MEMORY",
        "ATTN_OVERFLOW", "ATTN_UNSUPPORTED",      "ATTN_SYSTEM_ERROR",   "ATTN_NOT_FINITE"};
    for (int status = 0; status < 8; status++)
        assert_string_equal(attn_status_name((attn_status)status), names[status]);
    assert_string_equal(attn_status_name((attn_status)8), "unknown status");
    assert_int_equal(ATTN_SYSTEM_ERROR, 6);
    assert_int_equal(ATTN_NOT_FINITE, 7);
}

static void the_version_is_that_of_the_header(void **state) {
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR,
             ATTN_VERSION_PATCH);
    assert_string_equal(attn_version(), expected);
}

/* The share of kept weights over 200 rows of 500 keys: within 5 standard
 * deviations of 1 - p, and neighbouring rows agree no more often than chance. */
static void dropout_keeps_the_right_share(void **state) {
    (void)state;
    static const float probabilities[] = {0.0f, 0.1f, 0.5f, 0.9f};
    for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
        const double p = (double)probabilities[i];
        const uint32_t threshold = at_random_threshold(probabilities[i]);
        int64_t kept = 0, agreements = 0;
        for (int64_t query = 0; query < 200; query++) {
            at_row_key row = at_random_row(42, 3, 1, query);
            at_row_key next = at_random_row(42, 3, 1, query + 1);
            for (uint32_t key = 0; key < 500; key++) {
                bool here = at_random_word(row, key) >= threshold;
                kept += here;
                agreements += here == (at_random_word(next, key) >= threshold);
            }
        }
        const double n = 200.0 * 500.0, agree = p * p + (1 - p) * (1 - p);
        const double kept_error = (double)kept - n * (1 - p), agree_error = (double)agreements - n * agree;
        assert_true(kept_error * kept_error <= 25 * n * p * (1 - p));
        assert_true(agree_error * agree_error <= 25 * n * agree * (1 - agree));
    }
}

#define TEST(function) cmocka_unit_test_setup(function, clear_environment)

/* ---- option structs of older and newer callers ---- */

typedef struct old_options {
    size_t size;
    int32_t a, b;
} old_options;

typedef struct now_options {
    size_t size;
    int32_t a, b;
    double c;
} now_options;

typedef struct new_options {
    size_t size;
    int32_t a, b;
    double c, d;
} new_options;

static attn_status take_options(const void *given, now_options *into, char *reason) {
    now_options defaults = {sizeof defaults, 1, 2, 3.0};
    *into = defaults;
    reason[0] = 0;
    return at_options_take("options", "now_options_init", given, AT_FIRST_SIZE(now_options, b), sizeof *into,
                           into, reason);
}

static void option_structs_may_be_older_or_newer(void **state) {
    (void)state;
    char reason[AT_OPTIONS_TEXT];
    now_options taken, now = {sizeof now, 7, 8, 9.0};
    assert_int_equal(take_options(NULL, &taken, reason), ATTN_OK);
    assert_true(taken.a == 1 && taken.c == 3.0);
    assert_int_equal(take_options(&now, &taken, reason), ATTN_OK);
    assert_true(taken.a == 7 && taken.b == 8 && taken.c == 9.0);
    old_options old = {sizeof old, 4, 5};
    assert_int_equal(take_options(&old, &taken, reason), ATTN_OK); /* what it lacks is the default */
    assert_true(taken.a == 4 && taken.b == 5 && taken.c == 3.0);
    assert_int_equal(taken.size, sizeof taken);
    new_options newer = {sizeof newer, 4, 5, 6.0, 0.0};
    assert_int_equal(take_options(&newer, &taken, reason), ATTN_OK); /* it asks for nothing unknown */
    assert_true(taken.c == 6.0);
    assert_int_equal(taken.size, sizeof taken);
    newer.d = 1.0;
    assert_int_equal(take_options(&newer, &taken, reason), ATTN_UNSUPPORTED);
    assert_non_null(strstr(reason, "too old for"));
    static const size_t wrong[] = {0, 8, sizeof old - 1, sizeof now + 5000, SIZE_MAX}; /* no version's */
    for (int i = 0; i < 5; i++) {
        now.size = wrong[i];
        assert_int_equal(take_options(&now, &taken, reason), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(reason, "call now_options_init() first"));
        assert_true(taken.a == 1 && taken.c == 3.0); /* untouched */
    }
}

static void null_is_taken(void **state) {
    (void)state;
    assert_string_equal(attn_context_error(NULL), "context is NULL");
    assert_int_equal(attn_context_threads(NULL), 0);
    assert_string_equal(attn_context_isa(NULL), "");
    assert_int_equal(attn_context_memory(NULL), 0);
    assert_int_equal(attn_graph_rows(NULL) + attn_graph_columns(NULL) + attn_graph_edges(NULL), 0);
    assert_null(attn_graph_row_offsets(NULL));
    assert_null(attn_graph_column_indices(NULL));
    assert_null(attn_graph_edge_numbers(NULL));
    attn_context_options_init(NULL);
    attn_pattern_init(NULL);
    attn_attention_options_init(NULL);
    attn_attention_gradients_init(NULL);
    attn_attention_inputs_init(NULL);
    attn_cross_entropy_options_init(NULL);
    attn_parameter_options_init(NULL);
    attn_optimizer_options_init(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_task_runs_once),
        TEST(fewer_threads_than_the_pool_has),
        TEST(more_threads_than_the_pool_has),
        TEST(one_task_or_one_thread_stays_in_the_caller),
        TEST(the_workers_do_work),
        TEST(tasks_may_wait_for_earlier_ones),
        TEST(thousands_of_small_loops),
        TEST(the_caller_waits_for_slow_workers),
        TEST(workers_leave_the_caller_its_core),
        TEST(pools_come_and_go),
        TEST(a_context_has_defaults),
        TEST(wrong_options_are_named),
        TEST(threads_come_from_the_environment),
        TEST(the_instruction_set_can_be_chosen),
        TEST(the_machine_has_what_it_should),
        TEST(the_table_of_avx512_follows_the_cpu),
        TEST(create_survives_every_refused_allocation),
        TEST(create_survives_every_refused_thread),
        TEST(working_memory_grows_and_stays),
        TEST(the_default_allocator_refuses_the_impossible),
        TEST(a_layout_is_aligned_and_overflow_sticks),
        TEST(an_error_text_is_kept_and_cut),
        TEST(create_errors_are_one_a_thread),
        TEST(statuses_have_pinned_numbers_and_names),
        TEST(the_version_is_that_of_the_header),
        TEST(dropout_keeps_the_right_share),
        TEST(option_structs_may_be_older_or_newer),
        TEST(null_is_taken),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
