/* test_graph.c: graphs made from edges and from each other: what stands where,
 * edge numbers that stay, malformed input, memory that is refused, and calls
 * on a graph that are.
 */
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static attn_context *context(void) { return test_context(0, 1); }

/* An edge list, by edge number. */
typedef struct edge_list {
    int64_t rows, columns, edges;
    int64_t *row_of, *column_of;
} edge_list;

static edge_list list_create(int64_t rows, int64_t columns, int64_t edges) {
    edge_list list = {rows, columns, edges, calloc((size_t)edges + 1, sizeof(int64_t)),
                      calloc((size_t)edges + 1, sizeof(int64_t))};
    assert_true(list.row_of && list.column_of);
    return list;
}

static void list_destroy(edge_list *list) {
    free(list->row_of);
    free(list->column_of);
}

/* Duplicates and self-loops are likely; rows from `used` on have no edges. */
static edge_list list_random(test_random *random, int64_t rows, int64_t columns, int64_t used,
                             int64_t edges) {
    edge_list list = list_create(rows, columns, edges);
    for (int64_t e = 0; e < edges; e++) {
        list.row_of[e] = random_between(random, 0, used - 1);
        list.column_of[e] = random_between(random, 0, columns - 1);
    }
    return list;
}

static attn_graph *graph_of(const edge_list *list) {
    attn_graph *graph = NULL;
    assert_int_equal(attn_graph_from_edges(context(), list->rows, list->columns, list->edges, list->row_of,
                                           list->column_of, &graph),
                     ATTN_OK);
    return graph;
}

/* The graph has exactly the edges of the list, by number; `ordered`: those of
 * a row in the order of their numbers. */
static void assert_edges(const attn_graph *graph, const edge_list *list, bool ordered) {
    assert_int_equal(attn_graph_rows(graph), list->rows);
    assert_int_equal(attn_graph_columns(graph), list->columns);
    assert_int_equal(attn_graph_edges(graph), list->edges);
    const int64_t *offsets = attn_graph_row_offsets(graph), *numbers = attn_graph_edge_numbers(graph);
    const int32_t *columns = attn_graph_column_indices(graph);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[list->rows], list->edges);
    bool *seen = calloc((size_t)list->edges + 1, sizeof(bool));
    assert_non_null(seen);
    for (int64_t row = 0; row < list->rows; row++) {
        assert_true(offsets[row] <= offsets[row + 1]);
        for (int64_t place = offsets[row]; place < offsets[row + 1]; place++) {
            int64_t number = numbers[place];
            assert_true(number >= 0 && number < list->edges);
            assert_false(seen[number]);
            seen[number] = true;
            assert_int_equal(list->row_of[number], row);
            assert_int_equal(list->column_of[number], columns[place]);
            if (ordered && place > offsets[row]) assert_true(numbers[place - 1] < number);
        }
    }
    free(seen);
}

/* ---- structure ---------------------------------------------------------------------------------- */

static void test_from_edges(void **state) {
    (void)state;
    int64_t row_of[] = {2, 0, 2, 2, 0, 3}, column_of[] = {1, 4, 1, 0, 0, 3};
    static const int64_t offsets[] = {0, 2, 2, 5, 6}, numbers[] = {1, 4, 0, 2, 3, 5};
    static const int32_t columns[] = {4, 0, 1, 1, 0, 3};
    edge_list list = {4, 5, 6, row_of, column_of};
    attn_graph *graph = graph_of(&list);
    row_of[0] = column_of[0] = 99; /* both were copied */
    assert_memory_equal(attn_graph_row_offsets(graph), offsets, sizeof(offsets));
    assert_memory_equal(attn_graph_column_indices(graph), columns, sizeof(columns));
    assert_memory_equal(attn_graph_edge_numbers(graph), numbers, sizeof(numbers));
    attn_graph_destroy(graph);
}

static void test_create(void **state) {
    (void)state;
    int64_t offsets[] = {0, 3, 3, 4}, columns[] = {2, 0, 2, 1};
    static const int64_t numbers[] = {0, 1, 2, 3};
    static const int32_t kept[] = {2, 0, 2, 1};
    attn_graph *graph = NULL;
    assert_int_equal(attn_graph_create(context(), 3, 3, offsets, columns, &graph), ATTN_OK);
    offsets[1] = columns[0] = -5; /* both were copied */
    assert_int_equal(attn_graph_rows(graph), 3);
    assert_int_equal(attn_graph_columns(graph), 3);
    assert_int_equal(attn_graph_edges(graph), 4);
    assert_int_equal(attn_graph_row_offsets(graph)[1], 3);
    assert_memory_equal(attn_graph_column_indices(graph), kept, sizeof(kept));
    assert_memory_equal(attn_graph_edge_numbers(graph), numbers, sizeof(numbers));
    attn_graph_destroy(graph);
    attn_graph_destroy(NULL);
}

