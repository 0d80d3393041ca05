/* file.c: whole files in memory, plain or gzip.
 *
 * A compressed file is decompressed piece by piece and checked meanwhile: a small file that would become a
 * very large one is refused before it does. Natural text becomes ten times its size, very regular tables
 * fifty times; the maximum of deflate is 1032.
 */
#define _POSIX_C_SOURCE 200809L

#include "data/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"

enum { PIECE = 1 << 16 }; /* bytes that are read or expanded at a time, at least */

attn_status at_bytes_append(attn_context *context, at_bytes *bytes, const char *data, size_t length) {
    if (length > INT64_MAX / 2) return at_fail(context, ATTN_OVERFLOW, "%zu bytes of text", length);
    if (bytes->count + (int64_t)length > bytes->room) {
        attn_status status =
            at_grow(context, &bytes->data, &bytes->room, bytes->count + (int64_t)length, 1, "text");
        if (status != ATTN_OK) return status;
    }
    if (length) memcpy(bytes->data + bytes->count, data, length);
    bytes->count += (int64_t)length;
    return ATTN_OK;
}

void at_bytes_free(attn_context *context, at_bytes *bytes) {
    at_release(context, bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

attn_status at_check_expansion(attn_context *context, const char *name, const at_expansion *allowed,
                               int64_t compressed, int64_t expanded) {
    if (expanded > allowed->limit)
        return at_fail(context, ATTN_OVERFLOW,
                       "%.200s: has more than %" PRId64 " bytes (expanded_limit of the reader options)", name,
                       allowed->limit);
    if (allowed->ratio == 0 || expanded < AT_RATIO_FROM || expanded / allowed->ratio < compressed)
        return ATTN_OK;
    return at_fail(context, ATTN_OVERFLOW,
                   "%.200s: decompresses to more than %" PRId64
                   " times its size, which is unusual: if this is intended, set its largest size "
                   "(expanded_limit and expanded_ratio 0 of the reader options)",
                   name, allowed->ratio);
}

int at_is_gzip(const char *bytes, size_t count) {
    return count >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

/* ---- gzip, piece by piece ---- */

typedef struct expander {
    attn_context *context;
    const char *name;
    const at_expansion *allowed;
    at_bytes *expanded;
    z_stream stream;
    int in_member, second; /* within a member; after the first */
    int64_t used, judged;  /* bytes of the file; of what came out */
    int64_t total;         /* that came out, whether it is still there or not */
} expander;

static attn_status expander_begin(expander *made) {
    if (inflateInit2(&made->stream, 15 + 16) == Z_OK) return ATTN_OK;
    return at_fail(made->context, ATTN_OUT_OF_MEMORY, "no memory to expand %s", made->name);
}

static attn_status fail_expansion(const expander *made, int result) {
    if (result == Z_MEM_ERROR)
        return at_fail(made->context, ATTN_OUT_OF_MEMORY, "no memory to expand %s", made->name);
    return at_fail(made->context, ATTN_INVALID_ARGUMENT,
                   "%s: the gzip data is damaged near byte %" PRId64 " (%s)%s", made->name, made->used,
                   made->stream.msg ? made->stream.msg : "not understood",
                   made->second ? ", in a second member or in trailing bytes" : "");
}

static attn_status judge(expander *made) {
    const at_expansion *allowed = made->allowed;
    at_bytes *expanded = made->expanded;
    attn_status status = at_check_expansion(made->context, made->name, allowed, made->used, made->total);
    if (status == ATTN_OK && allowed->judge && expanded->count >= AT_JUDGED_FROM) {
        status = allowed->judge(allowed->user, expanded->data, (size_t)expanded->count, (size_t)made->judged);
        made->judged = expanded->count;
    }
    return status;
}

/* One call of zlib: *more says whether it could continue with what it has. */
static attn_status expand_once(expander *made, const char *bytes, size_t count, size_t *taken, int *more) {
    at_bytes *expanded = made->expanded;
    z_stream *stream = &made->stream;
    attn_status status = at_grow(made->context, &expanded->data, &expanded->room, expanded->count + PIECE, 1,
                                 "the expanded bytes of a file");
    if (status != ATTN_OK) return status;
    stream->next_in = (Bytef *)(uintptr_t)bytes; /* zlib does not write there */
    stream->avail_in = (uInt)count;
    stream->next_out = (Bytef *)(expanded->data + expanded->count);
    stream->avail_out = PIECE;
    int result = inflate(stream, Z_NO_FLUSH);
    *taken = count - stream->avail_in;
    *more = result == Z_OK && (stream->avail_in > 0 || stream->avail_out == 0);
    made->used += (int64_t)*taken;
    expanded->count += PIECE - stream->avail_out;
    made->total += PIECE - stream->avail_out;
    if (result == Z_STREAM_END) made->in_member = 0;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) /* BUF: it wants more */
        return fail_expansion(made, result);
    return judge(made);
}

/* The next bytes of the file, fewer than 4 GB. */
static attn_status expander_add(expander *made, const char *bytes, size_t count) {
    int64_t compressed = made->used + (int64_t)count;
    attn_status status = at_check_expansion(made->context, made->name, made->allowed, compressed, compressed);
    while (status == ATTN_OK && count > 0) {
        size_t taken = 0;
        if (!made->in_member && made->used > 0) {
            while (taken < count && bytes[taken] == 0) taken++;
            made->used += (int64_t)taken;
            bytes += taken;
            count -= taken;
            if (count == 0) break;
            inflateReset(&made->stream);
            made->second = 1;
        }
        int more = 1;
        made->in_member = 1;
        while (status == ATTN_OK && more) {
            status = expand_once(made, bytes, count, &taken, &more);
            bytes += taken;
            count -= taken;
            taken = 0;
        }
    }
    return status;
}

static attn_status check_whole(const expander *made) {
    if (!made->in_member) return ATTN_OK;
    return at_fail(made->context, ATTN_INVALID_ARGUMENT,
                   "%s: the gzip data is cut off after %" PRId64 " bytes: the file is incomplete", made->name,
                   made->used);
}

/* All that there is has been added, unless it has failed. */
static attn_status expander_end(expander *made, attn_status status) {
    if (status == ATTN_OK) status = check_whole(made);
    inflateEnd(&made->stream);
    if (status != ATTN_OK) at_bytes_free(made->context, made->expanded);
    return status;
}

attn_status at_gzip_expand(attn_context *context, const char *name, const char *bytes, size_t count,
                           const at_expansion *allowed, at_bytes *expanded) {
    expander made = {.context = context, .name = name, .allowed = allowed, .expanded = expanded};
    attn_status status = expander_begin(&made);
    if (status != ATTN_OK) return status;
    while (status == ATTN_OK && count > 0) {
        size_t part = count < PIECE ? count : PIECE;
        status = expander_add(&made, bytes, part);
        bytes += part;
        count -= part;
    }
    return expander_end(&made, status);
}

/* ---- files ---- */

/* The rest of a file whose first bytes are in `piece`. */
static attn_status expand_stream(expander *made, FILE *stream, char *piece, size_t got) {
    attn_status status = expander_begin(made);
    if (status != ATTN_OK) return status;
    while (status == ATTN_OK && got > 0) {
        status = expander_add(made, piece, got);
        if (status != ATTN_OK) break;
        errno = 0;
        got = fread(piece, 1, PIECE, stream);
        if (got == 0 && ferror(stream)) status = at_fail_system(made->context, made->name, "read", errno);
    }
    return expander_end(made, status);
}

static attn_status read_stream(attn_context *context, FILE *stream, const char *path,
                               const at_expansion *allowed, at_bytes *file) {
    for (;;) {
        attn_status status =
            at_grow(context, &file->data, &file->room, file->count + PIECE, 1, "the bytes of a file");
        if (status != ATTN_OK) return status;
        errno = 0;
        /* First a piece that tells what it is. */
        size_t space = file->count == 0 ? PIECE : (size_t)(file->room - file->count);
        size_t got = fread(file->data + file->count, 1, space, stream);
        if (got == 0) return ferror(stream) ? at_fail_system(context, path, "read", errno) : ATTN_OK;
        if (file->count == 0 && at_is_gzip(file->data, got)) {
            at_bytes piece = *file;
            memset(file, 0, sizeof *file);
            expander made = {.context = context, .name = path, .allowed = allowed, .expanded = file};
            status = expand_stream(&made, stream, piece.data, got);
            at_bytes_free(context, &piece);
            return status;
        }
        file->count += (int64_t)got;
        status = at_check_expansion(context, path, allowed, file->count, file->count);
        if (status != ATTN_OK) return status;
    }
}

attn_status at_file_read(attn_context *context, const char *path, const at_expansion *allowed,
                         at_bytes *file) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) return at_fail_system(context, path, "opened", errno);
    attn_status status = read_stream(context, stream, path, allowed, file);
    fclose(stream);
    if (status != ATTN_OK) at_bytes_free(context, file);
    return status;
}

