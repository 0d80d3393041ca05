/* host.h (private): what is computed with numbers of the host, after they were read from the backend. */
#ifndef AT_OPS_HOST_H
#define AT_OPS_HOST_H

#include "base/context.h"

/* The maximum of x, the sum of exp(x - maximum), and the maxima of every `block` numbers, the last ones
 * fewer; count >= 1. In the calling thread. */
void at_host_exponential_sum(const attn_context *context, int64_t count, int64_t block, const float *x,
                             float *maxima, float *maximum, float *sum);

#endif
