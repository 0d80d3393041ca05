/* dataset.h: examples read from a file: sequences of tokens, or texts, with what is to be learned of them.
 *
 *     attn_reader_options options;
 *     attn_reader_options_init(&options);
 *     if (attn_dataset_read(context, "train.conllu", &options, &train) != ATTN_OK)
 *         puts(attn_context_error(context));       "train.conllu:17: 9 columns, a token line has 10"
 *
 * Formats:
 *
 *     CONLLU    ten columns a token, blank lines between sentences. Multi-word ranges (1-2) and empty
 *               nodes (1.1) are not tokens; they and the comments stay in the source text.
 *               Targets: UPOS (default), XPOS, FEATS, ..., MISC:Key, FEATS:Key; several with commas.
 *               "_" is a missing value, except for FEATS, FEATS:Key and MISC:Key, where it says "none"
 *     COLUMNS   token TAB tag [TAB tag ...], blank lines between sequences; spaces in place of TABs where
 *               the first line has no TAB. Targets: `tag` (column 2), or column numbers ("3,4"); with more
 *               than two columns they must be said
 *     TABLE     TSV or CSV, one text a row. The first row names the columns in a CSV, and in a TSV where
 *               one of them is asked for or called text, sentence, review, ..., label, class, target, ...;
 *               else rows are label TAB text. Columns asked for by number ("1") mean that no row names
 *               them. Targets: the column `label` (or the like, or the only other one), or those asked for
 *     FASTTEXT  __label__A __label__B the text
 *     LINES     one text a line, nothing to learn: what is predicted on, and running text
 *     PAIRS     source TAB target, one pair a line: a text and the text to be made of it. With other columns,
 *               text_column and column say their numbers (1 and up). Blank lines are left out. Not found by
 *               AUTO: the task says it. Where nothing is to be learned (labelled 0) a line without a TAB is
 *               a source, an empty line an empty one. The target column is called "target"
 *
 * AUTO: a first token line of ten columns that begins with a number is CONLLU; then the name says it
 * (.conllu, .csv, .ft, .fasttext), or a first line with __label__. A file with TABs is COLUMNS if blank lines
 * stand between others and no field has a space (for tags, per_token 1, one of these is enough), else TABLE.
 * Where nothing is to be learned (labelled 0), TABs count in files named .tsv, .tab or .conll only, and all
 * else is LINES, an empty line being an empty text.
 *
 * Files may be gzip, in several parts; they are UTF-8, with or without BOM, LF or CRLF; text is brought to
 * NFC. A file that is not UTF-8, a NUL byte, a line with too few columns, a token without a tag and the like
 * are errors that name file and line; with skip_bad such lines (sentences) are left out and counted. A file
 * without any example is an error.
 */
#ifndef ATTN_DATASET_H
#define ATTN_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>
#include <attn/export.h>
#include <attn/status.h>

ATTN_BEGIN_DECLS

typedef struct attn_dataset attn_dataset;

typedef enum attn_format {
    ATTN_FORMAT_AUTO = 0,
    ATTN_FORMAT_CONLLU = 1,
    ATTN_FORMAT_COLUMNS = 2,
    ATTN_FORMAT_TABLE = 3,
    ATTN_FORMAT_FASTTEXT = 4,
    ATTN_FORMAT_LINES = 5,
    ATTN_FORMAT_PAIRS = 6
} attn_format;

typedef struct attn_reader_options {
    size_t size; /* sizeof(attn_reader_options), set by the init function */
    attn_format format;
    const char *column;      /* NULL or "": the format's default; several with commas between them */
    const char *text_column; /* TABLE: NULL or "": `text`, `sentence`, `review`, or the only other column.
                                PAIRS: the number of the source's column */
    char label_separator;    /* of several labels in one field ("a|b"): 0 after init: they are not split. With
                                one, an empty field is no error but no label */
    int labelled;            /* 1 after init: targets must be there. 0: they may be missing, for prediction */
    int per_token;           /* -1 after init: what the format says. Tasks that want tags say 1, and then a
                                labelled file of texts is an error that says so; 0: the other way round */
    int skip_bad;
    int64_t expanded_limit; /* bytes that a file may have after expansion: 2^32 after init */
} attn_reader_options;
ATTN_API void attn_reader_options_init(attn_reader_options *options);

/* Reads a file; "-" is not special. *dataset is untouched on failure. Errors: INVALID_ARGUMENT for bad
 * content (file:line: what is wrong), SYSTEM_ERROR for files that cannot be read, OUT_OF_MEMORY,
 * OVERFLOW (expanded_limit). */
ATTN_API attn_status attn_dataset_read(attn_context *context, const char *path,
                                       const attn_reader_options *options, attn_dataset **dataset);

/* Pairs from two files, line by line: line i of `targets` is what is to be made of line i of `sources`. Lines
 * that are blank in both are left out; a line that is blank in one of them is bad. A different number of
 * lines is an error that says both. Lines are counted as in the file of sources. Where nothing is to be
 * learned (labelled 0) no line is left out, and none is bad for being blank. options->format and the columns
 * are not looked at. */
ATTN_API attn_status attn_dataset_read_parallel(attn_context *context, const char *sources,
                                                const char *targets, const attn_reader_options *options,
                                                attn_dataset **dataset);

/* The same as attn_dataset_read from memory (not gzip); `name` stands for the file's name in errors and
 * first_line is the number of the first line. */
ATTN_API attn_status attn_dataset_parse(attn_context *context, const char *name, int64_t first_line,
                                        const char *bytes, size_t count, const attn_reader_options *options,
                                        attn_dataset **dataset);
ATTN_API void attn_dataset_destroy(attn_dataset *dataset); /* NULL is allowed */

/* The format that AUTO finds in a file that has this name and begins with these bytes (some lines of it are
 * enough); AUTO if it cannot be told. */
ATTN_API attn_format attn_dataset_detect(const char *name, const char *bytes, size_t count,
                                         const attn_reader_options *options);

ATTN_API const char *attn_dataset_name(const attn_dataset *dataset);
ATTN_API attn_format attn_dataset_format(const attn_dataset *dataset); /* never AUTO */
ATTN_API int64_t attn_dataset_examples(const attn_dataset *dataset);
ATTN_API int64_t attn_dataset_skipped(const attn_dataset *dataset); /* bad lines or sentences left out */
/* Why the first hundred of them were: "train.conllu:17: 9 columns, a token line has 10". NULL out of range.
 */
ATTN_API const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index);

/* Whether examples are sequences of tokens (CONLLU, COLUMNS); else each is one text, and counts as having
 * one token. */
ATTN_API int attn_dataset_tokenized(const attn_dataset *dataset);

/* Token t of an example, and the line where it (or the text) stands. NULL and 0 out of range. */
ATTN_API int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token);
ATTN_API int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t token);

/* Targets: columns by name, and the value for an example (texts: token 0) or a token of it. With
 * label_separator, or in FASTTEXT, a value may be several labels with '\n' between them. "" is a missing
 * value. NULL out of range. */
ATTN_API int attn_dataset_columns(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_column(const attn_dataset *dataset, int column);
ATTN_API const char *attn_dataset_target(const attn_dataset *dataset, int column, int64_t example,
                                         int64_t token);

/* The lines of an example as they stand in the file (CONLLU, comments included, each line ended by '\n');
 * "" for other formats. NULL out of range. */
ATTN_API const char *attn_dataset_source(const attn_dataset *dataset, int64_t example);

/* The examples whose numbers are in `examples` (each in range), in that order, as a set of its own. */
ATTN_API attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                         attn_dataset **selected);

ATTN_END_DECLS

#endif
