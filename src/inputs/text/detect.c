/* detect.c: the format of a file, from its name and its first lines.
 *
 *   1. Names: .conllu is CONLLU, .jsonl and .ndjson are JSONL, .csv is TABLE, .ft and .fasttext are FASTTEXT.
 *   2. A line of ten columns that begins with a word's number, after comments (# ...): CONLLU. A first line
 *      that is an object of JSON: JSONL. Where the task learns from pairs, all else is PAIRS.
 *   3. A first line that begins with __label__: FASTTEXT.
 *   4. A header: a first line with TABs, commas or semicolons that names a column of texts or of labels, or
 * one that is requested: TABLE. Between commas and semicolons all must look like names, or both a text and a
 *      label be among them.
 *   5. A first line with a TAB, in a file that is to have labels: blank lines between the others, and fields
 *      without spaces, make it COLUMNS (one of the two is enough where the task wants tokens, both are needed
 *      where it is not known or wants texts), else it is TABLE. Where nothing is to be learned the first line
 *      alone decides, since no more may be there yet: COLUMNS for a model of tokens if it has no space, TABLE
 *      for a model of texts.
 *   6. A first line without a TAB: .conll is COLUMNS (with spaces between).
 *   7. The rest is what options.usual says, or LINES where nothing is to be learned, and cannot be told
 *      otherwise.
 *
 * So names decide nothing that the content does not say, but for files without a TAB or a header: what comes
 * without a name, from a pipe, is read as the file is.
 */
#include <string.h>

#include "inputs/text/reader.h"

static const char *const text_names[] = {
    "text", "sentence",  "review",   "content",     "document", "body",     "message", "comment", "tweet",
    "sms",  "utterance", "question", "description", "title",    "headline", "word",    NULL};
static const char *const label_names[] = {"label",     "labels",   "class", "target", "category", "tag",
                                          "sentiment", "polarity", "score", "rating", "stars",    NULL};

static int is_among(const char *const *names, const char *name, size_t length) {
    for (int i = 0; names[i]; i++) {
        if (at_same_name(names[i], strlen(names[i]), name, length)) return i + 1;
    }
    return 0;
}

int at_is_text_name(const char *name, size_t length) { return is_among(text_names, name, length); }
int at_is_label_name(const char *name, size_t length) { return is_among(label_names, name, length); }
static int64_t count_byte(const at_line *line, char byte) {
    int64_t count = 0;
    for (size_t i = 0; i < line->length; i++) count += line->text[i] == byte;
    return count;
}

/* What stands among the fields of a line that may name columns. */
typedef struct header_names {
    int fields, texts, labels, asked; /* how many; asked: those that the options name */
    int plain;                        /* all look like names of columns */
    int tabs;                         /* a TAB stands within one, and not between quotes */
} header_names;

/* Whether a name is in a list with commas between. */
static int is_listed(const char *list, const char *name, size_t length) {
    while (list && *list) {
        const char *one = list;
        size_t one_length = strcspn(list, ",");
        list += one_length + (list[one_length] == ',');
        at_trim(&one, &one_length);
        if (one_length > 0 && !at_column_number(one, one_length) &&
            at_same_name(one, one_length, name, length))
            return 1;
    }
    return 0;
}

/* Like a name in a program: a letter, then letters, digits, _ - . : */
static int is_plain(const char *name, size_t length) {
    enum { LONGEST = 64 };
    if (length == 0 || length > LONGEST) return 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        int letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        int other = (c >= '0' && c <= '9') || (c != 0 && strchr("_-.:", c) != NULL);
        if (!letter && !(other && i > 0) && c < 0x80) return 0;
    }
    return 1;
}

static header_names find_names(const at_line *line, char delimiter, const attn_reader_options *options) {
    header_names found = {.plain = 1};
    const char *field = line->text, *end = line->text + line->length;
    for (;;) {
        const char *stop = memchr(field, delimiter, (size_t)(end - field));
        const char *name = field;
        size_t length = (size_t)((stop ? stop : end) - field);
        at_trim(&name, &length);
        if (length >= 2 && name[0] == '"' && name[length - 1] == '"') {
            name++;
            length -= 2;
        } else {
            found.tabs |= memchr(name, '\t', length) != NULL;
        }
        found.fields++;
        found.texts += at_is_text_name(name, length) != 0;
        found.labels += at_is_label_name(name, length) != 0;
        found.asked +=
            is_listed(options->column, name, length) || is_listed(options->text_column, name, length);
        found.plain &= is_plain(name, length);
        if (stop == NULL) return found;
        field = stop + 1;
    }
}

char at_header_delimiter(const at_reader *reader, const at_line *line) {
    static const char delimiters[] = "\t,;";
    for (int i = 0; delimiters[i]; i++) {
        header_names found = find_names(line, delimiters[i], &reader->options);
        int named = found.texts + found.labels + found.asked > 0;
        if (found.fields < 2 || !named) continue;
        int both = found.texts > 0 && found.labels > 0 && !found.tabs;
        if (delimiters[i] == '\t' || found.plain || both) return delimiters[i];
    }
    return 0;
}

