/* examples.h: examples as a network sees them: rows, where each example begins, and their targets.
 *
 * A kind of input encodes a dataset once and then makes batches of it; a head turns the targets into numbers.
 * The structs here are the first members of each kind's own structs.
 */
#ifndef AT_DATA_EXAMPLES_H
#define AT_DATA_EXAMPLES_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/dataset.h>
#include <attn/graph.h>

#include "data/strings.h"

/* The targets: strings by place and column. A place is a row, or an example. "" is missing. */
typedef struct at_labels {
    const char *name; /* of the file, for errors */
    const at_strings *columns;
    const at_strings *values; /* of column c at place i: string i * columns->count + c */
    const int64_t *lines;     /* of the rows */
    const int32_t *files;     /* NULL, or which of `names` they are in */
    const at_strings *names;
    const int64_t *first; /* [places + 1] the rows of each place; NULL: a place is a row */
    int64_t places;
    int per_row;
    const char *const *fixed; /* NULL, or all labels that there can be, in their order */
    int fixed_count;
} at_labels;

/* Targets of examples are in the line of their first row; 0: there is none. */
static inline int64_t at_label_line(const at_labels *labels, int64_t place) {
    if (!labels->first) return labels->lines[place];
    return labels->first[place] < labels->first[place + 1] ? labels->lines[labels->first[place]] : 0;
}

/* The file of that line. */
static inline const char *at_label_name(const at_labels *labels, int64_t place) {
    int64_t row = labels->first ? labels->first[place] : place;
    int known = labels->files && (!labels->first || labels->first[place] < labels->first[place + 1]);
    return known ? at_string(labels->names, labels->files[row]) : labels->name;
}

/* A dataset, encoded. It points into the dataset, for its labels among others. */
typedef struct at_encoded {
    attn_context *context;       /* whose memory it is in */
    const attn_dataset *dataset; /* NULL: it is not of one */
    int64_t examples, rows;
    int64_t *offsets, offset_room; /* [examples + 1]: the rows of each example */
    int64_t bytes; /* of the text that the rows stand for, line ends included; 0: they stand for no text */
    at_labels labels;
} at_encoded;

/* The rows of some segments, as an input layer takes them. Used again and again. */
typedef struct at_batch {
    attn_context *context;
    int64_t sequences, rows;
    int64_t *offsets, offset_room; /* [sequences + 1] */
    const attn_graph *graph;       /* NULL, or who sees whom */
    const float *edges; /* [edges of the graph][edge_columns of the input]; NULL: edges have none */
    const int64_t *heights, *widths; /* NULL, or the grid of each sequence, whose rows it has */
} at_batch;

#endif
