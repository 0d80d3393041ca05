/* table.c: a table with a header to a dataset of vectors: CSV, or with TABs or semicolons between the
 * columns.
 *
 *     sequence,x,y,label
 *     a,0.5,1,left
 *     a,0.25,2,left
 *     b,1,0,right
 *
 * Which column is what, unless said: that of the sequence is the first called sequence, seq, id or group;
 * that of the target the first with a usual name (label, class, target, ...). All others are numbers: the
 * vector.
 *
 * Lines with the same sequence follow one another; without such a column every line is a sequence of one
 * row. A target stands with rows (per_token 1), or with sequences (0): then the lines of a sequence do not
 * contradict each other, and it may be left out on some. With per_token -1 it stands with rows if some
 * contradict each other. An empty target is missing. A field in quotes ("a ""b"", c") ends on its line.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"
#include "inputs/vectors/reader.h"

/* What a column is, beside the number of a target. */
enum { NUMBER = -1, SEQUENCE = -2 };

typedef struct table {
    at_vectors_reader *reader;
    const char *next, *end; /* what is still to be read */
    int64_t line;           /* the number of the line that was read last */
    char delimiter;
    at_strings fields;                /* of that line */
    at_bytes field;                   /* a quoted field without its quotes */
    int64_t *roles;                   /* [width]: NUMBER, SEQUENCE, or which target */
    int64_t width, columns, sequence; /* sequence: its column, -1: there is none */
    at_strings names;                 /* of the columns of numbers */
    at_strings values;                /* of the targets, line by line */
    at_vocabulary sequences;          /* those that have begun, */
    int64_t *begins, begin_room;      /* and in which line */
    int64_t current;                  /* the number of the one that is open, */
    int open;                         /* if one is */
    int bad;                          /* the last failure was a bad line, which may be left out */
    int dropped; /* the sequence that is open is bad: its other lines are left out, too */
} table;

/* ---- lines ---- */

/* The next line that is not blank; 0 at the end. */
static int next_line(table *file, const char **text, size_t *length) {
    while (file->next < file->end) {
        size_t left = (size_t)(file->end - file->next);
        const char *feed = memchr(file->next, '\n', left);
        *text = file->next;
        *length = feed ? (size_t)(feed - file->next) : left;
        file->next = feed ? feed + 1 : file->end;
        file->line++;
        if (*length > 0 && (*text)[*length - 1] == '\r') --*length;
        for (size_t i = 0; i < *length; i++)
            if ((*text)[i] != ' ' && (*text)[i] != '\t') return 1;
    }
    return 0;
}

#define BAD(file, ...) ((file)->bad = 1, at_vectors_fail((file)->reader, NULL, (file)->line, __VA_ARGS__))

/* A field in quotes; *at is behind the first, and then behind the last of them. */
static attn_status take_quoted(table *file, const char **at, const char *end) {
    file->field.count = 0;
    for (;;) {
        const char *quote = memchr(*at, '"', (size_t)(end - *at));
        if (!quote) return BAD(file, "a quoted field that does not end on its line");
        attn_status status = at_bytes_append(file->reader->context, &file->field, *at, (size_t)(quote - *at));
        *at = quote + 1;
        if (status != ATTN_OK || *at == end || **at != '"') return status;
        status = at_bytes_append(file->reader->context, &file->field, "\"", 1);
        if (status != ATTN_OK) return status;
        ++*at;
    }
}

/* A field without the spaces around it. */
static attn_status add_field(table *file, const char *text, size_t length) {
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    return at_strings_add(file->reader->context, &file->fields, text, length);
}

static attn_status split(table *file, const char *at, size_t length) {
    const char *end = at + length;
    at_strings_clear(&file->fields);
    if (at_unicode_check(at, length) != length)
        return BAD(file, "byte %zu is not UTF-8: convert the file with iconv",
                   at_unicode_check(at, length) + 1);
    for (;;) {
        attn_status status;
        if (at < end && *at == '"') {
            at++;
            status = take_quoted(file, &at, end);
            if (status == ATTN_OK && at < end && *at != file->delimiter)
                return BAD(file, "there is text between a quoted field and the next column");
            if (status == ATTN_OK)
                status =
                    add_field(file, file->field.count ? file->field.data : "", (size_t)file->field.count);
        } else {
            const char *stop = memchr(at, file->delimiter, (size_t)(end - at));
            status = add_field(file, at, (size_t)((stop ? stop : end) - at));
            at = stop ? stop : end;
        }
        if (status != ATTN_OK || at == end) return status;
        at++;
    }
}

/* ---- the header ---- */

