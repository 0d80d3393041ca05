/* export.h: which symbols the library exports.
 *
 * Everything is hidden unless it is marked ATTN_API; the headers compile as
 * C11 and as C++. Any thread may call an init function.
 */
#ifndef ATTN_EXPORT_H
#define ATTN_EXPORT_H

#include <stddef.h>

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

/* Declares TYPE_init(TYPE *), which fills a struct that begins with `size` with its defaults; for NULL it
 * does nothing. It passes the size with which the caller was compiled, and the library reads and fills only
 * that many bytes, so the program still works with a later library whose struct is larger.
 *
 * Calls that take options also accept those of newer headers, if the members that the library does not know
 * are 0; else they return UNSUPPORTED. For a size that no version has they return INVALID_ARGUMENT: the init
 * function was not called. */
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
