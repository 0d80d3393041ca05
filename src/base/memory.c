/* memory.c: blocks from a context's allocator. */
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"

static void *take(attn_context *context, int64_t count, size_t element_bytes, const char *what) {
    void *memory = NULL;
    if (count >= 0 && (uint64_t)count <= (SIZE_MAX / 2) / element_bytes) {
        size_t bytes = (size_t)count * element_bytes;
        memory = context->allocator.allocate(context->allocator.user, bytes ? bytes : 1, AT_ALIGNMENT);
    }
    if (!memory) {
        at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for %s (%" PRId64 " times %zu bytes)", what, count,
                element_bytes);
    }
    return memory;
}

void *at_allocate(attn_context *context, int64_t count, size_t element_bytes, const char *what) {
    void *memory = take(context, count, element_bytes, what);
    if (memory) memset(memory, 0, (size_t)count * element_bytes);
    return memory;
}

void at_release(attn_context *context, void *memory) {
    if (memory) context->allocator.release(context->allocator.user, memory);
}

attn_status at_grow(attn_context *context, void *memory, int64_t *room, int64_t needed, size_t element_bytes,
                    const char *what) {
    if (needed <= *room) return ATTN_OK;
    void *old;
    memcpy(&old, memory, sizeof old); /* `memory` points to a pointer of any type */
    int64_t larger = *room > INT64_MAX / 4 ? needed : 2 * *room;
    if (larger < needed) larger = needed;
    if (larger < 16) larger = 16;
    void *grown = take(context, larger, element_bytes, what);
    if (!grown) return ATTN_OUT_OF_MEMORY;
    if (old) memcpy(grown, old, (size_t)*room * element_bytes);
    at_release(context, old);
    memcpy(memory, &grown, sizeof grown);
    *room = larger;
    return ATTN_OK;
}
