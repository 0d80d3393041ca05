/* fuzz_npy.c: any bytes as a file of vectors: .npy, .npz or a table.
 *
 * Bits of the first byte: 0 labelled, 1 skip_bad, 2 and 3 per_token (-1, 0, 1), 4 a separator of labels, 5
 * pairs, 6 and 7 the name of the file.
 */
#include "fuzz_dataset.h"

#include <math.h>

#include "inputs/vectors/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_vectors(const attn_dataset *dataset) {
    const at_vectors *vectors = at_vectors_of(dataset);
    int64_t examples = attn_dataset_examples(dataset), columns = dataset->columns.count;
    REQUIRE(examples > 0 && vectors->columns > 0 && vectors->rows == dataset->rows);
    REQUIRE(attn_dataset_format(dataset) != ATTN_FORMAT_AUTO);
    REQUIRE(dataset->offsets[0] == 0 && dataset->offsets[examples] == dataset->rows);
    REQUIRE(vectors->names.count == 0 || vectors->names.count == vectors->columns);
    for (int64_t e = 0; e < examples; e++) REQUIRE(dataset->offsets[e] <= dataset->offsets[e + 1]);
    for (int64_t i = 0; i < vectors->rows * vectors->columns; i++) REQUIRE(isfinite(vectors->numbers[i]));
    for (int64_t row = 0; row < dataset->rows; row++) REQUIRE(dataset->lines[row] >= 1);
    REQUIRE(dataset->targets.count == columns * (dataset->per_row ? dataset->rows : examples));
    for (int64_t i = 0; i < dataset->targets.count; i++) fuzz_check_text(at_string(&dataset->targets, i));
    int64_t last[2] = {examples - 1, 0};
    attn_dataset *part = NULL;
    REQUIRE(attn_dataset_select(dataset, last, 2, &part) == ATTN_OK);
    REQUIRE(attn_dataset_rows(part, 1) == attn_dataset_rows(dataset, 0));
    attn_dataset_destroy(part);
}

static void check_description(const attn_dataset *dataset, int json) {
    attn_describe_options options;
    attn_describe_options_init(&options);
    options.json = json;
    char *text = NULL;
    REQUIRE(attn_dataset_describe(dataset, &options, &text) == ATTN_OK);
    attn_text_release(fuzz_context(), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"a.npy", "a.npz", "a.csv", "a"};
    if (size == 0) return 0;
    attn_context *context = fuzz_context();
    attn_reader_options options;
    attn_reader_options_init(&options);
    uint8_t choice = data[0];
    options.input = "vectors";
    options.labelled = choice & 1;
    options.skip_bad = choice >> 1 & 1;
    options.per_token = (choice >> 2 & 3) % 3 - 1;
    options.label_separator = choice >> 4 & 1 ? '|' : 0;
    options.pairs = choice >> 5 & 1;
    options.expanded_limit = 1 << 24;
    attn_dataset *dataset = NULL;
    attn_status status = attn_dataset_parse(context, names[choice >> 6], 1, (const char *)data + 1, size - 1,
                                            &options, &dataset);
    if (status == ATTN_OK) {
        check_vectors(dataset);
        check_description(dataset, choice & 1);
        REQUIRE(options.skip_bad || attn_dataset_skipped(dataset) == 0);
    } else {
        REQUIRE(dataset == NULL && (status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW));
        REQUIRE(attn_context_error(context)[0] != 0);
        for (const char *p = attn_context_error(context); *p; p++) REQUIRE((unsigned char)*p >= 0x20);
    }
    attn_dataset_destroy(dataset);
    return 0;
}
