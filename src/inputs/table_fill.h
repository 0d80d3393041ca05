/* table_fill.h: predictions as added columns of a table; everything else is copied byte for byte.
 *
 * An output NAME goes to a column predicted_NAME, its probability to probability_NAME; if the table already
 * has such a column, to predicted_NAME_2 and so on.
 */
#ifndef AT_INPUTS_TABLE_FILL_H
#define AT_INPUTS_TABLE_FILL_H

#include "inputs/input.h"

typedef struct at_filling {
    const attn_dataset *dataset;
    const at_cells *cells;
    at_writer *writer;
    at_writer value; /* one cell, before it is quoted; freed by the caller */
} at_filling;

/* A row an example; before it perhaps the header and blank lines. */
void at_fill_table(at_filling *work, const char *lines, size_t length);
/* The answers for one row of an example, each after a delimiter. */
void at_fill_answers(at_filling *work, int64_t example, int64_t row);

/* Lines of the file: TABs and line ends stay also on a terminal. */
void at_put_lines(at_writer *writer, const char *text, size_t length);
/* Where the last line of some lines ends: before its LF or CRLF. */
size_t at_without_end(const char *text, size_t length);

#endif
