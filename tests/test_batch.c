/* test_batch.c: segments, plans and the input of batches: nothing lost, nothing twice, nothing over the
 * budget, and nothing that depends on more than the seed.
 */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "data/plan.h"
#include "inputs/text/text.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"

static counting_allocator counter;
static attn_context *context;

static int setup(void **state) {
    (void)state;
    context = counting_context(&counter);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    attn_context_destroy(context);
    return counter.live == 0 ? 0 : -1;
}

/* ---- segments ---- */

static const int64_t *offsets_of(const int64_t *lengths, int64_t examples, int64_t *offsets) {
    offsets[0] = 0;
    for (int64_t i = 0; i < examples; i++) offsets[i + 1] = offsets[i] + lengths[i];
    return offsets;
}

static void test_segments(void **state) {
    (void)state;
    static const int64_t lengths[] = {3, 0, 10, 4, 5, 1};
    int64_t offsets[7];
    offsets_of(lengths, 6, offsets);
    at_segments segments = {0};
    /* texts are cut; an empty one is there too */
    static const at_segment cut[] = {{0, 0, 3, 0},  {1, 3, 0, 0},  {2, 3, 4, 0},
                                     {3, 13, 4, 0}, {4, 17, 4, 0}, {5, 22, 1, 0}};
    assert_int_equal(at_segments_make(context, 6, offsets, 4, 0, &segments), ATTN_OK);
    assert_int_equal(segments.count, 6);
    assert_memory_equal(segments.list, cut, sizeof cut);
    /* sequences of tokens go in pieces, and without a token there is nothing to answer */
    static const at_segment pieces[] = {{0, 0, 3, 0},  {2, 3, 4, 0},  {2, 7, 4, 0},  {2, 11, 2, 0},
                                        {3, 13, 4, 0}, {4, 17, 4, 0}, {4, 21, 1, 0}, {5, 22, 1, 0}};
    assert_int_equal(at_segments_make(context, 6, offsets, 4, 1, &segments), ATTN_OK);
    assert_int_equal(segments.count, 8);
    assert_memory_equal(segments.list, pieces, sizeof pieces);
    assert_int_equal(at_segments_make(context, 6, offsets, 1, 1, &segments), ATTN_OK);
    assert_int_equal(segments.count, 23);
    assert_int_equal(at_segments_make(context, 6, offsets, 1000, 1, &segments), ATTN_OK);
    assert_int_equal(segments.count, 5);
    assert_int_equal(at_segments_make(context, 0, offsets, 4, 1, &segments), ATTN_OK);
    assert_int_equal(segments.count, 0);
    at_segments_free(context, &segments);
}

/* ---- plans ---- */

static at_segments random_segments(int64_t count, int64_t longest, uint64_t seed) {
    test_random random = {seed};
    int64_t *lengths = calloc((size_t)count + 1, sizeof *lengths);
    int64_t *offsets = calloc((size_t)count + 1, sizeof *offsets);
    assert_true(lengths && offsets);
    for (int64_t i = 0; i < count; i++) lengths[i] = random_between(&random, 0, longest);
    offsets_of(lengths, count, offsets);
    at_segments segments = {0};
    assert_int_equal(at_segments_make(context, count, offsets, longest, 0, &segments), ATTN_OK);
    assert_int_equal(segments.count, count);
    free(lengths);
    free(offsets);
    return segments;
}

static int64_t rows_of(const at_segments *segments, int64_t segment) {
    return segments->list[segment].count ? segments->list[segment].count : 1;
}

/* Every segment once; no empty batch; none over the budget unless it is one segment. Returns how many more
 * rows the plan would have if every sequence of a batch were as long as its longest. */
