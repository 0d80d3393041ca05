/* fuzz_vectors.c: any bytes as a file of word vectors: refused with a text, or words and finite numbers. The
 * first byte is the limit. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "inputs/text/pretrained.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (!context) require(attn_context_create(&options, &context) == ATTN_OK);
    if (!size) return 0;
    at_strings words = {.count = 0};
    float *numbers = NULL;
    int64_t columns = 0;
    attn_status status = at_vectors_parse(context, "fuzz", (const char *)data + 1, size - 1, data[0], &words,
                                          &numbers, &columns);
    if (status != ATTN_OK) {
        require(status == ATTN_INVALID_ARGUMENT && !words.count && !numbers && !columns);
        require(strncmp(attn_context_error(context), "fuzz:", 5) == 0);
        for (const char *c = attn_context_error(context); *c; c++) require(*c >= ' ' && *c <= '~');
        return 0;
    }
    require(words.count > 0 && columns > 0 && (data[0] == 0 || words.count <= data[0]));
    for (int64_t i = 0; i < words.count; i++) {
        size_t length = at_string_length(&words, i);
        require(length > 0 && at_unicode_check(at_string(&words, i), length) == length);
    }
    for (int64_t i = 0; i < words.count * columns; i++) require(isfinite(numbers[i]));
    at_strings_free(context, &words);
    at_release(context, numbers);
    return 0;
}
