/* lines.c: texts without targets: one per line, or one per paragraph.
 *
 * An empty line is an empty text, so that predictions correspond to lines. A paragraph ends at a blank line;
 * its lines are one text, joined by spaces.
 */
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

static attn_status end_paragraph(at_reader *reader, int64_t line) {
    at_bytes *text = &reader->joined;
    if (text->count == 0) return ATTN_OK;
    attn_status status = at_reader_token(reader, text->data, (size_t)text->count, line, 0);
    text->count = 0;
    return status == ATTN_OK ? at_texts_end(reader->dataset, "", 0) : status;
}

static attn_status add_line(at_reader *reader, const at_line *line) {
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    if (status == ATTN_OK && reader->joined.count > 0)
        status = at_bytes_append(reader->context, &reader->joined, " ", 1);
    if (status != ATTN_OK) return status;
    return at_bytes_append(reader->context, &reader->joined, line->text, line->length);
}

attn_status at_read_paragraphs(at_reader *reader) {
    attn_status status = ATTN_OK;
    at_line line;
    int64_t first = 0;
    int more = 1, broken = 0; /* the rest of a bad paragraph is skipped */
    while (status == ATTN_OK && more) {
        more = at_reader_line(reader, &line);
        if (more && !at_line_is_blank(&line)) {
            if (broken) continue;
            if (reader->joined.count == 0) first = line.number;
            status = add_line(reader, &line);
            broken = status != ATTN_OK;
        } else {
            if (!broken) status = end_paragraph(reader, first);
            reader->joined.count = broken = 0;
        }
        if (!more || broken || reader->joined.count == 0) status = at_reader_settle(reader, status);
    }
    return status;
}
