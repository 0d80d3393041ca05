/* input.h: the interface of kinds of input, which turn files into rows.
 *
 *     read -> dataset;  learn -> vocabulary, statistics;  encode -> rows, once;  fill -> batches;
 *     build, apply -> the layer that maps a batch to rows x columns
 *
 * Kinds are rows of one table (inputs.c); no code outside a kind's folder refers to it by name. A new kind is
 * a folder and a line in that table.
 */
#ifndef AT_INPUTS_INPUT_H
#define AT_INPUTS_INPUT_H

#include <attn/parameters.h>
#include <attn/tape.h>

#include "data/dataset.h"
#include "data/examples.h"
#include "data/fields.h"
#include "data/grams.h"
#include "data/plan.h"
#include "data/safetensors.h"
#include "data/symbols/symbols.h"
#include "data/writer.h"
#include "inputs/scene.h"

/* What a task asks of the rows. */
typedef struct at_input_use {
    const char *task;
    int per_row;     /* 1: targets stand with rows, 0: with examples, -1: as the data has it */
    int writes_text; /* the answer is text: units can be joined again */
    int running;     /* examples are lines of one text, and a row knows only what precedes it */
    int chooses;     /* units may be left to the data */
    int wide_only;   /* there is no encoder, so rows are not embedded: see `wide` of at_input */
} at_input_use;

typedef struct at_input_kind at_input_kind;

/* A view of data as rows: what a kind has learned from the training data. The kind's own struct begins with
 * it. */
typedef struct at_input {
    const at_input_kind *kind;
    attn_context *context;
    at_input_use use;
    int64_t longest;      /* rows of a sequence, at most */
    int64_t stem;         /* rows seen by a convolution before the encoder; 0: no convolution */
    int64_t edge_columns; /* numbers of an edge, where batches are graphs; 0: edges have none */
    int wide; /* batches have features of whole examples, too, which go straight to the logits of heads */
} at_input;

/* What it learns from besides the examples. */
typedef struct at_learning {
    const attn_dataset *examples;
    const at_strings *answers; /* NULL, or texts whose units belong into the vocabulary, too */
    const char *vectors;       /* NULL, or a file of pretrained vectors */
} at_learning;

/* What reading needs to know: files (one, or two that belong together), or bytes in memory. */
typedef struct at_source {
    const char *names[2]; /* of the files, for errors: the second may be NULL */
    const char *bytes[2]; /* NULL: the files are read */
    size_t counts[2];
    int64_t first_line;
    int apart; /* two files may be read one after the other, if each says by itself what is to be learned */
    /* Tests have small values of both; 0: as usual. */
    int64_t piece; /* bytes of a file that are read and parsed at a time */
    double pause;  /* seconds between two calls of progress */
    const attn_reader_options *options;
} at_source;

/* Rows that are symbols: a head may predict the next one, or share the table that embeds them. */
typedef struct at_offer {
    const at_symbols *symbols; /* NULL: rows are no symbols */
    attn_parameter *table;     /* NULL, or symbols x columns: one row for each symbol and no others */
    double rate;               /* how many times larger embeddings are stored than they are used */
} at_offer;

/* How examples are encoded for a prediction. */
typedef struct at_encode_options {
    const void *settings; /* NULL, or those of the prediction */
    int goes_on;          /* the first text continues with one that was encoded before */
} at_encode_options;

/* Sets a value of a configuration. */
typedef attn_status (*at_set_function)(void *user, const char *name, const char *value);

/* Metrics that only the kind knows (of words that labels of characters make, say). */
typedef attn_status (*at_metric_function)(void *user, const char *name, double value);

/* Rows with their tags, and what is measured of them: column -1 of rows and examples, else of a tag. */
typedef struct at_raw_tags {
    const attn_dataset *dataset;
    const at_strings *tags; /* of column c at row i: string i * columns + c */
} at_raw_tags;
typedef attn_status (*at_raw_metric)(void *user, int column, const char *name, double value);

