/* reading.c: from files or from memory to a dataset of graphs: which files belong to it, and which format it
 * is. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "inputs/graph/parse.h"

const char *const at_graph_formats[] = {"auto", "tsv", "ogb", "npz", NULL};
const at_content_kind at_graph_content = {.input = "graph", AT_GRAPHS_CONTENT};

/* ---- names ---- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int is_named(const char *path, const char *name) {
    const char *base = base_name(path);
    size_t length = strlen(name);
    return strncmp(base, name, length) == 0 && (!base[length] || strcmp(base + length, ".gz") == 0);
}

/* FOLDER/NAME or FOLDER/NAME.gz. */
static int has_file(const char *folder, const char *name) {
    char packed[64];
    size_t length = strlen(name);
    if (length + 4 > sizeof packed) return 0;
    memcpy(packed, name, length);
    memcpy(packed + length, ".gz", 4);
    return at_graph_there(folder, name) || at_graph_there(folder, packed);
}

static int has_tsv(const char *folder) {
    return has_file(folder, "nodes.tsv") || has_file(folder, "edges.tsv");
}

static int has_ogb(const char *folder) {
    return has_file(folder, "raw/edge.csv") || has_file(folder, "edge.csv");
}

int at_graph_knows(const char *path) {
    if (is_named(path, "nodes.tsv")) return 1;
    return at_graph_is_folder(path) && (has_tsv(path) || has_ogb(path));
}

/* Nodes and edges belong together. */
int at_graph_pieces(int format) {
    (void)format;
    return -1;
}

/* nodes.tsv and edges.tsv. */
int at_graph_takes_two(const attn_reader_options *options) {
    return (int)options->format == AT_GRAPH_AUTO || (int)options->format == AT_GRAPH_TSV;
}

int at_graph_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options) {
    (void)options;
    if (at_graph_is_folder(name))
        return has_tsv(name) ? AT_GRAPH_TSV : has_ogb(name) ? AT_GRAPH_OGB : AT_GRAPH_AUTO;
    if (count >= 4 && memcmp(bytes, "PK\3\4", 4) == 0) return AT_GRAPH_NPZ;
    return count == 0 ? AT_GRAPH_AUTO : AT_GRAPH_TSV;
}

/* ---- tables ---- */

static attn_status fail_folder(at_graph_reader *reader, const char *folder, const char *missing) {
    at_origin origin = at_graph_origin(reader, folder);
    return at_origin_fail(&origin, NULL, 0,
                          "has no %s: a folder of graphs has nodes.tsv and edges.tsv (and graphs.tsv, where "
                          "graphs have labels), or raw/edge.csv.gz and what else OGB has; each may be .gz",
                          missing);
}

static attn_status read_tables(at_graph_reader *reader, const at_source *source, const char *folder) {
    at_graph_tsv files = {.first_line = source->first_line};
    attn_status status = ATTN_OK;
    at_bytes beside = {0};
    int given = !folder; /* the file of nodes, and perhaps that of edges */
    if (given && source->bytes[0]) {
        files.nodes =
            (at_graph_file){.name = source->names[0], .bytes = source->bytes[0], .count = source->counts[0]};
    } else if (given) {
        status = at_graph_open_path(reader, source->names[0], &files.nodes);
    } else {
        status = at_graph_open(reader, folder, "nodes.tsv", &files.nodes);
        if (status == ATTN_OK && !files.nodes.bytes) status = fail_folder(reader, folder, "nodes.tsv");
    }
    if (status == ATTN_OK && given) {
        status = at_graph_folder_of(reader->context, source->names[0], &beside);
        folder = beside.data;
    }
    if (status == ATTN_OK && given && source->names[1]) {
        if (source->bytes[1])
            files.edges = (at_graph_file){
                .name = source->names[1], .bytes = source->bytes[1], .count = source->counts[1]};
        else
            status = at_graph_open_path(reader, source->names[1], &files.edges);
    } else if (status == ATTN_OK) {
        status = at_graph_open(reader, folder, "edges.tsv", &files.edges);
        if (status == ATTN_OK && !files.edges.bytes) status = fail_folder(reader, folder, "edges.tsv");
    }
    if (status == ATTN_OK && !(given && source->bytes[0]))
        status = at_graph_open(reader, folder, "graphs.tsv", &files.graphs);
    if (status == ATTN_OK) status = at_graph_read_tsv(reader, &files);
    at_graph_close(reader->context, &files.nodes);
    at_graph_close(reader->context, &files.edges);
    at_graph_close(reader->context, &files.graphs);
    at_bytes_free(reader->context, &beside);
    return status;
}

/* ---- all of it ---- */

static attn_status read_one(attn_context *context, const at_source *source, attn_dataset **dataset) {
    at_graph_reader reader = {.context = context, .options = source->options};
    const char *folder = !source->bytes[0] && at_graph_is_folder(source->names[0]) ? source->names[0] : NULL;
    attn_status status = at_graph_take_wanted(&reader);
    if (status == ATTN_OK) status = read_tables(&reader, source, folder);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}

attn_status at_graph_read_files(attn_context *context, const at_source *source, attn_dataset **dataset) {
    return read_one(context, source, dataset);
}
