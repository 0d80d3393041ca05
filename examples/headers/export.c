/* export.c: attn/export.h: structs that may grow are filled by their init function, which knows their size.
 */
#include <attn/export.h>
#include <attn/pattern.h>
#include <stdio.h>

int main(void) {
    attn_pattern pattern;
    attn_pattern_init(&pattern); /* declared by ATTN_INIT(attn_pattern) */
    printf("attn_pattern has %zu bytes; left %lld: no bound\n", pattern.size, (long long)pattern.left);
    return pattern.size != sizeof pattern || pattern.left != ATTN_UNLIMITED;
}
