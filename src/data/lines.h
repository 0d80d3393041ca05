/* lines.h: shared by readers of text files: names, columns by number, bytes that are not text. */
#ifndef AT_DATA_LINES_H
#define AT_DATA_LINES_H

#include "data/file.h"
#include "data/writer.h"

/* The length of at most `limit` bytes of `text` that cut no character, for "%.*s". */
int at_clip(const char *text, size_t length, size_t limit);
/* Text without the spaces around it. */
void at_trim(const char **text, size_t *length);
/* Whether two texts are the same but for the case of ASCII letters. */
int at_same_name(const char *a, size_t a_length, const char *b, size_t b_length);
/* A column's number, 1 and up, if `text` is one; else 0. */
int64_t at_column_number(const char *text, size_t length);

/* The end of a path that is too long to be shown whole, with *before "..." then, else "": the end is what
 * tells files apart, and the reason must have room beside it. */
const char *at_name_end(const char *name, const char **before);
/* The file's name ends in `ending` (".csv"), perhaps with .gz after it. */
int at_name_ends(const char *name, const char *ending);
/* Whether a column of this name tells examples apart. */
int at_is_id_name(const char *name, size_t length);

/* Of the first bytes of a file (after a byte order mark): NULL, or why they are no text, with what to do
 * about it. */
const char *at_not_text(const char *bytes, size_t count);
/* Whether the first bytes of a file, which is no text and has no advice of its own, are numbers of some
 * format: a 0 stands among them. */
int at_looks_binary(const char *bytes, size_t count);
/* Whether bytes, which begin in line *line, are UTF-8 without a 0; else *line is the line of the first that
 * is not, and reason[160] says which. */
int at_is_text(const char *text, size_t length, int64_t *line, char *reason);

/* Labels that are in one field, without spaces around them and with '\n' between. */
attn_status at_join_labels(attn_context *context, const char *text, size_t length, char separator,
                           at_bytes *joined);

/* Text of a file as it is; on a terminal, what that might obey is escaped. */
void at_put_raw(at_writer *writer, const char *text, size_t length);

#endif
