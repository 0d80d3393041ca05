/* rotary.c: rotary positions. In every head of `width` channels, channels c and
 * c + width / 2 of a row at position p are turned by the angle p * base^(-2 c / width):
 *
 *     (a, b) -> (a cos - b sin, b cos + a sin)
 *
 * and on the way back by the opposite angle.
 *
 * Sines and cosines depend on position and channel alone: they are made once a
 * call for all heads and, where positions are close together, for all sequences.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <math.h>

typedef struct rotary_state {
    int64_t heads, half;
    const float *table;     /* rows of half cosines and half sines */
    const int64_t *entries; /* [rows of x]: each one's row of the table */
} rotary_state;

/* Makes the table and the entries of all rows. 0 with the error set. */
static int make_angles(attn_tape *tape, rotary_state *s, const attn_ragged *batch,
                       const int64_t *first_position, int64_t rows, double base) {
    int64_t low = INT64_MAX, high = INT64_MIN, count = 0;
    at_position_run *runs = at_scratch_memory(tape, batch->sequences, sizeof *runs);
    int64_t *entries = at_tape_memory(tape, rows, sizeof *entries);
    float *table = at_tape_numbers(tape, rows * 2 * s->half);
    if (!runs || !entries || !table) return 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t first = first_position ? first_position[b] : 0;
        int64_t length = batch->offsets[b + 1] - batch->offsets[b];
        if (length == 0) continue;
        if (first < low) low = first;
        if (first + length > high) high = first + length;
        at_position_run run = {first, length, batch->offsets[b]};
        runs[count++] = run;
    }
    int shared = count > 0 && high - low <= rows; /* else every row has an entry of its own */
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t first = first_position ? first_position[b] : 0, row = batch->offsets[b];
        for (int64_t i = row; i < batch->offsets[b + 1]; i++) entries[i] = shared ? first - low + i - row : i;
    }
    if (shared) {
        at_position_run run = {low, high - low, 0};
        runs[0] = run;
        count = 1;
    }
    s->table = table;
    s->entries = entries;
    at_rotary_angles_call call = {runs, count, s->half, base, table};
    return at_tape_did(tape, at_tape_run(tape)->rotary_angles(at_tape_context(tape), &call));
}

static void rotate(attn_tape *tape, const rotary_state *s, float sign, at_view x, at_view y) {
    at_rotary_call call = {s->heads, s->half, sign, s->table, s->entries, x, y};
    at_tape_did(tape, at_tape_run(tape)->rotary(at_tape_context(tape), &call));
}

static void rotary_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    rotate(tape, node->state, -1.0f, at_gradient_of(node->output), at_place_of(&dx, x));
    at_gradient_end(tape, x, &dx);
}

static int check_rotary(attn_tape *tape, const attn_variable *x, int64_t heads, const attn_ragged *batch,
                        const int64_t *first_position, float base) {
    const int64_t far = (int64_t)1 << 52; /* positions stay whole numbers in double */
    if (heads < 1 || x->columns % heads != 0 || x->columns / heads % 2 != 0) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "rotary: x is %" PRId64 " x %" PRId64 ", which is not %" PRId64
                     " heads of an even number of channels",
                     x->rows, x->columns, heads);
        return 0;
    }
    if (!(base > 0.0f) || isinf(base)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "rotary: a base of %g is not positive and finite",
                     (double)base);
        return 0;
    }
    if (!at_tape_has_batch(tape, "rotary", batch, x->rows, NULL)) return 0;
    for (int64_t b = 0; first_position && b < batch->sequences; b++) {
        if (first_position[b] >= -far && first_position[b] <= far) continue;
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "rotary: first_position[%" PRId64 "] is %" PRId64 ", which is too far", b,
                     first_position[b]);
        return 0;
    }
    return 1;
}

attn_variable *attn_tape_rotary(attn_tape *tape, attn_variable *x, int64_t heads, const attn_ragged *batch,
                                const int64_t *first_position, float base) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "rotary", "x", x) ||
        !check_rotary(tape, x, heads, batch, first_position, base)) {
        return NULL;
    }
    attn_variable *y = at_result(tape, x->rows, x->columns);
    rotary_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->heads = heads;
    s->half = x->columns / heads / 2;
    at_scratch mark = at_scratch_mark(tape);
    int made = make_angles(tape, s, batch, first_position, x->rows, (double)base);
    at_scratch_release(tape, mark);
    if (!made) return NULL;
    rotate(tape, s, 1.0f, at_data_of(x), at_data_of(y));
    at_record(tape, y, rotary_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
