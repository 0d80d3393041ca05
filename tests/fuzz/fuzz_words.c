/* fuzz_words.c: any bytes as text: words, lower case, shapes, subwords and features of it. The first byte
 * chooses the unit and the options. Texts in the library are well-formed; these need not be, and nothing may
 * crash then either, but the checks are made of well-formed ones only. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "base/memory.h"
#include "data/text.h"
#include "data/unicode.h"

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

static void check_features(const at_text *text, const at_units *units) {
    at_features features = {.rows = 0};
    for (int64_t e = 0; e < units->examples; e++) {
        int64_t first = units->offsets[e], count = units->offsets[e + 1] - first;
        require(at_text_features(text, units, first, count, &features) == ATTN_OK);
    }
    require(features.rows == units->units.count);
    if (features.rows) require(features.offsets[features.rows] == features.used);
    for (int64_t i = 0; i < features.used; i++) {
        require(features.ids[i] >= 0 && features.ids[i] < at_text_features_count(text));
    }
    at_features_free(text->context, &features);
}

/* Two examples: the text, and its lines; of a tokenized set the lines are tokens. */
static void make_dataset(attn_context *context, const char *text, size_t length, int tokenized,
                         attn_dataset *dataset) {
    memset(dataset, 0, sizeof *dataset);
    dataset->context = context;
    dataset->tokenized = tokenized;
    for (size_t place = 0; place < length;) {
        const char *end = memchr(text + place, '\n', length - place);
        size_t line = end ? (size_t)(end - text) - place : length - place;
        require(at_strings_add(context, &dataset->tokens, text + place, line) == ATTN_OK);
        place += line + 1;
    }
    int64_t tokens = dataset->tokens.count;
    dataset->examples = tokenized ? 1 : tokens;
    dataset->offsets = at_allocate(context, tokens + 2, sizeof *dataset->offsets, "offsets");
    dataset->glued = at_allocate(context, tokens, 1, "glued");
    require(dataset->offsets && dataset->glued);
    for (int64_t i = 0; i <= tokens; i++) dataset->offsets[i] = i;
    if (tokenized) dataset->offsets[1] = tokens;
    dataset->any_glued = tokens > 1;
    for (int64_t i = 0; i < tokens; i += 2) dataset->glued[i] = 1;
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

    attn_dataset dataset;
    make_dataset(context, bytes, length, choice >> 3 & 1, &dataset);
    at_text text;
    memset(&text, 0, sizeof text);
    text.context = context;
    text.options = (at_text_options){.unit = (at_unit)(choice & 3),
                                     .pretokenized = choice >> 2 & 1,
                                     .lowercase = choice >> 4 & 1,
                                     .min_count = 1 + (choice >> 5 & 1),
                                     .subwords = 64,
                                     .ngram_min = 1,
                                     .ngram_max = 4,
                                     .word_features = 1,
                                     .context = 3,
                                     .buckets = choice >> 6 & 1 ? 0 : 1000};
    at_units units = {.examples = 0};
    require(at_text_learn(&text, &dataset) == ATTN_OK);
    require(at_text_units(&text, &dataset, &units) == ATTN_OK);
    require(units.examples == dataset.examples && units.offsets[units.examples] == units.units.count);
    if (good && text.options.unit != AT_UNIT_BYTES) {
        for (int64_t i = 0; i < units.units.count; i++) {
            size_t unit_length = at_string_length(&units.units, i);
            require(at_unicode_check(at_string(&units.units, i), unit_length) == unit_length);
        }
    }
    check_features(&text, &units);
    at_units_free(context, &units);
    at_text_free(&text);
    at_strings_free(context, &dataset.tokens);
    at_release(context, dataset.offsets);
    at_release(context, dataset.glued);
    free(bytes);
    return 0;
}
