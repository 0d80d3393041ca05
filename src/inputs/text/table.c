/* table.c: TSV and CSV: one text a row, with its labels.
 *
 * Columns are parted by what parts usual names of columns in the first row; else by TABs where it has one,
 * unless the file is named .csv; else by commas (or by semicolons if it has no comma). Fields between commas
 * may be quoted: "a ""b"", c", with line breaks inside; fields between TABs never are.
 *
 * Header. The first row of a CSV is its header; a TSV has one if a field of its first row is a column asked
 * for, or has a name that columns of texts or labels usually have (detect.c). Columns that are requested by
 * number ("1") mean a file without a header. Without one a TSV's row is label TAB text, the text up to the
 * end of the line, or, where nothing is to be learned, just the text.
 *
 * Which column is what, unless said: the text is the first with a usual name, the label likewise; if that
 * leaves one of them open and there is one column left, it is that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/parts.h"
#include "data/table.h"
#include "inputs/text/reader.h"

typedef struct table {
    at_reader *reader;
    at_table rows;
    int64_t text; /* which column is the text */
    int64_t id;   /* which tells rows apart; -1: none */
    int64_t split,
        split_number; /* which says what is for training, -1: none; of several splits in it, or -1 */
    int64_t *targets;
} table;

/* ---- rows ---- */

/* The next row; *more 0: there is none. */
static attn_status read_row(table *file, int *more) {
    at_reader *reader = file->reader;
    at_table *rows = &file->rows;
    rows->next = reader->next;
    rows->end = reader->end;
    rows->line = reader->line;
    attn_status status = at_table_row(rows, more);
    reader->next = rows->next;
    reader->line = rows->line;
    if (status == ATTN_OK || !rows->problem[0]) return status;
    return rows->problem_line ? at_reader_bad(reader, rows->problem_line, "%s", rows->problem)
                              : at_reader_fail(reader, "%s", rows->problem);
}

/* ---- columns ---- */

static attn_status fail_no_column(table *file, const char *what, const char *name) {
    char list[AT_COLUMN_LIST];
    at_list_columns(&file->rows.fields, list);
    return at_reader_fail(file->reader, "%s%.*s; its first line names the columns %s", what,
                          at_clip(name, strlen(name), 60), name, list);
}

/* The column of a name in the row that was read last. */
static int64_t find_column(const table *file, const char *name, size_t length) {
    return at_find_column(&file->rows.fields, name, length);
}

static int is_target(const table *file, int64_t column) {
    for (int64_t i = 0; i < file->reader->dataset->columns.count; i++) {
        if (file->targets[i] == column) return 1;
    }
    return 0;
}

/* The column with the most usual name (`rank` gives 1 to the most usual one); -1 if there is none. */
static int64_t find_usual(const table *file, int (*rank)(const char *, size_t)) {
    int64_t best = -1;
    int best_rank = 0;
    for (int64_t i = 0; i < file->rows.fields.count; i++) {
        int found = rank(at_string(&file->rows.fields, i), at_string_length(&file->rows.fields, i));
        if (found == 0 || is_target(file, i) || i == file->text) continue;
        if (best >= 0 && found >= best_rank) continue;
        best = i;
        best_rank = found;
    }
    return best;
}

/* The only column that is neither text nor target; -1 if there is none or more than one. */
static int64_t find_only_other(const table *file) {
    int64_t other = -1;
    for (int64_t i = 0; i < file->rows.width; i++) {
        if (i == file->text || i == file->split || is_target(file, i)) continue;
        if (other >= 0) return -1;
        other = i;
    }
    return other;
}

static attn_status add_target(table *file, int64_t column, const char *name, size_t length) {
    attn_dataset *dataset = file->reader->dataset;
    file->targets[dataset->columns.count] = column;
    return at_strings_add(file->reader->context, &dataset->columns, name, length);
}

static attn_status add_named_target(table *file, int64_t column) {
    return add_target(file, column, at_string(&file->rows.fields, column),
                      at_string_length(&file->rows.fields, column));
}

