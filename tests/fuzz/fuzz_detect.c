/* fuzz_detect.c: any bytes as a file whose format is to be found out, plain lines among them. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, NULL, "label", "tag"};
    static const char *const names[] = {"a", "a.tsv", "a.csv", "a.txt"};
    return fuzz_parse(ATTN_FORMAT_AUTO, columns, names, NULL, data, size);
}
