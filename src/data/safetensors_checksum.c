/* safetensors_checksum.c: what the checksums of a file of tensors are taken of. */
#include "data/safetensors_checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"

void at_checksum_text(uint32_t checksum, char text[AT_CHECKSUM_TEXT]) {
    snprintf(text, AT_CHECKSUM_TEXT, "%08x", (unsigned)checksum);
}

/* The text and the 0 byte that ends it. */
static uint32_t add_text(uint32_t checksum, const char *text) {
    return at_crc32c(checksum, text, strlen(text) + 1);
}

static int compare(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The keys of an object without one of them; NULL without memory. */
static const char **sorted_keys(json_t *object, const char *without, size_t *count) {
    const char **keys = malloc((json_object_size(object) + 1) * sizeof *keys), *key;
    json_t *value;
    *count = 0;
    if (!keys) return NULL;
    json_object_foreach(object, key, value) {
        if (strcmp(key, without) != 0) keys[(*count)++] = key;
    }
    qsort(keys, *count, sizeof *keys, compare);
    return keys;
}

/* "F32", "2,3,": the places of tensors need no checksum, since their data has one. */
static uint32_t add_tensor(uint32_t checksum, const json_t *tensor) {
    checksum = add_text(checksum, json_string_value(json_object_get(tensor, "dtype")));
    size_t i;
    json_t *extent;
    json_array_foreach(json_object_get(tensor, "shape"), i, extent) {
        char text[32];
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT ",", json_integer_value(extent));
        checksum = at_crc32c(checksum, text, strlen(text));
    }
    return add_text(checksum, "");
}

int at_header_checksum(json_t *header, uint32_t *checksum) {
    json_t *metadata = json_object_get(header, AT_METADATA);
    size_t key_count, name_count;
    const char **keys = sorted_keys(metadata, AT_CHECKSUMS, &key_count);
    const char **names = sorted_keys(header, AT_METADATA, &name_count);
    int status = keys && names ? 0 : -1;
    uint32_t made = 0;
    for (size_t i = 0; status == 0 && i < key_count; i++)
        made = add_text(add_text(made, keys[i]), json_string_value(json_object_get(metadata, keys[i])));
    for (size_t i = 0; status == 0 && i < name_count; i++)
        made = add_tensor(add_text(made, names[i]), json_object_get(header, names[i]));
    free(keys);
    free(names);
    *checksum = made;
    return status;
}
