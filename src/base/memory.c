/* memory.c: blocks from a context's allocator; large ones from its store, if it has one. */
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/spill.h"

/* How many bytes that are; 0: more than there can be. None become one. */
static size_t bytes_of(int64_t count, size_t element_bytes) {
    if (count < 0 || (uint64_t)count > (SIZE_MAX / 2) / element_bytes) return 0;
    return count ? (size_t)count * element_bytes : 1;
}

static int is_large(const attn_context *context, size_t bytes) {
    return context->spill && bytes >= at_spill_least(context->spill);
}

static void *take(attn_context *context, int64_t count, size_t element_bytes, const char *what) {
    size_t bytes = bytes_of(count, element_bytes);
    void *memory = bytes ? context->allocator.allocate(context->allocator.user, bytes, AT_ALIGNMENT) : NULL;
    if (!memory) {
        at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for %s (%" PRId64 " times %zu bytes)", what, count,
                element_bytes);
    }
    return memory;
}

void *at_allocate(attn_context *context, int64_t count, size_t element_bytes, const char *what) {
    size_t bytes = bytes_of(count, element_bytes);
    int cleared = 0;
    void *memory = is_large(context, bytes) ? at_spill_take(context, bytes, &cleared, what)
                                            : take(context, count, element_bytes, what);
    if (memory && !cleared) memset(memory, 0, (size_t)count * element_bytes);
    return memory;
}

void at_release(attn_context *context, void *memory) {
    if (!memory || (context->spill && at_spill_release(context, memory))) return;
    context->allocator.release(context->allocator.user, memory);
}

attn_status at_grow(attn_context *context, void *memory, int64_t *room, int64_t needed, size_t element_bytes,
                    const char *what) {
    if (needed <= *room) return ATTN_OK;
    void *old, *grown;
    memcpy(&old, memory, sizeof old); /* `memory` points to a pointer of any type */
    int64_t larger = *room > INT64_MAX / 4 ? needed : 2 * *room;
    if (larger < needed) larger = needed;
    if (larger < 16) larger = 16;
    size_t bytes = bytes_of(larger, element_bytes), used = old ? (size_t)*room * element_bytes : 0;
    if (is_large(context, bytes)) {
        grown = at_spill_grow(context, old, used, (size_t)needed * element_bytes, bytes, &bytes, what);
        if (!grown) return ATTN_OUT_OF_MEMORY;
        larger = (int64_t)(bytes / element_bytes);
    } else {
        grown = take(context, larger, element_bytes, what);
        if (!grown) return ATTN_OUT_OF_MEMORY;
        if (old) memcpy(grown, old, used);
        at_release(context, old);
    }
    memcpy(memory, &grown, sizeof grown);
    *room = larger;
    return ATTN_OK;
}
