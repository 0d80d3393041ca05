/* unicode.h: UTF-8 with utf8proc: checking, NFC, lower case, shapes, and where words begin. */
#ifndef AT_DATA_SYMBOLS_UNICODE_H
#define AT_DATA_SYMBOLS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "data/strings.h"

/* The place of the first byte that is not well-formed UTF-8 (or is 0); `length` if there is none. */
size_t at_unicode_check(const char *text, size_t length);

/* The code point at `text` (which is well-formed) and how many bytes it has. */
int at_unicode_next(const char *text, size_t length, int32_t *code_point);

/* The canonical parts (NFD) of a code point; how many, at least 1. */
enum { AT_MOST_PARTS = 8 };
int at_unicode_parts(int32_t code_point, int32_t *parts);
/* A code point in UTF-8; its length, at most 4. */
size_t at_unicode_write(int32_t code_point, char *out);

/* NFC of well-formed text: *result points to it, *result_length bytes and a 0; either `text` itself, where
 * it is NFC already (ASCII always), or *buffer, which grows through the context. */
attn_status at_unicode_nfc(attn_context *context, const char *text, size_t length, char **buffer,
                           int64_t *buffer_room, const char **result, size_t *result_length);

/* Lower case, code point by code point, into `out`, which has room for 4 * length + 1 bytes; its length. */
size_t at_unicode_lower(const char *text, size_t length, char *out);

/* Upper case likewise: of all of it, or of the first character alone; a 0 follows it. */
size_t at_unicode_upper(const char *text, size_t length, int all, char *out);
/* The same for a whole text as code points, as Python's str.lower() has it: what a code point becomes may be
 * two, or depend on its neighbours. Into `out`, which has room for 2 * count; how many they are. */
int64_t at_unicode_lower_codes(const int32_t *codes, int64_t count, int32_t *out);

/* Text as it is compared with others: case folded, runs of white space one space, none at the ends; `strip`:
 * no punctuation at the ends, either. Into `out`, which has room for 4 * length + 1 bytes; its length. */
size_t at_unicode_fold(const char *text, size_t length, int strip, char *out);

/* The shape: X for upper case letters (and title case), x for other letters, d for digits, the rest as it
 * is; runs longer than 3 of one kind are cut to 3. Into `out` (room for length + 1 bytes); its length. */
size_t at_unicode_shape(const char *text, size_t length, char *out);

/* Whether a code point is white space; whether it is a space that has a width (category Zs). */
int at_unicode_space(int32_t code_point);
int at_unicode_wide_space(int32_t code_point);

/* Whether words are written with spaces between them: 1 for letters of most scripts, 0 for those of scripts
 * without (Han, Hiragana, Katakana, Thai, ...); -1 for all that are no letters. */
int at_unicode_spaced(int32_t code_point);

/* Splits text into words: runs of letters, marks and digits, with apostrophes, hyphens... as words.c says;
 * characters of scripts without spaces (Han, Hiragana, Katakana, Thai, ...) stand alone; punctuation and
 * symbols stand alone. With `at_spaces` it is split at white space only. Appends the words. */
attn_status at_split_words(attn_context *context, const char *text, size_t length, int at_spaces,
                           at_strings *words);
/* The same, one by one: the next word from *place on begins at *begin and ends at *place; 0: there is none.
 */
int at_next_word(const char *text, size_t length, int at_spaces, size_t *place, size_t *begin);

#endif
