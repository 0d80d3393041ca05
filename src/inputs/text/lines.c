/* lines.c: one text a line, nothing to learn. An empty line is an empty text, so that answers stand beside
 * their lines. */
#include "base/context.h"
#include "inputs/text/reader.h"

static attn_status read_example(at_reader *reader, const at_line *line) {
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    if (status == ATTN_OK) status = at_reader_token(reader, line->text, line->length, line->number, 0);
    return status == ATTN_OK ? at_texts_end(reader->dataset, "", 0) : status;
}

attn_status at_read_lines(at_reader *reader) {
    attn_status status = ATTN_OK;
    at_line line;
    while (status == ATTN_OK && at_reader_line(reader, &line))
        status = at_reader_settle(reader, read_example(reader, &line));
    return status;
}
