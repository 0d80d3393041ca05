/* test_text.c: from examples to units, vocabulary and features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/config.h>

#include "base/random.h"
#include "data/symbols/unicode.h"
#include "inputs/text/text.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"

#define MARK "\xE2\x96\x81"

static const char *const tokenized[] = {"I+ 'm n\xC3\xAF ve+ .", "Me", "", "Hello+ ,+ world+ !"};
static const char *const raw[] = {"  It's n\xC3\xAF ve,  no?  ", "", "\xE6\x88\x91\xE7\x88\xB1 you"};

static at_text_input *make_text(attn_context *context, at_unit unit) {
    return text_create(context, &(at_text_values){.unit = (int)unit, .min_count = 1, .subwords = 100},
                       (text_use){0});
}

/* Puts units between '|' and the numbers of their tokens. */
typedef struct description {
    char strings[1024], tokens[1024];
    int started;
} description;

static attn_status describe_unit(void *user, const char *unit, size_t length, int64_t token) {
    description *into = user;
    if (into->started++) strcat(into->strings, "|"), strcat(into->tokens, "|");
    strncat(into->strings, unit, length);
    sprintf(into->tokens + strlen(into->tokens), "%d", (int)token);
    return ATTN_OK;
}

/* The units of a splitter as "a|b||c": '|' between units, "||" between examples; with their tokens as
 * "0|0||1". */
static void describe(const at_text_input *text, const attn_dataset *dataset, description *found) {
    at_splitter splitter = at_splitter_of(&text->symbols, text->input.context, describe_unit, found);
    const at_texts *texts = at_texts_of(dataset);
    memset(found, 0, sizeof *found);
    for (int64_t e = 0; e < dataset->examples; e++) {
        if (e) strcat(found->strings, "||"), strcat(found->tokens, "||");
        found->started = 0;
        for (int64_t t = dataset->offsets[e]; t < dataset->offsets[e + 1]; t++) {
            const char *token = at_string(&texts->tokens, t);
            assert_int_equal(texts->tokenized
                                 ? at_split_token(&splitter, token, strlen(token), t - dataset->offsets[e])
                                 : at_split_text(&splitter, token, strlen(token)),
                             ATTN_OK);
        }
    }
    at_splitter_free(&splitter);
}

/* The rows of examples in the same form. */
static void describe_rows(const at_text_encoded *encoded, char *strings) {
    const at_encoded *rows = &encoded->encoded;
    *strings = 0;
    assert_int_equal(rows->offsets[0], 0);
    for (int64_t e = 0; e < rows->examples; e++) {
        if (e) strcat(strings, "||");
        for (int64_t i = rows->offsets[e]; i < rows->offsets[e + 1]; i++) {
            if (i > rows->offsets[e]) strcat(strings, "|");
            strcat(strings, text_unit(encoded, i));
        }
    }
    assert_int_equal(rows->offsets[rows->examples], rows->rows);
}

/* rows NULL: as the splitter gives them. */
static void check_units(const at_text_input *text, int is_tokenized, const char *strings, const char *tokens,
                        const char *rows) {
    attn_context *context = text->input.context;
    attn_dataset *dataset =
        examples_create(context, is_tokenized, is_tokenized ? tokenized : raw, is_tokenized ? 4 : 3);
    static description found;
    describe(text, dataset, &found);
    assert_string_equal(found.strings, strings);
    assert_string_equal(found.tokens, tokens);

    char found_rows[1024];
    void *memo = NULL;
    at_text_encoded *encoded[2] = {NULL, NULL};
    for (int again = 0; again < 2; again++) { /* what is kept from call to call changes nothing */
        at_encoded *made = NULL;
        assert_int_equal(at_text_kind.encode(&text->input, context, &memo, dataset, NULL, &made), ATTN_OK);
        encoded[again] = (at_text_encoded *)(void *)made;
        describe_rows(encoded[again], found_rows);
        assert_string_equal(found_rows, rows ? rows : strings);
    }
    assert_ptr_equal(encoded[0]->lexicon, encoded[1]->lexicon);
    assert_memory_equal(encoded[0]->units, encoded[1]->units,
                        (size_t)encoded[0]->encoded.rows * sizeof *encoded[0]->units);
    at_text_kind.free_memo(context, memo); /* examples hold what they need */
    describe_rows(encoded[1], found_rows);
    assert_string_equal(found_rows, rows ? rows : strings);
    text_free(encoded[0]);
    text_free(encoded[1]);
    attn_dataset_destroy(dataset);
}

