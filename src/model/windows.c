/* windows.c: sequences that are longer than an encoder processes at once, in windows.
 *
 *     rows -> the rows of windows, which overlap (data/plan.h) -> encoder -> one row for each row of the
 * sequence
 *
 * Each window is a sequence of its own for the encoder. A row that is in two windows is taken from the one
 * whose ends are farther away, so every row occurs once in the result, and pooling uses the whole sequence.
 * The starts of windows depend only on the length of the sequence. The tape owns the lists.
 */
#include "model/windows.h"

#include "data/plan.h"
#include "tape/tape.h"

/* The windows of a sequence of `rows` rows, which begins at row `first` of the batch. */
static void cut(at_window_rows *into, int64_t first, int64_t rows, int64_t longest) {
    int64_t windows = at_windows(rows, longest), length = windows > 1 ? longest : rows;
    int64_t *offsets = into->offsets, *source = into->source, *place = into->place;
    for (int64_t w = 0, row = 0; w < windows; w++) {
        int64_t begin = at_window_first(rows, longest, windows, w), end = rows;
        if (w + 1 < windows) end = (at_window_first(rows, longest, windows, w + 1) + begin + length) / 2;
        for (; row < end; row++) place[first + row] = into->count + row - begin;
        for (int64_t r = 0; r < length; r++) source[into->count + r] = first + begin + r;
        into->count += length;
        offsets[++into->sequences] = into->count;
    }
}

int at_window_rows_make(attn_tape *tape, const at_batch *batch, int64_t longest, at_window_rows *into) {
    int64_t windows = 0, count = 0;
    for (int64_t s = 0; s < batch->sequences; s++) {
        int64_t rows = batch->offsets[s + 1] - batch->offsets[s], own = at_windows(rows, longest);
        windows += own;
        count += own > 1 ? own * longest : rows;
    }
    *into = (at_window_rows){0};
    if (windows == batch->sequences) return 0;
    into->offsets = at_tape_memory(tape, windows + 1, sizeof *into->offsets);
    into->source = at_tape_memory(tape, count, sizeof *into->source);
    into->place = at_tape_memory(tape, batch->rows, sizeof *into->place);
    if (!into->offsets || !into->source || !into->place) return 0; /* an error of the tape */
    into->offsets[0] = 0;
    for (int64_t s = 0; s < batch->sequences; s++)
        cut(into, batch->offsets[s], batch->offsets[s + 1] - batch->offsets[s], longest);
    return 1;
}
