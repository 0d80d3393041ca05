/* training_flags.h: the flags that the commands that train share, and how they become a configuration and
 * data. */
#ifndef CLI_TRAINING_FLAGS_H
#define CLI_TRAINING_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attn/attn.h>

#include "arguments.h"

enum {
    TRAINING_SETTINGS = 64,                  /* room for flags that set one value of the configuration */
    TRAINING_FLAGS = TRAINING_SETTINGS + 12, /* for all that training_flags_add adds */
    TRAINING_TASK = 0,                       /* places of positional: the task, then its files */
    TRAINING_FILES = 1,
    TRAINING_MOST_FILES = 32, /* of one set */
    TRAINING_POSITIONALS = TRAINING_FILES + TRAINING_MOST_FILES
};

/* The files of one set of examples, NULL after the last: one or several, or two that are read line by line
 * (sources, targets). */
typedef struct training_files {
    const char *path[TRAINING_MOST_FILES + 1];
} training_files;

typedef struct training_flags {
    const char *command; /* in messages */
    const char *positional[TRAINING_POSITIONALS];
    training_files train, dev, test;        /* test: only of commands that have it */
    const char *encoder, *seed;             /* NULL: what the configuration says; a command sets them */
    const char *setting[TRAINING_SETTINGS]; /* in the order in which the library lists them */
    bool on[TRAINING_SETTINGS];
    int settings;
    const char *config, *time, *vectors, *window, *split_file;
    const char *base; /* NULL, or a model whose configuration the others change; a command sets it */
    int64_t threads, limit, memory;
    bool quiet, skip_bad, anyway;
    bool scatter; /* rank 0 reads the files for all ranks; only of commands that have it */
} training_flags;

/* Puts at most TRAINING_FLAGS rows there; how many. */
int training_flags_add(training_flags *given, argument_flag *flags);

/* The names of the tasks and of the encoders, NULL after the last. */
const char *const *training_task_names(void);
const char *const *training_encoder_names(void);

/* Once the arguments are read: takes the files from the positionals. What is wrong with them or the flags, or
 * NULL. */
const char *training_flags_problem(training_flags *given, const argument_list *list);

/* What the help says about tasks: a line each, as the library describes them, and a table of the kinds of
 * input that they go with. Stays as long as the program. */
const char *training_tasks(const char *before, const char *after);

/* The model's configuration, if there is one, the task, the file of --config, then the flags: what is typed
 * wins. EXIT_DONE, or it has said why not. */
int training_configure(attn_context *context, const training_flags *given, attn_config *config);

/* The kind of input: what is typed, else what the file's name tells. */
const char *training_input(const training_flags *given);

/* Reads standard input, if it is among the files, and with --scatter receives what rank 0 reads for all.
 * EXIT_DONE, or it has said why not. */
int training_take_input(training_flags *given);

/* Reads a set of examples as its task wants it, and says what was left out. */
attn_status training_read(attn_context *context, attn_config *config, const training_flags *given,
                          const training_files *files, attn_dataset **dataset);

/* Looks at the data before anything is learned from it, and says what was found: what is worth knowing unless
 * --quiet, and what speaks against it. dev, test: may be NULL. EXIT_DONE, or EXIT_FAILED: it cannot be
 * learned from, and --anyway was not given. */
int training_examine(attn_context *context, attn_config *config, const training_flags *given,
                     const attn_dataset *train, const attn_dataset *dev, const attn_dataset *test);

/* Before anything is read: that a file can be written there, and that nothing is lost by it. An exit status,
 * and it has said why not. */
int training_check_output(const training_flags *given, const char *path);

/* The second half of that alone. */
int training_check_inputs(const training_flags *given, const char *path);

/* Whether --FLAG, of those that set a value of the configuration, was given. */
bool training_is_set(const training_flags *given, const char *flag);

/* 90, 90s, 10m, 1.5h as seconds, at most some thirty years; -1: it is something else. */
double training_duration(const char *text);

#endif
