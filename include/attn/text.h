/* text.h: text as it can be shown: what a terminal would obey is escaped, and how many cells it takes.
 *
 * Text that a user or a file gave is never trusted: control characters, bidirectional overrides and bytes
 * that are not UTF-8 become escapes (\x1b, \u202e). Chinese, Japanese and Korean characters take two cells of
 * a terminal, marks that combine take none.
 */
#ifndef ATTN_TEXT_H
#define ATTN_TEXT_H

#include <stddef.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

enum { ATTN_GLYPH_BYTES = 12 };

/* Takes one character off *text (not at its end), in the form in which it is shown, ended by a 0; returns how
 * many cells it takes. */
ATTN_API int attn_text_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);
/* The same as it stands in a JSON string; bytes that are not UTF-8 become U+FFFD. Returns its bytes. */
ATTN_API int attn_text_json_glyph(const char **text, char shown[ATTN_GLYPH_BYTES]);
/* How many cells a text takes when it is shown. */
ATTN_API int attn_text_cells(const char *text);

ATTN_END_DECLS

#endif