static void set_unit(at_text_input *text, at_unit unit) {
    text->symbols.options.unit = unit;
    text->values.unit = (int)unit;
}

static void test_units_of_tokens(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_text_input *text = make_text(context, AT_UNIT_WORDS);
    check_units(text, 1, "I|'m|n\xC3\xAF|ve|.||Me||||Hello|,|world|!", "0|1|2|3|4||0||||0|1|2|3", NULL);
    text->symbols.options.lowercase = 1; /* the units are unchanged; what is looked up is not */
    check_units(text, 1, "I|'m|n\xC3\xAF|ve|.||Me||||Hello|,|world|!", "0|1|2|3|4||0||||0|1|2|3", NULL);
    set_unit(text, AT_UNIT_CHARS);
    check_units(text, 1, "I|'|m|n|\xC3\xAF|v|e|.||M|e||||H|e|l|l|o|,|w|o|r|l|d|!",
                "0|1|1|2|2|3|3|4||0|0||||0|0|0|0|0|1|2|2|2|2|2|3",
                "I|'|m| |n|\xC3\xAF| |v|e|.||M|e||||H|e|l|l|o|,|w|o|r|l|d|!");
    set_unit(text, AT_UNIT_BYTES);
    check_units(text, 1, "I|'|m|n|\xC3|\xAF|v|e|.||M|e||||H|e|l|l|o|,|w|o|r|l|d|!",
                "0|1|1|2|2|2|3|3|4||0|0||||0|0|0|0|0|1|2|2|2|2|2|3", NULL);
    text->symbols.options.lowercase = 0;
    set_unit(text, AT_UNIT_SUBWORDS); /* nothing learned: characters */
    check_units(text, 1,
                MARK "|I|" MARK "|'|m|" MARK "|n|\xC3\xAF|" MARK "|v|e|" MARK "|.||" MARK "|M|e||||" MARK
                     "|H|e|l|l|o|" MARK "|,|" MARK "|w|o|r|l|d|" MARK "|!",
                "0|0|1|1|1|2|2|2|3|3|3|4|4||0|0|0||||0|0|0|0|0|0|1|1|2|2|2|2|2|2|3|3", NULL);
    text_destroy(text);
}

static void test_units_of_texts(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_text_input *text = make_text(context, AT_UNIT_WORDS);
    check_units(text, 0, "It's|n\xC3\xAF|ve|,|no|?||||\xE6\x88\x91|\xE7\x88\xB1|you", "0|1|2|3|4|5||||0|1|2",
                NULL);
    text->symbols.options.pretokenized = 1;
    check_units(text, 0, "It's|n\xC3\xAF|ve,|no?||||\xE6\x88\x91\xE7\x88\xB1|you", "0|1|2|3||||0|1", NULL);
    set_unit(text, AT_UNIT_CHARS);
    check_units(text, 0, "I|t|'|s| |n|\xC3\xAF| |v|e|,| |n|o|?||||\xE6\x88\x91|\xE7\x88\xB1| |y|o|u",
                "0|1|2|3|4|5|6|7|8|9|10|11|12|13|14||||0|1|2|3|4|5", NULL);
    set_unit(text, AT_UNIT_BYTES);
    check_units(text, 0,
                " | |I|t|'|s| |n|\xC3|\xAF| |v|e|,| | |n|o|?| | ||||\xE6|\x88|\x91|\xE7|\x88|\xB1| |y|o|u",
                "0|1|2|3|4|5|6|7|8|8|9|10|11|12|13|14|15|16|17|18|19||||0|0|0|1|1|1|2|3|4|5", NULL);
    set_unit(text, AT_UNIT_SUBWORDS);
    check_units(text, 0,
                MARK "|I|t|'|s|" MARK "|n|\xC3\xAF|" MARK "|v|e|,|" MARK "|n|o|?||||" MARK
                     "|\xE6\x88\x91|\xE7\x88\xB1|" MARK "|y|o|u",
                "0|0|0|0|0|1|1|1|2|2|2|2|3|3|3|3||||0|0|0|1|1|1|1", NULL);
    text_destroy(text);
}

