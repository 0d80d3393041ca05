/* columns.c: a token and its tags per line, separated by TABs, with blank lines between sequences.
 *
 * A file whose first line has no TAB has spaces between its columns. Columns are named by their numbers:
 * token 1, tags 2 and up; `tag` is column 2. With more than two columns the ones to learn must be named.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/text/reader.h"

typedef struct field {
    const char *text;
    size_t length;
} field;

typedef struct columns {
    at_reader *reader;
    char separator;
    int64_t width;    /* columns of the first line */
    int64_t *targets; /* their numbers, from 1 */
    field *fields;    /* of the line */
    int64_t count, room;
} columns;

static attn_status split_fields(columns *file, const at_line *line) {
    file->count = 0;
    const char *at = line->text, *end = line->text + line->length;
    if (file->separator == ' ') { /* runs of them, also at the ends */
        while (end > at && (end[-1] == ' ' || end[-1] == '\t')) end--;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
    }
    for (;;) {
        const char *stop = memchr(at, file->separator, (size_t)(end - at));
        attn_status status = at_grow(file->reader->context, &file->fields, &file->room, file->count + 1,
                                     sizeof *file->fields, "the columns of a line");
        if (status != ATTN_OK) return status;
        file->fields[file->count++] = (field){at, (size_t)((stop ? stop : end) - at)};
        if (stop == NULL) return ATTN_OK;
        at = stop + 1;
        while (file->separator == ' ' && at < end && *at == ' ') at++;
    }
}

/* From the first line: what stands between columns, how many there are, and which are targets. */
static attn_status begin(void *user) {
    columns *file = user;
    at_reader *reader = file->reader, rest = *reader;
    attn_context *context = reader->context;
    at_strings *wanted = &reader->wanted;
    at_line line = {"", 0, 0};
    while (at_reader_line(&rest, &line) && at_line_is_blank(&line)) continue;
    if (at_line_is_blank(&line)) return ATTN_OK;
    file->separator = memchr(line.text, '\t', line.length) ? '\t' : ' ';
    if (!reader->options.head) reader->dataset->placement.head = (size_t)(rest.next - reader->begin);
    attn_status status = split_fields(file, &line);
    if (status != ATTN_OK) return status;
    file->width = file->count;
    reader->dataset->placement.delimiter = file->width == 1 ? '\t' : file->separator;
    if (wanted->count == 0 && reader->options.labelled && file->width > 2)
        return at_reader_fail(reader,
                              "has %" PRId64 " columns: name the one to learn, 2 to %" PRId64
                              " (several with commas between)",
                              file->width, file->width);
    if (wanted->count == 0 && file->width == 2) status = at_strings_add(context, wanted, "tag", 3);
    file->targets = at_allocate(context, wanted->count, sizeof *file->targets, "target columns");
    if (status != ATTN_OK || file->targets == NULL) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; status == ATTN_OK && i < wanted->count; i++) {
        const char *name = at_string(wanted, i);
        size_t length = at_string_length(wanted, i);
        int64_t number = at_same_name(name, length, "tag", 3) ? 2 : at_column_number(name, length);
        if (!reader->options.labelled && (number < 2 || number > file->width))
            continue; /* what predicts may have learned from another format, and there need be no tags */
        if (number < 2 || number > file->width)
            return at_reader_fail(reader,
                                  "there is no column %.*s: a line is a token and %" PRId64
                                  " tag%s, which are named by their column: 2%s",
                                  at_clip(name, length, 80), name, file->width - 1,
                                  file->width == 2 ? "" : "s", file->width == 2 ? "" : ", 3, ...");
        file->targets[reader->dataset->columns.count] = number;
        status = at_strings_add(context, &reader->dataset->columns, name, length);
    }
    return status;
}

static attn_status read_token(columns *file, const at_line *line) {
    at_reader *reader = file->reader;
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    if (status == ATTN_OK) status = split_fields(file, line);
    if (status != ATTN_OK) return status;
    if (file->count > file->width || (file->count < file->width && reader->options.labelled))
        return at_reader_bad(reader, line->number, "%" PRId64 " column%s, the first line has %" PRId64,
                             file->count, file->count == 1 ? "" : "s", file->width);
    if (file->fields[0].length == 0)
        return at_reader_bad(reader, line->number, "no token before the first TAB");
    status = at_reader_token(reader, file->fields[0].text, file->fields[0].length, line->number, 0);
    for (int64_t i = 0; status == ATTN_OK && i < reader->dataset->columns.count; i++) {
        int64_t f = file->targets[i] - 1;
        status = f < file->count ? at_reader_target(reader, file->fields[f].text, file->fields[f].length)
                                 : at_reader_target(reader, "", 0);
    }
    if (status != ATTN_OK || !at_reader_unlabelled(reader)) return status;
    return at_reader_bad(reader, line->number, "the token has no tag");
}

static attn_status read_sequences(columns *file) {
    at_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    at_line line;
    attn_status status = ATTN_OK;
    int more = 1, broken = 0; /* the rest of a bad sequence is skipped */
    while (status == ATTN_OK && more) {
        more = at_reader_line(reader, &line);
        if (more && !at_line_is_blank(&line)) {
            if (broken) continue;
            status = read_token(file, &line);
            broken = status != ATTN_OK;
        } else {
            if (dataset->rows > dataset->offsets[dataset->examples]) status = at_texts_end(dataset, "", 0);
            broken = 0;
        }
        status = at_reader_settle(reader, status);
    }
    return status;
}

attn_status at_read_columns(at_reader *reader) {
    columns file = {.reader = reader};
    attn_status status = at_reader_head(reader, begin, &file);
    if (status == ATTN_OK) status = read_sequences(&file);
    at_release(reader->context, file.targets);
    at_release(reader->context, file.fields);
    return status;
}
