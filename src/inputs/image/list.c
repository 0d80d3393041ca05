/* list.c: lists of pictures: path TAB label per line, or a table (TSV, CSV) whose first row names its
 * columns.
 *
 * If the first row has a column called path, file, filename, image or picture (or a requested one), it names
 * the columns; else the first column is the path and the second the label. Labels: the requested columns,
 * else the one called label (or class, target, text, ...), else the only other one. A column called split has
 * train, val or test. Paths are relative to the list.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/parts.h"
#include "inputs/image/image.h"
#include "inputs/image/reader.h"

typedef struct list {
    at_image_reader *reader;
    at_table rows;
    const char *begin;
    at_strings names; /* of the columns; empty: nothing names them */
    int64_t path, split, split_number;
    int64_t *targets; /* columns; those of the dataset */
} list;

static const char *const path_names[] = {"path", "file", "filename", "file_name", "image", "picture", NULL};
static const char *const label_names[] = {"label",   "class",      "target", "category", "text",
                                          "caption", "transcript", "value",  "number",   NULL};
static const char *const split_names[] = {"split", "part", "subset", NULL};

static int is_among(const char *const *names, const char *name, size_t length) {
    for (int i = 0; names[i]; i++)
        if (at_same_name(names[i], strlen(names[i]), name, length)) return 1;
    return 0;
}

/* ---- what parts the columns ---- */

static int is_path_name(const char *name, size_t length, const attn_reader_options *options) {
    const char *asked = options->text_column;
    if (asked && *asked) return at_same_name(asked, strlen(asked), name, length);
    return is_among(path_names, name, length);
}

static int names_columns(const char *line, size_t length, char delimiter,
                         const attn_reader_options *options) {
    const char *end = line + length;
    for (;;) {
        const char *stop = memchr(line, delimiter, (size_t)(end - line)), *name = line;
        size_t name_length = (size_t)((stop ? stop : end) - line);
        at_trim(&name, &name_length);
        if (name_length >= 2 && name[0] == '"' && name[name_length - 1] == '"') {
            name++;
            name_length -= 2;
        }
        if (is_path_name(name, name_length, options)) return 1;
        if (!stop) return 0;
        line = stop + 1;
    }
}

char at_image_header(const char *line, size_t length, const attn_reader_options *options) {
    static const char delimiters[] = "\t,;";
    for (int i = 0; delimiters[i]; i++)
        if (names_columns(line, length, delimiters[i], options)) return delimiters[i];
    return 0;
}

static char delimiter_of(const char *name, const char *line, size_t length,
                         const attn_reader_options *options) {
    char named = at_image_header(line, length, options);
    if (named && memchr(line, named, length)) return named;
    if (at_name_ends(name, ".tsv") || memchr(line, '\t', length)) return '\t';
    if (at_name_ends(name, ".csv"))
        return memchr(line, ';', length) && !memchr(line, ',', length) ? ';' : ',';
    return memchr(line, ',', length) ? ',' : '\t';
}

char at_image_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    if ((int)options->format != AT_IMAGE_LIST) return 0;
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) bytes += 3, count -= 3;
    while (count > 0 && (*bytes == '\n' || *bytes == '\r' || *bytes == ' ')) bytes++, count--;
    const char *feed = memchr(bytes, '\n', count);
    char delimiter = delimiter_of(name, bytes, feed ? (size_t)(feed - bytes) : count, options);
    return delimiter == '\t' ? 0 : delimiter;
}

/* ---- columns ---- */

static const char *field(const list *file, int64_t column, size_t *length) {
    const at_strings *fields = &file->rows.fields;
    const char *text = at_string(fields, column);
    *length = at_string_length(fields, column);
    at_trim(&text, length);
    return text;
}

static attn_status fail_no_column(list *file, const char *what, const char *name) {
    char columns[AT_COLUMN_LIST];
    at_list_columns(&file->names, columns);
    return at_image_fail(file->reader, NULL, 0, "%s%.*s; its first line names the columns %s", what,
                         at_clip(name, strlen(name), 60), name, columns);
}

