/* cuts.c: where a text file can be divided into pieces that are parsed separately. */
#include "inputs/text/cuts.h"

#include <string.h>

/* The last line end before `end`; NULL: there is none. */
static const char *last_feed(const char *begin, const char *end) {
    while (end > begin)
        if (*--end == '\n') return end;
    return NULL;
}

/* ---- lines and blocks of lines ---- */

static int is_blank(const char *line, const char *end) {
    if (end > line && end[-1] == '\r') end--;
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    return line == end;
}

static size_t cut_lines(const char *bytes, size_t count, size_t wanted, int blocks) {
    const char *end = bytes + count, *feed = bytes + (wanted < count ? wanted : count);
    while ((feed = last_feed(bytes, feed))) {
        const char *before = last_feed(bytes, feed);
        if (!blocks || is_blank(before ? before + 1 : bytes, feed)) return (size_t)(feed - bytes) + 1;
    }
    /* What ends after the wanted place may begin before it. */
    feed = last_feed(bytes, bytes + (wanted < count ? wanted : count));
    for (const char *line = feed ? feed + 1 : bytes; line < end; line = feed + 1) {
        feed = memchr(line, '\n', (size_t)(end - line));
        if (!feed) return 0;
        if (!blocks || is_blank(line, feed)) return (size_t)(feed - bytes) + 1;
    }
    return 0;
}

/* ---- rows of fields that may be quoted ---- */

typedef struct rows {
    const char *bytes, *end;
    size_t wanted, last; /* last: the cut that was found last */
} rows;

/* Takes the line ends from `from` up to `to`, which are in no quoted field; 1: the cut is found. */
static int take_ends(rows *found, const char *from, const char *to) {
    const char *wanted = found->bytes + found->wanted < to ? found->bytes + found->wanted : to;
    const char *feed = wanted > from ? last_feed(from, wanted) : NULL;
    if (feed) found->last = (size_t)(feed - found->bytes) + 1;
    if (wanted == to) return 0;
    if (found->last) return 1;
    if (wanted < from) wanted = from;
    feed = memchr(wanted, '\n', (size_t)(to - wanted));
    if (feed) found->last = (size_t)(feed - found->bytes) + 1;
    return feed != NULL;
}

/* After the field whose opening quote precedes `at`; NULL: it does not end. */
static const char *after_quoted(const char *at, const char *end) {
    for (;;) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at || ++at == end) return NULL; /* a second quote may come */
        const char *next = at;
        while (next < end && *next == '\r') next++;
        if (next == end) return NULL;
        if (*next != '"') return at;
        at = next + 1;
    }
}

static size_t cut_rows(const char *bytes, size_t count, size_t wanted, char delimiter, int begins) {
    rows found = {bytes, bytes + count, wanted, 0};
    const char *at = bytes;
    if (begins && count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) at += 3;
    const char *first = at, *plain = at; /* from here on nothing is quoted */
    while (at < found.end) {
        const char *quote = memchr(at, '"', (size_t)(found.end - at));
        if (!quote) break;
        int opens = quote == first || quote[-1] == delimiter || quote[-1] == '\n';
        if (!opens) {
            at = quote + 1;
            continue;
        }
        if (take_ends(&found, plain, quote)) return found.last;
        plain = at = after_quoted(quote + 1, found.end);
        if (!at) return found.last;
    }
    take_ends(&found, plain, found.end);
    return found.last;
}

size_t at_cut(const at_cuts *cuts, const char *bytes, size_t count, size_t wanted, int begins) {
    return cuts->quotes ? cut_rows(bytes, count, wanted, cuts->quotes, begins)
                        : cut_lines(bytes, count, wanted, cuts->blocks);
}

int64_t at_lines_in(const char *bytes, size_t count) {
    int64_t lines = 0;
    for (size_t i = 0; i < count; i++) lines += bytes[i] == '\n';
    return lines + (count > 0 && bytes[count - 1] != '\n');
}

size_t at_lines_end(const char *bytes, size_t count, int64_t lines) {
    const char *at = bytes, *end = bytes + count;
    for (; lines > 0 && at < end; lines--) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (!feed) return 0;
        at = feed + 1;
    }
    return lines > 0 ? 0 : (size_t)(at - bytes);
}
