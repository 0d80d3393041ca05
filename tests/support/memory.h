/* memory.h: blocks that end at a forbidden page, and an allocator that counts
 * and fails on demand.
 */
#ifndef TEST_SUPPORT_MEMORY_H
#define TEST_SUPPORT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

typedef enum memory_kind {
    MEMORY_PLAIN,       /* malloc: AddressSanitizer guards it */
    MEMORY_GUARD_AFTER, /* the byte after the last one is in a page that may not be touched */
    MEMORY_GUARD_BEFORE /* the byte before the first one is */
} memory_kind;

typedef struct memory_block {
    void *data; /* never NULL, also for 0 bytes */
    size_t bytes;
    void *mapping; /* what to unmap, or NULL */
    size_t mapping_bytes;
} memory_block;

/* Fails the running test when there is no memory. */
memory_block memory_create(memory_kind kind, size_t bytes);
void memory_destroy(memory_block *block);

/* An allocator that counts what it hands out. fail_at = n makes the n-th
 * allocation from now (1 is the next) and all that follow fail; 0: never. */
typedef struct counting_allocator {
    int64_t allocations;
    int64_t live;
    int64_t failures; /* how often it said no */
    int64_t fail_at;
} counting_allocator;

attn_allocator counting_allocator_functions(counting_allocator *counter);

/* A context of one thread that allocates with `group_counter`, for the whole of a group of tests; its
 * teardown fails where something was not given back. */
extern counting_allocator group_counter;
extern attn_context *group_context;
int group_setup(void **state);
int group_teardown(void **state);

#endif