static void test_random_lists(void **state) {
    (void)state;
    test_random random = {5};
    for (int k = 0; k < 60; k++) {
        int64_t rows = random_between(&random, 1, 40), columns = random_between(&random, 1, 40);
        int64_t used = random_between(&random, 1, rows), edges = random_between(&random, 0, 200);
        if (k == 0) edges = 20000; /* rows of very many edges are divided into pieces inside */
        edge_list list = list_random(&random, rows, columns, used, edges);
        attn_graph *graph = graph_of(&list), *again = NULL;
        assert_edges(graph, &list, true);
        /* the same from its own compressed rows: the numbers are then the places */
        int64_t *places = calloc((size_t)edges + 1, sizeof(int64_t));
        assert_non_null(places);
        for (int64_t e = 0; e < edges; e++) places[e] = attn_graph_column_indices(graph)[e];
        assert_int_equal(
            attn_graph_create(context(), rows, columns, attn_graph_row_offsets(graph), places, &again),
            ATTN_OK);
        assert_memory_equal(attn_graph_row_offsets(again), attn_graph_row_offsets(graph),
                            (size_t)(rows + 1) * sizeof(int64_t));
        for (int64_t e = 0; e < edges; e++) {
            assert_int_equal(attn_graph_column_indices(again)[e], places[e]);
            assert_int_equal(attn_graph_edge_numbers(again)[e], e);
        }
        free(places);
        attn_graph_destroy(again);
        attn_graph_destroy(graph);
        list_destroy(&list);
    }
}

/* No edges, no columns, no rows, nothing at all; NULL arrays of no entries. */
static void test_empty(void **state) {
    (void)state;
    static const int64_t extents[][2] = {{0, 0}, {0, 7}, {7, 0}, {5, 3}, {1, 1}};
    for (size_t k = 0; k < COUNT(extents); k++) {
        int64_t offsets[8] = {0};
        edge_list none = {extents[k][0], extents[k][1], 0, NULL, NULL};
        attn_graph *graph = graph_of(&none), *made = NULL, *other = NULL;
        assert_edges(graph, &none, true);
        assert_int_equal(attn_graph_create(context(), none.rows, none.columns, offsets, NULL, &made),
                         ATTN_OK);
        assert_edges(made, &none, true);
        edge_list turned = {none.columns, none.rows, 0, NULL, NULL};
        assert_int_equal(attn_graph_transpose(context(), graph, &other), ATTN_OK);
        assert_edges(other, &turned, true);
        attn_graph_destroy(other);
        if (none.rows == none.columns) {
            assert_int_equal(attn_graph_add_reversed(context(), graph, &other), ATTN_OK);
            assert_edges(other, &none, true);
            attn_graph_destroy(other);
            assert_int_equal(attn_graph_add_self_loops(context(), graph, &other), ATTN_OK);
            assert_int_equal(attn_graph_edges(other), none.rows);
            attn_graph_destroy(other);
        }
        attn_graph_destroy(made);
        attn_graph_destroy(graph);
    }
    attn_graph *batch = NULL;
    edge_list nothing = {0, 0, 0, NULL, NULL};
    assert_int_equal(attn_graph_batch(context(), 0, NULL, &batch), ATTN_OK);
    assert_edges(batch, &nothing, true);
    attn_graph_destroy(batch);
}

static void test_transpose(void **state) {
    (void)state;
    test_random random = {6};
    for (int k = 0; k < 40; k++) {
        int64_t rows = random_between(&random, 1, 30), columns = random_between(&random, 1, 30);
        edge_list list = list_random(&random, rows, columns, rows, random_between(&random, 0, 150));
        edge_list turned = {columns, rows, list.edges, list.column_of, list.row_of};
        attn_graph *graph = graph_of(&list), *once = NULL, *twice = NULL;
        assert_int_equal(attn_graph_transpose(context(), graph, &once), ATTN_OK);
        assert_edges(once, &turned, false);
        assert_int_equal(attn_graph_transpose(context(), once, &twice), ATTN_OK);
        assert_edges(twice, &list, false);
        assert_edges(graph, &list, true);
        attn_graph_destroy(twice);
        attn_graph_destroy(once);
        attn_graph_destroy(graph);
        list_destroy(&list);
    }
}