static attn_status add_target(list *file, int64_t column, const char *name, size_t length) {
    attn_dataset *dataset = file->reader->dataset;
    file->targets[dataset->columns.count] = column;
    return at_strings_add(file->reader->context, &dataset->columns, name, length);
}

static attn_status add_named(list *file, int64_t column) {
    return add_target(file, column, at_string(&file->names, column), at_string_length(&file->names, column));
}

static attn_status find_split(list *file) {
    const char *asked = file->reader->options->split_column;
    size_t length;
    file->split = file->split_number = -1;
    if (!asked || !*asked) {
        for (int64_t c = file->names.count - 1; c >= 0; c--)
            if (is_among(split_names, at_string(&file->names, c), at_string_length(&file->names, c)))
                file->split = c;
        return ATTN_OK;
    }
    attn_status status = at_split_column(file->reader->context, asked, &length, &file->split_number);
    if (status != ATTN_OK) return status;
    file->split = at_find_column(&file->names, asked, length);
    return file->split >= 0 ? ATTN_OK : fail_no_column(file, "has no column ", asked);
}

static attn_status find_wanted(list *file) {
    const at_strings *wanted = &file->reader->wanted;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < wanted->count && status == ATTN_OK; i++) {
        int64_t column = at_find_column(&file->names, at_string(wanted, i), at_string_length(wanted, i));
        if (column >= 0 && column == file->path)
            status = fail_no_column(file, "cannot learn the column of the paths: ", at_string(wanted, i));
        else if (column >= 0)
            status = add_named(file, column);
        else if (file->reader->options->labelled)
            status = fail_no_column(file, "has no column ", at_string(wanted, i));
    }
    return status;
}

/* What is to be learned, where nobody says it. */
static attn_status find_label(list *file) {
    int64_t named = -1, other = -1, others = 0;
    for (int64_t c = file->names.count - 1; c >= 0; c--) {
        const char *name = at_string(&file->names, c);
        size_t length = at_string_length(&file->names, c);
        if (c == file->path || c == file->split || at_is_id_name(name, length)) continue;
        if (is_among(label_names, name, length)) named = c;
        other = c;
        others++;
    }
    if (named < 0 && others == 1) named = other;
    if (named >= 0) return add_named(file, named);
    if (!file->reader->options->labelled) return ATTN_OK;
    return fail_no_column(
        file, others ? "the column to learn is ambiguous: name it (column)" : "has no column to learn", "");
}

static attn_status resolve_named(list *file) {
    const char *asked = file->reader->options->text_column;
    file->path = -1;
    if (asked && *asked) {
        file->path = at_find_column(&file->names, asked, strlen(asked));
        if (file->path < 0) return fail_no_column(file, "has no column ", asked);
    }
    for (int i = 0; path_names[i] && file->path < 0; i++)
        file->path = at_find_column(&file->names, path_names[i], strlen(path_names[i]));
    if (file->path < 0) /* its header looked like one until quotes joined its columns */
        return fail_no_column(file, "has no column ", path_names[0]);
    attn_status status = find_split(file);
    if (status == ATTN_OK) status = file->reader->wanted.count ? find_wanted(file) : find_label(file);
    if (status == ATTN_OK && file->reader->options->pairs == 1 && file->reader->dataset->columns.count > 1)
        return fail_no_column(file, "this task learns one column, but several are named", "");
    return status;
}

