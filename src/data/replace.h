/* replace.h: replaces files as a whole: a file is always the complete old one or the complete new one.
 *
 * The bytes are written to a temporary file beside the target and synced, the file is renamed, and the folder
 * is synced. A symbolic link is followed: its target is replaced and the link stays. Temporary names are
 * unique to a process and a call, so that two writers of the same file do not interfere; a process that is
 * killed leaves its temporary file behind (at_replace_tidy).
 */
#ifndef AT_DATA_REPLACE_H
#define AT_DATA_REPLACE_H

#include <stddef.h>

#include <attn/context.h>

typedef struct at_replacement {
    attn_context *context;
    const char *path;         /* as it was given: for errors */
    char *target, *temporary; /* without links; beside it */
    int descriptor;
    int error; /* the system's, of the first call that failed */
} at_replacement;

/* The path without symbolic links in its last part, which need not be there: at_release frees it. */
attn_status at_replace_target(attn_context *context, const char *path, char **target);
/* Whether there is something at `path` that a file cannot replace (a directory, a device, a pipe, a socket);
 * the error says which. Nothing there, or a file: ATTN_OK. */
attn_status at_replace_check(attn_context *context, const char *path);

/* On failure there is nothing to end. */
attn_status at_replace_begin(attn_context *context, const char *path, at_replacement *begun);
/* After a failure it does nothing: the end tells. */
void at_replace_write(at_replacement *begun, const void *data, size_t bytes);
/* The new file is in place and on the disk; or the temporary file is removed, `path` is as it was, and the
 * error names it and the system's reason. */
attn_status at_replace_end(at_replacement *begun);

/* Removes a file (of a link: its target), and brings that to the disk. A file that is not there is no error.
 */
attn_status at_replace_remove(attn_context *context, const char *path);
/* Removes what killed processes have left while they replaced `target`. */
void at_replace_tidy(const char *target);

#endif
