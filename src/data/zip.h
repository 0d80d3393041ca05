/* zip.h: the members of a zip archive in memory, stored or deflated: what numpy.savez and savez_compressed
 * write. */
#ifndef AT_DATA_ZIP_H
#define AT_DATA_ZIP_H

#include "data/file.h"
#include "data/origin.h"

typedef struct at_zip_member {
    char name[128]; /* without ".npy" */
    const char *data;
    size_t packed, size; /* bytes in the archive, and of the member */
    uint32_t check;      /* CRC-32 of the member */
    int deflated;
} at_zip_member;

typedef struct at_zip {
    at_zip_member *members;
    int64_t count, room;
} at_zip;

int at_is_zip(const char *bytes, size_t count);
/* The members by their directory; all 0 before. They may have origin->limit bytes together. */
attn_status at_zip_open(const at_origin *origin, const char *bytes, size_t count, at_zip *archive);
void at_zip_free(attn_context *context, at_zip *archive);
/* The bytes of a member: in the archive, or in *expanded, which is empty before. */
attn_status at_zip_read(const at_origin *origin, const at_zip_member *member, at_bytes *expanded,
                        const char **bytes);

#endif
