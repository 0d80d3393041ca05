/* file.h: whole files in memory, plain or gzip. */
#ifndef AT_DATA_FILE_H
#define AT_DATA_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

/* Bytes that grow; all 0 is empty. */
typedef struct at_bytes {
    char *data;
    int64_t count, room;
} at_bytes;

attn_status at_bytes_append(attn_context *context, at_bytes *bytes, const char *data, size_t length);
void at_bytes_free(attn_context *context, at_bytes *bytes);

/* Reads a file, and expands it if its first two bytes are gzip's; *file is empty before. It may have `limit`
 * bytes then. Errors: SYSTEM_ERROR (cannot be read), INVALID_ARGUMENT (damaged or cut off gzip), OVERFLOW
 * (the limit), OUT_OF_MEMORY. On failure *file is empty. */
attn_status at_file_read(attn_context *context, const char *path, int64_t limit, at_bytes *file);

int at_is_gzip(const char *bytes, size_t count);
/* The expansion alone. Several gzip members one after another are one text, as gzip has it; zero bytes after
 * the last are padding. */
attn_status at_gzip_expand(attn_context *context, const char *name, const char *bytes, size_t count,
                           int64_t limit, at_bytes *expanded);

#endif