/* The columns, by the names in the header, which was just read. */
static attn_status find_split(table *file) {
    const char *asked = file->reader->options.split_column;
    size_t length;
    if (!asked || !*asked) return ATTN_OK;
    attn_status status = at_split_column(file->reader->context, asked, &length, &file->split_number);
    if (status != ATTN_OK) return status;
    file->split = find_column(file, asked, length);
    int needed = file->reader->options.labelled;
    return file->split >= 0 || !needed ? ATTN_OK : fail_no_column(file, "has no column ", asked);
}

/* What the row that was read is for. */
static attn_status read_part(table *file, int *part) {
    char reason[200];
    const at_strings *fields = &file->rows.fields;
    *part = ATTN_PART_NONE;
    if (file->split < 0) return ATTN_OK;
    const char *word = at_string(fields, file->split);
    size_t length = at_string_length(fields, file->split);
    at_trim(&word, &length);
    *part = at_split_field(word, length, file->split_number, reason);
    return *part >= 0 ? ATTN_OK : at_reader_bad(file->reader, file->rows.begin, "%s", reason);
}

static attn_status resolve_names(table *file, const char *text_column) {
    at_reader *reader = file->reader;
    attn_status status = find_split(file);
    for (int64_t i = 0; status == ATTN_OK && i < reader->wanted.count; i++) {
        const char *name = at_string(&reader->wanted, i);
        int64_t column = find_column(file, name, at_string_length(&reader->wanted, i));
        if (column >= 0) {
            status = add_named_target(file, column);
        } else if (reader->options.labelled) {
            return fail_no_column(file, "has no column ", name);
        }
    }
    if (status != ATTN_OK) return status;
    if (text_column) {
        file->text = find_column(file, text_column, strlen(text_column));
        if (file->text < 0) return fail_no_column(file, "has no column ", text_column);
    } else {
        file->text = find_usual(file, at_is_text_name);
    }
    int open = reader->dataset->columns.count == 0 && reader->wanted.count == 0;
    int64_t label = open ? find_usual(file, at_is_label_name) : -1;
    if (label >= 0) {
        status = add_named_target(file, label);
        open = 0;
    }
    if (file->text < 0 && !open) file->text = find_only_other(file);
    if (file->text < 0 && file->rows.width == 1 && !reader->options.labelled) file->text = 0;
    if (file->text < 0) return fail_no_column(file, "the column of the text is ambiguous: name it", "");
    if (open) label = find_only_other(file);
    if (open && label < 0 && reader->options.labelled)
        return fail_no_column(file, "the column of the label is ambiguous: name it", "");
    if (open && label >= 0 && status == ATTN_OK) status = add_named_target(file, label);
    return status;
}

/* The columns by number. */
static attn_status resolve_numbers(table *file, const char *text_column) {
    at_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    if (text_column) file->text = at_column_number(text_column, strlen(text_column)) - 1;
    for (int64_t i = 0; status == ATTN_OK && i < reader->wanted.count; i++) {
        const char *name = at_string(&reader->wanted, i);
        int64_t column = at_column_number(name, at_string_length(&reader->wanted, i)) - 1;
        if (column >= file->rows.width && reader->options.labelled)
            return at_reader_fail(reader, "has no column %s: its first row has %" PRId64, name,
                                  file->rows.width);
        if (column < file->rows.width) status = add_target(file, column, name, strlen(name));
    }
    if (status != ATTN_OK) return status;
    if (file->text < 0) file->text = find_only_other(file);
    if (file->text < 0 || file->text >= file->rows.width)
        return at_reader_fail(reader, "has %" PRId64 " columns in its first row: name the one with the text",
                              file->rows.width);
    if (reader->wanted.count > 0) return ATTN_OK;
    int64_t label = find_only_other(file);
    if (label < 0) {
        if (!reader->options.labelled) return ATTN_OK;
        return at_reader_fail(reader, "has %" PRId64 " columns in its first row: name the one with the label",
                              file->rows.width);
    }
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, label + 1);
    return add_target(file, label, number, strlen(number));
}