/* The setting of a prediction splits at spaces what the model would split further. */
static void test_pretokenized(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_text_input *text = make_text(context, AT_UNIT_WORDS);
    attn_dataset *dataset = examples_create(context, 0, raw, 3);
    for (int pretokenized = 0; pretokenized < 2; pretokenized++) {
        at_text_settings settings = {.pretokenized = pretokenized};
        at_encode_options options = {.settings = &settings};
        at_encoded *made = NULL;
        assert_int_equal(at_text_kind.encode(&text->input, context, NULL, dataset, &options, &made), ATTN_OK);
        char rows[1024];
        describe_rows((at_text_encoded *)(void *)made, rows);
        assert_string_equal(rows, pretokenized ? "It's|n\xC3\xAF|ve,|no?||||\xE6\x88\x91\xE7\x88\xB1|you"
                                               : "It's|n\xC3\xAF|ve|,|no|?||||\xE6\x88\x91|\xE7\x88\xB1|you");
        at_text_kind.free_encoded(made);
    }
    attn_dataset_destroy(dataset);
    text_destroy(text);
}

/* A tokenized set that does not mark spaces has none. */
static void test_no_spaces(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_text_input *text = make_text(context, AT_UNIT_CHARS);
    attn_dataset *dataset = examples_create(context, 1, (const char *[]){"ab c"}, 1);
    at_text_encoded *encoded = NULL;
    assert_int_equal(text_encode(text, dataset, &encoded), ATTN_OK);
    char strings[64];
    describe_rows(encoded, strings);
    assert_string_equal(strings, "a|b|c");
    text_free(encoded);
    attn_dataset_destroy(dataset);
    text_destroy(text);
}

/* Labels of characters by their place in a word; a space, which stands alone, is of the word before it. */
static void test_labels_of_words(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_text_input *text = text_create(
        context, &(at_text_values){.unit = AT_UNIT_CHARS, .scheme = AT_SCHEME_BMES, .min_count = 1},
        (text_use){0});
    attn_dataset *dataset = examples_create(context, 1, tokenized, 4);
    at_text_encoded *encoded = NULL;
    assert_int_equal(text_encode(text, dataset, &encoded), ATTN_OK);
    const at_labels *labels = &encoded->encoded.labels;
    static const char expected[] = "SBESBESBES"
                                   "BE"
                                   "BMMMESBMMMES";
    assert_int_equal(labels->places, sizeof expected - 1);
    assert_int_equal(encoded->encoded.rows, sizeof expected - 1);
    assert_int_equal(labels->per_row, 1);
    assert_int_equal(labels->columns->count, 1);
    assert_int_equal(labels->fixed_count, 4);
    for (int64_t i = 0; i < labels->places; i++) {
        assert_int_equal(at_string(labels->values, i)[0], expected[i]);
        assert_int_equal(labels->lines[i], i < 10 ? 1 : i < 12 ? 2 : 4);
    }
    text_free(encoded);
    attn_dataset_destroy(dataset);
    /* texts that are not split into words have a label a character, too */
    dataset = examples_create(context, 0, raw, 3);
    static const char *const names[] = {"class"}, *const values[] = {"x", "y", "z"};
    for (int per_row = 0; per_row < 2; per_row++) {
        assert_int_equal(attn_dataset_set_targets(dataset, 1, names, values, per_row), ATTN_OK);
        assert_int_equal(text_encode(text, dataset, &encoded), ATTN_OK);
        labels = &encoded->encoded.labels;
        assert_int_equal(labels->places, encoded->encoded.rows);
        assert_int_equal(labels->per_row, 1);
        for (int64_t i = 0; i < labels->places; i++)
            assert_int_equal(labels->lines[i], i < encoded->encoded.offsets[1] ? 1 : 3);
        text_free(encoded);
    }
    attn_dataset_destroy(dataset);
    text_destroy(text);
}

static void check_vocabulary(const at_text_input *text, const char *const *expected, int64_t count) {
    const at_strings *strings = &text->symbols.vocabulary.strings;
    assert_int_equal(strings->count, count);
    assert_int_equal(at_text_kind.vocabulary(&text->input), count);
    for (int64_t i = 0; i < count; i++) {
        assert_string_equal(at_string(strings, i), expected[i]);
        assert_string_equal(at_text_kind.vocabulary_unit(&text->input, i), expected[i]);
    }
}

