/* detect.c: the format of a file, from its name and its first lines.
 *
 *   1. A line of ten columns that begins with a word's number, after comments (# ...): CONLLU.
 *   2. Names: .conllu is CONLLU, .csv is TABLE, .ft and .fasttext are FASTTEXT.
 *   3. A first line that begins with __label__: FASTTEXT.
 *   4. A first line with a TAB, in a file that is to have labels or is named .tsv, .tab or .conll:
 *      COLUMNS or TABLE. A header that names a column of texts or labels makes it a TABLE; else blank lines
 *      between the others, and fields without spaces, make it COLUMNS (one of the two is enough where the
 *      task wants tokens, both are needed where it is not known or wants texts).
 *   5. A first line without a TAB: .conll is COLUMNS (with spaces between), .tsv is TABLE; with commas,
 *      and names of a column of texts and of one of labels among them, it is TABLE.
 *   6. The rest is LINES where nothing is to be learned, and cannot be told otherwise.
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

int at_name_ends(const char *name, const char *ending) {
    size_t length = strlen(name), ending_length = strlen(ending);
    if (length > 3 && at_same_name(name + length - 3, 3, ".gz", 3)) length -= 3;
    return length > ending_length &&
           at_same_name(name + length - ending_length, ending_length, ending, ending_length);
}

static int64_t count_byte(const at_line *line, char byte) {
    int64_t count = 0;
    for (size_t i = 0; i < line->length; i++) count += line->text[i] == byte;
    return count;
}

/* Whether the names of texts and of labels stand among the fields of a line. */
static void find_names(const at_line *line, char delimiter, int *texts, int *labels) {
    const char *field = line->text, *end = line->text + line->length;
    *texts = *labels = 0;
    for (;;) {
        const char *stop = memchr(field, delimiter, (size_t)(end - field));
        const char *name = field;
        size_t length = (size_t)((stop ? stop : end) - field);
        at_trim(&name, &length);
        if (length >= 2 && name[0] == '"' && name[length - 1] == '"') {
            name++;
            length -= 2;
        }
        *texts += at_is_text_name(name, length) != 0;
        *labels += at_is_label_name(name, length) != 0;
        if (stop == NULL) return;
        field = stop + 1;
    }
}

static int looks_like_conllu(at_reader reader) {
    at_line line;
    while (at_reader_line(&reader, &line)) {
        if (at_line_is_blank(&line) || line.text[0] == '#') continue;
        return line.text[0] >= '0' && line.text[0] <= '9' && count_byte(&line, '\t') == 9;
    }
    return 0;
}

/* COLUMNS rather than TABLE, for a file with TABs; `reader` stands at its first line. */
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

attn_format at_detect_format(const at_reader *reader) {
    const char *name = reader->name;
    const attn_reader_options *options = &reader->options;
    if (at_name_ends(name, ".conllu") || looks_like_conllu(*reader)) return ATTN_FORMAT_CONLLU;
    if (at_name_ends(name, ".csv")) return ATTN_FORMAT_TABLE;
    if (at_name_ends(name, ".ft") || at_name_ends(name, ".fasttext")) return ATTN_FORMAT_FASTTEXT;

    at_reader begin = *reader, rest = *reader;
    at_line line = {0};
    while (at_reader_line(&rest, &line) && at_line_is_blank(&line)) begin = rest;
    int tsv = at_name_ends(name, ".tsv") || at_name_ends(name, ".tab"), conll = at_name_ends(name, ".conll");
    int texts, labels;
    if (line.length >= 9 && memcmp(line.text, "__label__", 9) == 0) return ATTN_FORMAT_FASTTEXT;
    if (memchr(line.text, '\t', line.length) != NULL && (options->labelled || tsv || conll)) {
        find_names(&line, '\t', &texts, &labels);
        if (conll) return ATTN_FORMAT_COLUMNS;
        if (texts + labels > 0) return ATTN_FORMAT_TABLE;
        return looks_like_columns(begin, options->per_token) ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_TABLE;
    }
    if (conll) return ATTN_FORMAT_COLUMNS;
    if (tsv) return ATTN_FORMAT_TABLE;
    find_names(&line, ',', &texts, &labels);
    if (options->labelled) return texts > 0 && labels > 0 ? ATTN_FORMAT_TABLE : ATTN_FORMAT_AUTO;
    return ATTN_FORMAT_LINES;
}
