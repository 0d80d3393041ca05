/* team.h: threads that surely work at the same time, and meet.
 *
 * A loop over tasks (base/parallel.h) promises nothing about which thread takes a task: one may take them
 * all, one after another. So a task must not wait for a task with a larger number, and there cannot be a
 * barrier. In a team each member has a thread of its own, which has begun before anybody's work does: a
 * member may wait for all the others.
 */
#ifndef AT_BASE_TEAM_H
#define AT_BASE_TEAM_H

#include <stdalign.h>

#include "base/parallel.h"

typedef void (*at_member_function)(void *argument, int member, int members);

/* Runs function(argument, m, members) for m = 0 .. members-1, all at once, in the kernels' mode of
 * arithmetic, and returns when all are done; the caller is member 0. members is `threads` at the most, which
 * is at least 1 and not more than the pool has. It is 1 where the pool has more threads than there are cores,
 * because a member without a core holds up the others at every meeting. It is smaller where a thread has not
 * come within a moment: nobody waits for one that the system does not run. So the work is divided by
 * `members`, and results must not depend on it. */
void at_run_team(at_pool *pool, int threads, at_member_function function, void *argument);

/* A member's place at the meetings of a team, on a cache line of its own; all 0 before the first meeting. */
typedef struct at_meeting {
    alignas(64) at_progress came; /* twice the number of meetings, and 1 more after the last one */
    double began, lost; /* seconds: the first meeting, and waits for members that were not running */
} at_meeting;

/* Waits until all `members` of meetings[] have come as often as this one; what they wrote before is then
 * seen. Returns whether they continue together. They do not where the system has given the cores to others,
 * so that waiting takes more than working together gains: then all get 0 at the same meeting, member 0 does
 * what is left alone, and the others return. Some of a team may meet without the others, in an array of their
 * own.
 */
int at_meet(at_meeting *meetings, int member, int members);

#endif