static void test_learn(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_dataset *dataset =
        examples_create(context, 1, (const char *[]){"The cat the", "THE dog Cat", "the end"}, 3);
    at_text_input *text = make_text(context, AT_UNIT_WORDS);
    assert_int_equal(text_learn(text, dataset), ATTN_OK);
    check_vocabulary(text, (const char *[]){"", "the", "Cat", "THE", "The", "cat", "dog", "end"}, 8);
    text->symbols.options.lowercase = 1;
    assert_int_equal(text_learn(text, dataset), ATTN_OK); /* again: what was learned is replaced */
    check_vocabulary(text, (const char *[]){"", "the", "cat", "dog", "end"}, 5);
    assert_int_equal(text->symbols.vocabulary.counts[1], 4);
    text->symbols.options.min_count = 2;
    text->values.buckets = 10;
    assert_int_equal(text_learn(text, dataset), ATTN_OK);
    check_vocabulary(text, (const char *[]){"", "the", "cat"}, 3);
    assert_int_equal(at_text_features_count(text), 13);
    text->symbols.options.vocabulary = 1;
    assert_int_equal(text_learn(text, dataset), ATTN_OK);
    check_vocabulary(text, (const char *[]){"", "the"}, 2);
    text_destroy(text);

    text = make_text(context, AT_UNIT_SUBWORDS);
    text->symbols.options.lowercase = 1;
    assert_int_equal(text_learn(text, dataset), ATTN_OK);
    check_vocabulary(text, (const char *[]){"", MARK "the", "d", MARK, MARK "cat", "e", "g", "n", "o"}, 9);
    text_destroy(text);
    attn_dataset_destroy(dataset);
}

/* ---- features ---------------------------------------------------------------------------------------- */

enum { MOST = 4000 };
/* The seeds, as model files have them. */
enum { NGRAM = 1, LOWER = 2, SHAPE = 3, CLASS = 4, UNIT = 5, CONTEXT = 64 };

typedef struct expected_row {
    int32_t ids[MOST];
    int count;
} expected_row;

static void expect(const at_text_input *text, expected_row *row, uint64_t hash) {
    assert_true(row->count < MOST);
    row->ids[row->count++] =
        (int32_t)(text->symbols.vocabulary.strings.count + (int64_t)(hash % (uint64_t)text->values.buckets));
}

static void expect_ngrams(const at_text_input *text, expected_row *row, const char *piece) {
    size_t places[64], count = 0, length = strlen(piece);
    for (size_t i = 0; i <= length; i++) {
        if (((unsigned char)piece[i] & 0xC0) != 0x80) places[count++] = i;
    }
    for (size_t n = (size_t)text->values.ngram_min; n <= (size_t)text->values.ngram_max; n++) {
        for (size_t i = 0; i + n < count; i++) {
            expect(text, row, at_hash(piece + places[i], places[i + n] - places[i], NGRAM));
        }
    }
}

static uint64_t unit_hash(const at_text_input *text, const at_text_encoded *units, int64_t i) {
    if (i < 0 || i >= units->encoded.rows) return UINT64_C(0x5bd1e9955bd1e995);
    char lower[256];
    const char *unit = text_unit(units, i);
    if (text->values.lowercase) {
        at_unicode_lower(unit, strlen(unit), lower);
        unit = lower;
    }
    return at_hash(unit, strlen(unit), UNIT);
}

static void expect_context(const at_text_input *text, expected_row *row, const at_text_encoded *units,
                           int64_t i) {
    for (int64_t n = 2; n <= text->values.context; n++) {
        for (int64_t place = 0; place < n; place++) {
            uint64_t hash = at_splitmix64((uint64_t)(CONTEXT * n + place));
            for (int64_t k = 0; k < n; k++)
                hash = at_splitmix64(hash ^ unit_hash(text, units, i - place + k));
            expect(text, row, hash);
        }
    }
}

