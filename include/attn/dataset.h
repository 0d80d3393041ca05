/* dataset.h: examples with their targets, from files or from memory.
 *
 *     attn_reader_options options;
 *     attn_reader_options_init(&options);
 *     if (attn_dataset_read(context, "train.conllu", &options, &train) != ATTN_OK)
 *         puts(attn_context_error(context));       "train.conllu:17: 9 columns, a token line has 10"
 *
 * An example is a sequence of rows: the tokens of a sentence, the vectors of a sequence. A text that is not
 * yet split into units is a single row. The kind of input (options.input, attn_input_name) defines what a row
 * is. Formats of text:
 *
 *     CONLLU    ten columns per token, blank lines between sentences. Multi-word ranges (1-2) and empty
 *               nodes (1.1) are not tokens; they and the comments stay in the source text.
 *               Targets: UPOS (default), XPOS, FEATS, ..., MISC:Key, FEATS:Key; several with commas.
 *               "_" is a missing value, except for FEATS, FEATS:Key and MISC:Key, where it means "none"
 *     COLUMNS   token TAB tag [TAB tag ...], blank lines between sequences; spaces in place of TABs where
 *               the first line has no TAB. Targets: `tag` (column 2), or column numbers ("3,4"), which are
 *               required with more than two columns
 *     TABLE     TSV or CSV, one text per row. The first row is a header in a CSV, and in a TSV if it has a
 *               requested column or one called text, sentence, review, ..., label, class, target, ...; else
 *               rows are label TAB text. If columns are requested by number ("1"), there is no header.
 *               Targets: the requested columns, else `label` (or a similar name), else the only other column
 *     FASTTEXT  __label__A __label__B the text
 *     JSONL     one JSON object per line: {"text": "...", "label": "..."}. The text field is found as in a
 *               table; labels are strings, numbers, true, false, or lists (several labels); null and absent
 *               fields are missing. If an object has a list of tokens, in `tokens` or in the field that
 *               text_column names, it is an example with one row per token, and its targets are lists of as
 *               many tags: `tags` (or a similar name), or the requested fields. For pairs the fields are
 *               `source` and `target`, or the requested ones. All objects of a file are of one kind
 *     LINES     one text per line, without targets: for prediction and for training language models
 *     PARAGRAPHS  raw text with blank lines between paragraphs, without targets. Each paragraph is one text;
 *               its lines are joined with spaces. AUTO does not find it
 *     PAIRS     source TAB target, one pair per line. With more columns, text_column and column give
 *               their numbers (from 1). Blank lines are left out. AUTO does not find it: the task selects
 *               it. Without targets (labelled 0) a line without a TAB is a source, and an empty line an
 *               empty source. The target column is called "target"
 *
 * AUTO takes the first of these rules that applies (.gz at the end of a name is ignored):
 *
 *     pairs is 1                                               JSONL for JSON objects, else PAIRS
 *     the name ends in .conllu                                 CONLLU
 *     the first token line has ten columns and begins with
 *     a number                                                 CONLLU
 *     the name ends in .jsonl or .ndjson                       JSONL
 *     the name ends in .csv                                    TABLE
 *     the name ends in .ft or .fasttext                        FASTTEXT
 *     the first line is a JSON object                          JSONL
 *     the first line begins with __label__                     FASTTEXT
 *     the name ends in .conll                                  COLUMNS
 *     the first line has column names                          TABLE
 *     the first line has a TAB                                 COLUMNS, TABLE or LINES, see below
 *     the name ends in .tsv or .tab, with targets              TABLE
 *     no targets (labelled 0)                                  LINES; an empty line is an empty text
 *
 * With a TAB in the first line, a file with targets is COLUMNS if no line contains a space and blank lines
 * separate groups of lines; otherwise it is TABLE. (With per_token 1, for tags, one of these two conditions
 * is enough for COLUMNS.) Without targets the first line alone decides: with per_token 1 it is COLUMNS, or
 * LINES if the line contains a space; with per_token 0, for texts, it is TABLE.
 *
 * Files may be gzip, also with several members. They are UTF-8, with or without BOM, with LF or CRLF; text is
 * normalised to NFC. A line break in a quoted label is an error, unless label_separator is '\n': then it
 * separates labels. A file that is not UTF-8, a NUL byte, a line with too few columns, a token without a tag
 * and similar faults are errors that name file and line; with skip_bad such lines (sentences) are left out
 * and counted. A file without examples is an error.
 *
 * Threads. Functions that return a status, and those that change a dataset, are for the thread of its
 * context. The others write nothing into the dataset, so several threads may call them at once while no
 * thread changes it. Functions without a dataset or a context may be called by any thread.
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
    ATTN_FORMAT_PAIRS = 6,
    ATTN_FORMAT_JSONL = 7,
    ATTN_FORMAT_PARAGRAPHS = 8
} attn_format;

/* The kinds of input: name and a line of help; NULL out of range. The parameter `input` is the name of a
 * kind; NULL: the first kind, text. attn_input_format: the name of a format by its number (0 is "auto"); NULL
 * out of range. attn_input_find_format: the number of a format by its name; -1 if there is none.
 * attn_input_of_file: the kind that a file's name indicates, else the first. attn_input_row, _example,
 * _encoders and _of_file never return NULL. */
