/* examples.c: small datasets and views of text made in memory. */
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

/* ---- examples ---- */

static void add_token(attn_dataset *dataset, const char *text, size_t length, int64_t line) {
    int glued = at_texts_of(dataset)->tokenized && length > 1 && text[length - 1] == '+';
    if (glued) at_texts_of(dataset)->any_glued = 1;
    assert_int_equal(at_texts_token(dataset, text, length - (size_t)glued, line, glued), ATTN_OK);
}

attn_dataset *examples_create(attn_context *context, int tokenized, const char *const *texts, int64_t count) {
    attn_dataset *dataset = NULL;
    assert_int_equal(at_texts_dataset(context, "examples",
                                      tokenized ? ATTN_FORMAT_COLUMNS : ATTN_FORMAT_LINES, tokenized,
                                      &dataset),
                     ATTN_OK);
    for (int64_t i = 0; i < count; i++) {
        const char *text = texts[i];
        if (!tokenized) add_token(dataset, text, strlen(text), i + 1);
        while (tokenized && *text) {
            size_t length = strcspn(text, " ");
            add_token(dataset, text, length, i + 1);
            text += length;
            text += strspn(text, " ");
        }
        assert_int_equal(at_texts_end(dataset, "", 0), ATTN_OK);
    }
    return dataset;
}

/* ---- views ---- */

at_text_input *text_create(attn_context *context, const at_text_values *values, text_use use) {
    at_input_use asked = {.task = "test", .per_row = -1, .writes_text = use.exact, .running = use.running};
    at_input *input = NULL;
    assert_int_equal(at_text_kind.create(context, values, &asked, &input), ATTN_OK);
    input->kind = &at_text_kind;
    return (at_text_input *)(void *)input;
}

void text_destroy(at_text_input *text) {
    if (text) at_text_kind.destroy(&text->input);
}

attn_status text_learn(at_text_input *text, const attn_dataset *dataset) {
    at_learning from = {.examples = dataset};
    return at_text_kind.learn(&text->input, &from);
}

attn_status text_encode(const at_text_input *text, const attn_dataset *dataset, at_text_encoded **encoded) {
    at_encoded *made = NULL;
    attn_status status = at_text_kind.encode(&text->input, text->input.context, NULL, dataset, NULL, &made);
    if (status == ATTN_OK) *encoded = (at_text_encoded *)(void *)made;
    return status;
}

void text_free(at_text_encoded *encoded) {
    if (encoded) at_text_kind.free_encoded(&encoded->encoded);
}

const char *text_unit(const at_text_encoded *encoded, int64_t row) {
    return at_text_kind.row_name(&encoded->encoded, row);
}

attn_status text_features(const at_text_input *text, const at_text_encoded *encoded, int64_t first,
                          int64_t count, at_text_batch **batch) {
    attn_status status = ATTN_OK;
    if (!*batch) {
        at_batch *made = NULL;
        status = at_text_create_batch(encoded->encoded.context, &made);
        *batch = (at_text_batch *)(void *)made;
    }
    return status == ATTN_OK ? at_text_put_rows(text, encoded, first, first, count, *batch) : status;
}

void text_batch_free(at_text_batch *batch) {
    if (batch) at_text_free_batch(&batch->batch);
}
