/* dataset.c: examples in memory: how readers add them, how they are asked for, and parts of them. */
#include "data/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

attn_status at_dataset_create(attn_context *context, const char *name, attn_format format, int tokenized,
                              attn_dataset **dataset) {
    attn_dataset *made = at_allocate(context, 1, sizeof *made, "a dataset");
    if (made == NULL) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->format = format;
    made->tokenized = tokenized;
    attn_status status = at_strings_add(context, &made->name, name, strlen(name));
    if (status == ATTN_OK)
        status = at_grow(context, &made->offsets, &made->offset_room, 1, sizeof *made->offsets, "a dataset");
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    made->offsets[0] = 0;
    *dataset = made;
    return ATTN_OK;
}

void attn_dataset_destroy(attn_dataset *dataset) {
    if (dataset == NULL) return;
    attn_context *context = dataset->context;
    at_strings_free(context, &dataset->name);
    at_strings_free(context, &dataset->problems);
    at_strings_free(context, &dataset->tokens);
    at_strings_free(context, &dataset->columns);
    at_strings_free(context, &dataset->targets);
    at_strings_free(context, &dataset->sources);
    at_release(context, dataset->offsets);
    at_release(context, dataset->lines);
    at_release(context, dataset->glued);
    at_release(context, dataset);
}

attn_status at_dataset_token(attn_dataset *dataset, const char *text, size_t length, int64_t line,
                             int glued) {
    attn_context *context = dataset->context;
    int64_t token = dataset->tokens.count;
    attn_status status = at_grow(context, &dataset->lines, &dataset->line_room, token + 1,
                                 sizeof *dataset->lines, "the lines of tokens");
    if (status != ATTN_OK) return status;
    status = at_grow(context, &dataset->glued, &dataset->glued_room, token + 1, sizeof *dataset->glued,
                     "the spaces between tokens");
    if (status != ATTN_OK) return status;
    dataset->lines[token] = line;
    dataset->glued[token] = glued != 0;
    return at_strings_add(context, &dataset->tokens, text, length);
}

attn_status at_dataset_end(attn_dataset *dataset, const char *source, size_t source_length) {
    attn_context *context = dataset->context;
    attn_status status = at_grow(context, &dataset->offsets, &dataset->offset_room, dataset->examples + 2,
                                 sizeof *dataset->offsets, "the examples of a dataset");
    if (status == ATTN_OK && dataset->format == ATTN_FORMAT_CONLLU)
        status = at_strings_add(context, &dataset->sources, source, source_length);
    if (status != ATTN_OK) return status;
    for (int64_t t = dataset->offsets[dataset->examples]; t < dataset->tokens.count; t++)
        dataset->any_glued |= dataset->glued[t];
    dataset->offsets[++dataset->examples] = dataset->tokens.count;
    return ATTN_OK;
}

void at_dataset_undo(attn_dataset *dataset) {
    dataset->tokens.count = dataset->offsets[dataset->examples];
    dataset->targets.count = dataset->tokens.count * dataset->columns.count;
}

/* ---- questions ---- */

const char *attn_dataset_name(const attn_dataset *dataset) { return at_string(&dataset->name, 0); }
attn_format attn_dataset_format(const attn_dataset *dataset) { return dataset->format; }
int64_t attn_dataset_examples(const attn_dataset *dataset) { return dataset->examples; }
int64_t attn_dataset_skipped(const attn_dataset *dataset) { return dataset->skipped; }
int attn_dataset_tokenized(const attn_dataset *dataset) { return dataset->tokenized; }
int attn_dataset_columns(const attn_dataset *dataset) { return (int)dataset->columns.count; }

const char *attn_dataset_problem(const attn_dataset *dataset, int64_t index) {
    return index >= 0 && index < dataset->problems.count ? at_string(&dataset->problems, index) : NULL;
}

const char *attn_dataset_column(const attn_dataset *dataset, int column) {
    return column >= 0 && column < dataset->columns.count ? at_string(&dataset->columns, column) : NULL;
}