/* ---- files that are read piece by piece ---- */

struct at_file {
    FILE *stream;
    at_expansion allowed;
    expander made;
    int begun, gzip, ended;
    int64_t size, done; /* bytes of the file: all of them, 0 if that is not known; those that were read */
    char piece[PIECE];  /* of a compressed file */
};

attn_status at_file_open(attn_context *context, const char *path, const at_expansion *allowed,
                         at_file **file) {
    struct stat state;
    at_file *made = at_allocate(context, 1, sizeof *made, "a file");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->stream = fopen(path, "rb");
    if (!made->stream) {
        attn_status status = at_fail_system(context, path, "opened", errno);
        at_release(context, made);
        return status;
    }
    if (fstat(fileno(made->stream), &state) == 0 && S_ISREG(state.st_mode)) made->size = state.st_size;
    made->allowed = *allowed;
    made->made = (expander){.name = path, .allowed = &made->allowed};
    *file = made;
    return ATTN_OK;
}

void at_file_close(attn_context *context, at_file *file) {
    if (!file) return;
    if (file->gzip) inflateEnd(&file->made.stream);
    fclose(file->stream);
    at_release(context, file);
}

static attn_status read_some(at_file *file, char *into, size_t room, size_t *got) {
    errno = 0;
    *got = fread(into, 1, room, file->stream);
    file->done += (int64_t)*got;
    if (*got > 0) return ATTN_OK;
    file->ended = 1;
    return ferror(file->stream) ? at_fail_system(file->made.context, file->made.name, "read", errno)
                                : ATTN_OK;
}

