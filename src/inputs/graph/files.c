/* files.c: the files that a graph is read from. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/graph/parse.h"

at_origin at_graph_origin(const at_graph_reader *reader, const char *name) {
    return (at_origin){reader->context, name, reader->options->expanded_limit,
                       reader->options->expanded_ratio};
}

int at_graph_is_folder(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

static attn_status join(attn_context *context, const char *folder, const char *name, const char *ending,
                        at_bytes *path) {
    size_t length = strlen(folder);
    path->count = 0;
    attn_status status = at_bytes_append(context, path, folder, length);
    if (status == ATTN_OK && length && folder[length - 1] != '/')
        status = at_bytes_append(context, path, "/", 1);
    if (status == ATTN_OK) status = at_bytes_append(context, path, name, strlen(name));
    return status == ATTN_OK ? at_bytes_append(context, path, ending, strlen(ending) + 1) : status;
}

attn_status at_graph_folder_of(attn_context *context, const char *path, at_bytes *folder) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
    folder->count = 0;
    attn_status status = at_bytes_append(context, folder, slash ? path : ".", length);
    return status == ATTN_OK ? at_bytes_append(context, folder, "", 1) : status;
}

static int is_file(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && !S_ISDIR(state.st_mode);
}

int at_graph_there(const char *folder, const char *name) {
    char path[4096];
    size_t length = strlen(folder), more = strlen(name);
    if (length + more + 2 > sizeof path) return 0;
    memcpy(path, folder, length);
    path[length] = '/';
    memcpy(path + length + 1, name, more + 1);
    return is_file(path);
}

/* Room for a file of known size at once: growing would take up to three times as much. */
static attn_status reserve(attn_context *context, const char *path, int64_t limit, at_bytes *file) {
    enum { MORE = 1 << 17 };
    struct stat state;
    if (stat(path, &state) != 0 || !S_ISREG(state.st_mode) || state.st_size > limit) return ATTN_OK;
    return at_grow(context, &file->data, &file->room, (int64_t)state.st_size + MORE, 1,
                   "the bytes of a file");
}

attn_status at_graph_open_path(at_graph_reader *reader, const char *path, at_graph_file *file) {
    const at_expansion allowed = {reader->options->expanded_limit, reader->options->expanded_ratio, NULL,
                                  NULL};
    attn_status status = reserve(reader->context, path, allowed.limit, &file->held);
    if (status == ATTN_OK) status = at_file_read(reader->context, path, &allowed, &file->held);
    if (status != ATTN_OK) return status;
    file->name = path;
    file->bytes = file->held.data ? file->held.data : "";
    file->count = (size_t)file->held.count;
    return ATTN_OK;
}

attn_status at_graph_open(at_graph_reader *reader, const char *folder, const char *name,
                          at_graph_file *file) {
    attn_status status = join(reader->context, folder, name, "", &file->path);
    if (status == ATTN_OK && !is_file(file->path.data))
        status = join(reader->context, folder, name, ".gz", &file->path);
    if (status != ATTN_OK || !is_file(file->path.data)) return status;
    return at_graph_open_path(reader, file->path.data, file);
}

void at_graph_close(attn_context *context, at_graph_file *file) {
    at_bytes_free(context, &file->held);
    at_bytes_free(context, &file->path);
    memset(file, 0, sizeof *file);
}
