/* test_search.c: beam search on tables of random logarithms, against exhaustive enumeration.
 *
 * The "network" of these tests is a function of the symbols so far: row by row the logarithms come from a
 * hash of them, so that every path through the tree has numbers of its own.
 */
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heads/search.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"

enum { MOST_LENGTH = 64, MOST_SYMBOLS = 300, MOST_FOUND = 4096 };

typedef struct sequence {
    int32_t symbols[MOST_LENGTH];
    int64_t length;
} sequence;

/* What the table says after a beginning. */
typedef struct table {
    uint64_t seed;
    int64_t symbols;
    int coarse;    /* few different values: many are equal */
    int holes;     /* percent of -inf and NaN */
    double ending; /* added to the end's value before the softmax */
} table;

static void say(const table *from, const sequence *so_far, float *logarithms) {
    uint64_t hash = from->seed * 0x9e3779b97f4a7c15u + 1;
    for (int64_t i = 0; i < so_far->length; i++) {
        hash = (hash ^ (uint64_t)(so_far->symbols[i] + 1)) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    test_random random = {hash | 1};
    random_bits(&random);
    double scores[MOST_SYMBOLS], sum = 0;
    for (int64_t s = 0; s < from->symbols; s++) {
        scores[s] = from->coarse ? (double)random_between(&random, 0, 2) : 2 * (double)random_normal(&random);
        if (s == 0) scores[s] += from->ending;
        sum += exp(scores[s]);
    }
    for (int64_t s = 0; s < from->symbols; s++) {
        logarithms[s] = (float)(scores[s] - log(sum));
        if (random_chance(&random, from->holes)) logarithms[s] = random_chance(&random, 50) ? -INFINITY : NAN;
    }
}

/* ---- all answers ---- */

typedef struct answer {
    sequence said;
    double sum, value;
    int ended;
} answer;

typedef struct answer_list {
    answer *list;
    int64_t count;
} answer_list;

static double score_of(double sum, int64_t length, double penalty) {
    return sum / pow((double)(length > 0 ? length : 1), penalty);
}

static void add_answer(answer_list *all, const sequence *said, double sum, int ended, double penalty) {
    assert_true(all->count < MOST_FOUND);
    all->list[all->count++] = (answer){*said, sum, score_of(sum, said->length + ended, penalty), ended};
}

static void enumerate(const table *from, const sequence *so_far, double sum, int64_t limit, double penalty,
                      answer_list *all) {
    float logarithms[MOST_SYMBOLS];
    say(from, so_far, logarithms);
    for (int64_t s = 0; s < from->symbols; s++) {
        double total = sum + (double)logarithms[s];
        if (!(total > -INFINITY)) continue;
        if (s == 0) {
            add_answer(all, so_far, total, 1, penalty);
        } else if (so_far->length < limit) {
            sequence longer = *so_far;
            longer.symbols[longer.length++] = (int32_t)s;
            enumerate(from, &longer, total, limit, penalty, all);
        }
    }
}

static int compare_answers(const void *left, const void *right) {
    const answer *a = left, *b = right;
    return a->value < b->value ? 1 : a->value > b->value ? -1 : 0;
}

/* ---- running a search ---- */

/* What the rows of a search have said, followed by what `from` says of them. */
typedef struct run {
    at_search *search;
    sequence *rows, *next;
    float *logarithms;
    int64_t stride, steps;
} run;

static void start(run *one, attn_context *context, int64_t examples, const attn_search_options *options,
                  const int64_t *limits, int64_t symbols) {
    memset(one, 0, sizeof *one);
    assert_int_equal(at_search_create(context, examples, options, limits, &one->search), ATTN_OK);
    size_t most = (size_t)(examples * options->beam) + 1;
    one->stride = symbols + 3;
    one->rows = calloc(most, sizeof *one->rows);
    one->next = calloc(most, sizeof *one->next);
    one->logarithms = calloc(most * (size_t)one->stride, sizeof(float));
    assert_true(one->rows && one->next && one->logarithms);
    assert_int_equal(at_search_rows(one->search), examples);
}

static void finish(run *one) {
    at_search_destroy(one->search);
    free(one->rows);
    free(one->next);
    free(one->logarithms);
}

/* Takes the rows over, and has `tables[example]` say what comes next. example_of: of each row before. */
static attn_status step(run *one, const table *tables, int64_t *example_of) {
    int64_t rows = at_search_rows(one->search);
    const int64_t *from = at_search_from(one->search);
    const int32_t *symbols = at_search_symbols(one->search);
    int64_t examples[MOST_FOUND];
    for (int64_t r = 0; r < rows; r++) {
        one->next[r] = one->rows[from[r]];
        examples[r] = example_of[from[r]];
        if (one->steps > 0) {
            assert_true(symbols[r] > 0 && one->next[r].length < MOST_LENGTH);
            one->next[r].symbols[one->next[r].length++] = symbols[r];
        } else {
            assert_int_equal(symbols[r], 0);
        }
        assert_int_equal(one->next[r].length, one->steps);
        if (r > 0) assert_true(examples[r] >= examples[r - 1]); /* side by side, in order */
        say(&tables[examples[r]], &one->next[r], one->logarithms + r * one->stride);
        one->logarithms[r * one->stride + one->stride - 1] = 1e30f; /* beyond the symbols: never read */
    }
    memcpy(example_of, examples, (size_t)rows * sizeof *examples);
    sequence *rows_now = one->next;
    one->next = one->rows;
    one->rows = rows_now;
    one->steps++;
    return at_search_step(one->search, one->logarithms, one->stride, tables->symbols);
}

static void search_all(run *one, attn_context *context, int64_t examples, const attn_search_options *options,
                       const int64_t *limits, const table *tables) {
    int64_t example_of[MOST_FOUND], longest = 0;
    start(one, context, examples, options, limits, tables->symbols);
    for (int64_t e = 0; e < examples; e++) {
        example_of[e] = e;
        if (limits[e] > longest) longest = limits[e];
    }
    while (at_search_rows(one->search) > 0) assert_int_equal(step(one, tables, example_of), ATTN_OK);
    assert_true(one->steps <= longest + 1);
}

/* Everything that must be true of what was found, whatever the beam. */
static void check_found(const run *one, int64_t example, const table *from,
                        const attn_search_options *options, int64_t limit) {
    const at_found *found;
    int64_t count = at_search_found(one->search, example, &found);
    assert_true(count >= 1 && count <= options->n_best);
    sequence said[64];
    for (int64_t a = 0; a < count; a++) {
        assert_true(found[a].length >= 0 && found[a].length <= limit);
        said[a].length = found[a].length;
        at_search_spell(one->search, &found[a], said[a].symbols);
        if (found[a].sum == -INFINITY) { /* there was none */
            assert_true(count == 1 && found[a].length == 0 && !found[a].ended);
            return;
        }
        double sum = 0;
        float logarithms[MOST_SYMBOLS];
        sequence so_far = {.length = 0};
        for (int64_t i = 0; i < found[a].length; i++) {
            say(from, &so_far, logarithms);
            assert_true(said[a].symbols[i] > 0 && said[a].symbols[i] < from->symbols);
            sum += (double)logarithms[said[a].symbols[i]];
            so_far.symbols[so_far.length++] = said[a].symbols[i];
        }
        say(from, &so_far, logarithms);
        if (found[a].ended) sum += (double)logarithms[0];
        assert_true(sum == found[a].sum);
        assert_true(found[a].value ==
                    score_of(sum, found[a].length + found[a].ended, options->length_penalty));
        if (!found[a].ended) assert_int_equal(found[a].length, limit);
        if (a == 0) continue;
        assert_true(found[a - 1].ended >= found[a].ended);
        if (found[a - 1].ended == found[a].ended) assert_true(found[a - 1].value >= found[a].value);
        for (int64_t b = 0; b < a; b++) /* each is another one */
            assert_true(said[a].length != said[b].length ||
                        memcmp(said[a].symbols, said[b].symbols, (size_t)said[a].length * sizeof(int32_t)) !=
                            0);
    }
}

static attn_search_options options_of(int64_t beam, int64_t n_best, double penalty) {
    attn_search_options options;
    attn_search_options_init(&options);
    options.beam = beam;
    options.n_best = n_best;
    options.length_penalty = penalty;
    return options;
}

/* ---- tests ---- */

/* With a beam as wide as the tree the n best are found, whatever the penalty. */
static void test_exhaustive(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    answer_list all = {.list = malloc(MOST_FOUND * sizeof(answer))};
    assert_non_null(all.list);
    static const double penalties[] = {0, 0.5, 1, 2};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        table one = {.seed = seed, .symbols = 2 + (int64_t)(seed % 3), .holes = seed % 4 == 0 ? 20 : 0};
        int64_t limit = (int64_t)(seed % 5);
        double penalty = penalties[seed % 4];
        sequence empty = {.length = 0};
        all.count = 0;
        enumerate(&one, &empty, 0, limit, penalty, &all);
        qsort(all.list, (size_t)all.count, sizeof *all.list, compare_answers);
        int64_t n_best = 8;
        attn_search_options options = options_of(600, n_best, penalty);
        run searched;
        search_all(&searched, context, 1, &options, &limit, &one);
        check_found(&searched, 0, &one, &options, limit);
        const at_found *found;
        int64_t count = at_search_found(searched.search, 0, &found), ended = 0;
        while (ended < count && found[ended].ended) ended++;
        assert_int_equal(ended, all.count < n_best ? all.count : n_best);
        for (int64_t a = 0; a < ended; a++) {
            sequence said = {.length = found[a].length};
            at_search_spell(searched.search, &found[a], said.symbols);
            assert_true(found[a].value == all.list[a].value);
            if ((a > 0 && all.list[a].value == all.list[a - 1].value) ||
                (a + 1 < all.count && all.list[a].value == all.list[a + 1].value))
                continue; /* of equal ones any may stand first */
            assert_int_equal(said.length, all.list[a].said.length);
            assert_memory_equal(said.symbols, all.list[a].said.symbols,
                                (size_t)said.length * sizeof(int32_t));
        }
        finish(&searched);
    }
    free(all.list);
}

