/* reading.c: from files or from memory to a dataset of texts: what the formats have in common. */
#include "inputs/text/reader.h"
#include "inputs/text/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"

/* ---- lines and errors ---- */

int at_reader_line(at_reader *reader, at_line *line) {
    if (reader->next == reader->end) return 0;
    size_t left = (size_t)(reader->end - reader->next);
    const char *feed = memchr(reader->next, '\n', left);
    line->text = reader->next;
    line->length = feed ? (size_t)(feed - reader->next) : left;
    line->number = reader->line++;
    reader->next = feed ? feed + 1 : reader->end;
    if (line->length > 0 && line->text[line->length - 1] == '\r') line->length--;
    return 1;
}

int at_line_is_blank(const at_line *line) {
    for (size_t i = 0; i < line->length; i++) {
        if (line->text[i] != ' ' && line->text[i] != '\t') return 0;
    }
    return 1;
}

static attn_status fail_with_reason(at_reader *reader, int64_t line, char *reason) {
    const char *before, *name = at_name_end(reader->name, &before);
    for (char *p = reason; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    }
    reason[at_clip(reason, strlen(reason), 300)] = 0;
    if (line > 0)
        return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s:%" PRId64 ": %s", before, name, line,
                       reason);
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s: %s", before, name, reason);
}

attn_status at_reader_bad(at_reader *reader, int64_t line, const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    reader->bad = 1;
    return fail_with_reason(reader, line, reason);
}

attn_status at_reader_fail(at_reader *reader, const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    reader->bad = 0;
    return fail_with_reason(reader, 0, reason);
}

static void pass_over_mark(at_reader *reader) {
    if (reader->end - reader->next >= 3 && memcmp(reader->next, "\xef\xbb\xbf", 3) == 0) reader->next += 3;
}

attn_status at_reader_check(at_reader *reader, const char *text, size_t length, int64_t line) {
    char reason[160];
    return at_is_text(text, length, &line, reason) ? ATTN_OK : at_reader_bad(reader, line, "%s", reason);
}

/* The value of the comment "# sent_id = ..." among the lines of a sentence; NULL if there is none. */
static const char *find_sentence_id(const char *lines, size_t *length) {
    static const char name[] = "sent_id";
    for (; *lines == '#'; lines += *lines == '\n') {
        const char *at = lines + 1, *end = lines + strcspn(lines, "\n");
        while (at < end && *at == ' ') at++;
        size_t left = (size_t)(end - at);
        lines = end;
        if (left < sizeof name || memcmp(at, name, sizeof name - 1) != 0) continue;
        at += sizeof name - 1;
        while (at < end && *at == ' ') at++;
        if (at == end || *at++ != '=') continue;
        *length = (size_t)(end - at);
        at_trim(&at, length);
        return at;
    }
    return NULL;
}

/* Formats whose examples the data may call something. */
static int may_have_ids(attn_format format) {
    return format == ATTN_FORMAT_CONLLU || format == ATTN_FORMAT_TABLE || format == ATTN_FORMAT_JSONL;
}

/* Where the example that was added last stands, and what the data calls it. */
static attn_status note_place(at_reader *reader) {
    attn_dataset *dataset = reader->dataset;
    at_placement *layout = &dataset->placement;
    attn_status status = at_grow(reader->context, &layout->ends, &layout->end_room, dataset->examples,
                                 sizeof *layout->ends, "the places of examples");
    if (status != ATTN_OK) return status;
    layout->ends[layout->end_count++] = reader->next - reader->begin;
    if (!may_have_ids(dataset->format)) return ATTN_OK;
    if (dataset->format == ATTN_FORMAT_CONLLU)
        reader->id =
            find_sentence_id(attn_dataset_source(dataset, dataset->examples - 1), &reader->id_length);
    return at_reader_add(reader, &dataset->ids, reader->id ? reader->id : "",
                         reader->id ? reader->id_length : 0);
}

/* Whether the line that was read last is blank. */
static int after_blank(const at_reader *reader) {
    const char *at = reader->next;
    if (at == reader->begin || *--at != '\n') return 0;
    while (at > reader->begin && (at[-1] == ' ' || at[-1] == '\t' || at[-1] == '\r')) at--;
    return at == reader->begin || at[-1] == '\n';
}

