/* context.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_CONTEXT_H
#define ATTN_CONTEXT_H

#include <stddef.h>

#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_context attn_context;

typedef struct attn_allocator {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory);
    void *user;
} attn_allocator;

typedef struct attn_context_options {
    size_t size;
    int threads;
    const char *isa;
    attn_allocator allocator;
} attn_context_options;

ATTN_INIT(attn_context_options)

ATTN_API attn_status attn_context_create(const attn_context_options *options, attn_context **context);

ATTN_API const char *attn_last_create_error(void);

ATTN_API void attn_context_destroy(attn_context *context);

ATTN_API const char *attn_context_error(const attn_context *context);

ATTN_API int attn_context_threads(const attn_context *context);

ATTN_API const char *attn_context_isa(const attn_context *context);

ATTN_API size_t attn_context_memory(const attn_context *context);
ATTN_API attn_status attn_context_reserve(attn_context *context, size_t bytes);

ATTN_API attn_status attn_context_set_memory(attn_context *context, size_t bytes, const char *folder);

typedef struct attn_data_use {
    size_t in_memory, in_files;
    const char *folder;
} attn_data_use;
ATTN_API attn_data_use attn_context_data(const attn_context *context);

ATTN_API size_t attn_machine_memory(void);

ATTN_END_DECLS

#endif
