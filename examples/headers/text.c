/* text.c: attn/text.h: text as a terminal may show it: what would move its cursor is escaped. */
#include <attn/text.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const char *text = "看\x1b[31mred";
    char shown[ATTN_GLYPH_BYTES], line[128] = "";
    for (const char *at = text; *at != '\0';) {
        attn_text_glyph(&at, shown);
        strcat(line, shown);
    }
    printf("%s takes %d cells\n", line, attn_text_cells(text));
    return strstr(line, "\\x1b") == NULL || attn_text_cells(text) != 2 + 4 + 7;
}
