/* stored.c: strings as tensors of a file, and back. */
#include "data/stored.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"

enum { NAME_BYTES = 160 };

attn_status at_damaged(attn_context *context, const at_safetensors *file, const char *what,
                       const char *name) {
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: %s%.100s", at_safetensors_name(file), what, name);
}

attn_status at_name_file(attn_context *context, const at_safetensors *file, attn_status status) {
    char reason[300];
    if (status != ATTN_INVALID_ARGUMENT) return status;
    snprintf(reason, sizeof reason, "%s", attn_context_error(context));
    return at_damaged(context, file, reason, "");
}

/* ---- writing ---- */

/* Without the 0 bytes that follow strings in memory. */
attn_status at_store_strings(at_safetensors_writer *writer, const char *prefix, const char *name,
                             const at_strings *list) {
    if (list->count == 0) return ATTN_OK;
    attn_context *context = at_safetensors_writer_context(writer);
    char *bytes = at_allocate(context, list->offsets[list->count], 1, "strings to be written");
    if (!bytes) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_safetensors_keep(writer, bytes);
    if (status != ATTN_OK) return status;
    int64_t *offsets = at_allocate(context, list->count + 1, sizeof *offsets, "strings to be written");
    if (!offsets) return ATTN_OUT_OF_MEMORY;
    status = at_safetensors_keep(writer, offsets);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < list->count; i++) {
        size_t length = at_string_length(list, i);
        memcpy(bytes + offsets[i], at_string(list, i), length);
        offsets[i + 1] = offsets[i] + (int64_t)length;
    }
    char whole[NAME_BYTES];
    int64_t count = list->count + 1, length = offsets[list->count];
    snprintf(whole, sizeof whole, "%s%s.offsets", prefix, name);
    status = at_safetensors_add(writer, whole, AT_DTYPE_I64, 1, &count, offsets);
    snprintf(whole, sizeof whole, "%s%s.bytes", prefix, name);
    return status == ATTN_OK ? at_safetensors_add(writer, whole, AT_DTYPE_U8, 1, &length, bytes) : status;
}

attn_status at_store_symbols(at_safetensors_writer *writer, const char *prefix, const char *units,
                             const char *merges, const at_symbols *symbols) {
    attn_status status = at_store_strings(writer, prefix, units, &symbols->vocabulary.strings);
    return status == ATTN_OK ? at_store_strings(writer, prefix, merges, &symbols->subwords.merges) : status;
}

/* ---- reading ---- */

static int64_t offset_at(const at_stored *offsets, int64_t i) {
    int64_t value;
    memcpy(&value, (const char *)offsets->data + i * (int64_t)sizeof value, sizeof value);
    return value;
}

attn_status at_load_strings(attn_context *context, const at_safetensors *file, const char *prefix,
                            const char *name, at_strings *list) {
    char whole[NAME_BYTES];
    snprintf(whole, sizeof whole, "%s%s.bytes", prefix, name);
    const at_stored *bytes = at_safetensors_find(file, whole);
    snprintf(whole, sizeof whole, "%s%s.offsets", prefix, name);
    const at_stored *offsets = at_safetensors_find(file, whole);
    if (!bytes && !offsets) return ATTN_OK;
    if (!bytes || !offsets || bytes->dtype != AT_DTYPE_U8 || offsets->dtype != AT_DTYPE_I64 ||
        bytes->rank != 1 || offsets->rank != 1 || offsets->count < 1 || offsets->count > INT32_MAX)
        return at_damaged(context, file, "is not a list of strings (U8 bytes, I64 offsets): ", name);
    int64_t before = offset_at(offsets, 0);
    if (before != 0 || offset_at(offsets, offsets->count - 1) != bytes->count)
        return at_damaged(context, file, "the offsets do not agree with the bytes of ", name);
    for (int64_t i = 1; i < offsets->count; i++) {
        int64_t after = offset_at(offsets, i);
        if (after < before || after > bytes->count)
            return at_damaged(context, file, "the offsets are not in order: ", name);
        const char *text = (const char *)bytes->data + before;
        if (memchr(text, 0, (size_t)(after - before)))
            return at_damaged(context, file, "a string with a 0 byte in ", name);
        attn_status status = at_strings_add(context, list, text, (size_t)(after - before));
        if (status != ATTN_OK) return status;
        before = after;
    }
    return ATTN_OK;
}

attn_status at_load_vocabulary(attn_context *context, const at_safetensors *file, const char *prefix,
                               const char *name, int required, at_vocabulary *vocabulary) {
    at_strings list = {0};
    attn_status status = at_load_strings(context, file, prefix, name, &list);
    if (status == ATTN_OK && (list.count ? *at_string(&list, 0) != 0 : required))
        status = at_damaged(context, file, "string 0 must be empty: ", name);
    for (int64_t i = 0; i < list.count && status == ATTN_OK; i++) {
        int64_t number;
        status = at_vocabulary_add(context, vocabulary, at_string(&list, i), at_string_length(&list, i), 1,
                                   &number);
        if (status == ATTN_OK && number != i)
            status = at_damaged(context, file, "a string occurs twice in ", name);
    }
    at_strings_free(context, &list);
    return status;
}

attn_status at_load_symbols(const at_safetensors *file, const char *prefix, const char *units,
                            const char *merges, at_symbols *symbols) {
    attn_context *context = symbols->context;
    at_strings list = {0};
    attn_status status = at_load_vocabulary(context, file, prefix, units, 1, &symbols->vocabulary);
    if (status == ATTN_OK) status = at_load_strings(context, file, prefix, merges, &list);
    if (status == ATTN_OK && symbols->options.unit == AT_UNIT_SUBWORDS)
        status = at_name_file(context, file, at_subwords_load(context, &list, &symbols->subwords));
    at_strings_free(context, &list);
    return status;
}

attn_status at_store_numbers(at_safetensors_writer *writer, const char *prefix, const char *name,
                             const float *numbers, int64_t count) {
    char whole[96];
    if (count == 0) return ATTN_OK;
    snprintf(whole, sizeof whole, "%.60s%s", prefix, name);
    return at_safetensors_add(writer, whole, AT_DTYPE_F32, 1, &count, numbers);
}

const at_stored *at_find_numbers(const at_safetensors *file, const char *prefix, const char *name) {
    char whole[96];
    snprintf(whole, sizeof whole, "%.60s%s", prefix, name);
    const at_stored *found = at_safetensors_find(file, whole);
    return found && found->dtype == AT_DTYPE_F32 && found->rank == 1 && found->count > 0 ? found : NULL;
}
