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

/* What is beside the nodes, and is not given. */
static attn_status open_beside(at_graph_reader *reader, const char *folder, at_graph_tsv *files) {
    attn_status status = ATTN_OK;
    if (!files->edges.bytes) {
        status = at_graph_open(reader, folder, "edges.tsv", &files->edges);
        if (status == ATTN_OK && !files->edges.bytes) status = fail_folder(reader, folder, "edges.tsv");
    }
    return status == ATTN_OK ? at_graph_open(reader, folder, "graphs.tsv", &files->graphs) : status;
}

static attn_status read_and_close(at_graph_reader *reader, attn_status status, at_graph_tsv *files) {
    if (status == ATTN_OK) status = at_graph_read_tsv(reader, files);
    at_graph_close(reader->context, &files->edges);
    at_graph_close(reader->context, &files->graphs);
    return status;
}

static attn_status read_table_folder(at_graph_reader *reader, const char *folder) {
    at_graph_tsv files = {.first_line = 1};
    attn_status status = at_graph_open(reader, folder, "nodes.tsv", &files.nodes);
    if (status == ATTN_OK && !files.nodes.bytes) status = fail_folder(reader, folder, "nodes.tsv");
    if (status == ATTN_OK) status = open_beside(reader, folder, &files);
    status = read_and_close(reader, status, &files);
    at_graph_close(reader->context, &files.nodes);
    return status;
}

/* nodes.tsv, with the edges in a second file, or in edges.tsv beside it. */
static attn_status read_tables(at_graph_reader *reader, const at_source *source, const at_graph_file *nodes) {
    at_graph_tsv files = {.nodes = *nodes, .first_line = source->first_line};
    at_bytes beside = {0};
    attn_status status = at_graph_folder_of(reader->context, source->names[0], &beside);
    if (status == ATTN_OK && source->names[1] && source->bytes[1])
        files.edges =
            (at_graph_file){.name = source->names[1], .bytes = source->bytes[1], .count = source->counts[1]};
    else if (status == ATTN_OK && source->names[1])
        status = at_graph_open_path(reader, source->names[1], &files.edges);
    /* Bytes that were given with their edges are all there is. */
    if (status == ATTN_OK && !(source->bytes[0] && source->names[1]))
        status = open_beside(reader, beside.data, &files);
    status = read_and_close(reader, status, &files);
    at_bytes_free(reader->context, &beside);
    return status;
}

/* ---- all of it ---- */

/* The file whose bytes were given, or which is read. */
static attn_status open_first(at_graph_reader *reader, const at_source *source, at_graph_file *file) {
    if (!source->bytes[0]) return at_graph_open_path(reader, source->names[0], file);
    *file = (at_graph_file){.name = source->names[0], .bytes = source->bytes[0], .count = source->counts[0]};
    return ATTN_OK;
}

static attn_status read_file(at_graph_reader *reader, const at_source *source) {
    at_graph_file first = {0};
    attn_status status = open_first(reader, source, &first);
    at_origin origin = at_graph_origin(reader, source->names[0]);
    int format = (int)reader->options->format, is_npz = 0;
    if (status == ATTN_OK) is_npz = at_graph_detect("", first.bytes, first.count, NULL) == AT_GRAPH_NPZ;
    if (status == ATTN_OK && first.count == 0) status = at_origin_fail(&origin, NULL, 0, "is empty");
    if (status == ATTN_OK && format == AT_GRAPH_OGB)
        status = at_origin_fail(&origin, NULL, 0, "is a file: OGB has a folder, with raw/ and split/ in it");
    if (status == ATTN_OK && format != AT_GRAPH_AUTO && is_npz != (format == AT_GRAPH_NPZ))
        status = at_origin_fail(&origin, NULL, 0, "is not a %s: it begins like %s", at_graph_formats[format],
                                is_npz ? "an .npz" : "text");
    if (status == ATTN_OK && is_npz && source->names[1])
        status = at_origin_fail(&origin, NULL, 0, "is an .npz, which has nodes and edges: give one file");
    if (status == ATTN_OK)
        status = is_npz ? at_graph_read_npz(reader, &first) : read_tables(reader, source, &first);
    at_graph_close(reader->context, &first);
    return status;
}