static int64_t find_column(const table *file, const char *name) {
    const at_strings *fields = &file->fields;
    for (int64_t c = 0; c < fields->count; c++)
        if (strcmp(at_string(fields, c), name) == 0) return c;
    for (int64_t c = 0; c < fields->count; c++)
        if (at_same_name(at_string(fields, c), at_string_length(fields, c), name, strlen(name))) return c;
    return -1;
}

/* The column with the most usual of these names; -1: there is none. */
static int64_t find_usual(const table *file, const char *const *names) {
    for (int i = 0; names[i]; i++) {
        int64_t c = find_column(file, names[i]);
        if (c >= 0 && file->roles[c] == NUMBER) return c;
    }
    return -1;
}

static attn_status fail_columns(table *file, const char *what, const char *name) {
    char list[160] = "";
    size_t used = 0;
    int64_t c = 0;
    for (; c < file->fields.count && used + 40 < sizeof list; c++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.30s", c ? ", " : "",
                                 at_string(&file->fields, c));
    return at_vectors_fail(file->reader, NULL, 0, "%s%.60s; its first line names the columns %s%s", what,
                           name, list, c < file->fields.count ? ", ..." : "");
}

static attn_status add_target(table *file, at_strings *targets, int64_t column) {
    file->roles[column] = targets->count;
    return at_strings_add(file->reader->context, targets, at_string(&file->fields, column),
                          at_string_length(&file->fields, column));
}

static attn_status find_targets(table *file, at_strings *targets) {
    static const char *const usual[] = {"label",     "labels",   "class", "target", "category", "tag",
                                        "sentiment", "polarity", "score", "rating", "stars",    NULL};
    at_vectors_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < reader->wanted.count && status == ATTN_OK; i++) {
        const char *name = at_string(&reader->wanted, i);
        int64_t column = find_column(file, name);
        if (column >= 0 && file->roles[column] != NUMBER)
            return fail_columns(file, "has one column for two things: ", name);
        if (column >= 0)
            status = add_target(file, targets, column);
        else if (reader->options->labelled)
            return fail_columns(file, "has no column ", name);
    }
    if (status != ATTN_OK || reader->wanted.count > 0) return status;
    int64_t column = find_usual(file, usual);
    if (column >= 0) return add_target(file, targets, column);
    return reader->options->labelled
               ? fail_columns(file, "the column of the target is ambiguous: name it", "")
               : ATTN_OK;
}

/* A first line of numbers alone names nothing. */
static attn_status check_names(table *file) {
    int names = 0;
    for (int64_t c = 0; c < file->fields.count; c++) {
        const char *text = at_string(&file->fields, c);
        char *end;
        if (!*text)
            return at_vectors_fail(file->reader, NULL, file->line, "column %" PRId64 " has no name", c + 1);
        strtod(text, &end);
        names |= *end != 0;
        if (find_column(file, text) != c)
            return at_vectors_fail(file->reader, NULL, file->line, "two columns are called %.60s", text);
    }
    if (names) return ATTN_OK;
    return at_vectors_fail(file->reader, NULL, file->line,
                           "the first line of a table names its columns, and these are numbers");
}

static attn_status find_roles(table *file, at_strings *targets) {
    static const char *const usual[] = {"sequence", "seq", "id", "group", NULL};
    const char *asked = file->reader->options->text_column;
    for (int64_t c = 0; c < file->width; c++) file->roles[c] = NUMBER;
    if (asked && *asked) {
        file->sequence = find_column(file, asked);
        if (file->sequence < 0) return fail_columns(file, "has no column ", asked);
        file->roles[file->sequence] = SEQUENCE;
    }
    attn_status status = find_targets(file, targets);
    if (file->sequence < 0) file->sequence = find_usual(file, usual);
    if (file->sequence >= 0) file->roles[file->sequence] = SEQUENCE;
    for (int64_t c = 0; c < file->width && status == ATTN_OK; c++) {
        if (file->roles[c] != NUMBER) continue;
        file->columns++;
        status = at_strings_add(file->reader->context, &file->names, at_string(&file->fields, c),
                                at_string_length(&file->fields, c));
    }
    if (status == ATTN_OK && file->columns == 0) return fail_columns(file, "has no column of numbers", "");
    return status;
}