attn_status at_reader_settle(at_reader *reader, attn_status status) {
    int bad = reader->bad;
    reader->bad = 0;
    attn_dataset *dataset = reader->dataset;
    int stops = reader->options.stop_at_bad && !reader->options.skip_bad;
    if (status == ATTN_OK && dataset->examples > reader->settled) {
        reader->settled = dataset->examples;
        reader->good = reader->next;
        status = note_place(reader);
    } else if (status == ATTN_OK && dataset->rows == dataset->offsets[dataset->examples] &&
               after_blank(reader)) {
        reader->good = reader->next; /* as it would be at the end of a piece */
    }
    reader->id = NULL;
    if (status == ATTN_OK || !bad || !(stops || reader->options.skip_bad)) return status;
    at_texts_undo(dataset);
    if (stops) { /* what precedes it is good: the rest is not read */
        dataset->stopped = status;
        dataset->consumed = reader->good ? (size_t)(reader->good - reader->begin) : 0;
        reader->next = reader->end;
    } else {
        dataset->skipped++;
        status = at_dataset_leave_out(dataset);
        if (status != ATTN_OK) return status;
    }
    if (dataset->problems.count >= AT_PROBLEMS) return ATTN_OK;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

/* ---- text ---- */

attn_status at_reader_token(at_reader *reader, const char *text, size_t length, int64_t line, int glued) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    if (status != ATTN_OK) return status;
    return at_texts_token(reader->dataset, text, length, line, glued);
}

attn_status at_reader_add(at_reader *reader, at_strings *list, const char *text, size_t length) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    if (status != ATTN_OK) return status;
    return at_strings_add(reader->context, list, text, length);
}

attn_status at_reader_one_line(at_reader *reader, const char *text, size_t length, int64_t line) {
    if (!memchr(text, '\n', length) || reader->options.label_separator == '\n') return ATTN_OK;
    return at_reader_bad(reader, line,
                         "a label with a line break in it: \"%.*s\" (if it separates several labels, set the "
                         "label separator to \\n)",
                         at_clip(text, length, 60), text);
}

attn_status at_reader_head(at_reader *reader, attn_status (*read)(void *user), void *user) {
    const char *head = reader->options.head;
    if (!head) return read(user);
    at_reader now = *reader;
    reader->next = head;
    reader->end = head + reader->options.head_length;
    reader->line = 1;
    pass_over_mark(reader);
    attn_status status = read(user);
    reader->next = now.next;
    reader->end = now.end;
    reader->line = now.line;
    return status;
}

attn_status at_reader_target(at_reader *reader, const char *text, size_t length) {
    char separator = reader->options.label_separator;
    if (separator == 0) return at_reader_add(reader, &reader->dataset->targets, text, length);
    at_bytes *joined = &reader->joined;
    attn_status status = at_join_labels(reader->context, text, length, separator, joined);
    if (status != ATTN_OK) return status;
    return at_reader_add(reader, &reader->dataset->targets, joined->count ? joined->data : "",
                         (size_t)joined->count);
}

int at_reader_unlabelled(const at_reader *reader) {
    const attn_dataset *dataset = reader->dataset;
    if (!reader->options.labelled) return 0;
    for (int64_t c = 1; c <= dataset->columns.count; c++) {
        if (at_string_length(&dataset->targets, dataset->targets.count - c) > 0) return 0;
    }
    return 1;
}

/* ---- the whole ---- */

/* options.column, taken apart at its commas. */
static attn_status split_wanted(at_reader *reader) {
    const char *text = reader->options.column;
    if (text == NULL || text[0] == 0) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ",");
        const char *name = text;
        size_t name_length = length;
        at_trim(&name, &name_length);
        if (name_length == 0)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: an empty name among the columns \"%s\"", reader->options.column);
        if (at_unicode_check(name, name_length) != name_length)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: a name among the columns is not UTF-8");
        for (int64_t i = 0; i < reader->wanted.count; i++) {
            if (at_same_name(at_string(&reader->wanted, i), at_string_length(&reader->wanted, i), name,
                             name_length))
                return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                               "reader options: a name occurs twice among the columns \"%s\"",
                               reader->options.column);
        }
        attn_status status = at_reader_add(reader, &reader->wanted, name, name_length);
        if (status != ATTN_OK) return status;
        if (text[length] == 0) return ATTN_OK;
        text += length + 1;
    }
}

/* Examples of the format are sequences of tokens. */
static int has_tokens(attn_format format) {
    return format == ATTN_FORMAT_CONLLU || format == ATTN_FORMAT_COLUMNS;
}

attn_status at_reader_format(at_reader *reader) {
    attn_reader_options *options = &reader->options;
    if (options->format == ATTN_FORMAT_AUTO) options->format = at_detect_format(reader);
    if (options->format == ATTN_FORMAT_AUTO)
        return at_reader_fail(reader, "has an unknown format. It may be CoNLL-U, "
                                      "lines of token TAB tag, a table (TSV or CSV) with a header, lines of "
                                      "label TAB text or of __label__LABEL text, JSON objects: say which");
    if (!options->labelled) return ATTN_OK;
    int tokens = has_tokens(options->format);
    if (options->format == ATTN_FORMAT_JSONL) return ATTN_OK; /* each object says it */
    if (options->format == ATTN_FORMAT_LINES || options->format == ATTN_FORMAT_PARAGRAPHS)
        return at_reader_fail(reader,
                              "lines of plain text have no labels to learn from; put one before each text "
                              "with a TAB between");
    if (options->per_token == 1 && !tokens)
        return at_reader_fail(reader,
                              "has one text per line, but tagging needs a tag for each token: give CoNLL-U, "
                              "or lines of token TAB tag with blank lines between sentences");
    if (options->per_token == 0 && tokens)
        return at_reader_fail(reader,
                              "has a tag for each token, but this task needs a label for each text: give a "
                              "table (TSV or CSV), lines of label TAB text, or of __label__LABEL text");
    return ATTN_OK;
}

