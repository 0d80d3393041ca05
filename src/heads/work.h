/* work.h: the batches of a prediction in parallel, one per thread, and shared by ranks.
 *
 * Threads that share every small product wait for each other most of the time; a thread that computes a whole
 * batch, from input to prediction, does not. Every prediction has its place, so that results do not depend on
 * which thread computes them.
 */
#ifndef AT_HEADS_WORK_H
#define AT_HEADS_WORK_H

#include "heads/head.h"

/* Tasks 0 .. count - 1, mostly the batches of a plan, the longest first. */
typedef struct at_tasks {
    int64_t count;
    int64_t large; /* the first so many are run by all threads together: they are large, or must come in order
                    */
    int divisible; /* all threads together are faster than one at one task */
    /* NULL, or what comes before the first task that a worker runs; in the caller's thread. */
    attn_status (*prepare)(void *user, at_work *worker);
    /* worker: the work itself, in the whole context, or one of its workers. */
    attn_status (*run)(void *user, at_work *worker, int64_t task);
    void *user;
} at_tasks;

/* Runs those tasks that are this rank's. status: of all that came before; if it is not OK nothing is run, but
 * other ranks hear of it. The first task that fails decides what every rank returns, and its text is in the
 * context. */
attn_status at_work_run(const at_forward *forward, at_work *work, attn_status status, const at_tasks *tasks);
/* How many batches of the plan are large: a big graph, a long recording. */
int64_t at_work_large(const at_work *work);

/* What the ranks have, put together: see at_work.join. A rank that failed before (status) makes all fail. */
attn_status at_work_join(at_work *work, attn_status status, void *bytes, int64_t count, size_t element_bytes);

#endif
