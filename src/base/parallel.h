/* parallel.h: a pool of threads, and a loop over tasks.
 *
 * Tasks are handed out one by one in the order of their numbers, so a task
 * may wait (at_progress_wait) for one with a smaller number: that one has
 * been started already. The caller's thread works too, as worker 0.
 */
#ifndef AT_BASE_PARALLEL_H
#define AT_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stdint.h>

#include <attn/context.h>

typedef struct at_pool at_pool;

/* Threads `threads - 1` workers (the caller is the other one). *pool is
 * untouched on failure: OUT_OF_MEMORY or SYSTEM_ERROR. */
attn_status at_pool_create(const attn_allocator *allocator, int threads, at_pool **pool);
void at_pool_destroy(at_pool *pool);

/* Whether it has more threads than the process had cores when it was made. */
int at_pool_crowded(const at_pool *pool);

typedef void (*at_task_function)(void *argument, int64_t task, int worker);

/* Runs function(argument, t, worker) for t = 0 .. tasks-1 on at most `threads`
 * of the pool's threads and returns when all are done. worker is in
 * 0 .. threads-1 and no two tasks run at once on one worker. With one task or
 * one thread everything runs in the caller, and no other thread is woken. */
void at_parallel(at_pool *pool, int threads, int64_t tasks, at_task_function function, void *argument);

/* The same for tasks that call kernels: they run in the kernels' mode of arithmetic (base/arithmetic.h), on
 * every thread. */
void at_compute(at_pool *pool, int threads, int64_t tasks, at_task_function function, void *argument);

/* A counter that one task raises and others wait for. Release on raise,
 * acquire on wait. Waiting spins briefly, then yields the core. */
typedef _Atomic int64_t at_progress;
void at_progress_wait(at_progress *progress, int64_t at_least);
void at_progress_sleep(at_progress *progress, int64_t at_least); /* the same, for waits of milliseconds */
/* The same for waits of microseconds: it spins for a hundred of them, and only then yields. Returns how many
 * seconds it took if it was more than that, else 0. */
double at_progress_spin(at_progress *progress, int64_t at_least);
static inline void at_progress_raise(at_progress *progress, int64_t value) {
    atomic_store_explicit(progress, value, memory_order_release);
}

#endif
