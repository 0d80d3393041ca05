/* config.h of the last release, without its comments (tests/test_frozen.sh). */
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
ATTN_API void attn_config_destroy(attn_config *config);

ATTN_API attn_status attn_config_set(attn_config *config, const char *name, const char *value);

ATTN_API attn_status attn_config_parse(attn_config *config, const char *name, const char *json,
                                       size_t length);

ATTN_API const char *attn_config_get(attn_config *config, const char *name);
ATTN_API const char *attn_config_print(attn_config *config);

ATTN_API attn_status attn_config_reader_sized(attn_config *config, attn_reader_options *options, size_t size);
static inline attn_status attn_config_reader(attn_config *config, attn_reader_options *options) {
    return attn_config_reader_sized(config, options,
                                    sizeof *options);
}

ATTN_API int attn_task_count(void);
ATTN_API const char *attn_task_name(int index);
ATTN_API const char *attn_task_help(int index);

ATTN_API int attn_input_takes(const char *input, const char *task);

typedef struct attn_config_flag_text {
    const char *flag, *name, *value, *help;
} attn_config_flag_text;
ATTN_API int attn_config_flag(int index, attn_config_flag_text *flag);

ATTN_API int attn_config_count(void);
ATTN_API const char *attn_config_name(int index);
ATTN_API const char *attn_config_help(int index);
ATTN_API const char *attn_config_choice(int index, int choice);

ATTN_API int attn_config_given(const attn_config *config, int index);

ATTN_END_DECLS

#endif
