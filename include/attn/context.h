/* context.h: threads, working memory, instruction set and the last error.
 *
 * A context belongs to one thread at a time: make one per thread that calls
 * the library. It owns a pool of worker threads, an arena of working memory
 * that grows to the largest call and is then reused (so that a repeated call
 * allocates nothing), and the text of the last error.
 *
 *     attn_context *context;
 *     if (attn_context_create(NULL, &context) != ATTN_OK) ...
 *     if (attn_attention_forward(context, ...) != ATTN_OK)
 *         fprintf(stderr, "%s\n", attn_context_error(context));
 *     attn_context_destroy(context);
 *
 * The library never prints, exits or aborts.
 */
#ifndef ATTN_CONTEXT_H
#define ATTN_CONTEXT_H

#include <stddef.h>

#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

/* Numbers. All operators compute in f32, rounded to the nearest, and take
 * subnormal numbers (below 2^-126) for 0, as operands and as results, on x86-64
 * and AArch64: CPUs may need a hundred times as long for them. What is only
 * copied keeps them. The mode is set on each thread while it computes and put
 * back: results do not depend on what the caller has set for them, but for the
 * last sums of losses and CRFs (over a batch), and the caller's mode is never
 * left changed. */

typedef struct attn_context attn_context;

/* Where all memory of a context comes from. allocate returns memory for at
 * least `bytes` (> 0) aligned to `alignment` (a power of two), or NULL;
 * release gets what allocate returned, never NULL. One call at a time: from the
 * thread that uses the context or, while that waits for them, from its workers. */
typedef struct attn_allocator {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory);
    void *user;
} attn_allocator;

typedef struct attn_context_options {
    size_t size;              /* sizeof(attn_context_options), set by the init function */
    int threads;              /* 0: ATTN_THREADS from the environment, else the cores this process may use */
    const char *isa;          /* NULL: ATTN_ISA from the environment, else the best that CPU and OS have;
                                 "scalar", "avx2", "avx512", "avx512x2" (the same instructions, with
                                 tiles for two 512-bit multiply-add units), "neon" */
    attn_allocator allocator; /* allocate == NULL: aligned_alloc and free */
} attn_context_options;

ATTN_API void attn_context_options_init(attn_context_options *options);

/* Makes a context. options NULL means the defaults. *context is untouched on
 * failure. Errors: INVALID_ARGUMENT (context NULL, options->size of no version,
 * threads < 0 or > 1024, ATTN_THREADS not a number in 1..1024),
 * UNSUPPORTED (an instruction set that this build or this machine lacks),
 * OUT_OF_MEMORY, SYSTEM_ERROR. attn_last_create_error() has the text. */
ATTN_API attn_status attn_context_create(const attn_context_options *options, attn_context **context);

/* The text of the last attn_context_create() that failed in this thread; ""
 * if none did. Valid until the next create in this thread. */
ATTN_API const char *attn_last_create_error(void);

/* Stops the threads and frees the memory. NULL is allowed. */
ATTN_API void attn_context_destroy(attn_context *context);

/* The text of the last failed call on this context: names the argument and
 * both shapes. "" before the first failure; a call that succeeds leaves it.
 * Valid until the next failing call. NULL is allowed, and said to be NULL. */
ATTN_API const char *attn_context_error(const attn_context *context);

/* How many threads work on a call (the caller's own among them); 0 for NULL. */
ATTN_API int attn_context_threads(const attn_context *context);

/* The instruction set in use, by the names of attn_context_options.isa; "" for NULL. */
ATTN_API const char *attn_context_isa(const attn_context *context);

/* Bytes of working memory that the context holds now, and grows it to at
 * least `bytes` now, so that later calls that need no more allocate nothing
 * (the size queries beside each operator tell how much). reserve's error:
 * OUT_OF_MEMORY, and the memory held before stays. */
ATTN_API size_t attn_context_memory(const attn_context *context);
ATTN_API attn_status attn_context_reserve(attn_context *context, size_t bytes);

/* Bounds the memory that data takes: datasets as they are read, and what is made of them for training or
 * prediction (units, targets, the order of examples). Blocks of it from 1 MiB on (smaller ones where the
 * bound is below 64 MiB) stay in memory up to half of `bytes`; beyond that they are in temporary files
 * without a name, which are mapped, and whose pages are resident as far as the other half allows.
 * Results are the same to the bit. Not bounded by it: networks, gradients, the state of optimisers, the
 * working memory of operators, and the many small blocks.
 *
 * folder: of the temporary files; NULL: TMPDIR of the environment, else /var/tmp, or /tmp where that cannot
 * be written or is kept in memory (tmpfs). Their room is reserved as they grow, so that a full disk is
 * OUT_OF_MEMORY, with the folder in the text. bytes 0: no bound, as without the call.
 *
 * Once for a context, before data is read with it. A thread watches the resident size from the first
 * temporary file on. Errors: INVALID_ARGUMENT (a second bound, a folder's name too long), OUT_OF_MEMORY,
 * SYSTEM_ERROR. */
ATTN_API attn_status attn_context_set_memory(attn_context *context, size_t bytes, const char *folder);

/* What the large blocks of data take now; all 0 without a bound. */
typedef struct attn_data_use {
    size_t in_memory, in_files; /* bytes */
    const char *folder;         /* of the files; valid as long as the context; "" without a bound */
} attn_data_use;
ATTN_API attn_data_use attn_context_data(const attn_context *context);

/* Bytes of memory that this process may use: what the machine has, or less where it runs in a container
 * (control group) with a limit of its own; 0: unknown. */
ATTN_API size_t attn_machine_memory(void);

ATTN_END_DECLS

#endif
