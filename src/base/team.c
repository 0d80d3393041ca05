/* team.c: teams are made of a loop with a task for each thread.
 *
 * Threads that come into the loop raise `joined` and wait. The caller counts them until all are there, or for
 * PATIENCE seconds, and says how many there are: from then on nobody joins, and who comes later finds a loop
 * with nothing to do. All who have joined do run, so they can wait for each other.
 */
#include "base/team.h"

#include "base/clock.h"

static const double PATIENCE = 100e-6; /* a thread that has to be woken comes after about half of it */
static const double LEAST_LOSS = 1e-3, LARGEST_LOSS = 1.0 / 3.0; /* seconds; of the time together */

enum { CLOSED = 1 << 30 };

typedef struct team {
    at_member_function function;
    void *argument;
    int wanted;
    _Atomic int joined;  /* beside the caller; CLOSED is added when nobody may join any more */
    at_progress members; /* 0 until it is known */
} team;

/* The number of a new member, or 0: too late. */
static int join(team *made) {
    int joined = atomic_load_explicit(&made->joined, memory_order_relaxed);
    do {
        if (joined & CLOSED) return 0;
    } while (!atomic_compare_exchange_weak_explicit(&made->joined, &joined, joined + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return joined + 1;
}

/* Ends the joining; how many members there are. */
static int close_team(team *made) {
    double begin = at_seconds();
    while (atomic_load_explicit(&made->joined, memory_order_relaxed) + 1 < made->wanted &&
           at_seconds() - begin < PATIENCE) {
    }
    return 1 + atomic_fetch_or_explicit(&made->joined, CLOSED, memory_order_relaxed);
}

/* There are as many tasks as threads, and a thread that has joined takes no second one before all is done: so
 * one is left for the caller, which is worker 0. Once the team is closed, tasks are empty. */
static void member_task(void *argument, int64_t task, int worker) {
    team *made = argument;
    (void)task;
    if (worker == 0) {
        if (atomic_load_explicit(&made->members, memory_order_relaxed) > 0) return;
        int members = close_team(made);
        at_progress_raise(&made->members, members);
        made->function(made->argument, 0, members);
        return;
    }
    int member = join(made);
    if (member == 0) return;
    at_progress_wait(&made->members, 1);
    made->function(made->argument, member, (int)atomic_load_explicit(&made->members, memory_order_relaxed));
}

void at_run_team(at_pool *pool, int threads, at_member_function function, void *argument) {
    team made = {.function = function, .argument = argument, .wanted = at_pool_crowded(pool) ? 1 : threads};
    at_compute(pool, made.wanted, made.wanted, member_task, &made);
}

/* Whether this is the last meeting, which member 0 decides. Losses are what no thread does while one waits:
 * half of the time would be all that two threads gain. */
static int loses(at_meeting *first, int64_t turn) {
    if (turn == 1) first->began = at_seconds();
    return first->lost > LEAST_LOSS && first->lost > (at_seconds() - first->began) * LARGEST_LOSS;
}

/* Member 0 may be at the next meeting already when a slow one looks at its number: only the number of this
 * meeting says that this one is the last. */
int at_meet(at_meeting *meetings, int member, int members) {
    at_meeting *own = &meetings[member];
    int64_t turn = atomic_load_explicit(&own->came, memory_order_relaxed) / 2 + 1;
    int ends = member == 0 && loses(own, turn);
    at_progress_raise(&own->came, 2 * turn + ends);
    for (int other = 0; other < members; other++) {
        if (other != member) own->lost += at_progress_spin(&meetings[other].came, 2 * turn);
    }
    return atomic_load_explicit(&meetings[0].came, memory_order_relaxed) != 2 * turn + 1;
}
