/* json.c: JSON as text. */
#include "data/json.h"

#include <stdlib.h>

/* Measured first: then nothing is allocated while it is written. */
char *at_json_text(const json_t *json, size_t flags) {
    size_t length = json ? json_dumpb(json, NULL, 0, flags) : 0;
    char *text = length > 0 ? malloc(length + 1) : NULL;
    if (!text) return NULL;
    if (json_dumpb(json, text, length, flags) != length) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}
