/* ogb_files.c: where the files of the Open Graph Benchmark are: FOLDER/raw and FOLDER/split, or the raw
 * folder itself. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/graph/parse.h"

static const char *const names[AT_OGB_FILES] = {
    "edge.csv",          "node-feat.csv",     "edge-feat.csv", "node-label.csv", "graph-label.csv",
    "num-node-list.csv", "num-edge-list.csv", "train.csv",     "valid.csv",      "test.csv"};

/* FOLDER/NAME into *path, ended by a 0. */
static attn_status below(attn_context *context, const char *folder, const char *name, at_bytes *path) {
    path->count = 0;
    attn_status status = at_bytes_append(context, path, folder, strlen(folder));
    if (status == ATTN_OK) status = at_bytes_append(context, path, "/", 1);
    return status == ATTN_OK ? at_bytes_append(context, path, name, strlen(name) + 1) : status;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The folders in a folder, with commas between, sorted; *only: the one there is, NULL if there are several.
 */
static attn_status list_folders(attn_context *context, const char *folder, at_strings *found) {
    DIR *directory = opendir(folder);
    at_bytes path = {0};
    attn_status status = ATTN_OK;
    for (struct dirent *entry; directory && status == ATTN_OK && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        status = below(context, folder, entry->d_name, &path);
        if (status == ATTN_OK && at_graph_is_folder(path.data))
            status = at_strings_add(context, found, entry->d_name, strlen(entry->d_name));
    }
    if (directory) closedir(directory);
    at_bytes_free(context, &path);
    return status;
}

static attn_status fail_splits(at_graph_reader *reader, const char *folder, const at_strings *found,
                               const char *asked) {
    at_origin origin = at_graph_origin(reader, folder);
    const char **sorted = at_allocate(reader->context, found->count + 1, sizeof *sorted, "splits");
    char list[160] = "";
    if (!sorted) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < found->count; i++) sorted[i] = at_string(found, i);
    qsort(sorted, (size_t)found->count, sizeof *sorted, by_name);
    for (int64_t i = 0; i < found->count && strlen(list) + strlen(sorted[i]) + 3 < sizeof list; i++) {
        if (i) strcat(list, ", ");
        strcat(list, sorted[i]);
    }
    at_release(reader->context, sorted);
    if (asked)
        return at_origin_fail(&origin, NULL, 0, "has no split \"%.60s\"; there is %s", asked,
                              *list ? list : "none");
    return at_origin_fail(&origin, NULL, 0, "has several splits (%s): choose one as the split column", list);
}

/* The files of the split that is requested, or of the only one. */
static attn_status open_split(at_graph_reader *reader, const char *folder, at_graph_ogb *ogb) {
    attn_context *context = reader->context;
    const char *asked = reader->options->split_column;
    if (asked && !*asked) asked = NULL;
    if (!at_graph_uses_split(reader->options)) return ATTN_OK;
    at_strings found = {0};
    at_bytes path = {0};
    int64_t chosen = -1;
    attn_status status = list_folders(context, folder, &found);
    for (int64_t i = 0; i < found.count; i++)
        if (asked ? strcmp(at_string(&found, i), asked) == 0 : found.count == 1) chosen = i;
    if (status == ATTN_OK && chosen < 0 && (asked || found.count > 1))
        status = fail_splits(reader, folder, &found, asked);
    if (status == ATTN_OK && chosen >= 0) status = below(context, folder, at_string(&found, chosen), &path);
    for (int i = AT_OGB_TRAIN; i <= AT_OGB_TEST && chosen >= 0 && status == ATTN_OK; i++) {
        status = at_graph_open(reader, path.data, names[i], &ogb->files[i]);
        if (status == ATTN_OK && !ogb->files[i].bytes) {
            at_origin origin = at_graph_origin(reader, path.data);
            status = at_origin_fail(&origin, NULL, 0,
                                    "has no %s: a split has train.csv, valid.csv and test.csv", names[i]);
        }
    }
    at_strings_free(context, &found);
    at_bytes_free(context, &path);
    return status;
}

attn_status at_graph_read_ogb_folder(at_graph_reader *reader, const char *folder) {
    attn_context *context = reader->context;
    at_graph_ogb ogb = {.name = folder};
    at_bytes raw = {0}, split = {0};
    attn_status status = below(context, folder, "raw", &raw);
    int below_it = status == ATTN_OK && at_graph_is_folder(raw.data);
    if (status == ATTN_OK) status = below(context, folder, below_it ? "split" : "../split", &split);
    for (int i = 0; i < AT_OGB_TRAIN && status == ATTN_OK; i++)
        status = at_graph_open(reader, below_it ? raw.data : folder, names[i], &ogb.files[i]);
    if (status == ATTN_OK && !ogb.files[AT_OGB_EDGES].bytes) {
        at_origin origin = at_graph_origin(reader, folder);
        status =
            at_origin_fail(&origin, NULL, 0,
                           "has no edge.csv (or edge.csv.gz), neither in raw/ nor itself: OGB has edge.csv, "
                           "node-feat.csv, node-label.csv or graph-label.csv, num-node-list.csv and "
                           "num-edge-list.csv there");
    }
    if (status == ATTN_OK) status = open_split(reader, split.data, &ogb);
    if (status == ATTN_OK) status = at_graph_read_ogb(reader, &ogb);
    for (int i = 0; i < AT_OGB_FILES; i++) at_graph_close(context, &ogb.files[i]);
    at_bytes_free(context, &raw);
    at_bytes_free(context, &split);
    return status;
}
