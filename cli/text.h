/* text.h: text in the terminal: UTF-8, display width, and escaping.
 *
 * Chinese, Japanese and Korean characters take two cells of a terminal, marks
 * that combine take none. Text that a user or a file gave is never trusted:
 * control characters, bidirectional overrides and bytes that are not UTF-8
 * are printed as escapes (\x1b, \u202e), and the width counts the escapes.
 * Names in tables that have letters of right-to-left scripts are isolated
 * (U+2068, U+2069) on a terminal: what is beside them keeps its place.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* How many cells `text` takes when text_print prints it. */
int text_width(const char *text);

/* Prints `text`, escaped. */
void text_print(FILE *file, const char *text);

/* The same of a name in a table or a line: isolated on a terminal if it is
 * written from right to left. */
void text_print_name(FILE *file, const char *text);

/* A name that is cut to `width` cells, with … at its end, if it is longer; how
 * many cells it took. */
int text_print_cut(FILE *file, const char *text, int width);

/* Whether a text has letters of a script that is written from right to left. */
bool text_is_leftward(const char *text);

/* `count` spaces; none if it is below 1. */
void text_print_spaces(FILE *file, int count);

/* The same of an error of the library, which may continue in lines that are
 * indented by two spaces: these line breaks stay. */
void text_print_error(FILE *file, const char *text);

/* As text_print, with spaces after (before) it up to `width` cells. */
void text_print_left(FILE *file, const char *text, int width);
void text_print_right(FILE *file, const char *text, int width);

/* Prints `text` as a JSON string, quotes included. Bytes that are not UTF-8
 * become U+FFFD. */
void text_print_json(FILE *file, const char *text);

#endif
