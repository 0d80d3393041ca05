/* add.c: y = a + b, element by element, or with b one row that is added to all.
 *
 * The gradient of a is that of y: its memory is handed on, not copied, where it
 * may be. The gradient of a row b is the sum over the rows of y's.
 */
#include "tape/ops/checks.h"

static void sum_rows(attn_tape *tape, attn_variable *y, attn_variable *b) {
    at_gradient db = at_gradient_begin(tape, b);
    if (!db.data) return;
    at_column_sums_call call = {.x = at_gradient_of(y), .sums = db.data};
    at_tape_did(tape, at_tape_run(tape)->column_sums(at_tape_context(tape), &call));
    at_gradient_end(tape, b, &db);
}

static void add_backward(attn_tape *tape, at_node *node) {
    attn_variable *a = node->input[0], *b = node->input[1], *y = node->output;
    if (b->rows != y->rows) {
        sum_rows(tape, y, b);
    } else {
        at_gradient_pass(tape, b, y, !at_wanted(a)); /* a's turn comes after: it may take the memory */
    }
    at_gradient_pass(tape, a, y, 1);
}

attn_variable *attn_tape_add(attn_tape *tape, attn_variable *a, attn_variable *b) {
    if (!at_tape_ready(tape) || !at_tape_has_pair(tape, "add", a, b)) return NULL;
    attn_variable *y = at_result(tape, a->rows, a->columns);
    if (!y) return NULL;
    at_binary_call call = {at_data_of(a), at_data_of(b), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->add(at_tape_context(tape), &call));
    at_record(tape, y, add_backward, NULL, 0, a, b, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
