/* terminal.h: colour in the terminal, and the cells of a heat map.
 *
 * Colour is used when standard output is a terminal that has it and NO_COLOR
 * is not set; --color=always and --color=never overrule that. Terminals that
 * say so (COLORTERM) get 24-bit colour, others the 256-colour palette.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>

/* The values of --color, and their order in terminal_color_choices. */
typedef enum terminal_choice { TERMINAL_AUTO, TERMINAL_ALWAYS, TERMINAL_NEVER } terminal_choice;
extern const char *const terminal_color_choices[];

typedef enum terminal_color { TERMINAL_PLAIN, TERMINAL_PALETTE, TERMINAL_TRUE_COLOR } terminal_color;

/* What standard output can show. */
terminal_color terminal_color_of_output(terminal_choice choice);

/* How many cells a line of standard output has; where it is no terminal, what COLUMNS says, or 80. */
int terminal_width(void);

/* Prints `text` on standard output as a heading (bold where there is colour),
 * or as a side remark (dim). */
void terminal_heading(terminal_color color, const char *text);
void terminal_remark(terminal_color color, const char *text);

/* Prints `text` on a background that shows `heat` (0 .. 1), black or white,
 * whichever reads better. Colour only. */
void terminal_heat(terminal_color color, double heat, const char *text);

/* The same for a signed number (-1 .. 1): blue below 0, red-brown above, grey at 0. */
void terminal_signed(terminal_color color, double number, const char *text);

/* One cell with two colours, one above the other: heats, or signed numbers. Colour only. */
void terminal_halves(terminal_color color, bool is_signed, double above, double below);

/* The character that stands for `heat` without colour: space ░ ▒ ▓ █, and
 * from which heat on each of the four is used. */
extern const double terminal_shade_from[4];
const char *terminal_shade(double heat);

#endif
