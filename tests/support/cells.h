/* cells.h: the grid of kinds of input, tasks and encoders, and a model's whole life in each of its cells.
 *
 * What there is, the library says: kinds, tasks, which go together (attn_input_takes), encoders, and what a
 * configuration refuses. A new kind needs files (cell_files.c), and nothing here.
 */
#ifndef TEST_SUPPORT_CELLS_H
#define TEST_SUPPORT_CELLS_H

typedef enum cell_axis {
    CELL_INPUT,
    CELL_TASK,
    CELL_ENCODER,
    CELL_FORM,    /* of the output: the usual, a CRF, several labels, CTC */
    CELL_MEMBERS, /* one network or three */
    CELL_REACH,   /* of attention: all rows (graphs: edges), or a window (graphs: all nodes) */
    CELL_THREADS,
    CELL_AXES
} cell_axis;

/* The number of a value on each axis. */
typedef struct cell {
    int at[CELL_AXES];
} cell;

/* A group's setup and teardown: contexts, and a folder. */
int cells_setup(void **state);
int cells_teardown(void **state);

/* Every combination that there is, in a fixed order; the caller frees it. Kinds whose files this build cannot
 * open, for want of a library, are left out, and printed. */
int cells_all(cell **cells);

/* Some of them, such that every two values of two axes that go together in any cell do so in one of these:
 * the one with most pairs that are new, again and again. The caller frees it. */
int cells_pairwise(const cell *all, int count, cell **chosen);

/* Trains, is stopped and resumed, loads, saves, evaluates, predicts: fails the test if a number is not
 * finite, a count is wrong, or bytes are others after a stop or with another number of threads. */
void cells_live(const cell *one);

#endif
