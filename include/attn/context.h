/* context.h: threads, working memory, instruction set and the last error.
 *
 * A context belongs to one thread at a time: make one per thread that calls
 * the library. It owns a pool of worker threads, an arena of working memory
 * that grows to the largest call and is then reused (so that a repeated call
 * allocates nothing), and the text of the last error.
 *
 *     attn_context *context;
 *     if (attn_context_create(NULL, &context) != ATTN_OK) puts(attn_last_create_error());
 *     if (attn_attention_forward(context, NULL, NULL, &q, &k, &v, &o, NULL, NULL) != ATTN_OK)
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

/* Numbers. All operators compute in f32, rounded to the nearest, and flush
 * subnormal numbers (below 2^-126) to 0, as operands and as results, on x86-64
 * and AArch64, where CPUs may need a hundred times as long for them. Copies
 * keep subnormal numbers. Each thread sets this mode while it computes and
 * restores the caller's mode afterwards. Results do not depend on the caller's
 * mode, with one exception: what is computed once for a whole batch, such as the
 * final sum of a loss (also the CRF's) or of a gradient norm, is computed in the
 * caller's mode. */

typedef struct attn_context attn_context;

/* The source of all memory of a context. allocate returns memory for at least
 * `bytes` (> 0) aligned to `alignment` (a power of two), or NULL. release gets
 * a pointer that allocate returned, never NULL. The context never makes two of
 * these calls at the same time. It makes them in the thread that calls the
 * library or, before that call returns, in one of its own worker threads. */
typedef struct attn_allocator {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory);
    void *user;
} attn_allocator;

typedef struct attn_context_options {
    size_t size; /* sizeof(attn_context_options), set by the init function */
    int threads; /* 0: the environment variable ATTN_THREADS, else the number of cores this process may use */
    const char *isa; /* NULL: the environment variable ATTN_ISA, else the best that CPU and OS support;
                        "scalar", "avx2", "avx512", "avx512x2" (the same instructions, with tiles for two
                        512-bit multiply-add units), "neon" */
    attn_allocator allocator; /* allocate == NULL: aligned_alloc and free */
} attn_context_options;

ATTN_INIT(attn_context_options)

/* Makes a context. options NULL means the defaults. *context is untouched on
 * failure. Errors: INVALID_ARGUMENT (context NULL, an options->size that no
 * version has, threads < 0 or > 1024, ATTN_THREADS not a number in 1..1024),
 * UNSUPPORTED (an instruction set that this build or this machine lacks),
 * OUT_OF_MEMORY, SYSTEM_ERROR. attn_last_create_error() has the text. */
ATTN_API attn_status attn_context_create(const attn_context_options *options, attn_context **context);

/* The text of the last attn_context_create() that failed in this thread; ""
 * if none did. Valid until the next create in this thread. */
ATTN_API const char *attn_last_create_error(void);

/* Stops the threads and frees the memory. NULL is allowed. */
ATTN_API void attn_context_destroy(attn_context *context);

/* The message of the last failed call on this context. It names the argument
 * that is wrong and, after ATTN_SHAPE_MISMATCH, gives the two shapes that do
 * not agree. "" before the first failure; a successful call does not change it.
 * Valid until the next failing call. NULL is allowed; the text then says that
 * the context is NULL. */
ATTN_API const char *attn_context_error(const attn_context *context);

/* How many threads work on a call, including the caller's. */
ATTN_API int attn_context_threads(const attn_context *context);

/* The instruction set in use, by the names of attn_context_options.isa; "" for NULL. */
ATTN_API const char *attn_context_isa(const attn_context *context);

/* memory: the bytes of working memory that the context holds. reserve: grows it
 * to at least `bytes`, so that later calls that need no more allocate nothing
 * (attn_attention_forward_memory and the like say how much a call needs).
 * Errors of reserve: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY; the context then
 * keeps the memory that it had. */
ATTN_API size_t attn_context_memory(const attn_context *context);
ATTN_API attn_status attn_context_reserve(attn_context *context, size_t bytes);

/* Bounds the memory that data takes: datasets, and what training and prediction derive from them (units,
 * targets, the order of examples). Only allocations of at least 1 MiB count; if `bytes` is below 64 MiB, this
 * minimum is bytes / 64, but never below 4 KiB. Allocations that together fit into half of `bytes` are in
 * ordinary memory. The others are unnamed temporary files that are mapped into memory; their resident pages
 * are kept within the other half. Results are the same to the bit. Networks, gradients, optimiser state, the
 * working memory of operators and smaller allocations are not bounded.
 *
 * folder: where the temporary files are; NULL: the environment variable TMPDIR, else /var/tmp, or /tmp if
 * /var/tmp cannot be written or is in memory (tmpfs). Disk space is reserved as the files grow, so a full
 * disk gives OUT_OF_MEMORY, with the folder in the message. bytes 0: no bound, as without the call.
 *
 * Call it once per context, before reading data with it. While there are temporary files, a thread of the
 * context watches how much of them is resident. Errors: INVALID_ARGUMENT (NULL, a second bound, a folder's
 * name that is too long), OUT_OF_MEMORY, SYSTEM_ERROR. */
ATTN_API attn_status attn_context_set_memory(attn_context *context, size_t bytes, const char *folder);

/* Memory that these allocations use now. Without a bound, and for NULL, the numbers are 0 and the folder
 * is "". A plain struct: it will not grow. */
typedef struct attn_data_use {
    size_t in_memory, in_files; /* bytes */
    const char *folder;         /* of the files; valid as long as the context */
} attn_data_use;
ATTN_API attn_data_use attn_context_data(const attn_context *context);

/* Bytes of memory that this process may use: the machine's memory, or the limit of its container (control
 * group) if that is less; 0: unknown. Any thread may call it. */
ATTN_API size_t attn_machine_memory(void);

ATTN_END_DECLS

#endif
