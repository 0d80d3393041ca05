/* fuzz_raw_text.c: any CoNLL-U as raw text: where its tokens stand, and its scores against itself.
 *
 * Bits of the first byte: 0 and 1 what stands between tokens (at_spacing).
 */
#include "fuzz_dataset.h"

#include "inputs/text/raw_side.h"
#include "inputs/text/raw_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tokens follow each other in the text, which is UTF-8, and have all words. */
static void check_sentence(const attn_dataset *dataset, int64_t example, const at_surface *surface) {
    int64_t at = 0, word = 0;
    REQUIRE(strlen(surface->text.data) == (size_t)surface->text.count);
    REQUIRE(at_unicode_check(surface->text.data, (size_t)surface->text.count) == (size_t)surface->text.count);
    for (int64_t t = 0; t < surface->count; t++) {
        const at_surface_token *token = &surface->tokens[t];
        size_t length = (size_t)(token->end - token->begin);
        REQUIRE(token->begin >= at && token->end >= token->begin && token->end <= surface->text.count);
        REQUIRE(at_unicode_check(surface->text.data + token->begin, length) == length);
        REQUIRE(token->first_word == word && token->words >= 1);
        REQUIRE(token->multiword || token->words == 1);
        at = token->end;
        word += token->words;
    }
    REQUIRE(at == surface->text.count && word == attn_dataset_tokens(dataset, example));
}

static void check_scores(const attn_dataset *dataset) {
    attn_context *context = fuzz_context();
    at_raw_side sides[2] = {{.words = 0}, {.words = 0}};
    at_f1 tokens, sentences, words, *tags = calloc((size_t)dataset->columns.count + 1, sizeof *tags);
    REQUIRE(tags != NULL);
    attn_status status = at_raw_side_read(dataset, &dataset->targets, &sides[0]);
    if (status == ATTN_OK) status = at_raw_side_read(dataset, &dataset->targets, &sides[1]);
    if (status == ATTN_OK) {
        REQUIRE(at_raw_compare(context, &sides[0], &sides[1], &dataset->columns, &tokens, &sentences, &words,
                               tags) == ATTN_OK);
        REQUIRE(sentences.right == dataset->examples && sentences.f1 == 1 && tokens.f1 == 1);
        REQUIRE(words.right == dataset->rows && words.f1 == 1);
        for (int64_t c = 0; c <= dataset->columns.count; c++) REQUIRE(tags[c].f1 == 1);
    } else {
        REQUIRE(status == ATTN_INVALID_ARGUMENT); /* a word of white space */
    }
    for (int i = 0; i < 2; i++) at_raw_side_free(context, &sides[i]);
    free(tags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    attn_context *context = fuzz_context();
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_CONLLU;
    options.column = "UPOS,FEATS,LEMMA";
    options.labelled = 0;
    attn_dataset *dataset, *raw;
    if (attn_dataset_parse(context, "a", 1, (const char *)data + 1, size - 1, &options, &dataset) != ATTN_OK)
        return 0;
    at_spacing spacing = at_spacing_of(dataset, (at_spacing)(data[0] & 3));
    at_surface surface = {.count = 0};
    for (int64_t e = 0; e < dataset->examples; e++) {
        REQUIRE(at_surface_read(dataset, e, spacing, &surface) == ATTN_OK);
        check_sentence(dataset, e, &surface);
    }
    at_surface_free(context, &surface);
    REQUIRE(at_raw_text(dataset, spacing, &raw, NULL) == ATTN_OK);
    REQUIRE(raw->examples >= 1 && raw->examples <= dataset->examples);
    check_scores(dataset);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
    return 0;
}
