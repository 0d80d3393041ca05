/* arena.h: memory that is handed out piece by piece and taken back at once.
 *
 * Pieces come from chunks that are asked for as need be. A reset keeps the
 * memory: what took several chunks is in one after it, so that a step that
 * needs no more than the largest before it asks for nothing.
 */
#ifndef AT_BASE_ARENA_H
#define AT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

enum { AT_ARENA_CHUNKS = 48 }; /* each at least as large as all before it together */

typedef struct at_arena {
    attn_allocator allocator;
    struct {
        unsigned char *memory;
        size_t bytes, used;
    } chunk[AT_ARENA_CHUNKS];
    int chunks, current;
    size_t first_bytes;
} at_arena;

/* first_bytes: of the first chunk, if no more is requested. Nothing is taken before that. */
void at_arena_create(at_arena *arena, const attn_allocator *allocator, size_t first_bytes);
void at_arena_destroy(at_arena *arena);

/* count * element_bytes bytes, aligned to a cache line, not cleared; NULL if
 * there is no memory or the size overflows. count 0 gives a valid pointer. */
void *at_arena_take(at_arena *arena, int64_t count, size_t element_bytes);

/* Takes everything back. */
void at_arena_reset(at_arena *arena);

/* Where the arena stands, and back to there. */
typedef struct at_mark {
    int chunk;
    size_t used;
} at_mark;
at_mark at_arena_mark(const at_arena *arena);
void at_arena_release(at_arena *arena, at_mark mark);

/* Bytes held from the allocator. */
size_t at_arena_bytes(const at_arena *arena);

#endif
