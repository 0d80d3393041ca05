/* status.c: the names of the statuses. */
#include <attn/status.h>

const char *attn_status_name(attn_status status) {
    switch (status) {
    case ATTN_OK: return "ATTN_OK";
    case ATTN_INVALID_ARGUMENT: return "ATTN_INVALID_ARGUMENT";
    case ATTN_SHAPE_MISMATCH: return "ATTN_SHAPE_MISMATCH";
    case ATTN_OUT_OF_MEMORY: return "ATTN_OUT_OF_MEMORY";
    case ATTN_OVERFLOW: return "ATTN_OVERFLOW";
    case ATTN_UNSUPPORTED: return "ATTN_UNSUPPORTED";
    case ATTN_SYSTEM_ERROR: return "ATTN_SYSTEM_ERROR";
    case ATTN_NOT_FINITE: return "ATTN_NOT_FINITE";
    }
    return "unknown status";
}
