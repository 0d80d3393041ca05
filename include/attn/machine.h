/* machine.h: measures the limits of this machine.
 *
 * Benchmarks report speeds as fractions of these limits, measured in the same
 * run. The functions occupy all threads of the context; like the context, they
 * are for one thread at a time.
 */
#ifndef ATTN_MACHINE_H
#define ATTN_MACHINE_H

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* The peak rate of f32 multiply-adds of all the context's threads on its
 * instruction set, in 10^9 operations per second (a multiply-add counts as
 * two): the best of several rounds over about `seconds`.
 * Errors: INVALID_ARGUMENT (NULL). */
ATTN_API attn_status attn_machine_fma_peak(attn_context *context, double seconds, double *gflops);

/* 10^9 bytes read plus written per second when the context's threads copy an
 * array far larger than the caches: the best of several rounds over about
 * `seconds`. Allocates two arrays (2 x 128 MiB) with the context's allocator
 * and frees them.
 * Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_machine_copy_bandwidth(attn_context *context, double seconds, double *gigabytes);

ATTN_END_DECLS

#endif
