/* messages.c: replaces what the library names by the flags that set it (see messages.h). */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "messages.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

typedef struct wording {
    const char *library, *program;
} wording;

/* tests/test_cli.sh checks that each of them is still in src/. */
static const wording phrases[] = {
    {"expanded_limit and expanded_ratio 0 of the reader options", "--limit"},
    {"expanded_limit of the reader options", "--limit"},
    {"the bound of attn_context_set_memory", "--memory"},
    {"encoder.left and encoder.right", "--window"},
    {"give all ranks the same options", "give all ranks the same flags"},
    {"copy the files of rank 0 to all hosts", "copy the files of rank 0 to all hosts, or use --scatter"},
    {"copy the file of rank 0 to all hosts", "copy the file of rank 0 to all hosts, or use --scatter"},
};

/* Whether the name of the configuration at `text` is `name`, where "*.hide" is that of any kind of input. */
static bool is_name(const char *text, size_t length, const char *name) {
    if (strncmp(name, "*.", 2) == 0) {
        const char *dot = memchr(text, '.', length);
        if (dot == NULL) return false;
        length -= (size_t)(dot + 1 - text);
        text = dot + 1;
        name += 2;
    }
    return strlen(name) == length && strncmp(text, name, length) == 0;
}

/* The flag of the name of the configuration that is the first `length` bytes of text; NULL: it has none. */
static const char *flag_of(const char *text, size_t length) {
    static attn_config_flag_text flag;
    if (memchr(text, '.', length) == NULL) return NULL;
    if (is_name(text, length, "encoder.kind")) return "encoder"; /* which a command reads by itself */
    for (int i = 0; attn_config_flag(i, &flag); i++)
        if (is_name(text, length, flag.name)) return flag.flag;
    return NULL;
}

static const wording *phrase_at(const char *text) {
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (strncmp(text, phrases[i].library, strlen(phrases[i].library)) == 0) return &phrases[i];
    return NULL;
}

static void put(FILE *to, const char *text) {
    int deep = 0; /* in brackets */
    while (*text != '\0') {
        const wording *phrase = phrase_at(text);
        size_t length =
            phrase != NULL ? strlen(phrase->library) : strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        const char *flag = phrase == NULL && deep > 0 ? flag_of(text, length) : NULL;
        if (phrase != NULL) {
            fputs(phrase->program, to);
        } else if (flag != NULL) {
            fprintf(to, "--%s", flag);
        } else {
            if (length == 0) length = 1;
            deep += (*text == '(') - (*text == ')' && deep > 0);
            fwrite(text, 1, length, to);
        }
        text += length;
    }
}

const char *messages_with_flags(const char *text) {
    static char *message = NULL;
    size_t bytes;
    free(message);
    FILE *to = open_memstream(&message, &bytes);
    if (to == NULL) {
        message = NULL;
        return text;
    }
    put(to, text);
    return fclose(to) == 0 && message != NULL ? message : text;
}