/* Answers, as a kind sees them that writes them into the format of its data. */
typedef struct at_cells at_cells;
struct at_cells {
    const void *user;
    int outputs;
    const char *(*name)(const at_cells *cells, int output);
    int64_t (*rows)(const at_cells *cells, int64_t example);
    void (*put)(const at_cells *cells, int output, int64_t example, int64_t row, at_writer *writer);
    /* Whether there is a probability to be written, of one answer, and its text. */
    int (*likely)(const at_cells *cells, int output);
    void (*put_probability)(const at_cells *cells, int output, int64_t example, int64_t row,
                            at_writer *writer);
    double (*probability)(const at_cells *cells, int output, int64_t example, int64_t row);
    const at_encoded *encoded; /* what the answers are of */
    int json;                  /* JSON is wanted; only of kinds that write it */
    int more;    /* answers are texts, and more is asked of them: several, or what they look at */
    int per_row; /* answers stand with rows, else with examples (whose row is 0) */
    int nested;  /* an example of the data was split into several, whose answers are a list of JSON */
    int parts;   /* rows are parts of pieces, which are the answer */
    /* The number of the first example among all of those whose answers stand together, and how many those
     * are. A header belongs to example 0. */
    int64_t first, whole;
    /* All answers of an example as a value of JSON; their probabilities, 0 if there are none. */
    void (*put_json)(const at_cells *cells, int output, int64_t example, at_writer *writer);
    int (*put_json_probability)(const at_cells *cells, int output, int64_t example, at_writer *writer);
    /* The rows of an example by name, or the pieces that they are parts of (words of characters), as a list
     * of JSON; 0 if there are no such pieces. */
    void (*put_json_rows)(const at_cells *cells, int64_t example, at_writer *writer);
    int (*put_json_pieces)(const at_cells *cells, int64_t example, at_writer *writer);
};

/* An example that comes in pieces: those of its rows that are there and may still be looked at. The kind's
 * own struct begins with it. */
typedef struct at_feed {
    int64_t rows;        /* so many of the example are complete */
    int ended;           /* there will be no more */
    at_encoded *encoded; /* the rows of the last view, as one example */
    int64_t first;       /* the number of the first of them */
} at_feed;

typedef struct at_feed_options {
    const char *path; /* NULL, or the file that `pull` reads */
    const char *name; /* of the example, in answers */
    int64_t rate;     /* of what is pushed; 0: as the view has it */
    int json;         /* answers are JSON objects */
} at_feed_options;

typedef struct at_feed_shape {
    int64_t edge;       /* rows at the beginning of a view that are not as they are in the whole */
    int64_t rate;       /* numbers a second that are pushed; 0: they are rows */
    double step, delay; /* seconds: from row to row; from the centre of a row until it is complete */
} at_feed_shape;

typedef struct at_feed_kind {
    /* NULL, or why rows of this view cannot be told from a part of an example, and what to do. */
    const char *(*refuses)(const at_input *input);
    /* By its name: whether a file is one example that `pull` can read. */
    int (*knows)(const at_input *input, const char *path);
    void (*shape)(const at_input *input, at_feed_shape *shape);
    attn_status (*open)(const at_input *input, attn_context *context, const at_feed_options *options,
                        at_feed **feed);
    void (*close)(at_feed *feed); /* NULL is allowed */
    attn_status (*push)(at_feed *feed, const float *numbers, int64_t count, int last);
    attn_status (*pull)(at_feed *feed);
    /* Makes `encoded` rows first .. end - 1; those before them are not asked for again. */
    attn_status (*view)(at_feed *feed, int64_t first, int64_t end);
    const char *(*row_name)(const at_encoded *encoded, int64_t row);
    /* What answers for rows from .. from + count - 1 of the view decide; last: they are the last ones. */
    attn_status (*write)(at_feed *feed, const void *settings, const at_cells *cells, int64_t from,
                         int64_t count, int last, at_writer *writer);
} at_feed_kind;

struct at_input_kind {
    const char *name, *help;
    const char *row, *example;  /* what they are called; NULL: that */
    const char *const *formats; /* of its files; the first is "auto"; ends with NULL */
    int unordered;              /* rows are in no order: no positions, and no mixers that go by the order */
    int grid;                   /* rows are on a grid, whose height and width batches have */
    at_fields fields;           /* its part of a configuration */
    at_fields settings;         /* of a prediction */
    const char *models; /* what a message about a setting calls those with it: "models that read text" */
    const at_default *defaults; /* by task; `default_count` of them */
    int default_count;
    int counts; /* how many examples there are decides about defaults, whatever the task */

