/* schedule.h (private): attn_schedule_factor before it is rounded. */
#ifndef AT_TRAIN_SCHEDULE_H
#define AT_TRAIN_SCHEDULE_H

#include <attn/optimizer.h>

double at_schedule_factor(const attn_optimizer_options *options, int64_t step);

#endif
