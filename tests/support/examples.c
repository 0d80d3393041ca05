/* examples.c: small datasets made in memory. */
#include "support/examples.h"

#include <string.h>

#include "base/memory.h"
#include "support/check.h"

attn_context *counting_context(counting_allocator *counter) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(counter);
    attn_context *context = NULL;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    return context;
}

static void add_token(attn_dataset *dataset, const char *text, size_t length) {
    attn_context *context = dataset->context;
    int64_t number = dataset->tokens.count;
    assert_int_equal(at_grow(context, &dataset->glued, &dataset->glued_room, number + 1, 1, "glued"),
                     ATTN_OK);
    dataset->glued[number] = dataset->tokenized && length > 1 && text[length - 1] == '+';
    if (dataset->glued[number]) {
        dataset->any_glued = 1;
        length--;
    }
    assert_int_equal(at_strings_add(context, &dataset->tokens, text, length), ATTN_OK);
}

void examples_create(attn_context *context, int tokenized, const char *const *texts, int64_t count,
                     attn_dataset *dataset) {
    memset(dataset, 0, sizeof *dataset);
    dataset->context = context;
    dataset->tokenized = tokenized;
    dataset->examples = count;
    dataset->offsets = at_allocate(context, count + 1, sizeof *dataset->offsets, "offsets");
    assert_non_null(dataset->offsets);
    for (int64_t i = 0; i < count; i++) {
        const char *text = texts[i];
        if (!tokenized) add_token(dataset, text, strlen(text));
        while (tokenized && *text) {
            size_t length = strcspn(text, " ");
            add_token(dataset, text, length);
            text += length;
            text += strspn(text, " ");
        }
        dataset->offsets[i + 1] = dataset->tokens.count;
    }
}

void examples_destroy(attn_dataset *dataset) {
    at_strings_free(dataset->context, &dataset->tokens);
    at_release(dataset->context, dataset->offsets);
    at_release(dataset->context, dataset->glued);
}