/* No row names the columns: path, or path and label. */
static attn_status resolve_plain(list *file, int64_t columns) {
    at_image_reader *reader = file->reader;
    const char *asked = reader->options->split_column;
    file->path = 0;
    file->split = -1;
    if (columns > 2)
        return at_image_fail(reader, NULL, 0,
                             "has %" PRId64 " columns: name them in its first line (path, label, split)",
                             columns);
    if (asked && *asked)
        return at_image_fail(reader, NULL, 0, "has no column %.80s: its first line names no columns", asked);
    if (columns < 2 && reader->options->labelled)
        return at_image_fail(reader, NULL, 0,
                             "has paths but no targets: lines must be path TAB label, or the first line must "
                             "name the columns");
    if (columns < 2) return ATTN_OK;
    const char *name = reader->wanted.count ? at_string(&reader->wanted, 0) : "label";
    if (reader->wanted.count > 1)
        return at_image_fail(reader, NULL, 0, "has one label per line: name the columns in its first line");
    return add_target(file, 1, name, strlen(name));
}

/* ---- rows ---- */

static attn_status read_row(list *file, int *more) {
    at_table *rows = &file->rows;
    attn_status status = at_table_row(rows, more);
    if (status == ATTN_OK || !rows->problem[0]) return status;
    return at_image_fail(file->reader, NULL, rows->problem_line, "%s", rows->problem);
}

static int is_blank(const at_strings *fields) {
    return fields->count == 1 && strspn(at_string(fields, 0), " \t") == at_string_length(fields, 0);
}

/* The path beside the list. */
static attn_status join_path(at_image_reader *reader, const char *path, size_t length) {
    const char *slash = strrchr(reader->name, '/');
    size_t folder = slash && path[0] != '/' ? (size_t)(slash - reader->name) + 1 : 0;
    reader->path.count = 0;
    attn_status status = at_bytes_append(reader->context, &reader->path, reader->name, folder);
    if (status == ATTN_OK) status = at_bytes_append(reader->context, &reader->path, path, length);
    return status == ATTN_OK ? at_bytes_append(reader->context, &reader->path, "", 1) : status;
}

static attn_status check_row(list *file, int *part) {
    at_image_reader *reader = file->reader;
    const at_table *rows = &file->rows;
    char reason[200];
    size_t length;
    if (rows->fields.count != rows->width)
        return at_image_fail(reader, NULL, rows->begin, "%" PRId64 " column%s, the first row has %" PRId64,
                             rows->fields.count, rows->fields.count == 1 ? "" : "s", rows->width);
    field(file, file->path, &length);
    if (length == 0) return at_image_fail(reader, NULL, rows->begin, "there is no path");
    for (int64_t i = 0; i < reader->dataset->columns.count; i++) {
        const char *text = field(file, file->targets[i], &length);
        if (length == 0 && reader->options->labelled && reader->dataset->columns.count == 1 &&
            !reader->options->label_separator)
            return at_image_fail(reader, NULL, rows->begin, "there is no %.80s",
                                 at_string(&reader->dataset->columns, i));
        if (memchr(text, '\n', length) && reader->options->label_separator != '\n')
            return at_image_fail(reader, NULL, rows->begin, "a value with a line break in it: \"%.*s\"",
                                 at_clip(text, length, 60), text);
    }
    if (file->split < 0) return ATTN_OK;
    const char *word = field(file, file->split, &length);
    *part = at_split_field(word, length, file->split_number, reason);
    return *part < 0 ? at_image_fail(reader, NULL, rows->begin, "%s", reason) : ATTN_OK;
}

static attn_status add_row(list *file) {
    at_image_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int part = 0;
    size_t length;
    attn_status status = check_row(file, &part);
    if (status != ATTN_OK) return status;
    const char *path = field(file, file->path, &length);
    status = join_path(reader, path, length);
    reader->joined.count = 0;
    if (status == ATTN_OK) status = at_bytes_append(reader->context, &reader->joined, path, length);
    if (status == ATTN_OK) status = at_bytes_append(reader->context, &reader->joined, "", 1);
    if (status == ATTN_OK)
        status = at_image_take_path(reader, reader->path.data, reader->joined.data, file->rows.begin, 1);
    for (int64_t i = 0; status == ATTN_OK && i < dataset->columns.count; i++) {
        const char *text = field(file, file->targets[i], &length);
        status = at_image_target(reader, &dataset->targets, text, length);
    }
    if (status == ATTN_OK && file->split >= 0) status = at_dataset_add_part(dataset, part);
    return status;
}

