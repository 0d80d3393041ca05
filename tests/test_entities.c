/* test_entities.c: tags of entities: what is an entity, by hand (by seqeval in `make test-peers`); which tags
 * can follow each other; the best path of those that can, against all paths; models that answer with them.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "base/memory.h"
#include "base/random.h"
#include "heads/transitions.h"
#include "model/model.h"
#include "support/memory.h"
#include "support/predicting.h"

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- labels ---- */

/* Strings from a text with spaces between them. */
static at_strings words(const char *text) {
    at_strings list = {.count = 0};
    while (*text) {
        size_t length = strcspn(text, " ");
        assert_int_equal(at_strings_add(group_context, &list, text, length), ATTN_OK);
        text += length + (text[length] == ' ');
    }
    return list;
}

static void test_labels_that_are_tags(void **state) {
    (void)state;
    static const struct {
        const char *labels;
        int tags;
    } cases[] = {{"O B-PER I-PER B-LOC", 1},
                 {"B-NP I-NP", 1},
                 {"I-PER O", 1},
                 {"O S-X B-X E-X I-X", 1},
                 {"O U-X B-X L-X I-X", 1},
                 {"B-X M-X E-X S-X O", 1},
                 {"O B-A-B I-A-B", 1},
                 {"O", 0},           /* nothing begins */
                 {"S-X O", 0},       /* nor here */
                 {"B-X I-X X", 0},   /* no tag */
                 {"B I O", 0},       /* no types */
                 {"B- O", 0},        /* an empty one */
                 {"b-X i-X O", 0},   /* other letters */
                 {"B-X I-X M-X", 0}, /* two letters for one part */
                 {"B-X E-X L-X", 0}, /* the same */
                 {"B M E S", 0},     /* words of a segmentation */
                 {"NOUN VERB", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        at_strings labels = words(cases[i].labels);
        if (at_tags_are(&labels) != cases[i].tags) fail_msg("%s", cases[i].labels);
        at_strings_free(group_context, &labels);
    }
}

/* ---- entities ---- */

/* The labels of tests by hand. */
static const char all_labels[] =
    "O B-P I-P E-P S-P B-L I-L E-L S-L"; /* types: P is 0, L is 1; tags of other letters are the same */
enum { TYPES = 2 };

static int64_t number_of(const at_strings *labels, const char *label) {
    for (int64_t i = 0; i < labels->count; i++)
        if (strcmp(at_string(labels, i), label) == 0) return i;
    fail_msg("there is no label %s", label);
    return -1;
}

static int64_t numbers_of(const at_strings *labels, const char *text, int32_t *numbers) {
    at_strings tags = words(text);
    int64_t count = tags.count;
    for (int64_t i = 0; i < count; i++) {
        const char *tag = at_string(&tags, i);
        numbers[i] = strcmp(tag, "?") == 0 ? -1 : (int32_t)number_of(labels, tag);
    }
    at_strings_free(group_context, &tags);
    return count;
}

static void count(const char *truth, const char *answers, attn_class_metrics *scores) {
    at_strings labels = words(all_labels);
    at_tag_set set = {.count = 0};
    int32_t right[32], said[32];
    assert_int_equal(at_tags_add(group_context, &set, &labels), ATTN_OK);
    assert_int_equal(set.types.strings.count, TYPES);
    int64_t rows = numbers_of(&labels, truth, right);
    assert_int_equal(numbers_of(&labels, answers, said), rows);
    memset(scores, 0, TYPES * sizeof *scores);
    at_entities_count(&set, right, said, rows, scores);
    at_tags_free(group_context, &set);
    at_strings_free(group_context, &labels);
}

/* support, predicted and right of P, then of L */
static void test_entities_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *truth, *answers;
        int64_t counts[6];
    } cases[] = {
        {"B-P I-P O B-L", "B-P I-P O B-L", {1, 1, 1, 1, 1, 1}},
        {"B-P I-P O O", "B-P O O O", {1, 1, 0, 0, 0, 0}},     /* another end */
        {"O B-P I-P O", "B-P I-P I-P O", {1, 1, 0, 0, 0, 0}}, /* another beginning */
        {"B-P I-P", "B-L I-L", {1, 0, 0, 0, 1, 0}},           /* another type */
        {"B-P I-P O", "I-P I-P O", {1, 1, 1, 0, 0, 0}},       /* begins with I- */
        {"O B-P O", "O I-P O", {1, 1, 1, 0, 0, 0}},           /* after O, too */
        {"B-P B-L I-L", "I-P I-L I-L", {1, 1, 1, 1, 1, 1}},   /* the type changes inside of a run of I- */
        {"B-P I-P I-P", "B-P I-L I-P", {1, 2, 0, 0, 1, 0}},   /* and changes back: three entities */
        {"B-P I-P B-P I-P", "I-P I-P B-P I-P", {2, 2, 2, 0, 0, 0}}, /* B- after I- begins another */
        {"B-P I-P I-P I-P", "B-P I-P B-P I-P", {1, 2, 0, 0, 0, 0}},
        {"B-P E-P S-P O", "B-P E-P S-P O", {2, 2, 2, 0, 0, 0}},
        {"B-P E-P", "I-P I-P", {1, 1, 1, 0, 0, 0}},         /* letters do not count, places do */
        {"B-P E-P I-P", "B-P I-P I-P", {2, 1, 0, 0, 0, 0}}, /* I- after E- begins one */
        {"S-P I-P", "S-P E-P", {2, 2, 2, 0, 0, 0}},         /* so it does after S- */
        {"S-P S-P", "B-P B-P", {2, 2, 2, 0, 0, 0}},
        {"E-P E-P", "S-P S-P", {2, 2, 2, 0, 0, 0}},
        {"B-P I-P E-P", "B-P I-P E-L", {1, 1, 0, 0, 1, 0}},
        {"O O", "O O", {0, 0, 0, 0, 0, 0}},
        {"B-P ? I-P", "B-P I-P I-P", {2, 2, 2, 0, 0, 0}}, /* without a truth: O on both sides */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        attn_class_metrics scores[TYPES];
        count(cases[i].truth, cases[i].answers, scores);
        for (int t = 0; t < TYPES; t++) {
            const int64_t *wanted = cases[i].counts + 3 * t;
            if (scores[t].support != wanted[0] || scores[t].predicted != wanted[1] ||
                scores[t].right != wanted[2])
                fail_msg("%s | %s: type %d has %d %d %d", cases[i].truth, cases[i].answers, t,
                         (int)scores[t].support, (int)scores[t].predicted, (int)scores[t].right);
        }
    }
}

