/* parallel.c: the thread pool.
 *
 * All that threads agree on is one 64-bit word, the gate:
 *
 *     bits 32..63  generation  counts the loops that were started
 *     bits 16..31  limit       threads 0 .. limit-1 may enter; 0: closed
 *     bit  15      asleep      the caller sleeps until the loop is empty
 *     bits  0..14  inside      workers that have entered and not yet left
 *
 * The caller writes the loop down, opens the gate, works on it as thread 0,
 * closes the gate and waits until nobody is inside. A worker enters by
 * compare-and-swap, so it reads a loop only while that loop cannot change,
 * and a worker that wakes too late finds the gate closed and goes back to
 * waiting: nobody ever waits for a thread that has not begun to work.
 *
 * Waiting is a spin of some hundred microseconds, the distance of two loops
 * in one operator, and then a sleep on a condition variable. With more threads
 * than cores a spinning thread holds up the one that it waits for: there the
 * spin gives the core away at every turn, and is short.
 *
 * Linux likes to wake a thread on the core of the one that wakes it, also when
 * another core is idle (it does so on small machines under load), and there it
 * would share the core with the caller and gain nothing. So, as long as there
 * is a core for every thread, workers may run on all cores of the process but
 * the caller's. They are not bound any further; when the caller moves to
 * another core, so does the exception.
 */
#define _GNU_SOURCE /* sched_getcpu, pthread_setaffinity_np */

#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/arithmetic.h"
#include "base/cpu.h"

#define CACHE_LINE 64
#define INSIDE_MASK ((uint64_t)0x7fff)
#define CALLER_ASLEEP ((uint64_t)0x8000)
#define LIMIT_SHIFT 16
#define LIMIT_MASK ((uint64_t)0xffff << LIMIT_SHIFT)
#define GENERATION_SHIFT 32

enum {
    SPIN_NANOSECONDS = 200000,       /* with a core for every thread */
    CROWDED_SPIN_NANOSECONDS = 4000, /* with more threads than cores */
    MEETING_NANOSECONDS = 100000,    /* of at_progress_spin */
    PAUSES_PER_TURN = 16             /* between two looks at the clock */
};

#if defined(__linux__)
typedef struct core_set {
    cpu_set_t set[8]; /* room for 8192 cores: one cpu_set_t stops at 1024 */
} core_set;
#else
typedef struct core_set {
    int none;
} core_set;
#endif

typedef struct worker {
    alignas(CACHE_LINE) at_pool *pool;
    int index; /* 1 .. threads-1; 0 is the caller */
    pthread_t thread;
    pthread_cond_t wake;
    atomic_bool asleep; /* on `wake`; changed with the pool's mutex held */
    int avoided_core;   /* where it may not run; -1: nowhere. The caller's to read and write */
} worker;

struct at_pool {
    alignas(CACHE_LINE) _Atomic uint64_t gate;
    alignas(CACHE_LINE) _Atomic int64_t next; /* the next task to hand out */

    alignas(CACHE_LINE) at_task_function function; /* the loop; written while the gate is closed */
    void *argument;
    int64_t tasks;
    bool computes; /* in the kernels' mode of arithmetic */

    attn_allocator allocator;
    int threads;
    int started;      /* workers that run: threads-1 once the pool is made */
    bool crowded;     /* more threads than cores */
    core_set allowed; /* the cores of the process when the pool was made */
    atomic_bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t empty; /* the caller's: the last worker has left */
    worker workers[];     /* [threads - 1] */
};

