/* test_operations_embedding.c: rows of tables, bags of them, gather and scatter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/operation.h"
#include "support/random.h"

typedef enum lookup_kind {
    EMBEDDING,
    BAG_SUM,
    BAG_MEAN,
    BAG_WEIGHTED,
    BAG_PLAIN,
    GATHER,
    SCATTER,
    LOOKUP_KINDS
} lookup_kind;
static const char *const kind_names[LOOKUP_KINDS] = {
    "embedding",    "embedding_bag, sum",           "embedding_bag, mean",
    "weighted_bag", "weighted_bag without weights", "gather",
    "scatter"};

typedef struct lookup_case {
    lookup_kind kind;
    int64_t rows, columns; /* of the table, or of x */
    int64_t margin;        /* gather, scatter: x is a slice */
    int64_t count;         /* rows of the result, bags */
    int64_t entries;       /* how many ids or rows are named */
    int64_t *named, *offsets;
    float *weights;
} lookup_case;

static int is_bag(lookup_kind kind) { return kind >= BAG_SUM && kind <= BAG_PLAIN; }

/* Names at random: some -1, and some often. */
static void fill(lookup_case *l, uint64_t seed) {
    test_random random = {seed + 1};
    int64_t limit = l->kind == SCATTER ? l->count : l->rows;
    l->named = calloc((size_t)l->entries + 1, sizeof *l->named);
    l->offsets = calloc((size_t)l->count + 1, sizeof *l->offsets);
    l->weights = calloc((size_t)l->entries + 1, sizeof *l->weights);
    for (int64_t i = 0; i < l->entries; i++) {
        l->named[i] = random_chance(&random, 10) || limit == 0 ? -1
                      : random_chance(&random, 30)             ? 0
                                                               : random_between(&random, 0, limit - 1);
    }
    if (!is_bag(l->kind)) return;
    for (int64_t i = 0; i < l->entries; i++)
        l->weights[i] = (float)random_between(&random, -1000, 1000) / 700.0f;
    for (int64_t b = 1; b < l->count; b++) { /* bags of any size, some empty */
        int64_t left = l->entries - l->offsets[b - 1];
        int64_t size =
            random_chance(&random, 20) ? 0 : random_between(&random, 0, 1 + 2 * l->entries / l->count);
        l->offsets[b] = l->offsets[b - 1] + (size < left ? size : left);
    }
    l->offsets[l->count] = l->entries;
}

static void destroy(lookup_case *l) {
    free(l->named);
    free(l->offsets);
    free(l->weights);
}

/* Runs on copies of the lists that are spoilt after the call. */
static attn_variable *run(attn_tape *tape, attn_variable **input, attn_parameter **parameter, void *user) {
    const lookup_case *l = user;
    int32_t *ids = calloc((size_t)l->entries + 1, sizeof *ids);
    int64_t *rows = calloc((size_t)l->entries + 1, sizeof *rows);
    int64_t *offsets = calloc((size_t)l->count + 1, sizeof *offsets);
    float *weights = calloc((size_t)l->entries + 1, sizeof *weights);
    attn_variable *y = NULL;
    memcpy(weights, l->weights, (size_t)l->entries * sizeof *weights);
    for (int64_t i = 0; i < l->entries; i++) ids[i] = (int32_t)(rows[i] = l->named[i]);
    memcpy(offsets, l->offsets, (size_t)(l->count + 1) * sizeof *offsets);
    attn_variable *x = l->kind < GATHER ? NULL
                       : l->margin      ? attn_tape_slice(tape, input[0], l->margin, l->columns)
                                        : input[0];
    switch (l->kind) {
    case EMBEDDING: y = attn_tape_embedding(tape, parameter[0], ids, l->entries); break;
    case BAG_SUM:
        y = attn_tape_embedding_bag(tape, parameter[0], ids, offsets, l->count, ATTN_BAG_SUM);
        break;
    case BAG_MEAN:
        y = attn_tape_embedding_bag(tape, parameter[0], ids, offsets, l->count, ATTN_BAG_MEAN);
        break;
    case BAG_WEIGHTED: y = attn_tape_weighted_bag(tape, parameter[0], ids, weights, offsets, l->count); break;
    case BAG_PLAIN: y = attn_tape_weighted_bag(tape, parameter[0], ids, NULL, offsets, l->count); break;
    case GATHER: y = attn_tape_gather(tape, x, rows, l->entries); break;
    default: y = attn_tape_scatter(tape, x, rows, l->count); break;
    }
    memset(ids, 0x7f, (size_t)(l->entries + 1) * sizeof *ids);
    memset(rows, 0x7f, (size_t)(l->entries + 1) * sizeof *rows);
    memset(offsets, 0x7f, (size_t)(l->count + 1) * sizeof *offsets);
    memset(weights, 0x7f, (size_t)(l->entries + 1) * sizeof *weights);
    free(ids);
    free(rows);
    free(offsets);
    free(weights);
    return y;
}

