/* measure.c: times calls (see measure.h). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif

#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLE_LIMIT = 512 };

static const double shortest_sample = 50e-6; /* a thousand times what reading the clock costs */
static const double long_call = 1.0;

double measure_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds a call, over `calls` calls. */
static attn_status sample(measured_call call, void *argument, int64_t calls, double *seconds) {
    double start = measure_clock();
    for (int64_t i = 0; i < calls; i++) {
        attn_status status = call(argument);
        if (status != ATTN_OK) return status;
    }
    *seconds = (measure_clock() - start) / (double)calls;
    return ATTN_OK;
}

/* Caches, page tables, the clock frequency and sleeping threads need a moment;
 * *once is how long a call takes after it. */
static attn_status warm_up(measured_call call, void *argument, double seconds, double *once) {
    double start = measure_clock();
    double moment = fmin(0.1 * seconds, 0.02);
    do {
        attn_status status = sample(call, argument, 1, once);
        if (status != ATTN_OK) return status;
    } while (measure_clock() - start < moment);
    return ATTN_OK;
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* How calls are sampled: so many in a sample, at least so many samples. */
typedef struct sampling {
    int64_t calls;
    int least;
} sampling;

static attn_status plan(measured_call call, void *argument, double seconds, sampling *made) {
    double once = 0;
    attn_status status = warm_up(call, argument, seconds, &once);
    double wanted = fmax(shortest_sample, seconds / SAMPLE_LIMIT);
    made->calls = once < wanted ? (int64_t)ceil(wanted / fmax(once, 1e-8)) : 1;
    made->least = once > fmin(long_call, 100 * seconds) ? 1 : 3;
    return status;
}

/* Sorts the samples; best, median and worst of them. */
static void summarise(double *samples, int count, const sampling *with, timing *result) {
    qsort(samples, (size_t)count, sizeof samples[0], by_size);
    *result = (timing){.best = samples[0],
                       .median = samples[count / 2],
                       .worst = samples[count - 1],
                       .repetitions = with->calls * count};
}

attn_status measure(measured_call call, void *argument, double seconds, timing *result) {
    double samples[SAMPLE_LIMIT];
    sampling with;
    attn_status status = plan(call, argument, seconds, &with);
    int count = 0;
    double start = measure_clock();
    while (status == ATTN_OK && count < SAMPLE_LIMIT &&
           (count < with.least || measure_clock() - start < seconds)) {
        status = sample(call, argument, with.calls, &samples[count++]);
    }
    if (status == ATTN_OK) summarise(samples, count, &with, result);
    return status;
}

/* ---- beside a limit ---- */

enum { ROUND_LIMIT = 64, ROUNDS_WANTED = 3 };
static const double tolerance = 0.03;

typedef struct measured_round {
    double best; /* of its samples */
    measured_moment before, after;
} measured_round;

static double highest_limit(const measured_round *rounds, int count) {
    double highest = 0;
    for (int r = 0; r < count; r++)
        highest = fmax(highest, fmax(rounds[r].before.limit, rounds[r].after.limit));
    return highest;
}

/* How many rounds have at least this limit and pace, and the best of them. */
static int choose_round(const measured_round *rounds, int count, measured_moment least,
                        measured_round *best) {
    int counted = 0;
    for (int r = 0; r < count; r++) {
        const measured_moment *before = &rounds[r].before, *after = &rounds[r].after;
        if (fmin(before->limit, after->limit) < least.limit || fmin(before->pace, after->pace) < least.pace)
            continue;
        if (counted++ == 0 || rounds[r].best < best->best) *best = rounds[r];
    }
    return counted;
}

/* Calls for a while; *count grows by the samples. */
static attn_status run_round(measured_call call, void *argument, const sampling *with, double seconds,
                             double *samples, int *count, int most, double *best) {
    double begin = measure_clock();
    attn_status status;
    *best = INFINITY;
    do {
        status = sample(call, argument, with->calls, &samples[*count]);
        if (status == ATTN_OK) *best = fmin(*best, samples[(*count)++]);
    } while (status == ATTN_OK && *count < most && measure_clock() - begin < seconds);
    return status;
}

attn_status measure_beside(measured_call call, void *argument, moment_call moment, void *moment_argument,
                           double *highest_pace, double seconds, timing *result) {
    double samples[SAMPLE_LIMIT];
    measured_round rounds[ROUND_LIMIT], best = {0};
    sampling with;
    attn_status status = plan(call, argument, seconds, &with);
    const int wanted = with.least == 1 ? 1 : ROUNDS_WANTED;
    int count = 0, round = 0, counted = 0;
    double start = measure_clock(), passed = 0;
    *highest_pace *= 0.98;
    measured_moment now = moment(moment_argument);
    while (status == ATTN_OK && round < ROUND_LIMIT &&
           (count < with.least || passed < seconds || (counted < wanted && passed < 4 * seconds))) {
        measured_round *next = &rounds[round++];
        next->before = now;
        status = run_round(call, argument, &with, seconds / (2 * ROUNDS_WANTED), samples, &count,
                           SAMPLE_LIMIT / ROUND_LIMIT * round, &next->best);
        next->after = now = moment(moment_argument);
        *highest_pace = fmax(*highest_pace, fmax(next->before.pace, next->after.pace));
        measured_moment least = {(1 - tolerance) * highest_limit(rounds, round),
                                 (1 - tolerance) * *highest_pace};
        counted = choose_round(rounds, round, least, &best);
        passed = measure_clock() - start;
    }
    if (status != ATTN_OK) return status;
    summarise(samples, count, &with, result);
    if (counted == 0) choose_round(rounds, round, (measured_moment){0, 0}, &best);
    result->best = best.best;
    result->median = fmax(result->median, best.best); /* rounds that do not count may have been faster */
    result->limit = counted ? (best.before.limit + best.after.limit) / 2 : highest_limit(rounds, round);
    result->rounds = round;
    result->discarded = round - counted;
    return ATTN_OK;
}

timing measure_better(timing a, timing b) { return b.best < a.best ? b : a; }
