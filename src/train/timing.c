/* timing.c: runs with a time limit: their speed, and the number of their steps.
 *
 * At certain shares of the time, the number of steps is computed again from the speed since the last such
 * moment. The timetable records the changes by step: so a run by steps with the same timetable is the same
 * run, whatever its speed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/context.h"
#include "train/trainer.h"

/* The parts of the time after which the steps are counted anew. */
static const double moments[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.975};
enum { MOMENTS = sizeof moments / sizeof moments[0] };

static const double shortest = 20; /* seconds: of less the first count is all there is */

double at_now(const attn_trainer *trainer) {
    return trainer->options.clock ? trainer->options.clock(trainer->options.clock_user) : at_seconds();
}

int at_timing_adapts(const attn_trainer *trainer) { return trainer->options.seconds >= shortest; }

double at_timing_used(const attn_trainer *trainer) {
    return trainer->timing.used_before + at_now(trainer) - trainer->timing.from;
}

int64_t at_timing_bound(const attn_trainer *trainer, int64_t steps) {
    int64_t most = trainer->timing.most;
    return most > 0 && steps > most ? most : steps;
}

attn_status at_timing_set(attn_trainer *trainer) {
    char steps[32], text[AT_FIELD_TEXT_BYTES];
    at_course *main = at_main_course(trainer);
    snprintf(steps, sizeof steps, "%" PRId64, trainer->steps_total);
    at_timetable_write(&trainer->timetable, text);
    attn_status status = at_course_set(main, "training.steps", steps);
    if (status == ATTN_OK) status = at_course_set(main, "training.timetable", text);
    trainer->values.steps = trainer->steps_total;
    return status;
}

attn_status at_timing_read(attn_trainer *trainer, const char *text) {
    trainer->timetable = (at_timetable){.first = trainer->steps_total};
    if (!*text) return ATTN_OK;
    at_timetable *table = &trainer->timetable;
    if (!at_timetable_read(text, table))
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "training.timetable is \"%.60s\"; it must be like 1200,150:1180,400:1250: steps, and "
                       "the number of steps from later steps on",
                       text);
    if (table->count > 0 && table->changes[table->count - 1].steps == trainer->steps_total) return ATTN_OK;
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "training.timetable is \"%.60s\" and training.steps %" PRId64
                   ": the first has changes, and ends with the second",
                   text, trainer->steps_total);
}

void at_timing_begin(attn_trainer *trainer) {
    at_timing *timing = &trainer->timing;
    double used = at_timing_used(trainer);
    timing->counted_at = at_now(trainer);
    timing->counted_step = trainer->made.step;
    timing->evaluated = 0;
    while (timing->next < MOMENTS && used >= moments[timing->next] * trainer->options.seconds) timing->next++;
}

/* Files that are written at every step, or nearly, are a part of it. */
void at_timing_evaluated(attn_trainer *trainer, int evaluated, double seconds) {
    if (!evaluated && trainer->options.save_seconds < 1) return;
    trainer->timing.evaluated += seconds;
    if (evaluated)
        trainer->timing.evaluation = seconds;
    else
        trainer->timing.saving = seconds;
}

/* The steps that the time left is enough for, those that are done among them. */
static int64_t count_anew(const attn_trainer *trainer) {
    const double most = 1e15; /* of training.steps */
    const at_timing *timing = &trainer->timing;
    int64_t done = trainer->made.step, since = done - timing->counted_step;
    double a_step = (at_now(trainer) - timing->counted_at - timing->evaluated) / (double)since;
    double batches = (double)trainer->courses[0].batches_an_epoch / (double)trainer->values.accumulate;
    double often = (double)trainer->values.evaluations / (double)trainer->steps_total; /* by steps */
    if (often > 1 / batches) often = 1 / batches;
    /* Evaluations at the end: the last one, and two more where it is calibrated and reported. */
    int last = at_calibrate_due(trainer) ? 3 : 1;
    double left = trainer->options.seconds - at_timing_used(trainer) - last * timing->evaluation;
    if (timing->saving > 0) left /= 1 + timing->saving / trainer->options.save_seconds;
    double steps = left / a_step, each = often * timing->evaluation, busy = 1 - AT_QUIET_END;
    if (busy * ((double)done + steps) > (double)done) /* some come before the quiet end */
        steps = (left + AT_QUIET_END * (double)done * each) / (a_step + busy * each);
    int64_t all = !(steps >= 1) ? done + 1 : steps > most ? (int64_t)most : done + (int64_t)steps;
    return at_timing_bound(trainer, all);
}

attn_status at_timing_look(attn_trainer *trainer) {
    at_timing *timing = &trainer->timing;
    int64_t done = trainer->made.step, steps = 0;
    if (!at_timing_adapts(trainer) || done >= trainer->steps_total) return ATTN_OK;
    if (timing->next < MOMENTS && done > timing->counted_step &&
        at_timing_used(trainer) >= moments[timing->next] * trainer->options.seconds) {
        steps = count_anew(trainer);
        int64_t least = (steps - done) / 500; /* else it stays as it is */
        if (llabs(steps - trainer->steps_total) <= least) steps = 0;
        at_timing_begin(trainer);
    }
    attn_status status = at_ranks_number(trainer, &steps);
    if (status != ATTN_OK || steps == 0 || !at_timetable_change(&trainer->timetable, done, steps))
        return status;
    trainer->steps_total = steps;
    return at_timing_set(trainer);
}
