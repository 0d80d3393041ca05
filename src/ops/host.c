/* host.c: see the header. */
#include "ops/host.h"

#include "kernels/rows.h"

void at_host_exponential_sum(const attn_context *context, int64_t count, int64_t block, const float *x,
                             float *maxima, float *maximum, float *sum) {
    at_row_kernels_for(context->isa)->exponential_sum_in_blocks(count, block, x, maxima, maximum, sum);
}
