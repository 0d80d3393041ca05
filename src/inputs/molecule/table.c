/* table.c: tables of molecules: CSV or TSV, a molecule a row; the first row names the columns.
 *
 * SMILES: the requested column, or called smiles (in any case), or with smiles in its name, or the first
 * whose values in the first rows are all SMILES. Targets: those asked for; else all other columns that hold
 * nothing but numbers or nothing at all, unless they are called like an identifier or count the rows
 * (integers that rise from row to row); else the one called label or the like. An empty field is a missing
 * value; a row may miss all of them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/fields.h"
#include "data/lines.h"
#include "data/parts.h"
#include "inputs/molecule/reader.h"

enum { PROBED_ROWS = 20, COUNTED_ROWS = 5 };

typedef struct table {
    at_molecule_reader *reader;
    at_strings names;          /* of the columns */
    int64_t smiles, id, split; /* columns; -1: there is none */
    int64_t split_number;      /* of several splits in one column, -1: it has one */
    int64_t *targets;          /* columns */
    int64_t values;            /* of targets, not missing */
} table;

static const char *const id_names[] = {"mol_id",      "molecule_id", "compound_id", "compound id",
                                       "molecule id", "name",        "title",       NULL};
static const char *const label_names[] = {"label", "class", "target", "activity", "category", NULL};

static int is_among(const char *const *names, const char *name, size_t length) {
    for (int i = 0; names[i]; i++)
        if (at_same_name(names[i], strlen(names[i]), name, length)) return 1;
    return 0;
}

static int is_id(const table *file, int64_t column) {
    const char *name = at_string(&file->names, column);
    size_t length = at_string_length(&file->names, column);
    return at_is_id_name(name, length) || is_among(id_names, name, length);
}

/* ---- what parts the columns ---- */

/* Whether a name is in a list with commas between. */
static int is_listed(const char *list, const char *name, size_t length) {
    while (list && *list) {
        const char *one = list;
        size_t one_length = strcspn(list, ",");
        list += one_length + (list[one_length] == ',');
        at_trim(&one, &one_length);
        if (one_length > 0 && at_same_name(one, one_length, name, length)) return 1;
    }
    return 0;
}

/* Whether a line that is parted so has a column of SMILES, or one that is requested. */
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
        if (at_same_name(name, name_length, "smiles", 6) || is_listed(options->column, name, name_length) ||
            is_listed(options->text_column, name, name_length))
            return 1;
        if (!stop) return 0;
        line = stop + 1;
    }
}

char at_molecule_header(const char *line, size_t length, const attn_reader_options *options) {
    static const char delimiters[] = "\t,;";
    for (int i = 0; delimiters[i]; i++)
        if (names_columns(line, length, delimiters[i], options)) return delimiters[i];
    return 0;
}

char at_molecule_delimiter(const char *name, const char *line, size_t length,
                           const attn_reader_options *options) {
    int tab = memchr(line, '\t', length) != NULL, comma = memchr(line, ',', length) != NULL;
    char named = at_molecule_header(line, length, options);
    if (named && memchr(line, named, length)) return named;
    if (at_name_ends(name, ".tsv") || at_name_ends(name, ".tab")) return '\t';
    return tab ? '\t' : comma ? ',' : memchr(line, ';', length) ? ';' : ',';
}

/* ---- rows ---- */

static attn_status read_row(table *file, int *more) {
    at_molecule_reader *reader = file->reader;
    at_table *rows = &reader->rows;
    attn_status status = at_table_row(rows, more);
    if (status == ATTN_OK || !rows->problem[0]) return status;
    return at_molecule_fail(reader, rows->problem_line, "%s", rows->problem);
}

static int is_blank(const at_strings *fields) {
    return fields->count == 1 && strspn(at_string(fields, 0), " \t") == at_string_length(fields, 0);
}

/* A field of the row that was read last, without the spaces around it. */
static const char *field(const table *file, int64_t column, size_t *length) {
    const at_strings *fields = &file->reader->rows.fields;
    const char *text = at_string(fields, column);
    *length = at_string_length(fields, column);
    at_trim(&text, length);
    return text;
}

/* Rows that are looked at before they are read: bad ones are skipped. */
typedef struct place {
    const char *next;
    int64_t line;
} place;

static place remember(const table *file) { return (place){file->reader->rows.next, file->reader->rows.line}; }
static void go_back(table *file, place to) {
    file->reader->rows.next = to.next;
    file->reader->rows.line = to.line;
    file->reader->rows.reread = 0;
    file->reader->bad = 0;
}

