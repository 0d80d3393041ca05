/* list.c: lists of recordings: TSV or CSV, a recording a row.
 *
 * The first row names the columns if one of them is called like a path (path, file, audio, wav, ...) or is
 * requested by its name. Without such a row the first column is the path and the second the target. Columns
 * may also be requested by number, 1 and up. A column `split` says what is for training, if nothing else
 * does; a column `speaker` whose voice it is, for --split speaker.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/lines.h"
#include "data/parts.h"
#include "inputs/speech/reader.h"

typedef struct list {
    at_speech_reader *reader;
    at_strings names; /* of the columns; empty: no row names them */
    int64_t path, split, speaker;
    int64_t split_number; /* of several splits in one column, -1: it has one */
    int64_t *targets;     /* columns */
    int64_t count;        /* of targets */
    size_t folder;        /* bytes of the list's name that are its folder */
} list;

static const char *const path_names[] = {"path",       "file",       "filename",  "file_name", "audio",
                                         "wav",        "audio_path", "wav_path",  "sound",     "recording",
                                         "audio_file", "features",   "audiopath", NULL};
static const char *const label_names[] = {"label", "class", "target", "category", "word", "command",
                                          "digit", "value", "number", "score",    NULL};
static const char *const text_names[] = {"text",          "sentence", "transcript", "transcription",
                                         "transcription", "target",   "label",      NULL};
static const char *const segment_names[] = {"labels", "phn",       "segments", "phones",
                                            "align",  "alignment", "label",    NULL};

static int is_among(const char *const *names, const char *name, size_t length) {
    for (int i = 0; names[i]; i++)
        if (at_same_name(names[i], strlen(names[i]), name, length)) return 1;
    return 0;
}

static const char *field(const list *file, int64_t column, size_t *length) {
    const at_strings *fields = &file->reader->rows.fields;
    const char *text = at_string(fields, column);
    *length = at_string_length(fields, column);
    at_trim(&text, length);
    return text;
}

static int is_blank(const at_strings *fields) {
    return fields->count == 1 && strspn(at_string(fields, 0), " \t") == at_string_length(fields, 0);
}

char at_speech_delimiter(const char *name, const char *line, size_t length) {
    if (memchr(line, '\t', length)) return '\t';
    if (at_name_ends(name, ".tsv") || at_name_ends(name, ".tab") || at_name_ends(name, ".txt")) return '\t';
    if (at_name_ends(name, ".csv"))
        return memchr(line, ';', length) && !memchr(line, ',', length) ? ';' : ',';
    return memchr(line, ',', length) ? ',' : '\t';
}

/* ---- columns ---- */

static attn_status fail_no_column(list *file, const char *what, const char *name) {
    char names[AT_COLUMN_LIST];
    at_list_columns(&file->names, names);
    if (file->names.count == 0)
        return at_speech_fail(file->reader, 0,
                              "%s%.60s; no row names its columns, of which there are %" PRId64, what, name,
                              file->reader->rows.width);
    return at_speech_fail(file->reader, 0, "%s%.60s; its first line names the columns %s", what, name, names);
}

/* A column by name, or by number where no row names them; -1: there is none. */
static int64_t find_column(const list *file, const char *name, size_t length) {
    int64_t number = at_column_number(name, length);
    if (file->names.count) {
        int64_t found = at_find_column(&file->names, name, length);
        if (found >= 0) return found;
    }
    return number > 0 && number <= file->reader->rows.width ? number - 1 : -1;
}

/* Whether the first row names columns. */
static int names_columns(const list *file) {
    const attn_reader_options *options = file->reader->options;
    for (int64_t i = 0; i < file->reader->rows.fields.count; i++) {
        size_t length;
        const char *name = field(file, i, &length);
        const char *asked = options->text_column ? options->text_column : "";
        if (is_among(path_names, name, length)) return 1;
        if (*asked && !at_column_number(asked, strlen(asked)) &&
            at_same_name(asked, strlen(asked), name, length))
            return 1;
    }
    return 0;
}

