/* window.c: window concatenation.
 *
 *     y_i = [x_(i - left) | ... | x_i | ... | x_(i + right)]
 *
 * with 0 for rows outside the sequence. Walking back, a row gathers what came
 * to all its copies.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

static void window_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_window_call call = {*(const at_window *)node->state, at_place_of(&dx, x),
                           at_gradient_of(node->output)};
    at_tape_did(tape, at_tape_run(tape)->window_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_window(attn_tape *tape, attn_variable *x, const attn_ragged *batch, int64_t left,
                                int64_t right) {
    const int64_t most = INT32_MAX; /* of rows and of columns: their products stay far from overflow */
    if (!at_tape_ready(tape) || !at_tape_has(tape, "window", "x", x)) return NULL;
    if (left < 0 || right < 0) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "window: left is %" PRId64 " and right %" PRId64 "; neither may be negative",
                            left, right);
    }
    if (left > most || right > most || (left + right + 1) > INT64_MAX / 8 / x->columns) {
        return at_tape_fail(tape, ATTN_OVERFLOW,
                            "window: %" PRId64 " rows to the left and %" PRId64 " to the right of %" PRId64
                            " columns are too many",
                            left, right, x->columns);
    }
    at_window *window = at_tape_memory(tape, 1, sizeof *window);
    if (window) memset(window, 0, sizeof *window);
    if (!window || !at_tape_has_batch(tape, "window", batch, x->rows, &window->batch)) return NULL;
    window->width = left + right + 1;
    window->first = -left;
    window->step = 1;
    attn_variable *y = at_result(tape, x->rows, window->width * x->columns);
    if (!y) return NULL;
    at_window_call call = {*window, at_data_of(x), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->window(at_tape_context(tape), &call));
    at_record(tape, y, window_backward, window, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