/* The next row that has all its columns; *more 0: there is none. */
static attn_status look_at_row(table *file, int *more) {
    at_table *rows = &file->reader->rows;
    for (;;) {
        attn_status status = at_table_row(rows, more);
        int good = status == ATTN_OK && rows->fields.count == rows->width;
        if (status != ATTN_OK && (!rows->problem[0] || !rows->problem_line)) return status;
        if (!*more || (good && !(rows->width == 1 && is_blank(&rows->fields)))) return ATTN_OK;
    }
}

/* ---- columns ---- */

static attn_status fail_no_column(table *file, const char *what, const char *name) {
    char list[AT_COLUMN_LIST];
    at_list_columns(&file->names, list);
    return at_molecule_fail(file->reader, 0, "%s%.*s; its first line names the columns %s", what,
                            at_clip(name, strlen(name), 60), name, list);
}

static int is_target(const table *file, int64_t column) {
    for (int64_t i = 0; i < file->reader->dataset->columns.count; i++)
        if (file->targets[i] == column) return 1;
    return 0;
}

static attn_status add_target(table *file, int64_t column) {
    attn_dataset *dataset = file->reader->dataset;
    file->targets[dataset->columns.count] = column;
    return at_strings_add(file->reader->context, &dataset->columns, at_string(&file->names, column),
                          at_string_length(&file->names, column));
}

/* Whether the values of the first rows are all SMILES. */
static attn_status probe(table *file, int64_t column, int *all) {
    at_molecule_reader *reader = file->reader;
    place begin = remember(file);
    int more = 1, rows = 0;
    attn_status status = ATTN_OK;
    *all = 1;
    while (status == ATTN_OK && *all && rows < PROBED_ROWS) {
        status = look_at_row(file, &more);
        if (status != ATTN_OK || !more) break;
        size_t length, position;
        const char *reason, *text = field(file, column, &length);
        attn_status read =
            at_smiles_read(reader->context, text, length, &reader->molecule, &position, &reason);
        if (read != ATTN_OK && read != ATTN_INVALID_ARGUMENT) status = read;
        *all = read == ATTN_OK && reader->molecule.atom_count > 0;
        rows++;
    }
    *all = *all && rows > 0;
    /* Pieces of the file are to find the same column: they need these rows, too. */
    if (*all && !reader->options->head)
        reader->dataset->placement.head = (size_t)(reader->rows.next - reader->begin);
    go_back(file, begin);
    return status;
}

static int has_smiles(const char *name, size_t length) {
    for (size_t i = 0; i + 6 <= length; i++)
        if (at_same_name(name + i, 6, "smiles", 6)) return 1;
    return 0;
}

static attn_status find_smiles(table *file) {
    const char *asked = file->reader->options->text_column;
    const at_strings *names = &file->names;
    attn_status status = ATTN_OK;
    if (asked && *asked) {
        file->smiles = at_find_column(names, asked, strlen(asked));
        return file->smiles >= 0 ? ATTN_OK : fail_no_column(file, "has no column ", asked);
    }
    file->smiles = at_find_column(names, "smiles", 6);
    for (int64_t i = 0; i < names->count && file->smiles < 0; i++)
        if (has_smiles(at_string(names, i), at_string_length(names, i))) file->smiles = i;
    for (int64_t i = 0; i < names->count && file->smiles < 0 && status == ATTN_OK; i++) {
        int all = 0;
        if (!is_target(file, i) && i != file->split) status = probe(file, i, &all);
        if (all) file->smiles = i;
    }
    if (status != ATTN_OK || file->smiles >= 0) return status;
    return fail_no_column(file, "the column with SMILES is ambiguous: name it", "");
}

static attn_status find_wanted(table *file) {
    const at_strings *wanted = &file->reader->wanted;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < wanted->count && status == ATTN_OK; i++) {
        int64_t column = at_find_column(&file->names, at_string(wanted, i), at_string_length(wanted, i));
        if (column >= 0)
            status = add_target(file, column);
        else if (file->reader->options->labelled)
            status = fail_no_column(file, "has no column ", at_string(wanted, i));
    }
    return status;
}

static attn_status find_split(table *file) {
    const char *asked = file->reader->options->split_column;
    size_t length;
    if (!asked || !*asked) return ATTN_OK;
    attn_status status = at_split_column(file->reader->context, asked, &length, &file->split_number);
    if (status != ATTN_OK) return status;
    file->split = at_find_column(&file->names, asked, length);
    return file->split >= 0 ? ATTN_OK : fail_no_column(file, "has no column ", asked);
}