static void reference(double *const *input, double *const *parameter, double *result, void *user) {
    const lookup_case *l = user;
    int64_t stride = l->columns + 2 * l->margin;
    const double *x = l->kind < GATHER ? parameter[0] : input[0] + l->margin;
    if (l->kind < GATHER) stride = l->columns;
    memset(result, 0, (size_t)(l->count * l->columns) * sizeof *result);
    for (int64_t target = 0, i = 0; i < l->entries; i++) {
        int64_t from = l->named[i], to = i;
        double factor = 1.0;
        if (l->kind == BAG_WEIGHTED) factor = (double)l->weights[i];
        if (is_bag(l->kind)) {
            while (l->offsets[target + 1] <= i) target++;
            to = target;
            if (l->kind == BAG_MEAN) factor = 1.0 / (double)(l->offsets[target + 1] - l->offsets[target]);
        }
        if (l->kind == SCATTER) {
            to = from;
            from = i;
        }
        if (from < 0 || to < 0) continue;
        for (int64_t j = 0; j < l->columns; j++) result[to * l->columns + j] += factor * x[from * stride + j];
    }
}

static void check(lookup_case l, uint64_t seed, int64_t checked) {
    if (l.kind == SCATTER) l.entries = l.rows;
    if (l.kind == EMBEDDING || l.kind == GATHER) l.count = l.entries;
    fill(&l, seed);
    operation_case c = {.name = kind_names[l.kind],
                        .rows = l.count,
                        .columns = l.columns,
                        .seed = seed,
                        .user = &l,
                        .run = run,
                        .reference = reference,
                        .checked = checked};
    operation_tensor table = {.rows = l.rows, .columns = l.columns};
    if (l.kind < GATHER) {
        c.parameters = 1;
        c.parameter[0] = table;
    } else {
        c.inputs = 1;
        c.input[0] = table;
        c.input[0].columns += 2 * l.margin;
    }
    operation_check(&c);
    destroy(&l);
}

static void test_shapes(void **state) {
    (void)state;
    static const int64_t columns[] = {1, 3, 15, 16, 17, 33, 48};
    static const int64_t entries[] = {0, 1, 7, 40};
    for (int kind = 0; kind < LOOKUP_KINDS; kind++) {
        uint64_t seed = 100 * (uint64_t)kind;
        for (int n = 0; n < 7; n++) {
            for (int e = 0; e < 4; e++, seed++) {
                lookup_case l = {.kind = (lookup_kind)kind,
                                 .rows = 1 + (int64_t)(seed % 9),
                                 .columns = columns[n],
                                 .margin = (int64_t)(seed % 3),
                                 .count = 2 + (int64_t)(seed % 11),
                                 .entries = entries[e]};
                check(l, seed, 0);
            }
        }
        lookup_case empty = {.kind = (lookup_kind)kind, .columns = 5, .rows = kind >= GATHER ? 0 : 3};
        check(empty, seed, 0);
    }
}

/* So large that threads are woken. */
static void test_large(void **state) {
    (void)state;
    static const int64_t columns[] = {20, 130, 600};
    for (int kind = 0; kind < LOOKUP_KINDS; kind++) {
        for (int n = 0; n < 3; n++) {
            lookup_case l = {.kind = (lookup_kind)kind, .rows = 900, .columns = columns[n], .count = 500};
            l.entries = 2000;
            l.margin = n;
            check(l, 900 + (uint64_t)kind, 8);
        }
    }
}

