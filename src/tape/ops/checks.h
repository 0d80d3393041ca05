/* checks.h: checks that several operations share. */
#ifndef AT_TAPE_OPS_CHECKS_H
#define AT_TAPE_OPS_CHECKS_H

#include "tape/tape.h"

/* 0, with an error, unless both are there and of one shape, or b is one row as wide as a. */
int at_tape_has_pair(attn_tape *tape, const char *operation, const attn_variable *a, const attn_variable *b);

/* 0, with an error, if activation is none that there is. */
int at_tape_has_activation(attn_tape *tape, const char *operation, attn_activation activation);

/* 0, with an error that names index and value, unless every one of rows is in
 * -1 .. limit - 1. what: "x has", completed by "%d rows". */
int at_tape_has_rows(attn_tape *tape, const char *operation, const char *name, const int64_t *rows,
                     int64_t count, const char *what, int64_t limit);
/* The same for ids into a table; a copy of them, in the arena, as row numbers. NULL with the error set. */
int64_t *at_tape_table_rows(attn_tape *tape, const char *operation, const attn_parameter *table,
                            const int32_t *ids, int64_t count);

/* 0, with an error, unless the grids are there and every sequence has the rows of its own. copy: NULL, or
 * where a copy in the arena goes. */
int at_tape_has_grids(attn_tape *tape, const char *operation, const attn_grids *grids, int64_t rows,
                      attn_grids *copy);

#endif
