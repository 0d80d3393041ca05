/* test_cells.c: every kind of input with every task that it can have and every encoder, pair by pair: each of
 * them, and one network or three, other outputs, windows and threads, meets each other in some cell of the
 * grid, where a model is trained, stopped, resumed, loaded, evaluated and asked (support/cells.h).
 * test_full_cells.c does it in every cell.
 */
#include "support/cells.h"

#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"

static void test_takes(void **state) {
    (void)state;
    for (int i = 0; i < attn_task_count(); i++) assert_true(attn_input_takes("text", attn_task_name(i)));
    assert_true(attn_input_takes("vectors", "seq2seq"));
    assert_false(attn_input_takes("vectors", "lm")); /* no symbols */
    assert_true(attn_input_takes("graph", "tag"));
    assert_false(attn_input_takes("graph", "seq2seq")); /* no order */
    assert_false(attn_input_takes("graph", "lm"));
    assert_true(attn_input_takes("molecule", "regress"));
    assert_false(attn_input_takes("molecule", "tag")); /* targets are those of molecules */
    assert_false(attn_input_takes("text", "sing"));
    assert_false(attn_input_takes("smell", "tag"));
    assert_false(attn_input_takes("", "tag"));
    assert_false(attn_input_takes(NULL, "tag"));
    assert_false(attn_input_takes("text", NULL));
    for (int i = 0; i < attn_input_count(); i++) { /* every kind is good for something */
        int tasks = 0;
        for (int t = 0; t < attn_task_count(); t++)
            tasks += attn_input_takes(attn_input_name(i), attn_task_name(t));
        assert_true(tasks > 0);
    }
}

/* Whether some cell has these values on two axes. */
static int has_pair(const cell *list, int count, int a, int b, const cell *like) {
    for (int i = 0; i < count; i++)
        if (list[i].at[a] == like->at[a] && list[i].at[b] == like->at[b]) return 1;
    return 0;
}

static void test_pairs(void **state) {
    (void)state;
    cell *all, *chosen, *again;
    int count = cells_all(&all), used = cells_pairwise(all, count, &chosen);
    assert_true(used > 0 && used < count / 4);
    for (int i = 0; i < count; i++)
        for (int a = 0; a < CELL_AXES; a++)
            for (int b = a + 1; b < CELL_AXES; b++)
                if (!has_pair(chosen, used, a, b, &all[i]))
                    fail_msg("axes %d and %d: no cell has %d and %d", a, b, all[i].at[a], all[i].at[b]);
    assert_int_equal(cells_pairwise(all, count, &again), used); /* the same in every run */
    assert_memory_equal(chosen, again, (size_t)used * sizeof *chosen);
    free(all);
    free(chosen);
    free(again);
}

static void test_cells(void **state) {
    (void)state;
    cell *all, *chosen;
    int count = cells_all(&all), used = cells_pairwise(all, count, &chosen);
    print_message("%d of %d cells\n", used, count);
    for (int i = 0; i < used; i++) cells_live(&chosen[i]);
    free(all);
    free(chosen);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_takes), cmocka_unit_test(test_pairs),
                                       cmocka_unit_test(test_cells)};
    return cmocka_run_group_tests(tests, cells_setup, cells_teardown);
}
