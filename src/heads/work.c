/* work.c: tasks that run on the threads of a context, each in a context of one thread, and predictions of
 * several ranks joined.
 */
#include "heads/work.h"

#include <stdatomic.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/parts.h"

enum {
    LARGE_ROWS = 8192, /* of a batch: every thread would hold one, and its products keep all threads busy */
    FEW_ROUNDS = 16,   /* where a thread that is idle in the last one counts */
    RANKS_AT_ONCE = 128
};

/* ---- workers ---- */

void at_workers_free(const at_forward *forward, const at_head_kind *kind, at_work *work) {
    for (int i = 0; i < work->context->threads; i++) {
        at_work *worker = &work->workers[i];
        if (!worker->context) continue;
        attn_tape_destroy(worker->tape);
        at_host_rows_free(worker->context, &worker->host);
        if (worker->batch) forward->free_batch(forward, worker->batch);
        if (worker->state) kind->free_state(worker->context, worker->state);
        if (worker->steps) forward->free_steps(forward, worker->steps);
    }
    at_release(work->context, work->workers);
    at_parts_destroy(work->parts);
    work->workers = NULL;
    work->parts = NULL;
}

static attn_status make_workers(const at_forward *forward, at_work *work) {
    attn_context *context = work->context;
    if (work->workers) return ATTN_OK;
    at_work *list = at_allocate(context, context->threads, sizeof *list, "workers");
    if (!list) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_parts_create(context, &work->parts);
    if (status != ATTN_OK) {
        at_release(context, list);
        return status;
    }
    work->workers = list;
    for (int i = 0; i < context->threads && status == ATTN_OK; i++) {
        at_work *worker = &list[i];
        worker->context = at_part(work->parts, i);
        status = attn_tape_create(worker->context, &worker->tape);
        if (status == ATTN_OK) status = forward->create_batch(forward, worker->context, &worker->batch);
        if (status != ATTN_OK) at_fail(context, status, "%s", worker->context->error);
    }
    if (status != ATTN_OK) at_workers_free(forward, NULL, work); /* they have no state yet */
    return status;
}

/* ---- running ---- */

/* This rank's tasks are rank, rank + ranks, ...; its own numbers of them are 0, 1, ... */
typedef struct running {
    const at_tasks *tasks;
    at_work *work;
    int64_t mine, first;    /* of those that threads run by themselves */
    _Atomic int64_t failed; /* the smallest number that failed; tasks above it need not be run */
} running;

static int64_t task_of(const running *now, int64_t number) {
    const at_work *work = now->work;
    return work->ranks > 1 ? work->rank + number * work->ranks : number;
}

static int64_t count_mine(const at_work *work, int64_t tasks) {
    if (work->ranks <= 1) return tasks;
    return tasks > work->rank ? (tasks - work->rank - 1) / work->ranks + 1 : 0;
}

/* Numbers are handed out in order: all below one that fails have been begun, so that the smallest that fails
 * is found whatever the threads do. */
static void run_apart(void *argument, int64_t task, int thread) {
    running *now = argument;
    int64_t number = now->first + task, failed = atomic_load(&now->failed);
    at_work *worker = &now->work->workers[thread];
    if (number > failed) return;
    attn_status status = now->tasks->run(now->tasks->user, worker, task_of(now, number));
    if (status == ATTN_OK) return;
    worker->status = status;
    worker->failed = number;
    while (number < failed && !atomic_compare_exchange_weak(&now->failed, &failed, number)) {
    }
}

static attn_status run_together(running *now, int64_t from, int64_t to) {
    attn_status status = ATTN_OK;
    if (from < to && now->tasks->prepare) status = now->tasks->prepare(now->tasks->user, now->work);
    if (status != ATTN_OK) atomic_store(&now->failed, -1);
    for (int64_t i = from; i < to && status == ATTN_OK; i++) {
        status = now->tasks->run(now->tasks->user, now->work, task_of(now, i));
        if (status != ATTN_OK) atomic_store(&now->failed, i);
    }
    return status;
}