/* The first row that is not blank decides on the columns; *first: it is an example itself. */
static attn_status begin(list *file, int *first) {
    at_image_reader *reader = file->reader;
    at_table *rows = &file->rows;
    int more = 1;
    char named;
    *first = 0;
    do {
        const char *line = rows->next, *feed;
        feed = line < rows->end ? memchr(line, '\n', (size_t)(rows->end - line)) : NULL;
        size_t length = (size_t)((feed ? feed : rows->end) - line);
        if (length > 0 && line[length - 1] == '\r') length--;
        named = at_image_header(line, length, reader->options);
        rows->delimiter = delimiter_of(reader->name, line, length, reader->options);
        attn_status status = read_row(file, &more);
        if (status != ATTN_OK) return status;
    } while (more && is_blank(&rows->fields));
    if (!more) return ATTN_OK;
    rows->width = rows->fields.count;
    file->targets = at_allocate(reader->context, rows->width + reader->wanted.count + 1,
                                sizeof *file->targets, "target columns");
    if (!file->targets) return ATTN_OUT_OF_MEMORY;
    if (!named || reader->options->head) {
        *first = 1;
        if (!named) return resolve_plain(file, rows->width);
    }
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < rows->width; i++) {
        size_t length;
        const char *name = field(file, i, &length);
        status = at_image_text(reader, &file->names, name, length);
    }
    reader->consumed = (size_t)(rows->next - file->begin);
    if (!reader->options->head) reader->dataset->placement.head = reader->consumed;
    return status == ATTN_OK ? resolve_named(file) : status;
}

/* The first row is in the head, if this is a later piece. */
static attn_status begin_piece(list *file, int *first) {
    at_table *rows = &file->rows;
    const attn_reader_options *options = file->reader->options;
    if (!options->head) return begin(file, first);
    const char *next = rows->next, *end = rows->end;
    int64_t line = rows->line;
    int mark = options->head_length >= 3 && memcmp(options->head, "\xef\xbb\xbf", 3) == 0;
    rows->next = rows->limit = options->head + (mark ? 3 : 0);
    rows->end = options->head + options->head_length;
    attn_status status = begin(file, first);
    *first = 0;
    rows->next = next;
    rows->end = end;
    rows->line = line;
    return status;
}

static attn_status read_rows(list *file, int first) {
    at_image_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    int more = 1, stop = 0;
    while (status == ATTN_OK && !stop) {
        if (!first) status = read_row(file, &more);
        if (!more) break;
        if (status == ATTN_OK && !is_blank(&file->rows.fields)) status = add_row(file);
        if (status == ATTN_OK) reader->consumed = (size_t)(file->rows.next - file->begin);
        status = at_image_settle(reader, status, &stop);
        first = 0;
    }
    return status;
}

attn_status at_image_read_list(at_image_reader *reader, const at_image_file *source) {
    list file = {.reader = reader,
                 .begin = source->bytes,
                 .rows = {.context = reader->context,
                          .next = source->bytes,
                          .end = source->bytes + source->count,
                          .line = reader->first_line}};
    const char *advice = reader->first_line == 1 ? at_not_text(source->bytes, source->count) : NULL;
    int first = 0;
    if (advice) return at_image_fail(reader, NULL, 0, "%s", advice);
    if (reader->first_line == 1 && source->count >= 3 && memcmp(source->bytes, "\xef\xbb\xbf", 3) == 0)
        file.rows.next += 3;
    file.rows.limit = file.rows.next;
    attn_status status = at_image_dataset(reader->context, reader->name, AT_IMAGE_LIST, &reader->dataset);
    if (status == ATTN_OK) status = begin_piece(&file, &first);
    file.rows.limit = file.rows.next;
    if (status == ATTN_OK && file.targets) status = read_rows(&file, first);
    at_table_free(&file.rows);
    at_strings_free(reader->context, &file.names);
    at_release(reader->context, file.targets);
    return status;
}
