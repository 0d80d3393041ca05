/* output.c: the files that a run writes: their names, what may be replaced, and a lock against a second
 * writer.
 *
 * The lock is on a separate file beside the model, since every save replaces the model file. The system
 * releases the lock when its process ends, in whatever way; the empty file that may be left does not hinder
 * the next run. A run that ends normally removes the file while it still holds the lock, and a run that gets
 * a lock checks that the file still has its name: so no two runs can hold locks on different files.
 */
#define _POSIX_C_SOURCE 200809L /* open, fstat */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/replace.h"
#include "train/trainer.h"

static const char ending[] = ".safetensors";

/* "DIR/m" of "DIR/m.safetensors" and of "DIR/m": its length. */
static size_t stem_length(const char *path) {
    size_t length = strlen(path), tail = sizeof ending - 1;
    return length > tail && strcmp(path + length - tail, ending) == 0 ? length - tail : length;
}

static char *name_of(attn_context *context, const char *model, const char *middle, const char *end) {
    size_t stem = stem_length(model), room = stem + 64;
    char *name = at_allocate(context, (int64_t)room, 1, "a path");
    if (name) snprintf(name, room, "%.*s%s%s%s", (int)stem, model, middle, ending, end);
    return name;
}

static int is_there(const char *path) { return access(path, F_OK) == 0; }

/* ---- what may be replaced ---- */

static attn_status check_options(attn_context *context, const attn_trainer_options *options) {
    const char *wrong = options->force && options->resume ? "resume continues and force begins anew: not both"
                        : options->force && options->more ? "more continues and force begins anew: not both"
                        : options->start && options->more
                            ? "start uses another model, more continues the output: not both"
                        : options->more && !options->output ? "more continues a model: output is NULL"
                        : options->vectors && (options->start || options->more)
                            ? "the vectors come from the model that training starts from"
                            : NULL;
    return wrong ? at_fail(context, ATTN_INVALID_ARGUMENT, "trainer options: %s", wrong) : ATTN_OK;
}

static int same_file(const char *path, const char *other) {
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

static attn_status check_more(attn_context *context, const attn_trainer_options *options,
                              const at_output *files) {
    int64_t step, steps;
    int ended;
    if (!is_there(files->model))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: does not exist: there is no model to train further", files->model);
    if (!is_there(files->last)) {
        if (!options->resume) return ATTN_OK;
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "%.300s: does not exist: there is no stopped run to resume; more without resume begins one",
            files->last);
    }
    int known = at_checkpoint_progress(context, files->last, &step, &steps, &ended);
    if (options->resume || (known && (ended || step >= steps))) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "%.300s: is of a stopped run: resume continues it; more is for finished models",
                   files->last);
}

static attn_status check_existing(attn_context *context, const attn_trainer_options *options,
                                  const at_output *files) {
    int64_t step, steps;
    int ended;
    if (options->start && (same_file(options->start, files->model) || same_file(options->start, files->last)))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: training starts from it and would replace it: give another output, or "
                       "continue it (more)",
                       options->start);
    if (options->more) return check_more(context, options, files);
    if (options->resume || options->force) return ATTN_OK;
    if (is_there(files->last) && at_checkpoint_progress(context, files->last, &step, &steps, &ended) &&
        !ended && step < steps)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: is of a run that was stopped after step %" PRId64 " of %" PRId64
                       ": resume continues it, force begins anew and replaces it",
                       files->last, step, steps);
    const char *there = is_there(files->model) ? files->model : is_there(files->last) ? files->last : NULL;
    return there
               ? at_fail(context, ATTN_INVALID_ARGUMENT,
                         "%.300s: exists already: force begins anew and replaces it, more trains it further",
                         there)
               : ATTN_OK;
}

/* ---- the lock ---- */