/* label TAB text, or just text. */
static attn_status resolve_pair(table *file) {
    at_reader *reader = file->reader;
    if (file->rows.width >= 2) {
        file->rows.width = file->rows.split_limit = 2;
        file->text = 1;
        return add_target(file, 0, "label", 5);
    }
    if (reader->options.labelled)
        return at_reader_bad(reader, file->rows.begin,
                             "one column: a row is label TAB text, or the first line names the "
                             "columns");
    file->text = 0;
    return ATTN_OK;
}

/* A number, and not a name in the first row that is too large for the number of a column, such as a year. */
static int is_number(const table *file, const char *text) {
    int64_t number = at_column_number(text, strlen(text));
    return number > 0 && (number <= file->rows.width || find_column(file, text, strlen(text)) < 0);
}

/* Whether columns are requested, and all by numbers. */
static int asked_by_number(const table *file, const char *text_column) {
    const at_strings *wanted = &file->reader->wanted;
    if (wanted->count == 0 && !text_column) return 0;
    if (text_column && !is_number(file, text_column)) return 0;
    for (int64_t i = 0; i < wanted->count; i++) {
        if (!is_number(file, at_string(wanted, i))) return 0;
    }
    return 1;
}

/* Whether the first row of a TSV is a header: see above. Asking for what is called `label` and `text` where
 * there are no names does not make it one. */
static int has_header(const table *file, const char *text_column) {
    const at_strings *wanted = &file->reader->wanted;
    if (file->rows.delimiter != '\t') return 1;
    if (text_column && (strcmp(text_column, "text") != 0 || find_column(file, "text", 4) >= 0)) return 1;
    for (int64_t i = 0; i < wanted->count; i++) {
        int found = find_column(file, at_string(wanted, i), at_string_length(wanted, i)) >= 0;
        int other = file->reader->options.labelled && strcmp(at_string(wanted, i), "label") != 0;
        if (found || other) return 1;
    }
    return find_usual(file, at_is_text_name) >= 0 || find_usual(file, at_is_label_name) >= 0;
}

char at_table_delimiter(const at_reader *reader) {
    at_reader rest = *reader;
    at_line line = {"", 0, 0};
    while (at_reader_line(&rest, &line) && at_line_is_blank(&line)) continue;
    char named = at_header_delimiter(reader, &line);
    if (named) return named;
    int tab = memchr(line.text, '\t', line.length) != NULL;
    int comma = memchr(line.text, ',', line.length) != NULL;
    int semicolon = memchr(line.text, ';', line.length) != NULL;
    if (at_name_ends(reader->name, ".tsv") || at_name_ends(reader->name, ".tab")) return '\t';
    if (at_name_ends(reader->name, ".csv")) return comma ? ',' : tab ? '\t' : semicolon ? ';' : ',';
    return tab ? '\t' : comma ? ',' : semicolon ? ';' : '\t';
}

/* The names in a header without spaces around them, in NFC. */
static attn_status trim_names(table *file) {
    at_strings names = {0};
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < file->rows.fields.count; i++) {
        const char *name = at_string(&file->rows.fields, i);
        size_t length = at_string_length(&file->rows.fields, i);
        at_trim(&name, &length);
        status = at_reader_add(file->reader, &names, name, length);
    }
    at_strings_free(file->reader->context, &file->rows.fields);
    file->rows.fields = names;
    return status;
}

