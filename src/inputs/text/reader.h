/* reader.h: what the readers of the formats share: lines, errors with file and line, bad examples that are
 * left out, text in NFC.
 */
#ifndef AT_INPUTS_TEXT_READER_H
#define AT_INPUTS_TEXT_READER_H

#include <attn/dataset.h>

#include "data/file.h"
#include "data/lines.h"
#include "data/strings.h"
#include "inputs/input.h"
#include "inputs/text/texts.h"

typedef struct at_line {
    const char *text; /* without its end */
    size_t length;
    int64_t number;
} at_line;

typedef struct at_reader {
    attn_context *context;
    const char *name; /* of the file, for errors */
    attn_reader_options options;
    at_strings wanted; /* options.column, taken apart */
    attn_dataset *dataset;
    const char *begin, *next, *end; /* all of it; what is still to be read */
    const char *good;               /* NULL, or up to here examples are good, `settled` of them */
    int64_t settled;
    int64_t line;   /* the number of the line at `next` */
    int bad;        /* the last failure was a bad line: skip_bad may continue */
    const char *id; /* of the example that is being read, id_length bytes; NULL: it has none */
    size_t id_length;
    char *normal; /* text in NFC */
    int64_t normal_room;
    at_bytes joined; /* several labels, or lines, one after another */
} at_reader;

/* The next line, 0 at the end. A CR before the LF is part of the end. */
int at_reader_line(at_reader *reader, at_line *line);
int at_line_is_blank(const at_line *line); /* nothing but spaces and tabs */

/* Fails with "file:line: ..." for content that is wrong. Control characters, which content may bring in,
 * become question marks. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
attn_status
at_reader_bad(at_reader *reader, int64_t line, const char *format, ...);
/* The same about the file as a whole: "file: ..."; never left out. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
attn_status
at_reader_fail(at_reader *reader, const char *format, ...);

/* Fails as above where bytes, which begin in line `line`, are not UTF-8 or have a 0 among them. */
attn_status at_reader_check(at_reader *reader, const char *text, size_t length, int64_t line);

/* What the status of one example means for the file: OK continues; a bad one is taken back, counted and noted
 * where skip_bad says so, which is OK too; other failures stay. */
attn_status at_reader_settle(at_reader *reader, attn_status status);

/* Adds a token (or text), or the value of a target, in NFC; a target is split at the label separator. */
attn_status at_reader_token(at_reader *reader, const char *text, size_t length, int64_t line, int glued);
attn_status at_reader_target(at_reader *reader, const char *text, size_t length);

/* Fails where a value that is to be one label has a line break, which would make several of it. */
attn_status at_reader_one_line(at_reader *reader, const char *text, size_t length, int64_t line);

/* Lets `read` see the first row of the file, which says what columns there are, wherever the bytes begin. */
attn_status at_reader_head(at_reader *reader, attn_status (*read)(void *user), void *user);

/* Adds to a list, in NFC. */
attn_status at_reader_add(at_reader *reader, at_strings *list, const char *text, size_t length);

/* Whether all targets of the token (or text) that was added last are missing, though they must be there. */
int at_reader_unlabelled(const at_reader *reader);

/* The readers: each fills reader->dataset, which has no columns yet. */
attn_status at_read_conllu(at_reader *reader);
attn_status at_read_columns(at_reader *reader);
attn_status at_read_table(at_reader *reader);
attn_status at_read_fasttext(at_reader *reader);
attn_status at_read_lines(at_reader *reader);
attn_status at_read_paragraphs(at_reader *reader);
attn_status at_read_pairs(at_reader *reader);
attn_status at_read_jsonl(at_reader *reader);
/* Pairs from two texts; the dataset is that of `sources`, and `targets` has none. */
attn_status at_read_parallel(at_reader *sources, at_reader *targets);
/* The error that two texts have these numbers of lines. */
attn_status at_fail_uneven(attn_context *context, const char *sources, int64_t source_count,
                           const char *targets, int64_t target_count);

/* ---- the whole ---- */

typedef struct at_content {
    const char *name; /* for errors */
    const char *bytes;
    size_t count;
} at_content;

at_reader at_reader_of(attn_context *context, at_content text, int64_t first_line,
                       const attn_reader_options *options);
/* At the beginning of a file, skips a byte order mark and looks at whether this is a text at all. */
attn_status at_reader_open(at_reader *reader);
/* Which format it is, and whether that suits the task. */
attn_status at_reader_format(at_reader *reader);
/* Reads all of it; `targets` is NULL, but for pairs from two texts. What the reader holds is gone after. */
attn_status at_reader_parse(at_reader *reader, at_reader *targets, attn_dataset **dataset);
/* Fails if there is no example. */
attn_status at_reader_found(at_reader *reader);
/* at_text_judge of what is there of a file, from that line on. */
attn_status at_reader_judge(attn_context *context, at_content text, int64_t first_line, size_t judged,
                            const attn_reader_options *options);
/* Whether the first line of a file is a pair by itself: then a second file is more of them. */
int at_holds_pairs(at_content file);

/* pieces.c: files that are read piece by piece, on all threads. source->bytes are NULL. */
attn_status at_read_files(attn_context *context, const at_source *source, attn_dataset **dataset);

/* attn_dataset_read_parallel from memory. The options have been checked. */
attn_status at_parse_parallel(attn_context *context, at_content sources, at_content targets,
                              const attn_reader_options *options, attn_dataset **dataset);

/* The format, from the name and the content; AUTO if it cannot be told. */
attn_format at_detect_format(const at_reader *reader);
/* What parts the columns of a table, from its name and first line; and what parts the names in its first
 * line, 0 if that is no header. */
char at_table_delimiter(const at_reader *reader);
char at_header_delimiter(const at_reader *reader, const at_line *line);
/* Whether a header may have such a column of texts, or of labels. */
int at_is_text_name(const char *name, size_t length);
int at_is_label_name(const char *name, size_t length);
/* Whether text is a line of JSON that may be an object. */
int at_looks_like_object(const char *text, size_t length);

#endif