static void test_greedy(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        table one = {.seed = seed, .symbols = 2 + (int64_t)(seed * 7 % 200), .coarse = seed % 5 == 0};
        int64_t limit = (int64_t)(seed % 13);
        attn_search_options options = options_of(1, 1, 1);
        run searched;
        search_all(&searched, context, 1, &options, &limit, &one);
        check_found(&searched, 0, &one, &options, limit);
        sequence chain = {.length = 0}, said;
        int ended = 0;
        for (int64_t i = 0; i <= limit && !ended; i++) {
            float logarithms[MOST_SYMBOLS];
            say(&one, &chain, logarithms);
            int32_t best = 0;
            for (int32_t s = 1; s < one.symbols; s++)
                if (logarithms[s] > logarithms[best]) best = s;
            if (best == 0) ended = 1;
            if (best != 0 && i < limit) chain.symbols[chain.length++] = best;
        }
        const at_found *found;
        assert_int_equal(at_search_found(searched.search, 0, &found), 1);
        at_search_spell(searched.search, found, said.symbols);
        assert_int_equal(found->ended, ended);
        assert_int_equal(found->length, chain.length);
        assert_memory_equal(said.symbols, chain.symbols, (size_t)chain.length * sizeof(int32_t));
        finish(&searched);
    }
}

