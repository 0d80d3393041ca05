/* fasttext.c: fastText's lines: __label__A __label__B the text. Labels precede the text. */
#include <string.h>

#include "base/context.h"
#include "inputs/text/reader.h"

static const char prefix[] = "__label__";
enum { PREFIX = sizeof prefix - 1 };

static int is_space(char c) { return c == ' ' || c == '\t'; }

static attn_status read_example(at_reader *reader, const at_line *line) {
    attn_context *context = reader->context;
    at_bytes *joined = &reader->joined;
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    const char *at = line->text, *end = line->text + line->length;
    joined->count = 0;
    while (at < end && is_space(*at)) at++;
    while (status == ATTN_OK && end - at >= PREFIX && memcmp(at, prefix, PREFIX) == 0) {
        const char *label = at + PREFIX;
        for (at = label; at < end && !is_space(*at);) at++;
        if (at == label) return at_reader_bad(reader, line->number, "__label__ without a name after it");
        if (joined->count > 0) status = at_bytes_append(context, joined, "\n", 1);
        if (status == ATTN_OK) status = at_bytes_append(context, joined, label, (size_t)(at - label));
        while (at < end && is_space(*at)) at++;
    }
    if (status != ATTN_OK) return status;
    if (joined->count == 0 && reader->options.labelled)
        return at_reader_bad(reader, line->number, "the line does not begin with __label__");
    status = at_reader_token(reader, at, (size_t)(end - at), line->number, 0);
    if (status == ATTN_OK)
        status = at_reader_add(reader, &reader->dataset->targets, joined->count ? joined->data : "",
                               (size_t)joined->count);
    return status == ATTN_OK ? at_texts_end(reader->dataset, "", 0) : status;
}

attn_status at_read_fasttext(at_reader *reader) {
    const at_strings *wanted = &reader->wanted;
    if (reader->options.labelled && wanted->count > 0) {
        const char *name = at_string(wanted, 0);
        if (wanted->count > 1 || !at_is_label_name(name, strlen(name)))
            return at_reader_fail(reader, "has __label__ marks, and no column %.*s",
                                  at_clip(name, strlen(name), 80), name);
    }
    attn_status status = at_strings_add(reader->context, &reader->dataset->columns, "label", 5);
    at_line line;
    while (status == ATTN_OK && at_reader_line(reader, &line)) {
        if (at_line_is_blank(&line) && reader->options.labelled) continue;
        status = at_reader_settle(reader, read_example(reader, &line));
    }
    return status;
}
