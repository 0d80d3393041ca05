/* memory.h: blocks from a context's allocator, for what lives longer than a call. Large ones come from its
 * store (base/spill.h), if it has one, and are released here and nowhere else. */
#ifndef AT_BASE_MEMORY_H
#define AT_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

/* count * element_bytes bytes, cleared; NULL, with the context's error set to
 * OUT_OF_MEMORY and `what` named in it, if there are none or the size overflows.
 * count 0 gives a valid pointer. */
void *at_allocate(attn_context *context, int64_t count, size_t element_bytes, const char *what);
void at_release(attn_context *context, void *memory); /* NULL is allowed */

/* Makes *memory, which has room for *room elements, large enough for `needed`:
 * at least doubled (a block of the store's that is in a file grows by steps),
 * contents kept, the new part not cleared. On failure it is left as it was. */
attn_status at_grow(attn_context *context, void *memory, int64_t *room, int64_t needed, size_t element_bytes,
                    const char *what);

#endif
