/* messages.h: what the library says, in the words of the command line. */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

/* The library knows no flags: it names values of the configuration, options and functions. Replaces by flags
 * the names of the configuration that stand in brackets, "(reader.column)" by "(--column)", and some phrases.
 * Stays until the next call. */
const char *messages_with_flags(const char *text);

#endif
