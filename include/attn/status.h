/* status.h: the status that is returned by every call that can fail.
 *
 * 0 is success. The values never change. The context keeps the message of an error (which argument, which
 * shapes, what to do): see attn_context_error(). The function here may be called by any thread.
 */
#ifndef ATTN_STATUS_H
#define ATTN_STATUS_H

#include <attn/export.h>

ATTN_BEGIN_DECLS

typedef enum attn_status {
    ATTN_OK = 0,
    ATTN_INVALID_ARGUMENT = 1, /* a NULL, a value out of range, an option that contradicts another */
    ATTN_SHAPE_MISMATCH = 2,   /* two shapes that must agree do not; the text gives both */
    ATTN_OUT_OF_MEMORY = 3,    /* the allocator returned NULL */
    ATTN_OVERFLOW = 4,         /* a size does not fit the type that has to hold it */
    ATTN_UNSUPPORTED = 5,      /* a combination that is not implemented; the message names it */
    ATTN_SYSTEM_ERROR = 6,     /* the operating system refused something: a file, a thread, a lock */
    ATTN_NOT_FINITE = 7        /* a loss, gradient, stored weight or prediction is NaN or infinite */
} attn_status;

/* The name of a status, "ATTN_OK" and so on; "unknown status" for any other number. A constant text. */
ATTN_API const char *attn_status_name(attn_status status);

ATTN_END_DECLS

#endif