static inline void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` does nothing on most cores; this waits a little */
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Between two looks at the gate: a moment's pause, or the core given away. */
static void spin_turn(const at_pool *pool) {
    if (pool->crowded)
        sched_yield();
    else
        for (int i = 0; i < PAUSES_PER_TURN; i++) pause_core();
}

static int64_t spin_limit(const at_pool *pool) {
    return nanoseconds() + (pool->crowded ? CROWDED_SPIN_NANOSECONDS : SPIN_NANOSECONDS);
}

/* May worker `index`, which was last in loop `seen`, enter now? */
static bool gate_open(uint64_t gate, int index, uint32_t seen) {
    return (uint64_t)index < (gate & LIMIT_MASK) >> LIMIT_SHIFT &&
           (uint32_t)(gate >> GENERATION_SHIFT) != seen;
}

static void take_tasks(at_pool *pool, int index) {
    const at_task_function function = pool->function;
    void *const argument = pool->argument;
    const int64_t tasks = pool->tasks;
    const bool computes = pool->computes;
    const uint64_t mode = computes ? at_arithmetic_begin() : 0;
    int64_t task;
    while ((task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < tasks)
        function(argument, task, index);
    if (computes) at_arithmetic_end(mode);
}

/* Enters the loop if the gate is (still) open, works, and leaves; whether it
 * did. */
static bool join_loop(at_pool *pool, int index, uint32_t *seen) {
    uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
    do {
        if (!gate_open(gate, index, *seen)) return false;
    } while (!atomic_compare_exchange_weak_explicit(&pool->gate, &gate, gate + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    *seen = (uint32_t)(gate >> GENERATION_SHIFT);
    take_tasks(pool, index);
    uint64_t before = atomic_fetch_sub_explicit(&pool->gate, 1, memory_order_release);
    if ((before & CALLER_ASLEEP) && (before & INSIDE_MASK) == 1) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->empty);
        pthread_mutex_unlock(&pool->mutex);
    }
    return true;
}

/* Sleeps until the gate opens or the pool ends. `asleep` is set before the
 * gate is looked at again, and the caller opens the gate before it looks at
 * `asleep` (both sequentially consistent): one of the two sees the other. */
static void sleep_until_open(worker *self, uint32_t seen) {
    at_pool *pool = self->pool;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&self->asleep, true);
    while (!atomic_load(&pool->stop) && !gate_open(atomic_load(&pool->gate), self->index, seen))
        pthread_cond_wait(&self->wake, &pool->mutex);
    atomic_store(&self->asleep, false);
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *argument) {
    worker *self = argument;
    at_pool *pool = self->pool;
    uint32_t seen = 0;
    int64_t limit = spin_limit(pool);
    while (!atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
        if (join_loop(pool, self->index, &seen)) {
            limit = spin_limit(pool);
        } else if (nanoseconds() < limit) {
            spin_turn(pool);
        } else {
            sleep_until_open(self, seen);
            limit = spin_limit(pool);
        }
    }
    return NULL;
}

#if defined(__linux__)

static void note_allowed_cores(core_set *allowed) {
    if (sched_getaffinity(0, sizeof allowed->set, allowed->set) != 0) memset(allowed, 0, sizeof *allowed);
}

/* Keeps the first `count` workers off the core on which the caller is now.
 * A system call only when the caller has moved. If the system refuses, the
 * workers run where they did: slower perhaps, but right. */
static void leave_core_to_caller(at_pool *pool, int count) {
    int core = sched_getcpu();
    if (pool->crowded || core < 0 || (size_t)core >= 8 * sizeof(core_set)) return;
    for (int i = 0; i < count; i++) {
        worker *mover = &pool->workers[i];
        if (mover->avoided_core == core) continue;
        core_set others = pool->allowed;
        CPU_CLR_S((size_t)core, sizeof others.set, others.set);
        if (CPU_COUNT_S(sizeof others.set, others.set) > 0)
            pthread_setaffinity_np(mover->thread, sizeof others.set, others.set);
        mover->avoided_core = core;
    }
}

#else

static void note_allowed_cores(core_set *allowed) { allowed->none = 0; }

static void leave_core_to_caller(at_pool *pool, int count) {
    (void)pool;
    (void)count;
}

#endif

/* Wakes the first `count` workers as far as they sleep. Once the mutex was
 * held, a worker that is about to sleep either waits already or has seen the
 * news; the signal itself comes after, so that it wakes into a free mutex. */
static void wake_workers(at_pool *pool, int count) {
    bool passed = false;
    for (int i = 0; i < count; i++) {
        if (!atomic_load(&pool->workers[i].asleep)) continue;
        if (!passed) {
            pthread_mutex_lock(&pool->mutex);
            pthread_mutex_unlock(&pool->mutex);
            passed = true;
        }
        pthread_cond_signal(&pool->workers[i].wake);
    }
}

static bool nobody_inside(at_pool *pool) {
    return (atomic_load_explicit(&pool->gate, memory_order_acquire) & INSIDE_MASK) == 0;
}

static void wait_until_empty(at_pool *pool) {
    if (nobody_inside(pool)) return;
    int64_t limit = spin_limit(pool);
    while (nanoseconds() < limit) {
        spin_turn(pool);
        if (nobody_inside(pool)) return;
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_or_explicit(&pool->gate, CALLER_ASLEEP, memory_order_relaxed);
    while (!nobody_inside(pool)) pthread_cond_wait(&pool->empty, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

static void run_loop(at_pool *pool, int threads, int64_t tasks, at_task_function function, void *argument,
                     bool computes) {
    if (threads > pool->threads) threads = pool->threads;
    if (threads > tasks) threads = (int)tasks;
    if (threads <= 1) {
        const uint64_t mode = computes ? at_arithmetic_begin() : 0;
        for (int64_t task = 0; task < tasks; task++) function(argument, task, 0);
        if (computes) at_arithmetic_end(mode);
        return;
    }
    leave_core_to_caller(pool, threads - 1);
    pool->function = function;
    pool->argument = argument;
    pool->tasks = tasks;
    pool->computes = computes;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    uint64_t generation = (atomic_load_explicit(&pool->gate, memory_order_relaxed) >> GENERATION_SHIFT) + 1;
    atomic_store(&pool->gate, generation << GENERATION_SHIFT | (uint64_t)threads << LIMIT_SHIFT);
    wake_workers(pool, threads - 1);
    take_tasks(pool, 0);
    atomic_fetch_and_explicit(&pool->gate, ~LIMIT_MASK, memory_order_acquire);
    wait_until_empty(pool);
}

void at_parallel(at_pool *pool, int threads, int64_t tasks, at_task_function function, void *argument) {
    run_loop(pool, threads, tasks, function, argument, false);
}

void at_compute(at_pool *pool, int threads, int64_t tasks, at_task_function function, void *argument) {
    run_loop(pool, threads, tasks, function, argument, true);
}

void at_progress_wait(at_progress *progress, int64_t at_least) {
    enum { SPINS = 256 };
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(progress, memory_order_acquire) >= at_least) return;
        pause_core();
    }
    while (atomic_load_explicit(progress, memory_order_acquire) < at_least) sched_yield();
}

double at_progress_spin(at_progress *progress, int64_t at_least) {
    int64_t begin = 0, spent = 0;
    for (;;) {
        for (int i = 0; i < PAUSES_PER_TURN; i++) {
            if (atomic_load_explicit(progress, memory_order_acquire) >= at_least)
                return spent > MEETING_NANOSECONDS ? 1e-9 * (double)spent : 0.0;
            pause_core();
        }
        if (begin == 0) begin = nanoseconds(); /* most waits end before */
        spent = nanoseconds() - begin;
        if (spent > MEETING_NANOSECONDS) sched_yield();
    }
}

void at_progress_sleep(at_progress *progress, int64_t at_least) {
    const struct timespec moment = {.tv_nsec = 50000};
    while (atomic_load_explicit(progress, memory_order_acquire) < at_least) nanosleep(&moment, NULL);
}

/* Starts worker `index`. Signals are for the program's own threads, so a
 * worker is born with all of them blocked. */
static bool start_worker(at_pool *pool, int index) {
    worker *made = &pool->workers[index - 1];
    made->pool = pool;
    made->index = index;
    made->avoided_core = -1;
    atomic_init(&made->asleep, false);
    if (pthread_cond_init(&made->wake, NULL) != 0) return false;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&made->thread, NULL, worker_main, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) pthread_cond_destroy(&made->wake);
    return error == 0;
}

int at_pool_crowded(const at_pool *pool) { return pool->crowded; }

attn_status at_pool_create(const attn_allocator *allocator, int threads, at_pool **pool) {
    size_t bytes = sizeof(at_pool) + (size_t)(threads - 1) * sizeof(worker);
    at_pool *made = allocator->allocate(allocator->user, bytes, CACHE_LINE);
    if (!made) return ATTN_OUT_OF_MEMORY;
    memset(made, 0, bytes);
    atomic_init(&made->gate, 0);
    atomic_init(&made->next, 0);
    atomic_init(&made->stop, false);
    made->allocator = *allocator;
    made->threads = threads;
    made->crowded = threads > at_cpu_count();
    note_allowed_cores(&made->allowed);
    if (pthread_mutex_init(&made->mutex, NULL) != 0) {
        allocator->release(allocator->user, made);
        return ATTN_SYSTEM_ERROR;
    }
    if (pthread_cond_init(&made->empty, NULL) != 0) {
        pthread_mutex_destroy(&made->mutex);
        allocator->release(allocator->user, made);
        return ATTN_SYSTEM_ERROR;
    }
    for (int index = 1; index < threads; index++) {
        if (!start_worker(made, index)) {
            at_pool_destroy(made);
            return ATTN_SYSTEM_ERROR;
        }
        made->started = index;
    }
    *pool = made;
    return ATTN_OK;
}

void at_pool_destroy(at_pool *pool) {
    if (!pool) return;
    atomic_store(&pool->stop, true);
    wake_workers(pool, pool->started);
    for (int i = 0; i < pool->started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->workers[i].wake);
    }
    pthread_cond_destroy(&pool->empty);
    pthread_mutex_destroy(&pool->mutex);
    attn_allocator allocator = pool->allocator;
    allocator.release(allocator.user, pool);
}
