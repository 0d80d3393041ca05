/* dataset.h: examples with what is to be learned of them, from files or from memory.
 *
 *     attn_reader_options options;
 *     attn_reader_options_init(&options);
 *     if (attn_dataset_read(context, "train.conllu", &options, &train) != ATTN_OK)
 *         puts(attn_context_error(context));       "train.conllu:17: 9 columns, a token line has 10"
 *
 * An example is a run of rows: the tokens of a sentence, the vectors of a sequence; a text is one row. What a
 * row is depends on the kind of input (attn_input_name): options.input says which. Formats of text:
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
 *     JSONL     an object of JSON a line: {"text": "...", "label": "..."}. The text is the field that a table
 *               would take; labels are strings, numbers, true, false, or lists (several labels); null and
 *               fields that are not there are missing. With a list `tokens` (or text_column, if that is a
 * list) examples are tokens, with lists of tags: `tags`, or the fields asked for. For pairs the fields are
 * `source` and `target`, or those asked for. All objects of a file are of one kind LINES     one text a line,
 * nothing to learn: what is predicted on, and running text PAIRS     source TAB target, one pair a line: a
 * text and the text to be made of it. With other columns, text_column and column say their numbers (1 and
 * up). Blank lines are left out. Not found by AUTO: the task says it. Where nothing is to be learned
 * (labelled 0) a line without a TAB is a source, an empty line an empty one. The target column is called
 * "target"
 *
 * AUTO: a first token line of ten columns that begins with a number is CONLLU; then the name says it
 * (.conllu, .jsonl, .csv, .ft, .fasttext), or a first line that is an object of JSON, begins with __label__,
 * or names columns. A file with TABs is COLUMNS if blank lines stand between others and no field has a space
 * (for tags, per_token 1, one of these is enough), else TABLE. Where nothing is to be learned (labelled 0),
 * the first line alone decides: with a TAB it is COLUMNS for tags (unless it has a space), TABLE for texts
 * (per_token 0); all else is LINES, an empty line being an empty text.
 *
 * Files may be gzip, in several parts; they are UTF-8, with or without BOM, LF or CRLF; text is brought to
 * NFC. A line break in a quoted label is an error, unless label_separator is '\n': then it parts labels. A
 * file that is not UTF-8, a NUL byte, a line with too few columns, a token without a tag and the like
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
    ATTN_FORMAT_PAIRS = 6,
    ATTN_FORMAT_JSONL = 7,
    ATTN_FORMAT_PARAGRAPHS = 8
} attn_format;

/* The kinds of input there are: name and a line of help; NULL out of range. By name: what its rows and
 * examples are called. Names of the formats of a kind (input NULL: the first), and the number of one, -1 if
 * there is no such format; number 0 is "auto". The kind that a file's name tells: never NULL. */
ATTN_API int attn_input_count(void);
ATTN_API const char *attn_input_name(int index);
ATTN_API const char *attn_input_help(int index);
ATTN_API const char *attn_input_row(const char *input);     /* what a row is called: "unit" */
ATTN_API const char *attn_input_example(const char *input); /* and an example: "text" */
/* Encoders that make sense for its rows, with commas between them: those that go by the order of rows only
 * where there is one. */
ATTN_API const char *attn_input_encoders(const char *input);
ATTN_API const char *attn_input_format(const char *input, int format);
ATTN_API int attn_input_find_format(const char *input, const char *format);
ATTN_API const char *attn_input_of_file(const char *path);

