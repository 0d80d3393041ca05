/* table.h: the rows of a table (CSV, TSV): fields between delimiters, quoted or not, and columns by name.
 *
 * Fields between commas may be quoted: "a ""b"", c", with line breaks inside; fields between TABs never are.
 */
#ifndef AT_DATA_TABLE_H
#define AT_DATA_TABLE_H

#include "data/file.h"
#include "data/strings.h"

typedef struct at_table {
    attn_context *context;
    const char *next, *end; /* what is still to be read */
    int64_t line;           /* the number of the line at `next` */
    char delimiter;
    int64_t split_limit; /* a row is split into so many fields at most; 0: no limit */
    int64_t width;       /* columns; 0: not known yet */

    at_strings fields; /* of the row that was read last */
    int64_t begin;     /* the number of the line where it begins */
    at_bytes field;    /* a quoted field without its quotes */
    int64_t reread;    /* bytes that were looked at again after a broken quote */
    const char *limit; /* from here on they must not be read again too often */

    char problem[160];    /* "", or what is wrong with that row, */
    int64_t problem_line; /* and where; 0: no row after it can be read either */
} at_table;

/* The next row; *more 0: there is none. INVALID_ARGUMENT with `problem` and without a text of the context:
 * the row is bad. Reading continues at the line after that where the row began, as a quote too many would
 * swallow the rest of the file otherwise. */
attn_status at_table_row(at_table *table, int *more);
void at_table_free(at_table *table);

enum { AT_COLUMN_LIST = 176 };
/* The column of a name: the same, else the same but for case; -1 if there is none. */
int64_t at_find_column(const at_strings *names, const char *name, size_t length);
/* "a, b, c, ...": the names for a message, into list[AT_COLUMN_LIST]. */
void at_list_columns(const at_strings *names, char *list);

#endif
