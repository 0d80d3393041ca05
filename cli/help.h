/* help.h: what a command's table of flags says to people and shells: the help of the terminal, a manual page,
 * and completion for bash and zsh. All are made from the same argument_list (arguments.h), so that they
 * cannot differ from what the command takes.
 *
 *     attn COMMAND --help            a screen: the flags that matter most
 *     attn COMMAND --help all        every flag
 *     attn help man [COMMAND]        a manual page (roff)
 *     attn help bash, attn help zsh  a completion script of all commands
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "arguments.h"

/* A screen has so many lines and columns. */
enum { HELP_LINES = 50, HELP_EDGE = 80 };

/* Prints what was asked for: "all", "man", "bash", "zsh"; anything else is the help on a screen. The last
 * three are pieces: main.c prints what stands before, between and after them. */
void help_print(const argument_list *list, const char *form);

/* "--name VALUE" or "-n, --name a|b" into title[size]; its width in cells. */
int help_title(const argument_flag *flag, char *title, size_t size);
/* A flag's help, with its default, into text[size]. */
void help_of_flag(const argument_flag *flag, char *text, size_t size);

/* manual.c: the middle of a command's manual page: synopsis, description, options, examples. */
void manual_print(const argument_list *list);
void manual_begin(const char *command, const char *summary); /* command "": that of the program itself */
void manual_end(const char *const *commands, size_t count);
/* Text with blank lines between paragraphs, and lines that begin with spaces as they stand. */
void manual_text(const char *text);

/* completion.c: a command's part of the script. */
void completion_print(const argument_list *list, bool zsh);
void completion_begin(bool zsh);
/* What the first word can be: the commands, with their summaries. */
void completion_end(bool zsh, const char *const *commands, const char *const *summaries, size_t count);

#endif