    /* ---- files ---- */
    int (*knows)(const char *path); /* by its name: whether a file is of this kind */
    attn_status (*read)(attn_context *context, const at_source *source, attn_dataset **dataset);
    /* The format of a file that begins with these bytes; 0 if it cannot be told. */
    int (*detect)(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
    /* Formats whose examples are blocks of lines with blank lines between (1), are single lines (0), or rows
     * whose quoted fields may have line breaks (2), or which cannot be read piece by piece (-1). */
    int (*pieces)(int format);
    /* NULL, or what parts fields that may be quoted, with line breaks in them; 0: none are. */
    char (*quotes)(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
    /* NULL, or refuses what a compressed file expands to while it comes: see at_expansion in data/file.h. */
    attn_status (*judge)(attn_context *context, const char *name, const attn_reader_options *options,
                         const char *bytes, size_t count, size_t judged);
    /* Whether two files can be read together; NULL: they cannot. */
    int (*takes_two)(const attn_reader_options *options);
    /* What is in a dataset, for `attn check`: its part of the text, or of the JSON object (data/describe.h).
     */
    attn_status (*describe)(const attn_dataset *dataset, const attn_describe_options *options,
                            at_writer *writer);
    int tells_conflicts; /* that says which inputs occur with different targets */

    /* NULL, or what was found in the data, in a line without an end: it is said when training begins. */
    void (*note)(const attn_dataset *dataset, at_writer *writer);

    /* NULL, or how examples belong together in a split that is drawn: its name ("scaffold"), and a key for
     * each example. */
    const char *grouping;
    attn_status (*groups)(const attn_dataset *dataset, at_strings *keys);

    /* NULL, or the units of an example, by which examples are told to be parts of each other or alike; on any
     * thread, with its context. */
    attn_status (*units)(const attn_dataset *dataset, attn_context *context, int64_t example,
                         at_unit_hashes *units);

    /* NULL, or answers in the format of the data, everything else as it was. lines: what the dataset was read
     * from; NULL: that is not at hand. settings: of the prediction. *filled 0: the data has no room for them.
     */
    int likely;     /* answers are written with their probabilities, whether they are asked for or not */
    int fills_json; /* it may write them as JSON, too */
    attn_status (*fill_in)(const attn_dataset *dataset, const void *settings, const char *lines,
                           size_t length, const at_cells *cells, at_writer *writer, int *filled);

    /* ---- the view ---- */
    /* Values that exclude each other. */
    attn_status (*check)(attn_context *context, const void *values, const at_input_use *use);
    /* The unit of its symbols, as configured; AT_UNIT_AUTO: there is none, or it is left to the data. */
    at_unit (*unit)(const void *values);
    /* Chooses what the configuration leaves to the data. */
    attn_status (*choose)(const void *values, const attn_dataset *examples, at_set_function set, void *user);
    attn_status (*create)(attn_context *context, const void *values, const at_input_use *use,
                          at_input **input);
    void (*destroy)(at_input *input);
    attn_status (*learn)(at_input *input, const at_learning *from);
    /* Before anything is learned: whether an example makes more than `most` rows. NULL: it has as many as in
     * the dataset. */
    attn_status (*is_longer)(const at_input *input, const attn_dataset *dataset, int64_t example,
                             int64_t most, int *longer);
    uint64_t (*fingerprint)(const at_input *input, uint64_t seed); /* NULL, or of what else it was given */
    attn_status (*store)(const at_input *input, const char *prefix, at_safetensors_writer *writer);
    attn_status (*load)(at_input *input, const char *prefix, const at_safetensors *file);
    int64_t (*vocabulary)(const at_input *input); /* NULL: there is none */
    const char *(*vocabulary_unit)(const at_input *input, int64_t index);

    /* ---- examples ---- */
    /* memo: NULL, or where the kind keeps what it can use again in the next call (freed by free_memo).
     * options: NULL for training. */
    attn_status (*encode)(const at_input *input, attn_context *context, void **memo,
                          const attn_dataset *dataset, const at_encode_options *options,
                          at_encoded **encoded);
    void (*free_encoded)(at_encoded *encoded);
    void (*free_memo)(attn_context *context, void *memo);
    const char *(*row_name)(const at_encoded *encoded, int64_t row);
    /* Of rows first .. first + count - 1; -1: unknown. */
    void (*symbols)(const at_input *input, const at_encoded *encoded, int64_t first, int64_t count,
                    int32_t *ids);
    attn_status (*create_batch)(attn_context *context, at_batch **batch);
    /* The segments order[0 .. count - 1]. seed: NULL, or of what training hides or changes at random. */
    attn_status (*fill)(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                        const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
    void (*free_batch)(at_batch *batch);

    /* How rows first .. first + count - 1, which are of example `example`, look to a person; NULL: names in a
     * line. The scene is empty but for its context; what is in it is freed by at_scene_free, also after a
     * failure. */
    attn_status (*scene)(const at_input *input, const at_encoded *encoded, int64_t example, int64_t first,
                         int64_t count, at_scene *scene);

    /* ---- raw data, which a second network, the splitter, cuts into examples; all NULL where there is none
     * ----
     */
    /* Data to train a splitter with, made of examples that are cut already, and its configuration. *raw NULL:
     * none can be trained, for the reason *why (NULL: none is wanted). values: of the main network's view. */
    attn_status (*teach)(const void *values, const attn_dataset *examples, at_set_function set, void *user,
                         attn_dataset **raw, const char **why);
    /* Whether a view is a splitter's. */
    int (*splits)(const at_input *input);
    /* Whether a dataset has to be cut into examples before it is encoded. */
    int (*is_raw)(const at_input *input, const attn_dataset *dataset, const void *settings);
    /* How it is cut where the model has no splitter: a sentence for the user. */
    const char *(*rule)(const at_input *input);
    /* The examples that the splitter's answers make of raw data: a class for each row. *offsets: [raw
     * examples
     * + 1], the first of those that each was split into. */
    attn_status (*split)(const at_input *splitter, attn_context *context, const at_encoded *raw,
                         const at_strings *labels, const int32_t *classes, attn_dataset **examples,
                         int64_t **offsets);

    /* ---- running text, unit by unit; NULL where rows do not come one by one ---- */
    attn_status (*begin)(const at_input *input, attn_context *context, at_encoded **encoded);
    attn_status (*extend)(const at_input *input, at_encoded *encoded, const char *unit, size_t length);
    /* Rows first .. first + count - 1 of a sequence that begins at row `begins` and ends with them. */
    attn_status (*fill_tail)(const at_input *input, const at_encoded *encoded, int64_t begins, int64_t first,
                             int64_t count, at_batch *batch);

    const at_feed_kind *feed; /* examples that come in pieces, answered as they come; NULL: there are none */

    /* ---- the layer ---- */
    /* Parameters that all networks share, before the first of them is built; NULL: there are none. */
    void (*build_shared)(at_input *input, attn_parameters *set, const char *prefix);
    void *(*build)(const at_input *input, attn_parameters *set, const char *prefix, int64_t columns);
    attn_variable *(*apply)(const at_input *input, const void *layer, attn_tape *tape, const at_batch *batch);
    void (*offer)(const at_input *input, const void *layer, at_offer *offer); /* NULL: nothing */
    /* Features of whole examples, where `wide` of the view says so: their layer under a name, and what it
     * adds to the logits of a head, sequences x columns. Both NULL: the kind has none. */
    void *(*build_wide)(const at_input *input, attn_parameters *set, const char *name, int64_t columns);
    attn_variable *(*apply_wide)(const at_input *input, const void *layer, attn_tape *tape,
                                 const at_batch *batch);

    /* ---- rows that are parts of larger pieces, as characters are of words; all NULL where they are not ----
     */
    const char *(*metric)(const at_input *input); /* what models are chosen by; NULL: what the head says */
    const char *(*check_labels)(const at_input *input, const at_strings *labels); /* NULL, or what is wrong */
    attn_status (*join)(const at_input *input, attn_context *context, const at_encoded *encoded,
                        const at_strings *labels, const int32_t *classes, at_strings *pieces,
                        int64_t **offsets);
    attn_status (*measure)(const at_input *input, attn_context *context, const at_encoded *encoded,
                           const at_strings *labels, const int32_t *truth, const int32_t *answers,
                           at_metric_function add, void *user);

    /* ---- data whose rows and examples have to be found first; both NULL where they are always there ---- */
    /* The dataset as it was before anybody found its rows: a dataset whose examples are to be split. */
    attn_status (*raw)(const at_input *input, const attn_dataset *dataset, attn_dataset **raw);
    /* How right the rows, examples and tags of `split` are, which were found in the raw data of `gold`.
     * Metrics are added by column, -1 first; columns: the names of the tags. */
    attn_status (*raw_metrics)(attn_context *context, const at_raw_tags *gold, const at_raw_tags *split,
                               const at_strings *columns, at_raw_metric add, void *user);
};

/* The kinds, in the order of their numbers; NULL out of range or if there is no such kind. */
int at_input_count(void);
const at_input_kind *at_input_at(int index);
const at_input_kind *at_input_find(const char *name);

#endif