int64_t attn_dataset_tokens(const attn_dataset *dataset, int64_t example) {
    if (example < 0 || example >= dataset->examples) return 0;
    return dataset->offsets[example + 1] - dataset->offsets[example];
}

/* The token's number in the whole set, -1 out of range. */
static int64_t place_of(const attn_dataset *dataset, int64_t example, int64_t token) {
    if (token < 0 || token >= attn_dataset_tokens(dataset, example)) return -1;
    return dataset->offsets[example] + token;
}

const char *attn_dataset_token(const attn_dataset *dataset, int64_t example, int64_t token) {
    int64_t place = place_of(dataset, example, token);
    return place < 0 ? NULL : at_string(&dataset->tokens, place);
}

int64_t attn_dataset_line(const attn_dataset *dataset, int64_t example, int64_t token) {
    int64_t place = place_of(dataset, example, token);
    return place < 0 ? 0 : dataset->lines[place];
}

const char *attn_dataset_target(const attn_dataset *dataset, int column, int64_t example, int64_t token) {
    int64_t place = place_of(dataset, example, token);
    if (place < 0 || column < 0 || column >= dataset->columns.count) return NULL;
    return at_string(&dataset->targets, place * dataset->columns.count + column);
}

const char *attn_dataset_source(const attn_dataset *dataset, int64_t example) {
    if (example < 0 || example >= dataset->examples) return NULL;
    return dataset->format == ATTN_FORMAT_CONLLU ? at_string(&dataset->sources, example) : "";
}

/* ---- parts ---- */

static attn_status copy_strings(attn_context *context, const at_strings *from, int64_t first, int64_t count,
                                at_strings *to) {
    attn_status status = ATTN_OK;
    for (int64_t i = first; status == ATTN_OK && i < first + count; i++)
        status = at_strings_add(context, to, at_string(from, i), at_string_length(from, i));
    return status;
}

static attn_status copy_example(const attn_dataset *from, int64_t example, attn_dataset *to) {
    int64_t first = from->offsets[example], end = from->offsets[example + 1];
    int64_t columns = from->columns.count;
    attn_status status = ATTN_OK;
    for (int64_t t = first; status == ATTN_OK && t < end; t++)
        status = at_dataset_token(to, at_string(&from->tokens, t), at_string_length(&from->tokens, t),
                                  from->lines[t], from->glued[t]);
    if (status == ATTN_OK)
        status = copy_strings(from->context, &from->targets, first * columns, (end - first) * columns,
                              &to->targets);
    if (status != ATTN_OK) return status;
    if (from->format != ATTN_FORMAT_CONLLU) return at_dataset_end(to, "", 0);
    return at_dataset_end(to, at_string(&from->sources, example), at_string_length(&from->sources, example));
}

attn_status attn_dataset_select(const attn_dataset *dataset, const int64_t *examples, int64_t count,
                                attn_dataset **selected) {
    attn_context *context = dataset->context;
    if (selected == NULL || count < 0 || (examples == NULL && count > 0))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "attn_dataset_select: examples and selected must not be NULL, count is %" PRId64,
                       count);
    for (int64_t i = 0; i < count; i++) {
        if (examples[i] < 0 || examples[i] >= dataset->examples)
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "attn_dataset_select: examples[%" PRId64 "] is %" PRId64 ", there are %" PRId64
                           " examples",
                           i, examples[i], dataset->examples);
    }
    attn_dataset *made = NULL;
    attn_status status =
        at_dataset_create(context, attn_dataset_name(dataset), dataset->format, dataset->tokenized, &made);
    if (status != ATTN_OK) return status;
    status = copy_strings(context, &dataset->columns, 0, dataset->columns.count, &made->columns);
    for (int64_t i = 0; status == ATTN_OK && i < count; i++)
        status = copy_example(dataset, examples[i], made);
    if (status != ATTN_OK) {
        attn_dataset_destroy(made);
        return status;
    }
    made->any_glued = dataset->any_glued; /* the file marks spaces, whichever part of it this is */
    *selected = made;
    return ATTN_OK;
}