static attn_status read_format(at_reader *reader) {
    switch (reader->options.format) {
    case ATTN_FORMAT_CONLLU: return at_read_conllu(reader);
    case ATTN_FORMAT_COLUMNS: return at_read_columns(reader);
    case ATTN_FORMAT_TABLE: return at_read_table(reader);
    case ATTN_FORMAT_FASTTEXT: return at_read_fasttext(reader);
    case ATTN_FORMAT_PAIRS: return at_read_pairs(reader);
    case ATTN_FORMAT_JSONL: return at_read_jsonl(reader);
    case ATTN_FORMAT_PARAGRAPHS: return at_read_paragraphs(reader);
    default: return at_read_lines(reader);
    }
}

attn_status at_reader_open(at_reader *reader) {
    if (reader->line > 1) return ATTN_OK;
    pass_over_mark(reader);
    if (reader->next == reader->end) return at_reader_fail(reader, "is empty");
    const char *advice = at_not_text(reader->next, (size_t)(reader->end - reader->next));
    return advice ? at_reader_fail(reader, "%s", advice) : ATTN_OK;
}

attn_status at_reader_found(at_reader *reader) {
    const attn_dataset *dataset = reader->dataset;
    if (dataset->examples > 0 || dataset->stopped != ATTN_OK) return ATTN_OK;
    if (dataset->skipped == 0) return at_reader_fail(reader, "has no examples");
    return at_reader_fail(reader,
                          "has no good examples: all %" PRId64 " were left out, the first because of %s",
                          dataset->skipped, at_string(&dataset->problems, 0));
}

static attn_status read_all(at_reader *reader, at_reader *targets) {
    attn_status status = at_reader_open(reader);
    if (status == ATTN_OK && targets) status = at_reader_open(targets);
    if (status == ATTN_OK) status = at_reader_format(reader);
    if (status == ATTN_OK && !targets) status = split_wanted(reader);
    if (status != ATTN_OK) return status;
    status = at_texts_dataset(reader->context, reader->name, reader->options.format,
                              has_tokens(reader->options.format), &reader->dataset);
    if (status == ATTN_OK) status = targets ? at_read_parallel(reader, targets) : read_format(reader);
    return status == ATTN_OK && !reader->options.piece ? at_reader_found(reader) : status;
}

at_reader at_reader_of(attn_context *context, at_content text, int64_t first_line,
                       const attn_reader_options *options) {
    const char *bytes = text.count ? text.bytes : "";
    return (at_reader){.context = context,
                       .name = text.name,
                       .options = *options,
                       .begin = bytes,
                       .next = bytes,
                       .end = bytes + text.count,
                       .line = first_line};
}

attn_status at_reader_parse(at_reader *reader, at_reader *targets, attn_dataset **dataset) {
    attn_status status = read_all(reader, targets);
    at_strings_free(reader->context, &reader->wanted);
    at_release(reader->context, reader->normal);
    at_bytes_free(reader->context, &reader->joined);
    if (status == ATTN_OK) {
        *dataset = reader->dataset;
    } else {
        attn_dataset_destroy(reader->dataset);
    }
    return status;
}

attn_status at_parse_parallel(attn_context *context, at_content sources, at_content targets,
                              const attn_reader_options *options, attn_dataset **dataset) {
    at_reader reader = at_reader_of(context, sources, 1, options),
              other = at_reader_of(context, targets, 1, options);
    reader.options.format = ATTN_FORMAT_PAIRS;
    return at_reader_parse(&reader, &other, dataset);
}

/* ---- the kind's interface ---- */

/* Any file may be text: other kinds are asked first. */
int at_text_knows(const char *path) {
    (void)path;
    return 1;
}

int at_text_pieces(int format) {
    return format == ATTN_FORMAT_TABLE ? 2
                                       : has_tokens((attn_format)format) || format == ATTN_FORMAT_PARAGRAPHS;
}

char at_text_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    at_reader reader = {.name = name, .options = *options, .next = bytes, .end = bytes + count};
    pass_over_mark(&reader);
    char delimiter = options->format == ATTN_FORMAT_TABLE ? at_table_delimiter(&reader) : 0;
    return delimiter == '\t' ? 0 : delimiter;
}

