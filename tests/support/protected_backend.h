/* protected_backend.h: the CPU's backend with memory that nobody else can touch.
 *
 * Tensor memory is a region of its own, which is opened when an operator or a copy
 * of the backend begins and closed when it ends. Whoever follows a pointer to
 * numbers outside of them gets SIGSEGV at that very instruction: so a test that
 * runs through proves that nothing above src/ops touches a number.
 *
 *     attn_context_create(&options, &context);
 *     at_context_use_backend(context, test_protected_backend());   // before anything is made in it
 *
 * attn_variable_data and the like return NULL on it; read with attn_variable_read,
 * attn_variable_read_gradient, at_parameter_host_read and their like.
 */
#ifndef TEST_SUPPORT_PROTECTED_BACKEND_H
#define TEST_SUPPORT_PROTECTED_BACKEND_H

#include "ops/backend.h"

const at_backend *test_protected_backend(void);

/* Bytes of tensor memory that are in use, and how often it was opened. */
size_t test_protected_bytes(void);
long test_protected_openings(void);

#endif