/* One loop more in every row, at its end, also where there is one already; and
 * every edge a second time, the other way round. */
static void test_add_edges(void **state) {
    (void)state;
    test_random random = {7};
    for (int k = 0; k < 40; k++) {
        int64_t rows = random_between(&random, 1, 30);
        edge_list list = list_random(&random, rows, rows, rows, random_between(&random, 0, 150));
        edge_list more = list_create(rows, rows, list.edges + rows);
        edge_list both = list_create(rows, rows, 2 * list.edges);
        for (int64_t e = 0; e < list.edges; e++) {
            more.row_of[e] = both.row_of[e] = both.column_of[list.edges + e] = list.row_of[e];
            more.column_of[e] = both.column_of[e] = both.row_of[list.edges + e] = list.column_of[e];
        }
        for (int64_t row = 0; row < rows; row++)
            more.row_of[list.edges + row] = more.column_of[list.edges + row] = row;
        attn_graph *graph = graph_of(&list), *looped = NULL, *undirected = NULL;
        assert_int_equal(attn_graph_add_self_loops(context(), graph, &looped), ATTN_OK);
        assert_edges(looped, &more, true);
        assert_int_equal(attn_graph_add_reversed(context(), graph, &undirected), ATTN_OK);
        assert_edges(undirected, &both, false);
        attn_graph_destroy(undirected);
        attn_graph_destroy(looped);
        attn_graph_destroy(graph);
        list_destroy(&both);
        list_destroy(&more);
        list_destroy(&list);
    }
}

/* Graphs of all sizes, an empty one among them, and the same one twice. */
static void test_batch(void **state) {
    (void)state;
    test_random random = {9};
    edge_list lists[5] = {list_random(&random, 4, 6, 4, 11), list_create(3, 2, 0), list_create(0, 0, 0),
                          list_random(&random, 9, 1, 2, 30), list_create(0, 5, 0)};
    static const int order[] = {0, 1, 3, 2, 4, 3, 0};
    const attn_graph *graphs[COUNT(order)];
    attn_graph *made[5], *batch = NULL;
    for (int k = 0; k < 5; k++) made[k] = graph_of(&lists[k]);
    edge_list all = list_create(0, 0, 200);
    all.edges = 0;
    for (size_t k = 0; k < COUNT(order); k++) {
        const edge_list *list = &lists[order[k]];
        graphs[k] = made[order[k]];
        for (int64_t e = 0; e < list->edges; e++) {
            all.row_of[all.edges + e] = all.rows + list->row_of[e];
            all.column_of[all.edges + e] = all.columns + list->column_of[e];
        }
        all.edges += list->edges;
        all.rows += list->rows;
        all.columns += list->columns;
    }
    assert_int_equal(attn_graph_batch(context(), (int64_t)COUNT(order), graphs, &batch), ATTN_OK);
    assert_edges(batch, &all, true);
    attn_graph_destroy(batch);
    assert_int_equal(attn_graph_batch(context(), 1, graphs, &batch), ATTN_OK);
    assert_edges(batch, &lists[0], true);
    attn_graph_destroy(batch);
    list_destroy(&all);
    for (int k = 0; k < 5; k++) {
        attn_graph_destroy(made[k]);
        list_destroy(&lists[k]);
    }
}

/* Helpers on the results of helpers: numbers stay through all of them. */
static void test_helpers_in_turn(void **state) {
    (void)state;
    int64_t row_of[] = {1, 0, 1}, column_of[] = {0, 2, 0};
    edge_list list = {3, 3, 3, row_of, column_of};
    int64_t rows_after[] = {0, 2, 0, 1, 0, 1, 0, 1, 2}, columns_after[] = {1, 0, 1, 0, 2, 0, 0, 1, 2};
    edge_list after = {3, 3, 9, rows_after, columns_after};
    attn_graph *graph = graph_of(&list), *turned = NULL, *both = NULL, *looped = NULL;
    assert_int_equal(attn_graph_transpose(context(), graph, &turned), ATTN_OK);
    assert_int_equal(attn_graph_add_reversed(context(), turned, &both), ATTN_OK);
    attn_graph_destroy(turned); /* a result does not live on what it was made from */
    attn_graph_destroy(graph);
    assert_int_equal(attn_graph_add_self_loops(context(), both, &looped), ATTN_OK);
    attn_graph_destroy(both);
    assert_edges(looped, &after, false);
    attn_graph_destroy(looped);
}