int at_text_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    at_reader reader = {.name = name, .options = *options, .next = bytes, .end = bytes + count};
    pass_over_mark(&reader);
    return reader.next == reader.end ? ATTN_FORMAT_AUTO : (int)at_detect_format(&reader);
}

int at_text_takes_two(const attn_reader_options *options) { return options->pairs != 0; }

typedef struct judged_file {
    attn_context *context;
    const char *name;
    const attn_reader_options *options;
} judged_file;

/* What compressed text is expanded to, as it comes: it must not be another thing than text, and have no byte
 * that is 0. Where bad lines are left out, or what precedes them is wanted, only what cannot be a line
 * is refused: the rest of it may be good. */
attn_status at_text_judge(attn_context *context, const char *name, const attn_reader_options *options,
                          const char *bytes, size_t count, size_t judged) {
    at_content text = {name, bytes, count};
    return at_reader_judge(context, text, 1, judged, options);
}

attn_status at_reader_judge(attn_context *context, at_content text, int64_t first_line, size_t judged,
                            const attn_reader_options *options) {
    enum { LONGEST = 1 << 16 };
    const char *bytes = text.bytes;
    size_t count = text.count;
    const char *zero = memchr(bytes + judged, 0, count - judged), *begin = zero;
    at_reader reader = at_reader_of(context, text, first_line, options);
    attn_status status = judged == 0 ? at_reader_open(&reader) : ATTN_OK;
    if (status != ATTN_OK || !zero) return status;
    while (begin > bytes && begin[-1] != '\n') begin--;
    const char *end = memchr(zero, '\n', (size_t)(bytes + count - zero));
    size_t length = (size_t)((end ? end : bytes + count) - begin);
    if (length <= LONGEST && (options->skip_bad || options->stop_at_bad)) return ATTN_OK;
    return at_reader_check(&reader, bytes, count, first_line);
}

static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    const judged_file *file = user;
    return at_text_judge(file->context, file->name, file->options, bytes, count, judged);
}

int at_holds_pairs(at_content file) {
    at_reader reader = {.name = file.name, .next = file.bytes, .end = file.bytes + file.count};
    at_line line = {"", 0, 0};
    pass_over_mark(&reader);
    while (at_reader_line(&reader, &line) && at_line_is_blank(&line)) continue;
    return memchr(line.text, '\t', line.length) != NULL || at_looks_like_object(line.text, line.length);
}

static attn_status read_apart(attn_context *context, const at_content *contents,
                              const attn_reader_options *options, attn_dataset **dataset) {
    at_reader first = at_reader_of(context, contents[0], 1, options),
              second = at_reader_of(context, contents[1], 1, options);
    attn_dataset *made = NULL, *more = NULL;
    attn_status status = at_reader_parse(&first, NULL, &made);
    if (status == ATTN_OK) status = at_reader_parse(&second, NULL, &more);
    if (status == ATTN_OK) status = attn_dataset_append(made, more);
    attn_dataset_destroy(more);
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}

attn_status at_text_read(attn_context *context, const at_source *source, attn_dataset **dataset) {
    const attn_reader_options *options = source->options;
    at_bytes files[2] = {{0}, {0}};
    at_content contents[2];
    int count = source->names[1] ? 2 : 1;
    attn_status status = ATTN_OK;
    if (count == 2 && !at_text_takes_two(options))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s and %.200s: give one training file, not two (seq2seq takes two: sources and "
                       "targets, line by line)",
                       source->names[0], source->names[1]);
    int files_only = !source->bytes[0] && (count == 1 || !source->bytes[1]);
    if (files_only && !options->stop_at_bad && !options->piece && !options->head)
        return at_read_files(context, source, dataset);
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        contents[i] = (at_content){source->names[i], source->bytes[i], source->counts[i]};
        if (source->bytes[i]) continue;
        judged_file user = {context, source->names[i], options};
        const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, judge, &user};
        status = at_file_read(context, source->names[i], &allowed, &files[i]);
        contents[i] = (at_content){source->names[i], files[i].data, (size_t)files[i].count};
    }
    if (status == ATTN_OK && count == 2 && source->apart && at_holds_pairs(contents[0]) &&
        at_holds_pairs(contents[1])) {
        status = read_apart(context, contents, options, dataset);
    } else if (status == ATTN_OK && count == 2) {
        status = at_parse_parallel(context, contents[0], contents[1], options, dataset);
    } else if (status == ATTN_OK) {
        at_reader reader = at_reader_of(context, contents[0], source->first_line, options);
        status = at_reader_parse(&reader, NULL, dataset);
    }
    for (int i = 0; i < 2; i++) at_bytes_free(context, &files[i]);
    return status;
}
