/* fuzz_graph.c: any bytes as files of graphs: tables, the files of OGB, or an .npz. What is accepted has
 * arrays that agree with each other.
 *
 * Bits of the first byte: 0 labelled, 1 skip_bad, 2 and 3 per_token (-1, 0, 1), 4 a separator of labels, 5
 * the description as JSON, 6 and 7 the format. Of the second: 0 and 1 the split column, 2 and 3 the columns
 * to be learned. Files follow with the byte 30 between them; an empty one is not there.
 */
#include "fuzz_dataset.h"

#include <math.h>

#include "base/memory.h"
#include "inputs/graph/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_offsets(const int64_t *offsets, int64_t count, int64_t all) {
    REQUIRE(offsets[0] == 0 && offsets[count] == all);
    for (int64_t i = 0; i < count; i++) REQUIRE(offsets[i] <= offsets[i + 1]);
}

static void check_edges(const at_graphs *graphs) {
    for (int64_t g = 0; g < graphs->graphs; g++) {
        int64_t nodes = graphs->first_node[g + 1] - graphs->first_node[g];
        REQUIRE(nodes > 0);
        for (int64_t e = graphs->first_edge[g]; e < graphs->first_edge[g + 1]; e++) {
            REQUIRE(graphs->from[e] >= 0 && graphs->from[e] < nodes);
            REQUIRE(graphs->to[e] >= 0 && graphs->to[e] < nodes);
            REQUIRE(!graphs->listed_once || graphs->from[e] <= graphs->to[e]);
        }
    }
    for (int64_t i = 0; i < graphs->edges * graphs->edge_columns; i++)
        REQUIRE(isfinite(graphs->edge_numbers[i]));
}

static void check_graphs(const attn_dataset *dataset) {
    const at_graphs *graphs = at_graphs_of(dataset);
    int64_t places = dataset->per_row ? dataset->rows : dataset->examples;
    REQUIRE(graphs->nodes > 0 && graphs->nodes == dataset->rows && graphs->graphs == dataset->examples);
    check_offsets(graphs->first_feature, graphs->nodes, graphs->first_feature[graphs->nodes]);
    check_offsets(graphs->first_node, graphs->graphs, graphs->nodes);
    check_offsets(graphs->first_edge, graphs->graphs, graphs->edges);
    check_offsets(dataset->offsets, dataset->examples, dataset->rows);
    check_edges(graphs);
    REQUIRE(graphs->feature_columns <= AT_GRAPH_MOST_COLUMNS);
    for (int64_t i = 0; i < graphs->first_feature[graphs->nodes]; i++) {
        REQUIRE(graphs->features[i] >= 0 && graphs->features[i] < graphs->feature_columns);
        REQUIRE(!graphs->values || isfinite(graphs->values[i]));
    }
    for (int64_t i = 0; i < graphs->nodes * graphs->dense_columns; i++) REQUIRE(isfinite(graphs->dense[i]));
    REQUIRE(graphs->feature_names.count == 0 || graphs->feature_names.count == graphs->dense_columns);
    REQUIRE(graphs->names.count == 0 || graphs->names.count == graphs->nodes);
    REQUIRE(dataset->part_count == 0 || dataset->part_count == places);
    for (int64_t i = 0; i < dataset->part_count; i++) REQUIRE(dataset->parts[i] <= ATTN_PART_TEST);
    REQUIRE(dataset->targets.count == places * dataset->columns.count);
    for (int64_t i = 0; i < dataset->targets.count; i++) fuzz_check_text(at_string(&dataset->targets, i));
    REQUIRE(dataset->ids.count == 0 || dataset->ids.count == dataset->examples);
    int64_t last[2] = {dataset->examples - 1, 0};
    attn_dataset *part = NULL;
    REQUIRE(attn_dataset_select(dataset, last, 2, &part) == ATTN_OK);
    REQUIRE(attn_dataset_rows(part, 1) == attn_dataset_rows(dataset, 0));
    attn_dataset_destroy(part);
}