static attn_status read_header(table *file) {
    at_vectors_reader *reader = file->reader;
    const char *text;
    size_t length;
    at_strings targets = {0};
    if (!next_line(file, &text, &length)) return at_vectors_fail(reader, NULL, 0, "has no lines");
    int comma = memchr(text, ',', length) != NULL, tab = memchr(text, '\t', length) != NULL;
    file->delimiter = tab && !comma ? '\t' : !comma && memchr(text, ';', length) ? ';' : ',';
    attn_status status = split(file, text, length);
    if (status == ATTN_OK) status = check_names(file);
    if (status != ATTN_OK) return status;
    file->width = file->fields.count;
    file->roles = at_allocate(reader->context, file->width, sizeof *file->roles, "the columns of a table");
    status = file->roles ? find_roles(file, &targets) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK)
        status = at_vectors_dataset(reader->context, reader->name, AT_VECTORS_CSV, file->columns,
                                    &reader->dataset);
    if (status == ATTN_OK) { /* the lists change their owner */
        reader->dataset->columns = targets;
        targets = (at_strings){0};
        at_vectors_of(reader->dataset)->names = file->names;
        file->names = (at_strings){0};
    }
    at_strings_free(reader->context, &targets);
    return status;
}

/* ---- rows ---- */

static attn_status end_sequence(table *file) {
    int whole = file->open && !file->dropped;
    file->open = file->dropped = 0;
    return whole ? at_dataset_end(file->reader->dataset) : ATTN_OK;
}

/* Ends the sequence before, if this line is of another one. */
static attn_status turn_to_sequence(table *file) {
    attn_context *context = file->reader->context;
    const char *name = at_string(&file->fields, file->sequence);
    size_t length = at_string_length(&file->fields, file->sequence);
    if (length == 0) return BAD(file, "no sequence in column %" PRId64, file->sequence + 1);
    int64_t number = at_vocabulary_find(&file->sequences, name, length);
    if (number >= 0 && number == file->current && file->open) return ATTN_OK;
    attn_status status = end_sequence(file);
    if (status != ATTN_OK) return status;
    file->open = 1;
    file->current = number;
    if (number >= 0) {
        return BAD(file,
                   "sequence %.60s began in line %" PRId64 " and had ended: its lines must be consecutive",
                   name, file->begins[number]);
    }
    status = at_vocabulary_add(context, &file->sequences, name, length, 1, &number);
    if (status == ATTN_OK)
        status =
            at_grow(context, &file->begins, &file->begin_room, number + 1, sizeof *file->begins, "sequences");
    if (status != ATTN_OK) return status;
    file->begins[number] = file->line;
    file->current = number;
    return ATTN_OK;
}

/* Column `column` of the table, which is number `number_of` of the vector. */
static attn_status read_number(table *file, int64_t column, int64_t number_of, float *number) {
    const char *text = at_string(&file->fields, column);
    char *end;
    double value = strtod(text, &end);
    const char *name = at_string(&at_vectors_of(file->reader->dataset)->names, number_of);
    if (!*text) return BAD(file, "column %.60s is empty: every number of a vector is given", name);
    if (*end || strspn(text, "0123456789+-.eE") != strlen(text))
        return BAD(file, "column %.60s is \"%.40s\", which is not a finite number", name, text);
    if (!(fabs(value) <= (double)FLT_MAX))
        return BAD(file, "column %.60s is too large for 32 bits: scale it", name);
    *number = (float)value;
    return ATTN_OK;
}

static attn_status add_row(table *file) {
    at_vectors_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    float *row = at_vectors_room(dataset, 1);
    attn_status status = row ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t c = 0, i = 0; c < file->width && status == ATTN_OK; c++)
        if (file->roles[c] == NUMBER) {
            status = read_number(file, c, i, &row[i]);
            i++;
        }
    for (int64_t target = 0; target < dataset->columns.count && status == ATTN_OK; target++) {
        int64_t c = 0;
        while (file->roles[c] != target) c++;
        status = at_vectors_target(reader, &file->values, at_string(&file->fields, c),
                                   at_string_length(&file->fields, c));
    }
    return status == ATTN_OK ? at_vectors_add(dataset, 1, file->line) : status;
}

static attn_status read_line(table *file, const char *text, size_t length) {
    attn_status status = split(file, text, length);
    if (status == ATTN_OK && file->fields.count != file->width)
        status =
            BAD(file, "%" PRId64 " columns, the first line has %" PRId64, file->fields.count, file->width);
    if (status != ATTN_OK) return status;
    if (file->sequence < 0) {
        status = add_row(file);
        return status == ATTN_OK ? at_dataset_end(file->reader->dataset) : status;
    }
    status = turn_to_sequence(file);
    return status == ATTN_OK && !file->dropped ? add_row(file) : status;
}

