/* opening.h: what commands on a model begin with: a context, the model, a predictor, and its settings as
 * flags. */
#ifndef CLI_OPENING_H
#define CLI_OPENING_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

#include "arguments.h"

/* Prints the context's error as "attn COMMAND: ..." and returns EXIT_FAILED. */
int opening_fail(const char *command, const attn_context *context);

/* A context and the model in a file, the same in all ranks; false, when it has said why not. */
bool opening_model(const char *command, const char *path, int64_t threads, attn_context **context,
                   attn_model **model);
void opening_close(attn_context *context, attn_model *model); /* NULLs are allowed */

/* The settings of predictions, as the library lists them, as flags of a command. */
enum { OPENING_SETTINGS = 32 };
typedef struct opening_settings {
    bool on[OPENING_SETTINGS];
    int64_t integer[OPENING_SETTINGS]; /* INT64_MIN: not given */
    double number[OPENING_SETTINGS];   /* NaN: not given */
    int count;
} opening_settings;
/* Adds rows for them to `flags`, which has room for OPENING_SETTINGS; how many. */
int opening_setting_flags(opening_settings *settings, argument_flag *flags);
/* Gives them to a predictor. EXIT_DONE, or it has said which one this model does not have or what it can be.
 */
int opening_set(const char *command, const opening_settings *settings, attn_predictor *predictor,
                const attn_model *model);
/* Once at the end: how many examples were too long to be read at once, or whole. */
typedef struct opening_lengths {
    int64_t examples, in_pieces, cut; /* all of them; processed in pieces; truncated */
} opening_lengths;
void opening_tell_longer(const char *command, const attn_model *model, const opening_lengths *lengths);
/* "attn COMMAND: FLAG is for WHOSE; this one is of task ..."; returns EXIT_MISUSED. */
int opening_refuse(const char *command, const char *flag, const char *whose, const attn_model *model);

/* ---- files of examples ---- */

/* Whether a file is standard input, and what it is called in messages. */
bool opening_is_input(const char *path);
const char *opening_name(const char *path);
/* Reads standard input as a whole, if it is among the files; EXIT_DONE, or it has said why not: it cannot be
 * read, or occurs twice. It stays until the program ends. */
int opening_take_input(const char *command, const char *const *paths, int count);
/* With --scatter: receives the files, if rank 0 reads them for all; the paths become those of what was
 * received. EXIT_DONE, or it has said why not. */
int opening_files(const char **paths, int count);
/* Reads files as one set of examples (attn_dataset_read_files); "-" is what was taken. */
enum { OPENING_FILES = 64 };
attn_status opening_read(attn_context *context, const char *const *paths, int count,
                         const attn_reader_options *options, attn_dataset **dataset);

/* Whether all ranks have read the same examples. EXIT_DONE, or rank 0 has said which has not. */
int opening_same_examples(const attn_dataset *dataset);

/* --format: its number among the formats of the model's kind of input; -1, when it has said what there are.
 */
int opening_format(const char *command, const char *kind, const char *format);

/* --limit: what a compressed file may become. Who says it may have data of any evenness. 0: it was not given.
 */
#define OPENING_LIMIT "limit"
#define OPENING_LIMIT_HELP "largest size of a decompressed file (default 1024G, and 200 times its size)"
void opening_limit(int64_t bytes, attn_reader_options *options);

/* --anyway: data is learned from, whatever was found in it. */
#define OPENING_ANYWAY_HELP                                                                                  \
    "train although the data looks wrong: swapped columns, a single class, fewer than ten examples, labels " \
    "that differ only in spaces or case"

/* --memory: what data may take of it; 0: it was not given; INT64_MAX: all. EXIT_DONE, or it has said why not.
 */
#define OPENING_MEMORY "memory"
#define OPENING_MEMORY_HELP                                                                                  \
    "memory for data; the rest goes to temporary files (default half of the machine's, all: no bound)"
int opening_memory(const char *command, attn_context *context, int64_t bytes);

#endif
