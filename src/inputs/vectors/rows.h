/* rows.h: what a dataset of vectors holds: rows of numbers, all of one width. */
#ifndef AT_INPUTS_VECTORS_ROWS_H
#define AT_INPUTS_VECTORS_ROWS_H

#include "data/dataset.h"

/* The formats of files, in the order of their numbers. */
enum { AT_VECTORS_AUTO, AT_VECTORS_NPY, AT_VECTORS_NPZ, AT_VECTORS_CSV };

typedef struct at_vectors {
    int64_t columns, rows;
    float *numbers;   /* [rows][columns] */
    int64_t room;     /* of numbers */
    at_strings names; /* of the columns; empty: they have none */
    int unsplit;      /* the file does not say where a sequence ends: each row was taken for one */
} at_vectors;

extern const at_content_kind at_vectors_content;

/* The vectors of a dataset, which is of this kind. */
static inline at_vectors *at_vectors_of(const attn_dataset *dataset) { return dataset->content; }

/* An empty dataset of rows of `columns` numbers. */
attn_status at_vectors_dataset(attn_context *context, const char *name, int format, int64_t columns,
                               attn_dataset **dataset);
/* Room for `rows` more rows, which the caller fills before at_vectors_add. NULL without memory. */
float *at_vectors_room(attn_dataset *dataset, int64_t rows);
/* Rows that were filled in become part of the example that is being read; the first is in line `line`,
 * the next ones in the lines after it. */
attn_status at_vectors_add(attn_dataset *dataset, int64_t rows, int64_t line);
/* Takes back the rows since the last at_dataset_end. */
void at_vectors_undo(attn_dataset *dataset);

#endif
