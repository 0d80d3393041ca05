/* fuzz_safetensors.c: any bytes as a file of tensors: refused, or read with every tensor within the bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "data/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes that a tensor has at least: the smallest element is half a byte. */
static int64_t least_bytes(const at_stored *stored) {
    switch (stored->dtype) {
    case AT_DTYPE_F64:
    case AT_DTYPE_I64: return 8 * stored->count;
    case AT_DTYPE_F32:
    case AT_DTYPE_I32: return 4 * stored->count;
    case AT_DTYPE_F16: return 2 * stored->count;
    case AT_DTYPE_U8: return stored->count;
    case AT_DTYPE_OTHER: break;
    }
    return stored->count / 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static attn_context *context;
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    if (!context && attn_context_create(&options, &context) != ATTN_OK) abort();
    at_safetensors *file = NULL;
    if (at_safetensors_parse(context, "fuzz", data, size, &file) != ATTN_OK) {
        if (file || strncmp(attn_context_error(context), "fuzz: ", 6) != 0) abort();
        return 0;
    }
    volatile unsigned sum = 0;
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        const unsigned char *bytes = stored->data;
        int64_t count = least_bytes(stored);
        if (at_safetensors_find(file, stored->name) != stored) abort();
        if (count > 0) sum = sum + bytes[0] + bytes[count - 1];
    }
    (void)at_safetensors_metadata(file, "attn.format");
    at_safetensors_close(file);
    return 0;
}
