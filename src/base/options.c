/* options.c: option structs of older and newer callers. */
#include "base/options.h"

#include <stdio.h>
#include <string.h>

/* More than any later version will add: a larger size is no size, and not followed. */
enum { MOST_ADDED = 4096 };

attn_status at_options_take(const char *name, const char *init, const void *given, size_t first,
                            size_t current, void *into, char *reason) {
    size_t size;
    if (!given) return ATTN_OK;
    memcpy(&size, given, sizeof size);
    if (size < first || size > current + MOST_ADDED) {
        snprintf(reason, AT_OPTIONS_TEXT, "%s.size is %zu, not %zu: call %s() first", name, size, current,
                 init);
        return ATTN_INVALID_ARGUMENT;
    }
    const unsigned char *bytes = given;
    for (size_t i = current; i < size; i++) {
        if (bytes[i] == 0) continue;
        snprintf(
            reason, AT_OPTIONS_TEXT,
            "%s.size is %zu, this library knows %zu bytes, and one after them is not 0: it is older than "
            "what it is asked for",
            name, size, current);
        return ATTN_UNSUPPORTED;
    }
    memcpy(into, given, size < current ? size : current);
    memcpy(into, &current, sizeof current);
    return ATTN_OK;
}