/* Rows that no id names keep their gradient; those of two tables' uses add up. */
static void test_sparse(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    attn_parameters *set;
    attn_tape *tape;
    int64_t shape[2] = {5, 3};
    int32_t first[] = {1, 1, 4}, second[] = {4, -1};
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_parameter *table = attn_parameters_add(set, "table", 2, shape, NULL);
    for (int step = 0; step < 2; step++) {
        attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
        attn_variable *a = attn_tape_embedding(tape, table, first, 3),
                      *b = attn_tape_embedding(tape, table, second, 2);
        attn_variable *zero = attn_tape_gather(tape, b, (int64_t[]){0, 0, 1}, 3);
        assert_int_equal(attn_tape_backward(tape, attn_tape_add(tape, a, zero), NULL), ATTN_OK);
        const float *g = host_parameter_gradient(table);
        static const float rows[] = {0.0f, 2.0f, 0.0f, 0.0f, 3.0f};
        for (int i = 0; i < 15; i++) assert_true(g[i] == rows[i / 3]);
        attn_parameters_clear_gradients(set);
    }
    attn_parameter_set_frozen(table, 1);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
    attn_variable *y = attn_tape_embedding(tape, table, first, 3);
    assert_non_null(y);
    assert_int_equal(attn_tape_backward(tape, y, NULL), ATTN_INVALID_ARGUMENT); /* nothing learns */
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

static void expect(attn_tape *tape, const attn_variable *result, attn_status status, const char *text) {
    assert_null(result);
    if (attn_tape_status(tape) != status || !strstr(attn_tape_error(tape), text))
        fail_msg("\"%s\" is not \"%s\"", attn_tape_error(tape), text);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
}

static void test_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    float x[64] = {0};
    int64_t shape[2] = {5, 3}, rows[] = {0, 4, 5}, negative[] = {0, -2}, offsets[] = {0, 2, 3},
            falling[] = {0, 4, 3};
    int32_t ids[] = {0, 4, 5}, below[] = {0, -1, -2};
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_parameter *table = attn_parameters_add(set, "words", 2, shape, NULL);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 0);
#define INPUT attn_tape_input(tape, x, 5, 3, 1)
    expect(tape, attn_tape_embedding(tape, table, ids, 3), ATTN_INVALID_ARGUMENT,
           "embedding: ids[2] is 5, the table (words) has 5 rows");
    expect(tape, attn_tape_embedding(tape, table, below, 3), ATTN_INVALID_ARGUMENT,
           "embedding: ids[2] is -2");
    expect(tape, attn_tape_embedding(tape, table, NULL, 3), ATTN_INVALID_ARGUMENT, "embedding: ids is NULL");
    expect(tape, attn_tape_embedding(tape, table, ids, -1), ATTN_INVALID_ARGUMENT,
           "embedding: count is negative");
    expect(tape, attn_tape_embedding(tape, NULL, ids, 1), ATTN_INVALID_ARGUMENT, "embedding: table is NULL");
    expect(tape, attn_tape_embedding_bag(tape, table, ids, offsets, 2, ATTN_BAG_SUM), ATTN_INVALID_ARGUMENT,
           "embedding_bag: ids[2] is 5, the table (words) has 5 rows");
    expect(tape, attn_tape_embedding_bag(tape, table, ids, falling, 2, ATTN_BAG_SUM), ATTN_SHAPE_MISMATCH,
           "embedding_bag: the offsets");
    expect(tape, attn_tape_embedding_bag(tape, table, ids, NULL, 2, ATTN_BAG_SUM), ATTN_INVALID_ARGUMENT,
           "embedding_bag: offsets is NULL");
    expect(tape, attn_tape_embedding_bag(tape, table, ids, offsets, -2, ATTN_BAG_SUM), ATTN_INVALID_ARGUMENT,
           "negative");
    expect(tape, attn_tape_weighted_bag(tape, table, ids, NULL, falling, 2), ATTN_SHAPE_MISMATCH,
           "weighted_bag: the offsets");
    expect(tape, attn_tape_weighted_bag(tape, table, ids, NULL, NULL, 2), ATTN_INVALID_ARGUMENT,
           "weighted_bag: offsets is NULL");
    expect(tape, attn_tape_embedding_bag(tape, table, ids, offsets, 1, (attn_bag)2), ATTN_INVALID_ARGUMENT,
           "kind");
    expect(tape, attn_tape_gather(tape, INPUT, rows, 3), ATTN_INVALID_ARGUMENT,
           "gather: rows[2] is 5, x has 5 rows");
    expect(tape, attn_tape_gather(tape, INPUT, negative, 2), ATTN_INVALID_ARGUMENT, "gather: rows[1] is -2");
    expect(tape, attn_tape_gather(tape, INPUT, NULL, 2), ATTN_INVALID_ARGUMENT, "gather: rows is NULL");
    expect(tape, attn_tape_gather(tape, INPUT, rows, -1), ATTN_INVALID_ARGUMENT, "gather: count is negative");
    attn_variable *three = attn_tape_input(tape, x, 3, 3, 1);
    assert_non_null(attn_tape_scatter(tape, three, rows, 6));
    expect(tape, attn_tape_scatter(tape, three, rows, 5), ATTN_INVALID_ARGUMENT,
           "scatter: rows[2] is 5, the result has 5 rows");
    expect(tape, attn_tape_scatter(tape, INPUT, rows, -5), ATTN_INVALID_ARGUMENT,
           "scatter: count is negative");
    expect(tape, attn_tape_scatter(tape, NULL, rows, 5), ATTN_INVALID_ARGUMENT, "scatter: x is NULL");
#undef INPUT
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_sparse), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
