/* fuzz_gzip.c: any bytes as a gzip file. */
#include "data/file.h"
#include "fuzz_dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { LIMIT = 1 << 20 };
    attn_context *context = fuzz_context();
    at_bytes expanded = {0};
    const at_expansion allowed = {.limit = LIMIT, .ratio = 200};
    attn_status status = at_gzip_expand(context, "a.gz", (const char *)data, size, &allowed, &expanded);
    if (status == ATTN_OK) {
        REQUIRE(expanded.count <= LIMIT && (size == 0 || at_is_gzip((const char *)data, size)));
        unsigned sum = 0;
        for (int64_t i = 0; i < expanded.count; i++) sum += (unsigned char)expanded.data[i];
        REQUIRE(sum <= 255u * (unsigned)expanded.count);
    } else {
        REQUIRE(status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW);
        REQUIRE(expanded.data == NULL && strstr(attn_context_error(context), "a.gz: ") != NULL);
    }
    at_bytes_free(context, &expanded);
    return 0;
}