static attn_status find_path(list *file) {
    const char *asked = file->reader->options->text_column;
    file->path = -1;
    if (asked && *asked) {
        file->path = find_column(file, asked, strlen(asked));
        return file->path >= 0 ? ATTN_OK : fail_no_column(file, "has no column ", asked);
    }
    for (int64_t i = 0; i < file->names.count && file->path < 0; i++)
        if (is_among(path_names, at_string(&file->names, i), at_string_length(&file->names, i)))
            file->path = i;
    if (file->path < 0) file->path = 0;
    return ATTN_OK;
}

/* A column `split` counts where nothing else says what is for training. */
static attn_status find_split(list *file) {
    const attn_reader_options *options = file->reader->options;
    const char *asked = options->split_column ? options->split_column : "";
    size_t length = 0;
    int other = (options->split && *options->split && strcmp(options->split, "file") != 0) ||
                (options->split_file && *options->split_file);
    file->split = -1;
    file->split_number = -1;
    if (!options->labelled) return ATTN_OK;
    if (!*asked) {
        if (!other) file->split = at_find_column(&file->names, "split", 5);
        return ATTN_OK;
    }
    attn_status status = at_split_column(file->reader->context, asked, &length, &file->split_number);
    if (status != ATTN_OK) return status;
    file->split = find_column(file, asked, length);
    return file->split >= 0 ? ATTN_OK : fail_no_column(file, "has no column ", asked);
}

static attn_status add_target(list *file, int64_t column) {
    at_speech_reader *reader = file->reader;
    const char *name = file->names.count             ? at_string(&file->names, column)
                       : reader->options->pairs == 1 ? "text"
                                                     : "label";
    char numbered[32] = "";
    if (column == file->path)
        return fail_no_column(file, "cannot learn the column that holds the paths: ", name);
    if (!file->names.count && file->count > 0)
        snprintf(numbered, sizeof numbered, "column %" PRId64, column + 1);
    if (*numbered) name = numbered;
    file->targets[file->count++] = column;
    return at_strings_add(reader->context, &reader->dataset->columns, name, strlen(name));
}

static attn_status find_wanted(list *file) {
    const at_strings *wanted = &file->reader->wanted;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < wanted->count && status == ATTN_OK; i++) {
        int64_t column = find_column(file, at_string(wanted, i), at_string_length(wanted, i));
        status = column >= 0 ? add_target(file, column)
                             : fail_no_column(file, "has no column ", at_string(wanted, i));
    }
    return status;
}

static int64_t find_among(const list *file, const char *const *names) {
    for (int n = 0; names[n]; n++) {
        int64_t found = at_find_column(&file->names, names[n], strlen(names[n]));
        if (found >= 0 && found != file->path) return found;
    }
    return -1;
}

/* What is to be learned, where nobody says it. */
static attn_status find_target(list *file) {
    const attn_reader_options *options = file->reader->options;
    int64_t width = file->reader->rows.width, found = -1, others = 0, other = -1;
    if (file->names.count == 0) {
        if (width < 2)
            return at_speech_fail(file->reader, 0,
                                  "has no targets: rows must be a path, a TAB and a label, a text, a number "
                                  "or a file of segments");
        return add_target(file, file->path == 0 ? 1 : 0);
    }
    if (options->per_token == 1) found = find_among(file, segment_names);
    if (options->pairs == 1) found = find_among(file, text_names);
    if (found < 0 && options->pairs != 1) found = find_among(file, label_names);
    if (found < 0 && options->per_token < 0) found = find_among(file, segment_names);
    if (found < 0 && options->per_token < 0) found = find_among(file, text_names);
    for (int64_t i = 0; i < width && found < 0; i++) {
        const char *name = at_string(&file->names, i);
        if (i == file->path || i == file->split || i == file->speaker || at_is_id_name(name, strlen(name)))
            continue;
        others++;
        other = i;
    }
    if (found < 0 && others == 1) found = other;
    if (found < 0 && others == 0 && file->speaker >= 0) found = file->speaker;
    if (found >= 0) return add_target(file, found);
    return fail_no_column(file, "the column to learn is ambiguous: name it (reader.column)", "");
}