/* ---- malformed input ---------------------------------------------------------------------------- */

static attn_graph *const untouched = (attn_graph *)(uintptr_t)64;

/* The status, a text with the name in it, and no graph. */
static void assert_refused(attn_status status, attn_status expected, const attn_graph *graph,
                           const char *name) {
    if (status != expected)
        fail_msg("%s: %s instead of %s", name, attn_status_name(status), attn_status_name(expected));
    assert_ptr_equal(graph, untouched);
    if (!strstr(attn_context_error(context()), name))
        fail_msg("\"%s\" does not name %s", attn_context_error(context()), name);
}

/* A copy that ends at a page that may not be touched. */
static memory_block guarded(const int64_t *entries, size_t count) {
    memory_block block = memory_create(MEMORY_GUARD_AFTER, count * sizeof(int64_t));
    memcpy(block.data, entries, count * sizeof(int64_t));
    return block;
}

static void test_malformed_offsets(void **state) {
    (void)state;
    static const struct {
        int64_t offsets[4];
        attn_status status;
        const char *name;
    } cases[] = {
        {{0, 2, 1, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, 3, 3, 2}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{1, 2, 3, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{-1, 0, 1, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, -1, 1, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, 1000000000, 1, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, 0, 0, -3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, INT64_MAX, INT64_MIN, 3}, ATTN_INVALID_ARGUMENT, "row_offsets"},
        {{0, 1, 2, INT64_MAX}, ATTN_OVERFLOW, "edges"},
        {{0, 1, 2, INT64_MAX / 8}, ATTN_OVERFLOW, "edges"},
        {{0, 1, INT64_MAX / 2, INT64_MAX / 2}, ATTN_OVERFLOW, "edges"},
    };
    static const int64_t columns[] = {0, 1, 2};
    memory_block indices = guarded(columns, 3);
    for (size_t k = 0; k < COUNT(cases); k++) {
        memory_block offsets = guarded(cases[k].offsets, 4);
        attn_graph *graph = untouched;
        attn_status status = attn_graph_create(context(), 3, 3, offsets.data, indices.data, &graph);
        assert_refused(status, cases[k].status, graph, cases[k].name);
        memory_destroy(&offsets);
    }
    memory_destroy(&indices);
}

/* Indices that are out of range by one and by far, among them some that would
 * be in range in 32 bits; the text says which entry. */
static void test_malformed_indices(void **state) {
    (void)state;
    static const int64_t wrong[] = {
        -1, 4, 5, INT64_MAX, INT64_MIN, INT64_C(1) << 32, (INT64_C(1) << 32) + 1, -(INT64_C(1) << 32)};
    for (size_t k = 0; k < COUNT(wrong); k++) {
        for (int place = 0; place < 3; place++) {
            int64_t entries[3] = {0, 1, 2};
            static const int64_t good[3] = {0, 1, 2}, all[] = {0, 1, 1, 2, 3};
            static const char *const names[3][3] = {
                {"column_indices[0]", "column_indices[1]", "column_indices[2]"},
                {"row_of[0]", "row_of[1]", "row_of[2]"},
                {"column_of[0]", "column_of[1]", "column_of[2]"}};
            entries[place] = wrong[k];
            memory_block bad = guarded(entries, 3), fine = guarded(good, 3), offsets = guarded(all, 5);
            attn_graph *graph = untouched;
            assert_refused(attn_graph_create(context(), 4, 4, offsets.data, bad.data, &graph),
                           ATTN_INVALID_ARGUMENT, graph, names[0][place]);
            assert_refused(attn_graph_from_edges(context(), 4, 9, 3, bad.data, fine.data, &graph),
                           ATTN_INVALID_ARGUMENT, graph, names[1][place]);
            assert_refused(attn_graph_from_edges(context(), 9, 4, 3, fine.data, bad.data, &graph),
                           ATTN_INVALID_ARGUMENT, graph, names[2][place]);
            memory_destroy(&bad);
            memory_destroy(&fine);
            memory_destroy(&offsets);
        }
    }
}

/* Counts that cannot be: nothing is read for them. */
static void test_malformed_counts(void **state) {
    (void)state;
    static const int64_t zero[] = {0};
    static const struct {
        int64_t rows, columns, edges;
        attn_status status;
        const char *name;
    } cases[] = {
        {-1, 3, 0, ATTN_INVALID_ARGUMENT, "rows"},
        {3, -1, 0, ATTN_INVALID_ARGUMENT, "columns"},
        {3, 3, -1, ATTN_INVALID_ARGUMENT, "edges"},
        {INT64_MIN, 3, 0, ATTN_INVALID_ARGUMENT, "rows"},
        {3, INT64_MIN, 0, ATTN_INVALID_ARGUMENT, "columns"},
        {3, 3, INT64_MIN, ATTN_INVALID_ARGUMENT, "edges"},
        {INT64_C(1) << 31, 3, 0, ATTN_OVERFLOW, "rows"},
        {3, INT64_C(1) << 31, 0, ATTN_OVERFLOW, "columns"},
        {INT64_MAX, 3, 0, ATTN_OVERFLOW, "rows"},
        {3, INT64_MAX, 0, ATTN_OVERFLOW, "columns"},
        {3, 3, INT64_MAX, ATTN_OVERFLOW, "edges"},
        {3, 3, INT64_MAX / 8, ATTN_OVERFLOW, "edges"},
    };
    memory_block entry = guarded(zero, 1);
    for (size_t k = 0; k < COUNT(cases); k++) {
        attn_graph *graph = untouched;
        assert_refused(attn_graph_from_edges(context(), cases[k].rows, cases[k].columns, cases[k].edges,
                                             entry.data, entry.data, &graph),
                       cases[k].status, graph, cases[k].name);
        if (cases[k].edges != 0) continue;
        assert_refused(
            attn_graph_create(context(), cases[k].rows, cases[k].columns, entry.data, entry.data, &graph),
            cases[k].status, graph, cases[k].name);
    }
    memory_destroy(&entry);
}

/* Nothing to see, and arguments that are not there. */
static void test_null(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 1}, zero[] = {0};
    edge_list list = {2, 3, 0, NULL, NULL};
    attn_graph *made = graph_of(&list), *graph = untouched;
    const attn_graph *none[2] = {made, NULL};
    assert_refused(attn_graph_create(context(), 1, 0, offsets, zero, &graph), ATTN_INVALID_ARGUMENT, graph,
                   "column_indices[0]");
    assert_refused(attn_graph_from_edges(context(), 0, 1, 1, zero, zero, &graph), ATTN_INVALID_ARGUMENT,
                   graph, "row_of[0]");
    assert_refused(attn_graph_create(context(), 1, 1, NULL, zero, &graph), ATTN_INVALID_ARGUMENT, graph,
                   "row_offsets");
    assert_refused(attn_graph_create(context(), 1, 1, offsets, NULL, &graph), ATTN_INVALID_ARGUMENT, graph,
                   "column_indices");
    assert_refused(attn_graph_create(context(), 1, 1, offsets, zero, NULL), ATTN_INVALID_ARGUMENT, graph,
                   "graph");
    assert_refused(attn_graph_from_edges(context(), 1, 1, 1, NULL, zero, &graph), ATTN_INVALID_ARGUMENT,
                   graph, "row_of");
    assert_refused(attn_graph_from_edges(context(), 1, 1, 1, zero, NULL, &graph), ATTN_INVALID_ARGUMENT,
                   graph, "column_of");
    assert_refused(attn_graph_from_edges(context(), 1, 1, 1, zero, zero, NULL), ATTN_INVALID_ARGUMENT, graph,
                   "graph");
    assert_refused(attn_graph_transpose(context(), NULL, &graph), ATTN_INVALID_ARGUMENT, graph, "graph");
    assert_refused(attn_graph_add_self_loops(context(), NULL, &graph), ATTN_INVALID_ARGUMENT, graph, "graph");
    assert_refused(attn_graph_add_reversed(context(), NULL, &graph), ATTN_INVALID_ARGUMENT, graph, "graph");
    assert_refused(attn_graph_batch(context(), 2, NULL, &graph), ATTN_INVALID_ARGUMENT, graph, "graphs");
    assert_refused(attn_graph_batch(context(), 2, none, &graph), ATTN_INVALID_ARGUMENT, graph, "graphs[1]");
    assert_refused(attn_graph_batch(context(), -1, none, &graph), ATTN_INVALID_ARGUMENT, graph, "count");
    assert_refused(attn_graph_batch(context(), 1, none, NULL), ATTN_INVALID_ARGUMENT, graph, "batch");
    assert_refused(attn_graph_transpose(context(), made, NULL), ATTN_INVALID_ARGUMENT, graph, "transposed");
    assert_refused(attn_graph_add_self_loops(context(), made, NULL), ATTN_INVALID_ARGUMENT, graph, "looped");
    assert_refused(attn_graph_add_reversed(context(), made, NULL), ATTN_INVALID_ARGUMENT, graph,
                   "undirected");
    assert_int_equal(attn_graph_create(NULL, 1, 1, offsets, zero, &graph), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_graph_from_edges(NULL, 1, 1, 1, zero, zero, &graph), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_graph_transpose(NULL, made, &graph), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_graph_add_self_loops(NULL, made, &graph), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_graph_add_reversed(NULL, made, &graph), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_graph_batch(NULL, 1, none, &graph), ATTN_INVALID_ARGUMENT);
    assert_ptr_equal(graph, untouched);
    attn_graph_destroy(made);
}

