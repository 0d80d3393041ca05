/* core.c: attn/core.h: all that libattn_core has: operators, tape, layers, optimisers. */
#include <attn/core.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
    printf("compiled with %s, linked with %s\n", version, attn_version());
    return strcmp(version, attn_version()) != 0;
}
