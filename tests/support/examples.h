/* examples.h: small datasets made in memory without a reader, and memory for them that may run out. */
#ifndef TEST_SUPPORT_EXAMPLES_H
#define TEST_SUPPORT_EXAMPLES_H

#include "data/dataset.h"
#include "support/memory.h"

/* A context of one thread whose memory comes from this allocator. */
attn_context *counting_context(counting_allocator *counter);

/* Texts (tokenized 0: one an example), or tokens with spaces between them, an example a string. Within a
 * tokenized example "+" at the end of a token says that no space follows it; then any_glued is set. Fails
 * the running test when there is no memory. */
void examples_create(attn_context *context, int tokenized, const char *const *texts, int64_t count,
                     attn_dataset *dataset);
void examples_destroy(attn_dataset *dataset);

#endif
