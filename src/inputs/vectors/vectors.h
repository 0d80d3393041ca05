/* vectors.h: plain vectors as rows: numbers of a file or of a program, normalised to mean 0 and deviation 1.
 *
 *     row -> (row - mean) / deviation, column by column -> linear map -> norm
 *
 * Mean and deviation are those of the training data; a column that is constant there has deviation 1. An
 * empty sequence is one row of zeros: the mean.
 */
#ifndef AT_INPUTS_VECTORS_VECTORS_H
#define AT_INPUTS_VECTORS_VECTORS_H

#include "inputs/input.h"
#include "inputs/vectors/rows.h"

/* Its part of a configuration (fields.c). */
typedef struct at_vectors_values {
    int64_t longest, stem;
    double dropout;
    int normalize;
    int single; /* every sequence of the training data is one row */
} at_vectors_values;

enum {
    AT_VECTORS_FIELDS = 5,
    AT_VECTORS_FLAGS = 1,
    AT_VECTORS_DEFAULTS = 30
}; /* checked against the tables */
extern const at_field at_vectors_fields[AT_VECTORS_FIELDS];
extern const at_flag at_vectors_flags[AT_VECTORS_FLAGS];
extern const at_default at_vectors_defaults[AT_VECTORS_DEFAULTS];
extern const char *const at_vectors_formats[];
attn_status at_vectors_check(attn_context *context, const void *values, const at_input_use *use);

typedef struct at_vectors_input {
    at_input input;
    at_vectors_values values;
    int64_t columns;
    float *mean, *deviation; /* [columns] */
    at_strings names;        /* of the columns; empty: they have none */
} at_vectors_input;

static inline const at_vectors_input *at_vectors_input_of(const at_input *input) {
    return (const at_vectors_input *)(const void *)input;
}

/* The rows stay in the dataset. */
typedef struct at_vectors_encoded {
    at_encoded encoded;
    const at_vectors *vectors;
    at_strings names; /* "0", "1", ... up to the longest sequence */
} at_vectors_encoded;

typedef struct at_vectors_batch {
    at_batch batch;
    float *numbers; /* [rows][columns] */
    int64_t room;
} at_vectors_batch;

/* batch.c */
attn_status at_vectors_create_batch(attn_context *context, at_batch **batch);
attn_status at_vectors_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                            const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
void at_vectors_free_batch(at_batch *batch);

/* feed.c: sequences that come in pieces. */
extern const at_feed_kind at_vectors_feed_kind;

/* reading.c: files to datasets; describe.c: what is in one. */
int at_vectors_knows(const char *path);
attn_status at_vectors_read_files(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_vectors_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_vectors_pieces(int format);
int at_vectors_takes_two(const attn_reader_options *options);
attn_status at_vectors_describe(const attn_dataset *dataset, const attn_describe_options *options,
                                at_writer *writer);

#endif