/* Beams 1 to 8, holes, many equal numbers, several penalties: what was found is what it says it is. */
static void test_beams(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        int64_t beam = 1 + (int64_t)(seed % 8), limit = (int64_t)(seed % 17);
        table one = {.seed = seed,
                     .symbols = 1 + (int64_t)(seed * 5 % 97),
                     .coarse = seed % 3 == 0,
                     .holes = seed % 4 == 0   ? 30
                              : seed % 7 == 0 ? 95
                                              : 0,
                     .ending = seed % 2 ? 3 : 0};
        attn_search_options options =
            options_of(beam, 1 + (int64_t)(seed % (uint64_t)beam), 0.3 * (double)(seed % 5));
        run searched;
        search_all(&searched, context, 1, &options, &limit, &one);
        check_found(&searched, 0, &one, &options, limit);
        finish(&searched);
    }
}

/* A wider beam is not always better, but the widest is. */
static void test_never_better_than_best(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    answer_list all = {.list = malloc(MOST_FOUND * sizeof(answer))};
    assert_non_null(all.list);
    int64_t reached = 0, searches = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        table one = {.seed = seed, .symbols = 4, .ending = 1};
        int64_t limit = 4;
        sequence empty = {.length = 0};
        all.count = 0;
        enumerate(&one, &empty, 0, limit, 1, &all);
        qsort(all.list, (size_t)all.count, sizeof *all.list, compare_answers);
        for (int64_t beam = 1; beam <= 8; beam++) {
            attn_search_options options = options_of(beam, 1, 1);
            run searched;
            search_all(&searched, context, 1, &options, &limit, &one);
            const at_found *found;
            at_search_found(searched.search, 0, &found);
            if (found->ended) assert_true(found->value <= all.list[0].value);
            reached += found->value == all.list[0].value;
            searches++;
            finish(&searched);
        }
    }
    assert_true(reached > searches / 2); /* it is a search */
    free(all.list);
}