ATTN_API int attn_input_count(void);
ATTN_API const char *attn_input_name(int index);
ATTN_API const char *attn_input_help(int index);
ATTN_API const char *attn_input_row(const char *input);     /* what a row is called: "unit" */
ATTN_API const char *attn_input_example(const char *input); /* and an example: "text" */
/* The encoders that suit its rows, separated by commas. Those that use the order of the rows are among them
 * only if the rows have an order. */
ATTN_API const char *attn_input_encoders(const char *input);
ATTN_API const char *attn_input_format(const char *input, int format);
ATTN_API int attn_input_find_format(const char *input, const char *format);
ATTN_API const char *attn_input_of_file(const char *path);

typedef struct attn_reader_options {
    size_t size;             /* sizeof(attn_reader_options), set by the init function */
    const char *input;       /* NULL or "": text */
    attn_format format;      /* for text an attn_format; for another kind of input the number of its format
                                (attn_input_find_format) */
    const char *column;      /* NULL or "": the format's default; several are separated by commas */
    const char *text_column; /* TABLE, JSONL: NULL or "": `text`, `sentence`, `review`, or the only other
                                column. PAIRS: the number of the source's column */
    char label_separator;    /* separates several labels in one field ("a|b"); 0 after init: a field is one
                                label. With a separator an empty field means no labels and is not an error */
    int labelled;            /* 1 after init: targets are required. 0: they may be missing, for prediction */
    int per_token; /* 1: tokens have targets (tasks with tags); a labelled file whose texts have targets is
                      then an error. 0: texts have targets; labelled tokens are an error. -1 after init:
                      either */
    int pairs; /* 1: pairs (tasks that learn from them). 0: two files are an error. -1 after init: either */
    int skip_bad;           /* bad lines (sentences) are left out and counted */
    int stop_at_bad;        /* reading stops before the first bad line and keeps the examples before it
                               (attn_dataset_stopped) */
    int64_t expanded_limit; /* largest size of a decompressed file in bytes: 2^40 after init */
    int64_t expanded_ratio; /* largest ratio of decompressed to compressed size, checked from 8 MiB on: 200
                               after init; 0: no limit but expanded_limit */

    /* The format to use if AUTO cannot tell it from the content, such as that of the model's training data.
     * AUTO after init. */
    attn_format usual;
    /* For a file that is parsed in pieces (attn_reader_pieces). piece: not 0: these bytes are a piece, which
     * may be without examples. head: NULL for the first piece; for later pieces the beginning of the first
     * one, which determines the columns. attn_dataset_head returns its length. */
    int piece;
    const char *head;
    size_t head_length;

    /* The split into training, validation and test data: see attn_dataset_part. NULL or "" after init. */
    const char *split_column; /* the column with the part of each example (train, val, test, none). A field
                                 may also hold several splits, one letter each (t: training, v: validation,
                                 s: test), such as "ttvs". split_column "splits10:3" then takes letter 3,
                                 counted from 0, of each field of the column splits10 */
    const char *split;      /* how to draw it: "random", "random:7" (another draw), or a method of the kind of
                               input (molecules: "scaffold") */
    const char *split_file; /* a file with a word per example (per node, where nodes have targets) */

    /* NULL, or called a few times per second while a large file is read, by the reading thread: `done` of its
     * `total` bytes are read (total 0: not known). NULL after init. */
    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
} attn_reader_options;
ATTN_INIT(attn_reader_options)

