/* context.c: making and freeing a context, its error text and its memory.
 *
 * The working memory is one block. A call lays out all its pieces first
 * (at_layout_add) and then takes the block (at_context_memory), so there is a
 * single place where memory can run out, before anything is written. The block
 * only ever grows: a repeated call allocates nothing.
 */
#define _DEFAULT_SOURCE         /* madvise */
#define _POSIX_C_SOURCE 200809L /* strerror_r */

#include "base/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/spill.h"

enum { MAX_THREADS = 1024 };

/* The one text that exists before its context does, hence one per thread. */
static _Thread_local char create_error[512];

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static attn_status
fail_create(attn_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(create_error, sizeof create_error, format, arguments);
    va_end(arguments);
    return status;
}

attn_status at_fail(attn_context *context, attn_status status, const char *format, ...) {
    if (context) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(context->error, sizeof context->error, format, arguments);
        va_end(arguments);
    }
    return status;
}

attn_status at_fail_system(attn_context *context, const char *path, const char *what, int error) {
    enum { LONGEST_PATH = 180 };
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error);
    size_t length = strlen(path);
    int cut = length > LONGEST_PATH; /* its end tells files apart, and the reason has to fit behind it */
    return at_fail(context, ATTN_SYSTEM_ERROR, "%s%s: cannot be %s: %s", cut ? "..." : "",
                   cut ? path + length - LONGEST_PATH : path, what, reason);
}

/* Large blocks ask for huge pages, where the system gives them to who asks: a step goes through tables,
 * weights and activations of hundreds of megabytes. Only the whole huge pages inside of a block are asked
 * for. Blocks do not begin at one: aligned so, freed blocks do not fit again, and the heap grows to several
 * times what is in use. A hint: what madvise returns does not matter. */
enum { HUGE_PAGE = 2 << 20 };

static void advise_huge(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    int saved = errno;
    uintptr_t begin = (uintptr_t)memory, end = (begin + bytes) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t first = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (end > first) madvise((unsigned char *)memory + (first - begin), end - first, MADV_HUGEPAGE);
    errno = saved;
#else
    (void)memory;
    (void)bytes;
#endif
}

static void *default_allocate(void *user, size_t bytes, size_t alignment) {
    (void)user;
    if (bytes > SIZE_MAX - alignment) return NULL;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (memory && bytes >= HUGE_PAGE) advise_huge(memory, bytes);
    return memory;
}

static void default_release(void *user, void *memory) {
    (void)user;
    free(memory);
}

void attn_context_options_init_sized(attn_context_options *options, size_t size) {
    attn_context_options own = {.size = sizeof own};
    at_options_give(options, size, &own, sizeof own);
}

/* An empty variable counts as none. */
static const char *environment(const char *name) {
    const char *text = getenv(name);
    return text && text[0] ? text : NULL;
}

static attn_status choose_threads(const attn_context_options *options, int *threads) {
    if (options->threads < 0 || options->threads > MAX_THREADS)
        return fail_create(ATTN_INVALID_ARGUMENT, "threads is %d, but must be 0 (choose) or in 1..%d",
                           options->threads, MAX_THREADS);
    if (options->threads > 0) {
        *threads = options->threads;
        return ATTN_OK;
    }
    const char *text = environment("ATTN_THREADS");
    if (!text) {
        int cores = at_cpu_count();
        *threads = cores < MAX_THREADS ? cores : MAX_THREADS;
        return ATTN_OK;
    }
    int value = 0;
    for (const char *digit = text; *digit; digit++) {
        value = *digit >= '0' && *digit <= '9' ? 10 * value + (*digit - '0') : MAX_THREADS + 1;
        if (value > MAX_THREADS) break;
    }
    if (value < 1 || value > MAX_THREADS)
        return fail_create(ATTN_INVALID_ARGUMENT, "ATTN_THREADS=%s is not a number in 1..%d", text,
                           MAX_THREADS);
    *threads = value;
    return ATTN_OK;
}

/* "scalar, avx2, avx512, avx512x2": those that can be asked for here. */
static const char *available_names(char *text, size_t bytes) {
    size_t length = 0;
    text[0] = '\0';
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (!at_isa_available((at_isa)isa)) continue;
        int written =
            snprintf(text + length, bytes - length, "%s%s", length ? ", " : "", at_isa_name((at_isa)isa));
        if (written < 0 || (size_t)written >= bytes - length) break;
        length += (size_t)written;
    }
    return text;
}

static attn_status choose_isa(const attn_context_options *options, at_isa *chosen) {
    const char *source = "isa ";
    const char *name = options->isa;
    if (!name) {
        source = "ATTN_ISA=";
        name = environment("ATTN_ISA");
    }
    if (!name) {
        *chosen = at_isa_best();
        return ATTN_OK;
    }
    char names[64];
    for (int isa = 0; isa < AT_ISA_COUNT; isa++) {
        if (strcmp(name, at_isa_name((at_isa)isa)) != 0) continue;
        if (!at_isa_available((at_isa)isa))
            return fail_create(ATTN_UNSUPPORTED,
                               "%s%s: not available in this build or on this machine; available: %s", source,
                               name, available_names(names, sizeof names));
        *chosen = (at_isa)isa;
        return ATTN_OK;
    }
    return fail_create(ATTN_UNSUPPORTED, "%s%s is not one of %s", source, name,
                       available_names(names, sizeof names));
}

