/* multiply.c: y = a * b, element by element, or with b one row for all.
 *
 *     da = dy * b      db = dy * a, summed over the rows if b is one row
 */
#include "tape/ops/checks.h"

static void multiply_views(attn_tape *tape, at_view a, at_view b, at_view y) {
    at_binary_call call = {a, b, y};
    at_tape_did(tape, at_tape_run(tape)->multiply(at_tape_context(tape), &call));
}

static void multiply_backward(attn_tape *tape, at_node *node) {
    attn_variable *a = node->input[0], *b = node->input[1], *y = node->output;
    at_gradient da = at_gradient_begin(tape, a);
    if (da.data) multiply_views(tape, at_gradient_of(y), at_data_of(b), at_place_of(&da, a));
    at_gradient_end(tape, a, &da);
    at_gradient db = at_gradient_begin(tape, b);
    if (db.data && b->rows != y->rows) {
        at_column_sums_call call = {at_gradient_of(y), at_data_of(a), db.data};
        at_tape_did(tape, at_tape_run(tape)->column_sums(at_tape_context(tape), &call));
    } else if (db.data) {
        multiply_views(tape, at_gradient_of(y), at_data_of(a), at_place_of(&db, b));
    }
    at_gradient_end(tape, b, &db);
}

attn_variable *attn_tape_multiply(attn_tape *tape, attn_variable *a, attn_variable *b) {
    if (!at_tape_ready(tape) || !at_tape_has_pair(tape, "multiply", a, b)) return NULL;
    attn_variable *y = at_result(tape, a->rows, a->columns);
    if (!y) return NULL;
    multiply_views(tape, at_data_of(a), at_data_of(b), at_data_of(y));
    at_record(tape, y, multiply_backward, NULL, 0, a, b, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