/* Loops and reversed edges need as many rows as columns; both are named. */
static void test_not_square(void **state) {
    (void)state;
    edge_list list = {2, 3, 0, NULL, NULL};
    attn_graph *made = graph_of(&list), *graph = untouched;
    assert_refused(attn_graph_add_self_loops(context(), made, &graph), ATTN_SHAPE_MISMATCH, graph, "2 rows");
    assert_refused(attn_graph_add_reversed(context(), made, &graph), ATTN_SHAPE_MISMATCH, graph, "3 columns");
    attn_graph_destroy(made);
}

/* ---- memory that is refused --------------------------------------------------------------------- */

enum { FROM_EDGES, CREATE, TRANSPOSE, SELF_LOOPS, REVERSED, BATCH, OPERATIONS };

static attn_status operate(attn_context *c, int operation, const attn_graph *graph, attn_graph **result) {
    static const int64_t row_of[] = {2, 0, 1}, column_of[] = {1, 1, 2}, offsets[] = {0, 1, 2, 3};
    const attn_graph *graphs[2] = {graph, graph};
    switch (operation) {
    case FROM_EDGES: return attn_graph_from_edges(c, 3, 3, 3, row_of, column_of, result);
    case CREATE: return attn_graph_create(c, 3, 3, offsets, column_of, result);
    case TRANSPOSE: return attn_graph_transpose(c, graph, result);
    case SELF_LOOPS: return attn_graph_add_self_loops(c, graph, result);
    case REVERSED: return attn_graph_add_reversed(c, graph, result);
    default: return attn_graph_batch(c, 2, graphs, result);
    }
}

