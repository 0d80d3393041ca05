/* machine.h: the limits of this machine, measured.
 *
 * Speeds are reported as fractions of these, taken in the same run.
 */
#ifndef ATTN_MACHINE_H
#define ATTN_MACHINE_H

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* f32 multiply-adds that the context's threads reach together on its
 * instruction set, in 10^9 operations a second (a multiply-add counts two):
 * the best of several rounds over about `seconds`. */
ATTN_API attn_status attn_machine_fma_peak(attn_context *context, double seconds, double *gflops);

/* Bytes read plus bytes written a second, in 10^9, when the context's threads
 * copy an array far larger than the caches: the best of several rounds over
 * about `seconds`. Takes its two arrays (2 x 128 MiB) from the context's
 * allocator and gives them back. */
ATTN_API attn_status attn_machine_copy_bandwidth(attn_context *context, double seconds, double *gigabytes);

ATTN_END_DECLS

#endif
