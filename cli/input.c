/* input.c: reading a descriptor into pieces of whole lines or examples. */
#define _POSIX_C_SOURCE 200809L /* open, poll, read */

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 19, READ_AT_ONCE = 1 << 16 };

void input_open(input *from, const char *path) {
    struct stat state;
    *from = (input){.descriptor = STDIN_FILENO, .piece = PIECE, .line = 1, .target = -1, .until = -1};
    if (path != NULL && strcmp(path, "-") != 0) from->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (from->descriptor < 0 || fstat(from->descriptor, &state) != 0) {
        from->error = errno;
        return;
    }
    if (S_ISDIR(state.st_mode)) from->error = EISDIR;
    from->live = !S_ISREG(state.st_mode);
}

void input_close(input *from) {
    if (from->descriptor > STDIN_FILENO) close(from->descriptor);
    free(from->bytes);
}

/* Blank as the readers of files see it. */
static bool is_blank(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    return true;
}

/* An example may end here. */
static void note_end(input *from, size_t end) {
    from->complete = end;
    from->reached = from->target >= 0 && from->place + (int64_t)end >= from->target;
}

/* Looks at the rows that have come to their end, as a reader of quoted fields sees them. */
static void scan_rows(input *from) {
    enum { FIELD, PLAIN, QUOTED, CLOSED };
    if (from->place == 0 && from->scanned == 0 && from->end >= 3 &&
        memcmp(from->bytes, "\xef\xbb\xbf", 3) == 0)
        from->scanned = 3;
    for (; from->scanned < from->end && !from->reached; from->scanned++) {
        char byte = from->bytes[from->scanned];
        if (byte == '"' && from->state != PLAIN)
            from->state = from->state == QUOTED ? CLOSED : QUOTED;
        else if (from->state == QUOTED)
            continue;
        else if (byte == from->quotes || byte == '\n')
            from->state = FIELD;
        else
            from->state = byte == '\r' && from->state == CLOSED ? CLOSED : PLAIN;
        if (byte == '\n' && from->state == FIELD) note_end(from, from->scanned + 1);
    }
}

/* Looks at the lines that have come to their end. */
static void scan_lines(input *from) {
    while (!from->reached) {
        const char *line = from->bytes + from->scanned;
        const char *feed = from->scanned < from->end ? memchr(line, '\n', from->end - from->scanned) : NULL;
        if (feed == NULL) break;
        from->scanned = (size_t)(feed - from->bytes) + 1;
        if (!from->blocks || is_blank(line, (size_t)(feed - line))) note_end(from, from->scanned);
    }
}

static void scan(input *from) {
    if (from->quotes != 0)
        scan_rows(from);
    else
        scan_lines(from);
    if (from->ended && !from->reached) note_end(from, from->end);
}

/* Goes on looking, up to the first end at or after a place in the whole input; -1: as far as there is. */
static void aim(input *from, int64_t target) {
    from->target = target;
    from->reached = target >= 0 && from->place + (int64_t)from->complete >= target;
    if (from->bytes != NULL) scan(from);
}

void input_set_examples(input *from, bool blocks, char quotes) {
    from->blocks = blocks;
    from->quotes = quotes;
    from->state = 0;
    from->scanned = from->complete = from->begin;
    if (from->bytes != NULL) scan(from);
}

/* Makes room for one more reading at the end. */
static bool make_room(input *from) {
    if (from->begin > 0) {
        from->place += (int64_t)from->begin;
        memmove(from->bytes, from->bytes + from->begin, from->end - from->begin);
        from->end -= from->begin;
        from->scanned -= from->begin;
        from->complete -= from->begin;
        from->taken = 0;
        from->begin = 0;
    }
    if (from->room - from->end >= READ_AT_ONCE) return true;
    size_t room = 2 * from->room + READ_AT_ONCE;
    char *grown = room > from->room ? realloc(from->bytes, room) : NULL;
    if (grown == NULL) {
        from->error = ENOMEM;
        return false;
    }
    from->bytes = grown;
    from->room = room;
    return true;
}

/* Reads once; waits if there is nothing. */
static bool read_more(input *from) {
    if (from->ended || from->error != 0 || !make_room(from)) return false;
    ssize_t got;
    do {
        got = read(from->descriptor, from->bytes + from->end, from->room - from->end);
    } while (got < 0 && errno == EINTR);
    if (got < 0) from->error = errno;
    if (got <= 0) from->ended = true;
    if (got > 0) from->end += (size_t)got;
    scan(from);
    if (from->limit > 0 && (uint64_t)(from->end - from->complete) > (uint64_t)from->limit)
        from->error = EFBIG;
    return got > 0 && from->error == 0;
}

