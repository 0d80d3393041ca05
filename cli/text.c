/* text.c: text in the terminal and in JSON (see text.h). */
#define _POSIX_C_SOURCE 200809L /* fileno */
#include "text.h"

#include <string.h>
#include <unistd.h>

#include <attn/text.h>

int text_width(const char *text) { return attn_text_cells(text); }

void text_print(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        fputs(shown, file);
    }
}

/* The scripts from Hebrew to Arabic's extensions, their presentation forms, and those beyond U+10800; by
 * bytes, as UTF-8 sorts as the characters do. */
bool text_is_leftward(const char *text) {
    static const struct {
        const char *first, *last;
    } scripts[] = {{"\u0590", "\u08ff"},
                   {"\ufb1d", "\ufdff"},
                   {"\ufe70", "\ufefe"},
                   {"\U00010800", "\U00010fff"},
                   {"\U0001e800", "\U0001efff"}};
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
            if (strcmp(shown, scripts[i].first) >= 0 && strcmp(shown, scripts[i].last) <= 0) return true;
    }
    return false;
}

static const char isolate[] = "\u2068", isolate_end[] = "\u2069";

static bool isolates(FILE *file, const char *text) {
    return text_is_leftward(text) && isatty(fileno(file)) != 0;
}

void text_print_name(FILE *file, const char *text) {
    bool isolated = isolates(file, text);
    if (isolated) fputs(isolate, file);
    text_print(file, text);
    if (isolated) fputs(isolate_end, file);
}

int text_print_cut(FILE *file, const char *text, int width) {
    int used = 0;
    bool cut = text_width(text) > width, isolated = isolates(file, text);
    if (isolated) fputs(isolate, file);
    while (*text != '\0') {
        char shown[ATTN_GLYPH_BYTES];
        int one = attn_text_glyph(&text, shown);
        if (used + one > width - cut) break;
        fputs(shown, file);
        used += one;
    }
    if (cut) fputs("…", file);
    if (isolated) fputs(isolate_end, file);
    return used + cut;
}

void text_print_error(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        bool breaks = strncmp(text, "\n  ", 3) == 0;
        attn_text_glyph(&text, shown);
        fputs(breaks ? "\n" : shown, file);
    }
}

void text_print_spaces(FILE *file, int count) {
    for (int i = 0; i < count; i++) fputc(' ', file);
}

void text_print_left(FILE *file, const char *text, int width) {
    text_print_name(file, text);
    text_print_spaces(file, width - text_width(text));
}

void text_print_right(FILE *file, const char *text, int width) {
    text_print_spaces(file, width - text_width(text));
    text_print_name(file, text);
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
