/* text.c: text in the terminal and in JSON (see text.h). */
#include "text.h"

#include <stdbool.h>
#include <string.h>

#include <attn/text.h>

int text_width(const char *text) { return attn_text_cells(text); }

void text_print(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        fputs(shown, file);
    }
}

void text_print_error(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        bool breaks = strncmp(text, "\n  ", 3) == 0;
        attn_text_glyph(&text, shown);
        fputs(breaks ? "\n" : shown, file);
    }
}

static void print_spaces(FILE *file, int count) {
    for (int i = 0; i < count; i++) fputc(' ', file);
}

void text_print_left(FILE *file, const char *text, int width) {
    text_print(file, text);
    print_spaces(file, width - text_width(text));
}

void text_print_right(FILE *file, const char *text, int width) {
    print_spaces(file, width - text_width(text));
    text_print(file, text);
}

void text_print_json(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    fputc('"', file);
    while (*text != '\0') {
        attn_text_json_glyph(&text, shown);
        fputs(shown, file);
    }
    fputc('"', file);
}
