/* export.h: which symbols leave the library.
 *
 * Everything is hidden unless it is marked ATTN_API; the headers compile as
 * C11 and as C++.
 */
#ifndef ATTN_EXPORT_H
#define ATTN_EXPORT_H

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

#ifdef __cplusplus
#define ATTN_BEGIN_DECLS extern "C" {
#define ATTN_END_DECLS }
#else
#define ATTN_BEGIN_DECLS
#define ATTN_END_DECLS
#endif

#endif