/* Reads a file; "-" is not special. options NULL: the defaults. A compressed file is checked while it is
 * decompressed: reading stops as soon as it is not text or becomes too large. Errors: INVALID_ARGUMENT (bad
 * content: the message has file, line and what is wrong), SYSTEM_ERROR (the file cannot be read), OVERFLOW
 * (expanded_limit, expanded_ratio), UNSUPPORTED (a kind of file that this build cannot read; options of a
 * newer caller), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_read(attn_context *context, const char *path,
                                       const attn_reader_options *options, attn_dataset **dataset);

/* Pairs from two files, line by line: line i of `targets` is the target of line i of `sources`. Lines that
 * are blank in both are left out; a line that is blank in one of them is a bad line. The files must have the
 * same number of lines. Line numbers are those of the sources. Without targets (labelled 0) no line is left
 * out, and blank lines are not bad. options->format and the columns are ignored.
 * Errors as attn_dataset_read, and INVALID_ARGUMENT for files of different length. */
ATTN_API attn_status attn_dataset_read_parallel(attn_context *context, const char *sources,
                                                const char *targets, const attn_reader_options *options,
                                                attn_dataset **dataset);

/* Several files as one dataset, in their order. They must have one format and the same columns. Two files are
 * read as pairs, like attn_dataset_read_parallel, if options say so (attn_reader_files is 2), unless the
 * first line of each is already a pair (it has a TAB, or is a JSON object). bytes NULL: the file is read;
 * else its content is these bytes, plain or gzip. Messages of errors name the file. A plain struct: it will
 * not grow. */
typedef struct attn_file {
    const char *name;
    const char *bytes;
    size_t count;
} attn_file;
/* Errors as attn_dataset_read. */
ATTN_API attn_status attn_dataset_read_files(attn_context *context, const attn_file *files, int count,
                                             const attn_reader_options *options, attn_dataset **dataset);
/* Appends the examples of `more`, which does not change. On failure `dataset` may have a part of them.
 * Errors: INVALID_ARGUMENT (NULL, other columns or another kind), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_append(attn_dataset *dataset, const attn_dataset *more);

/* The same as attn_dataset_read, from memory (not gzip). In messages of errors, `name` is the file's name and
 * first_line the number of the first line.
 * Errors as attn_dataset_read. */
ATTN_API attn_status attn_dataset_parse(attn_context *context, const char *name, int64_t first_line,
                                        const char *bytes, size_t count, const attn_reader_options *options,
                                        attn_dataset **dataset);
ATTN_API void attn_dataset_destroy(attn_dataset *dataset); /* NULL is allowed */

/* The format that AUTO finds for a file that has this name and begins with these bytes (a few lines are
 * enough); AUTO if they do not decide it. */
ATTN_API attn_format attn_dataset_detect(const char *name, const char *bytes, size_t count,
                                         const attn_reader_options *options);

/* attn_reader_pieces: where a file of options.input and options.format may be cut into pieces that are parsed
 * separately. 0: at every line; 1: at blank lines; 2: at every line end outside of quoted fields; -1:
 * nowhere, and for NULL. attn_reader_quotes: the field separator (',' or ';') of a file that begins with
 * these bytes, if its fields may be quoted (TABLE without TABs); 0 if they may not. */
ATTN_API int attn_reader_pieces(const attn_reader_options *options);
ATTN_API char attn_reader_quotes(const char *name, const char *bytes, size_t count,
                                 const attn_reader_options *options);
/* The number of bytes at the beginning of the parsed text that determine the columns: a header or, without
 * one, the first line. For the pieces that follow, these bytes are options.head. 0: the pieces do not depend
 * on the first one. */
ATTN_API size_t attn_dataset_head(const attn_dataset *dataset);
/* Decompresses gzip in memory, within expanded_limit and expanded_ratio of the options; release *text with
 * attn_text_release. Errors: INVALID_ARGUMENT (NULL, damaged, cut off), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_gzip_expand(attn_context *context, const char *name, const char *bytes,
                                      size_t count, const attn_reader_options *options, char **text,
                                      size_t *length);
/* How many files form one dataset: 2 for pairs (sources and targets) and the like, else 1; 1 for NULL. */
ATTN_API int attn_reader_files(const attn_reader_options *options);

/* ---- properties and content ---- */

ATTN_API const char *attn_dataset_name(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_input(const attn_dataset *dataset);  /* the kind */
ATTN_API attn_format attn_dataset_format(const attn_dataset *dataset); /* not AUTO, except for NULL */
ATTN_API int64_t attn_dataset_examples(const attn_dataset *dataset);
ATTN_API int64_t attn_dataset_skipped(const attn_dataset *dataset); /* bad lines or sentences left out */
/* Why the first hundred of them were left out: "train.conllu:17: 9 columns, a token line has 10". */
ATTN_API const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index);

