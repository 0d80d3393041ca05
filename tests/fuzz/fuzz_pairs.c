/* fuzz_pairs.c: any bytes as pairs: lines with a TAB or, where the highest bit of the first byte is set, two
 * texts line by line, which a byte 0x1e parts. */
#include "fuzz_dataset.h"

#include "inputs/text/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t count_lines(const char *bytes, size_t count) {
    int64_t lines = 1;
    for (size_t i = 0; i < count; i++) lines += bytes[i] == '\n';
    return lines;
}

static void parse_two(uint8_t choice, const char *bytes, size_t count) {
    attn_context *context = fuzz_context();
    const char *part = memchr(bytes, 0x1e, count);
    size_t first = part ? (size_t)(part - bytes) : count;
    at_content sources = {"a.en", bytes, first};
    at_content targets = {"a.de", part ? part + 1 : NULL, part ? count - first - 1 : 0};
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.labelled = choice & 1;
    options.skip_bad = choice >> 1 & 1;
    attn_dataset *dataset = NULL;
    if (at_parse_parallel(context, sources, targets, &options, &dataset) == ATTN_OK) {
        fuzz_check_dataset(dataset, count_lines(bytes, first));
        REQUIRE(options.skip_bad || attn_dataset_skipped(dataset) == 0);
        for (int64_t e = 0; options.labelled && e < attn_dataset_examples(dataset); e++) {
            REQUIRE(attn_dataset_token(dataset, e, 0)[0] != 0);
            REQUIRE(attn_dataset_target(dataset, 0, e, 0)[0] != 0);
        }
    } else {
        REQUIRE(dataset == NULL && attn_context_error(context)[0] != 0);
        for (const char *p = attn_context_error(context); *p; p++) REQUIRE((unsigned char)*p >= 0x20);
    }
    attn_dataset_destroy(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "2", "1", "3"};
    static const char *const names[] = {"a.tsv", "a.csv", "a.conllu.gz", "a"};
    if (size > 0 && data[0] >> 7) {
        parse_two(data[0], (const char *)data + 1, size - 1);
        return 0;
    }
    /* With column 3 the source is column 2, in files of one name. */
    const char *text_column = size > 0 && (data[0] >> 3 & 15) == 15 ? "2" : NULL;
    return fuzz_parse(ATTN_FORMAT_PAIRS, columns, names, text_column, data, size);
}