/* A table of one column, whose name is asked for or, in a table, a usual one. */
static int is_lone_header(const at_line *line, const attn_reader_options *options, int table) {
    header_names found = find_names(line, '\n', options);
    return (options->text_column && *options->text_column && found.asked > 0) || (table && found.texts > 0);
}

static int looks_like_conllu(at_reader reader) {
    at_line line;
    while (at_reader_line(&reader, &line)) {
        if (at_line_is_blank(&line) || line.text[0] == '#') continue;
        return line.text[0] >= '0' && line.text[0] <= '9' && count_byte(&line, '\t') == 9;
    }
    return 0;
}

/* COLUMNS rather than TABLE, for a file with TABs; `reader` is at its first line. */
static int looks_like_columns(at_reader reader, int per_token) {
    enum { LINES_LOOKED_AT = 1000 };
    at_line line;
    int blank = 0, blank_between = 0, spaces = 0;
    for (int i = 0; i < LINES_LOOKED_AT && at_reader_line(&reader, &line); i++) {
        if (at_line_is_blank(&line)) {
            blank = 1;
            continue;
        }
        blank_between |= blank;
        spaces |= memchr(line.text, ' ', line.length) != NULL;
    }
    return per_token == 1 ? blank_between || !spaces : blank_between && !spaces;
}

int at_looks_like_object(const char *text, size_t length) {
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    if (length < 2 || *text != '{') return 0;
    for (text++, length--; length > 0 && (*text == ' ' || *text == '\t'); length--) text++;
    return length > 0 && (*text == '"' || *text == '}');
}

/* From the name alone; AUTO if it says nothing. */
static attn_format named_format(const char *name) {
    if (at_name_ends(name, ".conllu")) return ATTN_FORMAT_CONLLU;
    if (at_name_ends(name, ".jsonl") || at_name_ends(name, ".ndjson")) return ATTN_FORMAT_JSONL;
    if (at_name_ends(name, ".csv")) return ATTN_FORMAT_TABLE;
    if (at_name_ends(name, ".ft") || at_name_ends(name, ".fasttext")) return ATTN_FORMAT_FASTTEXT;
    return ATTN_FORMAT_AUTO;
}

/* A file with TABs and without a header. */
static attn_format with_tabs(const at_reader *begin, const at_line *line, int named) {
    const attn_reader_options *options = &begin->options;
    if (options->labelled)
        return looks_like_columns(*begin, options->per_token) ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_TABLE;
    if (options->usual == ATTN_FORMAT_COLUMNS || options->usual == ATTN_FORMAT_TABLE) return options->usual;
    int spaces = memchr(line->text, ' ', line->length) != NULL;
    if (options->per_token == 1) return spaces ? ATTN_FORMAT_LINES : ATTN_FORMAT_COLUMNS;
    if (options->per_token == 0) return ATTN_FORMAT_TABLE;
    if (!named) return ATTN_FORMAT_LINES; /* nobody says what it is for */
    return looks_like_columns(*begin, options->per_token) ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_TABLE;
}

attn_format at_detect_format(const at_reader *reader) {
    const char *name = reader->name;
    const attn_reader_options *options = &reader->options;
    attn_format named = named_format(name);
    at_reader begin = *reader, rest = *reader;
    at_line line = {"", 0, 0};
    while (at_reader_line(&rest, &line) && at_line_is_blank(&line)) begin = rest;
    int object = at_looks_like_object(line.text, line.length);
    if (options->pairs == 1)
        return object || named == ATTN_FORMAT_JSONL ? ATTN_FORMAT_JSONL : ATTN_FORMAT_PAIRS;
    if (named == ATTN_FORMAT_CONLLU || looks_like_conllu(*reader)) return ATTN_FORMAT_CONLLU;
    if (named != ATTN_FORMAT_AUTO) return named;
    if (object) return ATTN_FORMAT_JSONL;
    if (line.length >= 9 && memcmp(line.text, "__label__", 9) == 0) return ATTN_FORMAT_FASTTEXT;
    int tsv = at_name_ends(name, ".tsv") || at_name_ends(name, ".tab"), conll = at_name_ends(name, ".conll");
    if (conll) return ATTN_FORMAT_COLUMNS;
    if (at_header_delimiter(reader, &line)) return ATTN_FORMAT_TABLE;
    if (memchr(line.text, '\t', line.length) != NULL) return with_tabs(&begin, &line, tsv);
    int table = tsv || options->usual == ATTN_FORMAT_TABLE;
    if (!options->labelled && is_lone_header(&line, options, table)) return ATTN_FORMAT_TABLE;
    if (options->labelled && tsv) return ATTN_FORMAT_TABLE;
    if (options->usual == ATTN_FORMAT_FASTTEXT) return ATTN_FORMAT_FASTTEXT;
    return options->labelled ? ATTN_FORMAT_AUTO : ATTN_FORMAT_LINES;
}