static attn_status resolve(list *file) {
    at_speech_reader *reader = file->reader;
    file->targets = at_allocate(reader->context, reader->rows.width + reader->wanted.count + 1,
                                sizeof *file->targets, "target columns");
    if (!file->targets) return ATTN_OUT_OF_MEMORY;
    file->speaker = at_find_column(&file->names, "speaker", 7);
    attn_status status = find_path(file);
    if (status == ATTN_OK) status = find_split(file);
    if (status != ATTN_OK || !reader->options->labelled) return status;
    status = reader->wanted.count ? find_wanted(file) : find_target(file);
    reader->dataset->pairs = reader->options->pairs == 1;
    return status;
}

/* ---- rows ---- */

static attn_status read_row(list *file, int *more) {
    at_table *rows = &file->reader->rows;
    attn_status status = at_table_row(rows, more);
    if (status == ATTN_OK || !rows->problem[0]) return status;
    if (rows->problem_line == 0) return at_speech_fail(file->reader, 0, "%s", rows->problem);
    return at_speech_bad(file->reader, rows->problem_line, "%s", rows->problem);
}

/* Whether the target of the row that was read names a file of segments. */
static int names_segments(const list *file) {
    size_t length;
    if (file->count != 1 || file->reader->rows.fields.count <= file->targets[0]) return 0;
    const char *text = field(file, file->targets[0], &length);
    return length > 4 &&
           (at_same_name(text + length - 4, 4, ".phn", 4) || at_same_name(text + length - 4, 4, ".wrd", 4) ||
            at_same_name(text + length - 4, 4, ".lab", 4));
}

/* What the targets are, with the first row of data: decided once. */
static attn_status decide(list *file) {
    at_speech_reader *reader = file->reader;
    const attn_reader_options *options = reader->options;
    if (reader->targets != AT_SPEECH_NOTHING || !options->labelled) return ATTN_OK;
    int segments =
        options->per_token == 1 || (options->per_token < 0 && options->pairs < 1 && names_segments(file));
    reader->targets = segments ? AT_SPEECH_SEGMENTS : AT_SPEECH_VALUES;
    reader->dataset->per_row = segments;
    if (segments && file->count != 1)
        return at_speech_fail(reader, 0, "segments are of one column, not of %" PRId64, file->count);
    return ATTN_OK;
}

static attn_status check_row(list *file, int *part) {
    at_speech_reader *reader = file->reader;
    const at_table *rows = &reader->rows;
    size_t length;
    char reason[200];
    if (rows->fields.count != rows->width)
        return at_speech_bad(reader, rows->begin, "%" PRId64 " column%s, the first row has %" PRId64,
                             rows->fields.count, rows->fields.count == 1 ? "" : "s", rows->width);
    const char *path = field(file, file->path, &length);
    if (length == 0) return at_speech_bad(reader, rows->begin, "there is no path of a recording");
    (void)path;
    for (int64_t i = 0; i < file->count; i++) {
        const char *text = field(file, file->targets[i], &length);
        if (memchr(text, '\n', length) && reader->options->label_separator != '\n')
            return at_speech_bad(reader, rows->begin, "a value with a line break in it: \"%.*s\"",
                                 at_clip(text, length, 60), text);
        if (length == 0 && (reader->dataset->pairs || reader->targets == AT_SPEECH_SEGMENTS))
            return at_speech_bad(reader, rows->begin, "this row has no target");
    }
    if (file->split < 0) return ATTN_OK;
    const char *word = field(file, file->split, &length);
    *part = at_split_field(word, length, file->split_number, reason);
    return *part < 0 ? at_speech_bad(reader, rows->begin, "%s", reason) : ATTN_OK;
}

static attn_status join_path(list *file, int64_t column, at_bytes *path) {
    size_t length;
    const char *name = field(file, column, &length);
    return at_speech_join(file->reader->context, file->reader->name, file->folder, name, length, path);
}

