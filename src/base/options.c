/* options.c: options and results of older and newer callers. */
#include "base/options.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"

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
        snprintf(reason, AT_OPTIONS_TEXT,
                 "%s.size is %zu, this library knows %zu bytes, and a later one is not 0: the library is too "
                 "old for this option",
                 name, size, current);
        return ATTN_UNSUPPORTED;
    }
    memcpy(into, given, size < current ? size : current);
    memcpy(into, &current, sizeof current);
    return ATTN_OK;
}

void at_options_give(void *to, size_t size, const void *own, size_t current) {
    if (!to || size < sizeof size) return;
    memset(to, 0, size);
    memcpy(to, own, size < current ? size : current);
    memcpy(to, &size, sizeof size);
}

attn_status at_result_check(attn_context *context, const char *name, const char *init, const void *result,
                            size_t first, size_t current) {
    size_t size;
    if (!result) return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL", name);
    memcpy(&size, result, sizeof size);
    if (size >= first && size <= current + MOST_ADDED) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%s.size is %zu, not %zu: call %s() first", name, size,
                   current, init);
}

void at_result_give(void *result, const void *own, size_t current) {
    size_t size;
    memcpy(&size, result, sizeof size);
    if (size > current) size = current;
    memcpy((unsigned char *)result + sizeof size, (const unsigned char *)own + sizeof size,
           size - sizeof size);
}
