/* arena.c: memory in chunks, taken back at once. */
#include "base/arena.h"

#include <string.h>

#include "base/context.h"

void at_arena_create(at_arena *arena, const attn_allocator *allocator, size_t first_bytes) {
    memset(arena, 0, sizeof *arena);
    arena->first_bytes = first_bytes;
    arena->allocator = *allocator;
}

static void release_chunks(at_arena *arena) {
    for (int c = 0; c < arena->chunks; c++) {
        arena->allocator.release(arena->allocator.user, arena->chunk[c].memory);
    }
    arena->chunks = 0;
    arena->current = 0;
}

void at_arena_destroy(at_arena *arena) { release_chunks(arena); }

static int add_chunk(at_arena *arena, size_t bytes) {
    if (arena->chunks == AT_ARENA_CHUNKS) return 0;
    unsigned char *memory = arena->allocator.allocate(arena->allocator.user, bytes, AT_ALIGNMENT);
    if (!memory) return 0;
    arena->chunk[arena->chunks].memory = memory;
    arena->chunk[arena->chunks].bytes = bytes;
    arena->chunk[arena->chunks].used = 0;
    arena->current = arena->chunks++;
    return 1;
}

void *at_arena_take(at_arena *arena, int64_t count, size_t element_bytes) {
    if (count < 0 || (uint64_t)count > (SIZE_MAX / 4) / (element_bytes ? element_bytes : 1)) return NULL;
    size_t bytes = ((size_t)count * element_bytes + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
    if (bytes == 0) bytes = AT_ALIGNMENT;
    for (int c = arena->current; c < arena->chunks; c++) {
        if (arena->chunk[c].bytes - arena->chunk[c].used < bytes) continue;
        void *memory = arena->chunk[c].memory + arena->chunk[c].used;
        arena->chunk[c].used += bytes;
        arena->current = c;
        return memory;
    }
    size_t held = at_arena_bytes(arena), size = held > arena->first_bytes ? held : arena->first_bytes;
    if (size < bytes) size = bytes;
    if (!add_chunk(arena, size) && (size == bytes || !add_chunk(arena, bytes))) return NULL;
    arena->chunk[arena->current].used = bytes;
    return arena->chunk[arena->current].memory;
}

void at_arena_reset(at_arena *arena) {
    size_t used = 0;
    int in_use = 0;
    for (int c = 0; c < arena->chunks; c++) {
        used += arena->chunk[c].used;
        in_use += arena->chunk[c].used > 0;
        arena->chunk[c].used = 0;
    }
    arena->current = 0;
    if (in_use > 1) { /* one chunk that holds it all; a failure shows when memory is next asked for */
        release_chunks(arena);
        add_chunk(arena, used + used / 8 / AT_ALIGNMENT * AT_ALIGNMENT);
    }
}

at_mark at_arena_mark(const at_arena *arena) {
    at_mark mark = {arena->current, arena->chunks ? arena->chunk[arena->current].used : 0};
    return mark;
}

void at_arena_release(at_arena *arena, at_mark mark) {
    for (int c = mark.chunk + 1; c < arena->chunks; c++) arena->chunk[c].used = 0;
    if (arena->chunks) arena->chunk[mark.chunk].used = mark.used;
    arena->current = mark.chunk;
}

size_t at_arena_bytes(const at_arena *arena) {
    size_t bytes = 0;
    for (int c = 0; c < arena->chunks; c++) bytes += arena->chunk[c].bytes;
    return bytes;
}
