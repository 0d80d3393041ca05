/* continuation.c: a text that goes on, piece by piece (see continuation.h). */
#include "continuation.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

/* What is on its way to standard output. */
typedef struct writing {
    const continuation *how;
    const char *prompt; /* until it is printed, then NULL */
    char last;          /* the last byte that was printed; '\0': none yet */
} writing;

/* Text without line ends. */
static void put_part(const continuation *how, const char *text, size_t length) {
    const char *end = text + length;
    if (!how->terminal) {
        fwrite(text, 1, length, stdout);
        return;
    }
    while (text < end) {
        char shown[TEXT_GLYPH];
        text_glyph(&text, shown);
        fputs(shown, stdout);
    }
}

static void put(writing *into, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, into->how->one_line ? "\n\r" : "\n");
        put_part(into->how, text, length);
        if (length > 0) into->last = text[length - 1];
        text += length;
        if (*text == '\0') break;
        if (into->how->one_line)
            fputs(*text == '\n' ? "\\n" : "\\r", stdout);
        else
            putchar('\n');
        into->last = into->how->one_line ? 'n' : '\n';
        text++;
    }
}

static void begin(writing *into) {
    if (into->prompt != NULL) put(into, into->prompt);
    into->prompt = NULL;
}

static int watch(void *user, const char *piece) {
    writing *into = user;
    begin(into);
    put(into, piece);
    return fflush(stdout) != 0; /* main says why */
}

attn_status continuation_print(const continuation *how, const char *prompt) {
    writing into = {.how = how, .prompt = prompt};
    attn_sampling_options options = how->options;
    char *text = NULL;
    if (!how->json) {
        options.watch = watch;
        options.user = &into;
    }
    attn_status status = attn_model_continue(how->model, prompt, &options, &text);
    if (status != ATTN_OK) return status;
    if (how->json) {
        fputs("{\"prompt\":", stdout);
        text_print_json(stdout, prompt);
        fputs(",\"text\":", stdout);
        text_print_json(stdout, text);
        putchar('}');
    }
    if (!how->json) begin(&into);
    if (into.last != '\n') putchar('\n');
    attn_text_destroy(how->model, text);
    return ATTN_OK;
}
