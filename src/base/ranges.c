/* ranges.c: a loop over ranges of things, whose tasks may fail. */
#include "base/ranges.h"

#include <string.h>

#include "base/memory.h"
#include "base/parts.h"

/* What a worker failed with first. */
typedef struct failure {
    attn_status status;
    int64_t task;
    char text[512];
} failure;

typedef struct ranges {
    at_parts *parts;
    int64_t count, step;
    at_range_function run;
    void *user;
    failure *failures; /* [threads] */
} ranges;

static void run_range(void *argument, int64_t task, int worker) {
    ranges *work = argument;
    attn_context *part = at_part(work->parts, worker);
    failure *failed = &work->failures[worker];
    int64_t first = task * work->step, left = work->count - first;
    attn_status status =
        work->run(work->user, part, worker, first, first + (left < work->step ? left : work->step));
    if (status == ATTN_OK || failed->status != ATTN_OK) return;
    failed->status = status;
    failed->task = task;
    strncpy(failed->text, attn_context_error(part), sizeof failed->text - 1);
}

attn_status at_for_ranges(attn_context *context, int64_t count, int64_t step, at_range_function run,
                          void *user) {
    int64_t tasks = (count + step - 1) / step;
    attn_status status = ATTN_OK;
    if (tasks <= 1 || context->threads == 1) {
        for (int64_t first = 0; first < count && status == ATTN_OK; first += step)
            status = run(user, context, 0, first, count - first < step ? count : first + step);
        return status;
    }
    ranges work = {.count = count, .step = step, .run = run, .user = user};
    status = at_parts_create(context, &work.parts);
    if (status != ATTN_OK) return status;
    work.failures = at_allocate(context, context->threads, sizeof *work.failures, "the workers of a loop");
    if (!work.failures) {
        at_parts_destroy(work.parts);
        return ATTN_OUT_OF_MEMORY;
    }
    at_parallel(context->pool, context->threads, tasks, run_range, &work);
    const failure *first = NULL;
    for (int i = 0; i < context->threads; i++) {
        const failure *failed = &work.failures[i];
        if (failed->status != ATTN_OK && (!first || failed->task < first->task)) first = failed;
    }
    if (first) status = at_fail(context, first->status, "%s", first->text);
    at_release(context, work.failures);
    at_parts_destroy(work.parts);
    return status;
}