/* ---- models of tags ---- */

static attn_dataset *parse(const char *text) {
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_COLUMNS;
    options.labelled = 1;
    if (attn_dataset_parse(group_context, "data", 1, text, strlen(text), &options, &dataset) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    return dataset;
}

/* "a/B-X b/I-X|c/O": two sentences in the format of columns. */
static attn_dataset *tagged(const char *text) {
    char *lines = malloc(2 * strlen(text) + 2), *at = lines;
    assert_non_null(lines);
    for (const char *from = text; *from; from++) {
        if (*from == '|') *at++ = '\n';
        *at++ = *from == '/' ? '\t' : *from == ' ' || *from == '|' ? '\n' : *from;
    }
    memcpy(at, "\n", 2);
    attn_dataset *dataset = parse(lines);
    free(lines);
    return dataset;
}

/* A network as it starts; settings: name, value, ..., NULL. */
static attn_model *make_model(const attn_dataset *dataset, const char *const *settings) {
    static const char *const common[] = {"task",
                                         "tag",
                                         "encoder.columns",
                                         "8",
                                         "encoder.heads",
                                         "2",
                                         "encoder.layers",
                                         "1",
                                         "text.buckets",
                                         "64",
                                         "text.min_count",
                                         "1",
                                         NULL};
    attn_config *config = NULL;
    attn_model *model = NULL;
    assert_int_equal(attn_config_create(group_context, &config), ATTN_OK);
    const char *const *lists[] = {common, settings};
    for (int list = 0; list < 2; list++)
        for (const char *const *one = lists[list]; *one; one += 2)
            if (attn_config_set(config, one[0], one[1]) != ATTN_OK)
                fail_msg("%s", attn_context_error(group_context));
    assert_int_equal(at_model_create(config, &model), ATTN_OK);
    attn_config_destroy(config);
    at_encoded *encoded = NULL;
    if (at_stage_learn(at_main_stage(model), dataset, NULL, &encoded) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    at_main_stage(model)->input->kind->free_encoded(encoded);
    if (at_model_build(model, NULL) != ATTN_OK) fail_msg("%s", attn_context_error(group_context));
    return model;
}

static const char *const plain[] = {NULL};

static at_head *head_of(const attn_model *model) { return at_main_stage(model)->heads[0]; }
static const at_tagging *tagging_of(const attn_model *model) {
    return at_row_head_of(head_of(model))->tagging;
}

/* ---- what can follow what ---- */

/* "^" is the beginning, "$" the end. */
static int allowed(const attn_model *model, const char *from, const char *to) {
    const at_tagging *tagging = tagging_of(model);
    const at_strings *labels = &at_row_head_of(head_of(model))->labels.strings;
    int64_t border = labels->count;
    assert_non_null(tagging->allowed);
    int64_t first = strcmp(from, "^") == 0 ? border : number_of(labels, from);
    int64_t second = strcmp(to, "$") == 0 ? border : number_of(labels, to);
    return tagging->allowed[first * (border + 1) + second];
}

static void check_transitions(const attn_model *model, const char *yes, const char *no) {
    const char *const lists[] = {no, yes};
    for (int wanted = 0; wanted < 2; wanted++) {
        at_strings pairs = words(lists[wanted]);
        for (int64_t i = 0; i + 1 < pairs.count; i += 2)
            if (allowed(model, at_string(&pairs, i), at_string(&pairs, i + 1)) != wanted)
                fail_msg("%s to %s", at_string(&pairs, i), at_string(&pairs, i + 1));
        at_strings_free(group_context, &pairs);
    }
}

static void test_bio(void **state) {
    (void)state;
    attn_dataset *data = tagged("a/B-X b/I-X c/O|d/B-Y e/I-Y f/B-X");
    attn_model *model = make_model(data, plain);
    assert_int_equal(tagging_of(model)->scheme, AT_SCHEME_BIO);
    check_transitions(model,
                      "^ O ^ B-X O O O B-Y B-X I-X I-X I-X B-X B-X I-X B-Y B-Y O O $ B-X $ I-Y $ B-X B-Y",
                      "^ I-X ^ I-Y O I-X O I-Y B-X I-Y I-X I-Y B-Y I-X I-Y I-X");
    assert_string_equal(head_of(model)->kind->metric(head_of(model)), "entity_f1");
    model_destroy(model);
    attn_dataset_destroy(data);
}

/* What the data contains is possible, and nothing more. */
static void test_bio_with_exceptions(void **state) {
    (void)state;
    attn_dataset *data = tagged("a/B-X b/I-X c/O d/I-X|d/B-Y e/I-Y f/B-X|a/I-Y|a/B-X b/I-Y|a/B-Y|a/B-Y");
    attn_model *model = make_model(data, plain);
    assert_int_equal(tagging_of(model)->scheme, AT_SCHEME_BIO);
    check_transitions(model, "O I-X ^ I-Y B-X I-Y", "^ I-X O I-Y I-X I-Y B-Y I-X");
    model_destroy(model);
    attn_dataset_destroy(data);
}

static void test_iob1(void **state) {
    (void)state;
    attn_dataset *data = tagged("a/I-X b/I-X c/O d/I-Y|d/I-Y e/B-Y f/O");
    attn_model *model = make_model(data, plain);
    assert_int_equal(tagging_of(model)->scheme, AT_SCHEME_IOB1);
    assert_null(tagging_of(model)->allowed); /* anything can follow anything */
    assert_string_equal(head_of(model)->kind->metric(head_of(model)), "entity_f1");
    model_destroy(model);
    attn_dataset_destroy(data);
}

static void test_bioes(void **state) {
    (void)state;
    static const char *const data_of[] = {"a/B-X b/I-X c/E-X d/O|a/S-Y b/B-Y c/I-Y d/E-Y|a/S-X",
                                          "a/B-X b/I-X c/L-X d/O|a/U-Y b/B-Y c/I-Y d/L-Y|a/U-X",
                                          "a/B-X b/M-X c/E-X d/O|a/S-Y b/B-Y c/M-Y d/E-Y|a/S-X"};
    static const char yes[] =
        "^ O ^ B-X ^ S-X O S-Y O B-Y B-X I-X B-X E-X I-X I-X I-X E-X E-X O E-X B-X E-X S-Y "
        "S-X S-X S-X O O $ E-X $ S-X $";
    static const char no[] =
        "^ I-X ^ E-X O I-X O E-X B-X O B-X B-X B-X S-X B-X I-Y B-X E-Y I-X O I-X E-Y E-X I-X "
        "E-X E-X S-X I-X S-X E-X B-X $ I-X $";
    static const char *const letters[] = {"IES", "ILU", "MES"};
    for (int i = 0; i < 3; i++) {
        char lists[2][400];
        for (int list = 0; list < 2; list++) {
            snprintf(lists[list], sizeof lists[list], "%s", list ? no : yes);
            for (char *at = lists[list]; *at; at++) {
                size_t place = strcspn("IES", (char[]){*at, '\0'});
                if (at[1] == '-' && place < 3) *at = letters[i][place];
            }
        }
        attn_dataset *data = tagged(data_of[i]);
        attn_model *model = make_model(data, plain);
        assert_int_equal(tagging_of(model)->scheme, AT_SCHEME_BIOES);
        check_transitions(model, lists[0], lists[1]);
        model_destroy(model);
        attn_dataset_destroy(data);
    }
}

/* ---- paths ---- */

static uint32_t seed = 7;
static double uniform(void) {
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}

/* The next path of `count` labels; 0 after the last. */
static int next_path(int32_t *path, int64_t count, int64_t labels) {
    for (int64_t t = 0; t < count; t++) {
        if (++path[t] < labels) return 1;
        path[t] = 0;
    }
    return 0;
}

static double score_of(const at_path_log_probabilities *scores, const int32_t *path, int64_t labels) {
    double sum = 0;
    for (int64_t t = 0; t < scores->count; t++) {
        double row = (double)scores->rows[t * scores->stride + path[t]];
        sum += scores->probabilities ? log(row) : row;
        if (t > 0 && scores->transitions) sum += (double)scores->transitions[path[t - 1] * labels + path[t]];
    }
    if (scores->start) sum += (double)(scores->start[path[0]] + scores->end[path[scores->count - 1]]);
    return sum;
}

/* The score of the best of all possible paths; -INFINITY: there is none. */
static double best_value(const at_tagging *tagging, const at_path_log_probabilities *scores, int open) {
    int32_t path[8] = {0};
    double best = -INFINITY;
    do {
        double score = score_of(scores, path, tagging->tags.count);
        if (at_path_possible(tagging, path, scores->count, open) && score > best) best = score;
    } while (next_path(path, scores->count, tagging->tags.count));
    return best;
}

static void test_paths_against_all(void **state) {
    (void)state;
    enum { MOST_LABELS = 7, MOST_ROWS = 5, STRIDE = MOST_LABELS + 2 };
    static const char *const data_of[] = {"a/B-X b/I-X c/O|d/B-Y e/I-Y f/B-X", "a/B-X b/I-X c/E-X d/O|a/S-X",
                                          "a/B-X b/E-X"}; /* the last has no path of one row */
    at_path_memory memory = {.before_room = 0};
    int impossible = 0, differing = 0;
    for (int round = 0; round < 300; round++) {
        attn_dataset *data = tagged(data_of[round % 3]);
        attn_model *model = make_model(data, plain);
        const at_tagging *tagging = tagging_of(model);
        int64_t labels = tagging->tags.count;
        float rows[MOST_ROWS * STRIDE], extra[MOST_LABELS * MOST_LABELS], start[MOST_LABELS],
            end[MOST_LABELS];
        assert_true(labels <= MOST_LABELS);
        int probabilities = round % 2, crf = round / 2 % 2, open = round / 4 % 3 == 0;
        for (int i = 0; i < MOST_ROWS * STRIDE; i++)
            rows[i] = (float)(probabilities ? 0.01 + 0.9 * uniform() : 4 * uniform() - 2);
        for (int i = 0; i < MOST_LABELS * MOST_LABELS; i++) extra[i] = (float)(uniform() - 0.5);
        for (int i = 0; i < MOST_LABELS; i++) start[i] = (float)uniform(), end[i] = (float)uniform();
        at_path_log_probabilities scores = {.rows = rows, .stride = STRIDE, .count = 1 + round % MOST_ROWS};
        scores.probabilities = probabilities;
        if (crf) scores.transitions = extra, scores.start = start, scores.end = end;
        int32_t path[MOST_ROWS] = {-1, -1, -1, -1, -1};
        double best = best_value(tagging, &scores, open);
        assert_int_equal(at_path_find(group_context, tagging, &scores, open, &memory, path), ATTN_OK);
        if (isinf(best)) {
            assert_int_equal(path[0], -1); /* left as it was */
            impossible++;
        } else {
            assert_true(at_path_possible(tagging, path, scores.count, open));
            assert_true(fabs(score_of(&scores, path, labels) - best) <= 1e-6);
            for (int64_t t = 0; t < scores.count; t++)
                differing += path[t] != at_largest(rows + t * STRIDE, labels);
        }
        model_destroy(model);
        attn_dataset_destroy(data);
    }
    at_path_memory_free(group_context, &memory);
    assert_true(impossible > 0 && differing > 100);
}

/* ---- answers ---- */

static const char bio_data[] =
    "ann/B-P bo/I-P sees/O|rome/B-L is/O old/O|bo/B-P ann/B-P in/O rome/B-L rome/I-L|"
    "old/O is/O bo/B-P in/O|in/O|sees/O ann/B-P bo/I-P old/I-P is/O";

/* Whether all answers are possible; `wanted`: they must be, and be the best of those that are. */
static int check_answers(attn_model *model, const attn_dataset *data, int wanted) {
    attn_prediction *prediction = NULL;
    const at_tagging *tagging = tagging_of(model);
    const at_strings *labels = &at_row_head_of(head_of(model))->labels.strings;
    int all = 1;
    assert_int_equal(predict_with(model, data, WITH_PROBABILITIES, &prediction), ATTN_OK);
    for (int64_t e = 0; e < attn_dataset_examples(data); e++) {
        int32_t path[8];
        float rows[8 * 8];
        at_path_log_probabilities scores = {.rows = rows, .stride = 8, .probabilities = 1};
        scores.count = attn_dataset_tokens(data, e);
        for (int64_t t = 0; t < scores.count; t++) {
            path[t] = (int32_t)number_of(labels, attn_prediction_label(prediction, 0, e, t));
            for (int64_t l = 0; l < labels->count; l++)
                rows[t * 8 + l] = (float)attn_prediction_probability(prediction, 0, e, t, l);
        }
        int possible = !tagging->allowed || at_path_possible(tagging, path, scores.count, 0);
        all &= possible;
        if (!wanted) continue;
        assert_true(possible);
        double own = score_of(&scores, path, labels->count), best = best_value(tagging, &scores, 0);
        if (fabs(own - best) > 1e-4) fail_msg("example %d: %g, the best is %g", (int)e, own, best);
    }
    attn_prediction_destroy(prediction);
    return all;
}

/* Networks that have learned nothing answer with anything: only what is possible comes out, of one network
 * and of several, with and without a CRF (whose own parameters are 0 at first), of whole examples and of
 * those that are cut into segments. */
static void test_answers_are_possible(void **state) {
    (void)state;
    static const char *const seeds[] = {"1", "2", "3", "4", "5", "6"};
    attn_dataset *data = tagged(bio_data);
    int impossible = 0;
    for (int variant = 0; variant < 8; variant++) {
        for (int s = 0; s < 6; s++) {
            const char *const settings[] = {"output.members",
                                            variant & 1 ? "2" : "1",
                                            "output.crf",
                                            variant & 2 ? "true" : "false",
                                            "encoder.longest",
                                            variant & 4 ? "2" : "512",
                                            "training.seed",
                                            seeds[s],
                                            NULL};
            attn_model *model = make_model(data, settings);
            check_answers(model, data, 1);
            at_tagging *tagging = at_row_head_of(head_of(model))->tagging;
            unsigned char *kept = tagging->allowed;
            attn_prediction *prediction = NULL;
            tagging->allowed = NULL; /* as in a model of an older version */
            assert_int_equal(predict_with(model, data, 0, &prediction), ATTN_OK);
            tagging->allowed = kept;
            const int32_t *classes = at_answers_classes(prediction->answers[0]);
            for (int64_t e = 0; e < attn_dataset_examples(data); e++) {
                int64_t first = prediction->encoded->offsets[e];
                impossible += !at_path_possible(tagging, classes + first,
                                                prediction->encoded->offsets[e + 1] - first, 0);
            }
            attn_prediction_destroy(prediction);
            model_destroy(model);
        }
    }
    assert_true(impossible > 20); /* or nothing was tested */
    attn_dataset_destroy(data);
}

/* ---- the file ---- */

static void test_stored(void **state) {
    (void)state;
    attn_dataset *data = tagged("a/B-X b/I-X c/O d/I-X|d/B-Y e/I-Y f/B-X|a/I-Y|a/B-X b/I-Y|a/B-Y|a/B-Y");
    attn_model *model = make_model(data, plain), *loaded = NULL;
    char path[] = "/tmp/attn_entities_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(attn_model_save(model, path), ATTN_OK);
    if (attn_model_load(group_context, path, &loaded) != ATTN_OK)
        fail_msg("%s", attn_context_error(group_context));
    unlink(path);
    int64_t size = tagging_of(model)->tags.count + 1;
    assert_int_equal(tagging_of(loaded)->scheme, AT_SCHEME_BIO);
    assert_memory_equal(tagging_of(loaded)->allowed, tagging_of(model)->allowed, (size_t)(size * size));
    assert_string_equal(head_of(loaded)->kind->metric(head_of(loaded)), "entity_f1");
    /* One that continues with other data takes what that has, too. */
    attn_dataset *more = tagged("a/B-Y b/I-X");
    at_encoded *encoded = NULL;
    assert_int_equal(at_stage_learn_more(at_main_stage(loaded), more, &encoded), ATTN_OK);
    at_main_stage(loaded)->input->kind->free_encoded(encoded);
    check_transitions(model, "O I-X", "B-Y I-X");
    check_transitions(loaded, "O I-X B-Y I-X", "O I-Y");
    model_destroy(model);
    model_destroy(loaded);
    attn_dataset_destroy(data);
    attn_dataset_destroy(more);
}

/* Loads a description into a new head; the reason why not, or NULL. */
static const char *load(const attn_model *model, const json_t *description, at_head **head) {
    at_head_offer offer = {.rate = 1};
    const char *reason = NULL;
    assert_int_equal(
        at_head_create(group_context, &at_head_class, &head_of(model)->config, &offer, "tag", 1, head),
        ATTN_OK);
    assert_int_equal((*head)->kind->load(*head, description, &reason), ATTN_OK);
    return reason;
}

/* Without "tags" anything is possible, and the metric is what it was; what is there is not trusted. */
static void test_descriptions(void **state) {
    (void)state;
    static const char *const broken[] = {"7",
                                         "{}",
                                         "{\"scheme\": \"bio\"}",
                                         "{\"scheme\": \"\", \"also\": []}",
                                         "{\"scheme\": \"xyz\", \"also\": []}",
                                         "{\"scheme\": \"bio\", \"also\": [[0, 99]]}",
                                         "{\"scheme\": \"bio\", \"also\": [[-2, 0]]}",
                                         "{\"scheme\": \"bio\", \"also\": [[0, 0, 0]]}",
                                         "{\"scheme\": \"bio\", \"also\": [[0]]}",
                                         "{\"scheme\": \"bio\", \"also\": [0]}",
                                         "{\"scheme\": \"iob1\", \"also\": [[0, 0]]}"};
    attn_dataset *data = tagged(bio_data);
    attn_model *model = make_model(data, plain);
    json_t *description = json_object();
    at_head *head;
    assert_int_equal(head_of(model)->kind->store(head_of(model), description), 0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(description, "tags"), "scheme")),
                        "bio");
    assert_null(load(model, description, &head));
    assert_non_null(at_row_head_of(head)->tagging->allowed);
    at_head_destroy(head);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        json_object_set_new(description, "tags", json_loads(broken[i], JSON_DECODE_ANY, NULL));
        if (!load(model, description, &head)) fail_msg("%s", broken[i]);
        at_head_destroy(head);
    }
    json_object_del(description, "tags");
    assert_null(load(model, description, &head));
    assert_null(at_row_head_of(head)->tagging->allowed);
    assert_string_equal(head->kind->metric(head), "accuracy");
    at_head_destroy(head);
    json_object_set_new(description, "labels", json_pack("[s, s]", "NOUN", "VERB"));
    assert_null(load(model, description, &head));
    assert_null(at_row_head_of(head)->tagging);
    at_head_destroy(head);
    json_decref(description);
    model_destroy(model);
    attn_dataset_destroy(data);
}