static attn_status read_folder(at_graph_reader *reader, const char *folder) {
    int format = (int)reader->options->format;
    if (format == AT_GRAPH_AUTO) format = has_ogb(folder) && !has_tsv(folder) ? AT_GRAPH_OGB : AT_GRAPH_TSV;
    if (format == AT_GRAPH_OGB) return at_graph_read_ogb_folder(reader, folder);
    if (format == AT_GRAPH_TSV) return read_table_folder(reader, folder);
    at_origin origin = at_graph_origin(reader, folder);
    return at_origin_fail(&origin, NULL, 0, "is a folder: name the .npz in it");
}

static attn_status read_one(attn_context *context, const at_source *source, attn_dataset **dataset) {
    at_graph_reader reader = {.context = context, .options = source->options};
    int folder = !source->bytes[0] && at_graph_is_folder(source->names[0]);
    attn_status status = at_graph_take_wanted(&reader);
    if (status == ATTN_OK)
        status = folder ? read_folder(&reader, source->names[0]) : read_file(&reader, source);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    if (status == ATTN_OK)
        *dataset = reader.dataset;
    else
        attn_dataset_destroy(reader.dataset);
    return status;
}

/* Whether a file is a graph alone, and not the edges of another. */
static int stands_alone(const at_source *source, int i) {
    if (source->bytes[i])
        return at_graph_detect("", source->bytes[i], source->counts[i], NULL) == AT_GRAPH_NPZ;
    const char *name = source->names[i];
    size_t length = strlen(name);
    return at_graph_is_folder(name) || is_named(name, "nodes.tsv") ||
           (length > 4 && strcmp(name + length - 4, ".npz") == 0);
}

static at_source one_of(const at_source *source, int i) {
    return (at_source){.names = {source->names[i]},
                       .bytes = {source->bytes[i]},
                       .counts = {source->counts[i]},
                       .first_line = source->first_line,
                       .options = source->options};
}

attn_status at_graph_read_files(attn_context *context, const at_source *source, attn_dataset **dataset) {
    at_source given = *source;
    int alone = !given.names[1] && given.bytes[0] && !stands_alone(&given, 0);
    if (alone && !at_graph_there(".", given.names[0]) &&
        given.names[0][0] != '/') /* standard input, say: nothing is beside it */
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: a graph is a folder of files, or an .npz: give its name", given.names[0]);
    if (!given.names[1]) return read_one(context, &given, dataset);
    if (is_named(given.names[0], "edges.tsv") && is_named(given.names[1], "nodes.tsv")) { /* either order */
        given.names[0] = source->names[1], given.names[1] = source->names[0];
        given.bytes[0] = source->bytes[1], given.bytes[1] = source->bytes[0];
        given.counts[0] = source->counts[1], given.counts[1] = source->counts[0];
    }
    if (!stands_alone(&given, 1) && stands_alone(&given, 0) && !is_named(given.names[0], "nodes.tsv"))
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.200s: is not a graph, and %.200s is one: give folders, or nodes.tsv and edges.tsv",
                       given.names[1], given.names[0]);
    if (!stands_alone(&given, 1)) return read_one(context, &given, dataset);
    if (!given.apart)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: is a separate graph, not the edges of %.200s",
                       given.names[1], given.names[0]);
    at_source first = one_of(&given, 0), second = one_of(&given, 1);
    attn_dataset *made = NULL, *more = NULL;
    attn_status status = read_one(context, &first, &made);
    if (status == ATTN_OK) status = read_one(context, &second, &more);
    if (status == ATTN_OK) status = attn_dataset_append(made, more);
    attn_dataset_destroy(more);
    if (status == ATTN_OK)
        *dataset = made;
    else
        attn_dataset_destroy(made);
    return status;
}
