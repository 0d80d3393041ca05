/* vectors.h: pretrained vectors of words, from a text file.
 *
 *     2 3                       how many and how long: this line may be missing
 *     word 0.1 -2.5e-3 7        a word and its numbers, with spaces or tabs between them
 *     other 1 2 3
 *
 * Plain or gzip, UTF-8 with or without BOM, LF or CRLF; words are brought to NFC. Blank lines are skipped.
 */
#ifndef AT_INPUTS_TEXT_PRETRAINED_H
#define AT_INPUTS_TEXT_PRETRAINED_H

#include "data/strings.h"

/* Reads the first `limit` vectors (0: all) and no more of the file than that takes. *words (empty before) are
 * the words in the order of the file, twice where they occur twice; *numbers is [words->count,
 * *columns], to be given to at_release. Errors name file and line: INVALID_ARGUMENT (a wrong number of
 * columns, a number that is not one or is not finite, fewer or more vectors than the first line says, damaged
 * gzip, not UTF-8, no vectors at all), SYSTEM_ERROR, OUT_OF_MEMORY. Results are untouched on failure. */
attn_status at_vectors_read(attn_context *context, const char *path, int64_t limit, at_strings *words,
                            float **numbers, int64_t *columns);

/* The same from memory (not gzip); `name` stands for the file's name in errors. */
attn_status at_vectors_parse(attn_context *context, const char *name, const char *bytes, size_t count,
                             int64_t limit, at_strings *words, float **numbers, int64_t *columns);

#endif
