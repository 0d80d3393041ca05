/* input.h: text as it comes in, in pieces that can be answered.
 *
 * A piece is some whole lines or rows, or, of formats that have blank lines between their examples, some
 * whole examples. Of a file that lies there it is a large one, for speed; of what is typed or comes through a
 * pipe it is what has come, as soon as there is no more to be had without waiting.
 *
 * An input can be cut into parts, one after another, that depend on its bytes alone: a part ends where the
 * first piece does that could end at the size of the whole times part / parts, or later.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct input {
    int descriptor;
    bool live;     /* not a regular file: do not keep anybody waiting */
    bool blocks;   /* examples end at blank lines, else at line ends */
    char quotes;   /* 0, or what parts fields that may be quoted: line ends in those end nothing */
    int state;     /* then: of the row that is being looked at */
    bool ended;    /* all has been read */
    size_t piece;  /* of a file: how many bytes are a large piece; may be set before the first */
    int64_t limit; /* 0, or how many bytes a line or an example may have; may be set before the first */
    char *bytes;
    size_t begin, end, room; /* what was read and is still here */
    size_t taken;            /* up to here it was given out */
    size_t scanned;          /* up to here lines were looked at */
    size_t complete;         /* up to here it is whole lines, or examples */
    int64_t line;            /* the number of the line at `begin` */
    int64_t place;           /* of bytes[0] in the whole input */
    int64_t target;          /* -1, or lines are looked at up to the first end at or after this place */
    bool reached;            /* it was */
    int64_t until;           /* -1, or the place at or after which the part ends */
    int64_t cut; /* 0, or pieces end as soon as they have so many bytes; may be set before the first */
    int error;   /* errno of what went wrong, 0: nothing */
} input;

/* path NULL or "-": standard input. On failure, error is set. */
void input_open(input *from, const char *path);
void input_close(input *from);

/* Whether the first bytes are those of `text`. Nothing is taken. */
bool input_begins_with(input *from, const char *text);
/* Reads until there is a line that is neither blank nor a comment, or no more; how many bytes there are up to
 * its end. Nothing is taken. */
size_t input_peek(input *from);
/* Says where examples end; before the first piece. */
void input_set_examples(input *from, bool blocks, char quotes);
/* How many bytes there are up to the first end of an example after the first `least` ones. Nothing is taken.
 */
size_t input_first(input *from, size_t least);
/* How many bytes there are in all; what comes through a pipe is read for it. -1 after an error. */
int64_t input_size(input *from);
/* From now on there is this part (0 .. parts - 1) alone; before the first piece. */
void input_take_part(input *from, int64_t part, int64_t parts);
/* All there is, in from->bytes, `end` of them; false after an error. */
bool input_read_all(input *from);
/* What was read is to be these bytes instead, which are copied; before the first piece. */
void input_replace(input *from, const char *bytes, size_t length);

/* Of what is typed or piped: waits for the first line or example, and reads what comes without more waiting,
 * up to so many bytes; how many of them are whole lines or examples. Nothing is taken. `cut` may be set
 * afterwards, and input_has tells whether there is another piece that need not be waited for. */
size_t input_gather(input *from, size_t most);
bool input_has(input *from);

/* The next piece, which stays until the next call, and the number of its first line; false at the end and
 * after an error. whole: all there is. */
bool input_next(input *from, bool whole, const char **bytes, size_t *length, int64_t *line);

#endif