/* Reads the first row and decides on the columns. */
static attn_status begin(void *user) {
    table *file = user;
    at_reader *reader = file->reader;
    at_placement *layout = &reader->dataset->placement;
    const char *text_column = reader->options.text_column;
    if (text_column && text_column[0] == 0) text_column = NULL;
    file->rows.delimiter = at_table_delimiter(reader);
    file->rows.limit = reader->next;
    file->text = file->id = file->split = -1;
    const char *first_row;
    int64_t first_line;
    int more = 1;
    do {
        first_row = reader->next;
        first_line = reader->line;
        attn_status status = read_row(file, &more);
        if (status != ATTN_OK) return status;
        if (!more) return reader->options.piece ? ATTN_OK : at_reader_fail(reader, "has no examples");
    } while (file->rows.fields.count == 1 && at_string_length(&file->rows.fields, 0) == 0);
    attn_status status = trim_names(file);
    if (status != ATTN_OK) return status;
    file->rows.width = file->rows.fields.count;
    layout->delimiter = file->rows.delimiter;
    if (!reader->options.head) layout->head = (size_t)(reader->next - reader->begin);
    int64_t targets = reader->wanted.count ? reader->wanted.count : 1;
    file->targets = at_allocate(reader->context, targets, sizeof *file->targets, "target columns");
    if (file->targets == NULL) return ATTN_OUT_OF_MEMORY;
    int numbers = asked_by_number(file, text_column);
    if (!numbers && has_header(file, text_column)) {
        status = resolve_names(file, text_column);
        for (int64_t i = file->rows.width - 1; i >= 0; i--)
            if (at_is_id_name(at_string(&file->rows.fields, i), at_string_length(&file->rows.fields, i)))
                file->id = i;
        layout->header = layout->head;
        if (!reader->options.head) reader->good = reader->next; /* it precedes whatever is bad */
    } else {
        status = numbers ? resolve_numbers(file, text_column) : resolve_pair(file);
        reader->next = first_row;
        reader->line = first_line;
    }
    if (status == ATTN_OK && is_target(file, file->text))
        return at_reader_fail(reader, "column %" PRId64 " cannot be the text and a label at once",
                              file->text + 1);
    return status;
}

/* ---- examples ---- */

static attn_status add_row(table *file) {
    at_reader *reader = file->reader;
    const at_strings *fields = &file->rows.fields;
    if (fields->count != file->rows.width)
        return at_reader_bad(reader, file->rows.begin,
                             "%" PRId64 " column%s, the first row has %" PRId64 "%s", fields->count,
                             fields->count == 1 ? "" : "s", file->rows.width,
                             file->rows.split_limit && !reader->options.labelled
                                 ? " (if lines are plain texts, set the format to lines)"
                                 : "");
    int part;
    attn_status status = read_part(file, &part);
    if (status == ATTN_OK)
        status = at_reader_token(reader, at_string(fields, file->text), at_string_length(fields, file->text),
                                 file->rows.begin, 0);
    for (int64_t i = 0; status == ATTN_OK && i < reader->dataset->columns.count; i++) {
        const char *value = at_string(fields, file->targets[i]);
        size_t length = at_string_length(fields, file->targets[i]);
        at_trim(&value, &length);
        status = at_reader_one_line(reader, value, length, file->rows.begin);
        if (status == ATTN_OK) status = at_reader_target(reader, value, length);
    }
    if (status != ATTN_OK) return status;
    if (file->id >= 0) {
        reader->id = at_string(fields, file->id);
        reader->id_length = at_string_length(fields, file->id);
    }
    /* One of several targets may be missing, and no label at all is a prediction where there may be several.
     */
    if (reader->dataset->columns.count == 1 && reader->options.label_separator == 0 &&
        at_reader_unlabelled(reader)) {
        const char *name = at_string(&reader->dataset->columns, 0);
        return at_reader_bad(reader, file->rows.begin, "no label in column %.*s",
                             at_clip(name, strlen(name), 80), name);
    }
    status = at_texts_end(reader->dataset, "", 0);
    return status == ATTN_OK && file->split >= 0 ? at_dataset_add_part(reader->dataset, part) : status;
}

static attn_status read_rows(table *file) {
    attn_status status = ATTN_OK;
    int more = 1;
    while (status == ATTN_OK) {
        status = read_row(file, &more);
        if (!more) break;
        int blank =
            status == ATTN_OK && file->rows.fields.count == 1 && at_string_length(&file->rows.fields, 0) == 0;
        if (status == ATTN_OK && !(blank && file->rows.width > 1)) status = add_row(file);
        status = at_reader_settle(file->reader, status);
    }
    return status;
}

attn_status at_read_table(at_reader *reader) {
    table file = {.reader = reader, .rows.context = reader->context};
    attn_status status = at_reader_head(reader, begin, &file);
    file.rows.limit = reader->next;
    if (status == ATTN_OK && file.rows.width > 0) status = read_rows(&file);
    at_release(reader->context, file.targets);
    at_table_free(&file.rows);
    return status;
}