static int compare_ids(const void *a, const void *b) {
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* The first id is the unit; the order of the others is not promised. */
static void check_row(const at_text_batch *features, int64_t row, int32_t unit, expected_row *expected) {
    int64_t first = features->offsets[row], count = features->offsets[row + 1] - first;
    assert_int_equal(features->ids[first], unit);
    assert_int_equal(count - 1, expected->count);
    qsort(features->ids + first + 1, (size_t)count - 1, sizeof *features->ids, compare_ids);
    qsort(expected->ids, (size_t)expected->count, sizeof *expected->ids, compare_ids);
    assert_memory_equal(features->ids + first + 1, expected->ids, (size_t)expected->count * sizeof(int32_t));
}

typedef struct words_case {
    at_text_input *text;
    attn_dataset *dataset;
    at_text_encoded *units;
    at_text_batch *features;
} words_case;

/* What has been learned is what the units are looked up in. */
static void case_encode(words_case *c) {
    text_free(c->units);
    c->units = NULL;
    assert_int_equal(text_encode(c->text, c->dataset, &c->units), ATTN_OK);
}

static void case_create(words_case *c, at_unit unit, int is_tokenized, const char *example,
                        at_text_values options) {
    memset(c, 0, sizeof *c);
    options.unit = (int)unit;
    options.min_count = 1;
    c->text = text_create(test_best_context(1), &options, (text_use){0});
    c->dataset = examples_create(c->text->input.context, is_tokenized, &example, 1);
    assert_int_equal(text_learn(c->text, c->dataset), ATTN_OK);
    case_encode(c);
}

static void case_compute(words_case *c) {
    int64_t rows = c->units->encoded.rows;
    assert_int_equal(text_features(c->text, c->units, 0, rows, &c->features), ATTN_OK);
    assert_int_equal(c->features->batch.rows, rows);
    assert_int_equal(c->features->offsets[rows], c->features->used);
}

static void case_destroy(words_case *c) {
    text_batch_free(c->features);
    text_free(c->units);
    attn_dataset_destroy(c->dataset);
    text_destroy(c->text);
}

static void test_features_of_words(void **state) {
    (void)state;
    static words_case c;
    static expected_row row;
    for (int lowercase = 0; lowercase < 2; lowercase++) {
        case_create(&c, AT_UNIT_WORDS, 1, "The \xC3\x84pfel the end",
                    (at_text_values){.lowercase = lowercase,
                                     .ngram_min = 2,
                                     .ngram_max = 4,
                                     .word_features = 1,
                                     .context = 3,
                                     .buckets = 1000});
        case_compute(&c);
        static const char *const lower[] = {"the", "\xC3\xA4pfel", "the", "end"};
        static const char *const marked[] = {"\2the\3", "\2\xC3\xA4pfel\3", "\2the\3", "\2end\3"};
        static const char *const shapes[] = {"Xxx", "Xxxx", "xxx", "xxx"};
        static const char *const looked_up[2][4] = {{"The", "\xC3\x84pfel", "the", "end"},
                                                    {"the", "\xC3\xA4pfel", "the", "end"}};
        for (int64_t i = 0; i < 4; i++) {
            row.count = 0;
            expect_ngrams(c.text, &row, marked[i]);
            expect(c.text, &row, at_hash(lower[i], strlen(lower[i]), LOWER));
            expect(c.text, &row, at_hash(shapes[i], strlen(shapes[i]), SHAPE));
            expect_context(c.text, &row, c.units, i);
            const char *unit = looked_up[lowercase][i];
            int64_t id = at_vocabulary_find(&c.text->symbols.vocabulary, unit, strlen(unit));
            assert_true(id > 0);
            check_row(c.features, i, (int32_t)id, &row);
        }
        case_destroy(&c);
    }
}

/* Single characters count, the marks by themselves do not; unknown words are unit 0. */
static void test_single_characters(void **state) {
    (void)state;
    words_case c;
    static expected_row row;
    case_create(&c, AT_UNIT_WORDS, 1, "ab ab",
                (at_text_values){.ngram_min = 0, .ngram_max = 1, .buckets = 100});
    at_vocabulary_free(c.text->input.context, &c.text->symbols.vocabulary);
    assert_int_equal(at_vocabulary_add(c.text->input.context, &c.text->symbols.vocabulary, "", 0, 0, NULL),
                     ATTN_OK);
    case_encode(&c);
    case_compute(&c);
    row.count = 0;
    expect(c.text, &row, at_hash("a", 1, NGRAM));
    expect(c.text, &row, at_hash("b", 1, NGRAM));
    check_row(c.features, 0, 0, &row);
    case_destroy(&c);
}

static void test_features_of_others(void **state) {
    (void)state;
    words_case c;
    static expected_row row;
    at_text_values options = {
        .ngram_min = 2, .ngram_max = 4, .word_features = 1, .context = 2, .buckets = 99, .subwords = 100};
    case_create(&c, AT_UNIT_CHARS, 0, "x7\xE6\x88\x91 !", options);
    case_compute(&c);
    static const char classes[][2] = {{2, 'l'}, {9, 'd'}, {5, 'h'}, {23, 'o'}, {18, 'o'}};
    for (int64_t i = 0; i < 5; i++) {
        row.count = 0;
        expect(c.text, &row, at_hash(classes[i], 2, CLASS));
        expect_context(c.text, &row, c.units, i);
        check_row(c.features, i, c.features->ids[c.features->offsets[i]], &row);
    }
    case_destroy(&c);
    case_create(&c, AT_UNIT_BYTES, 0, "\xC3\x84!", options);
    case_compute(&c);
    for (int64_t i = 0; i < 3; i++) {
        row.count = 0;
        expect_context(c.text, &row, c.units, i);
        check_row(c.features, i, c.features->ids[c.features->offsets[i]], &row);
    }
    case_destroy(&c);
    case_create(&c, AT_UNIT_SUBWORDS, 0, "Ab Ab", options);
    case_compute(&c);
    assert_int_equal(c.units->encoded.rows, 2);
    for (int64_t i = 0; i < 2; i++) {
        row.count = 0;
        expect(c.text, &row, at_hash(MARK "Xx", 5, SHAPE));
        expect_context(c.text, &row, c.units, i);
        check_row(c.features, i, 1, &row);
    }
    case_destroy(&c);
}

/* A word of more than 40 characters gives what its first and last 20 give; a very long one costs no more. */
static void test_long_words(void **state) {
    (void)state;
    static words_case c;
    static expected_row row;
    at_text_values options = {.ngram_min = 1 + 1, .ngram_max = 60, .buckets = 100000};
    char word[48];
    for (int length = 39; length <= 42; length++) {
        for (int i = 0; i < length; i++) word[i] = (char)('a' + i % 26);
        word[length] = 0;
        case_create(&c, AT_UNIT_WORDS, 1, word, options);
        case_compute(&c);
        char marked[64], head[64], tail[64];
        snprintf(marked, sizeof marked, "\2%s\3", word);
        snprintf(head, sizeof head, "\2%.20s", word);
        snprintf(tail, sizeof tail, "%s\3", word + length - 20);
        row.count = 0;
        if (length <= 40) {
            expect_ngrams(c.text, &row, marked);
        } else {
            expect_ngrams(c.text, &row, head);
            expect_ngrams(c.text, &row, tail);
        }
        check_row(c.features, 0, 1, &row);
        case_destroy(&c);
    }
    enum { BYTES = 300000 };
    char *huge = malloc(BYTES + 1);
    assert_non_null(huge);
    for (int i = 0; i < BYTES; i += 3) memcpy(huge + i, "\xE4\xBD\xA0", 3);
    huge[BYTES] = 0;
    options.word_features = 1;
    case_create(&c, AT_UNIT_WORDS, 1, huge, options);
    case_compute(&c);
    assert_int_equal(c.features->used, 1 + 2 * (20 * 21 / 2) + 2);
    case_destroy(&c);
    free(huge);
}

static void test_append(void **state) {
    (void)state;
    words_case c;
    at_text_values options = {.ngram_min = 2, .ngram_max = 3, .context = 2, .buckets = 50};
    case_create(&c, AT_UNIT_WORDS, 1, "one two three four five", options);
    case_compute(&c);
    at_text_batch *parts = NULL;
    assert_int_equal(text_features(c.text, c.units, 0, 0, &parts), ATTN_OK);
    assert_int_equal(parts->batch.rows, 0);
    assert_int_equal(parts->offsets[0], 0);
    for (int round = 0; round < 2; round++) {
        parts->batch.rows = parts->used = 0;
        assert_int_equal(text_features(c.text, c.units, 0, 2, &parts), ATTN_OK);
        int64_t used = parts->used;
        assert_int_equal(text_features(c.text, c.units, 2, 3, &parts), ATTN_OK);
        assert_int_equal(parts->batch.rows, 5);
        assert_int_equal(parts->offsets[2], used);
        assert_int_equal(parts->offsets[5], parts->used);
        assert_int_equal(parts->used, c.features->used);
    }
    /* Row 0 sees the same neighbours; "two" has none to its right in its sequence of two. */
    assert_memory_equal(parts->ids, c.features->ids, (size_t)parts->offsets[1] * sizeof *parts->ids);
    assert_true(memcmp(parts->ids + parts->offsets[1], c.features->ids + parts->offsets[1],
                       (size_t)(parts->offsets[2] - parts->offsets[1]) * sizeof *parts->ids) != 0);
    for (int64_t i = 0; i < parts->used; i++) {
        assert_in_range(parts->ids[i], 0, at_text_features_count(c.text) - 1);
    }
    /* The end of a sequence alone: the same rows as of all of it. */
    parts->batch.rows = parts->used = 0;
    assert_int_equal(at_text_put_rows(c.text, c.units, 0, 3, 2, parts), ATTN_OK);
    assert_int_equal(parts->batch.rows, 2);
    assert_int_equal(parts->used, c.features->used - c.features->offsets[3]);
    assert_memory_equal(parts->ids, c.features->ids + c.features->offsets[3],
                        (size_t)parts->used * sizeof *parts->ids);

    c.text->values.buckets = 0; /* the units alone */
    case_encode(&c);
    parts->batch.rows = parts->used = 0;
    assert_int_equal(text_features(c.text, c.units, 0, 5, &parts), ATTN_OK);
    assert_int_equal(parts->used, 5);

    c.text->values.buckets = INT32_MAX;
    at_text_encoded *refused = NULL;
    assert_int_equal(text_encode(c.text, c.dataset, &refused), ATTN_OVERFLOW);
    assert_null(refused);
    text_batch_free(parts);
    case_destroy(&c);
    attn_config *config = NULL; /* and neighbours are few */
    assert_int_equal(attn_config_create(test_best_context(1), &config), ATTN_OK);
    assert_int_equal(attn_config_set(config, "text.context", "9"), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_config_set(config, "text.context", "8"), ATTN_OK);
    attn_config_destroy(config);
}

/* Sequences and words for which the stack has no room. */
static void make_long(char *text, size_t room) {
    *text = 0;
    for (int i = 0; i < 300; i++) snprintf(text + strlen(text), room - strlen(text), "%d ", i % 17);
    size_t used = strlen(text);
    memset(text + used, 'a', 400);
    text[used + 400] = 0;
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {.fail_at = 0};
    attn_context *context = counting_context(&counter);
    static char example[2048];
    make_long(example, sizeof example);
    attn_dataset *dataset[2] = {examples_create(context, 0, (const char *[]){example}, 1),
                                examples_create(context, 1, (const char *[]){example}, 1)};
    int64_t live = counter.live;
    for (int kind = 0; kind < 8; kind++) {
        int done = 0;
        for (int64_t fail_at = 1; !done; fail_at++) {
            at_text_values values = {.unit = kind / 2,
                                     .min_count = 1,
                                     .subwords = 100,
                                     .lowercase = 1,
                                     .ngram_max = 3,
                                     .context = 3,
                                     .word_features = 1,
                                     .buckets = 1000};
            at_text_input *text = text_create(context, &values, (text_use){0});
            at_text_encoded *units = NULL;
            at_text_batch *features = NULL;
            int64_t before = counter.live;
            counter = (counting_allocator){.live = before, .fail_at = fail_at};
            attn_status status = text_learn(text, dataset[kind % 2]);
            if (status != ATTN_OK) assert_int_equal(text->symbols.vocabulary.strings.count, 0);
            if (status == ATTN_OK) status = text_encode(text, dataset[kind % 2], &units);
            if (status == ATTN_OK) status = text_features(text, units, 0, units->encoded.rows, &features);
            counter.fail_at = 0;
            if (status != ATTN_OK) {
                assert_int_equal(status, ATTN_OUT_OF_MEMORY);
                if (features) assert_int_equal(features->batch.rows + features->used, 0);
            }
            done = status == ATTN_OK;
            if (done) assert_int_equal(counter.failures, 0);
            text_batch_free(features);
            text_free(units);
            text_destroy(text);
            assert_int_equal(counter.live, live);
        }
    }
    attn_dataset_destroy(dataset[0]);
    attn_dataset_destroy(dataset[1]);
    attn_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_of_tokens),
        cmocka_unit_test(test_units_of_texts),
        cmocka_unit_test(test_pretokenized),
        cmocka_unit_test(test_no_spaces),
        cmocka_unit_test(test_labels_of_words),
        cmocka_unit_test(test_learn),
        cmocka_unit_test(test_features_of_words),
        cmocka_unit_test(test_single_characters),
        cmocka_unit_test(test_features_of_others),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