static int64_t check_plan(const at_segments *segments, const at_plan *plan, int64_t budget) {
    unsigned char *seen = calloc((size_t)segments->count + 1, 1);
    int64_t padding = 0;
    assert_int_equal(plan->first[0], 0);
    assert_int_equal(plan->first[plan->batches], segments->count);
    for (int64_t b = 0; b < plan->batches; b++) {
        int64_t rows = 0, longest = 0, count = plan->first[b + 1] - plan->first[b];
        assert_true(count > 0);
        for (int64_t i = plan->first[b]; i < plan->first[b + 1]; i++) {
            assert_in_range(plan->order[i], 0, segments->count - 1);
            assert_int_equal(seen[plan->order[i]]++, 0);
            int64_t length = rows_of(segments, plan->order[i]);
            rows += length;
            longest = length > longest ? length : longest;
        }
        assert_true(rows <= budget || count == 1);
        padding += longest * count - rows;
    }
    free(seen);
    return padding;
}

static void test_plans(void **state) {
    (void)state;
    static const struct {
        int64_t count, longest, budget;
    } cases[] = {{1, 5, 100},   {1, 50, 10},     {2, 5, 4},   {100, 30, 200},
                 {100, 30, 20}, {5000, 60, 500}, {37, 0, 10}, {1000, 7, 1000000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at_segments segments = random_segments(cases[i].count, cases[i].longest, 9 + i);
        at_plan plan = {0};
        for (uint64_t seed = 0; seed < 3; seed++) {
            assert_int_equal(at_plan_shuffled(context, &segments, cases[i].budget, seed, 0, &plan), ATTN_OK);
            check_plan(&segments, &plan, cases[i].budget);
        }
        assert_int_equal(at_plan_sorted(context, &segments, cases[i].budget, &plan), ATTN_OK);
        check_plan(&segments, &plan, cases[i].budget);
        for (int64_t j = 1; j < segments.count; j++) { /* for evaluation: longest first, then unchanged */
            int64_t one = plan.order[j - 1], two = plan.order[j];
            assert_true(segments.list[two].count <= segments.list[one].count);
            assert_true(segments.list[two].count < segments.list[one].count || two > one);
        }
        at_plan_free(context, &plan);
        at_segments_free(context, &segments);
    }
    at_segments none = {0};
    at_plan plan = {0};
    assert_int_equal(at_plan_shuffled(context, &none, 10, 1, 0, &plan), ATTN_OK);
    assert_int_equal(plan.batches, 0);
    at_plan_free(context, &plan);
}

/* Many segments come in windows: each segment in one, windows of about the same size, and neighbours apart.
 */
static void test_plan_windows(void **state) {
    (void)state;
    enum { COUNT = 600001 };
    at_segments segments = random_segments(COUNT, 60, 8);
    unsigned char *seen = calloc(COUNT, 1);
    at_plan plan = {0};
    int64_t windows = at_plan_windows(COUNT), near = 0, total = 0;
    assert_non_null(seen);
    assert_int_equal(at_plan_windows(0), 1);
    assert_int_equal(at_plan_windows(1 << 18), 1);
    assert_int_equal(windows, 3);
    for (int64_t window = 0; window < windows; window++) {
        assert_int_equal(at_plan_shuffled(context, &segments, 500, 12, window, &plan), ATTN_OK);
        int64_t count = plan.first[plan.batches], below = 0;
        assert_in_range(count, COUNT / windows, COUNT / windows + 1);
        for (int64_t i = 0; i < count; i++) {
            assert_in_range(plan.order[i], 0, COUNT - 1);
            assert_int_equal(seen[plan.order[i]]++, 0);
            below += plan.order[i] < COUNT / 2;
            near += i > 0 && llabs(plan.order[i] - plan.order[i - 1]) < 100;
        }
        assert_in_range(below, count * 49 / 100, count * 51 / 100);
        total += count;
    }
    assert_int_equal(total, COUNT);
    assert_true(near < COUNT / 500);
    free(seen);
    at_plan_free(context, &plan);
    at_segments_free(context, &segments);
}

static void test_plan_is_of_the_seed(void **state) {
    (void)state;
    at_segments segments = random_segments(1000, 40, 3), others = random_segments(300, 25, 5);
    at_plan plan = {0}, again = {0}, other = {0};
    assert_int_equal(at_plan_shuffled(context, &segments, 300, 77, 0, &plan), ATTN_OK);
    /* whatever the plan was used for before */
    assert_int_equal(at_plan_shuffled(context, &others, 10, 78, 0, &again), ATTN_OK);
    assert_int_equal(at_plan_shuffled(context, &segments, 300, 77, 0, &again), ATTN_OK);
    assert_int_equal(plan.batches, again.batches);
    assert_memory_equal(plan.order, again.order, 1000 * sizeof *plan.order);
    assert_memory_equal(plan.first, again.first, (size_t)(plan.batches + 1) * sizeof *plan.first);
    assert_int_equal(at_plan_shuffled(context, &segments, 300, 79, 0, &other), ATTN_OK);
    assert_memory_not_equal(plan.order, other.order, 1000 * sizeof *plan.order);
    at_plan_free(context, &plan);
    at_plan_free(context, &again);
    at_plan_free(context, &other);
    at_segments_free(context, &segments);
    at_segments_free(context, &others);
}

/* Sequences of a batch are about equally long, yet batches come in any order of length, and who is in a batch
 * with whom changes from epoch to epoch. */
static void test_plan_is_shuffled(void **state) {
    (void)state;
    at_segments segments = random_segments(5000, 60, 4);
    at_plan plan = {0}, other = {0};
    assert_int_equal(at_plan_shuffled(context, &segments, 600, 1, 0, &plan), ATTN_OK);
    int64_t rows = 0, rises = 0;
    for (int64_t i = 0; i < segments.count; i++) rows += rows_of(&segments, i);
    assert_true(check_plan(&segments, &plan, 600) <
                rows / 3); /* in any order it would be about all of them */
    for (int64_t b = 1; b < plan.batches; b++) {
        rises +=
            rows_of(&segments, plan.order[plan.first[b]]) > rows_of(&segments, plan.order[plan.first[b - 1]]);
    }
    assert_in_range(rises, plan.batches / 4, plan.batches * 3 / 4);
    assert_int_equal(at_plan_shuffled(context, &segments, 600, 2, 0, &other), ATTN_OK);
    int64_t *batch_of = calloc(5000, sizeof *batch_of), together = 0;
    for (int64_t b = 0; b < other.batches; b++)
        for (int64_t i = other.first[b]; i < other.first[b + 1]; i++) batch_of[other.order[i]] = b;
    for (int64_t b = 0; b < plan.batches; b++) {
        for (int64_t i = plan.first[b] + 1; i < plan.first[b + 1]; i++)
            together += batch_of[plan.order[i]] == batch_of[plan.order[i - 1]];
    }
    assert_true(together < 500); /* of 5,000 neighbours */
    free(batch_of);
    at_plan_free(context, &plan);
    at_plan_free(context, &other);
    at_segments_free(context, &segments);
}

/* ---- the input of a batch ---- */

static const char *const texts[] = {"a bb a ccc", "", "bb", "a bb a ccc", "a zz"};
enum { TEXTS = 5 };

typedef struct input {
    attn_dataset *dataset;
    at_text_input *text;
    at_text_encoded *units;
    at_segments segments;
} input;

static void input_create(input *made) {
    memset(made, 0, sizeof *made);
    made->dataset = examples_create(context, 0, texts, TEXTS);
    made->text = text_create(context,
                             &(at_text_values){.unit = AT_UNIT_WORDS,
                                               .min_count = 2,
                                               .ngram_min = 1,
                                               .ngram_max = 3,
                                               .word_features = 1,
                                               .buckets = 50},
                             (text_use){0});
    assert_int_equal(text_learn(made->text, made->dataset), ATTN_OK);
    assert_int_equal(text_encode(made->text, made->dataset, &made->units), ATTN_OK);
    assert_int_equal(at_segments_make(context, TEXTS, made->units->encoded.offsets, 100, 0, &made->segments),
                     ATTN_OK);
}

static void input_destroy(input *made) {
    at_segments_free(context, &made->segments);
    text_free(made->units);
    text_destroy(made->text);
    attn_dataset_destroy(made->dataset);
}

static at_text_batch *batch_create(void) {
    at_batch *batch = NULL;
    assert_int_equal(at_text_create_batch(context, &batch), ATTN_OK);
    return (at_text_batch *)(void *)batch;
}

static attn_status batch_fill(const input *from, const int64_t *order, int64_t count, const uint64_t *seed,
                              at_text_batch *batch) {
    return at_text_fill(&from->text->input, &from->units->encoded, &from->segments, order, count, seed,
                        &batch->batch);
}

static void test_batch(void **state) {
    (void)state;
    input from;
    input_create(&from);
    at_text_batch *batch = batch_create(), *alone = batch_create();
    static const int64_t order[] = {4, 1, 0, 2};
    static const int64_t offsets[] = {0, 2, 3, 7, 8}; /* the empty text is one unknown unit */
    assert_int_equal(batch_fill(&from, order, 4, NULL, batch), ATTN_OK);
    assert_int_equal(batch->batch.sequences, 4);
    assert_memory_equal(batch->batch.offsets, offsets, sizeof offsets);
    assert_int_equal(batch->batch.rows, 8);
    for (int64_t s = 0; s < 4; s++) { /* each as if it were alone */
        assert_int_equal(batch_fill(&from, order + s, 1, NULL, alone), ATTN_OK);
        assert_int_equal(alone->batch.rows, offsets[s + 1] - offsets[s]);
        for (int64_t r = 0; r < alone->batch.rows; r++) {
            int64_t begin = batch->offsets[offsets[s] + r], end = batch->offsets[offsets[s] + r + 1];
            assert_int_equal(alone->offsets[r + 1] - alone->offsets[r], end - begin);
            assert_memory_equal(alone->ids + alone->offsets[r], batch->ids + begin,
                                (size_t)(end - begin) * sizeof(int32_t));
        }
    }
    assert_int_equal(batch->ids[batch->offsets[2]], 0);
    assert_int_equal(batch->offsets[3] - batch->offsets[2], 1);
    int64_t a = at_vocabulary_find(&from.text->symbols.vocabulary, "a", 1);
    assert_true(a > 0);
    assert_int_equal(batch->ids[batch->offsets[0]], a);
    assert_int_equal(batch->ids[batch->offsets[1]], 0); /* "zz" is too rare */
    text_batch_free(batch);
    text_batch_free(alone);
    input_destroy(&from);
}

static void test_vectors_of_a_batch(void **state) {
    (void)state;
    static const char *const words[] = {"A bb", "", "CCC x"};
    attn_dataset *dataset = examples_create(context, 0, words, 3);
    at_text_input *text =
        text_create(context, &(at_text_values){.unit = AT_UNIT_WORDS, .min_count = 1}, (text_use){0});
    at_text_encoded *units = NULL;
    at_segments segments = {0};
    at_text_batch *batch = batch_create();
    int64_t number;
    static const char *const known[] = {"", "a", "A", "ccc"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            at_vocabulary_add(context, &text->pretrained.words, known[i], strlen(known[i]), 1, &number),
            ATTN_OK);
    text->pretrained.columns = 2;
    assert_int_equal(text_learn(text, dataset), ATTN_OK);
    assert_int_equal(text_encode(text, dataset, &units), ATTN_OK);
    assert_int_equal(at_segments_make(context, 3, units->encoded.offsets, 100, 0, &segments), ATTN_OK);
    static const int64_t order[] = {2, 1, 0};
    assert_int_equal(at_text_fill(&text->input, &units->encoded, &segments, order, 3, NULL, &batch->batch),
                     ATTN_OK);
    static const int32_t ids[] = {3, 0, 0, 2, 0}; /* CCC as ccc, x, the empty text, A as it is, bb */
    assert_int_equal(batch->batch.rows, 5);
    assert_memory_equal(batch->vectors, ids, sizeof ids);
    text_batch_free(batch);
    at_segments_free(context, &segments);
    text_free(units);
    text_destroy(text);
    attn_dataset_destroy(dataset);
}

/* How often hiding makes the unit 0 and features -1, over many batches. */
static void test_hiding(void **state) {
    (void)state;
    input from;
    input_create(&from);
    from.text->values.unit_dropout = 0.25;
    from.text->values.feature_dropout = 0.5;
    at_text_batch *plain = batch_create(), *hidden = batch_create(), *again = batch_create();
    static const int64_t order[] = {0, 3, 4};
    uint64_t seed = 0;
    int64_t units = 0, units_hidden = 0, features = 0, features_hidden = 0;
    assert_int_equal(batch_fill(&from, order, 3, NULL, plain), ATTN_OK);
    for (uint64_t round = 0; round < 400; round++) {
        seed = round * round + 11;
        assert_int_equal(batch_fill(&from, order, 3, &seed, hidden), ATTN_OK);
        assert_int_equal(hidden->used, plain->used);
        for (int64_t row = 0; row < plain->batch.rows; row++) {
            for (int64_t i = plain->offsets[row]; i < plain->offsets[row + 1]; i++) {
                int32_t was = plain->ids[i], is = hidden->ids[i];
                if (i > plain->offsets[row]) {
                    assert_true(is == was || is == -1);
                    features++;
                    features_hidden += is == -1;
                } else if (was != 0) {
                    assert_true(is == was || is == 0);
                    units++;
                    units_hidden += is == 0;
                }
            }
        }
    }
    assert_in_range(units_hidden * 1000 / units, 210, 290);
    assert_in_range(features_hidden * 1000 / features, 470, 530);
    assert_int_equal(batch_fill(&from, order, 3, &seed, again), ATTN_OK); /* the same seed, the same places */
    assert_memory_equal(hidden->ids, again->ids, (size_t)again->used * sizeof(int32_t));
    text_batch_free(plain);
    text_batch_free(hidden);
    text_batch_free(again);
    input_destroy(&from);
}

/* ---- memory ---- */

static void test_memory_runs_out(void **state) {
    (void)state;
    input from;
    input_create(&from);
    assert_int_equal(at_vocabulary_add(context, &from.text->pretrained.words, "", 0, 1, NULL), ATTN_OK);
    from.text->pretrained.columns = 1;
    int64_t live = counter.live, n = 1;
    static const int64_t order[] = {0, 1, 2, 3, 4};
    for (int done = 0; !done; n++) {
        at_segments segments = {0};
        at_plan plan = {0};
        at_batch *batch = NULL;
        counter.fail_at = n;
        attn_status status = at_segments_make(context, TEXTS, from.units->encoded.offsets, 1, 0, &segments);
        if (status == ATTN_OK) status = at_plan_shuffled(context, &segments, 3, 1, 0, &plan);
        if (status == ATTN_OK) status = at_text_create_batch(context, &batch);
        if (status == ATTN_OK)
            status = at_text_fill(&from.text->input, &from.units->encoded, &segments, order, 5, NULL, batch);
        counter.fail_at = 0;
        done = status == ATTN_OK;
        if (!done) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        at_segments_free(context, &segments);
        at_plan_free(context, &plan);
        at_text_free_batch(batch);
        assert_int_equal(counter.live, live);
    }
    assert_true(n > 8);
    input_destroy(&from);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),           cmocka_unit_test(test_plans),
        cmocka_unit_test(test_plan_windows),       cmocka_unit_test(test_plan_is_of_the_seed),
        cmocka_unit_test(test_plan_is_shuffled),   cmocka_unit_test(test_batch),
        cmocka_unit_test(test_vectors_of_a_batch), cmocka_unit_test(test_hiding),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
