/* raw_side.c: datasets of tokens as what raw_metrics.h compares. */
#include "inputs/text/raw_side.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "inputs/text/raw_text.h"
#include "inputs/text/text.h"

/* Appends text without its white space; *characters counts on. */
static attn_status add_text(attn_context *context, at_raw_side *side, const char *text, size_t length,
                            int64_t *characters) {
    attn_status status = ATTN_OK;
    for (size_t at = 0, bytes; at < length && status == ATTN_OK; at += bytes) {
        int32_t code;
        bytes = (size_t)at_unicode_next(text + at, length - at, &code);
        if (at_unicode_space(code)) continue;
        status = at_bytes_append(context, &side->text, text + at, bytes);
        (*characters)++;
    }
    return status;
}

static attn_status add_sentence(const attn_dataset *dataset, const at_surface *surface, int64_t example,
                                at_raw_side *side, int64_t *characters) {
    attn_context *context = dataset->context;
    for (int64_t t = 0; t < surface->count; t++) {
        const at_surface_token *token = &surface->tokens[t];
        at_raw_word word = {.begin = *characters, .multiword = token->multiword};
        attn_status status = add_text(context, side, surface->text.data + token->begin,
                                      (size_t)(token->end - token->begin), characters);
        if (status != ATTN_OK) return status;
        word.end = *characters;
        if (word.begin == word.end)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%.200s:%" PRId64 ": word %" PRId64
                           " has nothing but white space, so it has no position in the text: leave it out",
                           side->name, attn_dataset_line(dataset, example, token->first_word),
                           token->first_word + 1);
        for (int64_t w = 0; w < token->words; w++) side->spans[side->words++] = word;
    }
    if (surface->count > 0) side->first[++side->sentences] = side->words;
    return ATTN_OK;
}

attn_status at_raw_side_read(const attn_dataset *dataset, const at_strings *tags, at_raw_side *side) {
    attn_context *context = dataset->context;
    at_surface surface = {.count = 0};
    int64_t characters = 0;
    side->name = at_string(&dataset->name, 0);
    if (dataset->kind != &at_texts_kind || !at_texts_of(dataset)->tokenized)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has no tokens: give CoNLL-U", side->name);
    side->forms = &at_texts_of(dataset)->tokens;
    side->tags = tags;
    attn_status status =
        at_grow(context, &side->spans, &side->span_room, dataset->rows, sizeof *side->spans, "the words");
    if (status == ATTN_OK)
        status = at_grow(context, &side->first, &side->first_room, dataset->examples + 1, sizeof *side->first,
                         "the sentences");
    if (status == ATTN_OK) side->first[0] = 0;
    /* Which spaces a text put together from forms gets does not matter: they do not count. */
    for (int64_t e = 0; e < dataset->examples && status == ATTN_OK; e++) {
        status = at_surface_read(dataset, e, AT_SPACING_ONE, &surface);
        if (status == ATTN_OK) status = add_sentence(dataset, &surface, e, side, &characters);
    }
    at_surface_free(context, &surface);
    return status;
}

void at_raw_side_free(attn_context *context, at_raw_side *side) {
    at_bytes_free(context, &side->text);
    at_release(context, side->first);
    at_release(context, side->spans);
    *side = (at_raw_side){.words = 0};
}

/* ---- the kind's interface ---- */

attn_status at_text_raw(const at_input *input, const attn_dataset *dataset, attn_dataset **raw) {
    return at_raw_text(dataset, (at_spacing)at_text_of(input)->values.spaces, raw, NULL);
}

static attn_status add_spans(at_raw_metric add, void *user, const char *const names[3], const at_f1 *counts) {
    attn_status status = add(user, -1, names[0], counts->precision);
    if (status == ATTN_OK) status = add(user, -1, names[1], counts->recall);
    return status == ATTN_OK ? add(user, -1, names[2], counts->f1) : status;
}

static attn_status add_tag(at_raw_metric add, void *user, int column, const at_f1 *counts) {
    attn_status status = add(user, column, "tag_precision", counts->precision);
    if (status == ATTN_OK) status = add(user, column, "tag_recall", counts->recall);
    if (status == ATTN_OK) status = add(user, column, "tag_f1", counts->f1);
    return status == ATTN_OK ? add(user, column, "tag_accuracy", counts->accuracy) : status;
}

attn_status at_text_raw_metrics(attn_context *context, const at_raw_tags *gold, const at_raw_tags *split,
                                const at_strings *columns, at_raw_metric add, void *user) {
    static const char *const names[3][3] = {{"sentence_precision", "sentence_recall", "sentence_f1"},
                                            {"token_precision", "token_recall", "token_f1"},
                                            {"word_precision", "word_recall", "word_f1"}};
    at_raw_side sides[2] = {{.words = 0}, {.words = 0}};
    at_f1 spans[3], *tags = at_allocate(context, columns->count + 1, sizeof *tags, "metrics of tags");
    attn_status status = tags ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = at_raw_side_read(gold->dataset, gold->tags, &sides[0]);
    if (status == ATTN_OK) status = at_raw_side_read(split->dataset, split->tags, &sides[1]);
    if (status == ATTN_OK)
        status =
            at_raw_compare(context, &sides[0], &sides[1], columns, &spans[1], &spans[0], &spans[2], tags);
    for (int i = 0; i < 3 && status == ATTN_OK; i++) status = add_spans(add, user, names[i], &spans[i]);
    if (status == ATTN_OK && columns->count > 1)
        status = add(user, -1, "all_tags_f1", tags[columns->count].f1);
    for (int c = 0; c < columns->count && status == ATTN_OK; c++) status = add_tag(add, user, c, &tags[c]);
    for (int i = 0; i < 2; i++) at_raw_side_free(context, &sides[i]);
    at_release(context, tags);
    return status;
}
