/* pattern.c: the pattern in which everybody sees everybody. */
#include <attn/pattern.h>

#include <string.h>

void attn_pattern_init(attn_pattern *pattern) {
    if (!pattern) return;
    memset(pattern, 0, sizeof *pattern);
    pattern->size = sizeof *pattern;
    pattern->left = ATTN_UNLIMITED;
    pattern->right = ATTN_UNLIMITED;
    pattern->align = ATTN_ALIGN_START;
}