/* An answer that never ends is cut at its limit, and says so; limits differ from example to example. */
static void test_limits(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    table tables[6];
    int64_t limits[6] = {0, 1, 2, 5, 20, 60};
    for (uint64_t e = 0; e < 6; e++) tables[e] = (table){.seed = e + 1, .symbols = 9, .ending = -60};
    for (int64_t beam = 1; beam <= 8; beam++) {
        attn_search_options options = options_of(beam, beam, 1);
        run searched;
        search_all(&searched, context, 6, &options, limits, tables);
        assert_int_equal(searched.steps, 61);
        for (int64_t e = 0; e < 6; e++) {
            const at_found *found;
            int64_t count = at_search_found(searched.search, e, &found);
            for (int64_t a = 0; a < count; a++) {
                assert_int_equal(found[a].length, limits[e]);
                assert_false(found[a].ended);
            }
            assert_int_equal(count, e == 0 ? 1 : beam); /* there is one empty answer */
            check_found(&searched, e, &tables[e], &options, limits[e]);
        }
        finish(&searched);
    }
}

/* An answer of exactly `limit` symbols still comes to its end. */
static void test_ends_at_limit(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    enum { SYMBOLS = 12 };
    float logarithms[4 * SYMBOLS];
    for (int64_t beam = 1; beam <= 4; beam++) {
        for (int64_t limit = 0; limit < 5; limit++) {
            attn_search_options options = options_of(beam, 1, 1);
            at_search *search = NULL;
            assert_int_equal(at_search_create(context, 1, &options, &limit, &search), ATTN_OK);
            for (int64_t steps = 0; at_search_rows(search) > 0; steps++) {
                for (int64_t r = 0; r < at_search_rows(search); r++) {
                    float *row = logarithms + SYMBOLS * r;
                    for (int c = 0; c < SYMBOLS; c++) row[c] = -9;
                    row[0] = steps == limit ? -0.01f : -20;
                    row[1] = steps == limit ? -9 : -0.01f;
                }
                assert_int_equal(at_search_step(search, logarithms, SYMBOLS, SYMBOLS), ATTN_OK);
            }
            const at_found *found;
            at_search_found(search, 0, &found);
            assert_int_equal(found->length, limit);
            assert_true(found->ended);
            at_search_destroy(search);
        }
    }
}

/* Nothing is possible at all: there is an answer, and it did not end. */
static void test_impossible(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (int kind = 0; kind < 2; kind++) {
        float logarithms[2 * 5];
        for (int i = 0; i < 10; i++) logarithms[i] = kind ? NAN : -INFINITY;
        int64_t limits[2] = {3, 3};
        attn_search_options options = options_of(4, 4, 1);
        at_search *search = NULL;
        assert_int_equal(at_search_create(context, 2, &options, limits, &search), ATTN_OK);
        logarithms[5] = -0.5f; /* the second example ends at once */
        assert_int_equal(at_search_step(search, logarithms, 5, 5), ATTN_OK);
        assert_int_equal(at_search_rows(search), 0);
        const at_found *found;
        assert_int_equal(at_search_found(search, 0, &found), 1);
        assert_true(found->length == 0 && !found->ended && found->value == -INFINITY);
        assert_int_equal(at_search_found(search, 1, &found), 1);
        assert_true(found->length == 0 && found->ended && found->value == -0.5);
        at_search_destroy(search);
    }
}

static int same_found(const at_search *a, int64_t example, const at_search *b, int64_t other) {
    const at_found *x, *y;
    int64_t count = at_search_found(a, example, &x);
    if (count != at_search_found(b, other, &y)) return 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t said[2][MOST_LENGTH];
        at_search_spell(a, &x[i], said[0]);
        at_search_spell(b, &y[i], said[1]);
        if (x[i].value != y[i].value || x[i].length != y[i].length || x[i].ended != y[i].ended ||
            memcmp(said[0], said[1], (size_t)x[i].length * sizeof(int32_t)) != 0)
            return 0;
    }
    return 1;
}

/* Several examples in one search are what each is alone, on any number of threads; those that are done leave
 * the rows. Equal numbers are settled in one way. */
