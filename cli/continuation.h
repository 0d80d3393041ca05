/* continuation.h: a text and how a language model goes on with it, as it comes, or as JSON. */
#ifndef CLI_CONTINUATION_H
#define CLI_CONTINUATION_H

#include <stdbool.h>

#include <attn/attn.h>

typedef struct continuation {
    attn_model *model;
    attn_sampling_options options;
    bool json;
    bool one_line; /* line ends are printed as \n, so that a text is a line */
    bool terminal; /* standard output is one: what it might obey is escaped */
} continuation;

/* Prints `prompt` and what follows, or {"prompt": , "text": what follows}; then a line end, unless the text
 * ends with one. Errors are attn_model_continue's; before them nothing is printed. */
attn_status continuation_print(const continuation *how, const char *prompt);

#endif
