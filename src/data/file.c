/* file.c: whole files in memory, plain or gzip.
 *
 * There is no guard on the ratio of expansion: deflate reaches 1 : 1032 at most, so the limit on bytes is
 * reached from a file of a thousandth of it at the earliest, and a text of equal lines is no attack.
 */
#define _POSIX_C_SOURCE 200809L

#include "data/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"

enum { PIECE = 1 << 16 }; /* bytes that are read or expanded at a time, at least */

attn_status at_bytes_append(attn_context *context, at_bytes *bytes, const char *data, size_t length) {
    if (length > INT64_MAX / 2) return at_fail(context, ATTN_OVERFLOW, "%zu bytes of text", length);
    attn_status status =
        at_grow(context, &bytes->data, &bytes->room, bytes->count + (int64_t)length, 1, "text");
    if (status != ATTN_OK) return status;
    if (length) memcpy(bytes->data + bytes->count, data, length);
    bytes->count += (int64_t)length;
    return ATTN_OK;
}

void at_bytes_free(attn_context *context, at_bytes *bytes) {
    at_release(context, bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

static attn_status fail_at_limit(attn_context *context, const char *name, int64_t limit) {
    return at_fail(context, ATTN_OVERFLOW,
                   "%s: has more than %" PRId64 " bytes (expanded_limit of the reader options)", name, limit);
}

static attn_status read_stream(attn_context *context, FILE *stream, const char *path, int64_t limit,
                               at_bytes *file) {
    for (;;) {
        if (file->count > limit) return fail_at_limit(context, path, limit);
        attn_status status =
            at_grow(context, &file->data, &file->room, file->count + PIECE, 1, "the bytes of a file");
        if (status != ATTN_OK) return status;
        errno = 0;
        size_t got = fread(file->data + file->count, 1, (size_t)(file->room - file->count), stream);
        if (got == 0) return ferror(stream) ? at_fail_system(context, path, "read", errno) : ATTN_OK;
        file->count += (int64_t)got;
    }
}

int at_is_gzip(const char *bytes, size_t count) {
    return count >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

/* One member: from *used on. Z_OK, or what zlib said, with *status set where it was not zlib's. */
static int expand_member(attn_context *context, z_stream *stream, const char *bytes, size_t count,
                         size_t *used, int64_t limit, at_bytes *expanded, attn_status *status) {
    for (;;) {
        *status = at_grow(context, &expanded->data, &expanded->room, expanded->count + PIECE, 1,
                          "the expanded bytes of a file");
        if (*status != ATTN_OK) return Z_OK;
        size_t left = count - *used, space = (size_t)(expanded->room - expanded->count);
        uInt in = left > 1u << 30 ? 1u << 30 : (uInt)left, out = space > 1u << 30 ? 1u << 30 : (uInt)space;
        stream->next_in = (Bytef *)(uintptr_t)(bytes + *used); /* zlib does not write there */
        stream->avail_in = in;
        stream->next_out = (Bytef *)(expanded->data + expanded->count);
        stream->avail_out = out;
        int result = inflate(stream, Z_NO_FLUSH);
        *used += in - stream->avail_in;
        expanded->count += out - stream->avail_out;
        if (expanded->count > limit) result = Z_BUF_ERROR; /* the caller looks at the limit first */
        if (result == Z_STREAM_END) return Z_OK;
        if (result != Z_OK) return result;
    }
}

attn_status at_gzip_expand(attn_context *context, const char *name, const char *bytes, size_t count,
                           int64_t limit, at_bytes *expanded) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return at_fail(context, ATTN_OUT_OF_MEMORY, "no memory to expand %s", name);
    attn_status status = ATTN_OK;
    size_t used = 0;
    while (status == ATTN_OK && used < count) {
        size_t begin = used;
        int result = expand_member(context, &stream, bytes, count, &used, limit, expanded, &status);
        if (status != ATTN_OK) break;
        if (expanded->count > limit) {
            status = fail_at_limit(context, name, limit);
        } else if (result == Z_BUF_ERROR && used == count) {
            status =
                at_fail(context, ATTN_INVALID_ARGUMENT,
                        "%s: the gzip data is cut off after %zu bytes: the file is not whole", name, count);
        } else if (result == Z_MEM_ERROR) {
            status = at_fail(context, ATTN_OUT_OF_MEMORY, "no memory to expand %s", name);
        } else if (result != Z_OK) {
            status =
                at_fail(context, ATTN_INVALID_ARGUMENT, "%s: the gzip data is damaged near byte %zu (%s)%s",
                        name, used, stream.msg ? stream.msg : "not understood",
                        begin > 0 ? ", in a second part or in bytes that do not belong there" : "");
        } else {
            while (used < count && bytes[used] == 0) used++;
            inflateReset(&stream);
        }
    }
    inflateEnd(&stream);
    if (status != ATTN_OK) at_bytes_free(context, expanded);
    return status;
}

attn_status at_file_read(attn_context *context, const char *path, int64_t limit, at_bytes *file) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) return at_fail_system(context, path, "opened", errno);
    attn_status status = read_stream(context, stream, path, limit, file);
    fclose(stream);
    if (status == ATTN_OK && at_is_gzip(file->data, (size_t)file->count)) {
        at_bytes expanded = {0};
        status = at_gzip_expand(context, path, file->data, (size_t)file->count, limit, &expanded);
        at_bytes_free(context, file);
        *file = expanded;
    }
    if (status != ATTN_OK) at_bytes_free(context, file);
    return status;
}