/* What the values of a column are. */
typedef struct survey {
    int other, fraction, fallen; /* there is one that is no number, no integer, not larger than the last */
    int64_t values;
    double last;
} survey;

static void look_at_value(survey *seen, const char *text, size_t length) {
    double number;
    if (length == 0 || seen->other) return;
    char copy[64];
    if (length >= sizeof copy) {
        seen->other = 1;
        return;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    if (!at_decimal(copy, &number) || !isfinite(number)) {
        seen->other = 1;
        return;
    }
    seen->fraction |= number != floor(number);
    seen->fallen |= seen->values > 0 && !(number > seen->last);
    seen->values++;
    seen->last = number;
}

/* Columns of numbers, from all rows. */
static attn_status find_numbers(table *file) {
    int64_t width = file->names.count, rows = 0;
    place begin = remember(file);
    int more = 1;
    survey *seen = at_allocate(file->reader->context, width, sizeof *seen, "the columns of a table");
    attn_status status = seen ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    while (status == ATTN_OK) {
        status = look_at_row(file, &more);
        if (status != ATTN_OK || !more) break;
        rows++;
        for (int64_t c = 0; c < width; c++) {
            size_t length;
            const char *text = field(file, c, &length);
            look_at_value(&seen[c], text, length);
        }
    }
    go_back(file, begin);
    for (int64_t c = 0; c < width && status == ATTN_OK; c++) {
        int counts = !seen[c].fraction && !seen[c].fallen && seen[c].values == rows && rows >= COUNTED_ROWS;
        if (c == file->smiles || c == file->split || is_id(file, c) || counts) continue;
        if (!seen[c].other && seen[c].values > 0) status = add_target(file, c);
    }
    at_release(file->reader->context, seen);
    return status;
}

/* What is to be learned, where nobody says it. */
static attn_status find_targets(table *file) {
    attn_status status = find_numbers(file);
    const at_strings *columns = &file->reader->dataset->columns;
    for (int64_t c = 0; c < file->names.count && columns->count == 0 && status == ATTN_OK; c++)
        if (c != file->smiles &&
            is_among(label_names, at_string(&file->names, c), at_string_length(&file->names, c)))
            status = add_target(file, c);
    if (status != ATTN_OK || columns->count > 0) return status;
    return fail_no_column(file, "has no column of numbers to learn: name the column", "");
}

/* The names in the first row without spaces around them, in NFC. */
static attn_status take_names(table *file) {
    at_molecule_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < reader->rows.fields.count; i++) {
        size_t length;
        const char *name = field(file, i, &length);
        status = at_molecule_text(reader, &file->names, name, length);
    }
    return status;
}

static attn_status resolve(table *file) {
    at_molecule_reader *reader = file->reader;
    file->targets = at_allocate(reader->context, file->names.count + reader->wanted.count,
                                sizeof *file->targets, "target columns");
    if (!file->targets) return ATTN_OUT_OF_MEMORY;
    file->smiles = file->id = file->split = -1;
    attn_status status = find_split(file);
    if (status == ATTN_OK) status = find_wanted(file);
    if (status == ATTN_OK) status = find_smiles(file);
    if (status == ATTN_OK && reader->wanted.count == 0 && reader->options->labelled)
        status = find_targets(file);
    if (status != ATTN_OK) return status;
    if (is_target(file, file->smiles))
        return fail_no_column(
            file, "cannot learn the column with the SMILES: ", at_string(&file->names, file->smiles));
    for (int64_t i = file->names.count - 1; i >= 0; i--)
        if (i != file->smiles && is_id(file, i)) file->id = i;
    return ATTN_OK;
}

/* Reads the first row that is not blank and decides on the columns. */
static attn_status begin(table *file) {
    at_molecule_reader *reader = file->reader;
    at_table *rows = &reader->rows;
    at_placement *layout = &reader->dataset->placement;
    const char *line = rows->next, *feed;
    int more = 1;
    do {
        line = rows->next;
        feed = line < rows->end ? memchr(line, '\n', (size_t)(rows->end - line)) : NULL;
        rows->delimiter = at_molecule_delimiter(reader->name, line,
                                                (size_t)((feed ? feed : rows->end) - line), reader->options);
        attn_status status = read_row(file, &more);
        if (status != ATTN_OK) return status;
    } while (more && is_blank(&rows->fields));
    if (!more) return ATTN_OK;
    attn_status status = take_names(file);
    if (status != ATTN_OK) return status;
    rows->width = file->names.count;
    layout->delimiter = rows->delimiter;
    if (!reader->options->head) {
        layout->head = layout->header = (size_t)(rows->next - reader->begin);
        reader->good = rows->next; /* it precedes whatever is bad */
    }
    return resolve(file);
}

