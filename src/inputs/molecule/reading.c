/* reading.c: from files or from memory to a dataset of molecules: which format it is, lines of SMILES, errors
 * that show the place. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/parts.h"
#include "data/symbols/unicode.h"
#include "inputs/molecule/reader.h"

const char *const at_molecule_formats[] = {"auto", "table", "smiles", NULL};

/* ---- errors ---- */

attn_status at_molecule_fail(at_molecule_reader *reader, int64_t line, const char *format, ...) {
    char reason[400];
    const char *before, *name = at_name_end(reader->name, &before);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    for (char *p = reason; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    }
    reason[at_clip(reason, strlen(reason), 300)] = 0;
    reader->bad = line > 0;
    if (line == 0) return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s: %s", before, name, reason);
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s:%" PRId64 ": %s", before, name, line,
                   reason);
}

/* The SMILES around a place, a character a cell, and where the place is in it. What is no printable ASCII
 * is no SMILES either and becomes a question mark. */
static void show_place(const char *text, size_t length, size_t position, char *shown, int *cells) {
    enum { BEFORE = 40, AFTER = 20 };
    size_t first = position > BEFORE ? position - BEFORE : 0;
    size_t end = length - position > AFTER ? position + AFTER : length;
    char *out = shown;
    if (first > 0) out += sprintf(out, "...");
    for (size_t i = first; i < end; i++) {
        if (i == position) *cells = (int)(out - shown);
        *out++ = (char)(text[i] > 0x20 && text[i] < 0x7f ? text[i] : text[i] == ' ' ? ' ' : '?');
    }
    if (position >= end) *cells = (int)(out - shown);
    strcpy(out, end < length ? "..." : "");
}

attn_status at_molecule_parse(at_molecule_reader *reader, const char *text, size_t length, int64_t line) {
    size_t position = 0;
    const char *reason = "", *before, *name = at_name_end(reader->name, &before);
    char shown[80], escaped[160];
    int cells = 0;
    if (length == 0) return at_molecule_fail(reader, line, "there is no SMILES");
    attn_status status = at_smiles_read(reader->context, text, length, &reader->molecule, &position, &reason);
    if (status != ATTN_INVALID_ARGUMENT) return status; /* OK, too */
    if (position > length) position = length;
    snprintf(escaped, sizeof escaped, "%.150s", reason);
    for (char *p = escaped; *p; p++) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f) *p = '?';
    }
    show_place(text, length, position, shown, &cells);
    reader->bad = 1;
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT, "%s%s:%" PRId64 ": position %zu: %s\n  %s\n  %*s^",
                   before, name, line, position + 1, escaped, shown, cells, "");
}

/* Where the example that was added last ends. */
static attn_status note_place(at_molecule_reader *reader) {
    at_placement *layout = &reader->dataset->placement;
    attn_status status = at_grow(reader->context, &layout->ends, &layout->end_room, layout->end_count + 1,
                                 sizeof *layout->ends, "the places of examples");
    if (status == ATTN_OK) layout->ends[layout->end_count++] = reader->rows.next - reader->begin;
    return status;
}

attn_status at_molecule_settle(at_molecule_reader *reader, attn_status status) {
    attn_dataset *dataset = reader->dataset;
    int bad = reader->bad, stops = reader->options->stop_at_bad && !reader->options->skip_bad;
    reader->bad = 0;
    if (status == ATTN_OK) {
        reader->good = reader->rows.next;
        return dataset->placement.end_count < dataset->examples ? note_place(reader) : ATTN_OK;
    }
    if (!bad || !(stops || reader->options->skip_bad)) return status;
    at_graphs_undo(dataset);
    if (stops) { /* what precedes it is good: the rest is not read */
        dataset->stopped = status;
        dataset->consumed = reader->good ? (size_t)(reader->good - reader->begin) : 0;
        reader->rows.next = reader->rows.end;
        status = ATTN_OK;
    } else {
        dataset->skipped++;
        status = at_dataset_leave_out(dataset);
    }
    if (dataset->problems.count >= AT_PROBLEMS || status != ATTN_OK) return status;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

attn_status at_molecule_text(at_molecule_reader *reader, at_strings *list, const char *text, size_t length) {
    attn_status status =
        at_unicode_nfc(reader->context, text, length, &reader->normal, &reader->normal_room, &text, &length);
    return status == ATTN_OK ? at_strings_add(reader->context, list, text, length) : status;
}

/* ---- lines of SMILES ---- */

static int is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }

/* A line without the space around it. */
static void strip(const char **text, size_t *length) {
    while (*length > 0 && is_space(**text)) {
        ++*text;
        --*length;
    }
    while (*length > 0 && is_space((*text)[*length - 1])) --*length;
}

static size_t word_length(const char *text, size_t length) {
    size_t end = 0;
    while (end < length && !is_space(text[end])) end++;
    return end;
}

