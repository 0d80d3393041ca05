/* status.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_STATUS_H
#define ATTN_STATUS_H

#include <attn/export.h>

ATTN_BEGIN_DECLS

typedef enum attn_status {
    ATTN_OK = 0,
    ATTN_INVALID_ARGUMENT = 1,
    ATTN_SHAPE_MISMATCH = 2,
    ATTN_OUT_OF_MEMORY = 3,
    ATTN_OVERFLOW = 4,
    ATTN_UNSUPPORTED = 5,
    ATTN_SYSTEM_ERROR = 6,
    ATTN_NOT_FINITE = 7
} attn_status;

ATTN_API const char *attn_status_name(attn_status status);

ATTN_END_DECLS

#endif