/* ---- reports ---- */

/* Counted again from the answers; a type that the model does not know was missed. */
static void test_report(void **state) {
    (void)state;
    attn_dataset *data = tagged(bio_data), *other = tagged("ann/B-P is/O in/B-Z rome/I-Z|bo/B-P rome/I-P");
    const attn_dataset *sets[] = {data, other};
    attn_model *model = make_model(data, plain);
    for (int i = 0; i < 2; i++) {
        attn_report *report = NULL;
        if (report_with(model, sets[i], &report) != ATTN_OK)
            fail_msg("%s", attn_context_error(group_context));
        int64_t support = 0, predicted = 0, right = 0, types = attn_report_entity_types(report, 0);
        assert_int_equal(types, 2 + i);
        for (int64_t t = 0; t < types; t++) {
            attn_class_metrics one = attn_report_entity_metrics(report, 0, t);
            int64_t wanted = i == 0                                                    ? 0
                             : strcmp(attn_report_entity_type(report, 0, t), "P") == 0 ? 2
                             : strcmp(attn_report_entity_type(report, 0, t), "Z") == 0 ? 1
                                                                                       : 0;
            if (i == 1) assert_int_equal(one.support, wanted);
            support += one.support;
            predicted += one.predicted;
            right += one.right;
        }
        if (i == 0) assert_int_equal(support, 7);
        near(attn_report_metric(report, "entity_recall"), (double)right / (double)support);
        near(attn_report_metric(report, "entity_precision"),
             predicted ? (double)right / (double)predicted : 0);
        near(attn_report_metric(report, "entity_f1"), 2 * (double)right / (double)(predicted + support));
        assert_non_null(strstr(attn_report_json(report), "\"entities\":[{\"type\":\""));
        assert_null(attn_report_entity_type(report, 0, types));
        assert_null(attn_report_entity_type(report, 0, -1));
        assert_int_equal(attn_report_entity_metrics(report, 1, 0).support, 0);
        assert_int_equal(attn_report_entity_types(NULL, 0), 0);
        attn_report_destroy(report);
    }
    model_destroy(model);
    attn_dataset_destroy(data);
    attn_dataset_destroy(other);
}

