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
} timing;

typedef attn_status (*measured_call)(void *argument);

/* Warms up, then calls for about `seconds`: at least three times, or once
 * where a call takes longer than a second or than 100 times `seconds`. Very short calls are timed in
 * blocks. The first status that is not ATTN_OK ends it and is returned. */
attn_status measure(measured_call call, void *argument, double seconds, timing *result);

/* The one of two measurements of the same thing that was disturbed less. */
timing measure_better(timing a, timing b);

/* Seconds since some moment. */
double measure_clock(void);

#endif
