/* examples.h: small datasets made in memory without a reader, views of text that are made without a
 * configuration, and memory for them that may run out. */
#ifndef TEST_SUPPORT_EXAMPLES_H
#define TEST_SUPPORT_EXAMPLES_H

#include "data/dataset.h"
#include "inputs/kinds.h"
#include "inputs/text/text.h"
#include "support/memory.h"

/* A context of one thread whose memory comes from this allocator. */
attn_context *counting_context(counting_allocator *counter);

/* Texts (tokenized 0: one an example), or tokens with spaces between them, an example a string. Within a
 * tokenized example "+" at the end of a token says that no space follows it; then any_glued is set. Fails
 * the running test when there is no memory. */
attn_dataset *examples_create(attn_context *context, int tokenized, const char *const *texts, int64_t count);

/* A view of text that has learned nothing. `exact` and `running` are what tasks ask for: text can be written
 * again from its units; examples are lines of one text, and a row knows only what precedes it. */
typedef struct text_use {
    int exact, running;
} text_use;
at_text_input *text_create(attn_context *context, const at_text_values *values, text_use use);
void text_destroy(at_text_input *text); /* NULL is allowed */
/* It learns again, with options that may have been changed since. */
attn_status text_learn(at_text_input *text, const attn_dataset *dataset);

attn_status text_encode(const at_text_input *text, const attn_dataset *dataset, at_text_encoded **encoded);
void text_free(at_text_encoded *encoded); /* NULL is allowed */
const char *text_unit(const at_text_encoded *encoded, int64_t row);

/* The features of rows `first` .. `first + count - 1`, which are one sequence, appended to a batch (made if
 * it is NULL, and freed by text_batch_free). */
attn_status text_features(const at_text_input *text, const at_text_encoded *encoded, int64_t first,
                          int64_t count, at_text_batch **batch);
void text_batch_free(at_text_batch *batch); /* NULL is allowed */

#endif
