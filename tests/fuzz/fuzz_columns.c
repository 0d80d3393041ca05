/* fuzz_columns.c: any bytes as lines of a token and its tags. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "tag", "3,2", "4"};
    static const char *const names[] = {"a.tsv", "a", "a.conll", "a.txt"};
    return fuzz_parse(ATTN_FORMAT_COLUMNS, columns, names, NULL, data, size);
}
