/* config.h: everything that decides what a model is and how it is trained, by name.
 *
 * A configuration is a list of named values ("encoder.layers", "training.learning_rate", ...); docs/config.md
 * lists them all. What is not set has a default that depends on the task, the unit and the encoder.
 *
 *     attn_config_create(context, &config);
 *     attn_config_set(config, "task", "tag");
 *     attn_config_set(config, "encoder.layers", "3");
 *     puts(attn_config_print(config));                      JSON, defaults filled in
 */
#ifndef ATTN_CONFIG_H
#define ATTN_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_config attn_config;

ATTN_API attn_status attn_config_create(attn_context *context, attn_config **config);
ATTN_API void attn_config_destroy(attn_config *config); /* NULL is allowed */

/* Sets a value from text as one would type it: a number, a word of a choice, true or false. Errors:
 * INVALID_ARGUMENT, naming the value, what is allowed, and for an unknown name the nearest one. */
ATTN_API attn_status attn_config_set(attn_config *config, const char *name, const char *value);

/* Sets all values that a JSON object has: {"encoder": {"layers": 3}, ...}. `name` stands for the file's name
 * in errors, which give the line. On failure nothing is changed. */
ATTN_API attn_status attn_config_parse(attn_config *config, const char *name, const char *json,
                                       size_t length);

/* The value as text, "" for an unknown name; the whole as JSON, NULL without memory. Both are valid until the
 * next call with this configuration. */
ATTN_API const char *attn_config_get(attn_config *config, const char *name);
ATTN_API const char *attn_config_print(attn_config *config);

/* How files are read for this task: format, columns, what kind of examples. options points into the
 * configuration for its texts. */
ATTN_API attn_status attn_config_reader(attn_config *config, attn_reader_options *options);

/* The tasks there are: name and a line of help; NULL out of range. */
ATTN_API int attn_task_count(void);
ATTN_API const char *attn_task_name(int index);
ATTN_API const char *attn_task_help(int index);

/* Whether examples of a kind of input (attn/dataset.h) can have a task, by their names: whether the defaults
 * of the two make a configuration. 0 also if there is no such kind or task. */
ATTN_API int attn_input_takes(const char *input, const char *task);

/* Flags of a command line that set a value: 0, 1, ... until it returns 0. value NULL: a switch, which sets
 * "true". */
typedef struct attn_config_flag_text {
    const char *flag, *name, *value, *help;
} attn_config_flag_text;
ATTN_API int attn_config_flag(int index, attn_config_flag_text *flag);

/* The names there are, with one line of help each, and the words that a value can be (NULL after the last,
 * and for values that are not such a choice); NULL out of range. */
ATTN_API int attn_config_count(void);
ATTN_API const char *attn_config_name(int index);
ATTN_API const char *attn_config_help(int index);
ATTN_API const char *attn_config_choice(int index, int choice);
/* 1 if the value with this index was set, 0 if it is a default (or index is out of range). Defaults may still
 * change: some follow from the training data. */
ATTN_API int attn_config_given(const attn_config *config, int index);

ATTN_END_DECLS

#endif