/* Opens the file and locks it: 0, or the system's error. EEXIST: it is somebody's, not a lock. */
static int try_lock(at_output *files, const char *path) {
    for (;;) {
        struct stat opened, named;
        int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (descriptor < 0) return errno;
        int error = flock(descriptor, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
        if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
            error = 0; /* none on this file system */
        if (!error && fstat(descriptor, &opened) != 0) error = errno;
        if (!error && (!S_ISREG(opened.st_mode) || opened.st_size > 0)) error = EEXIST;
        files->descriptor = descriptor;
        if (!error && stat(path, &named) == 0 && named.st_dev == opened.st_dev &&
            named.st_ino == opened.st_ino)
            return 0;
        close(descriptor);
        if (error && error != EINTR) return error;
    } /* else its owner has removed it in between */
}

static attn_status lock(attn_context *context, at_output *files) {
    char *path = name_of(context, files->model, "", ".lock");
    if (!path) return ATTN_OUT_OF_MEMORY;
    int error = try_lock(files, path);
    attn_status status = ATTN_OK;
    if (!error) {
        files->lock = path;
        return ATTN_OK;
    }
    if (error == EWOULDBLOCK)
        status = at_fail(context, ATTN_SYSTEM_ERROR,
                         "%.300s: another run is writing it and has locked %.300s: wait for its end, or give "
                         "another output",
                         files->model, path);
    else if (error == EEXIST || error == ELOOP)
        status = at_fail(
            context, ATTN_SYSTEM_ERROR,
            "%.300s: exists, and is not the empty lock file of a run: move it away, or give another output",
            path);
    else
        status = at_fail_system(context, files->model, "written", error);
    at_release(context, path);
    return status;
}

/* ---- both ---- */

attn_status at_output_open(attn_context *context, const attn_trainer_options *options, at_output *files) {
    *files = (at_output){.descriptor = -1};
    attn_status status = check_options(context, options);
    if (status != ATTN_OK || !options->output) return status;
    status = at_replace_check(context, options->output);
    if (status == ATTN_OK) status = at_replace_target(context, options->output, &files->model);
    if (status != ATTN_OK) return status;
    files->last = name_of(context, files->model, ".last", "");
    status = files->last ? at_replace_check(context, files->last) : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = lock(context, files);
    if (status == ATTN_OK) status = check_existing(context, options, files);
    if (status == ATTN_OK) {
        at_replace_tidy(files->model);
        at_replace_tidy(files->last);
    } else {
        at_output_close(context, files);
    }
    return status;
}

void at_output_close(attn_context *context, at_output *files) {
    if (files->lock) {
        unlink(files->lock);
        close(files->descriptor);
    }
    at_release(context, files->lock);
    at_release(context, files->model);
    at_release(context, files->last);
    *files = (at_output){.descriptor = -1};
}

attn_status attn_trainer_check(attn_context *context, const attn_trainer_options *options) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attn_trainer_options chosen;
    char reason[AT_OPTIONS_TEXT];
    at_output files;
    attn_trainer_options_init(&chosen);
    attn_status status =
        at_options_take("trainer options", "attn_trainer_options_init", options,
                        AT_FIRST_SIZE(attn_trainer_options, user), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    status = at_output_open(context, &chosen, &files);
    if (status == ATTN_OK) at_output_close(context, &files);
    return status;
}

attn_status attn_trainer_last_path(attn_context *context, const char *output, char *path, size_t room) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!output || !path) return at_fail(context, ATTN_INVALID_ARGUMENT, "output or path is NULL");
    char *model = NULL, *last = NULL;
    attn_status status = at_replace_target(context, output, &model);
    if (status == ATTN_OK) {
        last = name_of(context, model, ".last", "");
        if (!last) status = ATTN_OUT_OF_MEMORY;
    }
    if (status == ATTN_OK && strlen(last) >= room)
        status =
            at_fail(context, ATTN_INVALID_ARGUMENT, "%.300s: its path is longer than %zu bytes", last, room);
    if (status == ATTN_OK) memcpy(path, last, strlen(last) + 1);
    at_release(context, model);
    at_release(context, last);
    return status;
}
