/* windows.h: the windows in which an encoder processes the sequences of a batch. */
#ifndef AT_MODEL_WINDOWS_H
#define AT_MODEL_WINDOWS_H

#include <attn/tape.h>

#include "data/examples.h"

typedef struct at_window_rows {
    int64_t sequences, *offsets; /* [sequences + 1]: the windows */
    int64_t count, *source;      /* [count]: for each row of a window its row in the batch */
    int64_t *place; /* [rows of the batch]: for each row of the batch the row of a window it is taken from */
} at_window_rows;

/* 0: no sequence has more than `longest` rows, or the tape failed. */
int at_window_rows_make(attn_tape *tape, const at_batch *batch, int64_t longest, at_window_rows *into);

#endif
