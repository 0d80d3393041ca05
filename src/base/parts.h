/* parts.h: contexts for the workers of a loop whose tasks call operators themselves.
 *
 * A part is a context of one thread: what it runs stays in the worker that runs it. It has an error text and
 * working memory of its own, and takes parameters of the whole. Memory comes from the whole's allocator, one
 * call at a time, and from its store of large blocks. As long as tasks use parts, the whole itself is not
 * used.
 */
#ifndef AT_BASE_PARTS_H
#define AT_BASE_PARTS_H

#include "base/context.h"

typedef struct at_parts at_parts;

/* One for every thread of the context. *parts is untouched on failure: OUT_OF_MEMORY or SYSTEM_ERROR. */
attn_status at_parts_create(attn_context *whole, at_parts **parts);
/* What was made with a part's memory is released before. NULL is allowed. */
void at_parts_destroy(at_parts *parts);
attn_context *at_part(at_parts *parts, int worker);

#endif
