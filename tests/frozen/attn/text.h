/* text.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_TEXT_H
#define ATTN_TEXT_H

#include <stddef.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

enum { ATTN_GLYPH_BYTES = 12 };

ATTN_API int attn_text_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);

ATTN_API int attn_text_json_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);

ATTN_API int attn_text_cells(const char *text);

ATTN_END_DECLS

#endif