static attn_context *counting_context(counting_allocator *counter) {
    attn_context_options options;
    attn_context *own = NULL;
    attn_context_options_init(&options);
    options.threads = 1;
    options.isa = "scalar";
    options.allocator = counting_allocator_functions(counter);
    assert_int_equal(attn_context_create(&options, &own), ATTN_OK);
    return own;
}

/* Every allocation of every operation fails once; nothing leaks, and the same
 * call succeeds when there is memory again. */
static void test_every_refused_allocation(void **state) {
    (void)state;
    edge_list list = {3, 3, 0, NULL, NULL};
    attn_graph *source = graph_of(&list);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        attn_status status = ATTN_OUT_OF_MEMORY;
        for (int64_t fail_at = 1; status != ATTN_OK; fail_at++) {
            counting_allocator counter = {0};
            attn_context *own = counting_context(&counter);
            attn_graph *graph = untouched;
            counter.fail_at = fail_at;
            status = operate(own, operation, source, &graph);
            assert_true((status != ATTN_OK) == (counter.failures > 0));
            if (status == ATTN_OK) assert_true(fail_at >= 2); /* the graph itself was refused at least */
            if (status != ATTN_OK) {
                assert_int_equal(status, ATTN_OUT_OF_MEMORY);
                assert_ptr_equal(graph, untouched);
                assert_true(attn_context_error(own)[0] != '\0');
                counter.fail_at = 0;
                assert_int_equal(operate(own, operation, source, &graph), ATTN_OK);
            }
            int64_t live = counter.live;
            attn_graph_destroy(graph);
            assert_true(counter.live < live);
            attn_context_destroy(own);
            assert_int_equal(counter.live, 0);
            assert_true(fail_at < 20);
        }
    }
    attn_graph_destroy(source);
}

/* ---- attention calls that are refused ------------------------------------------------------------ */

/* The five tensors of options and gradients that graphs and scores brought. */
enum { VECTOR, KEY_VECTOR, EDGE_BIAS, EDGE_KEY, EDGE_VALUE, EXTRAS, ROWS = 6, EDGES = 7, HEADS = 2, D = 4 };
static const char *const extra_names[EXTRAS] = {"score_vector", "key_score_vector", "edge_bias", "edge_key",
                                                "edge_value"};