/* What a bad line means: the sequence is left out and noted where skip_bad says so; else reading ends. */
static attn_status settle(table *file, attn_status status, int *stop) {
    at_vectors_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int bad = file->bad, skips = reader->options->skip_bad, stops = reader->options->stop_at_bad && !skips;
    file->bad = 0;
    if (status == ATTN_OK || !bad || !(skips || stops)) return status;
    at_vectors_undo(dataset);
    file->values.count = dataset->rows * dataset->columns.count;
    if (stops) {
        dataset->stopped = status;
        *stop = 1;
        file->dropped = 1;
    } else {
        dataset->skipped += !file->dropped;
        file->dropped = file->open;
    }
    if (dataset->problems.count >= AT_PROBLEMS) return ATTN_OK;
    const char *problem = attn_context_error(reader->context);
    return at_strings_add(reader->context, &dataset->problems, problem, strlen(problem));
}

/* ---- targets ---- */

/* The value of a target for a sequence: the first that is not missing; *other: the row of one that
 * contradicts it. */
static int64_t find_value(const table *file, int64_t example, int64_t target, int64_t *other) {
    const attn_dataset *dataset = file->reader->dataset;
    int64_t columns = dataset->columns.count, found = -1;
    *other = -1;
    for (int64_t row = dataset->offsets[example]; row < dataset->offsets[example + 1]; row++) {
        const char *value = at_string(&file->values, row * columns + target);
        if (!*value) continue;
        if (found < 0)
            found = row;
        else if (strcmp(value, at_string(&file->values, found * columns + target)) != 0)
            *other = row;
        if (*other >= 0) break;
    }
    return found;
}

/* Whether targets stand with rows: see above. */
static attn_status decide_place(table *file, int *per_row) {
    const attn_dataset *dataset = file->reader->dataset;
    int wanted = file->reader->options->pairs == 1 ? 0 : file->reader->options->per_token;
    *per_row = wanted == 1;
    if (wanted == 1) return ATTN_OK;
    for (int64_t e = 0; e < dataset->examples; e++) {
        for (int64_t target = 0; target < dataset->columns.count; target++) {
            int64_t other, row = find_value(file, e, target, &other);
            if (other < 0) continue;
            *per_row = 1;
            if (wanted < 0) return ATTN_OK;
            return at_vectors_fail(file->reader, NULL, dataset->lines[other],
                                   "column %.60s is not the same as in line %" PRId64
                                   ", but this task needs one target per sequence",
                                   at_string(&dataset->columns, target), dataset->lines[row]);
        }
    }
    return ATTN_OK;
}

static attn_status put_targets(table *file) {
    attn_dataset *dataset = file->reader->dataset;
    int64_t columns = dataset->columns.count;
    attn_status status = decide_place(file, &dataset->per_row);
    if (status == ATTN_OK && dataset->per_row) {
        dataset->targets = file->values; /* the list changes its owner */
        file->values = (at_strings){0};
        return ATTN_OK;
    }
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        for (int64_t target = 0; target < columns && status == ATTN_OK; target++) {
            int64_t other, row = find_value(file, e, target, &other);
            const char *value = row < 0 ? "" : at_string(&file->values, row * columns + target);
            status = at_strings_add(file->reader->context, &dataset->targets, value, strlen(value));
        }
    }
    return status;
}

/* ---- all of it ---- */

static attn_status read_rows(table *file) {
    at_vectors_reader *reader = file->reader;
    const char *text;
    size_t length;
    int stop = 0;
    attn_status status = ATTN_OK;
    while (status == ATTN_OK && !stop && next_line(file, &text, &length))
        status = settle(file, read_line(file, text, length), &stop);
    if (status == ATTN_OK) status = end_sequence(file);
    if (status != ATTN_OK || reader->dataset->examples > 0 || reader->dataset->stopped != ATTN_OK)
        return status;
    if (reader->dataset->skipped == 0)
        return at_vectors_fail(reader, NULL, 0, "has no rows after the line of names");
    return at_vectors_fail(
        reader, NULL, 0, "has no good rows: %" PRId64 " sequences were left out, the first because of %.150s",
        reader->dataset->skipped, at_string(&reader->dataset->problems, 0));
}

attn_status at_vectors_read_table(at_vectors_reader *reader, const at_vectors_file *source) {
    attn_context *context = reader->context;
    table file = {.reader = reader,
                  .next = source->bytes,
                  .end = source->bytes + source->count,
                  .line = reader->first_line - 1,
                  .sequence = -1};
    if (source->count >= 3 && memcmp(source->bytes, "\xef\xbb\xbf", 3) == 0) file.next += 3;
    attn_status status = read_header(&file);
    if (status == ATTN_OK) status = read_rows(&file);
    if (status == ATTN_OK) status = put_targets(&file);
    at_strings_free(context, &file.fields);
    at_bytes_free(context, &file.field);
    at_release(context, file.roles);
    at_strings_free(context, &file.names);
    at_strings_free(context, &file.values);
    at_vocabulary_free(context, &file.sequences);
    at_release(context, file.begins);
    return status;
}
