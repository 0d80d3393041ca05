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

attn_status measure(measured_call call, void *argument, double seconds, timing *result) {
    double samples[SAMPLE_LIMIT];
    double once = 0;
    attn_status status = warm_up(call, argument, seconds, &once);
    if (status != ATTN_OK) return status;
    double wanted = fmax(shortest_sample, seconds / SAMPLE_LIMIT);
    int64_t calls = once < wanted ? (int64_t)ceil(wanted / fmax(once, 1e-8)) : 1;
    int count = 0, least = once > fmin(long_call, 100 * seconds) ? 1 : 3;
    double start = measure_clock();
    while (count < SAMPLE_LIMIT && (count < least || measure_clock() - start < seconds)) {
        status = sample(call, argument, calls, &samples[count]);
        if (status != ATTN_OK) return status;
        count++;
    }
    qsort(samples, (size_t)count, sizeof samples[0], by_size);
    result->best = samples[0];
    result->median = samples[count / 2];
    result->worst = samples[count - 1];
    result->repetitions = calls * count;
    return ATTN_OK;
}

timing measure_better(timing a, timing b) { return b.best < a.best ? b : a; }
