/* markup.c: a small reader of XML: elements that end in their order, quoted attributes, the five entities. */
#include "support/markup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 64, NAME = 32 };

typedef struct reader {
    const char *text, *at;
    char open[DEPTH][NAME];
    int depth;
    char fault[160];
} reader;

static int wrong(reader *r, const char *what) {
    if (!*r->fault)
        snprintf(r->fault, sizeof r->fault, "%s at byte %d: %.40s", what, (int)(r->at - r->text), r->at);
    return 0;
}

static int read_name(reader *r, char name[NAME]) {
    int length = 0;
    while ((isalnum((unsigned char)*r->at) || strchr(":-_", *r->at)) && *r->at && length < NAME - 1)
        name[length++] = *r->at++;
    name[length] = 0;
    return length > 0 || wrong(r, "no name");
}

static int read_entity(reader *r) {
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (int i = 0; i < 5; i++) {
        if (strncmp(r->at, known[i], strlen(known[i])) != 0) continue;
        r->at += strlen(known[i]);
        return 1;
    }
    return wrong(r, "no entity");
}

/* One byte of text; control characters, "<" and marks of direction but isolates are refused. */
static int read_text(reader *r) {
    const unsigned char *b = (const unsigned char *)r->at;
    if (*b == '&') return read_entity(r);
    if (*b < 0x20 && *b != '\n') return wrong(r, "a control character");
    if (*b == '<') return wrong(r, "<");
    if (b[0] == 0xe2 && b[1] == 0x80 && b[2] >= 0xaa && b[2] <= 0xae) return wrong(r, "a mark of direction");
    r->at++;
    return 1;
}

static int read_attributes(reader *r) {
    char name[NAME];
    while (*r->at == ' ') {
        r->at++;
        if (!read_name(r, name)) return 0;
        if (strncmp(name, "on", 2) == 0) return wrong(r, "an attribute that runs");
        if (strncmp(r->at, "=\"", 2) != 0) return wrong(r, "no value");
        r->at += 2;
        int link = strstr(name, "href") != NULL;
        if (link && strncmp(r->at, "data:image/png;base64,", 22) != 0) return wrong(r, "a link");
        while (*r->at && *r->at != '"')
            if (!read_text(r)) return 0;
        if (*r->at++ != '"') return wrong(r, "an open value");
    }
    return 1;
}

static int read_tag(reader *r) {
    char name[NAME];
    int end = r->at[1] == '/';
    r->at += 1 + end;
    if (!read_name(r, name)) return 0;
    if (strcmp(name, "script") == 0 || strcmp(name, "foreignObject") == 0) return wrong(r, "what runs");
    if (end) {
        if (*r->at++ != '>') return wrong(r, "no end of an end");
        if (r->depth == 0 || strcmp(r->open[r->depth - 1], name) != 0) return wrong(r, "another end");
        r->depth--;
        return 1;
    }
    if (!read_attributes(r)) return 0;
    if (strncmp(r->at, "/>", 2) == 0) {
        r->at += 2;
        return 1;
    }
    if (*r->at++ != '>') return wrong(r, "no end of a tag");
    if (r->depth == DEPTH) return wrong(r, "too deep");
    strcpy(r->open[r->depth++], name);
    return 1;
}

const char *markup_fault(const char *text) {
    static reader r;
    memset(&r, 0, sizeof r);
    r.text = r.at = text;
    int good = 1;
    while (*r.at && good) good = *r.at == '<' ? read_tag(&r) : read_text(&r);
    if (good && r.depth > 0) wrong(&r, "an element without an end");
    return *r.fault ? r.fault : NULL;
}
