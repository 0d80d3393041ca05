/* ranges.h: a loop over ranges of things, whose tasks may fail. */
#ifndef AT_BASE_RANGES_H
#define AT_BASE_RANGES_H

#include "base/context.h"

/* Calls run(user, part, worker, first, end) for ranges of at most `step` of `count` things, on all threads;
 * `part` is the context to work with, `worker` is below the threads of the context. Ranges are handed out in
 * their order (base/parallel.h); what the first of those says that fail is the result. With more than one
 * thread all are run, whatever has failed. */
typedef attn_status (*at_range_function)(void *user, attn_context *part, int worker, int64_t first,
                                         int64_t end);
attn_status at_for_ranges(attn_context *context, int64_t count, int64_t step, at_range_function run,
                          void *user);

#endif