typedef struct attn_reader_options {
    size_t size;             /* sizeof(attn_reader_options), set by the init function */
    const char *input;       /* NULL or "": text */
    attn_format format;      /* a number of the kind's formats; attn_format names those of text */
    const char *column;      /* NULL or "": the format's default; several with commas between them */
    const char *text_column; /* TABLE, JSONL: NULL or "": `text`, `sentence`, `review`, or the only other
                                column. PAIRS: the number of the source's column */
    char label_separator;    /* of several labels in one field ("a|b"): 0 after init: they are not split. With
                                one, an empty field is no error but no label */
    int labelled;            /* 1 after init: targets must be there. 0: they may be missing, for prediction */
    int per_token;           /* -1 after init: what the format says. Tasks that want tags say 1, and then a
                                labelled file of texts is an error that says so; 0: the other way round */
    int pairs; /* -1 after init. Tasks that learn from pairs say 1; 0: two files are an error that says so */
    int skip_bad;    /* bad lines (sentences) are left out and counted */
    int stop_at_bad; /* reading ends before the first bad one, and what was read stays: attn_dataset_stopped
                      */
    int64_t expanded_limit; /* bytes that a file may have after expansion: 2^40 after init */
    int64_t expanded_ratio; /* how many times its own size a compressed file may become, looked at when it has
                               become 8 MiB: 200 after init; 0: whatever expanded_limit allows */

    /* Where AUTO cannot tell by the content: the format that a model was told to learn from. AUTO after init.
     */
    attn_format usual;
    /* Pieces of a file, each parsed by itself (attn_reader_pieces). piece: no error if it has no example.
     * head: NULL for the first piece; for those after it the first attn_dataset_head bytes of that one, which
     * say what columns there are. */
    int piece;
    const char *head;
    size_t head_length;

    /* What is for training, validation and testing: see attn_dataset_part. NULL or "" after init. */
    const char *split_column; /* the column that says it; several splits in one column: "splits10:3" is the
                                 fourth letter of column splits10 */
    const char *split;      /* how to draw it: "random", "random:7" (another draw), or what the kind of input
                               has (molecules: "scaffold") */
    const char *split_file; /* a file with a word per example (per node, where nodes have targets) */

    /* NULL, or told some times a second how far reading of a large file has come: so many of its bytes, of
     * so many (0: not known). It is called by the thread that reads. NULL after init. */
    void (*progress)(void *user, const char *name, int64_t done, int64_t total);
    void *progress_user;
} attn_reader_options;
ATTN_API void attn_reader_options_init(attn_reader_options *options);

/* Reads a file; "-" is not special. *dataset is untouched on failure. Errors: INVALID_ARGUMENT for bad
 * content (file:line: what is wrong), SYSTEM_ERROR for files that cannot be read, OUT_OF_MEMORY,
 * OVERFLOW (expanded_limit, expanded_ratio). A compressed file is judged while it is expanded: one that is no
 * text, or that would become too large, takes neither time nor memory. */
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

/* Several files as one set of examples, in their order: of one format and with the same columns. Two files
 * are read line by line, as attn_dataset_read_parallel does, where options say so (attn_reader_files is 2),
 * unless the first line of each is a pair by itself (it has a TAB, or is an object of JSON). bytes NULL: the
 * file is read; else it is these bytes, plain or gzip. Errors name the file. attn_dataset_append does it with
 * datasets that were read: `more` stays as it is; on failure `dataset` may have a part of it. */
typedef struct attn_file {
    const char *name;
    const char *bytes;
    size_t count;
} attn_file;
ATTN_API attn_status attn_dataset_read_files(attn_context *context, const attn_file *files, int count,
                                             const attn_reader_options *options, attn_dataset **dataset);
ATTN_API attn_status attn_dataset_append(attn_dataset *dataset, const attn_dataset *more);

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

/* How files of options.input and options.format can be cut into pieces that are parsed by themselves: 0: at
 * every line; 1: at blank lines; 2: at every line end that does not stand in a quoted field; -1: not at all.
 * attn_reader_quotes: what parts fields that may be quoted in a file that begins so; 0: none is. */
ATTN_API int attn_reader_pieces(const attn_reader_options *options);
ATTN_API char attn_reader_quotes(const char *name, const char *bytes, size_t count,
                                 const attn_reader_options *options);
/* How many bytes at the beginning of what was parsed say what columns there are: options.head for the pieces
 * that follow. 0: nothing says it. */
ATTN_API size_t attn_dataset_head(const attn_dataset *dataset);
/* Expands gzip in memory, as far as expanded_limit and expanded_ratio of the options allow; *text is to be
 * released with attn_text_release. Errors: INVALID_ARGUMENT (damaged, cut off), OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_gzip_expand(attn_context *context, const char *name, const char *bytes,
                                      size_t count, const attn_reader_options *options, char **text,
                                      size_t *length);
/* How many files can be read together: 2 for pairs (sources and targets) and the like, else 1. */
ATTN_API int attn_reader_files(const attn_reader_options *options);

