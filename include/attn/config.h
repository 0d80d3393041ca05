/* config.h: the configuration of a model and of its training.
 *
 * A configuration is a list of named values ("encoder.layers", "training.learning_rate", ...); docs/config.md
 * lists them all. A value that is not set has a default, which may depend on the task, the unit and the
 * encoder.
 *
 *     attn_config_create(context, &config);
 *     attn_config_set(config, "task", "tag");
 *     attn_config_set(config, "encoder.layers", "3");
 *     puts(attn_config_print(config));                      JSON, defaults filled in
 *
 * A configuration is used by one thread at a time; its getters write into it, too. The functions without a
 * configuration may be called by any thread.
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

/* *config is untouched on failure. Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_config_create(attn_context *context, attn_config **config);
ATTN_API void attn_config_destroy(attn_config *config); /* NULL is allowed */

/* Sets a value from text: a number, one of the value's choices, true, false, or any text. Errors:
 * INVALID_ARGUMENT (NULL, an unknown name, a value that is not allowed); the message names the value, what is
 * allowed, and for an unknown name the most similar one. */
ATTN_API attn_status attn_config_set(attn_config *config, const char *name, const char *value);

/* Sets all values of a JSON object: {"encoder": {"layers": 3}, ...}. `name` is the file name in error
 * messages, which give the line. On failure nothing is changed.
 * Errors: INVALID_ARGUMENT (NULL, text that is not a JSON object, or as attn_config_set), OUT_OF_MEMORY. */
ATTN_API attn_status attn_config_parse(attn_config *config, const char *name, const char *json,
                                       size_t length);

/* get: a value as text. print: the whole configuration as JSON. Both are valid until the next call with this
 * configuration. get returns "", and print NULL, if values contradict each other, if there is no memory, or
 * if config is NULL; get also returns "" for an unknown name. */
ATTN_API const char *attn_config_get(attn_config *config, const char *name);
ATTN_API const char *attn_config_print(attn_config *config);

/* The reader options of this task: format, columns, kind of examples. The strings in options belong to the
 * configuration.
 * Errors: INVALID_ARGUMENT (NULL, or values that do not go together). */
ATTN_API attn_status attn_config_reader_sized(attn_config *config, attn_reader_options *options, size_t size);
static inline attn_status attn_config_reader(attn_config *config, attn_reader_options *options) {
    return attn_config_reader_sized(config, options,
                                    sizeof *options); /* as an init function: see ATTN_INIT */
}

/* All tasks: name and a line of help; NULL out of range. */
ATTN_API int attn_task_count(void);
ATTN_API const char *attn_task_name(int index);
ATTN_API const char *attn_task_help(int index);

/* 1 if a kind of input (attn/dataset.h) supports a task; 0 if not, or if there is no such kind or task. */
ATTN_API int attn_input_takes(const char *input, const char *task);

/* The flags of `attn train` that set a value: index 0, 1, ... until attn_config_flag returns 0. name: the
 * name of the configuration value that the flag sets. value: what the help prints for the flag's argument,
 * such as "N"; NULL: the flag has no argument. It then sets the configuration value to the choice that is
 * named like the flag or, if there is no such choice, to "true". A plain struct: it will not grow. */
typedef struct attn_config_flag_text {
    const char *flag, *name, *value, *help;
} attn_config_flag_text;
ATTN_API int attn_config_flag(int index, attn_config_flag_text *flag);

/* All names, with one line of help each, and the choices of a value (NULL after the last, and for values
 * without choices); NULL out of range. */
ATTN_API int attn_config_count(void);
ATTN_API const char *attn_config_name(int index);
ATTN_API const char *attn_config_help(int index);
ATTN_API const char *attn_config_choice(int index, int choice);
/* 1 if the value with this index was set, 0 if it is a default (or index is out of range). Defaults may still
 * change: some depend on the training data. */
ATTN_API int attn_config_given(const attn_config *config, int index);

ATTN_END_DECLS

#endif
