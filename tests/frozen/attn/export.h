/* export.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_EXPORT_H
#define ATTN_EXPORT_H

#include <stddef.h>

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

#define ATTN_INIT(type)                                                                                      \
    ATTN_API void type##_init_sized(type *to, size_t size);                                                  \
    static inline void type##_init(type *to) { type##_init_sized(to, sizeof *to); }

#ifdef __cplusplus
#define ATTN_BEGIN_DECLS extern "C" {
#define ATTN_END_DECLS }
#else
#define ATTN_BEGIN_DECLS
#define ATTN_END_DECLS
#endif

#endif
