/* pattern.c: the pattern in which everybody sees everybody. */
#include <attn/pattern.h>

#include <string.h>

#include "base/options.h"

void attn_pattern_init_sized(attn_pattern *pattern, size_t size) {
    attn_pattern own = {.size = sizeof own};
    own.left = ATTN_UNLIMITED;
    own.right = ATTN_UNLIMITED;
    own.align = ATTN_ALIGN_START;
    at_options_give(pattern, size, &own, sizeof own);
}
