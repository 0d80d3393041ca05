/* positions_grid.c: where a row is in the grid of its sequence (the pixels or patches of an image),
 * added.
 *
 *     row t of a grid of w columns is in row i = t / w, column j = t % w;  half = columns / 2
 *     p[t][2c] = sin(i w_c),         p[t][2c + 1] = cos(i w_c)            in the first half
 *     p[t][half + 2c] = sin(j w_c),  p[t][half + 2c + 1] = cos(j w_c)     in the second,  w_c =
 * 10000^(-2c/half)
 *
 * or, learned, p[t] = row i of one table + row j of another. p is added to x. Both halves come from one table
 * of codes, of the first TABLE_ROWS places along a side; larger sides are computed when they are needed.
 */
#include "layers/layers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tape/ops/checks.h"

enum { TABLE_ROWS = 256 };

struct at_grid {
    int64_t half;
    float *codes; /* TABLE_ROWS x half; NULL: learned */
    attn_parameter *rows, *columns;
};

static void compute_code(int64_t half, int64_t place, float *code) {
    for (int64_t c = 0; c < half; c++) {
        double angle = (double)place * pow(10000.0, -(double)(c - c % 2) / (double)half);
        code[c] = (float)(c % 2 ? cos(angle) : sin(angle));
    }
}

static void write_code(const at_grid *grid, int64_t place, float *code) {
    if (place < TABLE_ROWS) {
        memcpy(code, grid->codes + place * grid->half, (size_t)grid->half * sizeof(float));
    } else {
        compute_code(grid->half, place, code);
    }
}

at_grid *at_grid_create(attn_parameters *set, const char *name, int64_t columns) {
    if (columns % 2 != 0) {
        return at_parameters_fail(set, ATTN_INVALID_ARGUMENT,
                                  "%s: positions in a grid need an even number of columns, not %" PRId64,
                                  name, columns);
    }
    at_grid *grid = at_layer_memory(set, sizeof *grid);
    if (!grid) return NULL;
    grid->half = columns / 2;
    grid->codes = at_layer_memory(set, (size_t)TABLE_ROWS * (size_t)grid->half * sizeof(float));
    for (int64_t t = 0; grid->codes && t < TABLE_ROWS; t++) {
        compute_code(grid->half, t, grid->codes + t * grid->half);
    }
    return grid->codes ? grid : NULL;
}

static attn_parameter *add_table(attn_parameters *set, const char *name, const char *part, int64_t longest,
                                 int64_t columns) {
    char text[AT_NAME];
    int64_t shape[2] = {longest, columns};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    options.scale = 0.1f;
    return attn_parameters_add(set, at_layer_name(text, name, part), 2, shape, &options);
}

at_grid *at_grid_create_learned(attn_parameters *set, const char *name, int64_t columns, int64_t longest) {
    at_grid *grid = at_layer_memory(set, sizeof *grid);
    if (!grid) return NULL;
    grid->rows = add_table(set, name, "rows", longest, columns);
    grid->columns = add_table(set, name, "columns", longest, columns);
    return grid->columns ? grid : NULL;
}

int at_places_grids(attn_tape *tape, const char *layer, const attn_places *places, attn_grids *grids) {
    if (!places->heights || !places->widths) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: places.%s is NULL, but positions in a grid need it",
                     layer, places->heights ? "widths" : "heights");
        return 0;
    }
    *grids = (attn_grids){places->batch, places->heights, places->widths};
    return 1;
}

/* The codes of the places along the longest side, as tensor memory; NULL with the error set. */
static float *codes_of_sides(attn_tape *tape, const at_grid *grid, int64_t sides) {
    const float *codes = grid->codes;
    if (sides > TABLE_ROWS) {
        float *more = at_scratch_memory(tape, sides * grid->half, sizeof *more);
        for (int64_t t = 0; more && t < sides; t++) write_code(grid, t, more + t * grid->half);
        codes = more;
    }
    float *numbers = at_scratch_numbers(tape, sides * grid->half);
    if (!codes || !numbers) return NULL;
    at_view view = at_view_of(numbers, sides, grid->half, grid->half);
    return at_tape_did(tape, at_host_write(at_tape_context(tape), view, codes)) ? numbers : NULL;
}

