/* relative_grid.c: a learned bias of attention by how far down and how far along a key stands from the query.
 *
 *     s_ij + table[h][F + clamp(row_j - row_i)][F + clamp(column_j - column_i)]      clamp to -F .. F
 *
 * Where the pair (i, j) is in the table follows from the width of the grid alone: a higher grid of that
 * width has more pairs, and the same ones before. So all sequences of one width share one bias, rows x rows
 * for every head, where rows are those of the longest sequence of the batch. It is gathered from the table,
 * and its gradient is summed into the table on the way back.
 */
#include "layers/layers.h"

#include <inttypes.h>

#include "tape/ops/checks.h"

attn_parameter *at_grid_relative_create(attn_parameters *set, const char *name, int64_t heads,
                                        int64_t farthest) {
    char text[AT_NAME];
    int64_t side = 2 * farthest + 1, shape[2] = {heads, side * side};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_ZERO;
    return attn_parameters_add(set, at_layer_name(text, name, "relative"), 2, shape, &options);
}

/* The widths of the batch, and which of them each sequence has. Returns how many there are. */
static int64_t find_widths(const attn_places *places, int64_t *widths, int64_t *width_of, int64_t *longest) {
    int64_t count = 0;
    *longest = 1;
    for (int64_t b = 0; b < places->batch.sequences; b++) {
        int64_t rows = places->batch.offsets[b + 1] - places->batch.offsets[b], w = 0;
        width_of[b] = 0;
        if (rows == 0) continue; /* any will do */
        while (w < count && widths[w] != places->widths[b]) w++;
        if (w == count) widths[count++] = places->widths[b];
        width_of[b] = w;
        if (*longest < rows) *longest = rows;
    }
    if (count == 0) widths[count++] = 1;
    return count;
}

static int64_t clamp(int64_t distance, int64_t farthest) {
    return distance < -farthest ? -farthest : distance > farthest ? farthest : distance;
}

/* The column of the table for every pair of rows, in a grid of this width. */
static void find_columns(int64_t width, int64_t rows, int64_t farthest, int64_t *column) {
    int64_t side = 2 * farthest + 1;
    for (int64_t i = 0; i < rows; i++) {
        int64_t down = -(i / width), along = -(i % width), end = along + width; /* of j = 0 */
        for (int64_t j = 0; j < rows; j++) {
            *column++ = (clamp(down, farthest) + farthest) * side + clamp(along, farthest) + farthest;
            if (++along == end) {
                along -= width;
                down++;
            }
        }
    }
}

int at_grid_relative_apply(attn_tape *tape, attn_parameter *table, int64_t farthest, int64_t rows,
                           const attn_places *places, attn_attention_inputs *inputs,
                           attn_attention_options *options) {
    attn_grids grids;
    if (!at_places_grids(tape, "multihead", places, &grids) ||
        !at_tape_has_grids(tape, "multihead", &grids, rows, NULL)) {
        return 0;
    }
    int64_t sequences = places->batch.sequences, longest;
    int64_t *widths = at_tape_memory(tape, sequences + 1, sizeof *widths);
    int64_t *width_of = at_tape_memory(tape, sequences + 1, sizeof *width_of);
    if (!widths || !width_of) return 0;
    int64_t count = find_widths(places, widths, width_of, &longest);
    if (longest > INT32_MAX || count > INT64_MAX / 8 / longest / longest / table->rows) {
        at_tape_fail(tape, ATTN_OVERFLOW,
                     "multihead: a bias for %" PRId64 " widths of grids of %" PRId64 " rows is too large",
                     count, longest);
        return 0;
    }
    at_scratch mark = at_scratch_mark(tape);
    int64_t *columns = at_scratch_memory(tape, count * longest * longest, sizeof *columns);
    if (!columns) return 0;
    for (int64_t w = 0; w < count; w++)
        find_columns(widths[w], longest, farthest, columns + w * longest * longest);
    inputs->bias =
        attn_tape_gather_columns(tape, attn_tape_parameter(tape, table), columns, count * longest * longest);
    at_scratch_release(tape, mark);
    int64_t shape[4] = {count, table->rows, longest, longest};
    for (int r = 0; r < 4; r++) inputs->bias_shape[r] = shape[r];
    inputs->bias_by_head = 1;
    options->bias_of = width_of;
    return inputs->bias != NULL;
}
