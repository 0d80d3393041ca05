/* schedule.c: the learning rate over the steps. */
#include "train/schedule.h"

#include <math.h>

double at_schedule_factor(const attn_optimizer_options *options, double step) {
    const double floor = options->floor, warmup = (double)options->warmup_steps;
    if (step < 0) step = 0;
    if (step < warmup) return fmin(1.0, (step + 1.0) / warmup);
    const double steps = (double)(options->total_steps - options->warmup_steps);
    double done = steps > 0.0 ? (step - warmup) / steps : 1.0;
    if (done > 1.0) done = 1.0;
    switch (options->schedule) {
    case ATTN_SCHEDULE_CONSTANT: break;
    case ATTN_SCHEDULE_LINEAR: return floor + (1.0 - floor) * (1.0 - done);
    case ATTN_SCHEDULE_COSINE:
        return floor + (1.0 - floor) * 0.5 * (1.0 + cos(3.14159265358979323846 * done));
    case ATTN_SCHEDULE_INVERSE_ROOT: return fmax(floor, sqrt((warmup > 1.0 ? warmup : 1.0) / (step + 1.0)));
    }
    return 1.0;
}

float attn_schedule_factor(const attn_optimizer_options *options, int64_t step) {
    return options ? (float)at_schedule_factor(options, (double)step) : 0.0f;
}