typedef struct attention_call {
    attn_pattern pattern;
    attn_attention_options options;
    attn_attention_gradients d;
    attn_tensor query, key, value, output, log_sum_exp, weights;
} attention_call;

static float inputs[9][64], results[10][64];

static attn_tensor *option_of(attn_attention_options *o, int k) {
    attn_tensor *all[EXTRAS] = {&o->score_vector, &o->key_score_vector, &o->edge_bias, &o->edge_key,
                                &o->edge_value};
    return all[k];
}

static attn_tensor *gradient_of(attn_attention_gradients *d, int k) {
    attn_tensor *all[EXTRAS] = {&d->score_vector, &d->key_score_vector, &d->edge_bias, &d->edge_key,
                                &d->edge_value};
    return all[k];
}

static void add_extra(attention_call *c, int k) {
    int64_t shape[3] = {k < EDGE_BIAS ? HEADS : EDGES, k < EDGE_BIAS ? D : HEADS, D};
    *option_of(&c->options, k) = attn_tensor_view(inputs[4 + k], k < EDGE_KEY ? 2 : 3, shape);
    *gradient_of(&c->d, k) = attn_tensor_view(results[5 + k], k < EDGE_KEY ? 2 : 3, shape);
}

/* A call without a fault: a score with its vectors. */
static attention_call make_call(attn_score score, const attn_graph *graph) {
    attention_call c;
    int64_t lse[2] = {ROWS, HEADS}, weights = EDGES * HEADS;
    attn_pattern_init(&c.pattern);
    attn_attention_options_init(&c.options);
    attn_attention_gradients_init(&c.d);
    c.pattern.graph = graph;
    c.options.score = score;
    c.query = attn_tensor_rows(inputs[0], ROWS, HEADS, D);
    c.key = attn_tensor_rows(inputs[1], ROWS, HEADS, D);
    c.value = attn_tensor_rows(inputs[2], ROWS, HEADS, D);
    c.output = attn_tensor_rows(results[0], ROWS, HEADS, D);
    c.log_sum_exp = attn_tensor_view(results[1], 2, lse);
    c.weights = attn_tensor_view(results[2], 1, &weights);
    c.d.query = attn_tensor_rows(results[3], ROWS, HEADS, D);
    for (int k = VECTOR; k <= KEY_VECTOR; k++)
        if (score == ATTN_SCORE_GAT || (k == VECTOR && score != ATTN_SCORE_DOT && score != ATTN_SCORE_NONE))
            add_extra(&c, k);
    return c;
}

/* Call 0 .. 3: forward, backward, and how much memory they need. */
static attn_status make_one(const attention_call *c, int number) {
    attn_tensor d_output = attn_tensor_rows(inputs[3], ROWS, HEADS, D);
    size_t bytes;
    if (number == 0)
        return attn_attention_forward(context(), &c->pattern, &c->options, &c->query, &c->key, &c->value,
                                      &c->output, &c->log_sum_exp, c->pattern.graph ? &c->weights : NULL);
    if (number == 1)
        return attn_attention_backward(context(), &c->pattern, &c->options, &c->query, &c->key, &c->value,
                                       &c->output, &c->log_sum_exp, &d_output, &c->d);
    return (number == 2 ? attn_attention_forward_memory : attn_attention_backward_memory)(
        context(), &c->pattern, &c->options, &c->query, &c->key, &c->value, &bytes);
}

/* The calls first .. last say so and name `name`; no result is written. */
static void assert_calls_refused(const attention_call *c, int first, int last, attn_status expected,
                                 const char *name) {
    results[0][0] = results[3][0] = 7.0f;
    for (int number = first; number <= last; number++)
        assert_refused(make_one(c, number), expected, untouched, name);
    assert_true(results[0][0] == 7.0f && results[3][0] == 7.0f);
}

static attn_graph *small_graph(void) {
    int64_t row_of[EDGES] = {0, 1, 1, 3, 4, 5, 5}, column_of[EDGES] = {1, 2, 3, 3, 0, 5, 4};
    edge_list list = {ROWS, ROWS, EDGES, row_of, column_of};
    return graph_of(&list);
}

