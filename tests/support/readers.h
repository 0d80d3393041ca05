/* readers.h: datasets out of strings, for tests. */
#ifndef TEST_SUPPORT_READERS_H
#define TEST_SUPPORT_READERS_H

#include <attn/dataset.h>

/* Options after init. */
attn_reader_options reader_options(void);
attn_reader_options reader_options_unlabelled(void);

/* Reads `text` as a file named `name`; it must work. options NULL: after init. */
attn_dataset *read_text(attn_context *context, const char *name, const char *text,
                        const attn_reader_options *options);

/* It must fail with INVALID_ARGUMENT and exactly this error, and leave the dataset alone. */
void check_read_fails(attn_context *context, const char *name, const char *text,
                      const attn_reader_options *options, const char *error);
void check_read_bytes_fails(attn_context *context, const char *name, const char *bytes, size_t count,
                            const attn_reader_options *options, const char *error);

/* The whole dataset in one string: examples end with ';', tokens with ' ', targets follow after '/'. It must
 * be this. */
void check_dataset(const attn_dataset *dataset, const char *expected);
/* The same from text to that; options NULL: after init. */
void check_read(attn_context *context, const char *name, const char *text, const attn_reader_options *options,
                const char *expected);

#endif