/* The first row is in the head, if this is a later piece. */
static attn_status begin_piece(table *file) {
    at_table *rows = &file->reader->rows;
    const attn_reader_options *options = file->reader->options;
    if (!options->head) return begin(file);
    const char *next = rows->next, *end = rows->end;
    int64_t line = rows->line;
    int mark = options->head_length >= 3 && memcmp(options->head, "\xef\xbb\xbf", 3) == 0;
    rows->next = options->head + (mark ? 3 : 0);
    rows->end = options->head + options->head_length;
    rows->limit = rows->next;
    attn_status status = begin(file);
    rows->next = next;
    rows->end = end;
    rows->line = line;
    return status;
}

/* ---- examples ---- */

static attn_status add_value(table *file, int64_t column) {
    at_molecule_reader *reader = file->reader;
    size_t length;
    const char *text = field(file, column, &length);
    char separator = reader->options->label_separator;
    file->values += length > 0;
    if (separator) {
        attn_status status = at_join_labels(reader->context, text, length, separator, &reader->joined);
        if (status != ATTN_OK) return status;
        length = (size_t)reader->joined.count;
        text = length ? reader->joined.data : "";
    }
    return at_molecule_text(reader, &reader->dataset->targets, text, length);
}

/* What can be wrong with a row beside its SMILES. */
static attn_status check_row(table *file, int *part) {
    at_molecule_reader *reader = file->reader;
    const at_table *rows = &reader->rows;
    char reason[200];
    size_t length;
    if (rows->fields.count != rows->width)
        return at_molecule_fail(reader, rows->begin, "%" PRId64 " column%s, the first row has %" PRId64,
                                rows->fields.count, rows->fields.count == 1 ? "" : "s", rows->width);
    for (int64_t i = 0; i < reader->dataset->columns.count; i++) {
        const char *text = field(file, file->targets[i], &length);
        if (memchr(text, '\n', length) && reader->options->label_separator != '\n')
            return at_molecule_fail(reader, rows->begin, "a value with a line break in it: \"%.*s\"",
                                    at_clip(text, length, 60), text);
    }
    if (file->split < 0) return ATTN_OK;
    const char *word = field(file, file->split, &length);
    *part = at_split_field(word, length, file->split_number, reason);
    return *part < 0 ? at_molecule_fail(reader, rows->begin, "%s", reason) : ATTN_OK;
}

static attn_status add_row(table *file) {
    at_molecule_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int part = 0;
    attn_status status = check_row(file, &part);
    if (status != ATTN_OK) return status;
    size_t length, id_length = 0;
    const char *text = field(file, file->smiles, &length);
    int64_t line = reader->rows.begin;
    status = at_molecule_parse(reader, text, length, line);
    if (status == ATTN_OK) status = at_molecule_add(reader, text, length, line);
    for (int64_t i = 0; status == ATTN_OK && i < dataset->columns.count; i++)
        status = add_value(file, file->targets[i]);
    if (status == ATTN_OK) status = at_graphs_end(dataset);
    if (status == ATTN_OK && file->split >= 0) status = at_dataset_add_part(dataset, part);
    if (status != ATTN_OK) return status;
    const char *id = file->id >= 0 ? field(file, file->id, &id_length) : "";
    return at_molecule_text(reader, &dataset->ids, id, id_length);
}

static attn_status read_rows(table *file) {
    at_molecule_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    int more = 1;
    while (status == ATTN_OK) {
        status = read_row(file, &more);
        if (!more) break;
        if (status == ATTN_OK && !is_blank(&reader->rows.fields)) status = add_row(file);
        status = at_molecule_settle(reader, status);
    }
    return status;
}

attn_status at_molecule_read_table(at_molecule_reader *reader) {
    table file = {.reader = reader};
    attn_dataset *dataset = reader->dataset;
    reader->rows.limit = reader->rows.next;
    attn_status status = begin_piece(&file);
    reader->rows.limit = reader->rows.next;
    if (status == ATTN_OK && file.names.count > 0) status = read_rows(&file);
    if (status == ATTN_OK && reader->options->labelled && dataset->examples > 0 && file.values == 0)
        status = at_molecule_fail(reader, 0, "no row has a value of %.200s: it cannot be learned",
                                  at_string(&dataset->columns, 0));
    at_release(reader->context, file.targets);
    at_strings_free(reader->context, &file.names);
    return status;
}
