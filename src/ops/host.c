/* host.c: see the header. */
#include "ops/host.h"

#include "base/arithmetic.h"
#include "kernels/rows.h"

void at_host_exponential_sum(const attn_context *context, int64_t count, int64_t block, const float *x,
                             float *maxima, float *maximum, float *sum) {
    const uint64_t mode = at_arithmetic_begin();
    at_row_kernels_for(context->isa)->exponential_sum_in_blocks(count, block, x, maxima, maximum, sum);
    at_arithmetic_end(mode);
}
