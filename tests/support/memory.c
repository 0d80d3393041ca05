/* memory.c: guarded blocks by mmap and mprotect, and the counting allocator. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "support/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/check.h"

memory_block memory_create(memory_kind kind, size_t bytes) {
    memory_block block = {.bytes = bytes};
    if (kind == MEMORY_PLAIN) {
        block.data = malloc(bytes ? bytes : 1);
        assert_non_null(block.data);
        return block;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inside = (bytes + page - 1) / page * page;
    block.mapping_bytes = inside + 2 * page;
    block.mapping =
        mmap(NULL, block.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block.mapping != MAP_FAILED);
    unsigned char *first = (unsigned char *)block.mapping + page;
    assert_int_equal(mprotect(block.mapping, page, PROT_NONE), 0);
    assert_int_equal(mprotect(first + inside, page, PROT_NONE), 0);
    block.data = kind == MEMORY_GUARD_AFTER ? first + inside - bytes : first;
    return block;
}

void memory_destroy(memory_block *block) {
    if (block->mapping)
        assert_int_equal(munmap(block->mapping, block->mapping_bytes), 0);
    else
        free(block->data);
    memset(block, 0, sizeof(*block));
}

static void *counting_allocate(void *user, size_t bytes, size_t alignment) {
    counting_allocator *counter = user;
    if (counter->fail_at == 1) {
        counter->failures++;
        return NULL;
    }
    if (counter->fail_at > 1) counter->fail_at--;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!memory) return NULL;
    counter->allocations++;
    counter->live++;
    return memory;
}

static void counting_release(void *user, void *memory) {
    counting_allocator *counter = user;
    assert_non_null(memory);
    counter->live--;
    free(memory);
}

attn_allocator counting_allocator_functions(counting_allocator *counter) {
    attn_allocator allocator = {counting_allocate, counting_release, counter};
    return allocator;
}

counting_allocator group_counter;
attn_context *group_context;

int group_setup(void **state) {
    (void)state;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&group_counter);
    return attn_context_create(&options, &group_context) == ATTN_OK ? 0 : -1;
}

int group_teardown(void **state) {
    (void)state;
    attn_context_destroy(group_context);
    return group_counter.live == 0 ? 0 : -1;
}
