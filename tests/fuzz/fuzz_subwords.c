/* fuzz_subwords.c: any bytes as a model of subwords. The first byte says how many symbols are learned; up to
 * a line "=" stand merges, a line each, as a file has them; after it text. The merges are refused or cut
 * words; those that are learned from the words of the text are taken again, and cut the same. What a word is
 * cut into is the word.
 */
#include "data/symbols/subwords.h"
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The symbols, one after another, are the word with its spaces marked. */
static void check_cut(const char *word, size_t length, const at_strings *symbols) {
    size_t at = 0;
    for (int64_t s = 0; s < symbols->count; s++) {
        const char *symbol = at_string(symbols, s);
        size_t rest = at_string_length(symbols, s);
        REQUIRE(rest > 0);
        while (rest > 0) {
            int space = at < length && word[at] == ' ';
            REQUIRE(at < length &&
                    (space ? rest >= 3 && memcmp(symbol, "\xe2\x96\x81", 3) == 0 : *symbol == word[at]));
            symbol += space ? 3 : 1;
            rest -= space ? 3 : 1;
            at++;
        }
    }
    REQUIRE(at == length);
}

/* Cuts every line of a text, and is the same as `other` does it (NULL: there is none). */
static void cut_lines(attn_context *context, const at_subwords *subwords, const at_subwords *other,
                      const char *text, size_t length) {
    for (size_t begin = 0; begin < length;) {
        const char *end = memchr(text + begin, '\n', length - begin);
        size_t line = end ? (size_t)(end - text) - begin : length - begin;
        at_strings symbols = {0}, again = {0};
        REQUIRE(at_subwords_split(context, subwords, text + begin, line, &symbols) == ATTN_OK);
        check_cut(text + begin, line, &symbols);
        if (other) {
            REQUIRE(at_subwords_split(context, other, text + begin, line, &again) == ATTN_OK);
            REQUIRE(again.count == symbols.count);
            for (int64_t s = 0; s < symbols.count; s++)
                REQUIRE(strcmp(at_string(&symbols, s), at_string(&again, s)) == 0);
        }
        at_strings_free(context, &symbols);
        at_strings_free(context, &again);
        begin += line + 1;
    }
}

static void load(attn_context *context, const char *merges, size_t length, const char *text,
                 size_t text_length) {
    at_strings list = {0};
    at_subwords subwords = {0};
    for (size_t begin = 0; begin < length;) {
        const char *end = memchr(merges + begin, '\n', length - begin);
        size_t line = end ? (size_t)(end - merges) - begin : length - begin;
        REQUIRE(at_strings_add(context, &list, merges + begin, line) == ATTN_OK);
        begin += line + 1;
    }
    attn_status status = at_subwords_load(context, &list, &subwords);
    if (status == ATTN_OK) {
        REQUIRE(subwords.merges.count == list.count);
        cut_lines(context, &subwords, NULL, text, text_length);
        at_subwords_free(context, &subwords);
    } else {
        REQUIRE(status == ATTN_INVALID_ARGUMENT && attn_context_error(context)[0] != 0);
        REQUIRE(subwords.merges.count == 0);
    }
    at_strings_free(context, &list);
}

static void learn(attn_context *context, int64_t symbols, const char *text, size_t length) {
    at_vocabulary words = {0};
    at_subwords learned = {0}, loaded = {0};
    for (size_t begin = 0; begin < length;) {
        size_t word = strcspn(text + begin, "\n");
        int64_t number;
        REQUIRE(at_vocabulary_add(context, &words, text + begin, word, 1 + (int64_t)begin % 3, &number) ==
                ATTN_OK);
        begin += word + 1;
    }
    REQUIRE(at_subwords_learn(context, &words, symbols, &learned) == ATTN_OK);
    REQUIRE(learned.merges.count <= symbols);
    REQUIRE(at_subwords_load(context, &learned.merges, &loaded) == ATTN_OK);
    cut_lines(context, &learned, &loaded, text, length);
    at_subwords_free(context, &learned);
    at_subwords_free(context, &loaded);
    at_vocabulary_free(context, &words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    attn_context *context = fuzz_context();
    if (size < 1) return 0;
    char *bytes = malloc(size);
    REQUIRE(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    bytes[size - 1] = 0;
    size_t length = at_unicode_check(bytes, size - 1); /* what comes from files is well-formed, without 0 */
    bytes[length] = 0;
    const char *parted = strstr(bytes, "\n=\n");
    const char *text = parted ? parted + 3 : bytes;
    size_t text_length = length - (size_t)(text - bytes);
    if (parted) load(context, bytes, (size_t)(parted - bytes), text, text_length);
    learn(context, data[0], text, text_length);
    free(bytes);
    return 0;
}
