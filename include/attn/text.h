/* text.h: text made safe to print on a terminal, and its width in terminal cells.
 *
 * Text from a user or a file is not trusted: control characters, bidirectional overrides and bytes that are
 * not UTF-8 are escaped (\x1b, \u202e). Chinese, Japanese and Korean characters take two terminal cells;
 * combining marks take none.
 *
 * These functions cannot fail, and any thread may call them. For NULL they return 0 and write nothing.
 */
#ifndef ATTN_TEXT_H
#define ATTN_TEXT_H

#include <stddef.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

enum { ATTN_GLYPH_BYTES = 12 };

/* Reads one character from *text (which must not be at its end), advances *text past it, and writes the
 * character's printable form, 0-terminated, to `shown`. Returns its width in cells. */
ATTN_API int attn_text_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);
/* The same, but `shown` gets the form that the character has in a JSON string; bytes that are not UTF-8
 * become U+FFFD. Returns the length of `shown` in bytes. */
ATTN_API int attn_text_json_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);
/* The width of a text in cells. */
ATTN_API int attn_text_cells(const char *text);

ATTN_END_DECLS

#endif