ATTN_API const char *attn_dataset_name(const attn_dataset *dataset);
ATTN_API const char *attn_dataset_input(const attn_dataset *dataset);  /* the kind */
ATTN_API attn_format attn_dataset_format(const attn_dataset *dataset); /* never AUTO */
ATTN_API int64_t attn_dataset_examples(const attn_dataset *dataset);
ATTN_API int64_t attn_dataset_skipped(const attn_dataset *dataset); /* bad lines or sentences left out */
/* Why the first hundred of them were: "train.conllu:17: 9 columns, a token line has 10". NULL out of range.
 */
ATTN_API const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index);

/* OK, or, with stop_at_bad, why reading ended early: the last problem has the text. */
ATTN_API attn_status attn_dataset_stopped(const attn_dataset *dataset);
/* Then: how many bytes of the text the examples before were read from. */
ATTN_API size_t attn_dataset_consumed(const attn_dataset *dataset);

/* Whether targets stand with rows (tokens; CONLLU, COLUMNS); else with examples. */
ATTN_API int attn_dataset_tokenized(const attn_dataset *dataset);
/* Rows of an example. */
ATTN_API int64_t attn_dataset_rows(const attn_dataset *dataset, int64_t example);
/* What a row is called: the token or the text itself; NULL out of range, or if rows have no names. */
ATTN_API const char *attn_dataset_row_name(const attn_dataset *dataset, int64_t example, int64_t row);

/* Token t of an example, and the line where it (or the text) stands. NULL and 0 out of range. */
ATTN_API int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token);
ATTN_API int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t token);

/* The file that an example is of, if it was put together of several; what the data itself calls it (a column
 * or field `id`, or "# sent_id = "), "" if nothing. NULL out of range. */
ATTN_API const char *attn_dataset_file(const attn_dataset *dataset, int64_t example);
ATTN_API const char *attn_dataset_id(const attn_dataset *dataset, int64_t example);

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

/* ---- from memory ---- */

/* Texts: offsets NULL: each is an example; else text offsets[e] .. offsets[e + 1] - 1 are the tokens of
 * example e ([examples + 1], rising from 0). They are copied, and brought to NFC. Errors: INVALID_ARGUMENT
 * (NULL or not UTF-8: which one), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_texts(attn_context *context, const char *const *texts,
                                             const int64_t *offsets, int64_t examples,
                                             attn_dataset **dataset);
/* Vectors: row i is rows[i * columns] .. rows[(i + 1) * columns - 1]; offsets NULL: each row is an example;
 * else rows offsets[e] .. offsets[e + 1] - 1 are example e ([examples + 1], rising from 0; an example may
 * have none). They are copied. Errors: INVALID_ARGUMENT (a number that is not finite: row and column),
 * OVERFLOW, OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_rows(attn_context *context, const float *rows, int64_t columns,
                                            const int64_t *offsets, int64_t examples, attn_dataset **dataset);
/* Recordings of one channel: samples offsets[e] .. offsets[e + 1] - 1 are example e ([examples + 1], rising
 * from 0; none is empty), `rate` of them a second, full scale being 1. Each is a row. They are copied.
 * Errors: INVALID_ARGUMENT (a sample that is not finite, a rate that cannot be), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_samples(attn_context *context, const float *samples,
                                               const int64_t *offsets, int64_t examples, int64_t rate,
                                               attn_dataset **dataset);
/* The rows of recordings are segments of them from now on, which may get targets with per_row: segments
 * offsets[e] .. offsets[e + 1] - 1 are those of example e, at least one; i goes from sample starts[i] to
 * sample ends[i] - 1. They follow each other, perhaps with gaps. Targets that were there are gone. */
ATTN_API attn_status attn_dataset_set_segments(attn_dataset *dataset, const int64_t *offsets,
                                               const int64_t *starts, const int64_t *ends);