/* attn_dataset_stopped: OK if reading did not stop at a bad line, and for NULL. Errors: the status of the bad
 * line at which reading stopped (stop_at_bad without skip_bad); its message is then
 * attn_dataset_problem(dataset, 0). attn_dataset_consumed: if reading stopped, the number of bytes before
 * that line (or sentence); the examples are from these bytes. */
ATTN_API attn_status attn_dataset_stopped(const attn_dataset *dataset);
ATTN_API size_t attn_dataset_consumed(const attn_dataset *dataset);

/* 1 if targets belong to rows (the tokens of CONLLU and COLUMNS), 0 if they belong to examples. */
ATTN_API int attn_dataset_tokenized(const attn_dataset *dataset);
/* The number of rows of an example. */
ATTN_API int64_t attn_dataset_rows(const attn_dataset *dataset, int64_t example);
/* The name of a row: the token or the text itself, the name of a node; NULL if rows have no names. */
ATTN_API const char *attn_dataset_row_name(const attn_dataset *dataset, int64_t example, int64_t row);

/* tokens, token: the rows of an example and their names if the input is text (a text that is not split is one
 * token); 0 and NULL for other kinds of input. line: the number of the line that a row is from. */
ATTN_API int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token);
ATTN_API int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t token);

/* file: the name of the file that an example is from. id: its identifier in the data (a column or field `id`,
 * or "# sent_id = "), "" if it has none. */
