/* parts.h: the split of a dataset into training, validation and test data: from a column, a file or a draw.
 */
#ifndef AT_DATA_PARTS_H
#define AT_DATA_PARTS_H

#include "data/dataset.h"

/* The part that a word of the data means; -1: none that is known. letters: one letter (t, v, s for test) is
 * enough, as in columns of several splits. */
int at_part_of(const char *word, size_t length, int letters);

/* Whether it is rows that have parts, else it is examples: rows of graphs that have targets. */
static inline int at_dataset_splits_rows(const attn_dataset *dataset) {
    return dataset->per_row && dataset->kind->rows_split;
}

/* The part of one more place (row or example), in their order. */
attn_status at_dataset_add_part(attn_dataset *dataset, int part);
/* One of the examples of the file is left out: those after it keep their places in a split file. */
attn_status at_dataset_leave_out(attn_dataset *dataset);

/* "splits10:3": the column, and the number of the split in it; -1: it has one. INVALID_ARGUMENT if what
 * stands behind the colon is no number. */
attn_status at_split_column(attn_context *context, const char *text, size_t *name_length, int64_t *number);
/* What a field of that column says; the error (without file and line) goes to reason[200]. */
int at_split_field(const char *field, size_t length, int64_t number, char *reason);

/* One example whose rows have targets: `held` of those with targets are drawn for development. Both sets
 * share the rows of `dataset`. */
attn_status at_dataset_hold_rows(const attn_dataset *dataset, double held, attn_dataset **train,
                                 attn_dataset **dev);

/* A word per example (row) from a file; bytes and their name. */
attn_status at_parts_from_words(attn_dataset *dataset, const char *name, const char *bytes, size_t count);
/* 80 % for training, 10 % for validation, 10 % for testing, drawn by a number. */
attn_status at_parts_random(attn_dataset *dataset, uint64_t draw);
/* The same shares with examples of a group together: the largest groups first, for training until that is
 * full, then for validation, then for testing. groups: a key per example. */
attn_status at_parts_by_group(attn_dataset *dataset, const at_strings *groups);

#endif