/* SMILES, and after white space its name. */
static attn_status add_line(at_molecule_reader *reader, const char *text, size_t length, int64_t line) {
    char reason[160];
    int64_t place = line;
    if (!at_is_text(text, length, &place, reason)) return at_molecule_fail(reader, line, "%s", reason);
    strip(&text, &length);
    size_t end = word_length(text, length);
    const char *name = text + end;
    size_t name_length = length - end;
    strip(&name, &name_length);
    attn_status status = at_molecule_parse(reader, text, end, line);
    if (status == ATTN_OK) status = at_molecule_add(reader, text, end, line);
    if (status == ATTN_OK) status = at_graphs_end(reader->dataset);
    return status == ATTN_OK ? at_molecule_text(reader, &reader->dataset->ids, name, name_length) : status;
}

/* The next line that is not blank, without the space around it; 0 at the end. */
static int next_line(at_table *rows, const char **text, size_t *length) {
    while (rows->next < rows->end) {
        size_t left = (size_t)(rows->end - rows->next);
        const char *feed = memchr(rows->next, '\n', left);
        *text = rows->next;
        *length = feed ? (size_t)(feed - rows->next) : left;
        rows->next = feed ? feed + 1 : rows->end;
        rows->begin = rows->line++;
        strip(text, length);
        if (*length > 0) return 1;
    }
    return 0;
}

static attn_status read_lines(at_molecule_reader *reader) {
    at_table *rows = &reader->rows;
    const char *text;
    size_t length;
    attn_status status = ATTN_OK;
    if (reader->options->labelled)
        return at_molecule_fail(reader, 0,
                                "lines of SMILES have no targets: give a table (CSV or TSV) whose first line "
                                "names its columns, one of them smiles");
    if (reader->options->split_column && *reader->options->split_column)
        return at_molecule_fail(reader, 0, "lines of SMILES have no column %.80s",
                                reader->options->split_column);
    for (int first = rows->line == 1; status == ATTN_OK && next_line(rows, &text, &length); first = 0) {
        if (first && at_same_name(text, word_length(text, length), "smiles", 6)) continue; /* a header */
        status = at_molecule_settle(reader, add_line(reader, text, length, rows->begin));
    }
    return status;
}

/* ---- which format ---- */

static void pass_over_mark(const char **bytes, size_t *count) {
    if (*count < 3 || memcmp(*bytes, "\xef\xbb\xbf", 3) != 0) return;
    *bytes += 3;
    *count -= 3;
}

int at_molecule_knows(const char *path) {
    return at_name_ends(path, ".smi") || at_name_ends(path, ".smiles");
}

int at_molecule_pieces(int format) { return format == AT_MOLECULE_TABLE ? 2 : 0; }

static void first_line(const char *bytes, size_t count, const char **text, size_t *length) {
    at_table rows = {.next = bytes, .end = bytes + count};
    if (!next_line(&rows, text, length)) *text = "", *length = 0;
}

/* A table's first line names its columns. What has no such line is SMILES. */
int at_molecule_detect(const char *name, const char *bytes, size_t count,
                       const attn_reader_options *options) {
    const char *line;
    size_t length;
    pass_over_mark(&bytes, &count);
    first_line(bytes, count, &line, &length);
    if (length == 0) return AT_MOLECULE_AUTO;
    if (at_molecule_knows(name)) return AT_MOLECULE_SMILES;
    if (at_molecule_header(line, length, options)) return AT_MOLECULE_TABLE;
    int named = at_name_ends(name, ".csv") || at_name_ends(name, ".tsv") || at_name_ends(name, ".tab");
    return named || options->labelled ? AT_MOLECULE_TABLE : AT_MOLECULE_SMILES;
}

char at_molecule_quotes(const char *name, const char *bytes, size_t count,
                        const attn_reader_options *options) {
    const char *line;
    size_t length;
    if ((int)options->format != AT_MOLECULE_TABLE) return 0;
    pass_over_mark(&bytes, &count);
    first_line(bytes, count, &line, &length);
    char delimiter = at_molecule_delimiter(name, line, length, options);
    return delimiter == '\t' ? 0 : delimiter;
}

attn_status at_molecule_judge(attn_context *context, const char *name, const attn_reader_options *options,
                              const char *bytes, size_t count, size_t judged) {
    at_molecule_reader reader = {.context = context, .name = name, .options = options};
    const char *advice = judged == 0 ? at_not_text(bytes, count) : NULL;
    if (advice) return at_molecule_fail(&reader, 0, "%s", advice);
    if (options->skip_bad || options->stop_at_bad || !memchr(bytes + judged, 0, count - judged))
        return ATTN_OK;
    int64_t line = 1;
    char reason[160];
    if (at_is_text(bytes, count, &line, reason)) return ATTN_OK;
    return at_molecule_fail(&reader, line, "%s", reason);
}