ATTN_API const char *attn_dataset_file(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_id(const attn_dataset *dataset, int64_t example);

/* Targets: how many columns of them, the name of a column, and a value. If examples have the targets, token
 * is 0; else it is the number of the token. With label_separator, or in FASTTEXT, a value may be several
 * labels with '\n' between them. "" is a missing value. */
ATTN_API int attn_dataset_columns(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_column(const attn_dataset *dataset, int column);
ATTN_API const char *attn_dataset_target(const attn_dataset *dataset, int column, int64_t example,
                                         int64_t token);

/* CONLLU: the lines of an example as they are in the file, with comments, each ended by '\n'. "" for other
 * formats of text; NULL for other kinds of input. */
ATTN_API const char *attn_dataset_source(const attn_dataset *dataset, int64_t example);

/* ---- from memory ---- */

/* From texts. offsets NULL: each text is an example; else texts offsets[e] .. offsets[e + 1] - 1 are the
 * tokens of example e ([examples + 1], rising from 0). They are copied and normalised to NFC. Errors:
 * INVALID_ARGUMENT (NULL, or a text that is not UTF-8; the message names it), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_texts(attn_context *context, const char *const *texts,
                                             const int64_t *offsets, int64_t examples,
                                             attn_dataset **dataset);
/* From vectors: row i is rows[i * columns] .. rows[(i + 1) * columns - 1]; offsets NULL: each row is an
 * example; else rows offsets[e] .. offsets[e + 1] - 1 are example e ([examples + 1], rising from 0; an
 * example may have none). They are copied. Errors: INVALID_ARGUMENT (NULL, or a number that is not finite;
 * the message has its row and column), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_rows(attn_context *context, const float *rows, int64_t columns,
                                            const int64_t *offsets, int64_t examples, attn_dataset **dataset);
/* From recordings of one channel: samples offsets[e] .. offsets[e + 1] - 1 are example e ([examples + 1],
 * rising from 0; none is empty), `rate` of them per second, with full scale 1. Each sample is a row. They are
 * copied. Errors: INVALID_ARGUMENT (NULL, a sample that is not finite, an impossible rate), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_samples(attn_context *context, const float *samples,
                                               const int64_t *offsets, int64_t examples, int64_t rate,
                                               attn_dataset **dataset);
/* Divides recordings into segments, which become the rows. Targets that were set before are removed; segments
 * get targets of their own by attn_dataset_set_targets with per_row 1. Example e has segments offsets[e] ..
 * offsets[e + 1] - 1, at least one; segment i has samples starts[i] .. ends[i] - 1. Segments are in order;
 * gaps are allowed. Errors: INVALID_ARGUMENT (NULL, a dataset that is not of recordings, offsets that do not
 * increase from 0, a segment that overlaps the one before or ends after the recording), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_set_segments(attn_dataset *dataset, const int64_t *offsets,
                                               const int64_t *starts, const int64_t *ends);
/* From images: picture i has heights[i] x widths[i] pixels, row by row, of `channels` samples each (1: grey;
 * 3: red, green, blue); those of the next picture follow. Samples are usually 0 (black) to 255, and must be
 * finite. They are copied; whole numbers from 0 to 255 are stored as bytes. Errors: INVALID_ARGUMENT (NULL,
 * an empty or too large picture, a sample that is not finite; the message names it), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_images(attn_context *context, const float *samples,
                                              const int64_t *heights, const int64_t *widths, int channels,
                                              int64_t examples, attn_dataset **dataset);
/* Replaces the targets of a dataset: the value of column c for item i is values[i * columns + c]; NULL or ""
 * is missing. An item is a row with per_row, else an example. Errors: INVALID_ARGUMENT (NULL, columns below
 * 1, a value that is not UTF-8), OUT_OF_MEMORY; the dataset then keeps its targets. */
ATTN_API attn_status attn_dataset_set_targets(attn_dataset *dataset, int columns, const char *const *names,
                                              const char *const *values, int per_row);
/* The same with numbers; NaN is missing. Errors: INVALID_ARGUMENT (NULL, columns below 1, an infinite value),
 * OUT_OF_MEMORY; the dataset then keeps its targets. */
ATTN_API attn_status attn_dataset_set_numbers(attn_dataset *dataset, int columns, const char *const *names,
                                              const double *values, int per_row);

/* ---- training, validation and test ----
 *
 * Data may assign each example (or each node, if nodes of graphs have targets) to training, validation (by
 * which the best model is chosen) or testing. */

typedef enum attn_part {
    ATTN_PART_NONE = 0,
    ATTN_PART_TRAIN = 1,
    ATTN_PART_VAL = 2,
    ATTN_PART_TEST = 3
} attn_part;

/* find: a part by name: train; val, valid, validation or dev; test; none, or "", which is ATTN_PART_NONE. -1
 * for another word and for NULL. name: the name of a part; NULL out of range. */
ATTN_API int attn_part_find(const char *name);
ATTN_API const char *attn_part_name(attn_part part);

/* The number of examples (nodes, if those have targets) in a part. If it is 0 for every part, the data has no
 * split. */
ATTN_API int64_t attn_dataset_part_size(const attn_dataset *dataset, attn_part part);
/* Sets the part of each example (row): parts[i] is an attn_part. parts NULL removes the split.
 * Errors: INVALID_ARGUMENT (dataset NULL, a number that is not an attn_part), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_set_parts(attn_dataset *dataset, const int *parts);
/* The examples of a part, as a new dataset. If it is rows that have parts, the new dataset has all rows,
 * because they see each other, but only the targets of this part; it shares the rows with `dataset`, which
 * must outlive it, and nothing can be appended to it. Errors: INVALID_ARGUMENT (NULL, or the data has no such
 * part), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_part(const attn_dataset *dataset, attn_part part, attn_dataset **selected);

/* ---- what is in it ---- */

typedef struct attn_examination attn_examination; /* attn/examine.h */

typedef struct attn_describe_options {
    size_t size;                         /* sizeof(attn_describe_options), set by the init function */
    int json;                            /* one JSON object, else lines of text */
    int bold;                            /* headings are bold, as terminals show it */
    const char *names[2];                /* of the files; NULL: the dataset's name, and no second file */
    const char *unlabelled;              /* NULL, or why the data cannot be learned from */
    const char *task;                    /* NULL, or the task that it is for */
    const attn_examination *examination; /* NULL, or the findings of attn_examine, added at the end */
} attn_describe_options;
ATTN_INIT(attn_describe_options)
/* Describes a dataset: number and length of examples, classes, missing values, duplicates, bad lines. Release
 * the text with attn_text_release. Control characters are escaped. options NULL: the defaults. *text is
 * untouched on failure.
 * Errors: INVALID_ARGUMENT (NULL), UNSUPPORTED (options of a newer caller), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                           char **text);
/* Releases a text that the library gave to the caller. context: the one of the call that made it. NULL is
 * allowed. */
ATTN_API void attn_text_release(attn_context *context, char *text);
/* A property of the data that changes how a model learns from it (of a graph: whether it is directed), as one
 * line without its line end. Release it with attn_text_release; NULL: there is none.
 * Errors: INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_note(const attn_dataset *dataset, char **text);

/* A hash of the content of a dataset, in order: rows and their names, targets, ids, the lines of CoNLL-U,
 * parts. File names do not count. */
ATTN_API uint64_t attn_dataset_fingerprint(const attn_dataset *dataset);

/* The examples with these numbers, in that order, as a new dataset.
 * Errors: INVALID_ARGUMENT (NULL, a number out of range), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                         attn_dataset **selected);

ATTN_END_DECLS

#endif
