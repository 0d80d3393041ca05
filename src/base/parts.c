/* parts.c: contexts of one thread that share the allocator of a context. */
#include "base/parts.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

struct at_parts {
    attn_context *whole;
    pthread_mutex_t mutex;
    attn_context *list; /* [threads of the whole] */
};

static void *allocate(void *user, size_t bytes, size_t alignment) {
    at_parts *parts = user;
    pthread_mutex_lock(&parts->mutex);
    void *memory = parts->whole->allocator.allocate(parts->whole->allocator.user, bytes, alignment);
    pthread_mutex_unlock(&parts->mutex);
    return memory;
}

static void release(void *user, void *memory) {
    at_parts *parts = user;
    pthread_mutex_lock(&parts->mutex);
    parts->whole->allocator.release(parts->whole->allocator.user, memory);
    pthread_mutex_unlock(&parts->mutex);
}

attn_status at_parts_create(attn_context *whole, at_parts **parts) {
    at_parts *made = at_allocate(whole, 1, sizeof *made, "the parts of a context");
    attn_context *list = at_allocate(whole, whole->threads, sizeof *list, "the parts of a context");
    int refused = made && list ? pthread_mutex_init(&made->mutex, NULL) : 0;
    if (!made || !list || refused) {
        at_release(whole, made);
        at_release(whole, list);
        return refused ? at_fail(whole, ATTN_SYSTEM_ERROR, "the system refused a lock") : ATTN_OUT_OF_MEMORY;
    }
    made->whole = whole;
    made->list = list;
    for (int i = 0; i < whole->threads; i++) {
        /* the pool is never asked for more than one thread, and then runs everything in the caller */
        attn_context part = {.allocator = {allocate, release, made},
                             .pool = whole->pool,
                             .threads = 1,
                             .isa = whole->isa,
                             .whole = whole,
                             .spill = whole->spill,
                             .backend = whole->backend};
        list[i] = part;
    }
    *parts = made;
    return ATTN_OK;
}

attn_context *at_part(at_parts *parts, int worker) { return &parts->list[worker]; }

void at_parts_destroy(at_parts *parts) {
    if (!parts) return;
    attn_context *whole = parts->whole;
    for (int i = 0; i < whole->threads; i++) at_release(whole, parts->list[i].memory);
    pthread_mutex_destroy(&parts->mutex);
    at_release(whole, parts->list);
    at_release(whole, parts);
}
