/* origin.c: errors that name file, line and array. */
#include "data/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "data/symbols/unicode.h"

/* The end of a path is what tells files apart, and the reason must have room beside it. */
static const char *name_end(const char *name, const char **before) {
    enum { LONGEST_NAME = 160 };
    size_t length = strlen(name);
    *before = "";
    if (length <= LONGEST_NAME) return name;
    *before = "...";
    name += length - LONGEST_NAME;
    while (((unsigned char)*name & 0xc0) == 0x80) name++;
    return name;
}

attn_status at_origin_fail_list(const at_origin *origin, const char *array, int64_t line, const char *format,
                                va_list arguments) {
    char reason[512], whole[512], line_text[24] = "";
    const char *before, *name = name_end(origin->name, &before);
    vsnprintf(reason, sizeof reason, format, arguments);
    if (line > 0) snprintf(line_text, sizeof line_text, ":%" PRId64, line);
    snprintf(whole, sizeof whole, "%s%s%.60s: %.270s", line_text, array ? ": array " : "", array ? array : "",
             reason);
    for (char *p = whole; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    }
    size_t length = strlen(whole), place; /* a name may have been cut within a character */
    while ((place = at_unicode_check(whole, length)) < length) whole[place] = '?';
    return at_fail(origin->context, ATTN_INVALID_ARGUMENT, "%s%s%s", before, name, whole);
}

attn_status at_origin_fail(const at_origin *origin, const char *array, int64_t line, const char *format,
                           ...) {
    va_list arguments;
    va_start(arguments, format);
    attn_status status = at_origin_fail_list(origin, array, line, format, arguments);
    va_end(arguments);
    return status;
}
