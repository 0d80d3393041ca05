/* rotary.c: rotary positions. In every head of `width` channels, channels c and
 * c + width / 2 of a row at position p are turned by the angle p * base^(-2 c / width):
 *
 *     (a, b) -> (a cos - b sin, b cos + a sin)
 *
 * and on the way back by the opposite angle.
 *
 * Sines and cosines depend on position and channel alone: they are made once a
 * call, in double, for all heads and, where positions are close together, for
 * all sequences. Every BLOCK-th position is computed by itself, and those after
 * it by turning on, one position at a time: a multiplication instead of a sine,
 * with an error of some 1e-15. Blocks begin at multiples of BLOCK whatever the
 * batch holds, so the numbers of a position are always the same.
 */
#include "tape/ops/rowwise.h"

#include <inttypes.h>
#include <math.h>

enum { BLOCK = 64 };

typedef struct rotary_state {
    const at_network *network;
    int64_t heads, half;
    const float *table;     /* rows of half cosines and half sines */
    const int64_t *entries; /* [rows of x]: each one's row of the table */
    float sign;
} rotary_state;

/* A run of positions and where its sines and cosines go. */
typedef struct position_run {
    int64_t first, count;
    float *table;
} position_run;

typedef struct angle_run {
    const position_run *runs;
    const int64_t *first_task; /* [runs + 1]: the tasks of run r, a block each, begin there */
    int64_t count, half;
    const double *frequency; /* [3][half]: the angle from one position to the next, its cosine and sine */
    double *scratch;         /* [threads][2 * half] */
} angle_run;

static int64_t block_of(int64_t position) {
    return position >= 0 ? position / BLOCK : -((BLOCK - 1 - position) / BLOCK);
}

static const position_run *run_of_task(const angle_run *all, int64_t task, int64_t *number) {
    int64_t low = 0, high = all->count;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(all->first_task[middle] <= task ? &low : &high) = middle;
    }
    *number = task - all->first_task[low];
    return &all->runs[low];
}

/* One block of one run: from the block's first position on, also where the run
 * begins in its middle. */
static void angle_task(void *argument, int64_t task, int worker) {
    const angle_run *all = argument;
    int64_t half = all->half, number;
    const position_run *run = run_of_task(all, task, &number);
    int64_t start = (block_of(run->first) + number) * BLOCK, end = run->first + run->count;
    if (end > start + BLOCK) end = start + BLOCK;
    const double *turn_cosine = all->frequency + half, *turn_sine = turn_cosine + half;
    double *cosine = all->scratch + worker * 2 * half, *sine = cosine + half;
    for (int64_t c = 0; c < half; c++) {
        cosine[c] = cos((double)start * all->frequency[c]);
        sine[c] = sin((double)start * all->frequency[c]);
    }
    for (int64_t position = start; position < end; position++) {
        if (position >= run->first) {
            float *row = run->table + (position - run->first) * 2 * half;
            for (int64_t c = 0; c < half; c++) {
                row[c] = (float)cosine[c];
                row[half + c] = (float)sine[c];
            }
        }
        for (int64_t c = 0; c < half; c++) {
            double next = cosine[c] * turn_cosine[c] - sine[c] * turn_sine[c];
            sine[c] = sine[c] * turn_cosine[c] + cosine[c] * turn_sine[c];
            cosine[c] = next;
        }
    }
}

/* Fills the tables of all runs. 0 with the error set. */
static int fill_tables(attn_tape *tape, const position_run *runs, int64_t count, int64_t half, double base) {
    int threads = attn_context_threads(at_tape_context(tape));
    int64_t *first_task = at_scratch_memory(tape, count + 1, sizeof *first_task);
    double *frequency = at_scratch_memory(tape, half, 3 * sizeof(double));
    double *scratch = at_scratch_memory(tape, half, (size_t)threads * 2 * sizeof(double));
    if (!first_task || !frequency || !scratch) return 0;
    for (int64_t c = 0; c < half; c++) {
        frequency[c] = pow(base, -(double)c / (double)half);
        frequency[half + c] = cos(frequency[c]);
        frequency[2 * half + c] = sin(frequency[c]);
    }
    int64_t positions = 0;
    first_task[0] = 0;
    for (int64_t r = 0; r < count; r++) {
        int64_t last = runs[r].first + runs[r].count - 1;
        first_task[r + 1] = first_task[r] + block_of(last) - block_of(runs[r].first) + 1;
        positions += runs[r].count;
    }
    angle_run all = {runs, first_task, count, half, frequency, scratch};
    double sines = 2.0 * (double)first_task[count] * (double)half, turns = (double)positions * (double)half;
    at_tape_parallel(tape, 1000.0 * sines + 16.0 * turns, first_task[count], angle_task, &all);
    return 1;
}

/* Makes the table and the entries of all rows. 0 with the error set. */
static int make_angles(attn_tape *tape, rotary_state *s, const attn_ragged *batch,
                       const int64_t *first_position, int64_t rows, double base) {
    int64_t low = INT64_MAX, high = INT64_MIN, count = 0;
    position_run *runs = at_scratch_memory(tape, batch->sequences, sizeof *runs);
    int64_t *entries = at_tape_memory(tape, rows, sizeof *entries);
    float *table = at_tape_memory(tape, rows, 2 * (size_t)s->half * sizeof(float));
    if (!runs || !entries || !table) return 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t first = first_position ? first_position[b] : 0;
        int64_t length = batch->offsets[b + 1] - batch->offsets[b];
        if (length == 0) continue;
        if (first < low) low = first;
        if (first + length > high) high = first + length;
        position_run run = {first, length, table + batch->offsets[b] * 2 * s->half};
        runs[count++] = run;
    }
    int shared = count > 0 && high - low <= rows; /* else every row has an entry of its own */
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t first = first_position ? first_position[b] : 0, row = batch->offsets[b];
        for (int64_t i = row; i < batch->offsets[b + 1]; i++) entries[i] = shared ? first - low + i - row : i;
    }
    if (shared) {
        position_run run = {low, high - low, table};
        runs[0] = run;
        count = 1;
    }
    s->table = table;
    s->entries = entries;
    return fill_tables(tape, runs, count, s->half, base);
}

static void rotate_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const rotary_state *s = state;
    const float *cosine = s->table + s->entries[row] * 2 * s->half;
    (void)count;
    s->network->rotary(s->heads, s->half, cosine, cosine + s->half, s->sign, p[0], p[1]);
}

static void rotary_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    rotary_state back = *(const rotary_state *)node->state;
    back.sign = -1.0f;
    at_operand operands[2] = {at_gradient_of(y), at_place_of(&dx)};
    at_each_row(tape, 8.0, y->rows, y->columns, 2, operands, rotate_row, &back);
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
    s->network = at_tape_network(tape);
    s->heads = heads;
    s->half = x->columns / heads / 2;
    s->sign = 1.0f;
    at_mark mark = at_scratch_mark(tape);
    int made = make_angles(tape, s, batch, first_position, x->rows, (double)base);
    at_scratch_release(tape, mark);
    if (!made) return NULL;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_row(tape, 8.0, y->rows, y->columns, 2, operands, rotate_row, s);
    at_record(tape, y, rotary_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
