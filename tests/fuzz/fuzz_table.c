/* fuzz_table.c: any bytes as TSV and CSV. */
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "label", "a,b", "1,3"};
    static const char *const names[] = {"a.tsv", "a.csv", "a.csv.gz", "a.txt"};
    const char *text_column = size > 0 && data[0] >> 7 ? (data[0] >> 3 & 3) == 3 ? "2" : "text" : NULL;
    return fuzz_parse(ATTN_FORMAT_TABLE, columns, names, text_column, data, size);
}