static attn_status run_side_by_side(running *now, int64_t count) {
    at_work *work = now->work;
    attn_context *context = work->context;
    attn_status status = ATTN_OK;
    int threads = context->threads < count ? context->threads : (int)count;
    for (int i = 0; i < threads && status == ATTN_OK; i++) {
        at_work *worker = &work->workers[i];
        worker->status = ATTN_OK;
        if (now->tasks->prepare) status = now->tasks->prepare(now->tasks->user, worker);
        if (status != ATTN_OK) at_fail(context, status, "%s", worker->context->error);
    }
    if (status != ATTN_OK) {
        atomic_store(&now->failed, -1);
        return status;
    }
    at_parallel(context->pool, threads, count, run_apart, now);
    int64_t failed = atomic_load(&now->failed);
    for (int i = 0; i < threads; i++) {
        const at_work *worker = &work->workers[i];
        if (worker->status != ATTN_OK && worker->failed == failed)
            return at_fail(context, worker->status, "%s", worker->context->error);
    }
    return ATTN_OK;
}

/* Of this rank's tasks: the large ones by all threads together, then one per thread. Where there are few
 * rounds, a rest that would leave most threads idle is again for all together. */
static attn_status run_mine(const at_forward *forward, running *now) {
    const at_tasks *tasks = now->tasks;
    int threads = now->work->context->threads;
    int64_t large = count_mine(now->work, tasks->large), apart = now->mine - large;
    if (threads == 1 || apart < 2) apart = 0;
    int64_t rest = apart % threads;
    if (tasks->divisible && apart < FEW_ROUNDS * threads && 2 * rest <= threads) apart -= rest;
    now->first = large;
    attn_status status = apart > 0 ? make_workers(forward, now->work) : ATTN_OK;
    if (status != ATTN_OK) atomic_store(&now->failed, -1);
    if (status == ATTN_OK) status = run_together(now, 0, large);
    if (status == ATTN_OK && apart > 0) status = run_side_by_side(now, apart);
    if (status == ATTN_OK) status = run_together(now, large + apart, now->mine);
    return status;
}

/* ---- ranks ---- */

typedef struct outcome {
    int64_t task, status; /* the task that failed, + 2: 0 is nothing, 1 what came before tasks */
} outcome;

/* All ranks fail if one does: the first by its task, then by its rank. */
static attn_status settle(at_work *work, attn_status status, int64_t task) {
    outcome first = {0, 0};
    int chosen = -1;
    if (work->ranks <= 1) return status;
    for (int from = 0; from < work->ranks; from += RANKS_AT_ONCE) {
        outcome all[RANKS_AT_ONCE];
        int count = work->ranks - from < RANKS_AT_ONCE ? work->ranks - from : RANKS_AT_ONCE;
        memset(all, 0, sizeof all);
        if (status != ATTN_OK && work->rank >= from && work->rank < from + count)
            all[work->rank - from] = (outcome){task + 2, (int64_t)status};
        attn_status joined = work->join(work->join_user, all, (size_t)count * sizeof *all);
        if (joined != ATTN_OK) return joined;
        for (int i = 0; i < count; i++) {
            if (!all[i].task || (chosen >= 0 && all[i].task >= first.task)) continue;
            first = all[i];
            chosen = from + i;
        }
    }
    if (chosen < 0) return ATTN_OK;
    char text[sizeof work->context->error] = "";
    if (chosen == work->rank) memcpy(text, work->context->error, strlen(work->context->error));
    attn_status joined = work->join(work->join_user, text, sizeof text);
    if (joined != ATTN_OK) return joined;
    if (chosen == work->rank) return status;
    return at_fail(work->context, (attn_status)first.status, "rank %d: %.480s", chosen, text);
}

attn_status at_work_join(at_work *work, attn_status status, void *bytes, int64_t count,
                         size_t element_bytes) {
    if (work->ranks <= 1) return status;
    status = settle(work, status, -1);
    if (status != ATTN_OK || count == 0) return status;
    return work->join(work->join_user, bytes, (size_t)count * element_bytes);
}

/* ---- all of it ---- */

int64_t at_work_large(const at_work *work) {
    const at_plan *plan = &work->plan;
    int64_t large = 0;
    while (large < plan->batches &&
           at_segments_rows(&work->segments, plan->order + plan->first[large],
                            plan->first[large + 1] - plan->first[large]) > LARGE_ROWS)
        large++;
    return large;
}

attn_status at_work_run(const at_forward *forward, at_work *work, attn_status status, const at_tasks *tasks) {
    running now = {.tasks = tasks, .work = work};
    atomic_init(&now.failed, INT64_MAX);
    if (status != ATTN_OK) return settle(work, status, -1);
    now.mine = count_mine(work, tasks->count);
    status = run_mine(forward, &now);
    int64_t failed = atomic_load(&now.failed);
    return settle(work, status, failed < 0 ? -1 : failed == INT64_MAX ? 0 : task_of(&now, failed));
}
