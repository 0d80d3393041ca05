/* measure.h: how long a call takes: the best and the middle of many runs. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <stdint.h>

#include <attn/status.h>

/* Seconds a call. Disturbances only ever add time, so `best` is what the
 * machine can do, and the way from it to `median` is the spread. */
typedef struct timing {
    double best;
    double median;
    double worst;
    int64_t repetitions; /* calls, the warm-up not counted */
    double limit;        /* of measure_beside: the limit beside `best`; else 0 */
    int rounds, discarded;
} timing;

typedef attn_status (*measured_call)(void *argument);

/* Warms up, then calls for about `seconds`: at least three times, or once
 * where a call takes longer than a second or than 100 times `seconds`. Very short calls are timed in
 * blocks. The first status that is not ATTN_OK ends it and is returned. */
attn_status measure(measured_call call, void *argument, double seconds, timing *result);

/* What the machine can do at a moment: a limit that results are compared with, and the pace of a known piece
 * of work that others on the machine disturb as they disturb what is measured. */
typedef struct measured_moment {
    double limit, pace;
} measured_moment;
typedef measured_moment (*moment_call)(void *argument);

/* As measure, in rounds of calls between two moments. A round counts if the limits and paces of its two
 * moments are within 3 % of the highest limit of all rounds and of *highest_pace. That is the highest pace of
 * this measurement and of those before, 2 % less with each, as the clock of a warm CPU is slower. The result
 * is the best call of the rounds that count, with the mean of the two limits beside it; if none counts
 * (discarded == rounds), the best call of all, with the highest limit. Rounds continue for up to four times
 * `seconds` until three count. */
attn_status measure_beside(measured_call call, void *argument, moment_call moment, void *moment_argument,
                           double *highest_pace, double seconds, timing *result);

/* The one of two measurements of the same thing that was disturbed less. */
timing measure_better(timing a, timing b);

/* Seconds since some moment. */
double measure_clock(void);

#endif
