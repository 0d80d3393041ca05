/* schedule.h (private): attn_schedule_factor before it is rounded. */
#ifndef AT_TRAIN_SCHEDULE_H
#define AT_TRAIN_SCHEDULE_H

#include <attn/optimizer.h>

/* The step may be anywhere between two. */
double at_schedule_factor(const attn_optimizer_options *options, double step);

#endif