/* ---- the whole ---- */

/* options.column, taken apart at its commas. */
static attn_status split_wanted(at_molecule_reader *reader) {
    const char *text = reader->options->column;
    if (!text || !*text) return ATTN_OK;
    for (;;) {
        size_t length = strcspn(text, ","), kept = length;
        const char *name = text;
        at_trim(&name, &kept);
        if (kept == 0 || at_unicode_check(name, kept) != kept)
            return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                           "reader options: an empty name among the columns \"%.200s\", or one that is not "
                           "UTF-8",
                           text);
        for (int64_t i = 0; i < reader->wanted.count; i++) {
            if (at_same_name(at_string(&reader->wanted, i), at_string_length(&reader->wanted, i), name, kept))
                return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                               "reader options: a name occurs twice among the columns \"%.200s\"",
                               reader->options->column);
        }
        attn_status status = at_molecule_text(reader, &reader->wanted, name, kept);
        if (status != ATTN_OK || text[length] == 0) return status;
        text += length + 1;
    }
}

static attn_status read_all(at_molecule_reader *reader) {
    const attn_reader_options *options = reader->options;
    size_t count = (size_t)(reader->rows.end - reader->rows.next);
    const char *advice = NULL;
    if (reader->rows.line == 1) pass_over_mark(&reader->rows.next, &count);
    if (reader->rows.line == 1) advice = at_not_text(reader->rows.next, count);
    if (advice || (count == 0 && !options->piece))
        return at_molecule_fail(reader, 0, "%s", advice ? advice : "is empty");
    if (options->per_token == 1 && options->labelled)
        return at_molecule_fail(reader, 0, "has targets of molecules, but this task needs one for each atom");
    reader->format = (int)options->format;
    if (reader->format == AT_MOLECULE_AUTO)
        reader->format = at_molecule_detect(reader->name, reader->rows.next, count, options);
    if (reader->format == AT_MOLECULE_AUTO) reader->format = AT_MOLECULE_SMILES; /* it is blank */
    attn_status status = split_wanted(reader);
    if (status == ATTN_OK)
        status = at_graphs_dataset(reader->context, reader->name, &at_molecule_content, reader->format,
                                   &reader->dataset);
    if (status != ATTN_OK) return status;
    at_graphs *graphs = at_graphs_of(reader->dataset);
    graphs->feature_columns = AT_ATOM_COLUMNS;
    graphs->optional_features = AT_ATOM_COLUMNS - AT_ATOM_PLAIN;
    graphs->edge_columns = AT_BOND_COLUMNS;
    graphs->optional_numbers = AT_BOND_COLUMNS - AT_BOND_PLAIN;
    status = reader->format == AT_MOLECULE_TABLE ? at_molecule_read_table(reader) : read_lines(reader);
    const attn_dataset *dataset = reader->dataset;
    if (status != ATTN_OK || dataset->examples > 0 || dataset->stopped != ATTN_OK || options->piece)
        return status;
    if (dataset->skipped == 0) return at_molecule_fail(reader, 0, "has no examples");
    return at_fail(reader->context, ATTN_INVALID_ARGUMENT,
                   "%.100s: has no good examples: all %" PRId64 " were left out, the first because of %.350s",
                   reader->name, dataset->skipped, at_string(&dataset->problems, 0));
}

typedef struct judged_file {
    attn_context *context;
    const char *name;
    const attn_reader_options *options;
} judged_file;

static attn_status judge(void *user, const char *bytes, size_t count, size_t judged) {
    const judged_file *file = user;
    return at_molecule_judge(file->context, file->name, file->options, bytes, count, judged);
}

attn_status at_molecule_read(attn_context *context, const at_source *source, attn_dataset **dataset) {
    const attn_reader_options *options = source->options;
    at_bytes file = {0};
    const char *bytes = source->bytes[0];
    size_t count = source->counts[0];
    attn_status status = ATTN_OK;
    if (source->names[1])
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s and %.200s: give one file of molecules, not two", source->names[0],
                       source->names[1]);
    if (!bytes) {
        judged_file user = {context, source->names[0], options};
        const at_expansion allowed = {options->expanded_limit, options->expanded_ratio, judge, &user};
        status = at_file_read(context, source->names[0], &allowed, &file);
        bytes = file.data;
        count = (size_t)file.count;
    }
    if (status != ATTN_OK) return status;
    if (count == 0) bytes = "";
    at_molecule_reader reader = {
        .context = context,
        .name = source->names[0],
        .options = options,
        .begin = bytes,
        .rows = {.context = context, .next = bytes, .end = bytes + count, .line = source->first_line}};
    status = read_all(&reader);
    at_table_free(&reader.rows);
    at_strings_free(context, &reader.wanted);
    at_molecule_free(context, &reader.molecule);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    at_bytes_free(context, &file);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}
