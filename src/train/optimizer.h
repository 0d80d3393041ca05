/* optimizer.h (private): the state of an optimiser on the host, wherever it is kept. */
#ifndef AT_TRAIN_OPTIMIZER_H
#define AT_TRAIN_OPTIMIZER_H

#include <attn/optimizer.h>

/* Tensor `index` of the state (attn_optimizer_state), contiguous, copied out and in. */
attn_status at_optimizer_host_read(attn_optimizer *optimizer, int64_t index, float *numbers);
attn_status at_optimizer_host_write(attn_optimizer *optimizer, int64_t index, const float *numbers);

/* From now on the learning rate of step 0, 1, ... is that of the schedule at place(user, step). */
typedef double (*at_place)(const void *user, int64_t step);
void at_optimizer_follow(attn_optimizer *optimizer, at_place place, const void *user);

#endif
