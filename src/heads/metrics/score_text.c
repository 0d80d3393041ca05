/* score_text.c: texts as the scores see them: code points, lower case and white space as in Python, in which
 * the programs are written whose scores these are to equal.
 */
#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "heads/metrics/scores.h"

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

/* ---- lower case ----
 *
 * str.lower() is the full mapping of Unicode, and differs from that of one code point to one in two places:
 * U+0130 (I with a dot) becomes two code points, and a capital sigma becomes the final form where a word
 * ends. Both are done here; what is cased and what is ignored for the latter is Unicode's definition (3.13,
 * D135 and D136). What can differ is letters that are younger than utf8proc's tables or Python's.
 */

static int is_cased(int32_t code) {
    utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT || code == 0xaa || code == 0xba ||
           (code >= 0x2160 && code <= 0x217f) || (code >= 0x24b6 && code <= 0x24e9) ||
           (code >= 0x1f130 && code <= 0x1f149) || (code >= 0x1f150 && code <= 0x1f169) ||
           (code >= 0x1f170 && code <= 0x1f189);
}

static int is_case_ignorable(int32_t code) {
    static const int32_t inside_words[] = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,
                                           0x5f4,  0x2018, 0x2019, 0x2024, 0x2027, 0xfe13,
                                           0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    for (size_t i = 0; i < sizeof inside_words / sizeof inside_words[0]; i++) {
        if (code == inside_words[i]) return 1;
    }
    utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK;
}

/* Whether a letter comes before the sigma at i and none after it, what is ignorable left out. */
static int is_final_sigma(const int32_t *codes, int64_t count, int64_t i) {
    int64_t before = i - 1, after = i + 1;
    while (before >= 0 && is_case_ignorable(codes[before])) before--;
    if (before < 0 || !is_cased(codes[before])) return 0;
    while (after < count && is_case_ignorable(codes[after])) after++;
    return after == count || !is_cased(codes[after]);
}

/* Into `other`, which has room for 2 * count. */
static void lower(at_code_points *points) {
    int64_t used = 0;
    for (int64_t i = 0; i < points->count; i++) {
        int32_t code = points->codes[i];
        if (code < 0x80) {
            code += code >= 'A' && code <= 'Z' ? 'a' - 'A' : 0;
        } else if (code == 0x130) {
            points->other[used++] = 'i';
            code = 0x307;
        } else if (code == 0x3a3) {
            code = is_final_sigma(points->codes, points->count, i) ? 0x3c2 : 0x3c3;
        } else {
            code = utf8proc_tolower(code);
        }
        points->other[used++] = code;
    }
    at_code_points_swap(points, used);
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
    if (lowercase) lower(points);
    return ATTN_OK;
}

attn_status at_scores_check(attn_context *context, const char *const *answers, const char *const *right,
                            int64_t count, const void *result) {
    if (count < 0) return at_fail(context, ATTN_INVALID_ARGUMENT, "count is %" PRId64, count);
    if (!result || (count && (!answers || !right))) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL",
                       !result    ? "the place for the score"
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
