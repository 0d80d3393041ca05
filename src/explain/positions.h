/* positions.h: the numbers that positions are made of, as tables. */
#ifndef AT_EXPLAIN_POSITIONS_H
#define AT_EXPLAIN_POSITIONS_H

#include <attn/model.h>

#include "explain/drawing.h"

enum { AT_POSITION_TABLES = 64 };

typedef struct at_position_table {
    char name[32]; /* "" if there is only one */
    int64_t rows, columns;
    int64_t first_row, first_column; /* what the first ones are called */
    double *numbers;                 /* [rows][columns] */
} at_position_table;

typedef struct at_positions {
    attn_context *context;
    const char *kind; /* "sinusoidal", ... */
    const char *title;
    const char *down, *across; /* what rows and columns are: "position", "column" */
    const char *label;         /* what the numbers are */
    int lines;                 /* rows are heads, columns are distances */
    at_position_table tables[AT_POSITION_TABLES];
    int count;
} at_positions;

/* positions, columns: how many, 0 or less: as the model has them. */
attn_status at_positions_find(attn_context *context, const attn_model *model, int64_t positions,
                              int64_t columns, int64_t layer, at_positions *found);
void at_positions_free(at_positions *found);
attn_status at_positions_draw(const at_positions *found, const attn_drawing_options *options,
                              at_writer *writer);

#endif