static void test_together(void **state) {
    (void)state;
    enum { EXAMPLES = 40 };
    table tables[EXAMPLES];
    int64_t limits[EXAMPLES];
    for (int64_t beam = 1; beam <= 8; beam++) {
        attn_search_options options = options_of(beam, (beam + 1) / 2, 1);
        for (uint64_t e = 0; e < EXAMPLES; e++) {
            tables[e] = (table){.seed = e + 100 * (uint64_t)beam,
                                .symbols = 33,
                                .coarse = e % 2 == 0,
                                .holes = e % 5 == 0 ? 10 : 0,
                                .ending = (double)(e % 4)};
            limits[e] = (int64_t)(e * 11 % 30);
        }
        run together[2], alone;
        for (int t = 0; t < 2; t++)
            search_all(&together[t], test_best_context(t ? 3 : 1), EXAMPLES, &options, limits, tables);
        for (int64_t e = 0; e < EXAMPLES; e++) {
            search_all(&alone, test_best_context(1), 1, &options, &limits[e], &tables[e]);
            for (int t = 0; t < 2; t++)
                if (!same_found(together[t].search, e, alone.search, 0))
                    fail_msg("beam %d, example %d is not what it is alone", (int)beam, (int)e);
            finish(&alone);
        }
        finish(&together[0]);
        finish(&together[1]);
    }
}

static void test_done_leave(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    enum { EXAMPLES = 10 };
    table tables[EXAMPLES];
    int64_t limits[EXAMPLES], example_of[MOST_FOUND];
    for (uint64_t e = 0; e < EXAMPLES; e++) {
        tables[e] = (table){.seed = e, .symbols = 5, .ending = -60};
        limits[e] = (int64_t)e;
        example_of[e] = (int64_t)e;
    }
    attn_search_options options = options_of(3, 1, 1);
    run one;
    start(&one, context, EXAMPLES, &options, limits, 5);
    for (int64_t done = 1; done <= EXAMPLES; done++) {
        assert_int_equal(step(&one, tables, example_of), ATTN_OK);
        assert_int_equal(at_search_rows(one.search), 3 * (EXAMPLES - done));
    }
    finish(&one);
    assert_int_equal(at_search_create(context, 0, &options, limits, &one.search), ATTN_OK); /* of nothing */
    assert_int_equal(at_search_rows(one.search), 0);
    at_search_destroy(one.search);
    at_search_destroy(NULL);
}

static void test_options(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const struct {
        int64_t beam, n_best;
        double penalty;
    } wrong[] = {{0, 1, 1},  {-1, 1, 1}, {1025, 1, 1}, {4, 0, 1},       {4, 5, 1}, {INT64_MAX, INT64_MAX, 1},
                 {1, 1, -1}, {1, 1, 11}, {1, 1, NAN},  {1, 1, INFINITY}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        attn_search_options options = options_of(wrong[i].beam, wrong[i].n_best, wrong[i].penalty);
        at_search *search = NULL;
        int64_t limit = 3;
        assert_int_equal(at_search_create(context, 1, &options, &limit, &search), ATTN_INVALID_ARGUMENT);
        assert_null(search);
        assert_non_null(strstr(attn_context_error(context), i < 6 ? "beam" : "length_penalty"));
    }
    attn_search_options widest = options_of(1024, 1024, 0);
    int64_t limit = 3;
    table one = {.seed = 3, .symbols = 12};
    run searched;
    search_all(&searched, context, 1, &widest, &limit, &one);
    finish(&searched);
}

/* ---- memory ---- */

static attn_status whole_search(attn_context *context, const table *tables, const int64_t *limits) {
    attn_search_options options = options_of(4, 2, 1);
    at_search *search = NULL;
    attn_status status = at_search_create(context, 3, &options, limits, &search);
    if (status != ATTN_OK) {
        assert_null(search);
        return status;
    }
    float logarithms[12 * 20];
    sequence unknown = {.length = 0};
    while (status == ATTN_OK && at_search_rows(search) > 0) {
        for (int64_t r = 0; r < at_search_rows(search); r++) say(tables, &unknown, logarithms + 20 * r);
        status = at_search_step(search, logarithms, 20, 20);
    }
    at_search_destroy(search);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context_options options;
    attn_context_options_init(&options);
    options.allocator = counting_allocator_functions(&counter);
    options.threads = 1;
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    table one = {.seed = 5, .symbols = 20, .ending = -9};
    int64_t limits[3] = {9, 30, 4}, live = counter.live, before = counter.allocations;
    assert_int_equal(whole_search(context, &one, limits), ATTN_OK);
    int64_t needed = counter.allocations - before;
    assert_true(needed > 10); /* the tree grows more than once */
    for (int64_t n = 1; n <= needed; n++) {
        counter.fail_at = n;
        assert_int_equal(whole_search(context, &one, limits), ATTN_OUT_OF_MEMORY);
        counter.fail_at = 0;
        assert_int_equal(counter.live, live);
    }
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exhaustive), cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_beams),      cmocka_unit_test(test_never_better_than_best),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_ends_at_limit),
        cmocka_unit_test(test_impossible), cmocka_unit_test(test_together),
        cmocka_unit_test(test_done_leave), cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