static void check_description(const attn_dataset *dataset, int json) {
    attn_describe_options options;
    attn_describe_options_init(&options);
    options.json = json;
    at_writer writer = {.context = fuzz_context(), .terminal = 1};
    REQUIRE(at_graph_describe(dataset, &options, &writer) == ATTN_OK && writer.status == ATTN_OK);
    at_writer_free(&writer);
}

/* The next file, up to byte 30. */
static at_graph_file next_file(const char *name, const char **at, const char *end) {
    at_graph_file file = {.name = name};
    const char *stop = memchr(*at, 30, (size_t)(end - *at));
    if (!stop) stop = end;
    if (stop > *at) file.bytes = *at;
    file.count = (size_t)(stop - *at);
    *at = stop < end ? stop + 1 : end;
    return file;
}

static attn_status read_tables(at_graph_reader *reader, const char *at, const char *end) {
    at_graph_tsv files = {.first_line = 1};
    files.nodes = next_file("fuzz nodes", &at, end);
    files.edges = next_file("fuzz edges", &at, end);
    files.graphs = next_file("fuzz graphs", &at, end);
    if (!files.nodes.bytes) files.nodes.bytes = "";
    if (!files.edges.bytes) files.edges.bytes = "";
    return at_graph_read_tsv(reader, &files);
}

static attn_status read_ogb(at_graph_reader *reader, const char *at, const char *end) {
    static const char *const names[AT_OGB_FILES] = {
        "fuzz edge",     "fuzz node-feat", "fuzz edge-feat", "fuzz node-label", "fuzz graph-label",
        "fuzz num-node", "fuzz num-edge",  "fuzz train",     "fuzz valid",      "fuzz test"};
    at_graph_ogb ogb = {.name = "fuzz"};
    for (int i = 0; i < AT_OGB_FILES; i++) ogb.files[i] = next_file(names[i], &at, end);
    if (!ogb.files[AT_OGB_EDGES].bytes) ogb.files[AT_OGB_EDGES].bytes = "";
    return at_graph_read_ogb(reader, &ogb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const splits[] = {NULL, "split", "masks:1", "s:2"};
    static const char *const columns[] = {NULL, "label", "label1,0", "x,label"};
    if (size < 2) return 0;
    attn_context *context = fuzz_context();
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.labelled = data[0] & 1;
    options.skip_bad = data[0] >> 1 & 1;
    options.per_token = (data[0] >> 2 & 3) % 3 - 1;
    options.label_separator = data[0] >> 4 & 1 ? '|' : 0;
    options.split_column = splits[data[1] & 3];
    options.column = columns[data[1] >> 2 & 3];
    options.expanded_limit = 1 << 24;
    int format = data[0] >> 6;
    const char *at = (const char *)data + 2, *end = (const char *)data + size;
    at_graph_reader reader = {.context = context, .options = &options};
    at_graph_file whole = {.name = "fuzz", .bytes = at, .count = size - 2};
    attn_status status = at_graph_take_wanted(&reader);
    REQUIRE(status == ATTN_OK);
    status = format == 1   ? read_ogb(&reader, at, end)
             : format == 2 ? at_graph_read_npz(&reader, &whole)
                           : read_tables(&reader, at, end);
    if (status == ATTN_OK) {
        check_graphs(reader.dataset);
        check_description(reader.dataset, data[0] >> 5 & 1);
        REQUIRE(options.skip_bad || attn_dataset_skipped(reader.dataset) == 0);
    } else {
        REQUIRE(status == ATTN_INVALID_ARGUMENT || status == ATTN_OVERFLOW);
        REQUIRE(attn_context_error(context)[0] != 0);
        for (const char *p = attn_context_error(context); *p; p++) REQUIRE((unsigned char)*p >= 0x20);
    }
    attn_dataset_destroy(reader.dataset);
    at_strings_free(context, &reader.wanted);
    at_release(context, reader.normal);
    at_bytes_free(context, &reader.joined);
    return 0;
}
