/* origin.h: where bytes are from, for errors that name file, line and array. */
#ifndef AT_DATA_ORIGIN_H
#define AT_DATA_ORIGIN_H

#include <stdarg.h>
#include <stdint.h>

#include <attn/context.h>

typedef struct at_origin {
    attn_context *context;
    const char *name;     /* of the file */
    int64_t limit, ratio; /* what it may be expanded to: see at_expansion in data/file.h */
} at_origin;

/* INVALID_ARGUMENT with "FILE: array NAME: reason" (array NULL: of the file as a whole), or "FILE:LINE:
 * reason" (line 0: none). Control characters, which files may bring in, become question marks. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
attn_status
at_origin_fail(const at_origin *origin, const char *array, int64_t line, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 4, 0)))
#endif
attn_status
at_origin_fail_list(const at_origin *origin, const char *array, int64_t line, const char *format,
                    va_list arguments);

#endif
