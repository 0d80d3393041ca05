/* readers.c: datasets out of strings, for tests. */
#include "support/readers.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

attn_reader_options reader_options(void) {
    attn_reader_options options;
    attn_reader_options_init(&options);
    return options;
}

attn_reader_options reader_options_unlabelled(void) {
    attn_reader_options options = reader_options();
    options.labelled = 0;
    return options;
}

attn_dataset *read_text(attn_context *context, const char *name, const char *text,
                        const attn_reader_options *options) {
    attn_reader_options defaults = reader_options();
    attn_dataset *dataset = NULL;
    if (attn_dataset_parse(context, name, 1, text, strlen(text), options ? options : &defaults, &dataset) !=
        ATTN_OK)
        fail_msg("%s", attn_context_error(context));
    assert_string_equal(attn_dataset_name(dataset), name);
    return dataset;
}

void check_read_bytes_fails(attn_context *context, const char *name, const char *bytes, size_t count,
                            const attn_reader_options *options, const char *error) {
    attn_reader_options defaults = reader_options();
    attn_dataset *const untouched = (attn_dataset *)(void *)&defaults;
    attn_dataset *dataset = untouched;
    attn_status status =
        attn_dataset_parse(context, name, 1, bytes, count, options ? options : &defaults, &dataset);
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context), error);
    assert_ptr_equal(dataset, untouched);
}

void check_read_fails(attn_context *context, const char *name, const char *text,
                      const attn_reader_options *options, const char *error) {
    check_read_bytes_fails(context, name, text, strlen(text), options, error);
}

void check_dataset(const attn_dataset *dataset, const char *expected) {
    char all[2000];
    size_t used = 0;
    all[0] = 0;
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        for (int64_t t = 0; t < attn_dataset_tokens(dataset, e); t++) {
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", t ? " " : "",
                                     attn_dataset_token(dataset, e, t));
            for (int c = 0; c < attn_dataset_columns(dataset); c++)
                used += (size_t)snprintf(all + used, sizeof all - used, "/%s",
                                         attn_dataset_target(dataset, c, e, t));
            assert_true(used < sizeof all - 10);
        }
        used += (size_t)snprintf(all + used, sizeof all - used, ";");
    }
    assert_string_equal(all, expected);
}

void check_read(attn_context *context, const char *name, const char *text, const attn_reader_options *options,
                const char *expected) {
    attn_dataset *dataset = read_text(context, name, text, options);
    check_dataset(dataset, expected);
    attn_dataset_destroy(dataset);
}