/* The first bytes say what it is. */
static attn_status begin_file(at_file *file, at_bytes *bytes) {
    size_t got;
    attn_status status = read_some(file, file->piece, PIECE, &got);
    file->begun = 1;
    if (status != ATTN_OK || got == 0) return status;
    if (!at_is_gzip(file->piece, got)) return at_bytes_append(file->made.context, bytes, file->piece, got);
    status = expander_begin(&file->made);
    file->gzip = status == ATTN_OK;
    return status == ATTN_OK ? expander_add(&file->made, file->piece, got) : status;
}

attn_status at_file_more(attn_context *context, at_file *file, int64_t wanted, at_bytes *bytes) {
    int64_t enough = bytes->count + wanted;
    attn_status status = ATTN_OK;
    file->made.context = context;
    file->made.expanded = bytes;
    file->made.judged = bytes->count;
    if (!file->begun) status = begin_file(file, bytes);
    while (status == ATTN_OK && !file->ended && bytes->count < enough) {
        size_t got;
        if (file->gzip) {
            status = read_some(file, file->piece, PIECE, &got);
            if (status == ATTN_OK && got > 0) status = expander_add(&file->made, file->piece, got);
            if (status == ATTN_OK && file->ended) status = check_whole(&file->made);
            continue;
        }
        status = at_grow(context, &bytes->data, &bytes->room, enough, 1, "the bytes of a file");
        if (status == ATTN_OK)
            status = read_some(file, bytes->data + bytes->count, (size_t)(enough - bytes->count), &got);
        if (status != ATTN_OK) break;
        bytes->count += (int64_t)got;
        status = at_check_expansion(context, file->made.name, &file->allowed, file->done, file->done);
    }
    return status;
}

int at_file_ended(const at_file *file) { return file->ended; }
int at_file_compressed(const at_file *file) { return file->gzip; }
int64_t at_file_size(const at_file *file) { return file->size; }
int64_t at_file_done(const at_file *file) { return file->done; }