static attn_status add_row(list *file) {
    at_speech_reader *reader = file->reader;
    attn_dataset *dataset = reader->dataset;
    int part = 0, segments = reader->targets == AT_SPEECH_SEGMENTS;
    size_t length;
    attn_status status = check_row(file, &part);
    if (status == ATTN_OK) status = join_path(file, file->path, &reader->path);
    if (status == ATTN_OK && segments) status = join_path(file, file->targets[0], &reader->beside);
    if (status != ATTN_OK) return status;
    at_speech_item item = {.path = reader->path.data, .line = reader->rows.begin};
    item.shown = field(file, file->path, &item.shown_length);
    if (segments) item.labels = reader->beside.data;
    status = at_speech_take(reader, &item);
    for (int64_t i = 0; status == ATTN_OK && !segments && i < file->count; i++) {
        const char *text = field(file, file->targets[i], &length);
        status = at_speech_value(reader, text, length);
    }
    if (status == ATTN_OK && file->speaker >= 0) {
        const char *speaker = field(file, file->speaker, &length);
        status = at_speech_text(reader, &at_recordings_of(dataset)->speakers, speaker, length);
    }
    if (status == ATTN_OK) status = at_speech_end(reader, &item);
    if (status == ATTN_OK && file->split >= 0) status = at_dataset_add_part(dataset, part);
    return status;
}

/* ---- the file ---- */

static attn_status take_names(list *file) {
    at_speech_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; status == ATTN_OK && i < reader->rows.fields.count; i++) {
        size_t length;
        const char *name = field(file, i, &length);
        status = at_speech_text(reader, &file->names, name, length);
    }
    return status;
}

/* Reads the first row that is not blank and decides on the columns. If it names none, it is read again. */
static attn_status begin(list *file) {
    at_speech_reader *reader = file->reader;
    at_table *rows = &reader->rows;
    const char *line;
    int64_t number;
    int more = 1;
    do {
        line = rows->next;
        number = rows->line;
        const char *feed = line < rows->end ? memchr(line, '\n', (size_t)(rows->end - line)) : NULL;
        rows->delimiter = at_speech_delimiter(reader->name, line, (size_t)((feed ? feed : rows->end) - line));
        attn_status status = read_row(file, &more);
        if (status != ATTN_OK) return status;
    } while (more && is_blank(&rows->fields));
    if (!more) return ATTN_OK;
    attn_status status = ATTN_OK;
    rows->width = rows->fields.count;
    if (names_columns(file)) {
        status = take_names(file);
        if (!reader->options->head) {
            reader->dataset->placement.head = (size_t)(rows->next - reader->begin);
            reader->good = rows->next;
        }
    } else {
        rows->next = line;
        rows->line = number;
    }
    return status == ATTN_OK ? resolve(file) : status;
}

/* The first row is in the head, if this is a later piece. */
static attn_status begin_piece(list *file) {
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

static attn_status read_rows(list *file) {
    at_speech_reader *reader = file->reader;
    attn_status status = ATTN_OK;
    int more = 1;
    while (status == ATTN_OK) {
        status = read_row(file, &more);
        if (!more) break;
        if (status == ATTN_OK && is_blank(&reader->rows.fields)) continue;
        if (status == ATTN_OK) {
            status = decide(file);
            if (status != ATTN_OK) return status;
            status = add_row(file);
        }
        status = at_speech_settle(reader, status);
    }
    return status;
}

attn_status at_speech_read_list(at_speech_reader *reader) {
    list file = {.reader = reader, .path = 0, .split = -1, .speaker = -1};
    const char *slash = strrchr(reader->name, '/');
    file.folder = slash ? (size_t)(slash - reader->name) + 1 : 0;
    reader->rows.limit = reader->rows.next;
    attn_status status = begin_piece(&file);
    reader->rows.limit = reader->rows.next;
    if (status == ATTN_OK && reader->rows.width > 0) status = read_rows(&file);
    at_release(reader->context, file.targets);
    at_strings_free(reader->context, &file.names);
    return status;
}
