/* manual.c: manual pages, as roff with the man macros, from the tables that the help is made of (see help.h).
 *
 * A page has no date: the same program prints the same page.
 */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

/* One character as roff writes it; how many bytes it took. Control characters are left out. */
static size_t put_character(const char *text) {
    static const char special[] = "\\-'`^~";
    static const char *const written[] = {"\\(rs", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"};
    unsigned char first = (unsigned char)text[0];
    const char *found = strchr(special, text[0]);
    if (found != NULL) {
        fputs(written[found - special], stdout);
        return 1;
    }
    if (first < 0x80) {
        if (first >= ' ') putchar(first);
        return 1;
    }
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return i; /* not UTF-8 */
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    printf("\\[u%04X]", code);
    return length;
}

/* A piece of a line. What would be a request at the beginning of a line is none. */
static void put(const char *text, size_t length) {
    if (length > 0 && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    for (size_t at = 0; at < length;) at += put_character(text + at);
}

static void put_line(const char *text, size_t length) {
    put(text, length);
    putchar('\n');
}

static size_t indentation(const char *line) { return strspn(line, " "); }

/* The first two or more spaces in the `length` bytes of a line; NULL: there are none. */
static const char *gap(const char *line, size_t length) {
    for (size_t i = 0; i + 1 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ') return line + i;
    return NULL;
}

/* Whether the indented lines of a paragraph are names, each with one text beside it, that goes on below. */
static bool is_list(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        const char *line = text + at;
        size_t bytes = strcspn(line, "\n"), deep = indentation(line);
        const char *first = deep == 2 ? gap(line + deep, bytes - deep) : NULL;
        at += bytes + 1;
        if (deep > 2) continue;
        if (first == NULL) return false;
        first += indentation(first);
        if (gap(first, bytes - (size_t)(first - line)) != NULL) return false; /* a table of columns */
    }
    return true;
}

static void put_list(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        const char *line = text + at, *end = line + strcspn(line, "\n");
        size_t deep = indentation(line);
        at += (size_t)(end - line) + 1;
        line += deep;
        if (deep == 2) {
            const char *after = gap(line, (size_t)(end - line));
            fputs(".TP\n.B ", stdout);
            put_line(line, (size_t)(after - line));
            line = after + indentation(after);
        }
        put_line(line, (size_t)(end - line));
    }
}

/* Lines as they stand, without the two spaces before them. */
static void put_verbatim(const char *text, size_t length) {
    fputs(".PP\n.nf\n", stdout);
    for (size_t at = 0; at < length;) {
        const char *line = text + at;
        size_t bytes = strcspn(line, "\n"), skip = indentation(line) < 2 ? indentation(line) : 2;
        put_line(line + skip, bytes - skip);
        at += bytes + 1;
    }
    fputs(".fi\n", stdout);
}

void manual_text(const char *text) {
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end != NULL ? (size_t)(end + 1 - text) : strlen(text), plain = 0;
        while (plain < length && text[plain] != ' ') plain += strcspn(text + plain, "\n") + 1;
        if (plain > length) plain = length;
        if (plain > 0) fputs(".PP\n", stdout);
        for (size_t at = 0; at < plain;) {
            size_t bytes = strcspn(text + at, "\n");
            put_line(text + at, bytes);
            at += bytes + 1;
        }
        if (plain < length && is_list(text + plain, length - plain))
            put_list(text + plain, length - plain);
        else if (plain < length)
            put_verbatim(text + plain, length - plain);
        text += length + strspn(text + length, "\n");
    }
}

void manual_begin(const char *command, const char *summary) {
    const char *dash = *command != '\0' ? "-" : "";
    printf(".TH attn%s%s 1 \"\" \"attn %s\" \"attn\"\n.ad l\n.nh\n.SH NAME\n", dash, command, attn_version());
    printf("attn%s%s \\- ", *command != '\0' ? "\\-" : "", command);
    put_line(summary, strlen(summary));
}

void manual_print(const argument_list *list) {
    char text[512];
    printf(".SH SYNOPSIS\n.B attn %s\n", list->command);
    put_line(list->usage, strlen(list->usage));
    fputs(".SH DESCRIPTION\n", stdout);
    manual_text(list->about);
    fputs(".SH OPTIONS\n", stdout);
    for (size_t i = 0; i < list->flag_count; i++) {
        help_title(&list->flags[i], text, sizeof text);
        fputs(".TP\n.B ", stdout);
        put_line(text, strlen(text));
        help_of_flag(&list->flags[i], text, sizeof text);
        put_line(text, strlen(text));
    }
    fputs(".TP\n.B \\-h, \\-\\-help\nThe help on a screen;\n.B \\-\\-help all\nis the whole help.\n", stdout);
    fputs(".SH EXAMPLES\n", stdout);
    manual_text(list->examples);
}

void manual_end(const char *const *commands, size_t count) {
    fputs(".SH EXIT STATUS\n0: done. 1: it failed, or found what was asked for to be wrong. 2: it was called "
          "with wrong arguments.\n.SH ENVIRONMENT\n"
          ".TP\n.B ATTN_THREADS\nthe number of threads, where \\-\\-threads does not say it\n"
          ".TP\n.B ATTN_ISA\nthe instruction set: scalar, avx2, avx512, avx512x2 or neon\n"
          ".SH SEE ALSO\n.BR attn (1)",
          stdout);
    for (size_t i = 0; i < count; i++) printf(",\n.BR attn\\-%s (1)", commands[i]);
    putchar('\n');
}
