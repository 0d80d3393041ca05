/* escape.c: text as terminals, XML and JSON can take it. Names of files and labels may be anything. */
#include <math.h>
#include <string.h>

#include "report.h"

void lab_print_plain(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        fputs(shown, file);
    }
}

int lab_cells(const char *text) { return attn_text_cells(text); }

/* Escaped for a terminal first, which leaves no control characters. */
void lab_print_xml(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        for (const char *c = shown; *c != '\0'; c++) {
            switch (*c) {
            case '&': fputs("&amp;", file); break;
            case '<': fputs("&lt;", file); break;
            case '>': fputs("&gt;", file); break;
            case '"': fputs("&quot;", file); break;
            case '\'': fputs("&#39;", file); break;
            default: fputc(*c, file);
            }
        }
    }
}

void lab_print_json_text(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    fputc('"', file);
    while (*text != '\0') {
        attn_text_json_glyph(&text, shown);
        fputs(shown, file);
    }
    fputc('"', file);
}

void lab_format_number(double number, char text[LAB_NUMBER_ROOM]) {
    double size = fabs(number);
    if (size >= 1e6 && size < 1e9)
        snprintf(text, LAB_NUMBER_ROOM, "%.3gM", number / 1e6);
    else if (size >= 1e4 && size < 1e6)
        snprintf(text, LAB_NUMBER_ROOM, "%.3gk", number / 1e3);
    else if (size == 0 || (size >= 1e-3 && size < 1e4))
        snprintf(text, LAB_NUMBER_ROOM, "%.4g", number);
    else
        snprintf(text, LAB_NUMBER_ROOM, "%.1g", number);
}
