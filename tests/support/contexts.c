/* contexts.c: a context for every instruction set that this machine has. */
#include "support/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "support/check.h"
#include "support/protected_backend.h"

#define MAX_THREADS 8

const char *const test_isa_names[TEST_ISAS] = {"scalar", "avx2", "avx512", "avx512x2", "neon"};

static attn_context *contexts[TEST_ISAS][MAX_THREADS + 1];

attn_context *test_context(int isa, int threads) {
    if (contexts[isa][threads]) return contexts[isa][threads];
    attn_context_options options;
    attn_context_options_init(&options);
    options.isa = test_isa_names[isa];
    options.threads = threads;
    attn_status status = attn_context_create(&options, &contexts[isa][threads]);
    if (status == ATTN_UNSUPPORTED) return NULL;
    if (status != ATTN_OK) fail_msg("no context for %s: %s", options.isa, attn_last_create_error());
    const char *backend = getenv("ATTN_TEST_BACKEND");
    if (backend && strcmp(backend, "protected") == 0)
        at_context_use_backend(contexts[isa][threads], test_protected_backend());
    assert_string_equal(attn_context_isa(contexts[isa][threads]), options.isa);
    assert_int_equal(attn_context_threads(contexts[isa][threads]), threads);
    return contexts[isa][threads];
}

attn_context *test_best_context(int threads) {
    const char *name = getenv("ATTN_ISA");
    if (!name || !*name) name = at_isa_name(at_isa_best());
    for (int isa = 0; isa < TEST_ISAS; isa++)
        if (strcmp(test_isa_names[isa], name) == 0) return test_context(isa, threads);
    return NULL;
}

int test_contexts_setup(void **state) {
    (void)state;
    int vector = 0;
    for (int isa = 1; isa < TEST_ISAS; isa++) vector += test_context(isa, 1) != NULL;
    assert_non_null(test_context(0, 1));
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(vector >= 1);
#endif
    return 0;
}

int test_contexts_teardown(void **state) {
    (void)state;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        for (int threads = 0; threads <= MAX_THREADS; threads++) {
            attn_context_destroy(contexts[isa][threads]);
            contexts[isa][threads] = NULL;
        }
    }
    return 0;
}
