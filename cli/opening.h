/* opening.h: what commands on a model begin with: a context, the model, how files are read. */
#ifndef CLI_OPENING_H
#define CLI_OPENING_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

/* The values of --format, in the order of attn_format. */
extern const char *const opening_formats[];

/* Prints the context's error as "attn COMMAND: ..." and returns EXIT_FAILED. */
int opening_fail(const char *command, const attn_context *context);

/* A context and the model in a file; false, when it has said why not. */
bool opening_model(const char *command, const char *path, int64_t threads, attn_context **context,
                   attn_model **model);
/* Complains that a flag is not for this model ("--beam", "models of task seq2seq"); returns EXIT_MISUSED. */
int opening_refuse(const char *command, const char *flag, const char *whose, attn_model *model);
void opening_close(attn_context *context, attn_model *model); /* NULLs are allowed */

#endif