/* What the table of attn/attention.h does not have. */
static void test_unsupported(void **state) {
    (void)state;
    static const char *const names[8] = {"bias",  "distance_bias", "alibi_slopes",  "left",
                                         "right", "mask",          "query_offsets", "key_offsets"};
    static const int64_t offsets[] = {0, ROWS}, ones[4] = {1, 1, 1, 1};
    static const uint8_t bits[8] = {0};
    attn_graph *graph = small_graph();
    for (int score = 0; score <= ATTN_SCORE_NONE; score++) {
        for (int which = 0; which < 8; which++) { /* positions, on a graph */
            attention_call c = make_call((attn_score)score, graph);
            for (int number = 0; number < 4; number++) assert_int_equal(make_one(&c, number), ATTN_OK);
            if (which == 0) c.options.bias = attn_tensor_view(inputs[8], 4, ones);
            if (which == 1) c.options.distance_bias = attn_tensor_view(inputs[8], 2, ones);
            if (which == 2) c.options.alibi_slopes = inputs[8];
            if (which == 3) c.pattern.left = 2;
            if (which == 4) c.pattern.right = 0;
            if (which == 5) c.pattern.mask = (attn_mask){bits, ROWS, ROWS, 0, 0, 1};
            if (which == 6) c.pattern.query_offsets = offsets;
            if (which == 7) c.pattern.key_offsets = offsets;
            c.pattern.sequences = which >= 6;
            assert_calls_refused(&c, 0, 3, ATTN_UNSUPPORTED, names[which]);
        }
        for (int on_graph = 0; on_graph < 2; on_graph++) {
            attention_call c = make_call((attn_score)score, on_graph ? graph : NULL);
            c.options.softcap = 2.0f;
            if (score != ATTN_SCORE_DOT) assert_calls_refused(&c, 0, 3, ATTN_UNSUPPORTED, "softcap");
            for (int k = EDGE_BIAS; k < EXTRAS; k++) { /* edges, on positions; keys that a score has not */
                bool no_key = k == EDGE_KEY && (score == ATTN_SCORE_GAT || score == ATTN_SCORE_NONE);
                c = make_call((attn_score)score, on_graph ? graph : NULL);
                add_extra(&c, k);
                if (no_key || !on_graph) assert_calls_refused(&c, 0, 3, ATTN_UNSUPPORTED, extra_names[k]);
            }
        }
    }
    attn_graph_destroy(graph);
}

/* Shapes that do not fit, vectors that are missing, numbers that name nothing. */
static void test_mismatches(void **state) {
    (void)state;
    attn_graph *graph = small_graph();
    for (int k = 0; k < EXTRAS; k++) {
        attn_score score = k == EDGE_KEY ? ATTN_SCORE_GATV2 : ATTN_SCORE_GAT;
        for (int r = 0; r < (k < EDGE_KEY ? 2 : 3); r++) {
            attention_call c = make_call(score, graph);
            add_extra(&c, k);
            gradient_of(&c.d, k)->shape[r]--;
            assert_calls_refused(&c, 1, 1, ATTN_SHAPE_MISMATCH, extra_names[k]);
            option_of(&c.options, k)->shape[r]--;
            assert_calls_refused(&c, 0, 3, ATTN_SHAPE_MISMATCH, extra_names[k]);
        }
        attention_call c = make_call(score, graph);
        add_extra(&c, k);
        option_of(&c.options, k)->data = NULL;
        assert_calls_refused(&c, k < EDGE_BIAS ? 0 : 1, 1, ATTN_INVALID_ARGUMENT, extra_names[k]);
    }
    edge_list larger = {ROWS + 1, ROWS, 0, NULL, NULL};
    attn_graph *other = graph_of(&larger);
    attention_call c = make_call(ATTN_SCORE_DOT, other);
    c.weights.shape[0] = 0;
    assert_calls_refused(&c, 0, 3, ATTN_SHAPE_MISMATCH, "graph");
    c = make_call(ATTN_SCORE_DOT, graph);
    c.weights.shape[0]--;
    assert_calls_refused(&c, 0, 0, ATTN_SHAPE_MISMATCH, "weights");
    c = make_call((attn_score)9, graph);
    assert_calls_refused(&c, 0, 3, ATTN_INVALID_ARGUMENT, "score");
    c = make_call(ATTN_SCORE_DOT, graph);
    c.options.weighting = (attn_weighting)9;
    assert_calls_refused(&c, 0, 3, ATTN_INVALID_ARGUMENT, "weighting");
    attn_graph_destroy(other);
    attn_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_edges),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_random_lists),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_add_edges),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_helpers_in_turn),
        cmocka_unit_test(test_malformed_offsets),
        cmocka_unit_test(test_malformed_indices),
        cmocka_unit_test(test_malformed_counts),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_not_square),
        cmocka_unit_test(test_every_refused_allocation),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_mismatches),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
