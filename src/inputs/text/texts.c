/* texts.c: the texts of a dataset in memory: how readers and programs add them, and how they are requested.
 */
#include "inputs/text/texts.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"

static void destroy(attn_context *context, void *content) {
    at_texts *texts = content;
    if (!texts) return;
    at_strings_free(context, &texts->tokens);
    at_strings_free(context, &texts->sources);
    at_strings_free(context, &texts->expansions);
    at_release(context, texts->glued);
    at_release(context, texts);
}

static attn_status create(attn_context *context, const void *like, void **content) {
    at_texts *made = at_allocate(context, 1, sizeof *made, "texts");
    if (!made) return ATTN_OUT_OF_MEMORY;
    if (like) {
        made->tokenized = ((const at_texts *)like)->tokenized;
        made->any_glued =
            ((const at_texts *)like)->any_glued; /* the file marks spaces, whichever part it is */
    }
    *content = made;
    return ATTN_OK;
}

static attn_status add(attn_context *context, at_texts *texts, const char *text, size_t length, int glued) {
    attn_status status = at_grow(context, &texts->glued, &texts->glued_room, texts->tokens.count + 1,
                                 sizeof *texts->glued, "the spaces between tokens");
    if (status != ATTN_OK) return status;
    texts->glued[texts->tokens.count] = glued != 0;
    return at_strings_add(context, &texts->tokens, text, length);
}

static attn_status append(attn_context *context, void *content, const void *from, int64_t example,
                          int64_t first, int64_t end) {
    const at_texts *source = from;
    at_texts *to = content;
    attn_status status = ATTN_OK;
    if (to->tokenized != source->tokenized)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s do not go on with %s",
                       source->tokenized ? "tokens" : "texts", to->tokenized ? "tokens" : "texts");
    to->any_glued |= source->any_glued;
    status = at_grow(context, &to->glued, &to->glued_room, to->tokens.count + end - first, sizeof *to->glued,
                     "the spaces between tokens");
    if (status != ATTN_OK) return status;
    if (end > first) memcpy(to->glued + to->tokens.count, source->glued + first, (size_t)(end - first));
    status = at_strings_add_list(context, &to->tokens, &source->tokens, first, end - first);
    if (status != ATTN_OK || source->sources.count == 0) return status;
    return at_strings_add(context, &to->sources, at_string(&source->sources, example),
                          at_string_length(&source->sources, example));
}

static uint64_t hash(const void *content, int64_t first, int64_t end, uint64_t seed) {
    const at_texts *texts = content;
    for (int64_t t = first; t < end; t++)
        seed = at_hash(at_string(&texts->tokens, t), at_string_length(&texts->tokens, t), seed);
    if (texts->any_glued) seed = at_hash((const char *)texts->glued + first, (size_t)(end - first), seed);
    return seed;
}

static const char *row_name(const void *content, int64_t row) {
    return at_string(&((const at_texts *)content)->tokens, row);
}

/* The "# text = ..." of a sentence, which words of one token may not be written as (du: de, le); NULL: it has
 * none. */
