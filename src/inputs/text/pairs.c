/* pairs.c: pairs of texts: source TAB target, one pair per line; or two files, line by line.
 *
 * A pair is an example of one text, the source, with one target, the column `target`. Both are stripped of
 * white space. Without targets (labelled 0) empty lines are empty sources, so that predictions correspond to
 * lines.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "data/symbols/unicode.h"
#include "inputs/text/reader.h"

/* Which columns are source and target, from 1; chosen: the options say so. */
typedef struct pair_columns {
    int64_t source, target;
    int chosen;
} pair_columns;

/* Text, which is well-formed, without the white space around it. */
static void trim(const char **text, size_t *length) {
    int32_t code_point;
    while (*length > 0) {
        int bytes = at_unicode_next(*text, *length, &code_point);
        if (!at_unicode_space(code_point)) break;
        *text += bytes;
        *length -= (size_t)bytes;
    }
    while (*length > 0) {
        size_t last = *length - 1;
        while (last > 0 && ((unsigned char)(*text)[last] & 0xc0) == 0x80) last--;
        at_unicode_next(*text + last, *length - last, &code_point);
        if (!at_unicode_space(code_point)) break;
        *length = last;
    }
}

/* Adds a pair; both texts are trimmed. */
static attn_status add_pair(at_reader *reader, const at_line *source, const at_line *target) {
    attn_status status = at_reader_token(reader, source->text, source->length, source->number, 0);
    if (status == ATTN_OK)
        status = at_reader_add(reader, &reader->dataset->targets, target->text, target->length);
    return status == ATTN_OK ? at_texts_end(reader->dataset, "", 0) : status;
}

/* ---- source TAB target ---- */

/* The number that an option says, or 0 where it says nothing, or the usual name. */
static attn_status column_of(at_reader *reader, const char *text, const char *usual, int64_t *number) {
    *number = 0;
    if (text == NULL || text[0] == 0 || strcmp(text, usual) == 0) return ATTN_OK;
    *number = at_column_number(text, strlen(text));
    /* What predicts may have learned from a file that names its columns. */
    if (*number > 0 || !reader->options.labelled) return ATTN_OK;
    return at_reader_fail(reader, "there is no column %.*s: columns of pairs have the numbers 1, 2, ...",
                          at_clip(text, strlen(text), 80), text);
}

static attn_status choose_columns(at_reader *reader, pair_columns *columns) {
    attn_status status = column_of(reader, reader->options.text_column, "source", &columns->source);
    if (status == ATTN_OK) status = column_of(reader, reader->options.column, "target", &columns->target);
    if (status != ATTN_OK) return status;
    columns->chosen = columns->source > 0 || columns->target > 0;
    if (columns->source == 0) columns->source = columns->target == 1 ? 2 : 1;
    if (columns->target == 0) columns->target = columns->source == 2 ? 1 : 2;
    if (columns->source == columns->target)
        return at_reader_fail(reader, "column %" PRId64 " cannot be the source and the target at once",
                              columns->source);
    return ATTN_OK;
}

/* Finds source and target in a line, which keep lengths of 0 where it has not so many columns; how many it
 * has. */
static int64_t split(const pair_columns *columns, const at_line *line, at_line *source, at_line *target) {
    const char *at = line->text, *end = line->text + line->length;
    for (int64_t column = 1;; column++) {
        const char *stop = memchr(at, '\t', (size_t)(end - at));
        at_line field = {at, (size_t)((stop ? stop : end) - at), line->number};
        if (column == columns->source) *source = field;
        if (column == columns->target) *target = field;
        if (stop == NULL) return column;
        at = stop + 1;
    }
}

