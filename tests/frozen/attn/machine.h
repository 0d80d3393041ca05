/* machine.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_MACHINE_H
#define ATTN_MACHINE_H

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

ATTN_API attn_status attn_machine_fma_peak(attn_context *context, double seconds, double *gflops);

ATTN_API attn_status attn_machine_copy_bandwidth(attn_context *context, double seconds, double *gigabytes);

ATTN_END_DECLS

#endif
