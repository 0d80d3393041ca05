/* texts.c: texts as metrics see them: code points, lower case and white space as in Python, because the
 * programs whose values these metrics reproduce are written in it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "heads/metrics/texts.h"

attn_status at_code_points_other(attn_context *context, at_code_points *points, int64_t needed) {
    return at_grow(context, &points->other, &points->other_room, needed, sizeof *points->other,
                   "the characters of a text");
}

void at_code_points_swap(at_code_points *points, int64_t count) {
    int32_t *codes = points->codes;
    int64_t room = points->room;
    points->codes = points->other;
    points->room = points->other_room;
    points->count = count;
    points->other = codes;
    points->other_room = room;
}

void at_code_points_free(attn_context *context, at_code_points *points) {
    at_release(context, points->codes);
    at_release(context, points->other);
    memset(points, 0, sizeof *points);
}

int at_code_point_space(int32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

attn_status at_code_points_read(attn_context *context, const char *text, int lowercase,
                                at_code_points *points) {
    size_t length = strlen(text);
    if (length > INT64_MAX / 16) return at_fail(context, ATTN_OVERFLOW, "%zu bytes of text", length);
    attn_status status = at_grow(context, &points->codes, &points->room, (int64_t)length,
                                 sizeof *points->codes, "the characters of a text");
    if (status == ATTN_OK && lowercase) status = at_code_points_other(context, points, 2 * (int64_t)length);
    if (status != ATTN_OK) return status;
    int64_t count = 0;
    for (size_t i = 0; i < length;) {
        size_t good = i + at_unicode_check(text + i, length - i);
        while (i < good) i += (size_t)at_unicode_next(text + i, good - i, &points->codes[count++]);
        if (i < length) points->codes[count++] = 0xdc00 + (unsigned char)text[i++];
    }
    points->count = count;
    if (lowercase) at_code_points_swap(points, at_unicode_lower_codes(points->codes, count, points->other));
    return ATTN_OK;
}

attn_status at_metric_texts_check(attn_context *context, const char *const *answers, const char *const *right,
                                  int64_t count, const void *result) {
    if (count < 0) return at_fail(context, ATTN_INVALID_ARGUMENT, "count is %" PRId64, count);
    if (!result || (count && (!answers || !right))) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL",
                       !result    ? "the result"
                       : !answers ? "answers"
                                  : "right");
    }
    for (int64_t i = 0; i < count; i++) {
        if (!answers[i] || !right[i]) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%s[%" PRId64 "] is NULL: a text may be empty only",
                           !answers[i] ? "answers" : "right", i);
        }
    }
    return ATTN_OK;
}