static attn_status choose_allocator(const attn_context_options *options, attn_allocator *allocator) {
    *allocator = options->allocator;
    if (!allocator->allocate) {
        allocator->allocate = default_allocate;
        allocator->release = default_release;
        allocator->user = NULL;
    }
    if (!allocator->release)
        return fail_create(ATTN_INVALID_ARGUMENT, "allocator.release is NULL, but allocator.allocate is not");
    return ATTN_OK;
}

attn_status attn_context_create(const attn_context_options *options, attn_context **context) {
    attn_context_options own;
    char reason[AT_OPTIONS_TEXT];
    if (!context)
        return fail_create(ATTN_INVALID_ARGUMENT, "context is NULL: there is nowhere to put the new context");
    attn_context_options_init(&own);
    attn_status status =
        at_options_take("options", "attn_context_options_init", options,
                        AT_FIRST_SIZE(attn_context_options, allocator), sizeof own, &own, reason);
    if (status != ATTN_OK) return fail_create(status, "%s", reason);

    int threads = 1;
    at_isa isa = AT_ISA_SCALAR;
    attn_allocator allocator;
    status = choose_threads(&own, &threads);
    if (status == ATTN_OK) status = choose_isa(&own, &isa);
    if (status == ATTN_OK) status = choose_allocator(&own, &allocator);
    if (status != ATTN_OK) return status;

    attn_context *made = allocator.allocate(allocator.user, sizeof *made, AT_ALIGNMENT);
    if (!made) return fail_create(ATTN_OUT_OF_MEMORY, "no memory for a context (%zu bytes)", sizeof *made);
    memset(made, 0, sizeof *made);
    made->allocator = allocator;
    made->threads = threads;
    made->isa = isa;
    status = at_pool_create(&allocator, threads, &made->pool);
    if (status != ATTN_OK) {
        allocator.release(allocator.user, made);
        return fail_create(status,
                           status == ATTN_OUT_OF_MEMORY ? "no memory for a pool of %d threads"
                                                        : "the system refused a pool of %d threads",
                           threads);
    }
    *context = made;
    return ATTN_OK;
}

const char *attn_last_create_error(void) { return create_error; }

void attn_context_destroy(attn_context *context) {
    if (!context) return;
    attn_allocator allocator = context->allocator;
    at_pool_destroy(context->pool);
    at_spill_destroy(context);
    if (context->memory) allocator.release(allocator.user, context->memory);
    allocator.release(allocator.user, context);
}

const char *attn_context_error(const attn_context *context) {
    return context ? context->error : "context is NULL";
}

int attn_context_threads(const attn_context *context) { return context ? context->threads : 0; }

const char *attn_context_isa(const attn_context *context) { return context ? at_isa_name(context->isa) : ""; }

size_t attn_context_memory(const attn_context *context) { return context ? context->memory_bytes : 0; }

/* The new block is taken before the old one goes: a refusal costs nothing. */
attn_status attn_context_reserve(attn_context *context, size_t bytes) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (bytes <= context->memory_bytes) return ATTN_OK;
    attn_allocator *allocator = &context->allocator;
    unsigned char *grown = allocator->allocate(allocator->user, bytes, AT_ALIGNMENT);
    if (!grown)
        return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory for %zu bytes of working memory", bytes);
    if (context->memory) allocator->release(allocator->user, context->memory);
    context->memory = grown;
    context->memory_bytes = bytes;
    return ATTN_OK;
}

size_t at_layout_add(at_layout *layout, int64_t count, size_t element_bytes) {
    size_t offset = layout->bytes;
    size_t limit = SIZE_MAX - (AT_ALIGNMENT - 1) - offset; /* offset is a multiple of the alignment: >= 0 */
    if (layout->overflow || count < 0 || (uint64_t)count > SIZE_MAX ||
        (element_bytes > 0 && (size_t)count > limit / element_bytes)) {
        layout->overflow = 1;
        return 0;
    }
    size_t bytes = (size_t)count * element_bytes;
    layout->bytes = offset + ((bytes + AT_ALIGNMENT - 1) & ~(size_t)(AT_ALIGNMENT - 1));
    return offset;
}

attn_status at_context_memory(attn_context *context, const at_layout *layout, unsigned char **memory) {
    if (layout->overflow)
        return at_fail(context, ATTN_OVERFLOW, "the working memory of this call does not fit a size_t");
    attn_status status = attn_context_reserve(context, layout->bytes);
    if (status == ATTN_OK) *memory = context->memory;
    return status;
}

int at_threads_for(const attn_context *context, double operations) {
    const double worth_a_thread =
        120e3; /* about a microsecond of work: what joining costs a thread that still spins */
    double threads = 1.0 + operations / worth_a_thread;
    return threads < context->threads ? (int)threads : context->threads;
}

void at_tell(attn_context *context, const char *name, int64_t done, int64_t total) {
    static const double pause = 0.2;
    at_listener *listener = context->listener;
    if (!listener || !name) return;
    double now = at_seconds();
    if (done < total && now - listener->told_at < pause) return;
    listener->told_at = now;
    listener->tell(listener->user, name, done, total);
}
