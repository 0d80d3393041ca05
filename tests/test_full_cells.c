/* test_full_cells.c: a model's life in every cell of the grid of kinds of input, tasks and encoders, with
 * every output, one network or three, a window or none (support/cells.h). A life has both numbers of threads
 * in it.
 */
#include "support/cells.h"

#include <stdlib.h>

#include "support/check.h"

static void test_all(void **state) {
    (void)state;
    cell *all;
    int count = cells_all(&all), lived = 0;
    assert_true(count > 0);
    for (int i = 0; i < count; i++)
        if (all[i].at[CELL_THREADS] == 0) cells_live(&all[i]), lived++;
    print_message("%d cells\n", lived);
    free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, cells_setup, cells_teardown);
}