static attn_status read_pair(at_reader *reader, const pair_columns *columns, const at_line *line) {
    int labelled = reader->options.labelled;
    attn_status status = at_reader_check(reader, line->text, line->length, line->number);
    if (status != ATTN_OK) return status;
    at_line whole = *line, source = {"", 0, line->number}, target = source;
    trim(&whole.text, &whole.length);
    if (labelled && whole.length == 0) return ATTN_OK;
    int64_t count = split(columns, line, &source, &target);
    int64_t needed = labelled && columns->target > columns->source ? columns->target : columns->source;
    if (count == 1) {
        if (labelled) return at_reader_bad(reader, line->number, "no TAB: a line is source TAB target");
        source = *line;
        target.length = 0;
    } else if (count > 2 && !columns->chosen) {
        return at_reader_bad(reader, line->number,
                             labelled ? "%" PRId64 " columns: name those of the source and the target"
                                      : "%" PRId64 " columns: a line is a source, or source TAB target",
                             count);
    } else if (count < needed) {
        return at_reader_bad(reader, line->number, "%" PRId64 " columns, and column %" PRId64 " is the %s",
                             count, needed, needed == columns->source ? "source" : "target");
    }
    trim(&source.text, &source.length);
    trim(&target.text, &target.length);
    if (labelled && source.length == 0) return at_reader_bad(reader, line->number, "the source is empty");
    if (labelled && target.length == 0) return at_reader_bad(reader, line->number, "the target is empty");
    return add_pair(reader, &source, &target);
}

attn_status at_read_pairs(at_reader *reader) {
    pair_columns columns = {0};
    attn_status status = choose_columns(reader, &columns);
    if (status == ATTN_OK) status = at_strings_add(reader->context, &reader->dataset->columns, "target", 6);
    at_line line;
    while (status == ATTN_OK && at_reader_line(reader, &line))
        status = at_reader_settle(reader, read_pair(reader, &columns, &line));
    return status;
}

/* ---- two files ---- */

static int64_t count_lines(at_reader reader) {
    at_line line;
    int64_t count = 0;
    while (at_reader_line(&reader, &line)) count++;
    return count;
}

static attn_status read_lines(at_reader *sources, at_reader *targets, at_line source, at_line target) {
    attn_status status = at_reader_check(sources, source.text, source.length, source.number);
    if (status == ATTN_OK) {
        status = at_reader_check(targets, target.text, target.length, target.number);
        sources->bad = targets->bad;
    }
    if (status != ATTN_OK) return status;
    trim(&source.text, &source.length);
    trim(&target.text, &target.length);
    if (sources->options.labelled) {
        if (source.length == 0 && target.length == 0) return ATTN_OK;
        if (source.length == 0)
            return at_reader_bad(sources, source.number, "the source is empty, and its target is not");
        if (target.length == 0) {
            sources->bad = 1;
            return at_reader_bad(targets, target.number, "the target is empty, and its source is not");
        }
    }
    return add_pair(sources, &source, &target);
}

attn_status at_fail_uneven(attn_context *context, const char *sources, int64_t source_count,
                           const char *targets, int64_t target_count) {
    const char *source_cut, *target_cut;
    const char *source_name = at_name_end(sources, &source_cut);
    const char *target_name = at_name_end(targets, &target_cut);
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%s%s has %" PRId64 " line%s and %s%s %" PRId64
                   ": they must have the same number of lines",
                   source_cut, source_name, source_count, source_count == 1 ? "" : "s", target_cut,
                   target_name, target_count);
}

attn_status at_read_parallel(at_reader *sources, at_reader *targets) {
    int64_t source_count = count_lines(*sources), target_count = count_lines(*targets);
    if (source_count != target_count)
        return at_fail_uneven(sources->context, sources->name, source_count, targets->name, target_count);
    attn_status status = at_strings_add(sources->context, &sources->dataset->columns, "target", 6);
    at_line source, target;
    while (status == ATTN_OK && at_reader_line(sources, &source) && at_reader_line(targets, &target)) {
        targets->bad = 0;
        status = at_reader_settle(sources, read_lines(sources, targets, source, target));
    }
    return status;
}
