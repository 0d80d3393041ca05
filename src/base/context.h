/* context.h (private): what a context holds, its error text and its memory. */
#ifndef AT_BASE_CONTEXT_H
#define AT_BASE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

#include "base/cpu.h"
#include "base/parallel.h"

#define AT_ALIGNMENT 64 /* of every block: a cache line, and the widest vector */

/* Who wants to know how far long work has come; told from the thread that asked for the work. */
typedef struct at_listener {
    void (*tell)(void *user, const char *name, int64_t done, int64_t total);
    void *user;
    double told_at;
} at_listener;

struct attn_context {
    attn_allocator allocator;
    at_pool *pool;
    int threads;
    at_isa isa;
    attn_context *whole;              /* of a part (base/parts.h): what it is part of; else NULL */
    const struct at_backend *backend; /* what its tensors live on (ops/backend.h); NULL: the CPU */
    unsigned char *memory;            /* one block, used afresh by every call */
    size_t memory_bytes;
    struct at_spill *spill; /* NULL, or where large blocks of data come from (base/spill.h) */
    at_listener *listener;  /* NULL, or who is told of work with data */
    char error[512];
};

/* So much of the work with `name` (a file, whose bytes are counted) is done. The end is always told, the rest
 * a few times a second. */
void at_tell(attn_context *context, const char *name, int64_t done, int64_t total);

/* Writes the text of an error (printf style) into the context and returns
 * `status`, so that a check is one line. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_fail(attn_context *context, attn_status status, const char *format, ...);

/* The same for what the system refused: "PATH: cannot be opened: No such file
 * or directory" for what "opened" and the error ENOENT. */
attn_status at_fail_system(attn_context *context, const char *path, const char *what, int error);

/* The layout of one call's working memory: pieces are added, each aligned to
 * AT_ALIGNMENT, and their offsets kept; then at_context_memory hands out a
 * block of `bytes`. Overflow is sticky and makes at_context_memory fail with
 * ATTN_OVERFLOW. */
typedef struct at_layout {
    size_t bytes;
    int overflow;
} at_layout;
size_t at_layout_add(at_layout *layout, int64_t count, size_t element_bytes);

/* *memory = a block of layout->bytes (grown if need be; what was handed out
 * before is then gone). Contents are not cleared. Errors, with their text:
 * OVERFLOW, OUT_OF_MEMORY. */
attn_status at_context_memory(attn_context *context, const at_layout *layout, unsigned char **memory);

/* How many threads a job of that many operations is worth waking. */
int at_threads_for(const attn_context *context, double operations);

#endif
