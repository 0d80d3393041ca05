/* fuzz_words.c: any bytes as text: words, lower case, shapes, subwords and features of it. The first byte
 * chooses the unit and the options. Texts in the library are well-formed; these need not be, and nothing may
 * crash then either, but the checks are made of well-formed ones only. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "inputs/kinds.h"
#include "inputs/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition) abort();
}

static void *allocate(size_t bytes) { /* exactly so many, so that one too many is seen */
    void *memory = malloc(bytes);
    require(memory != NULL);
    return memory;
}

static void check_forms(const char *text, size_t length, int good) {
    char *lower = allocate(4 * length + 1), *shape = allocate(length + 1);
    size_t lower_length = at_unicode_lower(text, length, lower);
    size_t shape_length = at_unicode_shape(text, length, shape);
    require(lower[lower_length] == 0 && shape[shape_length] == 0);
    if (good) {
        require(at_unicode_check(lower, lower_length) == lower_length);
        require(at_unicode_check(shape, shape_length) == shape_length);
    }
    free(lower);
    free(shape);
}

/* The words are the text without its white space. */
static void check_words(attn_context *context, const char *text, size_t length, int at_spaces) {
    at_strings words = {.count = 0};
    require(at_split_words(context, text, length, at_spaces, &words) == ATTN_OK);
    size_t place = 0;
    for (int64_t w = 0; w < words.count; w++) {
        size_t word_length = at_string_length(&words, w);
        require(word_length > 0);
        while (memcmp(text + place, at_string(&words, w), word_length) != 0) {
            int32_t code_point;
            place += (size_t)at_unicode_next(text + place, length - place, &code_point);
            require(at_unicode_space(code_point) && place + word_length <= length);
        }
        place += word_length;
    }
    for (int32_t code_point; place < length;) {
        place += (size_t)at_unicode_next(text + place, length - place, &code_point);
        require(at_unicode_space(code_point));
    }
    at_strings_free(context, &words);
}

static void check_features(const at_text_input *text, const at_text_encoded *units) {
    at_batch *made = NULL;
    require(at_text_create_batch(units->encoded.context, &made) == ATTN_OK);
    at_text_batch *batch = (at_text_batch *)(void *)made;
    for (int64_t e = 0; e < units->encoded.examples; e++) {
        int64_t first = units->encoded.offsets[e], count = units->encoded.offsets[e + 1] - first;
        require(at_text_put_rows(text, units, first, first, count, batch) == ATTN_OK);
    }
    require(made->rows == units->encoded.rows);
    if (made->rows) require(batch->offsets[made->rows] == batch->used);
    for (int64_t i = 0; i < batch->used; i++) {
        require(batch->ids[i] >= 0 && batch->ids[i] < at_text_features_count(text));
    }
    at_text_free_batch(made);
}

/* The lines of the text are examples; of a tokenized set they are tokens of one. */
static attn_dataset *make_dataset(attn_context *context, const char *text, size_t length, int tokenized) {
    attn_dataset *dataset = NULL;
    require(at_texts_dataset(context, "fuzz", tokenized ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_LINES, tokenized,
                             &dataset) == ATTN_OK);
    int64_t tokens = 0;
    for (size_t place = 0; place < length; tokens++) {
        const char *end = memchr(text + place, '\n', length - place);
        size_t line = end ? (size_t)(end - text) - place : length - place;
        require(at_texts_token(dataset, text + place, line, tokens + 1, tokens % 2 == 0) == ATTN_OK);
        if (!tokenized) require(at_texts_end(dataset, "", 0) == ATTN_OK);
        place += line + 1;
    }
    if (tokenized) require(at_texts_end(dataset, "", 0) == ATTN_OK);
    at_texts_of(dataset)->any_glued = tokens > 1;
    return dataset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (!context) require(attn_context_create(&options, &context) == ATTN_OK);
    if (!size) return 0;
    size_t length = size - 1;
    char *bytes = allocate(length + 1);
    memcpy(bytes, data + 1, length);
    int good = at_unicode_check(bytes, length) == length, choice = data[0];
    check_forms(bytes, length, good);
    if (good) check_words(context, bytes, length, choice >> 2 & 1);

    attn_dataset *dataset = make_dataset(context, bytes, length, choice >> 3 & 1);
    at_text_values values = {.unit = choice & 3,
                             .scheme = (choice & 3) == AT_UNIT_CHARS && choice >> 7 ? AT_SCHEME_BMES
                                                                                    : AT_SCHEME_NONE,
                             .pretokenized = choice >> 2 & 1,
                             .lowercase = choice >> 4 & 1,
                             .min_count = 1 + (choice >> 5 & 1),
                             .subwords = 64,
                             .ngram_min = 1,
                             .ngram_max = 4,
                             .word_features = 1,
                             .context = 3,
                             .buckets = choice >> 6 & 1 ? 0 : 1000};
    at_input_use use = {.task = "fuzz", .per_row = -1};
    at_learning from = {.examples = dataset};
    at_input *input = NULL;
    at_encoded *made = NULL;
    require(at_text_kind.create(context, &values, &use, &input) == ATTN_OK);
    require(at_text_kind.learn(input, &from) == ATTN_OK);
    require(at_text_kind.encode(input, context, NULL, dataset, NULL, &made) == ATTN_OK);
    require(made->examples == dataset->examples && made->offsets[made->examples] == made->rows);
    for (int64_t i = 0; good && values.unit != AT_UNIT_BYTES && i < made->rows; i++) {
        const char *unit = at_text_kind.row_name(made, i);
        require(at_unicode_check(unit, strlen(unit)) == strlen(unit));
    }
    if (values.scheme == AT_SCHEME_BMES) require(made->labels.places == made->rows && made->labels.per_row);
    check_features(at_text_of(input), (const at_text_encoded *)(const void *)made);
    at_text_kind.free_encoded(made);
    at_text_kind.destroy(input);
    attn_dataset_destroy(dataset);
    free(bytes);
    return 0;
}
