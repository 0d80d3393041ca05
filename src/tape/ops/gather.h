/* gather.h: rows taken from, and added to, places that a list names. Gather,
 * scatter and the embeddings are these two, one the other's way back.
 */
#ifndef AT_TAPE_OPS_GATHER_H
#define AT_TAPE_OPS_GATHER_H

#include "tape/ops/rowwise.h"

/* target row i = source row rows[i], or 0 where that is negative. */
void at_gather_rows(attn_tape *tape, int64_t count, int64_t columns, const int64_t *rows, at_operand source,
                    at_operand target);

typedef struct at_additions {
    int64_t count, columns;
    const int64_t *from, *to; /* target row to[i] += factor[i] * source row from[i]; to[i] < 0: nothing */
    const float *factor;      /* NULL: 1; from NULL: i */
    at_operand source, target;
    int64_t cleared; /* so many rows of the target are set to 0 first */
} at_additions;

/* All additions, those to one row in the order of i. */
void at_add_rows(attn_tape *tape, const at_additions *additions);

/* 0, with an error that names index and value, unless every one of rows is in
 * -1 .. limit - 1. what: "x has", completed by "%d rows". */
int at_tape_has_rows(attn_tape *tape, const char *operation, const char *name, const int64_t *rows,
                     int64_t count, const char *what, int64_t limit);
/* The same for ids into a table; a copy of them, in the arena, as row numbers. NULL with the error set. */
int64_t *at_tape_table_rows(attn_tape *tape, const char *operation, const attn_parameter *table,
                            const int32_t *ids, int64_t count);

#endif