/* Accuracy and entity F1 of every sample, counted again from the answers. */
static void test_intervals(void **state) {
    (void)state;
    enum { SENTENCES = 6 };
    attn_dataset *data = tagged(bio_data), *other = tagged("ann/B-P is/O|bo/B-P rome/I-P");
    attn_model *model = make_model(data, plain);
    attn_report *report = NULL, *fewer = NULL;
    attn_prediction *prediction = NULL;
    assert_int_equal(report_with(model, data, &report), ATTN_OK);
    assert_int_equal(report_with(model, other, &fewer), ATTN_OK);
    assert_int_equal(predict_with(model, data, 0, &prediction), ATTN_OK);
    assert_int_equal(attn_dataset_examples(data), SENTENCES);
    const at_strings *labels = &at_row_head_of(head_of(model))->labels.strings;
    double right[SENTENCES] = {0}, rows[SENTENCES] = {0}, counts[SENTENCES][3] = {{0}};
    for (int64_t e = 0; e < SENTENCES; e++) {
        int32_t truth[8], answers[8];
        attn_class_metrics types[8] = {{0}};
        int64_t count = attn_dataset_tokens(data, e);
        for (int64_t t = 0; t < count; t++) {
            truth[t] = (int32_t)number_of(labels, attn_dataset_target(data, 0, e, t));
            answers[t] = (int32_t)number_of(labels, attn_prediction_label(prediction, 0, e, t));
            right[e] += truth[t] == answers[t];
            rows[e] += 1;
        }
        at_entities_count(&tagging_of(model)->tags, truth, answers, count, types);
        for (int t = 0; t < TYPES; t++) {
            counts[e][0] += (double)types[t].right;
            counts[e][1] += (double)types[t].predicted;
            counts[e][2] += (double)types[t].support;
        }
    }
    const double *accuracy = attn_report_resamples(report, "accuracy");
    const double *f1 = attn_report_resamples(report, "entity_f1");
    assert_non_null(accuracy);
    assert_non_null(f1);
    for (int b = 0; b < ATTN_RESAMPLES; b++) {
        at_row_key key = at_random_row(20181118, b, 0, 0);
        double sums[5] = {0};
        for (uint32_t j = 0; j < SENTENCES; j++) {
            uint64_t e = (uint64_t)at_random_word(key, j) * SENTENCES >> 32;
            sums[0] += right[e];
            sums[1] += rows[e];
            for (int i = 0; i < 3; i++) sums[2 + i] += counts[e][i];
        }
        near(accuracy[b], sums[0] / sums[1]);
        near(f1[b], sums[3] + sums[4] > 0 ? 2 * sums[2] / (sums[3] + sums[4]) : 0);
    }
    double low, high, value = attn_report_metric(report, "accuracy");
    assert_int_equal(attn_report_interval(report, "accuracy", &low, &high), 1);
    assert_true(low <= value && value <= high && low < high);
    assert_non_null(strstr(attn_report_json(report), "\"intervals\":{\"entity_f1\":["));
    assert_int_equal(attn_report_interval(report, "entity_recall", &low, NULL), 0);
    assert_true(isnan(low));
    assert_null(attn_report_resamples(report, "nothing"));
    assert_null(attn_report_resamples(NULL, "accuracy"));
    attn_difference difference;
    assert_int_equal(attn_report_difference(report, report, "accuracy", &difference), ATTN_OK);
    near(difference.p, 1);
    near(difference.low, 0);
    assert_int_equal(attn_report_difference(report, fewer, "accuracy", &difference), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_report_difference(report, NULL, "accuracy", &difference), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_report_difference(report, report, "log_loss", &difference), ATTN_INVALID_ARGUMENT);
    attn_prediction_destroy(prediction);
    attn_report_destroy(report);
    attn_report_destroy(fewer);
    model_destroy(model);
    attn_dataset_destroy(data);
    attn_dataset_destroy(other);
}

static void test_no_memory(void **state) {
    (void)state;
    attn_dataset *data = tagged(bio_data);
    const char *const settings[] = {"encoder.longest", "2", NULL};
    attn_model *model = make_model(data, settings);
    attn_report *report = NULL;
    predictor_of(model);
    int64_t live = group_counter.live, at = 0;
    attn_status status;
    do {
        group_counter.fail_at = ++at;
        status = report_with(model, data, &report);
        group_counter.fail_at = 0;
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
    } while (status != ATTN_OK && at < 10000);
    assert_int_equal(status, ATTN_OK);
    assert_true(at > 10);
    attn_report_destroy(report);
    model_destroy(model);
    attn_dataset_destroy(data);
    assert_true(group_counter.live < live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_that_are_tags),
        cmocka_unit_test(test_entities_by_hand),
        cmocka_unit_test(test_bio),
        cmocka_unit_test(test_bio_with_exceptions),
        cmocka_unit_test(test_iob1),
        cmocka_unit_test(test_bioes),
        cmocka_unit_test(test_paths_against_all),
        cmocka_unit_test(test_answers_are_possible),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_intervals),
    };
    return cmocka_run_group_tests_name("entities", tests, group_setup, group_teardown);
}
