/* lower.c: lower case of whole texts, as Python's str.lower() has it.
 *
 * That is the full mapping of Unicode, and differs from that of one code point to one in two places: U+0130
 * (I with a dot) becomes two code points, and a capital sigma becomes the final form where a word ends. What
 * is cased and what is ignored for the latter is Unicode's definition (3.13, D135 and D136). What can differ
 * is letters that are younger than utf8proc's tables or Python's.
 */
#include <utf8proc.h>

#include "data/symbols/unicode.h"

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

int64_t at_unicode_lower_codes(const int32_t *codes, int64_t count, int32_t *out) {
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t code = codes[i];
        if (code < 0x80) {
            code += code >= 'A' && code <= 'Z' ? 'a' - 'A' : 0;
        } else if (code == 0x130) {
            out[used++] = 'i';
            code = 0x307;
        } else if (code == 0x3a3) {
            code = is_final_sigma(codes, count, i) ? 0x3c2 : 0x3c3;
        } else {
            code = utf8proc_tolower(code);
        }
        out[used++] = code;
    }
    return used;
}
