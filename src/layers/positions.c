/* positions.c: where a row is in its sequence, added or put beside it.
 *
 *     sinusoidal   p[t][2c] = sin(t w_c), p[t][2c+1] = cos(t w_c), w_c = 10000^(-2c/columns)
 *     learned      p[t] = row t of a table
 *     one-hot      a 1 in column t of `longest` more columns
 *
 * The codes of the first TABLE_ROWS positions are computed when the layer is
 * made; those of later ones when they are needed.
 */
#include "layers/layers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tape/tape.h"

enum { TABLE_ROWS = 512 };

struct attn_positions {
    attn_position kind;
    int64_t columns, longest;
    attn_parameter *learned;
    float *sinusoids; /* TABLE_ROWS x columns */
    at_grid *grid;    /* of GRID and GRID_LEARNED: positions_grid.c */
};

static void sinusoid(int64_t columns, int64_t t, float *code) {
    for (int64_t c = 0; c < columns; c++) {
        double angle = (double)t * pow(10000.0, -(double)(c - c % 2) / (double)columns);
        code[c] = (float)(c % 2 ? cos(angle) : sin(angle));
    }
}

attn_positions *attn_positions_create(attn_parameters *parameters, const char *name, attn_position kind,
                                      int64_t columns, int64_t longest) {
    attn_positions *layer = at_layer_create(parameters, name, sizeof *layer);
    if (!layer || !at_layer_knows(parameters, name, "position", (int)kind, ATTN_POSITION_GRID_RELATIVE))
        return NULL;
    layer->kind = kind;
    layer->columns = columns;
    layer->longest = longest;
    int table =
        kind == ATTN_POSITION_LEARNED || kind == ATTN_POSITION_ONE_HOT || kind == ATTN_POSITION_GRID_LEARNED;
    if (columns < 1 || (table && longest < 1)) {
        return at_parameters_fail(parameters, ATTN_INVALID_ARGUMENT,
                                  "%s: %" PRId64 " columns and %" PRId64 " positions: at least 1 is needed",
                                  name, columns, longest);
    }
    if (kind == ATTN_POSITION_LEARNED) {
        char text[AT_NAME];
        int64_t shape[2] = {longest, columns};
        attn_parameter_options options;
        attn_parameter_options_init(&options);
        options.kind = ATTN_PARAMETER_EMBEDDING;
        options.initial = ATTN_INITIAL_NORMAL;
        options.scale = 0.1f;
        layer->learned =
            attn_parameters_add(parameters, at_layer_name(text, name, "table"), 2, shape, &options);
    }
    if (kind == ATTN_POSITION_SINUSOIDAL) {
        layer->sinusoids = at_layer_memory(parameters, (size_t)TABLE_ROWS * (size_t)columns * sizeof(float));
        for (int64_t t = 0; layer->sinusoids && t < TABLE_ROWS; t++) {
            sinusoid(columns, t, layer->sinusoids + t * columns);
        }
    }
    if (kind == ATTN_POSITION_GRID) layer->grid = at_grid_create(parameters, name, columns);
    if (kind == ATTN_POSITION_GRID_LEARNED)
        layer->grid = at_grid_create_learned(parameters, name, columns, longest);
    return at_parameters_ready(parameters) ? layer : NULL;
}

/* The position of every row. */
static int64_t *positions_of(attn_tape *tape, const attn_ragged *batch, int64_t rows, const int64_t *first) {
    int64_t *position = at_tape_memory(tape, rows, sizeof *position);
    for (int64_t b = 0; position && b < batch->sequences; b++) {
        for (int64_t i = batch->offsets[b]; i < batch->offsets[b + 1]; i++) {
            position[i] = i - batch->offsets[b] + (first ? first[b] : 0);
        }
    }
    return position;
}

static attn_variable *add_learned(attn_tape *tape, const attn_positions *layer, attn_variable *x,
                                  const int64_t *position) {
    int32_t *ids = at_tape_memory(tape, x->rows, sizeof *ids);
    if (!ids) return NULL;
    for (int64_t i = 0; i < x->rows; i++) ids[i] = (int32_t)position[i];
    return attn_tape_add(tape, x, attn_tape_embedding(tape, layer->learned, ids, x->rows));
}

/* The code of every row, made on the host. */
static attn_variable *codes(attn_tape *tape, const attn_positions *layer, const int64_t *position,
                            int64_t rows, int64_t columns) {
    at_scratch mark = at_scratch_mark(tape);
    float *host = at_scratch_memory(tape, rows, (size_t)columns * sizeof(float));
    if (!host) return NULL;
    for (int64_t i = 0; i < rows; i++) {
        float *row = host + i * columns;
        if (layer->kind == ATTN_POSITION_ONE_HOT) {
            memset(row, 0, (size_t)columns * sizeof(float));
            row[position[i]] = 1.0f;
        } else if (position[i] >= 0 && position[i] < TABLE_ROWS) {
            memcpy(row, layer->sinusoids + position[i] * columns, (size_t)columns * sizeof(float));
        } else {
            sinusoid(columns, position[i], row);
        }
    }
    attn_variable *code = attn_tape_input(tape, host, rows, columns, 0);
    at_scratch_release(tape, mark);
    return code;
}

attn_variable *attn_positions_apply(attn_tape *tape, const attn_positions *layer, attn_variable *x,
                                    const attn_places *places) {
    if (!at_tape_ready(tape)) return NULL;
    if (!layer) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "positions: the layer is NULL");
    if (!at_tape_has(tape, "positions", "x", x)) return NULL;
    places = at_places_ready(tape, "positions", places);
    if (!places) return NULL;
    const attn_ragged *batch = &places->batch;
    if (layer->grid) return at_grid_apply(tape, layer->grid, x, places);
    if (layer->kind != ATTN_POSITION_SINUSOIDAL && layer->kind != ATTN_POSITION_LEARNED &&
        layer->kind != ATTN_POSITION_ONE_HOT) {
        return x;
    }
    if (!at_tape_has_batch(tape, "positions", batch, x->rows, NULL)) return NULL;
    int64_t *position = positions_of(tape, batch, x->rows, places->first);
    if (!position) return NULL;
    for (int64_t i = 0; layer->kind != ATTN_POSITION_SINUSOIDAL && i < x->rows; i++) {
        if (position[i] >= 0 && position[i] < layer->longest) continue;
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "positions: row %" PRId64 " stands at position %" PRId64 ", there are %" PRId64
                            ": make the layer with a larger `longest`",
                            i, position[i], layer->longest);
    }
    if (layer->kind == ATTN_POSITION_LEARNED) return add_learned(tape, layer, x, position);
    int64_t columns = layer->kind == ATTN_POSITION_ONE_HOT ? layer->longest : layer->columns;
    attn_variable *code = codes(tape, layer, position, x->rows, columns);
    if (!code) return NULL;
    attn_variable *parts[2] = {x, code};
    return layer->kind == ATTN_POSITION_ONE_HOT ? attn_tape_concat(tape, parts, 2)
                                                : attn_tape_add(tape, x, code);
}
