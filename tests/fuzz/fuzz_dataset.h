/* fuzz_dataset.h: what the fuzz targets of the readers share: parse with options taken from the first byte,
 * and hold what comes out against what dataset.h promises.
 */
#ifndef FUZZ_DATASET_H
#define FUZZ_DATASET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/dataset.h>

#include "base/memory.h"
#include "data/symbols/unicode.h"

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* One for all runs. */
static inline attn_context *fuzz_context(void) {
    static attn_context *context;
    if (context == NULL) {
        attn_context_options options;
        attn_context_options_init(&options);
        options.threads = 1;
        REQUIRE(attn_context_create(&options, &context) == ATTN_OK);
    }
    return context;
}

/* Well-formed, and NFC already. Runs of marks that are too long to be text are left alone, so texts that are
 * long are not asked. */
static inline void fuzz_check_text(const char *text) {
    attn_context *context = fuzz_context();
    size_t length = strlen(text), again;
    char *buffer = NULL;
    int64_t room = 0;
    const char *result;
    REQUIRE(at_unicode_check(text, length) == length);
    REQUIRE(at_unicode_nfc(context, text, length, &buffer, &room, &result, &again) == ATTN_OK);
    REQUIRE(length > 256 || (again == length && memcmp(result, text, length) == 0));
    at_release(context, buffer);
}

static inline void fuzz_check_dataset(const attn_dataset *dataset, int64_t lines) {
    int64_t examples = attn_dataset_examples(dataset);
    int columns = attn_dataset_columns(dataset);
    REQUIRE(examples > 0 && attn_dataset_format(dataset) != ATTN_FORMAT_AUTO);
    for (int c = 0; c < columns; c++) fuzz_check_text(attn_dataset_column(dataset, c));
    for (int64_t e = 0; e < examples; e++) {
        int64_t tokens = attn_dataset_tokens(dataset, e);
        REQUIRE(tokens > 0 && (attn_dataset_tokenized(dataset) || tokens == 1));
        for (int64_t t = 0; t < tokens; t++) {
            int64_t line = attn_dataset_line(dataset, e, t);
            REQUIRE(line >= 1 && line <= lines);
            fuzz_check_text(attn_dataset_token(dataset, e, t));
            for (int c = 0; c < columns; c++) fuzz_check_text(attn_dataset_target(dataset, c, e, t));
            REQUIRE(attn_dataset_target(dataset, columns, e, t) == NULL);
        }
        const char *source = attn_dataset_source(dataset, e);
        size_t length = strlen(source);
        REQUIRE(attn_dataset_format(dataset) != ATTN_FORMAT_CONLLU ||
                (length > 0 && source[length - 1] == '\n'));
    }
    int64_t last[2] = {examples - 1, 0};
    attn_dataset *part = NULL;
    REQUIRE(attn_dataset_select(dataset, last, 2, &part) == ATTN_OK);
    REQUIRE(strcmp(attn_dataset_token(part, 0, 0), attn_dataset_token(dataset, examples - 1, 0)) == 0);
    REQUIRE(attn_dataset_tokens(part, 1) == attn_dataset_tokens(dataset, 0));
    attn_dataset_destroy(part);
}

/* Reading that ends before the first bad example has the examples that precede it, and no others. */
static inline void fuzz_check_stopped(const char *name, const char *bytes, size_t count,
                                      attn_reader_options options, const attn_dataset *skipping) {
    attn_context *context = fuzz_context();
    attn_dataset *dataset = NULL;
    options.skip_bad = 0;
    options.stop_at_bad = 1;
    attn_status status = attn_dataset_parse(context, name, 1, bytes, count, &options, &dataset);
    if (status == ATTN_OK && attn_dataset_stopped(dataset) == ATTN_OK) {
        REQUIRE(attn_dataset_examples(dataset) > 0 && attn_dataset_problem(dataset, 0) == NULL);
    } else if (status == ATTN_OK) {
        REQUIRE(attn_dataset_problem(dataset, 0)[0] != 0 && attn_dataset_problem(dataset, 1) == NULL);
        REQUIRE(attn_dataset_skipped(dataset) == 0);
        for (int64_t e = 0; skipping && e < attn_dataset_examples(dataset); e++) {
            REQUIRE(e < attn_dataset_examples(skipping));
            REQUIRE(attn_dataset_tokens(dataset, e) == attn_dataset_tokens(skipping, e));
            REQUIRE(strcmp(attn_dataset_token(dataset, e, 0), attn_dataset_token(skipping, e, 0)) == 0);
        }
    }
    attn_dataset_destroy(dataset);
}

/* Bits of the first byte: 0 labelled, 1 skip_bad, 2 a separator of labels, 3 and 4 which of `columns` (four
 * of them) to ask for, 5 and 6 which of `names` (four) the file has. */
static inline int fuzz_parse(attn_format format, const char *const *columns, const char *const *names,
                             const char *text_column, const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    attn_context *context = fuzz_context();
    attn_reader_options options;
    attn_reader_options_init(&options);
    uint8_t choice = data[0];
    options.format = format;
    options.labelled = choice & 1;
    options.skip_bad = choice >> 1 & 1;
    options.label_separator = choice >> 2 & 1 ? '|' : 0;
    options.column = columns[choice >> 3 & 3];
    options.text_column = text_column;
    const char *bytes = (const char *)data + 1;
    int64_t lines = 1;
    for (size_t i = 1; i < size; i++) lines += data[i] == '\n';
    attn_dataset *dataset = NULL;
    attn_status status =
        attn_dataset_parse(context, names[choice >> 5 & 3], 1, bytes, size - 1, &options, &dataset);
    if (status == ATTN_OK) {
        fuzz_check_dataset(dataset, lines);
        REQUIRE(options.skip_bad || attn_dataset_skipped(dataset) == 0);
        fuzz_check_stopped(names[choice >> 5 & 3], bytes, size - 1, options, dataset);
    } else {
        REQUIRE(dataset == NULL && status == ATTN_INVALID_ARGUMENT);
        REQUIRE(attn_context_error(context)[0] != 0);
        for (const char *p = attn_context_error(context); *p; p++) REQUIRE((unsigned char)*p >= 0x20);
    }
    attn_dataset_destroy(dataset);
    return 0;
}

#endif