static const char *own_text(const at_texts *texts, int64_t example, size_t *length) {
    static const char key[] = "# text = ";
    if (example >= texts->sources.count) return NULL;
    for (const char *line = at_string(&texts->sources, example); *line == '#';) {
        size_t bytes = strcspn(line, "\n");
        if (strncmp(line, key, sizeof key - 1) == 0) {
            *length = bytes - (sizeof key - 1);
            return line + sizeof key - 1;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return NULL;
}

static void text(const void *content, int64_t example, int64_t first, int64_t end, at_writer *writer) {
    const at_texts *texts = content;
    size_t length;
    const char *whole = own_text(texts, example, &length);
    if (whole) {
        at_put(writer, whole, length);
        return;
    }
    for (int64_t t = first; t < end; t++) {
        if (t > first && !(texts->any_glued && texts->glued[t - 1])) at_put_char(writer, ' ');
        at_put(writer, at_string(&texts->tokens, t), at_string_length(&texts->tokens, t));
    }
}

const at_content_kind at_texts_kind = {"text", destroy, create, append, hash, row_name, text, 0, 1};

attn_status at_texts_dataset(attn_context *context, const char *name, attn_format format, int tokenized,
                             attn_dataset **dataset) {
    void *content;
    attn_dataset *made;
    attn_status status = create(context, NULL, &content);
    if (status == ATTN_OK) status = at_dataset_create(context, name, &at_texts_kind, content, &made);
    if (status != ATTN_OK) return status;
    made->format = format;
    made->per_row = tokenized;
    made->pairs = format == ATTN_FORMAT_PAIRS;
    at_texts_of(made)->tokenized = tokenized;
    *dataset = made;
    return ATTN_OK;
}

attn_status at_texts_token(attn_dataset *dataset, const char *text, size_t length, int64_t line, int glued) {
    attn_status status = add(dataset->context, at_texts_of(dataset), text, length, glued);
    return status == ATTN_OK ? at_dataset_row(dataset, line) : status;
}

attn_status at_texts_end(attn_dataset *dataset, const char *source, size_t source_length) {
    at_texts *texts = at_texts_of(dataset);
    attn_status status = ATTN_OK;
    if (dataset->format == ATTN_FORMAT_CONLLU)
        status = at_strings_add(dataset->context, &texts->sources, source, source_length);
    if (status != ATTN_OK) return status;
    for (int64_t t = dataset->offsets[dataset->examples]; t < texts->tokens.count; t++)
        texts->any_glued |= texts->glued[t];
    return at_dataset_end(dataset);
}

void at_texts_undo(attn_dataset *dataset) {
    at_texts *texts = at_texts_of(dataset);
    dataset->rows = texts->tokens.count = dataset->offsets[dataset->examples];
    int64_t places = dataset->per_row ? dataset->rows : dataset->examples;
    dataset->targets.count = places * dataset->columns.count;
}

/* ---- questions ---- */

static const at_texts *texts_of(const attn_dataset *dataset) {
    return dataset && dataset->kind == &at_texts_kind ? dataset->content : NULL;
}

int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example) {
    return texts_of(dataset) ? attn_dataset_rows(dataset, example) : 0;
}

const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token) {
    if (token < 0 || token >= attn_dataset_tokens(dataset, example)) return NULL;
    return at_string(&texts_of(dataset)->tokens, dataset->offsets[example] + token);
}

const char *attn_dataset_source(const attn_dataset *dataset, int64_t example) {
    if (!texts_of(dataset) || example < 0 || example >= dataset->examples) return NULL;
    return dataset->format == ATTN_FORMAT_CONLLU ? at_string(&texts_of(dataset)->sources, example) : "";
}

/* ---- from memory ---- */

static attn_status add_normal(attn_dataset *dataset, const char *text, int64_t row, char **buffer,
                              int64_t *room) {
    if (!text) return at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "text %" PRId64 " is NULL", row);
    size_t length = strlen(text);
    if (at_unicode_check(text, length) != length)
        return at_fail(dataset->context, ATTN_INVALID_ARGUMENT, "text %" PRId64 " is not UTF-8", row);
    attn_status status = at_unicode_nfc(dataset->context, text, length, buffer, room, &text, &length);
    return status == ATTN_OK ? at_texts_token(dataset, text, length, row + 1, 0) : status;
}

attn_status attn_dataset_from_texts(attn_context *context, const char *const *texts, const int64_t *offsets,
                                    int64_t examples, attn_dataset **dataset) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!dataset || examples < 0 || (!texts && examples > 0))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "texts or dataset is NULL, or examples is %" PRId64,
                       examples);
    attn_dataset *made;
    char *buffer = NULL;
    int64_t room = 0;
    attn_status status = at_texts_dataset(
        context, "memory", offsets ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_LINES, offsets != NULL, &made);
    if (status != ATTN_OK) return status;
    for (int64_t e = 0; e < examples && status == ATTN_OK; e++) {
        int64_t first = offsets ? offsets[e] : e, end = offsets ? offsets[e + 1] : e + 1;
        if (first > end || (offsets && e == 0 && first != 0))
            status = at_fail(context, ATTN_INVALID_ARGUMENT,
                             "offsets must not decrease from 0: offsets[%" PRId64 "] is %" PRId64
                             ", the next %" PRId64,
                             e, first, end);
        for (int64_t t = first; t < end && status == ATTN_OK; t++)
            status = add_normal(made, texts[t], t, &buffer, &room);
        if (status == ATTN_OK) status = at_texts_end(made, "", 0);
    }
    at_release(context, buffer);
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}
