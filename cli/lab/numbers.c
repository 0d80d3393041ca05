/* numbers.c: medians, exponents, random numbers and clocks of the lab (see lab.h). */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double lab_median(const double *numbers, int64_t count) {
    double few[64], *sorted = few;
    if (count <= 0) return NAN;
    if (count > 64) sorted = malloc((size_t)count * sizeof *sorted);
    if (sorted == NULL) return NAN;
    memcpy(sorted, numbers, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    double median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
    if (sorted != few) free(sorted);
    return median;
}

double lab_exponent(const double *x, const double *y, int64_t count) {
    double mean_x = 0, mean_y = 0, both = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        mean_x += log(x[i]) / (double)count;
        mean_y += log(y[i]) / (double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        double from_mean = log(x[i]) - mean_x;
        both += from_mean * (log(y[i]) - mean_y);
        square += from_mean * from_mean;
    }
    return both / square;
}

/* SplitMix64: a counter through a function that mixes its bits. */
static uint64_t next(uint64_t *seed) {
    uint64_t bits = *seed += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

double lab_uniform(uint64_t *seed) { return (double)(next(seed) >> 11) * 0x1p-53; }

double lab_normal(uint64_t *seed) {
    static const double turn = 6.28318530717958647692;
    double radius = sqrt(-2 * log(1 - lab_uniform(seed)));
    return radius * cos(turn * lab_uniform(seed));
}

int64_t lab_choice(uint64_t *seed, int64_t below) {
    int64_t chosen = (int64_t)(lab_uniform(seed) * (double)below);
    return chosen < below ? chosen : below - 1;
}

static double read_clock(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double lab_seconds(void) { return read_clock(CLOCK_MONOTONIC); }
double lab_processor_seconds(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
