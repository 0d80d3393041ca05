/* help.c: the help of a command on a terminal (see help.h).
 *
 * It fits a screen. Usage, the first flags and three examples have their place; of the paragraphs that say
 * what the command does, as many as there is room for. The rest is in "--help all".
 */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

enum { WIDEST_TITLE = 30, FEW_EXAMPLES = 3, MOST_FLAGS = 128 };

int help_title(const argument_flag *flag, char *title, size_t size) {
    if (flag->letter != '\0')
        snprintf(title, size, "-%c, --%s", flag->letter, flag->name);
    else
        snprintf(title, size, "--%s", flag->name);
    size_t used = strlen(title);
    if (flag->kind == ARGUMENT_CHOICE && flag->value == NULL) {
        for (int i = 0; flag->choices[i] != NULL; i++) {
            snprintf(title + used, size - used, "%c%s", i == 0 ? ' ' : '|', flag->choices[i]);
            used = strlen(title);
        }
    } else if (flag->kind != ARGUMENT_SWITCH) {
        snprintf(title + used, size - used, " %s", flag->value);
    }
    return text_width(title);
}

void help_of_flag(const argument_flag *flag, char *text, size_t size) {
    if (flag->initial != NULL)
        snprintf(text, size, "%s (default %s)", flag->help, flag->initial);
    else
        snprintf(text, size, "%s", flag->help);
}

/* Words from cell `column` on, where the line is already; a line that is full goes on below in that cell.
 * Returns the lines; prints them if `print`. */
static int wrap(const char *text, int column, bool print) {
    int at = column, lines = 1;
    for (text += strspn(text, " \n"); *text != '\0'; text += strspn(text, " \n")) {
        char word[256];
        size_t length = strcspn(text, " \n");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), text);
        int cells = text_width(word);
        if (at > column && at + 1 + cells > HELP_EDGE) {
            if (print) printf("\n%*s", column, "");
            at = column;
            lines++;
        }
        if (print) printf("%s%s", at > column ? " " : "", word);
        at += (at > column) + cells;
        text += length;
    }
    if (print) putchar('\n');
    return lines;
}

/* A flag's lines, its title in a column of `width`. */
static int show_flag(const argument_flag *flag, int width, bool print) {
    char title[256], help[512];
    int cells = help_title(flag, title, sizeof title);
    help_of_flag(flag, help, sizeof help);
    if (print) printf("  %s", title);
    if (print && cells > width) putchar('\n'); /* its help stands below it */
    if (print) printf("%*s", cells > width ? width + 4 : width - cells + 2, "");
    return (cells > width) + wrap(help, width + 4, print);
}

static const argument_flag *find(const argument_list *list, const char *name, size_t length) {
    for (size_t i = 0; i < list->flag_count; i++)
        if (strlen(list->flags[i].name) == length && strncmp(list->flags[i].name, name, length) == 0)
            return &list->flags[i];
    return NULL;
}

/* The flags to show, in order; how many. The first ones of all come first there, too. */
static size_t choose(const argument_list *list, bool all, const argument_flag **chosen) {
    size_t count = 0, first;
    const char *names = list->first != NULL ? list->first : "";
    for (names += strspn(names, " "); *names != '\0'; names += strspn(names, " ")) {
        size_t length = strcspn(names, " ");
        const argument_flag *flag = find(list, names, length);
        if (flag != NULL && count < MOST_FLAGS) chosen[count++] = flag;
        names += length;
    }
    first = count;
    for (size_t i = 0; i < list->flag_count && (all || first == 0); i++) {
        bool there = false;
        for (size_t c = 0; c < first && !there; c++) there = chosen[c] == &list->flags[i];
        if (!there && count < MOST_FLAGS) chosen[count++] = &list->flags[i];
    }
    return count;
}

/* Bytes of the first `lines` lines of a text, or of all. */
static size_t bytes_of(const char *text, int lines) {
    size_t bytes = 0;
    for (int i = 0; i < lines && text[bytes] != '\0'; i++) bytes += strcspn(text + bytes, "\n") + 1;
    return bytes;
}

static int lines_of(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

/* Bytes of the paragraphs that fit into `lines` lines: one at least. */
static size_t paragraphs(const char *text, int lines) {
    size_t bytes = 0;
    int used = 0;
    while (text[bytes] != '\0') {
        const char *end = strstr(text + bytes, "\n\n");
        size_t length = end != NULL ? (size_t)(end + 1 - (text + bytes)) : strlen(text + bytes);
        int more = (bytes > 0);
        for (size_t i = 0; i < length; i++) more += text[bytes + i] == '\n';
        if (bytes > 0 && used + more > lines) break;
        used += more;
        bytes += length + (end != NULL);
    }
    if (bytes > 0 && text[bytes - 1] == '\n' && bytes > 1 && text[bytes - 2] == '\n') bytes--;
    return bytes;
}

static void print_screen(const argument_list *list, bool all) {
    const argument_flag *chosen[MOST_FLAGS];
    size_t count = choose(list, all, chosen);
    char title[256];
    int width = (int)strlen("--help all"), lines = 9; /* of usage, headings and blank lines */
    for (size_t i = 0; i < count; i++) {
        int cells = help_title(chosen[i], title, sizeof title);
        if (cells > width && cells <= WIDEST_TITLE) width = cells;
    }
    for (size_t i = 0; i < count; i++) lines += show_flag(chosen[i], width, false);
    int examples = lines_of(list->examples);
    if (!all && examples > FEW_EXAMPLES) examples = FEW_EXAMPLES;
    size_t about = all ? strlen(list->about) : paragraphs(list->about, HELP_LINES - lines - examples);
    printf("attn %s %s\n\n%.*s\nflags\n", list->command, list->usage, (int)about, list->about);
    for (size_t i = 0; i < count; i++) show_flag(chosen[i], width, true);
    if (all || (count == list->flag_count && about == strlen(list->about))) {
        printf("  %-*s  this text\n", width, "--help");
    } else {
        printf("  %-*s  the whole help", width, "--help all");
        if (count < list->flag_count) printf(", with %zu more flags", list->flag_count - count);
        putchar('\n');
    }
    printf("\n%s\n%.*s", examples == 1 ? "example" : "examples", (int)bytes_of(list->examples, examples),
           list->examples);
}

void help_print(const argument_list *list, const char *form) {
    if (strcmp(form, "man") == 0)
        manual_print(list);
    else if (strcmp(form, "bash") == 0 || strcmp(form, "zsh") == 0)
        completion_print(list, form[0] == 'z');
    else
        print_screen(list, strcmp(form, "all") == 0);
}
