/* file.h: files in memory, plain or gzip: as a whole, or piece by piece. */
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

/* What a file may become when it is expanded. */
typedef struct at_expansion {
    int64_t limit; /* bytes that it may have, compressed or not */
    int64_t ratio; /* 0, or how many times its own size it may have: looked at from AT_RATIO_FROM bytes on */
    /* NULL, or looks at what has come out so far, of which `judged` bytes it has seen before, and refuses it:
     * called again and again while a compressed file is expanded, from AT_JUDGED_FROM bytes on. */
    attn_status (*judge)(void *user, const char *bytes, size_t count, size_t judged);
    void *user;
} at_expansion;

enum { AT_RATIO_FROM = 8 << 20, AT_JUDGED_FROM = 1 << 16 };

/* OVERFLOW, with a text that says so, if that is too much for what it was made of. */
attn_status at_check_expansion(attn_context *context, const char *name, const at_expansion *allowed,
                               int64_t compressed, int64_t expanded);

/* Reads a file, and expands it as it comes if its first two bytes are gzip's; *file is empty before. Errors:
 * SYSTEM_ERROR (cannot be read), INVALID_ARGUMENT (damaged or cut off gzip), OVERFLOW (limit or ratio),
 * OUT_OF_MEMORY, what the judge says. On failure *file is empty. */
attn_status at_file_read(attn_context *context, const char *path, const at_expansion *allowed,
                         at_bytes *file);

/* A file that is read piece by piece. The judge of `allowed` sees what is in `bytes`. The path must outlive
 * it. Errors are those of at_file_read. */
typedef struct at_file at_file;
attn_status at_file_open(attn_context *context, const char *path, const at_expansion *allowed,
                         at_file **file);
void at_file_close(attn_context *context, at_file *file); /* NULL is allowed */
/* Appends at least `wanted` bytes, unless the file ends. */
attn_status at_file_more(attn_context *context, at_file *file, int64_t wanted, at_bytes *bytes);
int at_file_ended(const at_file *file);      /* there is no more */
int at_file_compressed(const at_file *file); /* as far as it is known: after the first piece */
int64_t at_file_size(const at_file *file);   /* on the disk; 0: not known */
int64_t at_file_done(const at_file *file);   /* of that, so many bytes were read */

int at_is_gzip(const char *bytes, size_t count);
/* The expansion alone. Several gzip members one after another are one text, as gzip has it; zero bytes after
 * the last are padding. */
attn_status at_gzip_expand(attn_context *context, const char *name, const char *bytes, size_t count,
                           const at_expansion *allowed, at_bytes *expanded);

#endif