static bool more_is_there(const input *from) {
    struct pollfd one = {.fd = from->descriptor, .events = POLLIN};
    return poll(&one, 1, 0) > 0;
}

bool input_begins_with(input *from, const char *text) {
    size_t length = strlen(text);
    while (from->end - from->begin < length && read_more(from)) continue;
    return from->end - from->begin >= length && memcmp(from->bytes + from->begin, text, length) == 0;
}

size_t input_peek(input *from) {
    size_t at = from->begin;
    for (;;) {
        const char *feed = at < from->end ? memchr(from->bytes + at, '\n', from->end - at) : NULL;
        if (feed == NULL && read_more(from)) continue; /* begin is 0, and was: nothing has moved */
        if (feed == NULL) return from->end - from->begin;
        const char *line = from->bytes + at;
        at = (size_t)(feed - from->bytes) + 1;
        if (line[0] != '#' && !is_blank(line, (size_t)(feed - line))) return at - from->begin;
    }
}

size_t input_first(input *from, size_t least) {
    aim(from, from->place + (int64_t)(from->begin + least));
    while (!from->reached && read_more(from)) continue;
    size_t length = from->complete - from->begin;
    from->state = 0;
    from->scanned = from->complete = from->begin;
    aim(from, -1);
    return length;
}

int64_t input_size(input *from) {
    struct stat state;
    if (from->live && !input_read_all(from)) return -1;
    if (from->ended || fstat(from->descriptor, &state) != 0) return from->place + (int64_t)from->end;
    off_t at = lseek(from->descriptor, 0, SEEK_CUR); /* of what is still to be read */
    return from->place + (int64_t)from->end +
           (at >= 0 && state.st_size > at ? (int64_t)(state.st_size - at) : 0);
}

/* Passes over what is complete. */
static void pass(input *from) {
    for (; from->begin < from->complete; from->begin++) from->line += from->bytes[from->begin] == '\n';
    from->taken = from->begin;
}

void input_take_part(input *from, int64_t part, int64_t parts) {
    int64_t size = input_size(from);
    if (size < 0) return;
    int64_t begin = size / parts * part + size % parts * part / parts;
    if (part + 1 < parts) from->until = size / parts * (part + 1) + size % parts * (part + 1) / parts;
    from->state = 0;
    from->scanned = from->complete = from->begin;
    aim(from, begin);
    do {
        pass(from);
    } while (!from->reached && read_more(from));
    pass(from);
    aim(from, from->until);
}

bool input_read_all(input *from) {
    while (read_more(from)) continue;
    return from->error == 0;
}

void input_replace(input *from, const char *bytes, size_t length) {
    char *copied = malloc(length > 0 ? length : 1);
    if (copied == NULL) {
        from->error = ENOMEM;
        return;
    }
    if (length > 0) memcpy(copied, bytes, length);
    free(from->bytes);
    from->bytes = copied;
    from->room = from->end = length;
    from->begin = from->taken = from->scanned = from->complete = 0;
    from->ended = true;
    from->live = false;
}

/* Where the next piece is to end, whatever it is for. */
static int64_t next_target(const input *from) {
    int64_t cut = from->cut > 0 ? from->place + (int64_t)from->begin + from->cut : -1;
    return cut >= 0 && (from->until < 0 || cut < from->until) ? cut : from->until;
}

/* Forgets what was given out. */
static void drop_taken(input *from) {
    for (; from->begin < from->taken; from->begin++) from->line += from->bytes[from->begin] == '\n';
}

size_t input_gather(input *from, size_t most) {
    drop_taken(from);
    aim(from, -1);
    while (!from->ended && from->error == 0 &&
           (from->complete == from->begin || (from->end - from->begin < most && more_is_there(from))))
        read_more(from);
    size_t length = from->complete - from->begin;
    from->state = 0;
    from->scanned = from->complete = from->begin; /* pieces end where they are cut */
    return length;
}

bool input_has(input *from) {
    drop_taken(from);
    aim(from, next_target(from));
    return from->complete > from->begin;
}

bool input_next(input *from, bool whole, const char **bytes, size_t *length, int64_t *line) {
    drop_taken(from);
    if (from->cut > 0 || from->until >= 0) aim(from, next_target(from));
    while (!from->ended && from->error == 0 && !from->reached) {
        size_t ready = from->complete - from->begin;
        bool large = from->cut == 0 && ready >= from->piece;
        if (!whole && ready > 0 && (large || (from->live && !more_is_there(from)))) break;
        read_more(from);
    }
    if (from->complete == from->begin) return false;
    from->taken = from->complete;
    *bytes = from->bytes + from->begin;
    *length = from->complete - from->begin;
    *line = from->line;
    return true;
}
