/* machine.c: the multiply-add peak and the copy bandwidth of this machine. */
#define _POSIX_C_SOURCE 199309L
#include <attn/machine.h>

#include <string.h>
#include <time.h>

#include "base/context.h"
#include "kernels/table.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct peak_run {
    const at_kernels *kernels;
    int64_t rounds;
    int64_t operations; /* of one task */
    float sinks[1024];  /* a thread's own; threads are at most that many */
} peak_run;

static void peak_task(void *argument, int64_t task, int worker) {
    peak_run *run = argument;
    int64_t operations = run->kernels->fma_loop(run->rounds, &run->sinks[worker]);
    if (task == 0) run->operations = operations;
}

attn_status attn_machine_fma_peak(attn_context *context, double seconds, double *gflops) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!gflops) return at_fail(context, ATTN_INVALID_ARGUMENT, "gflops is NULL");
    peak_run run = {.kernels = at_kernels_for(context->isa),
                    .rounds = 50000}; /* under a millisecond in all: disturbances are often no longer */
    double best = 0.0, end = now() + seconds;
    do {
        /* several pieces a thread, so that a late start costs little */
        int64_t tasks = 4 * (int64_t)context->threads;
        double start = now();
        at_compute(context->pool, context->threads, tasks, peak_task, &run);
        double rate = (double)tasks * (double)run.operations / (now() - start) * 1e-9;
        if (rate > best) best = rate;
    } while (now() < end);
    *gflops = best;
    return ATTN_OK;
}

enum { COPY_BYTES = 128 << 20, COPY_PIECE = 1 << 20 };

typedef struct copy_run {
    const unsigned char *from;
    unsigned char *to;
} copy_run;

static void copy_task(void *argument, int64_t task, int worker) {
    const copy_run *run = argument;
    (void)worker;
    memcpy(run->to + task * COPY_PIECE, run->from + task * COPY_PIECE, COPY_PIECE);
}

attn_status attn_machine_copy_bandwidth(attn_context *context, double seconds, double *gigabytes) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!gigabytes) return at_fail(context, ATTN_INVALID_ARGUMENT, "gigabytes is NULL");
    const attn_allocator *allocator = &context->allocator;
    unsigned char *memory = allocator->allocate(allocator->user, 2 * (size_t)COPY_BYTES, AT_ALIGNMENT);
    if (!memory)
        return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for two arrays of %d MiB", COPY_BYTES >> 20);
    memset(memory, 1, 2 * (size_t)COPY_BYTES);
    copy_run run = {memory, memory + COPY_BYTES};
    double best = 0.0, end = now() + seconds;
    do {
        double start = now();
        at_compute(context->pool, context->threads, COPY_BYTES / COPY_PIECE, copy_task, &run);
        double rate = 2.0 * COPY_BYTES / (now() - start) * 1e-9;
        if (rate > best) best = rate;
    } while (now() < end);
    allocator->release(allocator->user, memory);
    *gigabytes = best;
    return ATTN_OK;
}
