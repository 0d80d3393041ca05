/* contexts.h: a context for every instruction set that this machine has. */
#ifndef TEST_SUPPORT_CONTEXTS_H
#define TEST_SUPPORT_CONTEXTS_H

#include <attn/context.h>

#define TEST_ISAS 5
extern const char *const test_isa_names[TEST_ISAS]; /* scalar first */

/* The context of an instruction set and a number of threads (1 .. 8); made on
 * first use and kept. NULL where the library says ATTN_UNSUPPORTED; any other
 * failure fails the test. With ATTN_TEST_BACKEND=protected in the environment its
 * tensors are out of the host's reach (support/protected_backend.h). */
attn_context *test_context(int isa, int threads);

/* That of ATTN_ISA in the environment, else of the best instruction set. */
attn_context *test_best_context(int threads);

/* A group's setup and teardown. Setup fails unless scalar and, on x86-64 and
 * aarch64, at least one vector instruction set can be had: so no test below
 * passes by having run nothing. */
int test_contexts_setup(void **state);
int test_contexts_teardown(void **state);

#endif