/* Images: picture i has heights[i] x widths[i] pixels, row by row, of `channels` samples each (1: grey; 3:
 * red, green, blue); those of the next picture follow. Samples are usually 0 (black) to 255, and finite in
 * any case. They are copied; those that are whole numbers from 0 to 255 take a byte. Errors: INVALID_ARGUMENT
 * (an empty or too large picture, a sample that is not finite: which one), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_from_images(attn_context *context, const float *samples,
                                              const int64_t *heights, const int64_t *widths, int channels,
                                              int64_t examples, attn_dataset **dataset);
/* The targets of a dataset, instead of those that it has: value of column c at place i is values[i * columns
 * + c]; NULL or "" is missing. A place is a row with per_row, else an example. */
ATTN_API attn_status attn_dataset_set_targets(attn_dataset *dataset, int columns, const char *const *names,
                                              const char *const *values, int per_row);
/* The same with numbers; NaN is missing. */
ATTN_API attn_status attn_dataset_set_numbers(attn_dataset *dataset, int columns, const char *const *names,
                                              const double *values, int per_row);

/* ---- training, validation and test ----
 *
 * Data may say by itself what is for training, for validation (the best model is chosen by it) and for
 * testing: of each example, or, where nodes of graphs have targets, of each node (row). */

typedef enum attn_part {
    ATTN_PART_NONE = 0,
    ATTN_PART_TRAIN = 1,
    ATTN_PART_VAL = 2,
    ATTN_PART_TEST = 3
} attn_part;

/* By name: train; val, valid, validation or dev; test; "" and none. -1: it is something else. The name of a
 * part; NULL out of range. */
ATTN_API int attn_part_find(const char *name);
ATTN_API const char *attn_part_name(attn_part part);

/* How many examples (nodes, where those have targets) are of a part; 0 for all of them: there is no split. */
ATTN_API int64_t attn_dataset_part_size(const attn_dataset *dataset, attn_part part);
/* Says it of each example (row): parts[i] is an attn_part. They are copied; NULL: the data no longer says it.
 */
ATTN_API attn_status attn_dataset_set_parts(attn_dataset *dataset, const int *parts);
/* The examples of a part, as a set of its own. Where rows have parts: all rows, for they see each other, with
 * the targets of this part alone; the set shares the rows with `dataset`, which must outlive it, and nothing
 * can be appended to it. Errors:
 * INVALID_ARGUMENT (the data has no such part), OUT_OF_MEMORY. */
ATTN_API attn_status attn_dataset_part(const attn_dataset *dataset, attn_part part, attn_dataset **selected);

/* ---- what is in it ---- */

typedef struct attn_describe_options {
    size_t size;            /* sizeof(attn_describe_options), set by the init function */
    int json;               /* one object of JSON, else lines of text */
    int bold;               /* headings are bold, as terminals show it */
    const char *names[2];   /* of the files, as the user gave them; NULL: the dataset's, and no second */
    const char *unlabelled; /* NULL, or why the data cannot be learned from */
    const char *task;       /* NULL, or what it is to be good for */
} attn_describe_options;
ATTN_API void attn_describe_options_init(attn_describe_options *options);
/* How many examples and how long, classes, what is missing, what occurs twice, which lines are wrong: text
 * that is to be released with attn_text_release. Control characters are escaped. options NULL: after init.
 * *text is untouched on failure. */
ATTN_API attn_status attn_dataset_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                           char **text);
ATTN_API void attn_text_release(attn_context *context, char *text); /* NULL is allowed */
/* What was found in the data and decides how it is learned from (of a graph: whether it is directed), as one
 * line without its end, to be released with attn_text_release; NULL: there is nothing to say. */
ATTN_API attn_status attn_dataset_note(const attn_dataset *dataset, char **text);

/* A number that tells sets of examples apart by what stands in them, in its order: rows and their names,
 * targets, ids, the lines of CoNLL-U, parts. Where they were read from does not count. 0 for NULL. */
ATTN_API uint64_t attn_dataset_fingerprint(const attn_dataset *dataset);

/* The examples whose numbers are in `examples` (each in range), in that order, as a set of its own. */
ATTN_API attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                         attn_dataset **selected);

ATTN_END_DECLS

#endif
