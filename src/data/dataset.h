/* dataset.h (private): examples with their targets, for all kinds of input.
 *
 * An example is a sequence of rows (the tokens of a sentence, the vectors of a sequence; a text is one row).
 * The kind of input defines the contents of rows: `content`, with the functions that handle it. Targets are
 * strings, one for every column and every row, or one for every column and every example.
 */
#ifndef AT_DATA_DATASET_H
#define AT_DATA_DATASET_H

#include <attn/dataset.h>

#include "data/strings.h"
#include "data/writer.h"

enum { AT_PROBLEMS = 100 };

/* What a kind of input keeps of its rows. */
typedef struct at_content_kind {
    const char *input; /* the name of the kind of input */
    void (*destroy)(attn_context *context, void *content);
    /* *content = an empty one like `like`: what does not depend on rows is copied. */
    attn_status (*create)(attn_context *context, const void *like, void **content);
    /* Appends rows first .. end - 1, which are example `example` of `from`. */
    attn_status (*append)(attn_context *context, void *content, const void *from, int64_t example,
                          int64_t first, int64_t end);
    /* A number that tells rows apart; of an example, or of all of it. */
    uint64_t (*hash)(const void *content, int64_t first, int64_t end, uint64_t seed);
    const char *(*row_name)(const void *content, int64_t row); /* NULL: rows have no names */
    /* Rows first .. end - 1, which are example `example`, as running text; NULL: they are none. */
    void (*text)(const void *content, int64_t example, int64_t first, int64_t end, at_writer *writer);
    int rows_split; /* where rows have targets, they are what is split into training, validation and test */
    int written; /* names of rows are what somebody wrote: texts that may differ in case and spaces alone */
} at_content_kind;

/* Where examples are in the bytes that they were read from, for answers that go back into them. */
typedef struct at_placement {
    int64_t *ends, end_room, end_count; /* up to where each example's lines go, the line end included */
    size_t head;    /* up to where the first row goes, which says what columns there are; 0: not in them */
    size_t header;  /* up to where the row goes that names the columns; 0: there is none in them */
    char delimiter; /* between columns; 0: there are none */
} at_placement;

struct attn_dataset {
    attn_context *context;
    at_strings name; /* of the file; several, if it was put together of several */
    attn_format format;
    int per_row; /* a target for every row, else one for every example */
    int pairs;   /* targets are texts to be made of the examples, whatever the format */
    int64_t examples, skipped;
    at_strings problems; /* why the first AT_PROBLEMS of the skipped ones were bad */
    attn_status stopped; /* OK, or why reading ended early: the last of `problems` has the text */
    size_t consumed;     /* then: the bytes that the examples before were read from */

    const at_content_kind *kind;
    void *content;
    int64_t rows;
    int64_t *offsets, offset_room; /* [examples + 1]: the rows of each example */
    int64_t *lines, line_room;     /* [rows]: where each is in its file */
    int32_t *files;                /* NULL, or [rows]: which of the files that is */
    int64_t file_room;
    at_strings ids; /* [examples] what the data calls them, "" if nothing; or none at all */
    at_placement placement;

    unsigned char *parts; /* NULL, or the attn_part of each example, or of each row (data/parts.h) */
    int64_t part_room, part_count;
    int64_t *left_out, left_out_room, left_out_count; /* which of the examples of the file were skipped */
    int borrowed;                                     /* the content belongs to another dataset */

    at_strings columns; /* names of the targets */
    at_strings targets; /* of column c at place i: string i * columns.count + c */
};

/* An empty one. `content` belongs to it, even on failure. */
attn_status at_dataset_create(attn_context *context, const char *name, const at_content_kind *kind,
                              void *content, attn_dataset **dataset);
/* The content has got one more row, which is in line `line`. */
attn_status at_dataset_row(attn_dataset *dataset, int64_t line);
/* Ends the example whose rows were added. */
attn_status at_dataset_end(attn_dataset *dataset);

/* The text of an example, appended; 0 if its rows are no text. */
int at_dataset_text(const attn_dataset *dataset, int64_t example, at_writer *writer);

/* All that a network sees of it, as one number. */
uint64_t at_dataset_fingerprint(const attn_dataset *dataset, uint64_t seed);

#endif
