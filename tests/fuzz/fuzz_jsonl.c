/* fuzz_jsonl.c: any bytes as lines of objects. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "label", "tags", "a,b"};
    static const char *const names[] = {"a.jsonl", "a", "a.txt", "-"};
    return fuzz_parse(ATTN_FORMAT_JSONL, columns, names, size > 0 && data[0] >> 7 ? "tokens" : NULL, data,
                      size);
}
