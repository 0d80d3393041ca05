/* fuzz_fasttext.c: any bytes as lines with __label__ marks. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "", "label", "other"};
    static const char *const names[] = {"a.txt", "a", "a.ft", "-"};
    return fuzz_parse(ATTN_FORMAT_FASTTEXT, columns, names, NULL, data, size);
}