/* Where each row stands: down, and along. Returns how many places there are along the longest side. */
static int64_t find_places(const attn_places *places, int64_t *down, int64_t *along) {
    int64_t sides = 1;
    for (int64_t b = 0; b < places->batch.sequences; b++) {
        int64_t width = places->widths[b], first = places->batch.offsets[b];
        for (int64_t t = first; t < places->batch.offsets[b + 1]; t++) {
            down[t] = (t - first) / width;
            along[t] = (t - first) % width;
            if (sides <= down[t]) sides = down[t] + 1;
            if (sides <= along[t]) sides = along[t] + 1;
        }
    }
    return sides;
}

/* Every side has a row in its table. */
static int check_sides(attn_tape *tape, const at_grid *grid, const attn_places *places) {
    for (int64_t b = 0; b < places->batch.sequences; b++) {
        if (places->batch.offsets[b] == places->batch.offsets[b + 1]) continue;
        if (places->heights[b] <= grid->rows->rows && places->widths[b] <= grid->rows->rows) continue;
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "positions: the grid of sequence %" PRId64 " is %" PRId64 " x %" PRId64
                     ", and positions are learned for %" PRId64
                     " rows and columns: make the layer with a larger `longest`",
                     b, places->heights[b], places->widths[b], grid->rows->rows);
        return 0;
    }
    return 1;
}

static attn_variable *add_learned(attn_tape *tape, const at_grid *grid, attn_variable *x, const int64_t *down,
                                  const int64_t *along) {
    int32_t *ids = at_scratch_memory(tape, x->rows, sizeof *ids);
    if (!ids) return NULL;
    for (int64_t i = 0; i < x->rows; i++) ids[i] = (int32_t)down[i];
    x = attn_tape_add(tape, x, attn_tape_embedding(tape, grid->rows, ids, x->rows));
    for (int64_t i = 0; x && i < x->rows; i++) ids[i] = (int32_t)along[i];
    return x ? attn_tape_add(tape, x, attn_tape_embedding(tape, grid->columns, ids, x->rows)) : NULL;
}

static attn_variable *add_codes(attn_tape *tape, const at_grid *grid, attn_variable *x, const int64_t *down,
                                const int64_t *along, int64_t sides) {
    attn_variable *code = at_result(tape, x->rows, 2 * grid->half);
    const float *codes = code ? codes_of_sides(tape, grid, sides) : NULL;
    if (!codes) return NULL;
    at_view table = at_view_of(codes, sides, grid->half, grid->half);
    at_gather_call rows = {down, table, at_view_of(code->data, x->rows, grid->half, code->stride)};
    at_gather_call columns = {along, table,
                              at_view_of(code->data + grid->half, x->rows, grid->half, code->stride)};
    at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &rows));
    at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &columns));
    return attn_tape_add(tape, x, code);
}

attn_variable *at_grid_apply(attn_tape *tape, const at_grid *grid, attn_variable *x,
                             const attn_places *places) {
    attn_grids grids;
    if (!at_places_grids(tape, "positions", places, &grids) ||
        !at_tape_has_grids(tape, "positions", &grids, x->rows, NULL) ||
        (grid->rows && !check_sides(tape, grid, places))) {
        return NULL;
    }
    at_scratch mark = at_scratch_mark(tape);
    int64_t *down = at_scratch_memory(tape, x->rows, sizeof *down);
    int64_t *along = at_scratch_memory(tape, x->rows, sizeof *along);
    if (!down || !along) return NULL;
    int64_t sides = find_places(places, down, along);
    attn_variable *y =
        grid->rows ? add_learned(tape, grid, x, down, along) : add_codes(tape, grid, x, down, along, sides);
    at_scratch_release(tape, mark);
    return y;
}
