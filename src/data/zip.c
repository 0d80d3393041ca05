/* zip.c: the directory of a zip archive, and its members.
 *
 * A member is a local header, its name, extra fields and data; the directory at the end repeats header and
 * name with the true sizes, so only the directory's values are used. Archives of 4 GB and more (zip64
 * directories) are refused.
 */
#include "data/zip.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"

enum {
    END_BYTES = 22,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    LONGEST_COMMENT = 65535,
    PIECE = 1 << 16,
    HIGHEST_RATIO = 1032 /* deflate makes no more of a byte */
};

static uint32_t two(const char *at) {
    return (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8;
}
static uint32_t four(const char *at) { return two(at) | two(at + 2) << 16; }

int at_is_zip(const char *bytes, size_t count) {
    return count >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

static attn_status damaged(const at_origin *origin, const char *what) {
    return at_origin_fail(origin, NULL, 0, "the zip archive is damaged or cut off: %s", what);
}

/* The record that ends an archive: behind it there is at most a comment. */
static const char *find_end(const char *bytes, size_t count) {
    for (size_t back = END_BYTES; back <= count && back <= END_BYTES + LONGEST_COMMENT; back++) {
        const char *at = bytes + count - back;
        if (memcmp(at, "PK\5\6", 4) == 0 && two(at + 20) == back - END_BYTES) return at;
    }
    return NULL;
}

static attn_status read_name(const at_origin *origin, const char *name, size_t length,
                             at_zip_member *member) {
    static const char ending[] = ".npy";
    size_t kept = length < 4 ? 0 : length - 4;
    if (kept == 0 || kept >= sizeof member->name || memcmp(name + kept, ending, 4) != 0 ||
        at_unicode_check(name, length) != length)
        return at_origin_fail(origin, NULL, 0,
                              "has a member %.*s that is not an array (NAME.npy, at most %zu bytes): write "
                              "the file with numpy.savez",
                              (int)(length < 100 ? length : 100), name, sizeof member->name - 1);
    memcpy(member->name, name, kept);
    member->name[kept] = 0;
    return ATTN_OK;
}

/* Where the data of a member begins: its local header has a length of the extra fields of its own. */
static attn_status find_data(const at_origin *origin, const char *bytes, size_t count, size_t offset,
                             at_zip_member *member) {
    if (offset > count || count - offset < LOCAL_BYTES || memcmp(bytes + offset, "PK\3\4", 4) != 0)
        return damaged(origin, "the directory has the wrong position of a member");
    const char *local = bytes + offset;
    size_t begin = (size_t)LOCAL_BYTES + two(local + 26) + two(local + 28);
    if (begin > count - offset || member->packed > count - offset - begin)
        return damaged(origin, "a member goes beyond the end");
    member->data = local + begin;
    return ATTN_OK;
}

static attn_status check_member(const at_origin *origin, const at_zip_member *member, uint32_t flags,
                                uint32_t method) {
    if (flags & 1) return at_origin_fail(origin, member->name, 0, "is encrypted: save it without a password");
    if (method != 0 && method != 8)
        return at_origin_fail(
            origin, member->name, 0,
            "is compressed by method %u; stored and deflated ones are read: use numpy.savez_compressed",
            (unsigned)method);
    if (!member->deflated && member->packed != member->size)
        return damaged(origin, "the sizes of a member do not agree");
    if (member->deflated && member->size / HIGHEST_RATIO > member->packed)
        return damaged(origin, "the size of a member is too large");
    return ATTN_OK;
}

static attn_status add_member(const at_origin *origin, const char *bytes, size_t count, const char *entry,
                              size_t name_length, at_zip *archive) {
    attn_status status = at_grow(origin->context, &archive->members, &archive->room, archive->count + 1,
                                 sizeof *archive->members, "the members of an archive");
    if (status != ATTN_OK) return status;
    at_zip_member *member = &archive->members[archive->count];
    memset(member, 0, sizeof *member);
    status = read_name(origin, entry + ENTRY_BYTES, name_length, member);
    if (status != ATTN_OK) return status;
    uint32_t method = two(entry + 10);
    member->deflated = method != 0;
    member->check = four(entry + 16);
    member->packed = four(entry + 20);
    member->size = four(entry + 24);
    if (member->packed == UINT32_MAX || member->size == UINT32_MAX || four(entry + 42) == UINT32_MAX)
        return at_origin_fail(origin, member->name, 0,
                              "has 4 GB or more (zip64), which is not read: save it as .npy");
    for (int64_t i = 0; i < archive->count; i++) {
        if (strcmp(archive->members[i].name, member->name) == 0)
            return at_origin_fail(origin, member->name, 0, "occurs twice: remove one of them");
    }
    status = check_member(origin, member, two(entry + 8), method);
    if (status == ATTN_OK) status = find_data(origin, bytes, count, four(entry + 42), member);
    if (status == ATTN_OK) archive->count++;
    return status;
}

static attn_status check_sizes(const at_origin *origin, const at_zip *archive, size_t count) {
    uint64_t packed = 0, size = 0; /* at most 2^16 members below 2^32 bytes each */
    for (int64_t i = 0; i < archive->count; i++) {
        packed += archive->members[i].packed;
        size += archive->members[i].size;
    }
    if (packed > count) return damaged(origin, "its members overlap");
    const at_expansion allowed = {.limit = origin->limit, .ratio = origin->ratio};
    return at_check_expansion(origin->context, origin->name, &allowed, (int64_t)packed, (int64_t)size);
}

attn_status at_zip_open(const at_origin *origin, const char *bytes, size_t count, at_zip *archive) {
    const char *end = find_end(bytes, count);
    if (!end) return damaged(origin, "it has no directory");
    size_t entries = two(end + 10), length = four(end + 12), begin = four(end + 16),
           before = (size_t)(end - bytes);
    if (entries == 0xffff || begin == UINT32_MAX)
        return at_origin_fail(
            origin, NULL, 0,
            "is a zip64 archive, which is not read: save the arrays as .npy files, or fewer of them");
    if (begin > before || length > before - begin)
        return damaged(origin, "its directory is not where it says");
    const char *at = bytes + begin, *stop = at + length;
    for (size_t i = 0; i < entries; i++) {
        if (stop - at < ENTRY_BYTES || memcmp(at, "PK\1\2", 4) != 0)
            return damaged(origin, "its directory ends early");
        size_t name_length = two(at + 28),
               whole = (size_t)ENTRY_BYTES + name_length + two(at + 30) + two(at + 32);
        if ((size_t)(stop - at) < whole) return damaged(origin, "its directory ends early");
        attn_status status = add_member(origin, bytes, count, at, name_length, archive);
        if (status != ATTN_OK) return status;
        at += whole;
    }
    return check_sizes(origin, archive, count);
}

void at_zip_free(attn_context *context, at_zip *archive) {
    at_release(context, archive->members);
    memset(archive, 0, sizeof *archive);
}

/* ---- members ---- */

static attn_status inflate_member(const at_origin *origin, const at_zip_member *member, at_bytes *expanded) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, -15) != Z_OK)
        return at_fail(origin->context, ATTN_OUT_OF_MEMORY, "no memory to expand %.200s", origin->name);
    stream.next_in = (Bytef *)(uintptr_t)member->data; /* zlib does not write there */
    stream.avail_in = (uInt)member->packed;
    attn_status status = ATTN_OK;
    int result = Z_OK;
    /* It grows with what really comes out; one byte more than it says is too much already. */
    while (status == ATTN_OK && result == Z_OK && (size_t)expanded->count <= member->size) {
        status = at_grow(origin->context, &expanded->data, &expanded->room, expanded->count + PIECE, 1,
                         "an array of an archive");
        if (status != ATTN_OK) break;
        int64_t space = expanded->room - expanded->count;
        uInt out = space > 1 << 30 ? 1u << 30 : (uInt)space;
        stream.next_out = (Bytef *)(expanded->data + expanded->count);
        stream.avail_out = out;
        result = inflate(&stream, Z_NO_FLUSH);
        expanded->count += out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (status != ATTN_OK) return status;
    if (result == Z_MEM_ERROR)
        return at_fail(origin->context, ATTN_OUT_OF_MEMORY, "no memory to expand %.200s", origin->name);
    if (result != Z_STREAM_END || (size_t)expanded->count != member->size || stream.avail_in != 0)
        return at_origin_fail(origin, member->name, 0, "its compressed data is damaged: save the file again");
    return ATTN_OK;
}

attn_status at_zip_read(const at_origin *origin, const at_zip_member *member, at_bytes *expanded,
                        const char **bytes) {
    const char *found = member->data;
    if (member->deflated) {
        attn_status status = inflate_member(origin, member, expanded);
        if (status != ATTN_OK) return status;
        found = member->size ? expanded->data : "";
    }
    uLong sum = crc32(0, Z_NULL, 0);
    sum = crc32(sum, (const Bytef *)found, (uInt)member->size);
    if (sum != member->check)
        return at_origin_fail(origin, member->name, 0, "its checksum is wrong: the file is damaged");
    *bytes = found;
    return ATTN_OK;
}
